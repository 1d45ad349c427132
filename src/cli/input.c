/* SPDX-License-Identifier: BSD-2-Clause
 * input.c - see input.h
 *
 * The first bytes decide what a file is (input/format.c).  What is no plain text goes through a process of its own
 * (input/child.c) until it is text; then its encoding is made UTF-8.  The library checks the text. */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <iconv.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/input.h"
#include "src/cli/input/child.h"
#include "src/cli/input/encoding.h"
#include "src/cli/input/format.h"
#include "src/cli/input/pages.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum { PIECE = 1 << 20, PACKED_DEPTH = 3 };

struct in {
    struct io  *io;
    const char *path, *name;
    struct input_how *how;
    int         fd;
    struct child child;         /* what is read comes from it, unless its pid is 0        */
    const char *program, *ours; /* ... and this is what it is called: a program, or "the reader of " a format */
    char       *buf;            /* PIECE bytes, of which ...                              */
    size_t      len;            /* ... so many are read but not used; 0: end of file      */
    bool        whole;          /* the file begins where buf does, and can be read again  */
    struct pages *pages;        /* watched, or NULL                                       */
    input_sink *sink;
    void       *arg;
};

const char *input_name(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

static int cancelled(const struct in *in)
{
    return fail(in->io, EXIT_FAILED, "cancelled while reading %s", in->name);
}

/* Reads until there are at least `want` bytes in the buffer, or the file ends. */
static int more(struct in *in, size_t want)
{
    while (in->len < want) {
        const char *why = NULL;
        ssize_t     n = in->child.pid ? child_read(&in->child, in->buf + in->len, PIECE - in->len, &why)
                                      : read(in->fd, in->buf + in->len, PIECE - in->len);

        if (n < 0 && progress_cancelled())
            return cancelled(in);
        if (n < 0 && in->child.pid)
            return fail(in->io, EXIT_DOCUMENT, "%s: %s%s was stopped: %s", in->name, in->ours, in->program, why ? why : "?");
        if (n < 0 && errno == EINTR)
            continue;
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

/* ---- text ---------------------------------------------------------------------------- */
static int deliver(struct in *in, const char *text, size_t len)
{
    return in->pages ? pages_feed(in->pages, text, len) : in->sink(in->arg, text, len);
}

/* The buffer from `from` on through iconv, and the rest of the file. */
static int read_encoded(struct in *in, const char *encoding, size_t from)
{
    char   *out = grow(NULL, PIECE, 1);
    iconv_t cd = iconv_open("UTF-8", encoding);
    int     code = 0;

    if (cd == (iconv_t)-1) {
        free(out);
        return fail(in->io, EXIT_DOCUMENT, "%s: %s text, which iconv does not know; save it as UTF-8", in->name, encoding);
    }
    while (!code && in->len > from) {
        char  *p = in->buf + from, *to = out;
        size_t left = in->len - from, room = PIECE, before = left;
        size_t r = iconv(cd, &p, &left, &to, &room);
        int    why = errno;

        if (r == (size_t)-1 && why == EILSEQ)
            code = fail(in->io, EXIT_DOCUMENT, "%s: it looks like %s text, but has other bytes in it; "
                        "convert it with iconv(1)", in->name, encoding);
        else if (to > out)
            code = deliver(in, out, (size_t)(to - out));
        from = 0;
        memmove(in->buf, p, left);
        in->len = left;
        if (!code && left < PIECE)
            code = more(in, left + 1);
        if (!code && in->len == left && left && left == before) {       /* a cut character is the last */
            code = fail(in->io, EXIT_DOCUMENT, "%s: %s text that ends within a character; get the file again", in->name,
                        encoding);
        }
    }
    iconv_close(cd);
    free(out);
    return code;
}

static int read_text(struct in *in)
{
    struct encoding e;
    size_t          from;
    int             code = more(in, PIECE);

    if (code)
        return code;
    encoding_of(&e, in->buf, in->len, in->len < PIECE);
    if (e.name) {
        say(in->io, "%s: read as %s%s", in->name, e.name,
            e.guessed ? ", as far as can be told; if that is wrong, convert it with iconv(1)" : "");
        return read_encoded(in, e.name, e.mark);
    }
    from = e.mark;
    while (!code && in->len > from) {
        code = deliver(in, in->buf + from, in->len - from);
        from = 0;
        if (!code)
            code = fill(in, 1);
    }
    return code;
}

/* ---- files of other formats ------------------------------------------------------------ */
/* Why the child, which returned r and said why, has not read the file. */
static int unread(const struct in *in, int r, const char *why)
{
    if (progress_cancelled())
        return cancelled(in);
    if (r == 128 + SIGXCPU || r == 128 + SIGKILL)
        return fail(in->io, EXIT_DOCUMENT, "%s: %s%s was stopped: it took too long; $GEMKV_CONVERTER_SECONDS is the limit",
                    in->name, in->ours, in->program);
    if (r > 128)
        return fail(in->io, EXIT_DOCUMENT, "%s: %s%s broke down (signal %d)", in->name, in->ours, in->program, r - 128);
    if (strstr(why, "Incorrect password"))      /* pdftotext's words */
        return fail(in->io, EXIT_DOCUMENT, "%s: it has a password; qpdf --decrypt --password=PASSWORD takes it off",
                    in->name);
    return fail(in->io, EXIT_DOCUMENT, "%s: %s%s could not read it%s%s", in->name, in->ours, in->program,
                *why ? ": " : "", why);
}

/* The child has ended, or is ended here.  0, or an exit status after saying why. */
static int end_child(struct in *in, int code)
{
    char why[200];
    int  r = child_end(&in->child, why, sizeof why);

    return code || !r ? code : unread(in, r, why);
}

/* Makes what is read a file that a child can read from its beginning: itself, or a copy without a name. */
static int as_file(struct in *in)
{
    FILE *f;
    int   code = 0;

    if (in->whole)
        return lseek(in->fd, 0, SEEK_SET) < 0 ? fail(in->io, EXIT_FAILED, "%s: cannot read: %s", in->name, strerror(errno))
                                              : 0;
    f = tmpfile();
    if (!f)
        return fail(in->io, EXIT_FAILED, "%s: cannot make a temporary file: %s", in->name, strerror(errno));
    while (!code && in->len) {
        if (fwrite(in->buf, 1, in->len, f) != in->len)
            code = fail(in->io, EXIT_FAILED, "%s: temporary file: %s", in->name, strerror(errno));
        else
            code = fill(in, 1);
    }
    if (!code && fflush(f))
        code = fail(in->io, EXIT_FAILED, "%s: temporary file: %s", in->name, strerror(errno));
    if (in->child.pid)
        code = end_child(in, code);
    if (!code) {
        if (in->fd >= 0)
            close(in->fd);
        in->fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 3);
        if (in->fd < 0 || lseek(in->fd, 0, SEEK_SET) < 0)
            code = fail(in->io, EXIT_FAILED, "%s: temporary file: %s", in->name, strerror(errno));
        in->whole = true;
    }
    fclose(f);
    return code;
}

/* Starts the first way whose program there is.  *started: there was one, and its first bytes are in the buffer. */
static int start(struct in *in, const struct format *f, bool *started)
{
    int code = as_file(in);

    *started = false;
    for (size_t i = 0; !code && !*started && i < FORMAT_WAYS && (f->way[i].argv[0] || f->way[i].reader); i++) {
        int r = child_start(&in->child, f->way[i].argv, f->way[i].reader, in->fd);

        if (r)
            return fail(in->io, EXIT_FAILED, "%s: cannot start a process to read it: %s", in->name, strerror(r));
        in->program = f->way[i].reader ? f->what : f->way[i].argv[0];
        in->ours = f->way[i].reader ? "the reader of " : "";
        code = fill(in, SNIFF_BYTES);
        if (!code && !in->len) {
            char why[200];

            r = child_end(&in->child, why, sizeof why);
            if (r == CHILD_NO_PROGRAM && !*why)         /* with a message, it lacks something itself */
                continue;
            if (r)
                return unread(in, r, why);
            lseek(in->fd, 0, SEEK_END);         /* it wrote nothing, and from now on this file itself is read */
        }
        *started = true;
    }
    return code;
}

static int missing(const struct in *in, const struct format *f)
{
    const struct way *w = &f->way[0];

    if (!w->argv[0])
        return fail(in->io, EXIT_DOCUMENT, "%s: %s needs a gemkv that is built with libarchive and libxml2; or save it "
                    "as PDF", in->name, f->what);
    return fail(in->io, EXIT_DOCUMENT, "%s: %s needs %s, which is not installed; on Debian: apt install %s%s%s", in->name,
                f->what, w->argv[0], w->package, f->advice ? "; or " : "", f->advice ? f->advice : "");
}

static int refuse(const struct in *in, const char *what, const char *advice)
{
    return fail(in->io, EXIT_DOCUMENT, "%s: %s, not text; %s", in->name, what, advice);
}

static const struct format *recognise(const struct in *in)
{
    static const size_t TAIL = SNIFF_BYTES;
    struct sniff         s = { .name = in->path, .head = in->buf, .n_head = in->len, .document = in->pages };
    const struct format *f;
    char                *tail = NULL;
    off_t                size = in->whole ? lseek(in->fd, 0, SEEK_END) : -1;
    ssize_t              n = 0;

    if (size > 0 && (size_t)size > in->len) {
        tail = grow(NULL, TAIL, 1);
        n = pread(in->fd, tail, TAIL, size > (off_t)TAIL ? size - (off_t)TAIL : 0);
        s.tail = tail;
        s.n_tail = n > 0 ? (size_t)n : 0;
    }
    if (size >= 0)
        lseek(in->fd, (off_t)in->len, SEEK_SET);
    f = format_of(&s);
    free(tail);
    return f;
}

static int dispatch(struct in *in, int depth)
{
    const struct format *f = recognise(in);
    bool                 started;
    int                  code;

    /* Of an archive, the end says what it is; so one that cannot be read twice becomes a file first. */
    if (f && !in->whole && f->kind != FORMAT_PACKED) {
        code = as_file(in);
        if (!code)
            code = fill(in, SNIFF_BYTES);
        if (code)
            return code;
        f = recognise(in);
    }
    if (!f)
        return read_text(in);
    in->how->part = f->part;
    if (f->kind == FORMAT_NEVER)
        return refuse(in, f->what, f->advice);
    if (f->kind == FORMAT_IMAGE && !in->how->ocr)
        return refuse(in, f->what, "--ocr reads the text in it");
    if (f->kind == FORMAT_PACKED && depth == PACKED_DEPTH)
        return refuse(in, "compressed more than three times", "unpack it");
    code = start(in, f, &started);
    if (code)
        return code;
    if (!started && f->kind == FORMAT_OR_TEXT) {
        warn(in->io, "%s: reading the %s as it is; install %s to read only its text", in->name, f->what, f->way[0].package);
        code = fill(in, 1);
        return code ? code : read_text(in);
    }
    if (!started)
        return missing(in, f);
    in->whole = false;
    if (f->kind == FORMAT_PACKED)
        return dispatch(in, depth + 1);
    if (f->kind == FORMAT_PAGES && in->pages)
        pages_watch(in->pages, in->fd);
    return read_text(in);
}

/* ---- opening --------------------------------------------------------------------------- */
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

static int cannot_open(const struct in *in)
{
    const int why = errno;

    if (!*in->path)
        return fail(in->io, EXIT_FAILED, "the name of a document is empty");
    if (strstr(in->path, "://") && why == ENOENT)
        return fail(in->io, EXIT_FAILED, "%s: an address; gemkv reads files only, so get it first: curl -fsSLO '%s'",
                    in->name, in->path);
    return fail(in->io, EXIT_FAILED, "%s: cannot open: %s", in->name, strerror(why));
}

static int read_all(struct in *in)
{
    const bool  named = strcmp(in->path, "-");
    struct stat st;
    int         code = 0;

    if (named) {
        do
            in->fd = open(in->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        while (in->fd < 0 && errno == EINTR && !progress_cancelled());
    } else {
        in->fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
    }
    if (in->fd < 0)
        return cannot_open(in);
    if (fstat(in->fd, &st))
        return fail(in->io, EXIT_FAILED, "%s: cannot read: %s", in->name, strerror(errno));
    if (S_ISDIR(st.st_mode))
        return fail(in->io, EXIT_FAILED, "%s: a directory; -r reads the files in it", in->name);
    in->whole = named && S_ISREG(st.st_mode);
    in->buf = grow(NULL, PIECE, 1);
    if (named && S_ISFIFO(st.st_mode))
        code = wait_for_writer(in);
    else if (named)                             /* a terminal opened by name may block */
        block(in);
    if (!code)
        code = more(in, SNIFF_BYTES);
    if (!code)
        code = dispatch(in, 0);
    if (in->child.pid)
        code = end_child(in, code);
    return code;
}

static int run(struct in *in)
{
    int code = read_all(in);

    if (in->fd >= 0)
        close(in->fd);
    free(in->buf);
    return code;
}

int input_read(struct io *io, const char *path, input_sink *sink, void *arg)
{
    struct input_how how = { .ocr = false };
    struct in in = { .io = io, .path = path, .name = input_name(path), .how = &how, .fd = -1, .sink = sink, .arg = arg };

    return run(&in);
}

int input_document(struct io *io, const char *path, struct input_how *how, input_sink *sink, void *arg)
{
    struct pages p = { .io = io, .name = input_name(path), .ocr = how->ocr, .fd = -1, .sink = sink, .arg = arg };
    struct in in = { .io = io, .path = path, .name = p.name, .how = how, .fd = -1, .sink = sink, .arg = arg, .pages = &p };
    int       code;

    how->part = NULL;
    code = run(&in);
    return pages_end(&p, code);
}

/* ---- whole files ----------------------------------------------------------------------- */
static int append(void *arg, const char *text, size_t len)
{
    text_add(arg, text, len);
    return 0;
}

int input_slurp(struct io *io, const char *path, char **text, size_t *len)
{
    struct text t = { NULL, 0, 0 };
    int         code = input_read(io, path, append, &t);

    text_add(&t, "", 0);
    *text = t.p;
    *len = t.n;
    return code;
}
