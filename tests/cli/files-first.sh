# SPDX-License-Identifier: BSD-2-Clause
# gemkv FILE... QUESTION is gemkv ask with -f for each file, and -m for a model.
gemkv ask -q $small -f text -f text 'Who sat?' >want
gemkv text text 'Who sat?' -q $small | cmp - want && echo same
cp tiny.gguf other.gguf
GEMKV_MODEL=nothing gemkv other.gguf text text 'Who sat?' -q $small | cmp - want && echo same
gemkv -q $small -f text -f text 'Who sat?' | cmp - want && echo same      # options first
# A command comes before a file of its name, and a file before a word that is nearly a command.
cp text info
gemkv info | head -n 1
cp text aks
gemkv aks text 'Who sat?' -q $small | cmp - want && echo same
t text
t tiny.gguf
t tiny.gguf 'Who sat?'
t . 'Who sat?'
t nothing.pdf 'Who sat?'
t ask -f text ''
t ask -f text ' 	 '
t
