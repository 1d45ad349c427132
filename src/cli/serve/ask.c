/* SPDX-License-Identifier: BSD-2-Clause
 * ask.c - see ask.h */
#include "config.h"
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "src/cli/memory.h"
#include "src/cli/progress.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/serve/work.h"

/* Two threads answer.  The first takes one question after the other.  While it reads for a long one, the second answers
 * quick ones, and the first waits meanwhile, in ask_tell: each has all processors when it computes.  They take turns of
 * equal length, so that quick questions cannot stop a long one. */
enum lane { ANY, QUICK_ONES, LANES };
enum { QUICK_TOKENS = 10 << 10 };       /* as many as a short text has, and more           */

struct lane_state {
    struct asks    *asks;
    pthread_t       thread;
    struct ask     *now;                /* which it answers, or NULL                      */
    double          since;              /* when it began                                  */
};

struct asks {
    struct work          *work;
    const gkv_options    *opt;
    uint64_t              room;         /* bytes of memory for a quick question beside a long one */
    uint64_t              requests;     /* ... and for what is received                   */
    pthread_mutex_t       lock;         /* of all below, and of each ask's state          */
    pthread_cond_t        change;       /* of what the lanes wait for                     */
    struct ask          **queue;        /* those that wait                                */
    size_t                n_queue;
    struct ask_limits     most;
    bool                  ending;
    struct lane_state     lane[LANES];
    double                owed;         /* seconds that the long one has, before the next quick one */
    double                since;        /* when it went on                                */
};

struct ask_private {
    struct asks    *asks;
    pthread_cond_t  changed;
    struct ask_now  now;
    double          began;
    struct text     fresh;              /* of the answer, not yet given to the asker      */
    bool            quick, late, ended; /* late: it took too long; ended: the thread has let it go */
    bool            alone;              /* it needs the room of quick ones, too           */
    atomic_bool     gone;               /* nobody waits                                   */
    gkv_session    *session;            /* to be cancelled, as this ...                   */
    gkv_document   *document;
};

/* ---- the asker's side ---------------------------------------------------------------- */
struct ask *ask_new(struct asks *w)
{
    struct ask        *a = grow(NULL, 1, sizeof *a);
    pthread_condattr_t attr;

    *a = (struct ask){ .opt = *w->opt, .own = grow(NULL, 1, sizeof *a->own) };
    *a->own = (struct ask_private){ .asks = w, .began = progress_clock() };
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&a->own->changed, &attr);
    pthread_condattr_destroy(&attr);
    return a;
}

bool ask_start(struct asks *w, struct ask *a)
{
    bool taken;

    a->own->quick = work_is_quick(w->work, a);
    pthread_mutex_lock(&w->lock);
    taken = w->n_queue < w->most.waiting && !w->ending;
    if (taken) {
        w->queue = grow(w->queue, w->n_queue + 1, sizeof(struct ask *));
        a->own->now.ahead = w->n_queue + (w->lane[ANY].now != NULL);
        w->queue[w->n_queue++] = a;
        pthread_cond_broadcast(&w->change);
    } else {
        a->own->ended = true;
        a->own->now.state = ASK_ENDED;
    }
    pthread_mutex_unlock(&w->lock);
    return taken;
}

bool ask_wait(struct ask *a, double seconds, struct text *piece, struct ask_now *now)
{
    struct ask_private *p = a->own;
    struct ask_now      before = *now;
    struct timespec     until;
    bool                more;

    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    until.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&p->asks->lock);
    while (!p->fresh.n && !p->ended && p->now.state == before.state && p->now.ahead == before.ahead)
        if (pthread_cond_timedwait(&p->changed, &p->asks->lock, &until))
            break;
    text_add(piece, p->fresh.p, p->fresh.n);
    p->fresh.n = 0;
    *now = p->now;
    now->seconds = progress_clock() - p->began;
    more = !p->ended;
    pthread_mutex_unlock(&p->asks->lock);
    return more;
}

/* Under the lock. */
static void cancel(struct ask_private *p)
{
    atomic_store(&p->gone, true);
    if (p->session)
        gkv_cancel(p->session);
    if (p->document)
        gkv_document_cancel(p->document);
    pthread_cond_broadcast(&p->asks->change);   /* it may wait for its turn               */
}

/* Under the lock. */
static void leave_queue(struct asks *w, const struct ask *a)
{
    size_t i = 0;

    while (i < w->n_queue && w->queue[i] != a)
        i++;
    if (i == w->n_queue)
        return;
    memmove(w->queue + i, w->queue + i + 1, (--w->n_queue - i) * sizeof *w->queue);
    for (; i < w->n_queue; i++) {
        w->queue[i]->own->now.ahead = i + (w->lane[ANY].now != NULL);
        pthread_cond_broadcast(&w->queue[i]->own->changed);
    }
}

void ask_end(struct ask *a)
{
    struct ask_private *p = a->own;
    struct asks        *w = p->asks;

    pthread_mutex_lock(&w->lock);
    leave_queue(w, a);
    if (w->lane[ANY].now == a || w->lane[QUICK_ONES].now == a) {
        cancel(p);
        while (!p->ended)
            pthread_cond_wait(&p->changed, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);

    for (size_t i = 0; i < a->n_sources; i++) {
        free(a->source[i].name);
        free(a->source[i].id);
        free(a->source[i].path);
        free(a->source[i].part);
        text_free(&a->source[i].text);
    }
    for (size_t i = 0; i < a->n_turns; i++) {
        free((char *)(uintptr_t)a->turn[i].question);
        free((char *)(uintptr_t)a->turn[i].answer);
    }
    for (size_t i = 0; i < a->stop.n; i++)
        free((char *)(uintptr_t)a->stop.v[i]);
    for (size_t i = 0; i < a->n_passages; i++)
        free(a->passage[i].text);
    for (size_t i = 0; i < a->n_claims; i++)
        free(a->claim[i].sentence);
    free(a->source);
    free(a->turn);
    free(a->stop.v);
    free(a->passage);
    free(a->claim);
    free(a->question);
    free(a->system);
    free(a->format);
    free(a->finish);
    free(a->thought);
    free(a->warning);
    free(a->method);
    free(a->schedule);
    gkv_grammar_close(a->grammar);
    text_free(&a->answer);
    text_free(&p->fresh);
    pthread_cond_destroy(&p->changed);
    free(p);
    free(a);
}

/* ---- for the thread that works --------------------------------------------------------- */
/* Whether the long one has had its turn. */
static bool is_paid(const struct asks *w)
{
    return !(w->owed > 0) || progress_clock() - w->since >= w->owed;
}

/* Under the lock.  A long reading waits while a quick question is answered, and says when it has had as long itself. */
static void take_turns(struct asks *w, const struct ask *a)
{
    if (a != w->lane[ANY].now)
        return;
    if (w->lane[QUICK_ONES].now) {
        while (w->lane[QUICK_ONES].now && !atomic_load(&a->own->gone))
            pthread_cond_wait(&w->change, &w->lock);
        w->since = progress_clock();
    } else if (w->owed > 0 && is_paid(w)) {
        w->owed = 0;
        pthread_cond_broadcast(&w->change);
    }
}

void ask_tell(struct ask *a, double fraction, uint64_t tokens)
{
    struct ask_private *p = a->own;

    pthread_mutex_lock(&p->asks->lock);
    p->now.state = ASK_READS;
    p->now.fraction = fraction;
    p->now.tokens = tokens;
    pthread_cond_broadcast(&p->changed);
    take_turns(p->asks, a);
    pthread_mutex_unlock(&p->asks->lock);
}

void ask_give(struct ask *a, const char *text, size_t n)
{
    struct ask_private *p = a->own;

    text_add(&a->answer, text, n);
    pthread_mutex_lock(&p->asks->lock);
    p->now.state = ASK_ANSWERS;
    text_add(&p->fresh, text, n);
    pthread_cond_broadcast(&p->changed);
    take_turns(p->asks, a);
    pthread_mutex_unlock(&p->asks->lock);
}

bool ask_watch(struct ask *a, gkv_session *s, gkv_document *d)
{
    struct ask_private *p = a->own;
    bool                gone;

    pthread_mutex_lock(&p->asks->lock);
    p->session = s;
    p->document = d;
    gone = atomic_load(&p->gone);
    pthread_mutex_unlock(&p->asks->lock);
    return !gone;
}

bool ask_gone(struct ask *a)
{
    return atomic_load(&a->own->gone);
}

/* ---- the threads, under the lock ------------------------------------------------------- */
/* The next question of a lane; NULL: it has to wait. */
static struct ask *next_of(const struct asks *w, enum lane lane)
{
    const struct ask *first = w->lane[ANY].now;

    if (lane == ANY)
        return w->n_queue && !w->lane[QUICK_ONES].now ? w->queue[0] : NULL;
    if (!first || first->own->quick || first->own->alone || !is_paid(w))
        return NULL;
    for (size_t i = 0; i < w->n_queue; i++)
        if (w->queue[i]->own->quick)
            return w->queue[i];
    return NULL;
}

/* A long reading leaves room for a quick question, and that has no more than the room.  Requests that come meanwhile have
 * room of their own. */
static uint64_t limit_of(const struct asks *w, enum lane lane, const struct ask *a)
{
    const uint64_t all = w->opt->memory_limit ? w->opt->memory_limit : gkv_memory_default();
    const uint64_t limit = all > w->requests ? all - w->requests : 1;
    const uint64_t beside = memory_resident() + w->room;

    if (!all)
        return 0;
    if (lane == QUICK_ONES)
        return beside < limit ? beside : limit;
    return a->own->quick || a->own->alone ? limit : limit > w->room ? limit - w->room : 1;
}

static void let_go(struct ask *a)
{
    a->own->ended = true;
    a->own->now.state = ASK_ENDED;
    pthread_cond_broadcast(&a->own->changed);
}

/* Beside another it did not fit: it is the next, and then has all the memory. */
static bool is_put_back(struct asks *w, enum lane lane, struct ask *a)
{
    struct ask_private *p = a->own;

    if (a->status != GKV_LIMIT || p->late || p->alone || (lane == ANY && p->quick) || w->ending || atomic_load(&p->gone))
        return false;
    p->quick = false;
    p->alone = true;
    p->now = (struct ask_now){ .state = ASK_WAITS, .ahead = lane == QUICK_ONES };
    w->queue = grow(w->queue, w->n_queue + 1, sizeof(struct ask *));
    memmove(w->queue + 1, w->queue, w->n_queue++ * sizeof *w->queue);
    w->queue[0] = a;
    return true;
}

static void answer(struct asks *w, enum lane lane, struct ask *a)
{
    const double began = progress_clock();

    a->opt.memory_limit = limit_of(w, lane, a);
    w->lane[lane].now = a;
    w->lane[lane].since = began;
    leave_queue(w, a);
    pthread_mutex_unlock(&w->lock);
    work_on(w->work, a);
    pthread_mutex_lock(&w->lock);
    a->seconds = progress_clock() - began;
    w->lane[lane].now = NULL;
    w->owed = lane == ANY ? 0 : a->seconds;
    w->since = progress_clock();
    if (a->own->late && a->status == GKV_CANCELLED) {
        snprintf(a->err.text, sizeof a->err.text, "it took more than %.0f s; see gemkv serve --max-time", w->most.seconds);
        a->status = a->err.status = GKV_LIMIT;
    }
    if (!is_put_back(w, lane, a))
        let_go(a);
    pthread_cond_broadcast(&w->change);
}

static void *run_lane(void *arg)
{
    struct lane_state *l = arg;
    struct asks       *w = l->asks;
    const enum lane    lane = l == &w->lane[ANY] ? ANY : QUICK_ONES;

    pthread_mutex_lock(&w->lock);
    for (;;) {
        struct ask *a = next_of(w, lane);

        if (a)
            answer(w, lane, a);
        else if (w->ending)                     /* then the queue is empty: asks_drain    */
            break;
        else
            pthread_cond_wait(&w->change, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

/* What a quick question needs beyond what is there already. */
static uint64_t room_of(struct run *r)
{
    gkv_options    opt = r->o.gkv;
    const uint64_t before = memory_resident();
    uint64_t       bytes;

    opt.reader = r->reader;
    return !gkv_memory_needed(r->model, &opt, QUICK_TOKENS, &bytes, NULL) && bytes > before ? bytes - before : 0;
}

struct asks *asks_open(struct run *r, const struct folder *f, const struct ask_limits *most)
{
    struct asks *w = grow(NULL, 1, sizeof *w);

    *w = (struct asks){ .opt = &r->o.gkv, .work = work_open(r, f, most->bytes), .room = room_of(r), .requests = most->requests,
                        .most = *most };
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->change, NULL);
    for (size_t i = 0; i < LANES; i++) {
        w->lane[i].asks = w;
        if (pthread_create(&w->lane[i].thread, NULL, run_lane, &w->lane[i]))
            out_of_memory();
    }
    return w;
}

size_t asks_waiting(struct asks *w)
{
    size_t n;

    pthread_mutex_lock(&w->lock);
    n = w->n_queue;
    for (size_t i = 0; i < LANES; i++)
        n += w->lane[i].now != NULL;
    pthread_mutex_unlock(&w->lock);
    return n;
}

void asks_tick(struct asks *w)
{
    pthread_mutex_lock(&w->lock);
    for (size_t i = 0; i < LANES; i++) {
        struct ask *a = w->lane[i].now;

        if (a && w->most.seconds > 0 && progress_clock() - w->lane[i].since > w->most.seconds) {
            a->own->late = true;
            cancel(a->own);
        }
    }
    pthread_mutex_unlock(&w->lock);
}

void asks_drain(struct asks *w)
{
    pthread_mutex_lock(&w->lock);
    w->ending = true;
    while (w->n_queue) {
        struct ask *a = w->queue[w->n_queue - 1];

        snprintf(a->err.text, sizeof a->err.text, "the server is ending");
        a->status = a->err.status = GKV_CANCELLED;
        leave_queue(w, a);
        let_go(a);
    }
    pthread_cond_broadcast(&w->change);
    pthread_mutex_unlock(&w->lock);
}

void asks_close(struct asks *w)
{
    if (!w)
        return;
    asks_drain(w);
    for (size_t i = 0; i < LANES; i++)
        pthread_join(w->lane[i].thread, NULL);
    work_close(w->work);
    free(w->queue);
    pthread_cond_destroy(&w->change);
    pthread_mutex_destroy(&w->lock);
    free(w);
}
