# SPDX-License-Identifier: BSD-2-Clause
# Of a long passage, people see three lines of whole words, and an ellipsis where some are left out.
shown() {                                       # a text of $1 words, which begin differently in each round
    for n in 1 2 3 4 5 6 7 8; do
        awk -v n="$1" -v r=$n 'BEGIN { for (i = 1; i <= n; i++) printf "%sa%s%03db", (i > 1 ? " " : ""),
                               substr("xxxxxxxxx", 1, (i + r) % 10), i }' >text
        gemkv ask --method "$2" -f text $small -n 1 q 2>&1 >/dev/null | sed -n 's/^      //p' >got
        tr -s ' \n' '\n' <got | sed 's/^…//; s/…$//' | while read -r word; do
            grep -qw "$word" text || echo "$word is no word"
        done
        awk 'length > 80 { print "a long line" }' got
        echo "$1 $2: $(($(wc -l <got))) lines, $(grep -c '^…' got) and $(grep -c '…$' got) cut"
    done | sort | uniq -c | sed 's/^ *//'
}
shown 10 bm25
shown 60 truncate
shown 60 gemfilter
# Of what has no spaces, as much as fits.
awk 'BEGIN { for (i = 0; i < 300; i++) printf "x" }' >text
gemkv ask --method bm25 -f text $small -n 1 q 2>&1 >/dev/null | sed -n 's/^      //p'
