# A server: what it answers, refuses, and leaves behind.
serves
gemkv ask --json -k 120 -n 8 -f text 'Who sat?' >expected
serve_start --port 0 --max-upload 200K
"$python" "$cases/../serve-client.py" "$at"
serve_end
echo "-- a key"
printf 'opensesame\nno part of it\n' >key
serve_start --port 0 --api-key-file key
"$python" "$cases/../serve-client.py" "$at" opensesame
serve_end HUP
echo "-- the bundled model"
GEMKV_CPU='' serve_start -m "$cases/../../data/gemkv-mini-q8_0.gguf" -k 20% --port 0
"$python" "$cases/../serve-client.py" "$at" bundled
serve_end
echo "-- a socket"
serve_start --host "$PWD/socket"
ls -l socket | cut -c1-10
"$python" "$cases/../serve-client.py" "$PWD/socket" none 2>&1 | head -n 1
serve_end
ls socket 2>&1
echo "-- what cannot be"
t serve document
t serve --port 70000
t serve --host 0.0.0.0 --port 0
: >empty
t serve --api-key-file empty
t serve --api-key-file nothing
TMPDIR=/nowhere t serve
echo "-- a socket that was given"
cat >given.py <<'END'
import os, socket, sys
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen()
os.dup2(s.fileno(), 3)
os.set_inheritable(3, True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS='1')
os.execvp('gemkv', ['gemkv', 'serve', '-q'])
END
rm -f address
"$python" given.py >address 2>err &
serve_started
"$python" "$cases/../serve-client.py" "$at" none 2>&1 | head -n 1
serve_end
LISTEN_PID=$$ LISTEN_FDS=1 sh -c 'LISTEN_PID=$$ exec gemkv serve' 3<&-
echo "[$?] without one"
