#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# man-examples.sh - every command that a page of the manual shows is run, and prints what the page shows
#
# A command is a line "$ COMMAND" of a page.  The lines up to the next command or the end of the block are what it
# prints, on either stream: each must be a whole line there, or the beginning of one if it ends in "...".
# The bundled model answers, in a folder with the documents of tests/files/manual; a page has its own folder, and
# its commands run in order.  A comment in the page in front of a command changes this:
#
#   .\" example: skip REASON            it is not run: it needs the network, root, or a person
#   .\" example: needs PROGRAM ...      it is run where these programs are
#   .\" example: fails STATUS           it ends with this exit status
#   .\" example: keys COMMAND           in front of a block of JSON: COMMAND prints every key of it
test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 ||
    { echo "1..0 # SKIP big-endian machine: no model can be read"; exit; }
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
PATH=${GEMKV_BINDIR:-$build}:$PATH
GEMKV_MODEL=$src/data/gemkv-mini-q8_0.gguf
GEMKV_PLUGIN_DIR=/nowhere       # answers of a device may differ in a word
OMP_WAIT_POLICY=passive LC_ALL=C
unset GEMKV_CPU
export PATH GEMKV_MODEL GEMKV_PLUGIN_DIR OMP_WAIT_POLICY LC_ALL

scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
trap 'exit 99' HUP INT TERM
HOME=$scratch/home XDG_DATA_HOME=$scratch/home/data XDG_STATE_HOME=$scratch/home/state
export HOME XDG_DATA_HOME XDG_STATE_HOME
libraries=1
if gemkv index --list nothing 2>&1 | grep -q 'built without'; then libraries=0; fi

n=0 failed=0
result() {      # result CODE NAME
    n=$((n + 1))
    test "$1" -eq 0 || { printf 'not '; failed=1; }
    printf 'ok %d - %s\n' $n "$2"
}

# Writes, for each command of a page, files NUMBER.command, NUMBER.shown and NUMBER.note; names commands without
# a "$" in front, which nobody would run.
extract() {     # extract PAGE FOLDER
    awk -v folder="$2" '
    function plain(line) {
        gsub(/\\&/, "", line); gsub(/\\-/, "-", line); gsub(/\\\(aq/, "\047", line); gsub(/\\e/, "\\", line)
        return line
    }
    function command(text) {
        name = sprintf("%s/%03d", folder, ++count)
        print note > (name ".note")
        printf "" > (name ".shown")
        print text > (name ".command")
        more = text ~ /\\$/
        note = ""
    }
    /^\.\\" example: /             { note = substr($0, 14); next }
    /^\.Dl \$ /                    { command(plain(substr($0, 7))); name = ""; next }
    /^\.Dl gemkv /                 { print "# no $ in front: " $0; next }
    /^\.Bd -literal/ && note ~ /^keys / {
        text = substr(note, 6); note = "keys"; literal = 1; command(text); next
    }
    /^\.Bd -literal/               { literal = 1; next }
    /^\.Ed/                        { literal = 0; name = ""; next }
    !literal                       { next }
    /^\$ /                         { command(plain(substr($0, 3))); next }
    /^gemkv /                      { print "# no $ in front: " $0; next }
    more                           { print plain($0) > (name ".command"); more = plain($0) ~ /\\$/; next }
    name != "" && !/^\./           { print plain($0) > (name ".shown") }
    ' "$1"
}

missing() {     # missing PROGRAM...: prints the first that is not there
    for program; do command -v "$program" >/dev/null || { echo "no $program"; return; }; done
}

# Prints the lines of SHOWN that are not in PRINTED.
unprinted() {   # unprinted SHOWN PRINTED
    awk 'NR == FNR { printed[++lines] = $0; whole[$0] = 1; next }
         $0 == "" || $0 == "..." { next }
         /\.\.\.$/ { begin = substr($0, 1, length($0) - 3)
                     for (i = 1; i <= lines; i++) if (index(printed[i], begin) == 1) next
                     print; next }
         !($0 in whole)' "$2" "$1"
}

run() {         # run PAGE CASE, in the folder of the page
    line=$(cat "$2.command") status=0 why=
    read -r word rest <"$2.note"
    # shellcheck disable=SC2086         # a list of programs
    case $word in
    skip)  why=$rest; test "$why" || { echo "# $1: skipped without a reason"; status=none; };;
    needs) why=$(missing $rest);;
    fails) status=$rest;;
    keys)  ;;
    '')    ;;
    *)     echo "# $1: what does 'example: $word' mean?"; status=none;;
    esac
    case $libraries$line in 0*gemkv\ index*|0*gemkv*\ -L\ *) why='no libraries in this build';; esac
    if test "$why"; then
        n=$((n + 1))
        echo "ok $n - $1: $(head -n 1 "$2.command") # SKIP $why"
        return
    fi
    sh "$2.command" </dev/null >"$2.out" 2>"$2.err"
    code=$?
    cat "$2.out" "$2.err" >"$2.printed"
    if test "$word" = keys; then
        for kind in shown printed; do grep -o '"[a-z0-9_-]*":' "$2.$kind" | sort -u >"$2.$kind-keys"; done
        test -s "$2.shown-keys" || echo "no keys are shown" >"$2.unprinted"
        comm -23 "$2.shown-keys" "$2.printed-keys" >>"$2.unprinted"
    else
        unprinted "$2.shown" "$2.printed" >"$2.unprinted"
    fi
    good=0
    test "$code" = "$status" || { echo "# exit status $code"; good=1; }
    test ! -s "$2.unprinted" || { sed 's/^/# not printed: /' "$2.unprinted"; good=1; }
    if test "$status" = 0 && grep '^gemkv: ' "$2.printed" | grep -v '^gemkv: warning' >"$2.errors"; then
        echo "# an error was printed"
        good=1
    fi
    # A command whose output goes nowhere else prints something.
    case $line in gemkv*\>*) ;; gemkv*) test -s "$2.printed" || { echo "# nothing printed"; good=1; };; esac
    test $good -eq 0 || head -n 20 "$2.printed" | sed 's/^/# printed: /'
    result $good "$1: $(head -n 1 "$2.command")"
}

for page in "$src"/man/*.[1-9]; do
    name=${page##*/}
    folder=$scratch/$name
    mkdir -p "$folder" "$scratch/cases-$name"
    cp "$src"/tests/files/manual/* "$folder"
    chmod -R u+w "$folder"
    ln -s "$GEMKV_MODEL" "$folder/model.gguf"
    extract "$page" "$scratch/cases-$name" >"$scratch/bare"
    cat "$scratch/bare"
    test ! -s "$scratch/bare"
    result $? "$name: commands are marked as such"
    cd "$folder" || exit 99
    for case in "$scratch/cases-$name"/*.command; do
        test ! -f "$case" || run "$name" "${case%.command}"
    done
done
ls "$scratch"/cases-gemkv-tutorial.7/*.command >/dev/null 2>&1
result $? "there are examples"
echo "1..$n"
exit $failed
