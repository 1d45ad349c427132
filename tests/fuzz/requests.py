#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""requests.py [-n N] [--seed S] GEMKV [OPTION OF GEMKV SERVE]... - sends damaged requests to gemkv serve

Each request is one of those below, damaged in one to eight places: in its first line, headers, or body.  The server must
answer, close the connection, or wait for more, and live.  Best with a GEMKV that was built with -fsanitize=address,
undefined, and a small model in $GEMKV_MODEL.  The last requests before a failure are written to requests.failed."""
import argparse
import json
import os
import random
import socket
import subprocess
import sys
import urllib.parse

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument('-n', type=int, default=2000)
p.add_argument('--seed', type=int, default=1)
p.add_argument('gemkv')
p.add_argument('options', nargs=argparse.REMAINDER)
args = p.parse_args()

text = 'The cat sat on the mat. The pass key is 48213. \u957f\u6c5f \U0001f600.\n\n' * 3
chat = {'model': 'x', 'messages': [
    {'role': 'system', 'content': 'Be brief.'},
    {'role': 'user', 'content': [{'type': 'text', 'text': text}, {'type': 'text', 'text': 'Who sat?'}]},
    {'role': 'assistant', 'content': 'The cat.'}, {'role': 'user', 'content': 'Where?'}],
    'max_tokens': 3, 'temperature': 0.7, 'top_p': 0.9, 'seed': 7, 'stop': ['\n', '.'], 'stream': False,
    'response_format': {'type': 'json_schema', 'json_schema': {'name': 'n', 'schema': {
        'type': 'object', 'properties': {'a': {'type': ['string', 'null'], 'maxLength': 3}, 'b': {'enum': [1, 'x']}},
        'required': ['a'], 'additionalProperties': False}}}}
responses = {'input': [{'role': 'user', 'content': [{'type': 'input_text', 'text': text},
                                                    {'type': 'input_text', 'text': 'Who?'}]}],
             'instructions': 'Be brief.', 'max_output_tokens': 3, 'stream': True, 'text': {'format': {'type': 'text'}}}
inline = {'max_tokens': 2, 'stream': True, 'return_progress': True, 'stream_options': {'include_usage': True},
          'messages': [{'role': 'user', 'content': [
              {'type': 'file', 'file': {'filename': 'a.txt', 'file_data': 'data:text/plain;base64,VGhlIGNhdCBzYXQu'}},
              {'type': 'text', 'text': 'Who?'}]}]}
form = ('--edge\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--edge\r\nContent-Disposition: form-data; '
        'name="file"; filename="a.html"\r\nContent-Type: text/html\r\n\r\n<p>The cat</p>\r\n--edge\r\nContent-Disposition: '
        'form-data; name="question"\r\n\r\nWho?\r\n--edge--\r\n').encode()
JSON, FORM = 'application/json', 'multipart/form-data; boundary=edge'

whole = [('POST', '/v1/chat/completions', JSON, json.dumps(chat).encode()),
         ('POST', '/v1/chat/completions', JSON, json.dumps(inline).encode()),
         ('POST', '/v1/responses', JSON, json.dumps(responses).encode()),
         ('POST', '/v1/files', FORM, form), ('POST', '/ask', FORM, form),
         ('GET', '/v1/files/file-0000000000000000/content', JSON, b''), ('DELETE', '/v1/files/x', JSON, b''),
         ('GET', '/metrics', JSON, b'')]
odd = [b'\0', b'\xff', b'"', b'\\', b'\\ud800', b'{', b'}', b'[', b']', b'--edge', b'\r\n', b'\n', b'1e999', b'-1', b'0', b'null',
       b'99999999999999999999', b'true', b'%00', b'../', b'\xf0\x9f\x98', b'[' * 500, b'{"a":' * 300, b' ' * 3000, b'chunked']


def damage(data, times):
    data = bytearray(data)
    for _ in range(times):
        at = random.randrange(len(data) + 1)
        what = random.randrange(5)
        if what == 0:
            data[at:at] = random.choice(odd)
        elif what == 1:
            del data[at:at + random.choice((1, 1, 2, 8, 60))]
        elif what == 2:
            data[at:at + 1] = bytes([random.randrange(256)])
        elif what == 3:
            to = random.randrange(len(data) + 1)
            data[at:at] = data[to:to + random.choice((1, 8, 60, 400))]
        else:
            data[at:at + random.randrange(30)] = random.choice(odd)
    return bytes(data)


def make():
    method, path, kind, body = random.choice(whole)
    times = random.choice((1, 1, 2, 3, 8))
    if random.randrange(5):
        body = damage(body, times) if body else body
        times = 0
    head = ('%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nConnection: close\r\n' % (method, path, kind)).encode()
    if random.randrange(20):
        head += b'Content-Length: %d\r\n' % (len(body) + (0 if random.randrange(20) else random.randrange(-9, 9)))
    return (damage(head, times) if times else head) + b'\r\n' + body


def send(data, leaves=False):
    """The status; 0: the connection was closed without one, or the server waits for more."""
    s = socket.create_connection((url.hostname, url.port), 20)
    try:
        s.sendall(data)
        if leaves:
            s.shutdown(socket.SHUT_WR)
        s.settimeout(0.5)
        first = s.recv(1 << 16)
        s.settimeout(20)
        while s.recv(1 << 16):
            pass
        return int(first[9:12]) if first[:5] == b'HTTP/' else 0
    except (BrokenPipeError, ConnectionResetError, socket.timeout):
        return 0
    finally:
        s.close()


random.seed(args.seed)
server = subprocess.Popen([args.gemkv, 'serve', '-q', '--port', '0', *args.options], stdout=subprocess.PIPE, text=True)
url = urllib.parse.urlsplit(server.stdout.readline())
counts, last = {}, []
try:
    for i in range(args.n):
        last = last[-9:] + [make()]
        status = send(last[-1], random.randrange(4) == 0)
        counts[status] = counts.get(status, 0) + 1
        if server.poll() is not None:
            raise RuntimeError('the server has ended: %d' % server.returncode)
    if send(b'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n') != 200:
        raise RuntimeError('the server does not answer any more')
except (RuntimeError, OSError) as e:
    with open('requests.failed', 'wb') as f:
        f.write(b'\n\0\n'.join(last))
    sys.exit('%s, after %d requests; the last ones are in requests.failed' % (e, i + 1))
finally:
    server.terminate()
    server.wait()
print('%d requests, seed %d, by status: %s' % (args.n, args.seed, dict(sorted(counts.items()))))
