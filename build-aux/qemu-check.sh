#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
#
# build-aux/qemu-check.sh [HOST...]
#
# Cross-builds for other machines and runs the C tests under qemu's user emulation: AArch64
# without dot products, with them, and with all that qemu has; then machines without kernels
# of their own: 64 bits, 32 bits, and big-endian, where models must be refused.  Root on Debian
# installs missing tools with apt-get; machines whose tools are missing are skipped.
#
# An emulator is some twenty times slower, so only every 12th of the oracle's cases with short prompts is run,
# with half of the methods (GOLDEN_TOKENS and GOLDEN_EVERY, tests/golden.c).  The tests in $slow, which run through
# whole models and take seven minutes and more each, are left out, and those in $slower too on machines without
# kernels to test; QEMU_ALL=1 runs them.  unit-team forks while it has threads, which qemu-user cannot.
set -eu
src=$(cd "$(dirname "$0")/.." && pwd)
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
never=tests/unit-team.test
slow='tests/unit-group.test tests/unit-eval.test tests/unit-arch.test tests/unit-index.test tests/unit-session.test
    tests/hybrid.test tests/unit-stats.test tests/unit-draft.test tests/unit-leaks.test tests/unit-think.test
    tests/unit-guess.test tests/unit-reader.test tests/unit-work.test'
slower='tests/unit-attend.test tests/unit-repack.test'
test -z "${QEMU_ALL-}" || slow='' slower=''
test $# -gt 0 ||
    set -- aarch64-linux-gnu riscv64-linux-gnu arm-linux-gnueabihf s390x-linux-gnu

GEMKV_CPU='' LC_ALL=C
export GEMKV_CPU LC_ALL
test -n "${QEMU_ALL-}" || export GOLDEN_TOKENS=200 GOLDEN_EVERY=12

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

have() { command -v "$1" >/dev/null 2>&1; }
install() {
    test "$(id -u)" = 0 && have apt-get || return 1
    export DEBIAN_FRONTEND=noninteractive
    set -- apt-get install -y -qq --no-install-recommends "$@"
    "$@" >"$dir/log" 2>&1 || { apt-get update -qq && "$@"; } >"$dir/log" 2>&1
}

# The tests of make check to run in the emulator: all programs except those named.
tests_but() {
    printf 'include Makefile\nlist:\n\t@echo $(filter-out %s,$(filter %%.test,$(TESTS)))\n' \
        "$*" | make -s -f - list
}

# check WHAT EMULATOR TESTS: runs the tests, prints one line
failed=0
check() {
    rm -f tests/*.log tests/*.trs
    if make -k -j"$jobs" check TESTS="$3" TEST_LOG_COMPILER="$2" >check.log 2>&1; then
        bad=
    else
        bad=1 failed=1
    fi
    awk -v what="$1" '/^# (PASS|SKIP|FAIL|XPASS|ERROR):/ { n[$2] = $3 }
        END { printf "%s: %d passed, %d skipped, %d failed\n", what, n["PASS:"], n["SKIP:"],
                     n["FAIL:"] + n["XPASS:"] + n["ERROR:"] }' check.log
    test -z "$bad" || grep -hE '^(not ok|Bail out|ERROR)' tests/*.log check.log |
        sed 's/^/    /'
}

(cd "$src" && git ls-files -z | xargs -0 tar cf - --exclude='data/*.gguf') |
    tar xf - -C "$dir"
cp "$src"/data/*.gguf "$dir/data/"
(cd "$dir" && ./autogen.sh) >"$dir/log" 2>&1 || { tail -n 20 "$dir/log"; exit 1; }

for host; do
    case $host in               # qemu's name, Debian's name
        aarch64-*) qemu=aarch64 deb=arm64;;
        riscv64-*) qemu=riscv64 deb=riscv64;;
        arm-*hf)   qemu=arm     deb=armhf;;
        i686-*)    qemu=i386    deb=i386;;
        s390x-*)   qemu=s390x   deb=s390x;;
        *) echo "$host: not known to $0"; exit 1;;
    esac
    emulator="qemu-$qemu -L /usr/$host"
    if ! { have "$host-gcc" && have "qemu-$qemu" && test -e "/usr/$host/lib/libc.so.6"; } &&
            ! install "gcc-$host" "libc6-dev-$deb-cross" qemu-user; then
        echo "$host # SKIP no cross compiler, C library or qemu-user, and cannot install them"
        continue
    fi

    mkdir "$dir/$host"
    cd "$dir/$host"
    # -Werror only after configure, whose checks may have warnings.
    if ! { ../configure --host="$host" CFLAGS=-O2 &&
            make -j"$jobs" CFLAGS='-O2 -Werror' &&
            make -j"$jobs" CFLAGS='-O2 -Werror' check TESTS=; } >build.log 2>&1; then
        tail -n 20 build.log
        echo "$host: does not build"
        failed=1
        continue
    fi
    # The tests start mkmodel, so it needs a wrapper that runs it in the emulator.
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$emulator" "$PWD/tests/mkmodel" \
        >tests/mkmodel.sh
    chmod +x tests/mkmodel.sh
    MKMODEL=$PWD/tests/mkmodel.sh
    export MKMODEL

    kernels="tests/kernels.test tests/kernels-attend.test tests/kernels-state.test"
    case $host in
        aarch64-*)
            check "$host, cortex-a53" "$emulator -cpu cortex-a53" \
                "$(tests_but $never $slow tests/golden.test) tests/baseline.sh"
            check "$host, neoverse-n1" "$emulator -cpu neoverse-n1" "$kernels"
            check "$host, max" "$emulator -cpu max" "$kernels tests/golden.test";;
        *)  check "$host" "$emulator" "$(tests_but $never $slow $slower)";;
    esac
done
exit $failed
