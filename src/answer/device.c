/* SPDX-License-Identifier: BSD-2-Clause
 * device.c - see device.h */
#include "config.h"
#include <ctype.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "gpu/plugin.h"
#include "src/answer/device.h"
#include "src/answer/draft.h"
#include "src/base/mem.h"
#include "src/base/size.h"
#include "src/base/thread.h"

/* "auto" tries them in this order. */
static const char *const known[] = { "cuda" };

enum { N_KNOWN = sizeof known / sizeof *known, PATH_BYTES = 4096 };

enum phase { OPENING, UPLOADING, READY, REFUSED, BROKEN };

struct gkv__device {
    const gkv_model          *m;
    void                     *library;
    const struct gkv_plugin  *api;
    void                     *state;            /* the plugin's                              */
    char                      name[48], model[GKV_PLUGIN_NAME];
    unsigned                  number;
    uint64_t                  budget;
    bool                      automatic;        /* chosen by "auto"                          */
    uint32_t                  n_tokens, n_positions;
    struct gkv_plugin_tensor *tensor;
    size_t                    n_tensors;
    struct gkv_plugin_layer  *layer;            /* [n_layer]                                 */
    struct gkv_plugin_slots  *slots;            /* [n_layer]                                 */

    struct gkv__task         *task;
    pthread_mutex_t           lock;             /* for the members below                     */
    pthread_cond_t            changed;
    enum phase                phase;
    char                      why[GKV_PLUGIN_ERROR];
    atomic_bool               stop;
    double                    t_begin, t_end, t_wanted;
};

/* ---- the plugin ------------------------------------------------------------------------- */

/* Splits "cuda:1" into "cuda" and 1. */
static bool split(const char *name, char stem[32], unsigned *number)
{
    const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
    char *end = NULL;
    unsigned long v = 0;

    if (!n || n >= 32 || (name[n] && name[n] != ':'))
        return false;
    if (name[n] == ':') {
        v = strtoul(name + n + 1, &end, 10);
        if (!isdigit((unsigned char)name[n + 1]) || *end || v > 1023)
            return false;
    }
    memcpy(stem, name, n);
    stem[n] = 0;
    *number = (unsigned)v;
    return true;
}

static bool here(const char *name)
{
    return !strcmp(name, "cpu");
}

static bool automatic(const char *name)
{
    return !name || !strcmp(name, "auto");
}

static const char *folder(void)
{
    const char *dir = secure_getenv("GEMKV_PLUGIN_DIR");

    return dir && *dir == '/' ? dir : PLUGINDIR;
}

/* Whether the plugin's path fits and is there. */
static bool path_of(const char *stem, char path[PATH_BYTES])
{
    return (size_t)snprintf(path, PATH_BYTES, "%s/gemkv-%s.so", folder(), stem) < PATH_BYTES &&
           !access(path, R_OK);
}

gkv_status gkv__device_check(const char *name, gkv_error *err)
{
    char stem[32], path[PATH_BYTES];
    unsigned number;

    if (automatic(name) || here(name))
        return GKV_OK;
    if (split(name, stem, &number)) {
        for (size_t i = 0; i < N_KNOWN; i++)
            if (!strcmp(stem, known[i]))
                return GKV_OK;
        if (path_of(stem, path))
            return GKV_OK;
    }
    return gkv__fail(err, GKV_INVALID, "no device \"%s\"; there are: auto cpu cuda cuda:N", name);
}

/* Loads by absolute path, so that no other file of that name is found. */
static gkv_status load(const char *stem, void **library, const struct gkv_plugin **api, gkv_error *err)
{
    char path[PATH_BYTES];
    gkv_plugin_fn *get;
    const char *why;

    if (!path_of(stem, path))
        return gkv__fail(err, GKV_DEVICE, "device %s: no plugin gemkv-%s.so in %s", stem, stem, folder());
    *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!*library) {
        why = dlerror();
        return gkv__fail(err, GKV_DEVICE, "device %s: %s", stem, why ? why : "no plugin");
    }
    *(void **)&get = dlsym(*library, GKV_PLUGIN_SYMBOL);
    *api = get ? get() : NULL;
    if (*api && (*api)->abi == GKV_PLUGIN_ABI)
        return GKV_OK;
    gkv__fail(err, GKV_DEVICE, "device %s: %s is a plugin for another version of gemkv", stem, path);
    dlclose(*library);
    *library = NULL;
    return GKV_DEVICE;
}

/* ---- list of devices -------------------------------------------------------------------- */

enum { MAX_LINES = 16, LINE = 320 };

static char   lines[MAX_LINES][LINE];
static size_t n_lines;

static void __attribute__((format(printf, 1, 2))) add_line(const char *fmt, ...)
{
    va_list ap;

    if (n_lines == MAX_LINES)
        return;
    va_start(ap, fmt);
    vsnprintf(lines[n_lines++], LINE, fmt, ap);
    va_end(ap);
}

/* Libraries stay open: some drivers cannot be unloaded safely. */
static void list_devices(void)
{
    for (size_t i = 0; i < N_KNOWN; i++) {
        const struct gkv_plugin *api;
        struct gkv_plugin_device about;
        char why[GKV_PLUGIN_ERROR];
        unsigned n = 0;
        void *library;
        gkv_error err;

        if (load(known[i], &library, &api, &err) != GKV_OK) {
            add_line("%.300s", err.text + strlen("device "));
            continue;
        }
        if (api->count(&n, why))
            add_line("%s: %s", known[i], why);
        else if (!n)
            add_line("%s: no device", known[i]);
        for (unsigned j = 0; j < n; j++)
            if (api->describe(j, &about, why))
                add_line("%s:%u: %s", known[i], j, why);
            else
                add_line("%s:%u: %.63s, %.1f GB, %.1f free", known[i], j, about.name,
                         (double)about.memory / 1e9, (double)about.free / 1e9);
    }
}

const char *gkv_device_describe(size_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, list_devices);
    return i < n_lines ? lines[i] : NULL;
}

/* ---- tensors for the device ------------------------------------------------------------- */

/* Elements of a vector. */
enum length { EMBD, ONE, HEAD_DIM, Q_ROWS, KV_ROWS, Q_NORM, K_NORM, N_HEAD, N_EXPERT, FF_OF_EXPERTS, EMBD_OF_EXPERTS,
              TAPS, CHANNELS, V_HEADS, STATE_NORM };

#define AT(member) offsetof(struct gkv__layer_weights, member)

/* In the order in which a pass uses them. */
static const struct { uint32_t role; size_t at; } mats[] = {
    { GKV_PLUGIN_Q, AT(q) }, { GKV_PLUGIN_K, AT(k) }, { GKV_PLUGIN_V, AT(v) }, { GKV_PLUGIN_O, AT(o) },
    { GKV_PLUGIN_STATE_QKV, AT(qkv) }, { GKV_PLUGIN_STATE_Z, AT(z) }, { GKV_PLUGIN_STATE_BETA, AT(beta) },
    { GKV_PLUGIN_STATE_ALPHA, AT(alpha) }, { GKV_PLUGIN_STATE_OUT, AT(out) },
    { GKV_PLUGIN_ROUTER, AT(router) }, { GKV_PLUGIN_GATE, AT(gate) }, { GKV_PLUGIN_UP, AT(up) },
    { GKV_PLUGIN_DOWN, AT(down) }, { GKV_PLUGIN_SHARED_GATE, AT(shared_gate) },
    { GKV_PLUGIN_SHARED_UP, AT(shared_up) }, { GKV_PLUGIN_SHARED_DOWN, AT(shared_down) },
    { GKV_PLUGIN_EMBED_GATE, AT(embed_gate) }, { GKV_PLUGIN_EMBED_IN, AT(embed_in) },
    { GKV_PLUGIN_EMBED_OUT, AT(embed_out) },
};

static const struct { uint32_t role; size_t at; enum length length; } vectors[] = {
    { GKV_PLUGIN_ATTN_NORM, AT(attn_norm), EMBD }, { GKV_PLUGIN_FFN_NORM, AT(ffn_norm), EMBD },
    { GKV_PLUGIN_ATTN_POST, AT(attn_post), EMBD }, { GKV_PLUGIN_FFN_POST, AT(ffn_post), EMBD },
    { GKV_PLUGIN_Q_BIAS, AT(q_bias), Q_ROWS }, { GKV_PLUGIN_K_BIAS, AT(k_bias), KV_ROWS },
    { GKV_PLUGIN_V_BIAS, AT(v_bias), KV_ROWS }, { GKV_PLUGIN_O_BIAS, AT(o_bias), EMBD },
    { GKV_PLUGIN_Q_NORM, AT(q_norm), Q_NORM }, { GKV_PLUGIN_K_NORM, AT(k_norm), K_NORM },
    { GKV_PLUGIN_V_NORM, AT(v_norm), HEAD_DIM }, { GKV_PLUGIN_SINKS, AT(sinks), N_HEAD },
    { GKV_PLUGIN_OUT_SCALE, AT(out_scale), ONE }, { GKV_PLUGIN_EMBED_POST, AT(embed_post), EMBD },
    { GKV_PLUGIN_ROUTER_BIAS, AT(router_bias), N_EXPERT }, { GKV_PLUGIN_GATE_BIAS, AT(gate_bias), FF_OF_EXPERTS },
    { GKV_PLUGIN_UP_BIAS, AT(up_bias), FF_OF_EXPERTS }, { GKV_PLUGIN_DOWN_BIAS, AT(down_bias), EMBD_OF_EXPERTS },
    { GKV_PLUGIN_SHARED_ROUTER, AT(shared_router), EMBD }, { GKV_PLUGIN_ROUTER_NORM, AT(router_norm), EMBD },
    { GKV_PLUGIN_EXPERT_NORM, AT(expert_norm), EMBD }, { GKV_PLUGIN_SHARED_POST, AT(shared_post), EMBD },
    { GKV_PLUGIN_EXPERT_POST, AT(expert_post), EMBD }, { GKV_PLUGIN_EXPERT_SCALE, AT(expert_scale), N_EXPERT },
    { GKV_PLUGIN_STATE_CONV, AT(conv), TAPS }, { GKV_PLUGIN_STATE_CONV_BIAS, AT(conv_bias), CHANNELS },
    { GKV_PLUGIN_STATE_DT, AT(dt), V_HEADS }, { GKV_PLUGIN_STATE_A, AT(a), V_HEADS },
    { GKV_PLUGIN_STATE_SKIP, AT(skip), V_HEADS }, { GKV_PLUGIN_STATE_NORM, AT(state_norm), STATE_NORM },
};

#undef AT

enum { N_MATS = sizeof mats / sizeof *mats, N_VECTORS = sizeof vectors / sizeof *vectors, OF_MODEL = 5 };

static uint64_t length_of(const gkv_model *m, uint32_t il, enum length length)
{
    const struct gkv__shape *all = &m->shape, *s = gkv__shape_of(m, il);
    const struct gkv__layer_weights *w = &m->layer[il];
    const uint64_t q = (uint64_t)s->n_head * s->head_dim, kv = (uint64_t)s->n_head_kv * s->head_dim;

    switch (length) {
    case EMBD:            return all->n_embd;
    case ONE:             return 1;
    case HEAD_DIM:        return s->head_dim;
    case Q_ROWS:          return q;
    case KV_ROWS:         return kv;
    case Q_NORM:          return w->norm_rows ? q : s->head_dim;
    case K_NORM:          return w->norm_rows ? kv : s->head_dim;
    case N_HEAD:          return all->n_head;
    case N_EXPERT:        return all->n_expert;
    case FF_OF_EXPERTS:   return (uint64_t)all->n_expert * all->n_ff_expert;
    case EMBD_OF_EXPERTS: return (uint64_t)all->n_expert * all->n_embd;
    case TAPS:            return gkv__state_channels(all) * all->state.width;
    case CHANNELS:        return gkv__state_channels(all);
    case V_HEADS:         return all->state.v_heads;
    case STATE_NORM:      return (uint64_t)all->state.v_dim * (w->mixer == GKV__MAMBA2 ? all->state.v_heads : 1);
    }
    return 0;
}

static void add(struct gkv__device *d, struct gkv_plugin_tensor t)
{
    if (t.data)
        d->tensor[d->n_tensors++] = t;
}

static void add_mat(struct gkv__device *d, uint32_t role, uint32_t layer, const struct gkv__mat *w)
{
    if (w->data)
        add(d, (struct gkv_plugin_tensor){ role, layer, w->format->ggml, w->n_out, w->n_in, w->data,
                                           gkv__mat_bytes(w) });
}

static void add_vec(struct gkv__device *d, uint32_t role, uint32_t layer, const float *v, uint64_t n)
{
    add(d, (struct gkv_plugin_tensor){ role, layer, gkv__quant_of(GKV__TYPE_F32)->ggml, 1, (uint32_t)n, v,
                                       n * sizeof *v });
}

static gkv_status list_tensors(struct gkv__device *d, gkv_error *err)
{
    const gkv_model *m = d->m;

    d->tensor = calloc(OF_MODEL + (N_MATS + N_VECTORS) * (size_t)m->shape.n_layer, sizeof *d->tensor);
    d->layer = calloc(m->shape.n_layer, sizeof *d->layer);
    d->slots = calloc(m->shape.n_layer, sizeof *d->slots);
    if (!d->tensor || !d->layer || !d->slots)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    add_mat(d, GKV_PLUGIN_EMBED, 0, &m->embed);
    add_mat(d, GKV_PLUGIN_LAYER_EMBED, 0, &m->layer_embed);
    add_vec(d, GKV_PLUGIN_LAYER_EMBED_NORM, 0, m->layer_embed_norm, m->shape.n_embd_layer);
    for (uint32_t il = 0; il < m->shape.n_layer; il++) {
        const uint8_t *w = (const uint8_t *)&m->layer[il];

        for (size_t i = 0; i < N_VECTORS; i++)
            add_vec(d, vectors[i].role, il, *(const float *const *)(const void *)(w + vectors[i].at),
                    length_of(m, il, vectors[i].length));
        for (size_t i = 0; i < N_MATS; i++)
            add_mat(d, mats[i].role, il, (const struct gkv__mat *)(const void *)(w + mats[i].at));
    }
    add_vec(d, GKV_PLUGIN_OUTPUT_NORM, 0, m->output_norm, m->shape.n_embd);
    if (m->output.data != m->embed.data)
        add_mat(d, GKV_PLUGIN_OUTPUT, 0, &m->output);
    return GKV_OK;
}

/* ---- facts of the model ----------------------------------------------------------------- */

static float factor(float f)
{
    return f > 0 ? f : 1;
}

/* The tables of a pass over positions 0 .. span - 1. */
static void fill_ropes(const gkv_model *m, uint64_t span, struct gkv_plugin_rope out[GKV_PLUGIN_N_ROPES])
{
    const bool far = m->rope[GKV__ROPE_LONG].freq && span > m->rope_context;
    const struct gkv__rope *all = &m->rope[far ? GKV__ROPE_LONG : GKV__ROPE_ALL], *local = &m->rope[GKV__ROPE_LOCAL];

    out[GKV_PLUGIN_ROPE_ALL] = (struct gkv_plugin_rope){ all->freq, m->shape.n_rot, all->scale };
    out[GKV_PLUGIN_ROPE_LOCAL] =
        (struct gkv_plugin_rope){ local->freq, gkv__shape_near(&m->shape).n_rot, local->freq ? local->scale : 1 };
}

static struct gkv_plugin_layer layer_of(const gkv_model *m, uint32_t il)
{
    const struct gkv__layer_weights *w = &m->layer[il];
    const struct gkv__shape *s = gkv__shape_of(m, il);

    return (struct gkv_plugin_layer){
        .mixer = w->mixer, .head_dim = s->head_dim, .n_head_kv = s->n_head_kv,
        .rope = w->no_rope ? GKV_PLUGIN_N_ROPES : w->local_rope ? GKV_PLUGIN_ROPE_LOCAL : GKV_PLUGIN_ROPE_ALL,
        .window = w->window, .chunk = w->chunk, .whole_norms = w->norm_rows, .tempered = w->tempered,
        .source = w->shares ? w->source : il,
    };
}

static void widen(uint32_t type, const void *from, float *to, size_t n)
{
    gkv__quant_of_ggml(type)->to_f32(from, to, n);
}

static struct gkv_plugin_shape shape_of(struct gkv__device *d)
{
    const gkv_model *m = d->m;
    const struct gkv__shape *s = &m->shape;
    struct gkv_plugin_shape out = {
        .n_layer = s->n_layer, .n_embd = s->n_embd, .n_head = s->n_head, .n_vocab = s->n_vocab,
        .rope_halves = s->pairs == GKV__ROPE_HALVES, .glu = s->glu, .gated = s->gated, .eps = s->eps,
        .embed_scale = factor(s->embed_scale), .logit_scale = factor(s->logit_scale),
        .residual_scale = factor(s->residual_scale), .attn_scale = s->attn_scale, .attn_cap = s->attn_cap,
        .logit_cap = s->logit_cap, .temper = s->temper, .temper_span = s->temper_span, .temper_shift = s->temper_shift,
        .n_expert = s->n_expert, .n_used = s->n_used, .n_ff_expert = s->n_ff_expert, .router = s->router,
        .beside = s->beside, .n_embd_layer = s->n_embd_layer, .n_sharing = s->n_sharing,
        .state_width = s->state.width, .k_heads = s->state.k_heads, .v_heads = s->state.v_heads,
        .k_dim = s->state.k_dim, .v_dim = s->state.v_dim, .side_by_side = s->state.side_by_side,
        .layer = d->layer, .widen = widen,
    };

    for (uint32_t il = 0; il < s->n_layer; il++)
        d->layer[il] = layer_of(m, il);
    fill_ropes(m, d->n_positions, out.rope);
    return out;
}

/* ---- in the background ------------------------------------------------------------------ */

static void enter(struct gkv__device *d, enum phase phase)
{
    pthread_mutex_lock(&d->lock);
    d->phase = phase;
    d->t_end = gkv__seconds();
    pthread_cond_broadcast(&d->changed);
    pthread_mutex_unlock(&d->lock);
}

static int open_and_plan(struct gkv__device *d)
{
    const struct gkv_plugin_shape shape = shape_of(d);
    struct gkv_plugin_device about;
    struct gkv_plugin_use use;
    unsigned n = 0;
    int bad;

    bad = d->api->count(&n, d->why);
    if (!bad && d->number >= n) {
        snprintf(d->why, sizeof d->why, "there are %u devices, counted from 0", n);
        bad = 1;
    }
    if (!bad)
        bad = d->api->describe(d->number, &about, d->why);
    if (!bad) {
        snprintf(d->model, sizeof d->model, "%.*s", (int)sizeof d->model - 1, about.name);
        bad = d->api->open(&d->state, d->number, d->budget, d->why);
    }
    if (!bad)
        bad = d->api->plan(d->state, &shape, d->tensor, d->n_tensors, d->n_tokens, d->n_positions,
                           d->why);
    if (bad || !d->automatic)
        return bad;
    d->api->use(d->state, &use);
    if (use.n_resident == shape.n_layer)
        return 0;
    snprintf(d->why, sizeof d->why, "there is room for %u of %u layers; copying the others for each token "
             "takes longer than the CPU", use.n_resident, shape.n_layer);
    return 1;
}

/* After its upload, a tensor's pages leave memory; if the first pass needs them, they come back from
 * the system's cache. */
static void work(void *arg)
{
    struct gkv__device *d = arg;
    int bad = open_and_plan(d);

    enter(d, bad ? REFUSED : UPLOADING);
    for (size_t i = 0; i < d->n_tensors && !bad && !atomic_load(&d->stop); i++) {
        const bool large = d->tensor[i].n_out > 1;      /* of the file: some vectors are not */

        if (large)
            gkv__gguf_willneed(d->tensor[i].data, d->tensor[i].bytes);
        bad = d->api->upload(d->state, i, d->why);
        if (large)
            gkv__gguf_dontneed(d->tensor[i].data, d->tensor[i].bytes);
    }
    if (!bad && !atomic_load(&d->stop))
        bad = d->api->ready(d->state, d->why);
    if (d->phase == UPLOADING)
        enter(d, bad ? BROKEN : READY);
}

/* Waits until d is beyond the phase, then returns its phase. */
static enum phase wait_beyond(struct gkv__device *d, enum phase phase)
{
    pthread_mutex_lock(&d->lock);
    while (d->phase <= phase)
        pthread_cond_wait(&d->changed, &d->lock);
    phase = d->phase;
    pthread_mutex_unlock(&d->lock);
    return phase;
}

static gkv_status failed(const struct gkv__device *d, gkv_error *err)
{
    return gkv__fail(err, d->phase == REFUSED ? GKV_UNSUPPORTED : GKV_DEVICE, "device %s: %s", d->name,
                     d->why);
}

/* ---- the session's side ----------------------------------------------------------------- */

static gkv_status start(struct gkv__device *d, const char *stem, unsigned number, gkv_error *err)
{
    d->number = number;
    snprintf(d->name, sizeof d->name, "%s:%u", stem, number);
    GKV__TRY(load(stem, &d->library, &d->api, err));
    GKV__TRY(list_tensors(d, err));
    d->t_begin = gkv__seconds();
    d->task = gkv__task_start(work, d);
    return d->task ? GKV_OK : gkv__fail(err, GKV_NOMEM, "the system refused a thread");
}

static gkv_status start_any(struct gkv__device *d, gkv_error *err)
{
    gkv_status status = GKV_DEVICE;

    for (size_t i = 0; i < N_KNOWN && status == GKV_DEVICE; i++)
        status = start(d, known[i], 0, err);
    return status;
}

gkv_status gkv__device_open(struct gkv__device **out, const gkv_model *m, const char *name,
                            uint64_t budget, uint64_t n_tokens, uint64_t n_positions, char why[256],
                            gkv_error *err)
{
    struct gkv__device *d;
    gkv_error reason = { 0 };
    char stem[32];
    unsigned number = 0;
    gkv_status status;

    *out = NULL;
    GKV__TRY(gkv__device_check(name, err));
    if (name && here(name))
        return GKV_OK;
    d = calloc(1, sizeof *d);
    if (!d)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    d->m = m;
    d->budget = budget;
    d->automatic = automatic(name);
    d->n_tokens = (uint32_t)(n_tokens < INT32_MAX ? n_tokens : INT32_MAX);
    d->n_positions = (uint32_t)(n_positions < INT32_MAX ? n_positions : INT32_MAX);
    pthread_mutex_init(&d->lock, NULL);
    pthread_cond_init(&d->changed, NULL);
    if (d->automatic) {
        status = start_any(d, &reason);
    } else {
        split(name, stem, &number);
        status = start(d, stem, number, &reason);
        if (status == GKV_OK && wait_beyond(d, OPENING) == REFUSED) {
            failed(d, &reason);
            status = reason.status = GKV_DEVICE;
        }
    }
    if (status == GKV_OK) {
        *out = d;
        return GKV_OK;
    }
    gkv__device_close(d);
    if (automatic(name) && status == GKV_DEVICE) {
        snprintf(why, 256, "%.255s", reason.text);
        return GKV_OK;
    }
    if (err)
        *err = reason;
    return status;
}

void gkv__device_close(struct gkv__device *d)
{
    if (!d)
        return;
    atomic_store(&d->stop, true);
    gkv__task_join(d->task);
    if (d->state)
        d->api->close(d->state);
    if (d->library)
        dlclose(d->library);
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->lock);
    free(d->tensor);
    free(d->layer);
    free(d->slots);
    free(d);
}

/* Waits for the upload, then makes room for positions first .. first + n - 1 and the slots in d->slots. */
static gkv_status begin(struct gkv__device *d, uint64_t first, uint64_t n, uint64_t span, gkv_error *err)
{
    struct gkv_plugin_begin b = { .first = (uint32_t)first, .n = (uint32_t)n, .layer = d->slots };

    if (!d->t_wanted)
        d->t_wanted = gkv__seconds();
    if (wait_beyond(d, UPLOADING) != READY)
        return failed(d, err);
    fill_ropes(d->m, span, b.rope);
    if (gkv__plus(first, n) > UINT32_MAX || d->api->begin(d->state, &b, d->why))
        return failed(d, err);
    return GKV_OK;
}

gkv_status gkv__device_ready(struct gkv__device *d, uint64_t n_positions, gkv_error *err)
{
    for (uint32_t il = 0; il < d->m->shape.n_layer; il++)
        d->slots[il] = (struct gkv_plugin_slots){ (uint32_t)n_positions, d->layer[il].n_head_kv, 0 };
    return begin(d, 0, n_positions, n_positions, err);
}

const char *gkv__device_cannot_take(const gkv_model *m, const struct gkv__cache *c)
{
    return gkv__has_states(m) ? "states of layers" : c->type->type != GKV__TYPE_F16 ? c->type->name : NULL;
}

gkv_status gkv__device_take(struct gkv__device *d, const struct gkv__cache *c, uint64_t next, uint64_t n_new,
                            uint64_t span, gkv_error *err)
{
    for (uint32_t il = 0; il < d->m->shape.n_layer; il++) {
        const uint64_t shift = c->layer[il].shift;

        d->slots[il] = (struct gkv_plugin_slots){ (uint32_t)(next - shift + n_new), gkv__cache_heads(c, il),
                                                  (uint32_t)shift };
    }
    GKV__TRY(begin(d, next, n_new, span, err));
    for (uint32_t il = 0; il < d->m->shape.n_layer; il++)
        for (uint32_t ih = 0; c->layer[il].k && ih < gkv__cache_heads(c, il); ih++)
            if (d->api->keys(d->state, il, ih, (uint32_t)(next - c->layer[il].shift),
                             (const uint16_t *)(const void *)gkv__cache_k(c, il, ih, 0),
                             (const uint16_t *)(const void *)gkv__cache_v(c, il, ih, 0), d->why))
                return failed(d, err);
    return GKV_OK;
}

size_t gkv__device_block(const struct gkv__device *d)
{
    return d->api->largest_block(d->state);
}

_Static_assert(1 + GKV__DRAFT_MOST <= GKV_PLUGIN_ROWS, "a step with guesses");

gkv_status gkv__device_forward(struct gkv__device *d, const uint32_t *id, size_t n, uint64_t pos, size_t rows,
                               float *logits, uint32_t *best, gkv_error *err)
{
    if (d->api->forward(d->state, id, (uint32_t)n, (uint32_t)pos, (uint32_t)rows, logits, best, d->why))
        return failed(d, err);
    return GKV_OK;
}

void gkv__device_describe(const struct gkv__device *d, struct gkv__device_use *out)
{
    struct gkv_plugin_use use = { 0 };

    if (d->state && d->phase == READY)
        d->api->use(d->state, &use);
    *out = (struct gkv__device_use){
        .name = d->name, .model = d->model, .bytes = use.bytes, .n_resident = use.n_resident,
        .upload = d->t_end - d->t_begin,
        .waited = d->t_end > d->t_wanted ? d->t_end - d->t_wanted : 0,
    };
}
