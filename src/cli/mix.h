/* SPDX-License-Identifier: BSD-2-Clause
 * mix.h - a number of all that something depends on: FNV-1a, which is the same on every machine */
#ifndef GEMKV_CLI_MIX_H
#define GEMKV_CLI_MIX_H

#include <stddef.h>
#include <stdint.h>

#define MIX_START 0xcbf29ce484222325u

uint64_t mix(uint64_t h, const void *p, size_t n);
uint64_t mix_string(uint64_t h, const char *s);         /* with its end; NULL is none of them */
uint64_t mix_uint(uint64_t h, uint64_t u);

#endif
