# Another program answers; it gets what was kept, and misbehaves.
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "no Python 3.8"
gemkv ask --answer-url http://localhost --answer-model x -f text x 2>&1 | grep -q 'built without' && skip "no libcurl"
server=$cases/../answer-server.py
wait_for() {    # a file that is not empty, for 30 seconds at most
    tries=0
    while test ! -s "$1" && test $tries -lt 300; do
        sleep 0.1
        tries=$((tries + 1))
    done
}
unset GEMKV_ANSWER_KEY http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
mkfifo alive
"$python" "$server" port sent <alive &
exec 3>alive                    # it ends when this does
wait_for port
at=http://127.0.0.1:$(cat port)
here() {
    sed "s|$at|http://HERE|g; s/[0-9.]* s\b/N s/g; s/transfer closed.*read;/BROKEN;/; s/end of response.*missing;/BROKEN;/"
}
a() {           # a MODE [OPTION...]
    mode=$1
    shift
    gemkv ask -q --answer-url "$at/$mode/v1" --answer-model big -k 80 -f text "$@" 'Which number?' 2>err
    code=$?
    here <err
    echo "[$code] $mode"
}
echo "-- answers"
for mode in good bytes plain length odd; do a $mode; done
echo "-- what was sent"
rm sent; a good --stop x --temperature 0.5 --seed 7 --system 'Be brief.'
"$python" "$server" --sent sent | here
gemkv select --json --snap word -k 80 -f text 'Which number?' >select
"$python" "$server" --only sent select
rm sent; a good --method full; grep -c 'pass key is 48213' sent
echo "-- and of a text that no passage is from"
{ cat text; awk 'BEGIN { for (i = 0; i < 40; i++) print "Secret word number " i " is plugh" i "." }'; } >long
rm sent
gemkv ask -q --answer-url "$at/good/v1/" --answer-model big -k 70 -f long 'Which number?'
gemkv select --json --snap word -k 70 -f long 'Which number?' >select
"$python" "$server" --only sent select
grep -o 'plugh[0-9]*' sent | sort >sent-words; grep -o 'plugh[0-9]*' select | sort -u >kept-words
test "$(wc -l <sent-words)" -lt 40 && comm -23 sent-words kept-words
echo "-- failures"
for mode in cut broken no-json error later fails long longer empty redirect html huge lost; do a $mode; done
a slow --answer-timeout 1
a busy
a key
printf 'wrong-key\n' >key; a key --answer-key-file key
printf 'right-key\n' >key; a key --answer-key-file key
GEMKV_ANSWER_KEY=right-key a key
printf 'two words\n' >key; a key --answer-key-file key
a good --answer-key-file none
echo "-- cut by the other program, whose context is full, and as it was asked to"
for n in 256 23; do
    gemkv ask --answer-url "$at/length/v1" --answer-model big -k 80 -f text -n $n 'Which number?' 2>&1 >answer | grep cut
done
echo "-- nothing went on to where it was led"
rm sent; a redirect; grep -c '^POST' sent
echo "-- JSON"
a length --json | grep -o '"finish": "[a-z]*"'
a odd --json | grep -o '"finish": "[a-z_]*"'
a good --json |
    grep -o '"answer": "The[^"]*", "finish": "[a-z]*"\|"answerer": {"[up][^}]*}' | here
a cut --json | grep -o '"answer": "[^"]*", "finish": "[a-z]*"\|^gemkv.*\|^\[.*'
a plain --json=lines | grep -c '"event": "token"'
a cut --min-score 100000000
echo "-- several questions, in a conversation"
rm sent
printf '%s\n' 'Which number?' 'And why?' |
    gemkv chat -q --answer-url "$at/good/v1" --answer-model big -k 200 -f text --no-history
"$python" "$server" --sent sent | grep -o '"messages.*]'
echo "-- a signal ends it at once"
gemkv ask -q --answer-url "$at/endless/v1" --answer-model big -k 80 -f text 'Which number?' >out 2>err &
pid=$!
wait_for out
kill -TERM $pid; wait $pid 2>/dev/null; echo "status $?"
cat err | sed 's/[0-9]* tokens/N tokens/'
echo "-- what cannot be"
t ask --answer-url http://127.0.0.1 -f text x
t ask --answer-model big -f text x
t ask --answer-url ftp://127.0.0.1 --answer-model big -f text x
t ask --answer-url http://me:secret@127.0.0.1 --answer-model big -f text x
t ask --answer-url 127.0.0.1: --answer-model big -f text x
t ask --answer-url "http://127.0.0.1" --answer-model big --grammar 'root ::= "x"' -f text x
t ask --answer-url "http://127.0.0.1" --answer-model big --reader tiny.gguf -m tiny.gguf -f text x
t select --answer-url "http://127.0.0.1" -f text x
exec 3>&-
wait
