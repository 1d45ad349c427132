# SPDX-License-Identifier: BSD-2-Clause
# A layer of the model guesses.
$mkmodel --arch=qwen35 --nextn=1 next.gguf
for draft in 0 4 mtp; do
    gemkv ask -q --draft $draft -m next.gguf -k 100 -n 40 -f text 'Which number?' >$draft.answer || exit 1
done
cmp 0.answer 4.answer && cmp 0.answer mtp.answer && echo "the same"
gemkv ask --json --draft mtp -m next.gguf -k 100 -n 40 -f text 'Which number?' | grep -o '"draft": {.*}, "memory"' | sed 's/[0-9][0-9]*/N/g'
gemkv ask --json -m next.gguf -k 100 -n 40 -f text 'Which number?' | grep -c '"mtp"'
$mkmodel --arch=glm4 --nextn=1 glm.gguf
for draft in 0 mtp; do
    gemkv info --memory -c 5000 --draft $draft --json -m glm.gguf >$draft.info || exit 1
    grep -o '"method": "full", [^}]*"bytes": [0-9]*' $draft.info | sed 's/.*: //'
done | paste - - | awk '{ print ($2 > $1 + 600000 && $2 < $1 + 3000000 ? "memory of one layer more" : $0) }'
grep -c snapkv mtp.info
echo "-- what there is"
gemkv info -m next.gguf | grep mtp
gemkv info --json -m next.gguf | grep -o '"mtp.*"heads"'
gemkv info --json | grep -o '"mtp.*"heads"'
$mkmodel --arch=gemma2 --nextn=1 other.gguf
gemkv info -m other.gguf | grep mtp
echo "-- chat"
printf 'Which number?\nWhich cat?\n' | gemkv chat -q --draft mtp -m next.gguf -k 100 -n 8 -f text >mtp.chat || exit 1
printf 'Which number?\nWhich cat?\n' | gemkv chat -q --draft 0 -m next.gguf -k 100 -n 8 -f text | cmp - mtp.chat && echo "the same"
echo "-- what cannot be"
gemkv ask --draft mtp -f text x; echo "status $?"
gemkv ask --draft mtp -m other.gguf -f text x; echo "status $?"
gemkv ask --draft mtp -m next.gguf --device cuda -f text x; echo "status $?"
gemkv ask --draft mtp -m glm.gguf --method snapkv -f text x; echo "status $?"
gemkv info --memory --draft mtp; echo "status $?"
$mkmodel --arch=qwen35 --nextn=1 --without=blk.0.attn_norm.weight alone.gguf
gemkv info -m alone.gguf; echo "status $?"
