#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""serve-client.py ADDRESS KEY - asks gemkv serve, and prints what it answers; for tests/cli/serve.sh"""
import base64
import http.client
import json
import os
import re
import signal
import socket
import sys
import threading
import time
import urllib.parse

if sys.argv[1].startswith('/'):
    where, host = sys.argv[1], 'localhost'
else:
    url = urllib.parse.urlsplit(sys.argv[1])
    where, host = (url.hostname, url.port), url.netloc
what = sys.argv[2] if len(sys.argv) > 2 else ''
key = '' if what in ('turns', 'limits', 'late', 'drain', 'elsewhere', 'broken', 'slow', 'first', 'poor', 'again', 'last') else what


def connect():
    if isinstance(where, str):
        s = socket.socket(socket.AF_UNIX)
        s.connect(where)
        s.settimeout(300)
        return s
    return socket.create_connection(where, 300)


def ask(method, path, body=None, headers=None):
    """The status and the body of an answer."""
    c = http.client.HTTPConnection('localhost', timeout=300)
    c.sock = connect()
    all_headers = {'Host': host}
    if key:
        all_headers['Authorization'] = 'Bearer ' + key
    all_headers.update(headers or {})
    c.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in all_headers.items():
        c.putheader(name, value)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    if data is not None:
        c.putheader('Content-Length', str(len(data)))
    c.endheaders(data)
    r = c.getresponse()
    answer = r.status, r.read()
    c.close()
    return answer


def said(what, status, body):
    """One line about an answer."""
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    text = value['error']['message'] if isinstance(value, dict) and 'error' in value else '%d bytes' % (len(body) > 0)
    print('%-22s %d %s' % (what, status, re.sub('file-[0-9a-f]{16}', 'file-ID', text)))


def upload(name, data, field='file'):
    body = (b'--edge\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--edge\r\n'
            b'Content-Disposition: form-data; name="' + field.encode() + b'"; filename="' + name.encode() +
            b'"\r\nContent-Type: application/octet-stream\r\n\r\n' + data + b'\r\n--edge--\r\n')
    status, answer = ask('POST', '/v1/files', body, {'Content-Type': 'multipart/form-data; boundary=edge'})
    return status, json.loads(answer)


def chat(messages, **more):
    return ask('POST', '/v1/chat/completions', dict(dict(messages=messages, max_tokens=8), **more))


def user(*parts):
    return [{'role': 'user', 'content': [{'type': 'text', 'text': p} if isinstance(p, str) else
                                         {'type': 'file', 'file': p} for p in parts]}]


def content(answer):
    status, body = answer
    assert status == 200, body
    return json.loads(body)['choices'][0]['message']['content']


def events(body):
    return [json.loads(line[6:]) for line in body.decode().split('\n')
            if line.startswith('data: ') and line != 'data: [DONE]']


def check(what, good):
    print('%-60s %s' % (what, 'yes' if good else 'NO'))


text = open('text', encoding='utf-8').read()
expected = json.load(open('expected', encoding='utf-8'))['answer']
question = 'Who sat?'


def refusals():
    for what, answer in [
            ('no such path', ask('GET', '/nothing')),
            ('no such method', ask('PUT', '/v1/models')),
            ('another host', ask('GET', '/v1/models', headers={'Host': 'evil.example'})),
            ('a host that looks so', ask('GET', '/v1/models', headers={'Host': 'localhost.evil.example'})),
            ('another origin', ask('POST', '/v1/chat/completions', {}, {'Origin': 'http://evil.example'})),
            ('origin null', ask('POST', '/v1/chat/completions', {}, {'Origin': 'null'})),
            ('our origin', ask('GET', '/v1/models', headers={'Origin': 'http://' + host})),
            ('no JSON', ask('POST', '/v1/chat/completions', b'{"messages": [')),
            ('no object', ask('POST', '/v1/chat/completions', b'[]')),
            ('no messages', ask('POST', '/v1/chat/completions', {})),
            ('the wrong last', chat(user(text, question) + [{'role': 'assistant', 'content': 'x'}])),
            ('a role', chat([{'role': 'tool', 'content': 'x'}])),
            ('a picture', chat([{'role': 'user', 'content': [{'type': 'image_url'}]}])),
            ('no question', chat(user(text, ' \n'))),
            ('no such file', chat(user({'file_id': 'file-0'}, question))),
            ('no such file there', ask('GET', '/v1/files/file-0')),
            ('a path as a file', ask('GET', '/v1/files/../text')),
            ('data that is none', chat(user({'file_data': 'data:text/plain;base64,***'}, question))),
            ('data that is cut', chat(user({'file_data': 'QUJDR'}, question))),
            ('a number', chat(user(text, question), temperature='hot')),
            ('a number too large', chat(user(text, question), top_p=2)),
            ('a part of a token', chat(user(text, question), top_k=1.5)),
            ('tools', chat(user(text, question), tools=[{'type': 'function'}])),
            ('a schema', chat(user(text, question), response_format={'type': 'json_schema', 'json_schema': {
                'schema': {'type': 'string', 'pattern': '(?=a)'}}})),
            ('a format', chat(user(text, question), response_format={'type': 'yaml'})),
            ('long, one paragraph', chat([{'role': 'user', 'content': 'word ' * 500}])),
            ('no form', ask('POST', '/v1/files', b'x', {'Content-Type': 'multipart/form-data'})),
            ('an empty form', ask('POST', '/v1/files', b'')),
            ('too large', ask('POST', '/v1/chat/completions', b' ' * 300000)),
    ]:
        said(what, *answer)


def answers():
    check('two parts: the same as gemkv ask', content(chat(user(text, question))) == expected)
    check('... and it says that it was cut', json.loads(chat(user(text, question))[1])['choices'][0]['finish_reason'] == 'length')
    status, body = chat(user(text, question), stream=True, stream_options={'include_usage': True})
    stream = events(body)
    deltas = ''.join(e['choices'][0]['delta'].get('content', '') for e in stream if e['choices'])
    check('as a stream, too', deltas == expected and body.endswith(b'data: [DONE]\n\n'))
    check('... says once whose it is', [e['choices'][0]['delta'].get('role') for e in stream if e['choices']] ==
          ['assistant'] + [None] * (len(stream) - 2))
    check('... with usage at its end', stream[-1]['choices'] == [] and stream[-1]['usage']['completion_tokens'] > 0)
    check('... and what was kept', len(stream[-2]['gemkv']['passages']) > 0)
    whole = json.loads(chat(user(text, question))[1])
    kept = whole['gemkv']
    check('passages are of the text', all(text.encode()[p['start']:p['end']].decode() == p['text'] for p in kept['passages']))
    check('documents have their size', kept['documents'] == [{'document': 'text 1', 'bytes': len(text.encode())}])
    check('not all was kept, which is told', kept['tokens']['kept'] < kept['tokens']['prompt'] == whole['usage']['prompt_tokens'])
    check('-k as "keep"', json.loads(chat(user(text, question), keep=80)[1])['gemkv']['tokens']['kept'] == 80)
    check('a schema', isinstance(json.loads(content(chat(user(text, question), max_tokens=40, response_format={
        'type': 'json_schema', 'json_schema': {'schema': {'type': 'object', 'properties': {'n': {'type': 'boolean'}},
                                                          'required': ['n']}}})))['n'], bool))
    check('any object', isinstance(json.loads(content(chat(user(text, question), max_tokens=40, response_format={'type': 'json_object'}))), dict))
    check('a stop string', content(chat(user(text, question), stop=[expected[1]])) == expected[0])
    plain = json.loads(chat([{'role': 'user', 'content': 'Hello. Who is there?'}])[1])
    check('without a document', plain['choices'][0]['message']['content'] and plain['gemkv']['passages'] == [])
    check('a seed decides', content(chat(user(text, question), temperature=2, seed=7)) ==
          content(chat(user(text, question), temperature=2, seed=7)) !=
          content(chat(user(text, question), temperature=2, seed=8)))


def long_messages():
    """A long message is a document with its question, first or last."""
    long = '\n\n'.join([text.strip()] * 8)
    two = content(chat(user(long, question)))
    check('the last paragraph is the question', content(chat([{'role': 'user', 'content': long + '\n\n' + question}])) == two)
    check('... of a part, too', content(chat(user(long + '\n\n' + question))) == two)
    check('... if two could be', content(chat([{'role': 'user', 'content': 'Who?\n\n' + long + '\n\n' + question}])) ==
          content(chat(user('Who?\n\n' + long, question))))
    check('... or the first', content(chat([{'role': 'user', 'content': question + '\n \n' + long}])) == two)
    lines = '\n'.join([text.strip()] * 8)
    check('... or the last line of one paragraph', content(chat([{'role': 'user', 'content': lines + '\n' + question}])) ==
          content(chat(user(lines, question))))
    first = json.loads(chat(user(long, question))[1])
    check('a long text is not read again', first['usage']['prompt_tokens_details']['cached_tokens'] ==
          first['usage']['prompt_tokens'] and first['gemkv']['schedule'] == 'index')
    other = json.loads(chat([{'role': 'system', 'content': 'Be brief.'}] + user(long, question))[1])
    check('... but with another system prompt', other['gemkv']['tokens']['read'] > 0)
    check('... and the first is still there', json.loads(chat(user(long, question))[1])['gemkv']['tokens']['read'] == 0)
    turns = [{'role': 'user', 'content': long + '\n\n' + question}, {'role': 'assistant', 'content': 'The cat.'}]
    after = json.loads(chat(turns + [{'role': 'user', 'content': 'And who else?'}])[1])
    check('later questions find the document', after['gemkv']['tokens']['document'] == first['gemkv']['tokens']['document'])
    check('... and the turns before', after['usage']['prompt_tokens'] > first['usage']['prompt_tokens'] + 10)


def files():
    status, f = upload('../../a/b.txt', text.encode())
    check('a file has its name, without folders', status == 200 and f['filename'] == 'b.txt')
    check('it is asked', content(chat(user({'file_id': f['id']}, question))) == expected)
    check('... and named', json.loads(chat(user({'file_id': f['id']}, question))[1])['gemkv']['passages'][0]['document'] == 'b.txt')
    check('its text', ask('GET', '/v1/files/' + f['id'] + '/content')[1] == text.encode())
    check('it is listed', [x['id'] for x in json.loads(ask('GET', '/v1/files')[1])['data']] == [f['id']])
    check('it is told', json.loads(ask('GET', '/v1/files/' + f['id'])[1]) == f)
    data = 'data:text/plain;base64,' + base64.b64encode(text.encode()).decode()
    check('a file in the message', content(chat(user({'file_data': data, 'filename': 'x'}, question))) == expected)
    for length in (97, 98, 99):
        start = text[:length].encode()
        check('... of %d bytes' % length, content(chat(user({'file_data': base64.b64encode(start).decode()}, question))) ==
              content(chat(user(start.decode(), question))))
    check('... which is not kept', len(json.loads(ask('GET', '/v1/files')[1])['data']) == 1)
    page = '<p>%s</p>' % text.replace('\n', '<br>')
    status, g = upload('p.html', page.encode())
    check('a web page is read', status == 200 and b'The pass key is 48213' in ask('GET', '/v1/files/' + g['id'] + '/content')[1])
    for id in [x['id'] for x in json.loads(ask('GET', '/v1/files')[1])['data']]:
        ask('DELETE', '/v1/files/' + id)
    said('deleted', *ask('GET', '/v1/files/' + f['id']))
    said('blank', *(lambda s, v: (s, json.dumps(v)))(*upload('blank.txt', b' \n')))


def form():
    body = (b'--edge\r\nContent-Disposition: form-data; name="file"; filename="<b>.txt"\r\n\r\n' + text.encode() +
            b'\r\n--edge\r\nContent-Disposition: form-data; name="question"\r\n\r\nWho <i>sat?\r\n--edge--\r\n')
    status, page = ask('POST', '/ask', body, {'Content-Type': 'multipart/form-data; boundary=edge', 'Origin': 'http://' + host})
    check('the form without scripts', status == 200 and b'&lt;b&gt;.txt' in page and b'Who &lt;i&gt;sat?' in page and
          b'<i>' not in page)
    said('a part without a name', *ask('POST', '/v1/files', b'--edge\r\nContent-Disposition: form-data\r\n\r\nx\r\n--edge--\r\n',
                                       {'Content-Type': 'multipart/form-data; boundary=edge'}))
    said('a form without a file', *ask('POST', '/ask', b'question=x', {'Content-Type': 'application/x-www-form-urlencoded'}))
    for path in ['/', '/page.css', '/page.js', '/health', '/metrics']:
        check(path, ask('GET', path)[0] == 200)


def one_who_leaves():
    """The next question does not wait for one that nobody waits for."""
    long = ' '.join('%s %d.' % (text, i) for i in range(200))
    body = json.dumps(dict(messages=user(long, question), stream=True)).encode()
    s = connect()
    s.sendall(b'POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n' %
              (host.encode(), key.encode(), len(body)) + body)
    check('a stream begins at once', s.recv(100).startswith(b'HTTP/1.1 200'))
    s.close()
    began = time.time()
    check('the next is answered', content(chat(user(text, question))) == expected)
    check('... soon', time.time() - began < 20)


def many():
    found = []
    threads = [threading.Thread(target=lambda: found.append(content(chat(user(text, question))))) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    check('eight at once', found == [expected] * 8)


def bundled():
    """The bundled model, which answers: a server with -k 20%."""
    said = 'The cat sat on the mat. The pass key is 48213. A dog barked at the moon.'
    whole = json.loads(chat(user(said, 'What is the pass key?'), keep=30)[1])
    message = whole['choices'][0]['message']
    print(message['content'], whole['choices'][0]['finish_reason'], whole['gemkv']['tokens']['kept'])
    for a in message['annotations']:
        c = a['file_citation']
        print(c['sentence'], c['index'], c['document'], c['lines'], c['passage'],
              '48213' in whole['gemkv']['passages'][c['passage']]['text'])


def responses():
    """The newer protocol."""
    def respond(input, **more):
        return ask('POST', '/v1/responses', dict(dict(input=input, max_output_tokens=8), **more))
    parts = [{'role': 'user', 'content': [{'type': 'input_text', 'text': text}, {'type': 'input_text', 'text': question}]}]
    r = json.loads(respond(parts)[1])
    item = r['output'][0]
    check('the same answer', item['content'][0]['text'] == expected)
    check('... which is said to be cut', (r['status'], r['incomplete_details']['reason']) == ('incomplete', 'max_output_tokens'))
    check('... with usage and passages', r['usage']['output_tokens'] == 8 and len(r['gemkv']['passages']) > 0)
    status, body = respond(parts, stream=True)
    stream = events(body)
    check('a stream is numbered', [e['sequence_number'] for e in stream] == list(range(len(stream))))
    kinds = [e['type'][9:] for e in stream]
    print(kinds[:4], kinds[-4:])
    check('... has one message', {e['output_index'] for e in stream if 'output_index' in e} == {0})
    check('... begins empty', [e['part']['text'] for e in stream if 'part' in e] == ['', expected])
    check('... and adds up', ''.join(e['delta'] for e in stream if e['type'].endswith('delta')) == expected)
    last = stream[-1]['response']
    check('... to the same', (last['output'][0]['content'], last['usage']) == (item['content'], r['usage']))
    long = '\n\n'.join([text.strip()] * 8)
    check('a text of its own', json.loads(respond(long + '\n\n' + question)[1])['output'][0]['content'] ==
          json.loads(respond([{'role': 'user', 'content': long + '\n\n' + question}])[1])['output'][0]['content'])
    check('instructions', json.loads(respond(parts, instructions='Be brief.')[1])['usage']['input_tokens'] > r['usage']['input_tokens'])
    f = upload('x.txt', text.encode())[1]
    file = [{'role': 'user', 'content': [{'type': 'input_file', 'file_id': f['id']}, {'type': 'input_text', 'text': question}]}]
    check('a file', json.loads(respond(file)[1])['output'][0]['content'][0]['text'] == expected)
    schema = {'format': {'type': 'json_schema', 'name': 'x', 'schema': {
        'type': 'object', 'properties': {'n': {'type': 'boolean'}}, 'required': ['n']}}}
    check('a schema', isinstance(json.loads(json.loads(respond(parts, text=schema, max_output_tokens=40)[1])
                                            ['output'][0]['content'][0]['text'])['n'], bool))
    said('no input', *respond(None))
    said('an earlier response', *respond('x', previous_response_id='resp_1'))
    ask('DELETE', '/v1/files/' + f['id'])


def library():
    """A server with a library of two texts, the second of which has changed."""
    one = json.loads(chat([{'role': 'user', 'content': question}])[1])
    kept = one['gemkv']
    check('the same as gemkv ask -L', one['choices'][0]['message']['content'] == expected)
    print(kept['documents'], kept['warning'])
    check('passages are of both', {p['document'] for p in kept['passages']} == {'text', 'other'})
    check('... and not read again', kept['tokens']['read'] == 0)
    two = json.loads(chat([{'role': 'system', 'content': 'Be brief.'}, {'role': 'user', 'content': question},
                           {'role': 'assistant', 'content': 'The cat.'}, {'role': 'user', 'content': 'And who else?'}])[1])
    check('a system prompt and turns', two['usage']['prompt_tokens'] > one['usage']['prompt_tokens'] + 20)
    given = json.loads(chat(user(text, question))[1])
    check('a document that is given goes before', [d['document'] for d in given['gemkv']['documents']] == ['text 1'])
    check('it is named', json.loads(ask('GET', '/v1/models')[1])['data'][0]['library'] == 'lib')


def story(i, pieces):
    return ' '.join('%s %d.' % (text, i + j) for j in range(pieces))


def far(i=0):
    """A text that takes longer to read than some quick questions to answer, however fast this machine and build are."""
    if not os.path.exists('pieces'):
        times = []
        for n in (1, 41):
            began = time.time()
            content(chat(user(story(1000 + n, n), question)))
            times.append(time.time() - began)
        a_piece = max(times[1] - times[0], 0.001) / 40
        with open('pieces', 'w') as f:
            f.write(str(int(max(60, min(10 * times[0] / a_piece, 2000), min(2 / a_piece, 1000)))))
    return story(i, int(open('pieces').read()))


class Stream(threading.Thread):
    """A question whose events are taken as they come; `at` is when it ended."""
    def __init__(self, messages, **more):
        super().__init__()
        self.body = json.dumps(dict(messages=messages, stream=True, return_progress=True, **dict({'max_tokens': 8}, **more))).encode()
        self.read, self.at, self.got, self.s = threading.Event(), 0, b'', connect()
        self.start()

    def run(self):
        self.s.sendall(b'POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' %
                       (host.encode(), len(self.body)) + self.body)
        while True:
            try:
                piece = self.s.recv(1 << 16)
            except ConnectionResetError:        # it has left, and more was on its way
                piece = b''
            self.got += piece
            if not piece or re.search(rb'"processed": [1-9]', self.got):
                self.read.set()
            if not piece:
                break
        self.at = time.time()

    def answer(self):
        self.join()
        return ''.join(re.findall(r'"delta": \{(?:"role": "assistant", )?"content": "((?:[^"\\]|\\.)*)"', self.got.decode()))

    def leave(self):
        self.s.shutdown(socket.SHUT_RDWR)
        self.join()


def questions():
    return int(re.search(rb'^gemkv_questions (\d+)', ask('GET', '/metrics')[1], re.M).group(1))


def until_questions(n, seconds):
    """Whether so many are waiting or answered, before the time is up."""
    until = time.time() + seconds
    while questions() != n and time.time() < until:
        time.sleep(0.05)
    return questions() == n


def gone(seconds):
    return until_questions(0, seconds)


def turns():
    """Quick questions do not wait for a long reading, and the other way round."""
    one = Stream(user(far(), question))
    one.read.wait(300)
    quick = [content(chat(user(text, question))) for _ in range(3)]
    between = time.time()
    check('quick ones are answered meanwhile', quick == [expected] * 3)
    check('... one after the other, beside a long one', questions() == 1)
    answer = one.answer()
    check('the long one ends after them', one.at > between)
    again = json.loads(chat(user(far(), question))[1])
    check('... with its answer', 'error' not in one.got.decode() and answer == json.dumps(
        again['choices'][0]['message']['content'], ensure_ascii=False)[1:-1])
    check('what was read is quick from then on', again['gemkv']['tokens']['read'] == 0)
    one = Stream(user(far(5), question))
    one.read.wait(300)
    large = chat(user(text, question), max_tokens=600000, stop=list('abcdefghinorstu '))
    answered = time.time()
    one.join()
    check('a quick one that needs much memory waits, and is answered', large[0] == 200 and one.at < answered + 0.5)
    known = user(story(8, 20), question)
    brief = [{'role': 'system', 'content': 'Be brief.'}] + known
    before = [content(chat(brief)), content(chat(known))]
    one = Stream(user(far(1), question))
    one.read.wait(300)
    check('a text that is known with its system prompt is quick', content(chat(brief)) == before[0] and one.at == 0)
    check('a known text is quick', content(chat(known)) == before[1] and one.at == 0)
    one.leave()
    check('one who leaves while it is read', gone(60))
    one = Stream(user(text, question), max_tokens=1000000)
    while one.got.count(b'data: ') < 20 and not one.at:
        time.sleep(0.02)
    one.leave()
    check('... and while it is answered', gone(60))


def begin(length, body=b''):
    """What is said to a request of so many bytes that begins so."""
    s, reply = connect(), b''
    s.sendall(b'POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nConnection: close\r\nContent-Length: %d\r\n\r\n' %
              (host.encode(), length) + body)
    while b'}}' not in reply and (piece := s.recv(1 << 16)):
        reply += piece
    return reply


def limits():
    """A server with --max-waiting 1 --memory."""
    some = []
    for i in (2, 3):
        some.append(Stream(user(far(i), question)))
        until_questions(len(some), 60)
    body = json.dumps(dict(messages=user(far(4), question))).encode()
    reply = begin(len(body), body)
    check('a third long one is refused', reply.startswith(b'HTTP/1.1 503') and b'\r\nRetry-After: 10' in reply)
    for one in some:
        one.leave()
    check('who has left does not wait', gone(60))
    print(re.sub(rb'has \d+ bytes, and --memory leaves \d+', b'has N bytes, and --memory leaves N', begin(40000000).split(b'"')[5]).decode())
    check('others go on', content(chat(user(text, question))) == expected)
    status, body = chat(user(text, question), max_tokens=2000000)
    limit = float(re.search(rb'the limit is ([0-9.]+) MiB', body).group(1))
    check('requests have a part of the memory', status == 413 and 100 < limit < 180)


def late():
    """A server with --max-time 1."""
    said('a long one', *chat(user(far() * 2, question)))
    check('others go on', content(chat(user(text, question))) == expected)


def drain():
    """The server, whose process is the third argument, gets SIGTERM: what is read may end, what waits is refused."""
    some = []
    for i in (6, 7):
        some.append(Stream(user(far(i), question)))
        until_questions(len(some), 60)
    some[0].read.wait(300)
    os.kill(int(sys.argv[3]), signal.SIGTERM)
    for one in some:
        one.join()
    check('what is read ends', b'"finish_reason": "length"' in some[0].got and b'"error"' not in some[0].got)
    print(re.search(r'"message": "([^"]*)"', some[1].got.decode()).group(1))


def elsewhere():
    """A server whose answers come from answer-server.py."""
    whole = json.loads(chat(user(text, 'Which number?'), seed=7, top_p=0.5, stop='xyzzy', response_format={
        'type': 'json_schema', 'json_schema': {'name': 'n', 'schema': {'type': 'object'}}})[1])
    print(whole['model'], whole['choices'][0]['message']['content'], whole['choices'][0]['finish_reason'])
    check('passages and costs', len(whole['gemkv']['passages']) > 0 and whole['usage']['completion_tokens'] == 23)
    status, body = chat([{'role': 'system', 'content': 'Be brief.'}] + user(text, 'Which number?'), stream=True)
    check('a stream', ''.join(e['choices'][0]['delta'].get('content') or '' for e in events(body)) ==
          whole['choices'][0]['message']['content'])


def broken():
    said('another failed', *chat(user(text, 'Which number?')))


def slow():
    one = Stream(user(text, 'Which number?'))
    while b'event' not in one.got and b'data' not in one.got and not one.at:
        time.sleep(0.05)
    time.sleep(0.5)
    one.leave()
    check('one who leaves while another answers', gone(10))


def kept(what):
    """A server with --folder, before and after it ended; `poor`: with too little memory."""
    if what == 'poor':
        id = json.loads(ask('GET', '/v1/files')[1])['data'][0]['id']
        status, body = chat(user({'file_id': id}, question))
        check('no memory for what was read of it', status == 413 and b'memory' in body and b'kept/' not in body)
        return
    if what == 'first':
        f = upload('x y.txt', story(0, 60).encode())[1]
        check('it is read', content(chat(user({'file_id': f['id']}, question))) and f['filename'] == 'x y.txt')
        return
    there = json.loads(ask('GET', '/v1/files')[1])['data']
    check('the file is there', [f['filename'] for f in there] == ['x y.txt'])
    whole = json.loads(chat(user({'file_id': there[0]['id']}, question))[1])
    check('... with what was read of it', whole['gemkv']['tokens']['read'] == 0 and whole['gemkv']['tokens']['document'] > 1000)
    inline = {'file_data': 'data:text/plain;base64,' + base64.b64encode(text.encode()).decode(), 'filename': 'z.txt'}
    check('a file in a request does not stay', content(chat(user(inline, question))) and
          len(json.loads(ask('GET', '/v1/files')[1])['data']) == 1)
    if what == 'last':
        ask('DELETE', '/v1/files/' + there[0]['id'])


if __name__ == '__main__':
    if key == 'bundled':
        bundled()
    elif key == 'library':
        library()
    elif what in ('turns', 'limits', 'late', 'drain', 'elsewhere', 'broken', 'slow'):
        globals()[what]()
    elif what in ('first', 'poor', 'again', 'last'):
        kept(what)
    elif key:
        for what, header in [('no key', ''), ('a wrong key', 'Bearer x'), ('its beginning', 'Bearer ' + key[:-1]),
                             ('more than it', 'Bearer ' + key + key), ('the key', 'Bearer ' + key)]:
            said(what, *ask('GET', '/v1/models', headers={'Authorization': header}))
        check('the page needs none', ask('GET', '/', headers={'Authorization': ''})[0] == 200)
    else:
        for part in (refusals, answers, responses, long_messages, files, form, many, one_who_leaves):
            print('-- ' + part.__name__.replace('_', ' '))
            part()
