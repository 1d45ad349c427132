/* SPDX-License-Identifier: BSD-2-Clause
 * unit-library-damage.c - what is damaged in a library is named, and is believed nowhere; the library is the old one or
 * the new one whenever its writer is killed, and as it was when the system refuses something. */
#include "config.h"
#include "tests/tap.h"

#if HAVE_SQLITE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "tests/library-help.h"
#include "tests/refuse.h"

/* ---- damage ----------------------------------------------------------------------------- */

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

int main(void)
{
    if (BIG_ENDIAN_HOST)
        return skip_all("big-endian machine");
    help_begin();
    test_segments();
    test_parts();
    test_catalogue();
    test_noise();
    test_system();
    test_refusals();
    test_killed();
    help_end();
    return done();
}
#else
int main(void)
{
    return skip_all("no SQLite in this build");
}
#endif
