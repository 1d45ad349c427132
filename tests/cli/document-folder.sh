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
show -r -f e 2>&1 | grep -v '^e/bin[2-7]:'
show -f 'e/*b'
mkdir bad; echo Good. >bad/good; printf '{\\rtf1' >bad/bad.rtf
show -r -f bad
rm bad/good; show -r -f bad
# What breaks off in the middle is not left out: part of it has been read.
echo Good. >bad/good; printf '{\\rtf1 Some text, and then' >bad/bad.rtf
show -r -f bad
