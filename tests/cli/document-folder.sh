# SPDX-License-Identifier: BSD-2-Clause
# -r reads the files below a folder, in order of their names, without those that are hidden, ignored or have no text.
show() { t select --method full "$@" q 2>&1 | grep -v -e '^memory' -e '^kept'; }
mkdir -p d/sub/deep d/build d/.git d/keep
echo 'Alpha.' >d/a.txt; echo 'Zeta.' >d/z.md; echo 'Sub.' >d/sub/b.txt; echo 'Deep.' >d/sub/deep/c; echo 'Hidden.' >d/.git/config
echo 'Built.' >d/build/x; echo 'Log.' >d/sub/x.log; echo 'Kept.' >d/sub/keep.log; echo 'Backup.' >d/a.txt~
echo 'Only here.' >d/sub/only; echo 'There.' >d/only; : >d/empty; printf 'a\0b\1c' >d/data.bin; printf '\211PNG\r\n' >d/p.png
printf '# rules\nbuild/\n*.log\n!keep.log\n/only\n\n' >d/.gitignore
echo deep >d/sub/.gemkvignore
ln -s .. d/sub/loop; ln -s ../a.txt d/sub/link; mkfifo d/fifo
show -r -f d/
show -f d
show -r -f d/build
mkdir none; show -r -f none
show -f 'd/*.txt' -f 'd/[z]*'
show -f 'd/*.nothing'
echo 'Odd.' >'d/odd[1]*'; show -f 'd/odd[1]*'
# More rules; ten files without text are named, and all are counted.
mkdir -p e/x/y/gen/a e/tmp e/x/y/tmp e/CVS e/ab
for f in x/y/gen/a/no tmp/no x/y/tmp/no CVS/no ab/yes x/no.o x/y/yes.o a.b; do echo "$f." >e/$f; done
printf '**/gen/**\n**/tmp\nx/*.o\n' >e/.gitignore; : >e/empty
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf 'a\0b\1c' >e/bin$i; done
show -r -f e 2>&1 | grep -v '^e/bin[2-6]:'
show -f 'e/*b'
# Short rules; names of two folders; links that lead nowhere; text in UTF-16, behind much white space and in an archive.
mkdir -p f/p/q f/q/r g/a g/b
for f in f/p/q/no f/q/r/no f/q/yes f/p/yes f/no f/n; do echo "$f." >$f; done
printf '/\n**/p/q\n**/r/**\nno\n/n\n' >f/.gitignore
ln -s nowhere f/link; printf 'W\0i\0d\0e\0.\0\n\0' >f/wide
{ head -c 70000 /dev/zero | tr '\0' ' '; echo 'Late.'; } >f/late
{ printf 'PK\003\004'; head -c 70000 /dev/zero; } >f/zip; printf '\211PNG\r\n' >f/p.png; printf 'GIF89a' >f/g.gif; printf '\0\1' >f/nul
show -r -f f | tr -s ' '
echo 'A.' >g/a/a; echo 'B.' >g/b/b
show -r -f 'g/*'
show -f 'g/[a]'
mkdir bin pictures; cp f/p.png pictures
printf '#!/bin/sh\necho Seen.\n' >bin/tesseract; chmod +x bin/tesseract
(PATH=$PWD/bin:$PATH; show --ocr -r -f pictures)
# Not deeper than 64 folders.
at=deep n=0; while test $n -lt 66; do at=$at/d n=$((n + 1)); done
mkdir -p $at; echo 'Too deep.' >$at/no; echo 'Not too deep.' >${at%/d/d}/yes
show -r -f deep | sed 's|deep/.*/||'
mkdir bad; echo Good. >bad/good; printf '{\\rtf1' >bad/bad.rtf
show -r -f bad
rm bad/good; show -r -f bad
# What breaks off in the middle is not left out: part of it has been read.
echo Good. >bad/good; printf '{\\rtf1 Some text, and then' >bad/bad.rtf
show -r -f bad
test "$(id -u)" = 0 && exit
mkdir closed shut; echo Shut. >shut/no; echo Open. >shut/yes; chmod 0 shut/no closed
gemkv select --method full -r -f shut q >got 2>err
test $? = 0 && grep -q '^Open.$' got && grep -q '^shut/no: skipped: ' err || cat got err
gemkv select --method full -r -f closed q 2>err
test $? = 1 && grep -q '^gemkv: closed: cannot read: ' err || cat err
