/* SPDX-License-Identifier: BSD-2-Clause
 * template.c - see template.h */
#include "config.h"
#include <string.h>
#include "src/template.h"

#define ASK "\n\nQuestion: "

static const struct gkv__template chatml = {
    .name = "chatml", .summary = "<|im_start|>user ... <|im_end|>",
    .mark = "<|im_start|>",
    .open = "<|im_start|>user\n", .ask = ASK,
    .close = "<|im_end|>\n<|im_start|>assistant\n",
};

const struct gkv__template gkv__template_plain = {
    .name = "plain", .summary = "no chat format: ... Question: ... Answer:",
    .open = "", .ask = ASK, .close = "\nAnswer:",
};

const struct gkv__template gkv__template_raw = {
    .name = "raw", .summary = "documents and question, byte for byte",
    .open = "", .ask = "", .close = "",
};

static const struct gkv__template *const templates[] = {
    &chatml, &gkv__template_plain,
};

enum { N_TEMPLATES = sizeof templates / sizeof *templates };

const struct gkv__template *gkv__template_at(size_t i)
{
    return i < N_TEMPLATES ? templates[i] : NULL;
}

const struct gkv__template *gkv__template_named(const char *name)
{
    for (size_t i = 0; i < N_TEMPLATES; i++)
        if (!strcmp(templates[i]->name, name))
            return templates[i];
    return NULL;
}

const struct gkv__template *gkv__template_recognise(const char *jinja, size_t len)
{
    for (size_t i = 0; i < N_TEMPLATES; i++)
        if (templates[i]->mark && memmem(jinja, len, templates[i]->mark, strlen(templates[i]->mark)))
            return templates[i];
    return NULL;
}
