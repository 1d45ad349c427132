# SPDX-License-Identifier: BSD-2-Clause
# A $PATH with gemkv and nothing else.
mkdir bin
cat >bin/gemkv <<X
#!/bin/sh
PATH=$PWD/bin; export PATH
exec "\$REAL" "\$@"
X
chmod +x bin/gemkv
REAL=$(command -v gemkv)
case $(head -c 2 "$REAL") in '#!')
    # libtool's wrapper needs tools of its own to start the program
    REAL=$(dirname "$REAL")/.libs/gemkv
    LD_LIBRARY_PATH=$(dirname "$REAL"); export LD_LIBRARY_PATH
esac
export REAL
PATH=$PWD/bin:$PATH
printf '%%PDF-1.7\n' >a.pdf
printf '\320\317\021\340\241\261\032\341W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0' >a.doc
printf '<p>The cat sat on the mat.</p>\n' >a.html
t ask -q -f a.pdf q
t ask -q -f a.doc q
gemkv select $small -f a.html q 2>/dev/null | sed "s,<[^>]*>,,g"    # as it is, or its text
