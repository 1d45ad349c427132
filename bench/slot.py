#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What llama.cpp's saved slot of a document costs: seconds to read it, size of the file, seconds to restore it and
to the first token of a question after that, in a new server.

    bench/slot.py [-t THREADS] LLAMA-SERVER MODEL.gguf TEXT BYTES...

As bench/index.sh has it for gemkv's index of the same bytes.  Options after -- go to llama-server."""
import json, os, socket, subprocess, sys, tempfile, time, urllib.request

QUESTION = '\n\nQuestion: What is it?\nAnswer:'


def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]


class Server:
    def __init__(self, program, model, threads, context, folder, options):
        self.url = f'http://127.0.0.1:{free_port()}'
        self.process = subprocess.Popen(
            [program, '-m', model, '-t', str(threads), '-c', str(context), '-np', '1', '--port', self.url.split(':')[2],
             '--slot-save-path', folder + '/', '--no-webui', *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while True:
            if self.process.poll() is not None:
                raise SystemExit('llama-server ended')
            try:
                urllib.request.urlopen(self.url + '/health')
                return
            except OSError:
                time.sleep(0.1)

    def post(self, path, **body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(), {'Content-Type': 'application/json'})
        began = time.monotonic()
        answer = json.load(urllib.request.urlopen(request))
        return answer, time.monotonic() - began

    def complete(self, prompt):
        return self.post('/completion', prompt=prompt, n_predict=1, cache_prompt=True, id_slot=0)

    def close(self):
        self.process.terminate()
        self.process.wait()


def main():
    argv, options = sys.argv[1:], []
    if '--' in argv:
        options = argv[argv.index('--') + 1:]
        argv = argv[:argv.index('--')]
    threads = 2
    if argv[:1] == ['-t']:
        threads, argv = int(argv[1]), argv[2:]
    if len(argv) < 4:
        raise SystemExit(__doc__)
    program, model, text, sizes = argv[0], argv[1], open(argv[2], encoding='utf-8').read(), [int(n) for n in argv[3:]]
    print('%8s %9s %9s %9s %9s %9s' % ('tokens', 'read s', 'save s', 'B/token', 'restore s', 'warm s'), flush=True)
    for size in sizes:
        document = (text * (1 + size // len(text)))[:size]
        with tempfile.TemporaryDirectory() as folder:
            server = Server(program, model, threads, size + 1024, folder, options)
            answer, read = server.complete(document)
            tokens = answer['timings'].get('prompt_n', answer.get('tokens_evaluated'))
            _, save = server.post('/slots/0?action=save', filename='slot')
            server.close()
            bytes_ = os.path.getsize(folder + '/slot')
            server = Server(program, model, threads, size + 1024, folder, options)
            _, restore = server.post('/slots/0?action=restore', filename='slot')
            _, warm = server.complete(document + QUESTION)
            server.close()
        print('%8d %9.2f %9.2f %9.0f %9.2f %9.2f' % (tokens, read, save, bytes_ / tokens, restore, warm), flush=True)


if __name__ == '__main__':
    main()
