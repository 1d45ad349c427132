# SPDX-License-Identifier: BSD-2-Clause
# Rows from a file: damaged ones are left out, answers are kept and not asked for again.
qa="eval qa $small -t 1"
qa_rows 4 >rows
t $qa --data rows --csv | csv_columns
{
    sed -n 1p rows
    echo '{"id": "x", '
    echo
    echo '{"question": "a", "answers": ["x"]}'
    echo '{"context": "a\u0000b", "question": "a", "answers": ["x"]}'
    echo '{"id": "empty", "context": "", "question": "a", "answers": ["x"]}'
    echo '[1]'
    sed -n 1,2p rows
    echo '{"context": "The cat is in the hat.", "question": "q", "answers": "hat", "task": "a,\"b\"", "depth": 3}'
} >broken
t $qa --data broken --csv | csv_columns

# what a killed run leaves: whole lines, and perhaps the beginning of one
gemkv $qa --data rows --methods full,gemfilter:pool=max,kernel=7,truncate --out all -q --csv >table
sed 5q all >part
printf '{"id": "q2", "meth' >>part
gemkv $qa --data rows --methods full,gemfilter:pool=max,kernel=7,truncate --out part --csv >again
# the same, except for seconds and bytes
columns() { sed 's/max,/max;/' "$1" | cut -d, -f1-18 | sort; }
columns table >a
columns again | cmp - a && echo "the same scores"
answers() { sed 's/, "tokens".*//' "$1" | sort; }
answers all >a
answers part | cmp - a && echo "the same answers"
wc -l <part | tr -d ' '
# another order of rows and fewer methods: nothing is asked
tail -n 2 rows >two
cp part before
t $qa --data two --methods truncate --out part --csv | csv_columns
cmp part before && echo "nothing asked"

t $qa --data rows -k 97 --out part --method truncate
t $qa --data rows --out rows
t $qa --data rows --out nowhere/out
sed 's/cat 1?/cat one?/' rows >changed
t $qa --data changed --out part --method truncate
t $qa --data nowhere
: >nothing
t $qa --data nothing
t eval qa
t $qa --data rows --methods full,bogus 2>err
cut -d';' -f1 err
t $qa --data rows --methods full,full
t $qa --data rows --metric bleu
t $qa --data rows --json --csv
t $qa --data rows extra
t $qa --data rows -c 100 2>err
cut -c1-60 err | sed 's/[0-9][0-9]*/N/g' | sort -u
