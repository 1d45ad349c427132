# The page of the server, in a browser.
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "no Python 3.8"
command -v chromedriver >/dev/null || skip "no chromedriver"
gemkv serve x 2>&1 | grep -q 'this build has no' && skip "no libmicrohttpd"
gemkv serve -q -k 120 -n 8 --grade exact --port 0 >address &
server=$!
tries=0
while test ! -s address && test $tries -lt 300; do
    sleep 0.1
    tries=$((tries + 1))
done
"$python" "$cases/../serve-browser.py" chromedriver "$(cat address)" text ${PICTURES:+"$PICTURES"}
kill $server
wait $server 2>waited
test ! -s waited || true
