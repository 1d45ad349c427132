#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# TAP: what two questions at once would share.  All variables of the process are in this list, with the reason; a new
# one is an error.  Only main() ends the program.
# shellcheck disable=SC2016
allowed='
    progress  running         signals are for the process: the runs that one cancels
    progress  cancelled       ... a signal came
    progress  asked           ... SIGUSR1 came
    output    unfinished      ... temporary files that one removes
    output    done            ... whether the handlers are set
    folder    fleeting        exit() removes it: the folder of a server
    say       ends            of several threads without memory one ends the program: it has this
    say       ending          ... whether this thread is that one
    simd      table           the kernels of this processor, chosen once
    simd      once            ... under this
    simd      lines           ... and described here
    simd      cap             gkv_cpu_cap, which the header says is for the process
    simd      bad             $GEMKV_CPU names no level: read once
    select    public_rows     what gkv_methods returns: filled once,
    select    public_params   ... with the parameters,
    select    once            ... under this
    schedule  public_rows     what gkv_schedules returns: the same
    schedule  public_params
    schedule  n_public
    schedule  once
    gemm      lines           what gkv_gemm_describe returns: the same
    gemm      once
    gemm-openblas once        OpenBLAS is told once how many threads it has
    gemm-onednn   once        oneDNN is started once
    cores     line            what gkv_threads_describe returns, of each thread
    team-pool pool            the helpers that all callers share
    team-pool once            ... prepared under this
    team-pool inside          ... whether this thread is in a work
    team-pool last            ... the slot that this thread had
    device    lines           what gkv_device_describe returns: the same
    device    n_lines
    device    once
'
core=src/.libs/libcore.a
cli=src/.libs/libcli.a
nm=${NM:-nm}             # may have options

echo 1..3
skip() { for i in 1 2 3; do echo "ok $i # SKIP $1"; done; exit; }
case $CFLAGS in *-fsanitize*|*-flto*|*--coverage*) skip "the compiler adds variables of its own";; esac
test -f $core || skip "no $core in this build"
test -f $cli || skip "no $cli in this build"
command -v "${nm%% *}" >/dev/null || skip "no nm"

# Lines "FILE VARIABLE" of sections that can be written to.  A static variable of a function is called NAME.NUMBER.
# shellcheck disable=SC2086
found=$($nm -A -f sysv $core $cli 2>/dev/null | awk -F'|' '
    $NF ~ /^\.(data|bss|tdata|tbss)/ && $NF !~ /rel\.ro/ {
        n = split($1, part, ":")
        name = part[n]; gsub(/ /, "", name); sub(/\.[0-9]+$/, "", name)
        file = part[n - 1]; sub(/.*\//, "", file); sub(/^lib(core|cli)_la-/, "", file); sub(/\.o$/, "", file)
        print file, name
    }' | sort -u)
echo "$found" | grep -q '^progress cancelled$' || skip "nm does not show the sections of variables"
bad=$(echo "$found" | ALLOWED=$allowed awk '
    BEGIN { n = split(ENVIRON["ALLOWED"], line, "\n")
            for (i = 1; i <= n; i++) if (split(line[i], word, " ") > 1) known[word[1] " " word[2]] = 1 }
    !($0 in known)')
test -z "$bad" || printf 'not '
echo "ok 1 - no variable of the process but those with a reason"
test -z "$bad" || echo "$bad" | sed 's/^/# pass it as a value, or say here why it is one for the process: /'

# users PATTERN OBJECT...: objects that refer to a symbol of the C library.
users() {
    pattern=$1
    shift
    # shellcheck disable=SC2086
    $nm -A -u "$@" 2>/dev/null | grep -E "[ :](U +)?($pattern)(@.*)?\$" | sed 's/^/# /'
}

bad=$(users '_?exit|_Exit|quick_exit|abort|stdout|stderr|(__)?v?printf(_chk)?|puts|putchar|perror' $core)
test -z "$bad" || printf 'not '
echo "ok 2 - the library neither prints nor ends the process"
test -z "$bad" || echo "$bad"

# say.c: when there is no memory for what the program itself allocates.  input/child.c: the process that it has started.
bad=$(users '_?exit|_Exit|quick_exit|abort|stdout|(__)?v?printf(_chk)?|puts|putchar|perror' $cli |
    grep -v -e 'libcli_la-say\.o:.* exit' -e 'libcli_la-child\.o:.* _exit' -e 'libcli_la-retrieve\.o:.* _exit')
test -z "$bad" || printf 'not '
echo "ok 3 - commands print where they are told to, and only main() ends the program"
test -z "$bad" || echo "$bad"
