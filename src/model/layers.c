/* SPDX-License-Identifier: BSD-2-Clause
 * layers.c - see layers.h
 *
 * Layers are counted from 0; -1: nobody has measured this layer.  Papers:
 *   GemFilter   Shi et al. 2024, "Discovering the Gems in Early Layers"
 *   FastKV      Jo et al. 2025, "FastKV: KV Cache Compression for Fast Long-Context Processing ..."
 *   ASL         Taniguchi et al. 2026, "Adaptive Layer Selection for Layer-Wise Token Pruning ..." */
#include "config.h"
#include <string.h>
#include "src/model/arch.h"
#include "src/model/layers.h"

/* A model is recognised by its architecture and shape, which fine-tunes share.  Fine-tunes may add
 * tokens, so the vocabulary has a minimum only; it tells Llama 3 from Mistral 7B. */
static const struct known {
    const char *arch;
    uint32_t    n_layer, n_embd, n_ff, min_vocab;
    int32_t     filter, tsp;
    const char *filter_source, *tsp_source;
} known[] = {
    /* Llama 3 and 3.1 8B, and models trained from them: Nemotron UltraLong, DeepSeek-R1-Distill */
    { "llama", 32, 4096, 14336, 128000, 13, 15, "paper: GemFilter D.1", "paper: FastKV 5.1" },
    /* Mistral-Nemo 12B */
    { "llama", 40, 5120, 14336, 131072, 19, 19, "paper: GemFilter D.1", "FastKV's code" },
    /* Ministral 8B */
    { "llama", 36, 4096, 12288, 131072, 17, 17, "paper: FastKV 5.1", "paper: FastKV 5.1" },
    /* Phi-3.5-mini */
    { "phi3",  32, 3072,  8192,  32000, 19, -1, "paper: GemFilter D.1", NULL },
    /* Qwen2.5 7B */
    { "qwen2", 28, 3584, 18944, 150000, 14, 14, "paper: ASL C.2", "paper: ASL C.2" },
};

static bool sees_all(uint32_t limit, uint32_t context)
{
    return !limit || limit >= context;
}

/* il, or the next layer that attends over the whole text: keys of layers with a window or chunks are not
 * trained to be compared with distant queries. */
static uint32_t far_sighted(const struct gkv_model *m, uint32_t il)
{
    for (uint32_t i = il; i < m->shape.n_layer; i++)
        if (gkv__can_filter(m, i) && sees_all(m->layer[i].window, m->shape.context) &&
            sees_all(m->layer[i].chunk, m->shape.context))
            return i;
    for (uint32_t i = m->shape.n_layer; i-- > 0;)       /* none behind it: one before it */
        if (gkv__can_filter(m, i))
            return i;
    return il;
}

static const char by_rule_filter[] = "rule: 0.47 of the depth; try gemkv calibrate";
static const char by_rule_tsp[] = "rule: half of the depth; try gemkv calibrate";

static const char by_rule_uneven[] = "rule: 0.47 of the depth";

static void by_rule(struct gkv_model *m)
{
    const uint32_t n = m->shape.n_layer;

    m->filter_layer = far_sighted(m, (uint32_t)(0.47 * n));
    m->filter_layer_source = gkv__is_even(m) ? by_rule_filter : by_rule_uneven;     /* calibrate compares heads */
    m->tsp_layer = n / 2 > 0 ? n / 2 - 1 : 0;
    m->tsp_layer_source = by_rule_tsp;
}

static void by_papers(struct gkv_model *m)
{
    const struct gkv__shape *s = &m->shape;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct known *k = &known[i];

        if (strcmp(k->arch, m->arch->name) || k->n_layer != s->n_layer || k->n_embd != s->n_embd ||
            k->n_ff != s->n_ff || k->min_vocab > s->n_vocab)
            continue;
        if (k->filter >= 0) {
            m->filter_layer = (uint32_t)k->filter;
            m->filter_layer_source = k->filter_source;
        }
        if (k->tsp >= 0) {
            m->tsp_layer = (uint32_t)k->tsp;
            m->tsp_layer_source = k->tsp_source;
        }
        return;
    }
}

static gkv_status by_key(const struct gkv_model *m, const char *key, uint32_t *layer,
                         const char **source, gkv_error *err)
{
    if (!gkv__gguf_find(m->file, key))
        return GKV_OK;
    GKV__TRY(gkv__gguf_u32(m->file, key, layer, err));
    *source = "file";
    if (*layer >= m->shape.n_layer)
        return gkv__fail(err, GKV_FORMAT, "%s: %s is %u of %u layers", gkv__gguf_path(m->file),
                         key, *layer, m->shape.n_layer);
    return GKV_OK;
}

/* Both layers are meant to be where the model knows which tokens the answer needs: of the four models
 * above with both layers measured, three have the same layer for both. */
static void by_filter(struct gkv_model *m)
{
    if (m->tsp_layer_source != by_rule_tsp || m->filter_layer_source == by_rule_filter)
        return;
    m->tsp_layer = m->filter_layer;
    m->tsp_layer_source = "rule: the filter layer; try gemkv calibrate";
}

/* Weaker sources first, so that stronger ones replace them. */
gkv_status gkv__layer_table(struct gkv_model *m, gkv_error *err)
{
    by_rule(m);
    by_papers(m);
    GKV__TRY(by_key(m, "gemkv.filter_layer", &m->filter_layer, &m->filter_layer_source, err));
    if (!gkv__can_filter(m, m->filter_layer))
        return gkv__fail(err, GKV_FORMAT, "%s: layer %u cannot be the filter layer: it has no keys%s",
                         gkv__gguf_path(m->file), m->filter_layer, gkv__attends(m, m->filter_layer) ? " of all tokens" : "");
    by_filter(m);
    return by_key(m, "gemkv.tsp_layer", &m->tsp_layer, &m->tsp_layer_source, err);
}
