# SPDX-License-Identifier: BSD-2-Clause
# The shells' completions, made from the rows of options.
t --completion
t --completion tcsh
for shell in bash zsh fish; do          # a shell that is there reads the script
    gemkv --completion $shell >$shell.script
    command -v $shell >/dev/null || continue
    $shell -n $shell.script || echo "$shell does not read it"
done
# Every option of every command is in each.
gemkv --list-options | sed -n 's/.*--\([a-z-]*\).*/\1/p' | sort -u | while read -r o; do
    grep -q -e "--$o[ ')|]" bash.script || echo "bash: no $o"
    grep -q -e "--$o=*\[" zsh.script || echo "zsh: no $o"
    grep -q -e "-l $o " fish.script || echo "fish: no $o"
done
if command -v fish >/dev/null; then
    HOME=$PWD fish -c 'source fish.script; complete -C "gemkv sel"; complete -C "gemkv ask --kv-type q"
        complete -C "gemkv eval niah --dep"' >fish.out 2>fish.err
    cut -f 1 fish.out | tr '\n' ' ' | grep -q '^select q8_0 --depths $' || { echo "fish:"; cat fish.out fish.err; }
fi
command -v bash >/dev/null || skip "no bash"

mkdir 'a folder'
cat >complete.bash <<'EOF'
. ./bash.script
try() {         # WORDS...: what may stand for the last
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _gemkv gemkv "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
    printf '%s:' "${*:2}"
    printf ' <%s>' "${COMPREPLY[@]}"
    echo
}
echo "bash:"
try gemkv se
try gemkv te
try gemkv ask --sch
try gemkv ask --schedule st
try gemkv ask --method gemf
try gemkv ask --kv-type q
try gemkv ask --json --ke
try gemkv ask --keep 1
try gemkv ask -k ''
try gemkv ask --device c
try gemkv ask -m ti
try gemkv ask -L a
try gemkv ask te
try gemkv eval n
try gemkv eval niah --de
try gemkv eval --
try gemkv models --
EOF
bash complete.bash
