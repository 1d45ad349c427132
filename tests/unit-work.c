/* SPDX-License-Identifier: BSD-2-Clause
 * unit-work.c - what the server reads for a question, what it keeps of it for the next one, and how it fails.  The queue
 * (ask.c) is played here: one question after the other, whose asker leaves when the test says so. */
#include "config.h"
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/answerer.h"
#include "src/cli/http.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/serve/indexes.h"
#include "src/cli/serve/work.h"
#include "tests/folder.h"
#include "tests/tap.h"

enum { LONG = 5 << 10, LONGER = 17 << 10 };     /* bytes: of a text that gets an index, and of two that are not quick */

/* ---- in place of ask.c ------------------------------------------------------------------- */
static bool     gone;                           /* the asker                              */
static unsigned watches, leaves_at;             /* ask_watch so far; at which of them he leaves, 0: never */
static double   told;                           /* the largest fraction                   */
static char    *lost;                           /* a file that vanishes when reading ends, or NULL */

void ask_tell(struct ask *a, double fraction, uint64_t tokens)
{
    (void)a;
    (void)tokens;
    told = fraction > told ? fraction : told;
}

void ask_give(struct ask *a, const char *text, size_t n)
{
    text_add(&a->answer, text, n);
}

bool ask_watch(struct ask *a, gkv_session *s, gkv_document *d)
{
    (void)a;
    if (!s && !d) {
        if (lost)
            unlink(lost);
        return !gone;
    }
    gone = gone || ++watches == leaves_at;
    return !gone;
}

bool ask_gone(struct ask *a)
{
    (void)a;
    return gone;
}

/* ---- help -------------------------------------------------------------------------------- */
static char          scratch[] = "/tmp/unit-work-XXXXXX";
static struct folder place = { .path = scratch, .lasts = true, .lock = -1 };
static struct io     io;
static char         *said;                      /* what was told, once io.err is flushed  */
static size_t        n_said;
static gkv_model    *tiny, *same, *mini;        /* the same one twice; one with a chat template of its own */
static gkv_model    *model;                     /* the one that answers                   */
static struct run    r;

static gkv_model *model_named(const char *name)
{
    gkv_model *m = NULL;
    gkv_error  err = { 0 };
    char       path[512];

    snprintf(path, sizeof path, "%s/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

/* n bytes of words; each letter begins another text. */
static char *words(char letter, size_t n)
{
    static const char some[] = " cat and the hat sat on a mat.";
    char             *s = malloc(n + 1);

    for (size_t i = 0; i < n; i++)
        s[i] = i % 31 ? some[i % 30] : letter;
    s[n] = 0;
    return s;
}

static struct work *open_work(uint64_t most)
{
    r.o.io = &io;
    r.model = model;
    return work_open(&r, &place, most);
}

static struct ask *ask_about(const char *question)
{
    struct ask *a = calloc(1, sizeof *a);

    gkv_options_init(&a->opt);
    a->opt.device = "cpu";
    a->opt.threads = 1;
    a->opt.chunk = 64;
    a->opt.keep = 100;
    a->opt.max_tokens = 3;
    a->question = format("%s", question);
    gone = false;
    watches = leaves_at = 0;
    told = 0;
    return a;
}

static struct source *source(struct ask *a)
{
    a->source = grow(a->source, a->n_sources + 1, sizeof *a->source);
    a->source[a->n_sources] = (struct source){ .name = format("text %zu", a->n_sources + 1) };
    return &a->source[a->n_sources++];
}

static void add_text(struct ask *a, char letter, size_t n)
{
    char *s = words(letter, n);

    text_add(&source(a)->text, s, n);
    free(s);
}

static struct ask *long_one(char letter)
{
    struct ask *a = ask_about("Where is the cat?");

    add_text(a, letter, LONG);
    return a;
}

/* What came of the last work_on; a may be asked again. */
static void forget(struct ask *a)
{
    for (size_t i = 0; i < a->n_passages; i++)
        free(a->passage[i].text);
    for (size_t i = 0; i < a->n_claims; i++)
        free(a->claim[i].sentence);
    free(a->passage);
    free(a->claim);
    free(a->finish);
    free(a->thought);
    free(a->warning);
    free(a->method);
    free(a->schedule);
    text_free(&a->answer);
    a->passage = NULL;
    a->claim = NULL;
    a->n_passages = a->n_claims = 0;
    a->finish = a->thought = a->warning = a->method = a->schedule = NULL;
    a->indexed = false;
}

static void end(struct ask *a)
{
    forget(a);
    for (size_t i = 0; i < a->n_sources; i++) {
        free(a->source[i].name);
        free(a->source[i].path);
        free(a->source[i].part);
        text_free(&a->source[i].text);
    }
    free(a->source);
    free(a->turn);
    free(a->question);
    free(a->system);
    free(a);
}

static gkv_status on(struct work *w, struct ask *a)
{
    a->err = (gkv_error){ 0 };
    work_on(w, a);
    return a->status;
}

/* One question about the long text of this letter; 'i': its index was there, 'r': it was read, '-': it failed. */
static char asked(struct work *w, char letter)
{
    struct ask *a = long_one(letter);
    const char  what = on(w, a) != GKV_END ? '-' : a->indexed && !a->read ? 'i' : 'r';

    if (what == '-')
        printf("# %s\n", a->err.text);
    end(a);
    return what;
}

static char *at(const char *name)
{
    return format("%s/%s", scratch, name);
}

static void put_file(const char *name, const char *text, size_t n)
{
    char *to = at(name);
    FILE *f = fopen(to, "w");

    if (!f || fwrite(text, 1, n, f) != n || fclose(f))
        printf("# %s cannot be written\n", to);
    free(to);
}

static uint64_t key_of(char letter)
{
    struct ask    *a = long_one(letter);
    const uint64_t key = indexes_key(a->source[0].text.p, LONG, &a->opt, r.o.grade);

    end(a);
    return key;
}

static char *index_of(char letter)
{
    return format("%s/index-%016" PRIx64, scratch, key_of(letter));
}

static size_t n_indexes(void)
{
    size_t n;
    char **name = folder_list(&place, "index-", &n);

    for (size_t i = 0; i < n; i++)
        free(name[i]);
    free(name);
    return n;
}

static void empty(void)
{
    size_t n;
    char **name = folder_list(&place, "", &n);

    for (size_t i = 0; i < n; i++) {
        char *path = folder_file(&place, name[i]);

        unlink(path);
        free(path);
        free(name[i]);
    }
    free(name);
}

/* ---- tests ------------------------------------------------------------------------------- */
static void test_short(void)
{
    struct work *w = open_work(UINT64_MAX);
    struct ask  *a = ask_about("Where is the cat?");

    add_text(a, 'a', 300);
    add_text(a, 'b', 200);
    ok(work_is_quick(w, a) && a->source[0].text.n == 300, "short texts are quick, and stay");
    ok(on(w, a) == GKV_END && !a->indexed && !n_indexes(), "they are read without an index");
    ok(a->read == a->stats.tokens_prompt && a->read > 0 && a->answer.n > 0, "... and answered");
    ok(told > 0.5 && told <= 1, "... which is told");
    ok(a->n_passages > 0 && a->source[0].bytes == 300 && a->source[1].bytes == 200 && a->method && a->schedule && a->finish,
       "... with what was kept");
    end(a);
    a = long_one('a');
    add_text(a, 'b', 300);
    leaves_at = 1;
    ok(on(w, a) == GKV_CANCELLED && !strcmp(a->err.text, "cancelled") && !n_indexes(), "who leaves while a text is read ends it");
    end(a);
    a = ask_about("Where?");
    add_text(a, 'a', 300);
    add_text(a, 'b', 300);
    gone = true;
    ok(on(w, a) == GKV_CANCELLED && !strcmp(a->err.text, "cancelled"), "who has left gets nothing");
    end(a);
    a = ask_about("Where?");
    add_text(a, 'a', (1 << 20) + 10);           /* which is fed in two pieces             */
    gone = true;
    ok(on(w, a) == GKV_CANCELLED && !n_indexes(), "... and no long text is read for him");
    end(a);
    a = long_one('a');
    a->opt.chat_template = "nonsense";
    ok(on(w, a) == GKV_INVALID && !n_indexes(), "no such template: %s", a->err.text);
    end(a);
    a = ask_about("Where?");
    add_text(a, 'a', 300);
    add_text(a, 'b', 300);
    a->opt.memory_limit = 1;
    ok(on(w, a) == GKV_LIMIT, "too little memory: %s", a->err.text);
    end(a);
    a = ask_about("Where?");
    source(a);
    ok(on(w, a) != GKV_OK, "no text at all: %s", a->err.text);
    end(a);
    work_close(w);
    work_close(NULL);
}

static void test_index(void)
{
    struct work *w = open_work(UINT64_MAX);
    struct ask  *a = ask_about("Where is the cat?");
    uint64_t     tokens;

    add_text(a, 'a', LONGER);
    add_text(a, 'a', LONGER);
    ok(!work_is_quick(w, a), "what has to be read for long is not quick");
    ok(on(w, a) == GKV_END && a->indexed && a->read > 0 && n_indexes() == 1, "a long text is read once");
    tokens = a->read;
    ok(a->stats.tokens_document > tokens && !strcmp(a->schedule, "index") && a->bytes == 2 * LONGER && a->bytes_done == a->bytes &&
       told <= 1 + 1e-9, "... of two that are the same");
    ok(work_is_quick(w, a), "then it is known");
    a->opt.method = "full";
    ok(!work_is_quick(w, a), "... but not for a method that reads all");
    a->opt.method = "gemfilter";
    a->opt.schedule = "auto";
    ok(work_is_quick(w, a), "... but for those that ask an index");
    a->opt.schedule = NULL;
    forget(a);
    ok(on(w, a) == GKV_END && a->indexed && !a->read, "it is not read again");
    add_text(a, 'b', LONGER);
    ok(!work_is_quick(w, a), "a third one is not known");
    leaves_at = 0;
    end(a);

    a = long_one('c');
    add_text(a, 'd', LONG);
    leaves_at = 2;
    ok(on(w, a) == GKV_CANCELLED && n_indexes() == 2, "who leaves during the second text leaves the first one's index");
    end(a);
    ok(asked(w, 'c') == 'i' && asked(w, 'd') == 'r' && asked(w, 'd') == 'i', "... for the next one");
    a = long_one('c');
    source(a);
    ok(on(w, a) == GKV_DOCUMENT && n_indexes() == 3, "beside an empty text it is refused: %s", a->err.text);
    end(a);
    work_close(w);
    w = open_work(UINT64_MAX);
    ok(asked(w, 'c') == 'i', "... of the next server, too");
    work_close(w);
    empty();
}

/* Which questions an index serves. */
static void test_methods(void)
{
    static const struct { const char *method, *schedule, *attention; bool index; } rows[] = {
        { NULL, NULL, NULL, true }, { "gemfilter", NULL, NULL, true }, { "gemfilter", "auto", NULL, true },
        { NULL, "layer", NULL, false }, { "full", NULL, NULL, false }, { "gemfilter", NULL, "sink=64", false },
        { "gemfilteX", NULL, NULL, false }, { "x", NULL, NULL, false }
    };
    struct work *w = open_work(UINT64_MAX);

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ask *a = long_one((char)('a' + i));

        a->opt.method = rows[i].method;
        a->opt.schedule = rows[i].schedule;
        a->opt.attention = rows[i].attention;
        on(w, a);
        ok((n_indexes() == 1) == rows[i].index && a->indexed == rows[i].index, "%s, %s, %s: %s", rows[i].method, rows[i].schedule,
           rows[i].attention, rows[i].index ? "an index" : "none");
        end(a);
        empty();
    }
    work_close(w);
    r.o.grade = NULL;                           /* compact, which these small heads cannot be */
    w = open_work(UINT64_MAX);
    ok(asked(w, 'a') == 'r' && !n_indexes(), "a model that can have no index of this grade reads each time");
    work_close(w);
    r.o.grade = "exact";
}

static void test_files(void)
{
    const size_t before = descriptors();
    struct work *w = open_work(UINT64_MAX);
    struct ask  *a = ask_about("Where is the cat?");
    char        *text = words('a', 2 * LONGER);

    put_file("one", text, 2 * LONGER);
    put_file("none", "", 0);
    source(a)->path = at("one");
    ok(!work_is_quick(w, a) && !a->source[0].text.p && a->source[0].bytes == 2 * LONGER, "a file that waits has no text in memory");
    a->opt.memory_limit = 1;
    ok(on(w, a) == GKV_LIMIT && a->source[0].text.n == 2 * LONGER, "too little memory: %s", a->err.text);
    forget(a);
    put_file("one", "other", 5);
    a->opt.memory_limit = 0;
    a->opt.method = "full";
    a->opt.max_context = 100;
    on(w, a);
    ok(a->bytes == 2 * LONGER && a->source[0].text.n == 2 * LONGER, "what is asked again is not read from the disk again");
    end(a);
    a = ask_about("Where?");
    source(a)->path = at("nowhere");
    add_text(a, 'a', 300);
    ok(work_is_quick(w, a), "a file that is gone is soon refused");
    ok(on(w, a) == GKV_DOCUMENT && a->err.status == GKV_DOCUMENT && !strcmp(a->err.text, "text 1: it was deleted meanwhile"), "... so");
    end(a);
    free(text);
    work_close(w);
    empty();
    ok(descriptors() == before, "all files are closed");
}

/* An index that is not what it should be is read again. */
static void test_wrong(void)
{
    struct work *w = open_work(UINT64_MAX);
    struct ask  *a;
    char        *b = index_of('b'), *c = index_of('c'), *command;
    gkv_options  opt;

    ok(asked(w, 'b') == 'r' && asked(w, 'c') == 'r', "two texts");
    command = format("cp '%s' '%s'", b, c);
    ok(!system(command) && asked(w, 'c') == 'r' && asked(w, 'c') == 'i', "the index of another text of its length is not taken");
    free(command);
    a = long_one('c');
    add_text(a, 'c', LONG - 1);
    opt = a->opt;
    ok(indexes_key(a->source[0].text.p, LONG, &opt, "exact") != indexes_key(a->source[1].text.p, LONG - 1, &opt, "exact"),
       "a text of another length has another key");
    ok(on(w, a) == GKV_END, "... and index");
    command = format("cp '%s/index-%016" PRIx64 "' '%s'", scratch, indexes_key(a->source[1].text.p, LONG - 1, &opt, "exact"), c);
    ok(!system(command) && asked(w, 'c') == 'r' && asked(w, 'c') == 'i', "that one is not taken, either");
    free(command);
    end(a);
    ok(!truncate(b, 1000) && asked(w, 'b') == 'r' && asked(w, 'b') == 'i', "one that is damaged is made again");
    unlink(b);
    ok(asked(w, 'b') == 'r', "... as is one that is gone");

    a = long_one('b');
    a->opt.memory_limit = 1;
    ok(on(w, a) == GKV_LIMIT && !strncmp(a->err.text, "the index: ", 11) && !strstr(a->err.text, scratch),
       "one that there is no memory for is not shown by its path: %s", a->err.text);
    end(a);
    ok(asked(w, 'b') == 'i', "... and stays");
    a = long_one('e');
    lost = index_of('e');
    ok(on(w, a) == GKV_IO && !strcmp(a->err.text, "text 1: its index was lost; is the disk full?"), "one that is lost at once");
    free(lost);
    lost = NULL;
    end(a);
    work_close(w);

    free(b);
    free(c);
    empty();
}

/* One that is made a second time, as when two ask at once, is there once. */
static void test_twice(void)
{
    struct folder   nowhere = { .path = at("nowhere"), .lasts = true, .lock = -1 };
    struct indexes *x = indexes_open(&place, UINT64_MAX), *y = indexes_open(&nowhere, UINT64_MAX);
    struct ask     *a = long_one('b');
    const uint64_t  key = key_of('b');
    gkv_document   *d = NULL;
    gkv_error       err = { 0 };

    ok(!gkv_document_open(&d, model, &a->opt, &err) && !gkv_document_feed(d, a->source[0].text.p, LONG, &err), "a document");
    ok(!indexes_has(x, key) && !indexes_make(x, key, d, &a->opt, "exact", &err) && indexes_has(x, key) && !indexes_has(x, key + 1),
       "its index is there once it is made");
    ok(!indexes_make(x, key, d, &a->opt, "exact", &err) && indexes_has(x, key) && n_indexes() == 1, "... and once it is made again");
    ok(indexes_make(y, key, d, &a->opt, "exact", &err) == GKV_IO && !indexes_has(y, key), "one that cannot be written is none");
    gkv_document_close(d);
    end(a);
    indexes_close(y);
    place.lasts = false;
    indexes_close(x);
    place.lasts = true;
    ok(!n_indexes(), "with a folder that goes, it goes");
    indexes_close(NULL);
    free(nowhere.path);
    empty();
}

static void set_time(const char *path, time_t seconds)
{
    const struct timespec t[2] = { { seconds, 0 }, { seconds, 0 } };

    if (utimensat(AT_FDCWD, path, t, 0))
        printf("# %s has no time\n", path);
}

/* Those that were not used for long go. */
static void test_room(void)
{
    struct work *w = open_work(UINT64_MAX);
    char        *a = index_of('a'), *b = index_of('b'), *c = index_of('c'), *begun = at("index-0000000000000001.abcdef"),
                *link = at("index-0000000000000002");
    struct stat  st;
    uint64_t     one;

    ok(asked(w, 'a') == 'r' && asked(w, 'b') == 'r' && asked(w, 'c') == 'r' && n_indexes() == 3 && !stat(a, &st), "three indexes");
    one = (uint64_t)st.st_blocks * 512;
    work_close(w);
    set_time(a, 3000);
    set_time(b, 1000);
    set_time(c, 2000);
    put_file("index-0000000000000001.abcdef", "begun", 5);
    ok(!symlink("/nowhere/at/all", link), "one that leads nowhere");
    w = open_work(3 * one + one / 2);
    ok(access(begun, F_OK) && n_indexes() == 4, "what was only begun goes at the start");
    unlink(link);
    if (one) {
        ok(asked(w, 'd') == 'r' && access(b, F_OK) && n_indexes() == 3, "a fourth one: that of the oldest use goes");
        ok(asked(w, 'c') == 'i' && asked(w, 'e') == 'r' && access(a, F_OK) && !access(c, F_OK), "a use counts");
    } else {
        skip("files without a size on the disk", "room");
    }
    work_close(w);
    w = open_work(0);
    ok(asked(w, 'f') == 'r' && (!one || n_indexes() == 1) && asked(w, 'f') == 'i', "without room there is the last one");
    work_close(w);
    free(a);
    free(b);
    free(c);
    free(begun);
    free(link);
    empty();
}

/* Another model reads. */
static void test_reader(void)
{
    struct work *w;
    struct ask  *a;

    r.reader = same;
    w = open_work(UINT64_MAX);
    a = long_one('a');
    a->opt.chat_template = "chatml";
    ok(on(w, a) == GKV_END && a->indexed && a->opt.reader == same, "a reader makes the index");
    end(a);
    ok(n_indexes() == 1 && asked(w, 'a') == 'i', "... which does not depend on the chat template of who answers");
    a = ask_about("Where?");
    add_text(a, 'a', 300);
    ok(on(w, a) == GKV_END && !a->indexed, "... and reads short texts");
    end(a);
    work_close(w);
    r.reader = NULL;
    w = open_work(UINT64_MAX);
    ok(asked(w, 'a') == 'i', "the same index is the model's own");
    a = long_one('a');
    a->opt.chat_template = "chatml";
    ok(on(w, a) == GKV_END && a->indexed && a->read > 0 && n_indexes() == 2, "... but for another chat template");
    end(a);
    work_close(w);
    empty();
}

/* What is said before the question. */
static void test_prompts(void)
{
    struct work *w = open_work(UINT64_MAX);
    struct ask  *a = ask_about("Where?");
    uint64_t     tokens;

    add_text(a, 'a', 300);
    a->turn = calloc(1, sizeof *a->turn);
    a->turn[0] = (gkv_turn){ .question = "Who?", .answer = "A cat." };
    a->n_turns = 1;
    leaves_at = 1;
    ok(on(w, a) == GKV_CANCELLED && !a->answer.n && !a->n_passages, "who leaves before the answer gets none");
    forget(a);
    leaves_at = 0;
    gone = false;
    ok(on(w, a) == GKV_END, "a question that follows another is answered");
    tokens = a->stats.tokens_prompt;
    forget(a);
    a->n_turns = 0;
    ok(on(w, a) == GKV_END && a->stats.tokens_prompt < tokens, "... with more in its prompt");
    tokens = a->stats.tokens_prompt;
    forget(a);
    a->turn[0].answer = "\377";
    a->n_turns = 1;
    ok(on(w, a) == GKV_INVALID && !a->answer.n, "... but not one of no text: %s", a->err.text);
    forget(a);
    a->n_turns = 0;
    a->system = format("Be brief.");
    ok(on(w, a) == GKV_END && a->stats.tokens_prompt > tokens, "a system prompt is more in it, too");
    end(a);
    work_close(w);
}

/* A program at a port where nobody is; NULL: this build cannot ask any. */
static struct answerer *elsewhere(void)
{
    const struct cmd self = { .name = "serve", .takes = FOR_SERVE | FOR_ELSEWHERE };
    struct options   o = { .io = &io, .cmd = &self, .answer_url = "http://127.0.0.1:9/v1", .answer_model = "x" };
    struct answerer *answerer = NULL;

    gkv_options_init(&o.gkv);
    unsetenv("GEMKV_ANSWER_KEY");
    if (!http_missing() && answerer_open(&answerer, &o))
        printf("# no answerer\n");
    return answerer;
}

/* Each sentence of an answer that a passage supports is told. */
static void test_claims(void)
{
    static const char text[] = "The cat sat on a mat. It was a fine day in May. The pass key is 48213. A dog barked at the moon.";
    static const char grammar[] = "root ::= \"The pass key is 48213. Nobody knows why. The cat sat on a mat.\"";
    struct work *w = open_work(UINT64_MAX);
    struct ask  *a = ask_about("What is the pass key?");
    gkv_error    err = { 0 };

    text_puts(&source(a)->text, text);
    ok(!gkv_grammar_open(&a->grammar, grammar, sizeof grammar - 1, &err), "an answer");
    a->opt.max_tokens = 100;
    ok(on(w, a) == GKV_END && a->n_claims == 2 && !strcmp(a->claim[0].sentence, "The pass key is 48213.") &&
       !strcmp(a->claim[1].sentence, "The cat sat on a mat."), "two of its three sentences are cited");
    ok(a->n_claims == 2 && a->claim[0].end == 22 && a->claim[1].end == strlen("The pass key is 48213. Nobody knows why. The cat sat on a mat.") &&
       a->claim[1].passage < a->n_passages && strstr(a->passage[a->claim[1].passage].text, "The cat sat"), "... where they are");
    gkv_grammar_close(a->grammar);
    end(a);
    work_close(w);
}

/* Somebody else answers, whose asker has left before: nothing is sent. */
static void test_elsewhere(void)
{
    struct answerer *answerer = elsewhere();
    struct work     *w;
    struct ask      *a;

    if (!answerer) {
        skip("built without libcurl", "an answer of another program");
        return;
    }
    r.answerer = answerer;
    w = open_work(UINT64_MAX);
    a = ask_about("Where is the cat?");
    add_text(a, 'a', 300);
    a->system = format("Be brief.");
    leaves_at = 1;
    ok(on(w, a) == GKV_CANCELLED && !a->elsewhere && !a->opt.system, "who leaves before another program is asked");
    end(a);
    work_close(w);
    r.answerer = NULL;
    answerer_close(answerer);
}

/* ---- a library --------------------------------------------------------------------------- */
static bool put(gkv_library *l, const char *name, char letter, const char *part)
{
    gkv_source       s = { .name = name, .part = part, .grade = "exact" };
    gkv_model_info   info;
    gkv_document    *d = NULL;
    gkv_error        err = { 0 };
    char            *text = words(letter, 500);
    gkv_options      opt;
    bool             done;

    gkv_model_describe(model, &info);
    s.layer = (int32_t)info.filter_layer;
    gkv_options_init(&opt);
    opt.threads = 1;
    opt.chunk = 64;
    done = !gkv_document_open(&d, model, &opt, &err) && !gkv_document_feed(d, text, 500, &err) && !gkv_document_end_file(d, &err) &&
           !gkv_library_put(l, &s, d, &opt, &err);
    if (!done)
        printf("# %s\n", err.text);
    gkv_document_close(d);
    free(text);
    return done;
}

static void test_library(void)
{
    gkv_library *l = NULL;
    gkv_error    err = { 0 };
    char        *lib = at("lib"), *command = format("rm -rf '%s/lib'", scratch);
    gkv_status   status = gkv_library_open(&l, lib, GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE, &err);
    struct work *w;
    struct ask  *a;

    if (status == GKV_UNSUPPORTED) {
        skip("built without SQLite", "a library");
        free(lib);
        free(command);
        return;
    }
    ok(!status && put(l, "first", 'a', "slide") && put(l, "second", 'b', NULL), "a library of two texts");
    gkv_library_close(l);
    r.o.library = lib;
    w = open_work(UINT64_MAX);                  /* which opens it itself when it is asked */
    a = ask_about("Where is the cat?");
    a->system = format("Be brief.");
    a->turn = calloc(1, sizeof *a->turn);
    a->turn[0] = (gkv_turn){ .question = "Who?", .answer = "A cat." };
    a->n_turns = 1;
    ok(on(w, a) == GKV_END && a->indexed && !a->read && a->n_sources == 2 && !strcmp(a->source[0].name, "first") &&
       !strcmp(a->source[0].part, "slide") && !a->source[1].part && a->source[0].bytes == 500, "its documents answer");
    ok(!strcmp(a->question, "Be brief.\n\nWhere is the cat?") && !a->system && !a->opt.system && !a->warning,
       "... and the system prompt is said with the question");
    end(a);
    a = ask_about("Where?");
    leaves_at = 1;
    ok(on(w, a) == GKV_CANCELLED && !a->n_sources, "who leaves has no documents");
    forget(a);
    gone = false;
    leaves_at = 0;
    ok(on(w, a) == GKV_END && a->n_sources == 2, "... but is answered when he asks once more");
    end(a);
    a = ask_about("Where?");
    a->opt.memory_limit = 1;
    ok(on(w, a) == GKV_LIMIT && a->err.status == GKV_LIMIT && !a->n_sources && *a->err.text && strncmp(a->err.text, "gemkv", 5),
       "too little memory: %s", a->err.text);
    end(a);
    work_close(w);

    r.answerer = elsewhere();
    w = open_work(UINT64_MAX);
    a = ask_about("Where?");
    a->system = format("Be brief.");
    leaves_at = 1;
    ok(on(w, a) == GKV_CANCELLED && (a->system != NULL) == (r.answerer != NULL), "another program gets the system prompt as it is");
    end(a);
    work_close(w);
    answerer_close(r.answerer);
    r.answerer = NULL;

    r.o.among = "third*";
    w = open_work(UINT64_MAX);
    a = ask_about("Where?");
    ok(on(w, a) == GKV_DOCUMENT && strstr(a->err.text, "no document's name is like 'third*'"), "none of its documents: %s", a->err.text);
    end(a);
    work_close(w);
    r.o.among = NULL;
    r.o.library = "/nowhere/lib";
    w = open_work(UINT64_MAX);
    a = ask_about("Where?");
    ok(on(w, a) == GKV_IO && a->err.status == GKV_IO, "no library: %s", a->err.text);
    end(a);
    work_close(w);

    r.o.library = lib;
    r.o.top = 1;
    w = open_work(UINT64_MAX);
    a = ask_about("xyzzy plugh");
    ok(on(w, a) == GKV_END && a->warning && !strncmp(a->warning, lib, strlen(lib)) &&
       strstr(a->warning, "no document has a word of the question") && !strchr(a->warning, '\n'), "a warning: %s", a->warning);
    end(a);
    work_close(w);
    r.o.library = NULL;
    r.o.top = 0;
    fflush(io.err);
    ok(!n_said, "nothing of it is told to who runs the server: %s", said);
    ok(!system(command), "the library is removed");
    free(command);
    free(lib);
}

int main(void)
{
    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    setenv("LC_ALL", "C", 1);
    if (!mkdtemp(scratch)) {
        printf("Bail out! %s\n", scratch);
        return 1;
    }
    io = (struct io){ .out = fopen("/dev/null", "w"), .err = open_memstream(&said, &n_said) };
    model = tiny = model_named("tests/files/golden/llama3");
    same = model_named("tests/files/golden/llama3");
    mini = model_named("data/gemkv-mini-q8_0");
    r.o.grade = "exact";
    test_short();
    test_index();
    test_methods();
    test_files();
    test_wrong();
    test_twice();
    test_room();
    test_reader();
    model = mini;
    test_prompts();
    test_claims();
    test_elsewhere();
    test_library();
    gkv_model_close(tiny);
    gkv_model_close(same);
    gkv_model_close(mini);
    ok(!rmdir(scratch), "nothing is left");
    fclose(io.out);
    fclose(io.err);
    free(said);
    return done();
}
