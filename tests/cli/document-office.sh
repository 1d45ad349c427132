# SPDX-License-Identifier: BSD-2-Clause
# Office files and EPUB: what a person sees is there, in order, and rows of sheets have their headers.
command -v python3 >/dev/null || skip "no python3"
python3 "$cases/../files/office.py"
show() { gemkv select --method full -q -f "$1" q 2>err | tr '\f' '@'; if grep 'built with libarchive' err >/dev/null; then skip "built without libarchive or libxml2"; fi; cat err; }
for f in docx pptx xlsx odt odp ods epub; do
    echo "== $f"
    show a.$f
done
echo "== more sheets"; show b.xlsx
echo "== places"
gemkv select --method full -f a.pptx q 2>/dev/null | grep '^==>'
gemkv select -q --method full --report slides.html -f a.pptx q >out && grep -o '>Slide 2<\|[0-9] slides,\|<small>.*> slide 1, line 1 - slide 2' slides.html
gemkv select --json --method full -f a.pptx q 2>/dev/null | grep -o '"page_end": 2, "part": "slide"' | head -1
echo "== pages"; show pages.docx
echo "== in a pipe"; cat late.docx | show -
echo "== laughs"; show laughs.docx
echo "== deep"; show deep.docx | tr -d '\n'; echo
echo "== refused"
for n in 100 600 1200; do head -c $n a.docx >cut.docx; show cut.docx 2>&1; done
show none.docx
show crc.docx
show empty.docx 2>&1
