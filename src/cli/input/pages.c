/* SPDX-License-Identifier: BSD-2-Clause
 * pages.c - see pages.h */
#include "config.h"
#include <inttypes.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/input/child.h"
#include "src/cli/input/format.h"
#include "src/cli/input/pages.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

/* More white space than this at the beginning is no document. */
static const size_t MOST_HELD = (size_t)64 << 20;

static const char *const wide[] = { "\xc2\xa0", "\xe3\x80\x80", "\xef\xbb\xbf", "\xe2\x80\x8b" };

/* Whether a wide blank character begins with s[n], and has `more` bytes or more besides. */
static bool begins_wide(const char *s, size_t n, size_t more)
{
    for (size_t w = 0; w < sizeof wide / sizeof *wide; w++)
        if (strlen(wide[w]) >= n + more && !memcmp(s, wide[w], n))
            return true;
    return false;
}

/* Whether all of the next piece is blank; a no-break space, an ideographic space, a byte order mark and a space of no width
 * are, wherever pieces are cut. */
static bool blank(struct pages *p, const char *s, size_t n)
{
    size_t i = 0;

    while (i < n) {
        if (!p->n_part && (unsigned char)s[i] <= ' ' && s[i]) {
            i++;
            continue;
        }
        p->part[p->n_part++] = s[i++];
        if (!begins_wide(p->part, p->n_part, 0)) {
            p->n_part = 0;
            return false;
        }
        if (!begins_wide(p->part, p->n_part, 1))        /* it is whole                            */
            p->n_part = 0;
    }
    return true;
}

/* Takes the next piece, and whether it is blank. */
static int pass(struct pages *p, const char *text, size_t len, bool is_blank)
{
    int code = 0;

    if (p->some)
        return len ? p->sink(p->arg, text, len) : 0;
    if (is_blank) {
        text_add(&p->held, text, len);
        return p->held.n < MOST_HELD ? 0 : fail(p->io, EXIT_DOCUMENT, "%s: its first %zu bytes are blank", p->name,
                                                p->held.n);
    }
    p->some = true;
    if (p->held.n)
        code = p->sink(p->arg, p->held.p, p->held.n);
    text_free(&p->held);
    return code ? code : p->sink(p->arg, text, len);
}

/* ---- pictures -------------------------------------------------------------------------- */
/* What a program says about a file, in another file. */
static int ocr_step(const struct pages *p, const char *const *argv, const char *package, int file, FILE *to)
{
    struct child c;
    const char  *why;
    char         said[200], *buf = grow(NULL, 1 << 16, 1);
    ssize_t      n;
    int          r = child_start(&c, argv, NULL, file), code = 0;

    if (r)
        code = fail(p->io, EXIT_FAILED, "%s: cannot start %s: %s", p->name, argv[0], strerror(r));
    while (!code && (n = child_read(&c, buf, 1 << 16, &why)) != 0) {
        if (n < 0 && progress_cancelled())
            code = fail(p->io, EXIT_FAILED, "cancelled while reading %s", p->name);
        else if (n < 0)
            code = fail(p->io, EXIT_DOCUMENT, "%s: %s was stopped: %s", p->name, argv[0], why);
        else if (fwrite(buf, 1, (size_t)n, to) != (size_t)n)
            code = fail(p->io, EXIT_FAILED, "%s: temporary file: %s", p->name, strerror(errno));
    }
    free(buf);
    r = r ? 0 : child_end(&c, said, sizeof said);
    if (!code && r == CHILD_NO_PROGRAM && !*said)
        code = fail(p->io, EXIT_DOCUMENT, "%s: --ocr needs %s, which is not installed; on Debian: apt install %s", p->name,
                    argv[0], package);
    else if (!code && r)
        code = fail(p->io, EXIT_DOCUMENT, "%s: %s could not read page %" PRIu64 ": %s", p->name, argv[0], p->page + 1, said);
    rewind(to);
    return code;
}

/* The page that ends now, drawn and read. */
static int ocr_page(struct pages *p)
{
    char              number[24], *buf;
    const char *const draw[] = { "pdftoppm", "-r", "300", "-gray", "-f", number, "-l", number, FORMAT_FILE, NULL };
    const char *const see[] = { "tesseract", FORMAT_FILE, "-", NULL };
    FILE  *picture = tmpfile(), *text = tmpfile();
    size_t n;
    bool   is_blank;
    int    code = 0;

    snprintf(number, sizeof number, "%" PRIu64, p->page + 1);
    if (!picture || !text)
        code = fail(p->io, EXIT_FAILED, "%s: cannot make a temporary file: %s", p->name, strerror(errno));
    if (!code)
        say(p->io, "%s: reading the picture of page %s", p->name, number);
    if (!code)
        code = ocr_step(p, draw, "poppler-utils", p->fd, picture);
    if (!code)
        code = ocr_step(p, see, "tesseract-ocr", fileno(picture), text);
    buf = grow(NULL, 1 << 16, 1);
    while (!code && (n = fread(buf, 1, 1 << 16, text)) > 0) {
        for (size_t i = 0; i < n; i++)          /* its own page marks are not ours */
            buf[i] = buf[i] == '\f' ? '\n' : buf[i];
        is_blank = blank(p, buf, n);
        p->here = p->here || !is_blank;
        code = pass(p, buf, n, is_blank);
    }
    free(buf);
    if (picture)
        fclose(picture);
    if (text)
        fclose(text);
    return code;
}

/* ---- pages ----------------------------------------------------------------------------- */
void pages_watch(struct pages *p, int fd)
{
    p->fd = fd;
}

/* Pages first to last have no text. */
static void listed(struct pages *p, uint64_t last)
{
    enum { LONGEST = 200 };

    if (p->first && p->list.n < LONGEST) {
        text_printf(&p->list, "%s%" PRIu64, p->list.n ? ", " : "", p->first);
        if (last > p->first)
            text_printf(&p->list, "-%" PRIu64, last);
        if (p->list.n >= LONGEST)
            text_puts(&p->list, " and others");
    }
    p->first = 0;
}

static int end_page(struct pages *p)
{
    int code = 0;

    if (!p->here && p->ocr)
        code = ocr_page(p);
    if (p->here)
        listed(p, p->page);
    p->page++;
    if (!p->here) {
        p->first = p->first ? p->first : p->page;
        p->n_blank++;
    }
    p->here = false;
    return code;
}

int pages_feed(struct pages *p, const char *text, size_t len)
{
    int code = 0;

    while (!code && len) {
        const char *mark = p->fd >= 0 ? memchr(text, '\f', len) : NULL;
        size_t      n = mark ? (size_t)(mark - text) : len;
        const bool  is_blank = blank(p, text, n);

        p->here = p->here || !is_blank;
        code = pass(p, text, n, is_blank);
        if (!code && mark)
            code = end_page(p);
        if (!code && mark)
            code = pass(p, mark, 1, blank(p, mark, 1));
        len -= n + (mark != NULL);
        text += n + (mark != NULL);
    }
    return code;
}

int pages_end(struct pages *p, int code)
{
    const bool pdf = p->fd >= 0;

    listed(p, p->page);
    if (!code && !p->some)
        code = !pdf ? fail(p->io, EXIT_DOCUMENT, "%s: there is no text in it", p->name)
               : p->ocr ? fail(p->io, EXIT_DOCUMENT, "%s: there is no text in its pictures either", p->name)
               : fail(p->io, EXIT_DOCUMENT, "%s: its %" PRIu64 " page%s no text, only pictures; give --ocr, or run "
                      "ocrmypdf on it", p->name, p->page, p->page == 1 ? " has" : "s have");
    else if (!code && pdf && p->n_blank)
        warn(p->io, "%s: page%s %s ha%s no text: %s", p->name, p->n_blank == 1 ? "" : "s", p->list.p,
             p->n_blank == 1 ? "s" : "ve", p->ocr ? "nothing to read in the picture"
             : "blank, or pictures, which --ocr reads (or run ocrmypdf on it)");
    text_free(&p->list);
    text_free(&p->held);
    return code;
}
