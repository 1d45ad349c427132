/* SPDX-License-Identifier: BSD-2-Clause
 * vocabulary.c - the vocabulary of a model file, whatever is in it: all bytes of a text become tokens of it, and text
 * that is tokenized in pieces has the tokens of the whole */
#include "config.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/pieces.h"

static const char text[] = "The cat's 12345 mats: <s>\t a  b\n\n caf\xc3\xa9 <|im_end|>\xe9\x95\xbf\xe6\xb1\x9f "
                           "\xf0\x9f\x98\x80\xff\xe2\x80\x8d[INST]  END";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct gkv__gguf  *g = NULL;
    struct gkv__vocab *v = NULL;
    gkv_error          err = { 0 };

    if (gkv__gguf_open(&g, fuzz_file(0, data, size), &err) != GKV_OK)
        return 0;
    if (gkv__vocab_open(&v, g, &err) == GKV_OK)
        compare_pieces(v, text, sizeof text - 1, 7);
    else
        must(!v && *err.text);
    gkv__vocab_close(v);
    gkv__gguf_close(g);
    return 0;
}
