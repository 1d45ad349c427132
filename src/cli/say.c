/* SPDX-License-Identifier: BSD-2-Clause
 * say.c - see say.h */
#include "config.h"
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "src/cli/say.h"
#include "src/cli/utf8.h"

/* Standard error is global, and so are these: whether it is used, and whether it ends with a fleeting line. */
static bool quiet, fleeting;

void say_quiet(void)
{
    quiet = true;
}

/* Writes prefix and text at once, so that lines of several processes do not mix. */
static void line(const char *prefix, const char *fmt, va_list ap)
{
    char   text[4096], masked[sizeof text + 64];
    size_t n, m, k;
    int    want;

    m = (size_t)snprintf(masked, 64, "%s%s", fleeting ? "\r\033[K" : "", prefix);
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
    fleeting = false;
    fflush(stdout);             /* so that the answer so far appears before it */
    fwrite(masked, 1, m, stderr);
}

void say(const char *fmt, ...)
{
    va_list ap;

    if (quiet)
        return;
    va_start(ap, fmt);
    line("", fmt, ap);
    va_end(ap);
}

void warn(const char *fmt, ...)
{
    va_list ap;

    if (quiet)
        return;
    va_start(ap, fmt);
    line("gemkv: warning: ", fmt, ap);
    va_end(ap);
}

int fail(int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    line("gemkv: ", fmt, ap);
    va_end(ap);
    return code;
}

void die(int code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    line("gemkv: ", fmt, ap);
    va_end(ap);
    exit(code);
}

void usage(const struct cmd *cmd, const char *fmt, ...)
{
    char    what[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (cmd)
        die(EXIT_USAGE, "%s: %s; see 'gemkv %s --help'", cmd->name, what, cmd->name);
    die(EXIT_USAGE, "%s; see 'gemkv --help'", what);
}

int fail_library(gkv_status status, const gkv_error *err, const char *about)
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
    return about ? fail(c, "%s: %s", about, text) : fail(c, "%s", text);
}

void say_fleeting(const char *text)
{
    if (!*text && !fleeting)
        return;
    fprintf(stderr, "\r%s\033[K", text);
    if (!*text)
        fputs("\r", stderr);
    fflush(stderr);
    fleeting = *text != 0;
}

size_t say_columns(void)
{
    struct winsize w;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20 ? w.ws_col : 80;
}

void *grow(void *p, size_t n, size_t size)
{
    if (n > SIZE_MAX / size)
        die(EXIT_FAILED, "out of memory");
    p = realloc(p, n ? n * size : 1);
    if (!p)
        die(EXIT_FAILED, "out of memory");
    return p;
}

char *vformat(const char *fmt, va_list ap)
{
    char *s;

    if (vasprintf(&s, fmt, ap) < 0)
        die(EXIT_FAILED, "out of memory");
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

/* If standard output is a closed pipe, its reader has seen enough, so there is no message. */
static _Noreturn void cannot_write(void)
{
    if (errno == EPIPE)
        exit(EXIT_FAILED);
    die(EXIT_FAILED, "standard output: %s; part of the result is lost", strerror(errno));
}

void out_bytes(const void *p, size_t n)
{
    say_fleeting("");
    if (n && fwrite(p, 1, n, stdout) != n)
        cannot_write();
}

void out_char(char c)
{
    out_bytes(&c, 1);
}

void out_text(const char *s, size_t n)
{
    uint32_t cp;

    if (!isatty(STDOUT_FILENO)) {
        out_bytes(s, n);
        return;
    }
    for (size_t i = 0, k; i < n; i += k) {
        k = utf8_next(s + i, n - i, &cp);
        if (cp == '\r' && i + 1 < n && s[i + 1] == '\n')
            continue;
        if (cp == '\n' || cp == '\t' || (cp != UTF8_BAD && !utf8_is_control(cp)))
            out_bytes(s + i, k);
        else
            out_char('?');
    }
}

void out_printf(const char *fmt, ...)
{
    va_list ap;
    int     n;

    say_fleeting("");
    va_start(ap, fmt);
    n = vprintf(fmt, ap);
    va_end(ap);
    if (n < 0)
        cannot_write();
}

void out_flush(void)
{
    if (fflush(stdout) || ferror(stdout))
        cannot_write();
}
