# SPDX-License-Identifier: BSD-2-Clause
# A model thinks before it answers, which is no part of the answer; one that cannot is refused.
libraries
chat="{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}<|im_start|>assistant
"
off="{% if enable_thinking is defined and not enable_thinking %}"
"$mkmodel" --template="$chat$off<think></think>{% endif %}" thinks.gguf
"$mkmodel" --template="$off/no{% endif %}$chat$off<think></think>{% endif %}" early.gguf
"$mkmodel" --template="$chat{% for m in messages %}{% if m.t is defined %}<|channel|>analysis<|message|>{{ m.t }}<|end|>\
{% endif %}{% endfor %}" harmony.gguf
a() { gemkv ask --json -q -f text -k 400 -n 8 --cpu ref "$@" 'Which key?'; }
tokens() { sed -n 's/.*"tokens": {"document": [0-9]*, "prompt": [0-9]*, "kept": [0-9]*, \([^}]*\).*/\1/p'; }
for model in thinks harmony early; do
    a -m $model.gguf --think 7 | tokens
    a -m $model.gguf --think off | tokens
done
a -m thinks.gguf --think on -n 1 | tokens
a -m thinks.gguf --think 7 >seven
a -m thinks.gguf --think 7 --draft 0 -t 1 >one
for f in seven one; do sed 's/, "method".*//' $f; done | uniq | wc -l | tr -d ' '
a -m thinks.gguf --think 7 --json=lines | grep -c thinking
a -m thinks.gguf | grep -c thinking
echo "-- as text"
gemkv ask -f text -k 400 -n 8 -m thinks.gguf --think 7 'Which key?' 2>err >answer
grep -o '[0-9]* tokens of thinking.*' err
test "$(wc -c <answer)" -gt 1 && ! grep -q '<.*think>' answer && echo "no marks"
gemkv ask -v -f text $small -m thinks.gguf 'Which key?' 2>&1 >/dev/null | grep -o 'the model could think.*'
gemkv ask -v -f text $small 'Which key?' 2>&1 >/dev/null | grep -c 'could think'
echo "-- conversation"
printf 'Which key?\nWhich cat?\n' | gemkv chat -f text -k 400 -n 4 -m thinks.gguf --think 5 --json | tokens
printf 'Which key?\nWhich cat?\n' >questions
for way in --method=full --snap=word --reader=tiny.gguf; do
    gemkv ask --json -q -f text --questions questions -k 400 -n 4 -m thinks.gguf --think 5 $way >out
    gemkv ask --json -q -f text -k 400 -n 4 -m thinks.gguf --think 5 $way 'Which cat?' >alone
    tokens <out
    for f in out alone; do sed -n '$s/.*"answer": \(.*\), "method".*/\1/p' $f; done | uniq | wc -l | tr -d ' '
done
echo "-- refused"
t ask -q -f text $small --think on q
t ask -q -f text $small --think on --raw -m thinks.gguf q
t ask -q -f text $small --think 0 q
t ask -q -f text $small --think maybe q
t ask -q -f text $small --think on --reader thinks.gguf q
echo "-- off is what there was"
a | sed 's/, "method".*//' >without
a --think off | sed 's/, "method".*//' | cmp - without && echo same
echo "-- an index of documents that are told off"
if ! gemkv index --list nothing 2>&1 | grep -q 'built without'; then
    gemkv index -q --grade exact -m early.gguf lib text
    gemkv ask -q -m early.gguf -L lib -k 400 -n 4 --json 'Which key?' | tokens
    t ask -q -m early.gguf -L lib -k 400 --think 4 'Which key?' 2>&1
    gemkv index -q --grade exact -m early.gguf --think on thinking text
    gemkv ask -q -m early.gguf -L thinking -k 400 -n 4 --think 4 --json 'Which key?' | tokens
    gemkv index -q --grade exact --reader tiny.gguf --think on --system "Be brief." read text
    gemkv ask -q -L read --reader tiny.gguf -m early.gguf -k 400 -n 4 --think 4 --system "Be brief." --json 'Which key?' | tokens
fi
