/* SPDX-License-Identifier: BSD-2-Clause
 * mpi.c - processes that mpirun started, connected by an MPI library.
 *
 * MPI libraries move data while they are called, not while the program computes.  So one thread makes all calls: it starts
 * what the program asks for, tests it until it has ended, and sleeps in between, more and more rarely.  On rank 0 it also
 * hands out numbers.
 *
 * What is gathered goes from each rank to each other one at once, in pieces that MPI libraries send without asking whether
 * the other one is ready: an answer would wait for the next test on either side, and so would each step of MPI_Iallgather,
 * where ranks hand on what others have sent. */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "group/plugin.h"

enum { ASK = 1, GIVE, PIECE };          /* tags */
enum {
    PIECE_BYTES = 32768,                /* Open MPI asks from 64 KiB on, with TCP            */
    BRIEF = 20000, LONG = 1000000,      /* nanoseconds between two tests: at first, at most  */
    PATIENCE = 50 * 1000000,            /* of a `wait`                                       */
};

enum what { NOTHING, CAST, GATHER, NEXT, CLOSE };

struct processes {
    pthread_t       thread;
    pthread_mutex_t lock;
    pthread_cond_t  asked, ended;
    /* Of the program's thread and ours, under the lock: */
    enum what       what;               /* NOTHING: the last one has ended                   */
    bool            failed, abort;
    void           *data;
    const void     *mine;
    size_t          bytes;
    int             root;
    int64_t         number;             /* the answer to NEXT */
    /* Ours: */
    MPI_Comm        comm;
    MPI_Request    *request;            /* of what is running                                */
    MPI_Status     *status;             /* of each: not looked at                            */
    int             n_requests, most_requests;
    enum what       running;
    int64_t         answer, given;
    int             rank, size;
};

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static void sleep_until_asked(struct processes *p, long nanoseconds)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += nanoseconds;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&p->asked, &p->lock, &t);
}

static bool reserve(struct processes *p, size_t requests)
{
    MPI_Request *more;
    MPI_Status  *status;

    if (requests <= (size_t)p->most_requests)
        return true;
    more = requests <= INT_MAX ? realloc(p->request, requests * sizeof *more) : NULL;
    if (!more)
        return false;
    p->request = more;
    status = realloc(p->status, requests * sizeof *status);
    if (!status)
        return false;
    p->status = status;
    p->most_requests = (int)requests;
    return true;
}

/* Rank r sends to r + 1 first, then to r + 2, ..., so that not all send to the same one. */
static bool gather_pieces(struct processes *p)
{
    const size_t pieces = (p->bytes + PIECE_BYTES - 1) / PIECE_BYTES;
    char *all = p->data;
    bool good = reserve(p, 2 * pieces * (size_t)p->size);

    p->n_requests = 0;
    for (int by = 1; good && by < p->size; by++) {
        const int from = (p->rank + p->size - by) % p->size;

        for (size_t at = 0; good && at < p->bytes; at += PIECE_BYTES)
            good = MPI_Irecv(all + (size_t)from * p->bytes + at, (int)least(PIECE_BYTES, p->bytes - at), MPI_BYTE, from, PIECE,
                             p->comm, &p->request[p->n_requests++]) == MPI_SUCCESS;
    }
    for (int by = 1; good && by < p->size; by++)
        for (size_t at = 0; good && at < p->bytes; at += PIECE_BYTES)
            good = MPI_Isend((const char *)p->mine + at, (int)least(PIECE_BYTES, p->bytes - at), MPI_BYTE,
                             (p->rank + by) % p->size, PIECE, p->comm, &p->request[p->n_requests++]) == MPI_SUCCESS;
    memcpy(all + (size_t)p->rank * p->bytes, p->mine, p->bytes);
    return good;
}

static bool begin(struct processes *p)
{
    int64_t none = 0;

    p->n_requests = 1;
    switch (p->what) {
    case CAST:
        return MPI_Ibcast(p->data, (int)p->bytes, MPI_BYTE, p->root, p->comm, p->request) == MPI_SUCCESS;
    case GATHER:
        return gather_pieces(p);
    case NEXT:
        if (!p->rank) {
            p->answer = p->given++;
            p->n_requests = 0;
            return true;
        }
        return MPI_Send(&none, 1, MPI_INT64_T, 0, ASK, p->comm) == MPI_SUCCESS &&
               MPI_Irecv(&p->answer, 1, MPI_INT64_T, 0, GIVE, p->comm, p->request) == MPI_SUCCESS;
    case NOTHING:
    case CLOSE:
        break;
    }
    return MPI_Ibarrier(p->comm, p->request) == MPI_SUCCESS;
}

/* Rank 0: a number for whoever asks. */
static bool hand_out(struct processes *p)
{
    MPI_Status status;
    int64_t none;
    int there = 0;

    if (p->rank || MPI_Iprobe(MPI_ANY_SOURCE, ASK, p->comm, &there, &status) != MPI_SUCCESS || !there)
        return false;
    if (MPI_Recv(&none, 1, MPI_INT64_T, status.MPI_SOURCE, ASK, p->comm, MPI_STATUS_IGNORE) == MPI_SUCCESS)
        MPI_Send(&p->given, 1, MPI_INT64_T, status.MPI_SOURCE, GIVE, p->comm);
    p->given++;
    return true;
}

static void end(struct processes *p, bool good)
{
    p->number = p->answer;
    p->failed = !good;
    p->what = p->running = NOTHING;
    pthread_cond_broadcast(&p->ended);
}

/*
 * 1: all of what runs has ended; 0: not yet; -1: failed.  Not MPI_STATUSES_IGNORE: in MPICH that is the address 1, which
 * GCC takes for an array that is too small.
 */
static int test(struct processes *p)
{
    int done = 0;

    return MPI_Testall(p->n_requests, p->request, &done, p->status) == MPI_SUCCESS ? done : -1;
}

static void *serve(void *arg)
{
    struct processes *p = arg;
    long pause = LONG;
    bool last = false;

    pthread_mutex_lock(&p->lock);
    while (!last) {
        int done = 0;
        bool busy;

        if (p->abort)
            break;
        if (p->what == NOTHING || p->what == p->running)
            sleep_until_asked(p, pause);
        if (p->what != NOTHING && p->running == NOTHING) {
            pause = BRIEF;
            p->running = p->what;
            if (!begin(p)) {
                end(p, false);
                break;
            }
        }
        /* The program does not wait for the lock while bytes move. */
        pthread_mutex_unlock(&p->lock);
        if (p->running != NOTHING)
            done = test(p);
        busy = hand_out(p);
        pthread_mutex_lock(&p->lock);
        pause = busy ? BRIEF : pause + pause / 8 < LONG ? pause + pause / 8 : LONG;
        if (done) {
            last = p->running == CLOSE || done < 0;
            end(p, done > 0);
        }
    }
    p->failed |= !last;
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

/* ---- what the program calls ---------------------------------------------------------------- */

static int ask(struct processes *p, enum what what, int root, void *data, const void *mine, size_t bytes)
{
    bool good;

    pthread_mutex_lock(&p->lock);
    good = !p->failed && p->what == NOTHING && bytes <= INT_MAX;
    if (good) {
        p->root = root;
        p->data = data;
        p->mine = mine;
        p->bytes = bytes;
        p->what = what;
        pthread_cond_signal(&p->asked);
    }
    pthread_mutex_unlock(&p->lock);
    return good ? 0 : -1;
}

static int cast(void *context, uint32_t root, void *data, size_t bytes)
{
    return ask(context, CAST, (int)root, data, NULL, bytes);
}

static int gather(void *context, const void *mine, size_t bytes, void *all)
{
    return ask(context, GATHER, 0, all, mine, bytes);
}

static int wait_for(void *context)
{
    struct processes *p = context;
    struct timespec t;
    int result;

    clock_gettime(CLOCK_REALTIME, &t);
    t.tv_nsec += PATIENCE;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    pthread_mutex_lock(&p->lock);
    while (p->what != NOTHING && pthread_cond_timedwait(&p->ended, &p->lock, &t) != ETIMEDOUT)
        continue;
    result = p->what != NOTHING ? 1 : p->failed ? -1 : 0;
    pthread_mutex_unlock(&p->lock);
    return result;
}

static int wait_long(struct processes *p)
{
    int left;

    while ((left = wait_for(p)) > 0)
        continue;
    return left;
}

static int64_t next(void *context)
{
    struct processes *p = context;

    return ask(p, NEXT, 0, NULL, NULL, 0) || wait_long(p) ? -1 : p->number;
}

static void release(struct processes *p)
{
    if (!p)
        return;
    free(p->request);
    free(p->status);
    free(p);
}

static void *open_all(gkv_group *out, char error[GKV_GROUP_ERROR])
{
    struct processes *p = calloc(1, sizeof *p);
    int level, local = 0;
    MPI_Comm here;

    snprintf(error, GKV_GROUP_ERROR, "out of memory");
    if (!p || !reserve(p, 1)) {
        release(p);
        return NULL;
    }
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS || level < MPI_THREAD_SERIALIZED) {
        snprintf(error, GKV_GROUP_ERROR, "this MPI library cannot be called by two threads in turns");
        release(p);
        return NULL;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &p->comm);
    MPI_Comm_set_errhandler(p->comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(p->comm, &p->rank);
    MPI_Comm_size(p->comm, &p->size);
    if (MPI_Comm_split_type(p->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) == MPI_SUCCESS) {
        MPI_Comm_size(here, &local);
        MPI_Comm_free(&here);
    }
    p->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    p->asked = p->ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    if (pthread_create(&p->thread, NULL, serve, p)) {
        snprintf(error, GKV_GROUP_ERROR, "the system refused a thread");
        MPI_Finalize();
        release(p);
        return NULL;
    }
    *out = (gkv_group){ .rank = (uint32_t)p->rank, .size = (uint32_t)p->size, .local = (uint32_t)local, .context = p,
                        .cast = cast, .gather = gather, .wait = wait_for };
    return p;
}

static void close_all(void *context)
{
    struct processes *p = context;

    if (!ask(p, CLOSE, 0, NULL, NULL, 0))
        wait_long(p);
    pthread_join(p->thread, NULL);
    MPI_Comm_free(&p->comm);
    MPI_Finalize();
    release(p);
}

static void abort_all(void *context, int code)
{
    struct processes *p = context;

    pthread_mutex_lock(&p->lock);
    p->abort = true;
    pthread_cond_signal(&p->asked);
    pthread_mutex_unlock(&p->lock);
    pthread_join(p->thread, NULL);      /* it may be in a call */
    MPI_Abort(p->comm, code);
}

__attribute__((visibility("default"))) const struct gkv_group_plugin *gkv_group_plugin(void)
{
    static const struct gkv_group_plugin plugin = { GKV_GROUP_ABI, open_all, next, close_all, abort_all };

    return &plugin;
}
