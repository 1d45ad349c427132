# What makes and changes libraries is shut in, too.
libraries
shut_in
reads 1 index -q lib /dev/stdin
mkdir a
(cd a && gemkv index -q -m ../tiny.gguf --grade exact ../b/ ../text && ls .. && gemkv index -q --list ../b | sed 's/.* //')
gemkv index -q --grade exact b text
t index -q --remove b text ../text
