/* SPDX-License-Identifier: BSD-2-Clause
 * gguf-walk.h - reads everything that an open file promises to hold. */
#ifndef GGUF_WALK_H
#define GGUF_WALK_H

#include "src/gguf/gguf.h"

static void gguf_walk(const struct gkv__gguf *g)
{
    static const char *const keys[] = {
        "general.architecture", "general.name", "general.alignment", "llama.block_count",
        "llama.context_length", "llama.attention.layer_norm_rms_epsilon",
        "llama.rope.freq_base", "tokenizer.ggml.model", "tokenizer.ggml.pre",
        "tokenizer.ggml.tokens", "tokenizer.ggml.token_type", "tokenizer.ggml.merges",
        "tokenizer.ggml.scores", "tokenizer.ggml.bos_token_id",
        "tokenizer.ggml.add_bos_token", "tokenizer.chat_template", "split.count",
    };
    uint64_t          sum = gkv__gguf_bytes(g) + gkv__gguf_data_bytes(g);
    volatile uint64_t keep;             /* or the optimiser would drop the reads */

    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        const struct gkv__kv *kv = gkv__gguf_find(g, keys[k]);
        const uint8_t        *cursor = kv ? kv->data : NULL;
        struct gkv__str       s = { NULL, 0 };
        uint32_t              u = 0;
        float                 f = 0;
        bool                  b = false;

        for (uint64_t i = 0; kv && i < kv->n; i++) {
            sum += (uint64_t)gkv__gguf_int_at(kv, i) + (gkv__gguf_float_at(kv, i) > 0);
            if (kv->type == GKV__STR) {
                s = gkv__gguf_next_str(&cursor);
                sum += s.n ? (uint8_t)s.p[0] + (uint8_t)s.p[s.n - 1] : 0;
            }
        }
        sum += gkv__gguf_u32(g, keys[k], &u, NULL) + gkv__gguf_f32(g, keys[k], &f, NULL);
        sum += gkv__gguf_bool(g, keys[k], &b, NULL) + gkv__gguf_str(g, keys[k], &s, NULL);
        sum += u + (f > 0) + b + s.n;
    }
    for (size_t i = 0; i < gkv__gguf_n_tensors(g); i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(g, i);

        sum += t->data[0] + t->data[t->bytes - 1];
        sum += t->name.n ? (uint8_t)t->name.p[t->name.n - 1] : 0;
        gkv__gguf_willneed(t->data, t->bytes);
    }
    sum += gkv__gguf_tensor(g, "output_norm.weight") != NULL;
    keep = sum;
    (void)keep;
}

#endif
