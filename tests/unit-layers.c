/* SPDX-License-Identifier: BSD-2-Clause
 * unit-layers.c - the layer table: keys of the file come before the papers' layers, and those before
 * the rule. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/model/arch.h"
#include "src/model/layers.h"
#include "tests/tap.h"

static gkv_error err;

/* Layers of the models made here: none has a window. */
static struct gkv__layer_weights layers[64];

static gkv_model *open_model(const char *name)
{
    gkv_model *m = NULL;
    char       path[512];

    snprintf(path, sizeof path, "%s/%s", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err) != GKV_OK)
        printf("# %s\n", err.text);
    return m;
}

int main(void)
{
    /* The table of the papers' layers, and the rule floor(0.47 L), floor(L/2) - 1 for others. */
    static const struct {
        const char *what, *arch;
        uint32_t    n_layer, n_embd, n_ff, n_vocab, filter, tsp;
        const char *filter_source, *tsp_source;
    } row[] = {
        { "Llama-3.1-8B",   "llama", 32, 4096, 14336, 128256, 13, 15, "paper", "paper" },
        { "one more token", "llama", 32, 4096, 14336, 128264, 13, 15, "paper", "paper" },
        { "Mistral-7B",     "llama", 32, 4096, 14336,  32768, 15, 15, "rule",  "rule" },
        { "Mistral-Nemo",   "llama", 40, 5120, 14336, 131072, 19, 19, "paper", "FastKV" },
        { "Llama-2-13B",    "llama", 40, 5120, 13824,  32000, 18, 19, "rule",  "rule" },
        { "Ministral-8B",   "llama", 36, 4096, 12288, 131072, 17, 17, "paper", "paper" },
        { "Phi-3.5-mini",   "phi3",  32, 3072,  8192,  32064, 19, 19, "paper", "filter" },
        { "Qwen2.5-7B",     "qwen2", 28, 3584, 18944, 152064, 14, 14, "paper", "paper" },
        { "Qwen2.5-0.5B",   "qwen2", 24,  896,  4864, 151936, 11, 11, "rule",  "rule" },
        { "Llama-3.2-1B",   "llama", 16, 2048,  8192, 128256,  7,  7, "rule",  "rule" },
        { "two layers",     "llama",  2,   64,   128,    300,  0,  0, "rule",  "rule" },
        { "one layer",      "llama",  1,   64,   128,    300,  0,  0, "rule",  "rule" },
    };
    struct gkv__arch arch = { .name = "llama" };
    gkv_model       *m;

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    m = open_model("tests/files/golden/llama3.gguf");
    for (size_t i = 0; m && i < sizeof row / sizeof *row; i++) {
        const struct gkv__arch    *was = m->arch;
        struct gkv__layer_weights *own = m->layer;

        arch.name = row[i].arch;
        m->arch = &arch;
        m->layer = layers;
        m->shape.n_layer = row[i].n_layer;
        m->shape.n_embd = row[i].n_embd;
        m->shape.n_ff = row[i].n_ff;
        m->shape.n_vocab = row[i].n_vocab;
        ok(gkv__layer_table(m, &err) == GKV_OK && m->filter_layer == row[i].filter &&
           m->tsp_layer == row[i].tsp && strstr(m->filter_layer_source, row[i].filter_source) &&
           strstr(m->tsp_layer_source, row[i].tsp_source), "%s: %u (%s), %u (%s)", row[i].what,
           m->filter_layer, m->filter_layer_source, m->tsp_layer, m->tsp_layer_source);
        m->arch = was;
        m->layer = own;
    }
    ok(m != NULL, "a file that says nothing");
    gkv_model_close(m);

    m = open_model("data/gemkv-mini-q8_0.gguf");
    ok(m && m->filter_layer == 6 && !strcmp(m->filter_layer_source, "file") && m->tsp_layer == 6,
       "the bundled model says layer 6, and nothing of the other");
    if (m) {
        struct gkv__layer_weights *own = m->layer;

        m->layer = layers;
        m->shape = (struct gkv__shape){ .n_layer = 32, .n_embd = 4096, .n_ff = 14336,
                                        .n_vocab = 128256 };
        ok(gkv__layer_table(m, &err) == GKV_OK && m->filter_layer == 6 && m->tsp_layer == 15,
           "the file comes before the papers");
        m->shape.n_layer = 6;
        ok(gkv__layer_table(m, &err) == GKV_FORMAT, "refused: %s", err.text);
        m->layer = own;
    }
    gkv_model_close(m);
    return done();
}
