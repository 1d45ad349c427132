/* SPDX-License-Identifier: BSD-2-Clause
 * quant.c - see quant.h */
#include "config.h"
#include <string.h>
#include "src/quant.h"

_Static_assert(sizeof(struct gkv__block_q8_0) == 34, "blocks have no padding");
_Static_assert(sizeof(struct gkv__block_q4_0) == 18, "blocks have no padding");

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
extern const struct gkv__quant gkv__quant_q8_0, gkv__quant_q4_0;

static const struct gkv__quant *const computed[GKV__N_TYPES] = {
    [GKV__TYPE_F32]  = &f32,
    [GKV__TYPE_F16]  = &gkv__quant_f16,
    [GKV__TYPE_BF16] = &gkv__quant_bf16,
    [GKV__TYPE_Q8_0] = &gkv__quant_q8_0,
    [GKV__TYPE_Q4_0] = &gkv__quant_q4_0,
};

/* The rest of ggml's list, so that a file can be checked and the type called by its name.
 * Numbers 4, 5, 31 to 33 and 36 to 38 were taken back by ggml and are unknown again. */
#define KNOWN(name, ggml, block, bytes) \
    { name, ggml, block, bytes, GKV__TYPE_NONE, NULL, NULL }

static const struct gkv__quant known[] = {
    KNOWN("q4_1",     3,  32,  20),
    KNOWN("q5_0",     6,  32,  22),
    KNOWN("q5_1",     7,  32,  24),
    KNOWN("q8_1",     9,  32,  36),
    KNOWN("q2_k",    10, 256,  84),
    KNOWN("q3_k",    11, 256, 110),
    KNOWN("q4_k",    12, 256, 144),
    KNOWN("q5_k",    13, 256, 176),
    KNOWN("q6_k",    14, 256, 210),
    KNOWN("q8_k",    15, 256, 292),
    KNOWN("iq2_xxs", 16, 256,  66),
    KNOWN("iq2_xs",  17, 256,  74),
    KNOWN("iq3_xxs", 18, 256,  98),
    KNOWN("iq1_s",   19, 256,  50),
    KNOWN("iq4_nl",  20,  32,  18),
    KNOWN("iq3_s",   21, 256, 110),
    KNOWN("iq2_s",   22, 256,  82),
    KNOWN("iq4_xs",  23, 256, 136),
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
