/* SPDX-License-Identifier: BSD-2-Clause
 * rope.c - see rope.h.  Pair i of n rotates by f = base^(-2i/n) radians per position, or, scaled by a
 * factor s,
 *     linear     f / s                               Chen et al. 2023
 *     llama3     f / s / d_i, with divisors d in a tensor of the file (s is usually 1)
 *     yarn       f / s for slow pairs, f for fast ones, a ramp between them; cosines and sines
 *                times 1 + 0.1 ln s                  Peng et al. 2023
 *                or, if the file has a factor a for that (yarn_log_multiplier), times
 *                (1 + 0.1 ln s) / (1 + 0.1 a ln s)
 *     proportional  f / d_i, too: d_i is 1, and beyond all bounds for pairs that do not rotate
 *     longrope   f / d_i, with one tensor of divisors up to the original context and another one
 *                beyond it; cosines and sines times a factor from the file     Ding et al. 2024 */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/model/arch.h"
#include "src/model/rope.h"

static const char *const names[] = {
    [GKV__ROPE_NONE] = "none", [GKV__ROPE_LINEAR] = "linear", [GKV__ROPE_LLAMA3] = "llama3",
    [GKV__ROPE_YARN] = "yarn", [GKV__ROPE_LONGROPE] = "longrope",
    [GKV__ROPE_PROPORTIONAL] = "proportional",
};

enum { N_NAMES = sizeof names / sizeof *names };

const char *gkv__rope_name(enum gkv__rope_kind kind)
{
    return names[kind];
}

struct scaling {
    float factor, attention, fast, slow;    /* fast, slow: rotations in rope_context positions */
    float log_mul;
};

/* ---- keys of the file ------------------------------------------------------------------- */

/* A factor without a type means linear scaling.  Divisors are tensors, whether a type is given or not. */
static gkv_status kind(struct gkv_model *m, struct scaling *s, gkv_error *err)
{
    struct gkv__str type = { "linear", 6 };
    const char *fallback = type.p;
    size_t i = 0;
    bool given;

    GKV__TRY(gkv__arch_str(m, "rope.scaling.type", &type, err));
    given = type.p != fallback;
    while (i < N_NAMES && (strlen(names[i]) != type.n || memcmp(names[i], type.p, (size_t)type.n)))
        i++;
    if (i == N_NAMES)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: RoPE scaling \"%.*s\" is not supported (none, "
                         "linear, llama3, yarn and longrope are)", gkv__gguf_path(m->file),
                         (int)(type.n < 32 ? type.n : 32), type.p);
    m->rope_kind = (enum gkv__rope_kind)i;
    if (given && (m->rope_kind == GKV__ROPE_LINEAR || m->rope_kind == GKV__ROPE_YARN))
        GKV__TRY(gkv__arch_f32(m, "rope.scaling.factor", &s->factor, true, err));
    if (m->rope_kind == GKV__ROPE_NONE)
        s->factor = 1;
    if (gkv__arch_has(m, "rope_factors_long.weight"))
        m->rope_kind = GKV__ROPE_LONGROPE;
    else if (gkv__arch_has(m, "rope_freqs.weight") && m->rope_kind != GKV__ROPE_YARN)
        m->rope_kind = m->arch->proportional ? GKV__ROPE_PROPORTIONAL : GKV__ROPE_LLAMA3;
    else if (m->rope_kind == GKV__ROPE_LINEAR && s->factor == 1)
        m->rope_kind = GKV__ROPE_NONE;
    return GKV_OK;
}

static gkv_status keys(struct gkv_model *m, struct scaling *s, gkv_error *err)
{
    *s = (struct scaling){ .factor = 1, .attention = 1, .fast = 32, .slow = 1 };
    m->rope_base = 10000;
    m->rope_context = m->shape.context;
    GKV__TRY(gkv__arch_positive(m, "rope.freq_base", &m->rope_base, err));
    GKV__TRY(gkv__arch_positive(m, "rope.scale_linear", &s->factor, err));      /* files made until 2023 */
    GKV__TRY(gkv__arch_positive(m, "rope.scaling.factor", &s->factor, err));
    GKV__TRY(gkv__arch_positive(m, "rope.scaling.attn_factor", &s->attention, err));
    GKV__TRY(gkv__arch_positive(m, "rope.scaling.yarn_beta_fast", &s->fast, err));
    GKV__TRY(gkv__arch_positive(m, "rope.scaling.yarn_beta_slow", &s->slow, err));
    GKV__TRY(gkv__arch_positive(m, "rope.scaling.yarn_log_multiplier", &s->log_mul, err));
    GKV__TRY(gkv__arch_u32(m, "rope.scaling.original_context_length", &m->rope_context, false,
                           err));
    if (!(m->rope_base > 1))
        return gkv__fail(err, GKV_FORMAT, "%s: rope.freq_base is %g", gkv__gguf_path(m->file),
                         (double)m->rope_base);
    GKV__TRY(kind(m, s, err));
    if (m->rope_kind == GKV__ROPE_YARN && s->factor < 1)
        return gkv__fail(err, GKV_FORMAT, "%s: rope.scaling.factor is %g", gkv__gguf_path(m->file),
                         (double)s->factor);
    return GKV_OK;
}

/* ---- tables ----------------------------------------------------------------------------- */

static gkv_status table(struct gkv_model *m, int which, double base, double factor, double scale,
                        gkv_error *err)
{
    const uint32_t n_rot = which == GKV__ROPE_LOCAL ? gkv__shape_near(&m->shape).n_rot : m->shape.n_rot, half = n_rot / 2;
    double *f = malloc(half * sizeof *f);

    m->rope[which] = (struct gkv__rope){ f, scale };
    if (!f)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    for (uint32_t i = 0; i < half; i++)
        f[i] = pow(base, -2.0 * i / n_rot) / factor;
    return GKV_OK;
}

static gkv_status divide(struct gkv_model *m, int which, const char *name, gkv_error *err)
{
    const uint32_t half = m->shape.n_rot / 2;
    const float *by;

    GKV__TRY(gkv__arch_vec(m, name, half, &by, err));
    for (uint32_t i = 0; i < half; i++) {
        if (!(by[i] > 0 && by[i] < INFINITY))
            return gkv__fail(err, GKV_FORMAT, "%s: %s[%u] is %g", gkv__gguf_path(m->file), name, i,
                             (double)by[i]);
        m->rope[which].freq[i] /= (double)by[i];
    }
    return GKV_OK;
}

/* The index of the pair that rotates `turns` times in the original context. */
static double pair_of(const struct gkv_model *m, double turns)
{
    const double two_pi = 6.28318530717958647693, base = (double)m->rope_base;

    return m->shape.n_rot * log(m->rope_context / (turns * two_pi)) / (2 * log(base));
}

static void yarn(struct gkv_model *m, const struct scaling *s)
{
    const bool whole = !m->arch->yarn_between;
    const double first = pair_of(m, (double)s->fast), last = pair_of(m, (double)s->slow);
    const double low = fmax(whole ? floor(first) : first, 0);
    const double high = fmin(whole ? ceil(last) : last, m->shape.n_rot - 1);
    const double more = log((double)s->factor);
    struct gkv__rope *r = &m->rope[GKV__ROPE_ALL];

    for (uint32_t i = 0; i < m->shape.n_rot / 2; i++) {
        const double slow = fmin(fmax((i - low) / fmax(high - low, 0.001), 0), 1);

        r->freq[i] *= slow / (double)s->factor + 1 - slow;
    }
    r->scale *= (1 + 0.1 * more) / (1 + 0.1 * (double)s->log_mul * more);
}

gkv_status gkv__rope_open(struct gkv_model *m, gkv_error *err)
{
    struct scaling s;

    GKV__TRY(keys(m, &s, err));
    switch (m->rope_kind) {
    case GKV__ROPE_NONE:
    case GKV__ROPE_LINEAR:
        return table(m, GKV__ROPE_ALL, (double)m->rope_base, (double)s.factor, 1, err);
    case GKV__ROPE_LLAMA3:
    case GKV__ROPE_PROPORTIONAL:
        GKV__TRY(table(m, GKV__ROPE_ALL, (double)m->rope_base, (double)s.factor, 1, err));
        return divide(m, GKV__ROPE_ALL, "rope_freqs.weight", err);
    case GKV__ROPE_YARN:
        GKV__TRY(table(m, GKV__ROPE_ALL, (double)m->rope_base, 1, (double)s.attention, err));
        yarn(m, &s);
        return GKV_OK;
    case GKV__ROPE_LONGROPE:
        GKV__TRY(table(m, GKV__ROPE_ALL, (double)m->rope_base, 1, (double)s.attention, err));
        GKV__TRY(table(m, GKV__ROPE_LONG, (double)m->rope_base, 1, (double)s.attention, err));
        GKV__TRY(divide(m, GKV__ROPE_ALL, "rope_factors_short.weight", err));
        return divide(m, GKV__ROPE_LONG, "rope_factors_long.weight", err);
    }
    return GKV_OK;
}

gkv_status gkv__rope_local(struct gkv_model *m, float base, gkv_error *err)
{
    return table(m, GKV__ROPE_LOCAL, (double)base, 1, 1, err);
}

gkv_status gkv__rope_still(struct gkv_model *m, gkv_error *err)
{
    return table(m, GKV__ROPE_STILL, 1, INFINITY, 1, err);
}

void gkv__rope_close(struct gkv_model *m)
{
    for (size_t i = 0; i < GKV__N_ROPES; i++)
        free(m->rope[i].freq);
}

const struct gkv__rope *gkv__model_rope(const struct gkv_model *m, uint32_t il, uint64_t span)
{
    if (m->layer[il].no_rope)
        return &m->rope[GKV__ROPE_STILL];
    if (m->layer[il].local_rope)
        return &m->rope[GKV__ROPE_LOCAL];
    if (m->rope[GKV__ROPE_LONG].freq && span > m->rope_context)
        return &m->rope[GKV__ROPE_LONG];
    return &m->rope[GKV__ROPE_ALL];
}
