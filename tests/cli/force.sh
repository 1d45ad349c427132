# SPDX-License-Identifier: BSD-2-Clause
# --force replaces a regular file, when the new one is whole; until then the old one stays.
qa_rows 1 >rows
qa="eval qa $small -t 1 --data rows --method truncate"
mkdir new
echo "the old one" >old
ask="ask -q -t 1 $small -f text --force --report"
is() {          # is FILE WHAT: whether it is the old file or a page
    if cmp -s old "$1"; then echo "$2: the old one"
    elif tail -n 1 "$1" | grep -q '</html>$'; then echo "$2: a whole page"
    else echo "$2: something else"; fi
}
cp old new/page; chmod 640 new/page
gemkv $ask new/page q >out; is new/page replaced
ls -l new | sed -n 's/^\(.\{10\}\).* \([^ ]*\)$/\1 \2/p'
gemkv $ask new/none q >out; is new/none "was not there"
rm new/none
# a link stays one
cp old new/page
ln -s new/page link
gemkv $ask link q >out; is new/page "behind the link"
test -L link && echo "still a link"
for f in rows plot; do
    cp old new/$f
    gemkv $qa --force -q --$f new/$f >out; cmp -s old new/$f || echo "$f: replaced"
    rm new/$f
done
# what is no file is never replaced
ln -s nowhere dangling
mkdir folder
mkfifo fifo
for name in dangling folder fifo /dev/null ""; do t $ask "$name" q; done
test -L dangling && test -d folder && test -p fifo && test -c /dev/null && echo "all as they were"
# two outputs, one name
t $qa --force --out both --plot both | tail -n 1
# it is refused, fails, is killed
cp old new/page
t $ask new/page -c 3 q 2>/dev/null
is new/page "too large a prompt"
(trap '' XFSZ; ulimit -f 1; t $ask new/page q) 2>&1 | grep new
is new/page "full disk"
mkfifo document
start() {
    gemkv ask -q -t 1 $small -f document --force --report "$1" q >out 2>err &
    pid=$!
    exec 3>document     # returns when gemkv has opened it
}
finish() {
    cat text >&3
    exec 3>&-
    wait $pid
    echo "[$?]"
    cat err
}
start new/page
is new/page "while it works"
kill -s TERM $pid
wait $pid 2>/dev/null
exec 3>&-
is new/page killed
ls new
# what somebody has put there meanwhile is a file, too, or it is not
start new/late; cp old new/late; finish; is new/late "made meanwhile"
rm new/late
start new/late; mkfifo new/late; finish
test -p new/late && echo "still a fifo"
ls new
