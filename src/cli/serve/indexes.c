/* SPDX-License-Identifier: BSD-2-Clause
 * indexes.c - see indexes.h */
#include "config.h"
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/say.h"
#include "src/cli/serve/indexes.h"

/* A file "index-KEY" of the folder. */
struct entry {
    uint64_t key;
    uint64_t bytes, used;               /* on the disk; when, in ns since 1970: the file's time, too */
};

struct indexes {
    pthread_mutex_t      lock;
    const struct folder *folder;
    uint64_t             most;
    struct entry        *v;
    size_t               n;
};

static char *path_of(const struct indexes *x, uint64_t key)
{
    return format("%s/index-%016" PRIx64, x->folder->path, key);
}

static void add(struct indexes *x, uint64_t key, const char *path)
{
    struct stat st;

    if (stat(path, &st))
        return;
    x->v = grow(x->v, x->n + 1, sizeof *x->v);
    x->v[x->n++] = (struct entry){ .key = key, .bytes = (uint64_t)st.st_blocks * 512,
                                   .used = (uint64_t)st.st_mtim.tv_sec * 1000000000 + (uint64_t)st.st_mtim.tv_nsec };
}

struct indexes *indexes_open(const struct folder *f, uint64_t most)
{
    struct indexes *x = grow(NULL, 1, sizeof *x);
    size_t          n;
    char          **name = folder_list(f, "index-", &n);

    *x = (struct indexes){ .folder = f, .most = most };
    pthread_mutex_init(&x->lock, NULL);
    for (size_t i = 0; i < n; i++) {
        char          *end, *path = folder_file(f, name[i]);
        const uint64_t key = strtoull(name[i] + strlen("index-"), &end, 16);

        if (*end)
            unlink(path);                       /* begun by a server that was killed      */
        else
            add(x, key, path);
        free(path);
        free(name[i]);
    }
    free(name);
    return x;
}

/* ---- under the lock -------------------------------------------------------------------- */
/* x->n if there is none. */
static size_t find(const struct indexes *x, uint64_t key)
{
    size_t i = 0;

    while (i < x->n && x->v[i].key != key)
        i++;
    return i;
}

static void drop(struct indexes *x, size_t i)
{
    char *path = path_of(x, x->v[i].key);

    unlink(path);
    free(path);
    x->v[i] = x->v[--x->n];
}

static void use(struct entry *e, const char *path)
{
    struct timespec now[2];

    clock_gettime(CLOCK_REALTIME, &now[0]);
    now[1] = now[0];
    e->used = (uint64_t)now[0].tv_sec * 1000000000 + (uint64_t)now[0].tv_nsec;
    utimensat(AT_FDCWD, path, now, 0);          /* if not, it is removed a little early   */
}

static uint64_t bytes(const struct indexes *x)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < x->n; i++)
        sum += x->v[i].bytes;
    return sum;
}

/* The least recently used go, but not the one just made. */
static void make_room(struct indexes *x, uint64_t made)
{
    while (x->n > 1 && bytes(x) > x->most) {
        size_t oldest = x->n;

        for (size_t i = 0; i < x->n; i++)
            if (x->v[i].key != made && (oldest == x->n || x->v[i].used < x->v[oldest].used))
                oldest = i;
        drop(x, oldest);
    }
}

/* ---- for all --------------------------------------------------------------------------- */
void indexes_close(struct indexes *x)
{
    if (!x)
        return;
    while (x->n && !x->folder->lasts)
        drop(x, x->n - 1);
    free(x->v);
    pthread_mutex_destroy(&x->lock);
    free(x);
}

/* FNV-1a; equal numbers are not trusted, the texts are compared. */
static uint64_t hash(uint64_t h, const void *p, size_t n)
{
    const unsigned char *b = p;

    for (size_t i = 0; i < n; i++)
        h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}

static uint64_t hash_word(uint64_t h, const char *s)
{
    return hash(h, s ? s : "\1", s ? strlen(s) + 1 : 2);
}

uint64_t indexes_key(const char *text, size_t n, const gkv_options *opt, const char *grade)
{
    uint64_t h = hash(UINT64_C(0xcbf29ce484222325), text, n);

    h = hash_word(hash_word(hash_word(h, opt->system), opt->chat_template), grade);
    h = hash(h, &opt->layer, sizeof opt->layer);
    return hash(h, &opt->think, sizeof opt->think);
}

bool indexes_has(struct indexes *x, uint64_t key)
{
    bool has;

    pthread_mutex_lock(&x->lock);
    has = find(x, key) < x->n;
    pthread_mutex_unlock(&x->lock);
    return has;
}

static bool has_text(const gkv_document *d, const char *text, size_t n)
{
    size_t      m;
    const char *there = gkv_document_text(d, 0, &m);

    return m == n && !memcmp(there, text, n);
}

/* Clients are not told where the server's files are. */
static void hide_path(gkv_error *err, const char *path)
{
    char *rest;

    if (strncmp(err->text, path, strlen(path)))
        return;
    rest = format("%s", err->text + strlen(path));
    snprintf(err->text, sizeof err->text, "the index%s", rest);
    free(rest);
}

gkv_status indexes_load(struct indexes *x, uint64_t key, gkv_model *m, const gkv_options *opt, const char *text, size_t n,
                        gkv_document **out, gkv_error *err)
{
    char      *path = path_of(x, key);
    gkv_status status = GKV_OK;
    size_t     i;

    *out = NULL;
    pthread_mutex_lock(&x->lock);
    i = find(x, key);
    if (i < x->n) {
        status = gkv_document_load(out, m, opt, path, err);
        if (!status && has_text(*out, text, n)) {
            use(&x->v[i], path);
        } else if (status != GKV_LIMIT && status != GKV_NOMEM) {
            gkv_document_close(*out);
            *out = NULL;
            status = GKV_OK;
            drop(x, i);                         /* of another model or text, or damaged   */
        } else {
            hide_path(err, path);
        }
    }
    pthread_mutex_unlock(&x->lock);
    free(path);
    return status;
}

gkv_status indexes_make(struct indexes *x, uint64_t key, gkv_document *d, const gkv_options *opt, const char *grade,
                        gkv_error *err)
{
    char      *path = path_of(x, key);
    gkv_status status = gkv_document_index(d, opt, grade, path, err);
    size_t     i;

    if (!status) {
        pthread_mutex_lock(&x->lock);
        i = find(x, key);
        if (i < x->n)
            x->v[i] = x->v[--x->n];             /* its file was replaced just now         */
        add(x, key, path);
        make_room(x, key);
        pthread_mutex_unlock(&x->lock);
    }
    free(path);
    return status;
}
