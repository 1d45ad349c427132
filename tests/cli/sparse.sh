# SPDX-License-Identifier: BSD-2-Clause
# Sparse attention: with threshold 1 the choice is that of dense attention; where there is none, it is refused by name.
for i in 1 2 3 4 5 6 7 8; do cat text; done >long
kept() { gemkv select --json -f long $small "$@" "What is the pass key?" | sed 's/.*"kept"/"kept"/'; }
why() { gemkv select --json -f long $small "$@" question | sed 's/.*"schedule_reason": "\([^"]*\)".*/\1/' | mask; }

kept >dense
kept --attention dense | cmp - dense && echo "dense is the default"
kept --attention sparse:threshold=1 | cmp - dense && echo "threshold 1: the same"
kept --attention sparse:threshold=0.02 >sparse
cmp -s sparse dense || echo "threshold 0.02: another choice"
kept --attention sparse:threshold=0.02 --schedule chunk | cmp - sparse && echo "... the same by chunk"
why --attention sparse
for wrong in sparce sparse:treshold=1 sparse:threshold=0 sparse:threshold=1.5 dense:threshold=1; do
    t select -f text $small --attention $wrong question
done
t select -f text $small --attention sparse --schedule stream question
gemkv info -k 96 --memory -c 4096 --attention sparse | sed -n 's/^gemfilter  *\([a-z]*\).*/\1/p'
echo '{"id": 1, "file": "text", "question": "What?", "attention": "sparce"}' >rows
gemkv batch -q --in rows 2>&1 | sed 's/.*"message": "\([^}]*\)"}.*/\1/; s/"run": "[^"]*", "row": "[^"]*"//' | mask
