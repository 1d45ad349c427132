/* SPDX-License-Identifier: BSD-2-Clause
 * select.c - the list of methods, and their parameters as text. */
#include "config.h"
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/select.h"

extern const struct gkv__select gkv__select_gemfilter, gkv__select_full, gkv__select_truncate;

static const struct gkv__select *const methods[] = {
    &gkv__select_gemfilter,
    &gkv__select_full,
    &gkv__select_truncate,
};

enum { N_METHODS = sizeof methods / sizeof *methods };

/* Index of the word w[len] in the space-separated list; -1: not there. */
static int word_index(const char *list, const char *w, size_t len)
{
    for (int i = 0; *list; i++) {
        size_t n = strcspn(list, " ");

        if (n == len && !memcmp(list, w, len))
            return i;
        list += n + (list[n] == ' ');
    }
    return -1;
}

static gkv_status parse_value(const struct gkv__param *p, const char *text, size_t len,
                              double *out, gkv_error *err)
{
    char buf[32] = "", *end;

    if (p->words) {
        int i = word_index(p->words, text, len);
        if (i < 0)
            return gkv__fail(err, GKV_INVALID, "%s=%.*s: not one of: %s", p->name, (int)len, text,
                             p->words);
        *out = i;
        return GKV_OK;
    }
    if (len < sizeof buf)
        memcpy(buf, text, len);
    *out = strtod(buf, &end);
    if (!*buf || *end || !(*out >= p->min && *out <= p->max) || (p->odd && fmod(*out, 2) != 1))
        return gkv__fail(err, GKV_INVALID, "%s=%.*s: not %s from %g to %g", p->name, (int)len, text,
                         p->odd ? "an odd number" : "a number", p->min, p->max);
    return GKV_OK;
}

static gkv_status bad_name(const struct gkv__select *m, const char *name, size_t len, gkv_error *err)
{
    char known[256] = "";
    size_t at = 0;

    for (size_t i = 0; m ? m->params[i].name != NULL : i < N_METHODS; i++)
        at += (size_t)snprintf(known + at, sizeof known - at, " %s",
                               m ? m->params[i].name : methods[i]->name);
    if (!m)
        return gkv__fail(err, GKV_INVALID, "no method \"%.*s\"; there are:%s", (int)len, name, known);
    return gkv__fail(err, GKV_INVALID, "method %s has no parameter \"%.*s\"; it has:%s", m->name,
                     (int)len, name, at ? known : " none");
}

gkv_status gkv__select_parse(const char *spec, const struct gkv__select **out,
                             double param[GKV__MAX_PARAMS], gkv_error *err)
{
    size_t len = strcspn(spec, ":");
    const struct gkv__select *m = NULL;
    const char *p = spec + len;

    for (size_t i = 0; i < N_METHODS; i++)
        if (strlen(methods[i]->name) == len && !memcmp(methods[i]->name, spec, len))
            m = methods[i];
    if (!m)
        return bad_name(NULL, spec, len, err);
    for (size_t i = 0; m->params[i].name; i++)
        GKV__TRY(parse_value(&m->params[i], m->params[i].value, strlen(m->params[i].value),
                             &param[i], err));
    while (*p) {
        size_t name = strcspn(++p, "=,"), value = 0, i = 0;

        if (p[name] == '=')
            value = strcspn(p + name + 1, ",");
        while (m->params[i].name &&
               (strlen(m->params[i].name) != name || memcmp(m->params[i].name, p, name)))
            i++;
        if (!m->params[i].name)
            return bad_name(m, p, name, err);
        GKV__TRY(parse_value(&m->params[i], p + name + (p[name] == '='), value, &param[i], err));
        p += name + (p[name] == '=') + value;
    }
    *out = m;
    return GKV_OK;
}

/* ---- API: the same rows without the insides --------------------------------------------- */

static gkv_method public_rows[N_METHODS];
static gkv_param public_params[N_METHODS][GKV__MAX_PARAMS + 1];

static void publish(void)
{
    for (size_t i = 0; i < N_METHODS; i++) {
        const struct gkv__param *p = methods[i]->params;

        for (size_t j = 0; p[j].name; j++)
            public_params[i][j] = (gkv_param){ p[j].name, p[j].value, p[j].help };
        public_rows[i] = (gkv_method){ methods[i]->name, methods[i]->summary, public_params[i] };
    }
}

const gkv_method *gkv_methods(size_t *count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, publish);
    *count = N_METHODS;
    return public_rows;
}
