#!/usr/bin/env python3
"""Step 9: the mean of two models, tensor by tensor: SHARE of NEW and the rest of OLD.

    python3 average.py OLD.gguf NEW.gguf SHARE OUT.gguf

NEW must have been trained from OLD.  Metadata is that of NEW.
"""

import sys

import gguf


def main():
    old, new = map(gguf.Reader, sys.argv[1:3])
    share, out = float(sys.argv[3]), sys.argv[4]
    gguf.write(out, new.meta, {n: (1 - share) * old.tensor(n) + share * new.tensor(n) for n in new.where})


if __name__ == "__main__":
    main()
