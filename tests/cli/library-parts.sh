# SPDX-License-Identifier: BSD-2-Clause
# A library knows what form feeds end in its documents: passages are of messages, as they are of the files.
libraries
printf 'From a@b Mon Mar  4\nFrom: a@b\nSubject: first\n\nThe zebra is in the bottle.\n\nFrom c@d Tue Mar  5\nFrom: c@d\nSubject: second\n\nThe kestrel is on the page.\n' >box
printf 'One page.\n\fAnother has the kestrel.\n' >pages
gemkv index -q --grade exact lib box pages text
for from in '-f box -f pages' '-L lib'; do
    echo "== $from"
    gemkv select --method full $from "Where is the kestrel?" 2>/dev/null | sed -n 's/^==> \(.*\), score.*/\1/p'
    gemkv select --json --method full $from "Where is the kestrel?" | grep -o '"document": "[a-z]*", "page": [0-9]*, \("page_end": [0-9]*, \)*"[sp][a-z]*": [^,]*' | sort -u
done
# Several questions, of which each chooses other documents.
printf 'Where is the kestrel, the subject?\nThe cat and the hat on mat number?\nWhere is the zebra, the subject?\n' >questions
gemkv select -L lib --top 1 --questions questions --method full 2>/dev/null | sed -n 's/^==> \(.*\), line.*/\1/p'
gemkv ask $small --cite -L lib --json "Where is the kestrel?" >/dev/null && echo cited
