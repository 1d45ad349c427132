/* SPDX-License-Identifier: BSD-2-Clause
 * attend.cu - memory for keys and values; launches of the kernels in attend.cuh. */
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/attend.cuh"

int gkv__check_heads(const gkv_plugin_shape *s, char *error)
{
    if (!s->head_dim || s->head_dim % 8 || s->head_dim > FEW_MAX_DIM)
        return fail(error, "heads of %u; multiples of 8 up to %d", s->head_dim, FEW_MAX_DIM);
    if (!s->n_head_kv || s->n_head % s->n_head_kv)
        return fail(error, "%u heads on %u", s->n_head, s->n_head_kv);
    return 0;
}

size_t gkv__partial_floats(const gkv_plugin_shape *s)
{
    return (size_t)s->n_head * MAX_PARTS * (s->head_dim + 2);
}

size_t gkv__position_bytes(const gkv_plugin_shape *s, uint64_t n)
{
    return (size_t)(n * ((uint64_t)s->n_layer * s->n_head_kv * s->head_dim * 4 + s->n_rot * 4));
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

rotation gkv__rotation_of(const device *d, uint32_t il, const uint32_t *pos)
{
    return { heads_of(d), pos, d->angles, d->rotated, keys_of(d, il, false), keys_of(d, il, true),
             1.4426950408889634f / sqrtf((float)d->s.head_dim) };
}

int gkv__rotate(device *d, uint32_t il, uint32_t n, char *error)
{
    const uint32_t threads = (d->s.n_head + 2 * d->s.n_head_kv) * (d->s.head_dim / 2);

    rope<<<dim3(blocks_for(threads, 256), n), 256, 0, d->stream>>>(d->qkv, gkv__rotation_of(d, il, d->pos));
    CUDA(cudaGetLastError());
    return 0;
}

/* How many parts n keys are divided into: PART_KEYS keys each, unless that gives more blocks than run at a
 * time, which is two per multiprocessor. */
static uint32_t parts_for(const device *d, uint32_t n)
{
    const heads h = heads_of(d);
    const uint32_t wanted = blocks_for(n, PART_KEYS), n_bunches = h.n_head_kv * bunches_of(h);
    const uint32_t most = 2 * (uint32_t)d->n_sm / n_bunches;

    return wanted < most && wanted < MAX_PARTS ? wanted
         : most > MAX_PARTS ? (uint32_t)MAX_PARTS : most ? most : 1;
}

int gkv__attend_some(device *d, uint32_t il, const uint32_t *pos, uint32_t n, uint32_t n_parts, char *error)
{
    const heads h = heads_of(d);
    const uint32_t passes = few_bytes(MANY_PASSES) + SHARED_SPARE > d->shared_max ? FEW_PASSES : MANY_PASSES;
    const few_args a = { d->rotated, keys_of(d, il, false), keys_of(d, il, true), d->att, d->partial,
                         d->arrived, pos, passes, h };

    return launch(d, h.head_dim <= 64 ? attend_few<8> : h.head_dim <= 128 ? attend_few<16> : attend_few<32>,
                  dim3(n_parts, h.n_head_kv * bunches_of(h), n), FEW_THREADS, few_bytes(passes), error, a);
}

int gkv__attend_many(device *d, uint32_t il, uint32_t pos, uint32_t n, char *error)
{
    const heads h = heads_of(d);
    const tile_args a = { d->rotated, keys_of(d, il, false), keys_of(d, il, true), d->att, h, n, pos };
    const dim3 grid(blocks_for(n, TILE), h.n_head);

    if (h.head_dim == 128)
        attend_tiles<128><<<grid, TILE_THREADS, 0, d->stream>>>(a);
    else if (h.head_dim == 64)
        attend_tiles<64><<<grid, TILE_THREADS, 0, d->stream>>>(a);
    else
        return gkv__attend_some(d, il, d->pos, n, 1, error);
    CUDA(cudaGetLastError());
    return 0;
}

int gkv__allow_attend(const device *d, char *error)
{
    TRY(allow_shared(d, attend_few<8>, error));
    TRY(allow_shared(d, attend_few<16>, error));
    return allow_shared(d, attend_few<32>, error);
}

/* Computes sines and cosines for all positions. */
static int fill_angles(device *d, char *error)
{
    const size_t half_rot = d->s.n_rot / 2, bytes = half_rot * sizeof *d->freq;
    double *freq = NULL;
    cudaError_t status;

    if (!half_rot)
        return 0;
    status = cudaMalloc((void **)&freq, bytes);
    if (status == cudaSuccess)
        status = cudaMemcpy(freq, d->freq, bytes, cudaMemcpyHostToDevice);
    if (status == cudaSuccess) {
        turn_table<<<blocks_for((uint64_t)d->n_positions * half_rot, 256), 256, 0, d->stream>>>(
            freq, d->angles, (uint32_t)half_rot, d->n_positions);
        status = cudaGetLastError();
    }
    if (status == cudaSuccess)
        status = cudaStreamSynchronize(d->stream);
    cudaFree(freq);
    CUDA(status);
    return 0;
}

int gkv__reserve(void *state, uint32_t n, char *error)
{
    device *d = (device *)state;

    CUDA(cudaSetDevice(d->number));
    if (n <= d->n_positions)
        return 0;
    CUDA(cudaDeviceSynchronize());
    if (d->step) {                      /* the graph has the addresses of the old cache */
        CUDA(cudaGraphExecDestroy(d->step));
        d->step = NULL;
    }
    CUDA(cudaFree(d->cache));
    CUDA(cudaFree(d->angles));
    d->cache = NULL;
    d->angles = NULL;
    d->used -= gkv__position_bytes(&d->s, d->n_positions);
    if (d->used + gkv__position_bytes(&d->s, n) > d->budget)
        return fail(error, "keys and values of %u positions need %zu MiB, %llu are free or allowed", n,
                    gkv__position_bytes(&d->s, n) >> 20,
                    (unsigned long long)((d->budget > d->used ? d->budget - d->used : 0) >> 20));
    d->n_positions = n;
    d->n_parts = parts_for(d, n);
    TRY(take(d, &d->cache, 2 * (size_t)d->s.n_layer * d->s.n_head_kv * n * d->s.head_dim, "keys and values",
             error));
    TRY(take(d, &d->angles, (size_t)n * (d->s.n_rot / 2), "angles", error));
    return fill_angles(d, error);
}
