/* SPDX-License-Identifier: BSD-2-Clause
 * answerer.c - see answerer.h.  Chat completions as OpenAI has them: one POST, its answer a stream of events. */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include "src/cli/answerer.h"
#include "src/cli/events.h"
#include "src/cli/http.h"
#include "src/cli/json-parse.h"
#include "src/cli/say.h"
#include "src/cli/utf8.h"

enum {
    TRIES = 4,
    LONGEST = 60,               /* seconds that are waited because a server says so       */
    KEY = 4096,                 /* bytes of a key,                                        */
    QUOTED = 200,               /* ... of a server's words that are shown,                */
    REFUSAL = 64 << 10,         /* ... that are read of a refusal,                        */
    ANSWER = 16 << 20           /* ... and of an answer                                   */
};

struct answerer {
    char         *url, *shown;  /* shown: in messages                                     */
    char         *key;          /* or NULL                                                */
    const char   *model, *system;
    double        patience;
    /* Of the last question: */
    struct text   body;
    struct http  *http;
    struct events events;
    const char   *p;            /* n bytes that came, and are to be read                  */
    size_t        n;
    struct text   piece;
    char          finish[32];
    size_t        n_tries, n_pieces, n_text;
    double        prompt_tokens, answer_tokens;         /* negative: not said             */
    double        began, sent, first, last;             /* when; first 0: nothing came    */
    bool          ended, cut, asked;
};

/* ---- options ------------------------------------------------------------------------- */
static const char *const not_there[] = {
    "grammar", "json-schema", "raw", "top-k", "min-p", "repeat-penalty", "repeat-last-n", "device", "gpu-memory", "think",
    "draft"
};

static int check(const struct options *o)
{
    if (!o->answer_url)
        return o->answer_model || o->answer_key || o->answer_timeout
               ? usage(o->io, o->cmd, "who answers? give the address with --answer-url URL") : 0;
    if (http_missing())
        return usage(o->io, o->cmd, "option '--answer-url': %s", http_missing());
    if (!o->answer_model)
        return usage(o->io, o->cmd, "which model there answers? give its name with --answer-model NAME");
    if (o->model && o->reader)
        return usage(o->io, o->cmd, "the model at --answer-url answers: give the one that reads with --model or --reader, not both");
    for (size_t i = 0; i < sizeof not_there / sizeof *not_there; i++)
        if (options_has(o, not_there[i]) && options_given(o, not_there[i]))
            return usage(o->io, o->cmd, "option '--%s' means nothing to the model at --answer-url", not_there[i]);
    return 0;
}

static bool is_key(const char *s)
{
    for (const char *p = s; *p; p++)
        if (*p <= ' ' || *p > '~')
            return false;
    return *s;
}

/* The first line of a file, or $GEMKV_ANSWER_KEY.  What is wrong with it is said without showing it. */
static int find_key(struct answerer *a, const struct options *o)
{
    const char *path = o->answer_key, *from = path ? path : "GEMKV_ANSWER_KEY", *env = getenv("GEMKV_ANSWER_KEY");
    char        line[KEY + 2] = "";
    FILE       *f;

    if (!path && (!env || !*env))
        return 0;
    if (path) {
        f = fopen(path, "r");
        if (!f || (!fgets(line, sizeof line, f) && ferror(f))) {
            const int code = fail(o->io, EXIT_FAILED, "%s: %s", path, strerror(errno));

            if (f)
                fclose(f);
            return code;
        }
        fclose(f);
        line[strcspn(line, "\r\n")] = 0;
    }
    a->key = format("%s", path ? line : env);
    if (is_key(a->key) && strlen(a->key) <= KEY)
        return 0;
    return fail(o->io, EXIT_FAILED, "%s: its first line is no key, which is one word of ASCII characters", from);
}

int answerer_open(struct answerer **out, struct options *o)
{
    struct answerer *a;
    const char      *why;
    int              code = check(o);

    *out = NULL;
    if (code || !o->answer_url)
        return code;
    *out = a = grow(NULL, 1, sizeof *a);
    *a = (struct answerer){ .model = o->answer_model, .system = o->gkv.system, .began = progress_clock(),
                            .patience = o->answer_timeout ? o->answer_timeout : 300 };
    a->url = http_address(o->answer_url, "/chat/completions", &a->shown, &why);
    if (!a->url)
        return usage(o->io, o->cmd, "option '--answer-url': it %s", why);
    code = find_key(a, o);
    if (code)
        return code;
    if (a->key && !strncasecmp(a->url, "http:", 5) && !http_is_here(a->url))
        warn(o->io, "%s: the key and the text go there without encryption; https:// would encrypt them", a->shown);
    if (o->reader) {
        o->model = o->reader;
        o->reader = NULL;
    }
    o->gkv.system = NULL;
    o->gkv.device = "cpu";                      /* the answer is not computed here        */
    if (!o->gkv.snap)
        o->gkv.snap = "word";
    return 0;
}

static void forget(struct answerer *a)
{
    http_close(a->http);
    a->http = NULL;
    text_free(&a->body);
    text_free(&a->piece);
    events_free(&a->events);
}

struct answerer *answerer_copy(const struct answerer *a)
{
    struct answerer *c = grow(NULL, 1, sizeof *c);

    *c = (struct answerer){ .url = format("%s", a->url), .shown = format("%s", a->shown),
                            .key = a->key ? format("%s", a->key) : NULL, .model = a->model, .system = a->system,
                            .patience = a->patience, .began = progress_clock() };
    return c;
}

void answerer_close(struct answerer *a)
{
    if (!a)
        return;
    forget(a);
    free(a->url);
    free(a->shown);
    free(a->key);
    free(a);
}

/* ---- the question -------------------------------------------------------------------- */
#define ASK "\n\nQuestion: "    /* as the templates of the library have it                */

static void put_message(struct json *j, const char *role, const char *text, size_t n)
{
    json_open(j, '{');
    json_named_string(j, "role", role);
    json_key(j, "content");
    json_text(j, text, n);
    json_close(j);
}

/* The kept text, each file after the other, and what is asked about it first. */
static void put_text(struct json *j, const struct answer_task *t, const char *question)
{
    struct text all = { NULL, 0, 0 };
    const char *text;
    size_t      n;

    for (size_t i = 0; (text = gkv_session_text(t->session, i, &n)); i++) {
        text_puts(&all, i ? "\n\n" : "");
        text_add(&all, text, n);
    }
    text_puts(&all, ASK);
    text_puts(&all, question);
    put_message(j, "user", all.p, all.n);
    text_free(&all);
}

static void put_messages(struct json *j, const struct answer_task *t)
{
    json_named_open(j, "messages", '[');
    if (t->system)
        put_message(j, "system", t->system, strlen(t->system));
    for (size_t i = 0; i <= t->n_turns; i++) {
        const char *question = i < t->n_turns ? t->turn[i].question : t->question;

        if (!i)
            put_text(j, t, question);
        else
            put_message(j, "user", question, strlen(question));
        if (i < t->n_turns)
            put_message(j, "assistant", t->turn[i].answer, strlen(t->turn[i].answer));
    }
    json_close(j);
}

static void put_number(struct json *j, const struct answer_task *t, unsigned bit, const char *name, float x)
{
    if (!(t->sent & bit))
        return;
    json_key(j, name);
    json_score(j, x);
}

static void put_options(struct json *j, const struct answer_task *t)
{
    const gkv_options *o = t->opt;

    json_named_uint(j, "max_tokens", o->max_tokens);
    json_key(j, "temperature");
    json_score(j, o->temperature);
    put_number(j, t, ANSWER_TOP_P, "top_p", o->top_p);
    put_number(j, t, ANSWER_PRESENCE, "presence_penalty", o->presence_penalty);
    put_number(j, t, ANSWER_FREQUENCY, "frequency_penalty", o->frequency_penalty);
    if (t->sent & ANSWER_SEED)
        json_named_uint(j, "seed", o->seed);
    if (t->format)
        json_named_raw(j, "response_format", t->format);
    if (!o->n_stop)
        return;
    json_named_open(j, "stop", '[');
    for (size_t i = 0; i < o->n_stop; i++)
        json_string(j, o->stop[i]);
    json_close(j);
}

void answerer_begin(struct answerer *a)
{
    if (a && a->asked)
        a->began = progress_clock();
}

void answerer_ask(struct answerer *a, const struct answer_task *t)
{
    struct json j = { .depth = 0 };

    forget(a);
    json_open(&j, '{');
    json_named_string(&j, "model", a->model);
    put_messages(&j, t);
    put_options(&j, t);
    json_key(&j, "stream");
    json_bool(&j, true);
    json_named_open(&j, "stream_options", '{');
    json_key(&j, "include_usage");
    json_bool(&j, true);
    json_close(&j);
    json_close(&j);
    a->body = j.text;
    a->n = a->n_tries = a->n_pieces = a->n_text = 0;
    a->prompt_tokens = a->answer_tokens = -1;
    a->sent = progress_clock();
    a->first = a->last = 0;
    a->ended = a->cut = false;
    a->asked = true;
    *a->finish = 0;
}

/* ---- what goes wrong ------------------------------------------------------------------ */
SAY_FORMAT(3, 4) static gkv_status broken(struct answerer *a, gkv_error *err, const char *fmt, ...)
{
    va_list ap;
    char   *why;

    va_start(ap, fmt);
    why = vformat(fmt, ap);
    va_end(ap);
    a->ended = true;
    a->cut = a->n_text;
    snprintf(err->text, sizeof err->text, "%.150s: %.300s%s", a->shown, why, a->cut ? "; the answer is cut there" : "");
    free(why);
    return err->status = GKV_IO;
}

static gkv_status cancelled(struct answerer *a, gkv_error *err)
{
    a->ended = true;
    snprintf(err->text, sizeof err->text, "cancelled");
    return err->status = GKV_CANCELLED;
}

/* A server's own words on one line, in front of which goes ": "; for free(). */
static char *quoted(const struct answerer *a, const char *s)
{
    struct text t = { NULL, 0, 0 };
    const size_t key = a->key ? strlen(a->key) : 0;
    char        *out;

    text_puts(&t, s && *s ? ": " : "");
    for (size_t i = 0, k; s && s[i] && t.n < QUOTED; i += k) {
        const bool is_key_there = key && !strncmp(s + i, a->key, key);
        uint32_t   c;

        k = is_key_there ? key : utf8_next(s + i, strlen(s + i), &c);
        if (is_key_there)
            text_puts(&t, "...");               /* some quote the key that they refuse    */
        else if (strchr("\r\n\t", s[i]))
            text_puts(&t, " ");
        else
            text_add(&t, s + i, k);
    }
    out = format("%s", t.p);
    text_free(&t);
    return out;
}

/* The text of {"error": {"message": "..."}}, of {"error": "..."}, or NULL. */
static const char *message_of(const struct value *v)
{
    const struct value *e = parse_member(v, "error");
    const char         *text = parse_string(v, "error");

    return text ? text : e && e->type == PARSE_OBJECT ? parse_string(e, "message") : parse_string(v, "message");
}

/* As llama-server and OpenAI's API say it. */
static bool is_too_long(const struct value *v)
{
    const struct value *e = parse_member(v, "error");
    const char *type = parse_string(e, "type"), *code = parse_string(e, "code");

    return (type && !strcmp(type, "exceed_context_size_error")) || (code && !strcmp(code, "context_length_exceeded"));
}

static const char *advice(long status, const struct answerer *a)
{
    if (status == 401 || status == 403)
        return a->key ? "the key is refused" : "it wants a key; give one with --answer-key-file FILE, or in $GEMKV_ANSWER_KEY";
    if (status == 404)
        return "nothing is there, or no model of that name";
    if (status == 429)
        return "too many requests";
    if (status == 503)
        return "the server is not ready, or has too much to do";
    return status >= 500 ? "the server failed" : "the request is refused";
}

/* Reads the rest of a refusal, and makes a line of it. */
static gkv_status refused(struct answerer *a, const struct http_answer *h, gkv_error *err)
{
    struct text       body = { NULL, 0, 0 };
    struct value     *v;
    enum http_state   state = HTTP_DATA;
    const char       *why;
    char             *words;
    size_t            at;
    const long        status = h->status;
    gkv_status        code;

    text_add(&body, a->p, a->n);
    while (body.n < REFUSAL && (state = http_next(a->http, &a->p, &a->n)) == HTTP_DATA)
        text_add(&body, a->p, a->n);
    if (state == HTTP_CANCELLED) {
        text_free(&body);
        return cancelled(a, err);
    }
    v = parse_json(body.p, strlen(body.p), &why, &at);
    words = quoted(a, message_of(v));
    code = broken(a, err, "%ld, %s%s", status,
                  is_too_long(v) ? "the text does not fit into its context, and --keep N sends less" : advice(status, a), words);
    free(words);
    parse_free(v);
    text_free(&body);
    return code;
}

static gkv_status not_events(struct answerer *a, const struct http_answer *h, gkv_error *err)
{
    if (h->status >= 300 && h->status < 400) {
        char             *to = quoted(a, h->redirect);
        const gkv_status  code = broken(a, err, "%ld, it leads elsewhere, where the text is not sent%s", h->status, to);

        free(to);
        return code;
    }
    if (h->status < 200 || h->status >= 300)
        return refused(a, h, err);
    return broken(a, err, "it answers with %.60s instead of text/event-stream; is it an address of chat completions, "
                  "such as http://127.0.0.1:8080/v1?", *h->type ? h->type : "nothing");
}

/* ---- again ----------------------------------------------------------------------------- */
static bool may_again(const struct answerer *a, enum http_state state, const struct http_answer *h)
{
    static const long busy[] = { 429, 502, 503, 504 };

    if (a->n_tries >= TRIES || h->again > LONGEST)
        return false;
    for (size_t i = 0; i < sizeof busy / sizeof *busy && state != HTTP_BROKEN; i++)
        if (h->status == busy[i])
            return true;
    return state == HTTP_BROKEN && http_refused(a->http);
}

static bool is_cancelled(const struct answer_task *t)
{
    return t->cancelled ? t->cancelled(t->arg) : progress_cancelled();
}

/* False: it was cancelled meanwhile. */
static bool pause_for(const struct answer_task *t, double seconds)
{
    const struct timespec little = { 0, 50 * 1000 * 1000 };
    const double          end = progress_clock() + seconds;

    while (progress_clock() < end && !is_cancelled(t))
        nanosleep(&little, NULL);
    return !is_cancelled(t);
}

/* Sends the question until somebody begins to answer it.  Nothing of an answer has come before. */
static gkv_status send_it(struct answerer *a, const struct answer_task *t, gkv_error *err)
{
    const struct http_request q = { a->url, a->key, a->body.p, a->body.n, a->patience, t->cancelled, t->arg };

    for (;;) {
        struct http_answer h = { .type = "" };
        enum http_state    state;
        double             wait;

        a->http = http_post(&q);
        a->n_tries++;
        a->n = 0;
        state = http_next(a->http, &a->p, &a->n);
        if (state == HTTP_CANCELLED)
            return cancelled(a, err);
        if (state != HTTP_BROKEN)
            http_answered(a->http, &h);
        if (!may_again(a, state, &h)) {
            if (state == HTTP_BROKEN)
                return broken(a, err, "%s", http_why(a->http));
            if (h.status < 200 || h.status >= 300 || strncasecmp(h.type, "text/event-stream", 17))
                return not_events(a, &h, err);
            return GKV_OK;
        }
        wait = h.again > 0 ? h.again : 0.25 * pow(2, (double)a->n_tries);
        if (t->progress)
            progress_erase(t->progress);
        if (state == HTTP_BROKEN)
            say(t->io, "%s: %s; again in %.1f s", a->shown, http_why(a->http), wait);
        else
            say(t->io, "%s: %ld, %s; again in %.1f s", a->shown, h.status, advice(h.status, a), wait);
        http_close(a->http);
        a->http = NULL;
        if (!pause_for(t, wait))
            return cancelled(a, err);
    }
}

/* ---- the answer ------------------------------------------------------------------------ */
static void take_usage(struct answerer *a, const struct value *v)
{
    const struct value *u = parse_member(v, "usage");

    a->prompt_tokens = parse_number(u, "prompt_tokens", a->prompt_tokens);
    a->answer_tokens = parse_number(u, "completion_tokens", a->answer_tokens);
}

static void take_choice(struct answerer *a, const struct value *v)
{
    const struct value *choices = parse_member(v, "choices");
    const struct value *choice = choices && choices->type == PARSE_ARRAY ? choices->first : NULL;
    const struct value *text = parse_member(parse_member(choice, "delta"), "content");
    const char         *finish = parse_string(choice, "finish_reason");

    if (finish)
        snprintf(a->finish, sizeof a->finish, "%s", finish);
    if (!text || text->type != PARSE_STRING || !text->len)
        return;
    text_add(&a->piece, text->text, text->len);
    text_clean(&a->piece);
    a->n_pieces++;
}

/* One event, into a->piece, a->finish and so on. */
static gkv_status take(struct answerer *a, gkv_error *err)
{
    struct text  *data = &a->events.data;
    const char   *why, *message;
    char         *words;
    size_t        at;
    struct value *v;
    gkv_status    status = GKV_OK;

    if (!data->n)
        return GKV_OK;
    if (!strcmp(data->p, "[DONE]")) {
        a->ended = true;
        if (!*a->finish)
            snprintf(a->finish, sizeof a->finish, "stop");
        return GKV_OK;
    }
    v = parse_json(data->p, strlen(data->p), &why, &at);
    if (!v)
        return broken(a, err, "an event is no JSON: %s, at byte %zu", why, at + 1);
    message = message_of(v);
    if (parse_member(v, "error") && parse_member(v, "error")->type != PARSE_NULL) {
        words = quoted(a, message);
        status = broken(a, err, "the server failed%s", words);
        free(words);
    } else {
        take_usage(a, v);
        take_choice(a, v);
    }
    parse_free(v);
    return status;
}

/* Until there is text, or nothing more. */
static gkv_status receive(struct answerer *a, gkv_error *err)
{
    while (!a->piece.n && !a->ended) {
        enum http_state state;

        if (events_next(&a->events, &a->p, &a->n)) {
            const gkv_status status = take(a, err);

            if (status)
                return status;
            continue;
        }
        if (a->events.too_long)
            return broken(a, err, "an event has more than %d bytes", EVENT_MOST);
        state = http_next(a->http, &a->p, &a->n);
        if (state == HTTP_CANCELLED)
            return cancelled(a, err);
        if (state == HTTP_DATA)
            continue;
        if (!*a->finish)
            return broken(a, err, "%s", state == HTTP_BROKEN ? http_why(a->http) : "the stream ended early");
        a->ended = true;
    }
    return GKV_OK;
}

gkv_status answerer_next(struct answerer *a, const struct answer_task *t, const char **text, size_t *len, gkv_error *err)
{
    gkv_status status = GKV_OK;

    *len = 0;
    a->piece.n = 0;
    if (!a->ended && !a->http)
        status = send_it(a, t, err);
    if (!status)
        status = receive(a, err);
    a->last = progress_clock();
    if (status)
        return status;
    if (!a->piece.n)
        return GKV_END;
    if (!a->first)
        a->first = a->last;
    a->n_text += a->piece.n;
    if (a->n_text > ANSWER)
        return broken(a, err, "the answer has more than %d bytes", ANSWER);
    *text = a->piece.p;
    *len = a->piece.n;
    return GKV_OK;
}

/* ---- how it was ------------------------------------------------------------------------ */
void answerer_stats(const struct answerer *a, gkv_stats *s)
{
    if (!a->asked)
        return;
    s->tokens_answer = a->answer_tokens >= 0 && a->answer_tokens < 1e15 ? (uint64_t)a->answer_tokens : a->n_pieces;
    s->load_reader = s->load;
    s->second = a->first ? a->first - a->sent : 0;
    s->decode = a->first ? a->last - a->first : 0;
    s->ttft = a->first ? a->first - a->began : 0;
    s->finish = a->cut ? "cut" : a->finish;
}

bool answerer_is_cut(const struct answerer *a)
{
    return a && a->cut;
}

uint64_t answerer_short(const struct answerer *a, uint64_t asked)
{
    const bool cut = a && !strcmp(a->finish, "length") && a->answer_tokens >= 1 && a->answer_tokens < (double)asked;

    return cut ? (uint64_t)a->answer_tokens : 0;
}

const char *answerer_model(const struct answerer *a)
{
    return a->model;
}

const char *answerer_system(const struct answerer *a)
{
    return a->system;
}

void answerer_json(struct json *j, const struct answerer *a)
{
    json_named_open(j, "answerer", '{');
    json_named_string(j, "url", a->shown);
    json_named_string(j, "model", a->model);
    json_close(j);
}

static void put_count(struct json *j, const char *key, double n)
{
    json_key(j, key);
    if (n >= 0)
        json_real(j, n);
    else
        json_null(j);
}

void answerer_tokens(struct json *j, const struct answerer *a)
{
    put_count(j, "prompt", a->prompt_tokens);
    put_count(j, "answer", a->answer_tokens);
}
