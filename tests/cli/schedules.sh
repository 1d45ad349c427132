# SPDX-License-Identifier: BSD-2-Clause
# Exact schedules select the same, from a file too; auto goes from memory to a file to stream.
not_sanitized "its own memory is another in each run; golden.test runs all schedules"
for i in 1 2 3 4 5 6 7 8; do cat text; done >long
kept() { gemkv select --json -f long $small "$@" "What is the pass key?" | sed 's/.*"kept"/"kept"/'; }
why() { sed 's/.*"schedule_reason": "\([^"]*\)".*/\1/' "$1" | sed "s|$TMPDIR|TMPDIR|" | mask; }
field() { sed "s/.*\"$1\": \([0-9]*\).*/\1/" "$2"; }
TMPDIR=$PWD
export TMPDIR

kept --schedule layer >layer
kept --schedule chunk >chunk
kept --schedule layer --kv-type f16 >layer16
kept --schedule chunk --kv-type f16 >chunk16
cmp layer chunk && cmp layer16 chunk16 && echo "layer and chunk: the same"

all() { gemkv select --json -f long $small --chunk 64 "$@" "What is the pass key?"; }
all >one && why one
all --schedule stream:budget=64,recent=16 >stream && why stream
# a limit below what the hidden states need in memory
less=$(($(field predicted one) - 300000))
all --schedule layer --memory $less >two && why two
all | sed 's/.*"kept"/"kept"/' >kept-one
sed 's/.*"kept"/"kept"/' two | cmp - kept-one && echo "from a file: the same"
ls | grep -c gemkv-
TMPDIR=/nonexistent t select -f long $small --chunk 64 --schedule layer --memory $less question 2>&1 | mask
# a named schedule is not replaced by another
gemkv select -f long $small --chunk 64 --schedule chunk --memory 2M question 2>&1 | mask
