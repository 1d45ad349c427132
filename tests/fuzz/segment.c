/* SPDX-License-Identifier: BSD-2-Clause
 * segment.c - a segment of a library: text, tokens and the index of a document, of model.gguf.  Checksums and the
 * numbers of model and template are put right, so that what is behind them is reached; then a question is asked. */
#include "config.h"
#include <string.h>
#include "src/base/sum.h"
#include "src/document.h"
#include "tests/fuzz/fuzz.h"

/* The head of document-file.c. */
struct head { char magic[8]; uint64_t sum, model, tmpl, n_files, n_tokens, len, tokenized, index; };

enum { SUMMED = 16, HEAD = sizeof(struct head) };

static uint64_t fnv(const uint8_t *p, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void mend(uint8_t *data, size_t size, uint64_t model, uint64_t tmpl)
{
    struct head             h;
    struct gkv__index_head *x;
    uint64_t                all;

    if (size < HEAD)
        return;
    memcpy(&h, data, HEAD);
    h.model = model;
    h.tmpl = tmpl;
    memcpy(data, &h, HEAD);
    all = gkv__plus(HEAD + gkv__times(h.n_files, sizeof(struct gkv__file)),
                    gkv__plus(gkv__times(h.n_tokens, GKV__TOKEN_BYTES), h.len));
    if (all > size)
        return;
    h.sum = fnv(data + SUMMED, (size_t)all - SUMMED);
    memcpy(data, &h, HEAD);
    if (!h.index || h.index > size || size - h.index < sizeof *x)
        return;
    x = malloc(sizeof *x);
    must(x);
    memcpy(x, data + h.index, sizeof *x);
    x->sum[GKV__INDEX_LAYERS + 1] = gkv__sum(GKV__SUM_START, x, sizeof *x - sizeof x->sum[0]);
    memcpy(data + h.index, x, sizeof *x);
    free(x);
}

static void check(const gkv_document *d)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < d->n_files; i++)
        must(d->file[i].start <= d->file[i].end && d->file[i].end <= d->len);
    for (size_t i = 0; i < d->tokens.n; i++) {
        must(d->tokens.id[i] < gkv__vocab_size(d->vocab));
        sum += d->tokens.len[i];
    }
    must(sum == d->tokenized && sum <= d->len);
}

static void ask(gkv_document *d, const gkv_options *o)
{
    gkv_session *s = NULL;
    gkv_error    err = { 0 };
    const char  *piece;
    size_t       n;
    gkv_status   status = gkv_session_of(&s, d, o, &err);

    if (status == GKV_OK)
        status = gkv_ask(s, "Who sat?", 8, &err);
    while (status == GKV_OK)
        status = gkv_next(s, &piece, &n, &err);
    must(status == GKV_END || *err.text);
    gkv_session_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gkv_model *m;
    static uint64_t   tmpl;
    uint8_t          *copy = (uint8_t *)fuzz_text((struct input){ data, size });
    gkv_document     *d = NULL;
    gkv_options       o;
    gkv_error         err = { 0 };

    gkv_options_init(&o);
    o.threads = 1;
    o.max_tokens = 1;
    o.keep = 64;
    o.memory_limit = UINT64_C(1) << 31;
    if (!m) {
        must(gkv_model_open(&m, fuzz_resource("model.gguf"), 0, &err) == GKV_OK);
        must(gkv_document_open(&d, m, &o, &err) == GKV_OK);
        tmpl = gkv__document_template(d);
        gkv_document_close(d);
    }
    mend(copy, size, gkv_model_fingerprint(m), tmpl);
    if (gkv_document_load(&d, m, &o, fuzz_file(0, copy, size), &err) == GKV_OK) {
        check(d);
        ask(d, &o);
        gkv_document_close(d);
    } else {
        must(!d && *err.text && !strchr(err.text, '\n'));
    }
    free(copy);
    return 0;
}
