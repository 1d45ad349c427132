# SPDX-License-Identifier: BSD-2-Clause
# Killed at any moment, a library is what it was or what it should become.
libraries
n=0 bad=0
version() { i=0; while test $i -lt $((20 + 7 * $1)); do echo "Line $i of version $1: the cat sat on mat $((i * $1))."; i=$((i + 1)); done; }
for v in 1 2 3; do version $v >v$v; done
while test $n -lt 24; do
    cp v$((n % 3 + 1)) a; cp v$(((n + 1) % 3 + 1)) b
    gemkv index -q --grade exact lib a b 2>/dev/null &
    pid=$!
    sleep 0.0$((n * 7 % 10))$((n * 3 % 10))
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    n=$((n + 1))
    test -s lib/catalogue.sqlite || continue
    gemkv index -q --list lib >names 2>err
    case $?:$(cat err) in
    0:) ;;
    1:*"nothing was put into it"*) continue;;
    *) bad=$((bad + 1)); cat err; continue;;
    esac
    gemkv index -q --verify lib || bad=$((bad + 1))
    test -s names || continue
    gemkv select -q --method full -L lib q >whole 2>/dev/null || bad=$((bad + 1))
    for name in $(awk '{ print $NF }' names); do
        # each is one of its versions, whole
        gemkv select -q --method full -L lib --among $name q >whole 2>/dev/null
        cmp -s whole v1 || cmp -s whole v2 || cmp -s whole v3 || { bad=$((bad + 1)); echo "$name is broken"; }
    done
done
gemkv index -q --grade exact lib a b
test "$(ls lib/segments | wc -l)" -eq 2 || bad=$((bad + 1))
echo "broken: $bad"
