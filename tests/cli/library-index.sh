# SPDX-License-Identifier: BSD-2-Clause
# A library has what was put into it: what is unchanged is left alone, what changed is replaced, what cannot be
# read is reported while the others go on.
libraries
printf 'The zebra is in the bottle.\fThe second page has a kestrel.\n' >two
printf 'a\0b' >nul
touch -d 2020-01-01 text two
i() { gemkv index "$@" 2>err; echo "[$?] $*"; sed "s|$PWD/|DIR/|" err | mask >&2; }
i --grade exact lib text two nul missing
gemkv index --list lib | sed 's/[0-9.]* [KM]*i*B /SIZE /; s/20[0-9-]*/DATE/'
i lib text two                          # neither read nor computed
touch -d 2020-01-02 two
i lib two                               # read, as it may have changed, but not computed
i lib two                               # and now it is known not to have
printf 'The zebra has gone.\n' >two
i lib text two
i --again lib text
i --json lib text | sed 's/: [0-9][0-9]*/: N/g; s/"[0-9a-f]\{16\}"/HASH/'
printf 'From a pipe: the owl.\n' | gemkv index -q --grade exact lib - && echo "standard input"
gemkv index --list -q lib | awk '{ print $NF }'
i --remove lib two nothing
ls lib/segments | wc -l
rm text
mkdir text                              # something else is there, so it is not gone
i --prune lib
rmdir text
i --prune lib
gemkv index --list -q lib | awk '{ print $NF }'
i --verify lib
i --grade q5 lib text
i lib
i --list lib text
i --list --prune lib
i --remove lib
i
i --grade exact book.txt                # the library is forgotten: it would be the file
cp "$cases/common" file; i --grade exact file two
ls
