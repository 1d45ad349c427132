# The page of the server, in a browser.
command -v chromedriver >/dev/null || skip "no chromedriver"
serves
serve_start --port 0
env -u TMPDIR "$python" "$cases/../serve-browser.py" chromedriver "$at" text ${PICTURES:+"$PICTURES"}
serve_end
