/* SPDX-License-Identifier: BSD-2-Clause
 * http.h - one POST whose answer is taken piece by piece; through libcurl, without which all of it is refused
 *
 *     http_post(&h, &request); while (http_next(h, &p, &n) == HTTP_DATA) ...; http_close(h);
 *
 * Redirects are not followed. */
#ifndef GEMKV_CLI_HTTP_H
#define GEMKV_CLI_HTTP_H

#include <stdbool.h>
#include <stddef.h>

enum http_state { HTTP_DATA, HTTP_END, HTTP_BROKEN, HTTP_CANCELLED };

struct http_request {
    const char *url, *key;                      /* key: of the line Authorization, or NULL        */
    const char *body;                           /* JSON, n bytes                                  */
    size_t      n;
    double      patience;                       /* seconds without a byte                         */
    bool      (*cancelled)(void *arg);          /* asked ten times a second; NULL: a signal is it */
    void       *arg;
};

struct http_answer {                            /* known from the first HTTP_DATA or HTTP_END on  */
    long        status;
    const char *type;                           /* of the content, "" if it is not said           */
    const char *redirect;                       /* where it leads, or NULL                        */
    double      again;                          /* seconds to wait, if it says so, else 0         */
};

/* The address with the path below it, for free(), and *shown: what messages may quote of it, without a query.  NULL:
 * it cannot be one, *why says why. */
char *http_address(const char *base, const char *path, char **shown, const char **why);
/* Whether it leads to this machine. */
bool  http_is_here(const char *url);

struct http;
struct http *http_post(const struct http_request *r);
/* The next bytes, valid until the next call. */
enum http_state http_next(struct http *h, const char **p, size_t *n);
void  http_answered(const struct http *h, struct http_answer *a);
/* After HTTP_BROKEN: why, and whether nobody listened there. */
const char *http_why(const struct http *h);
bool  http_refused(const struct http *h);
void  http_close(struct http *h);

/* NULL, or why this build cannot. */
const char *http_missing(void);

#endif
