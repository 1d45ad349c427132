/* SPDX-License-Identifier: BSD-2-Clause
 * unit-library.c - a library gives back what was put into it, finds it by its words, refuses what does not fit, and has
 * one writer and many readers. */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/base/sum.h"
#include "src/library/folder.h"
#include "src/library/passage.h"
#include "tests/library-help.h"
#include "tests/tap.h"

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
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- what is put in --------------------------------------------------------------------- */

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
    help_begin();
    test_hash();
    test_put();
    test_find();
    test_refused();
    test_two();
    test_readers();
    help_end();
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
