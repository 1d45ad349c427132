# SPDX-License-Identifier: BSD-2-Clause
# The converters of bench/ turn files of other data sets into rows for gemkv eval qa.
command -v python3 >/dev/null || skip "no python3"
bench=$cases/../../bench
PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
cat >hotpotqa.jsonl <<'J'
{"input": "Who sat?", "context": "The cat sat.", "answers": ["the cat"], "length": 3, "dataset": "hotpotqa", "_id": "a1"}
{"input": "", "context": "A report.", "answers": ["short"], "dataset": "gov_report", "_id": "a2"}
J
cat >longbook_choice_eng.jsonl <<'J'
{"id": 0, "context": "The hat hung.", "input": "What hung?", "answer": ["hat"], "options": ["cat", "hat"]}
{"id": 1, "context": "", "input": "What?", "answer": "x", "options": []}
J
cat >squad.json <<'J'
{"data": [{"title": "On_cats", "paragraphs": [{"context": "The cat sat.", "qas": [
 {"id": "s1", "question": " Who sat?", "answers": [{"text": "cat", "answer_start": 4}, {"text": "cat", "answer_start": 4}]},
 {"id": "s2", "question": "Who stood?", "answers": [], "is_impossible": true}]}]},
 {"title": "On_hats", "paragraphs": [{"context": "The hat hung.", "qas": []}]}]}
J
cat >coursera.jsonl <<'J'
{"instructions": ["Who sat?", "Where?"], "outputs": ["the cat", "on the mat"], "input": "The cat sat on the mat.", "source": "x", "evaluation": "exam"}
J
cat >trec.jsonl <<'J'
{"input": "Question: How far?\nType:", "context": "Question: Who?\nType: Human", "answers": ["Distance"], "all_classes": ["Distance", "Human"], "dataset": "trec", "_id": "a3"}
J
cat >prompts.json <<'J'
{"trec": "Name the type.\n{context}\n{input}"}
J
cat >second.json <<'J'
[{"_id": "b1", "domain": "Short", "question": "Who sat?", "choice_A": "cat", "choice_B": "hat", "choice_C": "mat", "choice_D": "rat", "answer": "A", "context": "The cat sat."}]
J
cat >math_find.jsonl <<'J'
{"id": 4, "context": "[3, 9, 1]", "input": "You should answer with The largest number of the list", "answer": 9}
J
cat >prompt.py <<'J'
claude2_templates = {"math_find": "{prefix}\n{context}\n{input}"}
J
mkdir niah_single_1
cat >niah_single_1/validation.jsonl <<'J'
{"index": 0, "input": "Some numbers.\nOne is 7 for x.\nWhat is the special magic number for x mentioned? The special magic number for x is", "outputs": ["7"], "length": 20}
{"index": 1, "input": "no question", "outputs": ["7"], "length": 20}
J
cat >nq_gold_at_1.jsonl <<'J'
{"question": "who sat", "answers": ["the cat"], "ctxs": [{"title": "Hats", "text": "The hat hung."}, {"title": "Cats", "text": "The cat sat.", "isgold": true}, {"title": "Mats", "text": "It lay."}]}
J
echo '{"ordered_kv_records": [["a", "b"], ["c", "d"]], "key": "c", "value": "d"}' >keys.jsonl
python3 "$bench/from-longbench.py" hotpotqa.jsonl >rows
python3 "$bench/from-longbench.py" --prompts prompts.json trec.jsonl >>rows
python3 "$bench/from-longbench.py" second.json >>rows
python3 "$bench/from-infinitebench.py" --prompts prompt.py --for claude2 math_find.jsonl >>rows
python3 "$bench/from-ruler.py" niah_single_1/validation.jsonl >>rows
python3 "$bench/from-lost.py" nq_gold_at_1.jsonl keys.jsonl >>rows
python3 "$bench/from-squad.py" --all --words 100 squad.json | sed 's/"id": "/&all-/' >>rows
python3 "$bench/from-infinitebench.py" longbook_choice_eng.jsonl >>rows
python3 "$bench/from-squad.py" --words 100 squad.json >>rows
python3 "$bench/from-leval.py" coursera.jsonl >>rows
cut -c1-1000 rows
t eval qa $small -t 1 --data rows --csv | csv_columns
# Answers go back to the sets' scripts.
gemkv eval qa $small -t 1 --data rows --method truncate --out out -q --csv >/dev/null
for set in longbench longbench2 infinitebench leval ruler lost squad; do
    case $set in
    longbench) which=trec ;; longbench2) which=Short ;; infinitebench) which=math_find ;; leval) which=coursera ;;
    ruler) which=niah_single ;; lost) which=nq ;; squad) which='NoAns\|HasAns' ;;
    esac
    grep "\"task\": \"\($which\)" out >some
    python3 "$bench/to-official.py" $set some official/$set
    find official/$set -type f | sort
    find official/$set -type f -exec cat {} + | sed 's/\("[a-z_]*pred[a-z]*": "\|"model_answer": "\|"all-s[12]": "\)[^"]*"/\1..."/g'
    echo
done
