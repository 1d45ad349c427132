/* SPDX-License-Identifier: BSD-2-Clause
 * args.c - see args.h */
#include "config.h"
#include <assert.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/options.h"
#include "src/cli/say.h"

enum { LONG = 256, COLUMNS = 79, HELP_AT = 26 };

size_t args_rows(const struct cmd *cmd, const struct opt **row)
{
    size_t n = 0;

    for (const struct opt *o = cmd->own; o && o->name; o++)
        row[n++] = o;
    for (const struct opt *o = options_table; o->name; o++) {
        assert(n < MAX_OPTS);
        if (o->takers & cmd->takes)
            row[n++] = o;
    }
    return n;
}

/* getopt only tells the last word and optopt about an option that it refused. */
static _Noreturn void refuse(const struct args *a, int why, const struct opt *o)
{
    const char *word = a->argv[optind - 1];

    if (why == ':')
        usage(a->cmd, "option '--%s' needs an argument: %s", o->name, o->arg);
    if (o && optopt >= LONG)
        usage(a->cmd, "option '--%s' takes no argument", o->name);
    if (optopt > 0 && optopt < LONG)
        usage(a->cmd, "unknown option '-%c'", optopt);
    usage(a->cmd, "unknown or ambiguous option '%s'", word);
}

/* getopt's state is global, and so is the command line. */
const struct opt *args_next(struct args *a)
{
    const struct opt *row[MAX_OPTS];
    const size_t      n = args_rows(a->cmd, row);
    struct option     longs[MAX_OPTS + 1] = { { NULL, 0, NULL, 0 } };
    char              letters[2 * MAX_OPTS + 2] = ":", *l = letters + 1;
    int               c, k;

    for (size_t i = 0; i < n; i++) {
        longs[i] = (struct option){ row[i]->name, row[i]->arg ? required_argument : no_argument,
                                    NULL, LONG + (int)i };
        if (row[i]->letter) {
            *l++ = row[i]->letter;
            if (row[i]->arg)
                *l++ = ':';
        }
    }
    *l = 0;
    opterr = 0;
    a->opt = NULL;
    c = getopt_long(a->argc, a->argv, letters, longs, NULL);
    if (c == -1)
        return NULL;
    k = c == '?' || c == ':' ? optopt : c;
    for (size_t i = 0; i < n; i++)
        if (k == LONG + (int)i || (row[i]->letter && k == row[i]->letter))
            a->opt = row[i];
    if (c == '?' || c == ':')
        refuse(a, c, a->opt);
    a->value = optarg;
    return a->opt;
}

/* ---- numbers ------------------------------------------------------------------------- */
void args_bad(const struct args *a, const char *expected)
{
    usage(a->cmd, "option '--%s': '%s' is not %s", a->opt->name, a->value, expected);
}

const char *parse_uint(const char *s, uint64_t lo, uint64_t hi, uint64_t *out)
{
    uint64_t v = 0;

    if (*s < '0' || *s > '9')
        return NULL;
    for (; *s >= '0' && *s <= '9'; s++) {
        uint64_t digit = (uint64_t)(*s - '0');

        if (v > (UINT64_MAX - digit) / 10)
            return NULL;
        v = v * 10 + digit;
    }
    *out = v;
    return v < lo || v > hi ? NULL : s;
}

const char *parse_real(const char *s, double lo, double hi, double *out)
{
    char   number[64], *end;
    size_t n = strspn(s, "0123456789.");

    /* strtod alone would also accept spaces, signs, hexadecimal and "nan". */
    if (n == 0 || n >= sizeof number)
        return NULL;
    memcpy(number, s, n);
    number[n] = 0;
    *out = strtod(number, &end);
    return *end || end == number || *out < lo || *out > hi ? NULL : s + n;
}

/* ---- kinds --------------------------------------------------------------------------- */
void opt_flag(const struct args *a, void *at)
{
    (void)a;
    *(bool *)at = true;
}

void opt_on(const struct args *a, void *at)
{
    (void)a;
    *(int *)at = 1;
}

void opt_text(const struct args *a, void *at)
{
    *(const char **)at = a->value;
}

void opt_file(const struct args *a, void *at)
{
    if (*(const char **)at)
        usage(a->cmd, "one file only");
    opt_text(a, at);
}

void opt_words(const struct args *a, void *at)
{
    struct words *w = at;

    w->v = grow(w->v, w->n + 1, sizeof *w->v);
    w->v[w->n++] = a->value;
}

void opt_choice(const struct args *a, void *at)
{
    const char *word = a->opt->arg;
    size_t      n = strlen(a->value), k;

    for (; *word; word += k + (word[k] == '|')) {
        k = strcspn(word, "|");
        if (k == n && !memcmp(word, a->value, n)) {
            opt_text(a, at);
            return;
        }
    }
    args_bad(a, format("one of %s", a->opt->arg));
}

void opt_u64(const struct args *a, void *at)
{
    const char *end = parse_uint(a->value, a->opt->lo, a->opt->hi, at);

    if (!end || *end)
        args_bad(a, format("a number from %" PRIu64 " to %" PRIu64, a->opt->lo, a->opt->hi));
}

void opt_u32(const struct args *a, void *at)
{
    uint64_t v;

    opt_u64(a, &v);
    *(uint32_t *)at = (uint32_t)v;
}

void opt_f32(const struct args *a, void *at)
{
    const double lo = (double)a->opt->lo, hi = (double)a->opt->hi;
    double       v = 0;
    const char  *end = parse_real(a->value, lo, hi, &v);

    if (!end || *end)
        args_bad(a, format("a number from %g to %g", lo, hi));
    *(float *)at = (float)v;
}

void opt_numbers(const struct args *a, void *at)
{
    struct numbers *out = at;
    const char     *s = a->value;

    for (out->n = 0; out->n < MAX_NUMBERS; s++) {
        s = parse_uint(s, a->opt->lo, a->opt->hi, &out->v[out->n++]);
        if (!s || (*s && *s != ','))
            break;
        if (!*s)
            return;
    }
    args_bad(a, format("a list of up to %d numbers from %" PRIu64 " to %" PRIu64
                       ", like 8192,32768", MAX_NUMBERS, a->opt->lo, a->opt->hi));
}

void opt_size(const struct args *a, void *at)
{
    static const char unit[] = "KMGT";
    uint64_t   *out = at;
    const char *end = parse_uint(a->value, 1, UINT64_MAX, out), *u;
    double      v = 0, bytes;

    if (end && !*end)
        return;
    end = parse_real(a->value, 0, 1e18, &v);
    u = end && *end ? strchr(unit, *end & ~0x20) : NULL;
    if (u && (!end[1] || !strcmp(end + 1, "iB") || !strcmp(end + 1, "B"))) {
        bytes = ldexp(v, 10 * (int)(u - unit + 1));
        if (bytes >= 1 && bytes < 0x1p63) {
            *out = (uint64_t)bytes;
            return;
        }
    }
    args_bad(a, "a size like 512M or 1.5G");
}

void opt_help(const struct args *a, void *at)
{
    (void)at;
    args_help(a->cmd);
    out_flush();
    exit(EXIT_DONE);
}

void opt_list(const struct args *a, void *at)
{
    (void)at;
    args_list(a->cmd);
    out_flush();
    exit(EXIT_DONE);
}

/* ---- help ---------------------------------------------------------------------------- */
void args_wrap(const char *text, size_t indent)
{
    size_t column = indent, k;

    while (*text) {
        k = strcspn(text, " ");
        if (column > indent && column + 1 + k > COLUMNS) {
            out_printf("\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            out_char(' ');
            column++;
        }
        out_bytes(text, k);
        column += k;
        text += k;
        text += strspn(text, " ");
    }
    out_char('\n');
}

static char *spelling(const struct opt *o)
{
    char letter[] = "-x, ";

    letter[1] = o->letter;
    return format("%s--%s%s%s", o->letter ? letter : "", o->name, o->arg ? " " : "",
                  o->arg ? o->arg : "");
}

/* The option's default: the command's own, or else the table's. */
static const char *default_of(const struct cmd *cmd, const struct opt *o)
{
    for (const struct opt_default *d = cmd->defaults; d && d->name; d++)
        if (!strcmp(d->name, o->name))
            return d->value;
    return o->def;
}

static void help_line(const struct opt *o, const char *def)
{
    char *s = spelling(o);
    char *text = def ? format("%s (default: %s)", o->help, def) : format("%s", o->help);
    int   n = 2 + (o->letter ? 0 : 4) + (int)strlen(s);

    out_printf("%*s%s", o->letter ? 2 : 6, "", s);
    if (n + 2 > HELP_AT)
        out_printf("\n%*s", HELP_AT, "");
    else
        out_printf("%*s", HELP_AT - n, "");
    args_wrap(text, HELP_AT);
    free(text);
    free(s);
}

void args_help(const struct cmd *cmd)
{
    const struct opt *row[MAX_OPTS];
    const size_t      n = args_rows(cmd, row);

    out_printf("Usage: gemkv %s %s\n\n%s.\n\nOptions:\n", cmd->name, cmd->synopsis,
               cmd->summary);
    for (size_t i = 0; i < n; i++)
        if (row[i]->help)
            help_line(row[i], default_of(cmd, row[i]));
    if (cmd->more_help)
        cmd->more_help();
}

void args_list(const struct cmd *cmd)
{
    const struct opt *row[MAX_OPTS];
    const size_t      n = args_rows(cmd, row);

    for (size_t i = 0; i < n; i++) {
        char *s = spelling(row[i]);

        if (row[i]->help)
            out_printf("%s\n", s);
        free(s);
    }
    for (const struct cmd *const *t = cmd->tasks; t && *t; t++)
        args_list(*t);
}
