#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# rooms.sh - folders of src/ include downwards only: headers of their own and of folders before them in this
# list; the program includes the public header and its own headers.
rooms='base quant gguf token template model engine first select answer'
src=${srcdir:-.}
set -f                  # patterns are for headers, not for files in this folder

# Lines "FILE HEADER": the headers of the tree that files of a folder include.
includes() {
    find "$src/$1" -name '*.[ch]' | sort | while read -r file; do
        sed -n 's/^ *# *include *"\([^"]*\)".*/\1/p' "$file" | sed "s|^|$file |"
    done
}

# strangers FOLDER PATTERN...: includes that match none of the patterns.
strangers() {
    folder=$1
    shift
    includes "$folder" | while read -r file header; do
        for pattern; do
            # shellcheck disable=SC2254
            case $header in config.h|$pattern) continue 2;; esac
        done
        echo "# $file includes $header"
    done
}

n=0
check() {       # DESCRIPTION FOLDER PATTERN...
    what=$1
    shift
    n=$((n + 1))
    found=$(strangers "$@")
    if test -z "$found"; then echo "ok $n - $what"; else echo "not ok $n - $what"; echo "$found"; fi
}

allowed=gemkv.h
for room in $rooms; do
    allowed="$allowed src/$room/*"
    case $room in engine) allowed="$allowed simd/simd.h";; answer) allowed="$allowed gpu/plugin.h";; esac
    # shellcheck disable=SC2086
    check "src/$room includes downwards only" "src/$room" $allowed
done

# Headers included by headers count too: code that computes with tensors must not see text.
reached() {     # PATTERN FOLDER...
    pattern=$1
    shift
    { includes src; includes simd; } | sed "s|^$src/||" | awk -v folders="$*" -v pattern="$pattern" '
        { from[NR] = $1; to[NR] = $2 }
        END {
            n = split(folders, folder, " ")
            for (i = 1; i <= NR; i++)
                for (k = 1; k <= n; k++)
                    if (index(from[i], "src/" folder[k] "/") == 1) by[to[i]] = from[i]
            do {
                grown = 0
                for (i = 1; i <= NR; i++)
                    if (from[i] in by && !(to[i] in by)) { by[to[i]] = from[i]; grown = 1 }
            } while (grown)
            for (h in by) if (h ~ pattern) print "# " by[h] " brings " h
        }'
}
n=$((n + 1))
found=$(reached '^src/(token|template)/' engine first select)
test -z "$found" || printf 'not '
echo "ok $n - src/engine, src/first, src/select see neither tokenizer nor templates"
test -z "$found" || echo "$found"

# Documents on disk: on top of a document's own interface, and below the program only.
check "src/library includes documents and what they are made of" src/library gemkv.h 'src/base/*' src/document.h \
    'src/library/*'
n=$((n + 1))
found=$({ includes src; includes simd; includes gpu; } | grep ' src/library/' | grep -v "^$src/src/library/")
test -z "$found" || printf 'not '
echo "ok $n - nothing below src/library includes it"
test -z "$found" || echo "$found" | sed 's/^/# /'

check "simd includes itself and block layouts" simd 'simd/*' 'src/quant/*' gemkv.h
check "the program includes the public header and its own, and its plugin's" src/cli gemkv.h group/plugin.h 'src/cli/*'

echo "1..$n"
