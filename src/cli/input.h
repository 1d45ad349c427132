/* SPDX-License-Identifier: BSD-2-Clause
 * input.h - a file, FIFO or standard input as a stream of text: decompressed, converted */
#ifndef GEMKV_CLI_INPUT_H
#define GEMKV_CLI_INPUT_H

#include <stddef.h>

struct io;

/* Takes the next piece; if it returns non-zero, reading stops and input_read returns that. */
typedef int input_sink(void *arg, const char *text, size_t len);

/* Reads path ("-" is standard input) to its end.  0, or an exit status after saying why. */
int input_read(struct io *io, const char *path, input_sink *sink, void *arg);

/* Reads the whole file: *text has *len bytes and a NUL; free() it, even after a failure. */
int input_slurp(struct io *io, const char *path, char **text, size_t *len);

/* The name of the file in messages. */
const char *input_name(const char *path);

#endif
