/* SPDX-License-Identifier: BSD-2-Clause
 * plan.cu - the memory of weights and work space, and which layers stay on the device. */
#include <stdlib.h>
#include <string.h>
#include "gpu/cuda/device.cuh"

static const uint32_t MIN_CHUNK = 256, MAX_CHUNK = 4096;

static const char *role_name(uint32_t role)
{
    static const char *const names[GKV_PLUGIN_N_ROLES] = {
        "embeddings", "output norm", "output", "attention norm", "Q", "K", "V", "O", "MLP norm",
        "gate", "up", "down",
    };

    return role < GKV_PLUGIN_N_ROLES ? names[role] : "a tensor";
}

/* The matrix for a tensor, or NULL for a vector. */
static mat *mat_of(device *d, const gkv_plugin_tensor *t)
{
    layer *l = &d->layer[t->layer];

    switch (t->role) {
    case GKV_PLUGIN_EMBED:  return &d->embed;
    case GKV_PLUGIN_OUTPUT: return &d->output;
    case GKV_PLUGIN_Q:      return &l->q;
    case GKV_PLUGIN_K:      return &l->k;
    case GKV_PLUGIN_V:      return &l->v;
    case GKV_PLUGIN_O:      return &l->o;
    case GKV_PLUGIN_GATE:   return &l->gate;
    case GKV_PLUGIN_UP:     return &l->up;
    case GKV_PLUGIN_DOWN:   return &l->down;
    default:                return NULL;
    }
}

static int place_mat(device *d, place *p, mat *m, size_t *end, char *error)
{
    const gkv_plugin_tensor *t = &p->t;

    if (t->n_in % (is_dense(p->row->type) ? 8 : p->row->block))
        return fail(error, "%s of layer %u has rows of %u, not of a multiple of 8", role_name(t->role),
                    t->layer, t->n_in);
    if (gemv_row(p->row->type, t->n_in) + SHARED_SPARE > d->shared_max)
        return fail(error, "%s of layer %u has rows of %u, longer than its shared memory",
                    role_name(t->role), t->layer, t->n_in);
    *m = (mat){ p->row->type, t->n_out, t->n_in, (uint64_t)t->n_out * (t->n_in / p->row->block), {}, 0 };
    if (m->n_blocks * p->row->bytes != t->bytes || (uint64_t)t->n_out * t->n_in >> 36)
        return fail(error, "%s of layer %u has %llu bytes", role_name(t->role), t->layer,
                    (unsigned long long)t->bytes);
    for (int i = 0; i < p->row->plane.n; i++) {
        m->w.p[i] = (const uint8_t *)(*end + m->bytes);
        if (m->n_blocks * p->row->plane.f[i].stored >> 32)
            return fail(error, "%s of layer %u has more than 4 GiB", role_name(t->role), t->layer);
        m->bytes += aligned(m->n_blocks * p->row->plane.f[i].stored);
    }
    *end += m->bytes;
    d->used_form[form_of_type(d, m->type)] = true;
    return 0;
}

static int place_tensor(device *d, place *p, char *error)
{
    const gkv_plugin_tensor *t = &p->t;
    layer *l = &d->layer[t->layer];
    size_t *end = of_model(t) ? &d->fixed_bytes : &l->bytes;
    mat *m;

    if (t->layer >= d->s.n_layer || t->role >= GKV_PLUGIN_N_ROLES)
        return fail(error, "a tensor of role %u in layer %u", t->role, t->layer);
    p->row = type_of(t->type);
    if (!p->row)
        return fail(error, "%s of layer %u has type %u, for which there is no kernel",
                    role_name(t->role), t->layer, t->type);
    p->at = *end;
    m = mat_of(d, t);
    if (m)
        return place_mat(d, p, m, end, error);
    if (p->row->type != GKV__TYPE_F32)
        return fail(error, "%s of layer %u is not f32", role_name(t->role), t->layer);
    if (t->role == GKV_PLUGIN_OUTPUT_NORM)
        d->output_norm = *end;
    else
        l->norm[t->role == GKV_PLUGIN_ATTN_NORM ? P_ATTN_NORM : P_FFN_NORM] = *end;
    *end += aligned(t->bytes);
    return 0;
}

/* f16 elements of the largest product whose weights have to be unpacked. */
static size_t most_unpacked(const device *d)
{
    size_t most = 0;

    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        const layer *l = &d->layer[il];
        const mat *const group[][3] = { { &l->q, &l->k, &l->v }, { &l->o }, { &l->gate, &l->up },
                                        { &l->down } };

        for (const auto &g : group) {
            size_t sum = 0;

            for (const mat *m : g)
                if (m && needs_unpacking(d, m->type))
                    sum += (size_t)m->n_out * m->n_in;
            most = sum > most ? sum : most;
        }
    }
    return most;
}

static uint32_t max3(uint32_t a, uint32_t b, uint32_t c)
{
    return a > b ? (a > c ? a : c) : b > c ? b : c;
}

static uint32_t widest(const gkv_plugin_shape *s)
{
    return max3(s->n_embd, s->n_head * s->head_dim, s->n_ff);
}

/* Bytes of the buffers for a chunk of n tokens, without those that depend on positions. */
static size_t work_bytes(const device *d, uint32_t n)
{
    const gkv_plugin_shape *s = &d->s;
    const size_t q = (size_t)s->n_head * s->head_dim, kv = (size_t)s->n_head_kv * s->head_dim;
    size_t row = 4 * ((size_t)s->n_embd + 2 * q + 2 * kv + 2 * (size_t)s->n_ff) + 2 * q;

    row += widest(s) * (4 * d->used_form[FORM_F32] + 2 * d->used_form[FORM_F16] +
                        2 * d->used_form[FORM_BF16]);
    return row * n + 2 * d->unpacked + 4 * (size_t)s->n_vocab + WORKSPACE +
           gkv__partial_floats(s) * 4 + (1 << 20);
}

/* Chooses the largest chunk with which all layers stay on the device; if there is none, the smallest, and some
 * layers share two slots. */
static int choose_room(device *d, uint32_t n_tokens, char *error)
{
    const size_t always = d->fixed_bytes + 2 * STAGE + gkv__position_bytes(&d->s, d->n_expected);
    size_t layers = 0, largest = 0, left;
    uint32_t chunk = n_tokens < MAX_CHUNK ? n_tokens : MAX_CHUNK;

    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        layers += d->layer[il].bytes;
        largest = d->layer[il].bytes > largest ? d->layer[il].bytes : largest;
    }
    chunk = chunk > MIN_CHUNK ? chunk : MIN_CHUNK;
    while (chunk / 2 >= MIN_CHUNK && always + layers + work_bytes(d, chunk) > d->budget)
        chunk /= 2;
    d->chunk = chunk;
    d->n_resident = d->s.n_layer;
    if (always + layers + work_bytes(d, chunk) <= d->budget)
        return 0;
    left = always + work_bytes(d, chunk) + 2 * largest;
    if (left > d->budget)
        return fail(error, "even with two layers at a time it needs %zu MiB of memory, of %llu that are "
                    "free or allowed", left >> 20, (unsigned long long)(d->budget >> 20));
    left = d->budget - left;
    for (d->n_resident = 0; d->layer[d->n_resident].bytes <= left; d->n_resident++)
        left -= d->layer[d->n_resident].bytes;
    return 0;
}

static int take_weights(device *d, char *error)
{
    size_t largest = 0;

    TRY(take(d, &d->fixed, d->fixed_bytes, "embeddings", error));
    settle(&d->embed, d->fixed);
    if (d->output.n_out)
        settle(&d->output, d->fixed);
    else
        d->output = d->embed;
    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        layer *l = &d->layer[il];

        if (il < d->n_resident)
            TRY(take(d, &l->memory, l->bytes, "a layer", error));
        else
            largest = l->bytes > largest ? l->bytes : largest;
    }
    for (int i = 0; i < 2 && largest; i++)
        TRY(take(d, &d->slot[i], largest, "a layer", error));
    return 0;
}

static int take_work(device *d, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const size_t n = d->chunk, q = (size_t)s->n_head * s->head_dim;
    const size_t kv = (size_t)s->n_head_kv * s->head_dim;
    static const char what[] = "intermediate results";

    TRY(take(d, &d->x, n * s->n_embd, what, error));
    TRY(take(d, &d->qkv, n * (q + 2 * kv), what, error));
    TRY(take(d, &d->both, n * 2 * s->n_ff, what, error));
    TRY(take(d, &d->att, n * q, what, error));
    TRY(take(d, &d->rotated, n * q, what, error));
    for (int f = 0; f < N_FORMS; f++)
        if (d->used_form[f])
            TRY(take(d, &d->operand[f], n * widest(s) * (f == FORM_F32 ? 4 : 2), what, error));
    if (d->unpacked)
        TRY(take(d, &d->weights, d->unpacked, what, error));
    TRY(take(d, &d->logits, s->n_vocab, what, error));
    TRY(take(d, &d->ids, n, what, error));
    TRY(take(d, &d->pos, 1, what, error));
    TRY(take(d, &d->input, 1, what, error));
    TRY(take(d, &d->partial, gkv__partial_floats(s), what, error));
    TRY(take(d, &d->arrived, s->n_head, what, error));
    TRY(take(d, &d->best, 1, what, error));
    TRY(take(d, &d->workspace, WORKSPACE, what, error));
    CUDA(cudaMemsetAsync(d->arrived, 0, s->n_head * sizeof *d->arrived, d->stream));
    CUDA(cudaMallocHost((void **)&d->best_host, sizeof *d->best_host));
    CUDA(cudaMallocHost((void **)&d->input_host, sizeof *d->input_host));
    CUDA(cudaMallocHost((void **)&d->logits_host, s->n_vocab * sizeof *d->logits_host));
    return 0;
}

int gkv__plan(void *state, const gkv_plugin_shape *s, const gkv_plugin_tensor *t, size_t n,
              uint32_t n_tokens, uint32_t n_positions, char *error)
{
    device *d = (device *)state;
    const size_t half_rot = s->n_rot / 2;

    CUDA(cudaSetDevice(d->number));
    TRY(gkv__check_heads(s, error));
    d->s = *s;
    d->layer = (layer *)calloc(s->n_layer, sizeof *d->layer);
    d->tensor = (place *)calloc(n, sizeof *d->tensor);
    d->freq = (double *)malloc(half_rot * sizeof *d->freq);
    if (!d->layer || !d->tensor || !d->freq)
        return fail(error, "out of memory");
    memcpy(d->freq, s->rope_freq, half_rot * sizeof *d->freq);
    d->s.rope_freq = d->freq;
    for (size_t i = 0; i < n; i++) {
        layer *l = &d->layer[t[i].layer < s->n_layer ? t[i].layer : 0];

        d->tensor[i].t = t[i];
        TRY(place_tensor(d, &d->tensor[i], error));
        if (!of_model(&t[i])) {
            l->first = l->n ? l->first : i;
            l->n++;
        }
    }
    d->fixed_bytes += READ_BEHIND;
    for (uint32_t il = 0; il < s->n_layer; il++)
        d->layer[il].bytes += READ_BEHIND;
    d->unpacked = most_unpacked(d);
    d->n_expected = n_positions > n_tokens ? n_positions : n_tokens + 1;
    TRY(choose_room(d, n_tokens, error));
    TRY(take_weights(d, error));
    return take_work(d, error);
}
