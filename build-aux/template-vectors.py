#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write the vectors of tests/unit-template.c.

    pip install jinja2
    build-aux/template-vectors.py tests/files/template GOLDEN_DIR

jinja.txt    small templates of our own, rendered by jinja2 set up as in Hugging Face
golden.txt   conversations, and hashes of their renderings, from GOLDEN_DIR/golden.json and
             golden_ids.json (with templates of models, whose licences do not allow copies)

Everything except names is in hexadecimal.  The hash is FNV-1a with 64 bits; that of ids is of
their decimal form, with a space after each."""
import datetime
import json
import os
import sys

from jinja2 import TemplateError, nodes
from jinja2.ext import Extension, loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2024, 7, 26, 15, 4, 5)
MESSAGES = [
    {"role": "system", "content": " Be <b>brief</b>.\n"},
    {"role": "user", "content": "\u00a0 Who are \"you\"?\t\u2003"},
    {"role": "assistant", "content": "<think>hm\n</think>\n\nI'm \u00e9l\u00e8ve \U0001f600 & co."},
    {"role": "user", "content": "{{ x }} {% if %} <|im_end|>"},
]
TEMPLATES = r"""
plain text
a line\n
\n\n\n
{{ bos_token }}{{ eos_token }}{{ undefined_thing }}|
{% for m in messages %}{{ m.role }}:{{ m['content'] }};{% endfor %}
{% for m in messages %}\n  {% if m.role == 'user' %}\n    {{ m.content }}\n  {% endif %}\n{% endfor %}\nend
{%- for m in messages -%}\n  x  {{- m.role -}}  y\n{%- endfor -%}\n z
  {%+ if true %}\n kept {% endif +%}\n q
\t{# comment #}\n  {#- another -#}  \nx{# one\nmore #}y
a {#- -#} b
{% if messages %}\n  yes\n{% else %}\n  no\n{% endif %}\n
x {%- if true %} y {%- endif %} z
   {{ 1 }}\n   {{- 2 -}}\n   3
{% raw %}{{ not }} {% this %}{% endraw %}!
a\n{% raw -%}  \n {{ x }} {%- endraw %}\n b
{{ 'a' + "b" ~ 1 ~ none ~ true ~ 1.5 }} {{ 'it''s' }} {{ "\u00e9\x41\n\t\\ \q \"" }}
{{ 7 // 2 }} {{ -7 // 2 }} {{ -7 % 3 }} {{ 7 / 2 }} {{ 2 * 3 - 4 }} {{ 1 + 2 * 3 }} {{ (1 + 2) * 3 }} {{ 6 / 3 }}
{{ -3|abs }} {{ 1.5 + 1 }} {{ 'ab' * 3 }} {{ [1, 2] + [3] }} {{ 10 % 3 }} {{ 0.1 + 0.2 }} {{ 100.0 }} {{ 1_000 }} {{ 2.50 }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' < 'b' }} {{ 1 == 1.0 }} {{ true == 1 }} {{ not 1 == 2 }} {{ 2 >= 2 and 3 != 4 or x }}
{{ 'a' in 'abc' }} {{ 'd' not in ['d', 'e'] }} {{ 'role' in messages[0] }} {{ 'x' in undefined_thing }} {{ 1 in (1, 2) }}
{{ 'yes' if messages|length > 3 else 'no' }} {{ 'only' if false }}| {{ 'a' if true else 'b' if false else 'c' }}
{{ messages[0].role[0] }} {{ messages[-1]['role'] }} {{ messages[9] is defined }} {{ messages[0].nothing is undefined }}
{{ messages[1:]|length }} {{ messages[::-1][0].role }} {{ 'h\u00e9llo'[1:3] }} {{ 'hello'[:-1] }} {{ 'hello'[::-2] }} {{ 'abc'[-2:] }} {{ [1,2,3,4][1::2] }} {{ 'abc'[5:] }}|
{{ messages[1].content|trim }}| {{ messages[1].content.strip() }}| {{ messages[1].content.rstrip() }}| {{ messages[0].content.lstrip() }}|
{{ 'xxaxx'.strip('x') }} {{ 'abcba'.lstrip('ab') }} {{ 'aab'.rstrip('b') }} {{ '  a '|trim }}| {{ 'xay'|trim('xy') }}
{{ messages[2].content.split('</think>')[-1].lstrip('\n') }} {{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a b c'.split(' ', 1) }} {{ ''.split() }} {{ 'a-b'.split('-')|last }}
{{ 'hello'.startswith('he') }} {{ 'hello'.endswith(('x', 'lo')) }} {{ 'hello'.find('l') }} {{ 'hello'.find('z') }} {{ 'abab'.count('ab') }} {{ 'a.b'.replace('.', '::') }} {{ 'aaa'|replace('a', 'b', 2) }}
{{ 'hello wORLD'|title }} {{ 'hello wORLD'|capitalize }} {{ 'aB'|upper }} {{ 'aB'.lower() }} {{ 'it is'.title() }}
{{ [3, 1, 2]|sort }} {{ ['b', 'a']|sort|join('-') }} {{ [1, 2]|join }} {{ messages|map(attribute='role')|join(', ') }} {{ [1, 1, 2]|unique|list }} {{ [3, 1, 2]|sort(reverse=true) }}
{{ ['b', 'A', 'a', 'C']|sort|join }} {{ ['b', 'A', 'a', 'C']|sort(case_sensitive=true)|join }} {{ ['b', 'A', 'a', 'C']|sort(reverse=true)|join }} {{ messages|sort(attribute='role')|map(attribute='role')|join }}
{{ none|selectattr('a')|list }} {{ none|map(attribute='a')|list }} {{ 0|reject|list|length }} {{ false|map('upper')|list }} {{ ''|select|list }}
{% for k, v in {'b': 1, 'A': 3, 'a': 2}|dictsort %}{{ k }}{{ v }} {% endfor %}{% for k, v in {10: 'a', 9: 'b'}|dictsort %}{{ k }}{{ v }}{% endfor %}
{% for k, v in {'b': 1, 'A': 3}|dictsort(true) %}{{ k }}{% endfor %} {% for k, v in {'b': 1, 'A': 3}|dictsort(false, 'value', true) %}{{ k }}{% endfor %} {% for k, v in {'b': 'y', 'a': 'x', 'B': 'Z'}|dictsort(by='value') %}{{ k }}{% endfor %}
{{ 'x{}y{}{{}}'.format(1, 'z') }} {{ '{1}{0}{1}'.format('a', none) }} {{ '<{}>'.format(messages[1].content) }} {{ ''.format() }} {{ '{}'.format(1.50, 2) }}
{{ messages|selectattr('role', 'equalto', 'user')|list|length }} {{ messages|rejectattr('role', 'in', ['user', 'system'])|map(attribute='role')|list }} {{ [0, 1, 2]|select|list }} {{ [1, 2, 3]|reject('odd')|list }} {{ messages|selectattr('nothing')|list }}
{{ ['a', 'b']|map('upper')|list }} {{ messages|sort(attribute='role')|map(attribute='role')|join(' ') }}
{{ 6 is divisibleby(-3) }} {{ 7 is divisibleby(-3) }} {{ 5 is divisibleby(-1) }}
{{ 1 is divisibleby(0) }}
{{ messages[0]|tojson }} {{ [1, 'a"b\\', none, true, 1.5, {}]|tojson }} {{ {'a': [1, {'b': 2}], 'c': []}|tojson(indent=2) }}
{{ {'a': 1, 'b': [1, 2]} }} {{ ['it''s', "it's", 'a"b', '\n'] }} {{ {'k': none}.k }} {{ {1: 2}[1] }} {{ ('a', 'b')|list }}
{% for k, v in {'x': 1, 'y': 2}.items() %}{{ k }}={{ v }}{{ ', ' if not loop.last }}{% endfor %} {% for k in {'x': 1} %}{{ k }}{% endfor %} {{ {'x': 1}|items|list|length }} {{ {'a': 1}.get('b') }} {{ {'a': 1}.get('b', 3) }} {{ {'a': 1}.keys()|list }} {{ {'a': 1}.values()|list }}
{% for i in range(3) %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }} {% endfor %}{% for i in range(5, 1, -2) %}{{ i }}{% endfor %}
{% for i in [1, 2, 3] %}{{ loop.previtem if loop.previtem is defined else '-' }}{{ loop.nextitem|default('.') }}{% endfor %}
{% for m in messages if m.role == 'user' %}{{ loop.index }}{{ m.role }}{% else %}none{% endfor %}{% for m in [] %}x{% else %}empty{% endfor %}{% for c in 'h\u00e9' %}<{{ c }}>{% endfor %}
{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 5 %}{% break %}{% endif %}{{ i }}{% endfor %}
{% set x = 1 %}{% for i in [1, 2] %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }}{% if true %}{% set x = 9 %}{% endif %}{{ x }}
{% set ns = namespace(n=0, s='') %}{% for i in [1, 2, 3] %}{% set ns.n = ns.n + i %}{% set ns.s = ns.s ~ i %}{% endfor %}{{ ns.n }}{{ ns.s }}
{% set a, b = 1, 'two' %}{{ a }}{{ b }}{% set t = (1, 2) %}{{ t[1] }}{% set block %}in {{ a }} side{% endset %}[{{ block }}]
{% macro greet(who, mark='!') %}Hi {{ who }}{{ mark }}{% endmacro %}{{ greet('you') }} {{ greet('me', mark='?') }} {{ greet(mark='.', who='all')|upper }}
{% set g = 'G' %}{% macro inner(a) %}{{ a }}{{ g }}{{ loopvar }}{% endmacro %}{% for loopvar in [1] %}{{ inner('x') }}{% endfor %}{% macro fact(n) %}{{ n if n < 2 else n * (fact(n - 1)|int) }}{% endmacro %}{{ fact(5) }}
{% filter upper %}ab {{ 'c' }}{% endfilter %} {% filter replace('a', 'o')|trim %} banana {% endfilter %}
{{ none is none }} {{ 1 is number }} {{ 'a' is string }} {{ [] is iterable }} {{ {} is mapping }} {{ 'a' is mapping }} {{ 3 is odd }} {{ 4 is divisibleby 2 }} {{ true is boolean }} {{ 1 is not none }} {{ 'a' is eq 'a' }} {{ x is defined and x }} {{ 2 is in [1, 2] }} {{ 5 is gt 4 }} {{ false is false }} {{ 1 is sequence }}
{{ x|default('d') }} {{ ''|default('e', true) }} {{ none|default('f') }} {{ 0|d(5, boolean=true) }}
{{ strftime_now('%d %b %Y') }} {{ strftime_now("%Y-%m-%d %H:%M:%S %A %B %a %p %I %y %%") }}
{{ strftime_now is defined }} {{ messages is defined and messages is iterable and messages is not mapping }}
{% if not date_string is defined %}{% set date_string = 'today' %}{% endif %}{{ date_string }}
{{ 'a\nb\n\nc'|indent }}|{{ 'a\nb'|indent(2, true) }}|{{ 'a\n\nb'|indent(width=1, blank=true) }}
{{ '12'|int + 1 }} {{ 'x'|int }} {{ 3.9|int }} {{ [1, 2, 3]|sum }} {{ [1,2]|first }} {{ 'abc'|last }} {{ 'abc'|reverse|join }} {{ [1]|string }} {{ 5|string|length }}
{{ ' '.join(['a', 'b']) }} {{ ['a', 'b',]|length }} {{ messages[0]['role']|length }} {{ 'a' 'b' "c" }} {{ '\u4e00'|length }}
{% if 0 %}a{% elif '' %}b{% elif [] %}c{% elif none %}d{% elif {} %}e{% elif ' ' %}f{% else %}g{% endif %}
{{ messages[0].content is string and (messages|length - 1) - 1 }} {{ (messages[0] == messages[0]) != (messages[0] == messages[1]) }}
{%- if messages[0]['role'] == 'system' %}\n    {%- set system = messages[0]['content']|trim %}\n    {%- set messages = messages[1:] %}\n{%- endif %}\n{{- system }}|{{ messages|length }}
{% generation %}inside{% endgeneration %}
{{ raise_exception('no: ' + messages[0].role) }}
{{ messages[7].role }}
{{ nothing.at_all }}
{{ 1 + 'a' }}
{{ undefined_thing + 'a' }}
{{ 1 // 0 }}
{{ undefined_function() }}
{{ 'a'.nothing() }}
{% for x in 5 %}{% endfor %}
{{ 'a' | no_such_filter }}
{{ 1 is no_such_test }}
{% if %}{% endif %}
{% if true %}
{% endif %}
{% for in x %}{% endfor %}
{{ 'a }}
{{ ( }}
{{ a b }}
{# open
{% unknown %}
{{ [1, 2 }}
{{ {'a': {'b': 1}}}}{{ {'a': 2}.a}} {{[{'c':3}][0].c-}}  {{-'x'}}{%if 1%}y{%endif%} {{ {}}}
{{ 1 < 'a' }}
{% set x.y = 1 %}
{{ messages | length }
{{ 'a\u00e9'.strip('\u00e9') }} {{ '\x1ca\x1d b\x1f'|trim }} {{ 'a\u00e9b c'|title }} {{ 'AB'|lower }} {{ 'abc'.find('') }}
{{ 'a b c'.split(' ', -1) }} {{ ' a b  c '.split(none, 1) }} {{ 'a b'.split(none, 0) }} {{ 'aaa'.replace('a', 'b', -1) }} {{ 'aaa'.replace('a', 'b', 0) }}
{{ messages|join(', ', attribute='role') }} {{ messages|join(', ', 'role') }} {{ ['a b', 'c']|map('replace', 'a', 'x')|list }} {{ {'b': 1, 'a': 2}|dictsort(by='key')|map('first')|list }}
{{ 'a\nb'|indent('> ') }} {{ ''|indent }}| {{ x|items|list }} {{ ''|default('e', boolean=true) }} {{ 1|default('e', true) }}
{{ true|int }} {{ none|int }} {{ [1]|int }} {{ (-2.5)|int }} {{ '-5'|int }} {{ ''|int }} {{ '1a'|int }} {{ '-'|int }} {{ (-1.5)|abs }} {{ 1.5|abs }} {{ (0 - 3)|abs }}
{{ 1.5 is number }} {{ true is number }} {{ 'a' is number }} {{ 1 is ne 2 }} {{ 1 is lt 2 }} {{ 2 is le 2 }} {{ 2 is ge 2 }} {{ 1 is gt 2 }} {{ 1 is lt 1.5 }}
{{ 'a' is in 'abc' }} {{ 3 is divisibleby(3) }} {{ 1 is eq 1.0 }} {{ x is eq y }} {{ {} is eq {} }} {{ [] is eq [] }} {{ 1 is eq true }} {{ 'a' is in ['b'] }} {{ 4 is divisibleby 3 }}
{% for i in range(9223372036854775800, 9223372036854775807, 5) %}{{ i }} {% endfor %}{{ range(3, 3)|list }} {{ 'abc'[0::9223372036854775807] }}
{% set ns = namespace({'a': 1}, b=2) %}{{ ns.a }}{{ ns.b }} {{ dict({'a': 1}, b=2) }} {{ dict(a=1).a }} {{ 'y' if ns else 'n' }} {{ 'y' if dict() else 'n' }}
{{ 1.5 - 1 }} {{ 1.5 * 2 }} {{ 7.5 // 2 }} {{ 7.5 % 2 }} {{ -7.5 % 2 }} {{ 7 % -3 }} {{ -6 % 3 }} {{ -7 // -2 }} {{ 'ab' * 0 }}|{{ 'ab' * -1 }}| {{ 1 <= 2 }} {{ 2 <= 1 }}
{% macro m(a, b) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}|{{ m(b=2) }}|{{ 'y' if m else 'n' }}{% for i in [1] %}{{ 'y' if loop else 'n' }}{{ loop == loop }}{% endfor %} {{ m == m }} {{ none == none }} {{ x == y }} {{ none == x }} {% set f = 1.5 %}{{ -f }}
{{ {'a': 1} == {'a': 2} }} {{ {'a': 1} == {'b': 1} }} {{ {'a': 1, 'b': 2} == {'b': 2, 'a': 1} }} {{ {'a': 1} == {} }} {{ 'a' == 'b' }} {{ '' == '' }} {{ [1] == [2] }} {{ [1] == [1, 2] }}
{{ 'abc'[7] is defined }} {{ 'abc'[-7] is defined }} {{ [1][-2] is defined }} {{ {'a': 1}|length }} {{ x|length }} {{ false|tojson }} {{ ['a\x01b\x7f', '\b\f', "it's \"x\"", 'a"b'] }} {{ ['\b\f\x01\x7f']|tojson }}
{{ 'a\\nb' }} {{ '\101\7x\400' }} {{ 'tab\there' }} {{ '\v\a\0' }}
a\r\nb\r\n{% if true %}\r\nc\r{% endif %}\r\n{{ 'x\r\ny' }}
{{ '' in 'abc' }} {{ 'b' in {'b': 1} }} {{ '' in '' }} {{ 1 in [] }} {{ 'x' > 'a' }} {{ 'a' >= 'ab' }} {{ '' < 'a' }} {{ 'ab' <= 'a' }} {{ [1, 2]|last }} {{ []|first is defined }} {{ []|last is defined }}
{{ 'a'.replace(1, 'b') }}
{{ 'a'.replace('a', 1) }}
{{ 'a'.startswith(1) }}
{{ 'a'.startswith((1,)) }}
{{ 5|items|list }}
{{ [1]|tojson(ensure_ascii=true) }}
{{ [1]|tojson(separators=1) }}
{{ ['a']|sum }}
{{ 'a'|abs }}
{{ 'a' is odd }}
{{ 'a'.find(1) }}
{{ range(1, 2, 3, 4)|list }}
{{ range('a')|list }}
{{ range(1, 5, 0)|list }}
{{ namespace(1) }}
{{ raise_exception(1) }}
{% set a = 1 %}{% set a.b = 2 %}
{% set d = {} %}{% set d.b = 2 %}
{{ 1 / 0 }}
{{ 1.5 // 0 }}
{{ 1.5 % 0 }}
{{ 'a' * 'b' }}
{{ [1] + 2 }}
{{ [1] // 2 }}
{{ 1 in 'abc' }}
{{ 1 in 5 }}
{{ [1][::0] }}
{{ 5|length }}
{% macro m() %}{% endmacro %}{{ m|tojson }}
{% macro m() %}{% endmacro %}{{ m|length }}
{{ '\xZZ' }}
{{ '\U00110000' }}
{% set a, b = [1] %}
{% set a, b = 5 %}
{% for a, b in [1] %}{% endfor %}
{{ 1.5 + 0 }} {{ true + 1.5 }} {{ 1.5 * false }} {{ (-9223372036854775807 - 1) // 2 }} {{ (-9223372036854775807 - 1) % 10 }}
{{ 'abc'[2:1] }}|{{ 'abc'[1::9223372036854775807] }}|{{ [1, 2, 3][2:1] }} {{ [1, 2][-9:1] }} {{ [1, 2, 3][-2:] }} {{ 'abc'[-9:-1] }} {{ []|list }}{{ [][::-1] }}
{{ ['a\rb', '\r'] }} {{ ['a\rb']|tojson }} {{ ['aaa', 'bbb']|length }}
a {# comment +#}\nb {# comment -#}\n c
{% raw %}x{%+ endraw %}\ny {% raw %} z {%- endraw +%}\nw
{{ 5|int }} {{ 0|abs }} {{ -0|abs }} {{ (1 - 2)|abs }} {{ 1.0|int }}
{% if true -%}  {% endif %}{% for i in [1] -%}\n  {% if i %}x{% endif %}{% endfor %}
"""


class Generation(Extension):    # {% generation %} marks the assistant's text
    tags = {"generation"}

    def parse(self, parser):
        lineno = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return nodes.ScopedEvalContextModifier([], body).set_lineno(lineno)


def render(template, messages, bos, eos, answer):
    def raise_exception(text):
        raise TemplateError(text)

    env = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                        extensions=[loopcontrols, Generation])
    env.filters["tojson"] = lambda x, indent=None: json.dumps(x, ensure_ascii=False, indent=indent)
    env.globals["raise_exception"] = raise_exception
    env.globals["strftime_now"] = NOW.strftime
    return env.from_string(template).render(messages=messages, bos_token=bos, eos_token=eos,
                                            add_generation_prompt=answer)


def fnv(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return h


def hexed(text):
    return text.encode().hex() or "-"


def main():
    out, golden = sys.argv[1:]
    with open(out + "/jinja.txt", "w") as f:
        for m in MESSAGES:
            f.write("message %s %s\n" % (m["role"], hexed(m["content"])))
        for line in TEMPLATES.strip("\n").split("\n"):
            # Twice: with escapes in Jinja's strings, and with real newlines and tabs.
            for text in {line: 1, line.replace("\\n", "\n").replace("\\t", "\t").replace("\\r", "\r"): 1}:
                try:
                    made = hexed(render(text, MESSAGES, "<s>", "</s>", True))
                except Exception as e:
                    made = "error " + hexed(str(e) if "no: " in str(e) else "")
                f.write("case %s %s\n" % (hexed(text), made))
    cases = json.load(open(golden + "/golden.json"))["cases"]
    ids = json.load(open(golden + "/golden_ids.json"))["cases"]
    with open(out + "/golden.txt", "w") as f:
        seen, tokens = {}, {}
        for c in cases:
            tokens[c["template"]] = hexed(c["bos_token"]), hexed(c["eos_token"])
            assert seen.get(c["conversation"], c["messages"]) == c["messages"]
            if c["conversation"] not in seen:
                seen[c["conversation"]] = c["messages"]
                f.write("conversation %s\n" % c["conversation"])
                for m in c["messages"]:
                    f.write("message %s %s\n" % (m["role"], hexed(m["content"])))
        for c in cases:
            f.write("case %s %s %d %s %s " % (c["template"], c["conversation"],
                    c["add_generation_prompt"], *tokens[c["template"]]))
            if "error" in c:
                f.write("error %s\n" % hexed(c["error"]))
            else:
                text = c["rendered"].encode()
                f.write("%d %016x\n" % (len(text), fnv(text)))
        for c in ids:
            text = "".join("%d " % i for i in c["ids"]).encode()
            f.write("ids %s %s %d %s %s %s %d %016x\n" % (c["template"], c["conversation"],
                    c["add_generation_prompt"], *tokens[c["template"]], c["vocab"],
                    len(c["ids"]), fnv(text)))


if __name__ == "__main__":
    main()
