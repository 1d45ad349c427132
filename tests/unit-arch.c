/* SPDX-License-Identifier: BSD-2-Clause
 * unit-arch.c - every architecture: a sound model opens and describes itself; a damaged one is
 * refused, or opens if the damage is in its weights, and nothing else happens. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/model/model.h"
#include "tests/tap.h"

static char dir[256], path[300];
static const char *mkmodel;

/* Tensors that a model must not open without (ended by ""), and how the model describes itself. */
static const struct {
    const char *name, *options, *rope, *tensors[8];
    uint32_t    window[4];              /* of each layer */
} archs[] = {
    { "llama", "--rope-freqs=1", "llama3", { "attn_q.weight", "attn_norm.weight", "" }, { 0 } },
    { "llama", "--linear=4 --window=8", "linear", { "ffn_gate.weight", "" }, { 8, 8, 8, 8 } },
    { "qwen2", "", "none", { "attn_q.bias", "attn_k.bias", "attn_v.bias", "" }, { 0 } },
    { "qwen3", "--yarn=4 --heads=2", "yarn", { "attn_q_norm.weight", "attn_k_norm.weight", "" }, { 0 } },
    { "phi3", "--longrope=64 --window=99", "longrope", { "attn_qkv.weight", "ffn_up.weight", "" },
      { 99, 99, 99, 99 } },
    { "qwen3moe", "", "none", { "ffn_gate_inp.weight", "ffn_up_exps.weight", "attn_q_norm.weight", "" }, { 0 } },
    { "qwen35", "", "none", { "attn_qkv.weight", "attn_gate.weight", "ssm_out.weight", "ssm_conv1d.weight", "ssm_a",
      "ssm_dt.bias", "post_attention_norm.weight", "" }, { 0 } },
    { "qwen35moe", "", "none", { "ssm_alpha.weight", "ffn_gate_inp.weight", "ffn_gate_inp_shexp.weight",
      "ffn_down_shexp.weight", "ffn_down_exps.weight", "" }, { 0 } },
    { "qwen3next", "", "none", { "ssm_ba.weight", "ffn_up_shexp.weight", "ffn_up_exps.weight", "" }, { 0 } },
    { "gemma2", "--window=32 --tied=1", "none", { "post_attention_norm.weight", "post_ffw_norm.weight", "" },
      { 32, 0, 32, 0 } },
    { "gemma3", "--window=32 --linear=8", "linear",
      { "attn_q_norm.weight", "post_attention_norm.weight", "post_ffw_norm.weight", "" },
      { 32, 32, 32, 32 } },
    { "gemma4", "--window=32", "proportional",
      { "attn_v.weight", "attn_k_norm.weight", "post_attention_norm.weight", "ffn_down.weight", "" }, { 32, 0, 32, 0 } },
    { "gemma4", "--window=32 --sharing=2 --embd-layer=32", "proportional",
      { "inp_gate.weight", "proj.weight", "post_norm.weight", "attn_q_norm.weight", "" }, { 32, 0, 32, 0 } },
    { "gemma4", "--window=32 --experts=4 --used=2", "proportional",
      { "ffn_gate_inp.scale", "pre_ffw_norm_2.weight", "post_ffw_norm_1.weight", "post_ffw_norm_2.weight", "ffn_up.weight",
        "ffn_up_exps.weight", "" }, { 32, 0, 32, 0 } },
    { "smollm3", "", "none", { "ffn_norm.weight", "" }, { 0 } },
    { "olmo2", "", "none", { "attn_q_norm.weight", "post_attention_norm.weight", "post_ffw_norm.weight", "" },
      { 0 } },
    { "olmo2", "--window=32 --yarn=4", "yarn", { "attn_k_norm.weight", "" }, { 32, 32, 32, 0 } },
    { "mistral3", "--yarn=4", "yarn", { "attn_norm.weight", "" }, { 0 } },
    { "granite", "", "none", { "ffn_up.weight", "" }, { 0 } },
    { "granitemoe", "", "none", { "ffn_gate_inp.weight", "ffn_down_exps.weight", "" }, { 0 } },
    { "glm4", "", "none", { "ffn_up.weight", "post_attention_norm.weight", "post_ffw_norm.weight", "" }, { 0 } },
    { "exaone4", "--window=32", "none", { "attn_q_norm.weight", "post_attention_norm.weight", "" },
      { 32, 32, 32, 0 } },
    { "llama4", "", "none", { "ffn_up_shexp.weight", "ffn_gate_inp.weight", "ffn_down_exps.weight", "" }, { 0 } },
    { "granitehybrid", "", "none", { "ssm_in.weight", "ssm_conv1d.weight", "ssm_a", "ssm_d", "ssm_dt.bias",
      "ssm_norm.weight", "ssm_out.weight", "" }, { 0 } },
    { "lfm2", "", "none", { "shortconv.in_proj.weight", "shortconv.conv.weight", "shortconv.out_proj.weight",
      "ffn_norm.weight", "ffn_down.weight", "" }, { 0 } },
    { "lfm2moe", "", "none", { "shortconv.conv.weight", "ffn_gate_inp.weight", "ffn_up_exps.weight", "" }, { 0 } },
    { "gpt-oss", "", "none",
      { "attn_sinks.weight", "attn_output.bias", "ffn_gate_exps.bias", "post_attention_norm.weight", "" },
      { 128, 0, 128, 0 } },
};

enum { N_ARCHS = sizeof archs / sizeof *archs, N_LAYERS = 4, CHANCES = 200 };

static uint32_t state = 1;

static uint32_t chance(void)
{
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state;
}

static void bail(const char *what)
{
    printf("Bail out! %s: %s\n", what, strerror(errno));
    exit(1);
}

static void make(size_t i, const char *more)
{
    char command[1024];

    snprintf(command, sizeof command, "'%s' --ff=256 --arch=%s %s %s '%s'", mkmodel, archs[i].name,
             archs[i].options, more, path);
    if (system(command))
        bail(command);
}

/* Opens and closes the model.  *clear: if it was refused, the message is one line. */
static gkv_status try(bool *clear)
{
    gkv_model *m = NULL;
    gkv_error err = { 0 };
    gkv_status status = gkv_model_open(&m, path, 0, &err);

    *clear = status == GKV_OK || (!m && err.status == status && *err.text && !strchr(err.text, '\n'));
    gkv_model_close(m);
    return status;
}

static void test_sound(size_t i)
{
    gkv_model *m;
    gkv_model_info info;
    gkv_error err = { 0 };
    bool windows = true;

    make(i, "");
    if (gkv_model_open(&m, path, 0, &err) != GKV_OK) {
        ok(0, "%s %s: %s", archs[i].name, archs[i].options, err.text);
        return;
    }
    gkv_model_describe(m, &info);
    for (uint32_t il = 0; il < N_LAYERS; il++)
        windows &= m->layer[il].window == archs[i].window[il];
    ok(!strcmp(info.architecture, archs[i].name) && !strcmp(info.rope, archs[i].rope) && windows,
       "%s %s: rope %s", archs[i].name, archs[i].options, info.rope);
    if (!strcmp(info.rope, "longrope"))
        ok(gkv__model_rope(m, 0, 64) == &m->rope[GKV__ROPE_ALL] && gkv__model_rope(m, 0, 65) == &m->rope[GKV__ROPE_LONG],
           "... with other angles from 65 positions on");
    gkv_model_close(m);
}

/* Changes a 32-bit number of the file's metadata. */
static void set_u32(const char *key, uint32_t value)
{
    static char head[1 << 16];
    FILE *f = fopen(path, "r+b");
    size_t n, len = strlen(key), at = 0;

    if (!f)
        bail(path);
    n = fread(head, 1, sizeof head, f);
    while (at + len + 8 < n && memcmp(head + at, key, len))
        at++;
    if (at + len + 8 >= n || head[at + len] != GKV__U32 || pwrite(fileno(f), &value, 4, (off_t)(at + len + 4)) != 4)
        bail(key);
    fclose(f);
}

/* Gemma 4 with keys that lie, in a file whose tensors are sound. */
static void test_gemma4(void)
{
    static const struct { const char *key; uint32_t value; gkv_status status; const char *says; } lies[] = {
        { "attention.shared_kv_layers", 0, GKV_FORMAT, "blk.2.attn_k.weight is missing" },
        { "attention.shared_kv_layers", 1, GKV_FORMAT, "blk.2.attn_k.weight is missing" },
        { "attention.shared_kv_layers", 3, GKV_FORMAT, "3 of 4 layers, which leaves none to share" },
        { "attention.shared_kv_layers", 4, GKV_FORMAT, "4 of 4 layers" },
        { "attention.shared_kv_layers", UINT32_MAX, GKV_FORMAT, "of 4 layers" },
        { "embedding_length_per_layer_input", 0, GKV_UNSUPPORTED, "is not part of architecture" },
        { "embedding_length_per_layer_input", 16, GKV_FORMAT, "per_layer_token_embd.weight is 128 x" },
        { "embedding_length_per_layer_input", 65, GKV_FORMAT, "not in 0 .. 64" },
        { "embedding_length_per_layer_input", UINT32_MAX, GKV_FORMAT, "not in 0 .. 64" },
        { "attention.sliding_window", 0, GKV_UNSUPPORTED, "in another of the same kind" },
        { "attention.sliding_window_pattern", 4, GKV_UNSUPPORTED, "in another of the same kind" },
        { "attention.sliding_window_pattern", 1, GKV_UNSUPPORTED, "in another of the same kind" },
        { "attention.key_length_swa", 1, GKV_FORMAT, "attention.key_length_swa is 1" },
        { "attention.key_length_swa", 18, GKV_FORMAT, "not in 2 .. 16" },
        { "attention.key_length_swa", 16, GKV_UNSUPPORTED, "keys of 16 and values of 8" },
        { "rope.dimension_count_swa", 7, GKV_FORMAT, "rope.dimension_count_swa is 7" },
        { "rope.dimension_count_swa", 10, GKV_FORMAT, "is 10 for heads of 8" },
        { "rope.dimension_count_swa", 0, GKV_FORMAT, "rope.dimension_count_swa is 0" },
    };
    static const char *const missing[] = { "per_layer_token_embd.weight", "per_layer_model_proj.weight",
                                           "per_layer_proj_norm.weight", "rope_freqs.weight" };
    char command[600];

    snprintf(command, sizeof command, "'%s' --ff=256 --arch=gemma4 --window=32 --sharing=2 --embd-layer=32 '%s'", mkmodel,
             path);
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        gkv_model *m = NULL;
        gkv_error err = { 0 };
        gkv_status status;
        char key[96];

        if (system(command))
            bail(command);
        snprintf(key, sizeof key, "gemma4.%s", lies[i].key);
        set_u32(key, lies[i].value);
        status = gkv_model_open(&m, path, 0, &err);
        ok(status == lies[i].status && strstr(err.text, lies[i].says), "gemma4 with %s %u: %s", lies[i].key, lies[i].value,
           err.text);
        gkv_model_close(m);
    }
    for (size_t i = 0; i < sizeof missing / sizeof *missing; i++) {
        char more[700];
        bool clear;

        snprintf(more, sizeof more, "%s --without=%s", command, missing[i]);
        if (system(more))
            bail(more);
        ok(try(&clear) == GKV_FORMAT && clear, "gemma4: refused without %s", missing[i]);
    }
}

/* Which layers may filter: those that see the whole text and have keys of their own. */
static void test_filters(void)
{
    char command[600];
    gkv_model *m = NULL;
    gkv_error err = { 0 };
    gkv_model_info info;

    snprintf(command, sizeof command, "'%s' --layers=12 --arch=gemma4 --sharing=4 '%s'", mkmodel, path);
    if (system(command))
        bail(command);
    if (gkv_model_open(&m, path, 0, &err) != GKV_OK) {
        ok(0, "12 layers: %s", err.text);
        return;
    }
    gkv_model_describe(m, &info);
    ok(info.filter_layer == 5 && !strcmp(info.attending, "5"), "gemma4 of 12 layers: layer %u of %s filters",
       info.filter_layer, info.attending);
    ok(m->layer[8].source == 7 && m->layer[10].source == 7 && m->layer[11].source == 5 && !m->layer[7].shares,
       "... the last 4 have the keys of the last layer before them of their kind");
    ok(gkv__may_filter(m, 11, &err) == GKV_INVALID && strstr(err.text, "keys of an earlier layer"), "... %s", err.text);
    ok(gkv__may_filter(m, 4, &err) == GKV_INVALID && strstr(err.text, "part of the text only"), "... %s", err.text);
    gkv_model_close(m);
}

/* Layers behind the others, which predict further tokens, are not of the model, whatever it is. */
static void test_further(void)
{
    static const char *const arch[] = { "llama", "glm4", "qwen35", "gemma2" };

    for (size_t i = 0; i < sizeof arch / sizeof *arch; i++) {
        uint64_t bytes[2] = { 0, 1 };
        uint32_t n_layer = 0;
        gkv_error err = { 0 };

        for (int with = 0; with < 2; with++) {
            char command[600];
            gkv_model *m = NULL;

            snprintf(command, sizeof command, "'%s' --arch=%s --nextn=%d '%s'", mkmodel, arch[i], with, path);
            if (system(command))
                bail(command);
            if (gkv_model_open(&m, path, 0, &err) == GKV_OK) {
                bytes[with] = gkv__model_weight_bytes(m);
                n_layer = m->shape.n_layer;
            }
            gkv_model_close(m);
        }
        ok(n_layer == 4 && bytes[0] == bytes[1], "%s: %u layers without the further one %s", arch[i], n_layer,
           err.text);
    }
}

/* Heads that do not share KV heads evenly, in a model whose tensors have these shapes. */
static void test_heads(void)
{
    char command[600];
    gkv_model *m = NULL;
    gkv_error err = { 0 };

    snprintf(command, sizeof command, "'%s' --heads=4 --heads-kv=3 '%s'", mkmodel, path);
    if (system(command))
        bail(command);
    ok(gkv_model_open(&m, path, 0, &err) == GKV_FORMAT && strstr(err.text, "4 heads do not share 3 KV heads"),
       "4 heads with 3 KV heads: refused");
    gkv_model_close(m);
}

static bool has_experts(size_t i)
{
    for (const char *const *t = archs[i].tensors; **t; t++)
        if (strstr(*t, "_exps"))
            return true;
    return false;
}

/* Tests --list-breaks line by line.  A tokenizer of an unsupported kind is refused later. */
static void test_breaks(size_t i)
{
    char line[256], name[32], want[32], who[16], option[64];
    unsigned n = 0, bad = 0;
    FILE *list;

    snprintf(line, sizeof line, "'%s' --list-breaks", mkmodel);
    list = popen(line, "r");
    while (list && fgets(line, sizeof line, list)) {
        gkv_status expected = GKV_FORMAT, status;
        bool clear;

        if (sscanf(line, "%31s %31s %15s", name, want, who) != 3)
            bail("--list-breaks");
        if (!strcmp(want, "GKV_UNSUPPORTED"))
            expected = strcmp(who, "vocab") ? GKV_UNSUPPORTED : GKV_OK;
        /* One kind of scaling hides another. */
        if (!strncmp(name, "rope-", 5) && strcmp(archs[i].rope, "none"))
            continue;
        if (!strcmp(name, "layers-3") && strstr(archs[i].options, "embd-layer"))
            expected = GKV_FORMAT;      /* its tables have a part for each layer */
        if (!strcmp(name, "experts") && (has_experts(i) || !strcmp(archs[i].name, "granitehybrid") ||
                                         !strcmp(archs[i].name, "gemma4")))
            continue;                   /* it must, or may, have experts */
        snprintf(option, sizeof option, "--break='%s'", name);
        make(i, option);
        status = try(&clear);
        n++;
        if (status != expected || !clear) {
            bad++;
            printf("# %s: status %d, expected %d\n", name, status, expected);
        }
    }
    if (!list || pclose(list))
        bail("--list-breaks");
    ok(!bad && n > 80, "%s %s: %u kinds of damage", archs[i].name, archs[i].options, n);
}

static void test_without(size_t i)
{
    for (const char *const *t = archs[i].tensors; **t; t++) {
        char option[96];
        bool clear;

        snprintf(option, sizeof option, "--without=blk.2.%s", *t);
        make(i, option);
        ok(try(&clear) == GKV_FORMAT && clear, "%s: refused without %s", archs[i].name, *t);
    }
}

/* Changes random bytes before the weights, one at a time. */
static void test_chance(size_t i)
{
    const char *embd = "token_embd.weight";
    unsigned refused = 0, unclear = 0;
    char *file, *at;
    size_t n, header;
    FILE *f;

    make(i, "");
    f = fopen(path, "r+b");
    if (!f || fseek(f, 0, SEEK_END))
        bail(path);
    n = (size_t)ftell(f);
    file = malloc(n + 1);
    rewind(f);
    if (!file || fread(file, 1, n, f) != n)
        bail(path);
    for (at = file; (size_t)(at - file) + strlen(embd) < n && memcmp(at, embd, strlen(embd)); at++)
        ;
    header = (size_t)(at - file) + 2000;        /* the tensors' entries follow it */
    for (unsigned c = 0; c < CHANCES; c++) {
        const size_t where = chance() % header;
        const uint8_t byte = (uint8_t)chance();
        bool clear;

        if (pwrite(fileno(f), &byte, 1, (off_t)where) != 1)
            bail(path);
        refused += try(&clear) != GKV_OK;
        unclear += !clear;
        if (pwrite(fileno(f), file + where, 1, (off_t)where) != 1)
            bail(path);
    }
    ok(!unclear, "%s %s: %u of %u random bytes in the header refused", archs[i].name, archs[i].options,
       refused, CHANCES);
    fclose(f);
    free(file);
}

int main(void)
{
    const char *builddir = getenv("builddir"), *tmp = getenv("TMPDIR");
    char beside[512];

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    snprintf(beside, sizeof beside, "%s/tests/mkmodel", builddir ? builddir : ".");
    mkmodel = getenv("MKMODEL") ? getenv("MKMODEL") : beside;
    snprintf(dir, sizeof dir, "%s/gemkv-arch-XXXXXX", tmp && strlen(tmp) < 100 ? tmp : "/tmp");
    if (access(mkmodel, X_OK) || !mkdtemp(dir))
        bail("mkmodel or a temporary directory");
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    for (size_t i = 0; i < N_ARCHS; i++) {
        test_sound(i);
        test_breaks(i);
        test_without(i);
        test_chance(i);
    }
    test_heads();
    test_gemma4();
    test_filters();
    test_further();
    remove(path);
    ok(!rmdir(dir), "nothing is left behind");
    return done();
}
