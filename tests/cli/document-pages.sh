# SPDX-License-Identifier: BSD-2-Clause
# Pages without text are named, and a document without text is refused.  The converters are stand-ins: a PDF is its
# text, and a picture of page N says so.
mkdir bin
cat >bin/pdftotext <<'Y'
#!/bin/sh
test "$1" = -layout || exit 1
tail -n +2 /dev/fd/3
Y
cat >bin/pdftoppm <<'Y'
#!/bin/sh
while test "$1" != -f; do shift; done
echo "$2"
Y
cat >bin/tesseract <<'Y'
#!/bin/sh
read -r page <"$1"
test "$page" = 4 || echo "Picture $page."
printf '\f'
Y
chmod +x bin/*
PATH=$PWD/bin:$PATH
pdf() { { echo '%PDF-1.7'; printf "$1"; } >"$2"; }
pdf 'One.\n\fTwo.\n\f' whole;                   t select --method full -f whole q 2>&1 | grep -v '^memory'
pdf 'One.\n\f\f \n\f\302\240\f\f\nSix.\f\f' some; t select --method full -f some q 2>&1 | grep -v '^memory'
pdf '\f' one;                                   t select --method full -f one q 2>&1
pdf '\f \n\f' none;                             t select --method full -f none q 2>&1
t select --method full --ocr -f some q 2>&1 | tr '\f' '|' | grep -v '^memory'
pdf '\f\f\f' three
t select --method full --ocr -f three q 2>&1 | tr '\f' '|' | grep -v '^memory'
# The text of a picture that is longer than it is read at once.
printf '#!/bin/sh\nawk "BEGIN { for (i = 0; i < 9000; i++) print \\"Line \\" i }"\n' >bin/tesseract
gemkv select --method full --ocr -q -f one q | tail -n 1
# A picture alone.
printf '#!/bin/sh\necho Seen.\n' >bin/tesseract
printf '\211PNG\r\n' >a.png
t select --method full --ocr -q -f a.png q
printf '#!/bin/sh\n' >bin/tesseract
t select --method full --ocr -f none q 2>&1
printf '#!/bin/sh\nexit 127\n' >bin/tesseract
t select --method full --ocr -f none q 2>&1
printf '#!/bin/sh\necho broken >&2; exit 127\n' >bin/tesseract
t select --method full --ocr -f none q 2>&1
printf '\211PNG\r\n' >a.png
t select --method full -f a.png q 2>&1
for blank in '' ' \n\f\t\r\n' '\357\273\277' '\302\240\343\200\200\342\200\213'; do
    printf "$blank" >blank
    t ask -q -f blank q 2>&1
done
head -c 67108864 /dev/zero | tr '\0' ' ' >blank
t ask -q -f blank q 2>&1
awk 'BEGIN { printf "%%PDF-1.7\n"; for (i = 0; i < 70; i++) print "Text.\n\f\f" }' >many
gemkv select --method full -f many q 2>&1 >got | grep warning
{ printf 'Twenty bytes before\0\n'; printf '%%PDF-1.7\nOne.\n\f'; } >late.pdf
gemkv select --method full -q -f late.pdf q | tail -n 1
# White space before the text is kept: offsets are those of the file.
printf ' \n\n text' >late
gemkv select --method full -f late q 2>/dev/null | head -n 1
