/* SPDX-License-Identifier: BSD-2-Clause
 * base64.c - see base64.h */
#include "config.h"
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/serve/base64.h"

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Four digits are three bytes; at the end "=" stands for digits that are missing. */
static bool decode(const char *text, FILE *f)
{
    uint32_t    bits = 0;
    int         n = 0, pad = 0;
    const char *digit;

    for (; *text; text++) {
        if (strchr(" \t\r\n", *text))
            continue;
        if (*text == '=' && n + ++pad <= 4)
            continue;
        digit = strchr(digits, *text);
        if (pad || !digit)
            return false;
        bits = bits << 6 | (uint32_t)(digit - digits);
        if (++n == 4) {
            putc((int)(bits >> 16 & 0xff), f);
            putc((int)(bits >> 8 & 0xff), f);
            putc((int)(bits & 0xff), f);
            n = 0;
        }
    }
    if (n == 1 || (pad && n + pad != 4))
        return false;
    if (n >= 2)
        putc((int)(bits >> (n == 2 ? 4 : 10) & 0xff), f);
    if (n == 3)
        putc((int)(bits >> 2 & 0xff), f);
    return true;
}

bool base64_to_file(const char *text, char *template)
{
    const int fd = mkostemp(template, O_CLOEXEC);
    FILE     *f = fd < 0 ? NULL : fdopen(fd, "w");
    bool      good;

    if (!f) {
        if (fd >= 0) {
            close(fd);
            unlink(template);
        }
        return false;
    }
    good = decode(text, f);
    good &= !ferror(f);
    if (fclose(f))
        good = false;
    if (!good)
        unlink(template);
    return good;
}
