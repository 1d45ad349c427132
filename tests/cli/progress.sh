# SPDX-License-Identifier: BSD-2-Clause
gemkv ask --tty -f text $small q 2>err >/dev/null
tr '\r' '\n' <err | grep -o '^[a-z][a-z ]* 0 %' | sed 's/  */ /g'
"$mkmodel" --layers=6 --seed=5 large.gguf
gemkv ask --tty -f text $small --reader tiny.gguf -m large.gguf q 2>&1 >/dev/null | tr '\r' '\n' | grep -o '^[a-z][a-z, ]* 0 %' | sed 's/  */ /g'
tr -d '\033' <err | grep -c '\[K' | sed 's/[1-9][0-9]*/erased/'
for quiet in -q --json; do
    gemkv ask --tty $quiet -f text $small q 2>&1 >/dev/null | wc -c | tr -d ' '
done
gemkv ask -f text $small q 2>&1 >/dev/null | grep -c "%"
true
# eval says which row it is at
printf '{"context": "The cat sat.", "question": "Who?", "answers": ["cat"]}\n' >rows
gemkv eval qa --tty --data rows -t 1 -k 96 -n 1 2>&1 >/dev/null | tr '\r' '\n' | grep -o '^qa  *0 %  1 of 1' | sed 's/  */ /g'
