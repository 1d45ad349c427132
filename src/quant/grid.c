/* SPDX-License-Identifier: BSD-2-Clause
 * grid.c - see grid.h */
#include "config.h"
#include "src/quant/grid.h"
#include "src/quant/grid-data.h"
