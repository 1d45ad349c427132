#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# faults.sh - every command while the system refuses what it asks for: memory, then room, whole writes and syncs, files
# and threads; with little memory and few descriptors; and while signals come.  It must end by itself, with an exit
# status of the manual and one line about why; or do what it does without the fault.  It leaves no file behind, and
# what was in a file before is still there.
#
#     tests/faults.sh [COMMAND...]        in the build tree; only these
#     FAULTS=all tests/faults.sh          at each point: an hour; FAULTS=N: at N of each kind (1; of memory 4)
src=$(cd "${srcdir:-.}" && pwd) || exit 99
build=$(cd "${builddir:-.}" && pwd) || exit 99
skip() { echo "1..0 # SKIP $*"; exit; }
test "$(printf '\1\0' | od -An -td2 | tr -d ' ')" = 1 || skip "big-endian machine: no model can be read"
case "$CFLAGS $CC" in *-fsanitize*|*-static*) skip "not with $CFLAGS";; esac
test -z "$EMULATOR$MKMODEL" || skip "under an emulator"
gemkv=$build/.libs/gemkv
test -x "$gemkv" || gemkv=$build/gemkv
test -x "$gemkv" || skip "an installed program is tested"
alloc=$build/tests/.libs/fault-alloc.so
call=$build/tests/fault-call
test ! -x "$build/tests/.libs/fault-call" || call=$build/tests/.libs/fault-call

top=$(mktemp -d) || exit 99
server=
trap 'test -z "$server" || kill $server; rm -rf "$top"' EXIT
trap 'exit 99' HUP INT TERM
LD_LIBRARY_PATH=$build/.libs${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
LC_ALL=C GEMKV_CPU=ref GEMKV_PLUGIN_DIR=/nowhere GEMKV_MODEL=$top/tiny.gguf
HOME=$top/home XDG_DATA_HOME=$top/data TMPDIR=$top/tmp FAULT_COUNT=$top/count SOURCE_DATE_EPOCH=1700000000
export LD_LIBRARY_PATH LC_ALL GEMKV_CPU GEMKV_PLUGIN_DIR GEMKV_MODEL HOME XDG_DATA_HOME TMPDIR FAULT_COUNT
export SOURCE_DATE_EPOCH
unset GEMKV_API_KEY HF_HOME HF_HUB_CACHE OLLAMA_MODELS LLAMA_CACHE XDG_CACHE_HOME
mkdir "$top/tmp" "$top/data" "$top/files" "$top/home"
"$build/tests/mkmodel" "$top/tiny.gguf" || exit 99
cd "$top/files" || exit 99
awk 'BEGIN { for (i = 1; i <= 12; i++) print "Line " i ": the cat and the hat sat on mat " i * i * 37 % 101 "."
             print "The pass key is 48213 and the g\303\251nie is in the bottle." }' >text
seq 1 60 | sed 's/.*/The cat & sat on mat number & and looked at the hat./' >hay
echo '[{"id": "key", "needle": "The pass key is 48213.", "question": "The pass key?", "answers": ["48213"]}]' >needles
awk '{ gsub(/["\\]/, ""); s = s $0 "\\n" } END { for (i = 1; i <= 2; i++) print \
    "{\"id\": \"" i "\", \"context\": \"" s "\", \"question\": \"Where " i "?\", \"answers\": [\"mat\"]}" }' text >rows
printf '{"id": "%s", "file": "text", "question": "%s"}\n' a Where? b Who? >asked
printf '<html><body><h1>Cats</h1><p>The cat sat on the mat. The pass key is 48213.</p></body></html>\n' >page.html
gzip -nc text >text.gz
printf 'Where?\nWho?\n' >turns
small='-q -t 1 -k 96 -n 3'

# ---- the commands: "$@" makes calls fail -----------------------------------------------------
# shellcheck disable=SC2086
{
tokenize()  { "$@" "$gemkv" tokenize -f text; }
info()      { "$@" "$gemkv" info --json; }
select()    { "$@" "$gemkv" select $small -f text "Where is the cat?"; }
ask()       { "$@" "$gemkv" ask $small -f text "Where is the cat?"; }
threads()   { "$@" "$gemkv" ask -q -t 3 -k 96 -n 3 -f text "Where is the cat?"; }
json()      { "$@" "$gemkv" select --json $small -f text "Where is the cat?"; }
html()      { "$@" "$gemkv" select $small -f page.html "Where is the cat?"; }
packed()    { "$@" "$gemkv" select $small -f text.gz "Where is the cat?"; }
stream()    { "$@" "$gemkv" ask $small --schedule stream -f text "Where is the cat?"; }
grammar()   { "$@" "$gemkv" ask $small --grammar 'root ::= [a-z]+' -f text "Where?"; }
report()    { "$@" "$gemkv" ask $small -f text "Where is the cat?" --report new.html; }
force()     { "$@" "$gemkv" ask $small -f text "Where is the cat?" --report old.html --force; }
evaluate()  { "$@" "$gemkv" eval qa -t 1 -k 96 -n 3 --data rows --out answers --csv; }
plot()      { "$@" "$gemkv" eval qa -t 1 -k 96 -n 3 --data rows --plot new.svg; }
index()     { "$@" "$gemkv" index -q -t 1 --grade exact lib text hay; }
library()   { "$@" "$gemkv" ask $small -L lib "Where is the cat?"; }
chat()      { "$@" "$gemkv" chat $small -f text <turns; }
calibrate() { "$@" "$gemkv" calibrate -t 1 --haystack hay --needles needles --lengths 200 --samples 1; }
bench()     { "$@" "$gemkv" bench -q -t 1 -p 8 -n 2 -r 1; }
methods()   { "$@" "$gemkv" bench -q -t 1 -f text -k 96 -n 2 -r 1 --methods truncate,snapkv; }
pair()      { "$@" "$gemkv" pair -q -t 1 -f hay -n 2 --needles needles --depths 0 --reader "$GEMKV_MODEL" \
                  --lengths 200 --samples 1 --layers 0 -k 60% --out answers; }
batch()     { "$@" "$gemkv" batch $small --in asked --out answers; }
models()    { "$@" "$gemkv" models; }
serve()     { served - "$@" "$gemkv" serve $small; }
keeping()   { served keep "$@" "$gemkv" serve $small --folder lasting; }
}

# A server, and who asks and ends it: by SIGTERM, which is its end without a fault.  ends: another signal does that, and
# a second one would make it leave its folder.
served() {
    keeps=$1
    shift
    : >"$top/answers"
    GEMKV_CPU='' "$@" --grade exact --host "$top/socket" &
    "$python" "$src/tests/faults-client.py" "$top/socket" $! hay "$top/answers" "$keeps" ${ends:+"$ends"} >&2
    wait $!
    served=$?
    test $served -eq 143 && test -s "$top/answers" && return 0
    return $served
}
# Each request was answered as without the fault, or was not; of one fault, not more than one was not, and of short
# writes none.
answered() {
    grep -v -e ': refused$' -e ': lost$' "$top/answers" | grep -vxF -f "$top/$1.answers" && return 1
    not=$(grep -c -e ': refused$' -e ': lost$' "$top/answers")
    case $what in *short) test "$not" -eq 0; return;; esac
    test "$code$more" != 0 || test "$not" -le 1
}

# What each finds, what is the same in each run (out: what it prints; nothing: times are in it), and what it makes.
all='tokenize info select ask threads json html packed stream grammar report force evaluate plot index library chat
     calibrate bench methods pair batch models serve keeping'
same() { case $1 in info|bench|methods|json|evaluate|plot|pair|force|report|models) false;; esac; }
made() {
    case $1 in
    report) echo new.html;; plot) echo new.svg;; index) echo lib;; evaluate|pair|batch) echo answers;;
    keeping) echo lasting;;
    esac
}
prepare() {
    rm -rf answers new.html new.svg old.html lib lasting "$XDG_DATA_HOME"
    mkdir "$XDG_DATA_HOME"
    case $1 in
    force) echo "a year of work" >old.html;;
    evaluate|batch|pair) test ! -s "$top/$1.begun" || cp "$top/$1.begun" answers;;
    index|library) test ! -d "$top/lib" || cp -R "$top/lib" lib;;
    keeping) test ! -d "$top/lasting" || cp -R "$top/lasting" lasting;;
    esac
}

# Whether what was there before is there still, and what is new is whole; code: the exit status of the run.
kept() {
    case $1 in
    report) test ! -e new.html || tail -n 1 new.html | grep -q '</html>';;
    plot) test ! -e new.svg || tail -n 1 new.svg | grep -q '</svg>';;
    force) test "$code" -ne 0 && test "$(cat old.html)" = "a year of work" || tail -n 1 old.html | grep -q '</html>';;
    evaluate|batch|pair)
        head -n 1 answers | cmp -s - "$top/$1.begun" || return
        $1 env >/dev/null 2>&1 || test "$1.$?" = batch.6 || return        # a row that failed stays so
        test "$(wc -l <answers)" -eq "$(wc -l <"$top/$1.answers")";;
    index) "$gemkv" index -q --verify lib >/dev/null && "$gemkv" index --list -q lib | grep -q 'text$' || return
        index env && test "$("$gemkv" index --list -q lib | wc -l)" -eq 2 && test "$(ls lib/segments | wc -l)" -eq 2;;
    serve) answered serve;;
    keeping)
        answered keeping || return
        keeping env >/dev/null 2>&1 && grep -q '^kept: ' "$top/answers" && ! grep -e lost -e refused "$top/answers" &&
            ! ls lasting | grep -v -e '^file-[0-9a-f]*$' -e '^file-[0-9a-f]*.json$' -e '^index-[0-9a-f]*$' -e .lock;;
    calibrate) for f in "$XDG_DATA_HOME"/gemkv/*; do test ! -e "$f" || grep -q '}$' "$f" || return; done;;
    esac
}

# ---- one run -------------------------------------------------------------------------------
folder() { (set +f; set -- * .[!.]* "$TMPDIR"/*; echo "$*"); }
# What is wrong with the run that ended with $code, or nothing.
wrong() {
    if test "$code" -gt 6 && test "$code" = "$dies"; then
        now=$(folder)
        test "$now" = "$before" || test "$now" = "$after" || echo "leaves: $now"
        kept "$1" 2>/dev/null || echo "what was there is not"
        return
    elif test "$code" -gt 6; then
        case $code in
        124) echo "hangs"; return;;
        127) grep -q 'error while loading shared libraries' "$top/err" && return;;
        esac
        echo "exit status $code"
        return
    fi
    grep -v -e '^gemkv: ' -e '^stored in ' -e '^Terminated' "$top/err" | grep -q . &&
        echo "prints: $(grep -v -e '^gemkv: ' -e '^stored in ' -e '^Terminated' "$top/err" | head -n 1)"
    n=$(grep -c '^gemkv: ' "$top/err") warnings=$(grep -c '^gemkv: warning: ' "$top/err")
    if test "$code" -eq 0; then
        test "$n" -eq "$warnings" || echo "exit status 0 and: $(head -n 1 "$top/err")"
        ! same "$1" || cmp -s "$top/out" "$top/$1.out" || echo "exit status 0, another result"
    else
        case $1:$((n - warnings)) in
        *:1|index:[123]|chat:2|batch:[0123]) ;; # one for each document or question; rows say it in their lines
        pair:0|methods:0) ;;                    # what cannot be asked is a warning, which -q hides
        plot:0|evaluate:0|calibrate:0) test "$warnings" -gt 0 || echo "exit status $code, no message";;
        *) echo "exit status $code, $((n - warnings)) messages";;
        esac
    fi
    # What the program itself asks for, and does not get, ends it at once.
    if test "$code" -ne 0 && test -s "$FAULT_COUNT" && ! grep -q '^gemkv: out of memory' "$top/err"; then
        read -r n left <"$FAULT_COUNT"
        test "${left:-0}" -le "${blocks:-0}" || echo "does not free $((left - blocks)) blocks"
    fi
    now=$(folder)
    test "$now" = "$before" || test "$now" = "$after" || echo "leaves: $now"
    kept "$1" 2>/dev/null || echo "what was there is not"
}

run() {         # NAME COMMAND...: sets $code
    name=$1
    shift
    "$name" "$@" >"$top/out" 2>"$top/err" </dev/null
    code=$?
}

n=0 failed=0 runs=0 kinds=0 dies= ends=
# each NAME WHAT COMMAND...: the fault at some of its points.  COMMAND has FAULT where the point is.
each() {
    name=$1 what=$2 bad=0
    shift 2
    prepare "$name"
    before=$(folder)
    fault 0 "$@"
    test "$code" -eq 0 || { echo "Bail out! $name $what: exit status $code, no fault: $(cat "$top/err")"; exit 1; }
    after=$(folder)
    read -r total blocks <"$FAULT_COUNT"
    test "$total" -gt 0 || return 0
    first=0
    test "$1" = alloc || eval "first=\$first_$1"        # those before it are the loader's
    test "$total" -gt "$first" || first=0
    case $FAULTS:$1 in
    all:*) step=1;;
    :alloc) step=$(((total - first + 3) / 4));;
    *) step=$(((total - first + ${FAULTS:-1} - 1) / ${FAULTS:-1}));;
    esac
    at=$((first + (step + 1) / 2))
    while test $at -le "$total"; do
        kinds=$((kinds + 1))
        for more in '' +; do
            test -n "$FAULTS" || test "$more" = "$(test $((kinds % 2)) = 0 || echo +)" || continue
            prepare "$name"
            fault "$at$more" "$@"
            said=$(wrong "$name")
            runs=$((runs + 1))
            test -z "$said" || { bad=$((bad + 1)); echo "# $name, $what $at$more of $total: $said"; }
        done
        at=$((at + step))
    done
    n=$((n + 1))
    test $bad -eq 0 || { printf 'not '; failed=1; }
    echo "ok $n - $name: $what, $total points"
}

fault() {       # POINT alloc, or POINT GROUP HOW
    rm -f "$FAULT_COUNT"
    if test "$2" = alloc; then
        run "$name" timeout 60 env FAULT_ALLOC="$1" LD_PRELOAD="$alloc"
    else
        run "$name" timeout 60 "$call" "$2" "$1" "$3"
    fi
}

# limits NAME LETTER VALUE...: ulimit's.
limits() {
    name=$1 letter=$2 bad=0
    shift 2
    prepare "$name"
    before=$(folder) what= more=+
    run "$name" env
    after=$(folder)
    for value; do
        prepare "$name"
        run "$name" timeout 60 sh -c 'trap "" XFSZ; ulimit -$0 $1 && shift && exec "$@"' "$letter" "$value"
        said=$(wrong "$name")
        runs=$((runs + 1))
        test -z "$said" || { bad=$((bad + 1)); echo "# $name, ulimit -$letter $value: $said"; }
    done
    n=$((n + 1))
    test $bad -eq 0 || { printf 'not '; failed=1; }
    echo "ok $n - $name: ulimit -$letter $*"
}

# signals NAME MILLISECONDS SIGNAL...: at a moment in that time, from a seed.
signals() {
    name=$1 took=$2 bad=0
    shift 2
    prepare "$name"
    before=$(folder) what= more=+
    run "$name" env
    after=$(folder)
    for signal; do
        prepare "$name"
        kinds=$((kinds + 1))
        moment=$(awk "BEGIN { srand($kinds); printf \"%.3f\", rand() * $took / 1000 }")
        case $signal in HUP) dies=129;; INT) dies=130;; PIPE) dies=141;; TERM) dies=143;; *) dies=;; esac
        case $signal in HUP|INT|TERM) ends=ends;; esac
        run "$name" timeout 60 sh -c 'signal=$0 moment=$1; shift; exec 3<&0; "$@" <&3 3<&- & sleep $moment
            case $signal in STOP) kill -STOP $!; sleep 0.05; kill -CONT $!;; *) kill -$signal $!;; esac 2>/dev/null
            wait $!' "$signal" "$moment" env --default-signal
        ends=
        said=$(wrong "$name")
        dies=
        runs=$((runs + 1))
        test -z "$said" || { bad=$((bad + 1)); echo "# $name, $signal after $moment s: $said"; }
    done
    n=$((n + 1))
    test $bad -eq 0 || { printf 'not '; failed=1; }
    echo "ok $n - $name: signals $*"
}

test $# -gt 0 || set -- $all
"$gemkv" index -q -t 1 --grade exact lib text 2>/dev/null && mv lib "$top/lib" || all=
test -n "$all" || { echo "# built without SQLite: no libraries"; set -- $(echo "$*" | sed 's/index//; s/library//'); }
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null &&
    ! "$gemkv" serve x 2>&1 | grep -q 'this build has no' ||
    { echo "# no Python 3.8 or no libmicrohttpd: no server"; set -- $(echo "$*" | sed 's/serve//; s/keeping//'); }
# What each prints and makes without a fault.
for name; do
    prepare "$name"
    run "$name" env
    test $code -eq 0 || { echo "Bail out! $name: exit status $code: $(cat "$top/err")"; exit 1; }
    mv "$top/out" "$top/$name.out"
    case $name in
    evaluate|batch|pair) cp answers "$top/$name.answers"; head -n 1 answers >"$top/$name.begun";;
    serve) cp "$top/answers" "$top/serve.answers";;
    keeping)                            # from now on, there is a file to begin with
        cp -R lasting "$top/lasting"
        run keeping env
        cp "$top/answers" "$top/keeping.answers";;
    esac
done
calls=
"$call" write 0 EIO true 2>/dev/null && calls=1
allocs=
rm -f "$FAULT_COUNT"
env FAULT_ALLOC=0 LD_PRELOAD="$alloc" ls >/dev/null 2>&1 && grep -q '^[1-9]' "$FAULT_COUNT" && allocs=1
test -n "$calls$allocs" || skip "no \$LD_PRELOAD, and a kernel that does not ask"
test -n "$calls" || echo "# this kernel does not ask about system calls"
test -n "$allocs" || echo "# no \$LD_PRELOAD: allocations do not fail"
for group in write sync size name open read close thread; do
    read -r "first_$group" <<N
$(test -z "$calls" || { "$call" $group 0 EIO "$gemkv" --version >/dev/null; cat "$FAULT_COUNT"; })
N
done
first_write=0
for name; do
    echo "# $name"
    test -z "$allocs" || each "$name" "allocations" alloc
    test -n "$calls" || continue
    for how in ENOSPC EIO EINTR short; do each "$name" "writes: $how" write $how; done
    each "$name" "syncs" sync EIO
    each "$name" "sizes" size ENOSPC
    each "$name" "names" name EIO
    each "$name" "opening" open EMFILE
    each "$name" "reading" read EIO
    each "$name" "closing" close EIO
    each "$name" "threads" thread EAGAIN
done
case $FAULTS in all) times=25;; *) times=${FAULTS:-1};; esac
for name; do
    echo "# $name"
    limits "$name" v $((80000 + 10000 * (kinds % 20)))
    limits "$name" n $((4 + kinds % 9))
    limits "$name" f 1
    env --default-signal true 2>/dev/null || continue
    # Of other signals than those three, a converter's folder stays behind.
    case $name in html|packed) others=STOP;; *) others='PIPE STOP';; esac
    case $FAULTS:$((kinds % 3)) in
    :0) some='HUP STOP';;
    :1) some='TERM';;
    :2) some="INT $others";;
    *) some="HUP INT TERM $others";;
    esac
    # shellcheck disable=SC2086
    for i in $(seq "$times"); do signals "$name" 60 $some; done
done
echo "1..$n"
echo "# $runs runs"
exit $failed
