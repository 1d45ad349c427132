# SPDX-License-Identifier: BSD-2-Clause
# The rows that tasks make, each by the sum of its bytes, and without its text; they stay the same from one version to the next.
awk 'BEGIN {
    for (i = 0; i < 600; i++) {
        w = ""
        for (j = 0; j < 5; j++)
            w = w sprintf("%c", 97 + int(i / 3 ^ j) % 26)
        printf "Sentence %d has the words %s and cat. ", i, w
    }
}' >hay
cat >squad <<'S'
{"data": [{"paragraphs": [
  {"context": "The cat sat.", "qas": [{"question": "Who sat?", "answers": [{"text": "cat"}, {"text": "a cat"}]}]},
  {"context": "The hat hung.", "qas": [{"question": "What hung?", "answers": [{"text": "hat"}]}]},
  {"context": "The rat ran.", "qas": []}]}]}
S
cat >hotpot <<'H'
[{"question": "Who sat where?", "answer": "cat", "context": [["Cat", ["It sat", " on a mat."]], ["Mat", ["It lay."]], ["Dog", ["It ran."]]],
  "supporting_facts": [["Cat", 0], ["Mat", 0]]},
 {"question": "Who ran?", "answer": "dog", "context": [["Dog", ["It ran."]], ["Owl", ["It flew."]]], "supporting_facts": [["Dog", 0]]}]
H
made() {        # NAME, and what makes NAME's rows
    name=$1
    shift
    t eval "$@" --rows "$name" 2>&1
    split -l 1 -a 3 "$name" part.
    cksum part.* | cut -d ' ' -f 1-2 >sums
    sed 's/"context": ".*", "question"/"question"/' "$name" | paste -d ' ' sums -
    rm part.*
}
made ruler ruler --haystack hay --squad squad --hotpot hotpot --lengths 1400,2600 --samples 2
made other ruler --haystack hay --tasks niah_multiquery,vt,cwe --lengths 6000 --samples 1 --seed 7 --no-begin
made kv kv --kinds kv,passkey,number,math.find --lengths 500,900 --depths 0,30,100 --samples 2
made math kv --kinds math.find --lengths 900 --samples 7
made niah niah --lengths 300,700 --depths 0,33,100 --haystack hay
