/* SPDX-License-Identifier: BSD-2-Clause
 * unit-rows.c - JSON, and what gemkv batch reads: rows, which of them have one document, and the lines of answers */
#include "config.h"
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include "src/cli/batch/answers.h"
#include "src/cli/batch/rows.h"
#include "src/cli/say.h"
#include "tests/tap.h"

/* ---- JSON -------------------------------------------------------------------------------- */
/* The value as it is printed, or why it is none. */
static void parses(int line, const char *text, size_t n, const char *want)
{
    char         *copy = malloc(n + 1), *got;
    const char   *why;
    size_t        at;
    struct text   t = { NULL, 0, 0 };
    struct value *v;

    memcpy(copy, text, n);
    copy[n] = 0;
    v = parse_json(copy, n, &why, &at);
    if (v)
        parse_print(v, &t);
    got = v ? format("%s", t.p) : format("%s, at %zu", why, at);
    ok(!strcmp(got, want), "line %d", line);
    if (strcmp(got, want))
        printf("# want %s\n# got  %s\n", want, got);
    parse_free(v);
    text_free(&t);
    free(got);
    free(copy);
}

#define PARSES(text, want) parses(__LINE__, text, sizeof text - 1, want)

static void json(void)
{
    char deep[200];

    PARSES(" null ", "null");
    PARSES("true", "true");
    PARSES("\t\r\nfalse\n", "false");
    PARSES("nul", "not a value, at 0");
    PARSES("trux", "not a value, at 0");
    PARSES("", "it ends too early, at 0");
    PARSES(" ", "it ends too early, at 1");
    PARSES("\v1", "not a value, at 0");
    PARSES("x", "not a value, at 0");
    PARSES("1 2", "something follows the value, at 2");
    PARSES("1\0", "something follows the value, at 1");
    PARSES("0", "0");
    PARSES("-0.5", "-0.5");
    PARSES("12.25e+2", "1225");
    PARSES("1E-2", "0.01");
    PARSES("1e2", "100");
    PARSES("01", "something follows the value, at 1");
    PARSES("-", "not a value, at 0");
    PARSES("-x", "not a value, at 0");
    PARSES("1.", "not a value, at 0");
    PARSES("1.x", "not a value, at 0");
    PARSES(".5", "not a value, at 0");
    PARSES("1e", "not a value, at 0");
    PARSES("1e+", "not a value, at 0");
    PARSES("+1", "not a value, at 0");
    PARSES("1:", "something follows the value, at 1");
    PARSES("/", "not a value, at 0");
    PARSES("\"\"", "\"\"");
    PARSES("\"a\\\"\\\\\\/\\b\\f\\n\\r\\tb\"", "\"a\\\"\\\\/\\u0008\\u000c\\n\\u000d\\tb\"");
    PARSES("\"\\u0041\\u00e9\\u20AC\\ud83d\\ude00\"", "\"A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"");
    PARSES("\"\\ud800\\udc00\\udbff\\udfff\"", "\"\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\"");
    PARSES("\"\\ud83d\"", "\"\xef\xbf\xbd\"");
    PARSES("\"\\ude00x\"", "\"\xef\xbf\xbdx\"");
    PARSES("\"\\udfff\\ue000\\ud7ff\"", "\"\xef\xbf\xbd\xee\x80\x80\xed\x9f\xbf\"");
    PARSES("\"\\ud83d\\u0041\"", "\"\xef\xbf\xbd" "A\"");
    PARSES("\"\\ud83d\\ue000\"", "\"\xef\xbf\xbd\xee\x80\x80\"");
    PARSES("\"\\ud83d\\ud83d\\ude00\"", "\"\xef\xbf\xbd\xf0\x9f\x98\x80\"");
    PARSES("\"\\ud83d\\n\"", "\"\xef\xbf\xbd\\n\"");
    PARSES("\"\\ud83dxu\"", "\"\xef\xbf\xbdxu\"");
    PARSES("\"\\ud83d\\ux\"", "\\u without four hexadecimal digits, at 9");
    PARSES("\"\\u00g0\"", "\\u without four hexadecimal digits, at 3");
    PARSES("\"\\u00:0\"", "\\u without four hexadecimal digits, at 3");
    PARSES("\"\\u00`0\"", "\\u without four hexadecimal digits, at 3");
    PARSES("\"\\u00@0\"", "\\u without four hexadecimal digits, at 3");
    PARSES("\"\\u00/0\"", "\\u without four hexadecimal digits, at 3");
    PARSES("\"\\u00", "\\u without four hexadecimal digits, at 3");
    PARSES("\"\\u0000\"", "\"\\u0000\"");
    PARSES("\"\\uAbCf\\u0Fa9\"", "\"\xea\xaf\x8f\xe0\xbe\xa9\"");
    PARSES("\"\\x\"", "an unknown escape in a string, at 2");
    PARSES("\"\\", "an unknown escape in a string, at 2");
    PARSES("\"a", "a string without an end, at 2");
    PARSES("\"a\0\"", "a control character in a string, at 2");
    PARSES("\"a\x1f\"", "a control character in a string, at 2");
    PARSES("\"a\x20\x7f\"", "\"a \\u007f\"");
    PARSES("[]", "[]");
    PARSES("[ 1 , [ ] , { } ]", "[1, [], {}]");
    PARSES("[1", "it ends too early, at 2");
    PARSES("[1 2]", "a comma is missing, at 3");
    PARSES("[1\0]", "a comma is missing, at 2");
    PARSES("[1,]", "not a value, at 3");
    PARSES("[,1]", "not a value, at 1");
    PARSES("[", "it ends too early, at 1");
    PARSES("[1}", "a comma is missing, at 2");
    PARSES("{}", "{}");
    PARSES(" { \"a\" : 1 , \"b\" : { \"c\" : null } } ", "{\"a\": 1, \"b\": {\"c\": null}}");
    PARSES("{\"a\\n\": \"b\"}", "{\"a\\n\": \"b\"}");
    PARSES("{\"a\":1,}", "a member without a name, at 7");
    PARSES("{a:1}", "a member without a name, at 1");
    PARSES("{\"a\" 1}", "a member without a colon, at 5");
    PARSES("{\"a\"", "a member without a colon, at 4");
    PARSES("{\"a", "a string without an end, at 3");
    PARSES("{\"a\":", "it ends too early, at 5");
    PARSES("{\"a\":x}", "not a value, at 5");
    PARSES("{\"a\":1", "it ends too early, at 6");
    PARSES("{\"a\":1]", "a comma is missing, at 6");
    for (size_t n = 64; n <= 65; n++) {
        memset(deep, '[', n);
        memset(deep + n, ']', n);
        deep[2 * n] = 0;
        parses(__LINE__, deep, 2 * n, n == 64 ? deep : "too deep, at 64");
    }
    PARSES("[[],[[],[]],[]]", "[[], [[], []], []]");
}

static void members(void)
{
    char          text[] = "{\"s\": \"t\", \"n\": 2.5, \"s\": \"u\", \"l\": [1], \"e\": \"\"}", list[] = "[1]";
    const char   *why;
    size_t        at;
    struct value *v = parse_json(text, strlen(text), &why, &at), *w = parse_json(list, strlen(list), &why, &at);

    ok(v && !strcmp(parse_string(v, "s"), "t"), "the first of two members of a name");
    ok(!parse_string(v, "n") && !parse_string(v, "x") && !*parse_string(v, "e"), "what is no string");
    ok(parse_number(v, "n", 7) > 2 && parse_number(v, "n", 7) < 3, "a number");
    ok(parse_number(v, "s", 7) >= 7 && parse_number(v, "x", 7) >= 7, "... or what is given instead");
    ok(parse_member(v, "l")->first->type == PARSE_NUMBER && !parse_member(w, "l") && !parse_member(NULL, "l"), "members of objects only");
    parse_free(v);
    parse_free(w);
}

static void numbers(void)
{
    static const struct { double d; const char *want; } as[] = {
        { 0, "0" }, { -7, "-7" }, { 999999999999999, "999999999999999" }, { 1e15, "1e+15" }, { 1234567890123456, "1234567890123456" }, { 0.1, "0.1" },
        { 1.5, "1.5" }, { 1 / 3.0, "0.3333333333333333" }, { 0.1 + 0.2, "0.30000000000000004" }, { -2.5e-9, "-2.5e-09" }, { 1e300, "1e+300" }
    };

    for (size_t i = 0; i < sizeof as / sizeof *as; i++) {
        char *s = row_number(as[i].d);

        ok(!strcmp(s, as[i].want), "%s", as[i].want);
        if (strcmp(s, as[i].want))
            printf("# got %s\n", s);
        free(s);
    }
}

/* ---- rows -------------------------------------------------------------------------------- */
static char  file[] = "/tmp/gemkv-rows-XXXXXX";
static char *said;
static size_t n_said;

static void write_file(const char *text, size_t n)
{
    FILE *f = fopen(file, "w");

    if (!f || fwrite(text, 1, n, f) != n || fclose(f)) {
        printf("Bail out! %s\n", file);
        exit(1);
    }
}

/* Opens rows; what is said goes to `said`. */
static int open_rows(struct rows *r, struct io *io, const char *path)
{
    int code;

    free(said);
    said = NULL;
    *io = (struct io){ .err = open_memstream(&said, &n_said) };
    code = rows_open(r, io, path);
    fflush(io->err);
    return code;
}

static void close_rows(struct rows *r, struct io *io)
{
    rows_close(r);
    fclose(io->err);
}

/* What is wrong with the only row of a file, or its id and what it has. */
static void row_is(int line, const char *text, size_t n, const char *want)
{
    struct rows r;
    struct io   io;
    struct row  row;
    char       *got;

    write_file(text, n);
    if (open_rows(&r, &io, file)) {
        got = format("%s", said);
    } else if (row_read(&r, &r.entry[0], &row)) {
        got = format("%s", said);
    } else {
        struct text t = { NULL, 0, 0 };

        text_printf(&t, "%s %zu", r.entry[0].id, r.entry[0].line);
        if (row.why)
            text_printf(&t, " %s", row.why);
        else if (row.text)
            text_printf(&t, " text of %zu", row.n_text);
        for (size_t i = 0; i < row.file.n && !row.why; i++)
            text_printf(&t, " %s", row.file.v[i]);
        for (size_t i = 0; i < row.question.n && !row.why; i++)
            text_printf(&t, " %s%s", row.several ? "+" : "?", row.question.v[i]);
        got = format("%s", t.p);
        text_free(&t);
        row_done(&row);
    }
    ok(!strcmp(got, want), "line %d", line);
    if (strcmp(got, want))
        printf("# want %s\n# got  %s\n", want, got);
    free(got);
    close_rows(&r, &io);
}

#define ROW(text, want) row_is(__LINE__, text, sizeof text - 1, want)
#define Q ", \"question\": \"q\"}"

static void rows(void)
{
    ROW("{\"id\": \"a\", \"text\": \"t\"" Q "\n", "\"a\" 1 text of 1 ?q");
    ROW("{\"text\": \"\"" Q, "1 1 text of 0 ?q");
    ROW("{\"text\": \"a\\u0000b\"" Q, "1 1 text of 3 ?q");
    ROW("\n \t\r\n  {\"id\": 7, \"file\": \"f\"" Q " \t\r\n\n", "7 3 f ?q");
    ROW("\xef\xbb\xbf {\"id\": -3, \"files\": [\"f\", \"g\"], \"questions\": [\"q\", \"r\"]}", "-3 1 f g +q +r");
    ROW("\xef\xbb\xbf{\"id\": null, \"files\": [\"f\"]" Q, "1 1 f ?q");
    ROW("\n\xef\xbb\xbf{}\n{}", "2 2 not JSON: not a value, at byte 1 of the line");
    ROW("{\"id\": 999999999999999, \"file\": \"f\"" Q, "999999999999999 1 f ?q");
    ROW("{\"id\": \"\\u00e9\\n\", \"file\": \"f\"" Q, "\"\xc3\xa9\\n\" 1 f ?q");
#define BAD_ID "\"id\" is neither a text nor a whole number of up to 15 digits"
    ROW("{\"id\": 1e15, \"file\": \"f\"" Q, "1 1 " BAD_ID);
    ROW("{\"id\": 1.5, \"file\": \"f\"" Q, "1 1 " BAD_ID);
    ROW("{\"id\": true, \"file\": \"f\"" Q, "1 1 " BAD_ID);
    ROW("{\"id\": [1], \"file\": \"f\"" Q, "1 1 " BAD_ID);
    ROW("{\"id\": \"a\", \"file\": \"\xe9\"" Q "\n{}", "\"a\" 1 not UTF-8, at byte 22 of the line");
    ROW("{\"id\": \"a\", \"file\"}\n{}", "1 1 not JSON: a member without a colon, at byte 19 of the line");
    ROW("[1]\n{}", "1 1 not a JSON object");
    ROW("{\"file\": \"f\", \"files\": [\"g\"]" Q, "1 1 \"file\" and \"files\": one of them");
    ROW("{\"file\": 5" Q, "1 1 \"file\" is not a text");
    ROW("{\"file\": \"a\\u0000\"" Q, "1 1 \"file\" is not a text");
    ROW("{\"files\": []" Q, "1 1 \"files\" is not a list of texts");
    ROW("{\"files\": \"f\"" Q, "1 1 \"files\" is not a list of texts");
    ROW("{\"files\": {\"a\": \"f\"}" Q, "1 1 \"files\" is not a list of texts");
    ROW("{\"files\": [\"f\", 5]" Q, "1 1 \"files\" is not a list of texts");
    ROW("{\"files\": [\"f\\u0000\"]" Q, "1 1 \"files\" is not a list of texts");
    ROW("{\"text\": \"t\", \"file\": \"f\"" Q, "1 1 \"text\" and \"file\": one of them");
    ROW("{\"text\": 5" Q, "1 1 \"text\" is not a text");
    ROW("{\"id\": 1" Q, "1 1 no document: neither \"text\" nor \"file\" nor \"files\"");
    ROW("{\"files\": [\"f\", \"-\"]" Q, "1 1 standard input is no document of a row");
    ROW("{\"text\": \"t\"}", "1 1 no question: neither \"question\" nor \"questions\"");
    ROW("{\"text\": \"t\", \"question\": \" \\t\\n\\r\\f\\u000b\"}", "1 1 the question is empty");
    ROW("{\"text\": \"t\", \"question\": \"\"}", "1 1 the question is empty");
    ROW("{\"text\": \"t\", \"questions\": [\"q\", \" \"]}", "1 1 the question is empty");
    ROW("{\"text\": \"t\", \"question\": \"q\", \"questions\": [\"r\"]}", "1 1 \"question\" and \"questions\": one of them");
    ROW("{\"text\": \"t\", \"questions\": \"r\"}", "1 1 \"questions\" is not a list of texts");
    ROW("{}\0\n{}", "1 1 not JSON: something follows the value, at byte 3 of the line");
    {
        char *want = format("gemkv: %s: there are no rows in it\n", file);

        ROW("", want);
        ROW("\n \t\n", want);
        ROW("\xef\xbb\xbf", want);
        free(want);
        want = format("gemkv: %s: no line of it is a JSON object; rows are like "
                      "{\"id\": \"a\", \"file\": \"report.pdf\", \"question\": \"Who ...?\"}\n", file);
        ROW("[1]\n5\nx\n", want);
        free(want);
    }
}

/* Rows of one document are a group, in the order of their first rows. */
static void groups(void)
{
    static const char text[] =
        "{\"id\": \"a\", \"file\": \"f\"" Q "\n{\"id\": \"b\", \"text\": \"f\"" Q "\n\n{\"id\": \"c\", \"file\": \"g\"" Q "\n"
        "{\"id\": \"d\", \"file\": \"f\"" Q "\n{\"id\": \"b\", \"text\": \"f\"" Q "\nbad\nbad\n{\"id\": \"e\", \"text\": \"f\", \"questions\": [\"q\", \"r\"]}\n"
        "{\"id\": \"f\", \"files\": [\"f\", \"g\"]" Q "\n{\"id\": \"g\", \"files\": [\"f\"]" Q "\n";
    static const size_t group[] = { 0, 1, 2, 0, 3, 4, 5, 1, 6, 0 }, line[] = { 1, 2, 4, 5, 6, 7, 8, 9, 10, 11 };
    struct rows r;
    struct io   io;
    struct row  row[10];
    size_t      good = 0, same = 0, *order;

    write_file(text, sizeof text - 1);
    ok(!open_rows(&r, &io, file) && r.n == 10 && r.n_groups == 7, "10 rows, 7 documents: %d", (int)r.n_groups);
    for (size_t i = 0; i < r.n && i < 10; i++)
        good += r.entry[i].group == group[i] && r.entry[i].line == line[i] && r.entry[i].start >= 0
                && !row_read(&r, &r.entry[i], &row[i]) && r.entry[i].twin == (i == 4 ? 2 : 0);
    ok(good == 10, "their groups and lines: %d", (int)good);
    ok(!strcmp(row[4].why, "its id is that of line 2"), "a twin: %s", row[4].why);
    ok(r.group[0].first == 0 && r.group[0].last == 9 && r.group[0].n == 3 && r.entry[0].next == 3 && r.entry[3].next == 9 && r.entry[9].next == SIZE_MAX,
       "the rows of a group");
    ok(r.group[1].weight == 2 + 3 * 4096 && r.group[0].weight == 65536 + 3 * 4096 && r.group[6].weight == 2 * 65536 + 4096 && r.group[3].weight == 1,
       "what they weigh: %d %d %d %d", (int)r.group[1].weight, (int)r.group[0].weight, (int)r.group[6].weight, (int)r.group[3].weight);
    for (size_t i = 0; i < 10; i++)
        for (size_t k = 0; k < 10; k++)
            if (!row[i].why && !row[k].why)
                same += row_same_document(&row[i], &row[k]) == (group[i] == group[k]);
    ok(same == 49, "the same documents: %d", (int)same);
    {
        const struct row a = { .text = "ab", .n_text = 2 }, b = { .text = "ac", .n_text = 2 }, c = { .text = "abc", .n_text = 3 };
        const char *f[] = { "f" }, *g[] = { "g" };
        const char *fg[] = { "f", "g" }, *ff[] = { "f", "f" };
        const struct row d = { .file = { f, 1 } }, e = { .file = { g, 1 } }, h = { .file = { fg, 2 } }, i = { .file = { ff, 2 } };

        ok(!row_same_document(&h, &i) && row_same_document(&h, &h) && row_same_document(&a, &a) && !row_same_document(&a, &b) && !row_same_document(&a, &c) && !row_same_document(&d, &e), "others");
    }
    order = rows_order(&r);
    ok(order[0] == 6 && order[1] == 0 && order[2] == 2 && order[3] == 1 && order[4] == 3 && order[5] == 4 && order[6] == 5, "the heaviest first");
    free(order);
    rows_deal(&r, 2);
    ok(r.group[6].shard != r.group[0].shard && r.group[2].shard == r.group[0].shard, "dealt to two");
    ok(rows_find(&r, "\"c\"") == &r.entry[2] && rows_find(&r, "\"b\"") == &r.entry[1] && rows_find(&r, "7") == &r.entry[5] && !rows_find(&r, "\"x\"")
       && !rows_find(&r, "c"), "rows by their ids");
    for (size_t i = 0; i < 10; i++)
        row_done(&row[i]);
    /* The file is another meanwhile. */
    write_file(text, sizeof text - 1);
    ok(!row_read(&r, &r.entry[9], &row[0]), "the same again");
    row_done(&row[0]);
    write_file("{\"id\": \"x\"", 10);
    ok(row_read(&r, &r.entry[9], &row[0]) == EXIT_DOCUMENT && row_read(&r, &r.entry[0], &row[0]) == EXIT_DOCUMENT, "it is shorter");
    {
        char  changed[sizeof text];

        memcpy(changed, text, sizeof text);
        *strchr(changed, 'f') = 'g';
        write_file(changed, sizeof text - 1);
        ok(row_read(&r, &r.entry[0], &row[0]) == EXIT_DOCUMENT && !row[0].line, "a byte is another");
    }
    fclose(r.f);
    r.f = fopen("/", "r");
    ok(r.f && row_read(&r, &r.entry[0], &row[0]) == EXIT_DOCUMENT, "a row that cannot be read");
    fflush(io.err);
    ok(strstr(said, ": cannot read: Is a directory\n"), "... which is said");
    ok(strstr(said, ": it was changed while it was read; begin again\n"), "%.80s", said);
    close_rows(&r, &io);
    {
        struct rows empty = { .n = 0 };

        ok(!rows_find(&empty, "1"), "no rows, no row");
        order = rows_order(&empty);
        free(order);
    }
}

/* The heaviest group first, each to the shard that has least so far, of equal ones to the first. */
static void deals(void)
{
    enum { GROUPS = 60, SHARDS = 7 };
    struct group group[GROUPS];
    struct rows  r = { .group = group, .n_groups = GROUPS };
    size_t       good = 0, *order;

    for (size_t n = 1; n <= SHARDS; n++) {
        uint64_t load[SHARDS] = { 0 };

        for (size_t i = 0; i < GROUPS; i++)
            group[i] = (struct group){ .weight = i * i * 37 % 101 / 5 + 1 };
        order = rows_order(&r);
        rows_deal(&r, n);
        for (size_t i = 0; i < GROUPS; i++) {
            const struct group *g = &group[order[i]], *before = i ? &group[order[i - 1]] : NULL;
            size_t              least = 0;

            for (size_t k = 1; k < n; k++)
                least = load[k] < load[least] ? k : least;
            good += g->shard == least && (!i || before->weight > g->weight || (before->weight == g->weight && order[i - 1] < order[i]));
            load[least] += g->weight;
        }
        free(order);
    }
    ok(good == GROUPS * SHARDS, "groups are dealt: %d", (int)good);
}

/* More rows than the first table has room for, and from a pipe, which can be read once only. */
static void many(void)
{
    struct text t = { NULL, 0, 0 };
    struct rows r;
    struct io   io;
    char        name[40], *want;
    int         p[2];
    size_t      good = 0, twins = 0;

    for (int i = 0; i < 3000; i++)
        text_printf(&t, "{\"id\": \"r%d\", \"file\": \"f%d\"" Q "\n", i == 3 ? 2 : i % 2900, i % 7);
    write_file(t.p, t.n);
    ok(!open_rows(&r, &io, file) && r.n == 3000 && r.n_groups == 107, "3000 rows: %d groups", (int)r.n_groups);
    for (size_t i = 0; i < r.n; i++) {
        const struct entry *e = rows_find(&r, r.entry[i].id);

        const size_t first = i == 3 ? 2 : i < 2900 || i == 2903 ? i : i - 2900;

        good += e == &r.entry[first];
        twins += r.entry[i].twin == (first == i ? 0 : first + 1);
    }
    ok(good == 3000 && twins == 3000, "each is found by its id: %d", (int)good);
    close_rows(&r, &io);
    text_free(&t);

    if (!pipe(p) && write(p[1], "{\"file\": \"f\"" Q "\n", 32) > 0) {
        close(p[1]);
        snprintf(name, sizeof name, "/dev/fd/%d", p[0]);
        ok(!open_rows(&r, &io, name) && r.n == 1, "from a pipe: %s", said);
        close_rows(&r, &io);
        close(p[0]);
    }
    ok(open_rows(&r, &io, "/") == EXIT_DOCUMENT && !strcmp(said, "gemkv: /: a folder\n"), "a folder");
    close_rows(&r, &io);
    ok(open_rows(&r, &io, "/no/such") == EXIT_DOCUMENT && !strcmp(said, "gemkv: /no/such: No such file or directory\n"), "no file");
    close_rows(&r, &io);
    if (!access("/proc/self/mem", R_OK)) {
        ok(open_rows(&r, &io, "/proc/self/mem") == EXIT_DOCUMENT && strstr(said, ": cannot read: "), "a file that cannot be read: %s", said);
        close_rows(&r, &io);
    } else {
        skip("this system has no such file", "a file that cannot be read");
    }
    p[0] = dup(STDIN_FILENO);
    p[1] = open("/", O_RDONLY);
    dup2(p[1], STDIN_FILENO);
    ok(open_rows(&r, &io, "-") == EXIT_DOCUMENT && !strcmp(said, "gemkv: standard input: cannot read: Is a directory\n"), "standard input: %s", said);
    close_rows(&r, &io);
    close(p[1]);
    if (p[0] >= 0) {
        dup2(p[0], STDIN_FILENO);
        close(p[0]);
    }
    want = format("gemkv: %s: there are no rows in it\n", "/dev/null");
    ok(open_rows(&r, &io, "/dev/null") == EXIT_DOCUMENT && !strcmp(said, want), "nothing");
    close_rows(&r, &io);
    free(want);
}

/* Opens rows that come through a pipe, while no file may be larger, or a process have more files; 0: as many as it may. */
static int open_piped(struct rows *r, struct io *io, size_t n, rlim_t bytes, rlim_t more_files)
{
    char         *text = malloc(n), name[40];
    struct rlimit size, files, less;
    int           p[2], code, fd;

    memset(text, ' ', n);
    if (pipe(p) || write(p[1], text, n) != (ssize_t)n)
        printf("# no pipe\n");
    free(text);
    close(p[1]);
    snprintf(name, sizeof name, "/dev/fd/%d", p[0]);
    getrlimit(RLIMIT_FSIZE, &size);
    getrlimit(RLIMIT_NOFILE, &files);
    fd = dup(p[0]);
    close(fd);
    less = size;
    less.rlim_cur = bytes ? bytes : size.rlim_cur;
    setrlimit(RLIMIT_FSIZE, &less);
    less = files;
    less.rlim_cur = more_files ? (rlim_t)fd + more_files : files.rlim_cur;
    free(said);
    said = NULL;
    *io = (struct io){ .err = open_memstream(&said, &n_said) };
    setrlimit(RLIMIT_NOFILE, &less);
    code = rows_open(r, io, name);
    setrlimit(RLIMIT_NOFILE, &files);
    setrlimit(RLIMIT_FSIZE, &size);
    fflush(io->err);
    close(p[0]);
    return code;
}

/* What can be read only once has no room, and rows that were read cannot be read again. */
static void lost(void)
{
    struct rows r;
    struct io   io;
    struct row  row;
    int         fd;

    signal(SIGXFSZ, SIG_IGN);
    ok(open_piped(&r, &io, 30000, 1000, 0) == EXIT_FAILED && !strcmp(said, "gemkv: temporary file: File too large\n"), "no room: %s", said);
    close_rows(&r, &io);
    ok(open_piped(&r, &io, 30, 10, 0) == EXIT_FAILED && !strcmp(said, "gemkv: temporary file: File too large\n"), "... for the last of them");
    close_rows(&r, &io);
    ok(open_piped(&r, &io, 30, 0, 1) == EXIT_FAILED && !strcmp(said, "gemkv: cannot make a temporary file: Too many open files\n"),
       "no temporary file: %s", said);
    close_rows(&r, &io);
    write_file("{\"file\": \"f\"" Q "\n", 32);
    fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    ok(!open_rows(&r, &io, file) && r.n == 1 && dup2(fd, fileno(r.f)) >= 0, "a row");
    ok(row_read(&r, r.entry, &row) == EXIT_DOCUMENT && !fflush(io.err) && strstr(said, ": cannot read: "), "... that cannot be read again: %s", said);
    close_rows(&r, &io);
    close(fd);
}

/* ---- answers ----------------------------------------------------------------------------- */
static struct text   taken;
static uint64_t      last_said;

static int take(void *arg, const struct answer *a)
{
    text_printf(&taken, "%s %zu %s %s%s%s %d+%d\n", a->id, a->line, a->run, a->row, a->failed ? " failed" : "", a->twin ? " twin" : "",
                (int)a->start, (int)a->n);
    last_said = a->said;
    return *(int *)arg;
}

/* want: what was taken, the status, how the file ends, and what was said. */
static void answered(int line, const char *text, size_t n, int returns, const char *want)
{
    FILE       *f;
    char       *got;
    struct io   io = { .out = NULL };
    struct tail tail;
    int         code;

    write_file(text, n);
    f = fopen(file, "r");
    free(said);
    said = NULL;
    io.err = open_memstream(&said, &n_said);
    taken.n = 0;
    text_puts(&taken, "");
    code = answers_each(&io, "x", f, take, &returns, &tail);
    fclose(io.err);
    fclose(f);
    got = format("%s%d %d%s%s %zu %s", taken.p, code, (int)tail.whole, tail.cut ? " cut" : "", tail.open ? " open" : "", tail.line, said);
    ok(!strcmp(got, want), "line %d", line);
    if (strcmp(got, want))
        printf("# want %s\n# got  %s\n", want, got);
    free(got);
}

#define ANSWERED(text, want) answered(__LINE__, text, sizeof text - 1, 0, want)
#define ID(id, line) "{\"id\": " id ", \"line\": " line ", \"run\": \"r\", \"row\": \"w\""
#define NOT_OURS(n) "gemkv: x:" n ": not an answer that gemkv batch wrote; give another file\n"

static void answers(void)
{
    uint64_t one, two;

    ANSWERED("", "0 0 0 ");
    ANSWERED(ID("\"a\"", "1") ", \"answer\": \"b\"}\n" ID("2", "2") ", \"error\": \"c\"}\n" ID("3", "4") ", \"answers\": [], \"twin_of_line\": 3}\n",
             "\"a\" 1 r w 0+61\n2 2 r w failed 62+58\n3 4 r w twin 121+78\n0 200 3 ");
    ANSWERED(ID("-7", "1") ", \"answer\": \"b\"}", "-7 1 r w 0+60\n0 60 open 1 ");
    ANSWERED(ID("\"a\\\"\\\\\"", "12") ", \"answer\": \"b\"}\n", "\"a\\\"\\\\\" 12 r w 0+66\n0 67 1 ");
    answered(__LINE__, ID("1", "1") ", \"answer\": \"b\"}\n" ID("2", "1") ", \"answer\": \"b\"}\n", 120, 5, "1 1 r w 0+59\n5 60 1 ");
    /* The last line may break off anywhere. */
    ANSWERED(ID("1", "1") ", \"answer\": \"b\"}\n" ID("2", "1") ", \"answer\": \"b", "1 1 r w 0+59\n0 60 cut 2 ");
    ANSWERED("{", "0 0 cut 1 ");
    ANSWERED("{\"id\": \"", "0 0 cut 1 ");
    ANSWERED("{\"id\": \"a\\", "0 0 cut 1 ");
    ANSWERED("{\"id\": -1", "0 0 cut 1 ");
    ANSWERED("{\"id\": 1, \"li", "0 0 cut 1 ");
    ANSWERED(ID("1", "1"), "0 0 cut 1 ");
    ANSWERED(ID("1", "1") "\0\0\0", "0 0 cut 1 ");
    ANSWERED("{\"id\": 1\0\0", "0 0 cut 1 ");
    /* What is no answer. */
    ANSWERED("x", "1 0 0 " NOT_OURS("1"));
    ANSWERED("[1]\n", "1 0 0 " NOT_OURS("1"));
    ANSWERED("{\"i\": ", "1 0 1 " NOT_OURS("1"));
    ANSWERED("{\"id\": x", "1 0 1 " NOT_OURS("1"));
    ANSWERED("{\"id\": 1; ", "1 0 1 " NOT_OURS("1"));
    ANSWERED("{\"id\": \"a\"x", "1 0 1 " NOT_OURS("1"));
    ANSWERED("{}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1", "1") "\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1", "1") "}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1", "0") ", \"answer\": \"b\"}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED("{\"id\": 1, \"line\": 1, \"run\": 5, \"row\": \"w\", \"answer\": \"b\"}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED("{\"id\": 1, \"line\": 1, \"run\": \"r\", \"row\": 5, \"answer\": \"b\"}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1", "1") ", \"answer\": 5}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1.5", "1") ", \"answer\": \"b\"}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1000000000000000", "1") ", \"answer\": \"b\"}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1e5", "1") ", \"answer\": \"b\"}\n", "1 0 1 " NOT_OURS("1"));
    ANSWERED(ID("1", "1") ", \"answer\": \"b\"}\n\n", "1 1 r w 0+59\n1 60 2 " NOT_OURS("2"));
    ANSWERED(ID("1", "1") ", \"answer\": \"b\"}\n" ID("1", "1") ", \"x\": 1}", "1 1 r w 0+59\n1 60 2 " NOT_OURS("2"));
    /* What two runs must agree on. */
    ANSWERED(ID("1", "1") ", \"answer\": \"b\", \"seconds\": 1}\n", "1 1 r w 0+73\n0 74 1 ");
    one = last_said;
    ANSWERED(ID("1", "1") ", \"seconds\": 2, \"answer\": \"b\"}\n", "1 1 r w 0+73\n0 74 1 ");
    ok(last_said == one, "the same answer, other costs");
    ANSWERED(ID("1", "1") ", \"answer\": \"c\", \"seconds\": 1}\n", "1 1 r w 0+73\n0 74 1 ");
    ok(last_said != one, "another answer");
    ANSWERED(ID("1", "1") ", \"answers\": [{\"answer\": \"b\"}, {\"answer\": \"c\"}]}\n", "1 1 r w 0+91\n0 92 1 ");
    two = last_said;
    ANSWERED(ID("1", "1") ", \"answers\": [{\"answer\": \"c\"}, {\"answer\": \"b\"}]}\n", "1 1 r w 0+91\n0 92 1 ");
    ok(last_said != two && last_said != one, "answers in another order");
    ANSWERED(ID("1", "1") ", \"answers\": {\"answer\": \"b\"}}\n", "1 1 r w 0+72\n0 73 1 ");
    free(said);
    said = NULL;
    {
        FILE       *f = fopen("/", "r");
        struct io   io = { .err = open_memstream(&said, &n_said) };
        struct tail tail;
        int         returns = 0;

        ok(f && answers_each(&io, "x", f, take, &returns, &tail) == EXIT_FAILED, "a folder");
        fclose(io.err);
        ok(!strncmp(said, "gemkv: x: cannot read: ", 23), "%s", said);
        fclose(f);
    }
}

static void answered_rows(void)
{
    static const char text[] = "{\"id\": \"a\"}\n\n{\"id\": \"b\"}\n{\"id\": \"a\"}\n{\"id\": \"c\"}\n";
    struct rows   r;
    struct io     io;
    struct json   j = { .depth = 0 };
    struct entry  e = { .id = (char *)"\"a\"", .line = 7, .number = 0xab };

    write_file(text, sizeof text - 1);
    ok(!open_rows(&r, &io, file) && r.n == 4, "rows");
    ok(answers_row(&r, &(struct answer){ .id = (char *)"\"a\"", .line = 4 }) == &r.entry[0], "a row by its id");
    ok(answers_row(&r, &(struct answer){ .id = (char *)"\"a\"", .line = 4, .twin = true }) == &r.entry[2], "a twin by its line");
    ok(answers_row(&r, &(struct answer){ .line = 1, .twin = true }) == &r.entry[0]
       && answers_row(&r, &(struct answer){ .line = 3, .twin = true }) == &r.entry[1]
       && answers_row(&r, &(struct answer){ .line = 5, .twin = true }) == &r.entry[3], "each line");
    ok(!answers_row(&r, &(struct answer){ .line = 2, .twin = true }) && !answers_row(&r, &(struct answer){ .line = 6, .twin = true })
       && !answers_row(&r, &(struct answer){ .line = 0, .twin = true }), "lines without a row");
    close_rows(&r, &io);
    answers_begin(&j, &e, 0x123);
    ok(!strcmp(j.text.p, "{\"id\": \"a\", \"line\": 7, \"run\": \"0000000000000123\", \"row\": \"00000000000000ab\""), "how a line begins: %s", j.text.p);
    text_free(&j.text);
}

int main(void)
{
    const int fd = mkstemp(file);

    if (fd < 0)
        return 99;
    close(fd);
    json();
    members();
    numbers();
    rows();
    groups();
    deals();
    many();
    lost();
    answers();
    answered_rows();
    unlink(file);
    text_free(&taken);
    free(said);
    return done();
}
