/* SPDX-License-Identifier: BSD-2-Clause
 * unit-weights.c - the bytes that plans count for a model's weights are those of its file's tensors, layer by layer, for all
 * architectures of tests/files: memory is predicted from them. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/model/arch.h"
#include "src/model/model.h"
#include "tests/tap.h"

static gkv_error err;

/* Bytes of all tensors whose name begins so. */
static uint64_t bytes_of(const gkv_model *m, const char *begin)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < gkv__gguf_n_tensors(m->file); i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(m->file, i);

        if (t->name.n >= strlen(begin) && !memcmp(t->name.p, begin, strlen(begin)))
            sum += t->bytes;
    }
    return sum;
}

static void check(const char *name)
{
    char path[4096], begin[32];
    gkv_model *m = NULL;
    uint64_t all = 0, each;
    size_t bad = 0;

    snprintf(path, sizeof path, "%s/tests/files/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        ok(0, "%s: %s", name, err.text);
        return;
    }
    /* Rows of one matrix are in each layer; norms that have no weights are counted where they are applied. */
    each = bytes_of(m, "per_layer_model_proj.") / m->shape.n_layer;
    for (uint32_t il = 0; il < m->shape.n_layer; il++) {
        const uint64_t is = gkv__model_layer_bytes(m, il);
        uint64_t want;

        snprintf(begin, sizeof begin, "blk.%u.", il);
        want = bytes_of(m, begin) + each;
        if (m->ones && m->layer[il].q_norm == m->ones)
            want += 2 * m->shape.head_dim * sizeof(float);
        all += want;
        bad += is != want;
        if (is != want)
            printf("# layer %u: %d bytes, not %d\n", il, (int)is, (int)want);
    }
    ok(!bad, "%s: the bytes of its %u layers", name, m->shape.n_layer);
    all += bytes_of(m, "token_embd.") + bytes_of(m, "output.") + bytes_of(m, "per_layer_token_embd.");
    ok(gkv__model_weight_bytes(m) == all, "%s: %d bytes of all, %d in the file", name, (int)gkv__model_weight_bytes(m), (int)all);
    ok(!gkv__has_mtp(m) && gkv__model_mtp_bytes(m) == 0, "%s: none of a layer that predicts further", name);
    gkv_model_close(m);
}

/* Every architecture is found by its name, and no other. */
static void check_names(void)
{
    const char *name;
    size_t n = 0, bad = 0;

    for (; (name = gkv__arch_at(n)); n++)
        bad += !gkv__arch_named(name, strlen(name)) || strcmp(gkv__arch_named(name, strlen(name))->name, name) ||
               gkv__arch_named(name, strlen(name) - 1) == gkv__arch_named(name, strlen(name));
    ok(n > 10 && !bad && !gkv__arch_named("none", 4) && !gkv__arch_named("", 0) && !gkv__arch_at(n + 1), "%zu architectures", n);
}

int main(void)
{
    static const char *const models[] = {
        "golden/llama3", "golden/mistral", "golden/qwen2", "golden/qwen3yarn", "golden/phi3", "golden/gemma2", "golden/gemma3",
        "golden/qwen3moe", "golden/qwen2-8", "golden/head64", "golden/head128", "golden/qwen35", "golden/qwen35odd",
        "golden/qwen35moe", "golden/qwen3next", "hf/mistral3", "hf/glm4", "hf/gemma4", "hf/granitehybrid", "hf/llama4",
        "hf/lfm2moe", "hf/phi4mini", "hf/gemma4e", "hf/gemma4moe", "hf/granitemoe", "hf/gpt-oss", "hf/gpt-oss-mxfp4",
        "hf/granitemoeshared", "hf/granitehybridmoe", "hf/smollm3", "hf/granite", "hf/exaone4", "hf/olmo2", "hf/olmo3", "hf/lfm2",
    };

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    check_names();
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        check(models[i]);
    return done();
}
