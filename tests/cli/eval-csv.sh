# SPDX-License-Identifier: BSD-2-Clause
# Names of rows are quoted in cells, whatever they contain, and are never formulas.
row() {
    printf '{"id": "%s", "task": "%s", "context": "The cat is in the hat.", "question": "q", "answers": "hat"}\n' "$@"
}
{
    row '=1+1' '@SUM(A1)'
    row '-1' '+1'
    row '=a,\"b\"' ''
    row '\tx' '\rx'
    row '1=1' 'a-b'
} >rows
gemkv eval qa $small -t 1 --data rows --method truncate --csv -q | cut -d, -f1-5 | tr '\t\r' TR
