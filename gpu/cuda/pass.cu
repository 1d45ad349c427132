/* SPDX-License-Identifier: BSD-2-Clause
 * pass.cu - tokens through all layers: many at once, or one or a few, with all launches in a graph. */
#include <string.h>
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/rows.cuh"

/* ---- many tokens ------------------------------------------------------------------------ */

int gkv__operands(device *d, const mat *const *m, int n_mats, const float *x, const float *norm,
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

/* x[n] = the embeddings of n tokens. */
static int embed(device *d, const uint32_t *id, float *x, uint32_t n, char *error)
{
    const mat *m = &d->embed;
    const dim3 grid(blocks_for(m->n_in / 4, 128), n);
    const float scale = d->s.embed_scale;

    FOR_DENSE(m->type, (embed_dense<T><<<grid, 128, 0, d->stream>>>(m->w, id, x, m->n_in, 0, m->n_in, scale)));
    FOR_QUANTISED(m->type, (embed_quantised<T><<<grid, 128, 0, d->stream>>>(m->w, id, x, m->n_in, 0, m->n_in, scale)));
    CUDA(cudaGetLastError());
    return 0;
}

/* The factor of the rows after the layer, in models that have it. */
static int scale(device *d, const present *p, uint32_t n, char *error)
{
    const float *factor = p->vec(GKV_PLUGIN_OUT_SCALE);

    if (!factor)
        return 0;
    return launch(d, scale_rows, blocks_for((uint64_t)n * d->s.n_embd, 256), 256, 0, error, d->x, factor,
                  (uint64_t)n * d->s.n_embd);
}

int gkv__add(device *d, const float *bias, const float *post, float factor, uint32_t n, char *error)
{
    return launch(d, add_rows, n, 256, 0, error, d->x, (const float *)d->y, bias, post, factor, d->s.eps, d->s.n_embd);
}

/* x += residual scale times norm(m x' + bias), x' being the operands. */
static int add_products(device *d, const mat *m, const float *bias, const float *post, uint32_t n, bool shrunk,
                        char *error)
{
    const mat *const one[] = { m };
    const bool more = bias || post;

    TRY(gkv__products(d, one, 1, more ? d->y : d->x, d->s.n_embd, n, !more, more ? 1 : d->s.residual_scale, shrunk,
                      error));
    return more ? gkv__add(d, bias, post, d->s.residual_scale, n, error) : 0;
}

static int gate(device *d, const mat *down, uint32_t n_ff, uint32_t n, char *error)
{
    const form f = form_of_type(d, down->type);
    const float factor = f == FORM_F16 ? 1 / GATE_SHRINK : 1;
    const dim3 grid(blocks_for(n_ff, 256), n);

    FOR_FORM(f, (glu_rows<F><<<grid, 256, 0, d->stream>>>(d->both, factor, n_ff, (int)d->s.glu,
                                                          (form_of<F>::t *)d->operand[F])));
    CUDA(cudaGetLastError());
    return 0;
}

/* The arguments that gkv__gemvs does not set, for n tokens; y_step: elements of a row of results. */
static gemv_args from_x(const device *d, gemv_to to, const float *x, const float *norm, uint32_t n, uint32_t y_step)
{
    gemv_args g = {};

    g.to = to;
    g.n = n;
    g.x = x;
    g.norm = norm;
    g.y_step = y_step;
    g.factor = to == GEMV_ADD ? d->s.residual_scale : 1;
    g.glu = (int)d->s.glu;
    return g;
}

/* ---- products of few rows or many --------------------------------------------------------- */

int gkv__project(device *d, const mat *m, const float *x, const float *norm, float *y, uint32_t n, float factor,
                 char *error)
{
    const mat *const one[] = { m };
    gemv_args g = from_x(d, GEMV_STORE, x, norm, n, m->n_out);

    g.factor = factor;
    if (are_few(n))
        return gkv__gemvs(d, one, 1, &g, y, NULL, error);
    TRY(gkv__operands(d, one, 1, x, norm, m->n_in, n, error));
    return gkv__products(d, one, 1, y, m->n_out, n, false, factor, false, error);
}

/* d->both[n][2 n_ff] = gate and up of norm(x). */
static int gate_and_up(device *d, const mat *const *both, const float *x, const float *norm, uint32_t n, char *error)
{
    TRY(gkv__operands(d, both, 2, x, norm, both[0]->n_in, n, error));
    return gkv__products(d, both, 2, d->both, 2 * both[0]->n_out, n, false, 1, false, error);
}

/* out[n][n_ff], in d->both, = the activation of gate and up of norm(x). */
static int few_gates(device *d, const mat *const *both, const float *x, const float *norm, uint32_t n, float **out,
                     char *error)
{
    const bool together = both[0]->type == both[1]->type;
    const uint32_t n_ff = both[0]->n_out;
    const gemv_args g = from_x(d, together ? GEMV_GLU : GEMV_STORE, x, norm, n, together ? n_ff : 2 * n_ff);

    *out = together ? d->both : d->both + (size_t)n * 2 * n_ff;
    TRY(gkv__gemvs(d, both, 2, &g, d->both, NULL, error));
    if (!together)
        glu_rows<FORM_F32><<<dim3(blocks_for(n_ff, 256), n), 256, 0, d->stream>>>(d->both, 1, n_ff, (int)d->s.glu, *out);
    CUDA(cudaGetLastError());
    return 0;
}

int gkv__mlp(device *d, const mat *gate_of, const mat *up, const mat *down, const float *x, const float *norm, float *y,
             uint32_t n, char *error)
{
    const mat *const both[] = { gate_of, up }, *const one[] = { down };
    float *mid;

    if (are_few(n)) {
        TRY(few_gates(d, both, x, norm, n, &mid, error));
        return gkv__project(d, down, mid, NULL, y, n, 1, error);
    }
    TRY(gate_and_up(d, both, x, norm, n, error));
    TRY(gate(d, down, gate_of->n_out, n, error));
    return gkv__products(d, one, 1, y, down->n_out, n, false, 1, true, error);
}

/* Adds what the tokens' embeddings for this layer give. */
static int own_embeddings(device *d, const present *p, uint32_t il, const uint32_t *id, uint32_t n, char *error)
{
    const uint32_t w = d->s.n_embd_layer, every = d->layer_embed.n_in;
    const mat *m = &d->layer_embed, *out = p->mat_of(GKV_PLUGIN_EMBED_OUT);
    const dim3 grid(blocks_for(w / 4, 128), n);
    const float scale = sqrtf((float)w), *norm = (const float *)(d->fixed + d->layer_embed_norm);
    float *own = d->both + (size_t)n * 2 * w;

    /* gate and input side by side in the rows of d->both, the token's embeddings behind them */
    TRY(gkv__project(d, p->mat_of(GKV_PLUGIN_EMBED_GATE), d->x, NULL, own, n, 1, error));
    place_rows<<<dim3(blocks_for(w, 128), n), 128, 0, d->stream>>>(own, w, d->both, 2 * w);
    TRY(embed(d, id, d->y, n, error));
    TRY(gkv__project(d, p->mat_of(GKV_PLUGIN_EMBED_IN), d->y, NULL, own, n, 1 / sqrtf((float)d->s.n_embd), error));
    place_rows<<<dim3(blocks_for(w, 128), n), 128, 0, d->stream>>>(own, w, d->both + w, 2 * w);
    FOR_DENSE(m->type, (embed_dense<T><<<grid, 128, 0, d->stream>>>(m->w, id, own, every, il * w, w, scale)));
    FOR_QUANTISED(m->type, (embed_quantised<T><<<grid, 128, 0, d->stream>>>(m->w, id, own, every, il * w, w, scale)));
    own_rows<<<n, 256, 0, d->stream>>>(d->both, own, norm, d->s.eps, w);
    CUDA(cudaGetLastError());
    if (are_few(n)) {
        glu_rows<FORM_F32><<<dim3(blocks_for(w, 256), n), 256, 0, d->stream>>>(d->both, 1, w, (int)d->s.glu, own);
        CUDA(cudaGetLastError());
        TRY(gkv__project(d, out, own, NULL, d->y, n, 1, error));
    } else {
        const mat *const one[] = { out };

        TRY(gate(d, out, w, n, error));
        TRY(gkv__products(d, one, 1, d->y, out->n_out, n, false, 1, true, error));
    }
    return gkv__add(d, NULL, p->vec(GKV_PLUGIN_EMBED_POST), d->s.residual_scale, n, error);
}

/* ---- a layer ---------------------------------------------------------------------------- */

/* Those of three matrices that there are; returns their number. */
static int qkv_of(const present *p, const mat *out[3])
{
    int n = 0;

    for (int role : { GKV_PLUGIN_Q, GKV_PLUGIN_K, GKV_PLUGIN_V })
        if (p->has(role))
            out[n++] = p->mat_of(role);
    return n;
}

static uint32_t width_of(const mat *const *m, int n)
{
    uint32_t sum = 0;

    for (int i = 0; i < n; i++)
        sum += m[i]->n_out;
    return sum;
}

static int many_attention(device *d, const present *p, uint32_t pos, uint32_t n, char *error)
{
    const mat *qkv[3], *const o[] = { p->mat_of(GKV_PLUGIN_O) };
    const int n_qkv = qkv_of(p, qkv);

    TRY(gkv__operands(d, qkv, n_qkv, d->x, p->vec(GKV_PLUGIN_ATTN_NORM), d->s.n_embd, n, error));
    TRY(gkv__products(d, qkv, n_qkv, d->qkv, width_of(qkv, n_qkv), n, false, 1, false, error));
    TRY(gkv__heads(d, p, d->pos, n, error));
    TRY(gkv__attend_many(d, p, d->pos, pos, n, error));
    if (d->s.gated)
        TRY(gkv__gate_heads(d, p, n, error));
    TRY(gkv__operands(d, o, 1, d->att, NULL, o[0]->n_in, n, error));
    return add_products(d, o[0], p->vec(GKV_PLUGIN_O_BIAS), p->vec(GKV_PLUGIN_ATTN_POST), n, false, error);
}

/* d->x += residual scale times norm(m x + bias). */
static int few_add(device *d, const mat *m, const float *x, const float *bias, const float *post, uint32_t n, char *error)
{
    const mat *const one[] = { m };
    const float *const biases[] = { bias };
    const gemv_args g = from_x(d, post ? GEMV_STORE : GEMV_ADD, x, NULL, n, d->s.n_embd);

    TRY(gkv__gemvs(d, one, 1, &g, post ? d->y : d->x, biases, error));
    return post ? gkv__add(d, NULL, post, d->s.residual_scale, n, error) : 0;
}

static int few_attention(device *d, const present *p, uint32_t n, char *error)
{
    const bool rotates = gkv__only_rotates(d, p);
    const float *const bias[] = { p->vec(GKV_PLUGIN_Q_BIAS), p->vec(GKV_PLUGIN_K_BIAS), p->vec(GKV_PLUGIN_V_BIAS) };
    const mat *qkv[3];
    const int n_qkv = qkv_of(p, qkv);
    gemv_args g = from_x(d, rotates ? GEMV_HEADS : GEMV_QKV, d->x, p->vec(GKV_PLUGIN_ATTN_NORM), n, width_of(qkv, n_qkv));

    g.r = gkv__rotation_of(d, p, &d->input->pos);
    TRY(gkv__gemvs(d, qkv, n_qkv, &g, rotates ? NULL : d->qkv, rotates ? bias : NULL, error));
    if (!rotates)
        TRY(gkv__heads(d, p, &d->input->pos, n, error));
    TRY(gkv__attend_few(d, p, &d->input->pos, n, error));
    if (d->s.gated)
        TRY(gkv__gate_heads(d, p, n, error));
    return few_add(d, p->mat_of(GKV_PLUGIN_O), d->att, p->vec(GKV_PLUGIN_O_BIAS), p->vec(GKV_PLUGIN_ATTN_POST), n, error);
}

static int many_mlp(device *d, const present *p, uint32_t n, char *error)
{
    const mat *const both[] = { p->mat_of(GKV_PLUGIN_GATE), p->mat_of(GKV_PLUGIN_UP) };
    const mat *down = p->mat_of(GKV_PLUGIN_DOWN);

    TRY(gate_and_up(d, both, d->x, p->vec(GKV_PLUGIN_FFN_NORM), n, error));
    TRY(gate(d, down, both[0]->n_out, n, error));
    return add_products(d, down, NULL, p->vec(GKV_PLUGIN_FFN_POST), n, true, error);
}

static int few_mlp(device *d, const present *p, uint32_t n, char *error)
{
    const mat *const both[] = { p->mat_of(GKV_PLUGIN_GATE), p->mat_of(GKV_PLUGIN_UP) };
    float *mid;

    TRY(few_gates(d, both, d->x, p->vec(GKV_PLUGIN_FFN_NORM), n, &mid, error));
    return few_add(d, p->mat_of(GKV_PLUGIN_DOWN), mid, NULL, p->vec(GKV_PLUGIN_FFN_POST), n, error);
}

static int by_state(device *d, const present *p, uint32_t n, char *error)
{
    const mat *in[4], *out = p->mat_of(GKV_PLUGIN_STATE_OUT), *const one[] = { out };
    const float *norm = p->vec(GKV_PLUGIN_ATTN_NORM);
    gemv_args g;
    int n_in = 0;

    for (int role : { GKV_PLUGIN_STATE_QKV, GKV_PLUGIN_STATE_Z, GKV_PLUGIN_STATE_BETA, GKV_PLUGIN_STATE_ALPHA })
        if (p->has(role))
            in[n_in++] = p->mat_of(role);
    if (are_few(n)) {
        g = from_x(d, GEMV_STORE, d->x, norm, n, width_of(in, n_in));
        TRY(gkv__gemvs(d, in, n_in, &g, d->qkv, NULL, error));
        TRY(gkv__state(d, p, n, error));
        return few_add(d, out, d->att, NULL, NULL, n, error);
    }
    TRY(gkv__operands(d, in, n_in, d->x, norm, d->s.n_embd, n, error));
    TRY(gkv__products(d, in, n_in, d->qkv, width_of(in, n_in), n, false, 1, false, error));
    TRY(gkv__state(d, p, n, error));
    TRY(gkv__operands(d, one, 1, d->att, NULL, out->n_in, n, error));
    return add_products(d, out, NULL, NULL, n, false, error);
}

/* Tokens id[n], on the device, at positions pos ...; those of a few are in d->input. */
static int run_layer(device *d, uint32_t il, const uint32_t *id, uint32_t pos, uint32_t n, char *error)
{
    present p;

    TRY(gkv__bring(d, il, &p, error));
    if (p.l.f.mixer != GKV_PLUGIN_ATTENTION)
        TRY(by_state(d, &p, n, error));
    else
        TRY(are_few(n) ? few_attention(d, &p, n, error) : many_attention(d, &p, pos, n, error));
    if (p.has(GKV_PLUGIN_ROUTER))
        TRY(gkv__experts(d, &p, n, error));
    else
        TRY(are_few(n) ? few_mlp(d, &p, n, error) : many_mlp(d, &p, n, error));
    if (p.has(GKV_PLUGIN_EMBED_GATE))
        TRY(own_embeddings(d, &p, il, id, n, error));
    TRY(scale(d, &p, n, error));
    return gkv__release(d, il, error);
}

/* ---- one token, or a few ---------------------------------------------------------------- */

/* Logits of rows x[n], and the best token of each. */
static int finish(device *d, const float *x, uint32_t n, char *error)
{
    const mat *const output[] = { &d->output };
    gemv_args g = from_x(d, GEMV_STORE, x, (const float *)(d->fixed + d->output_norm), n, d->s.n_vocab);

    g.factor = d->s.logit_scale;
    g.cap = d->s.logit_cap;
    TRY(gkv__gemvs(d, output, 1, &g, d->logits, NULL, error));
    CUDA(cudaMemsetAsync(d->best, 0, n * sizeof *d->best, d->stream));
    best_of<<<dim3(64, n), 256, 0, d->stream>>>(d->logits, d->s.n_vocab, d->best);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyAsync(d->best_host, d->best, n * sizeof *d->best, cudaMemcpyDeviceToHost, d->stream));
    return 0;
}

static int few_tokens(device *d, uint32_t n, char *error)
{
    CUDA(cudaMemcpyAsync(d->input, d->input_host, sizeof *d->input, cudaMemcpyHostToDevice, d->stream));
    TRY(embed(d, d->input->id, d->x, n, error));
    for (uint32_t il = 0; il < d->s.n_layer; il++)
        TRY(run_layer(d, il, d->input->id, 0, n, error));
    return finish(d, d->x, n, error);
}

/* Captures the launches of a step of n tokens as a graph; all their inputs are in memory. */
static int capture(device *d, uint32_t n, char *error)
{
    cudaGraphExec_t *step = &d->step[n - 1];
    cudaGraph_t graph = NULL;
    cudaError_t ended;
    int bad;

    CUDA(cudaStreamBeginCapture(d->stream, cudaStreamCaptureModeThreadLocal));
    bad = few_tokens(d, n, error);
    ended = cudaStreamEndCapture(d->stream, &graph);
    if (!bad && ended == cudaSuccess)
        ended = cudaGraphInstantiateWithFlags(step, graph, 0);
    if (graph)
        cudaGraphDestroy(graph);
    TRY(bad);                           /* report the first error */
    CUDA(ended);
    return 0;
}

/* Streamed layers are copied anew for each step. */
static bool has_graphs(const device *d)
{
    return d->n_resident == d->s.n_layer;
}

int gkv__capture(device *d, char *error)
{
    for (uint32_t n = 1; n <= GKV_PLUGIN_ROWS && has_graphs(d); n++)
        if (!d->step[n - 1])
            TRY(capture(d, n, error));
    return 0;
}

static int few(device *d, const uint32_t *id, uint32_t n, uint32_t pos, char *error)
{
    memcpy(d->input_host->id, id, n * sizeof *id);
    d->input_host->pos = pos;
    if (!has_graphs(d))
        return few_tokens(d, n, error);
    if (!d->step[n - 1])
        TRY(capture(d, n, error));
    CUDA(cudaGraphLaunch(d->step[n - 1], d->stream));
    return 0;
}

static int many(device *d, const uint32_t *id, uint32_t n, uint32_t pos, uint32_t rows, char *error)
{
    CUDA(cudaMemcpyAsync(d->ids, id, n * sizeof *id, cudaMemcpyHostToDevice, d->stream));
    CUDA(cudaMemcpyAsync(d->pos, &pos, sizeof pos, cudaMemcpyHostToDevice, d->stream));
    TRY(embed(d, d->ids, d->x, n, error));
    for (uint32_t il = 0; il < d->s.n_layer; il++)
        TRY(run_layer(d, il, d->ids, pos, n, error));
    return rows ? finish(d, d->x + (size_t)(n - rows) * d->s.n_embd, rows, error) : 0;
}

int gkv__forward(void *state, const uint32_t *id, uint32_t n, uint32_t pos, uint32_t rows, float *logits, uint32_t *best,
                 char *error)
{
    device *d = (device *)state;
    const size_t bytes = (size_t)rows * d->s.n_vocab * sizeof *logits;
    const uint32_t first = are_few(n) ? n - rows : 0;           /* of a few, there are results of all */

    CUDA(cudaSetDevice(d->number));
    if (!n || n > d->chunk || pos < d->first || pos - d->first > d->n_positions ||
        n > d->n_positions - (pos - d->first))
        return fail(error, "%u tokens at %u, of %u positions from %u on", n, pos, d->n_positions, d->first);
    if (rows > n || rows > GKV_PLUGIN_ROWS)
        return fail(error, "results of %u tokens, of %u", rows, n);
    if (pos == 0)
        TRY(gkv__forget_states(d, error));
    TRY(are_few(n) ? few(d, id, n, pos, error) : many(d, id, n, pos, rows, error));
    if (logits && rows)
        CUDA(cudaMemcpyAsync(d->logits_host, d->logits + (size_t)first * d->s.n_vocab, bytes, cudaMemcpyDeviceToHost,
                             d->stream));
    CUDA(cudaStreamSynchronize(d->stream));
    if (logits)
        memcpy(logits, d->logits_host, bytes);
    for (uint32_t i = 0; best && i < rows; i++)
        best[i] = 0xffffffff - (uint32_t)d->best_host[first + i];
    return 0;
}
