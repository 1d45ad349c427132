/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-models.c - list the models on this machine, and whether they work */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <gemkv.h>
#include "src/cli/confine.h"
#include "src/cli/json.h"
#include "src/cli/options.h"
#include "src/cli/places.h"
#include "src/cli/say.h"
#include "src/cli/view.h"

/* What is said of one: the model, or why it does not work. */
struct look {
    gkv_model     *model;
    gkv_model_info info;
    gkv_error      err;
    const char    *why;                 /* without the file's name                        */
    uint64_t       bytes;
};

static void look_at(struct look *l, const struct found *f)
{
    const size_t n = strlen(f->path);
    struct stat  st;

    *l = (struct look){ .bytes = stat(f->path, &st) ? 0 : (uint64_t)st.st_size };
    if (!gkv_model_open(&l->model, f->path, 0, &l->err)) {
        gkv_model_describe(l->model, &l->info);
        l->bytes = l->info.file_bytes;
        return;
    }
    l->why = l->err.text;
    if (!strncmp(l->why, f->path, n) && !strncmp(l->why + n, ": ", 2))
        l->why += n + 2;
}

static void line(struct io *io, const struct found *f, const struct look *l)
{
    char *size = view_bytes(l->bytes), *text;

    if (l->why)
        text = format("%s, %s: does not work: %s", f->place, size, l->why);
    else
        text = format("%s, %s, %s, %s: works", f->place, size, l->info.architecture, l->info.types);
    out_text(io, f->name, strlen(f->name));
    out_printf(io, "\n    ");
    out_text(io, text, strlen(text));
    out_char(io, '\n');
    free(text);
    free(size);
}

static void object(struct json *j, const struct found *f, const struct look *l)
{
    json_open(j, '{');
    json_named_string(j, "model", f->name);
    json_named_string(j, "file", f->path);
    json_named_string(j, "place", f->place);
    json_named_uint(j, "bytes", l->bytes);
    json_named_string(j, "name", l->info.name);
    json_named_string(j, "architecture", l->info.architecture);
    json_named_string(j, "types", l->info.types);
    json_key(j, "works");
    json_bool(j, !l->why);
    json_named_string(j, "problem", l->why);
    json_close(j);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct options o = { .model = NULL };
    struct models  m = { NULL, 0, true };
    struct json    j = { .depth = 0 };
    int            code = options_parse(&o, self, io, argc, argv);

    if (!code && o.n_operand)
        code = usage(io, self, "it takes no names; 'gemkv info MODEL' describes one");
    if (!code) {
        confine(&o, NULL);
        places_search(&m);
    }
    if (!code && o.json) {
        json_open(&j, '{');
        json_named_open(&j, "models", '[');
    }
    for (size_t i = 0; i < m.n && !code; i++) {
        struct look l;

        look_at(&l, &m.v[i]);
        if (o.json)
            object(&j, &m.v[i], &l);
        else
            line(io, &m.v[i], &l);
        gkv_model_close(l.model);
    }
    if (!code && o.json) {
        json_close(&j);
        json_close(&j);
        json_print(io, &j);
    }
    if (!code && !m.all)
        warn(io, "there are more files than were looked at");
    if (!code && !m.n && !o.json)
        say(io, "no models found; man gemkv-models, or: hf download Qwen/Qwen3-4B-GGUF --include "
            "'*Q4_K_M*.gguf' --local-dir .");
    text_free(&j.text);
    places_free(&m);
    options_free(&o);
    return code;
}

const struct cmd cmd_models = {
    .name = "models", .summary = "List the models on this machine, and whether they work",
    .synopsis = "[--json]",
    .needs = NEEDS_ANY_FILE, .takes = FOR_MODELS, .run = run
};
