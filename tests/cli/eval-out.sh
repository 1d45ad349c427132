# SPDX-License-Identifier: BSD-2-Clause
# --out continues a file that gemkv eval wrote, and leaves any other file as it is.
qa="eval qa $small -t 1 --data rows --method truncate -q --csv"
qa_rows 3 >rows
gemkv $qa --out all >table
answers() { sed 's/, "tokens".*//' "$1"; }
first=$(sed -n 1p all)

# other files, none with a newline at the end
n=0
foreign() {
    n=$((n + 1))
    printf "$@" >foreign
    cp foreign before
    gemkv $qa --out foreign 2>err && echo "file $n was taken"
    cat err
    cmp foreign before
}
foreign '{"notes": "a year of work"}'
foreign '{"id": "a1", "text": "a year of work"}'
foreign '{"id": "a1", "text": "a year of'
foreign '{"id": "q1", "method": "mine", "answer": "x", "answers": ["x"]}'
foreign '{"id": "q1", "method": 1, "answer": "x", "answers": ["x'
foreign '{"id": "q1", "meth'
foreign '{'
foreign 'a year of work'
foreign '%s\n{"notes": "a year of work"}' "$first"
foreign '%s\n{"id": "q2", "method": "x", "text": "a year of' "$first"
foreign '%s\n{"id": "q2" "method": "x' "$first"
foreign '%s\na year of work' "$first"
echo "$n files refused"
# a large file is not read to its end
truncate -s 3G sparse
case $CFLAGS in *-fsanitize*) ;; *) ulimit -v 2000000;; esac
gemkv $qa --out sparse 2>&1

# what a killed run leaves, cut at any byte
again() {
    printf "$@" >part
    gemkv $qa --out part >out || echo "not taken"
    answers part | cmp - answers && wc -l <part | tr -d ' '
}
answers all >answers
again '%s\n{"id": "q2", "meth' "$first"
again '%s\n{' "$first"
again '%s\n{"id": "q2", "method": "a \\" b", "answer": "\\' "$first"
again '{"id": "q1", "method": "truncate", "answer": "a \\"b\\\\", "answers": ["'
again '%s' "$first"
printf %s "$(cat all)" >part
gemkv $qa --out part >out
cmp part all && echo "nothing asked, and the newline is there"

# no part of a line stays when the disk is full
(trap '' XFSZ; ulimit -f 1; t eval qa $small -t 1 --data rows --methods full,truncate,snapkv -q --out full 2>&1) |
    grep full
test -s full && tail -c 1 full | od -An -c | tr -d ' '

# an answer counts for the options that it was made with
for option in '-k 80' '-k 50%' '--keep-first 2' '--keep-last 2' '-n 7' '--layer 2' '--schedule chunk' '--kv-type f32' \
        '--gemm exact' '--template plain'; do
    cp all other
    gemkv $qa $option --out other >/dev/null 2>err && echo "$option: taken"
    grep -q 'was made with other options' err || { echo "$option:"; cat err; }
    cmp other all
done
echo "answers of other options are refused"

# another gemkv writes to it
if command -v flock >/dev/null; then
    cp all held
    flock held gemkv $qa --out held 2>&1
    cmp held all
else
    echo "gemkv: held: another gemkv writes to it; give another name"
fi

# no regular file: not read, and not waited for
mkfifo fifo
mkdir folder
for name in fifo folder /dev/full /dev/null /dev/zero; do
    case $name in /*) test -c $name || continue;; esac
    timeout 60 gemkv $qa --out $name 2>&1
    echo "[$?]"
done
