/* SPDX-License-Identifier: BSD-2-Clause
 * processes.h - gemkv started several times by mpirun, as one command */
#ifndef GEMKV_CLI_PROCESSES_H
#define GEMKV_CLI_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>
#include <gemkv.h>

struct io;
struct processes;

/* *p NULL: this process is alone.  Not 0: they cannot be connected, which one of them has said; with io NULL, *p is NULL
 * then, and nothing is said. */
int              processes_open(struct processes **p, struct io *io);
/* The path of a plugin gemkv-NAME.so, whether it is there or not; for free(). */
char            *processes_plugin(const char *name);
const gkv_group *processes_group(const struct processes *p);    /* NULL without p */
/* Whether this is not rank 0, which has the question and says what there is to say. */
bool             processes_helps(const struct processes *p);
/* Waits for all: 0 if `code` is 0 in all of them; otherwise an exit status, and rank 0 has said what is wrong
 * with another one: its error, unless that is NULL. */
int              processes_meet(struct processes *p, struct io *io, int code, const gkv_error *err);
/* The same, and from then on the others are in gkv_group_help. */
int              processes_ready(struct processes *p, struct io *io, int code, const gkv_error *err);
/* Replaces each of n numbers by its sum over all processes.  False: they are not connected any more. */
bool             processes_add(struct processes *p, uint64_t *number, size_t n);
/* The next of the numbers 0, 1, ..., each of which one process gets; -1: they are not connected any more. */
int64_t          processes_next(struct processes *p);
/* The end of all, with this process's exit status: together, or, if it is EXIT_FAILED, at once, since the others may wait for
 * what this process was to compute. */
void             processes_close(struct processes *p, struct io *io, int code);

#endif
