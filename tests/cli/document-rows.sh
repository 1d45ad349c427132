# SPDX-License-Identifier: BSD-2-Clause
# Tables of text: each row has its header.  What only looks like one, or is data for the program, stays as it is.
show() { echo "== $1"; gemkv select --method full -q -f "$1" q 2>&1; }
printf 'name;born;city\r\n"Lee; Ann";1980;Leeds\r\n"Bob";1975;"York ""N""\nside"\r\n\r\nCara;;Hull\r\n' >a.csv
cp a.csv any
printf '\357\273\277a\tb\n1\t2\n' >b.tsv
printf -- '-3,($4)\n5,6\n' >numbers.csv
printf 'one, two, three\nfour, five, six\nseven, eight\nnine, ten, eleven\n' >prose
printf '{"a": 1, "b": 2, "c": 3}\n{"a": 4, "b": 5, "c": 6}\n{"a": 7, "b": 8, "c": 9}\n{"a": 0, "b": 0, "c": 0}\n' >rows
printf '| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n' >markdown
printf 'title,,\n\nname,fee\nAnn,5\nBob,6\n\ncity,floors\nHull,4\n' >two.csv
for f in a.csv any b.tsv numbers.csv prose rows markdown two.csv; do show $f; done
printf 'a, b, c\nd, e, f\ng, h, i\n' >short                             # three lines, or one comma in each, are prose
printf 'one, two\nthree, four\nfive, six\nseven, eight\n' >comma
printf 'name,a|b,city\nAnn,c|d,York\n' >bars.csv                        # what makes more columns
printf 'Title\nname,fee\nAnn,5\nBob,none\nCara,-7\n' >title.csv         # words below numbers are no header, but after a gap
printf 'a,b,c\n1,2,3\n\nd,,e\n\nf,g,h\n\ni,j,k\n' >gaps.csv
for f in short comma bars.csv title.csv gaps.csv; do show $f; done
{ echo name,born,city; yes aaaaaaaaaaaaaaa,b,c | head -n 4000; echo Total; } >big   # the last row of a long piece may be cut
show big | tail -n 2
