/* SPDX-License-Identifier: BSD-2-Clause
 * param.c - see param.h */
#include "config.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/param.h"

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
    const bool whole = !strchr(p->value, '.');
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
    if (!*buf || *end || !(*out >= p->min && *out <= p->max) || (whole && fmod(*out, 1) != 0) ||
        (p->odd && fmod(*out, 2) != 1))
        return gkv__fail(err, GKV_INVALID, "%s=%.*s: not %s from %g to %g", p->name, (int)len, text,
                         p->odd ? "an odd number" : whole ? "a whole number" : "a number", p->min,
                         p->max);
    return GKV_OK;
}

static gkv_status unknown(const char *what, const char *spec, const struct gkv__param *rows,
                          const char *key, size_t len, gkv_error *err)
{
    char known[256] = "";
    const char *near;
    size_t at = 0, n = 0;

    for (; rows->name; rows++)
        at += (size_t)snprintf(known + at, sizeof known - at, " %s", rows->name);
    near = gkv_nearest(known, key, len, &n);
    return gkv__fail(err, GKV_INVALID, "%s %.*s has no parameter \"%.*s\"%s%.*s%s; it has:%s", what,
                     (int)strcspn(spec, ":"), spec, (int)len, key, near ? " (did you mean " : "", (int)n,
                     near ? near : "", near ? "?)" : "", at ? known : " none");
}

bool gkv__param_is(const char *spec, const char *name)
{
    const size_t len = strcspn(spec, ":");

    return strlen(name) == len && !memcmp(name, spec, len);
}

gkv_status gkv__param_parse(const char *what, const char *spec, const struct gkv__param *rows,
                            double param[GKV__MAX_PARAMS], gkv_error *err)
{
    const char *p = spec + strcspn(spec, ":");

    for (size_t i = 0; rows[i].name; i++)
        GKV__TRY(parse_value(&rows[i], rows[i].value, strlen(rows[i].value), &param[i], err));
    while (*p) {
        size_t name = strcspn(++p, "=,"), value = 0, i = 0;

        if (p[name] == '=')
            value = strcspn(p + name + 1, ",");
        while (rows[i].name && (strlen(rows[i].name) != name || memcmp(rows[i].name, p, name)))
            i++;
        if (!rows[i].name)
            return unknown(what, spec, rows, p, name, err);
        GKV__TRY(parse_value(&rows[i], p + name + (p[name] == '='), value, &param[i], err));
        p += name + (p[name] == '=') + value;
    }
    return GKV_OK;
}

void gkv__param_text(const struct gkv__param *rows, const double param[GKV__MAX_PARAMS], char *buf,
                     size_t size)
{
    size_t at = 0;

    *buf = 0;
    for (size_t i = 0; rows[i].name && at < size; i++) {
        const char *w = rows[i].words;

        at += (size_t)snprintf(buf + at, size - at, "%s%s=", i ? "," : "", rows[i].name);
        for (int skip = (int)param[i]; w && skip; skip--)
            w += strcspn(w, " ") + 1;
        if (at < size && w)
            at += (size_t)snprintf(buf + at, size - at, "%.*s", (int)strcspn(w, " "), w);
        else if (at < size)
            at += (size_t)snprintf(buf + at, size - at, "%g", param[i]);
    }
}

int gkv__param_row(const struct gkv__param *rows, const char *name)
{
    for (int i = 0; rows[i].name; i++)
        if (!strcmp(rows[i].name, name))
            return i;
    return -1;
}
