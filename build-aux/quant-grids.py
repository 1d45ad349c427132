#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Write src/quant/grid-data.h from gguf-py: the points that types iq1 to iq3 choose among.

    build-aux/quant-grids.py > src/quant/grid-data.h         (needs gguf)

A point of eight weights has two bits for each of them, one of four weights three bits; they index the values that
src/quant/grid.c names, in the macro around the point."""
import numpy as np
from gguf import quants

GRIDS = [("iq2_xxs", quants.IQ2_XXS, 2), ("iq2_xs", quants.IQ2_XS, 2), ("iq2_s", quants.IQ2_S, 2),
         ("iq3_xxs", quants.IQ3_XXS, 3), ("iq3_s", quants.IQ3_S, 3), ("iq1", quants.IQ1_S, 2)]


def main():
    print("/* SPDX-License-Identifier: BSD-2-Clause\n"
          " * grid-data.h - the points of types iq1 to iq3, which build-aux/quant-grids.py wrote: see grid.h. */")
    for name, kind, bits in GRIDS:
        kind.init_grid()
        points = kind.grid.reshape(kind.grid_shape)
        index = [list(kind.grid_map).index(int(v)) for v in range(-1, 64) if v in kind.grid_map]
        codes = np.zeros(len(points), int)
        for j in range(points.shape[1]):
            codes |= np.array([list(kind.grid_map).index(int(v)) for v in points[:, j]]) << bits * j
        assert index == sorted(index)
        macro = name.upper() if bits == 3 else name[:3].upper()
        print("\nconst uint%d_t gkv__grid_%s[%d] = {" % (8 * points.shape[1], name, len(codes)))
        each = 116 // (len(macro) + 10)
        for i in range(0, len(codes), each):
            print("    " + " ".join("%s(0x%04x)," % (macro, c) for c in codes[i:i + each]))
        print("};")


if __name__ == "__main__":
    main()
