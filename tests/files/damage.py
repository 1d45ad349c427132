# SPDX-License-Identifier: BSD-2-Clause
"""Damages documents of the present folder in many ways, always the same ones, and has gemkv read them.

    damage.py [N [SEED]]        N documents; what does not end as it should stays, as bad-SEED-I.NAME

Each run has to end with exit status 0, or with 5 and one line; a reader that crashes ends with another line."""
import os, random, re, subprocess, sys, zipfile

N = int(sys.argv[1]) if len(sys.argv) > 1 else 200
SEED = int(sys.argv[2]) if len(sys.argv) > 2 else 1
WORDS = [b"<", b">", b"&", b"]]>", b"<!--", b"</w:p>", b"<w:tbl>", b"{", b"}", b"\\", b"\\bin99999999 ", b"\\u-1?", b"\\uc15", b"\0", b"\xff\xfe",
         b"\xf0\x9f", b"99999999999999999999", b"-1", b"1e308", b"%s%n", b"\n\n", b"\f", b"--b1", b"=?utf-8?B?=?=", b"\"", b",,,,", b"A1048577",
         b"XFE1", b"../../", b"number-rows-repeated=\"9\"", b"&#x10ffff;", b"<ol start='2147483648'>", b"<td><td><tr>", b"xmlns"]
WELL = {0: re.compile(rb"^(gemkv: [^\n]*\n)*$"), 5: re.compile(rb"^gemkv: [^\n]*\n$")}
ODD = re.compile(rb"signal|too long|ERROR: |runtime error|AddressSanitizer|LeakSanitizer")


def damage(r, b):
    b = bytearray(b)
    for _ in range(r.choice((1, 1, 2, 5, 20))):
        at, n, kind = r.randrange(len(b) + 1), r.choice((1, 2, 8, 64, 512)), r.randrange(7)
        if kind == 0 and at < len(b):
            b[at] ^= 1 << r.randrange(8)
        elif kind == 1:
            del b[at:at + n]
        elif kind == 2:
            b[at:at] = b[at:at + n] * r.choice((1, 2, 50))
        elif kind == 3:
            b[at:at] = r.choice(WORDS) * r.choice((1, 1, 2, 300))
        elif kind == 4:
            b[at:at + n] = bytes(r.randrange(256) for _ in range(n))
        elif kind == 5:
            to = r.randrange(len(b) + 1)
            b[to:to] = b[at:at + n]
        elif r.randrange(4) == 0:
            del b[at:]
    return bytes(b)


def damaged(r, name, path):
    data = open(name, "rb").read()
    if not zipfile.is_zipfile(name) or r.randrange(5) == 0:
        data = damage(r, data)
    else:                       # its members, so that more than the archive's sums is tried
        with zipfile.ZipFile(name) as old, zipfile.ZipFile(path, "w") as new:
            names = old.namelist()
            chosen = {r.choice(names) for _ in range(r.choice((1, 1, 3)))}
            for n in names:
                b = old.read(n)
                new.writestr(n, damage(r, b) if n in chosen and n != "mimetype" else b)
        return
    with open(path, "wb") as f:
        f.write(data)


files = sorted(f for f in os.listdir(".") if f.startswith("a."))
ends = {}
for i in range(N):
    name = files[i % len(files)]
    r = random.Random("%d %d" % (SEED, i))
    path = "bad-%d-%d.%s" % (SEED, i, name)
    damaged(r, name, path)
    try:
        p = subprocess.run(["gemkv", "select", "-q", "-t", "1", "--method", "full", "-f", path, "q"], stdin=subprocess.DEVNULL,
                           capture_output=True, timeout=60)
    except subprocess.TimeoutExpired:
        print("%s: no end" % path)
        continue
    ends[p.returncode] = ends.get(p.returncode, 0) + 1
    if p.returncode in WELL and WELL[p.returncode].match(p.stderr) and not ODD.search(p.stderr):
        os.remove(path)
    else:
        print("%s: exit status %d: %r" % (path, p.returncode, p.stderr[:300]))
print("both ends were reached" if ends.get(0, 0) > N / 10 and ends.get(5, 0) > N / 20 else "ends: %s" % ends)
if "-v" in sys.argv:
    print(ends)
