# SPDX-License-Identifier: BSD-2-Clause
# What does not fit is refused by name; one process writes, and others read meanwhile.
libraries
touch -d 2020-01-01 text
gemkv index -q --grade exact lib text || echo "not indexed"
"$mkmodel" --layers=3 other.gguf
m() { gemkv "$@" 2>err >/dev/null; echo "[$?] $*"; grep -v '^indexed\|^lib:.*tokens\|^sched\|^warn' err | sed 's/([0-9a-f]\{16\})/(PRINT)/g'; }
cp text more
m ask -m other.gguf -L lib q
m index -m other.gguf --grade exact lib more
m ask --layer 2 -L lib q
m index --layer 2 --grade exact lib more
m ask --template gemma -k 96 -L lib q | sed 's/lib.segments[^:]*/SEGMENT/'
m index --template gemma --grade exact lib more
mkdir file:uri && mv lib file:uri/lib && m index --list file:uri/lib && mv file:uri/lib .

# A writer that waits for its text holds the library.
mkfifo fifo
# It is refused while the loop below asks who writes, and then tries again.
{ until gemkv index -q --grade exact lib fifo 2>busy || ! grep -q writes busy; do sleep .05; done; } &
exec 3<>fifo                            # which waits for nobody
printf 'The owl. ' >&3
n=0
until gemkv index -q --remove lib nothing 2>&1 | grep -q writes || test $n -gt 100; do sleep .05; n=$((n + 1)); done
gemkv index --grade exact lib more 2>&1 | sed 's/process [0-9]*/process N/' | grep writes
gemkv index --list -q lib | awk '{ print $NF }'
gemkv ask -q $small -L lib q >/dev/null && echo "readers go on"
exec 3>&-
wait
gemkv index --list -q lib | awk '{ print $NF }'

# A later format: the number is in the file's head.
cp -R lib later
printf '\0\0\0\003' | dd of=later/catalogue.sqlite bs=1 seek=60 conv=notrunc 2>/dev/null
m ask -L later q
m index --grade exact later more
head -c 3000 lib/catalogue.sqlite >later/catalogue.sqlite
m index --list later
echo "this is no database, but long enough to be one, or so it seems to who only looks at its size ......" >later/catalogue.sqlite
m index --list later
rm -r later/segments; m index --list later

# No room: the library is as it was.
i=0; while test $i -lt 400; do echo "The cat $i and the hat $i."; i=$((i + 1)); done >big
(trap '' XFSZ; ulimit -f 8; gemkv index -q --grade exact lib big) 2>&1 | sed 's/segments.*gkv/SEGMENT/'
gemkv index --verify lib 2>&1 | grep -v tokens; gemkv index --list -q lib | awk '{ print $NF }'
