/* SPDX-License-Identifier: BSD-2-Clause
 * team-pool.c - threads of our own as a team, for machines that are busy with something else, too
 *
 * A caller publishes its work in a slot.  A helper that finds work says that it is at this slot, then looks again
 * whether the work is still open.  The caller closes the work, then looks where the helpers are.  All four are in
 * one total order, so either the helper sees that it comes too late, or the caller sees that it has to wait.  Slots
 * and helpers are never freed, so that anybody may look at one at any time.
 *
 * What each processor writes often has a cache line of its own. */
#include "config.h"
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>
#include "src/base/team.h"
#include "src/base/thread.h"

enum {
    MOST = 512,                 /* threads of a work: more are not used                      */
    SLOTS = 32,                 /* works at a time that can have helpers                     */
    LINE = 64,
    SPIN_US = 100,              /* a helper, or a caller, spins as long before it sleeps     */
    SPINS = 16,                 /* looks between two looks at the clock                      */
    WAKES = 2,                  /* helpers that a thread wakes: these wake others            */
};

/* slot.state: the number of the work, its threads, whether helpers may begin. */
#define OPEN UINT64_C(1)
#define STATE(work, threads) ((uint64_t)(work) << 16 | (uint64_t)(threads) << 1)
#define WORK(state) ((state) >> 16)
#define THREADS(state) ((unsigned)((state) >> 1 & 0x7fff))

struct sleeper {
    atomic_uint asleep;         /* 0 or 1; whoever makes it 0 posts                          */
    sem_t       wake;
};

struct slot {
    _Alignas(LINE) _Atomic uint64_t state;
    void          (*fn)(void *arg, unsigned thread);
    void           *arg;
    _Alignas(LINE) struct sleeper caller;
};

struct helper {
    _Alignas(LINE) _Atomic(struct slot *) at;   /* NULL: nowhere                             */
    _Alignas(LINE) struct sleeper self;
    pthread_t       id;
    unsigned        index;                      /* from 0: it is thread index + 1 of a work  */
};

static struct {
    _Alignas(LINE) _Atomic uint32_t busy;       /* slots that have a caller, as bits         */
    _Alignas(LINE) atomic_uint n, wanted;       /* helpers that there are, that were asked for */
    atomic_bool     stop;
    pthread_mutex_t hiring;
    struct slot     slot[SLOTS];
    struct helper   helper[MOST - 1];
} pool = { .hiring = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local bool inside;               /* in a work, or a helper                    */
static _Thread_local unsigned last;             /* slot that this caller had                 */
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* ---- waiting ---------------------------------------------------------------------------- */

static void relax(void)
{
#if defined __x86_64__ || defined __i386__
    __builtin_ia32_pause();
#elif defined __aarch64__
    __asm__ __volatile__("isb" ::: "memory");
#endif
}

struct spin { unsigned looks; uint64_t since; };

/* Whether to look once more without sleep. */
static bool spin(struct spin *s)
{
    struct timespec t;
    uint64_t now;

    relax();
    if (++s->looks % SPINS)
        return true;
    clock_gettime(CLOCK_MONOTONIC, &t);
    now = (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000 + 1;
    s->since = s->since ? s->since : now;
    return now - s->since < SPIN_US;
}

static void await_post(struct sleeper *s)
{
    while (sem_wait(&s->wake) && errno == EINTR)
        ;
}

/* Waits until there(arg), which finds each work once only: spins, then sleeps.  Whoever makes it true calls wake
 * afterwards.  True: it was woken, and whoever woke it counts on it to wake others. */
static bool await(struct sleeper *s, bool (*there)(void *arg), void *arg)
{
    struct spin x = { 0 };
    bool woken = false;

    while (!there(arg)) {
        if (spin(&x))
            continue;
        atomic_store(&s->asleep, 1);
        if (there(arg)) {
            if (!atomic_exchange(&s->asleep, 0)) {
                await_post(s);                  /* it is on its way */
                woken = true;
            }
            return woken;
        }
        await_post(s);
        woken = true;
        x = (struct spin){ 0 };
    }
    return woken;
}

static bool wake(struct sleeper *s)
{
    const bool mine = atomic_load(&s->asleep) && atomic_exchange(&s->asleep, 0);

    if (mine)
        sem_post(&s->wake);
    return mine;
}

/* Wakes at most WAKES of the first n helpers. */
static void wake_helpers(unsigned n)
{
    const unsigned all = atomic_load(&pool.n);

    for (unsigned i = 0, woken = 0; i < n && i < all && woken < WAKES; i++)
        woken += wake(&pool.helper[i].self);
}

/* ---- helpers ---------------------------------------------------------------------------- */

struct look {
    struct helper *h;
    uint64_t     seen[SLOTS];                   /* work of each slot that it has been to     */
    struct slot *slot;                          /* found                                     */
    uint64_t     state;
};

/* How many helpers may be at a work of so many threads, the first ones: callers have processors, too. */
static unsigned allowed(unsigned n_threads, uint32_t busy)
{
    const unsigned callers = (unsigned)__builtin_popcount(busy);

    return n_threads > callers ? n_threads - callers : 0;
}

/* Each helper begins at another of the busy slots, so that these share helpers, and comes back to it. */
static unsigned first_slot(uint32_t busy, unsigned index)
{
    unsigned skip = index % (unsigned)__builtin_popcount(busy);

    for (; skip; skip--)
        busy &= busy - 1;
    return (unsigned)__builtin_ctz(busy);
}

static bool find_work(struct look *k)
{
    const uint32_t busy = atomic_load(&pool.busy);
    const unsigned from = busy ? first_slot(busy, k->h->index) : 0;

    for (unsigned i = 0; busy && i < SLOTS; i++) {
        const unsigned s = (from + i) % SLOTS;

        if (!(busy >> s & 1))
            continue;
        k->slot = &pool.slot[s];
        k->state = atomic_load(&k->slot->state);
        if (k->state & OPEN && WORK(k->state) != k->seen[s] && k->h->index < allowed(THREADS(k->state), busy)) {
            k->seen[s] = WORK(k->state);
            return true;
        }
    }
    return false;
}

static bool work_or_stop(void *arg)
{
    return find_work(arg) || atomic_load(&pool.stop);
}

static void leave(const struct look *k)
{
    atomic_store(&k->h->at, NULL);
    wake(&k->slot->caller);
}

/* False: it comes too late.  Otherwise fn and arg stay as they are until leave. */
static bool enter(const struct look *k)
{
    atomic_store(&k->h->at, k->slot);
    if (atomic_load(&k->slot->state) == k->state)
        return true;
    leave(k);
    return false;
}

static void *help(void *arg)
{
    struct helper *h = arg;
    struct look k = { .h = h };

    inside = true;
    for (;;) {
        const bool woken = await(&h->self, work_or_stop, &k);

        if (atomic_load(&pool.stop))
            return NULL;
        if (woken)
            wake_helpers(allowed(THREADS(k.state), atomic_load(&pool.busy)));
        if (enter(&k)) {
            k.slot->fn(k.slot->arg, h->index + 1);
            leave(&k);
        }
    }
}

/* ---- the pool --------------------------------------------------------------------------- */

/* A child has no helpers, and locks are as they were at the fork. */
static void forget(void)
{
    const pthread_mutex_t unlocked = PTHREAD_MUTEX_INITIALIZER;

    pool.hiring = unlocked;
    for (unsigned s = 0; s < SLOTS; s++) {
        atomic_fetch_and(&pool.slot[s].state, ~OPEN);
        atomic_store(&pool.slot[s].caller.asleep, 0);
        sem_init(&pool.slot[s].caller.wake, 0, 0);
    }
    for (unsigned i = 0; i < atomic_load(&pool.n); i++)
        atomic_store(&pool.helper[i].at, NULL);
    atomic_store(&pool.busy, 0);
    atomic_store(&pool.n, 0);
    atomic_store(&pool.wanted, 0);
}

static void prepare(void)
{
    for (unsigned s = 0; s < SLOTS; s++)
        sem_init(&pool.slot[s].caller.wake, 0, 0);
    if (pthread_atfork(NULL, NULL, forget))
        atomic_store(&pool.wanted, MOST);       /* no helpers, then */
}

static void hire(unsigned wanted)
{
    sigset_t before;

    pthread_once(&once, prepare);
    pthread_mutex_lock(&pool.hiring);
    gkv__block_signals(&before);
    for (unsigned i; (i = atomic_load(&pool.n)) < wanted && wanted > atomic_load(&pool.wanted); atomic_fetch_add(&pool.n, 1)) {
        struct helper *h = &pool.helper[i];

        h->index = i;
        atomic_store(&h->self.asleep, 0);
        sem_init(&h->self.wake, 0, 0);
        if (pthread_create(&h->id, NULL, help, h))
            break;                              /* not tried again until more are wanted */
    }
    if (wanted > atomic_load(&pool.wanted))
        atomic_store(&pool.wanted, wanted);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_mutex_unlock(&pool.hiring);
}

/* Before the program ends, or the library is unloaded, its helpers have ended. */
__attribute__((destructor)) static void dismiss(void)
{
    pthread_mutex_lock(&pool.hiring);
    atomic_store(&pool.stop, true);
    atomic_store(&pool.wanted, MOST);
    for (unsigned i = 0; i < atomic_load(&pool.n); i++)
        wake(&pool.helper[i].self);
    for (unsigned i = 0; i < atomic_load(&pool.n); i++)
        pthread_join(pool.helper[i].id, NULL);
    atomic_store(&pool.n, 0);
    pthread_mutex_unlock(&pool.hiring);
}

/* ---- callers ---------------------------------------------------------------------------- */

/* A slot for this caller, the one it had before if that is free.  NULL: all are taken. */
static struct slot *take_slot(void)
{
    uint32_t busy = atomic_load(&pool.busy);

    while (~busy) {
        const unsigned s = busy >> last & 1 ? (unsigned)__builtin_ctz(~busy) : last;

        if (atomic_compare_exchange_weak(&pool.busy, &busy, busy | UINT32_C(1) << s))
            return &pool.slot[last = s];
    }
    return NULL;
}

static bool is_done(void *arg)
{
    struct slot *s = arg;
    const unsigned n = THREADS(atomic_load(&s->state)) - 1;

    for (unsigned i = 0; i < n; i++)
        if (atomic_load(&pool.helper[i].at) == s)
            return false;
    return true;
}

void gkv__team(unsigned n_threads, void (*fn)(void *arg, unsigned thread), void *arg)
{
    const unsigned n = n_threads < MOST ? n_threads : MOST;
    struct slot *s;
    uint64_t state;

    if (n > 1 && n - 1 > atomic_load(&pool.wanted) && !inside)
        hire(n - 1);
    s = n > 1 && !inside && atomic_load(&pool.n) ? take_slot() : NULL;
    if (!s) {
        fn(arg, 0);
        return;
    }
    inside = true;
    s->fn = fn;
    s->arg = arg;
    state = STATE(WORK(atomic_load(&s->state)) + 1, n);
    atomic_store(&s->state, state | OPEN);
    wake_helpers(allowed(n, atomic_load(&pool.busy)));
    fn(arg, 0);
    atomic_store(&s->state, state);
    await(&s->caller, is_done, s);
    atomic_fetch_and(&pool.busy, ~(UINT32_C(1) << last));
    inside = false;
}
