# SPDX-License-Identifier: BSD-2-Clause
# SIGTERM while gemkv waits for more of the document.
mkfifo fifo
gemkv ask -f fifo q &
pid=$!
exec 3>fifo             # returns when gemkv has opened it
echo "The cat" >&3
sleep 1
kill -TERM $pid
sleep 1
exec 3>&-               # so that a lost signal is a failure, not a hang
wait $pid
echo "[$?]"
