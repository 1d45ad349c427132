/* SPDX-License-Identifier: BSD-2-Clause
 * status.c - see status.h */
#include "config.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "src/base/status.h"

gkv_status (gkv__fail)(gkv_error *err, gkv_status status, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return status;
    err->status = status;
    va_start(ap, fmt);
    vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    for (unsigned char *p = (unsigned char *)err->text; *p; p++)
        if (*p < 0x20 || *p == 0x7f)
            *p = '?';
    return status;
}

static struct gkv__size size(uint64_t bytes, double (*round_it)(double))
{
    static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    struct gkv__size s;
    double           d = (double)bytes, digits;
    size_t           i = 0;

    while (d >= 1000 && i + 1 < sizeof unit / sizeof *unit) {
        d /= 1024;
        i++;
    }
    digits = d < 10 ? 100 : d < 100 ? 10 : 1;
    snprintf(s.text, sizeof s.text, "%.*f %s", !i ? 0 : d < 10 ? 2 : d < 100, round_it(d * digits) / digits, unit[i]);
    return s;
}

struct gkv__size gkv__needed(uint64_t bytes)
{
    return size(bytes, ceil);
}

struct gkv__size gkv__limit(uint64_t bytes)
{
    return size(bytes, floor);
}

const char *gkv_status_name(gkv_status status)
{
    static const char *const name[] = {
        [GKV_OK] = "ok",
        [GKV_END] = "end",
        [GKV_NOMEM] = "out of memory",
        [GKV_LIMIT] = "limit",
        [GKV_IO] = "i/o error",
        [GKV_FORMAT] = "damaged model file",
        [GKV_UNSUPPORTED] = "unsupported model file",
        [GKV_INVALID] = "invalid argument",
        [GKV_DOCUMENT] = "document refused",
        [GKV_DEVICE] = "device error",
        [GKV_CANCELLED] = "cancelled",
    };
    return (size_t)status < sizeof name / sizeof *name ? name[status] : "unknown";
}

void gkv__give(void *out, size_t size, const void *from, size_t known)
{
    memset(out, 0, size);
    memcpy(out, from, gkv__min(size, known));
}

void gkv_options_init_size(gkv_options *opt, size_t size)
{
    const gkv_options defaults = {
        .size = size,
        .keep = 1024,
        .layer = -1,
        .keep_first = 4,
        .keep_last = GKV_KEEP_PROMPT,
        .max_tokens = 256,
        .draft = 4,
        .top_p = 1,
        .repeat_last_n = 64,
        .repeat_penalty = 1,
    };

    gkv__give(opt, size, &defaults, sizeof defaults);
}

gkv_status gkv__options(gkv_options *to, const gkv_options *from, gkv_error *err)
{
    if (from->size < offsetof(gkv_options, schedule) || from->size > 16 * sizeof *from)
        return gkv__fail(err, GKV_INVALID, "options that gkv_options_init has not set up");
    gkv_options_init(to);
    memcpy(to, from, gkv__min(from->size, sizeof *to));
    to->size = sizeof *to;
    return GKV_OK;
}
