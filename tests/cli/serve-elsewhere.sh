# A server that reads and chooses; another one answers.
serves
gemkv ask --answer-url http://localhost --answer-model x -f text x 2>&1 | grep -q 'built without' && skip "no libcurl"
mock=$cases/../answer-server.py
unset GEMKV_ANSWER_KEY http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
echo '{"answer": ""}' >expected
mkfifo alive
"$python" "$mock" port sent <alive &
exec 3>alive                    # it ends when this does
while test ! -s port; do sleep 0.1; done
there=http://127.0.0.1:$(cat port)
printf 'opensesame\n' >key
gemkv select --json --snap word -k 120 -f text 'Which number?' >select
serve_start --port 0 --answer-url "$there/good/v1" --answer-model big --answer-key-file key
"$python" "$cases/../serve-client.py" "$at" elsewhere
serve_end
"$python" "$mock" --sent sent | sed "s|$there|http://HERE|; s/[0-9]\{5\}$/PORT/" | head -n 20
"$python" "$mock" --only sent select
for mode in fails lost; do
    serve_start --port 0 --answer-url "$there/$mode/v1" --answer-model big
    "$python" "$cases/../serve-client.py" "$at" broken | sed "s|$there|http://HERE|"
    serve_end
done
serve_start --port 0 --answer-url "$there/endless/v1" --answer-model big
"$python" "$cases/../serve-client.py" "$at" slow
serve_end
t serve --answer-url http://localhost
t serve --answer-url http://localhost --answer-model x --think on
