/* SPDX-License-Identifier: BSD-2-Clause
 * format.c - see format.h */
#include "config.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>
#include "src/cli/input/format.h"
#include "src/cli/input/readers.h"

/* ---- tests ------------------------------------------------------------------------------- */
static bool ends_with(const char *s, const char *suffix)
{
    size_t n = strlen(s), k = strlen(suffix);

    return n >= k && !strcasecmp(s + n - k, suffix);
}

static bool begins(const struct sniff *s, const char *magic)
{
    const size_t n = strlen(magic);

    return s->n_head >= n && !memcmp(s->head, magic, n);
}

/* A PDF may have up to 1,024 bytes of something else before it; but a text may have its magic bytes in it. */
static bool is_pdf(const struct sniff *s, const char *magic)
{
    return begins(s, magic) || (memmem(s->head, s->n_head < 1024 ? s->n_head : 1024, magic, strlen(magic))
                                && memchr(s->head, 0, s->n_head));
}

static bool is_bzip2(const struct sniff *s, const char *magic)
{
    return begins(s, magic) && s->n_head >= 7 && (!memcmp(s->head + 4, "1AY", 3) || !memcmp(s->head + 4, "\x17rE", 3));
}

static bool is_tiff(const struct sniff *s, const char *arg)
{
    (void)arg;
    return s->n_head >= 4 && (!memcmp(s->head, "II*\0", 4) || !memcmp(s->head, "MM\0*", 4));
}

/* Its first member says what it is, or the names of its members do: they follow each other at its end. */
static bool is_zip_with(const struct sniff *s, const char *word)
{
    return begins(s, "PK\3\4") && (memmem(s->head, s->n_head, word, strlen(word))
                                   || (s->n_tail && memmem(s->tail, s->n_tail, word, strlen(word))));
}

/* Old Microsoft Office: names of streams, in UTF-16. */
static bool is_ole_with(const struct sniff *s, const char *word)
{
    char   wide[64];
    size_t n = 0;

    if (!begins(s, "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
        return false;
    for (; word[n] && 2 * n + 2 <= sizeof wide; n++) {
        wide[2 * n] = word[n];
        wide[2 * n + 1] = 0;
    }
    return memmem(s->head, s->n_head, wide, 2 * n) || (s->n_tail && memmem(s->tail, s->n_tail, wide, 2 * n));
}

/* The word and a version, of either byte order: a text may begin with the word. */
static bool is_gguf(const struct sniff *s, const char *magic)
{
    return begins(s, magic) && s->n_head >= 8 && (!memcmp(s->head + 5, "\0\0", 3) || !memcmp(s->head + 4, "\0\0", 3));
}

static bool is_webp(const struct sniff *s, const char *arg)
{
    return begins(s, "RIFF") && s->n_head >= 12 && !memcmp(s->head + 8, arg, 4);
}

static bool is_tar(const struct sniff *s, const char *arg)
{
    return s->n_head >= 262 && !memcmp(s->head + 257, arg, 5);
}

static const char *skip_space(const struct sniff *s)
{
    const char *p = s->head, *end = s->head + s->n_head;

    if (s->n_head >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
        p += 3;
    while (p < end && isspace((unsigned char)*p))
        p++;
    return p;
}

static bool finds(const char *p, size_t n, const char *word)
{
    const size_t k = strlen(word);

    for (size_t i = 0; i + k <= n; i++)
        if (!strncasecmp(p + i, word, k))
            return true;
    return false;
}

static bool is_html(const struct sniff *s, const char *arg)
{
    const char  *p = skip_space(s);
    const size_t n = (size_t)(s->head + s->n_head - p), near = n < 1024 ? n : 1024;

    (void)arg;
    if (!n || *p != '<' || memchr(s->head, 0, s->n_head))
        return false;
    return (near >= 5 && (!strncasecmp(p, "<html", 5) || !strncasecmp(p, "<head", 5) || !strncasecmp(p, "<body", 5)))
           || (near >= 14 && !strncasecmp(p, "<!doctype html", 14)) || finds(p, near, "<html")
           || ends_with(s->name, ".html") || ends_with(s->name, ".htm") || ends_with(s->name, ".xhtml");
}

/* The lines up to the first empty one are "Name: value" and their continuations, and some names are those of mail. */
static bool is_headers(const char *p, const char *end)
{
    static const char *const known[] = { "From:", "To:", "Subject:", "Date:", "Received:", "Return-Path:",
                                         "Message-ID:", "MIME-Version:", "Delivered-To:", "Cc:" };
    size_t n = 0, n_known = 0;

    while (p < end) {
        const char *line = p, *stop = memchr(p, '\n', (size_t)(end - p));
        size_t      len = (size_t)((stop ? stop : end) - p), name = 0;

        p = stop ? stop + 1 : end;
        if (len && line[len - 1] == '\r')
            len--;
        if (!len)
            break;
        if (n && (*line == ' ' || *line == '\t'))
            continue;
        while (name < len && line[name] > ' ' && line[name] != ':' && (unsigned char)line[name] < 127)
            name++;
        if (!name || name == len || line[name] != ':')
            return false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            n_known += name + 1 == strlen(known[i]) && !strncasecmp(line, known[i], name + 1);
        n++;
    }
    return n_known >= 2;
}

static bool is_mail(const struct sniff *s, const char *arg)
{
    (void)arg;
    return is_headers(s->head, s->head + s->n_head);
}

static bool is_mbox(const struct sniff *s, const char *arg)
{
    const char *line = begins(s, arg) ? memchr(s->head, '\n', s->n_head) : NULL;

    return line && is_headers(line + 1, s->head + s->n_head);
}

static bool is_csv(const struct sniff *s, const char *arg)
{
    (void)arg;
    return s->document && csv_looks(s->head, s->n_head, ends_with(s->name, ".csv") || ends_with(s->name, ".tsv")) != 0;
}

/* ---- the table --------------------------------------------------------------------------- */
#define PANDOC(from) { { "pandoc", "--sandbox", "-f", from, "-t", "plain", "--wrap=none", FORMAT_FILE }, "pandoc", NULL }
#define PROGRAM(package, ...) { { __VA_ARGS__ }, package, NULL }
#define OURS(function) { { NULL }, NULL, function }

#if HAVE_LIBARCHIVE && HAVE_LIBXML2
#define OFFICE(function, other) { OURS(function), other }
#else
#define OFFICE(function, other) { other }
#endif
#if HAVE_LIBXML2
#define MARKUP(function, other) { OURS(function), other }
#else
#define MARKUP(function, other) { other }
#endif
#define NOTHING { { NULL }, NULL, NULL }

static const struct format formats[] = {
    { "gzip", begins, "\x1f\x8b", FORMAT_PACKED, .way = { PROGRAM("gzip", "gzip", "-dc") } },
    { "zstd", begins, "\x28\xb5\x2f\xfd", FORMAT_PACKED, .way = { PROGRAM("zstd", "zstd", "-dc") } },
    { "xz", begins, "\xfd" "7zXZ", FORMAT_PACKED, .way = { PROGRAM("xz-utils", "xz", "-dc") } },
    { "bzip2", is_bzip2, "BZh", FORMAT_PACKED, .way = { PROGRAM("bzip2", "bzip2", "-dc") } },
    { "PDF", is_pdf, "%PDF-", FORMAT_PAGES, .part = "page",
      .way = { PROGRAM("poppler-utils", "pdftotext", "-layout", "-enc", "UTF-8", FORMAT_FILE, "-") } },

    { "EPUB", is_zip_with, "application/epub+zip", FORMAT_TEXT, .part = "chapter",
      .way = OFFICE(read_epub, PANDOC("epub")) },
    { "OpenDocument text", is_zip_with, "mimetypeapplication/vnd.oasis.opendocument.text", FORMAT_TEXT, .part = "page",
      .way = OFFICE(read_odf, PANDOC("odt")) },
    { "OpenDocument spreadsheet", is_zip_with, "mimetypeapplication/vnd.oasis.opendocument.spreadsheet", FORMAT_TEXT,
      .part = "sheet", .way = OFFICE(read_odf, NOTHING) },
    { "OpenDocument presentation", is_zip_with, "mimetypeapplication/vnd.oasis.opendocument.presentation", FORMAT_TEXT,
      .part = "slide", .way = OFFICE(read_odf, NOTHING) },
    { "DOCX", is_zip_with, "word/document.xml", FORMAT_TEXT, .part = "page", .way = OFFICE(read_docx, PANDOC("docx")) },
    { "PPTX", is_zip_with, "ppt/presentation.xml", FORMAT_TEXT, .part = "slide", .way = OFFICE(read_pptx, NOTHING) },
    { "XLSX", is_zip_with, "xl/workbook.xml", FORMAT_TEXT, .part = "sheet", .way = OFFICE(read_xlsx, NOTHING) },
    { "a ZIP archive", begins, "PK\3\4", FORMAT_NEVER, .advice = "unpack it, and give its files or, with -r, their folder" },

    { "DOC", is_ole_with, "WordDocument", FORMAT_TEXT, .advice = "save it as DOCX",
      .way = { PROGRAM("antiword", "antiword", "-m", "UTF-8.txt", "-w", "0", FORMAT_FILE),
               PROGRAM("catdoc", "catdoc", "-d", "utf-8", "-w", FORMAT_FILE) } },
    { "XLS", is_ole_with, "Workbook", FORMAT_TEXT, .part = "sheet", .advice = "save it as XLSX",
      .way = { PROGRAM("catdoc", "xls2csv", "-d", "utf-8", "-b", "\f", FORMAT_FILE) } },
    { "PPT", is_ole_with, "PowerPoint Document", FORMAT_TEXT, .part = "slide", .advice = "save it as PPTX",
      .way = { PROGRAM("catdoc", "catppt", "-d", "utf-8", "-b", "\f", FORMAT_FILE) } },
    { "an Office document with a password", is_ole_with, "EncryptedPackage", FORMAT_NEVER, .advice = "save it without one" },
    { "a file of an old Office program", begins, "\xd0\xcf\x11\xe0", FORMAT_NEVER, .advice = "save it as PDF or DOCX" },
    { "RTF", begins, "{\\rtf", FORMAT_TEXT, .part = "page", .way = { OURS(read_rtf) } },

    { "a PNG picture", begins, "\x89PNG", FORMAT_IMAGE, .way = { PROGRAM("tesseract-ocr", "tesseract", FORMAT_FILE, "-") } },
    { "a JPEG picture", begins, "\xff\xd8\xff", FORMAT_IMAGE,
      .way = { PROGRAM("tesseract-ocr", "tesseract", FORMAT_FILE, "-") } },
    { "a TIFF picture", is_tiff, NULL, FORMAT_IMAGE, .way = { PROGRAM("tesseract-ocr", "tesseract", FORMAT_FILE, "-") } },
    { "a WebP picture", is_webp, "WEBP", FORMAT_IMAGE, .way = { PROGRAM("tesseract-ocr", "tesseract", FORMAT_FILE, "-") } },
    { "a GIF picture", begins, "GIF8", FORMAT_NEVER, .advice = "convert it to PNG, which --ocr reads" },

    { "a GGUF model", is_gguf, "GGUF", FORMAT_NEVER, .advice = "give models with -m" },
    { "a tar archive", is_tar, "ustar", FORMAT_NEVER, .advice = "unpack it, and give its folder with -r" },
    { "a 7z archive", begins, "7z\xbc\xaf", FORMAT_NEVER, .advice = "unpack it, and give its folder with -r" },
    { "a RAR archive", begins, "Rar!", FORMAT_NEVER, .advice = "unpack it, and give its folder with -r" },
    { "a program", begins, "\x7f" "ELF", FORMAT_NEVER, .advice = "give its source or its manual" },
    { "a SQLite database", begins, "SQLite format 3", FORMAT_NEVER, .advice = "export what you ask about as CSV" },
    { "sound", begins, "ID3\3", FORMAT_NEVER, .advice = "give a transcript" },
    { "sound", begins, "ID3\4", FORMAT_NEVER, .advice = "give a transcript" },

    { "HTML", is_html, NULL, FORMAT_OR_TEXT,
      .way = MARKUP(read_html, PROGRAM("w3m", "w3m", "-dump", "-T", "text/html", "-cols", "200", "-O", "UTF-8")) },
    { "a mailbox", is_mbox, "From ", FORMAT_TEXT, .part = "message", .way = { OURS(read_mail) } },
    { "a message", is_mail, NULL, FORMAT_TEXT, .part = "message", .way = { OURS(read_mail) } },
    { "CSV", is_csv, NULL, FORMAT_TEXT, .part = "table", .way = { OURS(read_csv) } }
};

const struct format *format_of(const struct sniff *s)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (formats[i].is(s, formats[i].arg))
            return &formats[i];
    return NULL;
}
