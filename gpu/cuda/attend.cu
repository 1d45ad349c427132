/* SPDX-License-Identifier: BSD-2-Clause
 * attend.cu - memory for keys and values; launches of the kernels in attend.cuh. */
#include <stdlib.h>
#include <string.h>
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/attend.cuh"

int gkv__check_heads(const gkv_plugin_shape *s, char *error)
{
    for (uint32_t il = 0; il < s->n_layer; il++) {
        const gkv_plugin_layer *l = &s->layer[il];

        if (l->mixer != GKV_PLUGIN_ATTENTION)
            continue;
        if (!l->head_dim || l->head_dim % 8 || l->head_dim > WIDE_MAX_DIM)
            return fail(error, "heads of %u; multiples of 8 up to %d", l->head_dim, WIDE_MAX_DIM);
        if (!l->n_head_kv || s->n_head % l->n_head_kv)
            return fail(error, "%u heads on %u", s->n_head, l->n_head_kv);
        if (l->source > il)
            return fail(error, "layer %u uses keys of a later one", il);
    }
    return 0;
}

size_t gkv__partial_floats(const device *d)
{
    return GKV_PLUGIN_ROWS * (size_t)d->s.n_head * MAX_PARTS * (d->head_most + 2);
}

/* Whether a layer has keys and values of its own. */
static bool has_keys(const device *d, uint32_t il)
{
    return d->layer[il].f.mixer == GKV_PLUGIN_ATTENTION && d->layer[il].f.source == il;
}

size_t gkv__position_bytes(const device *d, uint64_t n)
{
    size_t sum = 0;

    for (uint32_t il = 0; il < d->s.n_layer; il++)
        if (has_keys(d, il))
            sum += (size_t)n * d->layer[il].f.n_head_kv * d->layer[il].f.head_dim * 4;
    for (const gkv_plugin_rope &r : d->s.rope)
        sum += r.freq ? (size_t)n * r.n_rot * 4 : 0;
    return sum;
}

/* ---- heads and queries ------------------------------------------------------------------ */

static heads heads_of(const device *d, const gkv_plugin_layer *f)
{
    const gkv_plugin_slots *c = &d->layer[f->source].slots;
    const uint32_t d_of = f->head_dim, n_rot = f->rope < GKV_PLUGIN_N_ROPES ? d->rope[f->rope].n_rot : 0;

    return { d->s.n_head, f->n_head_kv, d_of, n_rot, d->s.rope_halves, c->n, c->shift, c->n_head_kv / f->n_head_kv,
             f->window, f->chunk, (uint32_t)(((1ull << 32) + d_of / 2 - 1) / (d_of / 2)) };
}

static float log2_e(double x)
{
    return (float)(1.44269504088896340736 * x);
}

rotation gkv__rotation_of(const device *d, const present *p, const uint32_t *pos)
{
    const gkv_plugin_layer *f = &p->l.f;
    const layer *kept = &d->layer[f->source];
    const double scale = d->s.attn_scale > 0 ? d->s.attn_scale : 1 / sqrt((double)f->head_dim);

    return { heads_of(d, f), pos, f->rope < GKV_PLUGIN_N_ROPES ? d->rope[f->rope].turn : NULL, d->first, d->rotated,
             kept->keys, kept->values, log2_e(scale), f->tempered ? d->s.temper : 0, d->s.temper_span,
             d->s.temper_shift };
}

bool gkv__only_rotates(const device *d, const present *p)
{
    return !d->s.gated && p->has(GKV_PLUGIN_V) && !p->vec(GKV_PLUGIN_Q_NORM) && !p->vec(GKV_PLUGIN_K_NORM) &&
           !p->vec(GKV_PLUGIN_V_NORM);
}

int gkv__heads(device *d, const present *p, const uint32_t *pos, uint32_t n, char *error)
{
    const gkv_plugin_layer *f = &p->l.f;
    const uint32_t q = p->mat_of(GKV_PLUGIN_Q)->n_out, k = p->mat_of(GKV_PLUGIN_K)->n_out;
    const uint32_t v = p->mat_of(GKV_PLUGIN_V)->n_out, n_heads = d->s.n_head + 2 * f->n_head_kv;
    const uint32_t pairs = f->head_dim / 2;
    const head_rows a = {
        d->qkv, q + k + v, q, v ? q + k : q, q / d->s.n_head,
        { p->vec(GKV_PLUGIN_Q_BIAS), p->vec(GKV_PLUGIN_K_BIAS), p->vec(GKV_PLUGIN_V_BIAS) },
        { p->vec(GKV_PLUGIN_Q_NORM), p->vec(GKV_PLUGIN_K_NORM), p->vec(GKV_PLUGIN_V_NORM) },
        f->whole_norms != 0, k != 0, d->s.eps, gkv__rotation_of(d, p, pos),
    };
    const uint32_t kinds = k ? 3 : 1, units = f->whole_norms ? kinds : k ? n_heads : d->s.n_head;

    if (gkv__only_rotates(d, p)) {
        rope<<<dim3(blocks_for(n_heads * pairs, 256), n), 256, 0, d->stream>>>(a);
        CUDA(cudaGetLastError());
        return 0;
    }
    return launch(d, norm_heads, dim3(units, n), f->whole_norms ? 512 : pairs <= 64 ? 64 : 128, 0, error, a);
}

/* How many parts n keys are divided into: PART_KEYS keys each, unless that gives more blocks than run at a
 * time, which is two per multiprocessor. */
static uint32_t parts_for(const device *d, const heads &h)
{
    const uint32_t n = h.window && h.window < h.n_max ? h.window : h.n_max;
    const uint32_t wanted = blocks_for(n, PART_KEYS), n_bunches = kept_heads(h) * bunches_of(h);
    const uint32_t most = 2 * (uint32_t)d->n_sm / n_bunches;

    return wanted < most && wanted < MAX_PARTS ? wanted
         : most > MAX_PARTS ? (uint32_t)MAX_PARTS : most ? most : 1;
}

static int attend_some(device *d, const present *p, const uint32_t *pos, uint32_t n, uint32_t n_parts, char *error)
{
    const heads h = heads_of(d, &p->l.f);
    const layer *kept = &d->layer[p->l.f.source];
    const uint32_t passes = few_bytes(MANY_PASSES) + SHARED_SPARE > d->shared_max ? FEW_PASSES : MANY_PASSES;
    const few_args a = { d->rotated, kept->keys, kept->values, d->att, d->partial, d->arrived, pos, passes, h,
                         p->vec(GKV_PLUGIN_SINKS), log2_e(d->s.attn_cap) };

    if (h.head_dim > FEW_MAX_DIM)
        return launch(d, attend_wide, dim3(h.n_head, n), WIDE_THREADS, 0, error, a);
    return launch(d, h.head_dim <= 64 ? attend_few<8> : h.head_dim <= 128 ? attend_few<16> : attend_few<32>,
                  dim3(n_parts, kept_heads(h) * bunches_of(h), n), FEW_THREADS, few_bytes(passes), error, a);
}

int gkv__attend_few(device *d, const present *p, const uint32_t *on_device, uint32_t n, char *error)
{
    return attend_some(d, p, on_device, n, parts_for(d, heads_of(d, &p->l.f)), error);
}

int gkv__attend_many(device *d, const present *p, const uint32_t *on_device, uint32_t pos, uint32_t n, char *error)
{
    const heads h = heads_of(d, &p->l.f);
    const layer *kept = &d->layer[p->l.f.source];
    const tile_args a = { d->rotated, kept->keys, kept->values, d->att, h, n, pos - h.shift, p->vec(GKV_PLUGIN_SINKS),
                          log2_e(d->s.attn_cap) };
    const dim3 grid(blocks_for(n, TILE), h.n_head);

    switch (h.head_dim) {
    case 64:  attend_tiles<64><<<grid, TILE_THREADS, 0, d->stream>>>(a); break;
    case 80:  attend_tiles<80><<<grid, TILE_THREADS, 0, d->stream>>>(a); break;
    case 96:  attend_tiles<96><<<grid, TILE_THREADS, 0, d->stream>>>(a); break;
    case 128: attend_tiles<128><<<grid, TILE_THREADS, 0, d->stream>>>(a); break;
    case 256: attend_tiles<256><<<grid, TILE_THREADS, 0, d->stream>>>(a); break;
    default:  return attend_some(d, p, on_device, n, 1, error);
    }
    CUDA(cudaGetLastError());
    return 0;
}

int gkv__allow_attend(const device *d, char *error)
{
    TRY(allow_shared(d, attend_few<8>, error));
    TRY(allow_shared(d, attend_few<16>, error));
    return allow_shared(d, attend_few<32>, error);
}

/* ---- room for a prompt ------------------------------------------------------------------ */

/* Computes the sines and cosines of a table for all positions. */
static int fill_turns(device *d, rope_table *r, char *error)
{
    const size_t half_rot = r->n_rot / 2, bytes = half_rot * sizeof *r->freq;
    double *freq = NULL;
    cudaError_t status = cudaMalloc((void **)&freq, bytes);

    if (status == cudaSuccess)
        status = cudaMemcpy(freq, r->freq, bytes, cudaMemcpyHostToDevice);
    if (status == cudaSuccess) {
        turn_table<<<blocks_for((uint64_t)d->n_positions * half_rot, 256), 256, 0, d->stream>>>(
            freq, r->turn, (uint32_t)half_rot, d->first, d->n_positions, r->scale);
        status = cudaGetLastError();
    }
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(d->stream);
    cudaFree(freq);
    CUDA(status);
    return 0;
}

static bool same_rope(const rope_table *a, const gkv_plugin_rope *b)
{
    if (!a->freq || !b->freq)
        return !a->freq && !b->freq;
    return a->n_rot == b->n_rot && memcmp(&a->scale, &b->scale, sizeof a->scale) == 0 &&
           !memcmp(a->freq, b->freq, a->n_rot / 2 * sizeof *a->freq);
}

/* Whether what there is will do. */
static bool has_room(const device *d, const gkv_plugin_begin *b)
{
    bool good = d->cache && d->first == b->first && b->n <= d->n_positions;

    for (int i = 0; i < GKV_PLUGIN_N_ROPES; i++)
        good &= same_rope(&d->rope[i], &b->rope[i]);
    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        const gkv_plugin_slots *have = &d->layer[il].slots, *want = &b->layer[il];

        good &= want->n <= have->n && want->n_head_kv == have->n_head_kv && want->shift == have->shift;
    }
    return good;
}

static int drop_room(device *d, char *error)
{
    CUDA(cudaDeviceSynchronize());
    for (cudaGraphExec_t &step : d->step)
        if (step) {                     /* the graph has the addresses of the old cache */
            CUDA(cudaGraphExecDestroy(step));
            step = NULL;
        }
    CUDA(cudaFree(d->cache));
    d->cache = NULL;
    for (rope_table &r : d->rope) {
        CUDA(cudaFree(r.turn));
        free(r.freq);
        r = {};
    }
    d->used -= d->position_bytes;
    d->position_bytes = 0;
    return 0;
}

static size_t slot_halves(const device *d, uint32_t il, const gkv_plugin_slots *c)
{
    const gkv_plugin_layer *f = &d->layer[il].f;

    return has_keys(d, il) ? (size_t)c->n * c->n_head_kv * f->head_dim : 0;
}

static int take_ropes(device *d, const gkv_plugin_begin *b, char *error)
{
    for (int i = 0; i < GKV_PLUGIN_N_ROPES; i++) {
        rope_table *r = &d->rope[i];
        const size_t half_rot = b->rope[i].n_rot / 2;

        if (!b->rope[i].freq)
            continue;
        *r = { (double *)malloc(half_rot * sizeof *r->freq), b->rope[i].n_rot, b->rope[i].scale, NULL };
        if (!r->freq)
            return fail(error, "out of memory");
        memcpy(r->freq, b->rope[i].freq, half_rot * sizeof *r->freq);
        TRY(take(d, &r->turn, (size_t)b->n * half_rot, "angles", error));
        TRY(fill_turns(d, r, error));
    }
    return 0;
}

int gkv__begin(void *state, const gkv_plugin_begin *b, char *error)
{
    device *d = (device *)state;
    size_t halves = 0, bytes;
    uint64_t before;

    CUDA(cudaSetDevice(d->number));
    if (has_room(d, b))
        return 0;
    TRY(drop_room(d, error));
    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        const gkv_plugin_layer *f = &d->layer[il].f;
        const gkv_plugin_slots *c = &b->layer[il];

        if (has_keys(d, il) && (!c->n_head_kv || c->n_head_kv % f->n_head_kv || d->s.n_head % c->n_head_kv))
            return fail(error, "keys of %u heads for %u", c->n_head_kv, d->s.n_head);
        halves += 2 * slot_halves(d, il, c);
    }
    bytes = halves * sizeof *d->cache;
    for (const gkv_plugin_rope &r : b->rope)
        bytes += r.freq ? (size_t)b->n * r.n_rot * 4 : 0;
    if (d->used + bytes > d->budget)
        return fail(error, "keys and values of %u positions need %zu MiB, %llu are free or allowed", b->n, bytes >> 20,
                    (unsigned long long)((d->budget > d->used ? d->budget - d->used : 0) >> 20));
    before = d->used;
    d->first = b->first;
    d->n_positions = b->n;
    TRY(take(d, &d->cache, halves, "keys and values", error));
    halves = 0;
    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        layer *l = &d->layer[il];
        const size_t n = slot_halves(d, il, &b->layer[il]);

        l->slots = b->layer[il];
        l->keys = d->cache + halves;
        l->values = l->keys + n;
        halves += 2 * n;
    }
    TRY(take_ropes(d, b, error));
    d->position_bytes = d->used - before;
    return d->warm ? gkv__capture(d, error) : 0;        /* not in the first steps, whose time says what guesses cost */
}

int gkv__begin_fresh(device *d, uint32_t n, char *error)
{
    gkv_plugin_slots *slots = (gkv_plugin_slots *)calloc(d->s.n_layer, sizeof *slots);
    gkv_plugin_begin b = { 0, n, {}, slots };
    int bad;

    if (!slots)
        return fail(error, "out of memory");
    for (int i = 0; i < GKV_PLUGIN_N_ROPES; i++)
        b.rope[i] = d->s.rope[i];
    for (uint32_t il = 0; il < d->s.n_layer; il++)
        slots[il] = { n, d->layer[il].f.n_head_kv, 0 };
    bad = gkv__begin(d, &b, error);
    free(slots);
    return bad;
}

int gkv__keys(void *state, uint32_t il, uint32_t head, uint32_t n, const uint16_t *k, const uint16_t *v, char *error)
{
    device *d = (device *)state;
    const layer *l = il < d->s.n_layer ? &d->layer[il] : NULL;

    if (!l || head >= l->slots.n_head_kv || n > l->slots.n)
        return fail(error, "keys of no slot");
    CUDA(cudaSetDevice(d->number));
    const size_t at = (size_t)head * l->slots.n * l->f.head_dim, bytes = (size_t)n * l->f.head_dim * sizeof *k;

    CUDA(cudaMemcpyAsync(l->keys + at, k, bytes, cudaMemcpyHostToDevice, d->stream));
    CUDA(cudaMemcpyAsync(l->values + at, v, bytes, cudaMemcpyHostToDevice, d->stream));
    return 0;
}
