/* SPDX-License-Identifier: BSD-2-Clause
 * unit-ask.c - which question is answered when, with how much memory, and how it ends: the queue and the two threads of
 * the server.  Reading and answering (work.c) is played here, and goes on only when the test says so. */
#include "config.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/cli/memory.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/serve/work.h"
#include "tests/tap.h"

enum { MiB = 1 << 20 };

/* ---- in place of work.c ------------------------------------------------------------------ */
/* A question is "quick..." or "long...".  It reads while it is held, and counts how often it could tell so; then it answers
 * "a b" - or what else it says. */
struct work { pthread_mutex_t lock; pthread_cond_t change; };

struct played {                                 /* by name; under the lock                */
    char        name[40];
    bool        held, works;
    unsigned    tells, times;                   /* ask_tell that returned; how often it was begun */
    uint64_t    limit;                          /* of memory, when it was begun           */
    double      ended;
};

enum { MOST_PLAYED = 32 };
static struct played play[MOST_PLAYED];
static struct work   the_work = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER };

/* Under the lock. */
static void wait_for_change(double seconds)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += (long)(seconds * 1e9);
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&the_work.change, &the_work.lock, &t);
}

static struct played *played(const char *name)
{
    size_t i = 0;

    while (i < MOST_PLAYED - 1 && *play[i].name && strcmp(play[i].name, name))
        i++;
    snprintf(play[i].name, sizeof play[i].name, "%s", name);
    return &play[i];
}

struct work *work_open(struct run *r, const struct folder *f, uint64_t most)
{
    (void)r;
    (void)f;
    return most == 77 ? &the_work : NULL;
}

void work_close(struct work *w)
{
    (void)w;
}

bool work_is_quick(struct work *w, struct ask *a)
{
    (void)w;
    return !strncmp(a->question, "quick", 5);
}

static void finish(struct ask *a, unsigned times)
{
    const char *q = a->question;

    if (ask_gone(a) && !strstr(q, "stubborn")) {
        a->status = a->err.status = GKV_CANCELLED;
    } else if (strstr(q, "too large") || (strstr(q, "large") && times == 1)) {
        a->status = GKV_LIMIT;
    } else {
        ask_give(a, "a ", 2);
        pthread_mutex_lock(&the_work.lock);
        while (strstr(q, "halfway") && played("halfway")->held && !ask_gone(a))
            wait_for_change(0.002);
        pthread_mutex_unlock(&the_work.lock);
        ask_give(a, "b", 1);
        a->status = strstr(q, "fails") ? GKV_IO : GKV_END;
    }
}

void work_on(struct work *w, struct ask *a)
{
    struct played *p;
    bool           held;
    unsigned       times;

    pthread_mutex_lock(&w->lock);
    p = played(a->question);
    times = ++p->times;
    p->works = true;
    p->limit = a->opt.memory_limit;
    pthread_cond_broadcast(&w->change);
    do {
        pthread_mutex_unlock(&w->lock);
        ask_tell(a, 0.25, 100);
        pthread_mutex_lock(&w->lock);
        p->tells++;
        held = p->held && !ask_gone(a);
        pthread_cond_broadcast(&w->change);
        if (held)
            wait_for_change(0.002);
    } while (held);
    pthread_mutex_unlock(&w->lock);
    finish(a, times);
    pthread_mutex_lock(&w->lock);
    p->works = false;
    p->ended = progress_clock();
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
}

/* ---- help -------------------------------------------------------------------------------- */
static gkv_model *model;
static struct run r;

static struct asks *open_asks(size_t waiting, double seconds)
{
    memset(play, 0, sizeof play);
    return asks_open(&r, NULL, &(struct ask_limits){ .waiting = waiting, .seconds = seconds, .bytes = 77, .requests = 10 * MiB });
}

static void hold(const char *name, bool is)
{
    pthread_mutex_lock(&the_work.lock);
    played(name)->held = is;
    pthread_cond_broadcast(&the_work.change);
    pthread_mutex_unlock(&the_work.lock);
}

static unsigned tells(const char *name)
{
    unsigned n;

    pthread_mutex_lock(&the_work.lock);
    n = played(name)->tells;
    pthread_mutex_unlock(&the_work.lock);
    return n;
}

static bool works(const char *name)
{
    bool is;

    pthread_mutex_lock(&the_work.lock);
    is = played(name)->works;
    pthread_mutex_unlock(&the_work.lock);
    return is;
}

static bool until_begun(const char *name)
{
    const double   began = progress_clock();
    struct played *p;
    bool           is;

    pthread_mutex_lock(&the_work.lock);
    p = played(name);
    while (!(is = p->times > 0) && progress_clock() - began < 20)
        wait_for_change(0.1);
    if (!is)
        printf("# nobody works on %s\n", name);
    pthread_mutex_unlock(&the_work.lock);
    return is;
}

static bool until_tells(const char *name, unsigned n)
{
    const double began = progress_clock();

    while (tells(name) < n && progress_clock() - began < 20)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    return tells(name) >= n;
}

static struct ask *question(struct asks *w, const char *words)
{
    struct ask *a = ask_new(w);

    a->question = format("%s", words);
    return a;
}

static struct ask *ask(struct asks *w, const char *words)
{
    struct ask *a = question(w, words);

    if (!ask_start(w, a))
        printf("# %s: not taken\n", words);
    return a;
}

/* Waits for its end; its answer, until the next call. */
static const char *answer_of(struct ask *a)
{
    static struct text t;
    struct ask_now     now = { .state = ASK_WAITS };

    t.n = 0;
    text_add(&t, "", 0);
    while (ask_wait(a, 1, &t, &now))
        ;
    return now.state == ASK_ENDED ? t.p : "has not ended";
}

static struct ask_now now_of(struct ask *a)
{
    struct text    t = { NULL, 0, 0 };
    struct ask_now now = { .state = ASK_ENDED, .ahead = 1000 };

    ask_wait(a, 0, &t, &now);
    text_free(&t);
    return now;
}

/* ---- tests ------------------------------------------------------------------------------- */
static void test_one(void)
{
    struct asks   *w = open_asks(1, 0);
    struct text    t = { NULL, 0, 0 };
    struct ask_now now = { .state = ASK_WAITS };
    struct ask    *a;
    const double   began = progress_clock();

    ok(asks_waiting(w) == 0, "nobody asks");
    hold("long", true);
    a = ask(w, "long");
    until_tells("long", 1);
    ok(ask_wait(a, 5, &t, &now) && now.state == ASK_READS && now.fraction > 0.24 && now.fraction < 0.26 && now.tokens == 100 &&
       !now.ahead && !t.n, "it is told that it is read, and how far");
    ok(asks_waiting(w) == 1, "one is being answered");
    ok(ask_wait(a, 0.05, &t, &now) && now.state == ASK_READS && progress_clock() - began >= 0.05 && now.seconds >= 0.05,
       "without news it waits as long as it is told");
    hold("long", false);
    ok(!strcmp(answer_of(a), "a b") && a->status == GKV_END && !strcmp(a->answer.p, "a b"), "its answer comes whole");
    ok(a->seconds >= 0.04 && a->seconds <= progress_clock() - began, "... with its time");
    ok(!ask_wait(a, 100, &t, &now) && !t.n, "after its end there is no more, and nothing to wait for");
    ask_end(a);
    ok(asks_waiting(w) == 0, "nobody asks any more");
    hold("halfway", true);
    a = ask(w, "long, halfway");
    now = (struct ask_now){ .state = ASK_WAITS };
    for (t.n = 0; !t.n; )
        ask_wait(a, 5, &t, &now);
    ok(now.state == ASK_ANSWERS && !strcmp(t.p, "a ") && !strcmp(a->answer.p, "a "), "its answer comes as it is written");
    hold("halfway", false);
    ok(!strcmp(answer_of(a), "b") && !strcmp(a->answer.p, "a b"), "... and then the rest");
    ask_end(a);
    a = ask(w, "long, fails");
    ok(!strcmp(answer_of(a), "a b") && a->status == GKV_IO, "what was answered before a failure is given");
    ask_end(a);
    asks_close(w);
    text_free(&t);
}

/* All that belongs to a question goes with it, which a sanitizer of leaks sees. */
static void test_freed(void)
{
    struct asks *w = open_asks(1, 0);
    struct ask  *a = question(w, "quick");
    gkv_error    err = { 0 };

    a->source = calloc(2, sizeof *a->source);
    a->source[a->n_sources++] = (struct source){ .name = format("a"), .id = format("b"), .path = format("c"), .part = format("d") };
    a->source[a->n_sources++] = (struct source){ .name = format("e") };
    text_puts(&a->source[1].text, "text");
    a->turn = calloc(1, sizeof *a->turn);
    a->turn[a->n_turns++] = (gkv_turn){ .question = format("q"), .answer = format("a") };
    words_add(&a->stop, format("."));
    a->system = format("s");
    a->format = format("f");
    a->finish = format("g");
    a->thought = format("h");
    a->warning = format("i");
    a->method = format("j");
    a->schedule = format("k");
    a->passage = calloc(1, sizeof *a->passage);
    a->passage[a->n_passages++].text = format("l");
    a->claim = calloc(1, sizeof *a->claim);
    a->claim[a->n_claims++].sentence = format("m");
    ok(!gkv_grammar_open(&a->grammar, "root ::= \"a\"", 12, &err), "a question with all that it may have");
    ok(ask_start(w, a) && !strcmp(answer_of(a), "a b"), "... is answered");
    ask_end(a);
    a = question(w, "long");
    hold("long", true);
    ask_start(w, a);
    until_tells("long", 1);
    ask_end(a);
    ok(!works("long") && asks_waiting(w) == 0, "one that has not ended is cancelled first");
    asks_close(w);
}

static void test_queue(void)
{
    struct asks *w = open_asks(2, 0);
    struct ask  *a, *b, *c, *d;

    hold("long a", true);
    a = ask(w, "long a");
    until_begun("long a");
    b = ask(w, "long b");
    c = ask(w, "long c");
    d = question(w, "long d");
    ok(!ask_start(w, d) && now_of(d).state == ASK_ENDED, "a third one may not wait");
    ask_end(d);
    ok(asks_waiting(w) == 3 && now_of(b).ahead == 1 && now_of(c).ahead == 2 && now_of(c).state == ASK_WAITS, "two wait, behind one and two");
    ask_end(b);
    ok(asks_waiting(w) == 2 && now_of(c).ahead == 1, "when one leaves, the other has one less before it");
    d = ask(w, "long d");
    ok(now_of(d).ahead == 2, "... and another may wait");
    hold("long c", true);
    hold("long a", false);
    answer_of(a);
    until_begun("long c");
    ok(now_of(d).ahead == 1 && !works("long d") && !played("long b")->times, "the first of them is next");
    hold("long c", false);
    ok(!strcmp(answer_of(c), "a b") && !strcmp(answer_of(d), "a b") && played("long c")->ended <= played("long d")->ended,
       "all are answered, in their order");
    ask_end(a);
    ask_end(c);
    ask_end(d);
    asks_close(w);
}

static void test_beside(void)
{
    struct asks *w = open_asks(5, 0);
    struct ask  *a, *b, *c, *d;
    unsigned     told;
    double       took;

    hold("long", true);
    hold("quick 1", true);
    a = ask(w, "long");
    until_tells("long", 3);
    d = ask(w, "long other");
    b = ask(w, "quick 1");
    ok(until_begun("quick 1") && works("long") && !works("long other"), "a quick one is answered beside a long one, before another long one");
    ok(now_of(d).ahead == 1, "... which has one before it still");
    told = tells("long");
    until_tells("quick 1", 3);
    nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    ok(tells("long") - told <= 1 && works("quick 1"), "... which waits meanwhile");
    c = ask(w, "quick 2");
    hold("quick 2", true);
    ok(!works("quick 2"), "a second quick one waits for the first");
    hold("quick 1", false);
    ok(!strcmp(answer_of(b), "a b"), "the quick one is answered");
    took = b->seconds;
    ok(took >= 0.05, "... after its time");
    told = tells("long");
    ok(until_tells("long", told + 2), "the long one goes on");
    until_begun("quick 2");
    ok(progress_clock() - played("quick 1")->ended >= took, "... for as long as the quick one took, before the next quick one");
    hold("quick 2", false);
    ok(!strcmp(answer_of(c), "a b") && works("long"), "that one is answered, too");
    ask_end(b);
    ask_end(c);

    hold("quick 3", true);
    b = ask(w, "quick 3");
    until_begun("quick 3");
    ask_end(a);
    ok(works("quick 3") && !works("long"), "who leaves a long one that waits for its turn does not wait for the quick one");
    ok(!works("long other"), "no long one begins beside a quick one");
    hold("quick 3", false);
    ok(!strcmp(answer_of(b), "a b") && !strcmp(answer_of(d), "a b"), "both that are left are answered");
    ask_end(b);
    ask_end(d);

    hold("quick 4", true);
    hold("quick 5", true);
    a = ask(w, "quick 4");
    until_begun("quick 4");
    b = ask(w, "quick 5");
    nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    ok(!works("quick 5") && now_of(b).ahead == 1, "beside a quick one there is no other");
    hold("quick 4", false);
    hold("quick 5", false);
    answer_of(a);
    ok(!strcmp(answer_of(b), "a b"), "... which follows it");
    ask_end(a);
    ask_end(b);
    asks_close(w);
}

/* Who leaves a quick one beside a long one ends it, and only it. */
static void test_left(void)
{
    struct asks *w = open_asks(5, 0);
    struct ask  *a, *b;

    hold("long", true);
    hold("quick", true);
    a = ask(w, "long");
    until_tells("long", 1);
    b = ask(w, "quick");
    until_tells("quick", 1);
    ask_end(b);
    ok(!works("quick") && works("long") && asks_waiting(w) == 1, "who leaves a quick one beside a long one ends it");
    hold("long", false);
    ok(!strcmp(answer_of(a), "a b"), "... and the long one goes on");
    ask_end(a);
    hold("long, large, stubborn", true);
    a = ask(w, "long, large, stubborn");
    until_tells("long, large, stubborn", 1);
    ask_end(a);
    ok(played("long, large, stubborn")->times == 1 && asks_waiting(w) == 0, "one that needs more room is not put back for who has left");
    hold("long, large", true);
    a = ask(w, "long, large");
    until_tells("long, large", 1);
    asks_drain(w);
    hold("long, large", false);
    answer_of(a);
    ok(a->status == GKV_LIMIT && played("long, large")->times == 1, "... nor while the server ends");
    ask_end(a);
    asks_close(w);
}

/* What a quick question needs beyond what is there, which is left to it beside a long one. */
static void test_memory(void)
{
    const uint64_t limit = 1000 * (uint64_t)MiB, own = limit - 10 * MiB, there = memory_resident();
    struct asks   *w;
    struct ask    *a, *b;
    uint64_t       room;

    r.o.gkv.memory_limit = limit;
    w = open_asks(5, 0);
    a = ask(w, "quick");
    answer_of(a);
    ok(played("quick")->limit == own, "a quick question has all memory but what requests have");
    ask_end(a);
    hold("long", true);
    a = ask(w, "long");
    until_begun("long");
    room = own - played("long")->limit;
    ok(room > 0 && room < own / 2, "a long one leaves %d KiB to a quick one", (int)(room >> 10));
    b = ask(w, "quick 2");
    answer_of(b);
    ok(played("quick 2")->limit >= there + room - 20 * MiB && played("quick 2")->limit <= memory_resident() + room + 20 * MiB,
       "... which has that and what is there");
    ask_end(b);
    b = ask(w, "quick, large");
    until_begun("quick, large");
    ok(now_of(b).state != ASK_ENDED, "one that needs more beside it");
    while (now_of(b).state != ASK_WAITS)
        nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
    ok(now_of(b).ahead == 1 && !strcmp(a->question, "long") && works("long"), "... waits for its end");
    hold("long", false);
    answer_of(a);
    ok(!strcmp(answer_of(b), "a b") && b->status == GKV_END && played("quick, large")->times == 2 &&
       played("quick, large")->limit == own, "... and then has all");
    ask_end(a);
    ask_end(b);
    hold("long 2", true);
    a = ask(w, "long, large");
    ok(!strcmp(answer_of(a), "a b") && played("long, large")->times == 2 && played("long, large")->limit == own,
       "a long one that needs the room, too, has it once nobody else does");
    ask_end(a);
    a = ask(w, "long, too large");
    answer_of(a);
    ok(a->status == GKV_LIMIT && played("long, too large")->times == 2, "one that is too large even then is refused");
    ask_end(a);
    a = ask(w, "quick, too large");
    answer_of(a);
    ok(a->status == GKV_LIMIT && played("quick, too large")->times == 1, "... a quick one that had all at once");
    ask_end(a);
    asks_close(w);

    r.o.gkv.memory_limit = 9 * MiB;
    w = open_asks(5, 0);
    a = ask(w, "quick");
    b = ask(w, "long");
    answer_of(a);
    answer_of(b);
    ok(played("quick")->limit == 1 && played("long")->limit == 1, "less than requests have leaves nothing");
    ask_end(a);
    ask_end(b);
    asks_close(w);
    r.o.gkv.memory_limit = limit;
    r.o.gkv.method = "nonsense";                /* what it needs cannot be known          */
    w = open_asks(5, 0);
    a = ask(w, "long");
    answer_of(a);
    ok(played("long")->limit == own, "a long one leaves nothing where it is not known what a quick one needs");
    ask_end(a);
    asks_close(w);
    r.o.gkv.method = NULL;
}

static void test_late(void)
{
    struct asks *w = open_asks(5, 0.3);
    const double began = progress_clock();
    struct ask  *a, *b;

    hold("long", true);
    a = ask(w, "long");
    until_tells("long", 1);
    b = ask(w, "long b");
    asks_tick(w);
    ok((now_of(a).state == ASK_READS && !ask_gone(a)) || progress_clock() - began > 0.3, "one in its time goes on");
    while (works("long")) {
        asks_tick(w);
        nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    }
    answer_of(a);
    ok(a->status == GKV_LIMIT && a->err.status == GKV_LIMIT && a->seconds >= 0.3 &&
       !strcmp(a->err.text, "it took more than 0 s; see gemkv serve --max-time"), "one that takes longer is told so");
    ok(!strcmp(answer_of(b), "a b"), "the next has time of its own");
    ask_end(a);
    ask_end(b);
    asks_close(w);
    w = open_asks(5, 0.001);
    hold("long, stubborn", true);
    a = ask(w, "long, stubborn");
    while (!ask_gone(a))
        asks_tick(w);
    ok(!strcmp(answer_of(a), "a b") && a->status == GKV_END, "one that is answered nevertheless is answered");
    ask_end(a);
    asks_close(w);
    w = open_asks(5, 0);
    hold("long", true);
    a = ask(w, "long");
    until_tells("long", 1);
    nanosleep(&(struct timespec){ 0, 60000000 }, NULL);
    asks_tick(w);
    ok(now_of(a).state == ASK_READS && !ask_gone(a), "without a limit there is none");
    ask_end(a);
    ok(!works("long"), "one that is ended is not worked on any more");
    asks_close(w);
}

static void test_end(void)
{
    struct asks *w = open_asks(5, 0);
    struct ask  *a, *b, *c, *d;

    hold("long a", true);
    a = ask(w, "long a");
    until_begun("long a");
    b = ask(w, "long b");
    c = ask(w, "quick c");
    until_begun("quick c");
    answer_of(c);
    asks_drain(w);
    ok(asks_waiting(w) == 1 && !*answer_of(b) && b->status == GKV_CANCELLED && !strcmp(b->err.text, "the server is ending"),
       "at the end those that wait are refused");
    d = question(w, "long d");
    ok(!ask_start(w, d) && now_of(d).state == ASK_ENDED, "... and those that come");
    ok(works("long a") && !played("long b")->times && !played("long d")->times, "... but not the one that is answered");
    hold("long a", false);
    ok(!strcmp(answer_of(a), "a b") && a->status == GKV_END, "that one is answered");
    ask_end(a);
    ask_end(b);
    ask_end(c);
    ask_end(d);
    asks_close(w);
    asks_close(NULL);
}

/* What is watched is cancelled when its asker leaves, and nothing is watched of one who has left. */
static void test_watch(void)
{
    struct asks  *w = open_asks(5, 0.001);
    gkv_document *d = NULL;
    gkv_error     err = { 0 };
    struct ask   *a;

    ok(!gkv_document_open(&d, model, &r.o.gkv, &err) && !gkv_document_feed(d, "a", 1, &err), "a document is read");
    hold("long", true);
    a = ask(w, "long");
    until_begun("long");
    ok(ask_watch(a, NULL, d) && !ask_gone(a), "its asker is there");
    while (works("long")) {
        asks_tick(w);
        nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
    }
    ok(!ask_watch(a, NULL, NULL) && ask_gone(a), "its asker is not waited for any more");
    ok(gkv_document_index(d, &r.o.gkv, "compact", "/nowhere/x", &err) == GKV_CANCELLED, "reading is cancelled: %s", err.text);
    answer_of(a);
    ask_end(a);
    gkv_document_close(d);
    asks_close(w);
}

int main(void)
{
    char      path[512];
    gkv_error err = { 0 };

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    snprintf(path, sizeof path, "%s/data/gemkv-mini-q8_0.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (gkv_model_open(&model, path, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    gkv_options_init(&r.o.gkv);
    r.model = model;
    test_one();
    test_freed();
    test_queue();
    test_beside();
    test_left();
    test_memory();
    test_late();
    test_end();
    test_watch();
    gkv_model_close(model);
    return done();
}
