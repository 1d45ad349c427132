#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Append one measured figure to a table of results.

    bench/record.py bench/results/MACHINE.csv what=pp512 model=1b-q8_0 value=279.4 unit=tokens/s ...

The columns are those of COLUMNS below.  date, commit and machine are filled in when they are not
given.  A new file gets a line of column names.  The other scripts of this folder call this one.
"""
import csv
import datetime
import os
import platform
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


if __name__ == "__main__":
    if len(sys.argv) < 3 or not all("=" in a for a in sys.argv[2:]):
        sys.exit(__doc__.strip())
    append(sys.argv[1], **dict(a.split("=", 1) for a in sys.argv[2:]))
