#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# units.sh - systemd understands the units of the server, and shuts it in
srcdir=${srcdir:-.} builddir=${builddir:-.}
command -v systemd-analyze >/dev/null || { echo "1..0 # skipped: no systemd-analyze"; exit 0; }
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

echo "1..3"
sed "s|@bindir@/gemkv|/bin/true|" "$srcdir/data/systemd/gemkv.service.in" >"$scratch/gemkv.service"
cp "$srcdir/data/systemd/gemkv.socket" "$scratch"
systemd-analyze verify --man=no "$scratch/gemkv.service" "$scratch/gemkv.socket" >"$scratch/said" 2>&1
if test $? = 0 -a ! -s "$scratch/said"; then echo "ok 1 - the units are understood"
else sed 's/^/# /' "$scratch/said"; echo "not ok 1 - the units are understood"; fi

exposed=$(systemd-analyze security --offline=true --threshold=10 "$scratch/gemkv.service" 2>/dev/null)
if test $? = 0; then echo "ok 2 - the service is shut in"
else echo "# exposure above 1.0"; echo "$exposed" | grep '^✗' | sed 's/^/# /'; echo "not ok 2 - the service is shut in"; fi

unit=$builddir/data/systemd/gemkv.service
if test ! -f "$unit"; then echo "ok 3 - the program is where it is installed # skip no libmicrohttpd"
elif grep -q '^ExecStart=/[^@]*/gemkv serve' "$unit"; then echo "ok 3 - the program is where it is installed"
else echo "not ok 3 - the program is where it is installed"; fi
