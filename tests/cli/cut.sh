# SPDX-License-Identifier: BSD-2-Clause
# An answer that -n has cut says so, with an ellipsis on a terminal; a stop string ends one, wherever tokens end, and is
# no part of it.
finish() { sed -n 's/.*\("finish": "[a-z]*"\)\(, "stop": "[^"]*"\)*.*/\1\2/p'; }
words='root ::= [a-z ]{30}'
ask() { gemkv ask -t 1 -f text $small -n 30 --temperature 1 --seed 3 --grammar "$words" "$@" where; }
gemkv ask -t 1 -f text $small --json where | finish
gemkv ask -t 1 -f text $small where 2>&1 >/dev/null | grep cut
gemkv ask -t 1 -f text $small -q where 2>&1 >/dev/null
echo 'who sat?' | gemkv chat -f text $small 2>&1 >/dev/null | grep cut
ask --json | finish
ask -q >whole
ask --json --stop "$(cut -c 11-14 whole)" | sed 's/"stop": "[^"]*"/"stop": "STRING"/' | finish
# Each piece of the answer as a stop string: all before its first place comes out.
i=1
while test $i -le 28; do
    for n in 1 2 4; do
        stop=$(cut -c $i-$((i + n - 1)) whole)
        awk -v s="$stop" '{ print substr($0, 1, index($0, s) - 1) }' whole >want
        ask -q --stop "$stop" --stop XYZ >got 2>err
        case $(cat got) in "$(cat want)") echo right;; *) echo "wrong about '$stop'"; cat want got;; esac
    done
    i=$((i + 13))
done | sort | uniq -c | tr -s ' '
# ... and one that only begins in it does not end it.
ask -q --stop "$(cut -c 29-30 whole)no more" | cmp - whole && echo same
t ask -q -f text $small --stop '' where
python3 -c 'import pty; pty.openpty()' 2>/dev/null || { echo "dots: 1 0 0"; exit; }
cat >dots.py <<'END'
import os, pty, sys
def dots(*more):
    pid, fd = pty.fork()
    if pid == 0:
        os.execvp("gemkv", ("gemkv", "ask", "-q", "-f", "text") + tuple(sys.argv[1:]) + more + ("where",))
    out = b""
    try:
        while True:
            data = os.read(fd, 65536)
            if not data:
                break
            out += data
    except OSError:                     # it has ended
        pass
    os.waitpid(pid, 0)
    return out.count(b"\xe2\x80\xa6")
print("dots:", dots(), dots("--grammar", 'root ::= "a"'), dots("--grammar", 'root ::= [a-z]{40}'))
END
python3 dots.py $small </dev/null
