/* SPDX-License-Identifier: BSD-2-Clause
 * pass.cu - tokens through all layers: many at once, or one, with all launches in a graph. */
#include <string.h>
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/rows.cuh"

/* ---- many tokens ------------------------------------------------------------------------ */

/* Converts x[n][width], normalised or not, to the forms that these matrices want. */
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

    TRY(gkv__bring(d, il, &l, &memory, error));
    TRY(operands(d, qkv, 3, d->x, norm_at(memory, l.norm[P_ATTN_NORM]), s->n_embd, n, error));
    TRY(gkv__products(d, qkv, 3, d->qkv, q + 2 * kv, n, false, false, error));
    TRY(gkv__rotate(d, il, n, error));
    TRY(gkv__attend_many(d, il, pos, n, error));
    TRY(operands(d, o, 1, d->att, NULL, q, n, error));
    TRY(gkv__products(d, o, 1, d->x, s->n_embd, n, true, false, error));

    TRY(operands(d, both, 2, d->x, norm_at(memory, l.norm[P_FFN_NORM]), s->n_embd, n, error));
    TRY(gkv__products(d, both, 2, d->both, 2 * s->n_ff, n, false, false, error));
    TRY(gate(d, &l.down, n, error));
    TRY(gkv__products(d, down, 1, d->x, s->n_embd, n, true, true, error));
    return gkv__release(d, il, error);
}

/* ---- one token -------------------------------------------------------------------------- */

/* The arguments that gkv__gemvs does not set. */
static gemv_args from_x(gemv_to to, const float *x, const float *norm)
{
    gemv_args g = {};

    g.to = to;
    g.x = x;
    g.norm = norm;
    return g;
}

/* Logits of row x, and the best token. */
static int finish(device *d, const float *x, char *error)
{
    const mat *const output[] = { &d->output };
    const gemv_args g = from_x(GEMV_STORE, x, norm_at(d->fixed, d->output_norm));

    TRY(gkv__gemvs(d, output, 1, &g, d->logits, error));
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
    const gemv_args g = from_x(together ? GEMV_GLU : GEMV_STORE, d->x, norm);

    TRY(gkv__gemvs(d, both, 2, &g, d->both, error));
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
    gemv_args g = from_x(GEMV_HEADS, d->x, NULL);

    TRY(gkv__bring(d, il, &l, &memory, error));
    g.norm = norm_at(memory, l.norm[P_ATTN_NORM]);
    g.r = gkv__rotation_of(d, il, &d->input->pos);
    TRY(gkv__gemvs(d, qkv, 3, &g, NULL, error));
    TRY(gkv__attend_some(d, il, &d->input->pos, 1, d->n_parts, error));
    g = from_x(GEMV_ADD, d->att, NULL);
    TRY(gkv__gemvs(d, o, 1, &g, d->x, error));
    TRY(one_gate(d, &l, norm_at(memory, l.norm[P_FFN_NORM]), error));
    g.x = d->both;
    TRY(gkv__gemvs(d, down, 1, &g, d->x, error));
    return gkv__release(d, il, error);
}

static int one_token(device *d, char *error)
{
    CUDA(cudaMemcpyAsync(d->input, d->input_host, sizeof *d->input, cudaMemcpyHostToDevice, d->stream));
    TRY(embed(d, &d->input->id, 1, error));
    for (uint32_t il = 0; il < d->s.n_layer; il++)
        TRY(one_layer(d, il, error));
    return finish(d, d->x, error);
}

/* Captures the launches of a step as a graph; all their inputs are in memory. */
static int capture(device *d, char *error)
{
    cudaGraph_t graph = NULL;
    cudaError_t ended;
    int bad;

    CUDA(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    bad = one_token(d, error);
    ended = cudaStreamEndCapture(d->stream, &graph);
    if (!bad && ended == cudaSuccess)
        ended = cudaGraphInstantiate(&d->step, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    TRY(bad);                           /* report the first error */
    CUDA(ended);
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

int gkv__forward(void *state, const uint32_t *id, uint32_t n, uint32_t pos, float *logits, uint32_t *best,
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
