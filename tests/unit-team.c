/* SPDX-License-Identifier: BSD-2-Clause
 * unit-team.c - work is done once each, whatever the number of threads, callers and pauses, also without helpers,
 * after a fork and at the program's end; callers share the helpers. */
#include "config.h"
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "src/base/team.h"
#include "src/base/thread.h"
#include "tests/tap.h"

enum { N = 3000, MAX_THREADS = 9 };

struct work {
    atomic_uint  done[N];
    atomic_uint  thread[64];
    atomic_size_t wrong;
    unsigned     n_threads;
    bool         nested;
};

static void item(void *arg, size_t i, unsigned thread)
{
    struct work *w = arg;

    w->wrong += thread >= w->n_threads;
    w->thread[thread % 64]++;
    w->done[i]++;
    for (volatile unsigned k = 0; k < 200; k++)
        ;
    if (w->nested && i % 100 == 0) {
        static struct work inner[N];            /* one each: nested work has no helpers */
        struct work *in = &inner[i];

        memset(in, 0, sizeof *in);
        in->n_threads = 1;
        gkv__for(4, 50, item, in);
        for (size_t k = 0; k < 50; k++)
            w->wrong += in->done[k] != 1;
        w->wrong += in->wrong;
    }
}

enum { MOST = 7 };

static void range(void *arg, size_t from, size_t to, unsigned thread)
{
    struct work *w = arg;

    w->wrong += from >= to || from / MOST != (to - 1) / MOST;
    for (size_t i = from; i < to; i++)
        item(arg, i, thread);
}

/* Items that were not done exactly once, or by a thread that there is not. */
static size_t bad(struct work *w, unsigned n_threads, size_t n, bool parts, bool nested)
{
    size_t sum = 0;

    memset(w, 0, sizeof *w);
    w->n_threads = n_threads ? n_threads : 1;
    w->nested = nested;
    if (parts)
        gkv__for_parts(n_threads, n, MOST, range, w);
    else
        gkv__for(n_threads, n, item, w);
    for (size_t i = 0; i < N; i++)
        sum += w->done[i] != (i < n);
    return sum + w->wrong;
}

static void pause_ms(long ms)
{
    nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

static size_t rounds(struct work *w, unsigned seed, size_t n)
{
    size_t sum = 0;

    for (size_t i = 0; i < n; i++) {
        const int r = rand_r(&seed);

        sum += bad(w, (unsigned)(r >> 8) % MAX_THREADS, (size_t)(r >> 4) % N, r & 1, false);
        if (r % 50 == 0)
            pause_ms(1);                        /* helpers fall asleep */
    }
    return sum;
}

static void *caller(void *arg)
{
    struct work *w = calloc(1, sizeof *w);
    const size_t sum = rounds(w, (unsigned)(size_t)arg, 150);

    free(w);
    return (void *)sum;
}

static unsigned threads_now(void)
{
    DIR *d = opendir("/proc/self/task");
    unsigned n = 0;

    if (!d)
        return 0;
    for (struct dirent *e; (e = readdir(d)); )
        n += e->d_name[0] != '.';
    closedir(d);
    return n;
}

struct crowd {
    atomic_uint  n_threads, come[MAX_THREADS], n, unmasked;
    atomic_bool  gone_on;
};

/* Helpers return at once; the caller waits until as many threads have come as there may be. */
static void come(void *arg, unsigned thread)
{
    struct crowd *c = arg;
    sigset_t set;

    c->come[thread]++;
    c->n++;
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    c->unmasked += thread && (!sigismember(&set, SIGTERM) || sigismember(&set, SIGBUS));
    for (int i = 0; !thread && i < 10000 && c->n < c->n_threads; i++)
        pause_ms(1);
}

static void *second_caller(void *arg)
{
    struct crowd *c = arg;

    gkv__team(3, come, c);
    return NULL;
}

/* Waits for it: a thread that was joined is there for a moment longer. */
static bool are_threads(unsigned n)
{
#ifdef __SANITIZE_THREAD__
    n++;                                        /* its own */
#endif
    for (int i = 0; i < 5000 && threads_now() != n; i++)
        pause_ms(1);
    return threads_now() == n;
}

/* The caller returns as soon as a helper has come, and the helper is slow. */
static void slow(void *arg, unsigned thread)
{
    struct crowd *c = arg;

    c->n += thread != 0;
    for (int i = 0; !thread && i < 10000 && !c->n; i++)
        pause_ms(1);
    pause_ms(thread ? 20 : 0);
    c->gone_on = c->gone_on || thread;
}

/* While this caller is at work, another one calls. */
static void let_other_call(void *arg, unsigned thread)
{
    struct crowd *other = arg;
    pthread_t id;

    if (thread || pthread_create(&id, NULL, second_caller, other))
        return;
    for (int i = 0; i < 10000 && other->n < 2; i++)
        pause_ms(1);
    pause_ms(50);                               /* a third thread would come now */
    other->gone_on = other->n == 2;
    other->n_threads = 0;
    pthread_join(id, NULL);
}

static void *short_caller(void *arg)
{
    static _Thread_local struct work w;

    (void)arg;
    return (void *)bad(&w, 3, 20, false, false);
}

static size_t many_callers(unsigned n)
{
    pthread_t id[50];
    size_t sum = 0;

    for (unsigned i = 0; i < n; i += 50) {
        unsigned k = 0;

        while (k < 50 && !pthread_create(&id[k], NULL, short_caller, NULL))
            k++;
        sum += k < 50;
        while (k) {
            void *r;

            pthread_join(id[--k], &r);
            sum += (size_t)r;
        }
    }
    return sum;
}

static void *call_for_ever(void *arg)
{
    for (struct work *w = arg;;)
        gkv__for(4, N, item, w);
    return NULL;
}

/* Whether a child that runs fn exits with 0, within a minute. */
static bool child(int (*fn)(struct work *w), struct work *w)
{
    int status = 1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (!pid) {
        alarm(60);
        exit(fn(w));
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int work_again(struct work *w)
{
    return rounds(w, 3, 20) != 0 || threads_now() < 2;
}

/* No thread can be started: by a limit, which root is above. */
static int work_alone(struct work *w)
{
    if (setrlimit(RLIMIT_NPROC, &(struct rlimit){ 0, 0 }) || (!geteuid() && setuid(65534)))
        return 0;
    return rounds(w, 3, 20) != 0 || threads_now() != 1;
}

static int end_while_busy(struct work *w)
{
    pthread_t id;

    w->n_threads = 4;
    if (pthread_create(&id, NULL, call_for_ever, w))
        return 1;
    pause_ms(20);
    return 0;
}

/* ---- a task beside all -------------------------------------------------------------------- */

static const int others[] = { SIGINT, SIGTERM, SIGALRM, SIGUSR1, SIGCHLD, SIGPIPE };
static const int own[] = { SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };

struct beside { pthread_t thread; sigset_t mask; int runs; };

static void beside(void *arg)
{
    struct beside *b = arg;

    b->thread = pthread_self();
    b->runs++;
    pthread_sigmask(SIG_SETMASK, NULL, &b->mask);
}

/* It leaves signals to the caller's threads, except those that say what it did itself; the caller's mask stays. */
static void check_task(void)
{
    struct beside b = { .runs = 0 };
    struct gkv__task *t;
    sigset_t set, after;
    bool blocked = true, open = true, same = true;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    t = gkv__task_start(beside, &b);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    gkv__task_join(t);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        blocked &= sigismember(&b.mask, others[i]) == 1;
        same &= sigismember(&after, others[i]) == 0;
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        open &= sigismember(&b.mask, own[i]) == 0;
    ok(t && b.runs == 1 && !pthread_equal(b.thread, pthread_self()), "a task runs once, in a thread of its own");
    ok(blocked && open, "... which leaves signals to others, but for those of what it does");
    ok(same && sigismember(&after, SIGUSR2) == 1, "... and those of the caller stay as they were");
    sigemptyset(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    gkv__task_join(NULL);
}

int main(void)
{
    static struct work w;
    static struct crowd all = { .n_threads = 5 }, few = { .n_threads = 3 }, two;
    pthread_t id[6];
    size_t sum = 0;

    for (unsigned n = 0; n < MAX_THREADS; n++)
        sum += bad(&w, n, N, false, false) + bad(&w, n, N, true, false) + bad(&w, n, 1, true, false) + bad(&w, n, 0, false, false);
    ok(!sum, "each item is done once, by 0 to %d threads", MAX_THREADS - 1);
    gkv__team(5, come, &all);
    ok(all.n == 5 && all.come[0] == 1 && all.come[1] == 1 && all.come[2] == 1 && all.come[3] == 1 && all.come[4] == 1,
       "all five threads come, each once");
    ok(!all.unmasked, "... and helpers leave signals to others");
    gkv__team(2, slow, &two);
    ok(two.n == 1 && two.gone_on, "a helper that has begun is waited for");
    ok(!rounds(&w, 1, 400), "400 works of random size, some after a pause");
    ok(!bad(&w, 3, N, false, true), "work within work");
    for (size_t i = 0; i < 6; i++)
        if (pthread_create(&id[i], NULL, caller, (void *)(i + 2)))
            return 1;
    for (size_t i = 0; i < 6; i++) {
        void *r;

        pthread_join(id[i], &r);
        sum += (size_t)r;
    }
    ok(!sum, "six callers at the same time");
    ok(!many_callers(2000), "2000 callers that come and go");
    ok(are_threads(MAX_THREADS - 1), "all of them had %d helpers", MAX_THREADS - 2);
    gkv__team(3, let_other_call, &few);
    ok(few.gone_on, "of three threads, a second caller has one helper: the first is at work");
    ok(child(work_again, &w), "a child after a fork has helpers of its own");
#ifdef __SANITIZE_ADDRESS__
    skip("LeakSanitizer starts a thread of its own at the end", "a process that cannot start threads works alone");
#else
    ok(child(work_alone, &w), "a process that cannot start threads works alone");
#endif
    ok(child(end_while_busy, &w), "a program may end while another thread works");
    check_task();
    return done();
}
