# One model reads, another answers.  tiny.gguf reads for a wider one of another seed.
libraries
"$mkmodel" --layers=6 --seed=5 large.gguf || exit 99
echo "-- words, sentences"
for snap in word sentence none; do
    gemkv select -q --reader tiny.gguf -m large.gguf --snap $snap -k 100 -f text 'Which number?' >$snap || exit 1
    test -s $snap && echo "$snap"
done
cmp -s word sentence && echo "the same words and sentences"
echo "-- JSON knows both"
gemkv ask --json --reader tiny.gguf -m large.gguf -k 100 -n 3 -f text 'Which number?' >json || exit 1
grep -o '"reader": "[^"]*", "snap": "[^"]*"' json
grep -o '"reader": {"document": [0-9]*, "prompt": [0-9]*}' json
grep -o '"answerer": {"prompt": [0-9]*, "answer": [0-9]*}' json
grep -o '"hand_over"' json
echo "-- the same file: the plain path"
gemkv ask --json --reader ./tiny.gguf -k 100 -n 3 -f text 'Which number?' | grep -c '"snap"'
echo "-- asked often, of a library that the reader has indexed"
gemkv index -q --grade exact --reader tiny.gguf lib text || exit 1
gemkv select -q -L lib --reader tiny.gguf -m large.gguf -k 100 'Which number?' >indexed && test -s indexed && echo found
gemkv select -q -L lib -m large.gguf -k 100 'Which number?'; echo "status $?"
echo "-- the reader guesses, too: the same answer, more memory"
"$mkmodel" --layers=60 --seed=5 deep.gguf || exit 99
for draft in 0 reader; do
    gemkv ask -q --json --draft $draft --reader tiny.gguf -m deep.gguf -k 400 -n 40 -f text 'Which number?' >$draft.json || exit 1
    sed 's/, "finish.*//; s/.*"answer": //' $draft.json >$draft.answer
    gemkv info --memory -c 400 --draft $draft --json --reader tiny.gguf -m deep.gguf >$draft.info || exit 1
done
cmp 0.answer reader.answer && echo "the same"
for draft in 0 reader; do
    grep -o '"answerer": [0-9]*' $draft.info | tail -n 1 | tr -cd '0-9\n'
done | paste - - | awk '{ print ($2 > $1 + 1000000 && $2 < $1 + 20000000 ? "what the reader needs comes on top" : $0) }'
sed 's/.*"memory": {"predicted": \([0-9]*\), "peak": \([0-9]*\).*/\1 \2/' reader.json |
    awk -v own="$(not_sanitized own)" '{ print ($2 <= $1 || own != "" ? "as predicted" : $0) }'
grep -o '"draft": {.*}, "memory"' reader.json | sed 's/[0-9][0-9]*/N/g'
gemkv ask -q --draft reader -f text x; echo "status $?"
gemkv ask -q --draft 5 -f text x; echo "status $?"
echo "-- what cannot be"
gemkv ask --reader none.gguf -f text x; echo "status $?"
gemkv ask --reader tiny.gguf -m large.gguf --method snapkv -k 100 -f text x; echo "status $?"
gemkv ask --snap line -f text x; echo "status $?"
gemkv bench --reader tiny.gguf; echo "status $?"
gemkv info --memory -c 1000 --reader tiny.gguf -m large.gguf | sed 's/  [0-9. KMGiB]*$//' | sort -u
gemkv info --memory -c 1000 --json --reader tiny.gguf -m large.gguf | grep -o '"bytes": [0-9]*, "reader": [0-9]*, "answerer": [0-9]*' |
    awk -F '[:, ]+' '{ if (($2 == $4 || $2 == $6) && $2 >= $4 && $2 >= $6 && $4 != $6) print "the larger of both"; else print }' | sort -u
echo "-- the report names both"
gemkv ask -q --report page.html --reader tiny.gguf -m large.gguf -k 100 -n 2 -f text 'Which number?' >out || exit 1
sed 's/<[^>]*>/ /g' page.html | grep -o '\(Answered\|Read\) by *[^ ]*'
echo "-- three tokenizers, and a text of several scripts: whole characters, the same with any threads"
for i in 1 2; do
    cat <<'T'
def größe(x):  return x['größe'] + 3.14  # naïve
长江是亚洲第一长河。它的源头在青藏高原，流经十一个省市。钥匙在红色的盒子里！
اللغة العربية جميلة جدا. أين المفتاح؟ المفتاح في الصندوق الأحمر.
The family 👩‍👩‍👧 waves 👋🏽 under 🇩🇪 and été. The key is in box 1,204.
for (int i = 0; i < n_tokens; i++) sum += weight[i] * x[i];
T
done >mixed
cp "$cases/../files/golden/llama3.gguf" spm.gguf
cp "$cases/../../data/gemkv-mini-q8_0.gguf" bundled.gguf
GEMKV_CPU=
for reader in tiny spm bundled; do
    for answerer in tiny spm bundled; do
        test $reader != $answerer || continue
        for t in 1 3; do
            gemkv ask -q --json -t $t --reader $reader.gguf -m $answerer.gguf --layer 0 --snap none -k 300 -n 4 -f mixed \
                'Where is the key?' | sed 's/"finish".*"tokens"/"tokens"/; s/"seconds".*"kept": \[/"kept": [/' >$t.json
        done
        cmp 1.json 3.json && sed 's/.*"kept": \[//' 1.json | grep -qv '�' && echo "$reader reads for $answerer"
    done
done
