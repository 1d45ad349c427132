/* SPDX-License-Identifier: BSD-2-Clause
 * cmd-serve.c - a server: a page for people, and OpenAI's endpoints for programs */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "src/cli/answerer.h"
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/json.h"
#include "src/cli/memory.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/serve/api.h"

enum {
    TICK = 100,                         /* ms between two looks for a signal              */
    GRACE = 30,                         /* s that questions may still take when it ends   */
    LAST = 5                            /* ... and clients to take what was answered      */
};

struct serve {
    struct run  r;                      /* must be first                                  */
    const char *host, *key_file, *name, *keep_in;
    uint32_t    port, most_waiting, most_seconds;
    uint64_t    most_upload, most_files;
    char       *key;
    struct folder folder;
    struct api  api;
    char       *address;
};

static const struct opt own[] = {
    { 0, 0, "host", "NAME|PATH", "127.0.0.1", "where to listen; a path is a Unix socket",
      opt_text, offsetof(struct serve, host), 0, 0 },
    { 0, 0, "port", "N", "8642", "port; 0: any that is free", opt_u32, offsetof(struct serve, port), 0, 65535 },
    { 0, 0, "api-key-file", "FILE", "$GEMKV_API_KEY, else none", "file with the key that clients must send",
      opt_text, offsetof(struct serve, key_file), 0, 0 },
    { 0, 0, "name", "NAME", "the model's", "the model's name for clients", opt_text, offsetof(struct serve, name), 0, 0 },
    { 0, 0, "folder", "FOLDER", "a new one, for as long as it runs", "keep files and their indexes there, for the next start",
      opt_text, offsetof(struct serve, keep_in), 0, 0 },
    { 0, 0, "max-waiting", "N", "64", "questions that may wait; more are refused", opt_u32, offsetof(struct serve, most_waiting),
      0, 100000 },
    { 0, 0, "max-time", "SECONDS", "no limit", "time for a question, from when it is its turn", opt_u32,
      offsetof(struct serve, most_seconds), 1, UINT32_MAX },
    { 0, 0, "max-upload", "SIZE", "256M", "largest request", opt_size, offsetof(struct serve, most_upload), 0, 0 },
    { 0, 0, "max-files", "SIZE", "4G", "room on the disk for texts, and as much for their indexes",
      opt_size, offsetof(struct serve, most_files), 0, 0 },
    { .name = NULL }
};

static const struct opt_default defaults[] = {
    { "host", "127.0.0.1" }, { "port", "8642" }, { "max-waiting", "64" }, { "max-upload", "256M" }, { "max-files", "4G" }, { NULL, NULL }
};

/* ---- what is not about questions ----------------------------------------------------- */
unsigned api_status(const struct ask *a)
{
    static const unsigned code[] = {
        [GKV_LIMIT] = 413, [GKV_DOCUMENT] = 422, [GKV_INVALID] = 400, [GKV_CANCELLED] = 503, [GKV_NOMEM] = 503
    };

    if (a->elsewhere)
        return 502;
    return (size_t)a->status < sizeof code / sizeof *code && code[a->status] ? code[a->status] : 500;
}

bool api_wait(struct web_call *c, struct ask *a)
{
    struct ask_now now = { .state = ASK_WAITS };
    struct text    piece = { NULL, 0, 0 };

    while (ask_wait(a, 0.2, &piece, &now)) {
        if (web_gone(c)) {
            text_free(&piece);
            web_fail(c, 499, NULL, "the client has left");
            return false;
        }
    }
    text_free(&piece);
    if (a->status == GKV_END)
        return true;
    web_fail(c, api_status(a), NULL, "%s", a->err.text);
    return false;
}

static void send_file(struct web_call *c, const char *name, const char *type)
{
    char       *path = run_data_path(name);
    struct text text = { NULL, 0, 0 };
    const int   fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;

    if (fd < 0)
        web_fail(c, 500, NULL, "%s was not installed", name);
    else if (text_read(&text, fd))
        web_answer(c, 200, type, text.p, text.n);
    else
        web_fail(c, 500, NULL, "%s cannot be read: %s", name, strerror(errno));
    if (fd >= 0)
        close(fd);
    text_free(&text);
    free(path);
}

static void page(struct web_call *c)
{
    send_file(c, "serve/page.html", "text/html; charset=utf-8");
}

static void style(struct web_call *c)
{
    send_file(c, "serve/page.css", "text/css; charset=utf-8");
}

static void script(struct web_call *c)
{
    send_file(c, "serve/page.js", "text/javascript; charset=utf-8");
}

static void icon(struct web_call *c)
{
    web_answer(c, 204, "image/x-icon", "", 0);
}

static void health(struct web_call *c)
{
    static const char ok[] = "{\"status\": \"ok\"}\n";

    web_answer(c, 200, "application/json", ok, sizeof ok - 1);
}

static void models(struct web_call *c)
{
    const struct api *api = web_arg(c);
    struct json       j = { .depth = 0 };

    json_open(&j, '{');
    json_named_string(&j, "object", "list");
    json_named_open(&j, "data", '[');
    json_open(&j, '{');
    json_named_string(&j, "id", api->model);
    json_named_string(&j, "object", "model");
    json_named_uint(&j, "created", (uint64_t)api->started);
    json_named_string(&j, "owned_by", "gemkv");
    if (api->library)
        json_named_string(&j, "library", api->library);
    json_close(&j);
    json_close(&j);
    json_close(&j);
    web_answer(c, 200, "application/json", j.text.p, j.text.n);
    text_free(&j.text);
}

/* In the text format of Prometheus. */
static void metrics(struct web_call *c)
{
    struct api *api = web_arg(c);
    struct text t = { NULL, 0, 0 };
    uint64_t    all, refused;

    web_counts(api->web, &all, &refused);
    text_printf(&t, "# HELP gemkv_requests_total Requests that were answered.\n# TYPE gemkv_requests_total counter\n"
                "gemkv_requests_total %" PRIu64 "\n"
                "# HELP gemkv_requests_failed_total Those of them with a status of 400 and more.\n"
                "# TYPE gemkv_requests_failed_total counter\ngemkv_requests_failed_total %" PRIu64 "\n"
                "# HELP gemkv_questions Questions that wait or are being answered.\n# TYPE gemkv_questions gauge\n"
                "gemkv_questions %zu\n", all, refused, asks_waiting(api->asks));
    web_answer(c, 200, "text/plain; version=0.0.4", t.p, t.n);
    text_free(&t);
}

static const struct web_route routes[] = {
    { "GET", "/", page, true, false },
    { "GET", "/page.css", style, true, false },
    { "GET", "/page.js", script, true, false },
    { "GET", "/favicon.ico", icon, true, false },
    { "GET", "/health", health, true, false },
    { "GET", "/metrics", metrics, false, false },
    { "GET", "/v1/models", models, false, false },
    { "GET", "/v1/files", files_list, false, false },
    { "POST", "/v1/files", files_add, false, true },
    { "GET", "/v1/files/*", files_get, false, false },
    { "DELETE", "/v1/files/*", files_remove, false, false },
    { "POST", "/v1/chat/completions", chat_completions, false, false },
    { "POST", "/v1/responses", responses, false, false },
    { "POST", "/ask", form_answer, false, true },
    { .path = NULL }
};

/* ---- start and end ------------------------------------------------------------------- */
static int check_documents(struct run *r)
{
    if (web_missing())
        return usage(r->o.io, r->o.cmd, "%s", web_missing());
    if (run_check_documents(r))
        return EXIT_USAGE;
    return r->o.n_operand ? usage(r->o.io, r->o.cmd, "'%s': documents and questions come from clients", *r->o.operand) : 0;
}

/* The first line of the file, or the environment's. */
static int find_key(struct serve *s)
{
    const char *env = getenv("GEMKV_API_KEY");
    struct io  *io = s->r.o.io;
    struct text text = { NULL, 0, 0 };
    int         fd, code = 0;

    if (!s->key_file) {
        s->key = env && *env ? format("%s", env) : NULL;
        return 0;
    }
    fd = open(s->key_file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return fail(io, EXIT_FAILED, "%s: %s", s->key_file, strerror(errno));
    if (!text_read(&text, fd))
        code = fail(io, EXIT_FAILED, "%s: %s", s->key_file, strerror(errno));
    close(fd);
    s->key = format("%.*s", text.p ? (int)strcspn(text.p, "\r\n") : 0, text.p ? text.p : "");
    text_free(&text);
    return code ? code : *s->key ? 0 : usage(io, s->r.o.cmd, "%s: its first line is empty, and no key", s->key_file);
}

/* What has a name of its own is opened before confine().  A folder that goes with the server is made after it: what
 * could not be made there could not be removed either. */
static int check(struct run *r)
{
    struct serve *s = (struct serve *)r;        /* which it begins                        */
    int           code = check_documents(r);

    if (!code)
        code = find_key(s);
    return code || !s->keep_in ? code : folder_open(&s->folder, r->o.io, s->keep_in);
}

/* Of --memory, what is left to requests that are being received, and to their texts: these are as large again. */
static uint64_t for_requests(const struct serve *s)
{
    const uint64_t all = s->r.o.gkv.memory_limit, there = memory_resident();

    return all > there ? (all - there) / 4 : all ? 1 : 0;
}

/* Signals are for the thread that waits for them. */
static void hold_signals(int how)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    pthread_sigmask(how, &set, NULL);
}

static int start(struct serve *s)
{
    struct io         *io = s->r.o.io;
    const uint64_t     requests = for_requests(s);
    struct ask_limits  most = { .waiting = s->most_waiting, .seconds = s->most_seconds, .bytes = s->most_files,
                                .requests = requests };
    struct web_options web = { .io = io, .host = s->host, .port = s->port, .key = s->key, .most = s->most_upload,
                               .most_held = requests ? requests / 2 : 2 * s->most_upload, .folder = s->folder.path,
                               .routes = routes, .arg = &s->api };
    gkv_model_info     info;
    int                code;

    gkv_model_describe(s->r.model, &info);
    if (s->r.o.library && (code = library_open(&s->r)))
        return code;
    s->api = (struct api){ .library = s->r.o.library, .elsewhere = s->r.answerer != NULL, .folder = &s->folder,
                            .started = (int64_t)time(NULL) };
    s->api.model = s->name ? s->name : s->r.answerer ? answerer_model(s->r.answerer) : info.name;
    hold_signals(SIG_BLOCK);
    s->api.store = store_open(&s->folder, s->most_files, io);
    s->api.asks = asks_open(&s->r, &s->folder, &most);
    code = web_start(&s->api.web, &web, &s->address);
    hold_signals(SIG_UNBLOCK);
    if (code)
        return code;
    confine_listens(&s->r.o);
    out_printf(io, "%s\n", s->address);
    say(io, "%s answers at %s; Ctrl-C ends it", s->api.model, s->address);
    return out_flush(io);
}

/* What is being answered may end; what waits is refused.  A second signal ends the process at once. */
static void drain(struct serve *s)
{
    web_drain(s->api.web);
    asks_drain(s->api.asks);
    for (double began = progress_clock(); asks_waiting(s->api.asks) && progress_clock() - began < GRACE;)
        poll(NULL, 0, TICK);
    for (double began = progress_clock(); web_running(s->api.web) && progress_clock() - began < LAST;)
        poll(NULL, 0, TICK);
}

static int run(const struct cmd *self, struct io *io, int argc, char **argv)
{
    struct serve s = { .folder.lock = -1 };
    int          code = run_open(&s.r, self, io, argc, argv, check);

    if (!code)
        signal(SIGPIPE, SIG_IGN);               /* before there is a folder, which would stay */
    if (!code && !s.keep_in)
        code = folder_open(&s.folder, io, NULL);
    if (!code)
        code = start(&s);
    if (!code) {
        while (!progress_cancelled()) {
            poll(NULL, 0, TICK);
            asks_tick(s.api.asks);
        }
        drain(&s);
    }
    web_stop(s.api.web);
    asks_close(s.api.asks);
    store_close(s.api.store);
    folder_close(&s.folder);
    free(s.key);
    free(s.address);
    run_close(&s.r);
    return code;
}

const struct cmd cmd_serve = {
    .name = "serve", .summary = "Answer questions in the browser, and of programs",
    .synopsis = "[options]",
    .needs = NEEDS_PROGRAMS | NEEDS_SOCKET,
    .takes = FOR_SERVE, .own = own, .defaults = defaults, .run = run, .more_help = run_more_help
};
