# SPDX-License-Identifier: BSD-2-Clause
# A report about documents of a library, of which each question chooses others: the page has all of them, each once.
libraries
printf 'The zebra is in the bottle.\n\fThe second page has a kestrel.\n' >two
printf 'Nothing is here but the owl, and the owl sleeps.\n' >three
gemkv index -q --grade exact lib text two three || echo "not indexed"
printf 'Where is the kestrel?\nWhere does the owl sleep?\nDoes the kestrel fly?\n' >questions
t select -q -t 1 -k 60 -L lib --top 1 --questions questions --report page.html >out 2>err || cat err
grep '^<h1\|^<h2><bdi>\|^<summary><bdi>\|^<h3 id' page.html
grep -o '<figcaption>.*</bdi>' page.html
t select -q -t 1 -k 60 -L lib --report one.html "Where is the kestrel, the owl and the cat?" >out
grep '^<h1\|^<h2><bdi>\|^<summary><bdi>\|^<h3 id' one.html
