# A server: what it answers, refuses, and leaves behind.
python=${PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null || skip "no Python 3.8"
gemkv serve x 2>&1 | grep -q 'this build has no' && skip "no libmicrohttpd"
mkdir tmp
TMPDIR=$PWD/tmp
export TMPDIR
unset GEMKV_API_KEY
started() {     # the address of the server that was started last goes to $at
    server=$!
    tries=0
    while test ! -s address && test $tries -lt 300; do
        sleep 0.1
        tries=$((tries + 1))
    done
    read -r at <address
}
start() {       # [OPTION...]
    rm -f address
    gemkv serve -q -k 120 -n 8 --grade exact "$@" >address 2>err &
    started
}
end() {         # [SIGNAL]
    kill -"${1:-TERM}" $server
    wait $server 2>waited
    echo "[$?] ended; it leaves $(ls tmp | wc -l) files"
    cat err
}
gemkv ask --json -k 120 -n 8 -f text 'Who sat?' >expected
start --port 0 --max-upload 200K
"$python" "$cases/../serve-client.py" "$at"
end
echo "-- a key"
printf 'opensesame\nno part of it\n' >key
start --port 0 --api-key-file key
"$python" "$cases/../serve-client.py" "$at" opensesame
end HUP
echo "-- the bundled model"
GEMKV_CPU='' start -m "$cases/../../data/gemkv-mini-q8_0.gguf" -k 20% --port 0
"$python" "$cases/../serve-client.py" "$at" bundled
end
echo "-- a socket"
start --host "$PWD/socket"
ls -l socket | cut -c1-10
"$python" "$cases/../serve-client.py" "$PWD/socket" none 2>&1 | head -n 1
end
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
started
"$python" "$cases/../serve-client.py" "$at" none 2>&1 | head -n 1
end
LISTEN_PID=$$ LISTEN_FDS=1 sh -c 'LISTEN_PID=$$ exec gemkv serve' 3<&-
echo "[$?] without one"
