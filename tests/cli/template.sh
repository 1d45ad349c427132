# SPDX-License-Identifier: BSD-2-Clause
# the model's own template is used; if it cannot be run, a warning names the one used instead
edit() { sed "$1" tiny.gguf >edited.gguf; }
ask() { gemkv ask -f text $small -m edited.gguf "$@" 'Which key?' 2>&1 >/dev/null | grep template; }
template() { gemkv info edited.gguf | sed -n 's/^template  *//p'; }
edit 's/{% for message in /{% fro message in /'
ask
ask -v | tail -n 1 | sed "s/.*, //"
ask --template plain
template
gemkv info --json edited.gguf | grep -o '"template.*_problem": "[^"]*"'
# and its family is unknown
edit 's/{% for message in /{% fro message in /; s/im_start/im_strat/g'
ask
template
# differs from its family, but can be run
edit 's/im_start/im_strat/g'
ask
template
gemkv ask -f text $small -m edited.gguf 'Which key?' >one 2>/dev/null
gemkv ask -f text $small 'Which key?' >two 2>/dev/null
cmp -s one two && echo same
# a system prompt
gemkv ask -q -f text $small 'Which key?' --system 'Be brief.' >two && test -s two && echo 'answers'
t ask -q -f text --system x --raw q
t ask -q -f text --system x --template plain q
edit "s/message\['role'\]/messages[9].xyz/"
t ask -q -f text -m edited.gguf --system x q
# a thought that the template begins is ended at once
prompt() { gemkv ask --json -q -f text $small -m edited.gguf 'Which key?' | sed -n 's/.*"prompt": \([0-9]*\).*/\1/p'; }
edit 's/<|im_start|>assistant\\n/<|im_start|>asst<think>/' && begun=$(prompt)
edit 's/<|im_start|>assistant\\n/<|im_start|>asst<thonk>/' && other=$(prompt)
test "$begun" -gt "$other" && echo "$((begun - other)) tokens more"
