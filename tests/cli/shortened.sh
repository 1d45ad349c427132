# SPDX-License-Identifier: BSD-2-Clause
# A model that another program shortens while it is used: a message, and no death by SIGBUS.
# The second question comes when the first is answered, from pages that are no longer there.
mkfifo questions
for threads in 1 3; do
    rm -f answers
    cp tiny.gguf short.gguf
    gemkv chat -q $small -m short.gguf -t $threads -f text <questions >answers 2>err &
    pid=$!
    exec 3>questions
    echo "Where is the cat?" >&3
    tries=0
    until test -s answers || test $tries = 300; do
        sleep 0.1
        tries=$((tries + 1))
    done
    : >short.gguf
    (trap '' PIPE; echo "Who sat?" >&3) 2>/dev/null        # it may have ended by now
    exec 3>&-
    wait $pid
    echo "[$?] $(cat err)"
done
