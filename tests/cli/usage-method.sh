# SPDX-License-Identifier: BSD-2-Clause
for m in nope full:pool=max gemfilter:nope=1 gemfilter:pool gemfilter: truncate:x=1; do
    t ask -f text --method $m question
done 2>&1
for m in full truncate gemfilter gemfilter:pool=max gemfilter:pool=none,kernel=7; do
    gemkv ask -q -f text $small --method $m question >out && test -s out && echo "ok $m"
done
