# SPDX-License-Identifier: BSD-2-Clause
# What people see on a terminal: passages before the answer and costs after it, on standard error.
t ask -f text $small "What is the pass key?" 2>err >out
test -s out && echo "answer"
sed 's/“.*”/“...”/; s/[0-9.]\{1,12\} tokens\/s/N tokens\/s/; s/  *[0-9.]*  “/  N  “/' err | mask
echo "-- verbose"
gemkv ask -v -f text $small "What is the pass key?" 2>err >/dev/null
grep -c '^  text, line [0-9]*, score' err >shown
sed -n 's/^kept .* in \([0-9]*\) passages*$/\1/p' err >passages
cmp shown passages && grep '^method' err
echo "-- quiet"
gemkv ask -q -f text $small "What is the pass key?" 2>&1 >/dev/null | wc -l | tr -d ' '
