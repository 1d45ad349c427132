/* SPDX-License-Identifier: BSD-2-Clause
 * plugin.cu - gemkv-cuda.so: the second pass on a CUDA device (gpu/plugin.h).
 *
 * Weights stay in the file's types.  Many tokens at once are multiplied by cuBLAS, quantised
 * weights through a copy of one product's in f16; one token is multiplied by the kernels of
 * gemv.cuh, and the launches of a whole step are one graph.  Layers for which there is no room
 * come through two buffers, each while the one before it computes. */
#include <cublas_v2.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "gpu/plugin.h"
#include "gpu/cuda/rows.cuh"

/* Of the pinned buffers between file and device. */
static const size_t STAGE = 16 << 20;
static const size_t WORKSPACE = 32 << 20;       /* cuBLAS's                                  */
static const size_t SPARE = 64 << 20;           /* left free of what a budget allows         */

static const size_t SHARED_SPARE = 2 << 10;     /* what a block has that it does not ask for */

enum { MIN_CHUNK = 256, MAX_CHUNK = 4096 };

struct mat {
    int      type;
    uint32_t n_out, n_in;               /* n_out 0: none                                     */
    uint64_t n_blocks;
    planes   w;                         /* relative to the layer's memory until it has some  */
    size_t   bytes;                     /* of all planes, aligned                            */
};

/* Where a tensor goes: a matrix, or a vector at v. */
struct place {
    gkv_plugin_tensor t;
    const type_row   *row;
    size_t            at;               /* in the memory of its layer, or the model's        */
};

enum part { P_ATTN_NORM, P_FFN_NORM, N_NORMS };

struct layer {
    size_t   bytes, norm[N_NORMS];      /* places of the norms                               */
    mat      q, k, v, o, gate, up, down;
    uint8_t *memory;                    /* NULL: streamed                                    */
    size_t   first, n;                  /* its tensors, as they were listed                  */
};

struct step_input { uint32_t id, pos; };

struct device {
    int              number, capability, n_sm;
    size_t           shared_max;
    uint64_t         budget, used;
    gkv_plugin_shape s;
    double          *freq;

    place           *tensor;
    size_t           n_tensors;
    layer           *layer;
    mat              embed, output;
    size_t           output_norm, fixed_bytes;
    uint8_t         *fixed;             /* embeddings, output                                */
    uint8_t         *slot[2];           /* for layers that are streamed                      */
    cudaEvent_t      filled[2], done[2];
    uint32_t         n_resident;

    uint8_t         *stage_host[2], *stage_dev[2];
    cudaEvent_t      stage_free[2];
    unsigned         turn;
    cudaStream_t     copy, stream;

    cublasHandle_t   blas;
    void            *workspace;
    uint32_t         chunk, n_expected, n_positions, n_parts;
    bool             used_form[N_FORMS];
    size_t           unpacked;          /* halves: of the largest product                    */
    /* [chunk][...] */
    float           *x, *qkv, *both, *att, *logits;
    void            *operand[N_FORMS];
    half            *rotated, *weights;
    uint32_t        *ids, *pos;
    step_input      *input, *input_host;
    float           *partial;
    uint32_t        *arrived;
    unsigned long long *best, *best_host;
    float           *logits_host;
    /* [n_positions][...] */
    half            *cache;
    float2          *angles;
    cudaGraphExec_t  step;
};

/* ---- errors ----------------------------------------------------------------------------- */

static int fail(char *error, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(error, GKV_PLUGIN_ERROR, fmt, ap);
    va_end(ap);
    return 1;
}

#define CUDA(call)                                                                          \
    do {                                                                                    \
        cudaError_t cuda_error = (call);                                                    \
        if (cuda_error != cudaSuccess)                                                      \
            return fail(error, "%s", cudaGetErrorString(cuda_error));                       \
    } while (0)

#define BLAS(call)                                                                          \
    do {                                                                                    \
        cublasStatus_t blas_status = (call);                                                \
        if (blas_status != CUBLAS_STATUS_SUCCESS)                                           \
            return fail(error, "%s", cublasGetStatusString(blas_status));                   \
    } while (0)

#define TRY(call)                                                                           \
    do {                                                                                    \
        if (call)                                                                           \
            return 1;                                                                       \
    } while (0)

static int take(device *d, void **out, size_t bytes, const char *what, char *error)
{
    if (cudaMalloc(out, bytes) != cudaSuccess) {
        cudaGetLastError();
        return fail(error, "no %zu MiB of its memory for %s", bytes >> 20, what);
    }
    d->used += bytes;
    return 0;
}

template <class T> static int take(device *d, T **out, size_t n, const char *what, char *error)
{
    return take(d, (void **)out, n * sizeof(T), what, error);
}

static unsigned blocks_for(uint64_t n, unsigned per)
{
    return (unsigned)((n + per - 1) / per);
}

/* ---- devices ---------------------------------------------------------------------------- */

static int count(unsigned *n, char *error)
{
    int found = 0;

    CUDA(cudaGetDeviceCount(&found));
    *n = (unsigned)found;
    return 0;
}

static int describe(unsigned number, gkv_plugin_device *out, char *error)
{
    cudaDeviceProp p;
    size_t free = 0, total = 0;

    CUDA(cudaGetDeviceProperties(&p, (int)number));
    CUDA(cudaSetDevice((int)number));
    CUDA(cudaMemGetInfo(&free, &total));
    snprintf(out->name, sizeof out->name, "%.63s", p.name);
    out->memory = total;
    out->free = free;
    return 0;
}

static int prepare_device(device *d, uint64_t budget, char *error)
{
    cudaDeviceProp p;
    size_t free = 0, total = 0;

    CUDA(cudaSetDevice(d->number));
    CUDA(cudaGetDeviceProperties(&p, d->number));
    d->capability = 10 * p.major + p.minor;
    d->n_sm = p.multiProcessorCount;
    d->shared_max = p.sharedMemPerBlockOptin;
    if (d->capability < 75)
        return fail(error, "%.63s has compute capability %d.%d; at least 7.5", p.name, p.major, p.minor);
    CUDA(cudaMemGetInfo(&free, &total));
    d->budget = free > SPARE ? free - SPARE : 0;
    if (budget && budget < d->budget)
        d->budget = budget;
    CUDA(cudaStreamCreateWithFlags(&d->stream, cudaStreamNonBlocking));
    CUDA(cudaStreamCreateWithFlags(&d->copy, cudaStreamNonBlocking));
    for (int i = 0; i < 2; i++) {
        CUDA(cudaEventCreateWithFlags(&d->stage_free[i], cudaEventDisableTiming));
        CUDA(cudaEventCreateWithFlags(&d->filled[i], cudaEventDisableTiming));
        CUDA(cudaEventCreateWithFlags(&d->done[i], cudaEventDisableTiming));
        CUDA(cudaMallocHost((void **)&d->stage_host[i], STAGE));
        TRY(take(d, &d->stage_dev[i], STAGE, "the upload", error));
    }
    return 0;
}

static int open_device(void **out, unsigned number, uint64_t budget, char *error)
{
    device *d = (device *)calloc(1, sizeof *d);

    *out = d;
    if (!d)
        return fail(error, "out of memory");
    d->number = (int)number;
    return prepare_device(d, budget, error);
}

static void close_device(void *state)
{
    device *d = (device *)state;
    void *const owned[] = {
        d->fixed, d->slot[0], d->slot[1], d->stage_dev[0], d->stage_dev[1], d->workspace, d->x, d->qkv,
        d->both, d->att, d->logits, d->operand[0], d->operand[1], d->operand[2], d->rotated, d->weights,
        d->ids, d->pos, d->input, d->partial, d->arrived, d->best, d->cache, d->angles,
    };

    cudaSetDevice(d->number);
    cudaDeviceSynchronize();
    if (d->step)
        cudaGraphExecDestroy(d->step);
    if (d->blas)
        cublasDestroy(d->blas);
    for (void *p : owned)
        cudaFree(p);
    for (uint32_t il = 0; d->layer && il < d->s.n_layer; il++)
        cudaFree(d->layer[il].memory);
    for (int i = 0; i < 2; i++) {
        cudaFreeHost(d->stage_host[i]);
        if (d->stage_free[i])
            cudaEventDestroy(d->stage_free[i]);
        if (d->filled[i])
            cudaEventDestroy(d->filled[i]);
        if (d->done[i])
            cudaEventDestroy(d->done[i]);
    }
    cudaFreeHost(d->best_host);
    cudaFreeHost(d->input_host);
    cudaFreeHost(d->logits_host);
    if (d->copy)
        cudaStreamDestroy(d->copy);
    if (d->stream)
        cudaStreamDestroy(d->stream);
    cudaGetLastError();
    free(d->freq);
    free(d->tensor);
    free(d->layer);
    free(d);
}

/* ---- the plan --------------------------------------------------------------------------- */

static size_t aligned(size_t n)
{
    return (n + PLANE_ALIGN - 1) / PLANE_ALIGN * PLANE_ALIGN;
}

static const char *role_name(uint32_t role)
{
    static const char *const names[GKV_PLUGIN_N_ROLES] = {
        "embeddings", "output norm", "output", "attention norm", "Q", "K", "V", "O", "MLP norm",
        "gate", "up", "down",
    };

    return role < GKV_PLUGIN_N_ROLES ? names[role] : "a tensor";
}

/* The matrix of a place, or NULL for a vector. */
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

static bool of_model(const gkv_plugin_tensor *t)
{
    return t->role == GKV_PLUGIN_EMBED || t->role == GKV_PLUGIN_OUTPUT ||
           t->role == GKV_PLUGIN_OUTPUT_NORM;
}

static form form_of_type(const device *d, int type)
{
    return type == GKV__TYPE_F32 ? FORM_F32
         : type == GKV__TYPE_BF16 && d->capability >= 80 ? FORM_BF16 : FORM_F16;
}

static bool needs_unpacking(const device *d, int type)
{
    return !is_dense(type) || (type == GKV__TYPE_BF16 && d->capability < 80);
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
    *m = (mat){ p->row->type, t->n_out, t->n_in, (uint64_t)t->n_out * (t->n_in / p->row->block) };
    if (m->n_blocks * p->row->bytes != t->bytes || (uint64_t)t->n_out * t->n_in >> 36)
        return fail(error, "%s of layer %u has %llu bytes", role_name(t->role), t->layer,
                    (unsigned long long)t->bytes);
    for (int i = 0; i < p->row->n_fields; i++) {
        m->w.p[i] = (const uint8_t *)(*end + m->bytes);
        if (m->n_blocks * p->row->f[i].stored >> 32)
            return fail(error, "%s of layer %u has more than 4 GiB", role_name(t->role), t->layer);
        m->bytes += aligned(m->n_blocks * p->row->f[i].stored);
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

/* Halves of the product that needs most when its weights are unpacked. */
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

/* Bytes of the buffers for a chunk of n, but for what depends on positions. */
static size_t work_bytes(const device *d, uint32_t n)
{
    const gkv_plugin_shape *s = &d->s;
    const size_t q = (size_t)s->n_head * s->head_dim, kv = (size_t)s->n_head_kv * s->head_dim;
    size_t row = 4 * ((size_t)s->n_embd + 2 * q + 2 * kv + 2 * (size_t)s->n_ff) + 2 * q;

    row += widest(s) * (4 * d->used_form[FORM_F32] + 2 * d->used_form[FORM_F16] +
                        2 * d->used_form[FORM_BF16]);
    return row * n + 2 * d->unpacked + 4 * (size_t)s->n_vocab + WORKSPACE +
           (size_t)s->n_head * MAX_PARTS * (s->head_dim + 2) * 4 + (1 << 20);
}

static size_t position_bytes(const gkv_plugin_shape *s, uint64_t n)
{
    return (size_t)(n * ((uint64_t)s->n_layer * s->n_head_kv * s->head_dim * 4 + s->n_rot * 4));
}

/* The largest chunk with which all layers stay; without any, the smallest, and some layers
 * through two slots. */
static int choose_room(device *d, uint32_t n_tokens, char *error)
{
    const size_t always = d->fixed_bytes + 2 * STAGE + position_bytes(&d->s, d->n_expected);
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

static void settle(mat *m, uint8_t *memory)
{
    for (const uint8_t *&p : m->w.p)
        p = memory + (size_t)p;
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
    TRY(take(d, &d->partial, (size_t)s->n_head * MAX_PARTS * (s->head_dim + 2), what, error));
    TRY(take(d, &d->arrived, s->n_head, what, error));
    TRY(take(d, &d->best, 1, what, error));
    TRY(take(d, &d->workspace, WORKSPACE, what, error));
    CUDA(cudaMemsetAsync(d->arrived, 0, s->n_head * sizeof *d->arrived, d->stream));
    CUDA(cudaMallocHost((void **)&d->best_host, sizeof *d->best_host));
    CUDA(cudaMallocHost((void **)&d->input_host, sizeof *d->input_host));
    CUDA(cudaMallocHost((void **)&d->logits_host, s->n_vocab * sizeof *d->logits_host));
    return 0;
}

static int check_shape(const gkv_plugin_shape *s, char *error)
{
    if (s->head_dim % 8 || s->head_dim > FEW_MAX_DIM)
        return fail(error, "heads of %u; multiples of 8 up to %d", s->head_dim, FEW_MAX_DIM);
    return 0;
}

static int plan(void *state, const gkv_plugin_shape *s, const gkv_plugin_tensor *t, size_t n,
                uint32_t n_tokens, uint32_t n_positions, char *error)
{
    device *d = (device *)state;
    const size_t half_rot = s->n_rot / 2;

    CUDA(cudaSetDevice(d->number));
    TRY(check_shape(s, error));
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
    d->n_tensors = n;
    d->unpacked = most_unpacked(d);
    d->n_expected = n_positions > n_tokens ? n_positions : n_tokens + 1;
    TRY(choose_room(d, n_tokens, error));
    TRY(take_weights(d, error));
    return take_work(d, error);
}

/* ---- upload ----------------------------------------------------------------------------- */

/* Through the pinned buffers by turns: the copy of one part runs while the next is read. */
static int send(device *d, const place *p, uint8_t *memory, char *error)
{
    const size_t block = p->row->bytes, part = STAGE / block * block;
    const uint8_t *from = (const uint8_t *)p->t.data;

    for (size_t at = 0; at < p->t.bytes; at += part) {
        const size_t n = p->t.bytes - at < part ? p->t.bytes - at : part;
        const unsigned i = d->turn++ % 2;

        CUDA(cudaEventSynchronize(d->stage_free[i]));
        memcpy(d->stage_host[i], from + at, n);
        if (is_dense(p->row->type)) {
            CUDA(cudaMemcpyAsync(memory + p->at + at, d->stage_host[i], n, cudaMemcpyHostToDevice, d->copy));
        } else {
            sorting s = { (const uint16_t *)d->stage_dev[i], n / block, at / block, (uint32_t)block / 2,
                          p->row->n_fields };
            size_t plane = p->at;

            for (int f = 0; f < p->row->n_fields; f++) {
                s.f[f] = p->row->f[f];
                s.to.p[f] = memory + plane;
                plane += aligned(p->t.bytes / block * s.f[f].stored);
            }
            CUDA(cudaMemcpyAsync(d->stage_dev[i], d->stage_host[i], n, cudaMemcpyHostToDevice, d->copy));
            sort_blocks<<<blocks_for(n / 2, 256), 256, 0, d->copy>>>(s);
            for (int f = 0; f < s.n_fields; f++)
                if (s.f[f].how != COPIED)
                    sort_field<<<blocks_for(n / block, 256), 256, 0, d->copy>>>(s, f);
            CUDA(cudaGetLastError());
        }
        CUDA(cudaEventRecord(d->stage_free[i], d->copy));
    }
    return 0;
}

static int upload(void *state, size_t i, char *error)
{
    device *d = (device *)state;
    const place *p = &d->tensor[i];

    CUDA(cudaSetDevice(d->number));
    if (of_model(&p->t))
        return send(d, p, d->fixed, error);
    if (!d->layer[p->t.layer].memory)
        return 0;
    return send(d, p, d->layer[p->t.layer].memory, error);
}

/* Layer il with the addresses of where it is now, after it has come there. */
static int bring(device *d, uint32_t il, layer *out, uint8_t **memory, char *error)
{
    const layer *l = &d->layer[il];
    mat *const mats[] = { &out->q, &out->k, &out->v, &out->o, &out->gate, &out->up, &out->down };
    const int slot = il % 2;

    *out = *l;
    *memory = l->memory;
    if (!l->memory) {
        *memory = d->slot[slot];
        CUDA(cudaStreamWaitEvent(d->copy, d->done[slot]));
        for (size_t i = 0; i < l->n; i++)
            TRY(send(d, &d->tensor[l->first + i], *memory, error));
        CUDA(cudaEventRecord(d->filled[slot], d->copy));
        CUDA(cudaStreamWaitEvent(d->stream, d->filled[slot]));
    }
    for (mat *m : mats)
        settle(m, *memory);
    return 0;
}

/* What was launched until now is the last to use layer il. */
static int release(device *d, uint32_t il, char *error)
{
    if (!d->layer[il].memory)
        CUDA(cudaEventRecord(d->done[il % 2], d->stream));
    return 0;
}

/* ---- products --------------------------------------------------------------------------- */

static int unpack_mat(device *d, const mat *m, half *to, char *error)
{
    const uint64_t n = (uint64_t)m->n_out * m->n_in, units = n / 32;

    if (is_dense(m->type))
        bf16_to_f16<<<(unsigned)((n + 255) / 256), 256, 0, d->stream>>>((const uint16_t *)m->w.p[0], n, to);
    else
        FOR_QUANTISED(m->type, (unpack<T><<<(unsigned)((units + 255) / 256), 256, 0, d->stream>>>(
            m->w, units, to)));
    CUDA(cudaGetLastError());
    return 0;
}

/* y[n][ld] (+)= factor * x W^T, the rows of W starting at w in the form. */
static int gemm(device *d, const void *w, form f, uint32_t n_out, uint32_t n_in, float *y, uint32_t ld,
                uint32_t n, float factor, bool add, char *error)
{
    static const cudaDataType_t type[N_FORMS] = { CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF };
    const float beta = add ? 1 : 0;

    BLAS(cublasGemmEx(d->blas, CUBLAS_OP_T, CUBLAS_OP_N, (int)n_out, (int)n, (int)n_in, &factor, w, type[f],
                      (int)n_in, d->operand[f], type[f], (int)n_in, &beta, y, CUDA_R_32F, (int)ld,
                      CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
    return 0;
}

/* Matrices that share x and lie side by side in y, as few products as possible; shrunk: x in
 * f16 was divided by GATE_SHRINK. */
static int products(device *d, const mat *const *m, int n_mats, float *y, uint32_t ld, uint32_t n, bool add,
                    bool shrunk, char *error)
{
    for (int i = 0, j; i < n_mats; i = j) {
        const form f = form_of_type(d, m[i]->type);
        const bool unpacking = needs_unpacking(d, m[i]->type);
        const void *w = unpacking ? (const void *)d->weights : m[i]->w.p[0];
        uint32_t n_out = 0;

        for (j = i; j < n_mats && needs_unpacking(d, m[j]->type) == unpacking; j++) {
            if (unpacking)
                TRY(unpack_mat(d, m[j], d->weights + (size_t)n_out * m[j]->n_in, error));
            else if (j > i && (m[j]->type != m[i]->type || m[j]->w.p[0] != m[j - 1]->w.p[0] +
                               m[j - 1]->n_blocks * (f == FORM_F32 ? 4 : 2)))
                break;
            n_out += m[j]->n_out;
        }
        TRY(gemm(d, w, f, n_out, m[i]->n_in, y, ld, n, shrunk && f == FORM_F16 ? GATE_SHRINK : 1, add, error));
        y += n_out;
    }
    return 0;
}

/* A launch of a step.  The kernel calls grid_wait, so it may begin early. */
template <class... P, class... A>
static int launch(const device *d, void (*kernel)(P...), dim3 grid, unsigned threads, size_t shared,
                  char *error, A... args)
{
    cudaLaunchAttribute early;
    cudaLaunchConfig_t c = {};

    early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    early.val.programmaticStreamSerializationAllowed = 1;
    c.gridDim = grid;
    c.blockDim = threads;
    c.dynamicSmemBytes = shared;
    c.stream = d->stream;
    c.attrs = &early;
    c.numAttrs = d->capability >= 90;
    CUDA(cudaLaunchKernelEx(&c, kernel, P(args)...));
    return 0;
}

/* Batches of the busiest of n warps, when `split` of them share a group. */
static uint32_t batches_of(uint32_t n_groups, uint32_t n_units, uint32_t n, uint32_t split, int batch)
{
    return blocks_for(n_groups, n / split) * blocks_for(units_of_warp(n_units, split), 32 * batch);
}

/* As many blocks as run at a time, if there is work for so many. */
template <int T> static int gemv_of(const device *d, gemv_args *g, char *error)
{
    const uint32_t n_units = g->n_in / product<T>::PER;
    const size_t shared = gemv_row(T, g->n_in);
    void (*const kernel)(gemv_args) = g->to == GEMV_HEADS ? gemv<T, true> : gemv<T, false>;
    uint32_t least = UINT32_MAX, wanted;
    int at_once = 0;

    CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&at_once, kernel, GEMV_THREADS, shared));
    at_once *= d->n_sm;
    for (uint32_t split = 1; split <= GEMV_WARPS && (split - 1) * units_of_warp(n_units, split) < n_units;
         split *= 2) {
        const uint32_t n = batches_of(g->n_groups, n_units, GEMV_WARPS * at_once, split, batch_of(T));

        if (split == 1 || 10 * (uint64_t)n < 9 * (uint64_t)least) {     /* adding up costs, too */
            least = n;
            g->split = split;
        }
    }
    g->share = units_of_warp(n_units, g->split);
    for (g->shift = 0; 1u << g->shift < g->split;)
        g->shift++;
    wanted = blocks_for(g->n_groups, GEMV_WARPS / g->split);
    return launch(d, kernel, wanted < (uint32_t)at_once ? wanted : (uint32_t)at_once, GEMV_THREADS, shared,
                  error, *g);
}

static int gemv_any(const device *d, gemv_args *g, int type, char *error)
{
    g->n_groups = g->to == GEMV_GLU ? g->seg[0].n_out : 0;
    for (int i = 0; i < MAX_SEGMENTS && g->to != GEMV_GLU; i++)
        g->n_groups += blocks_for(g->seg[i].n_out, ROWS);
    if (g->to == GEMV_STORE || g->to == GEMV_ADD)
        g->seg[1] = g->seg[0];
    FOR_DENSE(type, return gemv_of<T>(d, g, error));
    FOR_QUANTISED(type, return gemv_of<T>(d, g, error));
    return 0;
}

/* More than 48 KB of shared memory must be asked for, once for each kernel. */
template <class K> static int allow_shared(const device *d, K kernel, char *error)
{
    CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)(d->shared_max - SHARED_SPARE)));
    return 0;
}

template <int T> static int allow_gemv(const device *d, char *error)
{
    TRY(allow_shared(d, gemv<T, false>, error));
    return allow_shared(d, gemv<T, true>, error);
}

static int allow_all(const device *d, char *error)
{
    for (int type = 0; type < GKV__N_TYPES; type++) {
        FOR_DENSE(type, TRY(allow_gemv<T>(d, error)));
        FOR_QUANTISED(type, TRY(allow_gemv<T>(d, error)));
    }
    TRY(allow_shared(d, attend_few<8>, error));
    TRY(allow_shared(d, attend_few<16>, error));
    return allow_shared(d, attend_few<32>, error);
}

static heads heads_of(const device *d)
{
    return { d->s.n_head, d->s.n_head_kv, d->s.head_dim, d->s.n_rot, d->s.rope_halves, d->n_positions,
             (uint32_t)(((1ull << 32) + d->s.head_dim / 2 - 1) / (d->s.head_dim / 2)) };
}

static half *keys_of(const device *d, uint32_t il, bool values)
{
    return d->cache + (2 * (size_t)il + values) * d->s.n_head_kv * d->n_positions * d->s.head_dim;
}

static rotation rotation_of(const device *d, uint32_t il, const uint32_t *pos)
{
    return { heads_of(d), pos, d->angles, d->rotated, keys_of(d, il, false), keys_of(d, il, true),
             1.4426950408889634f / sqrtf((float)d->s.head_dim) };
}

/* Matrices that share x, one launch for those in a row that share a type; all from *g but these. */
static int gemvs(device *d, const mat *const *m, int n_mats, const gemv_args *all, float *y, char *error)
{
    for (int i = 0, j; i < n_mats; i = j) {
        gemv_args g = *all;

        g.n_in = m[i]->n_in;
        g.eps = d->s.eps;
        for (j = i; j < n_mats && m[j]->type == m[i]->type; j++) {
            g.seg[j - i] = { m[j]->w, m[j]->n_out, y, j };
            y = y ? y + m[j]->n_out : NULL;
        }
        g.first = i == 0;
        g.last = j == n_mats;
        TRY(gemv_any(d, &g, m[i]->type, error));
    }
    return 0;
}

/* ---- many tokens ------------------------------------------------------------------------ */

/* x[n][width], normalised or not, in the forms that these matrices want. */
static int operands(device *d, const mat *const *m, int n_mats, const float *x, const float *norm,
                    uint32_t width, uint32_t n, char *error)
{
    bool have[N_FORMS] = { false };

    for (int i = 0; i < n_mats; i++) {
        const form f = form_of_type(d, m[i]->type);

        if (have[f])
            continue;
        have[f] = true;
        FOR_FORM(f, (norm_rows<F><<<n, 256, 0, d->stream>>>(x, norm, d->s.eps, width,
                                                            (form_of<F>::t *)d->operand[F])));
    }
    CUDA(cudaGetLastError());
    return 0;
}

static int rotate(device *d, uint32_t il, uint32_t n, char *error)
{
    const uint32_t threads = (d->s.n_head + 2 * d->s.n_head_kv) * (d->s.head_dim / 2);

    rope<<<dim3(blocks_for(threads, 256), n), 256, 0, d->stream>>>(d->qkv, rotation_of(d, il, d->pos));
    CUDA(cudaGetLastError());
    return 0;
}

/* Parts of n keys: of PART_KEYS each, as long as all blocks run at a time, two on a multiprocessor. */
static uint32_t parts_for(const device *d, uint32_t n)
{
    const heads h = heads_of(d);
    const uint32_t wanted = blocks_for(n, PART_KEYS), n_bunches = h.n_head_kv * bunches_of(h);
    const uint32_t most = 2 * (uint32_t)d->n_sm / n_bunches;

    return wanted < most && wanted < MAX_PARTS ? wanted : most > MAX_PARTS ? MAX_PARTS : most ? most : 1;
}

static int attend_some(device *d, uint32_t il, const uint32_t *pos, uint32_t n, uint32_t n_parts, char *error)
{
    const heads h = heads_of(d);
    const uint32_t passes = few_bytes(MANY_PASSES) + SHARED_SPARE > d->shared_max ? FEW_PASSES : MANY_PASSES;
    const few_args a = { d->rotated, keys_of(d, il, false), keys_of(d, il, true), d->att, d->partial,
                         d->arrived, pos, passes, h };

    return launch(d, h.head_dim <= 64 ? attend_few<8> : h.head_dim <= 128 ? attend_few<16> : attend_few<32>,
                  dim3(n_parts, h.n_head_kv * bunches_of(h), n), FEW_THREADS, few_bytes(passes), error, a);
}

static int attend_many(device *d, uint32_t il, uint32_t pos, uint32_t n, char *error)
{
    const heads h = heads_of(d);
    const tile_args a = { d->rotated, keys_of(d, il, false), keys_of(d, il, true), d->att, h, n, pos };
    const dim3 grid(blocks_for(n, TILE), h.n_head);

    if (h.head_dim == 128)
        attend_tiles<128><<<grid, TILE_THREADS, 0, d->stream>>>(a);
    else if (h.head_dim == 64)
        attend_tiles<64><<<grid, TILE_THREADS, 0, d->stream>>>(a);
    else
        return attend_some(d, il, d->pos, n, 1, error);
    CUDA(cudaGetLastError());
    return 0;
}

static int embed(device *d, const uint32_t *id, uint32_t n, char *error)
{
    const mat *m = &d->embed;
    const dim3 grid(blocks_for(m->n_in / 4, 128), n);

    FOR_DENSE(m->type, (embed_dense<T><<<grid, 128, 0, d->stream>>>(m->w, id, d->x, m->n_in)));
    FOR_QUANTISED(m->type, (embed_quantised<T><<<grid, 128, 0, d->stream>>>(m->w, id, d->x, m->n_in)));
    CUDA(cudaGetLastError());
    return 0;
}

static const float *norm_at(const uint8_t *memory, size_t at)
{
    return (const float *)(memory + at);
}

static int gate(device *d, const mat *down, uint32_t n, char *error)
{
    const form f = form_of_type(d, down->type);
    const float factor = f == FORM_F16 ? 1 / GATE_SHRINK : 1;
    const dim3 grid(blocks_for(d->s.n_ff, 256), n);

    FOR_FORM(f, (glu_rows<F><<<grid, 256, 0, d->stream>>>(d->both, factor, d->s.n_ff,
                                                          (form_of<F>::t *)d->operand[F])));
    CUDA(cudaGetLastError());
    return 0;
}

static int many_layer(device *d, uint32_t il, uint32_t pos, uint32_t n, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const uint32_t q = s->n_head * s->head_dim, kv = s->n_head_kv * s->head_dim;
    layer l;
    uint8_t *memory;
    const mat *const qkv[] = { &l.q, &l.k, &l.v }, *const o[] = { &l.o };
    const mat *const both[] = { &l.gate, &l.up }, *const down[] = { &l.down };

    TRY(bring(d, il, &l, &memory, error));
    TRY(operands(d, qkv, 3, d->x, norm_at(memory, l.norm[P_ATTN_NORM]), s->n_embd, n, error));
    TRY(products(d, qkv, 3, d->qkv, q + 2 * kv, n, false, false, error));
    TRY(rotate(d, il, n, error));
    TRY(attend_many(d, il, pos, n, error));
    TRY(operands(d, o, 1, d->att, NULL, q, n, error));
    TRY(products(d, o, 1, d->x, s->n_embd, n, true, false, error));

    TRY(operands(d, both, 2, d->x, norm_at(memory, l.norm[P_FFN_NORM]), s->n_embd, n, error));
    TRY(products(d, both, 2, d->both, 2 * s->n_ff, n, false, false, error));
    TRY(gate(d, &l.down, n, error));
    TRY(products(d, down, 1, d->x, s->n_embd, n, true, true, error));
    return release(d, il, error);
}

/* ---- one token -------------------------------------------------------------------------- */

/* Of row x: logits, and the best of them. */
static int finish(device *d, const float *x, char *error)
{
    const mat *const output[] = { &d->output };
    const gemv_args g = { .to = GEMV_STORE, .x = x, .norm = norm_at(d->fixed, d->output_norm) };

    TRY(gemvs(d, output, 1, &g, d->logits, error));
    CUDA(cudaMemsetAsync(d->best, 0, sizeof *d->best, d->stream));
    best_of<<<64, 256, 0, d->stream>>>(d->logits, d->s.n_vocab, d->best);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyAsync(d->best_host, d->best, sizeof *d->best, cudaMemcpyDeviceToHost, d->stream));
    return 0;
}

static int one_gate(device *d, const layer *l, const float *norm, char *error)
{
    const mat *const both[] = { &l->gate, &l->up };
    const bool together = l->gate.type == l->up.type;
    const gemv_args g = { .to = together ? GEMV_GLU : GEMV_STORE, .x = d->x, .norm = norm };

    TRY(gemvs(d, both, 2, &g, d->both, error));
    if (!together)
        glu_rows<FORM_F32><<<blocks_for(d->s.n_ff, 256), 256, 0, d->stream>>>(d->both, 1, d->s.n_ff, d->both);
    CUDA(cudaGetLastError());
    return 0;
}

static int one_layer(device *d, uint32_t il, char *error)
{
    layer l;
    uint8_t *memory;
    const mat *const qkv[] = { &l.q, &l.k, &l.v }, *const o[] = { &l.o }, *const down[] = { &l.down };
    gemv_args g = { .to = GEMV_HEADS, .x = d->x };

    TRY(bring(d, il, &l, &memory, error));
    g.norm = norm_at(memory, l.norm[P_ATTN_NORM]);
    g.r = rotation_of(d, il, &d->input->pos);
    TRY(gemvs(d, qkv, 3, &g, NULL, error));
    TRY(attend_some(d, il, &d->input->pos, 1, d->n_parts, error));
    g = (gemv_args){ .to = GEMV_ADD, .x = d->att };
    TRY(gemvs(d, o, 1, &g, d->x, error));
    TRY(one_gate(d, &l, norm_at(memory, l.norm[P_FFN_NORM]), error));
    g.x = d->both;
    TRY(gemvs(d, down, 1, &g, d->x, error));
    return release(d, il, error);
}

static int one_token(device *d, char *error)
{
    CUDA(cudaMemcpyAsync(d->input, d->input_host, sizeof *d->input, cudaMemcpyHostToDevice, d->stream));
    TRY(embed(d, &d->input->id, 1, error));
    for (uint32_t il = 0; il < d->s.n_layer; il++)
        TRY(one_layer(d, il, error));
    return finish(d, d->x, error);
}

/* The launches of a step, whose only inputs are in memory, as a graph. */
static int capture(device *d, char *error)
{
    cudaGraph_t graph;
    int bad;

    CUDA(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    bad = one_token(d, error);
    CUDA(cudaStreamEndCapture(d->stream, &graph));
    if (bad)
        return bad;
    CUDA(cudaGraphInstantiate(&d->step, graph, 0));
    CUDA(cudaGraphDestroy(graph));
    return 0;
}

static int one(device *d, uint32_t id, uint32_t pos, char *error)
{
    *d->input_host = { id, pos };
    if (d->n_resident < d->s.n_layer)
        return one_token(d, error);
    if (!d->step)
        TRY(capture(d, error));
    CUDA(cudaGraphLaunch(d->step, d->stream));
    return 0;
}

static int many(device *d, const uint32_t *id, uint32_t n, uint32_t pos, char *error)
{
    CUDA(cudaMemcpyAsync(d->ids, id, n * sizeof *id, cudaMemcpyHostToDevice, d->stream));
    CUDA(cudaMemcpyAsync(d->pos, &pos, sizeof pos, cudaMemcpyHostToDevice, d->stream));
    TRY(embed(d, d->ids, n, error));
    for (uint32_t il = 0; il < d->s.n_layer; il++)
        TRY(many_layer(d, il, pos, n, error));
    return finish(d, d->x + (size_t)(n - 1) * d->s.n_embd, error);
}

/* ---- the session's side ----------------------------------------------------------------- */

static int reserve(void *state, uint32_t n, char *error)
{
    device *d = (device *)state;
    const size_t half_rot = d->s.n_rot / 2;
    double *freq;

    CUDA(cudaSetDevice(d->number));
    if (n <= d->n_positions)
        return 0;
    CUDA(cudaDeviceSynchronize());
    if (d->step) {                      /* has the addresses of the old cache */
        CUDA(cudaGraphExecDestroy(d->step));
        d->step = NULL;
    }
    CUDA(cudaFree(d->cache));
    CUDA(cudaFree(d->angles));
    d->cache = NULL;
    d->angles = NULL;
    d->used -= position_bytes(&d->s, d->n_positions);
    if (d->used + position_bytes(&d->s, n) > d->budget)
        return fail(error, "keys and values of %u positions need %zu MiB, %llu are free or allowed", n,
                    position_bytes(&d->s, n) >> 20,
                    (unsigned long long)((d->budget > d->used ? d->budget - d->used : 0) >> 20));
    d->n_positions = n;
    d->n_parts = parts_for(d, n);
    TRY(take(d, &d->cache, 2 * (size_t)d->s.n_layer * d->s.n_head_kv * n * d->s.head_dim, "keys and values",
             error));
    TRY(take(d, &d->angles, n * half_rot, "angles", error));
    CUDA(cudaMalloc((void **)&freq, half_rot * sizeof *freq));
    CUDA(cudaMemcpy(freq, d->freq, half_rot * sizeof *freq, cudaMemcpyHostToDevice));
    turn_table<<<blocks_for((uint64_t)n * half_rot, 256), 256, 0, d->stream>>>(freq, d->angles,
                                                                              (uint32_t)half_rot, n);
    CUDA(cudaGetLastError());
    CUDA(cudaStreamSynchronize(d->stream));
    CUDA(cudaFree(freq));
    return 0;
}

static int forward(void *state, const uint32_t *id, uint32_t n, uint32_t pos, float *logits, uint32_t *best,
                   char *error)
{
    device *d = (device *)state;

    CUDA(cudaSetDevice(d->number));
    if (!n || n > d->chunk || pos > d->n_positions || n > d->n_positions - pos)
        return fail(error, "%u tokens at %u, of %u positions", n, pos, d->n_positions);
    TRY(n == 1 ? one(d, *id, pos, error) : many(d, id, n, pos, error));
    if (logits)
        CUDA(cudaMemcpyAsync(d->logits_host, d->logits, d->s.n_vocab * sizeof *logits, cudaMemcpyDeviceToHost,
                             d->stream));
    CUDA(cudaStreamSynchronize(d->stream));
    if (logits)
        memcpy(logits, d->logits_host, d->s.n_vocab * sizeof *logits);
    if (best)
        *best = 0xffffffff - (uint32_t)*d->best_host;
    return 0;
}

/* The first pass through every kernel and library costs a second; nobody is waiting yet. */
static int warm_up(device *d, uint32_t n, char *error)
{
    uint32_t *id = (uint32_t *)calloc(n, sizeof *id);
    int bad = id ? forward(d, id, n, 0, NULL, NULL, error) : fail(error, "out of memory");

    if (!bad)
        bad = forward(d, id, 1, n - 1, NULL, NULL, error);
    free(id);
    return bad;
}

static int ready(void *state, char *error)
{
    device *d = (device *)state;

    CUDA(cudaSetDevice(d->number));
    CUDA(cudaStreamSynchronize(d->copy));
    BLAS(cublasCreate(&d->blas));
    BLAS(cublasSetStream(d->blas, d->stream));
    BLAS(cublasSetWorkspace(d->blas, d->workspace, WORKSPACE));
    TRY(allow_all(d, error));
    TRY(reserve(d, d->n_expected, error));
    return warm_up(d, d->chunk < d->n_expected ? d->chunk : d->n_expected, error);
}

static uint32_t largest_block(void *state)
{
    return ((device *)state)->chunk;
}

static void use(void *state, gkv_plugin_use *out)
{
    const device *d = (const device *)state;

    *out = (gkv_plugin_use){ d->used, d->n_resident };
}

extern "C" __attribute__((visibility("default"))) const gkv_plugin *gkv_plugin(void)
{
    static const struct gkv_plugin p = {
        GKV_PLUGIN_ABI, "cuda", count, describe, open_device, plan, upload, ready, reserve, forward,
        largest_block, use, close_device,
    };

    return &p;
}
