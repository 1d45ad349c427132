# SPDX-License-Identifier: BSD-2-Clause
for o in keep=0 keep=-1 keep=5x keep=0% keep=101% keep=5%% layer=-1 keep-last=all \
         chunk=1 chunk=1e3 memory=0 memory=lots memory=1.5 memory=5X memory=1Gx \
         memory=99999999999T context=0 max-tokens=0 max-tokens=0x10 temperature=hot \
         temperature=nan top-p=2 min-p=-0.5 seed=99999999999999999999 seed= threads=0 \
         schedule=fast schedule=stream:budget=1 schedule=layer:x=1 device=gpu kv-type=q4_0; do
    t ask -f text --$o question
done
t eval niah -n 0
t info --memory -c 10,
t info --memory -c 0
# an empty variable is none
(unset GEMKV_MODEL; gemkv tokenize -f text) >unset 2>&1
GEMKV_MODEL= gemkv tokenize -f text 2>&1 | cmp - unset && echo "no model"
