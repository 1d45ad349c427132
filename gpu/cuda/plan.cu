/* SPDX-License-Identifier: BSD-2-Clause
 * plan.cu - the memory of weights and work space, and which layers stay on the device. */
#include <stdlib.h>
#include <string.h>
#include "gpu/cuda/device.cuh"

static const uint32_t MIN_CHUNK = 256, MAX_CHUNK = 4096;

static const char *role_name(uint32_t role)
{
    static const char *const names[GKV_PLUGIN_N_ROLES] = {
#define NAME(ROLE, text) text,
        GKV_PLUGIN_MODEL_ROLES(NAME)
        GKV_PLUGIN_LAYER_ROLES(NAME)
#undef NAME
    };

    return role < GKV_PLUGIN_N_ROLES ? names[role] : "a tensor";
}

enum { GGML_F16 = 1 };                          /* ggml's number */
enum kind { MATRIX, VECTOR, BEYOND };

/* What a role is here; BEYOND: nothing computes with it. */
static kind kind_of(uint32_t role)
{
    switch (role) {
    case GKV_PLUGIN_EMBED: case GKV_PLUGIN_OUTPUT: case GKV_PLUGIN_LAYER_EMBED:
    case GKV_PLUGIN_Q: case GKV_PLUGIN_K: case GKV_PLUGIN_V: case GKV_PLUGIN_O:
    case GKV_PLUGIN_GATE: case GKV_PLUGIN_UP: case GKV_PLUGIN_DOWN: case GKV_PLUGIN_ROUTER:
    case GKV_PLUGIN_SHARED_GATE: case GKV_PLUGIN_SHARED_UP: case GKV_PLUGIN_SHARED_DOWN:
    case GKV_PLUGIN_EMBED_GATE: case GKV_PLUGIN_EMBED_IN: case GKV_PLUGIN_EMBED_OUT:
    case GKV_PLUGIN_STATE_QKV: case GKV_PLUGIN_STATE_Z: case GKV_PLUGIN_STATE_BETA: case GKV_PLUGIN_STATE_ALPHA:
    case GKV_PLUGIN_STATE_OUT:
        return MATRIX;
    case GKV_PLUGIN_OUTPUT_NORM: case GKV_PLUGIN_LAYER_EMBED_NORM:
    case GKV_PLUGIN_ATTN_NORM: case GKV_PLUGIN_ATTN_POST: case GKV_PLUGIN_FFN_NORM: case GKV_PLUGIN_FFN_POST:
    case GKV_PLUGIN_Q_BIAS: case GKV_PLUGIN_K_BIAS: case GKV_PLUGIN_V_BIAS: case GKV_PLUGIN_O_BIAS:
    case GKV_PLUGIN_Q_NORM: case GKV_PLUGIN_K_NORM: case GKV_PLUGIN_V_NORM:
    case GKV_PLUGIN_SINKS: case GKV_PLUGIN_OUT_SCALE: case GKV_PLUGIN_EMBED_POST:
    case GKV_PLUGIN_ROUTER_BIAS: case GKV_PLUGIN_GATE_BIAS: case GKV_PLUGIN_UP_BIAS: case GKV_PLUGIN_DOWN_BIAS:
    case GKV_PLUGIN_SHARED_ROUTER: case GKV_PLUGIN_ROUTER_NORM: case GKV_PLUGIN_EXPERT_NORM:
    case GKV_PLUGIN_SHARED_POST: case GKV_PLUGIN_EXPERT_POST: case GKV_PLUGIN_EXPERT_SCALE:
    case GKV_PLUGIN_STATE_CONV: case GKV_PLUGIN_STATE_CONV_BIAS: case GKV_PLUGIN_STATE_DT: case GKV_PLUGIN_STATE_A:
    case GKV_PLUGIN_STATE_SKIP: case GKV_PLUGIN_STATE_NORM:
        return VECTOR;
    default:
        return BEYOND;
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
    if ((p->widened ? t->bytes % t->n_out : m->n_blocks * p->row->bytes != t->bytes) ||
        (uint64_t)t->n_out * t->n_in >> 36)
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

    if (t->layer >= d->s.n_layer || t->role >= GKV_PLUGIN_N_ROLES)
        return fail(error, "a tensor of role %u in layer %u", t->role, t->layer);
    if (kind_of(t->role) == BEYOND)
        return fail(error, "it has no kernels for %s, which this model has", role_name(t->role));
    layer *l = &d->layer[t->layer];
    size_t *end = of_model(t) ? &d->fixed_bytes : &l->bytes;

    p->row = type_of(t->type);
    if (!p->row && kind_of(t->role) == MATRIX && t->n_out && t->n_in <= STAGE / 2) {
        p->row = type_of(GGML_F16);
        p->widened = true;
        d->n_wide = t->n_in > d->n_wide ? t->n_in : d->n_wide;
    }
    if (!p->row)
        return fail(error, "%s of layer %u has type %u, for which there is no kernel",
                    role_name(t->role), t->layer, t->type);
    p->at = *end;
    if (kind_of(t->role) == MATRIX)
        return place_mat(d, p, t->role == GKV_PLUGIN_EMBED ? &d->embed : t->role == GKV_PLUGIN_OUTPUT ? &d->output
                               : t->role == GKV_PLUGIN_LAYER_EMBED ? &d->layer_embed : &l->m[t->role], end, error);
    if (p->row->type != GKV__TYPE_F32)
        return fail(error, "%s of layer %u is not f32", role_name(t->role), t->layer);
    if (t->role == GKV_PLUGIN_OUTPUT_NORM)
        d->output_norm = *end;
    else if (t->role == GKV_PLUGIN_LAYER_EMBED_NORM)
        d->layer_embed_norm = *end;
    else
        l->v[t->role] = *end + 1;
    *end += aligned(t->bytes);
    return 0;
}

/* f16 elements of the largest product whose weights have to be unpacked. */
static size_t most_unpacked(const device *d)
{
    static const int together[][4] = {  /* EMBED: none */
        { GKV_PLUGIN_Q, GKV_PLUGIN_K, GKV_PLUGIN_V }, { GKV_PLUGIN_O, 0, 0 }, { GKV_PLUGIN_GATE, GKV_PLUGIN_UP, 0 },
        { GKV_PLUGIN_DOWN, 0, 0 }, { GKV_PLUGIN_ROUTER, 0, 0 }, { GKV_PLUGIN_SHARED_GATE, GKV_PLUGIN_SHARED_UP, 0 },
        { GKV_PLUGIN_SHARED_DOWN, 0, 0 }, { GKV_PLUGIN_EMBED_GATE, 0, 0 }, { GKV_PLUGIN_EMBED_IN, 0, 0 },
        { GKV_PLUGIN_EMBED_OUT, 0, 0 }, { GKV_PLUGIN_STATE_OUT, 0, 0 },
        { GKV_PLUGIN_STATE_QKV, GKV_PLUGIN_STATE_Z, GKV_PLUGIN_STATE_BETA, GKV_PLUGIN_STATE_ALPHA },
    };
    size_t most = 0;

    for (uint32_t il = 0; il < d->s.n_layer; il++)
        for (const auto &roles : together) {
            const layer *l = &d->layer[il];
            const bool experts = l->m[GKV_PLUGIN_ROUTER].n_out &&
                                 (roles[0] == GKV_PLUGIN_GATE || roles[0] == GKV_PLUGIN_DOWN);
            size_t sum = 0;

            for (int role : roles)
                if (role && l->m[role].n_out && needs_unpacking(d, l->m[role].type))
                    sum += (size_t)l->m[role].n_out * l->m[role].n_in / (experts ? d->s.n_expert : 1);
            most = sum > most ? sum : most;
        }
    return most;
}

static uint32_t max3(uint32_t a, uint32_t b, uint32_t c)
{
    return a > b ? (a > c ? a : c) : b > c ? b : c;
}

/* Elements of a row of sums of attention, or of what a state gives. */
static uint32_t mixed(const device *d)
{
    return max3(d->s.n_head * d->head_most, d->s.v_heads * d->s.v_dim, 0);
}

static uint32_t widest(const device *d)
{
    return max3(d->s.n_embd, mixed(d), d->n_ff);
}

/* The most of any layer. */
static void measure(device *d)
{
    for (uint32_t il = 0; il < d->s.n_layer; il++) {
        const layer *l = &d->layer[il];
        uint32_t qkv = 0;

        for (int role : { GKV_PLUGIN_Q, GKV_PLUGIN_K, GKV_PLUGIN_V, GKV_PLUGIN_STATE_QKV, GKV_PLUGIN_STATE_Z,
                          GKV_PLUGIN_STATE_BETA, GKV_PLUGIN_STATE_ALPHA })
            qkv += l->m[role].n_out;
        d->head_most = l->f.head_dim > d->head_most ? l->f.head_dim : d->head_most;
        d->qkv_width = qkv > d->qkv_width ? qkv : d->qkv_width;
        if (!l->m[GKV_PLUGIN_ROUTER].n_out)
            d->n_ff = max3(d->n_ff, l->m[GKV_PLUGIN_GATE].n_out, 0);
        d->n_ff = max3(d->n_ff, l->m[GKV_PLUGIN_SHARED_GATE].n_out, 2 * d->s.n_embd_layer);
    }
}

/* Bytes of the buffers for a chunk of n tokens, without those that depend on positions. */
static size_t work_bytes(const device *d, uint32_t n)
{
    const size_t q = mixed(d);
    size_t row = 4 * (2 * (size_t)d->s.n_embd + q + d->qkv_width + 2 * (size_t)d->n_ff) + 2 * q;

    row += widest(d) * (4 * d->used_form[FORM_F32] + 2 * d->used_form[FORM_F16] +
                        2 * d->used_form[FORM_BF16]);
    return row * n + gkv__expert_bytes(d, n) + gkv__state_bytes(d, n) + 2 * d->unpacked +
           4 * GKV_PLUGIN_ROWS * (size_t)d->s.n_vocab + WORKSPACE + gkv__partial_floats(d) * 4 + (1 << 20);
}

/* Chooses the largest chunk with which all layers stay on the device; if there is none, the smallest, and some
 * layers share two slots. */
static int choose_room(device *d, uint32_t n_tokens, char *error)
{
    const size_t always = d->fixed_bytes + 2 * STAGE + gkv__position_bytes(d, d->n_expected);
    size_t layers = 0, largest = 0, left;
    const uint32_t longest = d->s.n_expert ? MAX_CHUNK / 2 : MAX_CHUNK;     /* rows multiply on their way to experts */
    uint32_t chunk = n_tokens < longest ? n_tokens : longest;

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
    if (d->layer_embed.n_out)
        settle(&d->layer_embed, d->fixed);
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

static size_t operand_elements(const device *d)
{
    const size_t plain = (size_t)d->chunk * widest(d);
    const size_t experts = (size_t)d->chunk * d->s.n_used * max3(d->s.n_embd, d->s.n_ff_expert, 0);

    return d->s.n_expert && experts > plain ? experts : plain;
}

static int take_work(device *d, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const size_t n = d->chunk, q = mixed(d);
    static const char what[] = "intermediate results";

    TRY(take(d, &d->x, n * s->n_embd, what, error));
    TRY(take(d, &d->y, n * s->n_embd, what, error));
    TRY(take(d, &d->qkv, n * d->qkv_width, what, error));
    TRY(take(d, &d->both, n * 2 * d->n_ff, what, error));
    TRY(take(d, &d->att, n * q, what, error));
    TRY(take(d, &d->rotated, n * q, what, error));
    for (int f = 0; f < N_FORMS; f++)
        if (d->used_form[f])
            TRY(take(d, &d->operand[f], operand_elements(d) * (f == FORM_F32 ? 4 : 2), what, error));
    if (d->unpacked)
        TRY(take(d, &d->weights, d->unpacked, what, error));
    TRY(take(d, &d->logits, GKV_PLUGIN_ROWS * (size_t)s->n_vocab, what, error));
    TRY(take(d, &d->ids, n, what, error));
    TRY(take(d, &d->pos, 1, what, error));
    TRY(take(d, &d->input, 1, what, error));
    TRY(take(d, &d->partial, gkv__partial_floats(d), what, error));
    TRY(take(d, &d->arrived, GKV_PLUGIN_ROWS * (size_t)s->n_head, what, error));
    TRY(take(d, &d->best, (size_t)GKV_PLUGIN_ROWS, what, error));
    TRY(take(d, &d->workspace, WORKSPACE, what, error));
    TRY(gkv__take_states(d, error));
    if (s->n_expert)
        TRY(gkv__take_experts(d, error));
    CUDA(cudaMemsetAsync(d->arrived, 0, GKV_PLUGIN_ROWS * s->n_head * sizeof *d->arrived, d->stream));
    CUDA(cudaMallocHost((void **)&d->best_host, GKV_PLUGIN_ROWS * sizeof *d->best_host));
    CUDA(cudaMallocHost((void **)&d->input_host, sizeof *d->input_host));
    CUDA(cudaMallocHost((void **)&d->logits_host, GKV_PLUGIN_ROWS * (size_t)s->n_vocab * sizeof *d->logits_host));
    return 0;
}

/* What the kernels of experts take for granted. */
static int check_experts(const device *d, char *error)
{
    const gkv_plugin_shape *s = &d->s;

    for (uint32_t il = 0; il < s->n_layer; il++) {
        const mat *gate = &d->layer[il].m[GKV_PLUGIN_GATE], *up = &d->layer[il].m[GKV_PLUGIN_UP];
        const mat *down = &d->layer[il].m[GKV_PLUGIN_DOWN];
        const uint64_t rows = (uint64_t)s->n_expert * s->n_ff_expert;

        if (!d->layer[il].m[GKV_PLUGIN_ROUTER].n_out)
            continue;
        if (gate->n_out != (up->n_out ? rows : 2 * rows) || (up->n_out && up->n_out != rows) ||
            down->n_out != (uint64_t)s->n_expert * s->n_embd || down->n_in != s->n_ff_expert)
            return fail(error, "experts of layer %u have another shape", il);
        if (up->n_out && up->type != gate->type)
            return fail(error, "it has no kernels for experts whose gate and up have two types, as in layer %u", il);
    }
    return 0;
}

int gkv__plan(void *state, const gkv_plugin_shape *s, const gkv_plugin_tensor *t, size_t n,
              uint32_t n_tokens, uint32_t n_positions, char *error)
{
    device *d = (device *)state;

    CUDA(cudaSetDevice(d->number));
    if (s->n_expert > MOST_EXPERTS || s->n_used > MOST_USED)
        return fail(error, "it has no kernels for %u of %u experts; up to %d of %d", s->n_used, s->n_expert, MOST_USED,
                    MOST_EXPERTS);
    TRY(gkv__check_heads(s, error));
    TRY(gkv__check_states(s, error));
    d->s = *s;
    d->layer = (layer *)calloc(s->n_layer, sizeof *d->layer);
    d->tensor = (place *)calloc(n, sizeof *d->tensor);
    if (!d->layer || !d->tensor)
        return fail(error, "out of memory");
    for (uint32_t il = 0; il < s->n_layer; il++)
        d->layer[il].f = s->layer[il];
    for (size_t i = 0; i < n; i++) {
        layer *l = &d->layer[t[i].layer < s->n_layer ? t[i].layer : 0];

        d->tensor[i].t = t[i];
        TRY(place_tensor(d, &d->tensor[i], error));
        if (!of_model(&t[i])) {
            l->first = l->n ? l->first : i;
            l->n++;
        }
    }
    TRY(check_experts(d, error));
    d->wide = (float *)malloc((d->n_wide + 1) * sizeof *d->wide);
    if (!d->wide)
        return fail(error, "out of memory");
    d->fixed_bytes += READ_BEHIND;
    for (uint32_t il = 0; il < s->n_layer; il++)
        d->layer[il].bytes += READ_BEHIND;
    measure(d);
    d->unpacked = most_unpacked(d);
    d->n_expected = n_positions > n_tokens ? n_positions : n_tokens + 1;
    TRY(choose_room(d, n_tokens, error));
    TRY(take_weights(d, error));
    return take_work(d, error);
}
