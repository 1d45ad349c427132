/* SPDX-License-Identifier: BSD-2-Clause
 * tokenizer.c - any text in the vocabularies of tests/files/token: in pieces and as a whole, and back to text
 *
 *     1 byte which vocabulary   1 byte the size of pieces   text */
#include "config.h"
#include <string.h>
#include "src/prompt.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/pieces.h"

static const char *const names[] = { "gemma4", "gpt-4o", "lfm2", "llama4", "qwen35", "smollm", "tekken" };

enum { N = sizeof names / sizeof *names };

static struct gkv__gguf  *file[N];
static struct gkv__vocab *vocab[N];

static void open_vocab(size_t i)
{
    gkv_error err;
    char      path[64];

    snprintf(path, sizeof path, "token/%s.gguf", names[i]);
    must(gkv__gguf_open(&file[i], fuzz_resource(path), &err) == GKV_OK);
    must(gkv__vocab_open(&vocab[i], file[i], &err) == GKV_OK);
}

/* The prompt of a document that is fed and tokenized in pieces of `step` bytes; NULL: there is no such document. */
static gkv_document *fed(struct gkv__prompt *p, const struct gkv__vocab *v, const char *text, size_t len, size_t step)
{
    gkv_document *d = calloc(1, sizeof *d);
    gkv_error     err = { 0 };
    gkv_status    status;

    must(d && gkv__document_init(d, v, gkv__template_named("chatml"), step, &err) == GKV_OK);
    status = GKV_OK;
    for (size_t at = 0; at < len && status == GKV_OK; at += step)
        status = gkv_document_feed(d, text + at, len - at < step ? len - at : step, &err);
    if (status == GKV_OK)
        status = gkv__document_finish(d, &err);
    *p = (struct gkv__prompt){ .d = d };
    if (status == GKV_OK)
        status = gkv__prompt_make(p, d, &(struct gkv__asked){ .question = "Who?", .len = 4 }, &err);
    must(status == GKV_OK || status == GKV_DOCUMENT || status == GKV_INVALID);
    if (status == GKV_OK)
        return d;
    gkv__prompt_close(p);
    gkv_document_close(d);
    return NULL;
}

static void compare_documents(const struct gkv__vocab *v, const char *text, size_t len, size_t step)
{
    struct gkv__prompt a, b;
    gkv_document      *da = fed(&a, v, text, len, step), *db = fed(&b, v, text, len, len + 1);

    must(!da == !db);
    if (!da)
        return;
    must(a.n == b.n && !memcmp(a.id, b.id, a.n * sizeof *a.id));
    for (size_t i = 0; i < a.n; i++)
        must(gkv__prompt_len(&a, i) == gkv__prompt_len(&b, i));
    gkv__prompt_close(&a);
    gkv__prompt_close(&b);
    gkv_document_close(da);
    gkv_document_close(db);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input   in = { data, size };
    const unsigned which = take(&in) % N;
    const size_t   step = 1 + take(&in) % 100;
    char          *text = fuzz_text(in);

    if (!vocab[which])
        open_vocab(which);
    compare_pieces(vocab[which], text, in.n, step);
    compare_documents(vocab[which], text, in.n, step);
    free(text);
    return 0;
}
