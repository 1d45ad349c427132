/* SPDX-License-Identifier: BSD-2-Clause
 * device.cuh - a device with its model, and what the .cu files share.
 *
 * Each file is compiled by itself.  A kernel used in two files would exist twice, with its attributes set for
 * one copy only.  So each kernel is launched in one file, which also sets its attributes. */
#ifndef DEVICE_CUH
#define DEVICE_CUH

#include <cublas_v2.h>
#include <stdarg.h>
#include <stdio.h>
#include "gpu/plugin.h"
#include "gpu/cuda/gemv.cuh"

/* Bytes of each pinned buffer between file and device. */
static const size_t STAGE = 16 << 20;
static const size_t WORKSPACE = 32 << 20;       /* for cuBLAS */
static const size_t SHARED_SPARE = 2 << 10;     /* static shared memory of a block, at most */

enum { MOST_EXPERTS = 512, MOST_USED = 32 };    /* of a layer, and of a row */

/* In some models the gate's output exceeds the range of f16, so it is stored divided by this. */
#define GATE_SHRINK 32.0f

struct mat {
    int      type;
    uint32_t n_out, n_in;               /* n_out 0: none                                     */
    uint64_t n_blocks;
    planes   w;                         /* offsets, until the layer has memory               */
    size_t   bytes;                     /* of all planes, aligned                            */
};

/* Where a tensor is stored. */
struct place {
    gkv_plugin_tensor t;
    const type_row   *row;              /* of the type that it has here                      */
    bool              widened;          /* which is f16, as there is no layout for its own   */
    size_t            at;               /* offset in the memory of its layer, or of the model */
};

struct layer {
    gkv_plugin_layer f;
    size_t   bytes;
    mat      m[GKV_PLUGIN_N_ROLES];     /* by roles                                          */
    size_t   v[GKV_PLUGIN_N_ROLES];     /* offsets of vectors, plus 1; 0: none               */
    uint8_t *memory;                    /* NULL: streamed                                    */
    size_t   first, n;                  /* its tensors, in the order of `plan`               */
    float   *state;                     /* tail and state: state.cu; or NULL                 */
    /* In begin: */
    gkv_plugin_slots slots;
    half    *keys, *values;             /* [slots.n_head_kv][slots.n][head_dim]              */
};

/* A layer with its current addresses. */
struct present {
    layer    l;
    uint8_t *memory;
    const mat   *mat_of(int role) const { return &l.m[role]; }
    bool         has(int role) const { return l.m[role].n_out; }
    const float *vec(int role) const { return l.v[role] ? (const float *)(memory + l.v[role] - 1) : NULL; }
};

struct rope_table {
    double  *freq;                      /* NULL: not used                                    */
    uint32_t n_rot;
    double   scale;
    float2  *turn;                      /* [n][n_rot / 2] from position `first` of begin on  */
};

struct step_input { uint32_t id[GKV_PLUGIN_ROWS], pos; };

struct device {
    int              number, capability, n_sm;
    size_t           shared_max;
    uint64_t         budget, used;
    gkv_plugin_shape s;
    rope_table       rope[GKV_PLUGIN_N_ROPES];

    place           *tensor;
    layer           *layer;
    mat              embed, output, layer_embed;
    size_t           output_norm, layer_embed_norm, fixed_bytes;
    uint8_t         *fixed;             /* embeddings, output                                */
    uint8_t         *slot[2];           /* memory for streamed layers                        */
    cudaEvent_t      filled[2], done[2];
    uint32_t         n_resident;

    float           *wide;              /* a row of a tensor that is widened                 */
    uint32_t         n_wide;
    uint8_t         *stage_host[2], *stage_dev[2];
    cudaEvent_t      stage_free[2];
    unsigned         turn;
    cudaStream_t     copy, stream;

    cublasHandle_t   blas;
    void            *workspace;
    uint32_t         chunk, n_expected, first, n_positions;     /* positions first .. first + n - 1 */
    uint32_t         qkv_width, head_most, n_ff;                /* the most of any layer */
    size_t           position_bytes;    /* used for slots and turns                          */
    bool             used_form[N_FORMS];
    size_t           unpacked;          /* f16 weights of the largest product */
    /* [chunk][...] */
    float           *x, *y, *qkv, *both, *att;
    void            *operand[N_FORMS];
    half            *rotated, *weights;
    uint32_t        *ids, *pos;
    step_input      *input, *input_host;
    float           *partial;
    uint32_t        *arrived;
    /* Results: [GKV_PLUGIN_ROWS], [GKV_PLUGIN_ROWS][n_vocab] */
    unsigned long long *best, *best_host;
    float           *logits, *logits_host;
    half            *cache;
    float           *states, *rows;     /* of all layers that have one: state.cu             */
    /* Experts: [chunk][...], pairs of a row and one of its experts [chunk * n_used][...]: moe.cu */
    float           *rating, *share, *all_share, *mid, *result, *sum;
    uint32_t        *chosen, *pair, *place_of;
    uint32_t        *chosen_host, *pair_host, *place_host;
    cudaGraphExec_t  step[GKV_PLUGIN_ROWS];             /* of 1, 2, ... tokens           */
    bool             warm;              /* everything has run once                           */
};

/* ---- errors ----------------------------------------------------------------------------- */

static inline int fail(char *error, const char *fmt, ...)
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

static inline int take(device *d, void **out, size_t bytes, const char *what, char *error)
{
    if (cudaMalloc(out, bytes) != cudaSuccess) {
        cudaGetLastError();
        return fail(error, "no %zu MiB of its memory for %s", bytes >> 20, what);
    }
    d->used += bytes;
    return 0;
}

template <class T> static inline int take(device *d, T **out, size_t n, const char *what, char *error)
{
    return take(d, (void **)out, n * sizeof(T), what, error);
}

/* Whether so many tokens go through the kernels of gemv.cuh. */
static inline bool are_few(uint32_t n)
{
    return n <= MOST_TOKENS;
}

static inline unsigned blocks_for(uint64_t n, unsigned per)
{
    return (unsigned)((n + per - 1) / per);
}

/* ---- tensors ---------------------------------------------------------------------------- */

static inline size_t aligned(size_t n)
{
    return (n + PLANE_ALIGN - 1) / PLANE_ALIGN * PLANE_ALIGN;
}

static inline bool of_model(const gkv_plugin_tensor *t)
{
    return t->role <= GKV_PLUGIN_LAYER_EMBED_NORM;
}

static inline form form_of_type(const device *d, int type)
{
    return type == GKV__TYPE_F32 ? FORM_F32
         : type == GKV__TYPE_BF16 && d->capability >= 80 ? FORM_BF16 : FORM_F16;
}

static inline bool needs_unpacking(const device *d, int type)
{
    return !is_dense(type) || (type == GKV__TYPE_BF16 && d->capability < 80);
}

static inline void settle(mat *m, uint8_t *memory)
{
    for (const uint8_t *&p : m->w.p)
        p = memory + (size_t)p;
}

/* ---- launches --------------------------------------------------------------------------- */

/* Launches a kernel of a step.  It may begin early, because it calls grid_wait. */
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

/* More than 48 KB of shared memory must be requested, once for each kernel. */
template <class K> static int allow_shared(const device *d, K kernel, char *error)
{
    CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                              (int)(d->shared_max - SHARED_SPARE)));
    return 0;
}

/* ---- functions of each file ------------------------------------------------------------------- */

/* plan.cu */
int gkv__plan(void *state, const gkv_plugin_shape *s, const gkv_plugin_tensor *t, size_t n,
              uint32_t n_tokens, uint32_t n_positions, char *error);

/* upload.cu */
int gkv__upload(void *state, size_t i, char *error);
/* Layer il with its current addresses, once its upload has ended. */
int gkv__bring(device *d, uint32_t il, present *out, char *error);
/* Says that layer il is not used by any launch after this. */
int gkv__release(device *d, uint32_t il, char *error);

/* product.cu */
/* Products of matrices that share x and whose outputs are adjacent in y, times factor, with as few calls as possible;
 * shrunk: x in f16 was divided by GATE_SHRINK. */
int gkv__products(device *d, const mat *const *m, int n_mats, float *y, uint32_t ld, uint32_t n, bool add, float factor,
                  bool shrunk, char *error);
/* y[n][ld] = rows first .. first + n_out - 1 of m, times the operands from row `at` on. */
int gkv__products_of(device *d, const mat *m, uint32_t first, uint32_t n_out, uint32_t at, uint32_t n, float *y,
                     uint32_t ld, bool shrunk, char *error);
/* Products of matrices that share x; one launch for consecutive ones of one type.  `all` has the arguments that
 * they share; bias: NULL, or the bias of each, or NULL. */
int gkv__gemvs(device *d, const mat *const *m, int n_mats, const gemv_args *all, float *y, const float *const *bias,
               char *error);
/* Products of the experts of args->n tokens, n_y in all, whose segments are in the arguments. */
int gkv__expert_gemv(device *d, const mat *m, const gemv_args *args, uint32_t n_y, char *error);
int gkv__allow_gemv(const device *d, char *error);

/* attend.cu */
int gkv__check_heads(const gkv_plugin_shape *s, char *error);
/* Floats of the partial results of parts of the keys. */
size_t gkv__partial_floats(const device *d);
/* Bytes of slots and turns for n positions. */
size_t gkv__position_bytes(const device *d, uint64_t n);
int gkv__begin(void *state, const gkv_plugin_begin *b, char *error);
/* The same for a prompt of n positions and RoPE as expected. */
int gkv__begin_fresh(device *d, uint32_t n, char *error);
int gkv__keys(void *state, uint32_t il, uint32_t head, uint32_t n, const uint16_t *k, const uint16_t *v, char *error);
int gkv__allow_attend(const device *d, char *error);
rotation gkv__rotation_of(const device *d, const present *p, const uint32_t *pos);
/* Whether heads are only rotated, after their biases. */
bool gkv__only_rotates(const device *d, const present *p);
/* Heads of rows d->qkv, at positions *pos ...: to d->rotated and to the cache. */
int gkv__heads(device *d, const present *p, const uint32_t *pos, uint32_t n, char *error);
/* Queries d->rotated at positions pos ...; *on_device is the same number. */
int gkv__attend_few(device *d, const present *p, const uint32_t *on_device, uint32_t n, char *error);
int gkv__attend_many(device *d, const present *p, const uint32_t *on_device, uint32_t pos, uint32_t n, char *error);

/* state.cu */
int gkv__check_states(const gkv_plugin_shape *s, char *error);
size_t gkv__state_bytes(const device *d, uint32_t n);
int gkv__take_states(device *d, char *error);
/* The next rows are the first of a text. */
int gkv__forget_states(device *d, char *error);
/* d->att = what a layer with a state makes of the projections in d->qkv. */
int gkv__state(device *d, const present *p, uint32_t n, char *error);
/* d->att *= sigmoids of the gates in d->qkv. */
int gkv__gate_heads(device *d, const present *p, uint32_t n, char *error);

/* moe.cu */
/* x += what the experts, and the MLP beside them, make of it; x is d->x, n rows. */
int gkv__experts(device *d, const present *p, uint32_t n, char *error);
size_t gkv__expert_bytes(const device *d, uint32_t n);
int gkv__take_experts(device *d, char *error);
void gkv__free_experts(device *d);

/* pass.cu */
/* Converts x[n][width], normalised or not, to the forms that these matrices want. */
int gkv__operands(device *d, const mat *const *m, int n_mats, const float *x, const float *norm,
                  uint32_t width, uint32_t n, char *error);
/* y[n] = m norm(x[n]), times factor. */
int gkv__project(device *d, const mat *m, const float *x, const float *norm, float *y, uint32_t n, float factor,
                 char *error);
/* y[n] = down activation(gate norm(x[n])) up norm(x[n]) */
int gkv__mlp(device *d, const mat *gate, const mat *up, const mat *down, const float *x, const float *norm, float *y,
             uint32_t n, char *error);
/* d->x += scale times norm(d->y + bias) of n rows; norm and bias may be NULL. */
int gkv__add(device *d, const float *bias, const float *post, float scale, uint32_t n, char *error);
/* The graphs of steps that are not there. */
int gkv__capture(device *d, char *error);
int gkv__forward(void *state, const uint32_t *id, uint32_t n, uint32_t pos, uint32_t rows, float *logits, uint32_t *best,
                 char *error);

#endif
