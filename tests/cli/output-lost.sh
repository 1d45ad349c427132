# SPDX-License-Identifier: BSD-2-Clause
test -c /dev/full || skip "no /dev/full"
for args in "ask -q -f text $small q" "ask --json -f text $small q" "select -q -f text q" \
            "tokenize hello" "info" "info --json" "--help" "ask --help" "--version"; do
    gemkv $args >/dev/full
    echo "[$?] $args"
    gemkv $args >&- 2>/dev/null
    echo "[$?] closed"
done
