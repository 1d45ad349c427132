#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Append one measured figure to a table of results.

    bench/record.py bench/results/MACHINE.csv what=pp512 model=1b-q8_0 value=279.4 unit=tokens/s ...
    bench/kernels | bench/record.py bench/results/MACHINE.csv -- [command=bench/kernels] [threads=1] ...

The second form passes on what a program prints, and appends each figure in it of the form
"NAME 12.3 unit (11.9 - 12.4)", of which the unit or the range may be missing.  A line without such
figures is a heading, whose units count for the lines below it.

The columns are those of COLUMNS below.  date, commit and machine are filled in when they are not
given.  A new file gets a line of column names.  The other scripts of this folder call this one.
"""
import csv
import datetime
import os
import platform
import re
import subprocess
import sys

COLUMNS = ("date commit machine threads what model command value unit "
           "against against_value ratio range note").split()


def commit():
    here = os.path.dirname(os.path.abspath(__file__))
    r = subprocess.run(["git", "-C", here, "describe", "--always", "--dirty", "--exclude=*"],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return r.stdout.strip()


def machine():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":", 1)[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.machine()


def append(path, **figure):
    """One row.  A float is written with six significant digits."""
    unknown = set(figure) - set(COLUMNS)
    if unknown:
        sys.exit("record.py: no column %s; there are: %s" % (", ".join(sorted(unknown)), " ".join(COLUMNS)))
    row = dict({"date": datetime.date.today().isoformat(), "commit": commit(), "machine": machine()}, **figure)
    new = not os.path.exists(path) or os.path.getsize(path) == 0
    with open(path, "a", newline="", encoding="utf-8") as f:
        out = csv.writer(f, lineterminator="\n")
        if new:
            out.writerow(COLUMNS)
        out.writerow("%.6g" % row[c] if isinstance(row.get(c), float) else row.get(c, "") for c in COLUMNS)


UNIT = r"(?:[GTM]?(?:FLOP|OP|B)|tokens)/s|ms\b"
FIGURE = re.compile(r"(?:(?P<what>[a-z]\w*),? +)?(?<![\w.])(?P<value>\d+(?:\.\d+)?)(?: *(?P<unit>%s)| *(?=\(\d))"
                    r"(?: *\((?P<range>\d\S* - \d\S*)\))?" % UNIT)


def figures(lines):
    """(what, value, unit, range) of each figure in what a benchmark prints."""
    units = []
    for line in lines:
        found = list(FIGURE.finditer(line))
        if not found:
            units = re.findall(UNIT, line) or units
            continue
        name = " ".join(line[:found[0].start("value")].split())
        for i, f in enumerate(found):
            unit = f["unit"] or (units[i] if i < len(units) else "")
            yield (": ".join(filter(None, [name, i and (f["what"] or unit)])), f["value"], unit, f["range"] or "")


def main():
    table, args = sys.argv[1:2], sys.argv[2:]
    read = args[:1] == ["--"]
    if not table or not (read or args) or not all("=" in a for a in args[read:]):
        sys.exit(__doc__.strip())
    given = dict(a.split("=", 1) for a in args[read:])
    if not read:
        return append(table[0], **given)
    lines = []
    for line in sys.stdin:
        print(line, end="", flush=True)
        lines.append(line)
    for what, value, unit, span in figures(lines):
        append(table[0], **dict(given, what=what, value=value, unit=unit, range=span))


if __name__ == "__main__":
    main()
