/* SPDX-License-Identifier: BSD-2-Clause
 * metadata.c - typed reading of metadata; advice to the kernel about the mapping.  See gguf.h */
#include "config.h"
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "src/gguf/gguf.h"

/* ---- elements ------------------------------------------------------------------------ */
union number {
    uint8_t u8; int8_t i8; uint16_t u16; int16_t i16; uint32_t u32; int32_t i32;
    uint64_t u64; int64_t i64; float f32; double f64;
};

/* kv->type is a number or a truth value. */
static union number number_at(const struct gkv__kv *kv, uint64_t i)
{
    static const uint8_t value_bytes[] = {
        [GKV__U8] = 1,  [GKV__I8] = 1,  [GKV__U16] = 2, [GKV__I16] = 2,  [GKV__U32] = 4,
        [GKV__I32] = 4, [GKV__F32] = 4, [GKV__U64] = 8, [GKV__BOOL] = 1, [GKV__I64] = 8,
        [GKV__F64] = 8,
    };
    union number v = { .u64 = 0 };
    size_t       n = value_bytes[kv->type];

    memcpy(&v, kv->data + i * n, n);
    return v;
}

static int64_t to_int(double x)
{
    if (isnan(x))
        return 0;
    return x >= 0x1p63 ? INT64_MAX : x < -0x1p63 ? INT64_MIN : (int64_t)x;
}

int64_t gkv__gguf_int_at(const struct gkv__kv *kv, uint64_t i)
{
    union number v;

    if (kv->type == GKV__STR)
        return 0;
    v = number_at(kv, i);
    switch (kv->type) {
    case GKV__U8: case GKV__BOOL: return v.u8;
    case GKV__I8:  return v.i8;
    case GKV__U16: return v.u16;
    case GKV__I16: return v.i16;
    case GKV__U32: return v.u32;
    case GKV__I32: return v.i32;
    case GKV__U64: return v.u64 > INT64_MAX ? INT64_MAX : (int64_t)v.u64;
    case GKV__I64: return v.i64;
    case GKV__F32: return to_int((double)v.f32);
    case GKV__F64: return to_int(v.f64);
    }
    return 0;
}

double gkv__gguf_float_at(const struct gkv__kv *kv, uint64_t i)
{
    switch (kv->type) {
    case GKV__F32: return (double)number_at(kv, i).f32;
    case GKV__F64: return number_at(kv, i).f64;
    case GKV__U64: return (double)number_at(kv, i).u64;
    }
    return (double)gkv__gguf_int_at(kv, i);
}

struct gkv__str gkv__gguf_next_str(const uint8_t **cursor)
{
    struct gkv__str s;

    memcpy(&s.n, *cursor, sizeof s.n);
    s.p = (const char *)*cursor + sizeof s.n;
    *cursor += sizeof s.n + s.n;
    return s;
}

/* ---- typed reading ------------------------------------------------------------------- */
gkv_status gkv__kv_u32(const struct gkv__kv *kv, const char *path, uint32_t *out,
                       gkv_error *err)
{
    int     n = (int)kv->key.n;         /* at most 65535, see gguf.c */
    int64_t v;

    if (kv->is_array || kv->type == GKV__F32 || kv->type == GKV__F64 ||
        kv->type == GKV__BOOL || kv->type == GKV__STR)
        return gkv__fail(err, GKV_FORMAT, "%s: %.*s: expected a whole number", path, n,
                         kv->key.p);
    v = gkv__gguf_int_at(kv, 0);
    if (v < 0 || v > UINT32_MAX)
        return gkv__fail(err, GKV_FORMAT, "%s: %.*s: %" PRId64 " is out of range", path, n,
                         kv->key.p, v);
    *out = (uint32_t)v;
    return GKV_OK;
}

gkv_status gkv__gguf_u32(const struct gkv__gguf *g, const char *key, uint32_t *out,
                         gkv_error *err)
{
    const struct gkv__kv *kv = gkv__gguf_find(g, key);

    return kv ? gkv__kv_u32(kv, gkv__gguf_path(g), out, err) : GKV_OK;
}

gkv_status gkv__gguf_f32(const struct gkv__gguf *g, const char *key, float *out,
                         gkv_error *err)
{
    const struct gkv__kv *kv = gkv__gguf_find(g, key);
    double                v;

    if (!kv)
        return GKV_OK;
    if (kv->is_array || kv->type == GKV__BOOL || kv->type == GKV__STR)
        return gkv__fail(err, GKV_FORMAT, "%s: %s: expected a number", gkv__gguf_path(g),
                         key);
    v = gkv__gguf_float_at(kv, 0);
    if (isfinite(v) && !isfinite((float)v))
        return gkv__fail(err, GKV_FORMAT, "%s: %s: %g is out of range", gkv__gguf_path(g),
                         key, v);
    *out = (float)v;
    return GKV_OK;
}

gkv_status gkv__gguf_bool(const struct gkv__gguf *g, const char *key, bool *out,
                          gkv_error *err)
{
    const struct gkv__kv *kv = gkv__gguf_find(g, key);

    if (!kv)
        return GKV_OK;
    if (kv->is_array || kv->type != GKV__BOOL)
        return gkv__fail(err, GKV_FORMAT, "%s: %s: expected true or false",
                         gkv__gguf_path(g), key);
    *out = *kv->data;
    return GKV_OK;
}

gkv_status gkv__gguf_str(const struct gkv__gguf *g, const char *key, struct gkv__str *out,
                         gkv_error *err)
{
    const struct gkv__kv *kv = gkv__gguf_find(g, key);
    const uint8_t        *cursor;

    if (!kv)
        return GKV_OK;
    if (kv->is_array || kv->type != GKV__STR)
        return gkv__fail(err, GKV_FORMAT, "%s: %s: expected a string", gkv__gguf_path(g),
                         key);
    cursor = kv->data;
    *out = gkv__gguf_next_str(&cursor);
    return GKV_OK;
}

/* ---- the mapping --------------------------------------------------------------------- */
/* Only whole pages inside [p, p + bytes): pages at the edges also hold data of the neighbours. */
static void advise(const void *p, uint64_t bytes, int advice)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t begin = ((uintptr_t)p + page - 1) & ~(page - 1);
    uintptr_t end = ((uintptr_t)p + (uintptr_t)bytes) & ~(page - 1);

    if (begin < end)
        madvise((void *)begin, end - begin, advice);
}

void gkv__gguf_willneed(const void *p, uint64_t bytes)
{
    advise(p, bytes, MADV_WILLNEED);
}

void gkv__gguf_dontneed(const void *p, uint64_t bytes)
{
    advise(p, bytes, MADV_DONTNEED);
}
