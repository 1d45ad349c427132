/* SPDX-License-Identifier: BSD-2-Clause
 * store.c - see store.h */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/input.h"
#include "src/cli/say.h"
#include "src/cli/serve/store.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

enum { LONGEST_NAME = 200 };

struct entry {
    struct stored s;
    uint64_t      text;                 /* bytes                                          */
};

struct store {
    pthread_mutex_t lock;
    char           *folder;
    struct entry   *v;
    size_t          n;
    uint64_t        bytes, most;        /* of all texts                                   */
};

struct store *store_open(const char *folder, uint64_t most)
{
    struct store *s = grow(NULL, 1, sizeof *s);

    *s = (struct store){ .folder = format("%s", folder), .most = most };
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

void stored_free(struct stored *s)
{
    free(s->name);
    free(s->path);
    free(s->remark);
    *s = (struct stored){ .name = NULL };
}

void store_close(struct store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++) {
        unlink(s->v[i].s.path);
        stored_free(&s->v[i].s);
    }
    free(s->v);
    free(s->folder);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct stored copy(const struct stored *s)
{
    struct stored c = *s;

    c.name = format("%s", s->name);
    c.path = format("%s", s->path);
    c.remark = s->remark ? format("%s", s->remark) : NULL;
    return c;
}

/* Under the lock; s->n if there is none. */
static size_t find(const struct store *s, const char *id)
{
    size_t i = 0;

    while (i < s->n && strcmp(s->v[i].s.id, id))
        i++;
    return i;
}

/* ---- adding -------------------------------------------------------------------------- */
struct reading { FILE *f; uint64_t bytes, most; bool full; };

static int write_text(void *arg, const char *text, size_t len)
{
    struct reading *r = arg;

    r->bytes += len;
    r->full = r->bytes > r->most;
    return r->full || fwrite(text, 1, len, r->f) != len ? EXIT_FAILED : 0;
}

/* The last part of the path that a client gives, as one line. */
static char *name_of(const char *path)
{
    struct text t = { NULL, 0, 0 };
    const char *name = path;
    uint32_t    cp;
    size_t      n;

    for (const char *p = path; *p; p++)
        if (*p == '/' || *p == '\\')
            name = p + 1;
    n = strlen(name);
    for (size_t i = 0, k; i < n && t.n < LONGEST_NAME; i += k) {
        k = utf8_next(name + i, n - i, &cp);
        if (cp == UTF8_BAD || utf8_is_control(cp))
            text_add(&t, "_", 1);
        else
            text_add(&t, name + i, k);
    }
    if (!t.n)
        text_puts(&t, "document");
    return t.p;
}

/* The first line of the messages, with the client's name for the file in place of ours; for free(), NULL if there is none. */
static char *message_of(const char *messages, const char *file, const char *name)
{
    const char *line = !strncmp(messages, "gemkv: ", 7) ? messages + 7 : messages;
    const char *at;
    int         n;

    if (!strncmp(line, "warning: ", 9))
        line += 9;
    n = (int)strcspn(line, "\n");
    at = strstr(line, file);
    if (!n)
        return NULL;
    if (!at || at > line + n)
        return format("%.*s", n, line);
    return format("%.*s%s%.*s", (int)(at - line), line, name, n - (int)(at - line) - (int)strlen(file), at + strlen(file));
}

void store_new_id(char id[32], const char *what)
{
    uint64_t r = 0;

    while (getrandom(&r, sizeof r, 0) != sizeof r)
        ;
    snprintf(id, 32, "%.12s-%016" PRIx64, what, r);
}

static int read_text(struct store *s, const char *file, struct entry *e, char **messages)
{
    struct input_how how = { .ocr = false };
    size_t           n;
    FILE            *err = open_memstream(messages, &n), *null = fopen("/dev/null", "w");
    struct io        io = { .out = null, .err = err };
    struct reading   r = { .f = fopen(e->s.path, "wxe") };
    int              code;

    if (!err || !null)
        out_of_memory();
    pthread_mutex_lock(&s->lock);
    r.most = s->most - s->bytes;
    pthread_mutex_unlock(&s->lock);
    code = r.f ? input_document(&io, file, &how, write_text, &r) : EXIT_FAILED;
    if (r.f && fclose(r.f) && !code)
        code = EXIT_FAILED;
    fclose(err);
    fclose(null);
    e->s.part = how.part;
    e->text = r.bytes;
    if (code && !**messages) {
        free(*messages);
        *messages = r.full ? format("the server has no room for its text; delete files, or see gemkv serve --max-files")
                           : format("its text cannot be stored: %s", strerror(errno));
    }
    return code;
}

int store_add(struct store *s, const char *file, const char *name, struct stored *out, char **why)
{
    struct entry e = { .s.created = (int64_t)time(NULL) };
    struct stat  st;
    char        *messages = NULL;
    int          code;

    *why = NULL;
    store_new_id(e.s.id, "file");
    e.s.name = name_of(name);
    e.s.path = format("%s/%s", s->folder, e.s.id);
    e.s.bytes = stat(file, &st) ? 0 : (uint64_t)st.st_size;
    code = read_text(s, file, &e, &messages);
    if (code) {
        *why = message_of(messages, file, e.s.name);
        unlink(e.s.path);
        stored_free(&e.s);
    } else {
        e.s.remark = message_of(messages, file, e.s.name);
        *out = copy(&e.s);
        pthread_mutex_lock(&s->lock);
        s->v = grow(s->v, s->n + 1, sizeof *s->v);
        s->v[s->n++] = e;
        s->bytes += e.text;
        pthread_mutex_unlock(&s->lock);
    }
    free(messages);
    return code;
}

/* ---- the rest ------------------------------------------------------------------------ */
bool store_get(struct store *s, const char *id, struct stored *out)
{
    size_t i;

    pthread_mutex_lock(&s->lock);
    i = find(s, id);
    if (i < s->n)
        *out = copy(&s->v[i].s);
    pthread_mutex_unlock(&s->lock);
    return i < s->n;
}

bool store_remove(struct store *s, const char *id)
{
    bool   found;
    size_t i;

    pthread_mutex_lock(&s->lock);
    i = find(s, id);
    found = i < s->n;
    if (found) {
        unlink(s->v[i].s.path);
        s->bytes -= s->v[i].text;
        stored_free(&s->v[i].s);
        memmove(s->v + i, s->v + i + 1, (--s->n - i) * sizeof *s->v);
    }
    pthread_mutex_unlock(&s->lock);
    return found;
}

struct stored *store_list(struct store *s, size_t *n)
{
    struct stored *list;

    pthread_mutex_lock(&s->lock);
    list = grow(NULL, s->n, sizeof *list);
    *n = s->n;
    for (size_t i = 0; i < s->n; i++)
        list[i] = copy(&s->v[i].s);
    pthread_mutex_unlock(&s->lock);
    return list;
}
