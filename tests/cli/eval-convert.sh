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
python3 "$bench/from-longbench.py" hotpotqa.jsonl >rows
python3 "$bench/from-infinitebench.py" longbook_choice_eng.jsonl >>rows
python3 "$bench/from-squad.py" --words 100 squad.json >>rows
python3 "$bench/from-leval.py" coursera.jsonl >>rows
cut -c1-1000 rows
t eval qa $small -t 1 --data rows --csv | csv_columns
