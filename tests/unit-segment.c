/* SPDX-License-Identifier: BSD-2-Clause
 * unit-segment.c - a document as a file, of anybody's: each number in it that cannot be is refused by its name although
 * all checksums fit, and those at the limits are taken. */
#include "config.h"
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/base/sum.h"
#include "src/document.h"
#include "tests/tap.h"

/* The head of document-file.c. */
struct head { char magic[8]; uint64_t sum, model, tmpl, n_files, n_tokens, len, tokenized, index; };

enum { SUMMED = 16 };

static gkv_error   err;
static gkv_model  *model;
static gkv_options opt;
static char        scratch[] = "/tmp/unit-segment-XXXXXX", path[64];

/* A file in memory: where its parts are. */
struct segment {
    uint8_t                *p;
    size_t                  n;
    struct head             h;
    struct gkv__index_head *x;                  /* a copy, or NULL                        */
    size_t                  at;                 /* ... of what is there                   */
};

/* A number of the head may be any, so places are computed without pointers. */
static uint8_t *place(const struct segment *s, uint64_t n) { return (uint8_t *)((uintptr_t)s->p + (uintptr_t)n); }
static uint8_t *files(const struct segment *s) { return place(s, sizeof s->h); }
static uint8_t *ids(const struct segment *s) { return place(s, sizeof s->h + s->h.n_files * sizeof(struct gkv__file)); }
static uint8_t *lens(const struct segment *s) { return place(s, (uint64_t)(ids(s) - s->p) + 4 * s->h.n_tokens); }
static uint8_t *text(const struct segment *s) { return place(s, (uint64_t)(ids(s) - s->p) + 8 * s->h.n_tokens); }

static uint64_t fnv(const uint8_t *p, size_t n)
{
    uint64_t h = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < n; i++)
        h = (h ^ p[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void read_file(struct segment *s)
{
    const int   fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st = { .st_size = 0 };

    fstat(fd, &st);
    s->n = (size_t)st.st_size;
    s->p = malloc(s->n + 64);
    if (fd < 0 || !s->p || read(fd, s->p, s->n) != (ssize_t)s->n) {
        printf("Bail out! %s cannot be read\n", path);
        exit(1);
    }
    close(fd);
    memcpy(&s->h, s->p, sizeof s->h);
    s->x = NULL;
    s->at = (size_t)s->h.index;
    if (s->h.index) {
        s->x = malloc(sizeof *s->x);
        memcpy(s->x, s->p + s->h.index, sizeof *s->x);
    }
}

static void write_file(const uint8_t *p, size_t n)
{
    const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, p, n) != (ssize_t)n)
        printf("# %s cannot be written\n", path);
    close(fd);
}

/* Two files, "The cat sat." and "It slept.", and their index of that grade; grade NULL: none. */
static struct segment make(const char *grade)
{
    static const char sentence[] = "The cat sat on the mat and looked at the hat. ";
    struct segment    s;
    gkv_document     *d = NULL;
    gkv_status        status = gkv_document_open(&d, model, &opt, &err);

    for (size_t i = 0; i < (grade ? 12 : 1) && !status; i++)
        status = gkv_document_feed(d, sentence, strlen(sentence), &err);
    if (!status)
        status = gkv_document_end_file(d, &err);
    if (!status)
        status = gkv_document_feed(d, "It slept.", 9, &err);
    if (!status)
        status = grade ? gkv_document_index(d, &opt, grade, path, &err) : gkv_document_save(d, path, &err);
    if (status)
        printf("# %s: %s\n", grade ? grade : "no index", err.text);
    gkv_document_close(d);
    read_file(&s);
    return s;
}

/* Of a copy that was changed: with its sums put right, what comes of it. */
static gkv_status load(struct segment *c, bool sums)
{
    gkv_document *d = NULL;
    gkv_status    status;
    const size_t  all = c->at ? c->at : c->n;
    size_t        end = (size_t)(text(c) - c->p) + (size_t)c->h.len;

    if (sums) {
        end = end < all && end < c->n ? end : all;
        c->h.sum = 0;
        memcpy(c->p, &c->h, sizeof c->h);
        if (end <= c->n)
            c->h.sum = fnv(c->p + SUMMED, end - SUMMED);
    }
    memcpy(c->p, &c->h, sizeof c->h);
    if (c->x) {
        if (sums)
            c->x->sum[GKV__INDEX_LAYERS + 1] = gkv__sum(GKV__SUM_START, c->x, sizeof *c->x - sizeof c->x->sum[0]);
        memcpy(c->p + c->at, c->x, sizeof *c->x);
    }
    write_file(c->p, c->n);
    err = (gkv_error){ GKV_OK, "" };
    status = gkv_document_load(&d, model, &opt, path, &err);
    if ((status == GKV_OK) != (d != NULL))
        ok(false, "there is a document, or none");
    gkv_document_close(d);
    return status;
}

static struct segment copy_of(const struct segment *s)
{
    struct segment c = *s;

    c.p = malloc(s->n + 64);
    memset(c.p, 0, s->n + 64);
    memcpy(c.p, s->p, s->n);
    if (s->x) {
        c.x = malloc(sizeof *c.x);
        *c.x = *s->x;
    }
    return c;
}

static void done_with(struct segment *s)
{
    free(s->p);
    free(s->x);
}

/* The change is done to `c`, a copy of s.  says NULL: it is taken. */
#define refused(s, change, says)                                                                  \
    do {                                                                                          \
        struct segment c = copy_of(s);                                                            \
        change;                                                                                   \
        judge(&c, true, #change, says);                                                           \
    } while (0)

#define damaged(s, change, says)                                                                  \
    do {                                                                                          \
        struct segment c = copy_of(s);                                                            \
        change;                                                                                   \
        judge(&c, false, #change, says);                                                          \
    } while (0)

static void judge(struct segment *c, bool sums, const char *what, const char *says)
{
    const gkv_status status = load(c, sums);

    if (says)
        ok(status == GKV_FORMAT && err.status == GKV_FORMAT && strstr(err.text, says) && !strncmp(err.text, path, strlen(path)) &&
           strstr(err.text, "; make it again from the text"), "%s: %s", what, err.text + strlen(path));
    else
        ok(status == GKV_OK, "%s: taken%s", what, err.text);
    done_with(c);
}

static void put32(uint8_t *at, uint32_t v)
{
    memcpy(at, &v, sizeof v);
}

static void put64(uint8_t *at, uint64_t v)
{
    memcpy(at, &v, sizeof v);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t v;

    memcpy(&v, at, sizeof v);
    return v;
}

static void cut(struct segment *c, uint8_t *at, size_t n)
{
    memmove(at, at + n, c->n - (size_t)(at - c->p) - n);
    c->n -= n;
}

static void test_document(void)
{
    struct segment s = make(NULL);
    const uint32_t vocab = (uint32_t)gkv__vocab_size(model->vocab);
    uint64_t       first;

    memcpy(&first, files(&s) + 8, sizeof first);
    refused(&s, (void)c, NULL);
    ok(s.h.n_files == 2 && s.h.n_tokens > 8 && !s.h.index && s.h.len > first + 9, "two files");
    refused(&s, c.h.magic[6] = '2', "not a document of this version of gemkv");
    refused(&s, c.h.model++, "its tokens are another model's");
    refused(&s, c.h.tmpl++, "its tokens are those of another chat template or system prompt, or differ in thinking");
    refused(&s, (cut(&c, files(&c), 32), c.h.n_files = 0), "its sizes do not fit");
    refused(&s, c.h.n_files--, "its sizes do not fit");
    refused(&s, c.h.n_tokens++, "its sizes do not fit");
    refused(&s, c.h.n_tokens = UINT64_C(1) << 61, "its sizes do not fit");
    refused(&s, c.h.n_files = UINT64_MAX / 16 + 1, "its sizes do not fit");
    refused(&s, c.h.len--, "its sizes do not fit");
    refused(&s, c.n++, "its sizes do not fit");
    refused(&s, c.n--, "its sizes do not fit");
    refused(&s, c.h.tokenized = c.h.len + 1, "its sizes do not fit");
    refused(&s, c.h.tokenized--, "its tokens are not those of its text");
    refused(&s, c.h.index = GKV__INDEX_ALIGN, "its sizes do not fit");
    damaged(&s, c.h.sum++, "the file is damaged");
    damaged(&s, files(&c)[0]++, "the file is damaged");
    damaged(&s, ids(&c)[0]++, "the file is damaged");
    damaged(&s, lens(&c)[0]++, "the file is damaged");
    damaged(&s, text(&c)[c.h.len - 1]++, "the file is damaged");
    damaged(&s, c.n = sizeof c.h - 1, "the file ends too early");
    refused(&s, put32(ids(&c), vocab - 1), NULL);
    refused(&s, put32(ids(&c), vocab), "a token is not in the vocabulary");
    refused(&s, put32(ids(&c) + 4 * (c.h.n_tokens - 1), UINT32_MAX), "a token is not in the vocabulary");
    refused(&s, put32(lens(&c), get32(lens(&c)) + 1), "its tokens are not those of its text");
    refused(&s, (put32(lens(&c), get32(lens(&c)) + 1), put32(lens(&c) + 4, get32(lens(&c) + 4) - 1)), NULL);
    refused(&s, put64(files(&c), 5), NULL);
    refused(&s, put64(files(&c) + 8, first - 2), NULL);
    refused(&s, put64(files(&c) + 8, get32(files(&c) + 16)), NULL);
    refused(&s, put64(files(&c) + 8, get32(files(&c) + 16) + 1), "its files do not lie in its text");
    refused(&s, put64(files(&c), first), NULL);
    refused(&s, put64(files(&c), first + 1), "its files do not lie in its text");
    refused(&s, put64(files(&c) + 24, c.h.len - 1), NULL);
    refused(&s, put64(files(&c) + 24, c.h.len + 1), "its files do not lie in its text");
    refused(&s, text(&c)[3] = 0, "its text is not UTF-8");
    refused(&s, text(&c)[c.h.len - 1] = 0xff, "its text is not UTF-8");
    refused(&s, text(&c)[0] = '\n', NULL);
    done_with(&s);
}

static void test_index(const char *grade)
{
    const bool       all = strcmp(grade, "compact");    /* as src/first/index.h has the two forms */
    struct segment   s = make(grade);
    const uint64_t   layer = s.at + (sizeof *s.x + GKV__INDEX_ALIGN - 1) / GKV__INDEX_ALIGN * GKV__INDEX_ALIGN;
    const char      *model_says = "its index is another model's", *sizes = "the sizes of its index do not fit";

    if (!s.x || s.at % GKV__INDEX_ALIGN) {
        ok(false, "%s: an index in its place", grade);
        done_with(&s);
        return;
    }
    printf("# %s: %d tokens of %d, %d held, %d slots\n", grade, (int)s.x->n, (int)s.h.n_tokens, (int)s.x->held, (int)s.x->slots);
    refused(&s, (void)c, NULL);
    refused(&s, c.h.index++, "its sizes do not fit");
    refused(&s, c.h.index += GKV__INDEX_ALIGN, "its sizes do not fit");
    damaged(&s, (c.n = c.at, free(c.x), c.x = NULL), "its sizes do not fit");
    damaged(&s, c.x->sum[GKV__INDEX_LAYERS + 1]++, "its index is damaged");
    damaged(&s, c.x->held--, "its index is damaged");
    damaged(&s, c.p[layer]++, "its index is damaged");
    refused(&s, c.x->sum[0]++, "its index is damaged");
    refused(&s, c.x->sum[GKV__INDEX_LAYERS]++, "its index is damaged");
    refused(&s, c.x->grade[0]++, "its index has a grade that this version does not know");
    refused(&s, memset(c.x->grade, 'x', sizeof c.x->grade - 1), "its index has a grade that this version does not know");
    refused(&s, memset(c.x->grade, 'x', sizeof c.x->grade), "its index is damaged");
    refused(&s, c.x->n_embd++, model_says);
    refused(&s, c.x->n_head_kv--, model_says);
    refused(&s, c.x->head_dim *= 2, model_says);
    refused(&s, c.x->n_state++, model_says);
    refused(&s, c.x->filter = model->shape.n_layer, model_says);
    refused(&s, c.x->filter--, sizes);
    refused(&s, c.x->n_keys--, sizes);
    refused(&s, c.x->held = c.x->slots + 1, sizes);
    refused(&s, c.x->slots++, sizes);
    refused(&s, c.x->slots = UINT64_C(1) << 32, sizes);
    refused(&s, c.n++, sizes);
    refused(&s, c.n--, sizes);
    damaged(&s, c.n = c.at + sizeof *c.x - 1, "its index ends too early");
    if (all) {
        refused(&s, (c.x->n--, c.x->n_keys--), sizes);
        refused(&s, c.x->held--, sizes);
        refused(&s, c.x->chunk = 0, sizes);
        refused(&s, c.x->chunk = 65537, sizes);
        refused(&s, c.x->chunk = 65536, NULL);
        refused(&s, c.x->n = c.x->n_keys = c.x->held = c.h.n_tokens, "its index is damaged");
    } else {
        refused(&s, c.x->n--, sizes);
        refused(&s, c.x->held--, "its index is damaged");
    }
    refused(&s, c.x->n = c.x->n_keys = c.x->held = c.h.n_tokens + 1, sizes);
    done_with(&s);
}

/* What is no file that could be read, or is too large. */
static void test_others(void)
{
    struct segment s = make(NULL);
    gkv_document  *d = NULL;
    char           own[64], fifo[80];

    snprintf(own, sizeof own, "%s", path);
    ok(gkv_document_load(&d, model, &opt, scratch, &err) == GKV_FORMAT && !d && strstr(err.text, "not a regular file"), "%s", err.text);
    snprintf(fifo, sizeof fifo, "%s.fifo", own);
    ok(!mkfifo(fifo, 0600) && gkv_document_load(&d, model, &opt, fifo, &err) == GKV_FORMAT && !d, "%s", err.text);
    unlink(fifo);
    unlink(path);
    ok(gkv_document_load(&d, model, &opt, path, &err) == GKV_IO && !d && strstr(err.text, "No such file"), "%s", err.text);
    write_file(s.p, s.n);
    opt.memory_limit = 1 << 20;
    ok(gkv_document_load(&d, model, &opt, path, &err) == GKV_LIMIT && !d && strstr(err.text, "the limit is 1.00 MiB; raise --memory"), "%s",
       err.text);
    opt.memory_limit = 0;
    opt.raw = 1;
    ok(gkv_document_load(&d, model, &opt, path, &err) == GKV_FORMAT && !d && strstr(err.text, "another chat template"), "%s", err.text);
    opt.raw = 0;
    done_with(&s);
}

int main(void)
{
    char from[512];

    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    snprintf(from, sizeof from, "%s/tests/files/golden/head64.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (!mkdtemp(scratch) || gkv_model_open(&model, from, 0, &err)) {
        printf("Bail out! %s\n", err.text);
        return 1;
    }
    snprintf(path, sizeof path, "%s/x", scratch);
    gkv_options_init(&opt);
    opt.device = "cpu";
    opt.threads = 1;
    opt.chunk = 64;
    test_document();
    test_index("exact");
    test_index("q8");
    test_index("compact");
    test_others();
    unlink(path);
    ok(!rmdir(scratch), "no file is left");
    gkv_model_close(model);
    return done();
}
