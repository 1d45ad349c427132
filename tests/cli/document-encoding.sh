# SPDX-License-Identifier: BSD-2-Clause
# Encodings with a mark, UTF-16 without one, and those that are detected.
command -v iconv >/dev/null || skip "no iconv"
gemkv select -q -f text --method full q >want
same() { gemkv select -f "$1" --method full q 2>err >got; sed -i 1d got; sed 1d want >w; cmp "${2-w}" got && grep 'read as' err; }
gemkv select -f text --method full q 2>/dev/null >want
{ printf '\357\273\277'; cat text; } >utf-8;                                    same utf-8; echo "UTF-8 with a mark"
for to in UTF-16LE UTF-16BE UTF-32LE UTF-32BE; do
    { printf '\357\273\277'; cat text; } | iconv -f UTF-8 -t $to >$to;          same $to
done
iconv -f UTF-8 -t UTF-16LE text >plain-le;                                      same plain-le
iconv -f UTF-8 -t UTF-16BE text >plain-be;                                      same plain-be
# Longer than a piece, and with characters across its end.
awk 'BEGIN { for (i = 0; i < 400000; i++) printf "\303\251 "; print "." }' >long
iconv -f UTF-8 -t UTF-16LE long >wide
gemkv tokenize -f long 2>err | cksum >want; grep -v '^memory' err
gemkv tokenize -f wide 2>/dev/null | cksum >got
cmp want got && echo "long"
{ head -c 1048575 /dev/zero | tr '\0' 'a'; printf '\342\202\254.\n'; } >border; gemkv tokenize -f border 2>&1 >/dev/null | grep 'read as'
# Most of it looks like ASCII, not all.
printf 'She said \342\200\234yes\342\200\235 to 5 \342\202\254.\n' | iconv -f UTF-8 -t UTF-16LE >quoted
gemkv select -q -f quoted --method full q
printf 'a\0b\0c' >odd
t ask -q -f odd q
{ printf '\377\376'; printf 'a\0b\0c'; } >cut
t ask -q -f cut q
{ printf '\377\376'; printf 'a\0\0\330b\0'; } >half
t ask -q -f half q
