# SPDX-License-Identifier: BSD-2-Clause
mkdir directory
: >empty
printf 'text \0 text' >nul
printf 'PK\003\004zip' >a.zip
printf 'MM\0*\0' >a.tif
printf 'RIFF\1\2\3\0WAVEfmt ' >a.wav
{ head -c 257 /dev/zero; printf 'ustar\00000'; } >a.tar
for f in missing directory empty nul a.zip a.tif a.wav a.tar tiny.gguf https://example.org/a.pdf; do
    t ask -q -f $f question
done
t ask -q -f text -f empty question
t ask -q question
cp text text:; t ask -q -f text://a.pdf question
t ask -q -f 'https://example.org/*.pdf' question
t tokenize -f directory
test "$(id -u)" = 0 && exit
chmod 0 text
gemkv ask -q -f text question 2>/dev/null
test $? -eq 1 || echo "unreadable file: exit $?"
