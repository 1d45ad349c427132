# SPDX-License-Identifier: BSD-2-Clause
# Damaged documents of all kinds are read, or refused with one line; no reader crashes (tests/files/damage.py has more).
command -v python3 >/dev/null || skip "no python3"
python3 "$cases/../files/office.py"
rm -f deep.docx late.docx
cat >a.rtf <<'R'
{\rtf1\ansi\ansicpg1250{\fonttbl{\f0 Arial;}}\pard Caf\'e9 \u8364? 10{\super 6} {\v hidden}{\uc2\u201??t}\par
\trowd\cellx1\cellx2\pard\intbl Year\cell Staff\par people\cell\row\pard Note{\footnote\pard The note.\par}\page{\pict 00ff}\bin4 }}}}end\par}
R
printf 'From a@b Mon Mar  4\nFrom: =?utf-8?Q?Zo=C3=AB?= <a@b>\nSubject: first\nContent-Type: multipart/alternative; boundary=b1\n\n--b1\nContent-Type: text/html; charset=latin1\nContent-Transfer-Encoding: quoted-printable\n\n<p>a=E9</p>\n--b1\nContent-Transfer-Encoding: base64\n\nVGhlIHJvb20=\n--b1--\n\nFrom c@d Tue\nFrom: c@d\nSubject: second\n\nBye\n' >a.mbox
printf 'name;born;city\r\n"Lee; Ann";1980;Leeds\r\n"Bob";1975;"York ""N""\nside"\r\n\r\nCara;;Hull\r\n' >a.csv
printf '<!DOCTYPE html><html><head><meta charset="iso-8859-2"><title>T</title></head><body><h1>H</h1><ol start="3"><li>c<ul><li>d</li></ul></li></ol><table><tr><td>a</td><th>b<table><tr><td>x</td></tr></table></th></tr></table><pre> k </pre>&eacute;<sup>2</sup></body></html>' >a.html
GEMKV_CONVERTER_SECONDS=20; export GEMKV_CONVERTER_SECONDS
python3 "$cases/../files/damage.py" 200
