/* SPDX-License-Identifier: BSD-2-Clause
 * plugin.cu - gemkv-cuda.so: the second pass on a CUDA device (gpu/plugin.h).
 *
 * Weights stay in the file's types.  Many tokens at once are multiplied by cuBLAS, with quantised
 * weights converted to f16 product by product.  One token, or a few, are multiplied by the kernels of
 * gemv.cuh, and the launches of a whole step are one graph.  Layers for which there is no room
 * are copied to two slots in turn, each while the previous layer computes. */
#include <stdlib.h>
#include <string.h>
#include "gpu/cuda/device.cuh"

static const size_t SPARE = 64 << 20;           /* kept free within the budget               */

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
        d->fixed, d->slot[0], d->slot[1], d->stage_dev[0], d->stage_dev[1], d->workspace, d->x, d->y,
        d->qkv, d->both, d->att, d->logits, d->operand[0], d->operand[1], d->operand[2], d->rotated, d->weights,
        d->ids, d->pos, d->input, d->partial, d->arrived, d->best, d->cache,
        d->states, d->rows,
    };

    cudaSetDevice(d->number);
    cudaDeviceSynchronize();
    for (cudaGraphExec_t step : d->step)
        if (step)
            cudaGraphExecDestroy(step);
    if (d->blas)
        cublasDestroy(d->blas);
    for (void *p : owned)
        cudaFree(p);
    gkv__free_experts(d);
    for (uint32_t il = 0; d->layer && il < d->s.n_layer; il++)
        cudaFree(d->layer[il].memory);
    for (rope_table &r : d->rope) {
        cudaFree(r.turn);
        free(r.freq);
    }
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
    free(d->wide);
    free(d->tensor);
    free(d->layer);
    free(d);
}

/* ---- functions of the interface ----------------------------------------------------------------- */

/* The first use of every kernel and library takes a second; nothing waits for it here. */
static int warm_up(device *d, uint32_t n, char *error)
{
    uint32_t *id = (uint32_t *)calloc(n, sizeof *id);
    int bad = id ? gkv__forward(d, id, n, 0, 1, NULL, NULL, error) : fail(error, "out of memory");

    for (uint32_t k = 1; !bad && k <= GKV_PLUGIN_ROWS && k <= n; k++)
        bad = gkv__forward(d, id, k, n - k, k, NULL, NULL, error);
    free(id);
    d->warm = !bad;
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
    TRY(gkv__allow_gemv(d, error));
    TRY(gkv__allow_attend(d, error));
    TRY(gkv__begin_fresh(d, d->n_expected, error));
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
        GKV_PLUGIN_ABI, "cuda", count, describe, open_device, gkv__plan, gkv__upload, ready, gkv__begin,
        gkv__keys, gkv__forward, largest_block, use, close_device,
    };

    return &p;
}
