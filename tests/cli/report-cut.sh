# SPDX-License-Identifier: BSD-2-Clause
# The report says of an answer that it was cut, and only of such a one.
for grammar in 'root ::= "yes"' 'root ::= "yes and no and neither of them"'; do
    rm -f page.html
    gemkv ask -q -t 1 -k 96 -n 4 --grammar "$grammar" -f text --report page.html q >answer 2>&1
    echo "[$?]"
    grep -c '<div class="answer"[^>]*>.*…</div>' page.html
    sed -n '/class="note"/p' page.html
done
