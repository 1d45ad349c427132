/* SPDX-License-Identifier: BSD-2-Clause
 * upload.cu - copies weights from the file: once, or, for a streamed layer, whenever a pass needs it. */
#include <string.h>
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/sort.cuh"

/* Alternates between two pinned buffers: one part is copied while the next is read from the file. */
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
            sorting s = { (const uint16_t *)d->stage_dev[i], n / block, at / block, (uint32_t)block,
                          (uint32_t)block / 2, p->row->plane.n, {}, {} };
            size_t plane = p->at;

            for (int f = 0; f < p->row->plane.n; f++) {
                s.f[f] = p->row->plane.f[f];
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

/* The same for a tensor that becomes f16. */
static int send_wide(device *d, const place *p, uint8_t *memory, char *error)
{
    const uint32_t n_in = p->t.n_in, part = (uint32_t)(STAGE / 2 / n_in);
    const size_t row_bytes = p->t.bytes / p->t.n_out;

    for (uint32_t row = 0; row < p->t.n_out; row += part) {
        const uint32_t n = p->t.n_out - row < part ? p->t.n_out - row : part;
        const unsigned i = d->turn++ % 2;
        __half *to = (__half *)d->stage_host[i];

        CUDA(cudaEventSynchronize(d->stage_free[i]));
        for (uint32_t r = 0; r < n; r++) {
            d->s.widen(p->t.type, (const uint8_t *)p->t.data + (row + r) * row_bytes, d->wide, n_in);
            for (uint32_t j = 0; j < n_in; j++)
                *to++ = __float2half_rn(d->wide[j]);
        }
        CUDA(cudaMemcpyAsync(memory + p->at + (size_t)row * n_in * 2, d->stage_host[i], (size_t)n * n_in * 2,
                             cudaMemcpyHostToDevice, d->copy));
        CUDA(cudaEventRecord(d->stage_free[i], d->copy));
    }
    return 0;
}

static int send_any(device *d, const place *p, uint8_t *memory, char *error)
{
    return p->widened ? send_wide(d, p, memory, error) : send(d, p, memory, error);
}

int gkv__upload(void *state, size_t i, char *error)
{
    device *d = (device *)state;
    const place *p = &d->tensor[i];

    CUDA(cudaSetDevice(d->number));
    if (of_model(&p->t))
        return send_any(d, p, d->fixed, error);
    if (!d->layer[p->t.layer].memory)
        return 0;
    return send_any(d, p, d->layer[p->t.layer].memory, error);
}

int gkv__bring(device *d, uint32_t il, present *out, char *error)
{
    const layer *l = &d->layer[il];
    const int slot = il % 2;

    *out = { *l, l->memory };
    if (!l->memory) {
        out->memory = d->slot[slot];
        CUDA(cudaStreamWaitEvent(d->copy, d->done[slot]));
        for (size_t i = 0; i < l->n; i++)
            TRY(send_any(d, &d->tensor[l->first + i], out->memory, error));
        CUDA(cudaEventRecord(d->filled[slot], d->copy));
        CUDA(cudaStreamWaitEvent(d->stream, d->filled[slot]));
    }
    for (mat &m : out->l.m)
        if (m.n_out)
            settle(&m, out->memory);
    return 0;
}

int gkv__release(device *d, uint32_t il, char *error)
{
    if (!d->layer[il].memory)
        CUDA(cudaEventRecord(d->done[il % 2], d->stream));
    return 0;
}
