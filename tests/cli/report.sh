# SPDX-License-Identifier: BSD-2-Clause
# The report has the whole text, marked; it never replaces a file, and is never left half done.
printf 'The <b>pass</b> key & more is 48213. The cat sat on the mat.\n' >doc
t ask -q --report page.html -f doc -k 40 -n 2 "Which <key>?" >out
sed 's/<mark[^>]*>//g; s/<.mark>//g' page.html | grep -c 'The &lt;b&gt;pass&lt;/b&gt; key &amp; more is 48213. The cat sat on the mat.'
grep -c '<h1>Which &lt;key&gt;?</h1>' page.html
grep -q '<mark' page.html && echo marked
t ask -q --report page.html -f doc -n 2 q
t select -q --report missing/page.html -f doc q
t select -q --report gone.html -f missing q
test -e gone.html || echo "nothing left"
