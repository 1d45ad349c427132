/* SPDX-License-Identifier: BSD-2-Clause
 * model.c - a small model from the file to an answer: architecture, tensors, vocabulary, chat template, and the layers
 * with whatever sizes and weights these have */
#include "config.h"
#include <string.h>
#include <gemkv.h>
#include "tests/fuzz/fuzz.h"

enum { MOST_WORK = 1 << 22 };           /* weights that are multiplied: a run takes milliseconds */

static const char text[] = "The cat sat on the mat. The key is 4821.\n\nIt was raining <|im_end|> in \xe9\x95\xbf.";

static void ask(gkv_model *m, const gkv_options *o)
{
    gkv_session *s = NULL;
    gkv_error    err = { 0 };
    const char  *piece;
    size_t       n;
    gkv_status   status = gkv_session_open(&s, m, o, &err);

    if (status == GKV_OK)
        status = gkv_feed(s, text, sizeof text - 1, &err);
    if (status == GKV_OK)
        status = gkv_ask(s, "Who sat?", 8, &err);
    while (status == GKV_OK)
        status = gkv_next(s, &piece, &n, &err);
    must(status == GKV_END || *err.text);
    gkv_session_close(s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gkv_model     *m = NULL;
    gkv_model_info info;
    gkv_options    o;
    gkv_error      err = { 0 };
    uint64_t       bytes;

    if (gkv_model_open(&m, fuzz_file(0, data, size), 0, &err) != GKV_OK) {
        must(!m && *err.text && !strchr(err.text, '\n'));
        return 0;
    }
    gkv_model_describe(m, &info);
    gkv_options_init(&o);
    o.max_tokens = 2;
    o.threads = 1;
    o.keep = 12;
    o.keep_last = 4;
    o.memory_limit = UINT64_C(1) << 31;
    gkv_memory_needed(m, &o, 1000, &bytes, &err);
    if (info.parameters < MOST_WORK && info.n_vocab < 1 << 16 &&
        (uint64_t)info.n_layer * info.n_head * info.head_dim < 1 << 16)
        ask(m, &o);
    gkv_model_close(m);
    return 0;
}
