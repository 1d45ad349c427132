# A server: quick questions beside long ones, and limits.
# One thread reads, so that a long text takes long enough on any machine.
# Where attention is in tiles of AMX it would not, so not all of a processor is used.
serves
case $(uname -m) in x86_64) GEMKV_CPU=avx2;; *) GEMKV_CPU=;; esac
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
