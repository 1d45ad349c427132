/* SPDX-License-Identifier: BSD-2-Clause
 * unit-file.c - reading and writing go on after a signal and after a part, and end at an error; rows in a
 * temporary file.  The system calls are replaced. */
#include "config.h"
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What call number `fails` does instead of its work: an errno, or 0 for "no bytes". */
static struct { unsigned calls, fails; int why; } fake;

static ssize_t part(size_t n)           /* bytes to transfer now; -1: fail */
{
    if (fake.calls++ == fake.fails) {
        errno = fake.why;
        return fake.why ? -1 : 0;
    }
    return n > 7 ? 7 : (ssize_t)n;
}

static ssize_t fake_pread(int fd, void *p, size_t n, off_t at)
{
    const ssize_t most = part(n);

    return most > 0 ? pread(fd, p, (size_t)most, at) : most;
}

static ssize_t fake_pwrite(int fd, const void *p, size_t n, off_t at)
{
    const ssize_t most = part(n);

    return most > 0 ? pwrite(fd, p, (size_t)most, at) : most;
}

#define pread fake_pread
#define pwrite fake_pwrite
#include "src/base/file.c"
#undef pread
#undef pwrite
#include "src/base/spill.h"
#include "tests/tap.h"

enum { BYTES = 100, NEVER = 1000 };

static void fail_at(unsigned call, int why)
{
    fake.calls = 0;
    fake.fails = call;
    fake.why = why;
}

int main(void)
{
    char path[] = "/tmp/gemkv-file-XXXXXX", from[BYTES], to[BYTES];
    const int fd = mkstemp(path);
    struct gkv__spill x;
    struct stat st;
    gkv_error err;
    float *row;
    bool good = true;

    if (fd < 0 || unlink(path)) {
        puts("Bail out! no temporary file");
        return 1;
    }
    for (int i = 0; i < BYTES; i++)
        from[i] = (char)(3 * i);
    fail_at(NEVER, 0);
    ok(gkv__write_at(fd, from, BYTES, 50) && gkv__read_at(fd, to, BYTES, 50) && !memcmp(from, to, BYTES) &&
       fake.calls == 30, "100 bytes in parts of 7");
    memset(to, 0, BYTES);
    fail_at(3, EINTR);
    ok(gkv__read_at(fd, to, BYTES, 50) && !memcmp(from, to, BYTES) && fake.calls == 16, "a signal while reading");
    fail_at(3, EINTR);
    ok(gkv__write_at(fd, from + 1, BYTES - 1, 50) && fake.calls == 16, "a signal while writing");
    fail_at(NEVER, 0);
    ok(gkv__read_at(fd, to, BYTES - 1, 50) && !memcmp(from + 1, to, BYTES - 1), "... loses nothing");
    fail_at(2, EIO);
    ok(!gkv__read_at(fd, to, BYTES, 50) && errno == EIO && fake.calls == 3, "an error while reading");
    fail_at(2, ENOSPC);
    ok(!gkv__write_at(fd, from, BYTES, 50) && errno == ENOSPC && fake.calls == 3, "an error while writing");
    fail_at(2, 0);
    ok(!gkv__write_at(fd, from, BYTES, 50) && errno == EIO && fake.calls == 3, "no byte can be written");
    fail_at(NEVER, 0);
    ok(!gkv__read_at(fd, to, BYTES, 51) && errno == 0, "the file ends too early");
    close(fd);

    /* 10 rows of 6 floats, 4 in memory */
    ok(gkv__spill_open(&x, 10, 6, 4, &err) == GKV_OK && !fstat(x.fd, &st) && st.st_size == 240 &&
       512 * (int64_t)st.st_blocks >= 240, "a temporary file has its place on the disk from the start");
    for (uint64_t at = 0; at < 10 && good; at += 4) {
        const size_t n = at + 4 < 10 ? 4 : (size_t)(10 - at);

        good = gkv__spill_get(&x, at, n, &row, &err) == GKV_OK;
        for (size_t i = 0; i < 6 * n; i++)
            row[i] = (float)(6 * at + i);
        good = good && gkv__spill_put(&x, at, n, &err) == GKV_OK;
    }
    for (uint64_t at = 0; at < 10 && good; at++) {
        good = gkv__spill_get(&x, at, 1, &row, &err) == GKV_OK;
        for (size_t i = 0; i < 6; i++)
            good = good && row[i] == (float)(6 * at + i);
    }
    ok(good, "its rows are those that were put there");
    fail_at(0, ENOSPC);
    ok(gkv__spill_put(&x, 0, 4, &err) == GKV_IO && strstr(err.text, strerror(ENOSPC)), "%s", err.text);
    fail_at(0, 0);
    ok(gkv__spill_get(&x, 0, 4, &row, &err) == GKV_IO && strstr(err.text, "ends too early"), "%s", err.text);
    gkv__spill_close(&x);
    return done();
}
