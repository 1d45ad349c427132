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
#include "src/cli/args.h"
#include "src/cli/say.h"

enum { MAX_OPTS = 48, LONG = 256, COLUMNS = 79, HELP_AT = 26 };

static int argument(const struct opt *o)
{
    return o->arg ? required_argument : no_argument;
}

/* getopt says little about what it refused: the last word, and optopt. */
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

int args_next(struct args *a)
{
    const struct opt *row = a->cmd->opts, *o = NULL;
    struct option     longs[MAX_OPTS + 1] = { { NULL, 0, NULL, 0 } };
    char              letters[2 * MAX_OPTS + 2] = ":", *l = letters + 1;
    int               c;

    for (int i = 0; row[i].name; i++) {
        assert(i < MAX_OPTS);
        longs[i] = (struct option){ row[i].name, argument(&row[i]), NULL, LONG + i };
        if (row[i].letter) {
            *l++ = row[i].letter;
            if (row[i].arg)
                *l++ = ':';
        }
    }
    *l = 0;
    opterr = 0;
    c = getopt_long(a->argc, a->argv, letters, longs, NULL);
    if (c == -1)
        return 0;
    for (int i = 0; row[i].name; i++) {
        int k = c == '?' || c == ':' ? optopt : c;

        if (k == LONG + i || (row[i].letter && k == row[i].letter))
            o = &row[i];
    }
    if (c == '?' || c == ':')
        refuse(a, c, o);
    a->opt = o;
    a->value = optarg;
    if (o->id == OPT_HELP || o->id == OPT_LIST) {
        (o->id == OPT_HELP ? args_help : args_list)(a->cmd);
        out_flush();
        exit(EXIT_DONE);
    }
    return o->id;
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

    /* strtod alone would also take spaces, signs, hexadecimal and "nan". */
    if (n == 0 || n >= sizeof number)
        return NULL;
    memcpy(number, s, n);
    number[n] = 0;
    *out = strtod(number, &end);
    return *end || end == number || *out < lo || *out > hi ? NULL : s + n;
}

uint64_t args_uint(const struct args *a, uint64_t lo, uint64_t hi)
{
    char        range[96];
    uint64_t    v = 0;
    const char *end = parse_uint(a->value, lo, hi, &v);

    if (!end || *end) {
        snprintf(range, sizeof range, "a number from %" PRIu64 " to %" PRIu64, lo, hi);
        args_bad(a, range);
    }
    return v;
}

size_t args_uints(const struct args *a, uint64_t lo, uint64_t hi, uint64_t *v, size_t max)
{
    char        expected[128];
    const char *s = a->value;

    for (size_t n = 0; n < max; s++) {
        s = parse_uint(s, lo, hi, &v[n++]);
        if (!s || (*s && *s != ','))
            break;
        if (!*s)
            return n;
    }
    snprintf(expected, sizeof expected, "a list of up to %zu numbers from %" PRIu64 " to %"
             PRIu64 ", like 8192,32768", max, lo, hi);
    args_bad(a, expected);
}

double args_real(const struct args *a, double lo, double hi)
{
    char        range[96];
    double      v = 0;
    const char *end = parse_real(a->value, lo, hi, &v);

    if (!end || *end) {
        snprintf(range, sizeof range, "a number from %g to %g", lo, hi);
        args_bad(a, range);
    }
    return v;
}

uint64_t args_size(const struct args *a)
{
    static const char unit[] = "KMGT";
    const char *end, *u;
    double      v = 0, bytes;
    uint64_t    whole = 0;

    end = parse_uint(a->value, 1, UINT64_MAX, &whole);
    if (end && !*end)
        return whole;
    end = parse_real(a->value, 0, 1e18, &v);
    u = end && *end ? strchr(unit, *end & ~0x20) : NULL;
    if (u && (!end[1] || !strcmp(end + 1, "iB") || !strcmp(end + 1, "B"))) {
        bytes = ldexp(v, 10 * (int)(u - unit + 1));
        if (bytes >= 1 && bytes < 0x1p63)
            return (uint64_t)bytes;
    }
    args_bad(a, "a size like 512M or 1.5G");
}

const char *args_choice(const struct args *a)
{
    const char *word = a->opt->arg;
    size_t      n = strlen(a->value), k;
    char       *expected;

    for (; *word; word += k + (word[k] == '|')) {
        k = strcspn(word, "|");
        if (k == n && !memcmp(word, a->value, n))
            return a->value;
    }
    expected = format("one of %s", a->opt->arg);
    args_bad(a, expected);
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

void args_help(const struct cmd *cmd)
{
    out_printf("Usage: gemkv %s %s\n\n%s.\n\nOptions:\n", cmd->name, cmd->synopsis,
               cmd->summary);
    for (const struct opt *o = cmd->opts; o->name; o++) {
        char *s, *text;
        int   n;

        if (!o->help)
            continue;
        s = spelling(o);
        n = 2 + (o->letter ? 0 : 4) + (int)strlen(s);
        out_printf("%*s%s", o->letter ? 2 : 6, "", s);
        if (n + 2 > HELP_AT)
            out_printf("\n%*s", HELP_AT, "");
        else
            out_printf("%*s", HELP_AT - n, "");
        text = o->def ? format("%s (default: %s)", o->help, o->def) : format("%s", o->help);
        args_wrap(text, HELP_AT);
        free(text);
        free(s);
    }
    if (cmd->more_help)
        cmd->more_help();
}

void args_list(const struct cmd *cmd)
{
    for (const struct opt *o = cmd->opts; o->name; o++) {
        char *s = spelling(o);

        if (o->help)
            out_printf("%s\n", s);
        free(s);
    }
    for (const struct cmd *const *t = cmd->tasks; t && *t; t++)
        args_list(*t);
}
