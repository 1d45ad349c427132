# SPDX-License-Identifier: BSD-2-Clause
# In the report's list, what was kept of a passage is bold, in whole words, and nothing else is.
command -v python3 >/dev/null || skip "no python3"
awk 'BEGIN { for (i = 1; i < 60; i++) print "Row " i " of the first text has caf\303\251 number " i * i ", and more." }' >one
awk 'BEGIN { for (i = 1; i < 60; i++) print "Line " i " of the second text is not like those of the first." }' >two
ask="-t 1 -k 300 --keep-first 0 --keep-last 16 -f one -f two -f one"
gemkv select -q $ask --report page.html "Where is row 7?" >out
gemkv select --json $ask "Where is row 7?" >json
cat >bold.py <<'END'
import html, json, re
asked = json.load(open('json'))
text = {name: open(name, 'rb').read() for name in ('one', 'two')}
edge = lambda t, at: at == 0 or at == len(t) or t[at - 1:at].isspace() or t[at:at + 1].isspace()
bold = []
for p in asked['passages']:
    t, marked = text[p['document']], set()
    for k in asked['kept']:
        if k['file'] == p['file']:
            start, end = k['start'], k['end']
            while not edge(t, start):
                start -= 1
            while not edge(t, end):
                end += 1
            marked.update(range(start, end))
    bold.append([t[m.start():m.end()].decode() for m in re.compile(rb'\S+').finditer(t, p['start'], p['end'])
                 if m.start() in marked])
shown = [html.unescape(' '.join(re.findall('<b>(.*?)</b>', line))).split()
         for line in open('page.html', encoding='utf-8') if 'class="excerpt"' in line]
print('the words that were kept' if shown == bold and sum(map(len, bold)) > 20 else (shown, bold))
print('some passages in part' if any(0 < len(b) < 9 for b in bold) else 'all of each')
END
python3 bold.py
