/* SPDX-License-Identifier: BSD-2-Clause
 * status.c - see status.h */
#include "config.h"
#include <stdarg.h>
#include <stdio.h>
#include "src/base/status.h"

gkv_status gkv__fail(gkv_error *err, gkv_status status, const char *fmt, ...)
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
