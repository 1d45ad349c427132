/* SPDX-License-Identifier: BSD-2-Clause
 * unit-library.c - a library gives back what was put into it, finds it by its words, and is the old one or
 * the new one whenever its writer is killed; what is damaged is named, and is believed nowhere. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/base/sum.h"
#include "src/library/folder.h"
#include "src/library/passage.h"
#include "tests/tap.h"

static gkv_error err;

/* ---- passages --------------------------------------------------------------------------- */

static void test_passages(void)
{
    static const char *const unit[] = {
        "One sentence of some words. Another one, longer than that! ", "A line.\nAnd one.\n\n", "g\303\251nie",
        "\360\237\246\211", "word ", "x", "page one.\fpage two, after that. "
    };
    char text[20000];

    for (size_t u = 0; u < sizeof unit / sizeof *unit; u++) {
        const size_t k = strlen(unit[u]), len = sizeof text / k * k;
        size_t n = 0, at = 0, smallest = sizeof text, largest = 0, inside = 0, loose = 0;

        for (size_t i = 0; i < len; i += k)
            memcpy(text + i, unit[u], k);
        while (at < len) {
            const size_t end = gkv__passage_end(text, len, at, GKV__PASSAGE);

            if (end <= at || end > len)
                break;
            inside += end < len && ((unsigned char)text[end] & 0xc0) == 0x80;
            /* the ends of unit 0 are of sentences, those of unit 1 of paragraphs, of unit 4 of words */
            loose += end < len && ((u == 0 && !strchr(".!", text[end - 2])) || (u == 1 && text[end - 2] != '\n') ||
                                   (u < 5 && u != 2 && u != 3 && text[end - 1] != ' ' && text[end - 1] != '\n'));
            if (end < len)
                smallest = end - at < smallest ? end - at : smallest;
            largest = end - at > largest ? end - at : largest;
            at = end;
            n++;
        }
        ok(at == len && !inside && !loose && smallest >= GKV__PASSAGE / 2 && largest <= GKV__PASSAGE * 5 / 4,
           "text %zu: %zu passages of %zu to %zu bytes, cut between characters", u, n, smallest, largest);
    }
    memset(text, 'x', 3000);
    memcpy(text + 800, "end.\n\n", 6);
    memcpy(text + 950, "end. ", 5);
    ok(gkv__passage_end(text, 3000, 0, GKV__PASSAGE) == 806, "a paragraph's end is better than a sentence's");
    ok(gkv__passage_end(text, 3000, 1150, GKV__PASSAGE) == 2150, "without any, a character's");
    ok(gkv__passage_end(text, 3000, 1800, GKV__PASSAGE) == 3000, "the rest is one passage");
    ok(gkv__passage_end(text, 0, 0, GKV__PASSAGE) == 0, "no text, no passage");
    ok(gkv__passage_end(" abcd", 5, 0, 2) == 1, "after a blank that is first");
    for (const char *blank = " \n\t\r\f"; *blank; blank++) {
        char word[] = "abcd efgh";

        word[4] = *blank;
        ok(gkv__passage_end(word, 9, 0, 6) == 5, "after a blank, %d", *blank);
    }
}

static void test_words(void)
{
    static const struct { const char *question, *words; } rows[] = {
        { "Where is the cat?", "\"Where\" OR \"is\" OR \"the\" OR \"cat\"" },
        { "don't NEAR(\"x\" AND *)", "\"don\" OR \"t\" OR \"NEAR\" OR \"x\" OR \"AND\"" },
        { "g\303\251nie\342\200\224\346\227\245 7", "\"g\303\251nie\" OR \"\346\227\245\" OR \"7\"" },
        { "", "" }, { "?! -- \"\"", "" }, { "a\377b", "\"a\" OR \"b\"" },
        { "e\314\201te", "\"e\314\201te\"" }, { " \314\201e", "\"e\"" }, { "x", "\"x\"" }
    };

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *words = gkv__passage_words(rows[i].question);

        ok(words && !strcmp(words, rows[i].words), "words %zu: %s", i, words);
        free(words);
    }
    {
        char many[300 * 3 + 1] = "", *words;

        for (size_t i = 0; i < 300; i++)
            snprintf(many + 3 * i, 4, "w%zu ", i % 10);
        words = gkv__passage_words(many);
        ok(words && strlen(words) == 256 * 4 + 255 * 4 && !strcmp(words + strlen(words) - 4, "\"w5\""), "256 words are looked for, and no more");
        free(words);
    }
}

/* The sum of a file is that of its pieces of 2^20 bytes, the last of which may be empty. */
static void test_segment_sum(void)
{
    enum { PIECE = 1 << 20, MOST = 2 * PIECE + 1000 };
    static const size_t sizes[] = { 0, 1, PIECE - 1, PIECE, PIECE + 1, 2 * PIECE, MOST };
    static unsigned char bytes[MOST];
    char path[] = "/tmp/unit-library-XXXXXX";
    const int fd = mkstemp(path);
    size_t good = 0;
    uint64_t n, sum;

    for (size_t i = 0; i < MOST; i++)
        bytes[i] = (unsigned char)(i * i >> 7);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        uint64_t want = GKV__SUM_START;
        FILE *f = fopen(path, "w");

        if (!f || fwrite(bytes, 1, sizes[i], f) != sizes[i] || fclose(f))
            printf("# %s cannot be written\n", path);
        for (size_t at = 0; at < sizes[i] || (at == sizes[i] && at % PIECE == 0); at += PIECE)
            want = gkv__sum(want, bytes + at, sizes[i] - at < PIECE ? sizes[i] - at : PIECE);
        good += !gkv__segment_sum(path, &n, &sum, &err) && n == sizes[i] && sum == want;
    }
    ok(good == sizeof sizes / sizeof *sizes, "sums of files of 0 to %d bytes", MOST);
    close(fd);
    remove(path);
    ok(gkv__segment_sum(path, &n, &sum, &err) == GKV_IO && strstr(err.text, path), "no file: %s", err.text);
    ok(gkv__segment_sum("/", &n, &sum, &err) == GKV_IO, "a folder: %s", err.text);
}

#if HAVE_SQLITE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/refuse.h"

static gkv_model *model;
static gkv_options opt;
static char scratch[] = "/tmp/unit-library-XXXXXX";

static const char *at(const char *name)
{
    static char path[4][512];
    static int turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof *path, "%s/%s", scratch, name);
    return p;
}

/* ---- help ------------------------------------------------------------------------------- */

static gkv_document *document(const char *text, size_t len)
{
    gkv_document *d = NULL;

    if (gkv_document_open(&d, model, &opt, &err) || gkv_document_feed(d, text, len, &err))
        printf("# %s\n", err.text);
    return d;
}

static gkv_status put(gkv_library *l, const char *name, const char *text)
{
    const gkv_source s = { .name = name, .path = "/somewhere", .bytes = strlen(text), .modified = 5, .layer = 6 };
    gkv_document *d = document(text, strlen(text));
    gkv_status status = gkv_library_put(l, &s, d, NULL, &err);

    gkv_document_close(d);
    return status;
}

static int64_t sql_number(const char *name, const char *what)
{
    sqlite3 *db;
    sqlite3_stmt *q = NULL;
    char path[512];
    int64_t n = -1;

    snprintf(path, sizeof path, "%s/catalogue.sqlite", at(name));
    if (!sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, what, -1, &q, NULL) && sqlite3_step(q) == SQLITE_ROW)
        n = sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    return n;
}

static gkv_library *library(const char *name, unsigned flags)
{
    gkv_library *l = NULL;

    err.text[0] = 0;
    if (gkv_library_open(&l, at(name), flags, &err))
        printf("# %s\n", err.text);
    return l;
}

static gkv_library *fresh(const char *name)
{
    return library(name, GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE);
}

/* The document of that name has this text. */
static int is(gkv_library *l, const char *name, const char *text)
{
    gkv_document *d = NULL;
    gkv_status status = gkv_library_load(l, name, model, &opt, &d, &err);
    size_t len = 0;
    const char *has = status ? NULL : gkv_document_text(d, 0, &len);
    const int same = has && len == strlen(text) && !memcmp(has, text, len);

    if (status)
        printf("# %s\n", err.text);
    gkv_document_close(d);
    return same;
}

static size_t count(const char *name)
{
    DIR *dir = opendir(at(name));
    size_t n = 0;

    for (const struct dirent *e; dir && (e = readdir(dir)); )
        n += e->d_name[0] != '.';
    if (dir)
        closedir(dir);
    return n;
}

static size_t entries(gkv_library *l)
{
    size_t n = 0;

    if (gkv_library_find(l, NULL, NULL, 0, &n, &err))
        printf("# %s\n", err.text);
    return n;
}

/* The segment of a document, as it is called in scratch. */
static const char *segment(const char *lib, gkv_library *l, const char *name)
{
    gkv_library_entry_info e;
    char path[256];

    gkv_library_get(l, name, &e, &err);
    snprintf(path, sizeof path, "%s/segments/%016" PRIx64 "-%" PRIu64 ".gkv", lib, e.hash, e.id);
    return at(path);
}

static void copy(const char *from, const char *to)
{
    char command[1200];

    snprintf(command, sizeof command, "rm -rf '%s' && cp -R '%s' '%s'", to, from, to);
    if (system(command))
        printf("Bail out! %s\n", command);
}

static void write_at(const char *path, long offset, const void *bytes, size_t n)
{
    const int fd = open(path, O_WRONLY);

    if (fd < 0 || pwrite(fd, bytes, n, offset) != (ssize_t)n)
        printf("# %s: %s\n", path, strerror(errno));
    close(fd);
}

/* ---- what is put in --------------------------------------------------------------------- */

static const char cats[] = "The cat sat on the mat. Its name was Kestrel.\n\nIt slept.\fOn page two it woke.";
static const char dogs[] = "The dog barked at the moon, and the moon said nothing.";
static const char birds[] = "Les g\303\251nies chantent. A kestrel is a bird; kestrels hunt, and a kestrel flies.";

static void test_put(void)
{
    gkv_library *l = fresh("put"), *r;
    gkv_library_entry_info e;
    gkv_source s = { .name = "cats", .path = "/x/cats", .bytes = 1234, .modified = 99, .layer = 6 };
    uint64_t first;
    size_t n;

    ok(l && entries(l) == 0, "a new library is empty");
    ok(put(l, "cats", cats) == GKV_OK && put(l, "dogs", dogs) == GKV_OK && put(l, "birds", birds) == GKV_OK,
       "three documents");
    ok(is(l, "cats", cats) && is(l, "dogs", dogs) && is(l, "birds", birds), "and they come back");
    ok(gkv_library_get(l, "cats", &e, &err) == GKV_OK && !strcmp(e.source.name, "cats") &&
       !strcmp(e.source.path, "/somewhere") && !strcmp(e.source.grade, "compact") && e.source.layer == 6 &&
       e.source.bytes == strlen(cats) && e.source.modified == 5 && e.bytes == strlen(cats) && e.pages == 2 &&
       e.tokens > 10 && e.model == gkv_model_fingerprint(model) && *e.model_name && e.added / 1000000000 > 1600000000 &&
       e.segment_bytes > e.bytes, "an entry says what was put");
    first = e.id;
    ok(gkv_library_note(l, &s, &err) == GKV_OK && gkv_library_get(l, "cats", &e, &err) == GKV_OK && e.id == first &&
       e.source.bytes == 1234 && e.source.modified == 99 && !strcmp(e.source.path, "/x/cats"),
       "a note changes what is known of the file");
    ok(put(l, "cats", dogs) == GKV_OK && is(l, "cats", dogs) && entries(l) == 3 && count("put/segments") == 3,
       "a document of the same name replaces it");
    ok(gkv_library_get(l, "cats", &e, &err) == GKV_OK && e.id > first, "... with an id of its own");
    ok(gkv_library_find(l, "slept", NULL, 0, &n, &err) == GKV_OK && n == 0, "... and its words are gone");
    ok(gkv_library_verify(l, NULL, &err) == GKV_OK && gkv_library_verify(l, "cats", &err) == GKV_OK, "all is whole");
    ok(gkv_library_remove(l, "dogs", &err) == GKV_OK && entries(l) == 2 && count("put/segments") == 2, "one goes");
    ok(gkv_library_remove(l, "dogs", &err) == GKV_END && gkv_library_get(l, "dogs", &e, &err) == GKV_END && !e.id &&
       gkv_library_load(l, "dogs", model, &opt, &(gkv_document *){ NULL }, &err) == GKV_END, "... once");
    ok(sql_number("put", "SELECT count(*) FROM passage") == 2 && sql_number("put", "SELECT count(*) FROM entry") == 2,
       "... with its passages");
    ok(put(l, "", dogs) == GKV_INVALID, "a document has a name");
    {
        gkv_document *d = document(dogs, strlen(dogs));
        const gkv_source wrong[] = {
            { .name = NULL, .layer = 6 }, { .name = "x", .layer = -2 }, { .name = "x", .layer = 6, .bytes = (uint64_t)INT64_MAX + 1 }
        };
        size_t bad = 0;

        for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
            bad += gkv_library_put(l, &wrong[i], d, NULL, &err) != GKV_INVALID;
        ok(!bad && strstr(err.text, "x: no such layer or size") && entries(l) == 2 && count("put/segments") == 2, "... a layer, and a size");
        gkv_document_close(d);
    }
    gkv_library_close(l);

    r = library("put", 0);
    ok(r && is(r, "birds", birds) && entries(r) == 2, "it is there when it is opened again");
    ok(put(r, "x", dogs) == GKV_INVALID && gkv_library_remove(r, "birds", &err) == GKV_INVALID &&
       gkv_library_prune(r, &(uint64_t){ 0 }, &(uint64_t){ 0 }, &err) == GKV_INVALID &&
       gkv_library_note(r, &s, &err) == GKV_INVALID && entries(r) == 2, "a reader does not write");
    gkv_library_close(r);
    l = fresh("put");
    ok(put(l, "new", dogs) == GKV_OK && gkv_library_get(l, "new", &e, &err) == GKV_OK && e.id > 5 - 1 &&
       gkv_library_remove(l, "new", &err) == GKV_OK && put(l, "newer", dogs) == GKV_OK, "ids go on");
    first = e.id;
    ok(gkv_library_get(l, "newer", &e, &err) == GKV_OK && e.id == first + 1, "... and none comes twice");
    gkv_library_close(l);
}

/* A row of what a library of these three finds. */
static void finds(gkv_library *l, const char *question, const char *glob, size_t top, const char *names)
{
    char found[256] = "";
    size_t n = 0;

    if (gkv_library_find(l, question, glob, top, &n, &err))
        printf("# %s\n", err.text);
    for (size_t i = 0; i < n; i++) {
        gkv_library_entry_info e;

        gkv_library_entry(l, i, &e);
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%s", i ? " " : "", e.source.name);
    }
    ok(!strcmp(found, names), "\"%s\" among %s, top %zu: %s", question ? question : "(nothing)", glob ? glob : "all",
       top, found);
}

static void test_find(void)
{
    gkv_library *l = fresh("find");
    gkv_library_entry_info e;
    char filler[6000] = "";
    size_t n;

    while (strlen(filler) < 5000)
        strcat(filler, "Nothing of interest happens in this sentence at all. ");
    strcat(filler, "\n\nThe zebra is here. ");
    put(l, "a/cats", cats);
    put(l, "a/dogs", dogs);
    put(l, "b/birds", birds);
    put(l, "b/long", filler);
    finds(l, NULL, NULL, 0, "a/cats a/dogs b/birds b/long");
    finds(l, NULL, NULL, 2, "a/cats a/dogs");
    finds(l, NULL, "b/*", 0, "b/birds b/long");
    finds(l, NULL, "*s", 0, "a/cats a/dogs b/birds");
    finds(l, NULL, "c*", 0, "");
    finds(l, "Who is Kestrel?", NULL, 1, "b/birds");
    finds(l, "kestrel", NULL, 0, "b/birds a/cats");
    finds(l, "kestrel", "a/*", 5, "a/cats");
    finds(l, "KESTRELS hunting", NULL, 0, "b/birds a/cats");
    finds(l, "genie", NULL, 0, "b/birds");
    finds(l, "sleeping mooning", NULL, 0, "a/dogs");
    finds(l, "xylophone", NULL, 0, "");
    finds(l, "\" OR * NEAR(", NULL, 0, "");
    finds(l, "", NULL, 0, "");
    ok(gkv_library_find(l, "zebra", NULL, 0, &n, &err) == GKV_OK && n == 1, "a word at the end of a document");
    gkv_library_entry(l, 0, &e);
    ok(e.score > 0 && e.end == strlen(filler) && e.start > 3000 && strstr(filler + e.start, "zebra"),
       "... is in its passage, bytes %d to %d", (int)e.start, (int)e.end);
    gkv_library_entry(l, 1, &e);
    ok(!e.id && !e.source.name, "there is no second");
    put(l, "z/dogs", dogs);
    put(l, "0/dogs", dogs);
    finds(l, "moon", NULL, 0, "a/dogs z/dogs 0/dogs");
    gkv_library_close(l);
}

/* Two sums: of the text, whatever pieces it was fed in, and nothing else. */
static void test_hash(void)
{
    gkv_document *a = document(cats, strlen(cats)), *b = document(cats, 10), *c = document(cats, strlen(cats) - 1);
    gkv_document *two = document("a", 1), *one = document("ab", 2);

    gkv_document_feed(b, cats + 10, strlen(cats) - 10, &err);
    ok(gkv_document_hash(a) == gkv_document_hash(b) && gkv_document_hash(a) != gkv_document_hash(c),
       "the hash is of the text");
    gkv_document_end_file(two, &err);
    gkv_document_feed(two, "b", 1, &err);
    ok(gkv_document_hash(one) != gkv_document_hash(two), "... and of where its files end");
    gkv_document_close(a);
    gkv_document_close(b);
    gkv_document_close(c);
    gkv_document_close(one);
    gkv_document_close(two);
}

/* ---- what is refused -------------------------------------------------------------------- */

static int refused(const char *name, unsigned flags, gkv_status status, const char *says)
{
    gkv_library *l = NULL;
    const gkv_status got = gkv_library_open(&l, at(name), flags, &err);

    printf("# %s\n", err.text);
    gkv_library_close(l);
    return got == status && !l && strstr(err.text, says);
}

static void test_refused(void)
{
    const unsigned create = GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE;
    gkv_library *l;
    gkv_model *other = NULL;
    gkv_document *d = NULL;
    gkv_source s = { .name = "other", .layer = 6 };
    char path[512];
    int fd;

    ok(gkv_library_open(&l, "", create, &err) == GKV_INVALID && strstr(err.text, "without a name"), "%s", err.text);
    {
        char *name = calloc(1, 5000);

        memset(name, 'x', 4999);
        ok(gkv_library_open(&l, name, create, &err) == GKV_IO && *err.text == 'x', "a name of 4999 bytes");
        name[4080] = 0;
        ok(gkv_library_open(&l, name, 0, &err) == GKV_IO && *err.text == 'x', "... and one that is with the catalogue's");
        free(name);
    }
    mkdir(at("locked"), 0755);
    mkdir(at("locked/lock"), 0755);
    ok(refused("locked", create, GKV_IO, "lock: Is a directory"), "a lock that is a folder");
    rmdir(at("locked/lock"));
    ok(!mkfifo(at("locked/lock"), 0644) && refused("locked", create, GKV_FORMAT, "lock: not a regular file"), "... or a FIFO");
    unlink(at("locked/lock"));
    ok(!symlink("other", at("locked/lock")) && refused("locked", create, GKV_IO, "lock: ") && access(at("locked/other"), F_OK),
       "... or leads elsewhere");
    ok(refused("nothing", 0, GKV_IO, "no library") && refused("nothing", GKV_LIBRARY_WRITE, GKV_IO, "no library"),
       "there is none");
    mkdir(at("full"), 0755);
    fd = open(at("full/letter"), O_CREAT | O_WRONLY, 0644);
    close(fd);
    ok(refused("full", create, GKV_INVALID, "something else") && count("full") == 1, "a folder of something else");
    ok(refused("full/letter", create, GKV_INVALID, "not a folder"), "a file");
    mkdir(at("empty"), 0755);
    l = fresh("empty");
    ok(l && put(l, "cats", cats) == GKV_OK, "an empty folder becomes one");
    s.layer = 7;
    d = document(dogs, strlen(dogs));
    ok(gkv_library_put(l, &s, d, NULL, &err) == GKV_INVALID && strstr(err.text, "layer 6, not 7"), "%s", err.text);
    ok(gkv_library_fits(l, model, 7, &err) == GKV_INVALID && gkv_library_fits(l, model, 6, &err) == GKV_OK,
       "another layer does not fit");
    gkv_document_close(d);
    s.layer = 6;
    opt.raw = 1;
    d = document(dogs, strlen(dogs));
    opt.raw = 0;
    ok(gkv_library_put(l, &s, d, NULL, &err) == GKV_INVALID && strstr(err.text, "another chat template"), "%s", err.text);
    gkv_document_close(d);
    snprintf(path, sizeof path, "%s/tests/files/golden/llama3.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    ok(gkv_model_open(&other, path, 0, &err) == GKV_OK && gkv_library_fits(l, other, 6, &err) == GKV_INVALID &&
       strstr(err.text, "another model, \""), "%s", err.text);
    ok(gkv_document_open(&d, other, &opt, &err) == GKV_OK && gkv_document_feed(d, "a b", 3, &err) == GKV_OK &&
       gkv_library_put(l, &s, d, NULL, &err) == GKV_INVALID && count("empty/segments") == 1, "... nor its documents");
    ok(gkv_library_load(l, "cats", other, &opt, &(gkv_document *){ NULL }, &err) == GKV_FORMAT, "%s", err.text);
    gkv_document_close(d);
    gkv_model_close(other);
    d = document(dogs, strlen(dogs));
    gkv_document_end_file(d, &err);
    gkv_document_feed(d, cats, strlen(cats), &err);
    ok(gkv_library_put(l, &s, d, NULL, &err) == GKV_INVALID, "%s", err.text);
    gkv_document_close(d);
    d = document("", 0);
    ok(gkv_library_put(l, &s, d, NULL, &err) == GKV_DOCUMENT && entries(l) == 1, "%s", err.text);
    gkv_document_close(d);
    gkv_library_close(l);
}

static void test_two(void)
{
    gkv_library *w = fresh("two"), *r;
    char pid[40];

    put(w, "cats", cats);
    snprintf(pid, sizeof pid, "process %ld writes", (long)getpid());
    ok(refused("two", GKV_LIBRARY_WRITE, GKV_IO, pid), "a second writer is told of the first");
    r = library("two", 0);
    ok(r && is(r, "cats", cats), "readers go on");
    ok(put(w, "cats", dogs) == GKV_OK && is(r, "cats", dogs), "... and see what was committed");
    ok(put(w, "dogs", dogs) == GKV_OK && entries(r) == 2, "... all of it");
    gkv_library_close(w);
    w = library("two", GKV_LIBRARY_WRITE);
    ok(w && put(w, "birds", birds) == GKV_OK && is(r, "birds", birds), "then the next one may write");
    gkv_library_close(r);
    gkv_library_close(w);
}

/* ---- damage ----------------------------------------------------------------------------- */

static void test_segments(void)
{
    gkv_library *l = fresh("damage");
    uint64_t segments, gone;
    const char *path;
    int fd;

    put(l, "cats", cats);
    put(l, "dogs", dogs);
    put(l, "birds", birds);
    path = segment("damage", l, "dogs");
    write_at(path, 100, "\xee", 1);
    ok(gkv_library_verify(l, "dogs", &err) == GKV_FORMAT && strstr(err.text, "dogs: its segment is damaged"), "%s",
       err.text);
    ok(!is(l, "dogs", dogs) && is(l, "cats", cats) && gkv_library_verify(l, "cats", &err) == GKV_OK,
       "a byte is another: only that document is refused");
    ok(gkv_library_verify_quick(l, "dogs", &err) == GKV_FORMAT, "a quick look sees that it was written to");
    ok(put(l, "dogs", dogs) == GKV_OK && is(l, "dogs", dogs), "it can be put again");
    ok(gkv_library_verify_quick(l, "dogs", &err) == GKV_OK && gkv_library_verify_quick(l, "nothing", &err) == GKV_END,
       "... and has not been written to since");
    path = segment("damage", l, "dogs");
    ok(!truncate(path, 150) && !is(l, "dogs", dogs) && gkv_library_verify(l, "dogs", &err) == GKV_FORMAT, "%s",
       err.text);
    copy(segment("damage", l, "cats"), segment("damage", l, "dogs"));
    ok(!is(l, "dogs", cats) && gkv_library_verify(l, "dogs", &err) == GKV_FORMAT, "another's segment: %s", err.text);
    put(l, "dogs", "The dog barked at the noon, and the noon said nothing.");
    copy(segment("damage", l, "dogs"), at("spare"));
    put(l, "dogs", dogs);
    copy(at("spare"), segment("damage", l, "dogs"));
    ok(!is(l, "dogs", dogs) && strstr(err.text, "another text"), "of the same size: %s", err.text);
    unlink(segment("damage", l, "dogs"));
    ok(!is(l, "dogs", dogs) && strstr(err.text, "not there") && gkv_library_verify(l, "dogs", &err) == GKV_FORMAT,
       "%s", err.text);
    mkdir(at("damage/segments/keep"), 0755);
    fd = open(at("damage/segments/note.txt"), O_CREAT | O_WRONLY, 0644);
    close(fd);
    fd = open(at("damage/segments/0123456789abcdef-79.gkv~"), O_CREAT | O_WRONLY, 0644);
    close(fd);
    fd = open(at("damage/segments/0123456789abcdef-77.gkv"), O_CREAT | O_WRONLY, 0644);
    close(fd);
    fd = open(at("damage/segments/0123456789abcdef-77.gkv.a1B2c3"), O_CREAT | O_WRONLY, 0644);
    close(fd);
    ok(gkv_library_prune(l, &segments, &gone, &err) == GKV_OK && segments == 2 && gone == 1 && entries(l) == 2 &&
       count("damage/segments") == 5, "prune: two segments, one entry, and nothing that is not ours");
    gkv_library_close(l);
    fd = open(at("damage/segments/0123456789abcdef-78.gkv"), O_CREAT | O_WRONLY, 0644);
    close(fd);
    gkv_library_close(library("damage", 0));
    ok(count("damage/segments") == 6, "a reader removes nothing");
    l = library("damage", GKV_LIBRARY_WRITE);
    ok(count("damage/segments") == 5 && is(l, "cats", cats) && is(l, "birds", birds), "the next writer does");
    gkv_library_close(l);
}

static void sql(const char *name, const char *what)
{
    sqlite3 *db;
    char path[512], *why = NULL;

    snprintf(path, sizeof path, "%s/catalogue.sqlite", at(name));
    if (sqlite3_open(path, &db) || sqlite3_exec(db, what, NULL, NULL, &why))
        printf("# %s: %s\n", what, why ? why : sqlite3_errmsg(db));
    sqlite3_free(why);
    sqlite3_close(db);
}

/* All that can be asked of it; the first status that is not GKV_OK. */
static gkv_status try_all(const char *name)
{
    gkv_library *l = NULL;
    gkv_status status = gkv_library_open(&l, at(name), 0, &err), other;
    gkv_document *d = NULL;
    size_t n = 0;

    if (status)
        return status;
    status = gkv_library_find(l, NULL, "*", 0, &n, &err);
    for (size_t i = 0; i < n; i++) {
        gkv_library_entry_info e;

        gkv_library_entry(l, i, &e);
        other = gkv_library_load(l, e.source.name, model, &opt, &d, status ? NULL : &err);
        status = status ? status : other;
        gkv_document_close(d);
        d = NULL;
    }
    other = gkv_library_find(l, "the kestrel moon", NULL, 2, &n, status ? NULL : &err);
    status = status ? status : other;
    other = gkv_library_verify(l, NULL, status ? NULL : &err);
    status = status ? status : other;
    gkv_library_close(l);
    return status;
}

static bool has_part(gkv_library *l, const char *name, const char *part)
{
    gkv_library_entry_info e;

    if (gkv_library_get(l, name, &e, &err))
        return false;
    return part ? e.source.part && !strcmp(e.source.part, part) : !e.source.part;
}

/* What form feeds end is kept; a library of before, which had no such column, is read, and written as one of today. */
static void test_parts(void)
{
    gkv_library *l = fresh("parts");
    gkv_source source = { .name = "talk", .layer = 6, .part = "slide" };
    gkv_document *d = document(dogs, strlen(dogs));

    ok(!gkv_library_put(l, &source, d, NULL, &err) && has_part(l, "talk", "slide"), "a document of slides");
    gkv_document_close(d);
    ok(!put(l, "cats", cats) && has_part(l, "cats", NULL), "one of nobody knows what");
    gkv_library_close(l);
    l = library("parts", 0);
    ok(l && has_part(l, "talk", "slide") && has_part(l, "cats", NULL), "opened again");
    gkv_library_close(l);

    sql("parts", "ALTER TABLE entry DROP COLUMN part; PRAGMA user_version = 1");
    l = library("parts", 0);
    ok(l && has_part(l, "talk", NULL) && is(l, "talk", dogs) && is(l, "cats", cats), "a library of format 1 is read");
    gkv_library_close(l);
    ok(sql_number("parts", "PRAGMA user_version") == 1, "... and stays what it is");
    l = library("parts", GKV_LIBRARY_WRITE);
    d = document(birds, strlen(birds));
    source.name = "birds";
    ok(l && !gkv_library_put(l, &source, d, NULL, &err) && has_part(l, "birds", "slide") && has_part(l, "talk", NULL),
       "... and written: %s", err.text);
    gkv_document_close(d);
    gkv_library_close(l);
    ok(sql_number("parts", "PRAGMA user_version") == 2 && try_all("parts") == GKV_OK, "... as one of format 2: %s", err.text);
}

static void test_catalogue(void)
{
    static const struct { const char *what; gkv_status status; } rows[] = {
        { "PRAGMA user_version = 3", GKV_FORMAT }, { "PRAGMA user_version = 1", GKV_FORMAT }, { "PRAGMA application_id = 7", GKV_FORMAT },
        { "DROP TABLE entry", GKV_FORMAT }, { "DROP TABLE passage", GKV_FORMAT },
        { "ALTER TABLE entry ADD COLUMN more INTEGER", GKV_FORMAT },
        { "ALTER TABLE entry RENAME TO old; CREATE VIEW entry AS SELECT * FROM old", GKV_FORMAT },
        { "UPDATE entry SET bytes = -1 WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE entry SET segment_bytes = -9223372036854775808", GKV_FORMAT },
        { "UPDATE entry SET segment_bytes = 9223372036854775807", GKV_FORMAT },
        { "UPDATE entry SET layer = -2", GKV_FORMAT }, { "UPDATE entry SET layer = 3000000000", GKV_FORMAT },
        { "UPDATE entry SET name = '' WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE entry SET name = 'a' || char(0) || 'b' WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE entry SET part = 'a' || char(0) || 'b' WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE entry SET id = -5 WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE entry SET id = 99 WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE entry SET hash = 0 WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE entry SET id = 4611686018427387904 WHERE name = 'dogs'", GKV_FORMAT },
        { "UPDATE passage SET first = -1", GKV_FORMAT }, { "UPDATE passage SET first = NULL, last = 'x'", GKV_FORMAT },
        { "UPDATE passage SET last = 0, first = 10", GKV_FORMAT },
        { "DELETE FROM passage_data", GKV_FORMAT }, { "DELETE FROM passage_content", GKV_FORMAT },
        { "UPDATE passage_data SET block = zeroblob(3)", GKV_FORMAT },
        { "UPDATE passage SET last = 1000000", GKV_FORMAT },
        { "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE TABLE entry(id INTEGER PRIMARY KEY, name "
          "AS (randomblob(1000)))' WHERE name = 'entry'", GKV_FORMAT },
        { "PRAGMA writable_schema = 1; DELETE FROM sqlite_schema", GKV_FORMAT },
        { "UPDATE entry SET name = '../../' || name", GKV_OK }, { "SELECT 1", GKV_OK }
    };
    gkv_library *l = fresh("sql");

    put(l, "cats", cats);
    put(l, "dogs", dogs);
    put(l, "birds", birds);
    gkv_library_close(l);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        gkv_status status;

        copy(at("sql"), at("sql2"));
        sql("sql2", rows[i].what);
        err.text[0] = 0;
        status = try_all("sql2");
        ok(status == rows[i].status && !strchr(err.text, '\n'), "%s: %s", rows[i].what, err.text);
        /* A writer survives it as well. */
        l = library("sql2", GKV_LIBRARY_WRITE);
        if (l)
            put(l, "dogs", birds);
        gkv_library_close(l);
    }
    copy(at("sql"), at("sql2"));
    sql("sql2", "UPDATE sqlite_sequence SET seq = -3");
    l = library("sql2", GKV_LIBRARY_WRITE);
    ok(put(l, "more", dogs) == GKV_FORMAT && count("sql2/segments") == 3, "%s", err.text);
    gkv_library_close(l);
    sql("sql2", "UPDATE sqlite_sequence SET seq = 0");
    l = library("sql2", GKV_LIBRARY_WRITE);
    ok(put(l, "more", dogs) != GKV_OK && is(l, "cats", cats) && is(l, "dogs", dogs) && entries(l) == 3,
       "an id that is taken: %s", err.text);
    gkv_library_close(l);
    ok(!truncate(at("sql2/catalogue.sqlite"), 5000) && try_all("sql2") == GKV_FORMAT, "half a catalogue: %s", err.text);
    ok(!truncate(at("sql2/catalogue.sqlite"), 0) && try_all("sql2") == GKV_IO, "an empty one: %s", err.text);
    unlink(at("sql2/catalogue.sqlite"));
    mkfifo(at("sql2/catalogue.sqlite"), 0644);
    ok(try_all("sql2") == GKV_FORMAT, "a FIFO: %s", err.text);
}

/* Bytes of it at random: an error or not, but no crash, and nothing written outside. */
static void test_noise(void)
{
    uint64_t x = 88172645463325252u;
    struct stat st;
    int bad = 0;

    stat(at("sql/catalogue.sqlite"), &st);
    for (int i = 0; i < 150; i++) {
        gkv_library *l = NULL;

        copy(at("sql"), at("sql2"));
        for (int k = 0; k < 1 + i % 20; k++) {
            unsigned char byte;

            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            byte = (unsigned char)(x >> 40);
            write_at(at("sql2/catalogue.sqlite"), (long)(x % (uint64_t)st.st_size), &byte, 1);
        }
        bad += try_all("sql2") != GKV_OK;
        if (!gkv_library_open(&l, at("sql2"), GKV_LIBRARY_WRITE, &err)) {
            put(l, "dogs", cats);
            gkv_library_remove(l, "cats", &err);
        }
        gkv_library_close(l);
    }
    ok(bad > 50, "noise in the catalogue: %d of 150 were noticed", bad);
}

/* ---- the system ------------------------------------------------------------------------- */

/* In a process of its own; its exit status. */
static int in_child(int (*f)(void))
{
    const pid_t pid = fork();
    int status = 0;

    if (!pid)
        _exit(f());
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

static int as_nobody(void)
{
    gkv_library *l = NULL;

    if (!getuid() && (setgid(65534) || setuid(65534)))
        return 77;
    if (gkv_library_open(&l, at("system"), 0, &err) || !is(l, "cats", cats) || entries(l) != 2)
        return 1;
    gkv_library_close(l);
    /* The owner of the files may open them, but no other one can be made beside them. */
    if (gkv_library_open(&l, at("system"), GKV_LIBRARY_WRITE, &err) == GKV_OK)
        return put(l, "cows", cats) == GKV_IO && strstr(err.text, "cannot be written") ? 0 : 2;
    return err.status == GKV_IO ? 0 : 3;
}

static int no_room(void)
{
    static const rlim_t limits[] = { 100, 1000, 5000, 10000, 20000, 30000, 40000, 60000, 80000, 100000 };
    int failures = 0;
    static char text[9000];

    signal(SIGXFSZ, SIG_IGN);
    memset(text, 'x', sizeof text);
    for (size_t i = 0; i + 6 < sizeof text; i += 6)
        memcpy(text + i, (const char[6]){ ' ', (char)('a' + i % 23), (char)('a' + i % 19), (char)('a' + i / 1300), 'e', 'r' },
               6);
    text[sizeof text - 1] = 0;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const struct rlimit limit = { limits[i], RLIM_INFINITY }, none = { RLIM_INFINITY, RLIM_INFINITY };
        gkv_library *l = NULL;
        gkv_status status;

        setrlimit(RLIMIT_FSIZE, &limit);
        status = gkv_library_open(&l, at("system"), GKV_LIBRARY_WRITE, &err);
        if (!status)
            status = put(l, "cats", text);
        printf("# files of at most %d bytes: %s\n", (int)limits[i], status ? err.text : "put");
        /* Also of the catalogue, when the segment is there. */
        failures += status ? strstr(err.text, "catalogue.sqlite") ? 100 : 1 : 0;
        setrlimit(RLIMIT_FSIZE, &none);
        gkv_library_close(l);
        l = library("system", 0);
        if (!l || !is(l, "cats", status ? cats : text) || entries(l) != 2 || count("system/segments") != 2)
            return 1;
        gkv_library_close(l);
        if (!status) {
            l = library("system", GKV_LIBRARY_WRITE);
            put(l, "cats", cats);
            gkv_library_close(l);
        }
    }
    return failures % 100 >= 2 && failures >= 200 ? 0 : 2;
}

/* ---- system calls that are refused ------------------------------------------------------ */

/* What is tried, and what comes of it, while these calls fail. */
struct refusal {
    const char *what;
    int calls[MOST_CALLS], error;
    gkv_status (*attempt)(void);
    gkv_status status;
    const char *says;
};

static const struct refusal *refused_now;
static gkv_document *refused_document;
static gkv_library *refused_library;

static bool is_refused(void)
{
    gkv_status status;

    err = (gkv_error){ GKV_OK, "" };
    status = refused_now->attempt();
    if (status == refused_now->status && strstr(err.text, refused_now->says) && err.status == status)
        return true;
    printf("# status %d: %s\n", status, err.text);
    fflush(stdout);
    return false;
}

static gkv_status save(void)
{
    return gkv_document_save(refused_document, at("refused/saved"), &err);
}

static gkv_status load(void)
{
    gkv_document *d = NULL;
    const gkv_status status = gkv_document_load(&d, model, &opt, at("refused/saved"), &err);

    gkv_document_close(d);
    return status;
}

static gkv_status open_reader(void)
{
    gkv_library *l;

    return gkv_library_open(&l, at("held"), 0, &err);
}

static gkv_status open_writer(void)
{
    gkv_library *l;

    return gkv_library_open(&l, at("held"), GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE, &err);
}

static gkv_status open_second(void)
{
    gkv_library *l;

    return gkv_library_open(&l, at("busy"), GKV_LIBRARY_WRITE, &err);
}

static gkv_status make_new(void)
{
    gkv_library *l;

    return gkv_library_open(&l, at("not yet"), GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE, &err);
}

static gkv_status put_more(void)
{
    return put(refused_library, "more", dogs);
}

static gkv_status verify(void)
{
    return gkv_library_verify(refused_library, "cats", &err);
}

static gkv_status load_cats(void)
{
    gkv_document *d;

    return gkv_library_load(refused_library, "cats", model, &opt, &d, &err);
}

static gkv_status prune(void)
{
    return gkv_library_prune(refused_library, &(uint64_t){ 0 }, &(uint64_t){ 0 }, &err);
}

static const struct refusal refusals[] = {
    { "closing what was written", { SYS_close, NO_CALL }, EIO, save, GKV_IO, "saved: Input/output error" },
    { "syncing it", { SYS_fsync, NO_CALL }, EDQUOT, save, GKV_IO, "saved: Disk quota exceeded" },
    { "renaming it", CALLS_RENAME, EACCES, save, GKV_IO, "saved: Permission denied" },
    { "writing it", { SYS_pwrite64, NO_CALL }, ENOSPC, save, GKV_IO, "saved: No space left on device" },
    { "opening it", CALLS_OPEN, EMFILE, save, GKV_IO, "saved: Too many open files" },
    { "opening what is read", CALLS_OPEN, ENFILE, load, GKV_IO, "saved: Too many open files in system" },
    { "reading it", { SYS_read, NO_CALL }, EIO, load, GKV_IO, "saved: Input/output error" },
    { "closing what was read", { SYS_close, NO_CALL }, EIO, load, GKV_OK, "" },
    { "looking for a catalogue", CALLS_STAT, EACCES, open_reader, GKV_IO, "catalogue.sqlite: Permission denied" },
    { "... that is not there", CALLS_STAT, ENOTDIR, open_reader, GKV_IO, "held: no library: it has no catalogue" },
    { "opening a catalogue", CALLS_OPEN, EMFILE, open_reader, GKV_IO, "catalogue.sqlite: " },
    { "opening a lock", CALLS_OPEN, EMFILE, open_writer, GKV_IO, "lock: Too many open files" },
    { "locking", { SYS_flock, NO_CALL }, ENOLCK, open_writer, GKV_IO, "lock: No locks available" },
    { "locking, without memory", { SYS_flock, NO_CALL }, ENOMEM, open_writer, GKV_NOMEM, "lock: Cannot allocate memory" },
    { "writing who holds it", { SYS_ftruncate, NO_CALL }, ENOSPC, open_writer, GKV_OK, "" },
    { "reading who holds it", { SYS_pread64, NO_CALL }, EIO, open_second, GKV_IO, "busy: another process writes to it; wait" },
    { "making a folder", CALLS_MKDIR, EROFS, make_new, GKV_IO, "not yet: Read-only file system" },
    { "looking into it", { SYS_openat, NO_CALL }, EMFILE, make_new, GKV_IO, "not yet: Too many open files" },
    { "changing who may read a segment", CALLS_CHMOD, EPERM, put_more, GKV_IO, ".gkv: Operation not permitted" },
    { "reading a segment", { SYS_read, NO_CALL }, EIO, verify, GKV_IO, ".gkv: Input/output error" },
    { "opening a segment", CALLS_OPEN, EMFILE, verify, GKV_IO, ".gkv: Too many open files" },
    { "opening what is loaded", CALLS_OPEN, EMFILE, load_cats, GKV_IO, ".gkv: Too many open files" },
    { "looking for segments", { SYS_openat, NO_CALL }, EMFILE, prune, GKV_IO, "segments: Too many open files" },
    { .what = NULL }
};

/* What cannot be looked at is not gone. */
static void test_loop(gkv_library *l)
{
    uint64_t segments = 1, gone = 1;

    ok(!rename(at("kept/segments"), at("kept/aside")) && !symlink("segments", at("kept/segments")), "a folder that leads to itself");
    ok(!is(l, "cats", cats) && err.status == GKV_IO && strstr(err.text, "Too many levels of symbolic links"), "%s", err.text);
    ok(gkv_library_verify(l, "cats", &err) == GKV_IO && gkv_library_verify_quick(l, "cats", &err) == GKV_IO, "%s", err.text);
    ok(gkv_library_prune(l, &segments, &gone, &err) == GKV_IO && !gone && !segments && entries(l) == 1, "%s", err.text);
    ok(!unlink(at("kept/segments")) && gkv_library_prune(l, &segments, &gone, &err) == GKV_IO && gone == 1 && !segments && entries(l) == 0,
       "... unlike one that is not there");
    ok(!rename(at("kept/aside"), at("kept/segments")) && gkv_library_prune(l, &segments, &gone, &err) == GKV_OK && segments == 1 && !gone &&
       count("kept/segments") == 0, "... whose segment goes when it comes again");
}

static void test_refusals(void)
{
    gkv_library *busy = fresh("busy"), *l = fresh("held");

    put(l, "cats", cats);
    gkv_library_close(l);
    refused_library = fresh("kept");
    put(refused_library, "cats", cats);
    mkdir(at("refused"), 0755);
    refused_document = document(cats, strlen(cats));
    ok(save() == GKV_OK && load() == GKV_OK && count("refused") == 1, "a document is written and read");
    for (refused_now = refusals; refused_now->what; refused_now++) {
        const int code = refusing(refused_now->calls, refused_now->error, is_refused);

        if (code == NOT_REFUSED)
            skip("no seccomp", "%s", refused_now->what);
        else
            ok(!code && count("refused") == 1 && load() == GKV_OK && count("kept/segments") == 1 && is(refused_library, "cats", cats),
               "refused: %s", refused_now->what);
        rmdir(at("not yet"));
    }
    test_loop(refused_library);
    gkv_document_close(refused_document);
    gkv_library_close(refused_library);
    gkv_library_close(busy);
}

static void test_system(void)
{
    gkv_library *l = fresh("system");
    int code;

    put(l, "cats", cats);
    put(l, "dogs", dogs);
    gkv_library_close(l);
    ok((code = in_child(no_room)) == 0, "no room: the library is as it was (%d)", code);
    chmod(scratch, 0755);
    chmod(at("system"), 0555);
    code = in_child(as_nobody);
    if (code == 77)
        skip("cannot become another user", "a folder that cannot be written");
    else
        ok(code == 0, "a folder that cannot be written is read, and not written (%d)", code);
    chmod(at("system"), 0755);
}

/* ---- killed ----------------------------------------------------------------------------- */

enum { KILLS = 40, NAMES = 3, VERSIONS = 4 };

/* Long enough that its words take more than a page. */
static const char *version(int name, int v)
{
    static char text[8000];
    size_t n = (size_t)snprintf(text, sizeof text, "Version %d of document %d. ", v, name);

    while (n < 3000 + 1000 * (size_t)v)
        n += (size_t)snprintf(text + n, sizeof text - n, "word%d%d is number %zu. ", name, v, n);
    return text;
}

/* Puts and removes for ever. */
static _Noreturn void write_on(unsigned seed)
{
    gkv_library *l = NULL;

    if (gkv_library_open(&l, at("killed"), GKV_LIBRARY_WRITE | GKV_LIBRARY_CREATE, &err))
        _exit(1);
    for (unsigned i = seed; ; i++) {
        const char name[] = { (char)('a' + i % NAMES), 0 };

        if (i % 7 == 6)
            gkv_library_remove(l, name, &err);
        else if (put(l, name, version((int)(i % NAMES), (int)(i % VERSIONS))))
            _exit(1);
    }
}

/* Each document is one of its versions, whole, and found by the words of that and of no other. */
static int sound(gkv_library *l)
{
    size_t n = 0, found;

    if (gkv_library_verify(l, NULL, &err) || gkv_library_find(l, NULL, NULL, 0, &n, &err))
        return 0;
    for (size_t i = 0; i < n; i++) {
        gkv_library_entry_info e;
        int name, whole = 0;

        gkv_library_entry(l, i, &e);
        name = e.source.name[0] - 'a';
        if (gkv_library_verify(l, e.source.name, &err))
            return 0;
        for (int v = 0; v < VERSIONS; v++)
            if (e.bytes == strlen(version(name, v)))
                whole = is(l, e.source.name, version(name, v)) ? v + 1 : 0;
        if (!whole)
            return 0;
    }
    for (int name = 0; name < NAMES; name++)
        for (int v = 0; v < VERSIONS; v++) {
            char word[20];
            gkv_library_entry_info e;

            snprintf(word, sizeof word, "word%d%d", name, v);
            if (gkv_library_find(l, word, NULL, 0, &found, &err) || found > 1)
                return 0;
            gkv_library_entry(l, 0, &e);
            if (found && (e.source.name[0] != 'a' + name || e.bytes != strlen(version(name, v))))
                return 0;
        }
    return 1;
}

/* Nanoseconds that it takes here to make a library with a document. */
static long making(void)
{
    struct timespec from, to;
    gkv_library *l;

    clock_gettime(CLOCK_MONOTONIC, &from);
    l = fresh("measured");
    put(l, "a", version(0, 0));
    gkv_library_close(l);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (to.tv_sec - from.tv_sec) * 1000000000 + to.tv_nsec - from.tv_nsec;
}

static void test_killed(void)
{
    unsigned x = 12345, broken = 0, orphans = 0, none = 0;
    const long made = making(), most = made < 300000000 ? made : 300000000;

    for (unsigned i = 0; i < KILLS; i++) {
        const pid_t pid = fork();
        gkv_library *l = NULL;
        size_t n;

        if (!pid)
            write_on(i);
        x = x * 1103515245 + 12345;
        /* The first ones while the library is being made. */
        nanosleep(&(struct timespec){ 0, i < 8 ? (long)i * most / 16 : most / 4 + (long)(x / 65536 % 1000) * (3 * most / 1000) }, NULL);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        err.status = GKV_OK;
        if (gkv_library_open(&l, at("killed"), 0, &err)) {
            none++;
            broken += err.status != GKV_IO;
            continue;
        }
        broken += !sound(l);
        n = entries(l);
        gkv_library_close(l);
        orphans += (unsigned)(count("killed/segments") - n);
        l = library("killed", GKV_LIBRARY_WRITE);
        broken += !l || !sound(l) || count("killed/segments") != entries(l);
        gkv_library_close(l);
    }
    ok(!broken && none < KILLS / 2, "killed %d times: %u times broken, %u segments left over, %u times not yet a library", KILLS, broken,
       orphans, none);
}

/* While one writes and removes segments, others always find one. */
static void test_readers(void)
{
    const pid_t pid = fork();
    gkv_library *l = NULL;
    int good = 0, bad = 0;

    if (!pid)
        for (unsigned i = 0; ; i++) {
            if (!l)
                l = library("two", GKV_LIBRARY_WRITE);
            put(l, "cats", i % 2 ? cats : birds);
        }
    for (int i = 0; i < 60; i++) {
        gkv_document *d = NULL;

        if (!gkv_library_open(&l, at("two"), 0, &err) && !gkv_library_load(l, "cats", model, &opt, &d, &err) &&
            entries(l) == 3)
            good++;
        else
            printf("# %d: %s\n", bad++, err.text);
        gkv_document_close(d);
        for (int k = 0; k < 20 && l; k++) {
            d = NULL;
            if (gkv_library_load(l, "cats", model, &opt, &d, &err))
                printf("# %d: %s\n", bad++, err.text);
            gkv_document_close(d);
        }
        gkv_library_close(l);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    ok(good == 60 && !bad, "60 readers beside a writer: %d were served, %d times not", good, bad);
}

static void test_libraries(void)
{
    char path[512];

    snprintf(path, sizeof path, "%s/data/gemkv-mini-q8_0.gguf", getenv("srcdir") ? getenv("srcdir") : ".");
    if (!mkdtemp(scratch) || gkv_model_open(&model, path, GKV_MODEL_VOCAB_ONLY, &err) != GKV_OK) {
        printf("Bail out! %s\n", err.text);
        exit(1);
    }
    gkv_options_init(&opt);
    test_hash();
    test_put();
    test_find();
    test_refused();
    test_two();
    test_segments();
    test_parts();
    test_catalogue();
    test_noise();
    test_system();
    test_refusals();
    test_killed();
    test_readers();
    gkv_model_close(model);
    snprintf(path, sizeof path, "rm -rf '%s'", scratch);
    if (system(path))
        printf("# %s is left\n", scratch);
}
#else
static void test_libraries(void)
{
    gkv_library *l;

    ok(gkv_library_open(&l, "x", 0, &err) == GKV_UNSUPPORTED && !l && strstr(err.text, "--with-sqlite"), "%s",
       err.text);
}
#endif

int main(void)
{
    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    test_passages();
    test_words();
    test_segment_sum();
    test_libraries();
    return done();
}
