# A server is shut in, and has no socket but the one it listens at.
serves
shut_in
serve_start --port 0
sed -n 's/^\(NoNewPrivs\|Seccomp\):[[:space:]]*/\1 /p' /proc/$server/status
filters=$(sed -n 's/^Seccomp_filters:[[:space:]]*//p' /proc/$server/status)
echo "${filters:-2} filters"
echo '{"answer": ""}' >expected
"$python" "$cases/../serve-client.py" "$at" opensesame | tail -n 1
serve_end
