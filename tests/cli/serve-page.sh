# The page of the server, in a browser.
command -v chromedriver >/dev/null || skip "no chromedriver"
serves
serve_start --port 0
AXE=$("$python" -c 'import axe_core_python as a; print(a.__path__[0] + "/axe.min.js")' 2>/dev/null)
export AXE
env -u TMPDIR "$python" "$cases/../serve-browser.py" chromedriver "$at" text ${PICTURES:+"$PICTURES"}
serve_end
