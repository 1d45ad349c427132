/* SPDX-License-Identifier: BSD-2-Clause
 * unit-group.c - a first pass that several processes share gives the scores of one process, to the bit; what one rank
 * cannot do is an error of the question, and the next question is answered.  The processes here are threads. */
#include "config.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "src/base/cores.h"
#include "src/session.h"
#include "tests/rng.h"
#include "tests/tap.h"

enum { MOST = 5 };

static gkv_error err;

/* ---- a group of threads ------------------------------------------------------------------- */

struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t  all_here;
    uint32_t size, here;
    uint64_t done;                      /* calls that have ended                             */
    struct call { const void *mine; void *all; size_t bytes; uint32_t root; int is_cast; } call[MOST];
};

struct member { struct meeting *meeting; uint64_t begun; gkv_group group; };

/* The last one to come carries the bytes of all. */
static void carry(struct meeting *m)
{
    for (uint32_t to = 0; to < m->size; to++)
        for (uint32_t from = 0; from < m->size; from++)
            if (!m->call[to].is_cast)
                memcpy((char *)m->call[to].all + from * m->call[to].bytes, m->call[from].mine, m->call[to].bytes);
            else if (from == m->call[to].root && from != to)
                memcpy(m->call[to].all, m->call[from].all, m->call[to].bytes);
    m->here = 0;
    m->done++;
    pthread_cond_broadcast(&m->all_here);
}

static int begin(struct member *me, struct call call)
{
    struct meeting *m = me->meeting;

    pthread_mutex_lock(&m->lock);
    m->call[me->group.rank] = call;
    me->begun++;
    if (++m->here == m->size)
        carry(m);
    pthread_mutex_unlock(&m->lock);
    return 0;
}

static int cast(void *context, uint32_t root, void *data, size_t bytes)
{
    return begin(context, (struct call){ .all = data, .bytes = bytes, .root = root, .is_cast = 1 });
}

static int gather(void *context, const void *mine, size_t bytes, void *all)
{
    return begin(context, (struct call){ .mine = mine, .all = all, .bytes = bytes });
}

static int wait_for(void *context)
{
    struct member *me = context;
    struct timespec until;
    int left;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20 * 1000 * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&me->meeting->lock);
    while ((left = me->meeting->done < me->begun) &&
           !pthread_cond_timedwait(&me->meeting->all_here, &me->meeting->lock, &until))
        continue;
    pthread_mutex_unlock(&me->meeting->lock);
    return left;
}

struct helper { pthread_t thread; gkv_model *m; gkv_options o; gkv_status status; gkv_error err; };

static struct meeting meeting;
static struct member member[MOST];
static struct helper helper[MOST];

static void *help(void *arg)
{
    struct helper *h = arg;

    h->status = gkv_group_help(h->m, &h->o, &h->err);
    return NULL;
}

/* Ranks 1 .. size - 1, each of its own model, with the options of *o. */
static const gkv_group *open_group(uint32_t size, gkv_model *const *m, const gkv_options *o)
{
    meeting = (struct meeting){ .lock = PTHREAD_MUTEX_INITIALIZER, .all_here = PTHREAD_COND_INITIALIZER, .size = size };
    for (uint32_t i = 0; i < size; i++) {
        member[i] = (struct member){ &meeting, 0, { .rank = i, .size = size, .context = &member[i], .cast = cast, .gather = gather,
                                                      .wait = wait_for } };
        helper[i].m = m[i];
        helper[i].o = *o;
        helper[i].o.group = &member[i].group;
        helper[i].o.threads = 1 + i % 2;
        if (i)
            pthread_create(&helper[i].thread, NULL, help, &helper[i]);
    }
    return &member[0].group;
}

static bool close_group(uint32_t size)
{
    bool good = gkv_group_end(&member[0].group, &err) == GKV_OK;

    for (uint32_t i = 1; i < size; i++) {
        pthread_join(helper[i].thread, NULL);
        good &= helper[i].status == GKV_OK;
        if (helper[i].status != GKV_OK)
            printf("# rank %u: %s\n", i, helper[i].err.text);
    }
    return good;
}

/* ---- questions ---------------------------------------------------------------------------- */

static gkv_model *model_named(const char *name)
{
    char path[512];
    gkv_model *m = NULL;

    snprintf(path, sizeof path, "%s/tests/files/golden/%s.gguf", getenv("srcdir") ? getenv("srcdir") : ".", name);
    if (gkv_model_open(&m, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    return m;
}

static gkv_options options(void)
{
    gkv_options o;

    gkv_options_init(&o);
    o.device = "cpu";
    o.raw = 1;
    o.keep = 32;
    o.threads = 1;
    return o;
}

static char *text_of(size_t n)
{
    char *text = malloc(n + 1);

    rng_state = 5;
    for (size_t i = 0; i < n; i++)
        text[i] = i % 7 == 6 ? ' ' : (char)('a' + rng() % 26);
    text[n] = 0;
    return text;
}

/* All scores of one question: *n floats, which the caller frees; or NULL, and the error is in err. */
static float *scores(gkv_model *m, const gkv_options *o, size_t letters, size_t *n)
{
    char *text = text_of(letters);
    gkv_session *s = NULL;
    gkv_status status = gkv_session_open(&s, m, o, &err);
    float *score = NULL;

    if (status == GKV_OK)
        status = gkv_feed(s, text, letters, &err);
    if (status == GKV_OK)
        status = gkv_select(s, "Who?", 4, &err);
    if (status == GKV_OK && s->run.score) {
        *n = s->prompt.n;
        score = malloc(*n * sizeof *score);
        memcpy(score, s->run.score, *n * sizeof *score);
    }
    gkv_session_close(s);
    free(text);
    return score;
}

/* For several sizes of groups and lengths of texts, also such whose last block or chunk is small. */
static void same_scores(const char *name, const char *method, const char *kv, uint32_t chunk)
{
    static const uint32_t sizes[] = { 2, 3, 5 };
    static const size_t lengths[] = { 40, 300, 1100, 2075, 2300, 5083 };
    gkv_model *m[MOST];
    gkv_options o = options();
    size_t different = 0, compared = 0, failed = 0;

    o.method = method;
    o.kv_type = kv;
    o.chunk = chunk;
    o.schedule = "layer";
    for (uint32_t i = 0; i < MOST; i++)
        m[i] = model_named(name);
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        size_t n = 0, n_too = 0;
        float *one = scores(m[0], &o, lengths[i], &n);

        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            gkv_options of = o;
            float *several;

            of.group = open_group(sizes[k], m, &o);
            several = scores(m[0], &of, lengths[i], &n_too);
            failed += !close_group(sizes[k]) || !one || !several;
            different += one && several && (n != n_too || memcmp(one, several, n * sizeof *one) != 0);
            compared++;
            free(several);
        }
        free(one);
    }
    ok(!different && !failed && compared, "%s, %s, keys and values in %s, chunks of %u: 2, 3, 5 processes give the bytes of one "
       "(%zu differ, %zu fail)", name, method, kv, chunk, different, failed);
    for (uint32_t i = 0; i < MOST; i++)
        gkv_model_close(m[i]);
}

/* Each rank's part is streamed as if it were all of the text: the first tokens, the part, the question; what is scored
 * there is that, less its mean and over its deviation.  Then the best passages have the scores of a text of their own. */
static void parts(void)
{
    enum { RANKS = 3, SINKS = 4 };
    gkv_model *m[RANKS];
    gkv_options o = options();
    char *text = text_of(5000);
    gkv_session *s = NULL;
    size_t n, far = 0, tail;

    for (uint32_t i = 0; i < RANKS; i++)
        m[i] = model_named("llama3");
    o.schedule = "stream:refine=0,budget=256,step=128";
    o.method = "gemfilter:kernel=1";            /* scores as they are */
    o.group = open_group(RANKS, m, &o);
    if (gkv_session_open(&s, m[0], &o, &err) || gkv_feed(s, text, 5000, &err) || gkv_select(s, "Who?", 4, &err)) {
        ok(false, "three parts: %s", err.text);
        exit(1);
    }
    n = s->prompt.n;
    tail = s->plan.task.n_tail;
    for (size_t r = 0; r < RANKS; r++) {
        const size_t at = (n - tail) * r / RANKS, end = (n - tail) * (r + 1) / RANKS, head = r ? SINKS : 0;
        const size_t rows = head + end - at + tail;
        uint32_t *id = calloc(rows, sizeof *id);
        float *score = calloc(rows, sizeof *score);
        double sum = 0, squares = 0;
        struct gkv__task t = s->plan.task;

        memcpy(id, s->prompt.id, head * sizeof *id);
        memcpy(id + head, s->prompt.id + at, (end - at) * sizeof *id);
        memcpy(id + rows - tail, s->prompt.id + n - tail, tail * sizeof *id);
        t.n = rows;
        t.group = NULL;
        if (t.schedule->run(&s->exec, &(struct gkv__first){ .t = &t, .id = id, .score = score }, &err))
            printf("# %s\n", err.text);
        for (size_t i = head; i < rows; i++)
            sum += (double)score[i] / (double)(rows - head);
        for (size_t i = head; i < rows; i++)
            squares += ((double)score[i] - sum) * ((double)score[i] - sum) / (double)(rows - head);
        for (size_t i = 0; i < end - at; i++)
            far += fabs(((double)score[head + i] - sum) / sqrt(squares) - (double)s->run.score[at + i]) > 1e-4;
        free(id);
        free(score);
    }
    ok(n > 1000 && !far, "stream: scores of three parts are those of the parts alone, levelled (%zu of %zu are not)", far, n);
    gkv_session_close(s);
    ok(close_group(RANKS), "... and all end");
    free(text);
    for (uint32_t i = 0; i < RANKS; i++)
        gkv_model_close(m[i]);
}

/* The passages that are read again; or all of a text that is not longer. */
static void read_again(const char *method, const char *schedule, uint32_t keep, const char *what)
{
    gkv_model *m[3] = { model_named("llama3"), model_named("llama3"), model_named("llama3") };
    gkv_options o = options(), of;
    size_t n, n_one, again = 0;
    float *several, *one;

    o.keep = keep;
    o.method = method;
    o.schedule = schedule;
    of = o;
    of.group = open_group(3, m, &o);
    several = scores(m[0], &of, 3000, &n);
    ok(close_group(3) && several, "stream in three processes, %s", what);
    o.schedule = "layer";
    o.kv_type = "f16";
    one = scores(m[0], &o, 3000, &n_one);
    for (size_t i = 0; one && several && i < n; i++)
        again += !memcmp(one + i, several + i, sizeof *one);
    ok(one && several && n == n_one && (2 * keep < n ? again < n / 10 : again == n), "... %zu of %zu scores are those of schedule "
       "layer", again, n);
    free(one);
    free(several);
    for (uint32_t i = 0; i < 3; i++)
        gkv_model_close(m[i]);
}

/* Processes that share a machine take a part of it each, unless the options say how much. */
static void machine(void)
{
    const gkv_group four = { .size = 1, .local = 4 };
    const unsigned all = gkv__cores_share(1);
    gkv_model *m = model_named("llama3");
    gkv_options o = options();
    gkv_session *s = NULL;
    double part;

    ok(all == gkv__cores().threads && gkv__cores_share(0) == all && gkv__cores_share(1 << 20) == 1 &&
           (gkv__cores_share(2) <= (all + 1) / 2 || gkv__cores().processors < (unsigned)sysconf(_SC_NPROCESSORS_ONLN)),
       "of %u threads each of two processes has %u", all, gkv__cores_share(2));
    o.threads = 0;
    o.group = &four;
    if (gkv_session_open(&s, m, &o, &err) || gkv_feed(s, "The cat sat on the mat.", 23, &err) || gkv_select(s, "Who?", 4, &err)) {
        ok(false, "one of four processes: %s", err.text);
        exit(1);
    }
    part = (double)s->plan.limit / (double)gkv_memory_default();
    ok(s->plan.n_threads == gkv__cores_share(4) && part > 0.15 && part < 0.35 && !*s->warning,
       "one of four processes: %u threads, %.2f of the memory", s->plan.n_threads, part);
    gkv_session_close(s);
    o.threads = 3;
    o.memory_limit = 123 << 20;
    s = NULL;
    ok(!gkv_session_open(&s, m, &o, &err) && !gkv_feed(s, "The cat sat on the mat.", 23, &err) &&
           !gkv_select(s, "Who?", 4, &err) && s->plan.n_threads == 3 && s->plan.limit == 123 << 20, "... or what the options say");
    gkv_session_close(s);
    gkv_model_close(m);
}

/* What cannot be done is said by rank 0, and the next question has its answer. */
static void refused(const char *what, const char *name, const char *other, const char *method, const char *schedule,
                    uint64_t memory, const char *says)
{
    gkv_model *m[2] = { model_named(name), model_named(other) };
    gkv_options o = options(), of, helps = o;
    size_t n;
    float *score;

    helps.memory_limit = memory;
    o.group = open_group(2, m, &helps);
    of = o;
    of.method = method;
    of.schedule = schedule;
    score = scores(m[0], &of, 2000, &n);
    ok(!score && strstr(err.text, says), "%s: %s", what, score ? "not refused" : err.text);
    free(score);
    if (!strcmp(name, other) && !memory && strcmp(name, "qwen35") != 0) {
        score = scores(m[0], &o, 500, &n);
        ok(score != NULL, "... and the next question is answered");
        free(score);
    }
    ok(close_group(2), "... and all end");
    gkv_model_close(m[0]);
    gkv_model_close(m[1]);
}

/* A rank that never comes. */
static void cancelled(void)
{
    struct member alone = { &meeting, 0, { .size = 2, .context = &alone, .cast = cast, .gather = gather, .wait = wait_for } };
    gkv_model *m = model_named("llama3");
    gkv_options o = options();
    gkv_session *s = NULL;

    meeting = (struct meeting){ .lock = PTHREAD_MUTEX_INITIALIZER, .all_here = PTHREAD_COND_INITIALIZER, .size = 2 };
    o.group = &alone.group;
    if (gkv_session_open(&s, m, &o, &err) == GKV_OK && gkv_feed(s, "one two three four five six seven eight nine ten eleven", 55,
                                                                 &err) == GKV_OK) {
        gkv_cancel(s);
        gkv_feed_end(s, &err);
    }
    ok(s && gkv_select(s, "Who?", 4, &err) == GKV_CANCELLED, "cancelled while it waits for others: %s", err.text);
    gkv_session_close(s);
    gkv_model_close(m);
}

int main(void)
{
    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine: no model can be read");
    same_scores("llama3", "gemfilter", "f32", 1024);
    same_scores("llama3", "gemfilter:row=middle", "f16", 1024);
    same_scores("head64", "gemfilter:row=middle", "f16", 1024);
    same_scores("gemma3", "gemfilter", "f32", 256);
    same_scores("qwen3moe", "gemfilter", "bf16", 512);
    same_scores("head64", "gemfilter", "q8_0", 1000);
    parts();
    read_again("gemfilter:kernel=1", "stream:budget=256,step=128", 100, "two hundred tokens read again");
    read_again("gemfilter:kernel=1", "stream:budget=256,step=128", 2000, "all of a short text");
    read_again("gemfilter:kernel=1,refine=2", "stream:refine=0,budget=256,step=128", 100, "the method reads again");
    read_again("gemfilter:kernel=1,refine=2", "stream:refine=0,budget=256,step=128", 2000, "... all of a short text");
    refused("row=largest", "llama3", "llama3", "gemfilter:row=largest", "layer", 0, "row=largest");
    refused("a schedule that is not shared", "llama3", "llama3", NULL, "chunk", 0, "schedule chunk");
    refused("layers with a state", "qwen35", "qwen35", NULL, NULL, 0, "state");
    refused("another model", "llama3", "mistral", NULL, NULL, 0, "another file");
    refused("a rank with little memory", "llama3", "llama3", NULL, NULL, 1 << 20, "rank 1 of 2");
    cancelled();
    machine();
    return done();
}
