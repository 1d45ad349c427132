/* SPDX-License-Identifier: BSD-2-Clause
 * zip.c - see zip.h */
#include "config.h"
#include "src/cli/input/zip.h"
#if HAVE_LIBARCHIVE
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <archive.h>
#include <archive_entry.h>
#include "src/cli/say.h"
#include "src/cli/text.h"

static char *member(int fd, const char *name, size_t *n)
{
    struct archive       *a = archive_read_new();
    struct archive_entry *e;
    struct text           t = { NULL, 0, 0 };
    const void           *p;
    size_t                k;
    la_int64_t            at;
    int                   r = ARCHIVE_EOF;

    *n = 0;
    if (!a)
        out_of_memory();
    archive_read_support_format_zip_seekable(a);
    lseek(fd, 0, SEEK_SET);
    if (!archive_read_open_fd(a, fd, 1 << 16))
        while ((r = archive_read_next_header(a, &e)) == ARCHIVE_OK || r == ARCHIVE_WARN)
            if (archive_entry_pathname(e) && !strcmp(archive_entry_pathname(e), name)) {
                text_add(&t, "", 0);
                while ((r = archive_read_data_block(a, &p, &k, &at)) == ARCHIVE_OK)      /* a wrong sum warns */
                    text_add(&t, p, k);
                break;
            }
    archive_read_free(a);
    if (t.p && r != ARCHIVE_EOF)
        text_free(&t);
    *n = t.n;
    return t.p;
}

/* libarchive gives names that are UTF-8 in a locale of UTF-8 only. */
char *zip_member(int fd, const char *name, size_t *n)
{
    const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0), before = uselocale(utf8);
    char          *s = member(fd, name, n);

    uselocale(before);
    if (utf8)
        freelocale(utf8);
    return s;
}

char *zip_resolve(const char *from, const char *target)
{
    const char *slash = strrchr(from, '/');
    char       *path = *target == '/' ? format("%s", target + 1)
                       : format("%.*s%s", slash ? (int)(slash + 1 - from) : 0, from, target), *up, *before;

    while ((up = strstr(path, "../"))) {        /* "a/b/../c" is "a/c" */
        for (before = up > path ? up - 1 : path; before > path && before[-1] != '/'; before--)
            continue;
        memmove(before, up + 3, strlen(up + 3) + 1);
    }
    return path;
}
#endif
