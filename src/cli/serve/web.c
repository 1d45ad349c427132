/* SPDX-License-Identifier: BSD-2-Clause
 * web.c - see web.h */
#include "config.h"
#include "src/cli/serve/web.h"
#include "src/cli/say.h"
#if HAVE_LIBMICROHTTPD
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "src/cli/json.h"
#include "src/cli/progress.h"

enum {
    CONNECTIONS = 256,
    IDLE = 60,                          /* seconds that a connection may send nothing     */
    STACK = 1 << 20,                    /* of a connection's thread                       */
    FIELDS = 1 << 20,                   /* bytes of a form without its file               */
    SWALLOWED = 2 * FIELDS,             /* bytes of a refused body that are read, so that the client reads why */
    PIECE = 32 << 10
};

struct web {
    struct web_options o;
    struct MHD_Daemon *daemon;
    int                fd;
    char              *path;            /* of a Unix socket, to be removed; or NULL       */
    bool               here;            /* only this machine can connect                  */
    atomic_bool        draining;
    atomic_size_t      running;
    atomic_uint_least64_t all, refused, held;   /* held: bytes of bodies in memory         */
};

struct field { char *name; struct text value; };

struct web_call {
    struct web            *web;
    struct MHD_Connection *connection;
    const struct web_route *route;
    char          *path, *method;
    double         began;
    struct text    body;
    uint64_t       length, got;         /* bytes of the body: said, and so far            */
    struct MHD_PostProcessor *form;
    struct field  *field;
    size_t         n_fields, n_form;
    char          *file, *file_name;    /* of the form, in the folder                     */
    int            fd;
    unsigned       status;              /* of the answer, once there is one               */
    struct MHD_Response *response;
    bool           counted;
};

/* ---- answers ------------------------------------------------------------------------- */
/* A page of ours needs nothing but ourselves, and nobody else needs ours. */
static const char *const headers[][2] = {
    { "Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
                                 "form-action 'self'; frame-ancestors 'none'; base-uri 'none'" },
    { "X-Content-Type-Options", "nosniff" },
    { "Referrer-Policy", "no-referrer" },
    { "Cross-Origin-Resource-Policy", "same-origin" },
    { "Cache-Control", "no-store" },
};

/* An answer without one of its headers could be taken for something else, or be shown in another page. */
static void add_header(struct MHD_Response *r, const char *name, const char *value)
{
    if (MHD_add_response_header(r, name, value) != MHD_YES)
        out_of_memory();
}

static void set_response(struct web_call *c, unsigned status, const char *type, struct MHD_Response *r)
{
    if (!r)
        out_of_memory();
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        add_header(r, headers[i][0], headers[i][1]);
    add_header(r, "Content-Type", type);
    if (status == 503)
        add_header(r, "Retry-After", "10");
    if (status == 401)
        add_header(r, "WWW-Authenticate", "Bearer");
    if (c->response)                            /* a second answer is a mistake of ours   */
        MHD_destroy_response(c->response);
    c->response = r;
    c->status = status;
}

void web_answer(struct web_call *c, unsigned status, const char *type, const void *body, size_t n)
{
    set_response(c, status, type, MHD_create_response_from_buffer(n, (void *)(uintptr_t)body, MHD_RESPMEM_MUST_COPY));
}

static const char *kind_of(unsigned status)
{
    static const struct { unsigned status; const char *kind; } kind[] = {
        { 401, "authentication_error" }, { 403, "permission_error" }, { 404, "not_found_error" }, { 429, "rate_limit_error" },
    };

    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++)
        if (kind[i].status == status)
            return kind[i].kind;
    return status < 500 ? "invalid_request_error" : "server_error";
}

void web_fail(struct web_call *c, unsigned status, const char *code, const char *fmt, ...)
{
    struct json j = { .depth = 0 };
    va_list     ap;
    char       *message;

    va_start(ap, fmt);
    message = vformat(fmt, ap);
    va_end(ap);
    json_open(&j, '{');
    json_named_open(&j, "error", '{');
    json_named_string(&j, "message", message);
    json_named_string(&j, "type", kind_of(status));
    json_named_string(&j, "param", NULL);
    json_named_string(&j, "code", code);
    json_close(&j);
    json_close(&j);
    web_answer(c, status, "application/json", j.text.p, j.text.n);
    text_free(&j.text);
    free(message);
}

struct stream {
    struct web_call *call;
    bool      (*more)(void *arg, struct text *out);
    void      (*end)(void *arg);
    void       *arg;
    struct text out;
    size_t      at;
    bool        ended;
};

static ssize_t stream_read(void *cls, uint64_t pos, char *buf, size_t max)
{
    struct stream *s = cls;
    size_t         n;

    (void)pos;
    while (s->at == s->out.n) {
        if (s->ended)
            return MHD_CONTENT_READER_END_OF_STREAM;
        if (web_gone(s->call))
            return MHD_CONTENT_READER_END_WITH_ERROR;
        s->out.n = s->at = 0;
        s->ended = !s->more(s->arg, &s->out);
    }
    n = s->out.n - s->at < max ? s->out.n - s->at : max;
    memcpy(buf, s->out.p + s->at, n);
    s->at += n;
    return (ssize_t)n;
}

static void stream_free(void *cls)
{
    struct stream *s = cls;

    s->end(s->arg);
    text_free(&s->out);
    free(s);
}

void web_stream(struct web_call *c, bool (*more)(void *arg, struct text *out), void (*end)(void *arg), void *arg)
{
    struct stream *s = grow(NULL, 1, sizeof *s);

    *s = (struct stream){ .call = c, .more = more, .end = end, .arg = arg };
    set_response(c, 200, "text/event-stream", MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, stream_read, s,
                                                                               stream_free));
}

/* ---- a request ----------------------------------------------------------------------- */
void *web_arg(const struct web_call *c)
{
    return c->web->o.arg;
}

const char *web_path(const struct web_call *c)
{
    return c->path;
}

char *web_body(struct web_call *c, size_t *n)
{
    text_add(&c->body, "", 0);
    *n = c->body.n;
    return c->body.p;
}

const char *web_field(const struct web_call *c, const char *name)
{
    for (size_t i = 0; i < c->n_fields; i++)
        if (!strcmp(c->field[i].name, name))
            return c->field[i].value.p;
    return NULL;
}

const char *web_file(const struct web_call *c, const char **name)
{
    *name = c->file_name;
    return c->file;
}

bool web_gone(struct web_call *c)
{
    const union MHD_ConnectionInfo *i = MHD_get_connection_info(c->connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    struct pollfd                   p = { .events = POLLRDHUP };

    if (!i)
        return true;
    p.fd = i->connect_fd;
    return poll(&p, 1, 0) > 0 && p.revents & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL);
}

static const char *header(const struct web_call *c, const char *name)
{
    return MHD_lookup_connection_value(c->connection, MHD_HEADER_KIND, name);
}

/* Takes as long whatever the first difference is. */
static bool same_key(const char *a, const char *b)
{
    const size_t  n = strlen(a), m = strlen(b);
    unsigned char different = n != m;

    for (size_t i = 0; i < m; i++)
        different |= (unsigned char)(a[n ? i % n : 0] ^ b[i]);
    return !different;
}

static bool has_key(const struct web_call *c)
{
    const char *h = header(c, "Authorization");

    return !c->web->o.key || (h && !strncasecmp(h, "Bearer ", 7) && same_key(h + 7, c->web->o.key));
}

/* A name of this machine: a page elsewhere whose name was made to lead here has another one. */
static bool is_here(const char *host)
{
    static const char *const names[] = { "localhost", "127.0.0.1", "[::1]" };

    for (size_t i = 0; host && i < sizeof names / sizeof *names; i++) {
        const size_t n = strlen(names[i]);

        if (!strncasecmp(host, names[i], n) && (!host[n] || host[n] == ':'))
            return true;
    }
    return false;
}

/* Pages of other servers get nothing: a browser says whose page it is that asks. */
static bool is_ours(const char *origin, const char *host)
{
    const char *name = strstr(origin, "://");

    return name && host && !strcasecmp(name + 3, host);
}

static const struct web_route *find_route(struct web_call *c)
{
    bool known = false;

    for (const struct web_route *r = c->web->o.routes; r->path; r++) {
        const size_t n = strlen(r->path);

        if (r->path[n - 1] == '*' ? strncmp(c->path, r->path, n - 1) : strcmp(c->path, r->path))
            continue;
        known = true;
        if (!strcmp(c->method, r->method) || (!strcmp(c->method, "HEAD") && !strcmp(r->method, "GET")))
            return r;
    }
    if (known)
        web_fail(c, 405, NULL, "%s is not for %s", c->path, c->method);
    else
        web_fail(c, 404, NULL, "there is no %.200s here", c->path);
    return NULL;
}

static void begin(struct web_call *c)
{
    const struct web *w = c->web;
    const char *host = header(c, "Host"), *origin = header(c, "Origin"), *length = header(c, "Content-Length");

    c->length = length ? strtoull(length, NULL, 10) : 0;
    if (w->here && !w->path && !w->o.key && !is_here(host))
        web_fail(c, 403, NULL, "this server answers to the names of this machine only, such as localhost");
    else if (origin && !is_ours(origin, host))
        web_fail(c, 403, NULL, "pages of other servers may not ask this one");
    else if (!(c->route = find_route(c)))
        return;
    else if (!c->route->open && !has_key(c))
        web_fail(c, 401, "invalid_api_key", "this server needs its key, as Authorization: Bearer KEY");
    else if (c->length > w->o.most)
        web_fail(c, 413, NULL, "the request has %" PRIu64 " bytes, at most %" PRIu64 " are read; see gemkv serve --max-upload",
                 c->length, w->o.most);
    else if (!c->route->form && c->length > w->o.most_held)
        web_fail(c, 413, NULL, "the request has %" PRIu64 " bytes, and --memory leaves %" PRIu64 "; upload it to /v1/files",
                 c->length, w->o.most_held);
    else if (atomic_load(&w->draining))
        web_fail(c, 503, NULL, "the server is ending");
}

/* ---- bodies -------------------------------------------------------------------------- */
static void too_much(struct web_call *c)
{
    web_fail(c, 413, NULL, "the request has more than %" PRIu64 " bytes; see gemkv serve --max-upload", c->web->o.most);
}

static void write_file(struct web_call *c, const char *name, const char *data, size_t n)
{
    if (!c->file) {
        c->file = format("%s/upload-XXXXXX", c->web->o.folder);
        c->file_name = format("%s", name);
        c->fd = mkostemp(c->file, O_CLOEXEC);
    }
    while (n && c->fd >= 0) {
        const ssize_t done = write(c->fd, data, n);

        if (done < 0 && errno != EINTR)
            break;
        data += done > 0 ? done : 0;
        n -= done > 0 ? (size_t)done : 0;
    }
    if (c->fd < 0 || n)
        web_fail(c, 507, NULL, "the file cannot be stored: %s", strerror(errno));
}

static enum MHD_Result take_field(void *cls, enum MHD_ValueKind kind, const char *key, const char *filename, const char *type,
                                  const char *encoding, const char *data, uint64_t off, size_t n)
{
    struct web_call *c = cls;
    struct field    *last;

    (void)kind;
    (void)type;
    (void)encoding;
    if (c->response)
        return MHD_NO;
    if (!key) {                                 /* libmicrohttpd gives parts without a name, too */
        web_fail(c, 400, NULL, "a part of the form has no name");
        return MHD_NO;
    }
    if (filename) {
        if (c->file && !off && n)
            web_fail(c, 400, NULL, "one file at a time");
        else
            write_file(c, filename, data, n);
        return c->response ? MHD_NO : MHD_YES;
    }
    c->n_form += n + strlen(key);
    if (c->n_form > FIELDS) {
        web_fail(c, 413, NULL, "the form's fields have more than %d bytes", FIELDS);
        return MHD_NO;
    }
    if (!off) {
        c->field = grow(c->field, c->n_fields + 1, sizeof *c->field);
        c->field[c->n_fields++] = (struct field){ .name = format("%s", key) };
    }
    last = &c->field[c->n_fields - 1];
    text_add(&last->value, data, n);
    return MHD_YES;
}

static void take(struct web_call *c, const char *data, size_t n)
{
    struct web *w = c->web;

    c->got += n;
    if (c->response)
        return;
    if (c->got > w->o.most) {
        too_much(c);
    } else if (c->route->form) {
        if (!c->form)
            c->form = MHD_create_post_processor(c->connection, PIECE, take_field, c);
        if (!c->form || (MHD_post_process(c->form, data, n) != MHD_YES && !c->response))
            web_fail(c, 400, NULL, "the request is no form");
    } else if (atomic_fetch_add(&w->held, n) + n > w->o.most_held) {
        atomic_fetch_sub(&w->held, c->body.n + n);      /* what is refused needs no room  */
        text_free(&c->body);
        web_fail(c, 503, NULL, "the server reads too many large requests at once");
    } else {
        text_add(&c->body, data, n);
    }
}

/* ---- calls --------------------------------------------------------------------------- */
static struct web_call *call_new(struct web *w, struct MHD_Connection *connection, const char *path, const char *method)
{
    struct web_call *c = grow(NULL, 1, sizeof *c);

    *c = (struct web_call){ .web = w, .connection = connection, .path = format("%s", path), .method = format("%s", method),
                            .began = progress_clock(), .fd = -1 };
    atomic_fetch_add(&w->running, 1);
    begin(c);
    return c;
}

static void call_free(void *cls, struct MHD_Connection *connection, void **con_cls, enum MHD_RequestTerminationCode why)
{
    struct web      *w = cls;
    struct web_call *c = *con_cls;

    (void)connection;
    if (!c)
        return;
    *con_cls = NULL;
    atomic_fetch_add(&w->all, 1);
    if (c->status >= 400)
        atomic_fetch_add(&w->refused, 1);
    say(w->o.io, "%s %.200s %u, %.2f s%s", c->method, c->path, c->status, progress_clock() - c->began,
        why == MHD_REQUEST_TERMINATED_COMPLETED_OK ? "" : ", left by the client");
    if (c->form)
        MHD_destroy_post_processor(c->form);
    if (c->response)                            /* a refusal that the client did not wait for */
        MHD_destroy_response(c->response);
    for (size_t i = 0; i < c->n_fields; i++) {
        free(c->field[i].name);
        text_free(&c->field[i].value);
    }
    free(c->field);
    if (c->fd >= 0)
        close(c->fd);
    if (c->file)
        unlink(c->file);                        /* unless the handler has moved it        */
    free(c->file);
    free(c->file_name);
    if (c->body.n)
        atomic_fetch_sub(&w->held, c->body.n);
    text_free(&c->body);
    free(c->path);
    free(c->method);
    free(c);
    atomic_fetch_sub(&w->running, 1);
}

static enum MHD_Result send_response(struct web_call *c)
{
    const enum MHD_Result sent = MHD_queue_response(c->connection, c->status, c->response);

    MHD_destroy_response(c->response);
    c->response = NULL;
    return sent;
}

static enum MHD_Result handle(void *cls, struct MHD_Connection *connection, const char *path, const char *method,
                              const char *version, const char *data, size_t *n, void **con_cls)
{
    struct web_call *c = *con_cls;

    (void)version;
    if (!c) {
        *con_cls = c = call_new(cls, connection, path, method);
        return c->response && c->length > SWALLOWED ? send_response(c) : MHD_YES;
    }
    if (*n) {
        take(c, data, *n);
        *n = 0;
        return c->response && c->got > SWALLOWED ? send_response(c) : MHD_YES;
    }
    if (!c->response) {
        if (c->form) {
            MHD_destroy_post_processor(c->form);        /* its last field ends here       */
            c->form = NULL;
        }
        if (!c->response)
            c->route->handle(c);
    }
    return c->response ? send_response(c) : MHD_NO;
}

/* ---- listening ----------------------------------------------------------------------- */
static int listen_unix(struct web *w, const char *path)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    mode_t             mask;
    int                fd, bound;

    if (strlen(path) >= sizeof a.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    memcpy(a.sun_path, path, strlen(path) + 1);
    if (connect(fd, (struct sockaddr *)&a, sizeof a) && errno == ECONNREFUSED)
        unlink(path);                           /* nobody listens there any more          */
    mask = umask(0177);
    bound = bind(fd, (struct sockaddr *)&a, sizeof a);
    umask(mask);
    if (bound || listen(fd, CONNECTIONS)) {
        const int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    w->path = format("%s", path);
    return fd;
}

static bool is_loopback(const struct sockaddr *a)
{
    if (a->sa_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr) >> 24 == 127;
    return a->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr);
}

static int listen_ip(struct web *w, const char **why)
{
    struct addrinfo hint = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE }, *found;
    char            port[16];
    int             fd = -1, code, one = 1;

    snprintf(port, sizeof port, "%" PRIu32, w->o.port);
    code = getaddrinfo(w->o.host, port, &hint, &found);
    if (code) {
        *why = gai_strerror(code);
        return -1;
    }
    w->here = is_loopback(found->ai_addr);
    if (!w->here && !w->o.key) {
        *why = "others could ask, too: give a key with --api-key-file FILE";
    } else {
        fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) || bind(fd, found->ai_addr, found->ai_addrlen)
            || listen(fd, CONNECTIONS)) {
            *why = strerror(errno);
            if (fd >= 0)
                close(fd);
            fd = -1;
        }
    }
    freeaddrinfo(found);
    return fd;
}

static char *address_of(int fd)
{
    union { struct sockaddr any; struct sockaddr_in v4; struct sockaddr_in6 v6; } a;
    socklen_t n = sizeof a;
    char      text[INET6_ADDRSTRLEN] = "";

    if (getsockname(fd, &a.any, &n))
        return format("?");
    if (a.any.sa_family == AF_INET6) {
        inet_ntop(AF_INET6, &a.v6.sin6_addr, text, sizeof text);
        return format("http://[%s]:%u/", text, ntohs(a.v6.sin6_port));
    }
    inet_ntop(AF_INET, &a.v4.sin_addr, text, sizeof text);
    return format("http://%s:%u/", text, ntohs(a.v4.sin_port));
}

/* One socket of systemd's, as sd_listen_fds(3) says it; -1: none. */
static int given_socket(void)
{
    const char *pid = getenv("LISTEN_PID"), *n = getenv("LISTEN_FDS");

    return pid && n && strtol(pid, NULL, 10) == (long)getpid() && !strcmp(n, "1") ? 3 : -1;
}

static int open_socket(struct web *w, char **address)
{
    const char *why = NULL;

    w->fd = given_socket();
    if (w->fd >= 0) {
        struct sockaddr_storage a;
        socklen_t               n = sizeof a;

        if (getsockname(w->fd, (struct sockaddr *)&a, &n)) {
            w->fd = -1;                         /* it is not ours to close                */
            return fail(w->o.io, EXIT_FAILED, "LISTEN_FDS: the socket that should be there: %s", strerror(errno));
        }
        w->here = a.ss_family == AF_UNIX || is_loopback((struct sockaddr *)&a);
        if (!w->here && !w->o.key)
            return usage(w->o.io, NULL, "the socket is open to others: give a key with --api-key-file FILE");
        *address = a.ss_family == AF_UNIX ? format("the socket given") : address_of(w->fd);
        if (a.ss_family == AF_UNIX)
            w->path = format("%s", "");
        return 0;
    }
    if (*w->o.host == '/') {
        w->here = true;
        w->fd = listen_unix(w, w->o.host);
        why = w->fd < 0 ? strerror(errno) : NULL;
        *address = format("%s", w->o.host);
    } else {
        w->fd = listen_ip(w, &why);
        *address = w->fd < 0 ? NULL : address_of(w->fd);
    }
    return why ? usage(w->o.io, NULL, "cannot listen at %s: %s", w->o.host, why) : 0;
}

int web_start(struct web **out, const struct web_options *o, char **address)
{
    struct web *w = grow(NULL, 1, sizeof *w);
    int         code;

    *w = (struct web){ .o = *o, .fd = -1 };
    *out = w;
    *address = NULL;
    code = open_socket(w, address);
    if (code)
        return code;
    w->daemon = MHD_start_daemon(MHD_USE_THREAD_PER_CONNECTION | MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ITC,
                                 0, NULL, NULL, handle, w, MHD_OPTION_LISTEN_SOCKET, w->fd,
                                 MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                                 MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE,
                                 MHD_OPTION_THREAD_STACK_SIZE, (size_t)STACK, MHD_OPTION_NOTIFY_COMPLETED, call_free, w,
                                 MHD_OPTION_END);
    return w->daemon ? 0 : fail(w->o.io, EXIT_FAILED, "the server cannot start: %s", strerror(errno));
}

void web_drain(struct web *w)
{
    atomic_store(&w->draining, true);
}

size_t web_running(struct web *w)
{
    return atomic_load(&w->running);
}

void web_counts(struct web *w, uint64_t *all, uint64_t *refused)
{
    *all = atomic_load(&w->all);
    *refused = atomic_load(&w->refused);
}

void web_stop(struct web *w)
{
    if (!w)
        return;
    if (w->daemon)
        MHD_stop_daemon(w->daemon);             /* and closes the socket                  */
    else if (w->fd >= 0)
        close(w->fd);
    if (w->path && *w->path)
        unlink(w->path);
    free(w->path);
    free(w);
}

const char *web_missing(void)
{
    return NULL;
}

#else
const char *web_missing(void)
{
    return "this build has no libmicrohttpd";
}

int web_start(struct web **w, const struct web_options *o, char **address)
{
    *w = NULL;
    *address = NULL;
    return usage(o->io, NULL, "%s", web_missing());
}

void web_drain(struct web *w) { (void)w; }
size_t web_running(struct web *w) { (void)w; return 0; }
void web_stop(struct web *w) { (void)w; }
void web_counts(struct web *w, uint64_t *all, uint64_t *refused) { (void)w; *all = *refused = 0; }
void *web_arg(const struct web_call *c) { (void)c; return NULL; }
const char *web_path(const struct web_call *c) { (void)c; return ""; }
char *web_body(struct web_call *c, size_t *n) { (void)c; *n = 0; return NULL; }
const char *web_field(const struct web_call *c, const char *name) { (void)c; (void)name; return NULL; }
const char *web_file(const struct web_call *c, const char **name) { (void)c; *name = NULL; return NULL; }
bool web_gone(struct web_call *c) { (void)c; return true; }
void web_fail(struct web_call *c, unsigned status, const char *code, const char *fmt, ...)
{ (void)c; (void)status; (void)code; (void)fmt; }
void web_answer(struct web_call *c, unsigned status, const char *type, const void *body, size_t n)
{ (void)c; (void)status; (void)type; (void)body; (void)n; }
void web_stream(struct web_call *c, bool (*more)(void *arg, struct text *out), void (*end)(void *arg), void *arg)
{ (void)c; (void)more; (void)arg; end(arg); }
#endif
