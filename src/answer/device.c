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
#include "src/base/mem.h"
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

static void add(struct gkv__device *d, uint32_t role, uint32_t layer, uint32_t type, uint32_t n_out,
                uint32_t n_in, const void *data, uint64_t bytes)
{
    d->tensor[d->n_tensors++] =
        (struct gkv_plugin_tensor){ role, layer, type, n_out, n_in, data, bytes };
}

static void add_mat(struct gkv__device *d, uint32_t role, uint32_t layer, const struct gkv__mat *w)
{
    add(d, role, layer, w->format->ggml, w->n_out, w->n_in, w->data, gkv__mat_bytes(w));
}

static void add_vec(struct gkv__device *d, uint32_t role, uint32_t layer, const float *v)
{
    const uint32_t n = d->m->shape.n_embd;

    add(d, role, layer, gkv__quant_of(GKV__TYPE_F32)->ggml, 1, n, v, n * sizeof *v);
}

/* What the model has that plugins cannot compute, or NULL. */
static const char *beyond(const gkv_model *m)
{
    const struct gkv__shape *s = &m->shape;

    if (gkv__has_states(m))
        return "layers with a state";
    if (s->n_expert)
        return "experts";
    if (s->glu != GKV__GLU_SILU || s->attn_cap != 0 || s->logit_cap != 0 || s->embed_scale != 0 ||
        s->attn_scale > 0 || s->logit_scale > 0 || s->residual_scale > 0 || s->temper > 0)
        return "GELU, caps, or scales other than Llama's";
    if (m->rope[GKV__ROPE_LONG].freq || m->rope[GKV__ROPE_LOCAL].freq || m->rope[GKV__ROPE_ALL].scale != 1)
        return "this RoPE scaling";
    for (uint32_t il = 0; il < s->n_layer; il++) {
        const struct gkv__layer_weights *w = &m->layer[il];

        if (w->q_bias || w->k_bias || w->v_bias || w->o_bias)
            return "biases";
        if (w->q_norm || w->k_norm || w->attn_post || w->ffn_post || !w->attn_norm || !w->ffn_norm)
            return "norms of heads, or after attention and MLP";
        if (w->window || w->chunk)
            return "sliding windows";
        if (w->sinks)
            return "attention sinks";
        if (w->no_rope)
            return "layers without RoPE";
    }
    return NULL;
}

/* In the order in which a pass uses them. */
static gkv_status list_tensors(struct gkv__device *d, gkv_error *err)
{
    const gkv_model *m = d->m;

    if (beyond(m))
        return GKV_OK;
    d->tensor = calloc(3 + 9 * (size_t)m->shape.n_layer, sizeof *d->tensor);
    if (!d->tensor)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    add_mat(d, GKV_PLUGIN_EMBED, 0, &m->embed);
    for (uint32_t il = 0; il < m->shape.n_layer; il++) {
        const struct gkv__layer_weights *w = &m->layer[il];

        add_vec(d, GKV_PLUGIN_ATTN_NORM, il, w->attn_norm);
        add_mat(d, GKV_PLUGIN_Q, il, &w->q);
        add_mat(d, GKV_PLUGIN_K, il, &w->k);
        add_mat(d, GKV_PLUGIN_V, il, &w->v);
        add_mat(d, GKV_PLUGIN_O, il, &w->o);
        add_vec(d, GKV_PLUGIN_FFN_NORM, il, w->ffn_norm);
        add_mat(d, GKV_PLUGIN_GATE, il, &w->gate);
        add_mat(d, GKV_PLUGIN_UP, il, &w->up);
        add_mat(d, GKV_PLUGIN_DOWN, il, &w->down);
    }
    add_vec(d, GKV_PLUGIN_OUTPUT_NORM, 0, m->output_norm);
    if (m->output.data != m->embed.data)
        add_mat(d, GKV_PLUGIN_OUTPUT, 0, &m->output);
    return GKV_OK;
}

static struct gkv_plugin_shape shape_of(const gkv_model *m)
{
    const struct gkv__shape *s = &m->shape;

    return (struct gkv_plugin_shape){
        .n_layer = s->n_layer, .n_embd = s->n_embd, .n_head = s->n_head, .n_head_kv = s->n_head_kv,
        .head_dim = s->head_dim, .n_ff = s->n_ff, .n_vocab = s->n_vocab, .n_rot = s->n_rot,
        .rope_halves = s->pairs == GKV__ROPE_HALVES, .eps = s->eps, .rope_freq = m->rope[GKV__ROPE_ALL].freq,
    };
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
    const struct gkv_plugin_shape shape = shape_of(d->m);
    struct gkv_plugin_device about;
    struct gkv_plugin_use use;
    unsigned n = 0;
    int bad;

    if (beyond(d->m)) {
        snprintf(d->why, sizeof d->why, "it has no %s, which this model needs", beyond(d->m));
        return 1;
    }
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
        gkv__gguf_willneed(d->tensor[i].data, d->tensor[i].bytes);
        bad = d->api->upload(d->state, i, d->why);
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
    free(d);
}

gkv_status gkv__device_ready(struct gkv__device *d, uint64_t n_positions, gkv_error *err)
{
    if (!d->t_wanted)
        d->t_wanted = gkv__seconds();
    if (wait_beyond(d, UPLOADING) != READY)
        return failed(d, err);
    if (n_positions > UINT32_MAX || d->api->reserve(d->state, (uint32_t)n_positions, d->why))
        return failed(d, err);
    return GKV_OK;
}

size_t gkv__device_block(const struct gkv__device *d)
{
    return d->api->largest_block(d->state);
}

gkv_status gkv__device_forward(struct gkv__device *d, const uint32_t *id, size_t n, uint64_t pos,
                               float *logits, uint32_t *best, gkv_error *err)
{
    if (d->api->forward(d->state, id, (uint32_t)n, (uint32_t)pos, logits, best, d->why))
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
