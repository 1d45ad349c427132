/* SPDX-License-Identifier: BSD-2-Clause
 * say.h - the only code that writes messages and results
 *
 * Where they go is a value, struct io.  main() makes one of standard output and standard error and passes it to
 * the command; nothing here knows of these files otherwise, so that one process can serve several at once.
 *
 * Messages are one line each, given without the newline.  Control characters in them become '?',
 * because messages quote file names and metadata. */
#ifndef GEMKV_CLI_SAY_H
#define GEMKV_CLI_SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <gemkv.h>
#include "src/cli/cmd.h"

#define SAY_FORMAT(f, a) __attribute__((format(printf, f, a)))

struct io {
    FILE *out, *err;            /* results; messages                                      */
    struct processes *processes;                /* that run this command together, or NULL        */
    bool  quiet;                /* no say and no warn                                     */
    bool  fleeting;             /* err ends with a line that the next message erases      */
    int   lost;                 /* errno of the first write to out that failed, negative once it is said; 0: none */
};

void say(struct io *io, const char *fmt, ...) SAY_FORMAT(2, 3);
void warn(struct io *io, const char *fmt, ...) SAY_FORMAT(2, 3);        /* "gemkv: warning: ..." */
/* These print why something cannot be done, and return the exit status for it. */
int  fail(struct io *io, int code, const char *fmt, ...) SAY_FORMAT(3, 4);
int  usage(struct io *io, const struct cmd *cmd, const char *fmt, ...) SAY_FORMAT(3, 4);
/* about: a file, or NULL. */
int  fail_library(struct io *io, gkv_status status, const gkv_error *err, const char *about);

/* Prints a line that the next message, or an empty line, erases. */
void say_fleeting(struct io *io, const char *line);
size_t say_columns(const struct io *io);                /* width of the terminal, or 80   */
bool say_together(const struct io *io);                 /* both files are terminals       */

/* These allocate memory.  When there is none, the process ends with a message: what the program itself allocates is
 * small beside a model, and the library reports what it lacks. */
_Noreturn void out_of_memory(void);
void *grow(void *p, size_t n, size_t size);
void close_text(FILE *f, char **text);          /* of open_memstream: its text is there then */
char *format(const char *fmt, ...) SAY_FORMAT(1, 2);
char *vformat(const char *fmt, va_list ap) SAY_FORMAT(1, 0);

/* Results.  What cannot be written is remembered in io->lost, and out_flush says so. */
void out_bytes(struct io *io, const void *p, size_t n);
void out_text(struct io *io, const char *s, size_t n);  /* control characters masked on terminals */
void out_char(struct io *io, char c);
void out_printf(struct io *io, const char *fmt, ...) SAY_FORMAT(2, 3);
int  out_flush(struct io *io);                  /* 0, or an exit status after saying why, once */

#endif
