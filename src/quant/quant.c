/* SPDX-License-Identifier: BSD-2-Clause
 * quant.c - see quant.h */
#include "config.h"
#include <string.h>
#include "src/quant/quant.h"

#define SIZE(name, bytes) \
    _Static_assert(sizeof(struct gkv__block_##name) == bytes, "blocks have no padding")
SIZE(q8_0, 34);   SIZE(q4_0, 18);   SIZE(q4_1, 20);   SIZE(q5_0, 22);   SIZE(q5_1, 24);
SIZE(q2_k, 84);   SIZE(q3_k, 110);  SIZE(q4_k, 144);  SIZE(q5_k, 176);  SIZE(q6_k, 210);
SIZE(iq4_nl, 18); SIZE(iq4_xs, 136);

static void to_f32(const void *src, float *dst, size_t n)
{
    memcpy(dst, src, n * sizeof *dst);
}

static void from_f32(const float *src, void *dst, size_t n)
{
    memcpy(dst, src, n * sizeof *src);
}

static const struct gkv__quant f32 = { "f32", 0, 1, 4, GKV__TYPE_F32, to_f32, from_f32 };

extern const struct gkv__quant gkv__quant_f16, gkv__quant_bf16;
extern const struct gkv__quant gkv__quant_q8_0, gkv__quant_q4_0, gkv__quant_q4_1;
extern const struct gkv__quant gkv__quant_q5_0, gkv__quant_q5_1;
extern const struct gkv__quant gkv__quant_q2_k, gkv__quant_q3_k, gkv__quant_q4_k;
extern const struct gkv__quant gkv__quant_q5_k, gkv__quant_q6_k;
extern const struct gkv__quant gkv__quant_iq4_nl, gkv__quant_iq4_xs;

static const struct gkv__quant *const computed[GKV__N_TYPES] = {
    [GKV__TYPE_F32]    = &f32,
    [GKV__TYPE_F16]    = &gkv__quant_f16,
    [GKV__TYPE_BF16]   = &gkv__quant_bf16,
    [GKV__TYPE_Q8_0]   = &gkv__quant_q8_0,
    [GKV__TYPE_Q4_0]   = &gkv__quant_q4_0,
    [GKV__TYPE_Q4_1]   = &gkv__quant_q4_1,
    [GKV__TYPE_Q5_0]   = &gkv__quant_q5_0,
    [GKV__TYPE_Q5_1]   = &gkv__quant_q5_1,
    [GKV__TYPE_Q2_K]   = &gkv__quant_q2_k,
    [GKV__TYPE_Q3_K]   = &gkv__quant_q3_k,
    [GKV__TYPE_Q4_K]   = &gkv__quant_q4_k,
    [GKV__TYPE_Q5_K]   = &gkv__quant_q5_k,
    [GKV__TYPE_Q6_K]   = &gkv__quant_q6_k,
    [GKV__TYPE_IQ4_NL] = &gkv__quant_iq4_nl,
    [GKV__TYPE_IQ4_XS] = &gkv__quant_iq4_xs,
};

/* The rest of ggml's list, so that a file can be checked and the type called by its name.
 * Numbers 4, 5, 31 to 33 and 36 to 38 were taken back by ggml and are unknown again. */
#define KNOWN(name, ggml, block, bytes) \
    { name, ggml, block, bytes, GKV__TYPE_NONE, NULL, NULL }

static const struct gkv__quant known[] = {
    KNOWN("q8_1",     9,  32,  36),
    KNOWN("q8_k",    15, 256, 292),
    KNOWN("iq2_xxs", 16, 256,  66),
    KNOWN("iq2_xs",  17, 256,  74),
    KNOWN("iq3_xxs", 18, 256,  98),
    KNOWN("iq1_s",   19, 256,  50),
    KNOWN("iq3_s",   21, 256, 110),
    KNOWN("iq2_s",   22, 256,  82),
    KNOWN("i8",      24,   1,   1),
    KNOWN("i16",     25,   1,   2),
    KNOWN("i32",     26,   1,   4),
    KNOWN("i64",     27,   1,   8),
    KNOWN("f64",     28,   1,   8),
    KNOWN("iq1_m",   29, 256,  56),
    KNOWN("tq1_0",   34, 256,  54),
    KNOWN("tq2_0",   35, 256,  66),
    KNOWN("mxfp4",   39,  32,  17),
    KNOWN("nvfp4",   40,  64,  36),
    KNOWN("q1_0",    41, 128,  18),
    KNOWN("q2_0",    42,  64,  18),
};

#define N_KNOWN (sizeof known / sizeof *known)

/* Row i of both tables, one after the other; NULL behind the last. */
static const struct gkv__quant *row(size_t i)
{
    if (i < GKV__N_TYPES)
        return computed[i];
    return i - GKV__N_TYPES < N_KNOWN ? &known[i - GKV__N_TYPES] : NULL;
}

const struct gkv__quant *gkv__quant_of_ggml(uint32_t ggml)
{
    const struct gkv__quant *q;

    for (size_t i = 0; (q = row(i)); i++)
        if (q->ggml == ggml)
            break;
    return q;
}

const struct gkv__quant *gkv__quant_of(enum gkv__type type)
{
    return computed[type];
}

const struct gkv__quant *gkv__quant_named(const char *name)
{
    const struct gkv__quant *q;

    for (size_t i = 0; (q = row(i)); i++)
        if (!strcmp(q->name, name))
            break;
    return q;
}
