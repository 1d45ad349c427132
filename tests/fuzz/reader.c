/* SPDX-License-Identifier: BSD-2-Clause
 * reader.c - a file of any format: what it is, and our own readers of it
 *
 *     1 byte which reader; 0: the one that the bytes show   file */
#include "config.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/input/encoding.h"
#include "src/cli/input/format.h"
#include "src/cli/input/readers.h"
#include "tests/fuzz/fuzz.h"

static child_reader *const readers[] = { read_rtf, read_csv, read_mail,
#if HAVE_LIBXML2
    read_html,
#endif
#if HAVE_LIBXML2 && HAVE_LIBARCHIVE
    read_docx, read_pptx, read_odf, read_ods, read_xlsx, read_epub,
#endif
};

static child_reader *seen(struct input in)
{
    const struct sniff   s = { "a.txt", (const char *)in.p, (const char *)in.p, in.n, in.n, true };
    const struct format *f = format_of(&s);

    return f ? f->way[0].reader : NULL;
}

static void convert(struct input in)
{
    struct encoding e;
    struct text     from = { NULL, 0, 0 }, to = { NULL, 0, 0 };

    encoding_of(&e, (const char *)in.p, in.n, true);
    must(e.mark <= in.n);
    text_add(&from, (const char *)in.p + e.mark, in.n - e.mark);
    if (e.name)
        encoding_convert(e.name, &from, &to);
    text_free(&from);
    text_free(&to);
}

/* Asked by LeakSanitizer.  Readers leave what they have to the end of their process. */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int __lsan_is_turned_off(void)
{
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE   *null;
    struct input   in = { data, size };
    const unsigned which = take(&in) % (sizeof readers / sizeof *readers + 1);
    child_reader  *read = which ? readers[which - 1] : seen(in);
    int            fd;

    if (!null)
        null = fopen("/dev/null", "w");
    convert(in);
    if (!read)
        return 0;
    fd = open(fuzz_file(0, in.p, in.n), O_RDONLY | O_CLOEXEC);
    must(fd >= 0);
    read(fd, null, null);
    close(fd);
    return 0;
}
