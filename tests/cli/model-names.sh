# SPDX-License-Identifier: BSD-2-Clause
# What other programs take as a model: said where it is to be had, or found.
unset GEMKV_MODEL HF_HOME OLLAMA_MODELS
HOME=$PWD/home
export HOME
mkdir home
for m in hf:user/repo hf://user/repo:Q8_0 hf.co/user/repo/sub/a.gguf hf.co/user/repo/blob/a.gguf 'hf.co/user/repo/blob/a.gguf?download=true' 'https://huggingface.co/user/repo/blob/v2/a.gguf?download=true' \
         hf: "https://example.org/x y/it's.gguf" https://example.org/ llama3.2:3b llama3.2 missing.gguf ./x:y text/under; do
    t ask -q -f text -m "$m" q
done
t ask -hf user/repo:Q6_K
t info -hf
t chat --hf-repo=user/repo -f text
# $GEMKV_MODEL too.
GEMKV_MODEL=hf:user/repo t ask -q -f text q

# Ollama's models have names in its manifests, and are files.
ollama() {      # FOLDER BELOW DIGEST
    mkdir -p "$1/manifests/${2%/*}" "$1/blobs"
    printf '{"layers": [{"mediaType": "application/vnd.ollama.image.license", "digest": "sha256:%s"},
        {"mediaType": "application/vnd.ollama.image.model", "digest": "%s"}]}' "$zeros" "$3" >"$1/manifests/$2"
}
zeros=$(printf '%064d' 0)
ones=$(printf '%064d' 1)
ollama home/.ollama/models registry.ollama.ai/library/llama3.2/3b sha256:$ones
ollama home/.ollama/models registry.ollama.ai/library/tiny/latest sha256:$ones
ollama home/.ollama/models registry.ollama.ai/somebody/tiny/q4 sha256:$ones
ollama home/.ollama/models hf.co/user/repo/Q4_K_M sha256:$ones
ollama home/.ollama/models example.org:5000/user/tiny/latest sha256:$ones
ollama home/.ollama/models registry.ollama.ai/library/evil/latest "sha256:../../../../tiny.gguf"
ollama home/.ollama/models registry.ollama.ai/library/gone/latest sha256:$(printf '%064d' 2)
echo '{"layers": 3' >home/.ollama/models/manifests/registry.ollama.ai/library/tiny/broken
cp tiny.gguf home/.ollama/models/blobs/sha256-$ones
for m in llama3.2:3b tiny somebody/tiny:q4 hf.co/user/repo:Q4_K_M example.org:5000/user/tiny; do
    gemkv info "$m" | head -n 1 | sed "s|$PWD|.|"
done
ollama elsewhere registry.ollama.ai/library/moved/latest sha256:$ones
cp tiny.gguf elsewhere/blobs/sha256-$ones
OLLAMA_MODELS=$PWD/elsewhere gemkv info moved | head -n 1 | sed "s|$PWD|.|"
for m in tiny:3b evil gone tiny:broken ../tiny .:x somebody/../tiny; do
    t info "$m"
done

# Files that are no GGUF: what they are, and how to get one.
printf '\020\0\0\0\0\0\0\0{"a": {"x": 1}} ' >model.safetensors
mkdir 'a model'
echo '{}' >'a model/config.json'
printf 'PK\003\004zip archive/data.pkl' >'a model/pytorch_model.bin'
printf 'PK\003\004zip word/document.xml' >report.docx
printf '\200\002}q' >old.pth
printf '\010\007' >net.onnx
printf 'tjggxxxx' >ggml.bin
printf 'version https://git-lfs.github.com/spec/v1\n' >pointer.gguf
printf '<!DOCTYPE html>' >page.gguf
printf '%%PDF-1.4' >doc.gguf
for m in model.safetensors 'a model' 'a model/pytorch_model.bin' old.pth net.onnx ggml.bin pointer.gguf page.gguf doc.gguf report.docx; do
    t info "$m"
done
