# SPDX-License-Identifier: BSD-2-Clause
# The same text gives the same selection, however it comes.
ask() { gemkv select -q $small "$@" "What is the pass key?"; }
ask -f text >want
test -s want && echo "file"
ask <text >got;                                         cmp want got && echo "stdin"
ask -f - <text >got;                                    cmp want got && echo "-f -"
mkfifo fifo; cat text >fifo & ask -f fifo >got;         cmp want got && echo "fifo"
cp text ./-text; ask -f -text >got;                     cmp want got && echo "-text"
