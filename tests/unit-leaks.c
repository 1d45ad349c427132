/* SPDX-License-Identifier: BSD-2-Clause
 * unit-leaks.c - what is opened and closed leaves nothing: no block of memory, no mapping, no descriptor.  The linker puts
 * functions of this file between the library and the C library (--wrap), which count.  LeakSanitizer sees no mappings,
 * and no block that something still points to. */
#include "config.h"
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "gemkv.h"
#include "src/template/template.h"
#include "tests/tap.h"

/* ---- counting ---------------------------------------------------------------------------- */

enum { SLOTS = 1 << 18 };

/* Blocks and mappings since the last start() that were not given back; those of before are unknown, and so is what the C
 * library allocated by itself. */
static struct { void *p; size_t bytes; } slot[SLOTS];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static bool counts;
static long blocks, mapped;
static char gone;               /* in a slot that others may lie behind */

static size_t place_of(const void *p)
{
    size_t i = (size_t)((uintptr_t)p * UINT64_C(0x9e3779b97f4a7c15) >> 46) % SLOTS;

    while (slot[i].p && slot[i].p != p)
        i = (i + 1) % SLOTS;
    return i;
}

static void got(void *p, size_t bytes)
{
    size_t i;

    pthread_mutex_lock(&mutex);
    if (counts && p) {
        i = place_of(p);
        slot[i].p = p;
        slot[i].bytes = bytes;
        blocks += !bytes;
        mapped += (long)bytes;
    }
    pthread_mutex_unlock(&mutex);
}

static void gave(void *p, size_t bytes)
{
    size_t i;

    pthread_mutex_lock(&mutex);
    i = place_of(p);
    if (p && slot[i].p && !slot[i].bytes == !bytes) {
        blocks -= !bytes;
        mapped -= (long)bytes;
        slot[i].p = &gone;
    }
    pthread_mutex_unlock(&mutex);
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void  __real_free(void *p);
void *__real_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at);
int   __real_munmap(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
void  __wrap_free(void *p);
void *__wrap_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at);
int   __wrap_munmap(void *p, size_t n);

void *__wrap_malloc(size_t n)
{
    void *p = __real_malloc(n);

    got(p, 0);
    return p;
}

void *__wrap_calloc(size_t n, size_t size)
{
    void *p = __real_calloc(n, size);

    got(p, 0);
    return p;
}

void *__wrap_realloc(void *p, size_t n)
{
    void *q;

    gave(p, 0);
    q = __real_realloc(p, n);
    got(q ? q : n ? p : NULL, 0);
    return q;
}

char *__wrap_strdup(const char *s)
{
    char *p = __real_strdup(s);

    got(p, 0);
    return p;
}

void __wrap_free(void *p)
{
    gave(p, 0);
    __real_free(p);
}

static size_t in_pages(size_t n)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);

    return (n + page - 1) / page * page;
}

void *__wrap_mmap(void *p, size_t n, int prot, int flags, int fd, off_t at)
{
    void *q = __real_mmap(p, n, prot, flags, fd, at);

    got(q == MAP_FAILED ? NULL : q, in_pages(n));
    return q;
}

int __wrap_munmap(void *p, size_t n)
{
    gave(p, in_pages(n));
    return __real_munmap(p, n);
}

static int descriptors(void)
{
    DIR *d = opendir("/proc/self/fd");
    int n = 0;

    while (d && readdir(d))
        n++;
    if (d)
        closedir(d);
    return n;
}

static int opened;

static void start(void)
{
    memset(slot, 0, sizeof slot);
    blocks = mapped = 0;
    opened = descriptors();
    counts = true;
}

static void leaves_nothing(bool went, const char *what)
{
    const int left = descriptors() - opened;

    counts = false;
    ok(went && !blocks && !mapped && !left, "%s: %ld blocks, %ld bytes of mappings, %d descriptors%s", what, blocks, mapped,
       left, went ? "" : " (it was not done)");
}

/* ---- what is done ------------------------------------------------------------------------ */

static gkv_error err;
static char dir[4096], text[6000];
static const char question[] = "Where is the red lamp?";

static const char *golden(const char *name)
{
    static char path[4096];

    snprintf(path, sizeof path, "%s/tests/files/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    return path;
}

static gkv_options options(void)
{
    gkv_options o;

    gkv_options_init(&o);
    o.device = "cpu";
    o.keep = 96;
    o.keep_last = 8;
    o.threads = 2;
    o.chunk = 64;
    o.max_tokens = 4;
    return o;
}

static bool answers(gkv_session *s)
{
    gkv_status status;
    const char *piece;
    size_t n;

    while (!(status = gkv_next(s, &piece, &n, &err)))
        ;
    return status == GKV_END;
}

/* Two questions, and a session that is closed before its answer has ended. */
static bool asks(gkv_model *model, const gkv_options *o)
{
    gkv_session *s = NULL;
    const char *piece;
    size_t n;
    bool good = !gkv_session_open(&s, model, o, &err) && !gkv_feed(s, text, strlen(text), &err) &&
                !gkv_ask(s, question, strlen(question), &err) && answers(s) && !gkv_ask(s, "And the house?", 14, &err) &&
                answers(s) && !gkv_ask(s, question, strlen(question), &err) && !gkv_next(s, &piece, &n, &err);

    if (!good)
        printf("# %s\n", err.text);
    gkv_session_close(s);
    return good;
}

static bool with_model(const char *name, const gkv_options *o)
{
    gkv_model *model = NULL;
    const bool good = !gkv_model_open(&model, golden(name), 0, &err) && asks(model, o);

    gkv_model_close(model);
    return good;
}

/* Those without a vocabulary are given tokens. */
static bool measures(const char *name)
{
    static const uint32_t ids[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 };
    const gkv_options o = options();
    gkv_model *model = NULL;
    gkv_eval *eval = NULL;
    uint32_t next;
    float logprob[10];
    const bool good = !gkv_model_open(&model, golden(name), 0, &err) && !gkv_eval_open(&eval, model, &o, 20, &err) &&
                      !gkv_eval_tokens(eval, ids, 10, logprob, &err) && !gkv_eval_next(eval, &next, &err) &&
                      !gkv_eval_tokens(eval, &next, 1, NULL, &err) && !gkv_eval_truncate(eval, 0, &err) &&
                      gkv_eval_tokens(eval, (const uint32_t[]){ UINT32_MAX }, 1, NULL, &err) == GKV_INVALID;

    gkv_eval_close(eval);
    gkv_model_close(model);
    return good;
}

static void check_models(void)
{
    static const char *const names[] = { "golden/llama3", "golden/qwen35moe", "golden/gemma3", "golden/phi3" };
    static const char *const without[] = { "hf/lfm2moe", "hf/gemma4e", "hf/gemma4moe", "hf/granitehybridmoe", "hf/gpt-oss",
                                           "hf/llama4" };
    const gkv_options o = options();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        start();
        leaves_nothing(with_model(names[i], &o), names[i]);
    }
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        start();
        leaves_nothing(measures(without[i]), without[i]);
    }
}

static void check_methods(gkv_model *model)
{
    size_t n_methods, n_schedules;
    const gkv_method *method = gkv_methods(&n_methods);
    const gkv_schedule *schedule = gkv_schedules(&n_schedules);
    gkv_options o = options();
    char name[64];

    for (size_t i = 0; i < n_methods; i++) {
        o.method = method[i].name;
        o.draft = i % 2 ? 4 : 0;
        start();
        leaves_nothing(asks(model, &o), o.method);
    }
    o.method = NULL;
    for (size_t i = 0; i < n_schedules; i++) {
        snprintf(name, sizeof name, "%s%s", schedule[i].name, strcmp(schedule[i].name, "stream") ? "" : ":budget=128,recent=32");
        o.schedule = name;
        if (!strcmp(name, "index"))             /* below */
            continue;
        start();
        leaves_nothing(asks(model, &o), name);
    }
    o.schedule = "layer";
    o.attention = "sparse";
    start();
    leaves_nothing(asks(model, &o), "sparse attention");
    o.attention = NULL;
    o.method = "gemfilter:refine=2";
    start();
    leaves_nothing(asks(model, &o), "refined scores");
    o.method = NULL;
    o.threads = 0;                              /* as many as the machine has */
    o.snap = "sentence";
    o.keep = 1200;
    start();
    leaves_nothing(asks(model, &o), "what is kept as text");
}

/* Failures give back what was there by then. */
static void check_failures(gkv_model *model)
{
    static const char grammar[] = "root ::= \"yes\" | [a-z]{2,5} (\" \" [0-9]+)*";
    gkv_options o = options();
    gkv_session *s = NULL;
    gkv_grammar *g = NULL;
    bool good;

    start();
    good = !gkv_grammar_open(&g, grammar, strlen(grammar), &err);
    o.grammar = g;
    good &= asks(model, &o);
    gkv_grammar_close(g);
    leaves_nothing(good, "an answer by a grammar");
    o = options();
    start();
    good = true;
    for (size_t n = 0; n < sizeof grammar - 1; n++)
        if (!gkv_grammar_open(&g, grammar, n, &err))
            gkv_grammar_close(g);
    leaves_nothing(good, "grammars that end too early");

    start();
    o.memory_limit = 1 << 20;
    good = !gkv_session_open(&s, model, &o, &err) && !gkv_feed(s, text, strlen(text), &err) &&
           gkv_ask(s, question, strlen(question), &err) == GKV_LIMIT;
    gkv_session_close(s);
    leaves_nothing(good, "a question for which there is no room");
    o = options();
    start();
    good = !gkv_session_open(&s, model, &o, &err) && !gkv_feed(s, text, strlen(text), &err);
    gkv_cancel(s);
    good &= gkv_ask(s, question, strlen(question), &err) == GKV_CANCELLED;
    gkv_session_close(s);
    leaves_nothing(good, "a question that was cancelled");
    start();
    o.method = "none such";
    good = gkv_session_open(&s, model, &o, &err) == GKV_INVALID;
    o.method = "gemfilter:pool=x";
    good &= gkv_session_open(&s, model, &o, &err) == GKV_INVALID;
    leaves_nothing(good, "sessions that are not opened");
}

/* Templates with turns, with thoughts, and some that are refused. */
static void check_templates(void)
{
#define TURNS "{% for m in messages %}<{{ m.role }}>{{ m.content }}</>{% endfor %}<assistant>"
    static const char *const jinja[] = {
        TURNS, TURNS "{% if enable_thinking %}<think>{% else %}<think></think>{% endif %}", "{{ messages[0].content }}",
        "{{ messages|length }}" TURNS, TURNS "{{ raise_exception('no') if messages|length > 1 }}", "{{ nothing.at.all }}",
        "no turn at all", TURNS "{{ '\\0' }}", "{% for", "{% set x = [1, {'a': 'b'}] %}" TURNS,
    };

    for (size_t i = 0; i < sizeof jinja / sizeof *jinja; i++) {
        struct gkv__template own;
        const char *const system = i % 2 ? "Be brief." : NULL;

        start();
        if (gkv__template_own(&own, jinja[i], strlen(jinja[i]), system, "<s>", "</s>", true, true, 0, &err) == GKV_OK)
            free(own.text);
        leaves_nothing(true, jinja[i]);
    }
#undef TURNS
}

/* A model's file that ends too early, or has a byte that is wrong. */
static void check_files(void)
{
    static char bytes[1 << 18];
    char path[5000];
    FILE *f = fopen(golden("golden/qwen35"), "rb");
    const size_t n = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    size_t refused = 0;

    if (f)
        fclose(f);
    snprintf(path, sizeof path, "%s/model.gguf", dir);
    start();
    for (size_t i = 0; i < 60; i++) {
        const size_t cut = i < 30 ? i * i * 12 : n, at = 32 + i * 397;
        gkv_model *model;

        f = fopen(path, "wb");
        if (i >= 30)
            bytes[at] ^= 0x55;
        if (!f || fwrite(bytes, 1, cut, f) != cut || fclose(f))
            break;
        if (gkv_model_open(&model, path, 0, &err))
            refused++;
        else
            gkv_model_close(model);
        if (i >= 30)
            bytes[at] ^= 0x55;
    }
    leaves_nothing(n && refused >= 30, "files that are no models");
    unlink(path);
}

static bool feeds(gkv_document *d)
{
    return !gkv_document_feed(d, text, strlen(text), &err) && !gkv_document_end_file(d, &err);
}

static void check_documents(gkv_model *model)
{
    gkv_options o = options();
    gkv_document *d = NULL, *e = NULL, *both = NULL;
    gkv_session *s = NULL;
    gkv_reading *reading = NULL;
    gkv_eval *eval = NULL;
    uint32_t *ids = NULL;
    char path[5000], saved[5000];
    size_t n = 0;
    bool good;

    snprintf(path, sizeof path, "%s/document", dir);
    snprintf(saved, sizeof saved, "%s/saved", dir);
    start();
    good = !gkv_document_open(&d, model, &o, &err) && feeds(d) && !gkv_document_index(d, &o, "exact", path, &err) &&
           !gkv_document_save(d, saved, &err);
    gkv_document_close(d);
    d = NULL;
    leaves_nothing(good, "a document that is read and saved");
    o.schedule = "index";
    start();
    good = !gkv_document_load(&d, model, &o, path, &err) && !gkv_session_of(&s, d, &o, &err) &&
           !gkv_ask(s, question, strlen(question), &err) && answers(s);
    if (!good)
        printf("# %s\n", err.text);
    gkv_session_close(s);
    gkv_document_close(d);
    leaves_nothing(good, "a document that is loaded, by its index");
    s = NULL;
    d = NULL;
    o.schedule = NULL;
    start();
    good = !gkv_document_load(&d, model, &o, path, &err) && !gkv_document_load(&e, model, &o, path, &err) &&
           !gkv_document_join(&both, (gkv_document *const[]){ d, e }, 2, &err) && !gkv_session_of(&s, both, &o, &err) &&
           !gkv_ask(s, question, strlen(question), &err) && answers(s);
    if (!good)
        printf("# %s\n", err.text);
    gkv_session_close(s);
    gkv_document_close(both);                   /* with its parts */
    leaves_nothing(good, "two documents as one");
    start();
    good = !gkv_document_load(&d, model, &o, saved, &err) && !gkv_document_load(&e, model, &o, path, &err) &&
           gkv_document_join(&both, (gkv_document *const[]){ e, d }, 2, &err) != GKV_OK;
    gkv_document_close(d);
    gkv_document_close(e);
    leaves_nothing(good, "two documents that are not joined");
    start();
    good = truncate(path, 3000) == 0 && gkv_document_load(&d, model, &o, path, &err) != GKV_OK;
    leaves_nothing(good, "a document that ends too early");
    unlink(path);
    unlink(saved);

    start();
    good = !gkv_reading_open(&reading, (const uint32_t[]){ 1 }, 1, &err);
    o.reading = reading;
    good &= asks(model, &o);
    gkv_reading_close(reading);
    leaves_nothing(good, "first passes that are shared");
    o.reading = NULL;
    start();
    good = !gkv_tokenize(model, text, 500, 0, &ids, &n, &err) && !gkv_eval_open(&eval, model, &o, 600, &err);
    if (good) {
        float *logprob = malloc(n * sizeof *logprob);

        good = logprob && !gkv_eval_tokens(eval, ids, n, logprob, &err);
        free(logprob);
    }
    gkv_eval_close(eval);
    free(ids);
    leaves_nothing(good, "a text that is measured");
}

static void check_library(gkv_model *model)
{
    const gkv_source source = { .name = "a", .layer = -1 };
    gkv_options o = options();
    gkv_library *l = NULL;
    gkv_document *d = NULL, *none;
    char path[5000];
    size_t found = 0;
    gkv_status status;
    bool good;

    snprintf(path, sizeof path, "%s/library", dir);
    for (int warm = 1; warm >= 0; warm--) {     /* SQLite keeps something of its own */
        if (!warm)
            start();
        status = gkv_library_open(&l, path, GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE, &err);
        if (status == GKV_UNSUPPORTED) {
            counts = false;
            skip("built without", "a library");
            return;
        }
        good = !status && !gkv_document_open(&d, model, &o, &err) && feeds(d) && !gkv_library_put(l, &source, d, NULL, &err);
        gkv_document_close(d);
        d = NULL;
        good = good && !gkv_library_load(l, "a", model, &o, &d, &err) && !gkv_library_verify(l, "a", &err) &&
               !gkv_library_find(l, question, NULL, 3, &found, &err) && gkv_library_load(l, "b", model, &o, &none, &err);
        if (!good)
            printf("# %s\n", err.text);
        gkv_document_close(d);
        d = NULL;
        good = good && !gkv_library_remove(l, "a", &err);
        gkv_library_close(l);
        l = NULL;
    }
    leaves_nothing(good, "a library");
}

int main(void)
{
    static const char *const words[] = { "the ", "old ", "house ", "lamp, ", "Red ", "stood ", "where\n", "is ", "a ", "dog. " };
    gkv_options o = options();
    gkv_model *model;
    char command[5000];

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    if (descriptors() < 3)
        return skip_all("no /proc/self/fd");
    snprintf(dir, sizeof dir, "%s/unit-leaks-XXXXXX", getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
    if (!mkdtemp(dir)) {
        printf("Bail out! no folder %s\n", dir);
        return 1;
    }
    for (size_t i = 0; i < 120; i++)
        strcat(text, words[i * i % 7 + i % 4]);
    with_model("golden/llama3", &o);            /* what is kept for all: threads, tables */
    check_models();
    if (gkv_model_open(&model, golden("golden/llama3"), 0, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    check_methods(model);
    check_failures(model);
    check_templates();
    check_files();
    check_documents(model);
    check_library(model);
    gkv_model_close(model);
    snprintf(command, sizeof command, "rm -rf '%s'", dir);
    if (system(command))
        printf("# %s is left\n", dir);
    return done();
}
