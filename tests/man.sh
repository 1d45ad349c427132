#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# man.sh - the manual is well formed, has exactly the options of the program;
# man-examples.sh runs its examples

test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 ||
    { echo "1..0 # SKIP big-endian machine: no model can be read"; exit; }
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
man=$src/man
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
    "$mandoc" -T lint -W warning "$man"/*.[1-9] >"$scratch/lint"
    code=$?
    sed 's/^/# /' "$scratch/lint"
    result $code "mandoc -T lint"
else
    n=$((n + 1))
    echo "ok $n - mandoc -T lint # SKIP no mandoc"
fi

# Debian's man is groff, where names that are macros, such as Li, break a page that mandoc shows well.
if command -v groff >/dev/null && test -z "$(groff -mdoc -Tutf8 /dev/null 2>&1 >/dev/null)"; then
    for page in "$man"/*.[1-9]; do
        groff -mdoc -Tutf8 "$page" 2>&1 >/dev/null | sed "s/^/# /"
    done >"$scratch/lint"
    cat "$scratch/lint"
    test ! -s "$scratch/lint"
    result $? "groff"
else
    n=$((n + 1))
    echo "ok $n - groff # SKIP no groff with mdoc"
fi

# ".It Fl m , Fl Fl model Ar FILE" against "-m, --model FILE"
described() {   # described PAGE
    sed -n 's/^\.It Fl /-/p' "$1" | sed 's/^-Fl /--/; s/ , Fl Fl /, --/; s/ Ar / /' | sort -u
}

# Options that a page names and another one describes: ".Fl Fl NAME" after "These options are as in"
named() {       # named PAGE
    sed -n '/^These options are as in/,/ \.$/s/^\.Fl Fl \([^ ]*\).*/--\1/p' "$1" | sort -u
}

# A command has each of its options on its page, as an item or as a name with the page that describes it.
gemkv --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' >"$scratch/commands"
while read -r command; do
    page=$man/gemkv-$command.1
    test -f "$page" || { echo "# no manual page gemkv-$command.1"; continue; }
    grep -q "^\.It Xr gemkv-$command 1" "$man/gemkv.1" || echo "# not in gemkv.1: gemkv-$command"
    grep -q "man/gemkv-$command\.1" "$man/local.mk" || echo "# not installed: gemkv-$command.1"
    gemkv "$command" --list-options | sort -u >"$scratch/program"
    described "$page" >"$scratch/page"
    named "$page" >"$scratch/named"
    comm -13 "$scratch/page" "$scratch/program" | while read -r line; do
        name=--${line##*--} name=${name%% *} name=${name%%\[*}
        grep -qxe "$name" "$scratch/named" || echo "# not in gemkv-$command.1: $line"
    done
    comm -23 "$scratch/page" "$scratch/program" | sed "s/^/# not an option of gemkv $command: /"
    while read -r name; do
        grep -qe "$name\( \|\[\|\$\)" "$scratch/program" || echo "# not an option of gemkv $command: $name"
    done <"$scratch/named"
done <"$scratch/commands" >"$scratch/wrong"
cat "$scratch/wrong"
test -s "$scratch/commands" && test ! -s "$scratch/wrong"
result $? "each command has a page with its options, and no others"

# What --help says an option is without it, the page says too, if it is a number or one of the argument's words.
defaults() {    # defaults COMMAND: "--keep N|P% 1024"
    gemkv "$1" --help | sed -n '/^Options/,/^$/p' | awk '
        function put() {
            if (match(all, /\(default: [^ ,:)]*/)) {
                value = substr(all, RSTART + 10, RLENGTH - 10)
                if (value ~ /^[0-9.]+$/ || index("|" arg "|", "|" value "|"))
                    print name, (arg == "" ? "-" : arg), value
            }
            all = ""
        }
        /^  (-[a-zA-Z],|   ) --/ {
            put()
            name = arg = substr($0, index($0, "--"))
            sub(/[ [].*/, "", name)
            arg = substr(arg, length(name) + 2)
            sub(/ .*/, "", arg)
        }
        { sub(/^ */, ""); all = all " " $0 }
        END { put() }'
}
item() {        # item PAGE OPTION: its text
    awk -v option="$2" '
        /^\.It Fl / { inside = index($0 " ", "Fl Fl " substr(option, 3) " "); depth = 0; next }
        inside && /^\.Bl / { depth++ }
        inside && /^\.El/ && --depth < 0 { inside = 0 }
        inside' "$man/$1"
}
while read -r command; do
    defaults "$command" | while read -r name arg value; do
        text=$(item "gemkv-$command.1" "$name")
        # What another page describes is looked for there.
        test -z "$text" || echo "$text" | tr -s ' ,;:()|' '\n' | sed 's/\.$//' | grep -qxFe "$value" ||
            echo "# gemkv-$command.1: $name does not say that its default is $value"
        echo "$name" >>"$scratch/checked"
    done
done <"$scratch/commands" >"$scratch/wrong"
cat "$scratch/wrong"
test "$(sort -u "$scratch/checked" | wc -l)" -gt 20 && test ! -s "$scratch/wrong"
result $? "the defaults of options are those of --help"

# What a page says is as on another page is described there.
for page in "$man"/*.1; do
    for other in $(sed -n '/^These options are as in/{n;s/^\.Xr \([^ ]*\) 1.*/\1/p;}' "$page"); do
        described "$man/$other.1" >"$scratch/page"
        sed -n "/^These options are as in/{n;/$other/!b;:a;n;p;/ \.\$/!ba;}" "$page" |
            sed -n 's/^\.Fl Fl \([^ ]*\).*/--\1/p' | while read -r name; do
                grep -qe "$name\( \|\[\|\$\)" "$scratch/page" || echo "# ${page##*/}: $name is not in $other.1"
            done
    done
done >"$scratch/wrong"
cat "$scratch/wrong"
test ! -s "$scratch/wrong"
result $? "options that a page leaves to another are described there"

# Methods and schedules, as --help lists them, with parameters and defaults: "  finch", "    chunk=1024"
part() {        # part PAGE NAME: what the page says about it, up to the next item of the same list
    awk -v item=".It Cm $2" '
        $0 == item         { inside = 1; depth = 0; next }
        !inside            { next }
        /^\.Bl /           { depth++ }
        /^\.El/            { if (--depth < 0) exit }
        /^\.It / && !depth { exit }
                           { print }' "$man/$1"
}
listing() {     # listing HEADING: "NAME" and "NAME PARAM=VALUE" of one list of --help
    gemkv ask --help | sed -n "/^$1/,/^\$/p" |
        awk '/^  [a-z]/ { name = $1; print name } /^    [a-z][a-z_0-9]*=/ { print name, $1 }'
}
undescribed() { # undescribed PAGE HEADING
    listing "$2" | while read -r name param; do
        if test "$param"; then
            part "$1" "$name" | grep -qxF ".It Cm $param" || echo "# not in $1: $name:$param"
        else
            test "$(part "$1" "$name")" || echo "# not in $1: $name"
            grep -q "[ ,]$name\b" "$man/gemkv-ask.1" || echo "# not in gemkv-ask.1: $name"
        fi
    done
}
{ undescribed gemkv-methods.7 Methods; undescribed gemkv-ask.1 Schedules; } >"$scratch/missing"
cat "$scratch/missing"
test "$(listing Methods)" && test "$(listing Schedules)" && test ! -s "$scratch/missing"
result $? "every method, schedule and parameter is in the manual, with its default"

# The tensor types, on one line of the manual, are those of the program.
sed -n 's/^\(f32, .*\);$/\1/p' "$man/gemkv-models.7" | tr -d ' ' | tr , '\n' >"$scratch/page"
"$mkmodel" --list-types >"$scratch/program"
test -s "$scratch/page" && diff "$scratch/page" "$scratch/program" >"$scratch/types"
code=$?
sed 's/^/# /' "$scratch/types"
result $code "every tensor type is in the manual"

# Names that gemkv-models lists as items, and those that the program has.
listed() {      # listed SECTION: the items of a section of gemkv-models
    sed -n "/^\.Sh $1/,/^\.Sh /s/^\.It Cm //p" "$man/gemkv-models.7" | sort
}
same() {        # same NAME: $scratch/page and $scratch/program have the same lines
    test -s "$scratch/program" && diff "$scratch/page" "$scratch/program" >"$scratch/differences"
    code=$?
    sed 's/^/# /' "$scratch/differences"
    result $code "$1"
}
listed ARCHITECTURES >"$scratch/page"
sed -n 's/^    \.name = "\(.*\)",$/\1/p' "$src"/src/model/arch-*.c | sort >"$scratch/program"
same "every architecture is in the manual"
listed "CHAT TEMPLATES" >"$scratch/page"
gemkv ask --help | sed -n '/^Templates/,$s/^  \([a-z].*\)/\1/p' | sed 's/ .*//' | sort >"$scratch/program"
same "every chat template is in the manual"
sed -n '/^\.Sh VOCAB/,/^\.Sh F/s/^\.Cm \([^ ]*\).*/\1/p' "$man/gemkv-models.7" | sort >"$scratch/page"
sed -n 's/^    { "\([^"]*\)", *\(true\|false\), *\(true\|false\), *word_.*/\1/p' "$src/src/token/pre.c" | sort >"$scratch/program"
same "every pre-tokenizer is in the manual"

echo "1..$n"
exit $failed
