#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""faults-client.py SOCKET PID TEXT ANSWERS [keep] [ends] - asks gemkv serve at SOCKET while the system refuses it things,
then ends it; for tests/faults.sh.  PID is the process that started it, or itself.  keep: what was uploaded is not
deleted.  ends: another ends it.

ANSWERS gets a line for each request: its name and what was answered, or "refused" or "lost".  What is neither (no JSON,
an error without a message, a stream that ends in the middle) is told on standard error."""
import gzip
import json
import os
import signal
import socket
import struct
import sys
import time

path, starter, text, log = sys.argv[1], int(sys.argv[2]), open(sys.argv[3], 'rb').read(), open(sys.argv[4], 'w')
SECONDS = 30                    # of silence, after which nothing more is asked


def is_there():
    """Whether the process that was started is: one that has ended and whose parent is not told yet is not."""
    try:
        with open('/proc/%d/stat' % starter) as f:
            return f.read().rsplit(')', 1)[1].split()[0] != 'Z'
    except OSError:
        return False


def connect():
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(SECONDS)
    s.connect(path)
    return s


def server():
    """The process that listens, once one does; None: it has ended."""
    while is_there():
        try:
            with connect() as s:
                return struct.unpack('3i', s.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0]
        except OSError:
            time.sleep(0.01)


def exchange(method, where, body, kind):
    """All that comes back, without the chunks' lengths."""
    s, got = connect(), b''
    try:
        s.sendall(b'%s %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: %s\r\n'
                  b'Content-Length: %d\r\n\r\n%s' % (method, where, kind, len(body), body))
    except BrokenPipeError:
        pass
    try:
        while piece := s.recv(1 << 16):
            got += piece
    except ConnectionResetError:
        pass
    s.close()
    return got


def complain(what, got):
    print('%s: %r' % (what, got[:300]), file=sys.stderr)


def dechunked(body):
    """What the chunks hold, and whether the last one is there."""
    whole = b''
    while True:
        size, _, body = body.partition(b'\r\n')
        if not size or len(body) < int(size, 16) + 2:
            return whole, False
        if int(size, 16) == 0:
            return whole, True
        whole, body = whole + body[:int(size, 16)], body[int(size, 16) + 2:]


def ask(name, method, where, body=b'', kind=b'application/json', found=lambda v: ''):
    """Writes what came of a request; its JSON if it was answered, or None."""
    try:
        got = exchange(method, where, body, kind)
    except TimeoutError:
        raise
    except OSError:
        got = b''
    head, _, rest = got.partition(b'\r\n\r\n')
    said, value, whole = 'lost', None, True
    status = int(head[9:12] or 0)
    fields = head.lower()
    if b'\r\ntransfer-encoding: chunked' in fields:
        rest, whole = dechunked(rest)
    elif b'\r\ncontent-length: ' in fields:
        whole = len(rest) == int(fields.split(b'\r\ncontent-length: ')[1].split(b'\r\n')[0])
    if status and whole:
        try:
            value = events(rest) if b'text/event-stream' in head else json.loads(rest)
            said = 'refused' if 'error' in value and value['error']['message'] else found(value)
        except (ValueError, KeyError, TypeError, IndexError):
            complain(name, got)
        if said == 'refused' and status < 400 and b'text/event-stream' not in head:
            complain(name, got)
    print('%s: %s' % (name, said), file=log)
    return None if said in ('lost', 'refused') else value


def events(body):
    """A stream as if it had been one answer."""
    parts = [json.loads(line[6:]) for line in body.decode().split('\n')
             if line.startswith('data: ') and line != 'data: [DONE]']
    for p in parts:
        if 'error' in p:
            return p
    if not body.endswith(b'data: [DONE]\n\n'):
        raise ValueError
    return {'choices': [{'message': {'content': ''.join(
        p['choices'][0]['delta'].get('content') or '' for p in parts if p['choices'])}}]}


def content(value):
    return json.dumps(value['choices'][0]['message']['content'])


def chat(name, *parts, **more):
    parts = [{'type': 'text', 'text': p} if isinstance(p, str) else {'type': 'file', 'file': p} for p in parts]
    return ask(name, b'POST', b'/v1/chat/completions', json.dumps(dict(
        dict(messages=[{'role': 'user', 'content': parts}], max_tokens=3), **more)).encode(), found=content)


def questions(keep):
    told = text[:600].decode()          # short: it is not indexed
    for f in (ask('there', b'GET', b'/v1/files') or {'data': []})['data']:
        chat('kept', {'file_id': f['id']}, 'Where is the cat?')
    packed = gzip.compress((text * 2)[:4200], mtime=0)      # longer than what is not indexed
    form = (b'--edge\r\nContent-Disposition: form-data; name="file"; filename="a.gz"\r\n\r\n' + packed +
            b'\r\n--edge--\r\n')
    f = ask('upload', b'POST', b'/v1/files', form, b'multipart/form-data; boundary=edge', lambda v: v['filename'])
    if f:
        chat('file', {'file_id': f['id']}, 'Where is the cat?')
        chat('again', {'file_id': f['id']}, 'Where is the cat?', stream=True)
    chat('text', told, 'Where is the cat?')
    if f and not keep:
        ask('delete', b'DELETE', b'/v1/files/' + f['id'].encode(), found=lambda v: str(v['deleted']))
    chat('last', told, 'Where is the cat?')


def main():
    process = server()
    if process is None:
        return
    try:
        questions('keep' in sys.argv)
    except TimeoutError:
        print('silence: lost', file=log)
    if 'ends' in sys.argv:
        return
    try:
        os.kill(process, signal.SIGTERM)
    except ProcessLookupError:
        pass


main()
