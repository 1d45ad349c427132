# SPDX-License-Identifier: BSD-2-Clause
# --cite with the bundled model: what it says of the text has a number and a place, on any of its forms.
model=$cases/../../data/gemkv-mini-q8_0.gguf
test -s "$model" || skip "no bundled model"
{
    echo "The garden is behind the house."
    printf '\fThe pass key is 48213.\nThe cat sleeps on the mat.\n'
} >pages
q="What is the pass key?"
gemkv ask -q -m "$model" -f pages -n 24 "$q" >plain
gemkv ask -q -m "$model" -f pages -n 24 --cite "$q" >cited
grep -q 48213 plain && sed -n 's/^.*48213.* \(\[1\]\)$/a sentence \1/p; /^\[1\]/p' cited
sed '/^\[[0-9]*\] /d; /^$/d; s/ \[[0-9]*\]//g' cited | cmp - plain && echo "the answer is the same"
gemkv ask -q -m "$model" -f pages -n 24 --cite --json "$q" | grep -o '"citations": \[{"sentence": "[^"]*48213[^"]*", [^}]*' |
    sed 's/"sentence": "[^"]*"/"sentence": S/; s/"score": [^,]*/"score": N/'
printf '%s\n' "$q" | gemkv chat -m "$model" -f pages -n 24 --cite 2>/dev/null | cmp - cited && echo "chat does the same"
# of a long sentence, whole words of its beginning, on one line
quoted() {
    gemkv ask -q -f long $small --cite --grammar 'root ::= "The pass key is 48213."' q
}
{ printf '  The pass  key\nis 48213 so '; for i in 1 2 3 4 5 6 7 8; do printf 'and there are m\303\266re words in it, '; done; echo end.; } >long
quoted
{ printf 'The pass key is 48213'; for i in $(seq 16); do printf '\303\266\344\270\255\345\215\216\346\260\221\345\205\261'; done; } >long
quoted
# what two sentences rest on is listed once; an answer that rests on nothing ends with its line
printf 'The pass key is 48213.\nThe cat sleeps on the mat.\n' >short
gemkv ask -q -f short $small -n 60 --cite --grammar 'root ::= "The pass key is 48213. The pass key is 48213."' q
gemkv ask -q -f short $small -n 60 --cite --grammar 'root ::= "Nobody said so."' q
echo
# a tiny model's noise rests on nothing
gemkv ask -q -f text $small --cite --json "$q" | grep -o '"supported": true'
gemkv ask -q -f text $small --cite "$q" | grep -c '^\[1\]'
exit 0
