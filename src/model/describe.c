/* SPDX-License-Identifier: BSD-2-Clause
 * describe.c - see describe.h */
#include "config.h"
#include <stdio.h>
#include <string.h>
#include "src/model/describe.h"
#include "src/quant/quant.h"

enum { MAX_TYPES = 40 };

/* A tensor belongs to the first group whose part occurs in its name. */
static const struct { const char *part, *group; } groups[] = {
    { "norm", "norms" }, { ".bias", "biases" }, { "token_embd", "embedding" },
    { "_exps", "experts" }, { "ffn_", "feed-forward" }, { "attn_", "attention" },
    { "", "output and others" },
};

_Static_assert(sizeof groups / sizeof *groups == GKV__N_GROUPS, "one text each");

struct count { const struct gkv__quant *type; size_t n; };

static void add(struct count *list, const struct gkv__quant *type)
{
    size_t i = 0;

    while (i < MAX_TYPES - 1 && list[i].n && list[i].type != type)
        i++;
    list[i].type = type;
    list[i].n++;
}

static void write_list(const struct count *list, char *out, size_t cap)
{
    size_t at = 0;

    *out = 0;
    for (size_t i = 0; i < MAX_TYPES && list[i].n && at < cap; i++)
        at += (size_t)snprintf(out + at, cap - at, "%s%s %zu", i ? ", " : "",
                               list[i].type ? list[i].type->name : "unknown", list[i].n);
}

void gkv__describe_types(const struct gkv__gguf *g, struct gkv__types *out)
{
    struct count all[MAX_TYPES] = { { NULL, 0 } }, of[GKV__N_GROUPS][MAX_TYPES];
    size_t       n = 0;

    memset(of, 0, sizeof of);
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < gkv__gguf_n_tensors(g); i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(g, i);
        const struct gkv__quant  *type = gkv__quant_of_ggml(t->type);
        size_t                    j = 0;

        while (!memmem(t->name.p, t->name.n, groups[j].part, strlen(groups[j].part)))
            j++;
        add(all, type);
        add(of[j], type);
        out->parameters += t->dim[0] * t->dim[1] * t->dim[2] * t->dim[3];
    }
    write_list(all, out->all, sizeof out->all);
    for (size_t j = GKV__N_GROUPS; j-- > 0; ) {
        write_list(of[j], out->text[j], sizeof out->text[j]);
        if (of[j][0].n)
            out->group[n++] = (gkv_type_group){ groups[j].group, out->text[j] };
    }
}
