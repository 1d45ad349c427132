/* SPDX-License-Identifier: BSD-2-Clause
 * store.c - see store.h */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
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
#include "src/cli/json.h"
#include "src/cli/json-parse.h"
#include "src/cli/say.h"
#include "src/cli/serve/store.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"

enum {
    LONGEST_NAME = 200,
    READERS = 2                         /* files that are read at a time: converters need memory */
};

/* Its text is the file ID of the folder, and if it lasts, ID.json says the rest. */
struct entry {
    struct stored s;
    uint64_t      text;                 /* bytes                                          */
};

struct store {
    pthread_mutex_t lock;
    pthread_cond_t  change;             /* of readers                                     */
    size_t          readers;
    const struct folder *folder;
    struct entry   *v;
    size_t          n;
    uint64_t        bytes, most;        /* of all texts                                   */
};

void stored_free(struct stored *s)
{
    free(s->name);
    free(s->path);
    free(s->remark);
    free(s->part);
    *s = (struct stored){ .name = NULL };
}

/* ---- files that outlive the server ----------------------------------------------------- */
static char *rest_path(const struct stored *s)
{
    return format("%s.json", s->path);
}

/* False: it cannot be written. */
static bool write_rest(const struct entry *e)
{
    struct json j = { .depth = 0 };
    char       *path = rest_path(&e->s);
    FILE       *f = fopen(path, "wxe");
    bool        written;

    json_open(&j, '{');
    json_named_string(&j, "name", e->s.name);
    json_named_string(&j, "remark", e->s.remark);
    json_named_string(&j, "part", e->s.part);
    json_named_uint(&j, "bytes", e->s.bytes);
    json_named_uint(&j, "created", (uint64_t)e->s.created);
    json_close(&j);
    written = f && fwrite(j.text.p, 1, j.text.n, f) == j.text.n;
    written = f && !fclose(f) && written;
    if (!written)
        unlink(path);
    text_free(&j.text);
    free(path);
    return written;
}

static void remove_files(const struct stored *s)
{
    char *rest = rest_path(s);

    unlink(rest);
    unlink(s->path);
    free(rest);
}

static char *member(const struct value *v, const char *name)
{
    const char *s = parse_string(v, name);

    return s ? format("%s", s) : NULL;
}

/* What is known of it then: all; that it is not whole, as after a crash; nothing, as errno says why. */
enum found { WHOLE, REMAINS, UNKNOWN };

static enum found read_rest(struct entry *e)
{
    char         *path = rest_path(&e->s);
    const int     fd = open(path, O_RDONLY | O_CLOEXEC);
    struct text   t = { NULL, 0, 0 };
    struct value *v = NULL;
    struct stat   st;
    const char   *why;
    size_t        at;
    enum found    is = WHOLE;
    int           error;

    if (fd < 0 || !text_read(&t, fd) || stat(e->s.path, &st))
        is = errno == ENOENT ? REMAINS : UNKNOWN;
    error = errno;
    if (fd >= 0)
        close(fd);
    if (is == WHOLE)
        v = parse_json(t.p, t.n, &why, &at);
    if (v && v->type == PARSE_OBJECT) {
        e->s.name = member(v, "name");
        e->s.remark = member(v, "remark");
        e->s.part = member(v, "part");
        e->s.bytes = (uint64_t)parse_number(v, "bytes", 0);
        e->s.created = (int64_t)parse_number(v, "created", 0);
        e->text = (uint64_t)st.st_size;
    }
    parse_free(v);
    text_free(&t);
    free(path);
    errno = error;
    return is == WHOLE && !e->s.name ? REMAINS : is;
}

static int by_age(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;

    return x->s.created != y->s.created ? (x->s.created > y->s.created) - (x->s.created < y->s.created) : strcmp(x->s.id, y->s.id);
}

/* Whether this was what belongs to a text that is no longer there; it is then removed. */
static bool is_left_alone(const struct folder *f, const char *name)
{
    char       *path = folder_file(f, name), *dot = strchr(path + strlen(f->path), '.');
    struct stat st;
    bool        alone;

    if (dot)
        *dot = 0;
    alone = dot && stat(path, &st) && errno == ENOENT;
    if (alone) {
        *dot = '.';
        unlink(path);
    }
    free(path);
    return alone;
}

/* Of each file there is the text first, so those without the rest are remains. */
static void find_files(struct store *s, struct io *io)
{
    size_t n;
    char **name = folder_list(s->folder, "file-", &n);

    if (!name) {
        warn(io, "%s: its files cannot be listed, and are left out: %s", s->folder->path, strerror(errno));
        return;
    }
    for (size_t i = 0; i < n; free(name[i++])) {
        struct entry e = { .text = 0 };
        enum found   is;

        if (is_left_alone(s->folder, name[i]) || strchr(name[i], '.') || strlen(name[i]) >= sizeof e.s.id)
            continue;
        memcpy(e.s.id, name[i], strlen(name[i]) + 1);
        e.s.path = folder_file(s->folder, name[i]);
        is = read_rest(&e);
        if (is == WHOLE) {
            s->v = grow(s->v, s->n + 1, sizeof *s->v);
            s->v[s->n++] = e;
            s->bytes += e.text;
            continue;
        }
        if (is == REMAINS)
            remove_files(&e.s);
        else
            warn(io, "%s: it cannot be read, and is left out: %s", e.s.path, strerror(errno));
        stored_free(&e.s);
    }
    free(name);
    if (s->n)
        qsort(s->v, s->n, sizeof *s->v, by_age);
}

struct store *store_open(const struct folder *f, uint64_t most, struct io *io)
{
    struct store *s = grow(NULL, 1, sizeof *s);

    *s = (struct store){ .folder = f, .most = most };
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->change, NULL);
    find_files(s, io);
    return s;
}

void store_close(struct store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->folder->lasts)
            unlink(s->v[i].s.path);
        stored_free(&s->v[i].s);
    }
    free(s->v);
    pthread_cond_destroy(&s->change);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

static struct stored copy(const struct stored *s)
{
    struct stored c = *s;

    c.name = format("%s", s->name);
    c.path = format("%s", s->path);
    c.remark = s->remark ? format("%s", s->remark) : NULL;
    c.part = s->part ? format("%s", s->part) : NULL;
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
    r.most = s->most > s->bytes ? s->most - s->bytes : 0;
    pthread_mutex_unlock(&s->lock);
    code = r.f ? input_document(&io, file, &how, write_text, &r) : EXIT_FAILED;
    if (r.f && fclose(r.f) && !code)
        code = EXIT_FAILED;
    close_text(err, messages);
    fclose(null);
    e->s.part = how.part ? format("%s", how.part) : NULL;
    e->text = r.bytes;
    if (code && !**messages) {
        free(*messages);
        *messages = r.full ? format("the server has no room for its text; delete files, or see gemkv serve --max-files")
                           : format("its text cannot be stored: %s", strerror(errno));
    }
    return code;
}

static void begin_reading(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->readers == READERS)
        pthread_cond_wait(&s->change, &s->lock);
    s->readers++;
    pthread_mutex_unlock(&s->lock);
}

static void end_reading(struct store *s)
{
    pthread_mutex_lock(&s->lock);
    s->readers--;
    pthread_cond_signal(&s->change);
    pthread_mutex_unlock(&s->lock);
}

int store_add(struct store *s, const char *file, const char *name, bool passing, struct stored *out, char **why)
{
    struct entry e = { .s.created = (int64_t)time(NULL) };
    struct stat  st;
    char        *messages = NULL;
    int          code;

    *why = NULL;
    store_new_id(e.s.id, "file");
    e.s.name = name_of(name);
    e.s.path = folder_file(s->folder, e.s.id);
    e.s.bytes = stat(file, &st) ? 0 : (uint64_t)st.st_size;
    begin_reading(s);
    code = read_text(s, file, &e, &messages);
    end_reading(s);
    if (!code) {
        e.s.remark = message_of(messages, file, e.s.name);
        if (s->folder->lasts && !passing && !write_rest(&e)) {
            free(messages);
            messages = format("what belongs to its text cannot be stored: %s", strerror(errno));
            code = EXIT_FAILED;
        }
    }
    if (code) {
        *why = message_of(messages, file, e.s.name);
        unlink(e.s.path);
        stored_free(&e.s);
    } else {
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
        remove_files(&s->v[i].s);
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
