/* SPDX-License-Identifier: BSD-2-Clause
 * mkmodel.c - writes models with random weights: tiny ones for tests, big ones for benchmarks,
 * damaged ones for the reader.  The same options give the same bytes on any machine.
 *
 *     mkmodel [options] FILE          llama, a few hundred kilobytes, 4 layers, f16
 *     mkmodel --arch=gemma2 --window=32 FILE
 *     mkmodel --shape=8b --type=q4_0 --split=4 FILE
 *     mkmodel --break=NAME FILE       --list-breaks prints the names, --list-types those of types */
#include "config.h"
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/mkmodel.h"

#define NONE UINT32_MAX

/* Of layers with a state: the width of their convolution; and every so manieth layer has none. */
enum { CONVOLUTION = 4, PERIOD = 4 };

struct options {
    uint32_t n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, context, n_vocab;
    uint32_t tied, rope_freqs, filter_layer, alignment, version, seed, n_parts;
    uint32_t rope_base, window, linear, yarn, longrope;     /* 0: none, or the default */
    uint32_t experts, used;
    uint32_t nextn;                             /* layers that predict further tokens, behind the others */
    uint32_t echo;                              /* layers add nothing, so that these predict what the model writes */
    uint32_t k_heads, v_heads, state_dim;       /* of layers with a state */
    uint32_t sharing, embd_layer;               /* the last layers, without keys; embeddings for each layer */
    const char *type, *arch, *without, *template;
};

/* What an architecture has beyond llama. */
static const struct arch {
    const char *name;
    bool     biases, qk_norms, fused, post_norms, caps, experts, states, shared, one_ba;
    bool     no_pre_norms, norm_rows, gate_up, scales, gpt_oss;
    bool     short_convs, mamba;                /* in place of attention, as `states` */
    bool     uneven;                            /* layers with a window have heads of half the size, others half
                                                   as many KV heads, and no values but their keys */
    bool     own_head;                          /* a further layer has embeddings and an output of its own */
    const char *output_norm;
    uint32_t rope_base;
} archs[] = {
    { .name = "llama", .rope_base = 500000 },
    { .name = "qwen2", .biases = true, .rope_base = 1000000 },
    { .name = "qwen3", .qk_norms = true, .rope_base = 1000000 },
    { .name = "phi3", .fused = true, .rope_base = 10000 },
    { .name = "gemma2", .post_norms = true, .caps = true, .rope_base = 10000 },
    { .name = "qwen3moe", .qk_norms = true, .experts = true, .rope_base = 1000000 },
    { .name = "qwen35", .qk_norms = true, .states = true, .rope_base = 10000000 },
    { .name = "qwen35moe", .qk_norms = true, .states = true, .experts = true, .shared = true, .rope_base = 10000000 },
    { .name = "qwen3next", .qk_norms = true, .states = true, .experts = true, .shared = true, .one_ba = true,
      .rope_base = 10000000 },
    { .name = "gemma3", .post_norms = true, .qk_norms = true, .rope_base = 1000000 },
    { .name = "gemma4", .post_norms = true, .qk_norms = true, .uneven = true, .rope_base = 1000000 },
    { .name = "smollm3", .rope_base = 5000000 },
    { .name = "olmo2", .no_pre_norms = true, .post_norms = true, .qk_norms = true, .norm_rows = true,
      .rope_base = 500000 },
    { .name = "mistral3", .rope_base = 1000000 },
    { .name = "granite", .scales = true, .rope_base = 10000 },
    { .name = "granitemoe", .scales = true, .experts = true, .rope_base = 10000 },
    { .name = "glm4", .post_norms = true, .gate_up = true, .own_head = true, .rope_base = 10000 },
    { .name = "exaone4", .no_pre_norms = true, .post_norms = true, .qk_norms = true, .rope_base = 1000000 },
    { .name = "llama4", .experts = true, .shared = true, .rope_base = 500000 },
    { .name = "granitehybrid", .scales = true, .mamba = true, .rope_base = 10000 },
    { .name = "lfm2", .qk_norms = true, .short_convs = true, .output_norm = "token_embd_norm.weight",
      .rope_base = 1000000 },
    { .name = "lfm2moe", .qk_norms = true, .short_convs = true, .experts = true,
      .output_norm = "token_embd_norm.weight", .rope_base = 1000000 },
    { .name = "gpt-oss", .biases = true, .experts = true, .gpt_oss = true, .rope_base = 150000 },
};

#define N_ARCHS (sizeof archs / sizeof *archs)

static const struct { const char *name; struct options o; } shapes[] = {
    { "tiny", { .n_layer = 4, .n_embd = 64, .n_head = 4, .n_head_kv = 2, .head_dim = 16,
                .n_ff = 256, .context = 4096 } },
    { "1b",   { .n_layer = 16, .n_embd = 2048, .n_head = 32, .n_head_kv = 8, .head_dim = 64,
                .n_ff = 8192, .context = 131072, .n_vocab = 128256, .tied = 1,
                .rope_freqs = 1 } },
    { "3b",   { .n_layer = 28, .n_embd = 3072, .n_head = 24, .n_head_kv = 8,
                .head_dim = 128, .n_ff = 8192, .context = 131072, .n_vocab = 128256,
                .tied = 1, .rope_freqs = 1 } },
    { "7b",   { .n_layer = 28, .n_embd = 3584, .n_head = 28, .n_head_kv = 4,
                .head_dim = 128, .n_ff = 18944, .context = 32768, .n_vocab = 152064 } },
    { "8b",   { .n_layer = 32, .n_embd = 4096, .n_head = 32, .n_head_kv = 8,
                .head_dim = 128, .n_ff = 14336, .context = 131072, .n_vocab = 128256,
                .rope_freqs = 1 } },
    { "mistral-nemo-12b", { .n_layer = 40, .n_embd = 5120, .n_head = 32, .n_head_kv = 8,
                .head_dim = 128, .n_ff = 14336, .context = 131072, .n_vocab = 131072,
                .rope_base = 1000000 } },
    { "ministral-8b", { .n_layer = 36, .n_embd = 4096, .n_head = 32, .n_head_kv = 8,
                .head_dim = 128, .n_ff = 12288, .context = 32768, .n_vocab = 131072,
                .rope_base = 100000000 } },
    { "qwen2.5-7b", { .n_layer = 28, .n_embd = 3584, .n_head = 28, .n_head_kv = 4,
                .head_dim = 128, .n_ff = 18944, .context = 32768, .n_vocab = 152064,
                .arch = "qwen2" } },
    { "qwen3-4b", { .n_layer = 36, .n_embd = 2560, .n_head = 32, .n_head_kv = 8,
                .head_dim = 128, .n_ff = 9728, .context = 40960, .n_vocab = 151936, .tied = 1,
                .arch = "qwen3" } },
    { "phi-3.5-mini", { .n_layer = 32, .n_embd = 3072, .n_head = 32, .n_head_kv = 32,
                .head_dim = 96, .n_ff = 8192, .context = 131072, .n_vocab = 32064,
                .longrope = 4096, .window = 262144, .arch = "phi3" } },
    { "gemma-2-2b", { .n_layer = 26, .n_embd = 2304, .n_head = 8, .n_head_kv = 4,
                .head_dim = 256, .n_ff = 9216, .context = 8192, .n_vocab = 256000, .tied = 1,
                .window = 4096, .arch = "gemma2" } },
    { "gemma-3-4b", { .n_layer = 34, .n_embd = 2560, .n_head = 8, .n_head_kv = 4,
                .head_dim = 256, .n_ff = 10240, .context = 131072, .n_vocab = 262144, .tied = 1,
                .window = 1024, .linear = 8, .arch = "gemma3" } },
    { "qwen3-30b-a3b", { .n_layer = 48, .n_embd = 2048, .n_head = 32, .n_head_kv = 4,
                .head_dim = 128, .n_ff = 768, .context = 40960, .n_vocab = 151936,
                .experts = 128, .used = 8, .arch = "qwen3moe" } },
    { "qwen3.5-0.8b", { .n_layer = 24, .n_embd = 1024, .n_head = 8, .n_head_kv = 2, .head_dim = 256,
                .n_ff = 3584, .context = 262144, .n_vocab = 248320, .tied = 1, .k_heads = 16, .v_heads = 16,
                .state_dim = 128, .arch = "qwen35" } },
    { "qwen3.5-2b", { .n_layer = 24, .n_embd = 2048, .n_head = 8, .n_head_kv = 2, .head_dim = 256,
                .n_ff = 6144, .context = 262144, .n_vocab = 248320, .tied = 1, .k_heads = 16, .v_heads = 16,
                .state_dim = 128, .arch = "qwen35" } },
    { "qwen3.5-4b", { .n_layer = 32, .n_embd = 2560, .n_head = 16, .n_head_kv = 4, .head_dim = 256,
                .n_ff = 9216, .context = 262144, .n_vocab = 248320, .tied = 1, .k_heads = 16, .v_heads = 32,
                .state_dim = 128, .arch = "qwen35" } },
};

#define N_SHAPES (sizeof shapes / sizeof *shapes)

/* Options whose value is a number in struct options. */
static const struct { const char *name; size_t at; } numbers[] = {
    { "layers",       offsetof(struct options, n_layer) },
    { "embd",         offsetof(struct options, n_embd) },
    { "heads",        offsetof(struct options, n_head) },
    { "heads-kv",     offsetof(struct options, n_head_kv) },
    { "head-dim",     offsetof(struct options, head_dim) },
    { "ff",           offsetof(struct options, n_ff) },
    { "context",      offsetof(struct options, context) },
    { "vocab",        offsetof(struct options, n_vocab) },
    { "tied",         offsetof(struct options, tied) },
    { "rope-freqs",   offsetof(struct options, rope_freqs) },
    { "filter-layer", offsetof(struct options, filter_layer) },
    { "alignment",    offsetof(struct options, alignment) },
    { "gguf-version", offsetof(struct options, version) },
    { "seed",         offsetof(struct options, seed) },
    { "split",        offsetof(struct options, n_parts) },
    { "rope-base",    offsetof(struct options, rope_base) },
    { "window",       offsetof(struct options, window) },
    { "linear",       offsetof(struct options, linear) },
    { "yarn",         offsetof(struct options, yarn) },
    { "longrope",     offsetof(struct options, longrope) },
    { "experts",      offsetof(struct options, experts) },
    { "used",         offsetof(struct options, used) },
    { "k-heads",      offsetof(struct options, k_heads) },
    { "v-heads",      offsetof(struct options, v_heads) },
    { "state-dim",    offsetof(struct options, state_dim) },
    { "sharing",      offsetof(struct options, sharing) },
    { "embd-layer",   offsetof(struct options, embd_layer) },
    { "nextn",        offsetof(struct options, nextn) },
    { "echo",         offsetof(struct options, echo) },
};

#define N_NUMBERS (sizeof numbers / sizeof *numbers)

static const char usage[] =
    "usage: mkmodel [--shape=NAME] [--arch=NAME] [--type=TYPE|mixed|q4_k_m|q5_k_m]\n"
    "               [--layers=N] [--embd=N] [--heads=N] [--heads-kv=N] [--head-dim=N]\n"
    "               [--ff=N] [--context=N] [--vocab=N] [--tied=0|1] [--rope-freqs=0|1]\n"
    "               [--rope-base=N] [--linear=FACTOR] [--yarn=FACTOR] [--longrope=CONTEXT]\n"
    "               [--window=N] [--experts=N] [--used=N]\n"
    "               [--k-heads=N] [--v-heads=N] [--state-dim=N] [--sharing=N] [--embd-layer=N] [--nextn=N]\n"
    "               [--echo=0|1]\n"
    "               [--filter-layer=N] [--alignment=N] [--gguf-version=2|3]\n"
    "               [--seed=N] [--split=PARTS] [--without=TENSOR] [--template=JINJA] [--break=NAME] FILE\n"
    "       mkmodel --list-breaks | --list-types\n"
    "shapes: tiny 1b 3b 7b 8b mistral-nemo-12b ministral-8b qwen2.5-7b qwen3-4b phi-3.5-mini\n"
    "        gemma-2-2b gemma-3-4b qwen3-30b-a3b qwen3.5-0.8b qwen3.5-2b qwen3.5-4b\n"
    "architectures: llama llama4 qwen2 qwen3 qwen3moe qwen35 qwen35moe qwen3next phi3 gemma2 gemma3 gemma4\n"
    "               smollm3 olmo2 mistral3 granite granitemoe granitehybrid glm4 exaone4 gpt-oss lfm2 lfm2moe\n";

void die(const char *fmt, ...)
{
    va_list ap;

    fputs("mkmodel: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    exit(1);
}

/* ---- vocabulary ---------------------------------------------------------------------- */
/* Byte-level BPE: 256 bytes, some merges, control tokens, and unused ones for the rest. */
enum { NORMAL = 1, CONTROL = 3, UNUSED = 5 };

static const char *const merges[] = {
    "t h", "th e", "i n", "e r", "a n", "o n", "r e", "a t", "e n", "o r", "in g", "an d",
    "\u0120 t", "\u0120 a", "\u0120 the", "\u0120 and", "\u0120 i", "\u0120 s", "\u0120 o",
    "\u010a \u010a",
};

static const char *const controls[] = { "<|begin_of_text|>", "<|im_start|>", "<|im_end|>" };

#define N_MERGES   (sizeof merges / sizeof *merges)
#define N_CONTROLS (sizeof controls / sizeof *controls)
#define FIRST_CONTROL (256 + (uint32_t)N_MERGES)
#define MIN_VOCAB     (FIRST_CONTROL + (uint32_t)N_CONTROLS)

static const char chatml[] =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
    "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}";

/* GPT-2 spells a byte as a printable character: the same in Latin-1, or one from U+0100 on. */
static void spell_byte(unsigned byte, char out[4])
{
    unsigned c = 0;

    for (unsigned b = 0, unprintable = 0; b <= byte; b++) {
        bool printable = (b >= 33 && b <= 126) || (b >= 161 && b != 173);

        c = printable ? b : 256 + unprintable++;
    }
    if (c < 128)
        snprintf(out, 4, "%c", (int)c);
    else
        snprintf(out, 4, "%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 63)));
}

static void add_vocabulary(struct file *f, const struct options *o)
{
    struct kv *tokens, *types, *list;
    char       text[64];

    add_str(f, "tokenizer.ggml.model", "gpt2");
    add_str(f, "tokenizer.ggml.pre", "qwen2");
    tokens = add_array(f, "tokenizer.ggml.tokens", GKV__STR);
    for (uint32_t id = 0; id < o->n_vocab; id++) {
        if (id < 256) {
            spell_byte(id, text);
        } else if (id < FIRST_CONTROL) {
            const char *m = merges[id - 256], *space = strchr(m, ' ');

            snprintf(text, sizeof text, "%.*s%s", (int)(space - m), m, space + 1);
        } else if (id < MIN_VOCAB) {
            snprintf(text, sizeof text, "%s", controls[id - FIRST_CONTROL]);
        } else {
            snprintf(text, sizeof text, "<|unused_%u|>", id);
        }
        append_str(tokens, text);
    }
    types = add_array(f, "tokenizer.ggml.token_type", GKV__I32);
    for (uint32_t id = 0; id < o->n_vocab; id++) {
        int32_t type = id < FIRST_CONTROL ? NORMAL : id < MIN_VOCAB ? CONTROL : UNUSED;

        append(types, &type, sizeof type);
    }
    list = add_array(f, "tokenizer.ggml.merges", GKV__STR);
    for (size_t i = 0; i < N_MERGES; i++)
        append_str(list, merges[i]);
    add_u32(f, "tokenizer.ggml.bos_token_id", FIRST_CONTROL);
    add_u32(f, "tokenizer.ggml.eos_token_id", FIRST_CONTROL + 2);
    add_bool(f, "tokenizer.ggml.add_bos_token", true);
    add_str(f, "tokenizer.chat_template", o->template ? o->template : chatml);
}

/* ---- the model ----------------------------------------------------------------------- */
static const struct arch *arch_of(const struct options *o)
{
    for (size_t i = 0; i < N_ARCHS; i++)
        if (!strcmp(archs[i].name, o->arch))
            return &archs[i];
    die("no architecture %s", o->arch);
}

/* The full name of a key of the architecture. */
static const char *key(const struct options *o, const char *name)
{
    static char full[96];

    snprintf(full, sizeof full, "%s.%s", o->arch, name);
    return full;
}

/* Whether a layer has something else in place of attention. */
static bool no_attention(const struct options *o, uint32_t il)
{
    const struct arch *a = arch_of(o);

    if (il >= o->n_layer)
        return false;
    return a->short_convs || a->mamba ? il % 2 == 0 : a->states && (il + 1) % PERIOD;
}

/* Whether a layer has a window, where the others have heads of another size. */
static bool is_near(const struct options *o, uint32_t il)
{
    return arch_of(o)->uneven && (il + 1) % (o->n_layer < 6 ? 2 : 6);
}

static uint32_t dim_of(const struct options *o, uint32_t il)
{
    return is_near(o, il) ? o->head_dim / 2 : o->head_dim;
}

/* Whether experts are beside the MLP. */
static bool has_beside(const struct options *o)
{
    return arch_of(o)->uneven && o->experts;
}

/* Whether a layer has no keys of its own. */
static bool shares(const struct options *o, uint32_t il)
{
    return il < o->n_layer && il + o->sharing >= o->n_layer;
}

static uint32_t heads_kv_of(const struct options *o, uint32_t il)
{
    const struct arch *a = arch_of(o);

    if (a->uneven && !is_near(o, il) && o->n_head_kv > 1)
        return o->n_head_kv / 2;
    return no_attention(o, il) ? 0 : o->n_head_kv;
}

/* How many KV heads there are in each layer, where some have none. */
static void add_heads_kv(struct file *f, const struct options *o)
{
    struct kv *list = add_array(f, key(o, "attention.head_count_kv"), GKV__U32);

    for (uint32_t il = 0; il < o->n_layer; il++) {
        const uint32_t n = heads_kv_of(o, il);

        append(list, &n, sizeof n);
    }
}

/* How many pairs turn with time, height and width, which are one in text; not every reader needs it. */
static void add_sections(struct file *f, const struct options *o)
{
    const uint32_t pairs = o->head_dim / 8, third = (pairs + 2) / 3;
    const uint32_t each[4] = { third, third, pairs - 2 * third, 0 };
    struct kv     *list = add_array(f, key(o, "rope.dimension_sections"), GKV__I32);

    for (size_t i = 0; i < 4; i++)
        append(list, &each[i], sizeof each[i]);
}

static void add_rope(struct file *f, const struct options *o)
{
    if (o->linear) {
        add_str(f, key(o, "rope.scaling.type"), "linear");
        add_f32(f, key(o, "rope.scaling.factor"), (float)o->linear);
    }
    if (o->yarn) {
        add_str(f, key(o, "rope.scaling.type"), "yarn");
        add_f32(f, key(o, "rope.scaling.factor"), (float)o->yarn);
        add_u32(f, key(o, "rope.scaling.original_context_length"), o->context / o->yarn);
    }
    if (o->longrope) {
        add_u32(f, key(o, "rope.scaling.original_context_length"), o->longrope);
        add_f32(f, key(o, "rope.scaling.attn_factor"), 1.190238f);
    }
}

static void add_metadata(struct file *f, const struct options *o)
{
    const struct arch *a = arch_of(o);
    char name[64];

    snprintf(name, sizeof name, "gemkv-random-%uL-%u-%s", o->n_layer, o->n_embd, o->type);
    add_str(f, "general.architecture", o->arch);
    add_str(f, "general.name", name);
    if (o->alignment != 32)
        add_u32(f, "general.alignment", o->alignment);
    add_u32(f, key(o, "block_count"), o->n_layer + o->nextn);
    if (o->nextn)
        add_u32(f, key(o, "nextn_predict_layers"), o->nextn);
    add_u32(f, key(o, "context_length"), o->context);
    add_u32(f, key(o, "embedding_length"), o->n_embd);
    add_u32(f, key(o, "feed_forward_length"), o->n_ff);
    add_u32(f, key(o, "attention.head_count"), o->n_head);
    if (a->short_convs || a->mamba || a->uneven)
        add_heads_kv(f, o);
    else
        add_u32(f, key(o, "attention.head_count_kv"), o->n_head_kv);
    add_u32(f, key(o, "attention.key_length"), o->head_dim);
    add_u32(f, key(o, "attention.value_length"), o->head_dim);
    add_f32(f, key(o, "attention.layer_norm_rms_epsilon"), 1e-5f);
    add_u32(f, key(o, "rope.dimension_count"), a->states ? o->head_dim / 4 : o->head_dim);
    add_f32(f, key(o, "rope.freq_base"), (float)(o->rope_base ? o->rope_base : a->rope_base));
    add_rope(f, o);
    add_u32(f, key(o, "vocab_size"), o->n_vocab);
    if (o->window)
        add_u32(f, key(o, "attention.sliding_window"), o->window);
    if (a->uneven) {
        add_u32(f, key(o, "attention.sliding_window_pattern"), o->n_layer < 6 ? 2 : 6);
        add_u32(f, key(o, "attention.key_length_swa"), o->head_dim / 2);
        add_u32(f, key(o, "attention.value_length_swa"), o->head_dim / 2);
        add_u32(f, key(o, "rope.dimension_count_swa"), o->head_dim / 2);
        add_f32(f, key(o, "final_logit_softcapping"), 30);
        add_u32(f, key(o, "attention.shared_kv_layers"), o->sharing);
        add_u32(f, key(o, "embedding_length_per_layer_input"), o->embd_layer);
    }
    if (a->experts || has_beside(o)) {
        add_u32(f, key(o, "expert_count"), o->experts);
        add_u32(f, key(o, "expert_used_count"), o->used);
        add_u32(f, key(o, "expert_feed_forward_length"), o->n_ff);
    }
    if (a->states || a->mamba) {
        add_u32(f, key(o, "ssm.conv_kernel"), CONVOLUTION);
        add_u32(f, key(o, "ssm.state_size"), o->state_dim);
        add_u32(f, key(o, "ssm.group_count"), o->k_heads);
        add_u32(f, key(o, "ssm.time_step_rank"), o->v_heads);
        add_u32(f, key(o, "ssm.inner_size"), o->v_heads * o->state_dim);
    }
    if (a->states) {
        add_u32(f, key(o, "full_attention_interval"), PERIOD);
        add_sections(f, o);
    }
    if (a->mamba)
        add_bool(f, key(o, "rope.scaling.finetuned"), false);
    if (a->short_convs)
        add_u32(f, key(o, "shortconv.l_cache"), CONVOLUTION);
    if (a->caps) {
        add_f32(f, key(o, "attn_logit_softcapping"), 50);
        add_f32(f, key(o, "final_logit_softcapping"), 30);
    }
    if (a->shared && !a->states)
        add_u32(f, key(o, "interleave_moe_layer_step"), 1);
    if (a->scales) {
        add_f32(f, key(o, "embedding_scale"), 12);
        add_f32(f, key(o, "residual_scale"), 0.22f);
        add_f32(f, key(o, "attention.scale"), 0.25f);
        add_f32(f, key(o, "logit_scale"), 8);
    }
    if (!strcmp(a->name, "mistral3") && o->yarn)
        add_f32(f, key(o, "attention.temperature_scale"), 0.1f);
    if (o->filter_layer != NONE)
        add_u32(f, "gemkv.filter_layer", o->filter_layer);
    add_vocabulary(f, o);
}

/* Whether llama-quantize spends more bits on this layer. */
static bool more_bits(uint32_t il, uint32_t n)
{
    return il < n / 8 || il >= 7 * n / 8 || (il - n / 8) % 3 == 2;
}

/* The type that llama-quantize uses for a tensor of architecture llama in Q4_K_M and Q5_K_M. */
static const char *mixture(const struct options *o, const char *name)
{
    uint32_t il = 0;
    char     part[32] = "";

    sscanf(name, "blk.%u.%31[^.]", &il, part);
    if (!strcmp(name, o->tied ? "token_embd.weight" : "output.weight") ||
        ((!strcmp(part, "attn_v") || !strcmp(part, "ffn_down")) && more_bits(il, o->n_layer)))
        return "q6_k";
    return strcmp(o->type, "q4_k_m") ? "q5_k" : "q4_k";
}

/* The type that llama-quantize uses instead if a row is not whole blocks. */
static const struct gkv__quant *fall_back(const struct gkv__quant *q, uint64_t n_in)
{
    static const struct { enum gkv__type from, to; } rows[] = {
        { GKV__TYPE_Q2_K, GKV__TYPE_IQ4_NL }, { GKV__TYPE_Q3_K, GKV__TYPE_IQ4_NL },
        { GKV__TYPE_Q4_K, GKV__TYPE_Q5_0 },   { GKV__TYPE_Q5_K, GKV__TYPE_Q5_1 },
        { GKV__TYPE_Q6_K, GKV__TYPE_Q8_0 },   { GKV__TYPE_IQ4_XS, GKV__TYPE_IQ4_NL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows && n_in % q->block; i++)
        if (rows[i].from == q->type)
            q = gkv__quant_of(rows[i].to);
    return n_in % q->block ? gkv__quant_of(GKV__TYPE_F16) : q;
}

/* The type of a matrix with rows of n_in. */
static const struct gkv__quant *format_of(const struct options *o, const struct file *f,
                                          uint64_t n_in, const char *name)
{
    static const char *const mix[] = { "q8_0", "q4_0", "f16", "bf16", "f32" };
    const char              *type = o->type;
    const struct gkv__quant *q;

    if (!strcmp(type, "mixed"))
        type = mix[f->n_tensors % 5];
    else if (!strcmp(type, "q4_k_m") || !strcmp(type, "q5_k_m"))
        type = mixture(o, name);
    q = gkv__quant_named(type);
    if (!q || q->type == GKV__TYPE_NONE)
        die("cannot write type %s", o->type);
    return fall_back(q, n_in);
}

static void add_matrix(struct file *f, const struct options *o, float deviation,
                       uint32_t n_out, uint32_t n_in, const char *name)
{
    if (o->echo && (strstr(name, "attn_output") || strstr(name, "ssm_out") || strstr(name, "ffn_down")))
        deviation = 0;
    add_tensor(f, format_of(o, f, n_in, name), RANDOM, deviation, n_out, n_in, "%s", name);
}

static float root(float x)                      /* not sqrtf, which needs -lm */
{
    float y = x < 1 ? 1 : x;

    for (int i = 0; i < 64; i++)
        y = (y + x / y) / 2;
    return y;
}

/* fill: AROUND_ONE for norms, RANDOM for biases. */
static void add_vector(struct file *f, enum fill fill, uint32_t n, uint32_t il, const char *what)
{
    add_tensor(f, gkv__quant_named("f32"), fill, 0.3f, 1, n, "blk.%u.%s", il, what);
}

static void add_vectors(struct file *f, uint32_t rows, uint32_t n, uint32_t il, const char *what)
{
    add_tensor(f, gkv__quant_named("f32"), RANDOM, 0.3f, rows, n, "blk.%u.%s", il, what);
}

enum { ATTENTION = 4 };                         /* the first of the matrices below */

/* Deviations follow the oracle's generator: peaked attention (scores with a deviation of about 2), and
 * layers that add little to the residual stream, so that it does not grow without limit.  With tied
 * embeddings, logits must not be dominated by the input token itself. */
static void add_matrices(struct file *f, const struct options *o, const struct arch *a, uint32_t il)
{
    const bool     fused = a->fused;
    const uint32_t d = o->n_embd, q = o->n_head * dim_of(o, il), kv = heads_kv_of(o, il) * dim_of(o, il);
    const float    in = 1 / root((float)d), gain = o->tied ? 9 : 1;
    const struct { const char *name; uint32_t n_out, n_in; float deviation; } mats[] = {
        { "attn_q", a->states ? 2 * q : q, d, 1.48f * in },
        { "attn_k", kv, d, 1.48f * in },        { "attn_v", kv, d, in },
        { "attn_output", d, q, gain * 0.5f / root((float)q) },
        { "ffn_gate", o->n_ff, d, in },         { "ffn_up", o->n_ff, d, in },
        { "ffn_down", d, o->n_ff, gain * 0.4f / root((float)o->n_ff) },
    }, whole[] = {
        { "attn_qkv", q + 2 * kv, d, 1.3f * in },
        { "attn_output", d, q, gain * 0.5f / root((float)q) },
        { "ffn_up", 2 * o->n_ff, d, in },
        { "ffn_down", d, o->n_ff, gain * 0.4f / root((float)o->n_ff) },
    };
    const size_t n = a->gate_up ? ATTENTION + 2 : fused ? sizeof whole / sizeof *whole
                           : a->experts ? ATTENTION : sizeof mats / sizeof *mats;

    for (size_t i = no_attention(o, il) ? ATTENTION : 0; i < n; i++) {
        const size_t at = a->gate_up && i >= ATTENTION ? i - ATTENTION + 2 : i;
        const bool in_whole = fused || at != i;
        char name[64];

        if (a->uneven && !is_near(o, il) && !strcmp(mats[i].name, "attn_v"))
            continue;
        if (shares(o, il) && (!strcmp(mats[i].name, "attn_k") || !strcmp(mats[i].name, "attn_v")))
            continue;
        snprintf(name, sizeof name, "blk.%u.%s.weight", il, (in_whole ? whole : mats)[at].name);
        add_matrix(f, o, (in_whole ? whole : mats)[at].deviation, (in_whole ? whole : mats)[at].n_out,
                   (in_whole ? whole : mats)[at].n_in, name);
    }
}

/* The matrices of all experts, one after the other, as a tensor of three dimensions. */
static void add_experts(struct file *f, const struct options *o, uint32_t il)
{
    static const char *const names[] = { "gate", "up", "down" };
    const uint32_t d = o->n_embd;

    add_tensor(f, gkv__quant_named("f32"), RANDOM, 1 / root((float)d), o->experts, d,
               "blk.%u.ffn_gate_inp.weight", il);
    for (size_t i = 0; i < 3; i++) {
        const uint32_t n_in = i < 2 ? d : o->n_ff, n_out = i < 2 ? o->n_ff : d;
        struct tensor *t;
        char           name[64];

        snprintf(name, sizeof name, "blk.%u.ffn_%s_exps.weight", il, names[i]);
        add_matrix(f, o, 1 / root((float)n_in), o->experts * n_out, n_in, name);
        t = find_tensor(f, name);
        t->n_dims = 3;
        t->dim[1] = n_out;
        t->dim[2] = o->experts;
    }
}

/* A layer with a state in place of attention, and its MLP. */
static void add_state(struct file *f, const struct options *o, const struct arch *a, uint32_t il)
{
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    const uint32_t d = o->n_embd, v = o->v_heads * o->state_dim, n = 2 * o->k_heads * o->state_dim + v;
    const float    in = 1 / root((float)d), gain = o->tied ? 9 : 1;
    const struct { const char *name; uint32_t n_out, n_in; float deviation; } mats[] = {
        { "attn_qkv", n, d, in },               { "attn_gate", v, d, in },
        { "ssm_out", d, v, gain * 0.5f / root((float)v) },
        { a->one_ba ? "ssm_ba" : "ssm_beta", a->one_ba ? 2 * o->v_heads : o->v_heads, d, in },
        { a->one_ba ? NULL : "ssm_alpha", o->v_heads, d, in },
        { a->experts ? NULL : "ffn_gate", o->n_ff, d, in },
        { a->experts ? NULL : "ffn_up", o->n_ff, d, in },
        { a->experts ? NULL : "ffn_down", d, o->n_ff, gain * 0.4f / root((float)o->n_ff) },
    };

    for (size_t i = 0; i < sizeof mats / sizeof *mats; i++) {
        char name[64];

        if (!mats[i].name)
            continue;
        snprintf(name, sizeof name, "blk.%u.%s.weight", il, mats[i].name);
        add_matrix(f, o, mats[i].deviation, mats[i].n_out, mats[i].n_in, name);
    }
    add_tensor(f, f32, RANDOM, 0.5f, n, CONVOLUTION, "blk.%u.ssm_conv1d.weight", il);
    add_vector(f, RANDOM, o->v_heads, il, "ssm_dt.bias");
    add_tensor(f, f32, MINUS, 0, 1, o->v_heads, "blk.%u.ssm_a", il);
    add_vector(f, AROUND_ONE, o->state_dim, il, "ssm_norm.weight");
}

static void add_short_convolution(struct file *f, const struct options *o, uint32_t il)
{
    const uint32_t d = o->n_embd;
    char           name[64];

    snprintf(name, sizeof name, "blk.%u.shortconv.in_proj.weight", il);
    add_matrix(f, o, 1 / root((float)d), 3 * d, d, name);
    snprintf(name, sizeof name, "blk.%u.shortconv.out_proj.weight", il);
    add_matrix(f, o, 0.5f / root((float)d), d, d, name);
    add_tensor(f, gkv__quant_named("f32"), RANDOM, 0.5f, d, CONVOLUTION, "blk.%u.shortconv.conv.weight", il);
}

static void add_mamba(struct file *f, const struct options *o, uint32_t il)
{
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    const uint32_t d = o->n_embd, v = o->v_heads * o->state_dim, n = 2 * o->k_heads * o->state_dim + v;
    char           name[64];

    snprintf(name, sizeof name, "blk.%u.ssm_in.weight", il);
    add_matrix(f, o, 1 / root((float)d), v + n + o->v_heads, d, name);
    snprintf(name, sizeof name, "blk.%u.ssm_out.weight", il);
    add_matrix(f, o, 0.5f / root((float)v), d, v, name);
    add_tensor(f, f32, RANDOM, 0.5f, n, CONVOLUTION, "blk.%u.ssm_conv1d.weight", il);
    add_vector(f, RANDOM, n, il, "ssm_conv1d.bias");
    add_vector(f, RANDOM, o->v_heads, il, "ssm_dt.bias");
    add_tensor(f, f32, MINUS, 0, o->v_heads, 1, "blk.%u.ssm_a", il);
    add_tensor(f, f32, AROUND_ONE, 0, o->v_heads, 1, "blk.%u.ssm_d", il);
    add_tensor(f, f32, AROUND_ONE, 0, o->k_heads, v / o->k_heads, "blk.%u.ssm_norm.weight", il);
}

/* One more expert, for all rows. */
static void add_shared(struct file *f, const struct options *o, uint32_t il)
{
    static const char *const names[] = { "gate", "up", "down" };

    if (arch_of(o)->states)
        add_vector(f, RANDOM, o->n_embd, il, "ffn_gate_inp_shexp.weight");
    for (size_t i = 0; i < 3; i++) {
        const uint32_t n_in = i < 2 ? o->n_embd : o->n_ff, n_out = i < 2 ? o->n_ff : o->n_embd;
        char           name[64];

        snprintf(name, sizeof name, "blk.%u.ffn_%s_shexp.weight", il, names[i]);
        add_matrix(f, o, 1 / root((float)n_in), n_out, n_in, name);
    }
}

static void add_own_embeddings(struct file *f, const struct options *o, uint32_t il)
{
    const uint32_t d = o->n_embd, n = o->embd_layer;
    char           name[64];

    snprintf(name, sizeof name, "blk.%u.inp_gate.weight", il);
    add_matrix(f, o, 1 / root((float)d), n, d, name);
    snprintf(name, sizeof name, "blk.%u.proj.weight", il);
    add_matrix(f, o, 1 / root((float)n), d, n, name);
    add_vector(f, AROUND_ONE, d, il, "post_norm.weight");
}

static void add_layer(struct file *f, const struct options *o, uint32_t il)
{
    const struct arch *a = arch_of(o);
    const uint32_t     d = o->n_embd, q = o->n_head * o->head_dim, kv = o->n_head_kv * o->head_dim;

    if (!a->no_pre_norms)
        add_vector(f, AROUND_ONE, d, il, "attn_norm.weight");
    if (a->states)
        add_vector(f, AROUND_ONE, d, il, "post_attention_norm.weight");
    if (a->states && no_attention(o, il))
        add_state(f, o, a, il);
    else
        add_matrices(f, o, a, il);
    if (a->short_convs && no_attention(o, il))
        add_short_convolution(f, o, il);
    if (a->mamba && no_attention(o, il))
        add_mamba(f, o, il);
    if (a->experts)
        add_experts(f, o, il);
    if (a->shared)
        add_shared(f, o, il);
    if (no_attention(o, il)) {
        if (!a->states)
            add_vector(f, AROUND_ONE, d, il, "ffn_norm.weight");
        return;
    }
    if (a->biases) {
        add_vector(f, RANDOM, q, il, "attn_q.bias");
        add_vector(f, RANDOM, kv, il, "attn_k.bias");
        add_vector(f, RANDOM, kv, il, "attn_v.bias");
    }
    if (a->gpt_oss) {
        add_vector(f, RANDOM, d, il, "attn_output.bias");
        add_vector(f, RANDOM, o->n_head, il, "attn_sinks.weight");
        add_vector(f, RANDOM, o->experts, il, "ffn_gate_inp.bias");
        add_vectors(f, o->experts, o->n_ff, il, "ffn_gate_exps.bias");
        add_vectors(f, o->experts, o->n_ff, il, "ffn_up_exps.bias");
        add_vectors(f, o->experts, d, il, "ffn_down_exps.bias");
    }
    if (a->qk_norms) {
        add_vector(f, AROUND_ONE, a->norm_rows ? q : dim_of(o, il), il, "attn_q_norm.weight");
        if (!shares(o, il))
            add_vector(f, AROUND_ONE, a->norm_rows ? kv : dim_of(o, il), il, "attn_k_norm.weight");
    }
    if (a->uneven)
        add_vector(f, AROUND_ONE, 1, il, "layer_output_scale.weight");
    if (o->embd_layer)
        add_own_embeddings(f, o, il);
    if (has_beside(o)) {
        add_experts(f, o, il);
        add_vector(f, AROUND_ONE, d, il, "ffn_gate_inp.scale");
        add_vector(f, AROUND_ONE, o->experts, il, "ffn_down_exps.scale");
        add_vector(f, AROUND_ONE, d, il, "pre_ffw_norm_2.weight");
        add_vector(f, AROUND_ONE, d, il, "post_ffw_norm_1.weight");
        add_vector(f, AROUND_ONE, d, il, "post_ffw_norm_2.weight");
    }
    if (a->post_norms) {
        add_vector(f, AROUND_ONE, d, il, "post_attention_norm.weight");
        add_vector(f, AROUND_ONE, d, il, "post_ffw_norm.weight");
    }
    if (!a->states && !a->no_pre_norms)
        add_vector(f, AROUND_ONE, d, il, a->gpt_oss ? "post_attention_norm.weight" : "ffn_norm.weight");
}

/* A layer that predicts a further token. */
static void add_further(struct file *f, const struct options *o, uint32_t il)
{
    const uint32_t d = o->n_embd;
    char           name[64];

    add_layer(f, o, il);
    snprintf(name, sizeof name, "blk.%u.nextn.eh_proj.weight", il);
    add_matrix(f, o, 1 / root((float)(2 * d)), d, 2 * d, name);
    if (o->echo)
        find_tensor(f, name)->fill = DIAGONAL;
    add_vector(f, o->echo ? ONES : AROUND_ONE, d, il, "nextn.enorm.weight");
    add_vector(f, AROUND_ONE, d, il, "nextn.hnorm.weight");
    if (o->echo)
        return;
    add_vector(f, AROUND_ONE, d, il, "nextn.shared_head_norm.weight");
    for (size_t i = 0; arch_of(o)->own_head && i < 2; i++) {
        snprintf(name, sizeof name, "blk.%u.nextn.%s.weight", il, i ? "shared_head_head" : "embed_tokens");
        add_matrix(f, o, i ? 4 / root((float)d) : 1, o->n_vocab, d, name);
    }
}

static void add_tensors(struct file *f, const struct options *o)
{
    const struct gkv__quant *f32 = gkv__quant_named("f32");
    const uint32_t           d = o->n_embd;
    const char              *out = arch_of(o)->output_norm;

    add_matrix(f, o, 1, o->n_vocab, d, "token_embd.weight");
    add_tensor(f, f32, AROUND_ONE, 0, 1, d, "%s", out ? out : "output_norm.weight");
    if (!o->tied)
        add_matrix(f, o, (o->echo ? 16 : 4) / root((float)d), o->n_vocab, d, "output.weight");  /* one token is likely */
    if (o->rope_freqs || arch_of(o)->uneven)
        add_tensor(f, f32, RAMP, 0, 1, o->head_dim / 2, "rope_freqs.weight");
    if (o->longrope) {
        add_tensor(f, f32, AROUND_ONE, 0, 1, o->head_dim / 2, "rope_factors_short.weight");
        add_tensor(f, f32, RAMP, 0, 1, o->head_dim / 2, "rope_factors_long.weight");
    }
    if (o->embd_layer) {
        add_matrix(f, o, 1 / root((float)o->embd_layer), o->n_vocab, o->embd_layer * o->n_layer,
                   "per_layer_token_embd.weight");
        add_matrix(f, o, 1, o->embd_layer * o->n_layer, d, "per_layer_model_proj.weight");
        add_tensor(f, f32, AROUND_ONE, 0, 1, o->embd_layer, "per_layer_proj_norm.weight");
    }
    for (uint32_t il = 0; il < o->n_layer; il++)
        add_layer(f, o, il);
    for (uint32_t il = o->n_layer; il < o->n_layer + o->nextn; il++)
        add_further(f, o, il);
}

/* ---- options ------------------------------------------------------------------------- */
static uint32_t number(const char *name, const char *text)
{
    char         *end;
    unsigned long v = strtoul(text, &end, 10);

    if (*text < '0' || *text > '9' || *end || v >= NONE)
        die("--%s: expected a number, found %s", name, text);
    return (uint32_t)v;
}

static void set_shape(struct options *o, const char *name)
{
    for (size_t i = 0; i < N_SHAPES; i++)
        if (!strcmp(shapes[i].name, name)) {
            *o = shapes[i].o;
            o->type = "f16";
            o->arch = o->arch ? o->arch : "llama";
            o->version = 3;
            o->alignment = 32;
            o->filter_layer = NONE;
            o->seed = 1;
            return;
        }
    die("no shape %s", name);
}

/* --shape is applied first, wherever it is: it sets defaults for the others. */
static const char *parse(struct options *o, int argc, char **argv, const char **damage)
{
    enum { SHAPE = N_NUMBERS, TYPE, ARCH, BREAK, WITHOUT, TEMPLATE, LIST, LIST_TYPES };
    struct option rows[N_NUMBERS + 9] = {
        [SHAPE] = { "shape", required_argument, NULL, SHAPE },
        [TYPE]  = { "type", required_argument, NULL, TYPE },
        [ARCH]  = { "arch", required_argument, NULL, ARCH },
        [BREAK] = { "break", required_argument, NULL, BREAK },
        [WITHOUT] = { "without", required_argument, NULL, WITHOUT },
        [TEMPLATE] = { "template", required_argument, NULL, TEMPLATE },
        [LIST]  = { "list-breaks", no_argument, NULL, LIST },
        [LIST_TYPES] = { "list-types", no_argument, NULL, LIST_TYPES },
    };
    int c;

    for (size_t i = 0; i < N_NUMBERS; i++)
        rows[i] = (struct option){ numbers[i].name, required_argument, NULL, (int)i };
    set_shape(o, "tiny");
    for (int pass = 0; pass < 2; pass++) {
        optind = 1;
        while ((c = getopt_long(argc, argv, "", rows, NULL)) != -1) {
            if (c == '?') {
                fputs(usage, stderr);
                exit(2);
            }
            if (c == LIST) {
                list_breaks();
                exit(0);
            }
            if (c == LIST_TYPES) {
                for (int t = 0; t < GKV__N_TYPES; t++)
                    puts(gkv__quant_of((enum gkv__type)t)->name);
                exit(0);
            }
            if (pass == 0 && c == SHAPE)
                set_shape(o, optarg);
            if (pass == 0)
                continue;
            if (c == TYPE)
                o->type = optarg;
            else if (c == ARCH)
                o->arch = optarg;
            else if (c == BREAK)
                *damage = optarg;
            else if (c == WITHOUT)
                o->without = optarg;
            else if (c == TEMPLATE)
                o->template = optarg;
            else if (c < (int)N_NUMBERS)
                *(uint32_t *)(void *)((char *)o + numbers[c].at) =
                    number(numbers[c].name, optarg);
        }
    }
    if (optind != argc - 1) {
        fputs(usage, stderr);
        exit(2);
    }
    return argv[optind];
}

int main(int argc, char **argv)
{
    struct options o;
    struct file    f = { .magic = "GGUF" };
    const char    *damage = NULL;
    const char    *path = parse(&o, argc, argv, &damage);

    if (!o.experts && !arch_of(&o)->uneven) {
        o.experts = 4;
        o.used = 2;
    }
    if (!o.window && arch_of(&o)->uneven)
        o.window = 512;
    if (!o.v_heads) {
        o.k_heads = 2;
        o.v_heads = 4;
        o.state_dim = 16;
    }
    if (!o.n_vocab)
        o.n_vocab = MIN_VOCAB;
    if (o.n_vocab < MIN_VOCAB)
        die("the vocabulary needs at least %u tokens", MIN_VOCAB);
    if (!o.n_layer || !o.n_embd || !o.n_head || !o.n_head_kv || !o.head_dim || !o.n_ff)
        die("empty shape");
    if (o.alignment < 8 || o.alignment > 65536 || (o.alignment & (o.alignment - 1)))
        die("--alignment: expected a power of two from 8 to 65536");
    f.version = o.version;
    f.alignment = o.alignment;
    f.seed = o.seed;
    add_metadata(&f, &o);
    add_tensors(&f, &o);
    if (o.without)
        find_tensor(&f, o.without)->hidden = true;
    if (damage && !break_file(&f, o.arch, damage))
        die("no damage %s; see --list-breaks", damage);
    if (o.n_parts)
        write_parts(&f, path, o.n_parts);
    else
        write_file(&f, path);
    for (size_t i = 0; i < f.n_kv; i++)
        free(f.kv[i].data);
    free(f.kv);
    free(f.tensor);
    return 0;
}
