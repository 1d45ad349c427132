/* SPDX-License-Identifier: BSD-2-Clause
 * options.c - see options.h */
#include "config.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/input/find.h"
#include "src/cli/options.h"
#include "src/cli/say.h"

#define TALK    (FOR_ASK | FOR_CHAT)
#define ANSWER  (TALK | FOR_BATCH)
#define SELECT  (ANSWER | FOR_BENCH | FOR_ROWS)
#define COMPUTE (SELECT | FOR_CALIBRATE | FOR_PERPLEXITY | FOR_INDEX | FOR_PAIR | FOR_SERVE)

#define AT(member)         offsetof(struct options, member), 0, 0
#define IN(member, lo, hi) offsetof(struct options, member), lo, hi

static opt_set opt_documents, opt_draft, opt_json, opt_keep, opt_keep_last, opt_methods, opt_score, opt_think;

const struct opt options_table[] = {
    { FOR_ALL & ~(FOR_EVAL | FOR_MODELS), 'm', "model", "FILE", "$GEMKV_MODEL, else the bundled model", "GGUF model",
      opt_text, AT(model) },
    { SELECT | FOR_INDEX | FOR_INFO | FOR_SERVE, 0, "reader", "FILE", "the same", "GGUF model that reads and chooses; --model answers",
      opt_text, AT(reader) },
    { FOR_PAIR, 0, "reader", "FILE", NULL, "GGUF model that reads and chooses; --model answers", opt_text, AT(reader) },
    { SELECT | FOR_INFO | FOR_PAIR, 0, "snap", "none|word|sentence", "word with --reader, else tokens",
      "the answer is made from the text of whole words or sentences", opt_choice, AT(gkv.snap) },
    { FOR_ELSEWHERE | FOR_SERVE, 0, "answer-url", "URL", "the answer is made here",
      "send the kept text and the question there, as to OpenAI's chat completions", opt_text, AT(answer_url) },
    { FOR_ELSEWHERE | FOR_SERVE, 0, "answer-model", "NAME", NULL, "the model's name there", opt_text, AT(answer_model) },
    { FOR_ELSEWHERE | FOR_SERVE, 0, "answer-key-file", "FILE", "$GEMKV_ANSWER_KEY, else none", "file with the key for it",
      opt_text, AT(answer_key) },
    { FOR_ELSEWHERE | FOR_SERVE, 0, "answer-timeout", "N", "300", "seconds without a byte from there, after which it has failed",
      opt_u32, IN(answer_timeout, 1, 86400) },
    { FOR_CHAT, 'f', "file", "FILE", NULL, "document; may be given several times", opt_documents, AT(file) },
    { FOR_ASK, 'f', "file", "FILE", "standard input, unless it is a terminal",
      "document; may be given several times, - is standard input", opt_documents, AT(file) },
    { ANSWER | FOR_INDEX, 'r', "recursive", NULL, NULL, "read the files in a folder and below it",
      opt_flag, AT(recursive) },
    { ANSWER | FOR_INDEX, 0, "ocr", NULL, NULL, "read pages and files that are pictures of text, with tesseract",
      opt_flag, AT(ocr) },
    { FOR_ASK, 0, "questions", "FILE", NULL,
      "ask each line of it, after the documents were read once; - is standard input", opt_text, AT(questions) },
    { FOR_SERVE, 'L', "library", "FOLDER", NULL, "documents that gemkv index has read, for questions without one",
      opt_text, AT(library) },
    { TALK | FOR_QA, 'L', "library", "FOLDER", NULL, "documents that gemkv index has read, instead of files",
      opt_text, AT(library) },
    { TALK | FOR_QA | FOR_SERVE, 0, "among", "GLOB", "all", "with -L: documents whose names match, such as 'notes/*'",
      opt_text, AT(among) },
    { TALK | FOR_QA | FOR_SERVE, 0, "top", "N", "16", "with -L: documents to ask about at most; their words choose them",
      opt_u32, IN(top, 1, UINT32_MAX) },
    { FOR_BENCH, 'f', "file", "FILE", NULL,
      "measure methods on this document instead; - is standard input", opt_file, AT(text) },
    { FOR_PAIR, 'f', "file", "FILE", "the bundled book", "text to hide facts in; may be given several times",
      opt_words, AT(haystack) },
    { FOR_TOKENIZE | FOR_PERPLEXITY, 'f', "file", "FILE", "standard input, unless it is a terminal",
      "the text, - is standard input", opt_file, AT(text) },
    { ANSWER | FOR_SERVE, 0, "method", "NAME[:PARAM=VALUE,...]", "gemfilter",
      "selection method, see below", opt_text, AT(gkv.method) },
    { FOR_BENCH | FOR_ROWS, 0, "methods", "all|NAME[:PARAM=VALUE,...][,NAME...]",
      "gemfilter",
      "methods to compare; see gemkv ask --help", opt_methods, AT(methods) },
    { FOR_ROWS, 0, "method", "NAME[:PARAM=VALUE,...]", NULL,
      "one more method; may be given several times", opt_methods, AT(methods) },
    { SELECT | FOR_CALIBRATE | FOR_INFO | FOR_SERVE, 'k', "keep", "N|P%", "1024",
      "tokens to keep, or percent of the prompt", opt_keep, AT(gkv) },
    { SELECT | FOR_INDEX | FOR_SERVE, 0, "layer", "N", "the model's", "filter layer, counted from 0",
      opt_u32, IN(gkv.layer, 0, INT32_MAX) },
    { ANSWER | FOR_ROWS | FOR_SERVE, 0, "keep-first", "N", "4", "first tokens kept whatever their score",
      opt_u32, IN(gkv.keep_first, 0, UINT32_MAX - 1) },
    { ANSWER | FOR_ROWS | FOR_SERVE, 0, "keep-last", "N|prompt", "prompt",
      "last tokens kept whatever their score; prompt: the question with its template",
      opt_keep_last, IN(gkv.keep_last, 0, UINT32_MAX - 1) },
    { SELECT | FOR_PAIR | FOR_SERVE, 0, "schedule", "NAME[:PARAM=VALUE,...]",
      "auto: the fastest exact one that fits in the memory, else stream",
      "order of the first pass; see gemkv ask --help", opt_text, AT(gkv.schedule) },
    { SELECT | FOR_INFO | FOR_SERVE, 0, "attention", "dense|sparse[:threshold=T]", "dense",
      "sparse: the first pass leaves out keys that get little attention, and keeps T of it, 0.9",
      opt_text, AT(gkv.attention) },
    { COMPUTE, 0, "chunk", "N", "1024", "tokens computed at a time",
      opt_u32, IN(gkv.chunk, 16, 65536) },
    { COMPUTE, 0, "memory", "SIZE", "80 % of what is available",
      "refuse what would need more memory, such as 512M or 1.5G", opt_size, AT(gkv.memory_limit) },
    { ANSWER | FOR_ROWS | FOR_SERVE, 'c', "context", "N", "no limit", "refuse longer prompts, in tokens",
      opt_u64, IN(gkv.max_context, 1, UINT32_MAX) },
    { ANSWER | FOR_SERVE, 'n', "max-tokens", "N", "256", "longest answer",
      opt_u32, IN(gkv.max_tokens, 1, INT32_MAX) },
    { ANSWER | FOR_ROWS | FOR_INFO | FOR_PAIR | FOR_SERVE, 0, "draft", "N|reader|mtp", "4",
      "tokens guessed at a time from earlier text, 0 to 4, or also by the reader or a layer of the model; it stays the same",
      opt_draft, IN(gkv, 0, 4) },
    { ANSWER | FOR_INDEX | FOR_SERVE, 0, "think", "on|off|N", "off", "the model thinks before it answers, in at most N tokens; on: 2048",
      opt_think, AT(gkv.think) },
    { FOR_ROWS | FOR_PAIR, 'n', "max-tokens", "N", "the task's", "longest answer",
      opt_u32, IN(gkv.max_tokens, 1, INT32_MAX) },
    { ANSWER, 0, "temperature", "T", "0, always the likeliest token", "randomness of the answer",
      opt_f32, IN(gkv.temperature, 0, 100) },
    { ANSWER, 0, "top-p", "P", "1", "sample from the likeliest tokens that make up P",
      opt_f32, IN(gkv.top_p, 0, 1) },
    { ANSWER, 0, "min-p", "P", "0", "sample from tokens at least P times as likely as the best",
      opt_f32, IN(gkv.min_p, 0, 1) },
    { ANSWER, 0, "top-k", "K", "0, all", "sample from the K likeliest tokens",
      opt_u32, IN(gkv.top_k, 0, INT32_MAX) },
    { ANSWER, 0, "repeat-penalty", "R", "1, none", "divide logits above 0 of earlier tokens by it, multiply others",
      opt_f32, IN(gkv.repeat_penalty, 0, 100) },
    { ANSWER, 0, "presence-penalty", "P", "0", "lower the logits of earlier tokens by it",
      opt_f32, IN(gkv.presence_penalty, (uint64_t)-100, 100) },
    { ANSWER, 0, "frequency-penalty", "P", "0", "lower them by it for each time that they occur",
      opt_f32, IN(gkv.frequency_penalty, (uint64_t)-100, 100) },
    { ANSWER, 0, "repeat-last-n", "N", "64", "tokens of prompt and answer that these penalties look back at",
      opt_u32, IN(gkv.repeat_last_n, 0, INT32_MAX) },
    { ANSWER, 0, "stop", "STRING", NULL, "end the answer before this text; may be given several times",
      opt_words, AT(stop) },
    { ANSWER, 0, "grammar", "FILE|TEXT", NULL, "what the answer must look like, as GBNF: a file, or the text itself",
      opt_text, AT(grammar) },
    { ANSWER, 0, "json-schema", "FILE|TEXT", NULL, "the answer is JSON that this schema describes",
      opt_text, AT(schema) },
    { FOR_LENGTHS, 0, "lengths", "N[,N]...", NULL, "lengths of the prompt, in tokens of the model",
      opt_numbers, IN(lengths, 16, UINT32_MAX) },
    { FOR_DEPTHS, 0, "depths", "P[,P]...", NULL, "where the answer lies, in percent of the text",
      opt_numbers, IN(depths, 0, 100) },
    { FOR_LENGTHS, 0, "samples", "N", NULL, "prompts of each kind, length and depth",
      opt_u64, IN(samples, 1, 10000) },
    { FOR_HAYSTACK, 0, "haystack", "FILE", "the bundled book",
      "text to hide needles in; may be given several times", opt_words, AT(haystack) },
    { FOR_NEEDLES, 0, "needles", "FILE", "the bundled ones",
      "JSON array of \"needle\", \"question\" and \"answers\"", opt_text, AT(needles) },
    { ANSWER | FOR_ROWS | FOR_CALIBRATE | FOR_PAIR, 0, "seed", "N", "0", "start of the random numbers",
      opt_u64, IN(gkv.seed, 0, UINT64_MAX) },
    { ANSWER, 0, "raw", NULL, NULL,
      "no chat template: the prompt is the documents and the question, byte for byte",
      opt_on, AT(gkv.raw) },
    { ANSWER | FOR_INDEX, 0, "system", "TEXT", NULL, "system prompt, if the model's template takes one",
      opt_text, AT(gkv.system) },
    { ANSWER | FOR_ROWS | FOR_CALIBRATE | FOR_INDEX | FOR_PAIR | FOR_SERVE, 0, "template", "NAME", "the model's", "chat template",
      opt_text, AT(gkv.chat_template) },
    { COMPUTE, 't', "threads", "N", "one per core", "threads",
      opt_u32, IN(gkv.threads, 1, 4096) },
    { ANSWER | FOR_ROWS | FOR_PAIR | FOR_SERVE, 0, "device", "auto|cpu|cuda[:N]",
      "auto: a CUDA device if there is one, else cpu",
      "where the second pass and the answer are computed", opt_text, AT(gkv.device) },
    { ANSWER | FOR_ROWS | FOR_PAIR | FOR_SERVE, 0, "gpu-memory", "SIZE", "what is free there",
      "memory of the device to use", opt_size, AT(gkv.gpu_memory) },
    { COMPUTE, 0, "cpu", "LEVEL", "$GEMKV_CPU, else the best", "cap the instruction sets used",
      opt_text, AT(cpu) },
    { COMPUTE, 0, "gemm", "own|coarse|exact|openblas|onednn", "own", "library that multiplies matrices",
      opt_choice, AT(gkv.gemm) },
    { (COMPUTE & ~FOR_CALIBRATE) | FOR_INFO, 0, "repack", NULL, NULL,
      "keep a second copy of the weights in the order that prefill reads, if the memory allows",
      opt_flag, AT(gkv.repack) },
    { SELECT | FOR_PERPLEXITY | FOR_INFO | FOR_PAIR | FOR_SERVE, 0, "kv-type", "f32|f16|bf16|q8_0", "f16",
      "type of cached keys and values", opt_choice, AT(gkv.kv_type) },
    { FOR_SERVE, 0, "grade", "exact|q8|q4|compact", "compact", "how the index of a long text is kept",
      opt_choice, AT(grade) },
    { FOR_ROWS, 0, "grade", "exact|q8|q4|compact", "no index",
      "index each document first, and ask the index", opt_text, AT(grade) },
    { FOR_ROWS, 0, "metric", "NAME", "the row's", "what the score is: em, f1, contains, rouge-1, rouge-l, all, part, "
      "or that of a data set", opt_text, AT(metric) },
    { FOR_ROWS | FOR_PAIR | FOR_BATCH, 0, "out", "FILE", NULL,
      "append each answer to this JSONL file; what it has is not asked again",
      opt_text, AT(out) },
    { FOR_ROWS | FOR_CALIBRATE, 0, "plot", "FILE", NULL, "write the result to this new file as an SVG picture",
      opt_text, AT(plot) },
    { FOR_ROWS, 0, "rows", "FILE", NULL,
      "write the rows to this new JSONL file, as eval qa reads them, and ask nothing",
      opt_text, AT(rows) },
    { FOR_ASK, 0, "report", "FILE", "none",
      "write the documents with the kept passages marked to this new HTML file", opt_text, AT(report) },
    { FOR_ASK | FOR_BATCH | FOR_ROWS | FOR_CALIBRATE, 0, "force", NULL, NULL, "replace output files that exist",
      opt_flag, AT(force) },
    { FOR_ROWS, 0, "csv", NULL, NULL, "write a line per row and method, as CSV",
      opt_flag, AT(csv) },
    { (COMPUTE | FOR_INFO | FOR_MODELS) & ~(ANSWER | FOR_SERVE), 0, "json", NULL, NULL, "write JSON to standard output",
      opt_flag, AT(json) },
    { TALK, 0, "json", "[=lines]", NULL,
      "write JSON to standard output; lines: an object per line, while the answer is made", opt_json, AT(json) },
    { ANSWER, 0, "cite", NULL, NULL, "number the answer's sentences, and name the passage that each rests on",
      opt_flag, AT(cite) },
    { ANSWER, 0, "min-score", "S", "none",
      "\"not found in the document\" unless a passage scores S", opt_score, AT(min_score) },
    { COMPUTE, 'q', "quiet", NULL, NULL, "only the result, and errors", opt_flag, AT(quiet) },
    { TALK, 'v', "verbose", NULL, NULL, "show every kept passage", opt_flag, AT(verbose) },
    { COMPUTE, 0, "tty", NULL, NULL, NULL, opt_flag, AT(tty) },
    { FOR_ALL, 'h', "help", NULL, NULL, "show this help", opt_help, AT(cmd) },
    { FOR_ALL, 0, "list-options", NULL, NULL, NULL, opt_list, AT(cmd) },
    { .name = NULL }
};

/* ---- options that set more than one number or text ------------------------------------ */
static int opt_keep(const struct args *a, void *at)
{
    gkv_options *opt = at;
    uint64_t     n;
    double       percent;
    const char  *end = parse_uint(a->value, 1, UINT32_MAX - 1, &n);

    opt->keep_percent = 0;
    if (end && !*end) {
        opt->keep = (uint32_t)n;
        return 0;
    }
    end = parse_real(a->value, 0, 100, &percent);
    if (!end || strcmp(end, "%") || percent <= 0)
        return args_bad(a, "a number of tokens from 1 on, or a percentage like 5%");
    opt->keep_percent = (float)percent;
    return 0;
}

static int opt_json(const struct args *a, void *at)
{
    struct options *o = (struct options *)((char *)at - offsetof(struct options, json));

    if (a->value && strcmp(a->value, "lines"))
        return usage(a->io, a->cmd, "option '--json' takes no argument but 'lines'");
    o->json = true;
    o->lines = a->value;
    return 0;
}

static int opt_score(const struct args *a, void *at)
{
    double      score;
    const bool  negative = *a->value == '-';
    const char *end = parse_real(a->value + negative, 0, 1e30, &score);

    if (!end || *end)
        return args_bad(a, "a score, as passages have them, such as 200");
    *(float *)at = (float)(negative ? -score : score);
    return 0;
}

static int opt_draft(const struct args *a, void *at)
{
    gkv_options *o = at;

    o->draft_reader = !strcmp(a->value, "reader");
    o->draft_mtp = !strcmp(a->value, "mtp");
    if (!o->draft_reader && !o->draft_mtp)
        return opt_u32(a, &o->draft);
    o->draft = (uint32_t)a->opt->hi;
    return 0;
}

static int opt_think(const struct args *a, void *at)
{
    uint64_t    n = 0;
    const bool  on = !strcmp(a->value, "on"), off = !strcmp(a->value, "off");
    const char *end = on || off ? "" : parse_uint(a->value, 1, INT32_MAX, &n);

    if (!end || *end)
        return args_bad(a, "on, off, or a number of tokens from 1 on");
    *(int32_t *)at = on ? GKV_THINK : (int32_t)n;
    return 0;
}

static int opt_keep_last(const struct args *a, void *at)
{
    if (strcmp(a->value, "prompt"))
        return opt_u32(a, at);
    *(uint32_t *)at = GKV_KEEP_PROMPT;
    return 0;
}

static int opt_documents(const struct args *a, void *at)
{
    const struct words *w = at;

    for (size_t i = 0; i < w->n; i++)
        if (!strcmp(a->value, "-") && !strcmp(w->v[i], "-"))
            return usage(a->io, a->cmd, "standard input can be read only once, '-f -' is given twice");
    return opt_words(a, at);
}

static int opt_methods(const struct args *a, void *at)
{
    methods_add(at, a->value);
    return 0;
}

/* ---- the command line ---------------------------------------------------------------- */
/* The row of that name; returns its index among the command's rows. */
static size_t find(const struct cmd *cmd, const char *name, const struct opt **opt)
{
    const struct opt *row[MAX_OPTS];
    const size_t      n = args_rows(cmd, row);
    size_t            i = 0;

    while (i < n && strcmp(row[i]->name, name))
        i++;
    assert(i < n);
    *opt = row[i];
    return i;
}

static int set(struct options *o, const struct args *a)
{
    return a->opt->set(a, (char *)o + a->opt->at);
}

int options_set(struct options *o, const char *name, const char *value)
{
    struct args  a = { .cmd = o->cmd, .io = o->io, .value = value };
    const size_t i = find(o->cmd, name, &a.opt);

    o->given |= UINT64_C(1) << i;
    return set(o, &a);
}

bool options_has(const struct options *o, const char *name)
{
    const struct opt *row[MAX_OPTS];

    for (size_t i = 0, n = args_rows(o->cmd, row); i < n; i++)
        if (!strcmp(row[i]->name, name))
            return true;
    return false;
}

bool options_given(const struct options *o, const char *name)
{
    const struct opt *opt;

    return o->given >> find(o->cmd, name, &opt) & 1;
}

int options_parse(struct options *o, const struct cmd *cmd, struct io *io, int argc, char **argv)
{
    struct args a = { .cmd = cmd, .io = io, .argc = argc, .at = 1, .argv = argv };
    int         code = 0;

    o->cmd = cmd;
    o->io = io;
    gkv_options_init(&o->gkv);
    while (!code && !(code = args_next(&a)) && a.opt) {
        code = set(o, &a);
        o->given |= UINT64_C(1) << find(cmd, a.opt->name, &a.opt);
    }
    o->operand = a.operand.v;
    o->n_operand = (int)a.operand.n;
    for (const struct opt_default *d = cmd->defaults; d && d->name && !code; d++)
        if (!options_given(o, d->name)) {
            find(cmd, d->name, &a.opt);
            a.value = d->value;
            code = set(o, &a);
        }
    o->gkv.stop = o->stop.v;
    o->gkv.n_stop = o->stop.n;
    io->quiet = o->quiet;
    return code;
}

int options_find(struct options *o, struct words *w)
{
    const struct find_how how = { .recursive = o->recursive, .ocr = o->ocr };

    return find_files(o->io, &how, w, &o->found);
}

void options_free(struct options *o)
{
    free(o->operand);
    free(o->file.v);
    free(o->stop.v);
    find_free(&o->found);
    free(o->haystack.v);
    methods_free(&o->methods);
}
