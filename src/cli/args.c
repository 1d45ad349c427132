/* SPDX-License-Identifier: BSD-2-Clause
 * args.c - see args.h */
#include "config.h"
#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/model-name.h"
#include "src/cli/options.h"
#include "src/cli/say.h"

enum { COLUMNS = 79, HELP_AT = 26 };

void words_add(struct words *w, const char *word)
{
    w->v = grow(w->v, w->n + 1, sizeof *w->v);
    w->v[w->n++] = word;
}

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

/* The row of that name, or of the only name that begins so; or NULL.  *n_found: how many do. */
static const struct opt *long_row(const struct opt *const *row, size_t n, const char *name, size_t len,
                                  size_t *n_found)
{
    const struct opt *found = NULL;

    *n_found = 0;
    for (size_t i = 0; i < n; i++) {
        if (strncmp(row[i]->name, name, len))
            continue;
        if (!row[i]->name[len])
            return row[i];
        found = row[i];
        *n_found += found->help != NULL;
    }
    return *n_found == 1 ? found : NULL;
}

/* The names of the rows that begin with name[len], with dashes before each: " --keep --keep-first"; for free(). */
static char *names(const struct opt *const *row, size_t n, const char *dashes, const char *name, size_t len)
{
    char *all = format("%s", ""), *more;

    for (size_t i = 0; i < n; i++) {
        if (!row[i]->help || strncmp(row[i]->name, name, len))
            continue;
        more = format("%s %s%s", all, dashes, row[i]->name);
        free(all);
        all = more;
    }
    return all;
}

/* ---- what others call it --------------------------------------------------------------- */
/* Options of llama.cpp and Ollama that people type from habit, and what to do instead. */
static const struct { const char *name, *instead; } elsewhere[] = {
    { "-hf", NULL }, { "-hfr", NULL }, { "--hf", NULL }, { "--hf-repo", NULL },
    { "-p", "the question needs no option: write it last, in quotes" },
    { "--prompt", "the question needs no option: write it last, in quotes" },
    { "-ngl", "a GPU is used if there is one; --device cuda asks for it" },
    { "--gpu-layers", "a GPU is used if there is one; --device cuda asks for it" },
    { "--n-gpu-layers", "a GPU is used if there is one; --device cuda asks for it" },
    { "--ctx-size", "documents may have any length; -c N refuses longer ones" },
    { "--n-predict", "the longest answer is -n N" },
    { "--temp", "it is --temperature here" },
    { "--model-url", "gemkv does not download; give a file with -m" },
    { "-mu", "gemkv does not download; give a file with -m" },
    { "-cnv", "a conversation is 'gemkv chat'" },
    { "--conversation", "a conversation is 'gemkv chat'" },
    { "-sys", "it is --system here" },
    { "-fa", "attention is always computed in tiles" },
    { "--flash-attn", "attention is always computed in tiles" },
    { "-ctk", "it is --kv-type here" },
    { "--cache-type-k", "it is --kv-type here" }
};

/* Says what to do instead of an option of another program.  0: it is none. */
static int from_elsewhere(const struct args *a, const char *word)
{
    const size_t n = strcspn(word, "=");
    const char  *value = word[n] ? word + n + 1 : a->at < a->argc ? a->argv[a->at] : NULL;

    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        if (strlen(elsewhere[i].name) != n || memcmp(elsewhere[i].name, word, n))
            continue;
        if (elsewhere[i].instead)
            return usage(a->io, a->cmd, "no option '%.*s'; %s", (int)n, word, elsewhere[i].instead);
        return name_of_hub(a->io, value);
    }
    return 0;
}

static int no_long(const struct args *a, const struct opt *const *row, size_t n, const char *word, size_t n_found)
{
    const size_t len = strcspn(word, "=");
    char        *all = names(row, n, n_found ? "--" : "", word + 2, n_found ? len - 2 : 0);
    size_t       k = 0;
    const char  *near = gkv_nearest(all, word + 2, len - 2, &k);
    int          code = n_found ? 0 : from_elsewhere(a, word);

    if (code)
        ;
    else if (n_found)
        code = usage(a->io, a->cmd, "option '%.*s' may be any of%s", (int)len, word, all);
    else if (near)
        code = usage(a->io, a->cmd, "unknown option '%.*s' (did you mean --%.*s?)", (int)len, word, (int)k, near);
    else
        code = usage(a->io, a->cmd, "unknown option '%.*s'", (int)len, word);
    free(all);
    return code;
}

/* joined: the argument in the option's own word, or NULL; then it is the next word. */
static int take(struct args *a, const char *joined)
{
    if (!a->opt->arg)
        return joined ? usage(a->io, a->cmd, "option '--%s' takes no argument", a->opt->name) : 0;
    if (*a->opt->arg == '[') {                  /* only joined                            */
        a->value = joined;
        return 0;
    }
    if (!joined && a->at == a->argc)
        return usage(a->io, a->cmd, "option '--%s' needs an argument: %s", a->opt->name, a->opt->arg);
    a->value = joined ? joined : a->argv[a->at++];
    return 0;
}

static int long_option(struct args *a, const struct opt *const *row, size_t n, const char *word)
{
    const size_t len = strcspn(word + 2, "=");
    size_t       n_found;

    a->opt = long_row(row, n, word + 2, len, &n_found);
    if (!a->opt)
        return no_long(a, row, n, word, n_found);
    return take(a, word[2 + len] ? word + 2 + len + 1 : NULL);
}

static int letter(struct args *a, const struct opt *const *row, size_t n)
{
    const char c = *a->letters++, *rest = *a->letters ? a->letters : NULL;

    for (size_t i = 0; i < n && !a->opt; i++)
        if (row[i]->letter == c)
            a->opt = row[i];
    if (!a->opt)
        return usage(a->io, a->cmd, "unknown option '-%c'", c);
    if (!a->opt->arg)
        return 0;
    a->letters = "";
    return take(a, rest);
}

static bool has_letter(const struct opt *const *row, size_t n, char c)
{
    for (size_t i = 0; i < n; i++)
        if (row[i]->letter == c)
            return true;
    return false;
}

/* -hf is not -h, and -method is not -m with the file "ethod": one dash too few is said.  0: it is letters. */
static int single_dash(const struct args *a, const struct opt *const *row, size_t n, const char *word)
{
    const size_t len = strcspn(word + 1, "=");
    size_t       n_found;
    int          code = has_letter(row, n, word[1]) && !word[2] ? 0 : from_elsewhere(a, word);

    const struct opt *o = code || len < 4 ? NULL : long_row(row, n, word + 1, len, &n_found);

    if (o && !o->name[len])
        code = usage(a->io, a->cmd, "option '%s' has two dashes: '-%s'", word, word);
    return code;
}

int args_next(struct args *a)
{
    const struct opt *row[MAX_OPTS];
    const size_t      n = args_rows(a->cmd, row);

    a->opt = NULL;
    a->value = NULL;
    if (a->letters && *a->letters)
        return letter(a, row, n);
    while (a->at < a->argc) {
        const char *word = a->argv[a->at++];

        if (a->ended || word[0] != '-' || !word[1]) {
            words_add(&a->operand, word);
        } else if (!strcmp(word, "--")) {
            a->ended = true;
        } else if (word[1] == '-') {
            return long_option(a, row, n, word);
        } else {
            const int code = single_dash(a, row, n, word);

            a->letters = word + 1;
            return code ? code : letter(a, row, n);
        }
    }
    return 0;
}

/* ---- numbers ------------------------------------------------------------------------- */
int args_bad(const struct args *a, const char *expected)
{
    return usage(a->io, a->cmd, "option '--%s': '%s' is not %s", a->opt->name, a->value, expected);
}

static int bad(const struct args *a, char *expected)
{
    int code = args_bad(a, expected);

    free(expected);
    return code;
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
    size_t sign = lo < 0 && *s == '-', n = sign + strspn(s + sign, "0123456789.");

    /* strtod alone would also accept spaces, signs, hexadecimal and "nan". */
    if (n == sign || n >= sizeof number)
        return NULL;
    memcpy(number, s, n);
    number[n] = 0;
    *out = strtod(number, &end);
    return *end || *out < lo || *out > hi ? NULL : s + n;
}

/* ---- kinds --------------------------------------------------------------------------- */
int opt_flag(const struct args *a, void *at)
{
    (void)a;
    *(bool *)at = true;
    return 0;
}

int opt_on(const struct args *a, void *at)
{
    (void)a;
    *(int *)at = 1;
    return 0;
}

int opt_text(const struct args *a, void *at)
{
    *(const char **)at = a->value;
    return 0;
}

int opt_file(const struct args *a, void *at)
{
    if (*(const char **)at)
        return usage(a->io, a->cmd, "one file only");
    return opt_text(a, at);
}

int opt_words(const struct args *a, void *at)
{
    words_add(at, a->value);
    return 0;
}

int opt_choice(const struct args *a, void *at)
{
    const char *word = a->opt->arg, *near;
    size_t      n = strlen(a->value), k;
    char       *list;
    int         code;

    for (; *word; word += k + (word[k] == '|')) {
        k = strcspn(word, "|");
        if (k == n && !memcmp(word, a->value, n))
            return opt_text(a, at);
    }
    list = format("%s", a->opt->arg);
    for (char *p = list; (p = strchr(p, '|')); )
        *p = ' ';
    near = gkv_nearest(list, a->value, n, &k);
    code = bad(a, near ? format("one of %s (did you mean %.*s?)", a->opt->arg, (int)k, near)
                       : format("one of %s", a->opt->arg));
    free(list);
    return code;
}

int opt_u64(const struct args *a, void *at)
{
    const char *end = parse_uint(a->value, a->opt->lo, a->opt->hi, at);

    if (!end || *end)
        return bad(a, format("a number from %" PRIu64 " to %" PRIu64, a->opt->lo, a->opt->hi));
    return 0;
}

int opt_u32(const struct args *a, void *at)
{
    uint64_t v = 0;
    int      code = opt_u64(a, &v);

    if (!code)
        *(uint32_t *)at = (uint32_t)v;
    return code;
}

int opt_f32(const struct args *a, void *at)
{
    const double lo = (double)(int64_t)a->opt->lo, hi = (double)a->opt->hi;
    double       v = 0;
    const char  *end = parse_real(a->value, lo, hi, &v);

    if (!end || *end)
        return bad(a, format("a number from %g to %g", lo, hi));
    *(float *)at = (float)v;
    return 0;
}

int opt_numbers(const struct args *a, void *at)
{
    struct numbers *out = at;
    const char     *s = a->value;

    for (out->n = 0; out->n < MAX_NUMBERS; s++) {
        s = parse_uint(s, a->opt->lo, a->opt->hi, &out->v[out->n++]);
        if (!s || (*s && *s != ','))
            break;
        if (!*s)
            return 0;
    }
    return bad(a, format("a list of up to %d numbers from %" PRIu64 " to %" PRIu64
                         ", like 8192,32768", MAX_NUMBERS, a->opt->lo, a->opt->hi));
}

int opt_size(const struct args *a, void *at)
{
    static const char unit[] = "KMGT";
    uint64_t   *out = at;
    const char *end = parse_uint(a->value, 1, UINT64_MAX, out), *u;
    double      v = 0, bytes;

    if (end && !*end)
        return 0;
    end = parse_real(a->value, 0, 1e18, &v);
    u = end && *end ? strchr(unit, *end & ~0x20) : NULL;
    if (u && (!end[1] || !strcmp(end + 1, "iB") || !strcmp(end + 1, "B"))) {
        bytes = ldexp(v, 10 * (int)(u - unit + 1));
        if (bytes >= 1 && bytes < 0x1p63) {
            *out = (uint64_t)bytes;
            return 0;
        }
    }
    return args_bad(a, "a size like 512M or 1.5G");
}

int opt_help(const struct args *a, void *at)
{
    (void)at;
    args_help(a->io, a->cmd);
    return EXIT_SHOWN;
}

int opt_list(const struct args *a, void *at)
{
    (void)at;
    args_list(a->io, a->cmd);
    return EXIT_SHOWN;
}

/* ---- help ---------------------------------------------------------------------------- */
void args_wrap(struct io *io, const char *text, size_t indent)
{
    size_t column = indent, k;

    while (*text) {
        k = strcspn(text, " ");
        if (column > indent && column + 1 + k > COLUMNS) {
            out_printf(io, "\n%*s", (int)indent, "");
            column = indent;
        } else if (column > indent) {
            out_char(io, ' ');
            column++;
        }
        out_bytes(io, text, k);
        column += k;
        text += k;
        text += strspn(text, " ");
    }
    out_char(io, '\n');
}

static char *spelling(const struct opt *o)
{
    char letter[] = "-x, ";

    letter[1] = o->letter;
    return format("%s--%s%s%s", o->letter ? letter : "", o->name, o->arg && *o->arg != '[' ? " " : "",
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

static void help_line(struct io *io, const struct opt *o, const char *def)
{
    char *s = spelling(o);
    char *text = def ? format("%s (default: %s)", o->help, def) : format("%s", o->help);
    int   n = 2 + (o->letter ? 0 : 4) + (int)strlen(s);

    out_printf(io, "%*s%s", o->letter ? 2 : 6, "", s);
    if (n + 2 > HELP_AT)
        out_printf(io, "\n%*s", HELP_AT, "");
    else
        out_printf(io, "%*s", HELP_AT - n, "");
    args_wrap(io, text, HELP_AT);
    free(text);
    free(s);
}

void args_help(struct io *io, const struct cmd *cmd)
{
    const struct opt *row[MAX_OPTS];
    const size_t      n = args_rows(cmd, row);

    out_printf(io, "Usage: gemkv %s %s\n\n%s.\n\nOptions:\n", cmd->name, cmd->synopsis,
               cmd->summary);
    for (size_t i = 0; i < n; i++)
        if (row[i]->help)
            help_line(io, row[i], default_of(cmd, row[i]));
    if (cmd->more_help)
        cmd->more_help(io);
}

void args_list(struct io *io, const struct cmd *cmd)
{
    const struct opt *row[MAX_OPTS];
    const size_t      n = args_rows(cmd, row);

    for (size_t i = 0; i < n; i++) {
        char *s = spelling(row[i]);

        if (row[i]->help)
            out_printf(io, "%s\n", s);
        free(s);
    }
    for (const struct cmd *const *t = cmd->tasks; t && *t; t++)
        args_list(io, *t);
}
