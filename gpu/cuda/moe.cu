/* SPDX-License-Identifier: BSD-2-Clause
 * moe.cu - mixtures of experts (src/engine/moe.c computes the same).
 *
 * One row or a few: all their experts at once, a row of blocks for each.  Many rows: sorted by expert, so that each expert's
 * weights are read once; the host sorts them, as it has to know how many there are for the products. */
#include <stdlib.h>
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/moe.cuh"

static uint32_t widest(const device *d)
{
    return d->s.n_ff_expert > d->s.n_embd ? d->s.n_ff_expert : d->s.n_embd;
}

/* Bytes for a chunk of n rows. */
size_t gkv__expert_bytes(const device *d, uint32_t n)
{
    const gkv_plugin_shape *s = &d->s;
    const size_t pairs = (size_t)n * s->n_used;

    if (!s->n_expert)
        return 0;
    return 4 * (n * ((size_t)s->n_expert + 1 + s->n_embd) + pairs * (4 + 2 * (size_t)s->n_ff_expert + s->n_embd)) +
           pairs * widest(d) * (4 * d->used_form[FORM_F32] + 2 * d->used_form[FORM_F16] + 2 * d->used_form[FORM_BF16]);
}

int gkv__take_experts(device *d, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const size_t n = d->chunk, pairs = n * s->n_used;
    static const char what[] = "rows of experts";

    TRY(take(d, &d->rating, n * s->n_expert, what, error));
    TRY(take(d, &d->all_share, n, what, error));
    TRY(take(d, &d->sum, n * s->n_embd, what, error));
    TRY(take(d, &d->share, pairs, what, error));
    TRY(take(d, &d->chosen, pairs, what, error));
    TRY(take(d, &d->pair, pairs, what, error));
    TRY(take(d, &d->place_of, pairs, what, error));
    TRY(take(d, &d->mid, pairs * 2 * s->n_ff_expert, what, error));
    TRY(take(d, &d->result, pairs * s->n_embd, what, error));
    CUDA(cudaMallocHost((void **)&d->chosen_host, pairs * sizeof *d->chosen_host));
    CUDA(cudaMallocHost((void **)&d->pair_host, pairs * sizeof *d->pair_host));
    CUDA(cudaMallocHost((void **)&d->place_host, pairs * sizeof *d->place_host));
    return 0;
}

void gkv__free_experts(device *d)
{
    void *const owned[] = { d->rating, d->all_share, d->sum, d->share, d->chosen, d->pair, d->place_of, d->mid,
                            d->result };

    for (void *p : owned)
        cudaFree(p);
    cudaFreeHost(d->chosen_host);
    cudaFreeHost(d->pair_host);
    cudaFreeHost(d->place_host);
}

/* ---- one row, or a few ------------------------------------------------------------------ */

/* Without UP, GATE has each expert's gate and then its up. */
static int few_rows(device *d, const present *p, const float *norm, uint32_t n, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const mat *gate = p->mat_of(GKV_PLUGIN_GATE), *down = p->mat_of(GKV_PLUGIN_DOWN);
    const mat *up = p->has(GKV_PLUGIN_UP) ? p->mat_of(GKV_PLUGIN_UP) : gate;
    const uint32_t f = s->n_ff_expert, every = up == gate ? 2 * f : f;
    gemv_args g = {};

    g.to = GEMV_GLU;
    g.n = n;
    g.x = d->x;
    g.x_step = s->n_embd;
    g.per_x = s->n_used;
    g.norm = norm;
    g.factor = 1;
    g.glu = (int)s->glu;
    g.expert = d->chosen;
    g.x_share = s->router == GKV_PLUGIN_SIGMOID_IN ? d->share : NULL;
    g.y_step = f;
    g.seg[0] = { gate->w, f, d->mid, 0, p->vec(GKV_PLUGIN_GATE_BIAS), every, 0 };
    g.seg[1] = { up->w, f, d->mid, 0, p->vec(GKV_PLUGIN_UP_BIAS), every, up == gate ? f : 0 };
    TRY(gkv__expert_gemv(d, gate, &g, n * s->n_used, error));
    g = {};
    g.to = GEMV_STORE;
    g.n = n;
    g.x = d->mid;
    g.per_x = 1;
    g.factor = 1;
    g.expert = d->chosen;
    g.x_step = f;
    g.y_step = s->n_embd;
    g.seg[0] = { down->w, s->n_embd, d->result, 0, p->vec(GKV_PLUGIN_DOWN_BIAS), s->n_embd, 0 };
    return gkv__expert_gemv(d, down, &g, n * s->n_used, error);
}

/* ---- many rows -------------------------------------------------------------------------- */

/* Sorts pairs by expert: begin[n_expert + 1] is where each one's begin. */
static void sort_pairs(const device *d, uint32_t pairs, uint32_t *begin)
{
    uint32_t next[MOST_EXPERTS], sum = 0;

    for (uint32_t e = 0; e <= d->s.n_expert; e++)
        begin[e] = 0;
    for (uint32_t i = 0; i < pairs; i++)
        begin[d->chosen_host[i]]++;
    for (uint32_t e = 0; e <= d->s.n_expert; e++) {
        const uint32_t n = begin[e];

        begin[e] = sum;
        sum += n;
    }
    for (uint32_t e = 0; e < d->s.n_expert; e++)
        next[e] = begin[e];
    for (uint32_t i = 0; i < pairs; i++) {
        const uint32_t at = next[d->chosen_host[i]]++;

        d->pair_host[at] = i;
        d->place_host[i] = at;
    }
}

static int many_rows(device *d, const present *p, const float *norm, uint32_t n, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const mat *gate = p->mat_of(GKV_PLUGIN_GATE), *down = p->mat_of(GKV_PLUGIN_DOWN);
    const bool together = !p->has(GKV_PLUGIN_UP);
    const mat *up = together ? gate : p->mat_of(GKV_PLUGIN_UP);
    const form in = form_of_type(d, gate->type), mid = form_of_type(d, down->type);
    const uint32_t f = s->n_ff_expert, pairs = n * s->n_used;
    const float *share = s->router == GKV_PLUGIN_SIGMOID_IN ? d->share : NULL;
    const float factor = mid == FORM_F16 ? 1 / GATE_SHRINK : 1;
    uint32_t begin[MOST_EXPERTS + 1];

    CUDA(cudaMemcpyAsync(d->chosen_host, d->chosen, pairs * sizeof *d->chosen, cudaMemcpyDeviceToHost, d->stream));
    CUDA(cudaStreamSynchronize(d->stream));
    for (uint32_t i = 0; i < pairs; i++)
        if (d->chosen_host[i] >= s->n_expert)
            return fail(error, "expert %u of %u", d->chosen_host[i], s->n_expert);
    sort_pairs(d, pairs, begin);
    CUDA(cudaMemcpyAsync(d->pair, d->pair_host, pairs * sizeof *d->pair, cudaMemcpyHostToDevice, d->stream));
    CUDA(cudaMemcpyAsync(d->place_of, d->place_host, pairs * sizeof *d->place_of, cudaMemcpyHostToDevice, d->stream));
    FOR_FORM(in, (gather_rows<F><<<pairs, 256, 0, d->stream>>>(d->x, norm, d->pair, s->n_used, share, s->eps, s->n_embd,
                                                               (form_of<F>::t *)d->operand[F])));
    CUDA(cudaGetLastError());
    for (uint32_t e = 0; e < s->n_expert; e++) {
        const uint32_t at = begin[e], k = begin[e + 1] - at;
        float *to = d->mid + (size_t)at * 2 * f;

        if (!k)
            continue;
        TRY(gkv__products_of(d, gate, (together ? 2 * e : e) * f, f, at, k, to, 2 * f, false, error));
        TRY(gkv__products_of(d, up, (together ? 2 * e + 1 : e) * f, f, at, k, to + f, 2 * f, false, error));
    }
    FOR_FORM(mid, (glu_pairs<F><<<dim3(blocks_for(f, 256), pairs), 256, 0, d->stream>>>(
        d->mid, d->pair, d->chosen, p->vec(GKV_PLUGIN_GATE_BIAS), p->vec(GKV_PLUGIN_UP_BIAS), factor, f, (int)s->glu,
        (form_of<F>::t *)d->operand[F])));
    CUDA(cudaGetLastError());
    for (uint32_t e = 0; e < s->n_expert; e++)
        if (begin[e + 1] > begin[e])
            TRY(gkv__products_of(d, down, e * s->n_embd, s->n_embd, begin[e], begin[e + 1] - begin[e],
                                 d->result + (size_t)begin[e] * s->n_embd, s->n_embd, true, error));
    return 0;
}

/* ---- both ------------------------------------------------------------------------------- */

static int rate(device *d, const present *p, uint32_t n, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const float *norm = p->vec(s->beside ? GKV_PLUGIN_ROUTER_NORM : GKV_PLUGIN_FFN_NORM);

    TRY(gkv__project(d, p->mat_of(GKV_PLUGIN_ROUTER), d->x, norm, d->rating, n,
                     s->beside ? 1 / sqrtf((float)s->n_embd) : 1, error));
    return launch(d, choose, n, 32, 0, error, (const float *)d->rating, p->vec(GKV_PLUGIN_ROUTER_BIAS),
                  p->vec(GKV_PLUGIN_EXPERT_SCALE), (int)s->router, s->n_expert, s->n_used, d->chosen, d->share);
}

int gkv__experts(device *d, const present *p, uint32_t n, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const float *norm = p->vec(GKV_PLUGIN_FFN_NORM), *router = p->vec(GKV_PLUGIN_SHARED_ROUTER);
    const bool shared = p->has(GKV_PLUGIN_SHARED_GATE);
    combine_args c = { d->result, s->router == GKV_PLUGIN_SIGMOID_IN ? NULL : d->share,
                       are_few(n) ? NULL : p->vec(GKV_PLUGIN_DOWN_BIAS), shared && !s->beside ? d->y : NULL,
                       router ? d->all_share : NULL, are_few(n) ? NULL : d->place_of, d->chosen, s->n_used, s->n_embd,
                       !s->beside, s->residual_scale, s->beside ? d->sum : d->x };

    if (shared)
        TRY(gkv__mlp(d, p->mat_of(GKV_PLUGIN_SHARED_GATE), p->mat_of(GKV_PLUGIN_SHARED_UP),
                     p->mat_of(GKV_PLUGIN_SHARED_DOWN), d->x, norm, d->y, n, error));
    if (router)
        TRY(launch(d, share_of_all, n, 256, 0, error, (const float *)d->x, norm, router, s->eps, s->n_embd,
                   d->all_share));
    TRY(rate(d, p, n, error));
    if (s->beside)
        norm = p->vec(GKV_PLUGIN_EXPERT_NORM);
    TRY(are_few(n) ? few_rows(d, p, norm, n, error) : many_rows(d, p, norm, n, error));
    TRY(launch(d, combine, dim3(blocks_for(s->n_embd, 256), n), 256, 0, error, c));
    if (!s->beside)
        return 0;
    TRY(launch(d, join_norms, n, 256, 0, error, d->y, p->vec(GKV_PLUGIN_SHARED_POST), (const float *)d->sum,
               p->vec(GKV_PLUGIN_EXPERT_POST), s->eps, s->n_embd));
    return gkv__add(d, NULL, p->vec(GKV_PLUGIN_FFN_POST), 1, n, error);
}
