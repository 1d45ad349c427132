# SPDX-License-Identifier: BSD-2-Clause
# What is compressed is read, also twice, in pieces and in a pipe; what is damaged is refused.
gemkv select -q -f text $small q >want
head -c 100 text >a; tail -c +101 text >b
for z in gzip zstd xz bzip2; do
    command -v $z >/dev/null || { echo "$z: whole, in a pipe, two parts, cut, junk after it"; continue; }
    $z -c <text >text.$z; gemkv select -q -f text.$z $small q >got; cmp want got || echo "$z: whole"
    gemkv select -q $small q <text.$z >got; cmp want got || echo "$z: in a pipe"
    { $z -c <a; $z -c <b; } >two; gemkv select -q -f two $small q >got; cmp want got || echo "$z: two parts"
    head -c 100 text.$z >cut.$z
    gemkv select -q -f cut.$z $small q >got 2>err; test $? = 5 && grep -q "^gemkv: cut.$z: $z could not read it: " err || cat err
    test $z != bzip2 || { echo "bzip2: whole, in a pipe, two parts, cut, junk after it"; continue; }   # takes junk
    { cat text.$z; echo junk; } >junk.$z
    gemkv select -q -f junk.$z $small q >got 2>err; test $? = 5 || echo "$z: junk is read"
    echo "$z: whole, in a pipe, two parts, cut, junk after it"
done
gzip -c <text.gzip >twice; gemkv select -q -f twice $small q >got; cmp want got && echo "twice"
gzip -c <twice >thrice; gzip -c <thrice >often; t ask -q -f often q 2>&1
