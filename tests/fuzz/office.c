/* SPDX-License-Identifier: BSD-2-Clause
 * office.c - documents that are ZIP archives, by their members: the ZIP is made here, so that each member is read
 * whatever its sums are
 *
 *     a letter for the format, a newline, and members: a form feed, a name, a newline, the content */
#include "config.h"
#include "tests/fuzz/fuzz.h"
#if HAVE_LIBARCHIVE && HAVE_LIBXML2
#include <archive.h>
#include <archive_entry.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/input/readers.h"

static const struct { char letter; child_reader *read; } formats[] = {
    { 'd', read_docx }, { 'p', read_pptx }, { 'o', read_odf }, { 's', read_ods }, { 'x', read_xlsx }, { 'e', read_epub }
};

enum { N_FORMATS = sizeof formats / sizeof *formats, ROOM = 1 << 20 };

static void add_member(struct archive *a, const char *name, struct input content)
{
    struct archive_entry *e = archive_entry_new();

    archive_entry_set_pathname(e, name);
    archive_entry_set_filetype(e, AE_IFREG);
    archive_entry_set_size(e, (la_int64_t)content.n);
    if (*name && archive_write_header(a, e) == ARCHIVE_OK)
        archive_write_data(a, content.p, content.n);
    archive_entry_free(e);
}

/* Asked by LeakSanitizer.  Readers leave what they have to the end of their process. */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int __lsan_is_turned_off(void)
{
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char     zip[ROOM];
    static FILE    *null;
    struct input    in = { data, size };
    const unsigned  letter = take(&in);
    struct archive *a = archive_write_new();
    size_t          used = 0, which = 0;
    int             fd;

    if (!null)
        null = fopen("/dev/null", "w");
    while (which < N_FORMATS - 1 && (unsigned char)formats[which].letter != letter)
        which++;
    archive_write_set_format_zip(a);
    archive_write_zip_set_compression_store(a);
    archive_write_open_memory(a, zip, sizeof zip, &used);
    take_until(&in, '\f');
    while (in.n) {
        struct input member = take_until(&in, '\f');
        char        *name = fuzz_text(take_until(&member, '\n'));

        add_member(a, name, member);
        free(name);
    }
    archive_write_close(a);
    archive_write_free(a);
    fd = open(fuzz_file(0, zip, used), O_RDONLY | O_CLOEXEC);
    must(fd >= 0);
    formats[which].read(fd, null, null);
    close(fd);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    (void)data;
    (void)size;
    return 0;
}
#endif
