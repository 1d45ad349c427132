# SPDX-License-Identifier: BSD-2-Clause
# The tests and the shape of both outputs; rates and sizes are masked.
rates() {
    sed 's/[0-9.]* [KMGT]iB/N MiB/g; s/ *[0-9][0-9]*\.[0-9]*/ R/g'
}
values() {
    sed 's/\("[a-z_]*": \)[0-9][-+.e0-9]*/\1N/g'
}
gemkv bench -p 16,8 -n 4 -d 0,8 -r 2 -t 1 2>err | rates
rates <err
gemkv bench -p 16 -n 4 -d 8 -r 2 --json 2>&1 | values
gemkv bench -p 0,8 -n 4 -d 0,8 -r 1 -t 3 --chunk 16 --kv-type f32 --gemm exact --json |
    grep -o '"\(test\|n_prompt\|n_gen\|depth\|threads\|chunk\|cpu\|gemm\|kv_type\|repetitions\)": [^,]*'
gemkv bench -q -p 8 -n 0 -r 1 -t 2 2>&1 | rates
gemkv bench --tty -p 8 -n 4 -d 4 -r 1 2>&1 >/dev/null | tr '\r' '\n' | grep -o '^[a-z].* 0 %'
t bench -p 0 -n 0
t bench -p 8,x
t bench -r 0
t bench text
t bench --kv-type q8_0 -p 8
t bench -p 8 --memory 100K 2>err
mask <err
# methods on a document
yes "The cat and the hat sat on the mat." | head -n 40 >long
gemkv bench -f long -t 1 -k 96 -n 4 -r 2 2>err | sed 's/[0-9.][0-9.]* \(ms\|s\|[KM]iB\)/N \1/g; s/[0-9.]*x/Rx/g; s/[KM]iB/MiB/g; s/  */ /g'
cat err
gemkv bench -f long -t 2 -k 96 -n 4 --methods full,streamingllm:sinks=8,truncate --json "Who sat?" >json
tr '{' '\n' <json | grep -o '"\(method\|parameters\|schedule\|layer\|repetitions\|prompt\|kept\|answer\)": [^,}]*'
# the cache in proportion to what is kept and room for the answer
tr -d '\n' <json | sed 's/"method"/\n&/g' |
    sed -n 's/.*"prompt": \([0-9]*\), "kept": \([0-9]*\).*"kv".*"ratio": \([0-9.e-]*\).*/\1 \2 \3/p' |
    awk '{ r = $3 / (($2 + 4) / ($1 + 4)); print $2, (r > 0.95 && r < 1.05) }'
t bench -f long -p 8
t bench --methods snapkv
t bench --keep 5
t bench -f long --methods full,bogus
t bench -f long --methods snapkv,snapkv
t bench -f long -n 0
t bench -f nowhere
t bench -f long --methods full,truncate -k 96 -n 2 --memory 100K 2>err
mask <err
# ratios need the first method, which cannot be run here
gemkv bench -f long -k 96 -n 2 --methods asl,truncate 2>/dev/null | tail -n 1 | sed 's/[0-9][0-9.]*/N/g; s/  */ /g; s/[KM]iB/MiB/g'
# answers do not stop at a token that would end them
mini="-m $cases/../../data/gemkv-mini-q8_0.gguf"
head -n 12 text >short
(unset GEMKV_CPU
 gemkv ask $mini -f short --method full -n 24 --json "How many cats?" | grep -o '"finish": "[a-z]*"'
 gemkv bench $mini -f short --methods full -n 24 --json "How many cats?" | grep -o '"answer": [0-9]*')
# when cancelled, it shows the methods that are done: one of two, since the second prefills for minutes
yes "The cat and the hat sat on the mat." | head -n 20000 >longer
: >progress                             # the first look may come before the program's first step
gemkv bench --tty -f longer -k 96 -n 1 --methods truncate,full -t 1 >stopped 2>progress &
pid=$! n=0
until grep -q ' [5-9][0-9] %' progress || test $n = 300; do
    sleep 0.2
    n=$((n + 1))
done
kill -TERM $pid
wait $pid 2>/dev/null           # some shells say what it died of
echo "[$?] $(grep -c '^truncate' stopped) $(grep -c '^full' stopped)"
grep -o 'gemkv: cancelled, methods' progress
