# SPDX-License-Identifier: BSD-2-Clause
# A library is asked as its files are: spans are bytes of the documents, and are named with document and page.
libraries
printf 'The zebra is in the bottle.\fThe second page has a kestrel.\n' >two
printf 'Nothing is here but the owl, and the owl sleeps.\n' >three
touch -d 2020-01-01 text two three
gemkv index -q --grade exact lib text two three || echo "not indexed"
question="What is the pass key?"

# An exact index gives what the file gives.
gemkv select --json -k 96 -f text --kv-type f16 "$question" | sed 's/.*"kept": //' >want
gemkv select --json -k 96 -L lib --among text "$question" 2>/dev/null |
    sed 's/.*"kept": //; s/"page": 1, //g' >got
cmp want got && echo "the same passages with the same scores"
gemkv ask -q $small -f text --kv-type f16 "$question" >want
gemkv ask -q $small -L lib --among text "$question" >got
cmp want got && echo "the same answer"

# Of several documents, passages are of each by itself.
gemkv select --json -k 150 -L lib "$question" >json 2>err
sed 's/.*"passages": //' json | tr '{' '\n' | sed -n 's/^"file": [0-9]*, "document": "\([^"]*\)", "page": \([0-9]*\), "start": \([0-9]*\), "end": \([0-9]*\),.*/\1 \2 \3 \4/p' >spans
gemkv select -q -k 150 -L lib "$question" >want
first=1
while read -r file page start end; do
    test $first -eq 1 || echo
    first=0
    tail -c +$((start + 1)) $file | head -c $((end - start))
    echo
    case $file:$page in two:2) test $start -ge 27;; *:1) :;; *) false;; esac || echo "page $page of $file:$start" >&2
done <spans >got
cmp want got && test -s want && echo "passages are the text"
cut -d' ' -f1 spans | sort -u
gemkv select -k 150 -L lib "$question" 2>/dev/null | grep -c '^==> \(two p. [12]\|[a-z]*\), lines* [0-9-]*, score '
grep -o '"library": {.*}, "kept"' json | sed 's/: [0-9][0-9]*/: N/g'

# With more documents than --top, their words choose.
for q in "Where is the kestrel?" "Where does the owl sleep?" "xyzzy"; do
    gemkv select --json -k 60 -L lib --top 1 "$q" 2>err | grep -o '"chosen_by.*"changed"'
    grep -v '^[0-9k]\|^sched\|^mem\|^first\|^kept' err
done
gemkv select --json -k 150 -L lib --top 2 "The owl sleeps, and the owl sleeps; the kestrel?" 2>/dev/null | grep -o '"chosen_by.*"changed"'
gemkv select --json -k 60 -L lib --top 3 "Where is the kestrel?" 2>/dev/null | grep -o '"chosen_by.*"changed"'
gemkv select --json -k 60 -L lib --among 't*e*' "Where is the kestrel?" 2>/dev/null | grep -o '"chosen_by.*"changed"'
t ask -L lib --among 'z*' "$question"
t ask -L lib -f text "$question"
t ask -f text --top 3 "$question"
t ask -f text --among x "$question"
t ask -L nothing "$question"
t ask -L text "$question"
mkdir full && : >full/file
t ask -L full "$question"

# What changed or went since it was indexed is said.
echo more >>two
rm three
touch -d 2020-01-02 text
gemkv select --json -k 60 -L lib "$question" 2>err | grep -o '"changed.*"kept"'
grep warning err
touch -d 2020-01-01 text

# Damage is named, and only that document is left out.
for f in lib/segments/*; do
    if test -n "$(grep -a -o zebra $f)"; then printf X | dd of="$f" bs=1 seek=200 conv=notrunc 2>/dev/null; fi
done
gemkv ask --json $small -L lib "$question" >json 2>err
echo "[$?]"
grep -o '"asked.*"changed' json
grep 'left out' err | sed 's|lib/segments/[0-9a-f-]*|SEGMENT|'
gemkv index --verify lib 2>&1 | grep -v tokens; gemkv index --verify -q lib 2>/dev/null; echo "[$?]"
for f in lib/segments/*; do : >"$f"; done
gemkv ask -q $small -L lib "$question"
echo "[$?]"
# ... and indexing it again makes it whole.
touch -d 2020-01-01 text
gemkv index -q lib text && gemkv ask -q $small -L lib --among text "$question" >again && cmp want again >/dev/null; test -s again && echo whole
