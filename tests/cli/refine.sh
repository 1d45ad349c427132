# SPDX-License-Identifier: BSD-2-Clause
# A method reads its best passages again, under any schedule.
for i in 1 2 3; do cat text; done >long
kept() { gemkv select --json $small -t 1 -f long -k 60 "$@" "What is the pass key?" | sed 's/.*"kept": //; s/, "stats".*//; s/, "tokens".*//'; }
same() {        # NAME: what, of two files
    if cmp -s one two; then echo "$1: the same"; else echo "$1: others"; fi
}
kept --schedule stream >one
kept --schedule stream --method gemfilter:refine=2 >two; same "stream: refine=2 is its own"
kept --schedule stream:refine=0 --method gemfilter:refine=2 >two; same "stream:refine=0, and refine=2"
kept --schedule stream:refine=0 >two; same "stream:refine=0"
kept --schedule stream:refine=5 >one
kept --schedule stream --method gemfilter:refine=5 >two; same "refine=5"
kept --schedule layer --kv-type f32 >one
kept --schedule stream --kv-type f32 --method gemfilter:refine=64 >two; same "stream, refine=64 is all of the text: layer"
kept --schedule layer >one
kept --schedule layer --method gemfilter:refine=64 >two; same "layer, refine=64"
kept --schedule layer --method gemfilter:refine=2 >two; same "layer, refine=2"
kept --schedule chunk --method gemfilter:refine=2 >one; same "refine=2, layer and chunk"
asl=asl-2pass:lmin=1,lobs=2,tau=1,window=8
kept --method $asl >one
kept --method $asl,refine=64 >two; same "asl-2pass, refine=64"
kept --method $asl,refine=2 >two; same "asl-2pass, refine=2"
wc -c <one | tr -d ' ' | sed 's/^[1-9][0-9]*$/something is kept/'
