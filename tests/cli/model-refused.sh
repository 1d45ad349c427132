# SPDX-License-Identifier: BSD-2-Clause
mkdir directory
head -c 5000 tiny.gguf >cut.gguf
mkfifo fifo.gguf
"$mkmodel" --break=version-99 future.gguf
"$mkmodel" --break=no-tensor hole.gguf
for m in missing.gguf directory text cut.gguf future.gguf hole.gguf fifo.gguf; do
    # the library's tests check what exactly is wrong
    gemkv ask -q -m $m -f text q 2>err
    echo "[$?] $m: $(grep -c '^gemkv: .' err) line"
    gemkv info $m 2>/dev/null
    echo "[$?] info"
done
