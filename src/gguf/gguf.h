/* SPDX-License-Identifier: BSD-2-Clause
 * gguf.h - a GGUF file (or its parts), mapped read-only and checked in full; independent of
 * architectures.  Format: the GGUF specification, versions 2 and 3, little-endian.
 *
 * After gkv__gguf_open every string, array and tensor below lies inside the mapping, every
 * count has been multiplied out without overflow, tensor data are aligned and inside the
 * file, and names are unique.  The reader allocates in proportion to the counts only after
 * the counts were shown to fit in the bytes that are left. */
#ifndef GKV__GGUF_H
#define GKV__GGUF_H

#include "src/base/status.h"

enum gkv__gguf_type {           /* metadata value types, as in the file */
    GKV__U8, GKV__I8, GKV__U16, GKV__I16, GKV__U32, GKV__I32, GKV__F32, GKV__BOOL,
    GKV__STR, GKV__ARR, GKV__U64, GKV__I64, GKV__F64
};

struct gkv__str { const char *p; uint64_t n; };         /* not NUL-terminated */

struct gkv__kv {
    struct gkv__str key;
    uint32_t        type;       /* of the value, or of the elements of an array              */
    bool            is_array;
    uint64_t        n;          /* elements of an array                                      */
    const uint8_t  *data;       /* value, or first element, little-endian, unaligned         */
};

#define GKV__MAX_DIMS 4

struct gkv__tensor {
    struct gkv__str name;
    uint32_t        n_dims;
    uint64_t        dim[GKV__MAX_DIMS];     /* innermost first; unused ones are 1            */
    uint32_t        type;                   /* as in the file; table: src/quant/quant.h      */
    const uint8_t  *data;
    uint64_t        bytes;
};

struct gkv__gguf;

/* path: when the name ends in -00001-of-NNNNN.gguf, it is the first part, and the others must lie
 * beside it.  GKV_IO, GKV_FORMAT or GKV_UNSUPPORTED with one line that names the file. */
gkv_status gkv__gguf_open(struct gkv__gguf **out, const char *path, gkv_error *err);
void       gkv__gguf_close(struct gkv__gguf *g);

const char *gkv__gguf_path(const struct gkv__gguf *g);
uint64_t    gkv__gguf_bytes(const struct gkv__gguf *g);         /* all parts                 */
uint64_t    gkv__gguf_data_bytes(const struct gkv__gguf *g);    /* of all tensors            */
uint64_t    gkv__gguf_fingerprint(const struct gkv__gguf *g);   /* of metadata and tensor table */

size_t                    gkv__gguf_n_tensors(const struct gkv__gguf *g);
const struct gkv__tensor *gkv__gguf_tensor_at(const struct gkv__gguf *g, size_t i);
const struct gkv__tensor *gkv__gguf_tensor(const struct gkv__gguf *g, const char *name);

/* Metadata by key; NULL when absent. */
const struct gkv__kv *gkv__gguf_find(const struct gkv__gguf *g, const char *key);

/* Typed reading.  Integers of any width and sign are accepted where a number is wanted.
 * GKV_OK and *out untouched when the key is absent (so *out holds the default);
 * GKV_FORMAT when it has another type or does not fit. */
gkv_status gkv__gguf_u32(const struct gkv__gguf *g, const char *key, uint32_t *out, gkv_error *err);
gkv_status gkv__gguf_f32(const struct gkv__gguf *g, const char *key, float *out, gkv_error *err);
gkv_status gkv__gguf_bool(const struct gkv__gguf *g, const char *key, bool *out, gkv_error *err);
gkv_status gkv__gguf_str(const struct gkv__gguf *g, const char *key, struct gkv__str *out, gkv_error *err);

/* The value of one key, wherever it came from; path is for the message. */
gkv_status gkv__kv_u32(const struct gkv__kv *kv, const char *path, uint32_t *out, gkv_error *err);

/* Walk an array of strings: *cursor starts as kv->data and moves on; call at most kv->n times. */
struct gkv__str gkv__gguf_next_str(const uint8_t **cursor);
/* Element i of an array of numbers (or 0 of a scalar), as int64 / double. */
int64_t gkv__gguf_int_at(const struct gkv__kv *kv, uint64_t i);
double  gkv__gguf_float_at(const struct gkv__kv *kv, uint64_t i);

/* Tell the kernel that this range of the mapping is needed soon / is not needed now. */
void gkv__gguf_willneed(const void *p, uint64_t bytes);
void gkv__gguf_dontneed(const void *p, uint64_t bytes);

#endif
