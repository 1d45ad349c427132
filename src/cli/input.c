/* SPDX-License-Identifier: BSD-2-Clause
 * input.c - see input.h
 *
 * The first bytes decide what a file is: compressed text is decompressed here, documents go through
 * a converter of the system, other binaries are refused with advice, and the rest is text, which
 * the library checks.  For HTML and among ZIP archives the file's name decides. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#if HAVE_ZLIB
#include <zlib.h>
#endif
#if HAVE_ZSTD
#include <zstd.h>
#endif
#include "src/cli/input.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

enum { PIECE = 1 << 20 };

struct in {
    struct io  *io;
    const char *path, *name;
    int         fd;
    char       *buf;            /* PIECE bytes, of which ...                              */
    size_t      len;            /* ... so many are read but not used; 0: end of file      */
    input_sink *sink;
    void       *arg;
};

const char *input_name(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

/* Reads until there are at least `want` bytes in the buffer, or the file ends. */
static int more(struct in *in, size_t want)
{
    while (in->len < want) {
        ssize_t n = read(in->fd, in->buf + in->len, PIECE - in->len);

        if (n < 0 && errno == EINTR) {
            if (progress_cancelled())
                return fail(in->io, EXIT_FAILED, "cancelled while reading %s", in->name);
            continue;
        }
        if (n < 0)
            return fail(in->io, EXIT_FAILED, "%s: cannot read: %s", in->name, strerror(errno));
        if (n == 0)
            break;
        in->len += (size_t)n;
    }
    return 0;
}

/* Replaces the buffer with the next bytes of the file: at least `want`, unless the file ends. */
static int fill(struct in *in, size_t want)
{
    in->len = 0;
    return more(in, want);
}

static int read_text(struct in *in)
{
    int code = 0;

    while (!code && in->len) {
        code = in->sink(in->arg, in->buf, in->len);
        if (!code)
            code = fill(in, 1);
    }
    return code;
}

/* ---- compressed text ----------------------------------------------------------------- */
#if HAVE_ZLIB || HAVE_ZSTD
static int damaged(const struct in *in, const char *how, const char *why)
{
    return fail(in->io, EXIT_DOCUMENT, "%s: damaged %s data: %s; get the file again", in->name, how,
                why);
}
#endif

#if HAVE_ZLIB
static int read_gzip(struct in *in)
{
    z_stream z = { 0 };
    char    *out = grow(NULL, PIECE, 1);
    int      code = 0, r = Z_OK;

    if (inflateInit2(&z, 15 + 16) != Z_OK)
        out_of_memory();
    while (!code && in->len) {
        z.next_in = (Bytef *)in->buf;
        z.avail_in = (uInt)in->len;
        do {
            if (r == Z_STREAM_END)              /* files may be concatenated */
                inflateReset(&z);
            z.next_out = (Bytef *)out;
            z.avail_out = PIECE;
            r = inflate(&z, Z_NO_FLUSH);
            if (r != Z_OK && r != Z_STREAM_END && r != Z_BUF_ERROR)
                code = damaged(in, "gzip", z.msg ? z.msg : "not gzip");
            else if (z.avail_out < PIECE)
                code = in->sink(in->arg, out, PIECE - z.avail_out);
        } while (!code && (z.avail_in || (!z.avail_out && r != Z_STREAM_END)));
        if (!code)
            code = fill(in, 1);
    }
    if (!code && r != Z_STREAM_END)
        code = damaged(in, "gzip", "it ends too early");
    inflateEnd(&z);
    free(out);
    return code;
}
#else
#define read_gzip NULL
#endif

#if HAVE_ZSTD
static int read_zstd(struct in *in)
{
    ZSTD_DStream *z = ZSTD_createDStream();
    char         *out = grow(NULL, PIECE, 1);
    size_t        r = 1;
    int           code = 0;

    if (!z)
        out_of_memory();
    while (!code && in->len) {
        ZSTD_inBuffer  from = { in->buf, in->len, 0 };
        ZSTD_outBuffer to;

        do {
            to = (ZSTD_outBuffer){ out, PIECE, 0 };
            r = ZSTD_decompressStream(z, &to, &from);
            if (ZSTD_isError(r))
                code = damaged(in, "zstd", ZSTD_getErrorName(r));
            else if (to.pos)
                code = in->sink(in->arg, out, to.pos);
        } while (!code && (from.pos < from.size || (to.pos == PIECE && r)));
        if (!code)
            code = fill(in, 1);
    }
    if (!code && r)
        code = damaged(in, "zstd", "it ends too early");
    ZSTD_freeDStream(z);
    free(out);
    return code;
}
#else
#define read_zstd NULL
#endif

/* ---- documents that a program of the system turns into text -------------------------- */
struct converter {
    const char *what, *suffix;          /* suffix NULL: any                               */
    const char *magic;                  /* NULL: any                                      */
    const char *argv[8];                /* FILE_ARG stands for the file                   */
    const char *package;                /* package with the program                       */
    bool        or_text;                /* without the program, read the file as text     */
};

static const char FILE_ARG[] = "FILE";

#define PANDOC(what, suffix, magic, from, or_text) \
    { what, suffix, magic, \
      { "pandoc", "-f", from, "-t", "plain", "--wrap=none", FILE_ARG }, "pandoc", or_text }

static const struct converter converters[] = {
    { "PDF", NULL, "%PDF-", { "pdftotext", "-q", "-enc", "UTF-8", FILE_ARG, "-" },
      "poppler-utils", false },
    PANDOC("DOCX", ".docx", "PK\3\4", "docx", false),
    PANDOC("OpenDocument", ".odt", "PK\3\4", "odt", false),
    PANDOC("EPUB", ".epub", "PK\3\4", "epub", false),
    PANDOC("HTML", ".html", NULL, "html", true),
    PANDOC("HTML", ".htm", NULL, "html", true)
};

static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return n >= k && !strcasecmp(s + n - k, suffix);
}

static bool starts_with(const struct in *in, const char *magic, size_t n)
{
    return in->len >= n && !memcmp(in->buf, magic, n);
}

/* Copies an input that cannot be opened a second time, a pipe, to a file without a name. */
static int spool(struct in *in)
{
    FILE *f = tmpfile();
    int   code = 0;

    if (!f)
        return fail(in->io, EXIT_FAILED, "%s: cannot make a temporary file: %s", in->name,
                    strerror(errno));
    while (!code && in->len) {
        if (fwrite(in->buf, 1, in->len, f) != in->len)
            code = fail(in->io, EXIT_FAILED, "%s: temporary file: %s", in->name, strerror(errno));
        else
            code = fill(in, 1);
    }
    if (!code && (fflush(f) || dup2(fileno(f), in->fd) < 0))
        code = fail(in->io, EXIT_FAILED, "%s: temporary file: %s", in->name, strerror(errno));
    fclose(f);
    return code;
}

/* Run argv with its standard output in a pipe.  0 or an errno. */
static int start(char **argv, int inherit, pid_t *pid, int *out)
{
    posix_spawn_file_actions_t act;
    extern char **environ;
    int  p[2], r;

    if (pipe(p))
        return errno;
    fcntl(p[0], F_SETFD, FD_CLOEXEC);
    fcntl(p[1], F_SETFD, FD_CLOEXEC);
    posix_spawn_file_actions_init(&act);
    /* dup2 onto itself clears close-on-exec here: the child may open /dev/fd/N. */
    posix_spawn_file_actions_adddup2(&act, inherit, inherit);
    posix_spawn_file_actions_adddup2(&act, p[1], STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&act, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    r = posix_spawnp(pid, argv[0], &act, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&act);
    close(p[1]);
    if (r)
        close(p[0]);
    else
        *out = p[0];
    return r;
}

static int convert(struct in *in, const struct converter *c)
{
    char        file[4096 + 8], *argv[9] = { NULL };
    struct stat st;
    pid_t       pid;
    int         r, status, out = -1, code;

    if (strcmp(in->path, "-") && !fstat(in->fd, &st) && S_ISREG(st.st_mode)) {
        /* A name like "-x" must not look like an option. */
        snprintf(file, sizeof file, "%s%s", in->path[0] == '-' ? "./" : "", in->path);
    } else {
        code = spool(in);
        if (code)
            return code;
        snprintf(file, sizeof file, "/dev/fd/%d", in->fd);
    }
    for (size_t i = 0; i < 8 && c->argv[i]; i++)
        argv[i] = c->argv[i] == FILE_ARG ? file : (char *)c->argv[i];

    r = start(argv, in->fd, &pid, &out);
    if (r == ENOENT && c->or_text) {
        warn(in->io, "%s: reading the %s as it is; install %s to read only its text", in->name,
             c->what, c->package);
        return read_text(in);
    }
    if (r == ENOENT)
        return fail(in->io, EXIT_DOCUMENT, "%s: %s needs %s, which is not installed; "
                    "on Debian: apt install %s", in->name, c->what, argv[0], c->package);
    if (r)
        return fail(in->io, EXIT_DOCUMENT, "%s: cannot run %s: %s", in->name, argv[0], strerror(r));

    close(in->fd);
    in->fd = out;
    code = fill(in, 1);
    if (!code)
        code = read_text(in);
    close(in->fd);              /* stops a converter that is still writing */
    in->fd = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!code && (!WIFEXITED(status) || WEXITSTATUS(status)))
        code = fail(in->io, EXIT_DOCUMENT, "%s: %s could not convert it; run '%s' on it to see why",
                    in->name, argv[0], argv[0]);
    return code;
}

/* ---- recognising files --------------------------------------------------------------- */
static int refuse(const struct in *in, const char *what, const char *advice)
{
    return fail(in->io, EXIT_DOCUMENT, "%s: %s, not text; %s", in->name, what, advice);
}

static int dispatch(struct in *in)
{
    static const struct {
        const char *magic, *what;
        size_t      n;
        int       (*read)(struct in *in);       /* NULL: not compiled in                  */
        const char *library;                    /* NULL: never read                       */
        const char *advice;
    } packed[] = {
        { "\x1f\x8b", "gzip", 2, read_gzip, "zlib", "pipe it through 'gzip -dc'" },
        { "\x28\xb5\x2f\xfd", "zstd", 4, read_zstd, "libzstd",
          "pipe it through 'zstd -dc'" },
        { "\xfd" "7zXZ", "xz", 5, NULL, NULL, "pipe it through 'xz -dc'" },
        { "BZh", "bzip2", 3, NULL, NULL, "pipe it through 'bzip2 -dc'" }
    };

    for (size_t i = 0; i < sizeof packed / sizeof *packed; i++) {
        if (!starts_with(in, packed[i].magic, packed[i].n))
            continue;
        if (packed[i].read)
            return packed[i].read(in);
        if (packed[i].library)
            return fail(in->io, EXIT_DOCUMENT, "%s: %s data, and this gemkv was built without %s; "
                        "%s", in->name, packed[i].what, packed[i].library,
                        packed[i].advice);
        return fail(in->io, EXIT_DOCUMENT, "%s: %s data; %s", in->name, packed[i].what,
                    packed[i].advice);
    }
    for (size_t i = 0; i < sizeof converters / sizeof *converters; i++) {
        const struct converter *c = &converters[i];

        if ((!c->magic || starts_with(in, c->magic, strlen(c->magic)))
            && (!c->suffix || ends_with(in->path, c->suffix)))
            return convert(in, c);
    }
    if (starts_with(in, "PK\3\4", 4))
        return refuse(in, "a ZIP archive", "unpack it, or name it .docx, .odt or .epub");
    if (starts_with(in, "GGUF", 4))
        return refuse(in, "a GGUF model", "give models with -m");
    return read_text(in);
}

/* The file was opened with O_NONBLOCK; from now on reads wait for data. */
static void block(const struct in *in)
{
    fcntl(in->fd, F_SETFL, fcntl(in->fd, F_GETFL) & ~O_NONBLOCK);
}

/* A FIFO without a writer must not hang the program: it was opened without blocking, and a writer has a few
 * seconds to appear. */
static int wait_for_writer(struct in *in)
{
    enum { TRIES = 50, MILLISECONDS = 100 };

    for (int i = 0; i < TRIES && !progress_cancelled(); i++) {
        struct pollfd p = { .fd = in->fd, .events = POLLIN };
        ssize_t       n = 0;

        if (poll(&p, 1, MILLISECONDS) == 0)
            n = read(in->fd, in->buf, PIECE);   /* 0: no writer; EAGAIN: a writer, but no data */
        if (n > 0)
            in->len = (size_t)n;
        if (p.revents || n) {
            block(in);
            return 0;
        }
    }
    if (progress_cancelled())
        return fail(in->io, EXIT_FAILED, "cancelled while waiting for %s", in->name);
    return fail(in->io, EXIT_DOCUMENT, "%s: a FIFO that nobody writes to; start its writer first",
                in->name);
}

int input_read(struct io *io, const char *path, input_sink *sink, void *arg)
{
    struct in   in = { io, path, input_name(path), -1, NULL, 0, sink, arg };
    struct stat st;
    int         code = 0;

    if (strcmp(path, "-")) {
        do
            in.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        while (in.fd < 0 && errno == EINTR && !progress_cancelled());
    } else {
        in.fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    if (in.fd < 0)
        return fail(io, EXIT_FAILED, "%s: cannot open: %s", in.name, strerror(errno));
    if (fstat(in.fd, &st)) {
        close(in.fd);
        return fail(io, EXIT_FAILED, "%s: cannot read: %s", in.name, strerror(errno));
    }
    if (S_ISDIR(st.st_mode)) {
        close(in.fd);
        return fail(io, EXIT_FAILED, "%s: a directory; give its files, one -f each", in.name);
    }
    in.buf = grow(NULL, PIECE, 1);
    if (strcmp(path, "-") && S_ISFIFO(st.st_mode))
        code = wait_for_writer(&in);
    else if (strcmp(path, "-"))                 /* a terminal opened by name may block */
        block(&in);
    if (!code)
        code = more(&in, 8);    /* enough to recognise every kind */
    if (!code)
        code = dispatch(&in);
    if (in.fd >= 0)
        close(in.fd);
    free(in.buf);
    return code;
}

struct bytes {
    char  *p;
    size_t n, room;
};

static int append(void *arg, const char *text, size_t len)
{
    struct bytes *b = arg;

    if (b->room - b->n < len) {
        b->room = 2 * (b->n + len);
        b->p = grow(b->p, b->room, 1);
    }
    if (len)
        memcpy(b->p + b->n, text, len);
    b->n += len;
    return 0;
}

int input_slurp(struct io *io, const char *path, char **text, size_t *len)
{
    struct bytes b = { NULL, 0, 0 };
    int          code = input_read(io, path, append, &b);

    append(&b, "", 1);
    *text = b.p;
    *len = b.n - 1;
    return code;
}
