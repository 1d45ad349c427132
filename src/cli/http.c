/* SPDX-License-Identifier: BSD-2-Clause
 * http.c - see http.h */
#include "config.h"
#include "src/cli/http.h"
#if HAVE_LIBCURL
#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "src/cli/progress.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum { CONNECT = 10, POLL = 100 };              /* seconds, milliseconds                  */

struct http {
    CURLM  *multi;
    CURL   *easy;
    struct curl_slist *line;
    struct text in;                             /* came since the last http_next          */
    double  patience, last;                     /* when the last byte came                */
    bool  (*cancelled)(void *arg);
    void   *arg;
    bool    given, ended;                       /* in is the caller's; nothing more comes */
    CURLcode code;
    char    why[CURL_ERROR_SIZE + 64];
};

/* ---- addresses ----------------------------------------------------------------------- */
/* For free(), or NULL: it has none. */
static char *part(CURLU *u, CURLUPart what)
{
    char *s = NULL, *copy = NULL;

    if (!curl_url_get(u, what, &s, 0))
        copy = format("%s", s);
    curl_free(s);
    return copy;
}

/* One that every address has. */
static char *its(CURLU *u, CURLUPart what)
{
    char *s = part(u, what);

    if (!s)
        out_of_memory();
    return s;
}

static bool has(CURLU *u, CURLUPart what)
{
    char      *s = part(u, what);
    const bool there = s;

    free(s);
    return there;
}

static void add_path(CURLU *u, const char *path)
{
    char  *old = its(u, CURLUPART_PATH), *new;
    size_t n = strlen(old), k = strlen(path);

    while (n && old[n - 1] == '/')
        n--;
    if (n >= k && !memcmp(old + n - k, path, k))        /* it is there already */
        n -= k;
    new = format("%.*s%s", (int)n, old, path);
    if (curl_url_set(u, CURLUPART_PATH, new, 0))
        out_of_memory();
    free(old);
    free(new);
}

/* NULL, or what is wrong with it. */
static const char *wrong(CURLU *u, const char *base)
{
    char *scheme;
    bool  known;

    if (curl_url_set(u, CURLUPART_URL, base, 0))
        return "is no address such as http://127.0.0.1:8080/v1";
    scheme = its(u, CURLUPART_SCHEME);
    known = !strcasecmp(scheme, "http") || !strcasecmp(scheme, "https");
    free(scheme);
    if (!known)
        return "is neither http:// nor https://";
    if (has(u, CURLUPART_USER) || has(u, CURLUPART_PASSWORD))
        return "has a name or password in it, which others could read; give a key with --answer-key-file";
    return NULL;
}

char *http_address(const char *base, const char *path, char **shown, const char **why)
{
    CURLU *u = curl_url();
    char  *url = NULL;

    *shown = NULL;
    if (!u)
        out_of_memory();
    *why = wrong(u, base);
    if (!*why) {
        add_path(u, path);
        curl_url_set(u, CURLUPART_FRAGMENT, NULL, 0);
        url = its(u, CURLUPART_URL);
        curl_url_set(u, CURLUPART_QUERY, NULL, 0);
        *shown = its(u, CURLUPART_URL);
    }
    curl_url_cleanup(u);
    return url;
}

/* Not a name that begins so, which may lead anywhere. */
static bool is_loopback(const char *host)
{
    return !strncmp(host, "127.", 4) && !host[strspn(host, "0123456789.")];
}

bool http_is_here(const char *url)
{
    CURLU *u = curl_url();
    char  *host = NULL;
    bool   here;

    if (!u)
        out_of_memory();
    if (!curl_url_set(u, CURLUPART_URL, url, 0))
        host = its(u, CURLUPART_HOST);
    here = host && (!strcasecmp(host, "localhost") || is_loopback(host) || !strcmp(host, "[::1]"));
    free(host);
    curl_url_cleanup(u);
    return here;
}

/* ---- the request --------------------------------------------------------------------- */
static size_t receive(char *p, size_t size, size_t n, void *arg)
{
    struct http *h = arg;

    text_add(&h->in, p, size * n);
    return size * n;
}

static void add_line(struct http *h, const char *line)
{
    struct curl_slist *l = curl_slist_append(h->line, line);

    if (!l)
        out_of_memory();
    h->line = l;
}

static void add_lines(struct http *h, const char *key)
{
    add_line(h, "Content-Type: application/json");
    add_line(h, "Accept: text/event-stream");
    add_line(h, "Expect:");
    if (key) {
        char *line = format("Authorization: Bearer %s", key);

        add_line(h, line);
        free(line);
    }
}

static void only_http(CURL *e)
{
#if LIBCURL_VERSION_NUM >= 0x075500
    curl_easy_setopt(e, CURLOPT_PROTOCOLS_STR, "http,https");
#else
    curl_easy_setopt(e, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

struct http *http_post(const struct http_request *r)
{
    struct http *h = grow(NULL, 1, sizeof *h);

    *h = (struct http){ .multi = curl_multi_init(), .easy = curl_easy_init(), .patience = r->patience,
                        .cancelled = r->cancelled, .arg = r->arg, .last = progress_clock() };
    if (!h->multi || !h->easy)
        out_of_memory();
    add_lines(h, r->key);
    only_http(h->easy);
    curl_easy_setopt(h->easy, CURLOPT_URL, r->url);
    curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, h->line);
    curl_easy_setopt(h->easy, CURLOPT_USERAGENT, "gemkv");
    curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->n);
    curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, r->body);
    curl_easy_setopt(h->easy, CURLOPT_FOLLOWLOCATION, 0L);
    curl_easy_setopt(h->easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT);
    curl_easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(h->easy, CURLOPT_ERRORBUFFER, h->why);
    curl_easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, receive);
    curl_easy_setopt(h->easy, CURLOPT_WRITEDATA, h);
    if (curl_multi_add_handle(h->multi, h->easy))
        out_of_memory();
    return h;
}

/* ---- its answer ---------------------------------------------------------------------- */
static void look_for_end(struct http *h)
{
    CURLMsg *m;
    int      left;

    while ((m = curl_multi_info_read(h->multi, &left)))
        if (m->msg == CURLMSG_DONE) {
            h->ended = true;
            h->code = m->data.result;
        }
    if (h->code && !*h->why)
        snprintf(h->why, sizeof h->why, "%s", curl_easy_strerror(h->code));
}

static void work(struct http *h)
{
    int running;

    if (curl_multi_perform(h->multi, &running)) {
        h->ended = true;
        h->code = CURLE_OUT_OF_MEMORY;
    }
    look_for_end(h);
    if (h->in.n)
        h->last = progress_clock();
    if (h->in.n || h->ended)
        return;
    if (progress_clock() - h->last > h->patience) {
        h->ended = true;
        h->code = CURLE_OPERATION_TIMEDOUT;
        snprintf(h->why, sizeof h->why, "nothing came for %g s; --answer-timeout N waits longer", h->patience);
        return;
    }
    curl_multi_poll(h->multi, NULL, 0, POLL, NULL);
}

static bool is_cancelled(const struct http *h)
{
    return h->cancelled ? h->cancelled(h->arg) : progress_cancelled();
}

enum http_state http_next(struct http *h, const char **p, size_t *n)
{
    if (h->given)
        h->in.n = 0;
    h->given = false;
    while (!h->in.n && !h->ended && !is_cancelled(h))
        work(h);
    if (is_cancelled(h))
        return HTTP_CANCELLED;
    if (!h->in.n)
        return h->code ? HTTP_BROKEN : HTTP_END;
    *p = h->in.p;
    *n = h->in.n;
    h->given = true;
    return HTTP_DATA;
}

void http_answered(const struct http *h, struct http_answer *a)
{
    curl_off_t again = 0;
    char      *type = NULL, *redirect = NULL;

    *a = (struct http_answer){ .type = "" };
    curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &a->status);
    curl_easy_getinfo(h->easy, CURLINFO_CONTENT_TYPE, &type);
    curl_easy_getinfo(h->easy, CURLINFO_REDIRECT_URL, &redirect);
    curl_easy_getinfo(h->easy, CURLINFO_RETRY_AFTER, &again);
    if (type)
        a->type = type;
    a->redirect = redirect;
    a->again = (double)again;
}

const char *http_why(const struct http *h)
{
    return h->why;
}

bool http_refused(const struct http *h)
{
    return h->code == CURLE_COULDNT_CONNECT;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    curl_multi_remove_handle(h->multi, h->easy);
    curl_easy_cleanup(h->easy);
    curl_multi_cleanup(h->multi);
    curl_slist_free_all(h->line);
    text_free(&h->in);
    free(h);
}

const char *http_missing(void)
{
    return NULL;
}

#else

const char *http_missing(void)
{
    return "this gemkv was built without libcurl; install libcurl4-openssl-dev, and build it again";
}

char *http_address(const char *base, const char *path, char **shown, const char **why)
{
    (void)base;
    (void)path;
    *shown = NULL;
    *why = http_missing();
    return NULL;
}

bool http_is_here(const char *url)
{
    (void)url;
    return false;
}

struct http *http_post(const struct http_request *r)
{
    (void)r;
    return NULL;
}

enum http_state http_next(struct http *h, const char **p, size_t *n)
{
    (void)h;
    (void)p;
    (void)n;
    return HTTP_BROKEN;
}

void http_answered(const struct http *h, struct http_answer *a)
{
    (void)h;
    *a = (struct http_answer){ .type = "" };
}

const char *http_why(const struct http *h)
{
    (void)h;
    return http_missing();
}

bool http_refused(const struct http *h)
{
    (void)h;
    return false;
}

void http_close(struct http *h)
{
    (void)h;
}
#endif
