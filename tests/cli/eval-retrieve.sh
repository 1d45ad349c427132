# SPDX-License-Identifier: BSD-2-Clause
# Passages that another program scores: the best that fit are asked; what it prints is not trusted.
qa="eval qa $small -t 1 -k 130"
awk 'BEGIN { for (i = 0; i < 6; i++) { s = ""; for (j = 0; j < 40; j++) s = s "w" i (j % 10) " "; t = t s }
    printf "{\"id\": \"a\", \"context\": \"%s\", \"question\": \"Which, \\\"x\\\"?\", \"answers\": [\"w30\"]}\n", t }' >rows
cat >words <<'T2'
#!/bin/sh
# As many points as the passage has words that begin with w3 or w1.
tee -a seen | awk 'NR > 1 { print gsub(/w3/, "") * 1e3 + gsub(/w1/, "") }'
T2
chmod +x words
show() { sed 's/.*"prompt": \([0-9]*\), "kept": \([0-9]*\).*/\1 tokens, \2 kept/' "$1"; }
gemkv $qa --data rows --method "retrieve:passage=20,cmd=./words" --out out -q --csv >/dev/null && show out
sed 1q seen
sed 's/"text": ".*/"text": .../' seen | tail -2
echo "$(grep -c passage seen) lines, $(sed -n 2p seen | grep -o w0 | wc -l | tr -d ' ') words"
gemkv $qa --data rows --method full --out whole -q --csv >/dev/null && show whole
# Other numbers in the same order.
gemkv $qa --data rows --method 'retrieve:passage=20,cmd=awk "NR > 1 { print NR == 8 || NR == 9 ? 9 : NR == 4 || NR == 5 ? 2 : -1 }"' --out other -q --csv >/dev/null
said() { sed 's/.*"answer": "\(.*\)", "answers".*/\1/' "$1"; }
said out >one; said other | cmp -s - one && echo "the same answer"
gemkv eval qa $small -t 1 -k 60% --data rows --method "retrieve:passage=20,cmd=./words" --out percent -q --csv >/dev/null && show percent
for command in 'exit 3' 'true' 'cat' 'yes 1' 'awk "NR > 1 { print \"nan\" }"' 'awk "NR > 1 { print \"1e999\" }"' 'awk "NR > 1 { print \"1 2\" }"' \
    'awk "NR > 2 { print 1 }"' 'awk "{ print 1 }"' 'printf "1\\0"' '/nowhere/program 2>/dev/null' 'kill -9 $$'; do
    t $qa --data rows --method "retrieve:cmd=$command" --csv 2>&1 | cut -d, -f1-4
done
t $qa --data rows --method retrieve
t $qa --data rows --method retrieve:passage=0,cmd=x
t $qa --data rows --method retrieve:passage=20x,cmd=x
t eval qa $small -t 1 -k 20 --data rows --method "retrieve:cmd=awk 'NR > 1 { print 1 }'" --csv
t $qa --data rows --grade q8 --method "retrieve:cmd=cat" --csv
t ask $small -f text --method retrieve:cmd=cat q
