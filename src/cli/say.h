/* SPDX-License-Identifier: BSD-2-Clause
 * say.h - the only code that writes messages to standard error and results to standard output
 *
 * Messages are one line each, given without the newline.  Control characters in them become '?',
 * because messages quote file names and metadata. */
#ifndef GEMKV_CLI_SAY_H
#define GEMKV_CLI_SAY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <gemkv.h>
#include "src/cli/cmd.h"

#define SAY_FORMAT(f, a) __attribute__((format(printf, f, a)))

void say_quiet(void);                                   /* from now on no say and no warn */
void say(const char *fmt, ...) SAY_FORMAT(1, 2);
void warn(const char *fmt, ...) SAY_FORMAT(1, 2);       /* "gemkv: warning: ..."          */
int  fail(int code, const char *fmt, ...) SAY_FORMAT(2, 3);     /* prints why, returns code */
_Noreturn void die(int code, const char *fmt, ...) SAY_FORMAT(2, 3);
_Noreturn void usage(const struct cmd *cmd, const char *fmt, ...) SAY_FORMAT(2, 3);
/* Prints what the library reported; returns the exit status for it.  about: a file, or NULL. */
int  fail_library(gkv_status status, const gkv_error *err, const char *about);

/* Prints a line that the next message, or an empty line, erases. */
void say_fleeting(const char *line);
size_t say_columns(void);                               /* width of the terminal, or 80   */

/* These allocate memory, or die. */
void *grow(void *p, size_t n, size_t size);
char *format(const char *fmt, ...) SAY_FORMAT(1, 2);
char *vformat(const char *fmt, va_list ap) SAY_FORMAT(1, 0);

void out_bytes(const void *p, size_t n);
void out_text(const char *s, size_t n);         /* control characters masked on terminals */
void out_char(char c);
void out_printf(const char *fmt, ...) SAY_FORMAT(1, 2);
void out_flush(void);                          /* dies when the data cannot be written    */

#endif
