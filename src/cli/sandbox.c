/* SPDX-License-Identifier: BSD-2-Clause
 * sandbox.c - see sandbox.h */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/sandbox.h"

bool sandbox_wanted(void)
{
    const char *wanted = getenv("GEMKV_SANDBOX");

    return !wanted || strcmp(wanted, "off");
}

#if HAVE_LINUX_LANDLOCK_H
#include <fcntl.h>
#include <linux/landlock.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "src/cli/say.h"

/* struct landlock_ruleset_attr of version 6.  The header may be older than the kernel; the kernel's bits never change. */
struct rules {
    uint64_t files, net, scope;
};

enum {
    READ_FILE = LANDLOCK_ACCESS_FS_READ_FILE,
    READ      = READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR,
    EXECUTE   = LANDLOCK_ACCESS_FS_EXECUTE,
    REFER     = 1 << 13,
    TRUNCATE  = 1 << 14,
    IOCTL_DEV = 1 << 15,
    WRITE     = LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE,
    CHANGE    = READ | WRITE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_DIR
                | LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO
                | LANDLOCK_ACCESS_FS_MAKE_SYM | REFER
};

/* All that a kernel of that version can refuse. */
static struct rules all_of(long version)
{
    static const struct { long version; struct rules r; } known[] = {
        { 1, { REFER - 1, 0, 0 } },
        { 2, { REFER, 0, 0 } },                 /* files that move between folders        */
        { 3, { TRUNCATE, 0, 0 } },
        { 4, { 0, 3, 0 } },                     /* TCP: bind, connect                     */
        { 5, { IOCTL_DEV, 0, 0 } },             /* ioctl on devices                       */
        { 6, { 0, 0, 3 } }                      /* abstract sockets, signals              */
    };
    struct rules all = { 0, 0, 0 };

    for (size_t i = 0; i < sizeof known / sizeof *known && known[i].version <= version; i++) {
        all.files |= known[i].r.files;
        all.net |= known[i].r.net;
        all.scope |= known[i].r.scope;
    }
    return all;
}

static void allow(int set, const struct rules *all, int fd, uint64_t access)
{
    const struct landlock_path_beneath_attr a = { .allowed_access = access & all->files, .parent_fd = fd };

    syscall(__NR_landlock_add_rule, set, LANDLOCK_RULE_PATH_BENEATH, &a, 0);     /* fails for a pipe, which needs none */
}

static void allow_path(int set, const struct rules *all, const char *path, uint64_t access)
{
    int fd = open(path, O_PATH | O_CLOEXEC);

    if (fd >= 0) {
        allow(set, all, fd, access);
        close(fd);
    }
}

/* What belongs to the programs of a folder PREFIX/bin: of Conda's or Homebrew's, the libraries are in PREFIX/lib. */
static void allow_beside(int set, const struct rules *all, const char *bin)
{
    static const char *const known[] = { "lib", "lib64", "libexec", "Cellar", "etc/fonts", "share/fonts", "share/poppler",
                                         "share/tessdata", "share/antiword", "share/catdoc" };
    const size_t n = strlen(bin);
    char         path[4096 + 32];

    for (size_t i = 0; n >= 4 && !strcmp(bin + n - 4, "/bin") && i < sizeof known / sizeof *known; i++) {
        snprintf(path, sizeof path, "%.*s/%s", (int)n - 4, bin, known[i]);
        allow_path(set, all, path, READ | EXECUTE);
    }
}

/* The folders that a variable such as $PATH names. */
static void allow_folders(int set, const struct rules *all, const char *variable)
{
    const char *s = getenv(variable);
    char        path[4096];

    for (size_t n; s && *s; s += n + (s[n] == ':')) {
        n = strcspn(s, ":");
        if (*s != '/' || n >= sizeof path)
            continue;
        memcpy(path, s, n);
        path[n] = 0;
        allow_path(set, all, path, READ | EXECUTE);
        allow_beside(set, all, path);
    }
}

/* What each may use that belongs to the system: a reader of ours, a program, gemkv itself. */
enum who { READER, PROGRAM, SELF, N_WHO };

static void allow_system(int set, const struct rules *all, enum who who)
{
    static const struct { const char *path; uint64_t access[N_WHO]; } known[] = {
        { "/usr/lib", { READ, READ | EXECUTE, READ | EXECUTE } },       /* iconv's tables are there */
        { "/usr/lib64", { READ, READ | EXECUTE, READ | EXECUTE } },
        { "/usr/lib32", { READ, READ | EXECUTE, READ | EXECUTE } },
        { "/lib", { READ, READ | EXECUTE, READ | EXECUTE } },
        { "/lib64", { READ, READ | EXECUTE, READ | EXECUTE } },
        { "/nix/store", { READ, READ | EXECUTE, READ | EXECUTE } },
        { "/gnu/store", { READ, READ | EXECUTE, READ | EXECUTE } },
        { "/usr", { 0, READ | EXECUTE, READ | EXECUTE } },
        { "/bin", { 0, READ | EXECUTE, READ | EXECUTE } },
        { "/etc", { 0, READ | EXECUTE, READ | EXECUTE } },
        { "/opt", { 0, READ | EXECUTE, READ | EXECUTE } },
        { "/dev/null", { 0, READ_FILE | WRITE, READ_FILE | WRITE } },
        { "/dev/zero", { 0, READ_FILE, READ_FILE } },
        { "/dev/random", { 0, READ_FILE, READ_FILE } },
        { "/dev/urandom", { 0, READ_FILE, READ_FILE } },
        { "/proc", { 0, 0, READ } },            /* memory, processors                     */
        { "/sys", { 0, 0, READ } },
        { "/run/systemd/resolve", { 0, 0, READ } },     /* where /etc/resolv.conf may lead */
        { "/run/NetworkManager", { 0, 0, READ } },
        { "/run/resolvconf", { 0, 0, READ } },
        { "/var/lib/ca-certificates", { 0, 0, READ } }  /* ... and /etc/ssl/certs         */
    };

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].access[who])
            allow_path(set, all, known[i].path, known[i].access[who]);
    if (who == READER)
        return;
    allow_folders(set, all, "PATH");            /* what the user's programs are found by  */
    allow_folders(set, all, "LD_LIBRARY_PATH");
    allow_folders(set, all, "TESSDATA_PREFIX");
}

/* A set of rules in which nothing is allowed yet; -1: this kernel has none. */
static int rules_new(struct rules *all, bool network)
{
    const long version = syscall(__NR_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);

    *all = all_of(version);
    if (network)
        all->net = 0;
    return version < 1 ? -1 : (int)syscall(__NR_landlock_create_ruleset, all, sizeof *all, 0);
}

/* ---- who reads a document ------------------------------------------------------------------ */
void sandbox_enter(const char *dir, int file, int err)
{
    struct rules all;
    const int    set = rules_new(&all, false);

    if (set < 0)
        return;
    allow_system(set, &all, dir ? PROGRAM : READER);
    if (dir) {
        allow_path(set, &all, dir, CHANGE);
        allow(set, &all, file, READ_FILE);
        allow(set, &all, err, READ_FILE | WRITE);
    }
    syscall(__NR_landlock_restrict_self, set, 0);
    close(set);
}

/* ---- gemkv itself -------------------------------------------------------------------------- */
struct sandbox {
    int          set;
    struct rules all;
    bool         network;
};

struct sandbox *sandbox_new(bool network)
{
    const char     *tmp = getenv("TMPDIR");
    struct sandbox *s;

    if (!sandbox_wanted())
        return NULL;
    s = grow(NULL, 1, sizeof *s);
    s->network = network;
    s->set = rules_new(&s->all, network);
    if (s->set < 0)
        return s;
    allow_system(s->set, &s->all, SELF);
    sandbox_change(s, tmp && *tmp ? tmp : "/tmp");
    sandbox_change(s, "/tmp");                  /* tmpfile()                              */
    sandbox_change(s, "/var/tmp");
    return s;
}

/* Landlock refuses rights on a file that only a folder can have. */
static void allow_either(struct sandbox *s, const char *path, uint64_t file, uint64_t folder)
{
    struct stat st;

    if (s && s->set >= 0 && path && !stat(path, &st))
        allow_path(s->set, &s->all, path, S_ISDIR(st.st_mode) ? folder : file);
}

void sandbox_read(struct sandbox *s, const char *path)
{
    allow_either(s, path, READ_FILE, READ);
}

void sandbox_change(struct sandbox *s, const char *folder)
{
    allow_either(s, folder, READ_FILE | WRITE, CHANGE);
}

void sandbox_begin(struct sandbox *s)
{
    if (!s)
        return;
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (s->set >= 0) {
        syscall(__NR_landlock_restrict_self, s->set, 0);
        close(s->set);
    }
    sandbox_calls(s->network);
    free(s);
}
#else
void sandbox_enter(const char *dir, int file, int err)
{
    (void)dir;
    (void)file;
    (void)err;
}

struct sandbox *sandbox_new(bool network)
{
    (void)network;
    return NULL;
}

void sandbox_read(struct sandbox *s, const char *path)
{
    (void)s;
    (void)path;
}

void sandbox_change(struct sandbox *s, const char *folder)
{
    (void)s;
    (void)folder;
}

void sandbox_begin(struct sandbox *s)
{
    (void)s;
}
#endif
