/* SPDX-License-Identifier: BSD-2-Clause
 * say.c - see say.h */
#include "config.h"
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "src/cli/say.h"
#include "src/cli/utf8.h"

/* Writes prefix and text at once, so that lines of several processes do not mix. */
static void line(struct io *io, const char *prefix, const char *fmt, va_list ap)
{
    char   text[4096], masked[sizeof text + 64];
    size_t n, m, k;
    int    want;

    m = (size_t)snprintf(masked, 64, "%s%s", io->fleeting ? "\r\033[K" : "", prefix);
    want = vsnprintf(text, sizeof text, fmt, ap);
    n = want < 0 ? 0 : (size_t)want < sizeof text ? (size_t)want : sizeof text - 1;
    for (size_t i = 0; i < n; i += k) {
        uint32_t cp;

        k = utf8_next(text + i, n - i, &cp);
        if (cp == UTF8_BAD || utf8_is_control(cp)) {
            masked[m++] = '?';
        } else {
            memcpy(masked + m, text + i, k);
            m += k;
        }
    }
    masked[m++] = '\n';
    io->fleeting = false;
    if (fflush(io->out) && !io->lost)           /* so that the answer so far appears before it */
        io->lost = errno;
    fwrite(masked, 1, m, io->err);
}

void say(struct io *io, const char *fmt, ...)
{
    va_list ap;

    if (io->quiet)
        return;
    va_start(ap, fmt);
    line(io, "", fmt, ap);
    va_end(ap);
}

void warn(struct io *io, const char *fmt, ...)
{
    va_list ap;

    if (io->quiet)
        return;
    va_start(ap, fmt);
    line(io, "gemkv: warning: ", fmt, ap);
    va_end(ap);
}

int fail(struct io *io, int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    line(io, "gemkv: ", fmt, ap);
    va_end(ap);
    return code;
}

int usage(struct io *io, const struct cmd *cmd, const char *fmt, ...)
{
    char    what[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (cmd)
        return fail(io, EXIT_USAGE, "%s: %s; see 'gemkv %s --help'", cmd->name, what, cmd->name);
    return fail(io, EXIT_USAGE, "%s; see 'gemkv --help'", what);
}

int fail_library(struct io *io, gkv_status status, const gkv_error *err, const char *about)
{
    static const int code[] = {
        [GKV_NOMEM] = EXIT_FAILED,
        [GKV_LIMIT] = EXIT_TOO_BIG,
        [GKV_IO] = EXIT_FAILED,
        [GKV_FORMAT] = EXIT_MODEL,
        [GKV_UNSUPPORTED] = EXIT_MODEL,
        [GKV_INVALID] = EXIT_USAGE,
        [GKV_DOCUMENT] = EXIT_DOCUMENT,
        [GKV_DEVICE] = EXIT_FAILED,
        [GKV_CANCELLED] = EXIT_FAILED
    };
    const char *text = err->text[0] ? err->text : gkv_status_name(status);
    int         c = EXIT_FAILED;

    if ((size_t)status < sizeof code / sizeof *code)
        c = code[status];
    return about ? fail(io, c, "%s: %s", about, text) : fail(io, c, "%s", text);
}

void say_fleeting(struct io *io, const char *text)
{
    if (!*text && !io->fleeting)
        return;
    fprintf(io->err, "\r%s\033[K", text);
    if (!*text)
        fputs("\r", io->err);
    fflush(io->err);
    io->fleeting = *text != 0;
}

size_t say_columns(const struct io *io)
{
    struct winsize w;

    return ioctl(fileno(io->err), TIOCGWINSZ, &w) == 0 && w.ws_col >= 20 ? w.ws_col : 80;
}

bool say_together(const struct io *io)
{
    return isatty(fileno(io->out)) && isatty(fileno(io->err));
}

/* One thread ends the program, and what runs at its end may come here again; the other threads wait for that. */
void out_of_memory(void)
{
    static pthread_mutex_t ends = PTHREAD_MUTEX_INITIALIZER;
    static _Thread_local bool ending;

    if (!ending)
        pthread_mutex_lock(&ends);
    ending = true;
    fputs("gemkv: out of memory\n", stderr);
    exit(EXIT_FAILED);
}

void *grow(void *p, size_t n, size_t size)
{
    if (n > SIZE_MAX / size)
        out_of_memory();
    p = realloc(p, n ? n * size : 1);
    if (!p)
        out_of_memory();
    return p;
}

void close_text(FILE *f, char **text)
{
    if (fclose(f) || !*text)
        out_of_memory();
}

char *vformat(const char *fmt, va_list ap)
{
    char *s;

    if (vasprintf(&s, fmt, ap) < 0)
        out_of_memory();
    return s;
}

char *format(const char *fmt, ...)
{
    va_list ap;
    char   *s;

    va_start(ap, fmt);
    s = vformat(fmt, ap);
    va_end(ap);
    return s;
}

void out_bytes(struct io *io, const void *p, size_t n)
{
    say_fleeting(io, "");
    if (!io->lost && n && fwrite(p, 1, n, io->out) != n)
        io->lost = errno;
}

void out_char(struct io *io, char c)
{
    out_bytes(io, &c, 1);
}

void out_text(struct io *io, const char *s, size_t n)
{
    uint32_t cp;

    if (!isatty(fileno(io->out))) {
        out_bytes(io, s, n);
        return;
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_next(s + i, n - i, &cp);
        if (cp == '\r' && i + 1 < n && s[i + 1] == '\n')
            continue;
        if (cp == '\n' || cp == '\t' || (cp != UTF8_BAD && !utf8_is_control(cp)))
            out_bytes(io, s + i, k);
        else
            out_char(io, '?');
    }
}

void out_printf(struct io *io, const char *fmt, ...)
{
    va_list ap;

    say_fleeting(io, "");
    va_start(ap, fmt);
    if (!io->lost && vfprintf(io->out, fmt, ap) < 0)
        io->lost = errno;
    va_end(ap);
}

/* If standard output is a closed pipe, its reader has seen enough, so there is no message. */
int out_flush(struct io *io)
{
    int why;

    if (!io->lost && (fflush(io->out) || ferror(io->out)))
        io->lost = errno;
    why = io->lost;
    if (why > 0)
        io->lost = -why;
    if (why > 0 && why != EPIPE)
        fail(io, EXIT_FAILED, "standard output: %s; part of the result is lost", strerror(why));
    return why ? EXIT_FAILED : 0;
}
