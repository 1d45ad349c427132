# SPDX-License-Identifier: BSD-2-Clause
# An encoding that nothing names is detected, and that is said; if there is no way to detect it, advice is given.
printf 'Un caf\351, une cr\350me br\373l\351e et un No\353l tr\350s appr\351ci\351 des Fran\347ais, \340 bient\364t.\n' >latin
gemkv select --method full -f latin q >got 2>err
grep -q 'iconv(1)' err || cat err
if grep 'not UTF-8 text' err >/dev/null; then skip "built without uchardet"; fi
head -n 1 err
tail -n 1 got
# In HTML, too, in an encoding that libxml2 knows by its name only.
printf '<!DOCTYPE html><html><body><p>%s</p></body></html>\n' "$(printf 'Кошка сидит на ковре, а собака спит у двери большого дома.' | iconv -f UTF-8 -t CP1251)" >cyrillic.html
case $(printf '<!DOCTYPE html><p>x</p>' | gemkv select --method full -q q 2>&1) in
*'<p>'*) echo "Кошка сидит на ковре, а собака спит у двери большого дома." ;;    # built without libxml2: it is text
*) gemkv select --method full -q -f cyrillic.html q 2>err; cat err ;;
esac
# What a page says of itself is believed, whether there is a way to detect it or not; without a word, Western.
page() { printf '<html><head>%s</head><body><p>%s</p></body></html>\n' "$1" "$2" | gemkv select --method full -q q 2>&1; }
case $(page '' x) in
*'<p>'*) printf 'Żółć i café.\nGrüße.\n' ;;
*)
    page '<META HTTP-EQUIV="Content-Type" CONTENT="text/html; CHARSET=ISO-8859-2">' "$(printf '\257\363\263\346 i caf\351.')"
    page '' "$(printf 'Gr\374\337e.')"
    ;;
esac
# With a mark, or a declaration before it, HTML is HTML.
mark=$(printf '\357\273\277')
echo '<p>One.</p>' >one.html
for begin in "$mark<!doctype html>" '<?xml version="1.0"?><html>'; do
    case $(gemkv select --method full -q -f one.html q 2>&1) in
    *'<p>'*) echo One. ;;                       # built without libxml2
    *) echo "$begin<p>One.</p>" | gemkv select --method full -q q ;;
    esac
done
# Text is no sound because it begins with this word.
echo "ID3 is an algorithm that makes a decision tree." >id3
gemkv select --method full -q -f id3 q
echo "GGUF is a file format for models." >gguf
gemkv select --method full -q -f gguf q
echo "Such a file begins with %PDF-1.7 and a line end." >pdf
gemkv select --method full -q -f pdf q
