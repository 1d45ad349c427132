/* SPDX-License-Identifier: BSD-2-Clause
 * input.h - a file, FIFO or standard input as a stream of text: decompressed, converted */
#ifndef GEMKV_CLI_INPUT_H
#define GEMKV_CLI_INPUT_H

#include <stdbool.h>
#include <stddef.h>

struct io;

/* Takes the next piece; if it returns non-zero, reading stops and input_read returns that. */
typedef int input_sink(void *arg, const char *text, size_t len);

/* How a document is read, and what came of it. */
struct input_how {
    bool        ocr;            /* read pictures of text                                  */
    const char *part;           /* set: what each form feed ends, "page", "slide", "sheet", "chapter", "message" */
};

/* Reads path ("-" is standard input) to its end.  0, or an exit status after saying why. */
int input_read(struct io *io, const char *path, input_sink *sink, void *arg);

/* The same of a document: one without text is refused, and pages without text are named. */
int input_document(struct io *io, const char *path, struct input_how *how, input_sink *sink, void *arg);

/* Reads the whole file: *text has *len bytes and a NUL; free() it, even after a failure. */
int input_slurp(struct io *io, const char *path, char **text, size_t *len);

/* The name of the file in messages. */
const char *input_name(const char *path);

#endif
