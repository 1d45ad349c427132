/* SPDX-License-Identifier: BSD-2-Clause
 * unit-formats.c - what a file is, seen from its bytes, its encoding, and the text of RTF, tables, mail and HTML;
 * which pages have no text */
#include "config.h"
#include <fcntl.h>
#include <iconv.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/input.h"
#include "src/cli/input/encoding.h"
#include "src/cli/input/format.h"
#include "src/cli/input/pages.h"
#include "src/cli/input/readers.h"
#include "src/cli/text.h"
#include "tests/tap.h"

/* Asked by LeakSanitizer.  Readers leave what they have to the end of their process. */
int __lsan_is_turned_off(void) __attribute__((visibility("default")));
int __lsan_is_turned_off(void)
{
    return 1;
}

static void same(int line, const char *got, size_t n, const char *want, size_t n_want)
{
    const bool good = n == n_want && !memcmp(got, want, n);

    ok(good, "line %d", line);
    if (!good)
        printf("# want %.*s\n# got  %.*s\n", (int)n_want, want, (int)n, got);
}

/* why: what is said, and the reader fails; NULL: it does not. */
static void shows(int line, child_reader *read, const char *in, size_t n, const char *want, size_t n_want, const char *why)
{
    char  *out = NULL, *err = NULL;
    size_t n_out, n_err;
    FILE  *f = tmpfile(), *to = open_memstream(&out, &n_out), *say_to = open_memstream(&err, &n_err);
    int    code;

    if (!f || fwrite(in, 1, n, f) != n || fflush(f)) {
        printf("Bail out! no temporary file\n");
        exit(1);
    }
    rewind(f);
    code = read(fileno(f), to, say_to);
    fclose(to);
    fclose(say_to);
    fclose(f);
    same(line, out, n_out, want, n_want);
    if (strcmp(err, why ? why : "") || code != (why != NULL))
        ok(false, "... says %s", err);
    free(out);
    free(err);
}

/* A file that ends with an error is none that ends there. */
static void unread(void)
{
    static child_reader *const all[] = { read_rtf, read_csv, read_mail,
#if HAVE_LIBXML2
        read_html,
#endif
    };
    unsigned wrong = 0;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char     *out = NULL, *err = NULL;
        size_t    n_out, n_err;
        FILE     *to = open_memstream(&out, &n_out), *say_to = open_memstream(&err, &n_err);
        const int fd = open("/", O_RDONLY | O_CLOEXEC);

        wrong += all[i](fd, to, say_to) != 1;
        close(fd);
        fclose(to);
        fclose(say_to);
        wrong += n_out > 0 || strncmp(err, "it cannot be read: ", 19);
        free(out);
        free(err);
    }
    ok(!wrong, "what cannot be read to its end has no text");
}

#define SHOWS(read, in, want) shows(__LINE__, read, in, sizeof in - 1, want, sizeof want - 1, NULL)

/* ---- encodings --------------------------------------------------------------------------- */
/* name NULL: UTF-8, or nobody knows. */
static void is_encoding(int line, const char *p, size_t n, bool all, const char *name, size_t mark, bool guessed, bool unknown)
{
    struct encoding e;
    bool            good;

    encoding_of(&e, p, n, all);
    good = (name ? e.name && !strcmp(e.name, name) : !e.name) && e.mark == mark && e.guessed == guessed && e.unknown == unknown;
    ok(good, "line %d: %s", line, name ? name : "UTF-8");
    if (!good)
        printf("# %s %d %d %d\n", e.name ? e.name : "none", (int)e.mark, e.guessed, e.unknown);
}

#define ENCODING(text, all, ...) is_encoding(__LINE__, text, sizeof text - 1, all, __VA_ARGS__)

static void encodings(void)
{
    struct text in = { NULL, 0, 0 }, out = { NULL, 0, 0 }, want = { NULL, 0, 0 };

    ENCODING("", true, NULL, 0, false, false);
    ENCODING("plain", true, NULL, 0, false, false);
    ENCODING("\xef\xbb\xbfx", true, NULL, 3, false, false);
    ENCODING("\xef\xbb\xbf", true, NULL, 3, false, false);
    ENCODING("\xff\xfe\0\0x\0\0\0", true, "UTF-32LE", 4, false, false);
    ENCODING("\0\0\xfe\xff\0\0\0x", true, "UTF-32BE", 4, false, false);
    ENCODING("\xff\xfe", true, "UTF-16LE", 2, false, false);
    ENCODING("\xff\xfex\0", true, "UTF-16LE", 2, false, false);
    ENCODING("\xfe\xff\0x", true, "UTF-16BE", 2, false, false);
    ENCODING("a\0b\0", true, "UTF-16LE", 0, true, false);
    ENCODING("\0a\0b", true, "UTF-16BE", 0, true, false);
    ENCODING("a\0b\0c", true, NULL, 0, false, false);           /* half a character at the end: only of a part */
    ENCODING("a\0b\0c", false, "UTF-16LE", 0, true, false);
    ENCODING("a\0\n\0\t\0\r\0\f\0", true, "UTF-16LE", 0, true, false);
    ENCODING("a\0\b\0b\0c\0", true, NULL, 0, false, false);
    ENCODING("a\0\0\0b\0c\0", true, NULL, 0, false, false);
    ENCODING("a\0\x7f\0b\0c\0", true, NULL, 0, false, false);
    ENCODING("a\0~\0", true, "UTF-16LE", 0, true, false);
    ENCODING("a\0", true, NULL, 0, false, false);               /* two characters at least, and half of them */
    ENCODING("a\0b\0\1\2\1\2", true, "UTF-16LE", 0, true, false);
    ENCODING("a\0b\0\1\2\1\2\1\2", true, "UTF-16LE", 0, true, false);
    ENCODING("a\0b\0\1\2\1\2\1\2\1\2", true, NULL, 0, false, false);
    ENCODING("caf\xc3\xa9", true, NULL, 0, false, false);
    ENCODING("caf\xc3", false, NULL, 0, false, false);          /* cut: more may come */
    ENCODING("caf\xf0\x9f\x98", false, NULL, 0, false, false);
#if !HAVE_UCHARDET
    ENCODING("caf\xc3", true, NULL, 0, false, true);
    ENCODING("caf\xe9 au lait", false, NULL, 0, false, true);
#else
    {
        static const char french[] = "Un caf\xe9, une cr\xe8me br\xfbl\xe9" "e et un No\xebl tr\xe8s appr\xe9" "ci\xe9 des Fran\xe7" "ais, "
                                     "\xe0 bient\xf4t. L'\xe9l\xe8ve a \xe9t\xe9 re\xe7u.";
        struct encoding e;

        encoding_of(&e, french, sizeof french - 1, true);
        ok(e.name == e.room && e.guessed && !e.unknown && !e.mark, "a detected encoding: %s", e.room);
        ok(strcasecmp(e.room, "ISO-8859-1"), "... which has all characters of its bytes");
        encoding_of(&e, french, sizeof french - 1, false);
        ok(e.guessed, "... from a part of the text");
        encoding_of(&e, "\xff\xfd\xfc", 3, true);
        ok(e.unknown == !e.name && e.guessed == !e.unknown, "bytes of nothing");
    }
#endif

    text_puts(&in, "a\x80 \xe9");
    ok(encoding_convert("WINDOWS-1252", &in, &out) && !strcmp(out.p, "a\xe2\x82\xac \xc3\xa9"), "from a code page");
    out.n = 0;
    ok(!encoding_convert("no such encoding", &in, &out) && !out.n, "one that iconv does not know");
    ok(encoding_convert("UTF-8", &in, &out) && !strcmp(out.p, "a\xef\xbf\xbd \xef\xbf\xbd"), "bytes that are no characters");
    in.n = out.n = 0;
    for (int i = 0; i < 5000; i++) {
        text_puts(&in, "\xe9x");
        text_puts(&want, "\xc3\xa9x");
    }
    ok(encoding_convert("WINDOWS-1252", &in, &out) && out.n == want.n && !memcmp(out.p, want.p, want.n), "more than a buffer");
    /* In it a byte may wait for the next one, which here is no character. */
    in.n = out.n = 0;
    text_puts(&in, "\x88\x66\xff" "a");
    if (encoding_convert("BIG5-HKSCS", &in, &out))
        ok(!strcmp(out.p, "\xc3\x8a\xef\xbf\xbd" "a"), "a character that may have been combined: %s", out.p);
    else
        skip("iconv does not know it", "a character that may have been combined");
    text_free(&in);
    text_free(&out);
    text_free(&want);
}

/* ---- formats ----------------------------------------------------------------------------- */
static void is_format(int line, const char *name, const char *head, size_t n, const char *tail, size_t n_tail, bool data, const char *want)
{
    const struct sniff   s = { name, head, tail, n, n_tail, !data };
    const struct format *f = format_of(&s);
    const bool           good = want ? f && !strcmp(f->what, want) : !f;

    ok(good, "line %d: %s", line, want ? want : "text");
    if (!good)
        printf("# %s\n", f ? f->what : "text");
}

#define FORMAT(head, want) is_format(__LINE__, "a.txt", head, sizeof head - 1, NULL, 0, false, want)
#define NAMED(name, head, want) is_format(__LINE__, name, head, sizeof head - 1, NULL, 0, false, want)
#define WITH_END(head, tail, want) is_format(__LINE__, "a.txt", head, sizeof head - 1, tail, sizeof tail - 1, false, want)

#define OLE "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
#define FROM "From: a@b\nTo: c@d\n"

static void known(void)
{
    static char bytes[2000];

    FORMAT("", NULL);
    FORMAT("some text", NULL);
    FORMAT("\x1f\x8b", "gzip");
    FORMAT("\x1f", NULL);
    FORMAT("\x28\xb5\x2f\xfd", "zstd");
    FORMAT("\xfd" "7zXZ", "xz");
    FORMAT("BZh91AY&SY", "bzip2");
    FORMAT("BZh9\x17rE8P\x90", "bzip2");
    FORMAT("BZh91AY", "bzip2");
    FORMAT("BZh91A", NULL);
    FORMAT("BZh is the beginning of a file", NULL);
    FORMAT("%PDF-1.7", "PDF");
    FORMAT("Such a file begins with %PDF-1.7", NULL);
    FORMAT("\0\1%PDF-1.7", "PDF");
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes + 1019, "%PDF-", 5);
    is_format(__LINE__, "a", bytes, sizeof bytes, NULL, 0, false, "PDF");
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes + 1020, "%PDF-", 5);
    is_format(__LINE__, "a", bytes, sizeof bytes, NULL, 0, false, NULL);
    FORMAT("PK\3\4....mimetypeapplication/epub+zip", "EPUB");
    FORMAT("PK\3\4..mimetypeapplication/vnd.oasis.opendocument.text", "OpenDocument text");
    FORMAT("PK\3\4..mimetypeapplication/vnd.oasis.opendocument.spreadsheet", "OpenDocument spreadsheet");
    FORMAT("PK\3\4..mimetypeapplication/vnd.oasis.opendocument.presentation", "OpenDocument presentation");
    FORMAT("PK\3\4..word/document.xml", "DOCX");
    FORMAT("PK\3\4..ppt/presentation.xml", "PPTX");
    FORMAT("PK\3\4..xl/workbook.xml", "XLSX");
    FORMAT("PK\3\4..xl/workbook.xm", "a ZIP archive");
    FORMAT("PK\1\2..word/document.xml", NULL);
    WITH_END("PK\3\4..", "..word/document.xml..", "DOCX");
    WITH_END("PK\3\4..", "..word/document.xm", "a ZIP archive");
    WITH_END("PK", "..word/document.xml..", NULL);
    FORMAT(OLE "W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0", "DOC");
    FORMAT(OLE "W\0o\0r\0k\0b\0o\0o\0k\0", "XLS");
    FORMAT(OLE "P\0o\0w\0e\0r\0P\0o\0i\0n\0t\0 \0D\0o\0c\0u\0m\0e\0n\0t\0", "PPT");
    FORMAT(OLE "E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0", "an Office document with a password");
    FORMAT(OLE "WordDocument", "a file of an old Office program");
    FORMAT("\xd0\xcf\x11\xe0W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0", "a file of an old Office program");
    WITH_END(OLE, "W\0o\0r\0d\0D\0o\0c\0u\0m\0e\0n\0t\0", "DOC");
    WITH_END(OLE, "x", "a file of an old Office program");
    FORMAT("{\\rtf1", "RTF");
    FORMAT("\x89PNG\r\n", "a PNG picture");
    FORMAT("\xff\xd8\xff\xe0", "a JPEG picture");
    FORMAT("\xff\xd8", NULL);
    FORMAT("II*\0", "a TIFF picture");
    FORMAT("MM\0*", "a TIFF picture");
    FORMAT("MM*\0", NULL);
    FORMAT("II*", NULL);
    FORMAT("RIFF....WEBP", "a WebP picture");
    FORMAT("RIFF....WAVE", NULL);
    FORMAT("RIFF....WEB", NULL);
    FORMAT("GIF89a", "a GIF picture");
    FORMAT("GGUF\3\0\0\0", "a GGUF model");
    FORMAT("GGUF\0\0\0\3", "a GGUF model");
    FORMAT("GGUF\3\0\0", NULL);
    FORMAT("GGUF is a file format", NULL);
    memset(bytes, 'a', sizeof bytes);
    memcpy(bytes + 257, "ustar", 5);
    is_format(__LINE__, "a", bytes, 262, NULL, 0, false, "a tar archive");
    is_format(__LINE__, "a", bytes, 261, NULL, 0, false, NULL);
    FORMAT("7z\xbc\xaf", "a 7z archive");
    FORMAT("Rar!", "a RAR archive");
    FORMAT("\x7f" "ELF", "a program");
    FORMAT("SQLite format 3\0", "a SQLite database");
    FORMAT("ID3\3", "sound");
    FORMAT("ID3\4", "sound");
    FORMAT("ID3 is an algorithm", NULL);

    FORMAT("<html>", "HTML");
    FORMAT(" \n\t<HEAD>", "HTML");
    FORMAT("\xef\xbb\xbf <body>", "HTML");
    FORMAT("<!DOCTYPE HTML PUBLIC", "HTML");
    FORMAT("<?xml version='1.0'?><!-- --><Html>", "HTML");
    FORMAT("<?xml version='1.0'?><p>", NULL);
    FORMAT("<!doctype htm", NULL);
    FORMAT("<htm", NULL);
    FORMAT("a <html>", NULL);
    FORMAT("<p>", NULL);
    FORMAT(" ", NULL);
    FORMAT("<html>\0", NULL);
    NAMED("a.html", "<p>", "HTML");
    NAMED("a.HTM", "<p>", "HTML");
    NAMED("a.xhtml", "<p>", "HTML");
    NAMED("html", "<p>", NULL);
    NAMED("a.html", "text", NULL);
    memset(bytes, ' ', sizeof bytes);
    bytes[0] = '<';
    memcpy(bytes + 1019, "<html", 5);
    is_format(__LINE__, "a", bytes, 1024, NULL, 0, false, "HTML");
    memmove(bytes + 1020, bytes + 1019, 5);
    is_format(__LINE__, "a", bytes, 1030, NULL, 0, false, NULL);

    FORMAT(FROM "\ntext", "a message");
    FORMAT("from: a\r\nSUBJECT: b\r\n\r\ntext", "a message");
    FORMAT(FROM, "a message");
    FORMAT("From: a\nTo: b", "a message");
    FORMAT("From: a\nX-Y: b\nTo: c,\n\td,\n e\n", "a message");
    FORMAT("From: a\nX-Y: b\n", NULL);
    FORMAT("From: a\n", NULL);
    FORMAT("From: a\n\nTo: b\n", NULL);
    FORMAT(" From: a\nTo: b\n", NULL);
    FORMAT(FROM "no header\n", NULL);
    FORMAT(FROM ": x\n", NULL);
    FORMAT(FROM "x y: z\n", NULL);
    FORMAT(FROM "caf\xc3\xa9: z\n", NULL);
    FORMAT(FROM "x\x7f: z\n", NULL);
    FORMAT(FROM "x", NULL);
    FORMAT("Fro: a\nT: b\n", NULL);
    FORMAT("From a@b\n" FROM "\ntext", "a mailbox");
    FORMAT("From a@b\nWhat now\n", NULL);
    FORMAT("From a@b", NULL);

    FORMAT("a,b,c\n1,2,3\n4,5,6\n7,8,9\n", "CSV");
    is_format(__LINE__, "a", "a,b,c\n1,2,3\n4,5,6\n7,8,9\n", 24, NULL, 0, true, NULL);
    NAMED("a.csv", "a,b\n", "CSV");
    NAMED("a.TSV", "a\tb\n", "CSV");
    NAMED("csv", "a,b\n", NULL);
}

/* ---- tables ------------------------------------------------------------------------------ */
static void separates(int line, const char *p, bool named, char want)
{
    const char got = csv_looks(p, strlen(p), named);

    ok(got == want, "line %d: %d between fields", line, got);
}

#define SEPARATES(text, named, want) separates(__LINE__, text, named, want)

static void tables(void)
{
    SEPARATES("", true, 0);
    SEPARATES("a,b,c\n1,2,3\n4,5,6\n7,8,9\n", false, ',');
    SEPARATES("a;b;c\n1;2;3\n4;5;6\n7;8;9", false, ';');
    SEPARATES("a\tb\tc\n1\t2\t3\n4\t5\t6\n7\t8\t9\n", false, '\t');
    SEPARATES("a|b|c\n1|2|3\n4|5|6\n7|8|9\n", false, '|');
    SEPARATES("a,b,c\n1,2,3\n4,5,6\n", false, 0);               /* four rows of three */
    SEPARATES("a,b\n1,2\n4,5\n7,8\n", false, 0);
    SEPARATES("a,b,c\n1,2,3\n4,5\n7,8,9\n", false, 0);          /* all of one length */
    SEPARATES("a,b,c\n\n1,2,3\n\r\n4,5,6\n7,8,9\n", false, ',');
    SEPARATES("a,b,c\nx\n1,2,3\n4,5,6\n7,8,9\n", false, 0);
    SEPARATES("{,b,c\n1,2,3\n4,5,6\n7,8,9\n", false, 0);
    SEPARATES("[,b,c\n1,2,3\n4,5,6\n7,8,9\n", false, 0);
    SEPARATES("|,b,c\n1,2,3\n4,5,6\n7,8,9\n", false, 0);
    SEPARATES("#,b,c\n1,2,3\n4,5,6\n7,8,9\n", false, 0);
    SEPARATES("<,b,c\n1,2,3\n4,5,6\n7,8,9\n", false, 0);
    SEPARATES("#,b\n", true, ',');
    SEPARATES("a,b\n", true, ',');
    SEPARATES("a,b,c;d\n1,2,3;4\n", true, ',');                 /* what makes more fields */
    SEPARATES("a,b;c;d\n1,2;3;4\n", true, ';');
    SEPARATES("\"a,b\",c;d;e\n\"f,g\",h;i;j\n", true, ';');
    SEPARATES("\"a\nb\",c,d\n1,2,3\n4,5,6\n7,8,9\n", false, ',');
    SEPARATES("\"a\"\"b\nx\",c,d\n1,2,3\n4,5,6\n7,8,9\n", false, ',');
    SEPARATES("Title\na;b,c;d\ne;f\n", true, ';');              /* rows that differ: of the first line with any */
    SEPARATES("Title\nnothing\n", true, 0);
    SEPARATES("Title\na,b", true, ',');
    ok(!csv_looks("a,b,c\n1,2,3\n4,5,6\n7,8,9\n\0", 25, false), "NUL bytes");
    {
        struct text t = { NULL, 0, 0 };

        while (t.n < 65000)
            text_puts(&t, "a,b,c\n");
        text_puts(&t, "cut");
        ok(!csv_looks(t.p, t.n, false), "a last row that is shorter");
        while (t.n < 65536)
            text_puts(&t, "x");
        ok(csv_looks(t.p, 65536, false) == ',', "... which may be cut in a part");
        text_free(&t);
    }

    SHOWS(read_csv, "", "");
    SHOWS(read_csv, "name,born\nAnn,1980\nBob,\n,7\n", "name | born\nname: Ann; born: 1980\nname: Bob\nborn: 7\n");
    SHOWS(read_csv, "\xef\xbb\xbfname,born\nAnn,1980", "name | born\nname: Ann; born: 1980\n");
    SHOWS(read_csv, "one", "one\n");
    SHOWS(read_csv, "\"a;b\";\"c \"\"d\"\"\"\r\n\"e\nf\"; g \r\n5;\"x\"y\n", "a;b | c \"d\"\na;b: e f; c \"d\": g\na;b: 5; c \"d\": xy\n");
    SHOWS(read_csv, "a,b\n\"1\"\"2\",3\n\"4", "a | b\na: 1\"2; b: 3\na: 4\n");
    SHOWS(read_csv, "a,b\n1,2,3\n", "a | b\na: 1; b: 2; 3\n");
    /* A header has two words, and no number; a further one comes after a gap, below numbers, and is full. */
    SHOWS(read_csv, "a\n1\n", "a\n1\n");
    SHOWS(read_csv, "a,1\nb,c\n", "a; 1\nb | c\n");
    SHOWS(read_csv, "a,b\n1,2\n\nc,d\n3,4\n", "a | b\na: 1; b: 2\n\nc | d\nc: 3; d: 4\n");
    SHOWS(read_csv, "a,b\nx,y\n\nc,d\n", "a | b\na: x; b: y\n\na: c; b: d\n");
    SHOWS(read_csv, "a,b\n1,2\nc,d\n", "a | b\na: 1; b: 2\na: c; b: d\n");
    SHOWS(read_csv, "a,b,x\n1,2\n\nc,,d\n", "a | b | x\na: 1; b: 2\n\na: c; x: d\n");
    SHOWS(read_csv, "a,b\n1,2\n\nc,d\nx,y\n\ne,f\n", "a | b\na: 1; b: 2\n\nc | d\nc: x; d: y\n\nc: e; d: f\n");
    SHOWS(read_csv, "a,,b\n1,2,3\n", "a | b\na: 1; 2; b: 3\n");
    /* What is a number. */
    SHOWS(read_csv, "($1),-2\n+3.5%,4/5\n6:30,7e+5\n8 (9),1-2\n1E5,5th\n5 kg,x\n", "($1); -2\n+3.5%; 4/5\n6:30; 7e+5\n8 (9); 1-2\n1E5; 5th\n5 kg | x\n");
    SHOWS(read_csv, "0,x\n9,y\n/,z\n", "0; x\n9; y\n/ | z\n");
    SHOWS(read_csv, "\" \t a\fb \",\"\r\n\"\n", "a b\n");
}

/* ---- RTF --------------------------------------------------------------------------------- */
#define RTF(in, want) SHOWS(read_rtf, "{\\rtf1 " in "}", want)

static void rtf(void)
{
    iconv_t mac = iconv_open("UTF-8", "MACINTOSH");

    RTF("a\\par b\\line c\\sect d\\tab e\\page f", "a\nb\nc\nd\te\n\ff");
    RTF("\\emdash\\endash\\bullet\\lquote\\rquote\\ldblquote\\rdblquote\\emspace\\enspace", "\xe2\x80\x94\xe2\x80\x93\xe2\x80\xa2\xe2\x80\x98"
        "\xe2\x80\x99\xe2\x80\x9c\xe2\x80\x9d  ");
    RTF("a\r\nb\nc\0d", "abcd");                                /* lines of the file are none of the text */
    RTF("a\\\nb\\\rc\\~d\\_e\\\\f\\{g\\}h\\|i\\-j", "a\nb\nc d-e\\f{g}hij");
    RTF("a\\b b\\b0  c\\unknown-5 d\\i-e\\parx f", "ab cd-ef");
    RTF("\\abcdefghijklmnopqrstuvwxyzabcdefgh i", "fgh i");      /* a word of 31 letters, and the rest */
    RTF("{\\fonttbl a}{\\colortbl b}{\\stylesheet c}{\\info d}{\\pict e}{\\listtable f}{\\listoverridetable g}{\\revtbl h}{\\rsidtbl i}"
        "{\\themedata j}{\\colorschememapping k}{\\datastore l}{\\latentstyles m}{\\xmlnstbl n}{\\generator o}{\\fldinst p}{\\bkmkstart q}"
        "{\\bkmkend r}{\\objdata s}{\\nonshppict t}{\\filetbl u}{\\pntext v}{\\mmathPr w}z", "z");
    RTF("a{\\*\\unknown b\\par\\u8364 ?\\'e9{c}\\cell\\row\\trowd{\\footnote d}}e", "ae");
    RTF("a{\\*\\shptxt b}{\\*\\shpinst c}{\\*\\fldrslt d}{\\*\\footnote e}{\\*\\shptx f}", "abcd [e]");
    RTF("a{\\*}b", "ab");
    shows(__LINE__, read_rtf, "{\\rtf1 a}{\\*", 13, "a", 1, "it ends too early\n");
    RTF("{\\info{\\*\\shptxt b}}c", "c");
    /* Hidden text, and text above the line. */
    RTF("a{\\v b}c\\v d\\v0 e\\v1 f\\plain g", "aceg");
    RTF("10{\\super 6} 10\\super 7\\nosupersub 8 {\\super  x}{\\super0 y}{\\super1 z}{\\super\\plain w}{\\super\\v0 u}{\\super st}",
        "10^6 10^78  ^xy^zw^u^st");
    RTF("{\\super}{\\super\\par}a", "\na");
    RTF("\\'b5m\\super 2\\nosupersub /\\'b5s{\\super 3}\\'b5\\v x\\v0 y", "\xc2\xb5m^2/\xc2\xb5s^3\xc2\xb5y");
    /* Characters of Unicode, and what stands for them elsewhere. */
    RTF("a\\u233?b\\u-10179?\\u-8704?c\\u8364 \\'80d", "a\xc3\xa9" "b\xf0\x9f\x98\x80" "c\xe2\x82\xac" "d");
    RTF("\\u55357?\\u56832?|\\u55357?\\u233?\\u56832?|\\u0?|\\u65601?|\\u-1?|\\u x", "\xf0\x9f\x98\x80|\xc3\xa9||A|\xef\xbf\xbf|x");
    RTF("\\u55296?\\u56320?|\\u56319?\\u57343?|\\u55295?|\\u57344?", "\xf0\x90\x80\x80|\xf4\x8f\xbf\xbf|\xed\x9f\xbf|\xee\x80\x80");
    RTF("\\uc0\\u233 a\\uc2\\u233 abc\\uc-1\\u233 ab\\uc16\\u233 ab\\uc15\\u233 abcdefghijklmnop\\uc x", "\xc3\xa9" "a\xc3\xa9" "c\xc3\xa9" "b\xc3\xa9" "b\xc3\xa9px");
    RTF("{\\uc0\\u233}a\\u233{b}c{\\u233}d", "\xc3\xa9" "a\xc3\xa9" "bc\xc3\xa9" "d");
    /* Code pages. */
    RTF("caf\\'e9 \\'80\\'C0", "caf\xc3\xa9 \xe2\x82\xac\xc3\x80");
    RTF("caf\xe9", "caf\xc3\xa9");
    RTF("a\\'00b\\'zzc\0d", "abcd");                             /* no text has NUL bytes */
    RTF("\\ansicpg1251 \\'ea\\'ee\\'f2\\ansicpg \\'ea", "\xd0\xba\xd0\xbe\xd1\x82\xd0\xba");
    RTF("\\ansicpg99999 \\'e9", "\xc3\xa9");
    RTF("\\'e9{\\ansicpg1251 \\'ea}", "\xc3\xa9\xd0\xba");
    RTF("{\\'e9}\\ansicpg1251 \\'ea", "\xc3\xa9\xd0\xba");
    RTF("\\pc \\'82", "\xc3\xa9");
    RTF("\\ansicpg932 \\'83A\\'83b", "\xe3\x82\xa2\xe3\x83\x83");
    if (mac != (iconv_t)-1) {
        RTF("\\mac \\'8e\\'ca", "\xc3\xa9\xc2\xa0");
        RTF("\\ansicpg10000 \\'8e", "\xc3\xa9");
        iconv_close(mac);
    } else {
        skip("iconv does not know it", "text of old Macintoshs");
    }
    SHOWS(read_rtf, "{\\rtf1 a\\'e9}\\'e", "a\xc3\xa9");
    SHOWS(read_rtf, "{\\rtf1 a}\\'zz", "a");
    SHOWS(read_rtf, "{\\rtf1 a}b\\", "ab");
    SHOWS(read_rtf, "{\\rtf1 a}}b", "a}b");
    SHOWS(read_rtf, "{\\rtf1 a}\\par", "a\n");
    SHOWS(read_rtf, "{\\rtf1 a}\\u5", "a\5");
    SHOWS(read_rtf, "{\\rtf1 a}\\b-", "a-");
    RTF("a\\bin3 }}}b\\bin0 c\\bin-3 d", "abcd");
    SHOWS(read_rtf, "{\\rtf1 a}b\\bin3 xyz", "ab");
    SHOWS(read_rtf, "{\\rtf1 a}b\\bin4 xyz", "ab");
    RTF("a\\bin x", "ax");
    /* Tables. */
    RTF("before\\trowd\\cellx1 a\\par b\\cell  c \\cell\\row\\trowd d\\cell\\cell\\row after", "before\na b |  c\nd |\nafter");
    RTF("\\trowd a\\page b\\nestcell c\\nestrow d", "a  b | c\nd");
    RTF("a\\row b", "a\nb");
    RTF("\\trowd a\\cell \\u8364?b\\row c", "a | \xe2\x82\xac" "b\nc");     /* text behind the last cell */
    RTF("\\trowd a\\cell\\trowd b\\cell\\row", "a | b\n");
    RTF("", "");
    RTF("{\\v{\\footnote x}}a", "a");
    RTF("{\\v a\\cell\\row}b", "\nb");
    RTF("\\'e9\\cell \\'e9\\row", "\xc3\xa9 | \xc3\xa9\n");
    RTF("a\\'e9\\trowd x\\cell\\row", "a\xc3\xa9\nx\n");
    /* Notes. */
    RTF("a{\\footnote b\\par\\par}c{\\footnote d{e}}{\\v x{\\footnote y}}.", "a [b]c [de].");
    shows(__LINE__, read_rtf, "{\\rtf1 a{b", 10, "ab", 2, "it ends too early\n");
    {
        struct text t = { NULL, 0, 0 };

        for (int depth = 254; depth <= 600; depth += 173) {             /* groups deeper than are counted */
            t.n = 0;
            text_puts(&t, "{\\rtf1\\ansicpg1251 ");
            for (int i = 0; i < depth; i++)
                text_puts(&t, "{\\v");
            text_puts(&t, " x");
            for (int i = 0; i < depth; i++)
                text_puts(&t, "}");
            text_puts(&t, "end\\'ea}");
            shows(__LINE__, read_rtf, t.p, t.n, "end\xd0\xba", 5, NULL);
        }
        text_free(&t);
    }
}

/* ---- mail -------------------------------------------------------------------------------- */
#define HEAD "From: a@b\nSubject: s\n"
#define SHOWN "From: a@b\nSubject: s\n\n"
#define MAIL(in, want) SHOWS(read_mail, HEAD in, SHOWN want)
#define QP "Content-Transfer-Encoding: quoted-printable\n\n"
#define BASE64 "Content-Transfer-Encoding: base64\n\n"
#define TYPE(type) "Content-Type: " type "\n"

static void bodies(void)
{
    MAIL("\nHello\n", "Hello\n");
    MAIL("\nHello\r\nyou\fthere", "Hello\nyouthere\n");
    MAIL("\r\nHello", "Hello\n");
    MAIL("\nCc: x\n" TYPE("image/png") "\n", "Cc: x\n" TYPE("image/png") "\n");
    SHOWS(read_mail, "From: a\0b\n\none\0two", "From: ab\n\nonetwo\n");         /* no text has NUL bytes */
    MAIL(QP "one=00two", "onetwo\n");
    MAIL("", "");
    MAIL(QP "caf=C3=a9 _ a=\nb=\r\nc =3D =3d =zz =4\n=", "caf\xc3\xa9 _ abc = = =zz =4\n=\n");
    MAIL(QP "=E", "=E\n");
    MAIL(QP "=\r", "=\n");
    MAIL(QP "=\rx", "=x\n");
    MAIL(BASE64 "SGVs\nbG8s\0 *IHdvcmxk=\nignored", "Hello, world\n");
    MAIL(BASE64 "SGVsbG8", "Hello\n");
    MAIL(TYPE("text/plain; charset=iso-8859-1") BASE64 "+/+/AEE=", "\xc3\xbb\xc3\xbf\xc2\xbf" "A\n");
    MAIL("Content-Transfer-Encoding: 8bit\n\nSGVs", "SGVs\n");
    MAIL("content-transfer-ENCODING:BASE64\n\nSGVs", "Hel\n");
    MAIL(TYPE("text/plain; charset=iso-8859-5") "\ncaf\xe9", "caf\xd1\x89\n");          /* not what it looks like */
    MAIL(TYPE("text/plain; charset=\"ISO-8859-5\"; x=y") "\ncaf\xe9", "caf\xd1\x89\n");
    MAIL(TYPE("text/plain;charset=iso-8859-5;x=y") "\ncaf\xe9", "caf\xd1\x89\n");
    MAIL(TYPE("text/plain; charset=us-ascii") "\ncaf\xc3\xa9", "caf\xc3\xa9\n");
    MAIL(TYPE("text/plain; charset=UTF-8") "\ncaf\xc3\xa9", "caf\xc3\xa9\n");
    MAIL(TYPE("text/plain; charset=") "\ncaf\xc3\xa9", "caf\xc3\xa9\n");
    MAIL(TYPE("text/plain; charset=nosuch") "\ncaf\xc3\xa9", "caf\xc3\xa9\n");
    MAIL(TYPE("text/plain; charset=nosuch") BASE64 "YQBiAA==", "ab\n");        /* what it looks like, then */
    MAIL(TYPE("text/plain; charset=us-ascii") BASE64 "//5hAGIA", "\xef\xbb\xbf" "ab\n");
    MAIL(TYPE("application/x; charset=utf-8") "\nx", "");
    MAIL(TYPE("  TEXT/enriched") "\nx", "x\n");
#if HAVE_LIBXML2
    MAIL(TYPE("text/html") "\n<title>no</title><p>a</p><p>b", "a\nb\n");
    MAIL(TYPE("text/html") "\n", "");
#endif
    /* Headers: continued, in other letters, and what only looks like them. */
    SHOWS(read_mail, "FROM: a\nXSubject: x\nSubject\nTo: b,\n\tc,\n d\nSubject: s\nCc : no\nDate:\nSubject: t\n\nx",
          "From: a\nTo: b, c, d\nDate:\nSubject: s\n\nx\n");
    SHOWS(read_mail, "From: a", "From: a\n\n");
    SHOWS(read_mail, "From: a\n\rx\nTo: b\n\nc", "From: a\nTo: b\n\nc\n");
    SHOWS(read_mail, "From: a\n\r", "From: a\n\n");
    SHOWS(read_mail, "From: a\nContent-Type:", "From: a\n\n");
    SHOWS(read_mail, "From: a\nContent-Type: multipart/x; ", "From: a\n\n");
    SHOWS(read_mail, "From: a\nContent-Type: application/x; name=", "From: a\n\nAttachment:  (not read)\n");
    SHOWS(read_mail, "From: a\nContent-Type: application/x; name=b", "From: a\n\nAttachment: b (not read)\n");
    SHOWS(read_mail, "From: a\nContent-Type: application/x; name", "From: a\n\n");
    SHOWS(read_mail, "From: a\nCc:", "From: a\nCc:\n\n");
    SHOWS(read_mail, "From", "\n");
    SHOWS(read_mail, "", "\n");
}

static void words(void)
{
#define SUBJECT(in, want) SHOWS(read_mail, "Subject: " in "\n\nx", "Subject: " want "\n\nx\n")
    SUBJECT("plain", "plain");
    SUBJECT("=?utf-8?Q?caf=C3=A9_a?=", "caf\xc3\xa9 a");
    SUBJECT("=?iso-8859-5?q?caf=E9?= =?utf-8?b?w6k=?=\n =?utf-8?B?w6k=?= x =?utf-8?Q?y?=z", "caf\xd1\x89\xc3\xa9\xc3\xa9 x yz");
    SUBJECT("=?utf-8?Q?a?=  b", "a b");
    SUBJECT("=?utf-8?Q?a?= = b", "a = b");
    SUBJECT("a  \t b ", "a b");
    SUBJECT("=?utf-8?Q?a", "=?utf-8?Q?a");
    SUBJECT("=?utf-8?QQ?a?=", "=?utf-8?QQ?a?=");
    SUBJECT("=?utf-8", "=?utf-8");
    SUBJECT("=?a?Q?" "?=", "");
    SUBJECT("=?a?Q?", "=?a?Q?");
    SUBJECT("=?a?=", "=?a?=");
    SUBJECT("=?", "=?");
    SUBJECT("=?abcde?", "=?abcde?");
    SHOWS(read_mail, "Subject: =?utf-8?Q?a?= =", "Subject: a =\n\n");
    SUBJECT("=x?a?Q?b?=", "=x?a?Q?b?=");
    SUBJECT("=?utf-8?Q?a?= =?", "a=?");
    SUBJECT("=?utf-8?Q?a?= =", "a =");
    SUBJECT("=?nosuchencodingnosuchencodingnosuchencodingnosuch?Q?a?=", "a");
}

static void parts(void)
{
#define MIXED TYPE("multipart/mixed; boundary=b")
#define ALTERNATIVE TYPE("multipart/alternative; boundary=b")
    MAIL(MIXED "\nno\n--b\n\none\n--b\n\ntwo\n--b--\nno", "one\ntwo\n");
    MAIL(MIXED "\n--b\n\none\n-b\n--c\n--b\r\n\r\ntwo", "one\n-b\n--c\ntwo\n");
    MAIL(MIXED "\n--b\n\none\n--b-", "one\n");
    MAIL(MIXED "\n--b\n\none\n--b-x\n\ntwo", "one\ntwo\n");
    MAIL(MIXED "\n--b--\n\none", "--b--\n\none\n");
    MAIL(MIXED "\n--b", "");
    MAIL(MIXED "\n--", "--\n");
    MAIL(MIXED "\nno part", "no part\n");
    MAIL(TYPE("multipart/mixed; boundary=\"a b\"; x") "\n--a b\n\none", "one\n");
    MAIL(TYPE("multipart/mixed; boundary=\"ab") "\n--ab\n\none", "one\n");
    MAIL(TYPE("multipart/mixed; boundary=\"\"") "\n--\n\none", "--\n\none\n");
    MAIL(TYPE("multipart/mixed; bound=b; xboundary=b; boundary =b;boundary") "\n--b\n\none", "--b\n\none\n");
    MAIL(TYPE("multipart/mixed; boundary*=b") "\n--b\n\none", "one\n");
    MAIL(TYPE("multipart/mixed; boundary*0=b;x") "\n--b\n\none", "one\n");
    MAIL(TYPE("multipart/mixed; boundary*0") "\n--b\n\none", "--b\n\none\n");
    MAIL(TYPE("multipart/mixed;\n boundary=b\tx") "\n--b\n\none", "one\n");
    /* Of alternatives: plain text, what has parts, HTML, the first of others; of equals the first. */
    MAIL(ALTERNATIVE "\n--b\n" TYPE("text/html") "\nno\n--b\n" TYPE("text/plain") "\none\n--b\n" TYPE("text/plain") "\ntwo\n--b--", "one\n");
    MAIL(ALTERNATIVE "\n--b\n" TYPE("image/png") "\nno\n--b\n" TYPE("multipart/related; boundary=c") "\n--c\n\none\n--c--\n--b\n" TYPE("text/html") "\nno\n--b--", "one\n");
    MAIL(ALTERNATIVE "\n--b\n" TYPE("text/x") "\none\n--b\n" TYPE("text/y") "\ntwo\n--b--", "one\n");
    MAIL(ALTERNATIVE "\n--b\n" TYPE("text/x") "\nno\n--b\n\none\n--b--", "one\n");
    MAIL(ALTERNATIVE "\n--b\n" TYPE("text/plain") "\n \n\t\n--b\n" TYPE("text/x") "\nno\n--b\n" TYPE("multipart/x; boundary=c") "\n--c\n\none\n--c--\n--b--", "one\n");
    MAIL(ALTERNATIVE "\n--b\n" TYPE("text/plain") "\n\n--b--", "\n");
    MAIL(ALTERNATIVE "\n--b\n" TYPE("multipart/x; boundary=c") "\n--c\n\nno\n--c--\n--b\n\nx\n--b--", "x\n");
    MAIL(ALTERNATIVE "\n--b\n" TYPE("text/plain") "\n--b--", "");
#if HAVE_LIBXML2
    MAIL(ALTERNATIVE "\n--b\n" TYPE("text/x") "\nno\n--b\n" TYPE("text/html") "\n<p>one\n--b--", "one\n");
#endif
    /* What is attached. */
    MAIL(MIXED "\n--b\n\none\n--b\nContent-Disposition: attachment; filename=\"a b.txt\"\n\ntwo\n--b\n" TYPE("image/png; name=c.png")
         "\nno\n--b\n" TYPE("image/png") "\nno\n--b\n" TYPE("application/x; name=\"=?utf-8?Q?caf=C3=A9?=\"") "\nno\n--b\n"
         "Content-Disposition: inline\n" TYPE("text/plain; name=d.txt") "\nthree\n--b--",
         "one\nAttachment: a b.txt\ntwo\nAttachment: c.png (not read)\nAttachment: caf\xc3\xa9 (not read)\nAttachment: d.txt\nthree\n");
    /* ... with a name as in RFC 2231: coded, in pieces, both, damaged. */
#define ATTACHED(name, said) MAIL(MIXED "\n--b\n\none\n--b\nContent-Disposition: attachment; " name "\n" TYPE("image/png") "\nno\n--b--", "one\nAttachment: " said " (not read)\n")
    ATTACHED("filename*=UTF-8'en'caf%C3%A9%20%e2%82%ac.txt", "caf\xc3\xa9 \xe2\x82\xac.txt");
    ATTACHED("filename*=\"iso-8859-1''caf%E9\"", "caf\xc3\xa9");
    ATTACHED("filename=plain; filename*=utf-8''coded", "coded");
    ATTACHED("filename*0=\"a long\"; filename*1=\" name\"; filename*3=no", "a long name");
    ATTACHED("filename*1*=%20b; filename*0*=utf-8''a%62; filename*2=%41", "ab b%41");
    ATTACHED("filename*=100%", "100%");
    ATTACHED("filename*=utf-8'%4", "utf-8'%4");
    ATTACHED("filename*=\"''%0aFrom:%00 x\"", " From: x");
    MAIL(MIXED "\n--b\n\none\n--b\nContent-Disposition: attachment; filename*=; xfilename=y\n" TYPE("image/png") "\nno\n--b--", "one\nAttachment:  (not read)\n");
    MAIL(TYPE("message/rfc822") "\nFrom: c@d\n\nInner", "From: c@d\n\nInner\n");
    MAIL(MIXED "\n--b\n\none\n--b\n" TYPE("message/rfc822") "\nFrom: c@d\n\nInner\n--b\n" TYPE("message/rfc82") "\nno\n--b--", "one\nFrom: c@d\n\nInner\n");
    {
        struct text in = { NULL, 0, 0 }, want = { NULL, 0, 0 };

        for (int depth = 12; depth <= 13; depth++) {            /* messages in messages, as deep as they are read */
            in.n = want.n = 0;
            for (int i = 0; i < depth; i++) {
                text_printf(&in, "From: %d\n" TYPE("message/rfc822") "\n", i);
                text_printf(&want, "From: %d\n\n", i);
            }
            text_puts(&in, "From: x\n\nInner");
            text_puts(&want, depth == 12 ? "From: x\n\nInner\n" : "From: x\n\n");
            shows(__LINE__, read_mail, in.p, in.n, want.p, want.n, NULL);
        }
        in.n = want.n = 0;
        text_puts(&in, HEAD "Content-Type: multipart/mixed; boundary=\"");
        for (int i = 0; i < 301; i++)
            text_puts(&in, "b");
        text_puts(&in, "\"\n\n--");
        for (int i = 0; i < 300; i++)
            text_puts(&in, "b");
        text_puts(&in, "\n\none");
        text_puts(&want, SHOWN "one\n");
        shows(__LINE__, read_mail, in.p, in.n, want.p, want.n, NULL);
        text_free(&in);
        text_free(&want);
    }
}

static void boxes(void)
{
    SHOWS(read_mail, "From x\nFrom: a\n\none\n>From b\n>>From c\n>>x\n >From d\n>Fro\n> Who is it?\n\nFrom y\nFrom: b\n\ntwo\nFrom z\n\nFrom\n",
          "From: a\n\none\nFrom b\n>From c\n>>x\n >From d\n>Fro\n> Who is it?\n\n\fFrom: b\n\ntwo\nFrom z\n\nFrom\n");
    SHOWS(read_mail, "From x\r\nFrom: a\r\n\r\none\r\n\r\nFrom y\r\nFrom: b\r\n\r\ntwo", "From: a\n\none\n\n\fFrom: b\n\ntwo\n");
    SHOWS(read_mail, "From x\nFrom: a\n\n\nHello there\n>>>", "From: a\n\n\nHello there\n>>>\n");
    SHOWS(read_mail, "From x", "\n");
    SHOWS(read_mail, "From ", "\n");
    SHOWS(read_mail, "From x\n\nFrom y\n", "\n\f\n");
}

/* ---- HTML -------------------------------------------------------------------------------- */
#if HAVE_LIBXML2
#define HTML(in, want) SHOWS(read_html, in, want)

static void html(void)
{
    HTML("", "");
    HTML("<title>T</title><body><h1>H</h1>a <b>b</b>\n\t c<p>d</p>e<br>f<br><br>g<hr>h", "T\nH\na b c\nd\ne\nf\n\ng\nh\n");
    HTML("a<script>no<b>no</b></script><style>no</style><template>no<svg>no</svg>no</template>b", "ab\n");
    HTML("<p>a<div>b</div><section>c</section><dl><dt>d<dd>e</dl><select><option>f<option>g</select>", "a\nb\nc\nd\ne\nf\ng\n");
    HTML("a&#13;b", "a b\n");
    HTML("10<sup>6</sup> &eacute;&amp;&nbsp;x", "10^6 \xc3\xa9&\xc2\xa0x\n");
    HTML("<pre> a\n  b</pre>c<pre>d</pre> e", " a\n  b\nc\nd\ne\n");
    HTML("<ul><li>a<li>b<ul><li>c</ul></ul><ol><li>d<li>e</ol>f", "- a\n- b\n  - c\n1. d\n2. e\nf\n");
    HTML("<ol start=5><li>a</ol><ol start=0><li>b</ol><ol start=-3><li>c</ol><ol start=1000000><li>d</ol><ol start=999999><li>e</ol><ol start=x><li>f</ol>",
         "5. a\n1. b\n1. c\n1. d\n999999. e\n1. f\n");
    HTML("<li>a</li>b", "- a\nb\n");
    HTML("<table><caption>C</caption><tr><th>a</th><th>b</th></tr><tr><td>c<br>d<p>e</p>f</td><td> g <h2>h</h2></td></tr></table>i",
         "C\na | b\nc d e f | g\nh\ni\n");
    HTML("<table><tr><td>a<table><tr><td>b</td><td>c</td></tr></table></td><td>d</td></tr></table>", "a\nb | c\n | d\n");
    HTML("<table><tr><td></td><td>b</td><td></td><td>d</td></tr></table>", " | b | | d\n");
    HTML("<td>a</td><td>b</td>", "ab\n");
    HTML("a<div><div>b</div></div>", "a\nb\n");
    HTML("<p>caf\xc3\xa9", "caf\xc3\xa9\n");
    HTML("\xef\xbb\xbf<p>caf\xc3\xa9", "caf\xc3\xa9\n");
    HTML("\xff\xfe<\0p\0>\0\xe9\0", "\xc3\xa9\n");
    HTML("<meta charset=iso-8859-2><p>\xb1", "\xc4\x85\n");
    /* Bytes of which nothing is known: as the page says, or Western. */
    {
        static const char *const pages[] = { "<p>\xd9\xe9", "<meta charset=iso-8859-5><p>\xd9\xe9" };
        struct encoding e[2];

        for (int i = 0; i < 2; i++)
            encoding_of(&e[i], pages[i], strlen(pages[i]), true);
        if (e[0].unknown)
            HTML("<p>\xd9\xe9", "\xc3\x99\xc3\xa9\n");
        else
            skip("this detection knows all", "no encoding");
        HTML("<meta charset=iso-8859-5><p>\xd9\xe9", "\xd0\xb9\xd1\x89\n");
        for (int more = 0; more < 2 && e[0].unknown; more++) {          /* it is looked for in the first 4096 bytes */
            struct text in = { NULL, 0, 0 };

            text_printf(&in, "<!--%*s--><meta charset=iso-8859-5><p>\xd9\xe9", 4096 - 20 + more, "");
            ok(memmem(in.p, 4096 + (size_t)more, "charset", 7) == in.p + 4089 + more, "a declaration at %d", 4089 + more);
            shows(__LINE__, read_html, in.p, in.n, more ? "\xc3\x99\xc3\xa9\n" : "\xd0\xb9\xd1\x89\n", 5, NULL);
            text_free(&in);
        }
        ok(e[1].unknown || e[1].guessed, "... that the page declares");
    }
    HTML("<meta charset=iso-8859-2><p>caf\xc3\xa9", "caf\xc3\xa9\n");         /* UTF-8 it is, whatever it says */
    {
        struct text in = { NULL, 0, 0 }, want = { NULL, 0, 0 };

        for (int i = 0; i < 34; i++) {                          /* lists deeper than are counted: bullets */
            text_puts(&in, "<ol><li>x");
            for (int k = 0; k < i && k < 31; k++)
                text_puts(&want, "  ");
            text_puts(&want, i < 32 ? "1. x\n" : i == 32 ? "2. x\n" : "3. x\n");
        }
        shows(__LINE__, read_html, in.p, in.n, want.p, want.n, NULL);
        in.n = want.n = 0;
        for (int i = 0; i < 34; i++) {                          /* tables, too: no bars */
            text_puts(&in, "<table><tr><td>a</td><td>");
            text_puts(&want, i < 32 ? "a |\n" : "a\n");
        }
        shows(__LINE__, read_html, in.p, in.n, want.p, want.n, NULL);
        text_free(&want);
        text_free(&in);
    }
}
#endif

/* ---- pages ------------------------------------------------------------------------------- */
static int collect(void *arg, const char *text, size_t len)
{
    text_add(arg, text, len);
    return 0;
}

/* What comes of a text, and what is said; pictures: form feeds end pages of pictures. */
static void paged(int line, const char *in, size_t n, bool pictures, int code, const char *said)
{
    char        *err = NULL;
    size_t       n_err;
    struct io    io = { .out = NULL, .err = open_memstream(&err, &n_err) };
    struct text  out = { NULL, 0, 0 };
    struct pages p = { .io = &io, .name = "x", .sink = collect, .arg = &out, .fd = -1 };
    int          got = 0;

    text_add(&out, "", 0);
    if (pictures)
        pages_watch(&p, 0);
    for (size_t i = 0; i < n && !got; i++)      /* wherever pieces are cut */
        got = pages_feed(&p, in + i, 1);
    got = pages_end(&p, got);
    fclose(io.err);
    ok(got == code && !strcmp(err, said), "line %d", line);
    if (got != code || strcmp(err, said))
        printf("# %d %s\n", got, err);
    if (!code)
        same(line, out.p, out.n, in, n);
    free(err);
    text_free(&out);
}

/* Takes some pieces, and then no more. */
static int refuse(void *arg, const char *text, size_t len)
{
    int *more = arg;

    (void)text;
    (void)len;
    return (*more)-- ? 0 : 7;
}

static void refusals(void)
{
    static const char *const piece[] = { " ", "a", "b", "\f" };          /* the first is taken with the second */
    static const int         last[] = { 1, 1, 2, 3 };

    for (int more = 0; more < 4; more++) {
        int          left = more, n = 0;
        struct io    io = { .out = NULL };
        struct pages p = { .io = &io, .name = "x", .sink = refuse, .arg = &left, .fd = 0 };

        while (n < 4 && !pages_feed(&p, piece[n], 1))
            n++;
        ok(n == last[more] && pages_end(&p, 7) == 7, "who takes it refuses after %d pieces", more);
    }
}

#define PAGES(in, code, said) paged(__LINE__, in, sizeof in - 1, true, code, said)
#define NOT_PDF(in, code, said) paged(__LINE__, in, sizeof in - 1, false, code, said)
#define HOW ", or pictures, which --ocr reads (or run ocrmypdf on it)\n"

static void pages(void)
{
    struct text in = { NULL, 0, 0 }, said = { NULL, 0, 0 };

    PAGES("One\fTwo\f", 0, "");
    PAGES("One", 0, "");
    PAGES("One\f\f", 0, "gemkv: warning: x: page 2 has no text: blank" HOW);
    PAGES("\f \nTwo\f\f\t\fFive\f\f", 0, "gemkv: warning: x: pages 1, 3-4, 6 have no text: blank" HOW);
    PAGES("\f\f\fFour", 0, "gemkv: warning: x: pages 1-3 have no text: blank" HOW);
    PAGES("\f", EXIT_DOCUMENT, "gemkv: x: its 1 page has no text, only pictures; give --ocr, or run ocrmypdf on it\n");
    PAGES(" \f\xc2\xa0\f", EXIT_DOCUMENT, "gemkv: x: its 2 pages have no text, only pictures; give --ocr, or run ocrmypdf on it\n");
    NOT_PDF("One\f\f", 0, "");
    NOT_PDF("", EXIT_DOCUMENT, "gemkv: x: there is no text in it\n");
    NOT_PDF(" \xc2\xa0\xe3\x80\x80\xef\xbb\xbf\xe2\x80\x8b\r\n\t\f\v", EXIT_DOCUMENT, "gemkv: x: there is no text in it\n");
    NOT_PDF(" \xc2\xa1", 0, "");
    NOT_PDF(" \xe3\x80\x81", 0, "");
    NOT_PDF("\0", 0, "");
    NOT_PDF("\xe2\x80\x8c", 0, "");
    NOT_PDF("!", 0, "");
    NOT_PDF("\xc2", EXIT_DOCUMENT, "gemkv: x: there is no text in it\n");
    /* A long list ends. */
    text_puts(&said, "gemkv: warning: x: pages ");
    for (int i = 1; i <= 80; i++) {
        text_puts(&in, "x\f\f");
        if (said.n - strlen("gemkv: warning: x: pages ") < 200)
            text_printf(&said, i > 1 ? ", %d" : "%d", 2 * i);
    }
    text_puts(&said, " and others have no text: blank" HOW);
    paged(__LINE__, in.p, in.n, true, 0, said.p);
    text_free(&in);
    text_free(&said);
}

/* A file that is opened, but cannot be read. */
static void unreadable(void)
{
    char     *err = NULL, *text = NULL;
    size_t    n_err, n;
    struct io io = { .err = open_memstream(&err, &n_err) };

    if (access("/proc/self/mem", R_OK)) {
        skip("this system has no such file", "a file that cannot be read");
    } else {
        ok(input_slurp(&io, "/proc/self/mem", &text, &n) == EXIT_FAILED && !n && !*text, "a file that cannot be read");
        fflush(io.err);
        ok(!strncmp(err, "gemkv: /proc/self/mem: cannot read: ", 36), "%s", err);
        free(text);
    }
    fclose(io.err);
    free(err);
}

/* Emulators may have no tables of iconv, and other systems not all. */
static bool has_code_pages(void)
{
    static const char *const name[] = { "WINDOWS-1252", "CP1252", "CP1251", "CP437", "CP932", "ISO-8859-1", "ISO-8859-2", "ISO-8859-5",
                                        "UTF-16LE" };
    bool all = true;

    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        iconv_t cd = iconv_open("UTF-8", name[i]);

        all = all && cd != (iconv_t)-1;
        if (cd != (iconv_t)-1)
            iconv_close(cd);
    }
    return all;
}

int main(void)
{
    unread();
    unreadable();
    known();
    tables();
    boxes();
    pages();
    refusals();
    if (!has_code_pages()) {
        skip("iconv has no code pages", "text in other encodings");
        return done();
    }
    encodings();
    rtf();
    bodies();
    words();
    parts();
#if HAVE_LIBXML2
    html();
#endif
    return done();
}
