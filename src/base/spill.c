/* SPDX-License-Identifier: BSD-2-Clause
 * spill.c - see spill.h */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/base/mem.h"
#include "src/base/spill.h"

/* $TMPDIR, else /var/tmp.  Not /tmp, which may be in memory. */
const char *gkv__spill_dir(void)
{
    const char *dir = getenv("TMPDIR");

    return dir && *dir ? dir : "/var/tmp";
}

static gkv_status failed(const struct gkv__spill *x, const char *what, int why, gkv_error *err)
{
    return gkv__fail(err, GKV_IO, "cannot %s a temporary file of %" PRIu64 " bytes in %s: %s; set "
                     "TMPDIR, raise --memory, or take --schedule stream", what,
                     x->n * x->width * sizeof *x->rows, gkv__spill_dir(), strerror(why));
}

static int nameless(void)
{
    char path[4096];
    int fd;

#ifdef O_TMPFILE
    fd = open(gkv__spill_dir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL))
        return fd;
#endif
    if ((size_t)snprintf(path, sizeof path, "%s/gemkv-XXXXXX", gkv__spill_dir()) >= sizeof path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    fd = mkstemp(path);
    if (fd >= 0) {
        unlink(path);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
    return fd;
}

gkv_status gkv__spill_open(struct gkv__spill *x, uint64_t n, size_t width, uint64_t block,
                           gkv_error *err)
{
    int why;

    *x = (struct gkv__spill){ .n = n, .block = block, .width = width, .fd = -1 };
    x->rows = gkv__pages(block ? block : n, width * sizeof *x->rows);
    if (!x->rows)
        return gkv__fail(err, GKV_NOMEM, "the system refused %" PRIu64 " bytes for the hidden states",
                         (block ? block : n) * width * sizeof *x->rows);
    if (!block)
        return GKV_OK;
    x->fd = nameless();
    if (x->fd < 0)
        return failed(x, "make", errno, err);
    /* The whole file is allocated now: a full disk is reported before hours of work. */
    why = posix_fallocate(x->fd, 0, (off_t)(n * width * sizeof *x->rows));
    return why ? failed(x, "have", why, err) : GKV_OK;
}

void gkv__spill_close(struct gkv__spill *x)
{
    gkv__pages_free(x->rows, x->block ? x->block : x->n, x->width * sizeof *x->rows);
    if (x->rows && x->fd >= 0)
        close(x->fd);
    x->rows = NULL;
}

/* Read or write n whole rows; 0, or an errno. */
static int transfer(const struct gkv__spill *x, uint64_t at, size_t n, int out)
{
    char *p = (char *)x->rows;
    size_t left = n * x->width * sizeof *x->rows;
    off_t off = (off_t)(at * x->width * sizeof *x->rows);

    while (left) {
        ssize_t done = out ? pwrite(x->fd, p, left, off) : pread(x->fd, p, left, off);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return done ? errno : EIO;
        p += done;
        off += done;
        left -= (size_t)done;
    }
    return 0;
}

gkv_status gkv__spill_get(struct gkv__spill *x, uint64_t at, size_t n, float **row, gkv_error *err)
{
    int why = x->block ? transfer(x, at, n, 0) : 0;

    *row = x->rows + (x->block ? 0 : at * x->width);
    return why ? failed(x, "read", why, err) : GKV_OK;
}

gkv_status gkv__spill_put(struct gkv__spill *x, uint64_t at, size_t n, gkv_error *err)
{
    int why = x->block ? transfer(x, at, n, 1) : 0;

    return why ? failed(x, "write", why, err) : GKV_OK;
}
