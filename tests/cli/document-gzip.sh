# SPDX-License-Identifier: BSD-2-Clause
command -v gzip >/dev/null || skip "no gzip"
gzip -c text >text.gz
gemkv select -q -f text.gz $small q >got 2>err
grep 'built without' err && skip "built without zlib"
gemkv select -q -f text $small q >want
cmp want got && echo "gzip"
head -c 100 text >a; tail -c +101 text >b
{ gzip -c a; gzip -c b; } >two.gz
gemkv select -q -f two.gz $small q >got
cmp want got && echo "two members"
head -c 100 text.gz >cut.gz
{ cat text.gz; echo junk; } >junk.gz
t ask -q -f cut.gz q
t ask -q -f junk.gz q
