/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-tokenize.c - text to token ids and back */
#include "config.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemkv.h>
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

/* Parses text, a JSON array of ids, NUL-terminated.  Returns how many there are, or dies with code. */
static size_t parse_ids(const char *text, uint32_t **ids, int code)
{
    const char *s = skip_space(text), *next;
    size_t      n = 0, room = 0;
    uint64_t    id;

    if (*s != '[')
        goto bad;
    s = skip_space(s + 1);
    while (*s != ']') {
        next = parse_uint(s, 0, UINT32_MAX, &id);
        if (!next)
            goto bad;
        if (n == room) {
            room = 2 * room + 64;
            *ids = grow(*ids, room, sizeof **ids);
        }
        (*ids)[n++] = (uint32_t)id;
        s = skip_space(next);
        if (*s == ',' && *skip_space(s + 1) != ']')
            s = skip_space(s + 1);
        else if (*s != ']')
            goto bad;
    }
    s = skip_space(s + 1);
    if (!*s)
        return n;
bad:
    die(code, "tokenize: byte %zu is not part of a JSON array of token ids like [1, 2, 3]",
        (size_t)(s - text));
}

static gkv_status decode(const gkv_model *model, const char *in, int code, gkv_error *err)
{
    uint32_t  *ids = NULL;
    size_t     n = parse_ids(in, &ids, code), len = 0;
    char      *text = NULL;
    gkv_status status = gkv_detokenize(model, ids, n, &text, &len, err);

    if (!status)
        out_text(text, len);
    free(text);
    free(ids);
    return status;
}

static gkv_status encode(const gkv_model *model, const char *text, size_t len,
                         unsigned flags, gkv_error *err)
{
    uint32_t  *ids = NULL;
    size_t     n = 0;
    struct json j = { .depth = 0 };
    gkv_status status = gkv_tokenize(model, text, len, flags, &ids, &n, err);

    if (!status) {
        json_open(&j, '[');
        for (size_t i = 0; i < n; i++)
            json_uint(&j, ids[i]);
        json_close(&j);
        json_print(&j);
    }
    free(ids);
    return status;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct tokenize t = { .decode = false };
    const char     *file, *arg;
    char           *path, *text = NULL;
    size_t          len = 0;
    gkv_model      *model = NULL;
    gkv_error       err = { 0 };
    gkv_status      status;
    int             code = 0;

    options_parse(&t.o, self, argc, argv);
    file = t.o.text;
    arg = t.o.n_operand ? *t.o.operand : NULL;
    if (t.o.n_operand > 1)
        usage(self, "one text only, in quotes");
    if (arg && file)
        usage(self, "text or -f, not both");
    if (!arg && !file) {
        if (isatty(STDIN_FILENO))
            usage(self, "no text; give it as an argument, with -f, or on standard input");
        file = "-";
    }

    path = run_model_path(&t.o);
    status = gkv_model_open(&model, path, GKV_MODEL_VOCAB_ONLY, &err);
    free(path);
    if (status)
        return fail_library(status, &err, NULL);
    if (arg) {
        text = format("%s", arg);
        len = strlen(text);
    } else {
        code = input_slurp(file, &text, &len);
    }
    if (!code) {
        status = t.decode
               ? decode(model, text, arg ? EXIT_USAGE : EXIT_DOCUMENT, &err)
               : encode(model, text, len, t.special ? GKV_TOKENS_SPECIAL : 0, &err);
        if (status)
            code = fail_library(status, &err, file ? input_name(file) : NULL);
    }
    out_flush();
    gkv_model_close(model);
    free(text);
    return code;
}

const struct cmd cmd_tokenize = {
    .name = "tokenize", .summary = "Turn text into token ids, or back",
    .synopsis = "[options] [TEXT]", .takes = FOR_TOKENIZE, .own = own, .run = run
};
