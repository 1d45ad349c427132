# SPDX-License-Identifier: BSD-2-Clause
# Scores are those that another program computes from the answers.
command -v python3 >/dev/null || skip "no python3"
qa_rows 6 >rows
gemkv eval qa $small -t 1 --data rows --method truncate --out first -q --csv >/dev/null
# References made from the model's answers: all of one, parts of one, something else.
python3 - rows first >second-rows <<'P'
import json, sys
said = {r["id"]: r["answer"] for r in map(json.loads, open(sys.argv[2], encoding="utf-8"))}
for i, row in enumerate(map(json.loads, open(sys.argv[1], encoding="utf-8"))):
    a = said[row["id"]]
    row["answers"] = [[a], [a.upper()], [a[:len(a) // 2], "cat"], ["the " + a + "!"], [a[1:] + " hat", ""], ["x"]][i % 6]
    print(json.dumps(row))
P
gemkv eval qa $small -t 1 --data second-rows --method truncate --out second --json >json
for metric in em f1 contains all part rouge-1 rouge-l; do
    python3 "$cases/../../bench/rescore.py" second $metric |
        python3 -c '
import json, sys
line = sys.stdin.read().split()
want = json.load(open("json"))["means"][sys.argv[1]]
same = not line or abs(float(line[2]) - want) < 1e-5       # no line: rouge-score is not there
print(sys.argv[1], "not 0" if want > 0 else "0", "the same" if same else "%s, not %f" % (line, want))' $metric
done
