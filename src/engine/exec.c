/* SPDX-License-Identifier: BSD-2-Clause
 * exec.c - see exec.h */
#include "config.h"
#include <inttypes.h>
#include <string.h>
#include "src/engine/attend.h"
#include "src/engine/exec.h"
#include "src/engine/gemm.h"
#include "src/engine/attention-sums.h"
#include "src/base/mem.h"
#include "src/engine/moe.h"
#include "src/engine/state.h"

enum { ALIGN = 64, N_BUFFERS = 11 };

static uint64_t round_up(uint64_t n, uint64_t to)
{
    return (n + to - 1) / to * to;
}

static uint64_t scratch_bytes(const struct gkv__simd *simd, const struct gkv__gemm *gemm,
                              const struct gkv__shape *s)
{
    const struct gkv__shape near = gkv__shape_near(s);
    const uint64_t attention = gkv__max(gkv__attention_sums_scratch(simd, s),
                                        gkv__max(gkv__attend_scratch(simd, s), gkv__attend_scratch(simd, &near)));

    return round_up(gkv__max(gkv__max(attention, gkv__state_scratch(simd, s)), gkv__gemm_scratch(gemm, simd, s)), 4096);
}

/* Floats per row of each buffer, in the order of the struct. */
static size_t widths(const struct gkv__shape *s, uint64_t w[N_BUFFERS])
{
    const struct gkv__shape near = gkv__shape_near(s);  /* its heads are smaller, and may be more */
    const uint64_t q = (uint64_t)s->n_head * s->head_dim;
    const uint64_t kv = gkv__max((uint64_t)s->n_head_kv * s->head_dim, (uint64_t)near.n_head_kv * near.head_dim);
    const uint64_t v = (uint64_t)s->state.v_heads * s->state.v_dim;
    const uint64_t fe = gkv__gemm_form(s->n_embd), fq = gkv__gemm_form(q), ff = gkv__gemm_form(s->n_ff);
    const uint64_t all[N_BUFFERS] = {
        s->n_embd, q, gkv__max(gkv__max(q, v), fe), kv, kv,
        gkv__max(gkv__max(s->n_ff, v ? gkv__gemm_form(v) : 0), gkv__max(fe, fq)),
        gkv__max(gkv__max(s->n_ff, s->gated ? 2 * q : 0), ff), gkv__experts_floats(s), gkv__state_row(s),
        gkv__max(s->n_rot, near.n_rot),
        s->temper > 0,
    };

    for (size_t i = 0; i < N_BUFFERS; i++)
        w[i] = all[i];
    return N_BUFFERS;
}

/* Bytes of all buffers except scratch. */
static uint64_t buffer_bytes(const struct gkv__shape *s, uint32_t chunk)
{
    uint64_t w[N_BUFFERS], sum = round_up(gkv__attend_partials(s), ALIGN);

    for (size_t i = 0, n = widths(s, w); i < n; i++)
        sum += round_up(w[i] * chunk * sizeof(float), ALIGN);
    return sum;
}

uint64_t gkv__exec_bytes(const struct gkv__simd *simd, const struct gkv__gemm *gemm,
                         const struct gkv__shape *s, unsigned n_threads, uint32_t chunk)
{
    return n_threads * scratch_bytes(simd, gemm, s) + buffer_bytes(s, chunk);
}

static void buffers(struct gkv__exec *e, float **to[N_BUFFERS])
{
    float **const all[N_BUFFERS] = { &e->h, &e->q, &e->att, &e->k, &e->v, &e->gate, &e->up,
                                     &e->expert, &e->state, &e->turn, &e->heat };

    memcpy(to, all, sizeof all);
}

gkv_status gkv__exec_open(struct gkv__exec *e, const struct gkv__simd *simd,
                          const struct gkv__gemm *gemm, const struct gkv__shape *s,
                          unsigned n_threads, uint32_t chunk, gkv_error *err)
{
    uint64_t w[N_BUFFERS];
    float **to[N_BUFFERS];
    uint8_t *p;

    e->simd = simd;
    e->gemm = gemm;
    e->repacked = NULL;
    e->shape = s;
    e->n_threads = n_threads;
    e->chunk = chunk;
    e->waited = 0;
    e->scratch_bytes = scratch_bytes(simd, gemm, s);
    e->bytes = n_threads * e->scratch_bytes + buffer_bytes(s, chunk);
    e->scratch = p = gkv__pages(e->bytes, 1);
    if (!p)
        return gkv__fail(err, GKV_NOMEM, "the system refused %s of work space",
                         gkv__needed(e->bytes).text);
    e->library = gkv__gemm_open(gemm, n_threads);
    p += n_threads * e->scratch_bytes;
    e->partial = (float *)(void *)p;
    p += round_up(gkv__attend_partials(s), ALIGN);
    buffers(e, to);
    for (size_t i = 0, n = widths(s, w); i < n; i++) {
        *to[i] = (float *)(void *)p;
        p += round_up(w[i] * chunk * sizeof(float), ALIGN);
    }
    return GKV_OK;
}

void gkv__exec_close(struct gkv__exec *e)
{
    if (!e->scratch)
        return;
    gkv__gemm_close(e->gemm, e->library);
    gkv__pages_free(e->scratch, e->bytes, 1);
    e->scratch = NULL;
}

void gkv__exec_share(const struct gkv__exec *e, unsigned i, uint32_t rows, float *partial, struct gkv__exec *share)
{
    uint64_t w[N_BUFFERS];
    float **to[N_BUFFERS];

    *share = *e;
    share->n_threads = 1;
    share->chunk = rows;
    share->scratch = e->scratch + i * e->scratch_bytes;
    share->partial = partial;
    share->progress = NULL;
    buffers(share, to);
    for (size_t j = 0, n = widths(e->shape, w); j < n; j++)
        *to[j] += w[j] * i * rows;
}

void gkv__stage(struct gkv__exec *e, gkv_stage stage, uint64_t tokens, double total)
{
    e->stage = stage;
    e->stage_tokens = tokens;
    e->done = 0;
    e->total = total;
    e->shown = 0;
    gkv__progress(e, 0);
}

void gkv__progress(struct gkv__exec *e, double work)
{
    double now;
    gkv_progress p;

    e->done += work;
    if (!e->progress)
        return;
    now = gkv__seconds();
    if (now - e->shown < 0.1 && e->done < e->total)
        return;
    e->shown = now;
    p = (gkv_progress){ e->stage, e->total > 0 ? e->done / e->total : 1, e->stage_tokens };
    e->progress(e->progress_arg, &p);
}

double gkv__layer_work(const struct gkv__shape *s, uint64_t pos, uint64_t n)
{
    const double q = (double)s->n_head * s->head_dim, kv = (double)s->n_head_kv * s->head_dim;
    const double ff = 3.0 * (s->n_expert ? (double)s->n_ff_expert * s->n_used : s->n_ff);
    const double linear = (double)s->n_embd * (2 * q + 2 * kv + ff);

    return (double)n * (linear + 2 * q * ((double)pos + (double)(n + 1) / 2));
}
