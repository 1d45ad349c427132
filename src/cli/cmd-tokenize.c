/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-tokenize.c - text to token ids and back */
#include "config.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemkv.h>
#include "src/cli/confine.h"
#include "src/cli/input.h"
#include "src/cli/json.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

struct tokenize {
    struct options o;                   /* must be first */
    bool           decode, special;
};

static const struct opt own[] = {
    { 0, 0, "decode", NULL, NULL, "turn a JSON array of ids into their text",
      opt_flag, offsetof(struct tokenize, decode), 0, 0 },
    { 0, 0, "special", NULL, NULL,
      "parse special tokens, and begin with the token that begins a text",
      opt_flag, offsetof(struct tokenize, special), 0, 0 },
    { .name = NULL }
};

static const char *skip_space(const char *s)
{
    return s + strspn(s, " \t\r\n");
}

/* Parses text, a JSON array of *n ids, NUL-terminated.  0, or `wrong` after saying why. */
static int parse_ids(struct io *io, const char *text, uint32_t **ids, size_t *n, int wrong)
{
    const char *s = skip_space(text), *next;
    size_t      room = 0;
    uint64_t    id;

    if (*s != '[')
        goto bad;
    s = skip_space(s + 1);
    while (*s != ']') {
        next = parse_uint(s, 0, UINT32_MAX, &id);
        if (!next)
            goto bad;
        if (*n == room) {
            room = 2 * room + 64;
            *ids = grow(*ids, room, sizeof **ids);
        }
        (*ids)[(*n)++] = (uint32_t)id;
        s = skip_space(next);
        if (*s == ',' && *skip_space(s + 1) != ']')
            s = skip_space(s + 1);
        else if (*s != ']')
            goto bad;
    }
    s = skip_space(s + 1);
    if (!*s)
        return 0;
bad:
    return fail(io, wrong, "tokenize: byte %zu is not part of a JSON array of token ids like [1, 2, 3]",
                (size_t)(s - text));
}

/* wrong: exit status for a text that is no array of ids. */
static int decode(struct io *io, const gkv_model *model, const char *in, int wrong, const char *about)
{
    uint32_t  *ids = NULL;
    size_t     n = 0, len = 0;
    char      *text = NULL;
    gkv_error  err = { 0 };
    gkv_status status;
    int        code = parse_ids(io, in, &ids, &n, wrong);

    if (!code) {
        status = gkv_detokenize(model, ids, n, &text, &len, &err);
        code = status ? fail_library(io, status, &err, about) : 0;
    }
    if (!code)
        out_text(io, text, len);
    free(text);
    free(ids);
    return code;
}

static int encode(struct io *io, const gkv_model *model, const char *text, size_t len,
                  unsigned flags, const char *about)
{
    uint32_t  *ids = NULL;
    size_t     n = 0;
    struct json j = { .depth = 0 };
    gkv_error  err = { 0 };
    gkv_status status = gkv_tokenize(model, text, len, flags, &ids, &n, &err);

    if (!status) {
        json_open(&j, '[');
        for (size_t i = 0; i < n; i++)
            json_uint(&j, ids[i]);
        json_close(&j);
        json_print(io, &j);
    }
    free(ids);
    return status ? fail_library(io, status, &err, about) : 0;
}

static int check(struct tokenize *t)
{
    const char *arg = t->o.n_operand ? *t->o.operand : NULL;

    if (t->o.n_operand > 1)
        return usage(t->o.io, t->o.cmd, "one text only, in quotes");
    if (arg && t->o.text)
        return usage(t->o.io, t->o.cmd, "text or -f, not both");
    if (!arg && !t->o.text && isatty(STDIN_FILENO))
        return usage(t->o.io, t->o.cmd, "no text; give it as an argument, with -f, or on standard input");
    if (!arg && !t->o.text)
        t->o.text = "-";
    return 0;
}

static int work(const struct tokenize *t, const gkv_model *model)
{
    const char *file = t->o.text, *about = file ? input_name(file) : NULL;
    char       *text = NULL;
    size_t      len = 0;
    int         code = 0;

    if (file) {
        code = input_slurp(t->o.io, file, &text, &len);
        confine_read(&t->o);
    } else {
        text = format("%s", *t->o.operand);
        len = strlen(text);
    }
    if (!code)
        code = t->decode ? decode(t->o.io, model, text, file ? EXIT_DOCUMENT : EXIT_USAGE, about)
                         : encode(t->o.io, model, text, len, t->special ? GKV_TOKENS_SPECIAL : 0, about);
    free(text);
    return code;
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct tokenize t = { .decode = false };
    char           *path = NULL;
    gkv_model      *model = NULL;
    gkv_error       err = { 0 };
    gkv_status      status;
    int             code = options_parse(&t.o, self, io, argc, argv);

    if (!code)
        code = check(&t);
    if (!code)
        code = run_model_path(&t.o, &path);
    if (!code) {
        confine(&t.o, path);
        status = gkv_model_open(&model, path, GKV_MODEL_VOCAB_ONLY, &err);
        code = status ? fail_library(io, status, &err, NULL) : work(&t, model);
    }
    gkv_model_close(model);
    options_free(&t.o);
    free(path);
    return code;
}

const struct cmd cmd_tokenize = {
    .name = "tokenize", .summary = "Turn text into token ids, or back",
    .synopsis = "[options] [TEXT]", .needs = NEEDS_PROGRAMS, .takes = FOR_TOKENIZE, .own = own, .run = run
};
