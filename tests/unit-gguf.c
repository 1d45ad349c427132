/* SPDX-License-Identifier: BSD-2-Clause
 * unit-gguf.c - the reader of GGUF files: reads what mkmodel writes, refuses what mkmodel breaks, and
 * does not crash on any bytes (run it under ASan or valgrind) */
#include "config.h"
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "src/quant/quant.h"
#include "tests/gguf-walk.h"
#include "tests/rng.h"
#include "tests/tap.h"

static char        dir[128];            /* removed at the end */
static const char *mkmodel;

static void bail(const char *why)
{
    printf("Bail out! %s\n", why);
    exit(1);
}

/* ---- files --------------------------------------------------------------------------- */
/* The path of name in dir; valid until four more calls. */
static const char *in_dir(const char *name)
{
    static char     path[4][256];
    static unsigned i;

    i = (i + 1) % 4;
    snprintf(path[i], sizeof path[i], "%s/%s", dir, name);
    return path[i];
}

static bool __attribute__((format(printf, 1, 2))) make(const char *fmt, ...)
{
    char    args[512], command[1024];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(args, sizeof args, fmt, ap);
    va_end(ap);
    snprintf(command, sizeof command, "'%s' %s", mkmodel, args);
    return system(command) == 0;
}

static uint8_t *slurp(const char *path, size_t *n)
{
    int         fd = open(path, O_RDONLY);
    struct stat st;
    uint8_t    *p;

    if (fd < 0 || fstat(fd, &st))
        bail("cannot read a file just written");
    *n = (size_t)st.st_size;
    p = malloc(*n + 1);
    if (!p || read(fd, p, *n) != (ssize_t)*n)
        bail("cannot read a file just written");
    p[*n] = 0;
    close(fd);
    return p;
}

static void spill(const char *path, const void *p, size_t n)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd < 0 || write(fd, p, n) != (ssize_t)n || close(fd))
        bail("cannot write a file");
}

/* The status of opening path; *clear: its message is one line that starts with the name of the file or of
 * any part. */
static gkv_status try(const char *path, gkv_error *err, bool *clear)
{
    struct gkv__gguf *g = NULL;
    gkv_status        status;

    memset(err, 0, sizeof *err);
    status = gkv__gguf_open(&g, path, err);
    *clear = true;
    if (status == GKV_OK) {
        gguf_walk(g);
        gkv__gguf_close(g);
    } else {
        *clear = !g && err->status == status && !strncmp(err->text, dir, strlen(dir)) &&
                 strstr(err->text, ": ") && !strchr(err->text, '\n');
    }
    return status;
}

static void refused(const char *path, gkv_status want, const char *says)
{
    gkv_error  err;
    bool       clear;
    gkv_status status = try(path, &err, &clear);

    ok(status == want && clear && strstr(err.text, says), "%s", err.text + strlen(dir) + 1);
}

/* ---- sound files --------------------------------------------------------------------- */
static struct gkv__gguf *must_open(const char *path)
{
    struct gkv__gguf *g;
    gkv_error         err;

    if (gkv__gguf_open(&g, path, &err) != GKV_OK)
        bail(err.text);
    return g;
}

static void test_types(void)
{
    static const char *const types[] = {
#define NAME(TYPE, name, ...) #name,
        GKV__TYPES(NAME)
#undef NAME
        "mixed", "q4_k_m", "q5_k_m"
    };

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        const char               *path = in_dir("type.gguf");
        const struct gkv__tensor *t;
        struct gkv__gguf         *g;
        uint64_t                  sum = 0;
        bool                      good = true;

        if (!make("--type=%s %s", types[i], path))
            bail("mkmodel failed");
        g = must_open(path);
        for (size_t k = 0; k < gkv__gguf_n_tensors(g); k++) {
            const struct gkv__quant *q;
            char                     name[64];

            t = gkv__gguf_tensor_at(g, k);
            q = gkv__quant_of_ggml(t->type);
            snprintf(name, sizeof name, "%.*s", (int)t->name.n, t->name.p);
            good = good && gkv__gguf_tensor(g, name) == t && q && t->dim[2] == 1 &&
                   t->bytes == t->dim[0] * t->dim[1] / q->block * q->bytes &&
                   (uintptr_t)t->data % 32 == 0;
            sum += t->bytes;
        }
        t = gkv__gguf_tensor(g, "blk.3.ffn_down.weight");
        ok(good && gkv__gguf_n_tensors(g) == 39 && gkv__gguf_data_bytes(g) == sum &&
           gkv__gguf_bytes(g) > sum && t && t->n_dims == 2 && t->dim[0] == 256 &&
           t->dim[1] == 64, "%s: 39 tensors, each found by its name", types[i]);
        gkv__gguf_close(g);
    }
}

static bool is(struct gkv__str s, const char *want)
{
    return s.n == strlen(want) && !memcmp(s.p, want, s.n);
}

static void test_values(void)
{
    const char           *path = in_dir("values.gguf");
    struct gkv__gguf     *g;
    const struct gkv__kv *kv;
    const uint8_t        *cursor;
    struct gkv__str       s = { NULL, 0 };
    uint32_t              u = 7;
    float                 f = 7;
    bool                  b = false;
    gkv_error             err;

    if (!make("--filter-layer=2 --gguf-version=2 --alignment=4096 %s", path))
        bail("mkmodel failed");
    g = must_open(path);
    ok(!strcmp(gkv__gguf_path(g), path), "version 2, alignment 4096");
    ok(gkv__gguf_u32(g, "gemkv.filter_layer", &u, &err) == GKV_OK && u == 2, "u32");
    ok(gkv__gguf_f32(g, "llama.rope.freq_base", &f, &err) == GKV_OK && f == 500000, "f32");
    ok(gkv__gguf_f32(g, "llama.block_count", &f, &err) == GKV_OK && f == 4, "f32 of a u32");
    ok(gkv__gguf_bool(g, "tokenizer.ggml.add_bos_token", &b, &err) == GKV_OK && b, "bool");
    ok(gkv__gguf_str(g, "general.architecture", &s, &err) == GKV_OK && is(s, "llama"),
       "str");
    u = 7;
    f = 7;
    s.n = 7;
    ok(gkv__gguf_u32(g, "no", &u, &err) == GKV_OK &&
       gkv__gguf_f32(g, "no", &f, &err) == GKV_OK &&
       gkv__gguf_bool(g, "no", &b, &err) == GKV_OK &&
       gkv__gguf_str(g, "no", &s, &err) == GKV_OK &&
       u == 7 && f == 7 && b && s.n == 7, "an absent key leaves the default");
    ok(gkv__gguf_u32(g, "general.name", &u, &err) == GKV_FORMAT &&
       gkv__gguf_u32(g, "llama.rope.freq_base", &u, &err) == GKV_FORMAT &&
       gkv__gguf_u32(g, "tokenizer.ggml.token_type", &u, &err) == GKV_FORMAT &&
       gkv__gguf_f32(g, "general.name", &f, &err) == GKV_FORMAT &&
       gkv__gguf_bool(g, "llama.block_count", &b, &err) == GKV_FORMAT &&
       gkv__gguf_str(g, "llama.block_count", &s, &err) == GKV_FORMAT &&
       gkv__gguf_str(g, "tokenizer.ggml.tokens", &s, NULL) == GKV_FORMAT && u == 7,
       "another type is refused: %s", err.text + strlen(dir) + 1);
    kv = gkv__gguf_find(g, "tokenizer.ggml.token_type");
    ok(kv && kv->is_array && kv->n == 279 && gkv__gguf_int_at(kv, 0) == 1 &&
       gkv__gguf_int_at(kv, 278) == 3 && gkv__gguf_float_at(kv, 278) == 3,
       "array of numbers");
    kv = gkv__gguf_find(g, "tokenizer.ggml.tokens");
    cursor = kv->data;
    for (uint64_t i = 0; i < kv->n; i++) {
        s = gkv__gguf_next_str(&cursor);
        if (i == 'A' && !is(s, "A"))
            break;
    }
    ok(is(s, "<|im_end|>"), "array of strings");
    ok(!gkv__gguf_find(g, "general.archi") && !gkv__gguf_find(g, "") &&
       !gkv__gguf_find(g, "general.architecture.x") &&
       !gkv__gguf_tensor(g, "output.weight."), "no other keys");
    gkv__gguf_dontneed(gkv__gguf_tensor_at(g, 0)->data, gkv__gguf_tensor_at(g, 0)->bytes);
    gguf_walk(g);
    gkv__gguf_close(g);
    gkv__gguf_close(NULL);
    remove(path);
}

/* One value of every type, written by hand. */
static void test_numbers(void)
{
    static const struct {
        uint32_t   type;
        uint64_t   bits;
        size_t     n;
        int64_t    i;
        gkv_status u32;
    } row[] = {
        { GKV__U8, 255, 1, 255, GKV_OK },
        { GKV__I8, 0x80, 1, -128, GKV_FORMAT },
        { GKV__U16, 65535, 2, 65535, GKV_OK },
        { GKV__I16, 0x8000, 2, -32768, GKV_FORMAT },
        { GKV__U32, UINT32_MAX, 4, UINT32_MAX, GKV_OK },
        { GKV__I32, UINT32_MAX, 4, -1, GKV_FORMAT },
        { GKV__U64, UINT64_MAX, 8, INT64_MAX, GKV_FORMAT },
        { GKV__I64, 5, 8, 5, GKV_OK },
        { GKV__I64, (uint64_t)1 << 32, 8, (int64_t)1 << 32, GKV_FORMAT },
        { GKV__F32, 0xc0200000, 4, -2, GKV_FORMAT },
        { GKV__F32, 0x7fc00000, 4, 0, GKV_FORMAT },
        { GKV__F64, 0x7ff0000000000000, 8, INT64_MAX, GKV_FORMAT },
        { GKV__F64, 0xfe37e43c8800759c, 8, INT64_MIN, GKV_FORMAT },     /* -1e300 */
        { GKV__BOOL, 1, 1, 1, GKV_FORMAT },
    };
    const char *path = in_dir("number.gguf");
    unsigned    good = 0, n = sizeof row / sizeof *row;

    for (unsigned i = 0; i < n; i++) {
        uint8_t           file[64] = "GGUF\3";         /* and no tensors */
        uint32_t          u;
        struct gkv__gguf *g;

        file[16] = 1;                                   /* one key */
        file[24] = 1;                                   /* of one byte */
        file[32] = 'k';
        memcpy(file + 33, &row[i].type, 4);
        memcpy(file + 37, &row[i].bits, row[i].n);
        spill(path, file, 37 + row[i].n);
        g = must_open(path);
        good += gkv__gguf_int_at(gkv__gguf_find(g, "k"), 0) == row[i].i &&
                gkv__gguf_u32(g, "k", &u, NULL) == row[i].u32;
        gkv__gguf_close(g);
    }
    ok(good == n, "%u of %u: numbers of all widths and signs", good, n);
    remove(path);
}

/* An array at the end of the file: all of it is there, or it is refused, by one element too. */
static void test_array(void)
{
    const char *path = in_dir("array.gguf");
    const uint64_t element[] = { 1, 2, 4, 8 };
    const uint32_t type[] = { GKV__U8, GKV__U16, GKV__U32, GKV__U64 }, array = GKV__ARR;
    unsigned good = 0;

    for (unsigned i = 0; i < 4; i++)
        for (uint64_t more = 0; more < 2; more++) {
            uint8_t        file[128] = "GGUF\3";
            const uint64_t n = 3 + more;
            gkv_error      err;
            bool           clear;

            file[16] = 1;
            file[24] = 1;
            file[32] = 'k';
            memcpy(file + 33, &array, 4);
            memcpy(file + 37, &type[i], 4);
            memcpy(file + 41, &n, 8);
            spill(path, file, 49 + 3 * element[i]);
            good += try(path, &err, &clear) == (more ? GKV_FORMAT : GKV_OK) && clear;
        }
    ok(good == 8, "%u of 8: an array that ends with the file, and one with an element more", good);
    remove(path);
}

/* Files without a model of this test's making: what was put into them. */
static uint8_t made[1024];
static size_t  n_made;

static void put(const void *p, size_t n)
{
    memcpy(made + n_made, p, n);
    n_made += n;
}

static void put_u32(uint32_t v)
{
    put(&v, sizeof v);
}

static void put_u64(uint64_t v)
{
    put(&v, sizeof v);
}

static void put_str(const char *s)
{
    put_u64(strlen(s));
    put(s, strlen(s));
}

static void put_key(const char *key, uint32_t type)
{
    put_str(key);
    put_u32(type);
}

static void begin_file(uint64_t tensors, uint64_t keys)
{
    n_made = 0;
    put("GGUF\3\0\0", 8);
    put_u64(tensors);
    put_u64(keys);
}

/* Of one dimension, in f32. */
static void put_tensor(const char *name, uint64_t dim, uint64_t offset)
{
    put_str(name);
    put_u32(1);
    put_u64(dim);
    put_u32(0);
    put_u64(offset);
}

/* A file with a key of each form and two tensors, cut off everywhere. */
static void test_cut(void)
{
    const char *path = in_dir("cut.gguf");
    const double large = 1e300;
    unsigned    bad = 0;
    gkv_error   err;
    bool        clear;
    float       v = 1;
    char        name[200] = "", shown[300];
    size_t      entry;
    struct gkv__gguf *g;

    begin_file(2, 4);
    put_key("number", GKV__U64);
    put_u64(1);
    put_key("large", GKV__F64);
    put(&large, sizeof large);
    put_key("text", GKV__STR);
    put_str("abc");
    put_key("list", GKV__ARR);
    put_u32(GKV__STR);
    put_u64(2);
    put_str("a");
    put_str("");
    put_tensor("one", 8, 0);
    put_tensor("two", 8, 32);
    while (n_made % 32)
        put("", 1);
    put(made, 64);
    spill(path, made, n_made);
    g = must_open(path);
    ok(gkv__gguf_f32(g, "large", &v, &err) == GKV_FORMAT && strstr(err.text, "out of range") &&
       gkv__gguf_float_at(gkv__gguf_find(g, "large"), 0) == large, "a double that is no float: %s",
       err.text + strlen(dir) + 1);
    gkv__gguf_close(g);
    for (size_t n = 0; n < n_made; n++) {
        spill(path, made, n);
        bad += try(path, &err, &clear) != GKV_FORMAT || !clear;
    }
    ok(!bad, "a file of %zu bytes, cut off after each of them: refused", n_made);

    /* The first name is long, so that a second entry could be there wherever the file is cut off. */
    memset(name, 'n', sizeof name - 1);
    begin_file(2, 0);
    put_tensor(name, 8, 0);
    entry = n_made;
    put_tensor("two", 8, 32);
    bad = 0;
    for (size_t n = entry; n < n_made; n++) {
        spill(path, made, n);
        bad += try(path, &err, &clear) != GKV_FORMAT || !clear ||
               !strstr(err.text, n < entry + 11 ? "the name of a tensor" : n < entry + 23 ? "the shape" : "the type");
    }
    ok(!bad, "an entry that is cut off after each of its bytes: it is said where");
    snprintf(shown, sizeof shown, "tensor %.96s (", name);      /* as much as is shown    */
    begin_file(1, 0);
    put_tensor(name, 8, 0);
    spill(path, made, n_made);
    refused(path, GKV_FORMAT, shown);
    refused(path, GKV_FORMAT, "ends before tensor nnn");
    for (uint64_t at = 0; at <= 32; at += 32) {
        begin_file(2, 0);
        put_tensor(name, 8, at);
        put_tensor(name, 8, 32);
        while (n_made % 32)
            put("", 1);
        put(made, 64);
        spill(path, made, n_made);
        if (at)
            snprintf(shown, sizeof shown, "tensors %.96s and %.96s overlap", name, name);
        else
            snprintf(shown, sizeof shown, "tensor %.96s occurs twice", name);
        refused(path, GKV_FORMAT, shown);
    }
    begin_file(1, 0);
    put_tensor("far", 1, UINT64_MAX - 31);
    spill(path, made, n_made);
    refused(path, GKV_FORMAT, "impossible offset");
    begin_file(1, 0);
    put_tensor("far", (uint64_t)1 << 61, (uint64_t)1 << 63);
    spill(path, made, n_made);
    refused(path, GKV_FORMAT, "impossible offset");
    remove(path);
}

/* What the keys of a file in parts may say that is not so. */
static void test_split(void)
{
    static const struct { uint32_t no, count; const char *says; } row[] = {
        { 1, 1, "impossible split.no 1 of 1" }, { 3, 2, "impossible split.no 3 of 2" },
        { 0, 65536, "impossible split.no 0 of 65536" },
    };
    static const char *const key[] = { "split.no", "split.count", "split.tensors.count" };
    const char *path = in_dir("s-00001-of-00002.gguf"), *second = in_dir("s-00002-of-00002.gguf");
    gkv_error   err;
    bool        clear;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        begin_file(0, 2);
        put_key("split.no", GKV__U32);
        put_u32(row[i].no);
        put_key("split.count", GKV__U32);
        put_u32(row[i].count);
        spill(path, made, n_made);
        refused(path, GKV_FORMAT, row[i].says);
    }
    for (size_t i = 0; i < 3; i++) {
        begin_file(0, 1);
        put_key(key[i], GKV__STR);
        put_str("1");
        spill(path, made, n_made);
        refused(path, GKV_FORMAT, key[i]);
    }
    begin_file(0, 1);
    put_key("split.count", GKV__U32);
    put_u32(2);
    spill(path, made, n_made);
    if (symlink("s-00002-of-00002.gguf", second))
        bail("cannot make a link");
    refused(path, GKV_IO, "s-00002-of-00002.gguf: ");           /* it is there, and leads to itself */
    remove(second);
    for (size_t i = 0; i < 3; i++) {
        begin_file(0, 2);
        put_key("split.no", i == 0 ? GKV__BOOL : GKV__U32);
        put("\1\0\0\0", i == 0 ? 1 : 4);
        put_key("split.count", i == 1 ? GKV__BOOL : GKV__U32);
        put("\2\0\0\0", i == 1 ? 1 : 4);
        spill(second, made, n_made);
        if (i < 2)
            refused(path, GKV_FORMAT, key[i]);
        else
            ok(try(path, &err, &clear) == GKV_OK, "two parts that do not say how many tensors they hold");
    }
    remove(path);
    remove(second);
}

/* ---- what is no model ---------------------------------------------------------------- */
static void test_files(void)
{
    gkv_error err;
    bool      clear;

    if (mkfifo(in_dir("fifo"), 0600) || symlink("type.gguf", in_dir("link")) ||
        symlink("/dev/null", in_dir("device")))
        bail("cannot make a FIFO or a link");
    spill(in_dir("empty"), "", 0);
    spill(in_dir("lfs"), "version https://git-lfs.github.com/spec/v1\n", 43);
    spill(in_dir("text"), "Not a model.\n", 13);
    refused(in_dir("."), GKV_FORMAT, "is a directory");
    refused(in_dir("fifo"), GKV_FORMAT, "not a regular file");
    refused(in_dir("device"), GKV_FORMAT, "not a regular file");
    refused(in_dir("absent"), GKV_IO, "No such file");
    refused(in_dir("empty"), GKV_FORMAT, "is empty");
    refused(in_dir("lfs"), GKV_FORMAT, "Git LFS");
    refused(in_dir("text"), GKV_FORMAT, "not a GGUF file");
    ok(try(in_dir("link"), &err, &clear) == GKV_OK, "a symbolic link is followed");
    ok(gkv__gguf_open(&(struct gkv__gguf *){ NULL }, in_dir("text"), NULL) == GKV_FORMAT,
       "err may be NULL");
    remove(in_dir("fifo"));
    remove(in_dir("link"));
    remove(in_dir("device"));
    remove(in_dir("empty"));
    remove(in_dir("lfs"));
    remove(in_dir("text"));
    remove(in_dir("type.gguf"));
}

/* ---- parts --------------------------------------------------------------------------- */
static void test_parts(void)
{
    const char *part[] = { "m-00001-of-00003.gguf", "m-00002-of-00003.gguf",
                           "m-00003-of-00003.gguf" };
    struct gkv__gguf *whole, *parts;
    bool              good;

    if (!make("%s", in_dir("whole.gguf")) || !make("--split=3 %s", in_dir("m.gguf")))
        bail("mkmodel failed");
    whole = must_open(in_dir("whole.gguf"));
    parts = must_open(in_dir(part[0]));
    good = gkv__gguf_n_tensors(whole) == gkv__gguf_n_tensors(parts) &&
           gkv__gguf_data_bytes(whole) == gkv__gguf_data_bytes(parts);
    for (size_t i = 0; good && i < gkv__gguf_n_tensors(whole); i++) {
        const struct gkv__tensor *a = gkv__gguf_tensor_at(whole, i);
        const struct gkv__tensor *b = gkv__gguf_tensor_at(parts, i);

        good = !memcmp(a->name.p, b->name.p, a->name.n) && a->bytes == b->bytes &&
               !memcmp(a->data, b->data, a->bytes);
    }
    ok(good, "three parts are the whole");
    gkv__gguf_close(whole);
    gkv__gguf_close(parts);

    refused(in_dir(part[1]), GKV_UNSUPPORTED, "give the first part, ...-00001-of-00003");
    rename(in_dir(part[0]), in_dir("renamed.gguf"));
    refused(in_dir("renamed.gguf"), GKV_FORMAT, "its name does not end in -00001-of-00003");
    rename(in_dir("renamed.gguf"), in_dir(part[0]));
    rename(in_dir(part[1]), in_dir("aside"));
    refused(in_dir(part[0]), GKV_IO, "m-00002-of-00003.gguf: part 2 of 3 is missing");
    rename(in_dir(part[2]), in_dir(part[1]));
    refused(in_dir(part[0]), GKV_FORMAT, "is not part 2 of 3 as its name says");
    rename(in_dir("aside"), in_dir(part[2]));
    refused(in_dir(part[0]), GKV_FORMAT, "is not part 2 of 3 as its name says");
    if (!make("--split=3 --layers=5 %s", in_dir("n.gguf")))
        bail("mkmodel failed");
    rename(in_dir("n-00002-of-00003.gguf"), in_dir(part[1]));
    rename(in_dir("n-00003-of-00003.gguf"), in_dir(part[2]));
    refused(in_dir(part[0]), GKV_FORMAT, "the parts hold");
    if (!make("--split=4 %s", in_dir("n.gguf")))
        bail("mkmodel failed");
    rename(in_dir("n-00002-of-00004.gguf"), in_dir(part[1]));
    refused(in_dir(part[0]), GKV_FORMAT, "is not part 2 of 3 as its name says");
    for (int i = 1; i <= 4; i++) {
        char name[32];

        snprintf(name, sizeof name, "n-%05d-of-00004.gguf", i);
        remove(in_dir(name));
    }
    spill(in_dir(part[1]), "GGUF", 4);
    refused(in_dir(part[0]), GKV_FORMAT, part[1]);
    remove(in_dir("n-00001-of-00003.gguf"));
    remove(in_dir("whole.gguf"));
    for (int i = 0; i < 3; i++)
        remove(in_dir(part[i]));
}

/* ---- damage by name ------------------------------------------------------------------ */
static void test_breaks(void)
{
    const char *path = in_dir("broken.gguf");
    char        line[256], name[32], want[32], who[16], command[512];
    FILE       *list;

    snprintf(command, sizeof command, "'%s' --list-breaks", mkmodel);
    list = popen(command, "r");
    while (list && fgets(line, sizeof line, list)) {
        gkv_status status, expected = GKV_OK;
        gkv_error  err;
        bool       clear;

        if (sscanf(line, "%31s %31s %15s", name, want, who) != 3 ||
            !make("--break='%s' %s", name, path))
            bail("mkmodel failed");
        if (!strcmp(who, "gguf"))
            expected = !strcmp(want, "GKV_FORMAT") ? GKV_FORMAT : GKV_UNSUPPORTED;
        status = try(path, &err, &clear);
        ok(status == expected && clear, "%s: %s", name,
           status == GKV_OK ? "sound as a file" : err.text + strlen(dir) + 1);
    }
    if (!list || pclose(list))
        bail("mkmodel --list-breaks failed");
    remove(path);
}

/* Checks that tests/files/README ends with the list of --list-breaks. */
static void test_readme(void)
{
    const char *srcdir = getenv("srcdir");
    char        readme[1024], command[512];
    uint8_t    *text, *list;
    size_t      n_text, n_list;

    snprintf(readme, sizeof readme, "%s/tests/files/README", srcdir ? srcdir : ".");
    if (access(readme, R_OK)) {
        skip("no source tree", "tests/files/README lists the damage");
        return;
    }
    snprintf(command, sizeof command, "'%s' --list-breaks >%s", mkmodel, in_dir("list"));
    if (system(command))
        bail("mkmodel --list-breaks failed");
    text = slurp(readme, &n_text);
    list = slurp(in_dir("list"), &n_list);
    ok(n_text > n_list && !memcmp(text + n_text - n_list, list, n_list),
       "tests/files/README ends with what mkmodel --list-breaks prints");
    free(text);
    free(list);
    remove(in_dir("list"));
}

/* Overwrites n bytes at `at`, opens the file, and restores the bytes. */
static gkv_status with(int fd, const char *path, const uint8_t *sound, size_t at,
                       const void *bytes, size_t n, unsigned *unclear)
{
    gkv_error  err;
    bool       clear;
    gkv_status status;

    if (pwrite(fd, bytes, n, (off_t)at) != (ssize_t)n)
        bail("cannot write a file");
    status = try(path, &err, &clear);
    *unclear += !clear;
    if (pwrite(fd, sound + at, n, (off_t)at) != (ssize_t)n)
        bail("cannot write a file");
    return status;
}

/* ---- tensors that overlap by as little as can be ---------------------------------------- */
static void test_overlap(void)
{
    const char *path = in_dir("overlap.gguf");
    unsigned    bad = 0, unclear = 0;
    size_t      n, n_tensors;
    uint8_t    *sound;
    struct gkv__gguf *g;
    int         fd;

    if (!make("--type=f32 --layers=1 %s", path))
        bail("mkmodel failed");
    sound = slurp(path, &n);
    fd = open(path, O_WRONLY);
    g = must_open(path);
    n_tensors = gkv__gguf_n_tensors(g);
    for (size_t i = 1; i < n_tensors; i++) {
        const struct gkv__tensor *t = gkv__gguf_tensor_at(g, i);
        /* the name, the number of dimensions, the dimensions, the type, the offset */
        const size_t at = (size_t)((const uint8_t *)t->name.p - (const uint8_t *)gkv__gguf_tensor_at(g, 0)->name.p);
        uint8_t     *entry = memmem(sound, n, gkv__gguf_tensor_at(g, 0)->name.p, (size_t)gkv__gguf_tensor_at(g, 0)->name.n);
        uint64_t     offset;
        gkv_status   status;

        entry += at + t->name.n + 4 + 8 * t->n_dims + 4;
        memcpy(&offset, entry, sizeof offset);
        offset -= 32;
        status = with(fd, path, sound, (size_t)(entry - sound), &offset, sizeof offset, &unclear);
        bad += status != GKV_FORMAT;
    }
    ok(!bad && !unclear, "each of %zu tensors begins 32 bytes earlier, in the one before: refused", n_tensors - 1);
    gkv__gguf_close(g);
    close(fd);
    free(sound);
    remove(path);
}

/* ---- damage by chance ---------------------------------------------------------------- */
#define P63 ((uint64_t)1 << 63)
#define P40 ((uint64_t)1 << 40)

static void test_chance(void)
{
    static const uint64_t extreme[] = { P63, UINT64_MAX, P40, 0 };
    const char *path = in_dir("chance.gguf");
    unsigned    bad = 0, unclear = 0, refusals = 0;
    size_t      n, header;
    uint8_t    *sound;
    struct gkv__gguf *g;
    int         fd;

    if (!make("--type=q4_0 --layers=2 %s", path))
        bail("mkmodel failed");
    sound = slurp(path, &n);
    g = must_open(path);
    header = n - (size_t)gkv__gguf_data_bytes(g);
    gkv__gguf_close(g);

    for (int i = 0; i < 200; i++) {             /* half of them in what is parsed */
        size_t    len = rng() % (i % 2 ? n : header);
        gkv_error err;
        bool      clear;

        spill(path, sound, len);
        bad += try(path, &err, &clear) != GKV_FORMAT;
        unclear += !clear;
    }
    ok(!bad && !unclear, "cut off at 200 places: refused");

    spill(path, sound, n);
    fd = open(path, O_WRONLY);
    for (unsigned e = 0; e < 4; e++) {
        for (size_t at = 0; at + 8 <= header; at++)
            refusals += with(fd, path, sound, at, &extreme[e], 8, &unclear) != GKV_OK;
        for (size_t at = 8; at < 24 && e < 3; at += 8)
            bad += with(fd, path, sound, at, &extreme[e], 8, &unclear) != GKV_FORMAT;
    }
    ok(!bad && !unclear, "2^63, 2^64 - 1, 2^40 and 0 over every 8 bytes of the header: %u "
       "of %zu refused", refusals, 4 * (header - 7));

    refusals = 0;
    for (int i = 0; i < 2000; i++) {
        size_t  at = rng() % (i % 8 ? header : n);
        uint8_t byte = (uint8_t)rng();

        refusals += with(fd, path, sound, at, &byte, 1, &unclear) != GKV_OK;
    }
    ok(!unclear, "2000 random bytes: %u refused", refusals);
    ok(with(fd, path, sound, 0, sound, 4, &unclear) == GKV_OK, "as it was, it is sound");
    close(fd);
    free(sound);
    remove(path);
}

int main(void)
{
    static char path[512];
    const char *builddir = getenv("builddir"), *tmp = getenv("TMPDIR");

    if (BIG_ENDIAN_HOST) {
        struct gkv__gguf *g;
        gkv_error err = { 0 };
        ok(gkv__gguf_open(&g, "any.gguf", &err) == GKV_UNSUPPORTED, "refused: %s", err.text);
        return done();
    }
    snprintf(path, sizeof path, "%s/tests/mkmodel", builddir ? builddir : ".");
    mkmodel = getenv("MKMODEL") ? getenv("MKMODEL") : path;
    snprintf(dir, sizeof dir, "%s/gemkv-gguf-XXXXXX",
             tmp && strlen(tmp) < 100 ? tmp : "/tmp");
    if (access(mkmodel, X_OK))
        bail("no mkmodel; set MKMODEL");
    if (!mkdtemp(dir))
        bail("no temporary directory");
    test_types();
    test_values();
    test_numbers();
    test_array();
    test_cut();
    test_split();
    test_files();
    test_parts();
    test_breaks();
    test_readme();
    test_overlap();
    test_chance();
    ok(!rmdir(dir), "nothing is left behind");
    return done();
}
