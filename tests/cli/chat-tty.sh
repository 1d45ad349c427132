# SPDX-License-Identifier: BSD-2-Clause
# A conversation on a terminal: Ctrl-C forgets the line or ends the answer, Ctrl-D ends it; questions are remembered.
python3 -c 'import pty; pty.openpty()' 2>/dev/null || skip "no python3, or no pseudo-terminals"
not_sanitized "libraries for lines keep their memory"
cat >type.py <<'END'
import os, pty, select, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.environ["TERM"] = "xterm"
    os.execvp(sys.argv[1], sys.argv[1:])
out, at = b"", 0
for wait, keys in [(b"> ", b"half\x03"), (b"> ", b"Who sat?\n"), (b"]\r\n", b""), (b"> ", b"/reset\n"),
                   (b"> ", b"Why?\n"), (b"\r\x1b[K\r", b"\x03"), (b"(ended)", b""), (b"> ", b"\x04"), (b"\0", b"")]:
    end = time.time() + 60
    while wait not in out[at:] and time.time() < end:
        if select.select([fd], [], [], 0.1)[0]:
            try:
                out += os.read(fd, 65536)
            except OSError:             # it has ended
                break
    found = out.find(wait, at)
    if found < 0 and wait != b"\0":
        print("no", wait)
    at = max(at, found + len(wait))
    time.sleep(0.2)
    if keys:
        os.write(fd, keys)
print("status", os.waitpid(pid, 0)[1], "passages", out.count(b"\r\n[text, line"), "ended", out.count(b"(ended)"))
END
XDG_STATE_HOME=$PWD/state python3 type.py gemkv chat -k 256 -n 100000 -t 1 -f text
