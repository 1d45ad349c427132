/* SPDX-License-Identifier: BSD-2-Clause
 * unit-serve.c - what the server makes of requests and what it answers to them, byte for byte: the cases of
 * files/serve.txt.  Who answers questions (ask.c) is played here, so that there is no model, and nothing has to be waited for.
 *
 * UPDATE=1 tests/unit-serve.test writes what is answered now to files/serve.txt; read the diff. */
#include "config.h"
#include "src/cli/serve/api.h"
#include "tests/tap.h"
#if HAVE_LIBMICROHTTPD
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/answerer.h"
#include "src/cli/say.h"
#include "tests/file.h"
#include "tests/folder.h"

enum { MOST = 20000, MOST_WITH_KEY = 3 << 20, MOST_HELD = 15000, MOST_FILES = 30000 };

static struct text asked;                       /* what was asked, in words                */
static atomic_int begun, ends;                  /* ask_start and ask_end that there were   */

/* ---- in place of ask.c ------------------------------------------------------------------- */
struct ask_private { unsigned step; };

struct ask *ask_new(struct asks *w)
{
    struct ask *a = grow(NULL, 1, sizeof *a);

    (void)w;
    *a = (struct ask){ .own = grow(NULL, 1, sizeof *a->own) };
    a->own->step = 0;
    gkv_options_init(&a->opt);
    return a;
}

static void tell_text(const char *p, size_t n)
{
    if (n > 100)
        text_printf(&asked, "[%.20s ... %s] %zu bytes", p, p + n - 20, n);
    else
        text_printf(&asked, "[%s]", p);
    text_puts(&asked, "\n");
}

static void tell_number(const char *name, double v, double usual)
{
    if (v < usual || v > usual)
        text_printf(&asked, "%s %g\n", name, v);
}

static void tell_source(const struct source *s)
{
    struct text t = { NULL, 0, 0 };
    const int   fd = s->path ? open(s->path, O_RDONLY | O_CLOEXEC) : -1;

    text_printf(&asked, "document %s%s%s%s%s ", s->name, s->id ? " " : "", s->id ? s->id : "", s->part ? " by " : "",
                s->part ? s->part : "");
    if (fd >= 0) {
        text_read(&t, fd);
        close(fd);
    }
    tell_text(fd >= 0 ? t.p : s->text.p, fd >= 0 ? t.n : s->text.n);
    text_free(&t);
}

static void tell(const struct ask *a)
{
    gkv_options usual;

    gkv_options_init(&usual);
    if (a->system)
        text_printf(&asked, "system [%s]\n", a->system);
    for (size_t i = 0; i < a->n_sources; i++)
        tell_source(&a->source[i]);
    for (size_t i = 0; i < a->n_turns; i++)
        text_printf(&asked, "turn [%s] [%s]\n", a->turn[i].question, a->turn[i].answer);
    text_puts(&asked, a->no_document ? "question without a document " : "question ");
    tell_text(a->question, strlen(a->question));
    tell_number("temperature", (double)a->opt.temperature, (double)usual.temperature);
    tell_number("top_p", (double)a->opt.top_p, (double)usual.top_p);
    tell_number("min_p", (double)a->opt.min_p, (double)usual.min_p);
    tell_number("presence_penalty", (double)a->opt.presence_penalty, (double)usual.presence_penalty);
    tell_number("frequency_penalty", (double)a->opt.frequency_penalty, (double)usual.frequency_penalty);
    tell_number("repeat_penalty", (double)a->opt.repeat_penalty, (double)usual.repeat_penalty);
    tell_number("top_k", a->opt.top_k, usual.top_k);
    tell_number("max_tokens", a->opt.max_tokens, usual.max_tokens);
    tell_number("keep", a->opt.keep, usual.keep);
    tell_number("keep_percent", (double)a->opt.keep_percent, (double)usual.keep_percent);
    tell_number("seed", (double)a->opt.seed, (double)usual.seed);
    for (size_t i = 0; i < a->stop.n; i++)
        text_printf(&asked, "stop [%s]\n", a->stop.v[i]);
    if (a->grammar)
        text_puts(&asked, "grammar\n");
    if (a->format)
        text_printf(&asked, "format %s\n", a->format);
    if (a->sent)
        text_printf(&asked, "sent %u\n", a->sent);
}

bool ask_start(struct asks *w, struct ask *a)
{
    (void)w;
    tell(a);
    atomic_fetch_add(&begun, 1);
    return strcmp(a->question, "busy");
}

/* Which answer it is depends on the words of the question. */
static void finish(struct ask *a)
{
    const char *q = a->question;

    a->status = strstr(q, "fail") ? GKV_LIMIT : strstr(q, "break") ? GKV_IO : GKV_END;
    snprintf(a->err.text, sizeof a->err.text, "it was too much");
    a->elsewhere = strstr(q, "there");
    a->finish = strstr(q, "nothing") ? NULL : format(strstr(q, "long") ? "length" : "stop");
    a->thought = strstr(q, "think") ? format("Hm.") : NULL;
    a->warning = strstr(q, "warn") ? format("beware") : NULL;
    a->method = format("full");
    a->schedule = format("layer");
    a->stats.tokens_document = 90;
    a->stats.tokens_prompt = 100;
    a->stats.tokens_kept = 60;
    a->stats.tokens_answer = 7;
    a->stats.tokens_thought = a->thought ? 3 : 0;
    a->read = strstr(q, "known") ? 30 : strstr(q, "more") ? 120 : 100;
    a->seconds = 1.5;
    for (size_t i = 0; i < a->n_sources; i++)
        a->source[i].bytes = 40 + i;
    if (strstr(q, "cite")) {
        a->passage = grow(NULL, 2, sizeof *a->passage);
        a->passage[a->n_passages++] = (struct ask_passage){ .place = { 0, 0, 2, 3 }, .span = { 4, 12 }, .score = 0.5f,
                                                            .text = format("the <cat>\nsat") };
        a->passage[a->n_passages++] = (struct ask_passage){ .place = { 1, 2, 9, 1 }, .span = { 20, 30 }, .score = 0.25f,
                                                            .source = a->n_sources - 1, .text = format("on a mat") };
        a->claim = grow(NULL, 2, sizeof *a->claim);
        a->claim[a->n_claims++] = (struct ask_claim){ format("The cat sat."), 1, 12 };
        a->claim[a->n_claims++] = (struct ask_claim){ format("It is <so>."), 0, 23 };
    }
}

bool ask_wait(struct ask *a, double seconds, struct text *piece, struct ask_now *now)
{
    static const struct ask_now steps[] = {
        { ASK_WAITS, 2, 0, 0.5, 0 }, { ASK_WAITS, 2, 0, 0.6, 0 }, { ASK_READS, 0, 0.25, 0.7, 100 }, { ASK_READS, 0, 0.5, 0.8, 100 },
        { ASK_READS, 0, 0.5, 0.9, 100 }
    };
    static const char *const pieces[] = { "The cat sat. ", "It is <so>." };
    const unsigned step = a->own->step++, n = sizeof steps / sizeof *steps;

    (void)seconds;
    if (step < n) {
        *now = steps[step];
        return true;
    }
    if (step < n + 2 && !strstr(a->question, "fail")) {
        *now = (struct ask_now){ .state = ASK_ANSWERS, .fraction = 1, .seconds = 1, .tokens = 100 };
        text_puts(piece, pieces[step - n]);
        text_puts(&a->answer, pieces[step - n]);
        return true;
    }
    *now = (struct ask_now){ .state = ASK_ENDED, .fraction = 1, .seconds = 1.5, .tokens = 100 };
    text_add(&a->answer, "", 0);
    if (a->status == GKV_OK)
        finish(a);
    return strstr(a->question, "forever");
}

void ask_end(struct ask *a)
{
    for (size_t i = 0; i < a->n_sources; i++) {
        free(a->source[i].name);
        free(a->source[i].id);
        free(a->source[i].path);
        free(a->source[i].part);
        text_free(&a->source[i].text);
    }
    for (size_t i = 0; i < a->n_turns; i++) {
        free((char *)(uintptr_t)a->turn[i].question);
        free((char *)(uintptr_t)a->turn[i].answer);
    }
    for (size_t i = 0; i < a->stop.n; i++)
        free((char *)(uintptr_t)a->stop.v[i]);
    for (size_t i = 0; i < a->n_passages; i++)
        free(a->passage[i].text);
    for (size_t i = 0; i < a->n_claims; i++)
        free(a->claim[i].sentence);
    free(a->passage);
    free(a->claim);
    free(a->source);
    free(a->turn);
    free(a->stop.v);
    free(a->question);
    free(a->system);
    free(a->format);
    free(a->finish);
    free(a->thought);
    free(a->warning);
    free(a->method);
    free(a->schedule);
    gkv_grammar_close(a->grammar);
    text_free(&a->answer);
    free(a->own);
    free(a);
    atomic_fetch_add(&ends, 1);
}

/* Of a whole server, which has a model. */
struct asks *asks_open(struct run *r, const struct folder *f, const struct ask_limits *most)
{
    (void)r;
    (void)f;
    (void)most;
    return NULL;
}

void asks_close(struct asks *w) { (void)w; }
void asks_drain(struct asks *w) { (void)w; }
void asks_tick(struct asks *w) { (void)w; }
size_t asks_waiting(struct asks *w) { (void)w; return 0; }

/* ---- the servers ------------------------------------------------------------------------- */
/* More about a request than any other handler tells. */
static void echo(struct web_call *c)
{
    size_t      n;
    const char *name, *file = web_file(c, &name), *field = web_field(c, "a"), *body = web_body(c, &n);
    struct text t = { NULL, 0, 0 };

    text_printf(&t, "path %s\nfile %s\nfield %s\nbody %zu\n", web_path(c), file ? name : "-", field ? field : "-", n);
    if (n < 1000)
        text_add(&t, body, n);
    web_answer(c, 200, "text/plain", t.p, t.n);
    text_free(&t);
}

/* A mistake: nothing is answered. */
static void silent(struct web_call *c)
{
    (void)c;
}

/* Another mistake: the last answer is given. */
static void twice(struct web_call *c)
{
    web_answer(c, 200, "text/plain", "one\n", 4);
    web_answer(c, 200, "text/plain", "two\n", 4);
}

static const struct web_route routes[] = {
    { "GET", "/v1/files", files_list, false, false },
    { "POST", "/v1/files", files_add, false, true },
    { "GET", "/v1/files/*", files_get, false, false },
    { "DELETE", "/v1/files/*", files_remove, false, false },
    { "POST", "/v1/chat/completions", chat_completions, false, false },
    { "POST", "/v1/responses", responses, false, false },
    { "POST", "/ask", form_answer, false, true },
    { "GET", "/open", echo, true, false },
    { "POST", "/echo", echo, false, false },
    { "POST", "/form", echo, false, true },
    { "GET", "/silent", silent, false, false },
    { "GET", "/twice", twice, false, false },
    { .path = NULL }
};

static char          scratch[] = "/tmp/unit-serve-XXXXXX";
static struct io     io;
static char         *said;                      /* what the servers told, once io.err is flushed */
static size_t        n_said;
static struct folder place = { .path = scratch, .lock = -1 };
static struct api    api;                       /* its web is the one at a socket          */
static struct web   *tcp, *locked, *ending;
static char          file_id[32];               /* the last one that was told              */
static unsigned      port;

static struct web *start(const char *host, const char *key)
{
    const struct web_options o = { .io = &io, .host = host, .key = key, .most = key ? MOST_WITH_KEY : MOST,
                                   .most_held = MOST_HELD, .folder = scratch, .routes = routes, .arg = &api };
    struct web *w;
    char       *address;

    if (web_start(&w, &o, &address)) {
        fflush(io.err);
        printf("# %s: %s\n", host, said);
        web_stop(w);
        w = NULL;
    }
    if (w && *host != '/')
        sscanf(address, "http://127.0.0.1:%u/", &port);
    else if (w)
        ok(!strcmp(address, host), "a socket is at %s", strrchr(address, '/'));
    free(address);
    return w;
}

static const char *at(const char *name)
{
    static char path[100];

    snprintf(path, sizeof path, "%s/%s", scratch, name);
    return path;
}

/* name: of a socket; NULL: the port. */
static int dial(const char *name)
{
    struct sockaddr_un u = { .sun_family = AF_UNIX };
    struct sockaddr_in i = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    const int          fd = socket(name ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (name)
        snprintf(u.sun_path, sizeof u.sun_path, "%.60s/%s", scratch, name);
    if (connect(fd, name ? (struct sockaddr *)&u : (struct sockaddr *)&i, name ? sizeof u : sizeof i))
        printf("# %s: %s\n", name ? name : "127.0.0.1", strerror(errno));
    return fd;
}

/* Whether a process reaches itself by its address. */
static bool has_loopback(void)
{
    struct sockaddr_in i = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr = { htonl(INADDR_LOOPBACK) } };
    const int          fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool         there = !connect(fd, (struct sockaddr *)&i, sizeof i) || errno == ECONNREFUSED;

    close(fd);
    return there;
}

static void send_all(int fd, const char *p, size_t n)
{
    for (ssize_t k; n && (k = send(fd, p, n, MSG_NOSIGNAL)) > 0; n -= (size_t)k)
        p += k;
}

static struct text receive(int fd)
{
    struct text t = { NULL, 0, 0 };

    text_read(&t, fd);
    close(fd);
    return t;
}

/* ---- cases ------------------------------------------------------------------------------- */
static bool begins(const char *s, const char *with)
{
    return !strncmp(s, with, strlen(with));
}

static bool is_time(const char *p, size_t at)
{
    return (at >= 10 && begins(p + at - 10, "created\": ")) || (at >= 13 && begins(p + at - 13, "created_at\": "));
}

/* Numbers of each run become words. */
static struct text masked(const char *p, size_t n)
{
    struct text t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    for (size_t i = 0, k; i < n; i += k) {
        const char *s = p + i;

        k = 1;
        if (*s == '-' && strspn(s + 1, "0123456789abcdef") >= 16) {
            if (i >= 4 && begins(s - 4, "file"))
                snprintf(file_id, sizeof file_id, "file%.17s", s);
            k = 17;
            text_puts(&t, "-ID");
        } else if (strspn(s, "0123456789") == 10 && is_time(p, i)) {
            k = 10;
            text_puts(&t, "TIME");
        } else if (*s == '\r') {
            continue;
        } else {
            text_add(&t, s, 1);
        }
    }
    return t;
}

/* A request as it is sent: "<5*word >" is a word five times, "␍" a carriage return, "␀" a NUL, "$ID" the last file's. */
static struct text expanded(const char *p, size_t n)
{
    struct text t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    while (n) {
        unsigned times;
        int      from = 0;
        size_t   k = 1;

        if (*p == '<' && sscanf(p, "<%u*%n", &times, &from) == 1 && from) {
            const size_t len = strcspn(p + from, ">");

            while (times--)
                text_add(&t, p + from, len);
            k = (size_t)from + len + 1;
        } else if (begins(p, "\xe2\x90\x8d") || begins(p, "\xe2\x90\x80")) {
            text_add(&t, p[2] == '\x80' ? "" : "\r", 1);
            k = 3;
        } else if (begins(p, "$ID")) {
            text_puts(&t, file_id);
            k = 3;
        } else {
            text_add(&t, p, 1);
        }
        p += k;
        n -= k;
    }
    return t;
}

enum { RAW = 1, HEAD = 2, WHOLE = 4 };

/* Words of a line that begins with "@": of which server, and what is special; returns what is behind them. */
static const char *take_words(const char *p, const char **socket, unsigned *how)
{
    *socket = "socket";
    *how = 0;
    api.library = NULL;
    api.elsewhere = false;
    while (*p == '@') {
        const size_t n = strcspn(p, " \n");

        *how |= begins(p, "@raw") ? RAW : begins(p, "@head") ? HEAD : begins(p, "@whole") ? WHOLE : 0;
        *socket = begins(p, "@tcp") ? NULL : begins(p, "@key") ? "locked" : begins(p, "@ending") ? "ending" : *socket;
        api.library = begins(p, "@library") ? "lib" : api.library;
        api.elsewhere |= begins(p, "@elsewhere");
        p += n + 1;
    }
    return p;
}

/* The lines of a request: method and path, headers, an empty line, the body. */
static struct text request_of(const char *p, size_t n, unsigned how)
{
    struct text  body, t = { NULL, 0, 0 };
    const char  *gap = strstr(p, "\n\n"), *end = p + n;

    if ((how & RAW) || (n >= 3 && !memcmp(end - 3, "\xe2\x90\x8d", 3)))
        end++;                                  /* with its last newline                  */
    if (how & RAW)
        return expanded(p, n + 1);
    body = gap && gap < end ? expanded(gap + 2, (size_t)(end - gap) - 2) : expanded("", 0);
    if (!gap || gap > end)
        gap = end;
    for (size_t k; p < gap; p += k + 1) {
        struct text one;

        k = strcspn(p, "\n");
        one = expanded(p, k);
        text_printf(&t, "%s%s\r\n", one.p, t.n ? "" : " HTTP/1.0");
        text_free(&one);
    }
    text_printf(&t, "Content-Length: %zu\r\n\r\n", body.n);
    text_add(&t, body.p, body.n);
    text_free(&body);
    return t;
}

/* "STATUS TYPE" or all headers, and the body. */
static void tell_reply(struct text *out, const struct text *got, unsigned how)
{
    const char *gap = strstr(got->p, "\r\n\r\n"), *type = strstr(got->p, "\r\nContent-Type: ");
    struct text m;

    if (!gap) {
        text_puts(out, "nothing\n");
        return;
    }
    if (how & HEAD) {
        for (const char *p = got->p; p < gap; p += strcspn(p, "\r") + 2)
            if (!begins(p, "Date: ") && !begins(p, "Content-Length: "))
                text_printf(out, "%.*s\n", (int)strcspn(p, "\r"), p);
        text_puts(out, "\n");
    } else {
        text_printf(out, "%.3s %.*s\n", got->p + 9, type && type < gap ? (int)strcspn(type + 16, "\r") : 1,
                    type && type < gap ? type + 16 : "-");
    }
    if (asked.n && !(how & WHOLE) && begins(got->p + 9, "200"))
        return;
    m = masked(gap + 4, got->n - (size_t)(gap + 4 - got->p));
    text_add(out, m.p, m.n);
    if (!m.n || m.p[m.n - 1] != '\n')
        text_puts(out, "\n");
    text_free(&m);
}

/* What comes of a request. */
static struct text outcome(const char *p, size_t n)
{
    struct text out = { NULL, 0, 0 }, sent, got, m;
    const char *socket, *request;
    unsigned    how;
    int         fd;

    request = take_words(p, &socket, &how);
    sent = request_of(request, n - (size_t)(request - p), how);
    asked.n = 0;
    text_add(&asked, "", 0);
    fd = dial(socket);
    send_all(fd, sent.p, sent.n);
    if (how & RAW)
        shutdown(fd, SHUT_WR);
    got = receive(fd);
    m = masked(asked.p, asked.n);
    text_add(&out, m.p, m.n);
    tell_reply(&out, &got, how);
    text_free(&m);
    text_free(&sent);
    text_free(&got);
    return out;
}

/* "%% NAME", the request, "--", what comes of it. */
static void run_cases(void)
{
    size_t      n;
    char       *all = slurp("tests/files/serve.txt", &n), *p = strstr(all, "\n%% ");
    struct text now = { NULL, 0, 0 };

    text_add(&now, all, p ? (size_t)(p + 1 - all) : n);
    while (p) {
        char       *name = p + 4, *next = strstr(name, "\n%% "), *request = strchr(name, '\n') + 1, *gap, *want;
        const char *socket_of;
        struct text got;
        unsigned    how;

        if (next)
            next[1] = 0;
        gap = strstr(request, "\n--\n");
        want = gap ? gap + 4 : strchr(request, 0);
        gap = gap ? gap : strchr(request, 0);
        take_words(request, &socket_of, &how);
        if (!socket_of && !has_loopback()) {    /* where packages are built, say */
            skip("no network", "%.*s", (int)(request - name) - 1, name);
            p = next;
            continue;
        }
        got = outcome(request, (size_t)(gap - request));
        ok(!strcmp(got.p, want), "%.*s", (int)(request - name) - 1, name);
        if (strcmp(got.p, want))
            for (const char *line = got.p; *line; line += strcspn(line, "\n") + 1)
                printf("# %.*s\n", (int)strcspn(line, "\n"), line);
        text_printf(&now, "%%%% %.*s\n%.*s\n--\n%s", (int)(request - name) - 1, name, (int)(gap - request), request, got.p);
        text_free(&got);
        p = next;
    }
    free(all);
    if (getenv("UPDATE")) {
        char  path[512];
        FILE *f;

        snprintf(path, sizeof path, "%s/tests/files/serve.txt", getenv("srcdir") ? getenv("srcdir") : ".");
        f = fopen(path, "w");
        if (!f || fwrite(now.p, 1, now.n, f) != now.n || fclose(f))
            printf("Bail out! %s: %s\n", path, strerror(errno));
    }
    text_free(&now);
}

/* ---- what is more than a request ---------------------------------------------------------- */
static bool soon(bool (*is)(void))
{
    for (int i = 0; i < 1000 && !is(); i++)
        nanosleep(&(struct timespec){ 0, 10000000 }, NULL);
    return is();
}

static int begun_wanted, ends_wanted;

static bool has_begun(void)
{
    return atomic_load(&begun) >= begun_wanted;
}

static bool has_ended(void)
{
    return atomic_load(&ends) >= ends_wanted;
}

/* A stream without an end ends when nobody listens, and so does a question that is waited for. */
static void test_leaving(void)
{
    static const char *const bodies[] = { "{\"input\": \"forever\", \"stream\": true}", "{\"input\": \"forever\"}" };
    char head[300], byte;
    int  fd;

    for (size_t i = 0; i < 2; i++) {
        begun_wanted = atomic_load(&begun) + 1;
        ends_wanted = atomic_load(&ends) + 1;
        fd = dial("socket");
        snprintf(head, sizeof head, "POST /v1/responses HTTP/1.0\r\nHost: localhost\r\nContent-Length: %zu\r\n\r\n%s",
                 strlen(bodies[i]), bodies[i]);
        send_all(fd, head, strlen(head));
        if (!i)
            ok(recv(fd, &byte, 1, 0) == 1 && byte == 'H' && !has_ended(), "a stream without an end begins");
        soon(has_begun);
        close(fd);
        ok(soon(has_ended), "%s", i ? "a question that nobody waits for ends" : "... and ends when its client leaves");
    }
}

static bool none_runs(void)
{
    return !web_running(api.web);
}

static void test_counts(void)
{
    uint64_t    before, all, refused_before, refused;
    struct text got;

    ok(soon(none_runs), "no request is left running");
    web_counts(api.web, &before, &refused_before);
    got = outcome("GET /open", 9);
    text_free(&got);
    got = outcome("GET /nothing", 12);
    text_free(&got);
    soon(none_runs);
    web_counts(api.web, &all, &refused);
    ok(all == before + 2 && refused == refused_before + 1, "two more requests, one more refused");
    fflush(io.err);
    ok(strstr(said, "GET /open 200, 0.0") && strstr(said, "GET /nothing 404, 0.0"), "both are told");
    ok(strstr(said, "POST /v1/responses 200, 0.") && strstr(said, " s, left by the client\n"), "... and who left");
}

/* Bodies of several requests have less room in memory together than each for itself.  The server may not have read the first
 * one when it reads the second, or may refuse both; so they are sent until only the second is refused. */
static void test_held(void)
{
    char        head[200], *half = calloc(1, 12000);
    struct text first = { NULL, 0, 0 }, second = { NULL, 0, 0 };
    bool        is = false;
    int         one, two;

    memset(half, ' ', 11999);
    snprintf(head, sizeof head, "POST /echo HTTP/1.0\r\nHost: localhost\r\nContent-Length: 12000\r\n\r\n");
    for (int i = 0; i < 500 && !is; i++) {
        text_free(&first);
        text_free(&second);
        one = dial("socket");
        send_all(one, head, strlen(head));
        send_all(one, half, 11000);
        nanosleep(&(struct timespec){ 0, 1000000 * (i < 100 ? i : 100) }, NULL);
        two = dial("socket");
        send_all(two, head, strlen(head));
        send_all(two, half, 11999);
        send_all(two, "x", 1);
        second = receive(two);
        send_all(one, half, 1000);
        first = receive(one);
        is = begins(first.p, "HTTP/1.1 200") && begins(second.p, "HTTP/1.1 503");
    }
    ok(is && strstr(second.p, "\r\nRetry-After: 10\r\n") && strstr(second.p, "the server reads too many large requests at once"),
       "too many large requests at once");
    ok(is && strstr(first.p, "body 12000\n"), "... the first of which is answered");
    text_free(&first);
    text_free(&second);
    two = dial("socket");
    send_all(two, head, strlen(head));
    send_all(two, half, 11999);
    send_all(two, "x", 1);
    second = receive(two);
    ok(begins(second.p, "HTTP/1.1 200"), "... and the next, too");
    text_free(&second);
    free(half);
}

static size_t descriptors_before;

static bool all_are_closed(void)
{
    return none_runs() && descriptors() <= descriptors_before;
}

/* Whether who asks at this port with a key, by the name of another machine, is answered. */
static bool answers_others(const char *address)
{
    static const char request[] = "GET /v1/files HTTP/1.0\r\nHost: else.example\r\nAuthorization: Bearer k\r\n\r\n";
    const unsigned    before = port;
    struct text       got;
    bool              good;
    int               fd;

    port = (unsigned)strtoul(strrchr(address, ':') + 1, NULL, 10);
    fd = dial(NULL);
    send_all(fd, request, sizeof request - 1);
    got = receive(fd);
    good = got.n && begins(got.p, "HTTP/1.1 200");
    text_free(&got);
    port = before;
    return good;
}

/* A second server does not take the place of one that is there, but of one that was killed. */
static void test_sockets(void)
{
    struct web_options o = { .io = &io, .host = at("socket"), .most = MOST, .most_held = MOST_HELD, .folder = scratch,
                             .routes = routes, .arg = &api };
    struct sockaddr_un u = { .sun_family = AF_UNIX };
    char               name[200], *address = NULL;
    struct web        *w = NULL;
    struct stat        st;
    int                fd;

    ok(!stat(at("socket"), &st) && (st.st_mode & 0777) == 0600, "only this user may ask at the socket");
    ok(web_start(&w, &o, &address) == EXIT_USAGE && !stat(at("socket"), &st), "another server is there");
    web_stop(w);
    free(address);
    fflush(io.err);
    ok(strstr(said, "socket: Address already in use"), "... which is said");
    ok(!stat(at("socket"), &st), "... and is left alone");
    snprintf(name, sizeof name, "/%0190d", 7);
    o.host = name;
    ok(web_start(&w, &o, &address) == EXIT_USAGE, "a socket's name can be too long");
    web_stop(w);
    free(address);
    o.host = "nobody.invalid";
    ok(web_start(&w, &o, &address) == EXIT_USAGE && !address, "a host that is none");
    web_stop(w);
    o.host = "0.0.0.0";
    ok(web_start(&w, &o, &address) == EXIT_USAGE && !address, "without a key, nobody else may ask");
    web_stop(w);
    o.host = "127.0.0.1";
    o.key = "k";
    if (has_loopback()) {
        ok(!web_start(&w, &o, &address) && answers_others(address), "with one, anybody, by any name");
        web_stop(w);
        free(address);
    } else {
        skip("no network", "with one, anybody, by any name");
    }
    o.key = NULL;
    o.port = port;
    ok(web_start(&w, &o, &address) == EXIT_USAGE && !address, "a port that is another's");
    web_stop(w);
    fflush(io.err);
    ok(strstr(said, "cannot listen at 127.0.0.1: Address already in use"), "... which is said");
    o.port = 0;
    o.host = "::1";
    if (web_start(&w, &o, &address))
        skip("no IPv6", "IPv6");
    else
        ok(begins(address, "http://[::1]:"), "IPv6 is at %.13s", address);
    web_stop(w);
    free(address);
    fflush(io.err);
    ok(strstr(said, "File name too long") && strstr(said, "cannot listen at nobody.invalid: ") &&
       strstr(said, "cannot listen at 0.0.0.0: others could ask, too: give a key with --api-key-file FILE"), "... which is said");

    snprintf(u.sun_path, sizeof u.sun_path, "%s", at("left"));
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ok(!bind(fd, (struct sockaddr *)&u, sizeof u) && !close(fd), "a socket of who is no longer there");
    o.host = u.sun_path;
    ok(!web_start(&w, &o, &address), "... is replaced");
    web_stop(w);
    free(address);
    ok(stat(u.sun_path, &st) && errno == ENOENT, "... and goes with the server");
}

/* ---- a socket of who started the server ------------------------------------------------------ */
static int web_at(int fd, const char *key, struct web **w, char **address)
{
    const struct web_options o = { .io = &io, .host = at("nowhere/x"), .key = key, .most = MOST, .most_held = MOST_HELD,
                                   .folder = scratch, .routes = routes, .arg = &api };

    if (dup2(fd, 3) != 3)
        return -1;
    return web_start(w, &o, address);
}

/* Descriptor 3 is replaced, so this comes first. */
static void test_given(void)
{
    struct sockaddr_un u = { .sun_family = AF_UNIX };
    struct sockaddr_in i = { .sin_family = AF_INET };
    const int          local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), any = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int          null = open("/dev/null", O_RDWR | O_CLOEXEC);
    struct web        *w = NULL;
    struct stat        st;
    char               pid[32], *address = NULL;

    snprintf(u.sun_path, sizeof u.sun_path, "%s", at("given"));
    ok(!bind(local, (struct sockaddr *)&u, sizeof u) && !listen(local, 5) && !bind(any, (struct sockaddr *)&i, sizeof i) && !listen(any, 5),
       "two sockets");
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    ok(!web_at(local, NULL, &w, &address) && !strcmp(address, "the socket given"), "one that is given is taken");
    web_stop(w);
    free(address);
    ok(!stat(u.sun_path, &st) && fcntl(3, F_GETFD) < 0, "... and closed, but stays where it is");
    ok(web_at(any, NULL, &w, &address) == EXIT_USAGE && !address, "one that is open to others needs a key");
    web_stop(w);
    ok(!web_at(any, "k", &w, &address) && begins(address, "http://0.0.0.0:"), "... and is taken with one");
    if (has_loopback())
        ok(address && answers_others(address), "... and answers to any name");
    else
        skip("no network", "... and answers to any name");
    web_stop(w);
    free(address);
    ok(web_at(null, NULL, &w, &address) == EXIT_FAILED && fcntl(3, F_GETFD) >= 0, "what is no socket is refused, and left alone");
    web_stop(w);
    setenv("LISTEN_FDS", "2", 1);
    ok(web_at(local, NULL, &w, &address) == EXIT_USAGE, "of two, none is taken");
    web_stop(w);
    free(address);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_PID", "1", 1);
    ok(web_at(local, NULL, &w, &address) == EXIT_USAGE, "... nor one of another process");
    web_stop(w);
    free(address);
    unsetenv("LISTEN_FDS");
    snprintf(pid, sizeof pid, "%ld", (long)getpid());
    setenv("LISTEN_PID", pid, 1);
    ok(web_at(local, NULL, &w, &address) == EXIT_USAGE, "... nor one of which there is no number");
    web_stop(w);
    free(address);
    unsetenv("LISTEN_PID");
    fflush(io.err);
    ok(strstr(said, "the socket is open to others: give a key with --api-key-file FILE") &&
       strstr(said, "LISTEN_FDS: the socket that should be there: Socket operation on non-socket"), "... which is said");
    close(3);
    close(local);
    close(any);
    close(null);
    unlink(u.sun_path);
}

/* Its text was deleted while it was asked for. */
static void test_vanished(void)
{
    char          source[100], request[100], *why = NULL;
    struct stored f;
    struct text   got;

    put_in(&place, "source", "One text.");
    snprintf(source, sizeof source, "%s", at("source"));
    ok(!store_add(api.store, source, "a.txt", true, &f, &why) && !unlink(f.path) && !unlink(source), "a file whose text is gone");
    snprintf(request, sizeof request, "GET /v1/files/%s/content\nHost: localhost\n", f.id);
    got = outcome(request, strlen(request) - 1);
    ok(begins(got.p, "404 ") && strstr(got.p, "there is no file"), "... is none");
    text_free(&got);
    store_remove(api.store, f.id);
    stored_free(&f);
}

/* A server cannot begin with too few descriptors, and an upload needs room. */
static void test_refused(void)
{
    static const char form[] = "POST /form\nHost: localhost\nContent-Type: multipart/form-data; boundary=edge\n\n--edge\xe2\x90\x8d\n"
                               "Content-Disposition: form-data; name=\"f\"; filename=\"a\"\xe2\x90\x8d\n\xe2\x90\x8d\n"
                               "<2000*x>\xe2\x90\x8d\n--edge--\xe2\x90\x8d\n";
    struct web_options o = { .io = &io, .most = MOST, .most_held = MOST_HELD, .folder = scratch, .routes = routes, .arg = &api };
    char               path[100], *address = NULL;
    struct rlimit      r, few;
    struct web        *w;
    struct text        got;
    int                code[2], fd;

    getrlimit(RLIMIT_NOFILE, &r);
    few = r;
    fd = dup(0);
    close(fd);
    few.rlim_cur = (rlim_t)fd;
    snprintf(path, sizeof path, "%s", at("few"));
    for (int i = 0; i < 2; i++) {
        o.host = i ? path : "127.0.0.1";
        setrlimit(RLIMIT_NOFILE, &few);
        code[i] = web_start(&w, &o, &address);
        setrlimit(RLIMIT_NOFILE, &r);
        web_stop(w);
        free(address);
    }
    ok(code[0] == EXIT_USAGE && code[1] == EXIT_USAGE, "without a descriptor nobody can listen");
    few.rlim_cur++;
    setrlimit(RLIMIT_NOFILE, &few);
    code[0] = web_start(&w, &o, &address);
    setrlimit(RLIMIT_NOFILE, &r);
    web_stop(w);
    free(address);
    fflush(io.err);
    ok(code[0] == EXIT_FAILED && strstr(said, "the server cannot start: "), "... nor with one");
    ok(access(path, F_OK), "... and no socket is left");

    limit_files(1000);
    got = outcome(form, strlen(form));
    limit_files(RLIM_INFINITY);
    ok(begins(got.p, "507 ") && strstr(got.p, "the file cannot be stored: File too large"), "a file that there is no room for: %.200s", got.p);
    text_free(&got);
    ok(soon(none_runs) && !files_in(&place, "upload-"), "... is not left");
}

static void test_status(void)
{
    static const struct { gkv_status status; bool elsewhere; unsigned code; } rows[] = {
        { GKV_LIMIT, false, 413 }, { GKV_DOCUMENT, false, 422 }, { GKV_INVALID, false, 400 }, { GKV_CANCELLED, false, 503 },
        { GKV_NOMEM, false, 503 }, { GKV_IO, false, 500 }, { GKV_FORMAT, false, 500 }, { GKV_IO, true, 502 },
        { (gkv_status)1000, false, 500 }
    };
    unsigned wrong = 0;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        wrong += api_status(&(struct ask){ .status = rows[i].status, .elsewhere = rows[i].elsewhere }) != rows[i].code;
    ok(!wrong, "the statuses of failures");
}

int main(void)
{
    setenv("LC_ALL", "C", 1);
    if (!mkdtemp(scratch)) {
        printf("Bail out! %s: %s\n", scratch, strerror(errno));
        return 1;
    }
    io = (struct io){ .out = fopen("/dev/null", "w"), .err = open_memstream(&said, &n_said) };
    text_add(&asked, "", 0);
    put_in(&place, "file-00000000000000aa", "The cat.");
    put_in(&place, "file-00000000000000aa.json", "{\"name\": \"slides\", \"part\": \"slide\"}");
    api = (struct api){ .folder = &place, .model = "m", .store = store_open(&place, MOST_FILES, &io), .started = 7 };
    test_given();
    api.web = start(at("socket"), NULL);
    locked = start(at("locked"), "opensesame");
    ending = start(at("ending"), NULL);
    tcp = start("127.0.0.1", NULL);
    if (!api.web || !locked || !ending || !tcp) {
        printf("Bail out! no server\n");
        return 1;
    }
    web_drain(ending);
    test_status();
    descriptors_before = descriptors();
    run_cases();
    ok(soon(all_are_closed), "all files and connections are closed");
    test_vanished();
    test_refused();
    test_leaving();
    test_held();
    test_counts();
    test_sockets();
    web_stop(tcp);
    web_stop(locked);
    web_stop(ending);
    web_stop(api.web);
    ok(files_in(&place, "upload-") == 0 && files_in(&place, "inline-") == 0, "no upload stays in the folder");
    store_close(api.store);
    ok(files_in(&place, "") == 0 && !rmdir(scratch), "no text does, and no socket");
    fclose(io.out);
    fclose(io.err);
    free(said);
    text_free(&asked);
    return done();
}
#else
int main(void)
{
    return skip_all("no libmicrohttpd");
}
#endif
