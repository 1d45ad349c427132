# SPDX-License-Identifier: BSD-2-Clause
# A signal while gemkv waits for more of the document: it says so, leaves nothing behind, and dies of that signal, so
# that a shell's loop stops.
env --default-signal=INT true 2>/dev/null || skip "env cannot restore SIGINT, which a shell's jobs ignore"
mkfifo fifo
for sig in TERM INT HUP; do
    env --default-signal=INT gemkv ask --report page.html -f fifo q &
    pid=$!
    exec 3>fifo             # returns when gemkv has opened it
    echo "The cat" >&3
    sleep 1
    kill -$sig $pid
    sleep 1
    exec 3>&-               # so that a lost signal is a failure, not a hang
    wait $pid 2>/dev/null
    echo "[$?] $(ls page* 2>/dev/null)"
done

# It ends at once also in a converter that ignores signals and does not end, and takes it along.
mkdir bin tmp
cat >bin/pdftotext <<'EOF'
#!/bin/sh
trap "" INT TERM HUP
echo text
sleep 20 &
echo $! >started
wait $!
EOF
chmod +x bin/pdftotext
printf '%%PDF-1.4\n' >a.pdf
TMPDIR=$PWD/tmp PATH=$PWD/bin:$PATH env --default-signal=INT gemkv ask -f a.pdf q 2>/dev/null &
pid=$! tries=0
until cp tmp/*/started . 2>/dev/null && test -s started || test $tries = 100; do
    sleep 0.1
    tries=$((tries + 1))
done
began=$(date +%s)
kill -TERM $pid
wait $pid 2>/dev/null
echo "[$?] in a converter"
sleep 1
test -s started || echo "no converter ran"
test $(($(date +%s) - began)) -lt 18 || echo "gemkv waited for it"
grep '^State:.[^ZX]' "/proc/$(cat started)/status" 2>/dev/null     # what it started goes on

# A shell tells an exit status of 130 from a death by SIGINT.
command -v python3 >/dev/null || { printf '%s\n' -2 -2 False; exit; }
python3 - <<'EOF'
import os, signal, subprocess, time
read, write = os.pipe()
p = subprocess.Popen(["gemkv", "ask", "-q", "q"], stdin=read, stderr=subprocess.DEVNULL,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
os.write(write, b"The cat")
time.sleep(1)
p.send_signal(signal.SIGINT)
print(p.wait(20))

# So do questions of a pipe, in the middle of an answer: the next one is not asked.
p = subprocess.Popen(["gemkv", "chat", "-q", "-t", "1", "-k", "256", "-n", "100000", "-f", "text"], stdin=subprocess.PIPE,
                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                     preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
p.stdin.write(b"Who sat?\nWhere?\n")
p.stdin.flush()
p.stdout.read(1)
p.send_signal(signal.SIGINT)
p.stdin.close()
rest = p.stdout.read()
print(p.wait(20))
print(b"\n" in rest[:-1])
EOF
