#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""What gemkv serve adds to a question, and how it stands many clients.

    bench/serve.py [--soak SECONDS] GEMKV TEXT [OPTION OF GEMKV SERVE]...

Prints, of one server: the time that HTTP adds to a question (medians of 15, beside the seconds in the reply, and of
gemkv ask in turns with it, from whose seconds those that open the model are taken), 64 idle connections with 8 questions
at once, the time to the first event of a text of about a million tokens, the time in which
a question is answered after a client has left in the middle of reading, and, with --soak, memory and descriptors before
and after mixed requests."""
import argparse
import http.client
import json
import os
import random
import socket
import statistics
import subprocess
import threading
import time
import urllib.parse

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument('--soak', type=float, default=0)
p.add_argument('gemkv')
p.add_argument('text')
p.add_argument('options', nargs=argparse.REMAINDER)
args = p.parse_args()

server = subprocess.Popen([args.gemkv, 'serve', '-q', '--port', '0', *args.options], stdout=subprocess.PIPE, text=True)
url = urllib.parse.urlsplit(server.stdout.readline())
text = open(args.text, encoding='utf-8').read()
short, question = text[:3000], 'What is it about?'


def body(document, **more):
    return json.dumps(dict(more, max_tokens=8, messages=[{'role': 'user', 'content': [
        {'type': 'text', 'text': document}, {'type': 'text', 'text': question}]}])).encode()


def post(data, path='/v1/chat/completions'):
    """Seconds, status and body."""
    began = time.perf_counter()
    c = http.client.HTTPConnection(url.hostname, url.port, timeout=3600)
    c.request('POST', path, data)
    r = c.getresponse()
    answer = r.read()
    c.close()
    return time.perf_counter() - began, r.status, answer


def begin(data):
    """A connection on which a request was sent."""
    s = socket.create_connection((url.hostname, url.port))
    s.sendall(b'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n' % len(data) + data)
    return s


def resources():
    """Resident MiB, descriptors and threads."""
    status = dict(line.split(':', 1) for line in open('/proc/%d/status' % server.pid) if ':' in line)
    return int(status['VmRSS'].split()[0]) // 1024, len(os.listdir('/proc/%d/fd' % server.pid)), int(status['Threads'])


def command_line():
    """Seconds of the same question on the command line."""
    said = json.loads(subprocess.run([args.gemkv, 'ask', '-q', '--json', '-n', '8', '-f', '-', question], input=short, text=True,
                                     stdout=subprocess.PIPE, check=True).stdout)['seconds']
    return said['total'] - said['load']


def overhead():
    post(body(short))
    added, took, line = [], [], []
    for _ in range(15):
        seconds, status, answer = post(body(short))
        inside = json.loads(answer)['gemkv']['seconds']
        added.append(seconds - inside)
        took.append(seconds)
        line.append(command_line())
    print('HTTP and queue: %.2f ms of a question of %.1f ms; on the command line %.1f ms' %
          tuple(1e3 * statistics.median(x) for x in (added, took, line)))


def many():
    idle = [socket.create_connection((url.hostname, url.port)) for _ in range(64)]
    results = []
    threads = [threading.Thread(target=lambda: results.append(post(body(short))[1])) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print('64 idle connections, 8 questions at once:', {s: results.count(s) for s in set(results)})
    for s in idle:
        s.close()


def first_event():
    long = (text * (1 + 4200000 // len(text)))[:4200000]
    data = body(long, stream=True, return_progress=True)
    began = time.perf_counter()
    s = begin(data)
    s.recv(10)
    print('first byte of the reply to %.1f MB: %.2f s' % (len(data) / 1e6, time.perf_counter() - began))
    time.sleep(3)
    s.close()
    print('a question after that client has left: %.2f s' % post(body(short))[0])


def soak():
    random.seed(1)
    rounds, statuses, end = 0, {}, time.time() + args.soak
    before = resources()
    while time.time() < end:
        kind, at = random.randrange(6), random.randrange(max(1, len(text) - 9000))
        if kind == 5:
            s = begin(body(text[at:at + 9000], stream=True))
            time.sleep(random.random() * 0.3)
            s.close()
            status = 'left'
        else:
            data = [body(text[at:at + 800]), body(text[at:at + 9000]), body(short, stream=True), b'{"messages": [', b'\0' * 100][kind]
            status = post(data)[1]
        statuses[status] = statuses.get(status, 0) + 1
        rounds += 1
        if rounds == 100:
            before = resources()                # what is allocated once is there by now
    print('%d requests in %.0f s: %s' % (rounds, args.soak, statuses))
    print('MiB, descriptors, threads after 100 of them:', before, 'at the end:', resources())


try:
    overhead()
    many()
    first_event()
    if args.soak:
        soak()
finally:
    server.terminate()
    server.wait()
