/* SPDX-License-Identifier: BSD-2-Clause
 * input.h - a file, FIFO or standard input as a stream of text: decompressed, converted */
#ifndef GEMKV_CLI_INPUT_H
#define GEMKV_CLI_INPUT_H

#include <stddef.h>

/* Takes the next piece; anything but 0 ends the reading and is handed on. */
typedef int input_sink(void *arg, const char *text, size_t len);

/* Read path ("-" is standard input) to its end.  0, or an exit status after saying why. */
int input_read(const char *path, input_sink *sink, void *arg);

/* All of it at once: *text is *len bytes and a NUL, for free(), also after a failure. */
int input_slurp(const char *path, char **text, size_t *len);

/* How a person calls the file. */
const char *input_name(const char *path);

#endif
