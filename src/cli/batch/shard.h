/* SPDX-License-Identifier: BSD-2-Clause
 * shard.h - which part of the rows is this process's: of --shard, or of who has started it */
#ifndef GEMKV_CLI_BATCH_SHARD_H
#define GEMKV_CLI_BATCH_SHARD_H

#include <stddef.h>

struct cmd;
struct io;

struct shard {
    size_t      i, n;                   /* i of n, from 0; n 1: all of them               */
    const char *from;                   /* the variable that says so, or NULL             */
};

/* word: of --shard, or NULL.  0, or an exit status after saying what is wrong. */
int   shard_find(struct shard *s, const struct cmd *cmd, struct io *io, const char *word);
/* The name with the shard's number, counted from 1, for each %s in it; for free(). */
char *shard_name(const struct shard *s, const char *name);

#endif
