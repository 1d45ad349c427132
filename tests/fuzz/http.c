/* SPDX-License-Identifier: BSD-2-Clause
 * http.c - bytes that come to gemkv serve by a connection: HTTP, JSON of OpenAI's kind, and forms.  Questions get the
 * same answer at once, from the functions below.
 *
 *     1 byte; 0: the rest is all that comes, as it is; else
 *     method and path, a newline, headers that end with newlines, an empty line, the body; its length is added here */
#include "config.h"
#include "tests/fuzz/fuzz.h"
#if HAVE_LIBMICROHTTPD
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "src/cli/serve/api.h"
#include "src/cli/serve/folder.h"

/* ---- in place of ask.c ------------------------------------------------------------------- */
struct ask_private { bool told; };

struct ask *ask_new(struct asks *w)
{
    struct ask *a = grow(NULL, 1, sizeof *a);

    (void)w;
    *a = (struct ask){ .own = grow(NULL, 1, sizeof *a->own) };
    a->own->told = false;
    gkv_options_init(&a->opt);
    return a;
}

bool ask_start(struct asks *w, struct ask *a)
{
    (void)w;
    must(a->question && a->n_sources);
    for (size_t i = 0; i < a->n_sources; i++)
        must(a->source[i].name && (a->source[i].path || a->source[i].text.p));
    for (size_t i = 0; i < a->n_turns; i++)
        must(a->turn[i].question && a->turn[i].answer);
    return strcmp(a->question, "busy");
}

bool ask_wait(struct ask *a, double seconds, struct text *piece, struct ask_now *now)
{
    (void)seconds;
    *now = (struct ask_now){ .state = a->own->told ? ASK_ENDED : ASK_ANSWERS, .fraction = 1, .tokens = 100 };
    if (a->own->told)
        return false;
    a->own->told = true;
    text_puts(&a->answer, a->question);
    text_puts(piece, a->question);
    a->status = strcmp(a->question, "fail") ? GKV_END : GKV_LIMIT;
    snprintf(a->err.text, sizeof a->err.text, "too much");
    a->finish = format("stop");
    a->method = format("full");
    a->schedule = format("layer");
    a->stats.tokens_prompt = 100;
    a->passage = grow(NULL, 1, sizeof *a->passage);
    a->passage[a->n_passages++] = (struct ask_passage){ .place = { 1, 1, 2, 3 }, .span = { 0, 3 },
                                                       .text = format("The") };
    a->claim = grow(NULL, 1, sizeof *a->claim);
    a->claim[a->n_claims++] = (struct ask_claim){ format("The"), 0, 3 };
    return true;
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
    if (a->n_passages)
        free(a->passage[0].text);
    if (a->n_claims)
        free(a->claim[0].sentence);
    free(a->passage);
    free(a->claim);
    free(a->source);
    free(a->turn);
    free(a->stop.v);
    free(a->question);
    free(a->system);
    free(a->format);
    free(a->finish);
    free(a->method);
    free(a->schedule);
    gkv_grammar_close(a->grammar);
    text_free(&a->answer);
    free(a->own);
    free(a);
}

/* ---- in place of cmd-serve.c ------------------------------------------------------------- */
unsigned api_status(const struct ask *a)
{
    return a->status == GKV_LIMIT ? 413 : 500;
}

bool api_wait(struct web_call *c, struct ask *a)
{
    struct text    piece = { NULL, 0, 0 };
    struct ask_now now;

    while (ask_wait(a, 1, &piece, &now))
        ;
    text_free(&piece);
    if (a->status != GKV_END)
        web_fail(c, api_status(a), NULL, "%s", a->err.text);
    return a->status == GKV_END;
}

/* ---- the server -------------------------------------------------------------------------- */
static const struct web_route routes[] = {
    { "GET", "/v1/files", files_list, false, false },
    { "POST", "/v1/files", files_add, false, true },
    { "GET", "/v1/files/*", files_get, false, false },
    { "DELETE", "/v1/files/*", files_remove, false, false },
    { "POST", "/v1/chat/completions", chat_completions, false, false },
    { "POST", "/v1/responses", responses, false, false },
    { "POST", "/ask", form_answer, false, true },
    { .path = NULL }
};

static struct api    api;
static struct folder place = { .lock = -1 };
static char         *dir, *address, path_of_socket[100];

static void leave(void)
{
    web_stop(api.web);
    store_close(api.store);
    free(address);
    fuzz_remove(dir);
}

static void prepare(void)
{
    static struct io io;

    dir = fuzz_folder();
    io = (struct io){ .out = fopen("/dev/null", "w"), .quiet = true };
    io.err = io.out;
    place.path = dir;
    must(snprintf(path_of_socket, sizeof path_of_socket, "%s/socket", dir) < (int)sizeof path_of_socket);
    api = (struct api){ .folder = &place, .model = "m", .store = store_open(&place, 1 << 20, &io) };
    must(!web_start(&api.web, &(struct web_options){
        .io = &io, .host = path_of_socket, .most = 1 << 20, .most_held = 1 << 20, .folder = dir, .routes = routes,
        .arg = &api }, &address));
    atexit(leave);
}

/* Nobody waits for what the server waits for in vain. */
static void receive(int fd, bool waits)
{
    const struct timeval most = { .tv_usec = 100000 };
    char                 answer[4096];

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &most, sizeof most);
    while (waits && recv(fd, answer, sizeof answer, 0) > 0)
        ;
    shutdown(fd, SHUT_WR);
    while (recv(fd, answer, sizeof answer, 0) > 0)
        ;
    close(fd);
}

static struct text request(struct input in)
{
    struct text  t = { NULL, 0, 0 };
    struct input line = take_until(&in, '\n');

    text_printf(&t, "%.*s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n", (int)line.n, (const char *)line.p);
    while ((line = take_until(&in, '\n')).n)
        text_printf(&t, "%.*s\r\n", (int)line.n, (const char *)line.p);
    text_printf(&t, "Content-Length: %zu\r\n\r\n", in.n);
    text_add(&t, (const char *)in.p, in.n);
    return t;
}

static void forget_files(void)
{
    size_t         n;
    struct stored *f = store_list(api.store, &n);

    for (size_t i = 0; i < n; i++) {
        store_remove(api.store, f[i].id);
        stored_free(&f[i]);
    }
    free(f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sockaddr_un a = { .sun_family = AF_UNIX };
    struct input       in = { data, size };
    const bool         whole = take(&in);
    struct text        t = { NULL, 0, 0 };
    size_t             at = 0;
    ssize_t            n;
    int                fd;

    if (!dir)
        prepare();
    if (whole)
        t = request(in);
    else
        text_add(&t, (const char *)in.p, in.n);
    memcpy(a.sun_path, path_of_socket, strlen(path_of_socket) + 1);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && !connect(fd, (struct sockaddr *)&a, sizeof a));
    while (at < t.n && (n = send(fd, t.p + at, t.n - at, MSG_NOSIGNAL)) > 0)
        at += (size_t)n;
    receive(fd, whole);
    text_free(&t);
    forget_files();
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return 0;
}
#endif
