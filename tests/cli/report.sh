# SPDX-License-Identifier: BSD-2-Clause
# The report: what it says, that nothing of the text is lost, and that text of anybody does nothing in it.  It never
# replaces a file, and is never left half done (outputs, force).
SOURCE_DATE_EPOCH=1700000000
export SOURCE_DATE_EPOCH
quick='-q -t 1 -k 60 -n 2'
# text_of N PAGE: the N-th document as the page shows it, without tags
text_of() {
    sed -n "/id=\"d$1\"/,/^<\/section>\|^<\/details>/p" "$2" |
        sed '1,2d; /^<h3 /d; /^<\/[a-z]*>$/d; s/<a class="n"[^>]*>[^<]*<\/a>//g
             s/<span class="go">\(<a [^>]*>[^<]*<\/a>\)*<\/span>//g; s/<[^>]*>//g' |
        sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&amp;/\&/g'
}
printf 'The <b>pass</b> key & "more" is 48213. The cat sat on the mat.\n' >doc
t ask $quick --report page.html -f doc "Which <key> & \"why\"?" >out
text_of 1 page.html
# the page: question, answer, date, a strip and a list that lead to the text
grep -c '^<title>Which &lt;key&gt; &amp; &quot;why&quot;?</title>$' page.html
grep -c '^<h1 dir="auto">Which &lt;key&gt; &amp; &quot;why&quot;?</h1>$' page.html
grep -c '^<div class="answer" dir="auto">' page.html
sed -n 's/^<li><small>\(.*\)<\/small> \(.*\)<\/li>$/\1: \2/p' page.html
for what in 'svg' 'Skip to the text' 'Content-Security-Policy'; do grep -q "$what" page.html && echo "$what"; done
grep -ci '<script\|http:\|https:\|url(\|@import\|<img\|<link\| on[a-z]*=' page.html
gemkv ask $quick --report again.html -f doc "Which <key> & \"why\"?" >out
cmp page.html again.html && echo "the same bytes"
# every link leads somewhere, and every id is there once
links() {
    grep -o 'href="#[^"]*"' "$1" | sed 's/href="#/id="/' | sort -u >links
    grep -o ' id="[^"]*"' "$1" | sed 's/^ //' | sort >ids
    sort -u ids | comm -23 links - | sed 's/^/leads nowhere: /'
    uniq -d ids | sed 's/^/twice: /'
}
links page.html
# select has no answer
gemkv select $quick --report select.html -f doc "q" >out
grep -c 'class="answer"' select.html
t ask $quick --report page.html -f doc q
t select $quick --report missing/page.html -f doc q
t select $quick --report gone.html -f missing q
test -e gone.html || echo "nothing left"

# several documents, one with pages, of which one is empty; several kept passages in the order of their scores
awk 'BEGIN { for (i = 1; i < 400; i++) print "Row " i " of a long text, & nothing <else>.\n" }' >long
printf 'First page.\n\f  \n\fThe third page has a table:\nname      42     13\n\f' >pages
gemkv select -q -t 1 -k 200 --report many.html -f pages -f long "Where is row 7?" >out
text_of 2 many.html >shown
cmp long shown && echo "nothing is lost"
text_of 1 many.html
links many.html
scores=$(sed -n 's/.*score \([0-9.e+-]*\)<\/small><\/a><\/li>$/\1/p' many.html)
echo "$scores" | sort -cgr && echo "best first"
n=$(echo "$scores" | wc -l)
test "$n" -eq "$(grep -c '^<a href="#p1-[0-9]*" tabindex' many.html)" &&
    test "$n" -eq "$(grep -o 'class="n" id="p1-' many.html | wc -l)" && echo "each in the list, the strip, the text"
test "$(grep -c 'class="t"' many.html)" -gt 4 && echo "in blocks"
grep -q '<mark class="h5">' many.html && grep -q '<mark class="h1">' many.html && echo "from weak to strong"
grep -o 'aria-label="\(Next\|Previous\), passage [12]"' many.html | sort -u
test "$n" -eq "$(grep -c '</span> <bdi>[a-z]*</bdi>, [pl]' many.html)" && echo "each with its document"
grep -o '<bdi>pages</bdi> <small>[0-9]* pages' many.html
# the passages that a terminal shows, with their places
gemkv select -t 1 -k 200 -f pages -f long "Where is row 7?" 2>/dev/null | sed -n 's/^==> \(.*\) <==$/\1/p' >shown
sed -n 's/.*<bdi>\([a-z]*\)<\/bdi>\(, .*score [^<]*\)<\/small>.*/\1\2/p' many.html | sed 's/, p\./ p./' >listed
test -s listed && cmp shown listed && echo "as on a terminal"
# what was kept of them is bold, in whole words
sed -n 's/.*class="excerpt"[^>]*>//p' many.html | sed "s/$(printf '\342\200\246')/ /g" >excerpts
grep -q '<b>' excerpts && ! grep '[^ >]<b>\|</b>[^ <]\|</b></b>' excerpts && echo "words"

# text that would act: in the document, in the question, in the name of a file
printf '</div><script>x</script> A\342\200\256drow\342\200\254 \033[31m \001 \177 \302\205 \342\200\217 \357\277\277 %b \r\ncr\rend.' \
    '\363\240\201\201' >'"><b>\342'
name=$(printf 'a"><b>\342\200\256\377\n&')
mv '"><b>\342' "$name"
gemkv select $quick --report bad.html -f "$name" "$(printf '</title><b>\342\201\246\033]0;x\007')" 2>err >out || cat err
text_of 1 bad.html
sed -n '/^<title>/p; /^<h1/p; /^<h2><bdi>/p' bad.html
grep -o 'aria-label="Where in [^"]*"' bad.html
LC_ALL=C tr -d '\n\t\40-\176\200-\377' <bad.html | wc -c

# lines that were wrapped by hand are joined, others are not; columns stay
cat >wrapped <<'T'
It is a truth that the lines of this paragraph were once wrapped by
hand at some width, which is not that of the page, so that the ends of
its lines mean nothing, unlike the one of the next line
which is short.

* one
* two of a list
T
seq 1 9 | sed 's/.*/Number & of a list of lines that all have the same length, sir./' >list
seq 1 9 | sed 's/.*/Row &     has     cells/' >table
for f in wrapped list table; do
    gemkv select $quick --report $f.html -f $f q >out
    text_of 1 $f.html
    grep -o 'class="document [a-z]*"' $f.html
done | sed 's/^Number \([2-8]\).*/\1/; s/^Row \([2-8]\).*/\1/'

# several questions: one text, which has the marks of all
printf 'Where is row 7?\nWhere <is> row 300?\n' >questions
gemkv ask -q -t 1 -k 150 -n 2 --report asked.html -f long --questions questions >out
text_of 1 asked.html >shown
cmp long shown && echo "nothing is lost"
links asked.html
grep '^<h1\|^<title' asked.html
grep -o 'href="#q[12]" dir' asked.html
for q in 1 2; do
    rm -f one.html
    gemkv select -q -t 1 -k 150 --report one.html -f long "$(sed -n ${q}p questions)" >out
    for where in 'class="n" id="p' 'href="#p[0-9-]*" tabindex'; do
        test "$(grep -o "$where" one.html | wc -l)" -eq \
             "$(grep -o "$(echo "$where" | sed "s/#p/#p$q-/; s/id=\"p/&$q-/")" asked.html | wc -l)" && echo "as alone"
    done
done
# what was answered before one that cannot be asked is not lost
printf 'good\n\377\nnever asked\n' >questions
gemkv select $quick --report some.html -f doc --questions questions >out 2>err; echo "[$?]"
grep '^<h1' some.html
: >questions
t select $quick --report no.html -f doc --questions questions
test -e no.html || echo "no question, no page"
# the list shows whole sentences: of a short text each of its lines is one
gemkv ask -q -t 1 -k 60 --keep-first 0 --keep-last 0 -n 2 --report short.html -f text q >out
grep -o 'class="excerpt"[^>]*>.*</span>' short.html | sed 's/^[^>]*>//; s/<[^>]*>//g' >excerpts
test -s excerpts && ! grep -vE '^((Line [0-9]+: [a-z ]*[0-9]+|The pass key [^.]* bottle)\.( |$))+$' excerpts && echo "sentences"

# Several documents: those without passages are named; bars have a width and lie inside, the best over the others.
dots=$(printf '\342\200\246')
echo 'Not much.' >a
cp a b
awk 'BEGIN { for (i = 1; i < 80; i++) print "Row " i " of the caf\303\251\303\251\303\251\303\251.\n" }' >rows
awk 'BEGIN { for (i = 1; i < 99; i++) printf "word%d ", i; print "end." }' >wide
printf 'Name\tCount of\nOne\t41\nTwo\t42\nIn all two.\n' >tabs
gemkv ask $quick -k 90 --report figures.html -f rows -f a -f b "Where is row 7?" >out
sed -n 's/<a [^>]*>//g; s/<[^>]*>//g; /^Nothing was kept\|^The answer is cut\|^line 1/p; /^Read again/s/ (.*//p; s/^[0-9]* more$/more/p' figures.html
sed -n 's/.*x="\([0-9.]*\)" y=.* width="\([0-9.]*\)".*/\1 \2/p' figures.html | awk '$2 < 3 || $1 + $2 > 1000'
sed -n '/rows<\/bdi><\/a> <span>/,/<\/svg>/s/.*<title>Passage \([0-9]*\),.*/\1/p' figures.html | sort -cnr && echo "the best last"
sed -n '/^<ol>/,/^<\/ol>/p' figures.html | grep -c '<li>'
grep -o '<ol start="[0-9]*">' figures.html
grep -c "^<div class=\"answer\".*$dots</div>" figures.html
sed -n '/^<nav/,$p' figures.html | grep -c "$(printf '\357\277\275')"
grep -c "class=\"excerpt\"[^>]*>$dots" figures.html
gemkv ask $quick --grammar 'root ::= "Yes\n\n"' -n 8 --report around.html -f tabs -f wide q >out
grep -o 'class="document [a-z]*"\|^<div class="answer".*' around.html
grep 'class="excerpt".*word' around.html | sed 's/.*class="excerpt"[^>]*>//; s/<[^>]*>//g' | grep -vc "^\($dots\)*word[0-9]"
# All scores are the same; nothing is written; a strip has a tick for each page; without a date, times.
unset SOURCE_DATE_EPOCH
printf 'One.\n\fTwo.\n\fThree.\n' >three
gemkv ask -q --method full -n 2 --grammar 'root ::= " "' --report nothing.html -f three q >out
grep -o '<path class="tick.*/>\|The model wrote nothing\|"dots"[^<]*' nothing.html
sed -n 's/^<li><small>\([A-Za-z ]*\)<.*/\1/p' nothing.html
