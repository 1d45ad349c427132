# A server that is asked without documents: its library answers.
libraries
serves
sed 's/cat/owl/; s/hat/bat/' text >other
gemkv index -q --grade exact lib text other
echo >>other
gemkv ask --json -k 120 -n 8 -L lib 'Who sat?' >expected 2>err
serve_start --port 0 -L lib
"$python" "$cases/../serve-client.py" "$at" library
serve_end
t serve -L nothing
t serve --among x
