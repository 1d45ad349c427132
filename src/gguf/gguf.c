/* SPDX-License-Identifier: BSD-2-Clause
 * gguf.c - see gguf.h
 *
 * A file of a few kilobytes may claim 2^63 of anything, so each number is compared with the
 * bytes that are left before it is used.  There is no defence against a file that shrinks
 * after it was mapped: touching the missing pages raises SIGBUS, which the program, not the library, turns into
 * a message.  Replace models by rename(2), never in place. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/gguf/gguf.h"
#include "src/quant/quant.h"

#define MIN_KV_BYTES      13            /* empty key, type, one byte                      */
#define MIN_TENSOR_BYTES  32            /* empty name, n_dims, one dim, type, offset      */
#define DEFAULT_ALIGNMENT 32
#define MIN_ALIGNMENT     8u            /* set by the specification                       */
#define MAX_ALIGNMENT     (1u << 20)
#define MAX_KEY_BYTES     65535         /* set by the specification                       */

#define SUFFIX_BYTES      20            /* of "-00001-of-00003.gguf"                      */

#define SHOW(s) (int)((s).n < 96 ? (s).n : 96), (s).p   /* for %.*s                       */

struct part {
    char                   *path;
    const uint8_t          *map;
    uint64_t                bytes, head_bytes;  /* head: all before tensor data           */
    struct gkv__kv         *kv;
    const struct gkv__str **by_key;     /* the keys in kv, sorted                         */
    size_t                  n_kv;
};

struct gkv__gguf {
    struct part            *part;       /* metadata of the first is the model's           */
    size_t                  n_parts;
    struct gkv__tensor     *tensor;     /* in file order, part after part                 */
    const struct gkv__str **by_name;    /* the names in tensor, sorted                    */
    size_t                  n_tensors;
};

struct reader {
    const uint8_t *p, *end;
    const char    *path;
    gkv_error     *err;
};

/* Look-up by binary search in a sorted array of pointers to names: log n steps even if the names were
 * chosen by an attacker, which a hash table does not promise, and equal names end up side by side.
 * kv and tensor both begin with their name, so a pointer to the name is a pointer to the row. */
_Static_assert(offsetof(struct gkv__kv, key) == 0, "by_key casts back");
_Static_assert(offsetof(struct gkv__tensor, name) == 0, "by_name casts back");

/* ---- names --------------------------------------------------------------------------- */
static int compare(const struct gkv__str *a, const struct gkv__str *b)
{
    size_t n = (size_t)(a->n < b->n ? a->n : b->n);
    int    c = n ? memcmp(a->p, b->p, n) : 0;

    return c ? c : (a->n > b->n) - (a->n < b->n);
}

static int by_text(const void *a, const void *b)
{
    return compare(*(const struct gkv__str *const *)a, *(const struct gkv__str *const *)b);
}

static int by_address(const void *a, const void *b)
{
    const struct gkv__tensor *s = *(const void *const *)a, *t = *(const void *const *)b;

    return (s->data > t->data) - (s->data < t->data);
}

/* Sort names[0..n); returns a name that occurs twice, or NULL. */
static const struct gkv__str *sort(const struct gkv__str **names, size_t n)
{
    qsort(names, n, sizeof *names, by_text);
    for (size_t i = 1; i < n; i++)
        if (!compare(names[i - 1], names[i]))
            return names[i];
    return NULL;
}

static const struct gkv__str *find(const struct gkv__str **names, size_t n,
                                   const char *name)
{
    const struct gkv__str key = { name, strlen(name) };
    size_t                lo = 0;

    while (lo < n) {
        size_t mid = lo + (n - lo) / 2;
        int    c = compare(&key, names[mid]);

        if (!c)
            return names[mid];
        if (c < 0)
            n = mid;
        else
            lo = mid + 1;
    }
    return NULL;
}

/* ---- bytes --------------------------------------------------------------------------- */
static uint64_t left(const struct reader *r)
{
    return (uint64_t)(r->end - r->p);
}

static bool get(struct reader *r, void *out, size_t n)
{
    if (left(r) < n)
        return false;
    memcpy(out, r->p, n);
    r->p += n;
    return true;
}

static bool get_str(struct reader *r, struct gkv__str *s)
{
    if (!get(r, &s->n, sizeof s->n) || left(r) < s->n)
        return false;
    s->p = (const char *)r->p;
    r->p += s->n;
    return true;
}

/* Fails with "PATH: NAME: text"; the name of a key or a tensor may be NULL. */
static gkv_status __attribute__((format(printf, 4, 5)))
refuse(const struct reader *r, gkv_status status, const struct gkv__str *name,
       const char *fmt, ...)
{
    char    text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!name)
        return gkv__fail(r->err, status, "%s: %s", r->path, text);
    return gkv__fail(r->err, status, "%s: %.*s: %s", r->path, SHOW(*name), text);
}

static gkv_status beyond_end(const struct reader *r, const struct gkv__str *name,
                             const char *what)
{
    return refuse(r, GKV_FORMAT, name, "damaged or truncated: %s reaches beyond the end of "
                  "the file", what);
}

/* ---- metadata ------------------------------------------------------------------------ */
/* Bytes of a value; for strings and arrays, the fewest bytes that one can take. */
static const uint8_t value_bytes[] = {
    [GKV__U8] = 1,  [GKV__I8] = 1,  [GKV__U16] = 2,  [GKV__I16] = 2, [GKV__U32] = 4,
    [GKV__I32] = 4, [GKV__F32] = 4, [GKV__BOOL] = 1, [GKV__STR] = 8, [GKV__ARR] = 12,
    [GKV__U64] = 8, [GKV__I64] = 8, [GKV__F64] = 8,
};

static gkv_status check_type(const struct reader *r, const struct gkv__kv *kv)
{
    if (kv->type < sizeof value_bytes)
        return GKV_OK;
    return refuse(r, GKV_FORMAT, &kv->key, "unknown type of value %" PRIu32, kv->type);
}

/* n values of kv->type at r->p; kv->data points to them. */
static gkv_status read_values(struct reader *r, struct gkv__kv *kv)
{
    kv->data = r->p;
    if (kv->n > left(r) / value_bytes[kv->type])
        return beyond_end(r, &kv->key, "the value");
    if (kv->type == GKV__STR) {
        for (uint64_t i = 0; i < kv->n; i++) {
            struct gkv__str s;

            if (!get_str(r, &s))
                return beyond_end(r, &kv->key, "a string");
        }
        return GKV_OK;
    }
    r->p += kv->n * value_bytes[kv->type];
    if (kv->type == GKV__BOOL)
        for (uint64_t i = 0; i < kv->n; i++)
            if (kv->data[i] > 1)
                return refuse(r, GKV_FORMAT, &kv->key, "a truth value is %d, not 0 or 1",
                              kv->data[i]);
    return GKV_OK;
}

static gkv_status read_kv(struct reader *r, struct gkv__kv *kv)
{
    if (!get_str(r, &kv->key))
        return beyond_end(r, NULL, "a metadata key");
    if (kv->key.n > MAX_KEY_BYTES)
        return refuse(r, GKV_FORMAT, NULL, "damaged: a metadata key of %" PRIu64 " bytes",
                      kv->key.n);
    if (!get(r, &kv->type, sizeof kv->type))
        return beyond_end(r, &kv->key, "the type");
    GKV__TRY(check_type(r, kv));
    kv->n = 1;
    if (kv->type == GKV__ARR) {
        kv->is_array = true;
        if (!get(r, &kv->type, sizeof kv->type) || !get(r, &kv->n, sizeof kv->n))
            return beyond_end(r, &kv->key, "the array");
        GKV__TRY(check_type(r, kv));
        if (kv->type == GKV__ARR)
            return refuse(r, GKV_UNSUPPORTED, &kv->key,
                          "arrays of arrays are not supported");
    }
    return read_values(r, kv);
}

static gkv_status read_metadata(struct reader *r, struct part *part, uint64_t n_kv)
{
    const struct gkv__str *twin;

    part->kv = calloc((size_t)n_kv + 1, sizeof *part->kv);
    part->by_key = calloc((size_t)n_kv + 1, sizeof *part->by_key);
    if (!part->kv || !part->by_key)
        return refuse(r, GKV_NOMEM, NULL, "out of memory for %" PRIu64 " keys", n_kv);
    for (size_t i = 0; i < n_kv; i++) {
        GKV__TRY(read_kv(r, &part->kv[i]));
        part->by_key[i] = &part->kv[i].key;
    }
    part->n_kv = (size_t)n_kv;
    twin = sort(part->by_key, part->n_kv);
    if (twin)
        return refuse(r, GKV_FORMAT, twin, "damaged: this metadata key occurs twice");
    return GKV_OK;
}

static const struct gkv__kv *find_kv(const struct part *part, const char *key)
{
    return (const struct gkv__kv *)find(part->by_key, part->n_kv, key);
}

/* Reads the key into *out if it is there. */
static gkv_status read_u32(const struct part *part, const char *key, uint32_t *out,
                           gkv_error *err)
{
    const struct gkv__kv *kv = find_kv(part, key);

    return kv ? gkv__kv_u32(kv, part->path, out, err) : GKV_OK;
}

/* ---- tensors ------------------------------------------------------------------------- */
/* Name, shape and type; *offset is from the start of the data. */
static gkv_status read_tensor(struct reader *r, struct gkv__tensor *t, uint64_t *offset)
{
    const struct gkv__quant *q;
    uint64_t                 n = 1;

    if (!get_str(r, &t->name))
        return beyond_end(r, NULL, "the name of a tensor");
    if (!t->name.n)
        return refuse(r, GKV_FORMAT, NULL, "damaged: a tensor without a name");
    if (!get(r, &t->n_dims, sizeof t->n_dims))
        return beyond_end(r, &t->name, "the shape");
    if (t->n_dims < 1 || t->n_dims > GKV__MAX_DIMS)
        return refuse(r, GKV_FORMAT, &t->name, "%" PRIu32 " dimensions, expected 1 to %d",
                      t->n_dims, GKV__MAX_DIMS);
    for (uint32_t i = 0; i < GKV__MAX_DIMS; i++) {
        t->dim[i] = 1;
        if (i < t->n_dims && !get(r, &t->dim[i], sizeof t->dim[i]))
            return beyond_end(r, &t->name, "the shape");
        if (!t->dim[i] || !gkv__mul(n, t->dim[i], &n))
            return refuse(r, GKV_FORMAT, &t->name, "impossible dimension %" PRIu64,
                          t->dim[i]);
    }
    if (!get(r, &t->type, sizeof t->type) || !get(r, offset, sizeof *offset))
        return beyond_end(r, &t->name, "the type");
    q = gkv__quant_of_ggml(t->type);
    if (!q)
        return refuse(r, GKV_UNSUPPORTED, &t->name, "tensor type number %" PRIu32 " is not "
                      "known to this version", t->type);
    if (t->dim[0] % q->block)
        return refuse(r, GKV_FORMAT, &t->name, "rows of %" PRIu64 " are not whole blocks "
                      "of %s (%" PRIu32 ")", t->dim[0], q->name, q->block);
    if (!gkv__mul(n / q->block, q->bytes, &t->bytes))
        return refuse(r, GKV_FORMAT, &t->name, "impossible size");
    return GKV_OK;
}

/* Point t at its data: data_at bytes into the file, offset bytes on. */
static gkv_status place_tensor(const struct reader *r, const struct part *part,
                               struct gkv__tensor *t, uint64_t data_at, uint64_t offset,
                               uint32_t alignment)
{
    uint64_t begin, end;

    if (offset % alignment)
        return refuse(r, GKV_FORMAT, &t->name, "offset %" PRIu64 " is not a multiple of %"
                      PRIu32, offset, alignment);
    if (!gkv__add(data_at, offset, &begin) || !gkv__add(begin, t->bytes, &end))
        return refuse(r, GKV_FORMAT, &t->name, "impossible offset %" PRIu64, offset);
    if (end > part->bytes)
        return refuse(r, GKV_FORMAT, NULL, "truncated: ends %s tensor %.*s (%" PRIu64
                      " bytes, needs at least %" PRIu64 "); download it again",
                      begin < part->bytes ? "inside" : "before", SHOW(t->name), part->bytes,
                      end);
    t->data = part->map + begin;
    return GKV_OK;
}

static gkv_status read_tensors(struct gkv__gguf *g, struct reader *r, struct part *part,
                               uint64_t n)
{
    struct gkv__tensor *t = NULL;
    uint64_t           *offset = NULL, all, bytes, data_at;
    uint32_t            alignment = DEFAULT_ALIGNMENT;
    gkv_status          status = GKV_NOMEM;

    GKV__TRY(read_u32(part, "general.alignment", &alignment, r->err));
    if (alignment < MIN_ALIGNMENT || alignment > MAX_ALIGNMENT ||
        (alignment & (alignment - 1)))
        return refuse(r, GKV_FORMAT, NULL, "general.alignment is %" PRIu32 ", expected a "
                      "power of two from %u to %u", alignment, MIN_ALIGNMENT,
                      MAX_ALIGNMENT);
    if (!n)
        return GKV_OK;
    if (gkv__add(g->n_tensors, n, &all) && gkv__mul(all, sizeof *t, &bytes) &&
        bytes <= SIZE_MAX) {
        t = realloc(g->tensor, (size_t)bytes);
        offset = calloc((size_t)n, sizeof *offset);
    }
    if (t)
        g->tensor = t;
    if (!t || !offset) {
        refuse(r, GKV_NOMEM, NULL, "out of memory for %" PRIu64 " tensors", n);
        goto out;
    }
    t += g->n_tensors;
    memset(t, 0, (size_t)n * sizeof *t);
    for (size_t i = 0; i < n; i++) {
        status = read_tensor(r, &t[i], &offset[i]);
        if (status != GKV_OK)
            goto out;
    }
    /* alignment is at most 2^20 and a file at most 2^63 bytes, so this cannot overflow */
    data_at = ((uint64_t)(r->p - part->map) + alignment - 1) & ~((uint64_t)alignment - 1);
    for (size_t i = 0; i < n; i++) {
        status = place_tensor(r, part, &t[i], data_at, offset[i], alignment);
        if (status != GKV_OK)
            goto out;
    }
    g->n_tensors = (size_t)all;
out:
    free(offset);
    return status;
}

/* Names are unique over all parts, and no two tensors share bytes: no writer makes such files, so
 * shared bytes mean damage. */
static gkv_status index_tensors(struct gkv__gguf *g, gkv_error *err)
{
    const char            *path = g->part->path;
    const struct gkv__str *twin;

    g->by_name = calloc(g->n_tensors + 1, sizeof *g->by_name);
    if (!g->by_name)
        return gkv__fail(err, GKV_NOMEM, "%s: out of memory", path);
    for (size_t i = 0; i < g->n_tensors; i++)
        g->by_name[i] = &g->tensor[i].name;
    qsort(g->by_name, g->n_tensors, sizeof *g->by_name, by_address);
    for (size_t i = 1; i < g->n_tensors; i++) {
        const struct gkv__tensor *a = (const void *)g->by_name[i - 1];
        const struct gkv__tensor *b = (const void *)g->by_name[i];

        if ((uintptr_t)a->data + a->bytes > (uintptr_t)b->data)
            return gkv__fail(err, GKV_FORMAT, "%s: damaged: tensors %.*s and %.*s overlap",
                             path, SHOW(a->name), SHOW(b->name));
    }
    twin = sort(g->by_name, g->n_tensors);
    if (twin)
        return gkv__fail(err, GKV_FORMAT, "%s: damaged: tensor %.*s occurs twice", path,
                         SHOW(*twin));
    return GKV_OK;
}

/* ---- files --------------------------------------------------------------------------- */
static gkv_status map_file(struct part *part, gkv_error *err)
{
    const char *path = part->path;
    gkv_status  status = GKV_OK;
    struct stat st;
    void       *map;
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);

    /* O_NONBLOCK: opening a FIFO must not wait for a writer */
    if (fd < 0)
        return gkv__fail(err, GKV_IO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &st))
        status = gkv__fail(err, GKV_IO, "%s: %s", path, strerror(errno));
    else if (S_ISDIR(st.st_mode))
        status = gkv__fail(err, GKV_FORMAT, "%s: is a directory, expected a GGUF file", path);
    else if (!S_ISREG(st.st_mode))
        status = gkv__fail(err, GKV_FORMAT, "%s: not a regular file, cannot be mapped", path);
    else if (!st.st_size)
        status = gkv__fail(err, GKV_FORMAT, "%s: is empty, expected a GGUF file", path);
    else if ((uintmax_t)st.st_size > PTRDIFF_MAX)
        status = gkv__fail(err, GKV_IO, "%s: too large for the address space", path);
    if (status == GKV_OK) {
        map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        if (map == MAP_FAILED) {
            status = gkv__fail(err, GKV_IO, "%s: cannot map: %s", path, strerror(errno));
        } else {
            part->map = map;
            part->bytes = (uint64_t)st.st_size;
        }
    }
    close(fd);
    return status;
}

/* Files that people give by mistake, and how to get the right one. */
static gkv_status not_gguf(const struct reader *r)
{
    static const struct { const char *magic, *hint; } other[] = {
        { "version https://git-lfs", "a Git LFS pointer: fetch the model by git lfs pull" },
        { "tjgg", "an old GGML file: get or convert a GGUF file" },
        { "lmgg", "an old GGML file: get or convert a GGUF file" },
        { "PK\3\4", "a PyTorch or zip file: get or convert a GGUF file" },
    };

    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        size_t n = strlen(other[i].magic);

        if (left(r) >= n && !memcmp(r->p, other[i].magic, n))
            return refuse(r, GKV_FORMAT, NULL, "not a GGUF file but %s", other[i].hint);
    }
    return refuse(r, GKV_FORMAT, NULL, "not a GGUF file");
}

static gkv_status read_header(struct reader *r, uint64_t *n_tensors, uint64_t *n_kv)
{
    uint32_t version;

    if (left(r) < 4 || memcmp(r->p, "GGUF", 4))
        return not_gguf(r);
    r->p += 4;
    if (!get(r, &version, sizeof version))
        return beyond_end(r, NULL, "the header");
    if (version && !(version & 0xffff))
        return refuse(r, GKV_UNSUPPORTED, NULL, "big-endian GGUF files are not supported");
    if (version != 2 && version != 3)
        return refuse(r, GKV_UNSUPPORTED, NULL, "GGUF version %" PRIu32 " is not "
                      "supported, only 2 and 3", version);
    if (!get(r, n_tensors, sizeof *n_tensors) || !get(r, n_kv, sizeof *n_kv))
        return beyond_end(r, NULL, "the header");
    if (*n_kv > left(r) / MIN_KV_BYTES)
        return refuse(r, GKV_FORMAT, NULL, "damaged or truncated: %" PRIu64 " metadata "
                      "keys in %" PRIu64 " bytes", *n_kv, left(r));
    if (*n_tensors > left(r) / MIN_TENSOR_BYTES)
        return refuse(r, GKV_FORMAT, NULL, "damaged or truncated: %" PRIu64 " tensors in %"
                      PRIu64 " bytes", *n_tensors, left(r));
    return GKV_OK;
}

static gkv_status load_part(struct gkv__gguf *g, struct part *part, const char *path,
                            gkv_error *err)
{
    size_t        len = strlen(path);
    struct reader r = { .err = err };
    uint64_t      n_tensors = 0, n_kv = 0;

    part->path = malloc(len + 1);
    if (!part->path)
        return gkv__fail(err, GKV_NOMEM, "%s: out of memory", path);
    memcpy(part->path, path, len + 1);
    GKV__TRY(map_file(part, err));
    r.path = part->path;
    r.p = part->map;
    r.end = part->map + part->bytes;
    GKV__TRY(read_header(&r, &n_tensors, &n_kv));
    GKV__TRY(read_metadata(&r, part, n_kv));
    if (n_tensors > left(&r) / MIN_TENSOR_BYTES)
        return beyond_end(&r, NULL, "the list of tensors");
    GKV__TRY(read_tensors(g, &r, part, n_tensors));
    part->head_bytes = (uint64_t)(r.p - part->map);
    return GKV_OK;
}

/* ---- files in parts ------------------------------------------------------------------ */
static gkv_status load_part_no(struct gkv__gguf *g, uint32_t no, uint32_t count,
                               gkv_error *err)
{
    struct part *part = &g->part[no];
    const char  *first = g->part->path;
    size_t       len = strlen(first);
    uint32_t     found_no = UINT32_MAX, found_count = 0;
    char        *path = malloc(len + 1);
    gkv_status   status;

    if (!path)
        return gkv__fail(err, GKV_NOMEM, "%s: out of memory", first);
    memcpy(path, first, len + 1);
    for (uint32_t i = 5, left_over = no + 1; i > 0; i--, left_over /= 10)
        path[len - SUFFIX_BYTES + i] = (char)('0' + left_over % 10);
    if (access(path, F_OK) && errno == ENOENT)
        status = gkv__fail(err, GKV_IO, "%s: part %" PRIu32 " of %" PRIu32 " is missing",
                           path, no + 1, count);
    else
        status = load_part(g, part, path, err);
    free(path);
    GKV__TRY(status);
    GKV__TRY(read_u32(part, "split.no", &found_no, err));
    GKV__TRY(read_u32(part, "split.count", &found_count, err));
    if (found_no != no || found_count != count)
        return gkv__fail(err, GKV_FORMAT, "%s: is not part %" PRIu32 " of %" PRIu32 " as "
                         "its name says", part->path, no + 1, count);
    return GKV_OK;
}

/* The first part is loaded; load the others if its metadata says that there are any. */
static gkv_status load_others(struct gkv__gguf *g, gkv_error *err)
{
    const char  *path = g->part->path;
    size_t       len = strlen(path);
    uint32_t     no = 0, count = 1, n_tensors = UINT32_MAX;
    char         want[64];
    struct part *part;

    GKV__TRY(read_u32(g->part, "split.no", &no, err));
    GKV__TRY(read_u32(g->part, "split.count", &count, err));
    GKV__TRY(read_u32(g->part, "split.tensors.count", &n_tensors, err));
    if (count <= 1 && !no)
        return GKV_OK;
    if (no >= count || count > 65535)
        return gkv__fail(err, GKV_FORMAT, "%s: impossible split.no %" PRIu32 " of %" PRIu32,
                         path, no, count);
    if (no)
        return gkv__fail(err, GKV_UNSUPPORTED, "%s: is part %" PRIu32 " of %" PRIu32 ": "
                         "give the first part, ...-00001-of-%05" PRIu32 ".gguf", path,
                         no + 1, count, count);
    snprintf(want, sizeof want, "-00001-of-%05" PRIu32 ".gguf", count);
    if (len < SUFFIX_BYTES || strcmp(path + len - SUFFIX_BYTES, want))
        return gkv__fail(err, GKV_FORMAT, "%s: is part 1 of %" PRIu32 ", but its name does "
                         "not end in %s, so the others cannot be found", path, count, want);
    part = realloc(g->part, count * sizeof *part);
    if (!part)
        return gkv__fail(err, GKV_NOMEM, "%s: out of memory", path);
    memset(part + 1, 0, (count - 1) * sizeof *part);
    g->part = part;
    g->n_parts = count;
    for (uint32_t i = 1; i < count; i++)
        GKV__TRY(load_part_no(g, i, count, err));
    if (n_tensors != UINT32_MAX && n_tensors != g->n_tensors)
        return gkv__fail(err, GKV_FORMAT, "%s: the parts hold %zu tensors, not %" PRIu32,
                         path, g->n_tensors, n_tensors);
    return GKV_OK;
}

gkv_status gkv__gguf_open(struct gkv__gguf **out, const char *path, gkv_error *err)
{
    struct gkv__gguf *g;
    gkv_status        status;

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
    return gkv__fail(err, GKV_UNSUPPORTED, "%s: GGUF files can be read on little-endian "
                     "machines only", path);
#endif
    g = calloc(1, sizeof *g);
    if (g)
        g->part = calloc(1, sizeof *g->part);
    if (!g || !g->part) {
        gkv__gguf_close(g);
        return gkv__fail(err, GKV_NOMEM, "%s: out of memory", path);
    }
    g->n_parts = 1;
    status = load_part(g, g->part, path, err);
    if (status == GKV_OK)
        status = load_others(g, err);
    if (status == GKV_OK)
        status = index_tensors(g, err);
    if (status == GKV_OK)
        *out = g;
    else
        gkv__gguf_close(g);
    return status;
}

void gkv__gguf_close(struct gkv__gguf *g)
{
    if (!g)
        return;
    for (size_t i = 0; i < g->n_parts; i++) {
        struct part *p = &g->part[i];

        if (p->map)
            munmap((void *)(uintptr_t)p->map, (size_t)p->bytes);
        free(p->by_key);
        free(p->kv);
        free(p->path);
    }
    free(g->by_name);
    free(g->tensor);
    free(g->part);
    free(g);
}

/* ---- reading from an open file --------------------------------------------------------- */
const char *gkv__gguf_path(const struct gkv__gguf *g)
{
    return g->part->path;
}

uint64_t gkv__gguf_bytes(const struct gkv__gguf *g)
{
    uint64_t n = 0;

    for (size_t i = 0; i < g->n_parts; i++)
        n += g->part[i].bytes;
    return n;
}

uint64_t gkv__gguf_data_bytes(const struct gkv__gguf *g)
{
    uint64_t n = 0;

    for (size_t i = 0; i < g->n_tensors; i++)
        n += g->tensor[i].bytes;
    return n;
}

/* FNV-1a, 64 bits. */
uint64_t gkv__gguf_fingerprint(const struct gkv__gguf *g)
{
    uint64_t h = 0xcbf29ce484222325u;

    for (size_t i = 0; i < g->n_parts; i++)
        for (uint64_t j = 0; j < g->part[i].head_bytes; j++)
            h = (h ^ g->part[i].map[j]) * 0x100000001b3u;
    return h;
}

size_t gkv__gguf_n_tensors(const struct gkv__gguf *g)
{
    return g->n_tensors;
}

const struct gkv__tensor *gkv__gguf_tensor_at(const struct gkv__gguf *g, size_t i)
{
    return &g->tensor[i];
}

const struct gkv__tensor *gkv__gguf_tensor(const struct gkv__gguf *g, const char *name)
{
    return (const struct gkv__tensor *)find(g->by_name, g->n_tensors, name);
}

const struct gkv__kv *gkv__gguf_find(const struct gkv__gguf *g, const char *key)
{
    return find_kv(g->part, key);
}
