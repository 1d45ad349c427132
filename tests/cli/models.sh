# SPDX-License-Identifier: BSD-2-Clause
# The models of the usual places, each once, with whether they work.
unset GEMKV_MODEL HF_HOME HF_HUB_CACHE OLLAMA_MODELS LLAMA_CACHE XDG_CACHE_HOME XDG_DATA_HOME
HOME=$PWD/home
export HOME
show() {        # the bundled model's place depends on the build, and this machine may have models of Ollama
    sed "s|$PWD|.|g" | awk '/^[^ ]/ { name = $0; next } !/^    gemkv, / { print name; print }'
}
mkdir empty
(cd empty && gemkv models 2>err | show; cat err)

hub=home/.cache/huggingface/hub/models--user--repo
mkdir -p $hub/blobs $hub/snapshots/abc/deeper home/.lmstudio/models/a/b home/.cache/llama.cpp home/.cache/lm-studio/models \
    home/.local/share/nomic.ai/GPT4All
cp tiny.gguf $hub/blobs/0123
ln -s ../../blobs/0123 $hub/snapshots/abc/Tiny-Q8_0.GGUF
cp tiny.gguf $hub/snapshots/abc/deeper/other.gguf
ln -s ../../blobs/gone $hub/snapshots/abc/gone.gguf
ln -s ../.. $hub/snapshots/abc/loop             # a loop of folders
cp tiny.gguf home/.lmstudio/models/a/b/tiny.gguf
ln -s "$PWD/home/.lmstudio/models/a/b/tiny.gguf" home/.cache/llama.cpp/again.gguf      # the same file
head -c 20000 tiny.gguf >home/.cache/lm-studio/models/cut.gguf
head -c 1048200 /dev/zero >home/.cache/lm-studio/models/zeros.gguf
"$mkmodel" --break=version-99 home/.local/share/nomic.ai/GPT4All/future.gguf
mkfifo home/.cache/llama.cpp/fifo.gguf
mkdir home/.cache/llama.cpp/folder.gguf home/.cache/llama.cpp/closed
chmod 0 home/.cache/llama.cpp/closed
cp tiny.gguf "$(printf 'home/.cache/llama.cpp/a\033b.gguf')"
ones=$(printf '%064d' 1) twos=$(printf '%064d' 2)
manifests=home/.ollama/models/manifests/registry.ollama.ai
mkdir -p $manifests/library/small $manifests/somebody/small home/.ollama/models/blobs
echo '{"layers": [{"mediaType": "application/vnd.ollama.image.model", "digest": "sha256:'$ones'"}]}' \
    >$manifests/library/small/latest
sed "s/$ones/$twos/" $manifests/library/small/latest >$manifests/somebody/small/q4
cp tiny.gguf home/.ollama/models/blobs/sha256-$ones
cp tiny.gguf home/.ollama/models/blobs/sha256-$twos
gemkv models | show
chmod 700 home/.cache/llama.cpp/closed

# The environment's folders come before those of the home folder, unless they are relative; names are in order.
mkdir -p moved/hub moved/cache moved/xdg/llama.cpp moved/xdg/huggingface/hub moved/hf
for name in k a z b; do cp tiny.gguf moved/hub/$name.gguf; done
cp tiny.gguf moved/xdg/huggingface/hub/d.gguf
cp tiny.gguf moved/hf/e.gguf
cp tiny.gguf moved/cache/b.gguf
cp tiny.gguf moved/xdg/llama.cpp/c.gguf
cd empty
cp ../tiny.gguf mine.gguf
mkdir -p sub/nomic.ai/GPT4All
cp ../tiny.gguf sub/not-mine.gguf
cp ../tiny.gguf sub/nomic.ai/GPT4All/relative.gguf
HOME=/nowhere XDG_DATA_HOME=sub HF_HUB_CACHE=$PWD/../moved/hf HF_HOME=$PWD/../moved LLAMA_CACHE=$PWD/../moved/cache XDG_CACHE_HOME=$PWD/../moved/xdg \
    GEMKV_MODEL=../tiny.gguf gemkv models --json | sed 's/}, {/}\n{/g' |
    sed -n 's|.*"model": "\([^"]*\)".*"place": "\([^"]*\)".*"architecture": "\([a-z0-9]*\)".*"works": \([a-z]*\).*|\2: \1 \3 \4|p' |
    sed "s|$PWD|.|" | grep -v '^gemkv'
t models tiny
