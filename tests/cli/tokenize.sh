# SPDX-License-Identifier: BSD-2-Clause
t tokenize 'the thing'
t tokenize ''
t tokenize --special '<|im_start|>the'
t tokenize '<|im_start|>'
gemkv tokenize -f text >ids
wc -l <ids | tr -d ' '
gemkv tokenize --decode -f ids | cmp - text && echo "file"
gemkv tokenize <text | gemkv tokenize --decode | cmp - text && echo "pipe"
gemkv tokenize --decode "$(cat ids)" | cmp - text && echo "argument"
gemkv tokenize --decode '[195]' | od -An -tx1 | tr -d ' '
t tokenize --decode ' [ ] '
for bad in '' '1' '[1' '[1,]' '[1 2]' '[-1]' '[1.5]' '["a"]' '[1]]' '[4294967296]'; do
    t tokenize --decode "$bad"
done
echo '[1' | t tokenize --decode
t tokenize --decode '[99999]'
