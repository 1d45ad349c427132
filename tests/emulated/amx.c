/* SPDX-License-Identifier: BSD-2-Clause */
#include "config.h"
#include "tests/emulated/tiles.h"
#include "simd/x86/amx.c"
