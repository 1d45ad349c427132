# SPDX-License-Identifier: BSD-2-Clause
# The commands are shut in when they have their inputs (tests/unit-sandbox.c: what that means).
shut_in
lines() {       # FILTERS COMMAND...: with a question, and waiting for the next one
    filters=$1
    shift
    rm -f out
    gemkv "$@" --questions pipe >out &
    pid=$!
    exec 3>pipe
    echo 'Where is the cat?' >&3
    state '' "$filters" "$@"
}
lines 2 ask -q $small -f text
lines 2 select -q $small -f text
lines 1 ask -q $small -f text --report page.html
grep -c '</html>' page.html
(GEMKV_SANDBOX=off; export GEMKV_SANDBOX; lines 0 ask -q $small -f text)
reads 2 tokenize -f -
reads 2 chat -q $small -f text
reads 1 batch -q $small
reads 2 eval perplexity -q -f -
reads 2 eval qa -q --data /dev/stdin
reads 2 eval niah -q --haystack /dev/stdin --lengths 200 --samples 1
reads 2 pair -q --reader tiny.gguf -f /dev/stdin --lengths 200 --samples 1
reads 2 calibrate -q --haystack /dev/stdin --lengths 200 --samples 1
reads 2 bench -q -f -
