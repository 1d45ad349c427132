/* SPDX-License-Identifier: BSD-2-Clause
 * mail.c - messages (RFC 5322, MIME) and mailboxes: who, when, what about, and the text
 *
 * A form feed stands between messages.  Of an alternative, plain text is taken before HTML; of attachments, those that
 * are text, and the names of the others. */
#include "config.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "src/cli/input/encoding.h"
#include "src/cli/input/readers.h"
#include "src/cli/utf8.h"

enum { DEPTH = 12 };

static const char TEXT_PLAIN[] = "text/plain";

struct span { const char *p, *end; };

/* ---- decoding -------------------------------------------------------------------------- */
static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* underscores: they are spaces, as in headers. */
static void quoted_printable(struct span s, bool underscores, struct text *out)
{
    for (; s.p < s.end; s.p++) {
        if (*s.p == '=' && s.end - s.p >= 3 && hex(s.p[1]) >= 0 && hex(s.p[2]) >= 0) {
            text_add(out, &(char){ (char)(hex(s.p[1]) * 16 + hex(s.p[2])) }, 1);
            s.p += 2;
        } else if (*s.p == '=' && s.end - s.p >= 2 && s.p[1] == '\n') {
            s.p++;
        } else if (*s.p == '=' && s.end - s.p >= 3 && s.p[1] == '\r' && s.p[2] == '\n') {
            s.p += 2;
        } else {
            text_add(out, underscores && *s.p == '_' ? " " : s.p, 1);
        }
    }
}

static void base64(struct span s, struct text *out)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned bits = 0, n = 0;

    for (; s.p < s.end && *s.p != '='; s.p++) {
        const char *d = *s.p ? strchr(digits, *s.p) : NULL;

        if (!d)
            continue;
        bits = (bits << 6 | (unsigned)(d - digits)) & 0xffffff;
        n += 6;
        if (n >= 8) {
            n -= 8;
            text_add(out, &(char){ (char)(bits >> n & 0xff) }, 1);
        }
    }
}

/* To UTF-8, from what the message says it is, or what it looks like.  NUL bytes go: no text has any. */
static void convert(const char *charset, const struct text *in, struct text *out)
{
    struct encoding e;
    size_t          kept = out->n, i = kept;

    if (!in->n)
        return;
    encoding_of(&e, in->p, in->n, true);
    if (!charset || !*charset || !strcasecmp(charset, "us-ascii") || !strcasecmp(charset, "utf-8"))
        charset = e.name ? e.name : "UTF-8";
    if (!encoding_convert(charset, in, out))
        encoding_convert(e.name ? e.name : "UTF-8", in, out);
    for (; i < out->n; i++)
        if (out->p[i])
            out->p[kept++] = out->p[i];
    out->n = kept;
}

/* "=?utf-8?Q?caf=C3=A9?=" in headers. */
static void header_text(struct span s, struct text *out)
{
    bool word = false;          /* an encoded word was last: white space up to the next is none */

    while (s.p < s.end) {
        struct span charset, data;
        const char *q, *close;
        char        how;

        if (s.end - s.p > 6 && s.p[0] == '=' && s.p[1] == '?' && (q = memchr(s.p + 2, '?', (size_t)(s.end - s.p - 2)))
            && s.end - q > 3 && q[2] == '?' && (close = memmem(q + 3, (size_t)(s.end - q - 3), "?=", 2))) {
            struct text raw = { NULL, 0, 0 };
            char       *name;

            charset = (struct span){ s.p + 2, q };
            data = (struct span){ q + 3, close };
            how = (char)toupper((unsigned char)q[1]);
            if (how == 'B')
                base64(data, &raw);
            else
                quoted_printable(data, true, &raw);
            name = format("%.*s", (int)(charset.end - charset.p < 40 ? charset.end - charset.p : 40), charset.p);
            convert(name, &raw, out);
            free(name);
            text_free(&raw);
            s.p = close + 2;
            word = true;
            continue;
        }
        if (isspace((unsigned char)*s.p)) {
            while (s.p < s.end && isspace((unsigned char)*s.p))
                s.p++;
            if (s.p < s.end && !(word && s.end - s.p > 1 && s.p[0] == '=' && s.p[1] == '?'))
                text_puts(out, " ");
            continue;
        }
        text_add(out, s.p++, 1);
        word = false;
    }
}

/* The same where bytes of an old encoding may stand in it, which no standard allows. */
static void header_line(struct span s, struct text *out)
{
    struct text raw = { NULL, 0, 0 };

    header_text(s, &raw);
    convert(NULL, &raw, out);
    text_free(&raw);
}

/* ---- headers --------------------------------------------------------------------------- */
/* The body, which begins behind the first empty line. */
static struct span split(struct span s, struct span *headers)
{
    *headers = s;
    while (s.p < s.end) {
        const char *line = s.p, *stop = memchr(s.p, '\n', (size_t)(s.end - s.p));

        s.p = stop ? stop + 1 : s.end;
        if (*line == '\n' || (*line == '\r' && s.end - line > 1 && line[1] == '\n')) {
            headers->end = line;
            break;
        }
    }
    return s;
}

/* The value of the header of that name, with its continuations; false: there is none. */
static bool header(struct span h, const char *name, struct span *value)
{
    const size_t n = strlen(name);

    while (h.p < h.end) {
        const char *line = h.p, *stop;

        do {
            stop = memchr(h.p, '\n', (size_t)(h.end - h.p));
            h.p = stop ? stop + 1 : h.end;
        } while (h.p < h.end && (*h.p == ' ' || *h.p == '\t'));
        if ((size_t)(h.p - line) > n && line[n] == ':' && !strncasecmp(line, name, n)) {
            *value = (struct span){ line + n + 1, h.p };
            return true;
        }
    }
    return false;
}

/* The value of the parameter of that name in "text/plain; charset=utf-8", without quotes; false: there is none. */
static bool parameter_as_written(struct span v, const char *name, struct span *value)
{
    const size_t n = strlen(name);

    for (; v.p < v.end; v.p++) {
        const char *p = v.p + 1, *end;

        if (*v.p != ';')
            continue;
        while (p < v.end && isspace((unsigned char)*p))
            p++;
        if ((size_t)(v.end - p) <= n || strncasecmp(p, name, n) || p[n] != '=')
            continue;
        p += n + 1;
        if (p < v.end && *p == '"') {
            p++;
            end = memchr(p, '"', (size_t)(v.end - p));
            end = end ? end : v.end;
        } else {
            for (end = p; end < v.end && *end != ';' && !isspace((unsigned char)*end); end++)
                continue;
        }
        *value = (struct span){ p, end };
        return true;
    }
    return false;
}

/* Adds what RFC 2231 writes with percent signs. */
static void percent(struct span s, struct text *out)
{
    for (; s.p < s.end; s.p++) {
        if (*s.p == '%' && s.end - s.p >= 3 && hex(s.p[1]) >= 0 && hex(s.p[2]) >= 0) {
            text_add(out, &(char){ (char)(hex(s.p[1]) * 16 + hex(s.p[2])) }, 1);
            s.p += 2;
        } else {
            text_add(out, s.p, 1);
        }
    }
}

/* "UTF-8'en'": the character set, for free(), and s goes on behind it.  NULL: it does not begin like that. */
static char *charset_of(struct span *s)
{
    const char *first = memchr(s->p, '\'', (size_t)(s->end - s->p));
    const char *second = first ? memchr(first + 1, '\'', (size_t)(s->end - first - 1)) : NULL;
    char       *charset;

    if (!second)
        return NULL;
    charset = format("%.*s", (int)(first - s->p < 40 ? first - s->p : 40), s->p);
    s->p = second + 1;
    return charset;
}

enum { PIECES = 100, VALUE = 300 };     /* of a parameter; bytes of its value that are taken */

/* The parameter of that name, for free(); NULL: there is none.  It may be written name=, name*= with a character set, or
 * in pieces name*0=, name*1*= ... (RFC 2231). */
static char *parameter(struct span v, const char *name)
{
    struct text raw = { NULL, 0, 0 }, text = { NULL, 0, 0 };
    struct span value;
    char       *charset = NULL, *result;
    bool        found = false, coded = false;

    for (int i = -1; i < PIECES; i++) {
        char *whole = i < 0 ? format("%s", name) : format("%s*%d", name, i), *with = format("%s*", whole);
        const bool percents = parameter_as_written(v, with, &value), any = percents || parameter_as_written(v, whole, &value);

        free(whole);
        free(with);
        found |= any;
        if (any && percents) {
            if (!coded)
                charset = charset_of(&value);
            coded = true;
            percent(value, &raw);
        } else if (any) {
            text_add(&raw, value.p, (size_t)(value.end - value.p));
        }
        if (i < 0 ? any : !any)                 /* there are no pieces, or no more */
            break;
    }
    if (coded)
        convert(charset, &raw, &text);
    else
        text_add(&text, raw.n ? raw.p : "", raw.n);
    result = found ? format("%.*s", (int)(text.n < VALUE ? text.n : VALUE), text.n ? text.p : "") : NULL;
    free(charset);
    text_free(&raw);
    text_free(&text);
    return result;
}

static bool is_type(struct span v, const char *type)
{
    while (v.p < v.end && isspace((unsigned char)*v.p))
        v.p++;
    return (size_t)(v.end - v.p) >= strlen(type) && !strncasecmp(v.p, type, strlen(type));
}

/* ---- parts ----------------------------------------------------------------------------- */
/* Appends a part, in whole lines. */
static void part(struct span s, int depth, struct text *out);

static void line_end(struct text *out)
{
    if (out->n && out->p[out->n - 1] != '\n')
        text_puts(out, "\n");
}

/* The next part of a body: from behind a boundary to the next; false: there is none. */
static bool next_part(struct span *body, const char *boundary, struct span *one)
{
    const size_t n = strlen(boundary);
    bool         in = false;

    while (body->p < body->end) {
        const char *line = body->p, *stop = memchr(body->p, '\n', (size_t)(body->end - body->p));
        const bool  is = (size_t)(body->end - line) >= n + 2 && line[0] == '-' && line[1] == '-'
                         && !memcmp(line + 2, boundary, n);

        if (is && in) {                         /* stays: it begins the next one */
            one->end = line;
            return true;
        }
        body->p = stop ? stop + 1 : body->end;
        if (is && (size_t)(body->end - line) >= n + 4 && line[n + 2] == '-' && line[n + 3] == '-')
            return false;
        if (is) {
            in = true;
            one->p = body->p;
        }
    }
    one->end = body->end;
    return in;
}

/* false: it has no parts, or does not say what is between them. */
static bool multipart(struct span type, struct span body, int depth, struct text *out)
{
    const bool  alternative = is_type(type, "multipart/alternative");
    char       *boundary = parameter(type, "boundary");
    struct span one, best = { NULL, NULL }, h, t;
    int         best_rank = 0;
    bool        any = false;

    while (boundary && *boundary && next_part(&body, boundary, &one)) {
        int rank = 1;

        any = true;
        if (!alternative) {
            part(one, depth + 1, out);
            continue;
        }
        split(one, &h);
        if (header(h, "Content-Type", &t))
            rank = is_type(t, "text/plain") ? 4 : is_type(t, "multipart/") ? 3 : is_type(t, "text/html") ? 2 : 1;
        else
            rank = 4;
        if (rank == 4) {                        /* an empty one is no text */
            struct text probe = { NULL, 0, 0 };
            size_t      i = 0;

            part(one, depth + 1, &probe);
            while (i < probe.n && isspace((unsigned char)probe.p[i]))
                i++;
            rank = i < probe.n ? 4 : 1;
            text_free(&probe);
        }
        if (rank > best_rank) {
            best = one;
            best_rank = rank;
        }
    }
    if (best.p)
        part(best, depth + 1, out);
    free(boundary);
    return any;
}

static void message(struct span s, int depth, struct text *out);

static void part(struct span s, int depth, struct text *out)
{
    const struct span plain = { TEXT_PLAIN, TEXT_PLAIN + strlen(TEXT_PLAIN) };
    struct span h, body = split(s, &h), type = plain, how, disposition;
    struct text raw = { NULL, 0, 0 }, text = { NULL, 0, 0 };
    char       *charset, *name;

    header(h, "Content-Type", &type);
    if (depth > DEPTH)
        return;
    if (is_type(type, "multipart/")) {
        if (multipart(type, body, depth, out))
            return;
        type = plain;                           /* damaged: its text is there all the same */
    }
    if (is_type(type, "message/rfc822")) {
        message(body, depth + 1, out);
        return;
    }
    name = header(h, "Content-Disposition", &disposition) ? parameter(disposition, "filename") : NULL;
    if (!name)
        name = parameter(type, "name");
    if (name) {
        text_puts(out, "Attachment: ");
        header_line((struct span){ name, name + strlen(name) }, out);
        text_puts(out, is_type(type, "text/") ? "\n" : " (not read)\n");
    }
    free(name);
    if (!is_type(type, "text/"))
        return;
    if (!header(h, "Content-Transfer-Encoding", &how))
        how = (struct span){ "8bit", NULL }, how.end = how.p + 4;
    if (is_type(how, "base64"))
        base64(body, &raw);
    else if (is_type(how, "quoted-printable"))
        quoted_printable(body, false, &raw);
    else
        text_add(&raw, body.p, (size_t)(body.end - body.p));
    charset = parameter(type, "charset");
    convert(charset, &raw, &text);
    free(charset);
#if HAVE_LIBXML2
    if (is_type(type, "text/html"))
        text_of_html(text.p ? text.p : "", text.n, false, out);
    else
#endif
        for (size_t i = 0; i < text.n; i++)
            if (text.p[i] != '\r' && text.p[i] != '\f')
                text_add(out, text.p + i, 1);
    line_end(out);
    text_free(&raw);
    text_free(&text);
}

static void message(struct span s, int depth, struct text *out)
{
    static const char *const shown[] = { "From", "To", "Cc", "Date", "Subject" };
    struct span h, v;

    split(s, &h);
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (header(h, shown[i], &v)) {
            text_printf(out, "%s:", shown[i]);
            header_line(v, out);
            text_puts(out, "\n");
        }
    text_puts(out, "\n");
    part(s, depth, out);
}

/* ---- mailboxes ------------------------------------------------------------------------- */
/* The next message of a mailbox, from behind its "From " line; in its text, ">From " stands for "From ". */
static bool next_message(struct span *box, struct text *one)
{
    bool begun = false, blank = true;

    one->n = 0;
    while (box->p < box->end) {
        const char *line = box->p, *stop = memchr(line, '\n', (size_t)(box->end - line));
        const char *next = stop ? stop + 1 : box->end, *q = line;
        const bool  from = blank && next - line > 5 && !memcmp(line, "From ", 5);
        bool        marked;

        if (from && begun)
            return true;
        box->p = next;
        begun = true;
        blank = *line == '\n' || *line == '\r';
        while (q < next && *q == '>')
            q++;
        marked = q > line && next - q > 5 && !memcmp(q, "From ", 5);
        if (!from)
            text_add(one, line + marked, (size_t)(next - line) - marked);
    }
    return begun;
}

int read_mail(int fd, FILE *out, FILE *err)
{
    struct text all = { NULL, 0, 0 }, one = { NULL, 0, 0 }, t = { NULL, 0, 0 };
    size_t      n = 0;
    struct span box;
    const int   code = child_text(fd, &all, err);

    text_add(&one, "", 0);
    box = (struct span){ all.p, all.p + all.n };
    if (code) {
        text_free(&all);
    } else if (all.n < 5 || memcmp(all.p, "From ", 5)) {
        message(box, 0, &t);
        fwrite(t.p, 1, t.n, out);
    } else {
        for (; next_message(&box, &one); n++) {
            t.n = 0;
            text_puts(&t, n ? "\f" : "");
            message((struct span){ one.p, one.p + one.n }, 0, &t);
            fwrite(t.p, 1, t.n, out);
        }
    }
    text_free(&all);
    text_free(&one);
    text_free(&t);
    return code;
}
