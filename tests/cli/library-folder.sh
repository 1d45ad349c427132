# SPDX-License-Identifier: BSD-2-Clause
# A folder is indexed file by file, under names that stay: what has not changed is not read again.
libraries
mkdir -p d/sub
cp text d/a; head -n 3 text >d/sub/b; printf 'a\0b' >d/bin
touch -d '1 hour ago' d/a d/sub/b
index() { gemkv index --grade exact -r lib "$@" 2>&1 | grep -e skipped -e '^indexed'; }
names() { gemkv index --list lib 2>/dev/null | awk 'NR > 1 { print $NF }'; }
index d; names
index d/
echo new >d/c; touch -d '1 hour ago' d/c
index d; names
t index lib d 2>&1 | head -n 1
