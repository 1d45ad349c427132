#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""seeds.py MKMODEL GEMKV FOLDER - writes inputs that each target of tests/fuzz begins with

They go to FOLDER/TARGET, made of what is in the tree.  FOLDER/files gets the model and the vocabularies that targets
need besides ($FUZZ_FILES), FOLDER/TARGET.dict words that are worth trying."""
import contextlib
import os
import re
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import zipfile

mkmodel, gemkv, out = map(os.path.abspath, sys.argv[1:4])
tests = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def put(target, name, data):
    os.makedirs(os.path.join(out, target), exist_ok=True)
    with open(os.path.join(out, target, name), 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def put_all(target, items):
    for i, data in enumerate(items):
        put(target, 'made-%03d' % i, data)


def put_words(target, words):
    with open(os.path.join(out, target + '.dict'), 'a') as f:
        for w in sorted(set(words)):
            f.write('"%s"\n' % ''.join(chr(c) if chr(c).isalnum() and c < 128 else '\\x%02x' % c for c in w.encode()))


def read(*path):
    with open(os.path.join(tests, *path), 'rb') as f:
        return f.read()


def make(path, *args):
    size = ['--layers=2', '--embd=32', '--heads=1', '--heads-kv=1', '--head-dim=32', '--ff=32', '--vocab=280']
    subprocess.run([mkmodel, *size, *args, path], check=True)


# ---- what was found ----------------------------------------------------------------------------
# Inputs that failed once, by what was wrong.
FOUND = {
    'http': {
        'left-after-refusal': b'\0POST /x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n',
    },
    'pages': {
        'blank-cut': b'\f\x1b(\x03\xef\xbb\xbf\xe3\x80\x80',
        'cite-no-words': b'\xe3\x80\xd4\x9c\v\0\xd0\xd4\x9c\v\0|\xd2',
    },
    'schema': {
        'minus-zero': b'{"maxLength":-0}',
        'newline-in-why': b'{"type": "array", "items": {"type": "integer", "m\\nimum": -3}, "minItems": 1, "maxItems": 4}',
        'not-utf8': b'{"type": "object", "properties": {"a": {"type": ["string", "null"], "maxLength": 3}, '
                    b'"b": {"enum": [1, ":\xa0x"]}}, "required": ["a"], "additionalProperties": false}',
    },
    'template': {
        'raw-without-end': b'{% raw \t}',
    },
}


def found():
    for target, inputs in FOUND.items():
        for name, data in inputs.items():
            put(target, name, data)


# ---- models ------------------------------------------------------------------------------------
def models():
    files = os.path.join(out, 'files')
    os.makedirs(os.path.join(files, 'token'), exist_ok=True)
    make(os.path.join(files, 'model.gguf'), '--layers=3', '--filter-layer=1')
    for name in os.listdir(os.path.join(tests, 'files', 'token')):
        if name.endswith('.gguf'):
            shutil.copy(os.path.join(tests, 'files', 'token', name), os.path.join(files, 'token'))
            put('vocabulary', name, read('files', 'token', name))
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, 'm.gguf')
        for arch in 'llama qwen2 phi3 gemma2 gemma4 qwen3moe qwen35 granitehybrid lfm2moe gpt-oss'.split():
            make(path, '--arch=' + arch, '--layers=4', '--type=q8_0')
            with open(path, 'rb') as f:
                put('model', arch, f.read())
        for kind in ['f16', 'q4_k_m', 'mixed']:
            make(path, '--layers=1', '--type=' + kind)
            with open(path, 'rb') as f:
                data = f.read()
            for target in 'gguf', 'model', 'vocabulary':
                put(target, kind, data)
        breaks = subprocess.run([mkmodel, '--list-breaks'], check=True, capture_output=True, text=True).stdout
        for line in breaks.splitlines():
            name, _, part = line.split()[:3]
            subprocess.run([mkmodel, '--layers=1', '--embd=32', '--heads=1', '--heads-kv=1', '--head-dim=32', '--ff=32',
                            '--vocab=280', '--break=' + name, path], check=False, stderr=subprocess.DEVNULL)
            if os.path.exists(path) and os.path.getsize(path) < 100000:
                with open(path, 'rb') as f:
                    put('gguf' if part == 'gguf' else 'model', 'break-' + name, f.read())
                os.remove(path)
    put_words('gguf', re.findall(r'"((?:general|tokenizer|split)\.[\w.]+)"', read('gguf-walk.h').decode()))
    shutil.copy(os.path.join(out, 'gguf.dict'), os.path.join(out, 'model.dict'))
    shutil.copy(os.path.join(out, 'gguf.dict'), os.path.join(out, 'vocabulary.dict'))


def segments():
    text = 'The cat sat on the mat. It was <|im_end|> raining.\n\n\fA second page: 4821.\n'
    with tempfile.TemporaryDirectory() as tmp:
        with open(os.path.join(tmp, 'b.txt'), 'w') as f:
            f.write(text * 4)
        for grade in 'compact', 'exact', 'q8', 'q4':
            library = os.path.join(tmp, grade)
            subprocess.run([gemkv, 'index', '-q', '-m', os.path.join(out, 'files', 'model.gguf'),
                           '--layer', '1', '--grade', grade, library, 'b.txt'], cwd=tmp, check=True)
            segment, = os.listdir(os.path.join(library, 'segments'))
            with open(os.path.join(library, 'segments', segment), 'rb') as f:
                segments_of(grade, f.read())
        catalogues(os.path.join(library, 'catalogue.sqlite'))


# A segment, and what somebody may have written over its numbers: of the document, of its index.
def segments_of(grade, data):
    put('segment', grade, data)
    files, n, size, tokenized, index = struct.unpack_from('<5Q', data, 32)
    first = 72 + 16 * files
    numbers = [(first, 'I', 2**32 - 1), (first + 20, 'I', 280), (first + 4 * n, 'I', 2**31), (72, 'Q', size + 1),
               (80, 'Q', size + 9), (80, 'Q', 2**63), (56, 'Q', tokenized + 1), (40, 'Q', 2**61), (48, 'Q', 2**64 - 80),
               (64, 'Q', index + 4096), (index + 16, 'Q', n - 1), (index + 16, 'Q', n + 1), (index + 24, 'Q', 1),
               (index + 24, 'Q', 2**40), (index + 32, 'Q', 2**20), (index + 32, 'Q', 0), (index + 40, 'Q', n + 64),
               (index + 48, 'Q', 1), (index + 56, 'I', 100), (index + 56, 'I', 0), (index + 60, 'I', 0)]
    for i, (at, form, value) in enumerate(numbers if grade in ('compact', 'exact') else []):
        changed = bytearray(data)
        struct.pack_into('<' + form, changed, at, value)
        put('segment', '%s-%02d' % (grade, i), bytes(changed))


# What somebody may have written into a catalogue.
def catalogues(path):
    for i, sql in enumerate([
            "", "UPDATE entry SET name = ''", "UPDATE entry SET name = 'a' || char(0) || 'b'",
            "UPDATE entry SET path = NULL", "UPDATE entry SET id = -1", "UPDATE entry SET id = 1 << 60",
            "UPDATE entry SET bytes = -1", "UPDATE entry SET pages = -5", "UPDATE entry SET layer = 1 << 40",
            "UPDATE entry SET grade = 'x', part = '../..'", "UPDATE entry SET hash = 0",
            "UPDATE passage SET first = 5000, last = 9000", "UPDATE passage SET first = 9, last = 3",
            "UPDATE passage SET first = -1", "UPDATE passage SET first = 'a', last = NULL",
            "UPDATE passage SET rowid = -7", "UPDATE passage SET rowid = 1 << 55",
            "DELETE FROM passage_docsize", "DROP TABLE passage", "CREATE TABLE more(a)",
            "CREATE TRIGGER t AFTER DELETE ON entry BEGIN DELETE FROM passage; END",
            "CREATE VIEW v AS SELECT * FROM entry", "PRAGMA user_version = 99", "PRAGMA application_id = 1"]):
        changed = path + '-%d' % i
        shutil.copy(path, changed)
        with contextlib.closing(sqlite3.connect(changed)) as db:
            db.execute(sql)
            db.commit()
        with open(changed, 'rb') as f:
            put('catalogue', 'sql-%02d' % i, f.read())


# ---- text --------------------------------------------------------------------------------------
def tokens():
    vectors = set()
    for name in sorted(os.listdir(os.path.join(tests, 'files', 'token'))):
        if name.endswith('.vec') or name == 'words.txt':
            for line in read('files', 'token', name).decode().split('\n')[:400]:
                vectors.update(bytes.fromhex(w) for w in line.split() if re.fullmatch('([0-9a-f]{2}){8,}', w))
    texts = sorted(vectors)[::20]
    put_all('tokenizer', [bytes([i % 7, i % 40]) + t for i, t in enumerate(texts)])
    put_words('tokenizer', ['<|im_start|>', '<|im_end|>', '<s>', '</s>',
              '<unk>', '[INST]', '<start_of_turn>', "'ll", '1234'])


def templates():
    cases = [bytes.fromhex(line.split()[1]) for line in read('files', 'template', 'jinja.txt').decode().splitlines()
             if line.startswith('case ')]
    put_all('template', [c + b'\0Who was it?' for c in sorted(set(cases))])
    words = set()
    for c in cases:
        words.update(re.findall(r'[a-z_]{3,}|\{%-?|-?%\}|\{\{-?|\}\}|//|\*\*|[<>=!]=', c.decode('utf-8', 'replace')))
    put_words('template', words)


# Those of seeds/TARGET: %% is between two of them, and a picture of a control character, such as ␀, stands for that.
def texts():
    for target in sorted(os.listdir(os.path.join(tests, 'fuzz', 'seeds'))):
        text = read('fuzz', 'seeds', target).decode()
        text = re.sub('[\u2400-\u241f]', lambda m: chr(ord(m[0]) - 0x2400), text[:-1])
        for i, seed in enumerate(text.split('\n%%\n')):
            put(target, '%03d' % i, seed)
        put_words(target, re.findall(r'[\w.-]{3,}|"\w+":|\S{2,9}', text))


# What is open again and again, and never closed.
def deep():
    for target, begin, again in [
            ('json', '', '['), ('json', '', '{"a":'), ('jsonl', '{"id": ', '['), ('schema', '', '{"items": '),
            ('schema', '', '{"anyOf": ['), ('grammar', 'root ::= ', '('), ('grammar', 'root ::= "a"', '*'),
            ('template', '{{ ', '('), ('template', '{{ ', '['), ('template', '{{ ', 'not '), ('template', '{{ ', '-'),
            ('template', '', '{% if a %}'), ('template', '{{ a', '.a'), ('template', '{{ a', '|a'),
            ('reader', '\1{\\rtf1', '{'), ('reader', '\1{\\rtf1', '{\\footnote '), ('reader', '\4', '<ul><li>'),
            ('reader', '\4', '<table><tr><td>'),
            ('reader', '\3', 'Content-Type: multipart/mixed; boundary=a\n\n--a\n'), ('pages', '\0\0\xff\1', '\f'),
            ('http', '\1POST /v1/responses\n\n{"input": ', '[')]:
        name = 'deep-' + ''.join(c for c in begin + again if c.isalnum()) + '-%d' % ord(again[-1])
        put(target, name, begin + again * (100000 if len(again) == 1 and target != 'http' else 2000))


def programs():
    shown = subprocess.run([gemkv, '--list-options'], check=True, capture_output=True, text=True).stdout
    options = sorted(set(re.findall(r'--[a-z-]+', shown)))
    put_all('options', ['ask\n%s\n1' % o for o in options])
    put_words('options', options)
    for target, source in ('schema', 'schema.c'), ('http', 'serve/request.c'):
        put_words(target, re.findall(r'"([\w$]{3,})"', read('..', 'src', 'cli', source).decode()))


# ---- files -------------------------------------------------------------------------------------
def office():
    kinds = {'.docx': 'd', '.pptx': 'p', '.odt': 'o', '.odp': 'o', '.ods': 's', '.xlsx': 'x', '.epub': 'e'}
    words = set()
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run([sys.executable, os.path.join(tests, 'files', 'office.py')], cwd=tmp, check=True)
        for name in sorted(os.listdir(tmp)):
            path, kind = os.path.join(tmp, name), kinds.get(os.path.splitext(name)[1])
            with open(path, 'rb') as f:
                put('reader', name, b'\0' + f.read())
            if kind and name != 'crc.docx':
                with zipfile.ZipFile(path) as z:
                    members = [(n, z.read(n)) for n in z.namelist()]
                data = b''.join(b'\f' + n.encode() + b'\n' + t for n, t in members)
                if len(data) < 100000:
                    put('office', name, kind.encode() + b'\n' + data)
                for _, t in members:
                    words.update(w.decode() for w in re.findall(rb'</?[\w:.-]+|[\w:-]+="', t))
    put_words('office', words)


def kernels():
    content = bytes((i * i * 37 + i * 11) % 251 for i in range(300))
    put_all('kernels', [bytes([level, kernel, kind * 3 + level, 17 + level, 35 + kind, 100 + kernel,
            kind & 1]) + content for level in range(6) for kernel in range(9) for kind in range(9)])


for step in found, models, segments, tokens, templates, texts, deep, programs, office, kernels:
    step()
