/* SPDX-License-Identifier: BSD-2-Clause
 * unit-http.c - addresses of other programs, and what comes of one request to them.  Who answers is played here, in the same
 * thread: it goes on whenever it is asked whether the request is cancelled, so nothing depends on time. */
#include "config.h"
#include "src/cli/http.h"
#include "tests/tap.h"
#if HAVE_LIBCURL
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "src/cli/text.h"

/* ---- addresses --------------------------------------------------------------------------- */
/* shown NULL: the same. */
static void test_addresses(void)
{
    static const struct { const char *base, *url, *shown; } good[] = {
        { "http://h/v1", "http://h/v1/chat/completions", NULL },
        { "http://h:8080/v1///", "http://h:8080/v1/chat/completions", NULL },
        { "http://h", "http://h/chat/completions", NULL },
        { "https://h/v1/chat/completions", "https://h/v1/chat/completions", NULL },
        { "HTTPS://h/v1/chat/completions/", "https://h/v1/chat/completions", NULL },
        { "http://h/completions/and/more", "http://h/completions/and/more/chat/completions", NULL },
        { "http://h/v1?key=a#b", "http://h/v1/chat/completions?key=a", "http://h/v1/chat/completions" }
    };
    static const struct { const char *base, *why; } bad[] = {
        { "http://", "is no address" }, { "127.0.0.1:", "is no address" }, { "", "is no address" },
        { "ftp://h/", "is neither http:// nor https://" }, { "gopher://h/", "is neither http:// nor https://" },
        { "http://me@h/", "has a name or password in it" }, { "http://:secret@h/", "has a name or password in it" },
        { "http://me:secret@h/", "has a name or password in it" }
    };
    static const struct { const char *url; bool here; } hosts[] = {
        { "http://localhost/x", true }, { "http://LocalHost:80", true }, { "http://127.0.0.1:8080/v1", true },
        { "http://127.1.2.3", true }, { "http://[::1]:80/", true }, { "http://example.org", false },
        { "http://localhost.example.org", false }, { "http://127.example.org/", false }, { "http://127.0.0.1.example.org/", false },
        { "http://128.0.0.1/", false }, { "http://[::2]/", false }, { "http://", false }
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const char *why = "?", *want = good[i].shown ? good[i].shown : good[i].url;
        char       *shown = NULL, *url = http_address(good[i].base, "/chat/completions", &shown, &why);

        ok(url && !strcmp(url, good[i].url) && !strcmp(shown, want) && !why, "%s is %s", good[i].base, url ? url : why);
        free(url);
        free(shown);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *why = NULL;
        char       *shown, *url = http_address(bad[i].base, "/chat/completions", &shown, &why);

        ok(!url && !shown && why && !strncmp(why, bad[i].why, strlen(bad[i].why)), "%s %s", bad[i].base, bad[i].why);
    }
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        ok(http_is_here(hosts[i].url) == hosts[i].here, "%s is %s", hosts[i].url, hosts[i].here ? "here" : "elsewhere");
}

/* ---- who answers ------------------------------------------------------------------------- */
struct peer {
    int         listener, fd;
    const char *reply;                          /* NULL: never                            */
    bool        stops;                          /* the request is cancelled once it has come */
    struct text got;
};

static bool has_come(const struct peer *p)
{
    const char *body = p->got.n ? strstr(p->got.p, "\r\n\r\n") : NULL, *length = body ? strstr(p->got.p, "Content-Length: ") : NULL;

    return length && strlen(body + 4) >= strtoul(length + 16, NULL, 10);
}

static bool step(void *arg)
{
    struct peer *p = arg;
    char         piece[1000];
    ssize_t      n;

    if (p->fd < 0)
        p->fd = accept(p->listener, NULL, NULL);
    while (p->fd >= 0 && (n = recv(p->fd, piece, sizeof piece, MSG_DONTWAIT)) > 0)
        text_add(&p->got, piece, (size_t)n);
    if (!has_come(p))
        return false;
    if (p->reply) {
        send(p->fd, p->reply, strlen(p->reply), MSG_NOSIGNAL);
        shutdown(p->fd, SHUT_WR);
        p->reply = NULL;
    }
    return p->stops;
}

/* Its address; until the next call. */
static const char *peer_open(struct peer *p, const char *reply)
{
    static char        url[60];
    struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr = { htonl(INADDR_LOOPBACK) } };
    socklen_t          n = sizeof a;

    *p = (struct peer){ .listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), .fd = -1, .reply = reply };
    if (bind(p->listener, (struct sockaddr *)&a, n) || getsockname(p->listener, (struct sockaddr *)&a, &n) || listen(p->listener, 5))
        return NULL;
    snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", ntohs(a.sin_port));
    return url;
}

static void peer_close(struct peer *p)
{
    if (p->fd >= 0)
        close(p->fd);
    close(p->listener);
    text_free(&p->got);
}

#define REQUEST(where, by) { .url = where, .body = "{}", .n = 2, .patience = 1000, .cancelled = step, .arg = by }

/* All that comes, for text_free. */
static struct text take(struct http *h, enum http_state *state)
{
    struct text t = { NULL, 0, 0 };
    const char *p;
    size_t      n;

    text_add(&t, "", 0);
    while ((*state = http_next(h, &p, &n)) == HTTP_DATA)
        text_add(&t, p, n);
    return t;
}

static void test_answer(void)
{
    struct peer         p;
    struct http_request q = REQUEST(peer_open(&p, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\ndata: x\n\n"), &p);
    struct http_answer  a;
    enum http_state     state;
    struct http        *h;
    struct text         t;

    q.key = "opensesame";
    h = http_post(&q);
    t = take(h, &state);
    http_answered(h, &a);
    ok(state == HTTP_END && !strcmp(t.p, "data: x\n\n"), "an answer comes whole");
    ok(a.status == 200 && !strcmp(a.type, "text/event-stream") && !a.redirect && a.again < 1e-9, "... with what is known of it");
    ok(!strncmp(p.got.p, "POST /v1 HTTP/1.1\r\n", 19) && strstr(p.got.p, "\r\nAuthorization: Bearer opensesame\r\n") &&
       strstr(p.got.p, "\r\nContent-Type: application/json\r\n") && strstr(p.got.p, "\r\nAccept: text/event-stream\r\n") &&
       strstr(p.got.p, "\r\nUser-Agent: gemkv\r\n") && !strstr(p.got.p, "Expect") && !strcmp(p.got.p + p.got.n - 6, "\r\n\r\n{}"),
       "this was asked");
    ok(!http_refused(h) && !*http_why(h), "nothing is wrong");
    text_free(&t);
    http_close(h);
    peer_close(&p);

    q = (struct http_request)REQUEST(peer_open(&p, "HTTP/1.1 307 Go\r\nLocation: /v2\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n"), &p);
    h = http_post(&q);
    t = take(h, &state);
    http_answered(h, &a);
    ok(state == HTTP_END && !t.n && a.status == 307 && !strcmp(a.type, "") && a.redirect && strstr(a.redirect, "/v2") &&
       a.again > 6.9 && a.again < 7.1, "one without a type leads elsewhere, later");
    ok(!strstr(p.got.p, "Authorization"), "without a key none is sent");
    text_free(&t);
    http_close(h);
    peer_close(&p);
}

static void test_failures(void)
{
    struct peer         p;
    struct http_request q = REQUEST(peer_open(&p, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), &p);
    enum http_state     state;
    struct http        *h = http_post(&q);
    struct text         t = take(h, &state);

    ok(state == HTTP_BROKEN && !strcmp(t.p, "half") && !http_refused(h) && *http_why(h), "half of one is broken: %s", http_why(h));
    text_free(&t);
    http_close(h);
    peer_close(&p);

    q = (struct http_request)REQUEST(peer_open(&p, NULL), &p);
    p.stops = true;
    h = http_post(&q);
    t = take(h, &state);
    ok(state == HTTP_CANCELLED && !t.n && has_come(&p), "one is cancelled");
    text_free(&t);
    t = take(h, &state);
    ok(state == HTTP_CANCELLED && !t.n, "... and stays so");
    text_free(&t);
    http_close(h);
    peer_close(&p);

    q = (struct http_request)REQUEST(peer_open(&p, NULL), &p);
    q.cancelled = NULL;
    q.patience = 0;
    h = http_post(&q);
    t = take(h, &state);
    ok(state == HTTP_BROKEN && !strcmp(http_why(h), "nothing came for 0 s; --answer-timeout N waits longer") && !http_refused(h),
       "one that nobody answers is not waited for");
    text_free(&t);
    http_close(h);
    close(p.listener);                          /* so that nobody listens there           */

    q.patience = 1000;
    h = http_post(&q);
    t = take(h, &state);
    ok(state == HTTP_BROKEN && http_refused(h) && *http_why(h), "nobody listens: %s", http_why(h));
    text_free(&t);
    http_close(h);
    q.url = "file:///etc/passwd";
    h = http_post(&q);
    t = take(h, &state);
    ok(state == HTTP_BROKEN && !t.n && !http_refused(h), "a file is no answer: %s", http_why(h));
    text_free(&t);
    http_close(h);
    http_close(NULL);
}

/* Where packages are built, there may be none. */
static bool has_loopback(void)
{
    struct peer p;
    const bool  there = peer_open(&p, NULL);

    peer_close(&p);
    return there;
}

int main(void)
{
    static const char *const proxies[] = { "http_proxy", "https_proxy", "all_proxy", "HTTPS_PROXY", "ALL_PROXY" };

    for (size_t i = 0; i < sizeof proxies / sizeof *proxies; i++)
        unsetenv(proxies[i]);
    ok(!http_missing(), "this build can");
    test_addresses();
    if (!has_loopback()) {
        skip("no network", "requests");
        return done();
    }
    test_answer();
    test_failures();
    return done();
}
#else
int main(void)
{
    char       *shown;
    const char *why;

    ok(http_missing() && !http_address("http://h", "/x", &shown, &why) && why == http_missing() && !shown, "this build cannot");
    return done();
}
#endif
