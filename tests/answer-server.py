# SPDX-License-Identifier: BSD-2-Clause
"""answer-server.py - a server of chat completions that misbehaves as the first part of the path says

    answer-server.py PORT-FILE SENT-FILE        serves until its standard input ends; SENT-FILE gets all that comes
    answer-server.py --sent SENT-FILE           the requests in it, each with its header lines
    answer-server.py --only SENT-FILE SELECT    whether their text is that of the passages of `gemkv select --json`
"""
import json
import os
import re
import socket
import sys
import threading
import time

TEXT = "The key is 48213 \u2014 \u957f\u6c5f, \U0001f468\u200d\U0001f469\u200d\U0001f467 and \u0627\u0644\u0645\u0641\u062a\u0627\u062d."
TYPE = "text/event-stream; charset=utf-8"


def piece(text, finish=None):
    return {"choices": [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": finish}]}


def event(value, end="\n"):
    return f"data: {json.dumps(value, ensure_ascii=False)}{end}{end}".encode()


def answer(finish="stop", end="\n", usage=True):
    out = f": a comment{end}{end}event: message{end}".encode() + event({"choices": [{"delta": {"role": "assistant"}}]}, end)
    out += event({"choices": [{"delta": {"reasoning_content": "A thought."}}]}, end)    # as llama-server has it
    out += b"".join(event(piece(TEXT[i:i + 3]), end) for i in range(0, len(TEXT), 3)) + event(piece(None, finish), end)
    if usage:
        out += event({"choices": [], "usage": {"prompt_tokens": 77, "completion_tokens": 23}}, end)
    return out + f"data: [DONE]{end}{end}".encode()


def reply(status, kind, body, *more):
    head = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", "Connection: close", *more]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


def refuse(status, message, *more):
    return reply(status, "application/json", json.dumps({"error": {"message": message}}).encode(), *more)


class Server:
    def __init__(self, sent):
        self.sent, self.seen, self.lock = sent, {}, threading.Lock()

    def request(self, conn):
        data = b""
        while b"\r\n\r\n" not in data:
            more = conn.recv(65536)
            if not more:
                return b"", "", {}
            data += more
        head, body = data.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        fields = {k.lower(): v for k, v in (line.split(": ", 1) for line in lines[1:])}
        while len(body) < int(fields.get("content-length", 0)):
            body += conn.recv(65536)
        with self.lock, open(self.sent, "ab") as f:
            f.write(head + b"\r\n\r\n" + body + b"\n\0\n")
        return body, lines[0].split()[1], fields

    def serve(self, conn):
        try:
            body, path, fields = self.request(conn)
            mode = path.split("/")[1] if path else ""
            with self.lock:
                n = self.seen[mode] = self.seen.get(mode, 0) + 1
            for part in getattr(self, mode.replace("-", "_"), self.lost)(n, fields):
                conn.sendall(part)
        except OSError:
            pass                        # the client has gone
        finally:
            conn.close()

    def lost(self, n, fields):
        yield refuse(404, "no such place")

    def good(self, n, fields):
        yield reply(200, TYPE, answer())

    def bytes(self, n, fields):         # borders in the middle of characters and events
        whole = reply(200, TYPE, answer(end="\r\n"))
        for i in range(0, len(whole), 7):
            yield whole[i:i + 7]
            time.sleep(0.0005)

    def plain(self, n, fields):         # neither usage nor an end that is marked
        yield reply(200, TYPE, answer(usage=False).replace(b"data: [DONE]\n\n", b""))

    def length(self, n, fields):
        yield reply(200, TYPE, answer("length"))

    def slow(self, n, fields):
        yield reply(200, TYPE, event(piece("The key")))
        time.sleep(3)

    def cut(self, n, fields):
        yield reply(200, TYPE, event(piece("The key")) + event(piece(" is")) + b"data: {\"cho")

    def broken(self, n, fields):
        yield reply(200, TYPE, event(piece("The key")), "Content-Length: 10000")

    def busy(self, n, fields):
        yield refuse(429, "slower") if n == 1 else reply(200, TYPE, answer())

    def later(self, n, fields):
        yield refuse(429, "come tomorrow", "Retry-After: 86400")

    def fails(self, n, fields):
        yield refuse(500, "out of\nmemory \x1b[31m")

    def long(self, n, fields):          # as llama-server has it; its context is full before the answer, ...
        yield reply(400, "application/json", json.dumps({"error": {
            "code": 400, "message": "request (900 tokens) exceeds the available context size (512 tokens)",
            "type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}}).encode())

    def longer(self, n, fields):        # ... and as OpenAI's API has it
        yield reply(400, "application/json", json.dumps({"error": {
            "code": "context_length_exceeded", "message": "too many", "type": "invalid_request_error"}}).encode())

    def empty(self, n, fields):
        yield reply(503, "text/plain", b"") if n < 2 else reply(501, "text/plain", b"")

    def no_json(self, n, fields):
        yield reply(200, TYPE, event(piece("The key")) + b"data: {\"choices\": [}\n\n")

    def odd(self, n, fields):           # JSON, but not what it should be
        for value in (1, [], None, "x", {}, {"choices": 1}, {"choices": [1]}, {"choices": [{"delta": 1}]}, {"usage": []},
                      {"choices": [{"delta": {"content": 1}, "finish_reason": []}], "usage": {"prompt_tokens": "x"}}):
            yield event(value) if value != 1 else reply(200, TYPE, event(value))
        yield event(piece("a\0\x1b[31mb")) + event(piece("", "content_filter")) + b"data\n\ndata: [DONE]\n\n"

    def error(self, n, fields):
        yield reply(200, TYPE, event(piece("The key")) + event({"error": {"message": "the GPU is gone"}}))

    def redirect(self, n, fields):
        yield reply(302, "text/plain", b"", "Location: /good/v1/chat/completions")

    def html(self, n, fields):
        yield reply(200, "text/html", b"<html>hello</html>")

    def huge(self, n, fields):
        yield reply(200, TYPE, b"data: ")
        for _ in range(24):
            yield b"x" * 65536

    def key(self, n, fields):
        got = fields.get("authorization", "none")
        yield reply(200, TYPE, answer()) if got == "Bearer right-key" else refuse(401, f"wrong: {got}")

    def endless(self, n, fields):
        yield reply(200, TYPE, b"")
        while True:
            yield event(piece("and so on "))
            time.sleep(0.02)


def main(port, sent):
    s = socket.socket()
    s.bind(("127.0.0.1", 0))
    s.listen(16)
    server = Server(sent)

    def accept():
        while True:
            threading.Thread(target=server.serve, args=(s.accept()[0],), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    with open(port + "~", "w") as f:
        f.write(str(s.getsockname()[1]))
    os.rename(port + "~", port)
    sys.stdin.read()


def requests(path):
    with open(path, "rb") as f:
        for one in f.read().split(b"\n\0\n")[:-1]:
            head, body = one.split(b"\r\n\r\n", 1)
            yield head.decode(), json.loads(body)


def show(path):
    for head, body in requests(path):
        print(re.sub(r"(:|Length: )\d+", r"\1N", head.replace("\r\n", "\n")))
        print(json.dumps({k: [{"role": m["role"]} for m in v] if k == "messages" else v for k, v in body.items()}))


def only(path, select):
    with open(select) as f:
        kept = json.load(f)["kept"]
    for _, body in requests(path):
        text = next(m["content"] for m in body["messages"] if m["role"] == "user").split("\n\nQuestion: ")[0]
        for k in kept:                  # in order, and nothing but white space between them
            gap, found, text = text.partition(k["text"])
            if not found or gap.strip() or len(gap) > 2:
                print(f"not what was kept: {gap!r} before {k['text']!r}")
                return
        print("what was kept, and nothing else" if not text.strip() else f"more than was kept: {text!r}")


if __name__ == "__main__":
    {"--sent": show, "--only": only}.get(sys.argv[1], lambda *a: main(sys.argv[1], *a))(*sys.argv[2:])
