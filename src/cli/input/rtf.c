/* SPDX-License-Identifier: BSD-2-Clause
 * rtf.c - Rich Text Format: groups in braces, control words behind backslashes, and text
 *
 * Converters of Debian 12 lose the character after one that is not ASCII, and footnotes. */
#include "config.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/input/encoding.h"
#include "src/cli/input/readers.h"
#include "src/cli/utf8.h"

enum { DEEPEST = 256, MACINTOSH = 10000 };     /* a code page that iconv knows by its name only */

struct state { bool skip, hidden, up, note; int fallback; };    /* of a group; fallback: characters for a \u */

struct rtf {
    struct text  out, bytes;    /* bytes: of the code page, not converted yet             */
    struct state s[DEEPEST];
    int          depth, code_page;
    unsigned     high;          /* first half of a character of two \u                    */
    bool         cell;          /* the row has one                                        */
    int          left;          /* characters to leave out, which stand for a \u          */
    size_t       row;           /* where the row begins in out                            */
};

/* What is before the text, or no text at all. */
static const char *const destinations[] = { "fonttbl", "colortbl", "stylesheet", "info", "pict", "listtable",
    "listoverridetable", "revtbl", "rsidtbl", "themedata", "colorschememapping", "datastore", "latentstyles", "xmlnstbl",
    "generator", "fldinst", "bkmkstart", "bkmkend", "objdata", "nonshppict", "filetbl", "pntext", "mmathPr", NULL };

static const struct { const char *word, *text; } words[] = {
    { "par", "\n" }, { "line", "\n" }, { "sect", "\n" }, { "tab", "\t" }, { "page", "\n\f" }, { "emdash", "\xe2\x80\x94" },
    { "endash", "\xe2\x80\x93" }, { "bullet", "\xe2\x80\xa2" }, { "lquote", "\xe2\x80\x98" },
    { "rquote", "\xe2\x80\x99" }, { "ldblquote", "\xe2\x80\x9c" }, { "rdblquote", "\xe2\x80\x9d" },
    { "emspace", " " }, { "enspace", " " }, { NULL, NULL }
};

static void convert(struct rtf *r)
{
    char name[16];

    if (!r->bytes.n)
        return;
    snprintf(name, sizeof name, "CP%d", r->code_page);
    if (!encoding_convert(r->code_page == MACINTOSH ? "MACINTOSH" : name, &r->bytes, &r->out))
        encoding_convert("CP1252", &r->bytes, &r->out);
    r->bytes.n = 0;
}

static bool unseen(const struct rtf *r)
{
    return r->s[r->depth].skip || r->s[r->depth].hidden;
}

static void put(struct rtf *r, const char *s, size_t n)
{
    if (unseen(r))
        return;
    convert(r);
    if (r->s[r->depth].up && !isspace((unsigned char)*s)) {
        text_puts(&r->out, "^");
        r->s[r->depth].up = false;
    }
    text_add(&r->out, s, n);
}

static void byte(struct rtf *r, unsigned char c)
{
    if (r->left) {
        r->left--;
        return;
    }
    if (unseen(r) || !c)
        return;
    if (c < 128 && !r->bytes.n)
        put(r, &(char){ (char)c }, 1);
    else
        text_add(&r->bytes, &(char){ (char)c }, 1);
}

static void code_point(struct rtf *r, long n)
{
    char     utf8[4];
    unsigned c = (unsigned)(n < 0 ? n + 65536 : n) & 0xffff;

    r->left = r->s[r->depth].fallback;
    if (c >= 0xd800 && c < 0xdc00) {
        r->high = c;
        return;
    }
    if (c >= 0xdc00 && c < 0xe000) {
        if (!r->high)
            return;
        c = 0x10000 + ((r->high - 0xd800) << 10) + (c - 0xdc00);
    }
    r->high = 0;
    if (c)
        put(r, utf8, (size_t)(utf8_put(utf8, c) - utf8));
}

static bool ends_row(const struct rtf *r)
{
    return r->out.n && r->out.p[r->out.n - 1] == '\n';
}

/* Between cells a bar; the paragraphs of a cell are one line. */
static void cell(struct rtf *r)
{
    convert(r);
    for (size_t i = r->row; i < r->out.n; i++)
        if (r->out.p[i] == '\n' || r->out.p[i] == '\f')
            r->out.p[i] = ' ';
    while (r->out.n > r->row && r->out.p[r->out.n - 1] == ' ')
        r->out.n--;
    text_puts(&r->out, " | ");
    r->cell = true;
}

static void end_row(struct rtf *r)
{
    convert(r);
    if (r->cell && r->out.n >= 3 && !memcmp(r->out.p + r->out.n - 3, " | ", 3))         /* text may follow it */
        r->out.n -= 3;
    text_puts(&r->out, "\n");
    r->row = r->out.n;
    r->cell = false;
}

static void control(struct rtf *r, const char *word, bool has, long n)
{
    struct state *s = &r->s[r->depth];

    for (size_t i = 0; destinations[i]; i++)
        if (!strcmp(word, destinations[i])) {
            s->skip = true;
            return;
        }
    for (size_t i = 0; words[i].word; i++)
        if (!strcmp(word, words[i].word)) {
            put(r, words[i].text, strlen(words[i].text));
            return;
        }
    if (!strcmp(word, "u") && has)
        code_point(r, n);
    else if (!strcmp(word, "uc") && has)
        s->fallback = n >= 0 && n < 16 ? (int)n : 1;
    else if (!strcmp(word, "ansicpg") && has)
        r->code_page = (int)n;
    else if (!strcmp(word, "mac"))
        r->code_page = MACINTOSH;
    else if (!strcmp(word, "pc"))
        r->code_page = 437;
    else if (!strcmp(word, "super")) {
        convert(r);
        s->up = !has || n;
    } else if (!strcmp(word, "nosupersub"))
        s->up = false;
    else if (!strcmp(word, "plain") || !strcmp(word, "v")) {
        s->hidden = *word == 'v' && (!has || n);
        s->up = s->up && *word == 'v';
    } else if (!strcmp(word, "trowd") && !s->skip && !r->cell) {
        convert(r);
        if (r->out.n && !ends_row(r))
            text_puts(&r->out, "\n");
        r->row = r->out.n;
    } else if ((!strcmp(word, "cell") || !strcmp(word, "nestcell")) && !s->skip)
        cell(r);
    else if ((!strcmp(word, "row") || !strcmp(word, "nestrow")) && !s->skip)
        end_row(r);
    else if (!strcmp(word, "footnote") && !s->skip) {
        put(r, " [", 2);
        s->note = true;
    }
}

/* A group that begins with \* is for programs that know it: text only in a few. */
static bool is_known(const char *p, const char *end)
{
    static const char *const known[] = { "\\shptxt", "\\shpinst", "\\fldrslt", "\\footnote" };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if ((size_t)(end - p) > strlen(known[i]) && !memcmp(p, known[i], strlen(known[i])))
            return true;
    return false;
}

static const char *escape(struct rtf *r, const char *p, const char *end)
{
    char   word[32];
    size_t n = 0;
    char  *stop;
    long   value = 0;
    bool   has;

    if (p == end)
        return p;
    if (*p == '\'') {
        char hex[3] = { 0 };

        if (end - p >= 3) {
            memcpy(hex, p + 1, 2);
            byte(r, (unsigned char)strtoul(hex, NULL, 16));
        }
        return end - p >= 3 ? p + 3 : end;
    }
    if (*p == '*') {
        r->s[r->depth].skip = r->s[r->depth].skip || !is_known(p + 1, end);
        return p + 1;
    }
    if (!isalpha((unsigned char)*p)) {
        if (*p == '~')
            put(r, " ", 1);
        else if (*p == '_')
            put(r, "-", 1);
        else if (strchr("\\{}", *p))
            byte(r, (unsigned char)*p);
        else if (*p == '\n' || *p == '\r')
            put(r, "\n", 1);
        return p + 1;
    }
    while (p < end && isalpha((unsigned char)*p) && n + 1 < sizeof word)
        word[n++] = *p++;
    word[n] = 0;
    has = p < end && (isdigit((unsigned char)*p) || (*p == '-' && end - p > 1 && isdigit((unsigned char)p[1])));
    if (has) {
        value = strtol(p, &stop, 10);           /* the text ends in a NUL */
        p = stop;
    }
    if (p < end && *p == ' ')
        p++;
    if (!strcmp(word, "bin") && has)
        return value < end - p ? p + (value > 0 ? value : 0) : end;
    control(r, word, has, value);
    return p;
}

int read_rtf(int fd, FILE *out, FILE *err)
{
    struct text t = { NULL, 0, 0 };
    struct rtf *r = grow(NULL, 1, sizeof *r);
    size_t      deeper = 0;
    const char *p, *end;
    int         code;

    memset(r, 0, sizeof *r);
    r->code_page = 1252;
    r->s[0].fallback = 1;
    code = child_text(fd, &t, err);
    if (code)
        t.n = 0;
    for (p = t.p, end = t.p + t.n; p < end;) {
        const char c = *p++;

        if (c == '{' && r->depth + 1 < DEEPEST) {
            convert(r);
            r->left = 0;
            r->s[r->depth + 1] = r->s[r->depth];
            r->s[++r->depth].note = false;
        } else if (c == '{') {
            deeper++;
        } else if (c == '}' && deeper) {
            deeper--;
        } else if (c == '}' && r->depth) {
            convert(r);
            r->left = 0;
            while (r->s[r->depth].note && ends_row(r))
                r->out.n--;
            if (r->s[r->depth].note)
                put(r, "]", 1);
            r->depth--;
        } else if (c == '\\') {
            p = escape(r, p, end);
        } else if (c != '\n' && c != '\r' && c) {
            byte(r, (unsigned char)c);
        }
    }
    convert(r);
    fwrite(r->out.p ? r->out.p : "", 1, r->out.n, out);
    if (r->depth)
        fprintf(err, "it ends too early\n");
    return code || r->depth > 0;
}
