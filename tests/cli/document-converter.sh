# SPDX-License-Identifier: BSD-2-Clause
# A stand-in for the converters: prints its last file's text behind a heading.
mkdir bin
cat >bin/pdftotext <<'X'
#!/bin/sh
for a; do test "$a" = - || file=$a; done
echo "converted"
tail -n +2 "$file"
X
printf '#!/bin/sh\nexit 3\n' >bin/antiword
chmod +x bin/*
{ echo '%PDF-1.7'; cat text; } >a.pdf
{ echo 'converted'; cat text; } >plain
printf '\320\317\021\340\241\261\032\341W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0' >a.doc

gemkv select -q -f plain $small q >want
PATH=$PWD/bin:$PATH
gemkv select -q -f a.pdf $small q >got;         cmp want got && echo "pdf file"
gemkv select -q $small q <a.pdf >got;           cmp want got && echo "pdf on stdin"
cat a.pdf | gemkv select -q $small q >got;      cmp want got && echo "pdf in a pipe"
t ask -q -f a.doc q
printf '#!/bin/sh\necho "no library" >&2; exit 127\n' >bin/antiword
t ask -q -f a.doc q
# Pages are what every text with form feeds has: JSON names other parts only.
printf '#!/bin/sh\nprintf "One.\\n\\fTwo.\\n\\f"\n' >bin/pdftotext
gemkv select --json --method full -f a.pdf q >json;     grep -c '"part"' json; grep -c '"page_end": 2' json
