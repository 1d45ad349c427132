# SPDX-License-Identifier: BSD-2-Clause
# The commands are shut in when they have their inputs (tests/unit-sandbox.c: what that means).
test -r /proc/self/status && grep -q '^Seccomp:' /proc/self/status || skip "this kernel has no seccomp"
case $(uname -m) in x86_64|i?86|aarch64|riscv64|ppc64le) ;; *) skip "not on this architecture";; esac
test "$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/self/status)" = 0 || skip "shut in already"
mkfifo pipe

# While it waits: whether it can get new rights, and how often it is filtered; older kernels do not count that.
state() {       # EARLY FILTERS WHAT...
    tries=0
    until test -s out || test -n "$1" -a "$(sed -n 's/^Seccomp:[[:space:]]*//p' /proc/$pid/status)" = 2 || test $tries = 100; do
        sleep 0.1
        tries=$((tries + 1))
    done
    filters=$(sed -n 's/^Seccomp_filters:[[:space:]]*//p' /proc/$pid/status)
    mode=$(sed -n 's/^\(NoNewPrivs\|Seccomp\):[[:space:]]*/\1 /p' /proc/$pid/status | tr '\n' ' ')
    exec 3>&-
    wait $pid
    code=$? filters=${filters:-$2}
    shift 2
    echo "[$code] $mode$filters: $*"
}
lines() {       # FILTERS COMMAND...: with a question, and waiting for the next one
    filters=$1
    shift
    rm -f out
    gemkv "$@" --questions pipe >out &
    pid=$!
    exec 3>pipe
    echo 'Where is the cat?' >&3
    state '' "$filters" "$@"
}
lines 2 ask -q $small -f text
lines 2 select -q $small -f text
lines 1 ask -q $small -f text --report page.html
grep -c '</html>' page.html
(GEMKV_SANDBOX=off; export GEMKV_SANDBOX; lines 0 ask -q $small -f text)
rm -f out
gemkv tokenize -f - <pipe >out &
pid=$!
exec 3>pipe
echo text >&3
state early 2 tokenize
