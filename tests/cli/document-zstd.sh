# SPDX-License-Identifier: BSD-2-Clause
command -v zstd >/dev/null || skip "no zstd"
zstd -qc text >text.zst
gemkv select -q -f text.zst $small q >got 2>err
grep 'built without' err && skip "built without libzstd"
gemkv select -q -f text $small q >want
cmp want got && echo "zstd"
head -c 100 text >a; tail -c +101 text >b
{ zstd -qc a; zstd -qc b; } >two.zst
gemkv select -q -f two.zst $small q >got
cmp want got && echo "two frames"
head -c 100 text.zst >cut.zst
{ cat text.zst; echo junk; } >junk.zst
t ask -q -f cut.zst q
t ask -q -f junk.zst q
