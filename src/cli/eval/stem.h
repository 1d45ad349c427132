/* SPDX-License-Identifier: BSD-2-Clause
 * stem.h - the stem of an English word, for ROUGE */
#ifndef GEMKV_CLI_STEM_H
#define GEMKV_CLI_STEM_H

#include <stddef.h>

/* Replaces word[n] (lower-case letters and digits, n at most 63, buffer of 64) with its stem; returns its
 * length. */
size_t stem(char *word, size_t n);

#endif
