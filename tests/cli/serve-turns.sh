# A server: quick questions beside long ones, and limits.
# One thread reads, so that how long the client's long texts take is steady.
serves
GEMKV_CPU=
gemkv ask --json -k 120 -n 8 -f text 'Who sat?' >expected
serve_start -t 1 --port 0
"$python" "$cases/../serve-client.py" "$at" turns
serve_end
echo "-- limits"
serve_start -t 1 --port 0 --max-waiting 1 --memory 200M
"$python" "$cases/../serve-client.py" "$at" limits
serve_end
serve_start -t 1 --port 0 --max-time 1
"$python" "$cases/../serve-client.py" "$at" late
serve_end
echo "-- the end"
serve_start -t 1 --port 0
"$python" "$cases/../serve-client.py" "$at" drain $server
serve_end 0
t serve --max-time 0
