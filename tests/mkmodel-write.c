/* SPDX-License-Identifier: BSD-2-Clause
 * mkmodel-write.c - writes rows as a file.  Weights are generated while they are written, so models may
 * be larger than memory. */
#include "config.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tests/mkmodel.h"
#include "tests/table-scale.h"

/* Weights repeat after this many, so that big models are written as fast as the disk allows.  It is a
 * whole number of blocks of every type, and that number is prime, so that rows differ. */
#define PERIOD (256u * 4099u)

/* ---- rows ---------------------------------------------------------------------------- */
static void *grow(void *p, size_t n, size_t size)
{
    p = realloc(p, n * size);
    if (!p)
        die("out of memory");
    return p;
}

void append(struct kv *kv, const void *p, size_t n)
{
    if (kv->bytes + n > kv->cap) {
        kv->cap = 2 * kv->cap + n;
        kv->data = grow(kv->data, kv->cap, 1);
    }
    memcpy(kv->data + kv->bytes, p, n);
    kv->bytes += n;
    kv->n++;
}

void append_str(struct kv *kv, const char *s)
{
    uint64_t n = strlen(s);

    append(kv, &n, sizeof n);
    append(kv, s, (size_t)n);
    kv->n--;                    /* one element, appended in two pieces */
}

struct kv *add_kv(struct file *f, uint32_t type, const char *key)
{
    struct kv *kv;

    f->kv = grow(f->kv, f->n_kv + 1, sizeof *f->kv);
    kv = &f->kv[f->n_kv++];
    memset(kv, 0, sizeof *kv);
    snprintf(kv->key, sizeof kv->key, "%s", key);
    kv->key_n = strlen(kv->key);
    kv->type = type;
    return kv;
}

void add_u32(struct file *f, const char *key, uint32_t v)
{
    append(add_kv(f, GKV__U32, key), &v, sizeof v);
}

void add_f32(struct file *f, const char *key, float v)
{
    append(add_kv(f, GKV__F32, key), &v, sizeof v);
}

void add_bool(struct file *f, const char *key, bool v)
{
    append(add_kv(f, GKV__BOOL, key), &v, 1);
}

void add_str(struct file *f, const char *key, const char *v)
{
    append_str(add_kv(f, GKV__STR, key), v);
}

struct kv *add_array(struct file *f, const char *key, uint32_t elements)
{
    struct kv *kv = add_kv(f, GKV__ARR, key);

    kv->elements = elements;
    return kv;
}

struct tensor *add_tensor(struct file *f, const struct gkv__quant *format, enum fill fill,
                          float deviation, uint64_t n_out, uint64_t n_in, const char *name,
                          ...)
{
    struct tensor *t;
    va_list        ap;

    f->tensor = grow(f->tensor, f->n_tensors + 1, sizeof *f->tensor);
    t = &f->tensor[f->n_tensors++];
    memset(t, 0, sizeof *t);
    va_start(ap, name);
    vsnprintf(t->name, sizeof t->name, name, ap);
    va_end(ap);
    t->name_n = strlen(t->name);
    t->n_dims = n_out > 1 ? 2 : 1;
    t->dim[0] = n_in;
    t->dim[1] = n_out;
    t->dim[2] = t->dim[3] = t->dim[4] = 1;
    t->ggml = format->ggml;
    t->format = format;
    t->elements = n_out * n_in;
    t->fill = fill;
    t->deviation = deviation;
    return t;
}

struct kv *find_kv(struct file *f, const char *key)
{
    for (size_t i = 0; i < f->n_kv; i++)
        if (!strcmp(f->kv[i].key, key))
            return &f->kv[i];
    die("no key %s", key);
}

struct tensor *find_tensor(struct file *f, const char *name)
{
    for (size_t i = 0; i < f->n_tensors; i++)
        if (!strcmp(f->tensor[i].name, name))
            return &f->tensor[i];
    die("no tensor %s", name);
}

/* ---- weights ------------------------------------------------------------------------- */
static uint64_t next(uint64_t *state)           /* splitmix64, Steele et al. 2014 */
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

/* Nearly normal: the sum of four uniform numbers.  Without libm, so that every machine writes
 * the same bytes. */
static float normal(uint64_t *state)
{
    uint64_t r = next(state);
    int32_t  sum = (int32_t)((r & 0xffff) + (r >> 16 & 0xffff) + (r >> 32 & 0xffff) +
                             (r >> 48));

    return (float)(sum - 2 * 65535) * (1.0f / 37837.0f);
}

/* The seed depends on the name, so weights do not depend on the order of tensors. */
static void make_weights(const struct tensor *t, uint64_t seed, float *x, size_t n)
{
    for (const char *p = t->name; *p; p++)
        seed = (seed ^ (uint8_t)*p) * 0x100000001b3;
    for (size_t i = 0; i < n; i++)
        switch (t->fill) {
        case RANDOM:     x[i] = t->deviation * normal(&seed); break;
        case AROUND_ONE: x[i] = (float)(1 + (double)0.1f * (double)normal(&seed)); break;
        case RAMP:       x[i] = 1 + 7 * (float)i / (float)n; break;
        case MINUS:      x[i] = -(float)(i + 1) / (float)n; break;
        case ONES:       x[i] = 1; break;
        case DIAGONAL:   x[i] = i % t->dim[0] == i / t->dim[0]; break;
        }
}

/* Random bits, of a type that is not written, with a scale for the deviation. */
static void make_blocks(const struct tensor *t, uint64_t seed, uint8_t *p, size_t n)
{
    const struct gkv__quant *q = t->format;

    for (size_t i = 0; i < n; i += q->block, p += q->bytes) {
        float x[256], sum = 0;

        for (size_t j = 0; j < q->bytes; j++)
            p[j] = (uint8_t)(next(&seed) >> 32);
        table_scale(q, p, gkv__f32_to_f16(1));
        q->to_f32(p, x, q->block);
        for (size_t j = 0; j < q->block; j++)
            sum += x[j] < 0 ? -x[j] : x[j];
        table_scale(q, p, gkv__f32_to_f16(0.8f * t->deviation * (float)q->block / sum));
    }
}

static uint64_t data_bytes(const struct tensor *t)
{
    return t->elements / t->format->block * t->format->bytes;
}

static void put(FILE *out, const void *p, size_t n)
{
    if (fwrite(p, 1, n, out) != n)
        die("write error");
}

static void put_data(FILE *out, const struct tensor *t, uint64_t seed)
{
    size_t   n = (size_t)(t->elements < PERIOD || t->fill == DIAGONAL ? t->elements : PERIOD);
    size_t   bytes = n / t->format->block * t->format->bytes;
    float   *x = grow(NULL, n, sizeof *x);
    uint8_t *encoded = grow(NULL, bytes, 1);

    if (t->format->from_f32) {
        make_weights(t, seed, x, n);
        t->format->from_f32(x, encoded, n);
    } else {
        make_blocks(t, seed, encoded, n);
    }
    for (uint64_t left = data_bytes(t); left; left -= bytes) {
        if (left < bytes)
            bytes = (size_t)left;
        put(out, encoded, bytes);
    }
    free(encoded);
    free(x);
}

/* ---- the file ------------------------------------------------------------------------ */
static void pad(FILE *out, uint64_t *at, uint32_t alignment)
{
    static const char zero[1 << 16];
    uint64_t          n = -*at % alignment;

    put(out, zero, (size_t)n);
    *at += n;
}

static uint64_t put_kv(FILE *out, const struct kv *kv)
{
    uint64_t bytes = 8 + strlen(kv->key) + 4 + kv->bytes;

    put(out, &kv->key_n, 8);
    put(out, kv->key, strlen(kv->key));
    put(out, &kv->type, 4);
    if (kv->type == GKV__ARR) {
        put(out, &kv->elements, 4);
        put(out, &kv->n, 8);
        bytes += 12;
    }
    put(out, kv->data, kv->bytes);
    return bytes;
}

static uint64_t put_info(FILE *out, const struct tensor *t, uint64_t offset)
{
    uint32_t n = t->n_dims < 5 ? t->n_dims : 5;

    put(out, &t->name_n, 8);
    put(out, t->name, strlen(t->name));
    put(out, &t->n_dims, 4);
    put(out, t->dim, 8 * n);
    put(out, &t->ggml, 4);
    put(out, &offset, 8);
    return 8 + strlen(t->name) + 4 + 8 * n + 12;
}

/* Size of a file that is cut within one of its parts. */
static uint64_t size_after(enum cut cut, uint64_t kv_end, uint64_t infos_end, uint64_t data,
                           uint64_t end)
{
    switch (cut) {
    case CUT_NOTHING:   return end;
    case CUT_ALL:       return 0;
    case CUT_MAGIC:     return 3;
    case CUT_HEADER:    return 17;
    case CUT_METADATA:  return kv_end - 5;
    case CUT_INFOS:     return infos_end - 5;
    case CUT_DATA:      return data;
    case CUT_LAST_BYTE: return end - 1;
    }
    return end;
}

void write_file(const struct file *f, const char *path)
{
    FILE    *out = fopen(path, "wb");
    uint64_t at = 24, n_kv = f->n_kv + f->more_kv, n_tensors = f->more_tensors;
    uint64_t kv_end, infos_end, data, offset = 0, size;

    if (!out)
        die("%s: cannot write", path);
    for (size_t i = 0; i < f->n_tensors; i++)
        n_tensors += !f->tensor[i].hidden;
    put(out, f->magic, 4);
    put(out, &f->version, 4);
    put(out, &n_tensors, 8);
    put(out, &n_kv, 8);
    for (size_t i = 0; i < f->n_kv; i++)
        at += put_kv(out, &f->kv[i]);
    kv_end = at;
    for (size_t i = 0; i < f->n_tensors; i++) {
        const struct tensor *t = &f->tensor[i];

        if (!t->hidden)
            at += put_info(out, t, t->forced ? t->offset : offset);
        offset += data_bytes(t);
        offset += -offset % f->alignment;
    }
    infos_end = at;
    pad(out, &at, f->alignment);
    data = at;
    for (size_t i = 0; i < f->n_tensors; i++) {
        pad(out, &at, f->alignment);
        put_data(out, &f->tensor[i], f->seed);
        at += data_bytes(&f->tensor[i]);
    }
    size = size_after(f->cut, kv_end, infos_end, data, at);
    if (fflush(out) || ftruncate(fileno(out), (off_t)size) || fclose(out))
        die("%s: write error", path);
}

static void add_u16(struct file *f, const char *key, uint16_t v)
{
    append(add_kv(f, GKV__U16, key), &v, sizeof v);
}

/* As llama.cpp's gguf-split does: metadata in the first part, about equal bytes in each. */
void write_parts(struct file *f, const char *path, uint32_t n_parts)
{
    size_t   stem = strlen(path), first = 0;
    uint64_t total = 0, done = 0;
    int32_t  n_tensors = (int32_t)f->n_tensors;

    if (stem > 5 && !strcmp(path + stem - 5, ".gguf"))
        stem -= 5;
    for (size_t i = 0; i < f->n_tensors; i++)
        total += data_bytes(&f->tensor[i]);
    for (uint32_t no = 0; no < n_parts; no++) {
        struct file part = *f;
        char        name[4096];

        if (no) {
            part.kv = NULL;
            part.n_kv = 0;
        } else {
            part.kv = grow(NULL, f->n_kv, sizeof *f->kv);
            memcpy(part.kv, f->kv, f->n_kv * sizeof *f->kv);
        }
        add_u16(&part, "split.no", (uint16_t)no);
        add_u16(&part, "split.count", (uint16_t)n_parts);
        append(add_kv(&part, GKV__I32, "split.tensors.count"), &n_tensors, 4);
        if (no && f->alignment != 32)
            add_u32(&part, "general.alignment", f->alignment);
        part.tensor = f->tensor + first;
        part.n_tensors = 0;
        while (first < f->n_tensors &&
               (done < total / n_parts * (no + 1) || no == n_parts - 1)) {
            done += data_bytes(&f->tensor[first++]);
            part.n_tensors++;
        }
        if (snprintf(name, sizeof name, "%.*s-%05u-of-%05u.gguf", (int)stem, path, no + 1,
                     n_parts) >= (int)sizeof name)
            die("%s: name too long", path);
        write_file(&part, name);
        for (size_t i = no ? 0 : f->n_kv; i < part.n_kv; i++)   /* allocated for this part */
            free(part.kv[i].data);
        free(part.kv);
    }
}
