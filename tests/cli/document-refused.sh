# SPDX-License-Identifier: BSD-2-Clause
mkdir directory
: >empty
printf 'text \0 text' >nul
printf 'text \377 text' >latin
printf 'PK\003\004zip' >a.zip
printf '\3757zXZ\0\0\0\0' >a.xz
for f in missing directory empty nul latin a.zip a.xz tiny.gguf; do
    t ask -q -f $f question
done
t ask -q -f text -f empty question
t ask -q question
test "$(id -u)" = 0 && exit
chmod 0 text
gemkv ask -q -f text question 2>/dev/null
test $? -eq 1 || echo "unreadable file: exit $?"
