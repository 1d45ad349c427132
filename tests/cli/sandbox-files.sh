# What commands read and write lies where no temporary files are, so that nothing is allowed but what they ask for.
room=$(mktemp -d "${groups%/group}/tests/sandbox-XXXXXX") || skip "the build folder cannot be written to"
trap 'rm -rf "$room"' EXIT
mv tiny.gguf text "$room"
cd "$room"
gemkv=$(command -v gemkv) PATH=${PATH#*:}       # what is in a folder of $PATH may be read
mkdir in out home
mv text in/text
sed 's/.*/& And so on./' in/text >in/hay
XDG_DATA_HOME=$room/home/data HOME=$room/home
export HOME
echo '[{"id": "key", "needle": "The pass key is 48213.", "question": "The pass key?", "answers": ["48213"]}]' >in/needles
echo '{"id": "a", "context": "The cat sat.", "question": "Who?", "answers": ["cat"]}' >in/rows
echo '{"id": "a", "file": "in/text", "question": "Who?"}' >in/asked
echo 'root ::= [a-z]+' >in/grammar
for file in text hay; do gzip -c in/$file >in/$file.gz; done
some='-q -t 1 -k 96 -n 2'
run() {
    "$gemkv" "$@" >log 2>&1 </dev/null
    code=$?
    echo "[$code] $*"
    test $code -eq 0 || cat log
}
run ask $some --grammar in/grammar -f in/text --report out/page.html q
run ask $some -f in/text --report out/page.html --force q
run select $some -f in/text.gz q
run tokenize -f in/text.gz
run batch $some --in in/asked --out out/answers
run batch $some --in in/asked --out out/answers
run eval qa -t 1 -k 96 -n 2 --data in/rows --out out/rows --plot out/plot.svg
run eval qa --data in/rows --rows out/again
run eval niah -t 1 -k 96 -n 2 --haystack in/hay --lengths 200 --depths 50 --samples 1 --grade exact
run eval niah -t 1 -k 96 -n 2 --haystack in/hay.gz --lengths 200 --depths 50 --samples 1
run eval ruler -t 1 -k 200 -n 2 --haystack in/hay.gz --lengths 400 --samples 1 --tasks niah_single_2
run eval perplexity -t 1 --context 64 -f in/text
run eval perplexity -t 1 --context 64 -f in/text.gz
run pair -q -t 1 -f in/hay.gz -n 2 --needles in/needles --depths 0 --reader tiny.gguf -m tiny.gguf --lengths 200 --samples 1 \
    --layers 0 -k 60%
run pair -q -t 1 -f in/hay -n 2 --needles in/needles --depths 0 --reader tiny.gguf -m tiny.gguf --lengths 200 --samples 1 \
    --layers 0 -k 60% --snap word --out out/pair
run calibrate -t 1 --haystack in/hay --needles in/needles --lengths 200 --samples 1 --plot out/calibrate.svg
run calibrate -t 1 --haystack in/hay.gz --needles in/needles --lengths 200 --samples 1
run calibrate --forget
run bench -q -t 1 -p 8 -n 2 -r 1
run bench -q -t 1 -f in/text -k 96 -n 2 -r 1 --methods truncate,snapkv
run bench -q -t 1 -f in/text.gz -k 96 -n 2 -r 1 --methods truncate
run models
run info
ls out home/data
