# What a server keeps for the next one.
serves
GEMKV_CPU=
gemkv ask --json -k 120 -n 8 -f text 'Who sat?' >expected
serve_start --port 0 --folder kept
"$python" "$cases/../serve-client.py" "$at" first
t serve -q --port 0 --folder kept
serve_end
ls -ld kept | cut -c1-10
ls kept | sed 's/-[0-9a-f]*/-N/'
echo "-- one with too little memory"
serve_start --port 0 --folder kept
memory=$(awk '/VmRSS/ { print $2 + 400 }' /proc/$server/status)
serve_end
serve_start --port 0 --folder kept --memory "${memory}K"
"$python" "$cases/../serve-client.py" "$at" poor
serve_end
echo "-- the next one, and remains of one that was killed"
touch kept/upload-x kept/inline-x kept/file-0000000000000001 kept/index-0000000000000001.abcdef
echo '{"name": "no text"}' >kept/file-0000000000000002.json
echo nonsense >kept/index-0000000000000002
serve_start --port 0 --folder kept
"$python" "$cases/../serve-client.py" "$at" again
kill -KILL $server
wait $server 2>waited
serve_start --port 0 --folder kept
"$python" "$cases/../serve-client.py" "$at" last
serve_end
ls kept | sed 's/-[0-9a-f]*/-N/'
echo "-- a folder of others"
mkdir theirs
echo mine >theirs/upload-x
t serve -q --port 0 --folder theirs
cat theirs/upload-x
t serve -q --port 0 --folder text
t serve -q --port 0 --folder nowhere/kept
# Descriptors 3 to 9 are in use, so that the shell has those that it needs; libtool's script would wait for others for ever.
program=$(command -v gemkv)
if test -x "${program%/*}/.libs/gemkv"; then
    export LD_LIBRARY_PATH="${program%/*}/.libs"
    program=${program%/*}/.libs/gemkv
fi
echo "-- few descriptors: it does not get so far that it listens, and leaves nothing"
mkdir few
for n in 11 12 13 14 15 16; do
    (exec 3<&0 4<&0 5<&0 6<&0 7<&0 8<&0 9<&0 >out 2>&1; ulimit -n $n
        TMPDIR=$PWD/few exec timeout 20 "$program" serve -q --host 0.0.0.0) && echo "$n: it ended as a server does"
    ls few
done
