# SPDX-License-Identifier: BSD-2-Clause
# What a converter may do: it has a time, no descriptor of ours, a folder of its own that goes away.
# (tests/unit-child.c: its files and its network.)
mkdir bin tmp
TMPDIR=$PWD/tmp; export TMPDIR
GEMKV_CONVERTER_SECONDS=1; export GEMKV_CONVERTER_SECONDS
PATH=$PWD/bin:$PATH
echo '%PDF-1.7' >a.pdf
as() { { echo '#!/bin/sh'; echo "$1"; } >bin/pdftotext; chmod +x bin/pdftotext; t select --method full -f a.pdf q 2>&1 | grep -v '^memory'; }
as 'sleep 100'
as 'sleep 100 & echo text'
as 'while :; do :; done'
unset GEMKV_CONVERTER_SECONDS
as 'echo >&2; echo "why not" >&2; exit 4'
as 'kill -SEGV $$'
as 'kill -XCPU $$'
as 'kill -KILL $$'
exec 8>ours
as 'test -e /proc/self/fd/8 && echo open || echo closed'
exec 8>&-
as 'case $PWD:$TMPDIR:$HOME in "$(dirname "$PWD")"/gemkv-*:"$PWD":"$PWD") echo own folder;; esac; mkdir -p a/b; echo x >a/b/c'
(GEMKV_CONVERTER_SECONDS=0; export GEMKV_CONVERTER_SECONDS; as 'ulimit -c; ulimit -t; ulimit -f; ulimit -v; echo $LC_ALL')
for s in 999999 1000000 12x x -5 ''; do (GEMKV_CONVERTER_SECONDS=$s; export GEMKV_CONVERTER_SECONDS; as 'ulimit -t'; ); done | grep '^[0-9]'
(TMPDIR=tmp; as 'echo "written" >a && cat a')
# What it has started ends with it.
printf '#!/bin/sh\nsleep 100 >/dev/null 2>&1 & echo $!\n' >bin/pdftotext
pid=$(gemkv select --method full -q -f a.pdf q); pid=${pid:-self}
for try in 1 2 3 4 5; do
    case $(cut -d ' ' -f 3 "/proc/$pid/stat" 2>/dev/null) in [ZX]|'') echo ended; break ;; esac
    sleep 0.2
done
ls tmp
