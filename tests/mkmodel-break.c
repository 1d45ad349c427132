/* SPDX-License-Identifier: BSD-2-Clause
 * mkmodel-break.c - damages models, one kind of damage per row.  tests/files/README has --list-breaks. */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/mkmodel.h"

#define P40 ((uint64_t)1 << 40)
#define P62 ((uint64_t)1 << 62)
#define P63 ((uint64_t)1 << 63)

/* ---- edits --------------------------------------------------------------------------- */
/* Each edit takes the file, a name (of a key or a tensor) and a number; comments say what they mean. */
typedef void edit(struct file *f, const char *name, uint64_t n);

static struct kv *emptied(struct file *f, const char *key, uint32_t type)
{
    struct kv *kv = NULL;

    for (size_t i = 0; i < f->n_kv; i++)
        if (!strcmp(f->kv[i].key, key))
            kv = &f->kv[i];
    if (!kv)
        kv = add_kv(f, type, key);
    kv->type = type;
    kv->bytes = 0;
    kv->n = 0;
    return kv;
}

static void version(struct file *f, const char *name, uint64_t n)
{
    (void)name;
    f->version = (uint32_t)n;
}

static void magic(struct file *f, const char *name, uint64_t n)
{
    (void)n;
    memcpy(f->magic, name, 4);
}

static void cut(struct file *f, const char *name, uint64_t n)
{
    (void)name;
    f->cut = (enum cut)n;
}

static void count_kv(struct file *f, const char *name, uint64_t n)
{
    (void)name;
    f->more_kv = n - f->n_kv;
}

static void count_tensors(struct file *f, const char *name, uint64_t n)
{
    (void)name;
    f->more_tensors = n - f->n_tensors;
}

static void more_kv(struct file *f, const char *name, uint64_t n)
{
    (void)name;
    f->more_kv = n;
}

static void more_tensors(struct file *f, const char *name, uint64_t n)
{
    (void)name;
    f->more_tensors = n;
}

/* metadata */
static void set_u32(struct file *f, const char *key, uint64_t n)
{
    uint32_t v = (uint32_t)n;

    append(emptied(f, key, GKV__U32), &v, sizeof v);
}

/* key: "....key_length"; sets "....value_length", too. */
static void set_both_lengths(struct file *f, const char *key, uint64_t n)
{
    char values[96];

    snprintf(values, sizeof values, "%.*s.value_length", (int)(strrchr(key, '.') - key), key);
    set_u32(f, key, n);
    set_u32(f, values, n);
}

static void set_i32(struct file *f, const char *key, uint64_t n)
{
    uint32_t v = (uint32_t)n;

    append(emptied(f, key, GKV__I32), &v, sizeof v);
}

static void set_u64(struct file *f, const char *key, uint64_t n)
{
    append(emptied(f, key, GKV__U64), &n, sizeof n);
}

static void set_f32(struct file *f, const char *key, uint64_t bits)
{
    uint32_t v = (uint32_t)bits;

    append(emptied(f, key, GKV__F32), &v, sizeof v);
}

static void set_bool(struct file *f, const char *key, uint64_t n)
{
    append(emptied(f, key, GKV__BOOL), &n, 1);
}

/* "KEY=VALUE" */
static void set_str(struct file *f, const char *text, uint64_t n)
{
    const char *equals = strchr(text, '=');
    char        key[96];

    (void)n;
    snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
    append_str(emptied(f, key, GKV__STR), equals + 1);
}

static void drop(struct file *f, const char *key, uint64_t n)
{
    struct kv *kv = find_kv(f, key);

    (void)n;
    free(kv->data);
    memmove(kv, kv + 1, (size_t)(&f->kv[--f->n_kv] - kv) * sizeof *kv);
}

static void key_length(struct file *f, const char *key, uint64_t n)
{
    find_kv(f, key)->key_n = n;
}

static void value_type(struct file *f, const char *key, uint64_t n)
{
    find_kv(f, key)->type = (uint32_t)n;
}

static void element_type(struct file *f, const char *key, uint64_t n)
{
    find_kv(f, key)->elements = (uint32_t)n;
}

static void array_count(struct file *f, const char *key, uint64_t n)
{
    find_kv(f, key)->n = n;
}

/* Sets the length of a string, or of the first string in an array. */
static void string_length(struct file *f, const char *key, uint64_t n)
{
    memcpy(find_kv(f, key)->data, &n, sizeof n);
}

static void key_twice(struct file *f, const char *key, uint64_t n)
{
    add_u32(f, key, (uint32_t)n);
}

/* tensors */
static void name_length(struct file *f, const char *name, uint64_t n)
{
    find_tensor(f, name)->name_n = n;
}

static void n_dims(struct file *f, const char *name, uint64_t n)
{
    find_tensor(f, name)->n_dims = (uint32_t)n;
}

static void dim0(struct file *f, const char *name, uint64_t n)
{
    find_tensor(f, name)->dim[0] = n;
}

static void dim1(struct file *f, const char *name, uint64_t n)
{
    find_tensor(f, name)->dim[1] = n;
}

static void both_dims(struct file *f, const char *name, uint64_t n)
{
    dim0(f, name, n);
    dim1(f, name, n);
}

static void transpose(struct file *f, const char *name, uint64_t n)
{
    struct tensor *t = find_tensor(f, name);

    n = t->dim[0];
    t->dim[0] = t->dim[1];
    t->dim[1] = n;
}

static void tensor_type(struct file *f, const char *name, uint64_t n)
{
    find_tensor(f, name)->ggml = (uint32_t)n;
}

static void q8_0_rows_of_33(struct file *f, const char *name, uint64_t n)
{
    tensor_type(f, name, 8);
    dim0(f, name, n);
}

static void offset(struct file *f, const char *name, uint64_t n)
{
    struct tensor *t = find_tensor(f, name);

    t->forced = true;
    t->offset = n;
}

static void hide(struct file *f, const char *name, uint64_t n)
{
    (void)n;
    find_tensor(f, name)->hidden = true;
}

/* Adds one more tensor of that name, with n elements. */
static void add(struct file *f, const char *name, uint64_t n)
{
    add_tensor(f, gkv__quant_named("f32"), AROUND_ONE, 0, 1, n, "%s", name);
}

static void as_f16(struct file *f, const char *name, uint64_t n)
{
    struct tensor *t = find_tensor(f, name);

    (void)n;
    t->format = gkv__quant_named("f16");
    t->ggml = t->format->ggml;
}

/* Adds rope_freqs.weight with n elements of zero. */
static void zero_freqs(struct file *f, const char *name, uint64_t n)
{
    add_tensor(f, gkv__quant_named("f32"), RANDOM, 0, 1, n, "%s", name);
}

/* Sets the keys of a part; n = part + 256 * parts. */
static void part_of(struct file *f, const char *name, uint64_t n)
{
    (void)name;
    add_u32(f, "split.no", (uint32_t)n & 255);
    add_u32(f, "split.count", (uint32_t)n >> 8);
}

/* vocabulary */
static void more_tokens(struct file *f, const char *text, uint64_t n)
{
    struct kv    *tokens = find_kv(f, "tokenizer.ggml.tokens");
    struct kv    *types = find_kv(f, "tokenizer.ggml.token_type");
    const int32_t unused = 5;

    for (uint64_t i = 0; i < n; i++) {
        append_str(tokens, text);
        append(types, &unused, sizeof unused);
    }
}

static void one_more_type(struct file *f, const char *key, uint64_t n)
{
    int32_t type = (int32_t)n;

    append(find_kv(f, key), &type, sizeof type);
}

static void one_more_string(struct file *f, const char *text, uint64_t n)
{
    (void)n;
    append_str(find_kv(f, "tokenizer.ggml.merges"), text);
}

/* Makes the token of byte n, printable, the same as another one. */
static void respell_byte(struct file *f, const char *text, uint64_t n)
{
    struct kv *tokens = find_kv(f, "tokenizer.ggml.tokens");
    uint8_t   *p = tokens->data;

    for (uint64_t i = 0, bytes; i < n; i++, p += 8 + bytes)
        memcpy(&bytes, p, sizeof bytes);
    p[8] = (uint8_t)*text;
}

/* ---- the list ------------------------------------------------------------------------ */
/* Which code must notice: the reader of GGUF files, the binding of a model, or the tokenizer.  An
 * unsupported kind of tokenizer is refused only when the vocabulary is needed. */
#define FORMAT      "GKV_FORMAT"
#define UNSUPPORTED "GKV_UNSUPPORTED"
#define GGUF        "gguf"
#define MODEL       "model"
#define VOCAB       "vocab"

#define EMBD  "token_embd.weight"
#define NORM  "output_norm.weight"
#define DOWN  "blk.1.ffn_down.weight"
#define NAN32 0x7fc00000

static const struct {
    const char *name, *status, *who, *sentence;
    edit       *apply;
    const char *what;
    uint64_t    n;
} breaks[] = {
    /* header */
    { "magic", FORMAT, GGUF, "The first four bytes are not GGUF.",
      magic, "GGUX", 0 },
    { "magic-ggml", FORMAT, GGUF, "A GGML file from before GGUF.",
      magic, "tjgg", 0 },
    { "version-0", UNSUPPORTED, GGUF, "Version 0.",
      version, NULL, 0 },
    { "version-1", UNSUPPORTED, GGUF, "Version 1, whose counts have 32 bits.",
      version, NULL, 1 },
    { "version-99", UNSUPPORTED, GGUF, "A version of the future.",
      version, NULL, 99 },
    { "big-endian", UNSUPPORTED, GGUF, "Version 3, but big-endian.",
      version, NULL, 3u << 24 },
    { "cut-all", FORMAT, GGUF, "An empty file.",
      cut, NULL, CUT_ALL },
    { "cut-magic", FORMAT, GGUF, "Ends inside the magic.",
      cut, NULL, CUT_MAGIC },
    { "cut-header", FORMAT, GGUF, "Ends inside the counts.",
      cut, NULL, CUT_HEADER },
    { "cut-metadata", FORMAT, GGUF, "Ends inside the last value.",
      cut, NULL, CUT_METADATA },
    { "cut-infos", FORMAT, GGUF, "Ends inside the last tensor's entry.",
      cut, NULL, CUT_INFOS },
    { "cut-data", FORMAT, GGUF, "Ends where the tensor data begin.",
      cut, NULL, CUT_DATA },
    { "cut-last-byte", FORMAT, GGUF, "Lacks the last byte of the last tensor.",
      cut, NULL, CUT_LAST_BYTE },
    { "kv-count-2^40", FORMAT, GGUF, "Claims 2^40 metadata keys.",
      count_kv, NULL, P40 },
    { "kv-count-2^63", FORMAT, GGUF, "Claims 2^63 metadata keys.",
      count_kv, NULL, P63 },
    { "kv-count-more", FORMAT, GGUF, "Claims one key more than it has.",
      more_kv, NULL, 1 },
    { "kv-count-less", FORMAT, GGUF, "Claims one key less than it has.",
      more_kv, NULL, UINT64_MAX },
    { "tensor-count-2^40", FORMAT, GGUF, "Claims 2^40 tensors.",
      count_tensors, NULL, P40 },
    { "tensor-count-2^63", FORMAT, GGUF, "Claims 2^63 tensors.",
      count_tensors, NULL, P63 },
    { "tensor-count-more", FORMAT, GGUF, "Claims more tensors than it has.",
      more_tensors, NULL, 9 },
    /* metadata */
    { "key-2^63", FORMAT, GGUF, "A key of 2^63 bytes.",
      key_length, "general.name", P63 },
    { "key-long", FORMAT, GGUF, "A key of 70000 bytes.",
      key_length, "general.name", 70000 },
    { "key-twice", FORMAT, GGUF, "A key that occurs twice.",
      key_twice, "llama.block_count", 4 },
    { "string-2^63", FORMAT, GGUF, "A string of 2^63 bytes.",
      string_length, "general.name", P63 },
    { "string-2^64-1", FORMAT, GGUF, "A string of 2^64 - 1 bytes.",
      string_length, "general.name", UINT64_MAX },
    { "array-2^63", FORMAT, GGUF, "An array of 2^63 numbers.",
      array_count, "tokenizer.ggml.token_type", P63 },
    { "array-wraps", FORMAT, GGUF, "An array whose size in bytes is 4 modulo 2^64.",
      array_count, "tokenizer.ggml.token_type", P62 + 1 },
    { "array-strings-2^63", FORMAT, GGUF, "An array of 2^63 strings.",
      array_count, "tokenizer.ggml.tokens", P63 },
    { "array-string-2^63", FORMAT, GGUF, "An array whose first string has 2^63 bytes.",
      string_length, "tokenizer.ggml.tokens", P63 },
    { "array-of-arrays", UNSUPPORTED, GGUF, "An array of arrays.",
      element_type, "tokenizer.ggml.merges", GKV__ARR },
    { "array-type", FORMAT, GGUF, "An array of elements of type 13, which there is not.",
      element_type, "tokenizer.ggml.merges", 13 },
    { "value-type", FORMAT, GGUF, "A value of type 99, which there is not.",
      value_type, "general.name", 99 },
    { "bool-2", FORMAT, GGUF, "A truth value of 2.",
      set_bool, "tokenizer.ggml.add_bos_token", 2 },
    { "alignment-0", FORMAT, GGUF, "general.alignment is 0.",
      set_u32, "general.alignment", 0 },
    { "alignment-3", FORMAT, GGUF, "general.alignment is 3.",
      set_u32, "general.alignment", 3 },
    { "alignment-48", FORMAT, GGUF, "general.alignment is not a power of two.",
      set_u32, "general.alignment", 48 },
    { "alignment-2^31", FORMAT, GGUF, "general.alignment is 2^31.",
      set_u32, "general.alignment", (uint64_t)1 << 31 },
    { "alignment-string", FORMAT, GGUF, "general.alignment is a string.",
      set_str, "general.alignment=32", 0 },
    /* tensors */
    { "name-2^63", FORMAT, GGUF, "A tensor's name of 2^63 bytes.",
      name_length, NORM, P63 },
    { "dims-0", FORMAT, GGUF, "A tensor without dimensions.",
      n_dims, NORM, 0 },
    { "dims-5", FORMAT, GGUF, "A tensor of five dimensions.",
      n_dims, NORM, 5 },
    { "dims-2^31", FORMAT, GGUF, "A tensor of 2^31 dimensions.",
      n_dims, NORM, (uint64_t)1 << 31 },
    { "dim-0", FORMAT, GGUF, "A dimension of 0.",
      dim1, EMBD, 0 },
    { "dim-2^62", FORMAT, GGUF,
      "A dimension of 2^62: the elements fit in 64 bits, the bytes do not.",
      dim0, NORM, P62 },
    { "dim-wraps", FORMAT, GGUF, "2^32 rows of 2^32: the product wraps around to 0.",
      both_dims, EMBD, (uint64_t)1 << 32 },
    { "dim-2^40", FORMAT, GGUF, "A dimension of 2^40, far more than the file holds.",
      dim0, NORM, P40 },
    { "dim-block", FORMAT, GGUF, "Rows of 33 in q8_0, whose blocks have 32.",
      q8_0_rows_of_33, EMBD, 33 },
    { "type-1000", UNSUPPORTED, GGUF, "A tensor of type 1000.",
      tensor_type, EMBD, 1000 },
    { "type-4", UNSUPPORTED, GGUF, "A tensor of type 4, which ggml took back.",
      tensor_type, EMBD, 4 },
    { "offset-beyond", FORMAT, GGUF, "A tensor that starts behind the end.",
      offset, EMBD, P40 },
    { "offset-wraps", FORMAT, GGUF, "An offset of 2^64 - 32.",
      offset, EMBD, -(uint64_t)32 },
    { "offset-misaligned", FORMAT, GGUF, "An offset of 4.",
      offset, EMBD, 4 },
    { "offset-overlap", FORMAT, GGUF, "Two tensors share bytes, which no writer does.",
      offset, NORM, 0 },
    { "tensor-twice", FORMAT, GGUF, "Two tensors of one name.",
      add, NORM, 64 },
    { "part-alone", FORMAT, GGUF,
      "Says to be the first of two parts, but the name does not.",
      part_of, NULL, 0 + 256 * 2 },
    { "part-second", UNSUPPORTED, GGUF, "Says to be the second of two parts.",
      part_of, NULL, 1 + 256 * 2 },
    { "part-beyond", FORMAT, GGUF, "Says to be the sixth of two parts.",
      part_of, NULL, 5 + 256 * 2 },
    /* what a model needs */
    { "no-architecture", FORMAT, MODEL, "No general.architecture.",
      drop, "general.architecture", 0 },
    { "architecture-number", FORMAT, MODEL, "general.architecture is a number.",
      set_u32, "general.architecture", 7 },
    { "architecture-new", UNSUPPORTED, MODEL, "An architecture that nobody knows.",
      set_str, "general.architecture=perceptron", 0 },
    { "no-layers-key", FORMAT, MODEL, "No block_count.",
      drop, "llama.block_count", 0 },
    { "no-embd-key", FORMAT, MODEL, "No embedding_length.",
      drop, "llama.embedding_length", 0 },
    { "no-heads-key", FORMAT, MODEL, "No head_count.",
      drop, "llama.attention.head_count", 0 },
    { "no-eps-key", FORMAT, MODEL, "No layer_norm_rms_epsilon.",
      drop, "llama.attention.layer_norm_rms_epsilon", 0 },
    { "layers-string", FORMAT, MODEL, "block_count is a string.",
      set_str, "llama.block_count=4", 0 },
    { "layers-0", FORMAT, MODEL, "No layers.",
      set_u32, "llama.block_count", 0 },
    { "layers-5", FORMAT, MODEL, "A layer more than there are tensors for.",
      set_u32, "llama.block_count", 5 },
    { "layers-3", UNSUPPORTED, MODEL, "A layer less than there are tensors for.",
      set_u32, "llama.block_count", 3 },
    { "layers-2^32-1", FORMAT, MODEL, "2^32 - 1 layers.",
      set_u32, "llama.block_count", UINT32_MAX },
    { "layers-2^40", FORMAT, MODEL, "2^40 layers.",
      set_u64, "llama.block_count", P40 },
    { "embd-negative", FORMAT, MODEL, "embedding_length is -64.",
      set_i32, "llama.embedding_length", (uint32_t)-64 },
    { "embd-0", FORMAT, MODEL, "embedding_length is 0.",
      set_u32, "llama.embedding_length", 0 },
    { "ff-0", FORMAT, MODEL, "feed_forward_length is 0.",
      set_u32, "llama.feed_forward_length", 0 },
    { "heads-0", FORMAT, MODEL, "No heads.",
      set_u32, "llama.attention.head_count", 0 },
    { "heads-2^31", FORMAT, MODEL, "2^31 heads.",
      set_u32, "llama.attention.head_count", (uint64_t)1 << 31 },
    { "heads-kv-0", FORMAT, MODEL, "No KV heads.",
      set_u32, "llama.attention.head_count_kv", 0 },
    { "heads-kv-3", FORMAT, MODEL, "3 KV heads do not divide 4 heads.",
      set_u32, "llama.attention.head_count_kv", 3 },
    { "head-dim-0", FORMAT, MODEL, "Heads of 0.",
      set_u32, "llama.attention.key_length", 0 },
    { "head-dim-32", FORMAT, MODEL, "Heads of 32 where tensors have 16.",
      set_both_lengths, "llama.attention.key_length", 32 },
    { "value-length", UNSUPPORTED, MODEL, "Values shorter than keys.",
      set_u32, "llama.attention.value_length", 8 },
    { "rope-odd", FORMAT, MODEL, "RoPE over 15 elements.",
      set_u32, "llama.rope.dimension_count", 15 },
    { "rope-wide", FORMAT, MODEL, "RoPE over more elements than heads have.",
      set_u32, "llama.rope.dimension_count", 64 },
    { "rope-base-nan", FORMAT, MODEL, "RoPE base is not a number.",
      set_f32, "llama.rope.freq_base", NAN32 },
    { "rope-base-0", FORMAT, MODEL, "RoPE base is 0.",
      set_f32, "llama.rope.freq_base", 0 },
    { "rope-scaling", UNSUPPORTED, MODEL, "RoPE scaling that nobody knows.",
      set_str, "llama.rope.scaling.type=spiral", 0 },
    { "rope-freqs-0", FORMAT, MODEL, "RoPE frequencies divided by 0.",
      zero_freqs, "rope_freqs.weight", 8 },
    { "rope-freqs-short", FORMAT, MODEL, "RoPE divisors for half of the frequencies.",
      add, "rope_freqs.weight", 4 },
    { "rope-factor-nan", FORMAT, MODEL, "RoPE scaled by what is not a number.",
      set_f32, "llama.rope.scaling.factor", NAN32 },
    { "rope-yarn", FORMAT, MODEL, "YaRN without a factor.",
      set_str, "llama.rope.scaling.type=yarn", 0 },
    { "rope-longrope", FORMAT, MODEL, "LongRoPE without divisors.",
      set_str, "llama.rope.scaling.type=longrope", 0 },
    { "rope-long-only", FORMAT, MODEL, "LongRoPE without divisors for short texts.",
      add, "rope_factors_long.weight", 8 },
    { "eps-nan", FORMAT, MODEL, "RMSNorm epsilon is not a number.",
      set_f32, "llama.attention.layer_norm_rms_epsilon", NAN32 },
    { "eps-negative", FORMAT, MODEL, "RMSNorm epsilon is -1.",
      set_f32, "llama.attention.layer_norm_rms_epsilon", 0xbf800000 },
    { "filter-layer", FORMAT, MODEL, "A filter layer beyond the last.",
      set_u32, "gemkv.filter_layer", 4 },
    { "experts", UNSUPPORTED, MODEL, "A mixture of eight experts.",
      set_u32, "llama.expert_count", 8 },
    { "no-tensor", FORMAT, MODEL, "A layer without ffn_down.",
      hide, DOWN, 0 },
    { "no-embeddings", FORMAT, MODEL, "No embeddings.",
      hide, EMBD, 0 },
    { "extra-tensor", UNSUPPORTED, MODEL, "A bias that no model has.",
      add, "blk.0.attn_output.gate", 64 },
    { "shape", FORMAT, MODEL, "A matrix transposed.",
      transpose, DOWN, 0 },
    { "norm-f16", UNSUPPORTED, MODEL, "A norm in f16.",
      as_f16, NORM, 0 },
    { "type-q2_0", UNSUPPORTED, MODEL,
      "A matrix of a type that is known but not computed with.",
      tensor_type, DOWN, 42 },
    { "vocab-more", FORMAT, MODEL, "More tokens than embeddings.",
      more_tokens, "<|more|>", 1 },
    { "vocab-size", FORMAT, MODEL, "vocab_size is not the rows of the embeddings.",
      set_u32, "llama.vocab_size", 1000 },
    /* what a tokenizer needs */
    { "no-tokenizer", FORMAT, VOCAB, "No tokenizer.ggml.model.",
      drop, "tokenizer.ggml.model", 0 },
    { "tokenizer-new", UNSUPPORTED, VOCAB, "A kind of tokenizer that nobody knows.",
      set_str, "tokenizer.ggml.model=abacus", 0 },
    { "pre-new", UNSUPPORTED, VOCAB, "A pre-tokenizer that nobody knows.",
      set_str, "tokenizer.ggml.pre=abacus", 0 },
    { "no-tokens", FORMAT, VOCAB, "No list of tokens.",
      drop, "tokenizer.ggml.tokens", 0 },
    { "tokens-number", FORMAT, VOCAB, "The list of tokens is a number.",
      set_u32, "tokenizer.ggml.tokens", 1 },
    { "types-more", FORMAT, VOCAB, "More token types than tokens.",
      one_more_type, "tokenizer.ggml.token_type", 1 },
    { "merge-single", FORMAT, VOCAB, "A merge of one token.",
      one_more_string, "the", 0 },
    { "byte-missing", FORMAT, VOCAB, "No token for the letter A.",
      respell_byte, "B", 'A' },
    { "bos-beyond", FORMAT, VOCAB, "The first token is none of the vocabulary.",
      set_u32, "tokenizer.ggml.bos_token_id", 1u << 20 },
};

bool break_file(struct file *f, const char *arch, const char *name)
{
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        if (!strcmp(breaks[i].name, name)) {
            const char *what = breaks[i].what;
            char        own[128];

            if (what && !strcmp(what, DOWN) && (strstr(arch, "moe") || !strcmp(arch, "qwen3next") || !strcmp(arch, "gpt-oss") ||
                                                !strcmp(arch, "llama4")))
                what = "blk.1.ffn_down_exps.weight";
            if (what && !strcmp(what, NORM) && !strncmp(arch, "lfm2", 4))
                what = "token_embd_norm.weight";
            if (what && !strncmp(what, "llama.", 6)) {
                snprintf(own, sizeof own, "%s%s", arch, what + 5);
                what = own;
            }
            breaks[i].apply(f, what, breaks[i].n);
            return true;
        }
    return false;
}

void list_breaks(void)
{
    for (size_t i = 0; i < sizeof breaks / sizeof *breaks; i++)
        printf("%-19s %-15s %-5s  %s\n", breaks[i].name, breaks[i].status, breaks[i].who,
               breaks[i].sentence);
}
