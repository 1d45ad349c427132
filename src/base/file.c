/* SPDX-License-Identifier: BSD-2-Clause
 * file.c - see file.h */
#include "config.h"
#include <errno.h>
#include <unistd.h>
#include "src/base/file.h"
#include "src/base/size.h"

enum { MOST = 1 << 30 };        /* bytes of one call: Linux takes no more than 2 GiB */

bool gkv__read_at(int fd, void *p, uint64_t n, uint64_t at)
{
    for (ssize_t done; n; p = (char *)p + done, at += (uint64_t)done, n -= (uint64_t)done) {
        done = pread(fd, p, (size_t)gkv__min(n, MOST), (off_t)at);
        if (done < 0 && errno == EINTR) {
            done = 0;
        } else if (done <= 0) {
            errno = done ? errno : 0;
            return false;
        }
    }
    return true;
}

bool gkv__write_at(int fd, const void *p, uint64_t n, uint64_t at)
{
    for (ssize_t done; n; p = (const char *)p + done, at += (uint64_t)done, n -= (uint64_t)done) {
        done = pwrite(fd, p, (size_t)gkv__min(n, MOST), (off_t)at);
        if (done < 0 && errno == EINTR) {
            done = 0;
        } else if (done <= 0) {
            errno = done ? errno : EIO;
            return false;
        }
    }
    return true;
}
