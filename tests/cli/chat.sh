# SPDX-License-Identifier: BSD-2-Clause
# A conversation through a pipe: the first answer is that of ask, and later questions come after the earlier ones.
chat="gemkv chat -t 2 -k 256 -n 8 -f text"
printf 'Who sat?\n\n  \n/passages\nWhere?\n/reset\nWho sat?  \n/nothing\n/quit\nnever asked\n' >lines
$chat <lines >out 2>err
gemkv ask -t 2 -k 256 -n 8 -q -f text 'Who sat?' >one
sed -n 1p out | cmp - one && sed -n 3p out | cmp - one && wc -l <out
grep '^no command\|^the next\|^kept' err | mask
grep -c '^schedule' err

# As JSON: what was said before is in the prompt, until /reset.
$chat --json <lines 2>err | sed 's/.*"question": "\([^"]*\)".*"prompt": \([0-9]*\).*/\1 \2/' >json
awk '{ print $1, (n[$1] ? ($NF == n[$1] ? "as before" : "other") : NR == 1 ? "first" : $NF > last + 8 ? "longer" : "not longer")
       n[$1] = last = $NF }' json

# More than half of --keep: the oldest turns go, and that is said once.
for i in 1 2 3 4 5; do echo "Where is cat number $i?"; done | $chat -k 128 --json 2>err |
    sed 's/.*"prompt": \([0-9]*\).*/\1/' >n
sort -n n | tail -1 | { read -r most; head -1 n | { read -r first; test "$most" -le $((first + 64)) && echo bounded; }; }
grep left err

# A question that fails does not end it, but the exit status says so.
printf 'Who?\n\377\nWho?\n' | $chat -q >out 2>err
echo "[$?] $(wc -l <out)"; cat err
# Of a library.
if gemkv index --list nothing 2>&1 | grep -q 'built without'; then
    echo 2
else
    gemkv index -q --grade exact lib text
    printf 'Who sat?\nWhere?\n' | gemkv chat -t 2 -k 256 -n 8 --json -L lib 2>/dev/null | grep -c '"document": "text"'
fi
t chat 'Who?' -f text
t chat
t chat -f -
t chat -f text -L lib
t chat -f nothing </dev/null
t chat -q -f text </dev/null
t chat -q -f text <.
