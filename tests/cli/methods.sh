# SPDX-License-Identifier: BSD-2-Clause
# Every method answers and keeps its budget; the same bytes from one thread and three.
not_sanitized "40 answers of 20 s each; golden.test runs all methods"
for i in 1 2 3 4 5 6 7 8; do cat text; done >long
same() { sed 's/"schedule_reason": "[^"]*", //; s/"seconds.*"kept"//' "$1"; }
kv() { sed 's/.*"kv": \([0-9]*\).*/\1/' "$1"; }
tokens() { sed 's/.*"prompt": \([0-9]*\), "kept": \([0-9]*\).*/\2 of \1 tokens/' "$1"; }
shape='--keep 256 --keep-last 16 -n 8'
gemkv ask --json -f long $small $shape --method full "What is the pass key?" >whole
full=$(kv whole)
for m in gemfilter gemfilter:row=middle gemfilter:row=largest asl-2pass:lobs=2,lmin=1,tau=1.0 \
        asl-2pass:lobs=2,score=gem truncate gemfilter-onerun snapkv snapkv:heads=query h2o h2o:evict=step \
        streamingllm streamingllm:positions=cache streamingllm-online pyramidinfer fastkv \
        fastkv:tsp_len=300,kv_len=100 asl:lobs=2 \
        asl:lobs=2,lmin=1,tau=1.0,kv=full finch finch:chunk=100,heads=kv,ratio=ceil; do
    gemkv ask --json -f long $small $shape --method $m -t 1 "What is the pass key?" >one || echo "$m: fails"
    gemkv ask --json -f long $small $shape --method $m -t 3 "What is the pass key?" >three
    same one >a
    same three | cmp - a
    echo "$m: $(tokens one), $(($(kv one) * 100 / full)) % of the cache"
done
# invalid parameters
t ask -f long $small --keep 256 --method fastkv:tsp=99 question
t ask -f long $small --keep 256 --method asl:lmin=0,lobs=4 question
t ask -f long $small --keep 256 --method snapkv:window=400 question
t ask -f long $small --keep 12 --keep-first 0 --method finch question
t ask -f long $small --keep 256 --method gemfilter:row=middle --schedule chunk question
t ask -f long $small --keep 256 --method snapkv:kernel=4 question
t ask -f long $small --keep 256 --method snapkv:window=2.5 question
t ask -f long $small --keep 256 --method asl:tau=2 question
t select -f long $small --keep 64 --keep-last 16 --method snapkv -q question | head -n 2 | mask
