# SPDX-License-Identifier: BSD-2-Clause
# One rule for every output file: it is new and regular.
qa_rows 1 >rows
seq 1 200 | sed 's/.*/The cat & sat on mat number & and looked at the hat./' >hay
cat >needles <<'N'
[{"id": "key", "needle": "The pass key is 48213.", "question": "What is the pass key?", "answers": ["48213"]}]
N
qa="eval qa $small -t 1 --data rows --method truncate"
try() {         # try FILE: exit status of each
    for args in "$qa --out" "$qa --rows" "$qa --plot" "ask $small -f text q --report" \
                "select $small -f text q --report" \
                "calibrate -t 1 --haystack hay --needles needles --lengths 200 --samples 1 --dry-run --plot"; do
        timeout 120 gemkv $args "$1" >out
        code=$?
        test ! -s out || echo "worked before it looked:"
        echo "[$code] ${args%% *} ${args##* }"
    done
}
echo "a year of work" >mine
cp mine before
try mine
cmp mine before
ln -s mine link
try link
cmp mine before
ln -s nowhere dangling
t $qa --plot dangling
t ask -f text $small --report dangling q
test -L dangling && ls nowhere 2>/dev/null
mkdir folder
try folder
t $qa --plot ""
try nowhere/new
mkfifo fifo
try fifo
case $CFLAGS in *-fsanitize*) ;; *) ulimit -v 2000000;; esac
for name in /dev/full /dev/null /dev/zero; do
    test -c $name && try $name
done 2>&1 | sed 's|/dev/[a-z]*|/dev/x|' | sort | uniq -c | tr -s ' '
# two outputs, one name
t $qa --out both --plot both | tail -n 1
# new files have the permissions that the umask leaves
umask 007
for args in "$qa --out" "$qa --rows" "$qa --plot" "ask $small -f text q --report"; do
    mkdir new
    gemkv $args new/file -q >out && ls -l new | sed -n 's/^\(.\{10\}\).* \([^ ]*\)$/\1 \2/p'
    rm -r new
done
# or there is no file: too large, skipped, cancelled
mkdir new
(trap '' XFSZ; ulimit -f 1; for f in rows plot; do t eval niah $small -t 1 --haystack hay --needles needles \
    --lengths 300 --depths 0,50,100 -q --$f new/$f; done) 2>&1 | grep new
t ask -q -f text --memory 1M --report new/file q 2>/dev/null
t $qa -c 10 -q --plot new/file 2>/dev/null
ls new
# nor if a signal ends it; and a file made there meanwhile is not replaced
mkfifo document
start() {
    gemkv ask -q $small -f document --report new/file q >out 2>err &
    pid=$!
    exec 3>document     # returns when gemkv has opened it
}
finish() {
    cat text >&3
    exec 3>&-
    wait $pid
    echo "[$?]"
}
# where a file can be without a name
case $(stat -f -c %T . 2>/dev/null) in ext*|tmpfs|xfs|btrfs) kill=KILL;; *) kill=;; esac
for sig in HUP PIPE XFSZ TERM $kill; do
    start
    kill -s $sig $pid
    wait $pid
    exec 3>&-
    ls new
done 2>/dev/null
start
finish
rm new/file
start
cp before new/file
finish
cat err
cmp before new/file
ls new
