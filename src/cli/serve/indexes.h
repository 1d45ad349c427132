/* SPDX-License-Identifier: BSD-2-Clause
 * indexes.h - the indexes of long texts, in the server's folder: a text is read once, whoever asks about it
 *
 * Any thread. */
#ifndef GEMKV_CLI_SERVE_INDEXES_H
#define GEMKV_CLI_SERVE_INDEXES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemkv.h>
#include "src/cli/serve/folder.h"

struct indexes;
/* Those that are in the folder already are known.  most: bytes of all together. */
struct indexes *indexes_open(const struct folder *f, uint64_t most);
void indexes_close(struct indexes *x);  /* removes them, unless the folder lasts            */

/* What a text of n bytes, read with these options and this grade, is looked up by. */
uint64_t indexes_key(const char *text, size_t n, const gkv_options *opt, const char *grade);
bool     indexes_has(struct indexes *x, uint64_t key);
/* *out: the document, with its index; NULL: it has to be read.  Fails if there is an index, but no memory for it. */
gkv_status indexes_load(struct indexes *x, uint64_t key, gkv_model *m, const gkv_options *opt, const char *text, size_t n,
                        gkv_document **out, gkv_error *err);
/* Computes the index of a document that was fed, and adds it.  Others that were not used for long may go for it. */
gkv_status indexes_make(struct indexes *x, uint64_t key, gkv_document *d, const gkv_options *opt, const char *grade,
                        gkv_error *err);

#endif
