# SPDX-License-Identifier: BSD-2-Clause
# Models whose layers have a state, or heads of two sizes: an exact index gives what the file gives, and all grades are asked.
libraries
question="What is the pass key?"
printf 'The zebra is in the bottle.\nThe second page has a kestrel.\n' >two
# The bytes of the text that are kept, one a line.
bytes() {
    sed 's/.*"kept": \[//; s/"passages": .*//' $1 | tr '{' '\n' | sed -n 's/.*"start": \([0-9]*\), "end": \([0-9]*\),.*/\1 \2/p' |
        while read -r from to; do seq $((from + 1)) $to; done | sort -u
}
for model in "qwen35 --layers=8 --state-dim=32" "granitehybrid --layers=8" "lfm2 --layers=8" "gemma4 --layers=12 --window=64 --head-dim=64"; do
    set -- $model
    "$mkmodel" --arch="$@" --head-dim=64 model.gguf || exit 99
    for grade in exact compact; do
        rm -rf lib
        gemkv index -q -m model.gguf --chunk 64 --grade $grade lib text two 2>/dev/null || echo "not indexed"
        gemkv select --json -m model.gguf --chunk 64 -k 96 -L lib --among text "$question" 2>/dev/null |
            sed 's/.*"kept": //; s/"page": 1, //g' >$grade
        gemkv ask -q -m model.gguf --chunk 64 -k 96 -n 4 -L lib "$question" >answer || echo "no answer"
        gemkv index --verify lib -m model.gguf >/dev/null 2>&1 || echo "damaged"
    done
    gemkv select --json -m model.gguf --chunk 64 -k 96 -f text --kv-type f16 "$question" >fresh
    sed 's/.*"kept": //' fresh >want
    cmp want exact && echo "$1: the same passages with the same scores"
    # So short a text is whole in a compact index, whose keys and values are rounded more.
    gemkv select --json -m model.gguf --chunk 64 -k 96 -L lib --among text --schedule index:refine=0 "$question" 2>/dev/null >one
    bytes one >compact
    bytes fresh >exact
    awk -v name="$1" 'NR == FNR { kept[$1]; next } { n++; same += $1 in kept }
        END { print name ": compact keeps " (same > 0.85 * n ? "nearly the same" : same " of " n) }' compact exact
done
