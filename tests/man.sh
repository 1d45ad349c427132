#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# man.sh - the manual is well formed, has exactly the options of the program, and its examples
# work

test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 ||
    { echo "1..0 # SKIP big-endian machine: no model can be read"; exit; }
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
page=$src/man/gemkv.1
methods=$src/man/gemkv-methods.7
library=$src/man/gemkv-library.5
mandoc=${MANDOC:-mandoc}
mkmodel=${MKMODEL:-$build/tests/mkmodel}
PATH=${GEMKV_BINDIR:-$build}:$PATH
LC_ALL=C
export PATH LC_ALL

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM

n=0 failed=0
result() {      # result CODE NAME
    n=$((n + 1))
    test "$1" -eq 0 || { printf 'not '; failed=1; }
    printf 'ok %d - %s\n' $n "$2"
}

# configure says ":" when there is no mandoc
if test "$mandoc" != : && command -v "$mandoc" >/dev/null; then
    "$mandoc" -T lint -W warning "$page" "$methods" "$library" >"$scratch/lint"
    code=$?
    sed 's/^/# /' "$scratch/lint"
    result $code "mandoc -T lint"
else
    n=$((n + 1))
    echo "ok $n - mandoc -T lint # SKIP no mandoc"
fi

# ".It Fl m , Fl Fl model Ar FILE" against "-m, --model FILE"
sed -n 's/^\.It Fl /-/p' "$page" |
    sed 's/^-Fl /--/; s/ , Fl Fl /, --/; s/ Ar / /' | sort -u >"$scratch/page"
gemkv --list-options | sort -u >"$scratch/program"
comm -13 "$scratch/page" "$scratch/program" >"$scratch/missing"
comm -23 "$scratch/page" "$scratch/program" >"$scratch/extra"
sed 's/^/# not in the manual: /' "$scratch/missing"
sed 's/^/# not in the program: /' "$scratch/extra"
test -s "$scratch/program" && test ! -s "$scratch/missing"
result $? "every option is in the manual"
test -s "$scratch/page" && test ! -s "$scratch/extra"
result $? "the manual has no other options"

# "name" and "name:param" of all methods, as the program lists them in its error messages.
gemkv ask --method '' x 2>&1 | sed 's/.*there are://' | tr ' ' '\n' | sed '/^$/d' >"$scratch/names"
while read -r name; do
    grep -q "^\.It Cm $name\$" "$methods" || echo "# not in gemkv-methods: $name"
    grep -q "[ ,]$name\b" "$page" || echo "# not in gemkv: $name"
    gemkv ask --method "$name:=" x 2>&1 | sed -n 's/.*it has://p' | tr ' ' '\n' | sed '/^$/d; /^none$/d' |
        while read -r param; do
            grep -q "^\.Cm $param\b" "$methods" || echo "# not in gemkv-methods: $name:$param"
        done
done <"$scratch/names" >"$scratch/missing"
cat "$scratch/missing"
test -s "$scratch/names" && test ! -s "$scratch/missing"
result $? "every method and parameter is in the manual"

# The tensor types, on one line of the manual, are those of the program.
sed -n 's/^\(f32, .*\);$/\1/p' "$page" | tr -d ' ' | tr , '\n' >"$scratch/page"
"$mkmodel" --list-types >"$scratch/program"
test -s "$scratch/page" && diff "$scratch/page" "$scratch/program" >"$scratch/types"
code=$?
sed 's/^/# /' "$scratch/types"
result $code "every tensor type is in the manual"

# Runs the lines "$ command" of section EXAMPLES, in a folder that has the files that they name.
cd "$scratch" || exit 99
"$mkmodel" tiny.gguf || exit 99
GEMKV_MODEL=$PWD/tiny.gguf
XDG_DATA_HOME=$scratch/data
export GEMKV_MODEL XDG_DATA_HOME
awk 'BEGIN {
    for (i = 1; i <= 12; i++)
        printf "Line %d: the cat and the hat sat on mat number %d.\n", i, i * i * 37 % 101
    print "The pass key is 48213."
}' >book.txt
cp book.txt notes.txt
sed -n '/^\.Sh EXAMPLES/,/^\.Sh SEE/s/^\$ //p' "$page" | sed 's/\\e/\\/g' >examples
# A build without SQLite has no libraries.
if gemkv index --list nothing 2>&1 | grep -q 'built without'; then sed -i '/library/d' examples; fi
while IFS= read -r line; do
    sh -c "$line" </dev/null >out 2>err && test -s out
    code=$?
    test $code -eq 0 || sed 's/^/# /' err
    result $code "$line"
done <examples
test -s examples
result $? "there are examples"
echo "1..$n"
exit $failed
