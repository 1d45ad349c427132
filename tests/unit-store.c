/* SPDX-License-Identifier: BSD-2-Clause
 * unit-store.c - the files that a server keeps: its folder, texts and what is known of them, also where the system refuses
 * to store or to read them, and data of a request that becomes a file */
#include "config.h"
#include "tests/tap.h"
#if HAVE_LIBMICROHTTPD
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/say.h"
#include "src/cli/serve/base64.h"
#include "src/cli/serve/store.h"
#include "src/cli/text.h"
#include "tests/folder.h"
#include "tests/refuse.h"

static char          scratch[] = "/tmp/unit-store-XXXXXX";
static struct io     io;
static char         *said;                      /* what was told, once io.err is flushed */
static size_t        n_said;
static struct folder place = { .path = scratch, .lock = -1 };

static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

/* ---- files that outlive the server ---------------------------------------------------------- */
static bool is_there(const struct folder *f, const char *name)
{
    char      *file = folder_file(f, name);
    const bool is = !access(file, F_OK);

    free(file);
    return is;
}

/* The names of all files, the oldest first; until the next call. */
static const char *names(struct store *s)
{
    static struct text t;
    size_t             n;
    struct stored     *list = store_list(s, &n);

    t.n = 0;
    text_add(&t, "", 0);
    for (size_t i = 0; i < n; i++) {
        text_printf(&t, "%s%s", i ? " " : "", list[i].name);
        stored_free(&list[i]);
    }
    free(list);
    return t.p;
}

/* What cannot be read while the system refuses it is not lost: a store is opened and knows no file, with a warning. */
static const struct folder *refused_folder;

static bool knows_none(void)
{
    struct store *s = store_open(refused_folder, 40, &io);

    fflush(io.err);
    return !*names(s) && strstr(said, "left out: ");
}

static bool is_not_opened(void)
{
    struct folder f = { .lock = -1 };

    return folder_open(&f, &io, scratch) == EXIT_FAILED;
}

#ifdef SYS_getdents64
#define CALL_LIST SYS_getdents64
#else
#define CALL_LIST SYS_getdents
#endif

static void test_unreadable(const struct folder *f)
{
    static const struct { const char *what; int calls[MOST_CALLS], error; bool (*f)(void); } rows[] = {
        { "files that cannot be read stay", { SYS_read, NO_CALL }, EIO, knows_none },
        { "files that cannot be looked at stay", CALLS_STAT, EACCES, knows_none },
        { "files stay without descriptors", CALLS_OPEN, EMFILE, knows_none },
        { "files that cannot be listed stay", { CALL_LIST, NO_CALL }, EIO, knows_none },
        { "a folder that cannot be listed is not taken for an empty one", { CALL_LIST, NO_CALL }, EIO, is_not_opened }
    };

    refused_folder = f;
    fflush(io.err);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const int code = refusing(rows[i].calls, rows[i].error, rows[i].f);

        if (code == NOT_REFUSED)
            skip("no seccomp", "%s", rows[i].what);
        else
            ok(!code && is_there(f, "file-0000000000000001") && is_there(f, "file-0000000000000001.json"), "%s", rows[i].what);
    }
}

static void test_lasting(void)
{
    struct folder f = { .lock = -1 }, other = { .lock = -1 };
    struct store *s;
    struct stored got;
    char          kept[100], *source, *path, *why = NULL;
    int           code;

    snprintf(kept, sizeof kept, "%s/kept", scratch);
    ok(!folder_open(&f, &io, kept) && f.lasts && is_there(&f, "gemkv-serve.lock"), "a folder that lasts is made");
    ok(folder_open(&other, &io, kept) == EXIT_FAILED, "another server does not get it");
    folder_close(&other);
    put_in(&f, "source", "One text.");
    source = folder_file(&f, "source");
    s = store_open(&f, 40, &io);
    ok(!store_add(s, source, "b.txt", false, &got, &why) && !why && got.bytes == 9 && is_there(&f, got.id), "a file is added");
    stored_free(&got);
    ok(!store_add(s, source, "c.txt", true, &got, &why), "... and one that passes");
    stored_free(&got);
    put_in(&f, "file-0000000000000001", "Older");
    put_in(&f, "file-0000000000000001.json", "{\"name\": \"old.txt\", \"remark\": \"a remark\", \"part\": \"slide\", \"bytes\": 77, \"created\": 5}");
    put_in(&f, "file-0000000000000002", "Oldest");
    put_in(&f, "file-0000000000000002.json", "{\"name\": \"oldest.txt\", \"bytes\": 6, \"created\": 4}");
    put_in(&f, "file-0000000000000003", "As old");
    put_in(&f, "file-0000000000000003.json", "{\"name\": \"z as old.txt\", \"bytes\": 6, \"created\": 5}");
    put_in(&f, "file-0000000000000004", "without the rest");
    put_in(&f, "file-0000000000000005.json", "{\"name\": \"without a text\"}");
    put_in(&f, "file-0000000000000006", "with half of it");
    put_in(&f, "file-0000000000000006.json", "{\"name\": \"hal");
    put_in(&f, "file-0000000000000007", "with another");
    put_in(&f, "file-0000000000000007.json", "[\"name\"]");
    put_in(&f, "file-0000000000000008", "without a name");
    put_in(&f, "file-0000000000000008.json", "{\"bytes\": 5}");
    put_in(&f, "file-000000000000000000000000000009", "a name that is too long");
    put_in(&f, "upload-1", "begun");
    put_in(&f, "inline-1", "begun");
    put_in(&f, "index-1", "an index");
    ok(!strcmp(names(s), "b.txt c.txt"), "it does not look again while it is open");
    store_close(s);
    folder_close(&f);

    ok(!folder_open(&f, &io, kept) && !is_there(&f, "upload-1") && !is_there(&f, "inline-1") && is_there(&f, "index-1"),
       "what was only begun goes at the next start");
    test_unreadable(&f);
    s = store_open(&f, 40, &io);
    ok(!strcmp(names(s), "oldest.txt old.txt z as old.txt b.txt"), "files are there again, the oldest first: %s", names(s));
    ok(store_get(s, "file-0000000000000001", &got) && !strcmp(got.remark, "a remark") && !strcmp(got.part, "slide") && got.bytes == 77 &&
       got.created == 5, "... with what is known of them");
    stored_free(&got);
    ok(store_get(s, "file-0000000000000002", &got) && !got.remark && !got.part && got.bytes == 6 && got.created == 4, "... or is not");
    stored_free(&got);
    ok(!is_there(&f, "file-0000000000000004") && !is_there(&f, "file-0000000000000005.json") && !is_there(&f, "file-0000000000000006") &&
       !is_there(&f, "file-0000000000000006.json") && !is_there(&f, "file-0000000000000007") && !is_there(&f, "file-0000000000000008"),
       "what is not whole is removed");
    ok(is_there(&f, "file-000000000000000000000000000009"), "... but not what is none of ours");
    ok(!store_get(s, "file-0000000000000004", &got) && !store_get(s, "file-", &got), "... and not known");
    code = store_add(s, source, "d.txt", false, &got, &why);
    ok(!code, "26 bytes of 40 are used, 9 more fit");
    if (!code)
        stored_free(&got);
    free(why);
    code = store_add(s, source, "e.txt", false, &got, &why);
    ok(code == EXIT_FAILED && strstr(why, "no room"), "... but not twice");
    free(why);
    ok(store_remove(s, "file-0000000000000001") && !is_there(&f, "file-0000000000000001") && !is_there(&f, "file-0000000000000001.json") &&
       !store_remove(s, "file-0000000000000001") && !strcmp(names(s), "oldest.txt z as old.txt b.txt d.txt"), "one goes with what is known of it");
    ok(!store_add(s, source, "e.txt", true, &got, &why), "... and leaves room");
    stored_free(&got);
    store_close(s);
    ok(is_there(&f, "file-0000000000000002") && is_there(&f, "file-0000000000000002.json"), "the others stay");
    free(source);
    folder_close(&f);
    snprintf(kept, sizeof kept, "rm -rf '%s/kept'", scratch);
    ok(!system(kept), "the folder is removed");

    put_in(&place, "mine", "");
    ok(folder_open(&f, &io, scratch) == EXIT_FAILED && files_in(&place, "mine") == 1, "a folder of others is left alone");
    folder_close(&f);
    path = folder_file(&place, "mine");
    unlink(path);
    free(path);
    setenv("TMPDIR", scratch, 1);
    ok(!folder_open(&f, &io, NULL) && begins(f.path, scratch) && !f.lasts && f.dir, "one that goes with the server");
    ok(files_in(&place, "gemkv-serve-") == 1, "... is in $TMPDIR");
    folder_close(&f);
    ok(files_in(&place, "gemkv-serve-") == 0, "... and goes");
    setenv("TMPDIR", "/nowhere", 1);
    ok(folder_open(&f, &io, NULL) == EXIT_FAILED && !f.path, "where none can be made");
    folder_close(&f);
    unsetenv("TMPDIR");
    fflush(io.err);
    ok(strstr(said, "/kept: another server keeps its files there") && strstr(said, ": has files of others; give a new folder to --folder") &&
       strstr(said, "gemkv: /nowhere: no folder can be made there: No such file or directory"), "... which is said");
}

/* It is not added; why, until the next call. */
static const char *not_added(struct store *s, const char *file, const char *name)
{
    static char  *why;
    struct stored got;

    free(why);
    why = NULL;
    if (store_add(s, file, name, false, &got, &why))
        return why ? why : "?";
    stored_free(&got);
    return "it was added";
}

/* What cannot be stored leaves nothing. */
static void test_storing(void)
{
    static char   text[10000];
    struct folder f = { .lock = -1 }, nowhere = { .path = NULL, .lasts = true, .lock = -1 };
    struct store *s;
    struct stored got;
    char          kept[100], long_path[PATH_MAX], *source, *large, *why = NULL;
    const char   *said_why;
    size_t        n;

    snprintf(kept, sizeof kept, "%s/kept", scratch);
    folder_open(&f, &io, kept);
    put_in(&f, "source", "One text.");
    memset(text, 'x', sizeof text - 1);
    put_in(&f, "large", text);
    source = folder_file(&f, "source");
    large = folder_file(&f, "large");
    s = store_open(&f, 100000, &io);
    limit_files(5);
    said_why = not_added(s, source, "a.txt");
    limit_files(RLIM_INFINITY);
    ok(!strcmp(said_why, "its text cannot be stored: File too large") && !files_in(&f, "file-"), "a text that cannot be written: %s", said_why);
    limit_files(5000);
    said_why = not_added(s, large, "a.txt");
    limit_files(RLIM_INFINITY);
    ok(!strcmp(said_why, "its text cannot be stored: File too large") && !files_in(&f, "file-"), "... or half of it: %s", said_why);
    limit_files(20);
    said_why = not_added(s, source, "a.txt");
    limit_files(RLIM_INFINITY);
    ok(!strcmp(said_why, "what belongs to its text cannot be stored: File too large") && !files_in(&f, "file-"),
       "what belongs to it cannot be written: %s", said_why);
    said_why = not_added(s, "/nowhere/at/all", "some/a.txt");
    ok(!strcmp(said_why, "a.txt: cannot open: No such file or directory"), "a file that is none: %s", said_why);
    ok(!strcmp(names(s), ""), "nothing of them is known");
    ok(!store_add(s, source, "a\\b/c\377d\001.txt", false, &got, &why) && !strcmp(got.name, "c_d_.txt"), "a name is one line of text");
    stored_free(&got);
    ok(!store_add(s, source, "some/", false, &got, &why) && !strcmp(got.name, "document") && got.created > 1500000000,
       "one without a name gets one");
    stored_free(&got);
    put_in(&f, "file-0000000000000001.json", "{\"name\": \"x\"}");
    snprintf(long_path, sizeof long_path, "%s/file-0000000000000001", kept);
    ok(!symlink("/nowhere/at/all", long_path), "a text that leads nowhere");
    store_close(s);
    s = store_open(&f, 10, &io);
    ok(!strcmp(names(s), "c_d_.txt document") || !strcmp(names(s), "document c_d_.txt"), "... is none: %s", names(s));
    ok(strstr(not_added(s, source, "a.txt"), "no room"), "what is there already may be more than there is room for");
    store_close(s);

    /* A path so long that the text's fits, but not that of what belongs to it, which is 5 bytes longer. */
    n = (size_t)snprintf(long_path, sizeof long_path, "%s/long", kept);
    mkdir(long_path, 0700);
    while (n + 1 + 21 < PATH_MAX - 1) {
        long_path[n] = n + 2 + 21 < PATH_MAX - 1 && long_path[n - 1] == '/' ? '.' : '/';
        long_path[++n] = 0;
    }
    nowhere.path = long_path;
    s = store_open(&nowhere, 1000, &io);
    said_why = not_added(s, source, "a.txt");
    ok(!strcmp(said_why, "what belongs to its text cannot be stored: File name too long") && !files_in(&nowhere, "file-"),
       "what belongs to it has no place: %s", said_why);
    store_close(s);
    nowhere.path = (char[]){ "/nowhere/at/all" };
    s = store_open(&nowhere, 1000, &io);
    ok(!strcmp(not_added(s, source, "a.txt"), "its text cannot be stored: No such file or directory"), "a folder that is gone");
    store_close(s);
    store_close(NULL);
    free(source);
    free(large);
    folder_close(&f);
    snprintf(kept, sizeof kept, "rm -rf '%s/kept'", scratch);
    ok(!system(kept), "the folder is removed");
}

static struct store *shared;
static char          pipe_path[3][100];

static void *add_one(void *arg)
{
    struct stored got;
    char         *why = NULL;
    const int     code = store_add(shared, arg, "x.txt", true, &got, &why);

    free(why);
    if (!code)
        stored_free(&got);
    return code ? arg : NULL;
}

/* Two files are read at a time, the third one then: a pipe is read as long as its writer writes. */
static void test_readers(void)
{
    struct folder f = { .lock = -1 };
    pthread_t     thread[3];
    int           fd[3] = { -1, -1, -1 };
    size_t        bad = 0, n;
    void         *failed;

    setenv("TMPDIR", scratch, 1);
    folder_open(&f, &io, NULL);
    unsetenv("TMPDIR");
    shared = store_open(&f, 100000, &io);
    for (size_t i = 0; i < 3; i++) {
        snprintf(pipe_path[i], sizeof pipe_path[i], "%s/pipe%zu", scratch, i);
        bad += mkfifo(pipe_path[i], 0600) != 0;
    }
    for (size_t i = 0; i < 2; i++) {
        pthread_create(&thread[i], NULL, add_one, pipe_path[i]);
        fd[i] = open(pipe_path[i], O_WRONLY | O_CLOEXEC);       /* until it is opened to be read */
    }
    pthread_create(&thread[2], NULL, add_one, pipe_path[2]);
    for (int i = 0; i < 50 && (fd[2] = open(pipe_path[2], O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0 && errno == ENXIO; i++)
        nanosleep(&(struct timespec){ 0, 2000000 }, NULL);      /* it would be opened by now, most likely */
    ok(!bad && fd[0] >= 0 && fd[1] >= 0 && fd[2] < 0 && errno == ENXIO, "two are read, the third one is not");
    for (size_t i = 0; i < 3; i++) {
        if (i == 2)
            fd[i] = open(pipe_path[i], O_WRONLY | O_CLOEXEC);
        bad += write(fd[i], "text", 4) != 4;
        close(fd[i]);
        if (i)
            continue;
        pthread_join(thread[i], &failed);
        bad += failed != NULL;
    }
    for (size_t i = 1; i < 3; i++) {
        pthread_join(thread[i], &failed);
        bad += failed != NULL;
    }
    for (size_t i = 0; i < 3; i++)
        unlink(pipe_path[i]);
    n = files_in(&f, "file-");
    ok(!bad && n == 3, "... but then");
    store_close(shared);
    ok(!files_in(&f, "file-"), "they go with the server");
    folder_close(&f);
}

static void test_places(void)
{
    struct folder f = { .lock = -1 };
    struct rlimit r, few;
    struct text   t = { NULL, 0, 0 };
    char          template[100];
    int           fd, code;
    bool          good;

    unsetenv("TMPDIR");
    ok(!folder_open(&f, &io, NULL) && begins(f.path, "/tmp/gemkv-serve-"), "without $TMPDIR it is /tmp");
    folder_close(&f);
    setenv("TMPDIR", "", 1);
    ok(!folder_open(&f, &io, NULL) && begins(f.path, "/tmp/gemkv-serve-"), "... and with an empty one");
    folder_close(&f);
    setenv("TMPDIR", scratch, 1);
    fd = dup(0);
    close(fd);
    getrlimit(RLIMIT_NOFILE, &r);
    few = r;
    few.rlim_cur = (rlim_t)fd;
    setrlimit(RLIMIT_NOFILE, &few);
    code = folder_open(&f, &io, NULL);
    setrlimit(RLIMIT_NOFILE, &r);
    unsetenv("TMPDIR");
    fflush(io.err);
    ok(code == EXIT_FAILED && !f.path && !files_in(&place, "gemkv-serve-") && strstr(said, "no folder can be made there: Too many open files"),
       "one that cannot be opened is not left");
    folder_close(&f);

    snprintf(template, sizeof template, "%s/nowhere/data-XXXXXX", scratch);
    ok(!base64_to_file("QUJD", template), "data has no place");
    snprintf(template, sizeof template, "%s/data-XXXXXX", scratch);
    good = base64_to_file("QU JD\nRA==", template);
    fd = open(template, O_RDONLY | O_CLOEXEC);
    text_read(&t, fd);
    ok(good && t.n == 4 && !memcmp(t.p, "ABCD", 4), "data is decoded");
    close(fd);
    text_free(&t);
    unlink(template);
    snprintf(template, sizeof template, "%s/data-XXXXXX", scratch);
    limit_files(2);
    good = base64_to_file("QUJD", template);
    limit_files(RLIM_INFINITY);
    ok(!good && !files_in(&place, "data-"), "... or leaves nothing");
}

int main(void)
{
    setenv("LC_ALL", "C", 1);
    if (!mkdtemp(scratch)) {
        printf("Bail out! %s: %s\n", scratch, strerror(errno));
        return 1;
    }
    io = (struct io){ .out = fopen("/dev/null", "w"), .err = open_memstream(&said, &n_said) };
    test_lasting();
    test_storing();
    test_readers();
    test_places();
    ok(!files_in(&place, "") && !rmdir(scratch), "nothing is left");
    fclose(io.out);
    fclose(io.err);
    free(said);
    return done();
}
#else
int main(void)
{
    return skip_all("no libmicrohttpd");
}
#endif
