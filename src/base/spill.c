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
#include "src/base/file.h"
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
                     x->n * x->width * sizeof *x->rows, gkv__spill_dir(), why ? strerror(why) : "it ends too early");
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
        return gkv__fail(err, GKV_NOMEM, "the system refused %s for the hidden states",
                         gkv__needed((block ? block : n) * width * sizeof *x->rows).text);
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

gkv_status gkv__spill_get(struct gkv__spill *x, uint64_t at, size_t n, float **row, gkv_error *err)
{
    const uint64_t bytes = x->width * sizeof *x->rows;

    *row = x->rows + (x->block ? 0 : at * x->width);
    if (x->block && !gkv__read_at(x->fd, x->rows, n * bytes, at * bytes))
        return failed(x, "read", errno, err);
    return GKV_OK;
}

gkv_status gkv__spill_put(struct gkv__spill *x, uint64_t at, size_t n, gkv_error *err)
{
    const uint64_t bytes = x->width * sizeof *x->rows;

    if (x->block && !gkv__write_at(x->fd, x->rows, n * bytes, at * bytes))
        return failed(x, "write", errno, err);
    return GKV_OK;
}
