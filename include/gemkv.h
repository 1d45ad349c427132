/* SPDX-License-Identifier: BSD-2-Clause
 *
 * gemkv.h - answer questions about long texts with a local language model.
 *
 *     gkv_model_open     map a GGUF file                 (immutable, shared by threads)
 *     gkv_session_open   one timeline                    (one thread at a time)
 *     gkv_feed           give it the long text, in pieces of any size
 *     gkv_ask            pose the question               (first pass, selection, second pass)
 *     gkv_next           take the answer, piece by piece, until GKV_END
 *
 *     gkv_document_open  a text that is fed once and asked often, by several sessions
 *     gkv_library_open   documents in a folder, found by their words
 *     gkv_eval_open      the model itself over token ids, for measuring
 *
 * No call prints or exits.  Only the level of gkv_cpu_cap, the tables of methods and schedules, and
 * the device plugins that were opened are process-wide.  Pointers returned as const belong
 * to the object they came from and live as long as it does.  Every pointer named err may be
 * NULL.  Layers, positions and byte offsets count from 0.
 *
 * Structs grow at their end in later versions.  A call that fills a struct, or that gets options, is told
 * the size that the caller knows: gkv_session_stats(s, &stats) and the like are macros that add
 * sizeof.  Rows of tables have room in `reserved` instead, so that their size stays the same. */
#ifndef GEMKV_H
#define GEMKV_H

#include <stddef.h>
#include <stdint.h>

#define GKV_VERSION_MAJOR 0
#define GKV_VERSION_MINOR 2
#define GKV_VERSION_PATCH 0

#if defined(__GNUC__)
#define GKV_API __attribute__((visibility("default")))
#else
#define GKV_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status ---------------------------------------------------------------------------- */
typedef enum {
    GKV_OK = 0,
    GKV_END,            /* gkv_next: the answer is complete                                 */
    GKV_NOMEM,          /* the system refused memory                                        */
    GKV_LIMIT,          /* would exceed gkv_options.memory_limit or .max_context            */
    GKV_IO,             /* open, read or map failed                                         */
    GKV_FORMAT,         /* the model file is damaged                                        */
    GKV_UNSUPPORTED,    /* the model file is sound, but this build cannot run it            */
    GKV_INVALID,        /* the caller broke the contract: a bad option, calls out of order  */
    GKV_DOCUMENT,       /* the document is empty or not UTF-8 text                          */
    GKV_DEVICE,         /* the GPU failed; the session can go on on the CPU                 */
    GKV_CANCELLED       /* gkv_cancel was called                                            */
} gkv_status;

typedef struct {
    gkv_status status;
    char       text[508];       /* one line for a person, no newline: what, where, remedy   */
} gkv_error;

GKV_API const char *gkv_version(void);
GKV_API const char *gkv_status_name(gkv_status status);
/* Which of the words of the list, with spaces between them, word[len] may be a misspelling of: a pointer into the list,
 * and *n the word's length.  NULL: none is near. */
GKV_API const char *gkv_nearest(const char *list, const char *word, size_t len, size_t *n);

/* ---- CPU kernels ------------------------------------------------------------------------ */
/* Highest level this process will use: "ref", "avx2", "neon", ... (--cpu in gemkv-ask.1)    */
GKV_API const char *gkv_cpu(void);
/* Cap the level; call before any session is opened.  GKV_INVALID for an unknown name.  The
 * environment variable GEMKV_CPU does the same and is overridden by this call.              */
GKV_API gkv_status gkv_cpu_cap(const char *level, gkv_error *err);
/* The i-th line of a description "slot: level", NULL when there is no such line.            */
GKV_API const char *gkv_cpu_describe(size_t i);
/* How many threads are used when gkv_options.threads is 0, and why: the i-th line "name: number", NULL when there
 * is no such line.  Valid until this thread's next call.                                    */
GKV_API const char *gkv_threads_describe(size_t i);
/* Libraries for matrix products (gkv_options.gemm) in this build: the i-th line "name: arithmetic",
 * NULL when there is no such line.                                                          */
GKV_API const char *gkv_gemm_describe(size_t i);

/* ---- devices ---------------------------------------------------------------------------- */
/* Where the second pass can run (gkv_options.device): the i-th line "cuda:0: NVIDIA H200, 141 GB",
 * or "cuda: why not"; NULL when there is no such line.  The first call opens the plugins.   */
GKV_API const char *gkv_device_describe(size_t i);

/* ---- selection methods ------------------------------------------------------------------ */
typedef struct {
    const char *name, *value, *help;    /* value: the default, as text                       */
    const void *reserved[1];
} gkv_param;
typedef struct {
    const char      *name, *summary;
    const gkv_param *params;            /* ends with a row whose name is NULL                */
    int              two_passes;        /* has a first pass that a schedule computes         */
    const void      *reserved[3];
} gkv_method;
GKV_API const gkv_method *gkv_methods(size_t *count);           /* static table              */

/* The order in which a first pass computes tokens and layers. */
typedef struct {
    const char      *name, *summary;
    const gkv_param *params;            /* ends with a row whose name is NULL                */
    int              exact;             /* exact schedules all give the same selection       */
    const void      *reserved[3];
} gkv_schedule;
GKV_API const gkv_schedule *gkv_schedules(size_t *count);       /* static table              */

/* Chat templates for models whose own cannot be run: the i-th line "name: how it looks",
 * NULL when there is no such line.                                                          */
GKV_API const char *gkv_template_describe(size_t i);

/* ---- model ------------------------------------------------------------------------------ */
typedef struct gkv_model gkv_model;

enum { GKV_MODEL_VOCAB_ONLY = 1 };      /* tokenize only: the file may hold no tensors       */

/* Map path (or, for NAME-00001-of-0000N.gguf, all N parts) read-only and check it whole.    */
GKV_API gkv_status gkv_model_open(gkv_model **out, const char *path, unsigned flags,
                                  gkv_error *err);
GKV_API void       gkv_model_close(gkv_model *model);           /* after its sessions        */

typedef struct { const char *group, *types; } gkv_type_group;   /* "attention", "q4_k 96"     */

typedef struct {
    const char *name, *architecture, *types;    /* types: "q8_0 113, f32 33" (tensors each)  */
    uint64_t    parameters, file_bytes;
    uint32_t    n_layer, n_embd, n_head, n_head_kv, head_dim, n_ff, n_vocab;
    uint32_t    context;                        /* trained context, in tokens                */
    const char *rope;                           /* "none", "linear", "llama3", ...           */
    float       rope_base;
    const char *tokenizer, *pre;                /* "bpe", "qwen2"; "spm", ""                 */
    const char *chat_template;                  /* family: "chatml", "own" if it has no name,
                                                   or NULL: none, or not understood          */
    uint32_t    filter_layer;
    const char *filter_layer_source;            /* "file", "paper: GemFilter D.1", "rule: ...",
                                                   or given to gkv_model_layers              */
    uint32_t    tsp_layer;                      /* the same for FastKV                       */
    const char *tsp_layer_source;
    const gkv_type_group *type_groups;          /* ends with a row whose group is NULL       */
    int         chat_template_own;              /* 1: the file's own is run; 0: its family's,
                                                   if that is known                          */
    const char *chat_template_problem;          /* why its own is not run, or NULL           */
    const char *attending;                      /* "3 7 11": layers that can be the filter layer, as
                                                   the others do not attend to all tokens; NULL: all can */
    uint32_t    mtp;                            /* layers of the file that predict further tokens, beside n_layer */
    const char *mtp_problem;                    /* why gkv_options.draft_mtp cannot use them, or NULL */
} gkv_model_info;
GKV_API void gkv_model_describe_size(const gkv_model *model, gkv_model_info *out, size_t size);
#define gkv_model_describe(model, out) gkv_model_describe_size((model), (out), sizeof *(out))

/* A number that tells models apart, computed from the file's metadata and table of tensors, not from
 * the weights.  Copies of a file have the same number.                                      */
GKV_API uint64_t gkv_model_fingerprint(const gkv_model *model);
/* From now on, `filter` is the filter layer and FastKV selects after layer `tsp`, unless
 * gkv_options.layer is set; source, copied, says where these numbers come from.  Do not call it while
 * a session of the model is open.                                                           */
GKV_API gkv_status gkv_model_layers(gkv_model *model, uint32_t filter, uint32_t tsp,
                                    const char *source, gkv_error *err);

/* ---- tokens ----------------------------------------------------------------------------- */
enum { GKV_TOKENS_SPECIAL = 1 };        /* parse special tokens, add BOS if the model does   */

/* *ids is malloc'ed, the caller frees it with free(). */
GKV_API gkv_status gkv_tokenize(const gkv_model *model, const char *text, size_t len,
                                unsigned flags, uint32_t **ids, size_t *n, gkv_error *err);
/* *text is malloc'ed, *len bytes and a terminating NUL; the caller frees it. */
GKV_API gkv_status gkv_detokenize(const gkv_model *model, const uint32_t *ids, size_t n,
                                  char **text, size_t *len, gkv_error *err);

/* ---- sentences -------------------------------------------------------------------------- */
/* Widen bytes *start .. *end - 1 of a text to whole sentences, without white space at the ends.  A line of a table,
 * of a list or of a heading is a sentence, and so are the last words before an empty line and a page's end.  Where
 * none begins or ends within some hundred bytes, it becomes a whole line, else a word, else a character.             */
GKV_API void       gkv_sentences(const char *text, uint64_t len, uint64_t *start, uint64_t *end);
/* The end of the sentence that begins at byte `at`, without white space: for going through a text.  *next: where the
 * one after it begins, or len.                                                              */
GKV_API uint64_t   gkv_sentence(const char *text, uint64_t len, uint64_t at, uint64_t *next);

/* ---- grammar ---------------------------------------------------------------------------- */
/* What an answer must look like, in llama.cpp's notation GBNF: gemkv.1 has it.  Parsed once, then any number of
 * sessions in any number of threads may use it (gkv_options.grammar).                       */
typedef struct gkv_grammar gkv_grammar;

/* GKV_INVALID: the text is no grammar; the error says in which line.                        */
GKV_API gkv_status gkv_grammar_open(gkv_grammar **out, const char *text, size_t len, gkv_error *err);
GKV_API void       gkv_grammar_close(gkv_grammar *g);           /* after its sessions        */

/* ---- session ---------------------------------------------------------------------------- */
/* With a reader, another model computes the first pass and chooses, and the session's model answers.  Only text
 * goes from one to the other, so any two models do.  Each token that the method keeps is widened, as `snap` says, to
 * a piece: a word or a sentence of the document.  A piece is as good as its best token.  The best pieces are taken,
 * of equal ones the first in the document, as many as fit: their text and the question, in the chat template of the
 * model that answers, have at most `keep` of its tokens.  (keep_percent is of the reader's prompt.)  Where text is
 * left out between two pieces, a newline stands for it if one was in it, else a space if there was white space.  A
 * document that fits is handed over as it is.  Before the answer, the memory of the reader's weights is released. */
typedef struct gkv_session gkv_session;
typedef struct gkv_document gkv_document;

/* Scores of first passes.  Sessions that ask the same of the same text, with other budgets, layers or methods, read it
 * once with it (gkv_options.reading): the first one reads, others take the scores from there.  Answers are those that
 * each session gives alone, and so are its times, but for `total`.  It holds the last prompt's scores.  A schedule that
 * can, as `layer`, scores all of layer[n] on its way, where memory_limit allows that; other layers are read when a
 * session asks for them.  One thread at a time; close it after its sessions.                */
typedef struct gkv_reading gkv_reading;
GKV_API gkv_status gkv_reading_open(gkv_reading **out, const uint32_t *layer, size_t n, gkv_error *err);
GKV_API void       gkv_reading_close(gkv_reading *r);

typedef enum {
    GKV_STAGE_FIRST_PASS,       /* early layers over the whole prompt                        */
    GKV_STAGE_PASSAGES,         /* the best passages again                                   */
    GKV_STAGE_SECOND_PASS,      /* all layers over the tokens kept                           */
    GKV_STAGE_PREFILL,          /* all layers over the prompt: methods of one pass           */
    GKV_STAGE_CALIBRATE,        /* gkv_probe                                                 */
    GKV_STAGE_THINKING,         /* of at most `tokens`, in gkv_next                          */
} gkv_stage;
GKV_API const char *gkv_stage_name(gkv_stage stage);    /* "first pass", ...; never NULL     */

typedef struct {
    gkv_stage   stage;
    double      fraction;       /* of this stage's work, 0..1, proportional to time          */
    uint64_t    tokens;         /* tokens of this stage                                      */
} gkv_progress;

#define GKV_KEEP_PROMPT UINT32_MAX      /* keep_last: the question with its template         */
#define GKV_THINK (-1)                  /* think: without a number                           */

/* Processes that read a text together: `size` of them, each with the same model and with gkv_options.group set to its
 * own.  Rank 0 has documents and questions; the others call gkv_group_help.  They share first passes by schedule layer,
 * which chooses the same tokens as in one process, and by stream.  Methods without a first pass, and those of one pass,
 * are computed by rank 0 alone, with a warning.
 *
 * The functions carry bytes between them.  All ranks call cast and gather in the same order, one at a time; both may
 * return before they have ended, and then what they were given stays until wait has said so.  They return 0, and
 * anything else means that the others cannot be reached any more.
 *
 * With size 1 nothing is shared but, by `local`, the machine. */
typedef struct {
    uint32_t rank, size;
    void    *context;           /* the first argument of: */
    int    (*cast)(void *context, uint32_t root, void *data, size_t bytes);     /* data of rank `root` to all */
    int    (*gather)(void *context, const void *mine, size_t bytes, void *all); /* all[rank][bytes]           */
    int    (*wait)(void *context);      /* 0: it has ended; 1: not yet, after a part of a second; -1: failed  */
    uint32_t local;             /* of them on this machine, and 0 is 1: each takes that part of the machine, where the
                                   options do not say how many threads, or how much memory   */
    const void *reserved[4];
} gkv_group;

typedef struct {
    size_t      size;           /* of this struct: gkv_options_init sets it                  */
    const char *method;         /* "gemfilter" or "gemfilter:pool=max"; NULL: gemfilter      */
    const char *schedule;       /* first pass: "layer", "stream:budget=4096"; NULL or "auto": the
                                   fastest exact one that fits in memory_limit, else stream  */
    const char *device;         /* second pass and answer: "cpu"; "cuda" or "cuda:1", through a
                                   plugin; NULL or "auto": a device if possible, else the CPU */
    const char *chat_template;  /* family: gkv_template_describe; NULL: the model's own      */
    const char *kv_type;        /* "f32", "f16", "bf16", "q8_0"; NULL: f16, and f32 in exact
                                   schedules of the first pass                               */
    const char *gemm;           /* matrix products: "own" (NULL): quantised types with activations
                                   rounded to 8 or 16 bits in blocks of 32; "coarse": faster, these
                                   and the weights rounded to 8 bits in blocks of 128 where the
                                   CPU has VNNI, of 256 where it has AMX, else as "own"; "exact":
                                   all in f32; "openblas", if built with it: the same; "onednn",
                                   likewise, except that bf16 weights are multiplied in bf16 if
                                   possible                                                  */
    uint32_t    keep;           /* budget in tokens, ...                                     */
    float       keep_percent;   /* ... or, when > 0, in percent of the prompt                */
    int32_t     layer;          /* filter layer; -1: the model's                             */
    uint32_t    keep_first;     /* tokens kept whatever their score (GemFilter: 0 and 0)     */
    uint32_t    keep_last;      /* ... a number, or GKV_KEEP_PROMPT                          */
    uint64_t    memory_limit;   /* bytes of resident memory, 0: 80 % of what is available    */
    uint64_t    max_context;    /* longest prompt, in tokens; 0: no limit                    */
    uint32_t    max_tokens;     /* longest answer                                            */
    uint32_t    threads;        /* 0: as gkv_threads_describe says                          */
    uint32_t    chunk;          /* tokens computed at a time; 0: 1024                        */
    int         raw;            /* no template: the prompt is documents + question, byte for
                                   byte, and special tokens in it are parsed                 */
    float       temperature;    /* 0: greedy                                                 */
    float       top_p, min_p;   /* 1, 0: off.  As in llama.cpp: penalties, top_k, top_p, min_p, temperature */
    uint64_t    seed;
    void      (*progress)(void *arg, const gkv_progress *p);    /* a few times a second      */
    void       *progress_arg;
    void      (*note)(void *arg, const char *line);     /* for each question: the schedule, and why */
    void       *note_arg;
    const char *system;         /* system prompt, for the model's own template; or NULL      */
    const char *begin;          /* words that the answer begins with: part of the prompt, not
                                   of what gkv_next gives; NULL: none                        */
    uint64_t    gpu_memory;     /* bytes of the device's memory, 0: what is free there       */
    int         ignore_end;     /* tokens that end an answer do not end it: for measuring    */
    uint32_t    top_k;          /* the k likeliest tokens only; 0: off                       */
    uint32_t    repeat_last_n;  /* tokens of the prompt and the answer that penalties look back at: 64 */
    float       repeat_penalty; /* 1: off.  Logits of these tokens above 0 are divided by it, others multiplied, ... */
    float       presence_penalty, frequency_penalty;    /* ... then lowered by this, and by that for each time */
    const char *const *stop;    /* n_stop strings that end the answer and are no part of it  */
    size_t      n_stop;
    const gkv_grammar *grammar; /* the answer is a text of it, which fits into max_tokens if that is possible; or NULL */
    gkv_model  *reader;         /* of gkv_session_open and gkv_memory_needed: computes the first pass and chooses;
                                   NULL: the model itself.  chat_template and system are not for it */
    const char *snap;           /* what is kept goes over as text, widened to "none" (characters), "word", "sentence";
                                   NULL: "word" with a reader, otherwise not as text, but as tokens  */
    uint32_t    draft;          /* tokens guessed at a time from earlier text, at most 4; 0: none.  The answer is the same;
                                   a device may round otherwise                              */
    int32_t     think;          /* of gkv_document_open, too.  0: the answer comes at once; N > 0: the model thinks first, in at
                                   most N tokens, which max_tokens does not count; GKV_THINK: in at most 2048.
                                   Thoughts are no part of the answer.  GKV_INVALID: the chat template has none */
    int         draft_reader;   /* the reader guesses, too, where that is faster; it stays in memory then.  Without a reader
                                   this means nothing                                        */
    const gkv_group *group;     /* processes that compute the first pass together; NULL: this one alone.  It lives as long as
                                   what was opened with it                                   */
    gkv_reading *reading;       /* first passes that other sessions share; NULL: this one alone */
    const char *attention;      /* of the first pass, in schedules layer and chunk: "dense" (NULL); "sparse" or
                                   "sparse:threshold=0.9": without blocks of keys that get little of it */
    int         draft_mtp;      /* a layer of the model that answers guesses, too, on the CPU, where that is faster (multi-token
                                   prediction, gkv_model_info.mtp).  GKV_UNSUPPORTED: it has none; GKV_INVALID: the method
                                   has one pass only, ... */
    int         repack;         /* with gemm own or coarse, the model keeps a second copy of its weights, packed in the order
                                   that prefill reads.  Otherwise they are packed again for each block of rows.  Layers are
                                   packed when a question first needs them, if memory_limit has room for it, and stay until
                                   the model is closed (gkv_stats.memory_packed).  The same bytes come out.  Not for gkv_probe */
} gkv_options;

/* Sets the defaults.  Calls refuse options that were not set up by this.  They copy the struct, but not its strings,
 * which have to live as long as the object that was opened with them.                       */
GKV_API void       gkv_options_init_size(gkv_options *opt, size_t size);
#define gkv_options_init(opt) gkv_options_init_size((opt), sizeof *(opt))
/* A session with a document of its own, which gkv_feed fills.                               */
GKV_API gkv_status gkv_session_open(gkv_session **out, gkv_model *model,
                                    const gkv_options *opt, gkv_error *err);
/* More text of the current file.  Copied; UTF-8, but a sequence may be cut anywhere.        */
GKV_API gkv_status gkv_feed(gkv_session *s, const char *text, size_t len, gkv_error *err);
/* End of a file: the next gkv_feed begins another.  Optional after the last.                */
GKV_API gkv_status gkv_feed_end(gkv_session *s, gkv_error *err);
/* A question about the document: select, prefill.  It may be called any number of times; an answer does
 * not depend on earlier questions, unless gkv_session_turns tells them.  The first call ends the feeding.  After an error other than GKV_NOMEM
 * the next question may be asked.                                                           */
GKV_API gkv_status gkv_ask(gkv_session *s, const char *question, size_t len, gkv_error *err);
/* The same, but stop after the selection.                                                   */
GKV_API gkv_status gkv_select(gkv_session *s, const char *question, size_t len, gkv_error *err);
/* An earlier question and its answer. */
typedef struct {
    const char *question, *answer;
    const void *reserved[2];
} gkv_turn;
/* The conversation so far: questions from now on come after these n turns, in UTF-8, copied.  The chat template
 * sets them; one that cannot gets them as text in front of the question.  Their tokens count as the question's
 * (GKV_KEEP_PROMPT).                                                                       */
GKV_API gkv_status gkv_session_turns(gkv_session *s, const gkv_turn *turn, size_t n, gkv_error *err);
/* In all ranks of a group but 0: computes their parts of first passes of this model until rank 0 calls gkv_group_end.  Of
 * *opt it uses group, threads, memory_limit and progress.  After an error the group is of no use, since the others wait for this
 * rank: end the program.  What does not fit into the memory of one rank is no such error: rank 0's question fails, and
 * gkv_group_help goes on.                                                                   */
GKV_API gkv_status gkv_group_help(gkv_model *model, const gkv_options *opt, gkv_error *err);
GKV_API gkv_status gkv_group_end(const gkv_group *group, gkv_error *err);       /* rank 0     */
/* The next piece of the answer: *len bytes of whole UTF-8 characters, without a NUL, valid until the next call.
 * GKV_END after the last one; anything else is an error, and the answer so far is not complete. */
GKV_API gkv_status gkv_next(gkv_session *s, const char **text, size_t *len, gkv_error *err);
/* The call that is running, or else the next one, returns GKV_CANCELLED soon.               */
GKV_API void       gkv_cancel(gkv_session *s);          /* any thread, any signal handler    */
GKV_API void       gkv_session_close(gkv_session *s);

/* ---- document --------------------------------------------------------------------------- */
/* Text and its tokens: fed once, asked often, by any number of sessions at the same time.
 *
 *     gkv_document_open(&d, model, &opt, &err);
 *     gkv_document_feed(d, text, len, &err);
 *     gkv_session_of(&s, d, &opt, &err);      gkv_ask(s, ...); gkv_next(s, ...); gkv_ask(s, ...);
 *
 * Of *opt it uses chat_template, system, raw, think, memory_limit and max_context.  One thread feeds the
 * document.  The first gkv_session_of ends the feeding; when it has returned, any thread may use the
 * document.  Close its sessions before gkv_document_close.                                  */
GKV_API gkv_status gkv_document_open(gkv_document **out, gkv_model *model, const gkv_options *opt,
                                     gkv_error *err);
GKV_API gkv_status gkv_document_feed(gkv_document *d, const char *text, size_t len, gkv_error *err);
GKV_API gkv_status gkv_document_end_file(gkv_document *d, gkv_error *err);
GKV_API void       gkv_document_close(gkv_document *d);
/* The text of file i, as it was fed, len bytes; NULL when there is none. */
GKV_API const char *gkv_document_text(const gkv_document *d, size_t i, size_t *len);
/* Number of tokens so far that neither further text nor a question can change. */
GKV_API uint64_t   gkv_document_tokens(const gkv_document *d);
/* A number of all its text, as it was fed. */
GKV_API uint64_t   gkv_document_hash(const gkv_document *d);
/* The page, from 1 on, of a byte of file i: form feeds end pages.  0: there is no such file. */
GKV_API uint64_t   gkv_document_page(const gkv_document *d, size_t i, uint64_t byte);

/* Save writes d to path, whole or not at all, and ends its feeding.  Load reads it, for the same model and
 * chat template; GKV_FORMAT when something is wrong with the file.                          */
GKV_API gkv_status gkv_document_save(gkv_document *d, const char *path, gkv_error *err);
GKV_API gkv_status gkv_document_load(gkv_document **out, gkv_model *model, const gkv_options *opt,
                                     const char *path, gkv_error *err);

/* Finish d, compute the early layers of it once, and write text, tokens and that index to path, whole or
 * not at all.  What gkv_document_load gives of it is asked without the first pass: schedule index, which "auto"
 * then takes.  grade: "compact" (NULL), a bounded cache and the filter layer's keys; "exact", all keys and
 * values of the early layers; "q8" and "q4", the same in 8 and in 4 bits.  Of *opt count layer, threads, chunk,
 * gemm, memory_limit, progress.                                                             */
GKV_API gkv_status gkv_document_index(gkv_document *d, const gkv_options *opt, const char *grade,
                                      const char *path, gkv_error *err);
/* The gkv_document_index of d that is running, or else the next one, returns GKV_CANCELLED soon and writes nothing. */
GKV_API void       gkv_document_cancel(gkv_document *d);        /* any thread, any signal handler    */
/* n documents with an index, of one model and chat template, as one that sessions ask about: their files
 * follow each other.  Each was computed alone, and each is scored alone.  The parts are *out's from then
 * on; after an error they are still the caller's.                                           */
GKV_API gkv_status gkv_document_join(gkv_document **out, gkv_document *const *part, size_t n, gkv_error *err);

/* A session that asks about d, finished by this.  What d was opened with (chat template and so on) holds,
 * whatever *opt says of it.  What of a first pass does not depend on the question is kept for the next
 * one, with schedules that can (chunk, which "auto" then prefers) and as far as memory_limit allows:
 * the document's part of the early layers.  Methods full and truncate keep what both prompts begin with, in
 * all layers, unless a device computes them.  The same bytes come out.  A session with a document of its own
 * keeps this from its second question on.                                                   */
GKV_API gkv_status gkv_session_of(gkv_session **out, gkv_document *d, const gkv_options *opt,
                                  gkv_error *err);
/* The same, but d is another model's document, perhaps with its index: d's model is the reader, `model` answers. */
GKV_API gkv_status gkv_session_for(gkv_session **out, gkv_model *model, gkv_document *d, const gkv_options *opt,
                                   gkv_error *err);
GKV_API const gkv_document *gkv_session_document(const gkv_session *s);

/* The limit that memory_limit 0 means now, in bytes: 80 % of what is available; 0: unknown. */
GKV_API uint64_t   gkv_memory_default(void);
/* Bytes of resident memory that a prompt of n tokens will need (the peak of the process).   */
GKV_API gkv_status gkv_memory_needed(gkv_model *model, const gkv_options *opt, uint64_t n,
                                     uint64_t *bytes, gkv_error *err);
/* The same in two parts, where text is handed over (reader, snap): *first to read and choose, *second to answer from
 * the text.  gkv_memory_needed gives the larger one.  Elsewhere *first is all, and *second is 0. */
GKV_API gkv_status gkv_memory_needed_each(gkv_model *model, const gkv_options *opt, uint64_t n, uint64_t *first,
                                          uint64_t *second, gkv_error *err);

/* ---- what was kept, and what it cost ---------------------------------------------------- */
typedef struct {
    uint32_t    file;           /* its number, in the order of feeding                       */
    uint64_t    start, end;     /* bytes in that file                                        */
    float       score;          /* the largest score of its tokens ...                       */
    uint64_t    best;           /* ... and the byte in the file where that token begins      */
    const char *text;           /* the end - start bytes themselves, not NUL-terminated      */
    const void *reserved[2];
} gkv_kept;

typedef struct {
    uint64_t    tokens_document, tokens_prompt, tokens_kept, tokens_answer;
    double      load, tokenize, first, second, ttft, decode, total;     /* seconds           */
    uint64_t    memory_predicted, memory_peak;                          /* bytes             */
    uint64_t    memory_limit;
    uint64_t    memory_kv;      /* of the keys and values that the answer is written from    */
    int32_t     layer;                                  /* -1: the method has none           */
    const char *method, *schedule, *device, *cpu, *chat_template;
    const char *parameters;                             /* of the method: "pool=avg,kernel=5" */
    const char *device_reason;                  /* why on the CPU: one line, or NULL         */
    const char *device_model;                   /* of a device: "NVIDIA H200", else NULL ... */
    uint64_t    device_memory;                  /* ... bytes used of it,                     */
    uint32_t    device_layers;                  /* layers that stayed in them, and seconds   */
    double      upload, upload_waited;          /* of the upload, and after the first pass   */
    const char *schedule_reason;                        /* one line, or NULL: no first pass  */
    const char *warning;                                /* one line, or NULL                 */
    const char *finish;         /* "stop": at its end, "length": cut or shortened to max_tokens; "" before END */
    const char *stop;                                   /* of the options: what ended it, or NULL */
    int         incomplete;                             /* it ends inside a text of the grammar */
    const char *snap;           /* how text was handed over ("word" also where a sentence has no room), or NULL: tokens
                                   were.  Then tokens_document and tokens_prompt are the reader's, tokens_kept and
                                   tokens_answer the other's,                                                   */
    const char *reader;         /* ... the reader's name; NULL: the model itself                     */
    double      load_reader, hand_over;                 /* seconds: part of load; choosing pieces of text */
    uint64_t    predicted_reader, predicted_answerer;   /* bytes; memory_predicted is the larger one */
    uint64_t    drafted, accepted;                      /* tokens of the answer: guessed, and right  */
    uint64_t    tokens_thought;         /* tokens that the model wrote before the answer, ...        */
    const char *thought;                /* ... and their text, or NULL: valid until the next question */
    int         can_think;              /* options.think means something for the model that answers  */
    uint64_t    drafted_reader, accepted_reader;        /* those of drafted and accepted that the reader guessed */
    uint32_t    processes;              /* that computed the first pass together (options.group), 1: this one alone, ... */
    double      waited;                 /* ... and seconds of it that this one waited for the others */
    uint64_t    drafted_mtp, accepted_mtp;      /* those of drafted and accepted that the model's own layer guessed */
    uint64_t    memory_packed;  /* bytes of weights that are kept packed (options.repack), of the reader's, too */
} gkv_stats;

/* Runs of kept document tokens of the last question, merged where adjacent, in document order.  Valid
 * until the next question.                                                                  */
GKV_API const gkv_kept *gkv_session_kept(const gkv_session *s, size_t *count);
/* With options.snap or a reader: the text that the last question was to be answered from, of file i of those that have
 * some of it: *len bytes, valid until the next question; NULL when there is none.           */
GKV_API const char     *gkv_session_text(const gkv_session *s, size_t i, size_t *len);
GKV_API void            gkv_session_stats_size(const gkv_session *s, gkv_stats *out, size_t size);
#define gkv_session_stats(s, out) gkv_session_stats_size((s), (out), sizeof *(out))

/* ---- library ---------------------------------------------------------------------------- */
/* Documents in a folder, by name: a catalogue of them with their words, and for each a segment, a file of
 * gkv_document_index.  All are of one model, chat template and layer.  One process writes at a time,
 * others go on reading.  Killed at any moment, a library is what it was or what it should become.
 *
 *     gkv_library_open(&l, "notes", GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE, &err);
 *     gkv_library_put(l, &source, document, &opt, &err);
 *     gkv_library_find(l, question, NULL, 16, &n, &err);      gkv_library_entry(l, 0, &entry);
 *     gkv_library_load(l, entry.name, model, &opt, &document, &err);
 *
 * One thread at a time.  GKV_IO: the file system refuses, or another process writes; GKV_FORMAT: the catalogue
 * is damaged, or of a later format; GKV_INVALID: these are another model's documents, ...; a build without
 * SQLite knows GKV_UNSUPPORTED only. */
typedef struct gkv_library gkv_library;

enum {
    GKV_LIBRARY_WRITE = 1,      /* until gkv_library_close no other process can              */
    GKV_LIBRARY_CREATE = 2      /* with GKV_LIBRARY_WRITE: if there is none                  */
};

/* Where a document comes from, and how it was indexed. */
typedef struct {
    const char *name;           /* in the library, any text: the path as it was given        */
    const char *path;           /* absolute, or NULL: it was no file                         */
    uint64_t    bytes;          /* of the file, ...                                          */
    int64_t     modified;       /* ... and its time, in ns since 1970; 0: not known          */
    int32_t     layer;          /* the filter layer, ...                                     */
    const char *grade;          /* ... and how it is indexed; NULL: "compact"                */
    const char *part;           /* what its form feeds end: "page", "slide", ...; NULL: not known */
    const void *reserved[3];
} gkv_source;

typedef struct {
    gkv_source  source;
    uint64_t    id;             /* increases with each gkv_library_put                       */
    uint64_t    bytes, hash;    /* of the text: gkv_document_hash                            */
    uint64_t    tokens, pages;
    uint64_t    segment_bytes;  /* of its file, ...                                          */
    uint64_t    stored_bytes;   /* ... and of the disk: files have holes                     */
    uint64_t    model;          /* gkv_model_fingerprint                                     */
    const char *model_name;
    int64_t     added;          /* or noted: ns since 1970                                   */
    double      score;          /* gkv_library_find: BM25 of the best passage, ...           */
    uint64_t    start, end;     /* ... and where that is, in bytes of the text               */
} gkv_library_entry_info;

GKV_API gkv_status gkv_library_open(gkv_library **out, const char *path, unsigned flags, gkv_error *err);
GKV_API void       gkv_library_close(gkv_library *l);
/* GKV_INVALID, by name, unless all its documents are of this model and layer. */
GKV_API gkv_status gkv_library_fits(gkv_library *l, const gkv_model *model, int32_t layer, gkv_error *err);
/* Index d, a text of one file, into a segment, as gkv_document_index does with source->grade and ->layer, and
 * name it in the catalogue, in place of what had that name.  opt NULL: text and tokens only, without an
 * index.  After an error the library is as before.                                          */
GKV_API gkv_status gkv_library_put(gkv_library *l, const gkv_source *source, gkv_document *d,
                                   const gkv_options *opt, gkv_error *err);
/* The text of source->name was read again and is the same: remember path, bytes and modified. */
GKV_API gkv_status gkv_library_note(gkv_library *l, const gkv_source *source, gkv_error *err);
/* GKV_END: there is no document of that name.                                               */
GKV_API gkv_status gkv_library_remove(gkv_library *l, const char *name, gkv_error *err);
/* Collect entries whose names match glob, as fnmatch(3) does it, or all if that is NULL: how many are *n.
 * With a question those that share a word with it, the one with the best passage first (BM25; of equals the
 * smaller id), at most `top` of them unless that is 0; without one all of them, by id.      */
GKV_API gkv_status gkv_library_find(gkv_library *l, const char *question, const char *glob, size_t top,
                                    size_t *n, gkv_error *err);
/* The i-th of them; zeroed when there is none.  Its text is valid until the next gkv_library_find. */
GKV_API void       gkv_library_entry_size(const gkv_library *l, size_t i, gkv_library_entry_info *out, size_t size);
#define gkv_library_entry(l, i, out) gkv_library_entry_size((l), (i), (out), sizeof *(out))
/* The entry of that name, valid until the next gkv_library_get.  GKV_END: there is none.    */
GKV_API gkv_status gkv_library_get_size(gkv_library *l, const char *name, gkv_library_entry_info *out, size_t size,
                                        gkv_error *err);
#define gkv_library_get(l, name, out, err) gkv_library_get_size((l), (name), (out), sizeof *(out), (err))
/* gkv_document_load of its segment: the caller closes *out.  GKV_END: there is no such name. */
GKV_API gkv_status gkv_library_load(gkv_library *l, const char *name, gkv_model *model, const gkv_options *opt,
                                    gkv_document **out, gkv_error *err);
/* Read all of its segment: is it what was written?  Of the catalogue, when name is NULL.    */
GKV_API gkv_status gkv_library_verify(gkv_library *l, const char *name, gkv_error *err);
/* Only if its size is wrong or somebody has written to it since.                            */
GKV_API gkv_status gkv_library_verify_quick(gkv_library *l, const char *name, gkv_error *err);
/* Remove segments that the catalogue does not name, as the next writer would, and entries whose segment is
 * not there: how many.                                                                      */
GKV_API gkv_status gkv_library_prune(gkv_library *l, uint64_t *segments, uint64_t *entries, gkv_error *err);

/* ---- which layer to select at ----------------------------------------------------------- */
/* Results of one layer as the filter layer, and as the layer after which FastKV selects.    */
typedef struct {
    double      covered;        /* share of the wanted tokens that GemFilter keeps there     */
    uint64_t    distance;       /* tokens from the wanted ones to the nearest kept; 0: kept  */
    double      error;          /* squared distance of the last token's final hidden state to
                                   that of the whole prompt (FastKV, equation 3); NaN: not tried */
} gkv_layer_probe;

/* Instead of gkv_ask: runs all layers over the prompt, and tries each as the layer that selects.  layer
 * is an array of the model's n_layer.  Wanted are the tokens of bytes start .. end of the first file.  Of
 * the session's options it uses those of a first pass; GemFilter keeps `keep` tokens, and none
 * regardless of their score.  FastKV is tried after layers 0 .. tsp - 1, with a fifth of the prompt
 * going on.                                                                                 */
GKV_API gkv_status gkv_probe(gkv_session *s, const char *question, size_t len, uint64_t start,
                             uint64_t end, uint32_t tsp, gkv_layer_probe *layer, gkv_error *err);

/* ---- the model itself, for measuring ---------------------------------------------------- */
/* Token ids through all layers, in one context that grows and can be truncated.  No documents,
 * no template, no selection; no token ends the text.  One thread at a time.                 */
typedef struct gkv_eval gkv_eval;

/* Reserve all that n_ctx tokens need, on the CPU.  Of *opt it uses kv_type (NULL: f16), gemm,
 * threads, chunk, memory_limit and progress.  GKV_LIMIT when it would exceed the limit even
 * with small chunks; the error says how much it needs.  The model must outlive *out.        */
GKV_API gkv_status gkv_eval_open(gkv_eval **out, gkv_model *model, const gkv_options *opt,
                                 uint64_t n_ctx, gkv_error *err);
/* Append the tokens ids[n].  logprob, unless NULL, is an array of n: logprob[i] becomes the
 * natural logarithm of the probability that the model gives to ids[i] after all before it.
 * logprob[0] is NaN when that is unknown: in an empty context, and after gkv_eval_truncate.  NULL
 * computes the logits of the last token only, as generation does.  An id outside of the
 * vocabulary is GKV_INVALID, more tokens than fit GKV_LIMIT; then nothing has changed.  After
 * GKV_CANCELLED the tokens are those before the call, and the next token is unknown.        */
GKV_API gkv_status gkv_eval_tokens(gkv_eval *e, const uint32_t *ids, size_t n, float *logprob,
                                   gkv_error *err);
/* The likeliest token after those appended.  It is not appended.  GKV_INVALID when it is unknown:
 * in an empty context, and after gkv_eval_truncate.                                         */
GKV_API gkv_status gkv_eval_next(gkv_eval *e, uint32_t *id, gkv_error *err);
/* Forget all but the first n tokens.                                                        */
GKV_API gkv_status gkv_eval_truncate(gkv_eval *e, uint64_t n, gkv_error *err);
/* gkv_eval_tokens, running now or called next, returns GKV_CANCELLED soon.                  */
GKV_API void       gkv_eval_cancel(gkv_eval *e);        /* any thread, any signal handler    */
GKV_API void       gkv_eval_close(gkv_eval *e);

typedef struct {
    uint64_t    n, n_ctx;                       /* tokens appended, tokens that fit          */
    uint64_t    memory_predicted, memory_peak, memory_limit;        /* bytes                 */
    uint64_t    bytes_weights;                  /* weights read to decode one token          */
    uint64_t    bytes_position;                 /* keys and values read per earlier token    */
    uint32_t    threads, chunk;                 /* chosen                                    */
    const char *cpu, *kv_type, *gemm;
} gkv_eval_info;
GKV_API void gkv_eval_describe_size(const gkv_eval *e, gkv_eval_info *out, size_t size);
#define gkv_eval_describe(e, out) gkv_eval_describe_size((e), (out), sizeof *(out))

#ifdef __cplusplus
}
#endif
#endif
