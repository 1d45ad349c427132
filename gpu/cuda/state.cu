/* SPDX-License-Identifier: BSD-2-Clause
 * state.cu - layers with a state: its memory, and the launches of the kernels in state.cuh. */
#include "gpu/cuda/device.cuh"
#include "gpu/cuda/state.cuh"

static size_t channels(const gkv_plugin_shape *s)
{
    return 2 * (size_t)s->k_heads * s->k_dim + (size_t)s->v_heads * s->v_dim;
}

/* Floats of a layer's tail and state. */
static size_t state_floats(const gkv_plugin_shape *s)
{
    return (s->state_width - 1) * channels(s) + (size_t)s->v_heads * s->k_dim * s->v_dim;
}

static uint32_t n_states(const device *d)
{
    uint32_t n = 0;

    for (uint32_t il = 0; il < d->s.n_layer; il++)
        n += d->layer[il].f.mixer != GKV_PLUGIN_ATTENTION;
    return n;
}

int gkv__check_states(const gkv_plugin_shape *s, char *error)
{
    if (s->k_dim > MOST_KEYS)
        return fail(error, "it has no kernels for states with keys of %u; up to %d", s->k_dim, MOST_KEYS);
    if (s->state_width && (!s->k_heads || s->v_heads % s->k_heads) && s->k_dim)
        return fail(error, "states of %u heads on %u", s->v_heads, s->k_heads);
    return 0;
}

size_t gkv__state_bytes(const device *d, uint32_t n)
{
    return n_states(d) ? 4 * (n_states(d) * state_floats(&d->s) + n * channels(&d->s)) : 0;
}

int gkv__take_states(device *d, char *error)
{
    size_t at = 0;

    if (!n_states(d))
        return 0;
    TRY(take(d, &d->states, n_states(d) * state_floats(&d->s), "states", error));
    TRY(take(d, &d->rows, d->chunk * channels(&d->s), "rows of states", error));
    for (uint32_t il = 0; il < d->s.n_layer; il++)
        if (d->layer[il].f.mixer != GKV_PLUGIN_ATTENTION) {
            d->layer[il].state = d->states + at;
            at += state_floats(&d->s);
        }
    return gkv__forget_states(d, error);
}

int gkv__forget_states(device *d, char *error)
{
    if (d->states)
        CUDA(cudaMemsetAsync(d->states, 0, n_states(d) * state_floats(&d->s) * sizeof *d->states, d->stream));
    return 0;
}

int gkv__state(device *d, const present *p, uint32_t n, char *error)
{
    const gkv_plugin_shape *s = &d->s;
    const uint32_t mixer = p->l.f.mixer, all = (uint32_t)channels(s), width = s->v_heads * s->v_dim;
    const bool delta = mixer == GKV_PLUGIN_DELTA, both = delta && !p->has(GKV_PLUGIN_STATE_ALPHA);
    const uint32_t z_at = p->mat_of(GKV_PLUGIN_STATE_QKV)->n_out, beta_at = z_at + p->mat_of(GKV_PLUGIN_STATE_Z)->n_out;
    const uint32_t alpha_at = beta_at + p->mat_of(GKV_PLUGIN_STATE_BETA)->n_out;
    const state_args a = {
        d->qkv, n, alpha_at + p->mat_of(GKV_PLUGIN_STATE_ALPHA)->n_out, z_at, beta_at, alpha_at, both, mixer,
        s->state_width, all, s->k_heads, s->v_heads, s->k_dim, s->v_dim, s->side_by_side != 0,
        p->vec(GKV_PLUGIN_STATE_CONV), p->vec(GKV_PLUGIN_STATE_CONV_BIAS), p->vec(GKV_PLUGIN_STATE_DT),
        p->vec(GKV_PLUGIN_STATE_A), p->vec(GKV_PLUGIN_STATE_SKIP), p->vec(GKV_PLUGIN_STATE_NORM), s->eps,
        p->l.state, p->l.state + (s->state_width - 1) * all, d->rows, d->att,
    };

    TRY(launch(d, convolve, dim3(blocks_for(all, 128), n), 128, 0, error, a));
    TRY(launch(d, keep_tail, blocks_for(all, 128), 128, 0, error, a));
    if (mixer == GKV_PLUGIN_SHORT_CONV)
        return 0;
    if (delta)
        TRY(launch(d, unit_heads, dim3(blocks_for(2 * s->k_heads, 4), n), 128, 0, error, a));
    TRY(launch(d, recur, dim3(s->v_heads, blocks_for(s->v_dim, COLUMNS)), STATE_THREADS, 0, error, a));
    return launch(d, gate_state, dim3(delta ? s->v_heads : s->k_heads, n),
                  (delta ? s->v_dim : width / s->k_heads) > 128 ? 256 : 128, 0, error, a);
}

int gkv__gate_heads(device *d, const present *p, uint32_t n, char *error)
{
    const uint32_t q = p->mat_of(GKV_PLUGIN_Q)->n_out, all = d->s.n_head * p->l.f.head_dim;
    const uint32_t width = q + p->mat_of(GKV_PLUGIN_K)->n_out + p->mat_of(GKV_PLUGIN_V)->n_out;

    return launch(d, gate_heads, dim3(blocks_for(all, 128), n), 128, 0, error, d->att, (const float *)d->qkv, width,
                  d->s.n_head, p->l.f.head_dim);
}
