# SPDX-License-Identifier: BSD-2-Clause
# A run goes on where it was stopped, wherever that was; and what it must not touch stays as it is.
batch="batch -k 96 -n 2 -t 1 --in rows"
batch_rows | head -n 8 >rows
gemkv $batch -q --out whole
echo "[$?]"
batch_same whole >want

# cut at bytes of every line
again() {       # what is there
    cp "$1" part
    gemkv $batch --out part >out 2>err
    code=$?
    batch_same part | cmp -s - want && wc -l <part | tr -d ' ' || { echo "another file:"; wc part; cat err; }
    test $code = 6 || echo "[$code]"
}
lines=$(wc -l <whole)
for i in $(seq 0 2 $((lines - 1))); do
    for n in $((i * 13)) $((i * 97 + 1)); do
        head -n "$i" whole >cut
        sed -n "$((i + 1))p" whole | head -c $n >>cut
        again cut
    done
done | sort | uniq -c
head -c -1 whole >cut                   # only the newline is missing
again cut
{ head -n 3 whole; printf '{"id": "q9", "line\0\0\0\0'; } >cut
again cut
cat err | sed 's/[0-9]* of them/N of them/'
{ head -n 3 whole; printf '\0\0\0\0'; } >cut
again cut

# nothing is asked twice
cp whole part
gemkv $batch --out part 2>&1
echo "[$?]"
cmp part whole

# rows that failed: again only with --retry, or when they are another
grep -v '"error"' whole >good
grep '"error"' whole >bad
cp text nowhere3
cp whole part
gemkv $batch --out part 2>/dev/null
cmp part whole && echo "not asked again"
gemkv $batch --out part --retry 1 2>/dev/null
echo "[$?] $(($(wc -l <part) - lines)) lines more"
gemkv batch -q --merge all --in rows part
echo "[$?] $(grep -c '"answer' all) answers"
rm nowhere3
sed 's/^\({"id": "q8".*\)$/\1, "question": "Who?"}/; s/nowhere3/doc3/' rows >rows2
cp whole part
gemkv batch -k 96 -n 2 -t 1 --in rows2 --out part -q
batch_lines part | grep 'q[38]'
# within a run: a file that comes late
(sleep 1; cp text late) &
awk 'BEGIN { print "{\"file\": \"late\", \"question\": \"Who?\"}"
             print "{\"file\": \"slow\", \"question\": \"Who?\"}" }' >late.rows
mkfifo slow
(sleep 2; cat text >slow) &
gemkv batch -k 96 -n 2 -t 1 --in late.rows --out late.out --retry 3 -q
echo "[$?] $(grep -c '"answer"' late.out) answers"
wait

# other options, another model, another row
other() {
    cp whole part
    gemkv $batch "$@" --out part 2>&1 | sed 's/answer to [^ ]* line [0-9]*/answer to .../'
    cmp part whole
}
for option in '-k 80' '-n 7' '--method truncate' '--layer 2' '--schedule stream' '--temperature 0.5' '--stop x' '--seed 3' \
        '--keep-first 2' '--template plain' '--kv-type f32' '--cite' '--min-score 0' '--raw' '--system x'; do
    other $option
done | sort | uniq -c
"$mkmodel" --arch=qwen2 other.gguf 2>/dev/null && other -m other.gguf
sed 's/mat 1?/mat 100?/' rows >rows2
cp whole part
gemkv batch -k 96 -n 2 -t 1 --in rows2 --out part 2>&1
cmp part whole

# files of somebody else
foreign() {
    printf "$@" >foreign
    cp foreign before
    gemkv $batch --out foreign 2>&1
    cmp foreign before
}
foreign 'a year of work'
foreign '{"notes": "a year of work"}\n'
foreign '{"id": "a1", "text": "a year of'
foreign '{"id": "a1", "line": 1, "text": "x"}\n'
foreign '%s\na year of work' "$(head -n 1 whole)"
mkdir folder
t $batch --out folder
t $batch --out nowhere/file
truncate -s 3G sparse
(case $CFLAGS in *-fsanitize*) ;; *) ulimit -v 2000000;; esac; gemkv $batch --out sparse 2>&1)

# another gemkv writes to it
command -v flock >/dev/null && flock part gemkv $batch --out part 2>&1 || echo "refused"

# --max-errors ends it, and it goes on
rm -f few
gemkv $batch --max-errors 0 --out few 2>&1
echo "[$?] $(wc -l <few | tr -d ' ') lines"
gemkv $batch --max-errors 0 --out few 2>&1
echo "[$?] $(wc -l <few | tr -d ' ') lines"
gemkv $batch --max-errors 1 --out few -q
echo "[$?]"
gemkv $batch --max-errors 0 --out few -q
echo "[$?]"
batch_same few | cmp - want && echo "whole"

# a full disk: what is there is whole, and it goes on
(trap '' XFSZ; ulimit -f 20; gemkv $batch -q --out full 2>&1; echo "[$?]")
test -s full && tail -c 1 full | od -An -c | tr -d ' '
gemkv $batch -q --out full
batch_same full | cmp - want && echo "whole"
test -c /dev/full && { gemkv $batch -q >/dev/full; echo "[$?]"; }

# a signal
env --default-signal=INT true 2>/dev/null || { echo "[143]"; exit; }
awk 'BEGIN { for (i = 0; i < 200; i++) print "{\"file\": \"doc" i % 9 + 1 "\", \"question\": \"Who " i "?\", \"max_tokens\": 200}" }' >many
gemkv batch $small -t 1 --in many --out stopped 2>err &
pid=$!
until test "$(cat stopped 2>/dev/null | wc -l)" -gt 2; do sleep 0.1; done
kill -TERM $pid
wait $pid 2>/dev/null
echo "[$?]"
sed 's/[0-9]* of/N of/' err
tail -c 1 stopped | od -An -c | tr -d ' '
