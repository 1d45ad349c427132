# SPDX-License-Identifier: BSD-2-Clause
# File names are data: they may hold anything, and the terminal must not obey them.
name=$(printf 'a\033[31m\nb')
cp text "$name"
t ask -q -f "$name.missing" q | od -An -c | head -n 1
gemkv ask -f "$name" $small q 2>&1 >/dev/null | grep -c "$(printf '\033')"
cp text "./--json"
gemkv select -q -f --json $small q | head -n 1 | grep -c .
