/* SPDX-License-Identifier: BSD-2-Clause
 * gguf.c - a model file: all that it promises to hold lies in its bytes */
#include "config.h"
#include <string.h>
#include "src/gguf/gguf.h"
#include "src/quant/quant.h"
#include "tests/fuzz/fuzz.h"
#include "tests/gguf-walk.h"

/* Where the file is mapped: the first name in it, of a key or of a tensor, begins at byte 32. */
static const char *base_of(const struct gkv__gguf *g, const uint8_t *data, size_t size)
{
    const struct gkv__tensor *t = gkv__gguf_n_tensors(g) ? gkv__gguf_tensor_at(g, 0) : NULL;
    const struct gkv__kv     *kv;
    uint64_t                  n_keys, n;
    char                     *name;

    if (size < 32)
        return NULL;
    memcpy(&n_keys, data + 16, sizeof n_keys);
    memcpy(&n, data + 24, sizeof n);
    if (!n_keys)
        return t ? t->name.p - 32 : NULL;
    name = fuzz_text((struct input){ data + 32, (size_t)n });
    kv = gkv__gguf_find(g, name);
    must(kv || strlen(name) < n);
    if (strlen(name) < n)               /* of a name with a NUL inside, only what is before it was sought */
        kv = NULL;
    free(name);
    return kv ? kv->key.p - 32 : NULL;
}

static void inside(const char *base, size_t size, const void *p, uint64_t n)
{
    const char *at = p;

    must(at >= base && n <= size && (size_t)(at - base) <= size - n);
}

/* What its shape says, in an arithmetic that does not wrap. */
static uint64_t bytes_of(const struct gkv__tensor *t)
{
    const struct gkv__quant *q = gkv__quant_of_ggml(t->type);
    uint64_t                 bytes = t->dim[0] / q->block;

    must(t->n_dims >= 1 && t->n_dims <= GKV__MAX_DIMS && t->dim[0] % q->block == 0);
    bytes = gkv__times(bytes, q->bytes);
    for (size_t i = 1; i < GKV__MAX_DIMS; i++)
        bytes = gkv__times(bytes, t->dim[i]);
    return bytes;
}

static void check(const struct gkv__gguf *g, const char *base, size_t size)
{
    static const char *const strings[] = { "general.architecture", "general.name", "tokenizer.ggml.tokens",
                                           "tokenizer.ggml.merges", "tokenizer.chat_template" };

    for (size_t i = 0; i < gkv__gguf_n_tensors(g); i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(g, i);

        inside(base, size, t->name.p, t->name.n);
        inside(base, size, t->data, t->bytes);
        must(t->bytes == bytes_of(t));
    }
    for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        const struct gkv__kv *kv = gkv__gguf_find(g, strings[i]);
        const uint8_t        *cursor = kv ? kv->data : NULL;

        for (uint64_t k = 0; kv && kv->type == GKV__STR && k < kv->n; k++) {
            const struct gkv__str s = gkv__gguf_next_str(&cursor);

            inside(base, size, s.p, s.n);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gkv__gguf *g = NULL;
    gkv_error         err = { 0 };
    const char       *base;

    if (gkv__gguf_open(&g, fuzz_file(0, data, size), &err) != GKV_OK) {
        must(!g && *err.text && !strchr(err.text, '\n') && err.status != GKV_NOMEM);
        return 0;
    }
    base = base_of(g, data, size);
    if (base)
        check(g, base, size);
    gguf_walk(g);
    gkv__gguf_close(g);
    return 0;
}
