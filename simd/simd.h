/* SPDX-License-Identifier: BSD-2-Clause
 * simd.h - the kernel table.  It is filled with plain C first, then by each level that the CPU has;
 * a level without a better version of a slot keeps the previous one.  Kernels are
 * single-threaded and pure; src/ decides which thread runs them on what. */
#ifndef GKV__SIMD_H
#define GKV__SIMD_H

#include <stddef.h>
#include <stdint.h>
#include "src/quant/quant.h"

/* Levels: named sets of CPU features.  Each includes the levels of its architecture listed
 * before it, but AVX-512 does not include AVX-VNNI. */
enum {
    GKV__CPU_AVX2 = 1,          /* + FMA, F16C, BMI2: Haswell, Zen                           */
    GKV__CPU_AVXVNNI = 2,       /* VNNI without AVX-512: Alder Lake, Sierra Forest           */
    GKV__CPU_AVX512 = 4,        /* F BW DQ VL VNNI: Cascade Lake, Ice Lake, Zen 4            */
    GKV__CPU_AVX512BF16 = 8,    /* Cooper Lake, Zen 4                                        */
    GKV__CPU_AMX = 16,          /* AMX-BF16, AMX-INT8: Sapphire Rapids                       */
    GKV__CPU_NEON = 32,         /* every AArch64                                             */
    GKV__CPU_DOTPROD = 64,      /* SDOT, UDOT: Cortex-A55 and A75 on, Neoverse N1            */
    GKV__CPU_I8MM = 128,        /* SMMLA, USDOT: Neoverse V1 and N2, Cortex-X2, Apple M2     */
};

/* Converts to f32, exactly; n is a multiple of the type's block. */
typedef void gkv__unpack_fn(const void *src, float *dst, size_t n);

/* Returns sum_i w[i] x[i]; n is a multiple of the type's block. */
typedef float gkv__dot_fn(const void *w, const float *x, size_t n);

/* Some rows of a matrix, stride bytes apart, for a product with one x: rows from .. to - 1 of its first
 * ceil(n_out / 2), and the rows at the same places of the rest.  Two rows share the loads of x, and two rows
 * far apart are read faster than neighbours. */
struct gkv__band {
    const void *w;                      /* row 0                                             */
    size_t      stride, n_out, from, to;
};
static inline size_t gkv__band_most(size_t n_out)   /* the largest `to` */
{
    return (n_out + 1) / 2;
}

/* y[o] (+)= row o times x[n], for the rows o of the band; add: 0 overwrites y.  The result of a row does not
 * depend on the other rows. */
typedef void gkv__gemv_fn(float *y, const struct gkv__band *w, const void *x, size_t n, int add);

/* The same for 2 to GKV__FEW_MOST rows of x, ldx bytes apart, and of y, ldy floats apart; each is, to the bit, what gemv makes of it. */
enum { GKV__FEW_MOST = 5 };
typedef void gkv__few_fn(float *y, size_t ldy, const struct gkv__band *w, const void *x, size_t ldx, size_t rows,
                         size_t n, int add);

/* A panel holds nr columns of B side by side: panel[i * nr + j] = w[j * ldw + i], i < k,
 * j < n <= nr; columns from n on are zero. */
typedef void gkv__pack_fn(float *panel, const float *w, size_t ldw, size_t n, size_t k);

/* c[m, n] (+)= a[m, k] B[k, n]; rows of a are lda floats apart, those of c ldc; B is in ceil(n / nr)
 * panels of k * nr floats.  add: 0 overwrites c. */
typedef void gkv__gemm_fn(float *c, size_t ldc, const float *a, size_t lda, const float *panels,
                          size_t m, size_t n, size_t k, int add);

/* Products with one tensor type in another arithmetic than f32, divided into units along the inputs.
 * Activations are converted to the form once, x_bytes per unit.  Weights are packed in panels of nr outputs,
 * w_bytes per unit of each output.  The form's definition says how it rounds. */
struct gkv__product {
    const char *form;                   /* "i8", "i16", "i8/128", "bf16"; NULL: only f32 */
    uint16_t    unit, x_bytes, w_bytes, nr;
    uint16_t    one_bytes;              /* of 256 activations in gemv's order                */
    /* Converts one row of activations; n is a multiple of unit. */
    void      (*prepare)(void *to, const float *x, size_t n);
    /* Packs k weights of 1 <= n <= nr rows, stride bytes apart; other outputs are undefined.  k is a
     * multiple of the type's block and of unit. */
    void      (*pack)(void *panel, const void *w, size_t stride, size_t n, size_t k);
    /* c[m, n] (+)= x[m, k] W^T; rows of x are ldx bytes apart, those of c ldc floats; ceil(n / nr)
     * panels. */
    void      (*gemm)(float *c, size_t ldc, const void *x, size_t ldx, const void *panels,
                      size_t m, size_t n, size_t k, int add);
    /* As prepare, but in the order that gemv reads: gkv__one_bytes bytes.           */
    void      (*prepare_one)(void *to, const float *x, size_t n);
    gkv__gemv_fn *gemv;                 /* x: from prepare_one                               */
    gkv__few_fn  *few;                  /* likewise; NULL: there is none                     */
};
static inline size_t gkv__one_bytes(const struct gkv__product *p, size_t n)
{
    return n / 256 * p->one_bytes + n % 256 / p->unit * p->x_bytes;
}

/* Products of many rows in a form of their own, straight from the weights.
 *
 * "bf16": weights and activations are rounded to bfloat16 (to nearest even: up to 2^-8 of each), products are summed in
 * f32.  Weights of bf16 are exact.
 * "i8/256": both are rounded to 8 bits with one scale for 256 inputs, whose products are summed exactly; then in f32.
 *
 * prepare converts up to GKV__GROUP rows of x, ldx floats apart.  Such a group takes x_bytes per unit of each of its
 * rows; only the last may have fewer rows.  gemm is c[m, n] (+)= x[m, k] W^T for at most `rows` rows and `cols`
 * outputs: stride is from weights to those of the next output, ldc from row to row of c.  A result does not depend on
 * m and n.
 *
 * gemm converts weights in blocks, 32 outputs by `deep` units, on its way.  Or they are converted once: pack writes the
 * blocks of 1 <= n <= 32 outputs, ceil(k / unit / deep) of `block` bytes, aligned to 64, and gemm is given those of
 * all its outputs as `packed`, in place of w; NULL: there are none.  The result is the same. */
enum { GKV__GROUP = 16 };
struct gkv__many {
    const char *form;                   /* NULL: there is none                               */
    uint16_t    least;                  /* rows from which on it is faster than gkv__product */
    uint16_t    unit, x_bytes, rows, cols;      /* rows is a multiple of GKV__GROUP          */
    uint32_t    scratch;                /* bytes that gemm needs, aligned to 64              */
    void      (*prepare)(void *to, const float *x, size_t ldx, size_t rows, size_t n);
    void      (*gemm)(float *c, size_t ldc, const void *x, const void *w, size_t stride, const void *packed, size_t m,
                      size_t n, size_t k, void *scratch, int add);
    uint16_t deep, block;
    void      (*pack)(void *to, const void *w, size_t stride, size_t n, size_t k);
};

/* Which of nk keys a query sees if it does not see all; i is its lane or row.  A query may see no key: then
 * its sums do not change. */
struct gkv__sight {
    const int32_t *to;          /* i sees no key from to[i] on; NULL: no limit               */
    const int32_t *from;        /* ... and none before from[i]; NULL: no limit               */
    float          cap;         /* > 0: scores, in base 2, become cap * tanh(score / cap)    */
};

/* One tile of `lanes` queries against nk keys, with online softmax in base 2 (Milakov and
 * Gimelshein 2018; Dao et al. 2022, Algorithm 1).  A lane is one query row.
 *   ot[d][lanes] += P^T V, unnormalised     m[lanes] running maximum    l[lanes] running sum
 *   qt[d][lanes]    queries, times log2(e) / sqrt(d)
 *   k[nk][d], v[nk][d]
 *   see             NULL: all lanes see all keys
 *   s[nk][lanes]    scratch
 * Begin with ot = 0, l = 0, m = GKV__ATTEND_MIN; the result is ot / l. */
#define GKV__ATTEND_MIN (-1e30f)
typedef void gkv__attend_fn(float *ot, float *m, float *l, const void *qt, const void *k,
                            const void *v, size_t nk, size_t d, const struct gkv__sight *see,
                            float *s);

/* Converts n rows of f32 (possibly in place) or of f16 to one of the forms below; odd ends get zeros. */
typedef void gkv__form_fn(void *to, const void *from, enum gkv__type type, size_t n, size_t width);

/* Attention in tiles, and the form in which it takes qt, k and v.
 * "f32": floats.
 * "bf16": products of bfloat16; sums and softmax in f32, with 2^x to 2^-17.  q, k, v and the
 * weights of the softmax are rounded to nearest even, each by up to 2^-8 of itself: a score changes by up to
 * 2^-7 sum |q k| / sqrt(d), its weight by a factor of e to that, the output by up to 2^-7 max |v|
 * more.  qt and v are pairs of rows, [ceil(n / 2)][width][2]; k is [nk][d], d even.  A level may want v in longer
 * runs, [ceil(n / together)][width][together], by `values`. */
struct gkv__attend {
    const char     *form;
    enum gkv__type  type;               /* k of this type needs no conversion, if d is even  */
    unsigned        few;                /* in eighths of the lanes: up to so many rows,
                                           attend_few is faster                              */
    size_t          lanes;
    size_t          keys;               /* of a block, with head_dim 64                      */
    uint16_t        together;           /* form "bf16": values of so many keys lie side by side, if d is a
                                           multiple of it; else of two                       */
    gkv__form_fn   *pairs;              /* converts qt and v; NULL: the form is floats       */
    gkv__form_fn   *narrow;             /* converts k; NULL: likewise                        */
    gkv__form_fn   *values;             /* converts v, not in place; NULL: pairs does        */
    gkv__attend_fn *run;
};

/* A few rows (in decoding, the query heads that share one KV head) against nk keys in the layout of the cache;
 * one function per tensor type of the cache.
 *   o[rows][GKV__FEW_ROW(d)] += P V, unnormalised     m[rows], l[rows], GKV__ATTEND_MIN: as above
 *   q[rows][GKV__FEW_ROW(d)]    times log2(e) / sqrt(d), zero beyond d; undefined afterwards
 *   k, v        nk rows of d elements, packed
 *   see         NULL: all rows see all keys
 * Levels with vdpbf16ps multiply four rows or more in the form "bf16" if the cache is f16 or bf16; ties of f16 are then rounded away from 0, and values below 2^-14 become 0. */
#define GKV__FEW_ROW(d) (((d) + 15) / 16 * 16)
typedef void gkv__attend_few_fn(float *o, float *m, float *l, float *q, const void *k,
                                const void *v, size_t rows, size_t nk, size_t d,
                                const struct gkv__sight *see);

/* y = x / sqrt(mean(x^2) + eps) * w.   Zhang and Sennrich 2019. */
typedef void gkv__rmsnorm_fn(float *y, const float *x, const float *w, size_t n, float eps);

/* g = act(g) * u.   Shazeer 2020. */
typedef void gkv__glu_fn(float *g, const float *u, size_t n);

/* x = cap * tanh(x / cap) */
typedef void gkv__softcap_fn(float *x, size_t n, float cap);

/* A softmax in base 2 over s, piece by piece.  First, for all pieces: *m, the running maximum, and *l, the
 * running sum of exp2(s - *m), which begin with GKV__ATTEND_MIN and 0.  Then, for all pieces:
 * y += weight * exp2(s - m). */
typedef void gkv__softmax_sum_fn(float *m, float *l, const float *s, size_t n);
typedef void gkv__softmax_add_fn(float *y, const float *s, size_t n, float m, float weight);

/* x *= 1 / (1 + e^-g) */
typedef void gkv__gate_fn(float *x, const float *g, size_t n);

/* Layers with a state (src/engine/state.h).
 *
 * convolve          y[t][c] = bias[c] + sum_i w[c][i] x[t + i][c], i < width <= CONVOLVE_MOST; act: silu of that.
 *                   x are rows + width - 1 pointers; bias may be NULL
 * rates             a = decay r, b = 1 / (1 + e^-b) with r = log(1 + e^(a + dt)); same: b = r
 * weigh             p[i][x] *= e^(g[i] - g[x]) for x <= i, a[i][x] *= -b[i] e^(g[i] - g[x]) for x < i, and what is
 *                   right of that becomes 0; i, x < n.  a may be NULL.  from[i] = e^g[i], to[i] = e^(g[n - 1] - g[i]).
 *                   g falls.  Columns and vectors reach to the next multiple of 16, where they are undefined
 * scale             x[t][0 .. n - 1] *= by[t]
 * solve             (I - A) U = u in place, A strictly lower triangular: u[i] += sum_x a[i][x] u[x], x < i < rows
 * multiply          c[m, n] = scale c + a[m, k] b[k, n]; scale 0 overwrites c
 * multiply_turned   the same with a[k, m], transposed
 * step              one row of the rule: s = a s + k u^T, o = s^T q, with u = b (v - correct a s^T k); s[dk][n] */
enum { CONVOLVE_MOST = 16 };

struct gkv__state_kernels {
    void (*convolve)(float *y, size_t ldy, const float *const *x, const float *w, const float *bias, size_t rows,
                     size_t width, size_t n, int act);
    void (*rates)(float *b, float *a, const float *dt, const float *decay, size_t n, int same);
    void (*weigh)(float *a, float *p, size_t ld, const float *g, const float *b, float *from, float *to, size_t n);
    void (*scale)(float *x, size_t ld, const float *by, size_t rows, size_t n);
    void (*solve)(float *u, size_t ldu, const float *a, size_t lda, size_t rows, size_t n);
    void (*multiply)(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t m, size_t n,
                     size_t k, float scale);
    void (*multiply_turned)(float *c, size_t ldc, const float *a, size_t lda, const float *b, size_t ldb, size_t m,
                            size_t n, size_t k, float scale);
    void (*step)(float *o, float *s, size_t lds, const float *k, const float *q, const float *v, float a, float b,
                 size_t dk, size_t n, int correct);
};

struct gkv__simd {
    const char      *level;             /* the highest level that filled anything            */
    gkv__unpack_fn  *unpack[GKV__N_TYPES];
    gkv__dot_fn     *dot[GKV__N_TYPES];
    gkv__gemv_fn    *dots[GKV__N_TYPES];    /* f32, f16, bf16: as dot, to the bit, x in floats;
                                               NULL: use dot, row by row                     */
    gkv__pack_fn    *pack;
    gkv__gemm_fn    *gemm;              /* pack and gemm share nr                            */
    size_t           nr;                /* columns of a panel                                */
    struct gkv__product product[GKV__N_TYPES];
    struct gkv__product coarse[GKV__N_TYPES];   /* rounds more, for many rows, without prepare_one and what follows;
                                                   form NULL: there is none, or it is no faster */
    struct gkv__many many[GKV__N_TYPES];        /* from its least rows on             */
    struct gkv__many many_coarse[GKV__N_TYPES]; /* likewise, in place of coarse       */
    struct gkv__attend attend;
    gkv__attend_few_fn *attend_few[GKV__N_TYPES];   /* types that a cache can have           */
    gkv__rmsnorm_fn *rmsnorm;
    gkv__glu_fn     *swiglu, *geglu;    /* silu; gelu by tanh                                */
    gkv__softmax_sum_fn *softmax_sum;
    gkv__softmax_add_fn *softmax_add;
    gkv__softcap_fn *softcap;
    gkv__gate_fn    *gate;
    struct gkv__state_kernels state;
};

unsigned gkv__cpu_detect(void);
void     gkv__simd_init(struct gkv__simd *k, unsigned cpu);     /* pure: tests call it per level */

/* The process-wide table: what the CPU has and is fast at, or all that it has up to the level that
 * $GEMKV_CPU or gkv__simd_cap names (before the first use).  NULL when $GEMKV_CPU names no
 * level. */
const struct gkv__simd *gkv__simd(void);
int                     gkv__simd_cap(const char *level);       /* 0, or -1: no such level   */

/* Row i of the level table: its name and the cpu mask of it and the levels that it includes.  NULL after the last. */
const char *gkv__simd_level(size_t i, unsigned *mask);
/* Line i of "slot: level" for the table in use; NULL after the last. */
const char *gkv__simd_describe(size_t i);

void gkv__simd_ref(struct gkv__simd *k);
void gkv__simd_avx2(struct gkv__simd *k);
void gkv__simd_avxvnni(struct gkv__simd *k);
void gkv__simd_avx512(struct gkv__simd *k);
void gkv__simd_avx512bf16(struct gkv__simd *k);
void gkv__simd_amx(struct gkv__simd *k);
void gkv__simd_neon(struct gkv__simd *k);
void gkv__simd_dotprod(struct gkv__simd *k);
void gkv__simd_i8mm(struct gkv__simd *k);

#endif
