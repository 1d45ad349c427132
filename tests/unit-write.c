/* SPDX-License-Identifier: BSD-2-Clause
 * unit-write.c - what the program writes: JSON, HTML, plots, sizes, words for a shell, messages; each byte of it */
#include "config.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/html.h"
#include "src/cli/json-parse.h"
#include "src/cli/json.h"
#include "src/cli/memory.h"
#include "src/cli/mix.h"
#include "src/cli/model-name.h"
#include "src/cli/plot.h"
#include "src/cli/say.h"
#include "src/cli/text.h"
#include "src/cli/utf8.h"
#include "src/cli/view.h"
#include "tests/tap.h"

/* Compares, and frees what was got. */
static void is(char *got, const char *want, const char *what)
{
    const int same = !strcmp(got, want);

    ok(same, "%s", what);
    if (!same)
        printf("# not %s\n", got);
    free(got);
}

/* ---- characters ------------------------------------------------------------------------- */
static const struct { const char *s; size_t len, n; uint32_t cp; } characters[] = {
    { "a", 1, 1, 'a' },
    { "\0", 1, 1, 0 },
    { "\x7f", 1, 1, 0x7f },
    { "\xc2\x80", 2, 2, 0x80 },
    { "\xdf\xbf", 2, 2, 0x7ff },
    { "\xe0\xa0\x80", 3, 3, 0x800 },
    { "\xed\x9f\xbf", 3, 3, 0xd7ff },
    { "\xee\x80\x80", 3, 3, 0xe000 },
    { "\xef\xbf\xbf", 3, 3, 0xffff },
    { "\xf0\x90\x80\x80", 4, 4, 0x10000 },
    { "\xf4\x8f\xbf\xbf", 4, 4, 0x10ffff },
    { "\xc1\xbf", 2, 1, UTF8_BAD },             /* longer than it need be                 */
    { "\xe0\x9f\xbf", 3, 1, UTF8_BAD },
    { "\xf0\x8f\xbf\xbf", 4, 1, UTF8_BAD },
    { "\xed\xa0\x80", 3, 1, UTF8_BAD },         /* surrogates                             */
    { "\xed\xbf\xbf", 3, 1, UTF8_BAD },
    { "\xf4\x90\x80\x80", 4, 1, UTF8_BAD },     /* beyond Unicode                         */
    { "\xf8\x88\x80\x80", 4, 1, UTF8_BAD },
    { "\x80", 1, 1, UTF8_BAD },
    { "\xbf", 1, 1, UTF8_BAD },
    { "\xff", 1, 1, UTF8_BAD },
    { "\xc3\xa9", 1, 1, UTF8_BAD },             /* cut                                    */
    { "\xe2\x82\xac", 2, 1, UTF8_BAD },
    { "\xf0\x9f\x98\x80", 3, 1, UTF8_BAD },
    { "\xc3" "a", 2, 1, UTF8_BAD },             /* no continuation                        */
    { "\xe2\x82" "a", 3, 1, UTF8_BAD },
    { "\xe2" "a\x82", 3, 1, UTF8_BAD },
    { "\xf0\x9f\x98\xc0", 4, 1, UTF8_BAD }
};

static void test_characters(void)
{
    static const uint32_t acting[] = { 0, 0x1f, 0x7f, 0x9f, 0x202a, 0x202e, 0x2066, 0x2069 };
    static const uint32_t plain[] = { 0x20, 0x7e, 0xa0, 0x2029, 0x202f, 0x2065, 0x206a };
    static const struct { uint32_t cp; int width; } width[] = {
        { 'a', 1 }, { 0x2ff, 1 }, { 0x300, 0 }, { 0x36f, 0 }, { 0x370, 1 }, { 0x10ff, 1 }, { 0x1100, 2 }, { 0x115f, 2 }, { 0x1160, 1 },
        { 0x200b, 0 }, { 0x200f, 0 }, { 0x2010, 1 }, { 0x20d0, 0 }, { 0x2100, 1 }, { 0x2e80, 2 }, { 0xa4cf, 2 }, { 0xa4d0, 1 },
        { 0xac00, 2 }, { 0xd7a3, 2 }, { 0xd7a4, 1 }, { 0xf900, 2 }, { 0xfe00, 0 }, { 0xfe0f, 0 }, { 0xfe30, 2 }, { 0xff00, 2 },
        { 0xff61, 1 }, { 0xffe0, 2 }, { 0x1f300, 2 }, { 0x1faff, 2 }, { 0x1fb00, 1 }, { 0x20000, 2 }, { 0x3fffd, 2 }, { 0x3fffe, 1 }
    };
    bool   good = true;
    char   out[8];
    size_t bad = 0;

    for (size_t i = 0; i < sizeof characters / sizeof *characters; i++) {
        uint32_t     cp = 1;
        const size_t n = utf8_next(characters[i].s, characters[i].len, &cp);

        bad += n != characters[i].n || cp != characters[i].cp;
        if (cp != UTF8_BAD)
            bad += (size_t)(utf8_put(out, cp) - out) != n || memcmp(out, characters[i].s, n);
    }
    ok(!bad, "characters of UTF-8, and bytes that are none");
    for (size_t i = 0; i < sizeof acting / sizeof *acting; i++)
        good = good && utf8_is_control(acting[i]);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        good = good && !utf8_is_control(plain[i]);
    ok(good, "which of them act");
    for (size_t i = 0; i < sizeof width / sizeof *width; i++)
        bad += utf8_width(width[i].cp) != width[i].width;
    ok(!bad, "their width");
}

static void test_text(void)
{
    struct text t = { NULL, 0, 0 };
    char        line[70];
    int         fd[2];

    memset(line, 'x', sizeof line);
    text_add(&t, "", 0);
    ok(t.p && !*t.p && !t.n, "a text of nothing is a string");
    for (size_t i = 0; i < 70; i++)
        text_add(&t, line, i);
    ok(t.n == 69 * 70 / 2 && strlen(t.p) == t.n && t.room > t.n, "a text grows");
    text_free(&t);
    ok(!t.p && !t.n && !t.room, "and is empty again");
    text_printf(&t, "%d %s", 5, "five");
    is(t.p, "5 five", "formatted text");
    t = (struct text){ NULL, 0, 0 };
    text_add(&t, "a\0b\xff" "c\xc3\xa9", 7);
    text_clean(&t);
    ok(t.n == 11, "its length once it is clean");
    is(t.p, "a\xef\xbf\xbd" "b\xef\xbf\xbd" "c\xc3\xa9", "no NUL, and nothing that is no UTF-8");
    t = (struct text){ NULL, 0, 0 };
    text_clean(&t);
    is(t.p, "", "nothing, clean");
    t = (struct text){ NULL, 0, 0 };
    if (pipe(fd) || write(fd[1], "from a pipe", 11) != 11)
        return;
    close(fd[1]);
    text_read(&t, fd[0]);
    close(fd[0]);
    is(t.p, "from a pipe", "what was read");
}

/* ---- JSON ------------------------------------------------------------------------------- */
static char *all_of_json(void)
{
    struct json j = { .depth = 0 };

    json_open(&j, '{');
    json_named_uint(&j, "n", UINT64_MAX);
    json_named_open(&j, "list", '[');
    json_uint(&j, 0);
    json_real(&j, 0.1);
    json_real(&j, 1.0 / 3);
    json_real(&j, 1e300 * 10);
    json_real(&j, (double)INFINITY);
    json_score(&j, 0.1f);
    json_score(&j, 1.0f / 3);
    json_score(&j, -(float)INFINITY);
    json_bool(&j, true);
    json_bool(&j, false);
    json_null(&j);
    json_string(&j, NULL);
    json_open(&j, '{');
    json_close(&j);
    json_open(&j, '[');
    json_close(&j);
    json_close(&j);
    json_named_string(&j, "s", "a\"\\\n\t\r\x1b\x7f/\xc3\xa9\xff\xe2\x80\xae");
    json_named_raw(&j, "raw", "[1,2]");
    json_named_layer(&j, "layer", 0);
    json_named_layer(&j, "none", -1);
    json_named_real(&j, "real", -2.5);
    json_key(&j, "text");
    json_text(&j, "ab", 1);
    json_close(&j);
    return j.text.p;
}

static void test_json(void)
{
    struct json j = { .depth = 0 };
    char       *out = NULL;
    size_t      n;
    struct io   io = { .out = open_memstream(&out, &n), .err = stderr };

    is(all_of_json(), "{\"n\": 18446744073709551615, \"list\": [0, 0.1, 0.3333333333333333, 1e+301, null, 0.1, 0.33333334, null, true, "
       "false, null, null, {}, []], \"s\": \"a\\\"\\\\\\n\\t\\u000d\\u001b\\u007f/\xc3\xa9\xef\xbf\xbd\\u202e\", \"raw\": [1,2], "
       "\"layer\": 0, \"none\": null, \"real\": -2.5, \"text\": \"a\"}\n", "JSON of every kind");
    json_uint(&j, 5);
    json_print(&io, &j);
    ok(!j.text.p && !j.text.n, "it is empty once it is printed");
    fclose(io.out);
    is(out, "5", "a number alone");
}

static void again(const char *given, const char *want)
{
    char         *text = format("%s", given);
    const char   *why;
    size_t        at;
    struct value *v = parse_json(text, strlen(text), &why, &at);
    struct text   t = { NULL, 0, 0 };

    text_add(&t, "", 0);
    if (v)
        parse_print(v, &t);
    parse_free(v);
    free(text);
    is(t.p, want, "JSON that was read, written again");
}

static void test_parsed(void)
{
    char          text[] = "{\"a\": 1.5, \"b\": \"x\\u0000y\", \"c\": [], \"a\": \"2\"}";
    const char   *why;
    size_t        at;
    struct value *v = parse_json(text, strlen(text), &why, &at);

    ok(v && parse_number(v, "a", 7) >= 1.5 && parse_number(v, "a", 7) <= 1.5, "a number of an object, its first of that name");
    ok(v && parse_number(v, "b", 7) >= 7 && parse_number(v, "d", 7) >= 7, "or another instead of it");
    ok(v && parse_member(v, "b")->len == 3 && !memcmp(parse_member(v, "b")->text, "x\0y", 4), "a text with a NUL");
    ok(v && !parse_string(v, "c") && !parse_string(v, "a") && !strcmp(parse_string(v, "b"), "x"), "only a string is one");
    ok(v && !parse_member(v, "d") && !parse_member(parse_member(v, "c"), "a"), "no such member");
    parse_free(v);
    again("[1,2.5,-3e2,true,false,null,\"a\\/\\u00e9\\ud83d\\ude00\\b\\f\\n\\r\\t\\\"\\\\\"]",
          "[1, 2.5, -300, true, false, null, \"a/\xc3\xa9\xf0\x9f\x98\x80\\u0008\\u000c\\n\\u000d\\t\\\"\\\\\"]");
    again("{ \"a\" : { } , \"b\" : [ ] , \"c\\n\":[[1],{\"d\":2}] }", "{\"a\": {}, \"b\": [], \"c\\n\": [[1], {\"d\": 2}]}");
}

static void test_refused(void)
{
    static const struct { const char *text; size_t at; const char *why; } row[] = {
        { "", 0, "it ends too early" },
        { " ", 1, "it ends too early" },
        { "[1", 2, "it ends too early" },
        { "[1,", 3, "it ends too early" },
        { "[1x2]", 2, "a comma is missing" },
        { "[1 2]", 3, "a comma is missing" },
        { "{\"a\":1x\"b\":2}", 6, "a comma is missing" },
        { "[1,]", 3, "not a value" },
        { "[-]", 1, "not a value" },
        { "[1.]", 1, "not a value" },
        { "[1e+]", 1, "not a value" },
        { "[01]", 2, "a comma is missing" },
        { "[nul]", 1, "not a value" },
        { "[trua]", 1, "not a value" },
        { "[falze]", 1, "not a value" },
        { "{1}", 1, "a member without a name" },
        { "{\"a\" 1}", 5, "a member without a colon" },
        { "{\"a\":}", 5, "not a value" },
        { "{\"a", 3, "a string without an end" },
        { "\"a\\", 3, "an unknown escape in a string" },
        { "\"a\\q\"", 3, "an unknown escape in a string" },
        { "\"a\tb\"", 2, "a control character in a string" },
        { "\"a\x1f\"", 2, "a control character in a string" },
        { "\"\\u12\"", 3, "\\u without four hexadecimal digits" },
        { "\"\\u12g4\"", 3, "\\u without four hexadecimal digits" },
        { "\"\\u/123\"", 3, "\\u without four hexadecimal digits" },
        { "\"\\u:123\"", 3, "\\u without four hexadecimal digits" },
        { "\"\\u`123\"", 3, "\\u without four hexadecimal digits" },
        { "1 2", 2, "something follows the value" },
        { "\"a\"x", 3, "something follows the value" }
    };
    char          deep[132];
    const char   *why;
    size_t        bad = 0, at;
    struct value *v;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char *text = format("%s", row[i].text);

        v = parse_json(text, strlen(text), &why, &at);
        if (v || at != row[i].at || strcmp(why, row[i].why)) {
            printf("# %s: byte %zu, %s\n", row[i].text, at, why ? why : "parsed");
            bad++;
        }
        parse_free(v);
        free(text);
    }
    ok(!bad, "what is wrong with what is no JSON, and where");
    memset(deep, '[', 64);
    memset(deep + 64, ']', 64);
    deep[128] = 0;
    v = parse_json(deep, 128, &why, &at);
    ok(v && !why, "64 arrays in each other");
    parse_free(v);
    memset(deep, '[', 65);
    memset(deep + 65, ']', 65);
    deep[130] = 0;
    ok(!parse_json(deep, 130, &why, &at) && at == 64 && !strcmp(why, "too deep"), "but not 65");
    again("[\"\\ud7ff\\ue000\\ud800\\udc00\\udbff\\udfff\\ud800x\\udc00\\udbff\\ue000\"]",
          "[\"\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf\xef\xbf\xbdx\xef\xbf\xbd\xef\xbf\xbd\xee\x80\x80\"]");
    again("\"\\u00aF\\uFfFf\"", "\"\xc2\xaf\xef\xbf\xbf\"");
    again("[{},\r\n\t -0.5E+1 ]", "[{}, -5]");
}

/* ---- HTML ------------------------------------------------------------------------------- */
enum kind { TEXT, LINE, PLAIN };

static char *html(enum kind kind, const char *s)
{
    char  *out = NULL;
    size_t n;
    FILE  *f = open_memstream(&out, &n);

    (kind == TEXT ? html_text : kind == LINE ? html_line : html_plain)(f, s, strlen(s));
    fclose(f);
    return out;
}

static void hole_a(FILE *f, const void *arg)
{
    fprintf(f, "<%s>", (const char *)arg);
}

static void hole_ab(FILE *f, const void *arg)
{
    (void)arg;
    fputs("b", f);
}

static void test_html(void)
{
    static const struct html_hole holes[] = { { "a", hole_a }, { "a b", hole_ab }, { NULL, NULL } };
    char  *out = NULL;
    size_t n;
    FILE  *f = open_memstream(&out, &n);

    is(html(TEXT, "<a & \"b\">'"), "&lt;a &amp; &quot;b&quot;&gt;'", "what means something in HTML");
    is(html(TEXT, "a\tb\nc\r\nd\re\r"), "a\tb\nc\nd\ne\n", "line ends are kept");
    is(html(LINE, "a\tb\nc"), "a<span class=\"c\">U+0009</span>b<span class=\"c\">U+000A</span>c", "in a line they are shown");
    is(html(PLAIN, "a\rb"), "a[U+000D]b", "and in an attribute");
    is(html(PLAIN, "\xd8\x9c" "a\xd8\x9b\xe2\x80\x8d\xe2\x80\x8e\xe2\x80\x8f\xe2\x80\xa8\xe2\x80\xa9\xe2\x81\xaa\xe2\x81\xaf"),
       "[U+061C]a\xd8\x9b\xe2\x80\x8d[U+200E][U+200F][U+2028][U+2029][U+206A][U+206F]", "what acts unseen is shown");
    is(html(PLAIN, "\xef\xb7\x8f\xef\xb7\x90\xef\xb7\xaf\xef\xb7\xb0\xef\xbf\xb8\xef\xbf\xb9\xef\xbf\xbb\xef\xbf\xbd\xef\xbf\xbe\xef\xbf\xbf"),
       "\xef\xb7\x8f[U+FDD0][U+FDEF]\xef\xb7\xb0\xef\xbf\xb8[U+FFF9][U+FFFB]\xef\xbf\xbd[U+FFFE][U+FFFF]", "what HTML forbids too");
    is(html(PLAIN, "\xf0\x9f\xbf\xbe\xf3\xa0\x80\x80\xf3\xa0\x81\xbf\xf3\xa0\x82\x80\xff"),
       "[U+1FFFE][U+E0000][U+E007F]\xf3\xa0\x82\x80\xef\xbf\xbd", "and tags; bytes that are none");
    html_fill(f, "x[[a]][[a b]]y[[a]]", holes, "z");
    fclose(f);
    is(out, "x<z>by<z>", "holes are filled");
}

/* ---- plots ------------------------------------------------------------------------------ */
static char *column[] = { (char *)"8192", (char *)"a-long-one" }, *line[] = { (char *)"0", (char *)"100 %" };
static double value[] = { 0, 0.256, (double)NAN, 1 };
static const struct grid grid = {
    .title = (char *)"full & <more>", .x = "length", .y = "depth", .column = column, .line = line, .n_column = 2, .n_line = 2, .value = value
};

static char *plotted(void (*plot)(struct io *io))
{
    char     *out = NULL;
    size_t    n;
    struct io io = { .out = open_memstream(&out, &n), .err = stderr };

    plot(&io);
    fclose(io.out);
    return out;
}

static void as_grid(struct io *io)
{
    plot_grid(io, &grid);
}

static const double one[] = { 0.5, 0.25, (double)NAN, 1 }, two[] = { 0.1, (double)NAN, 0.3, (double)NAN };
static const struct curve curve[] = { { "all", one }, { "second", two } };

static void as_curve(struct io *io)
{
    plot_curve(io, curve, 2, 4, 1);
}

/* Runs one that writes to a file, and returns what is in it. */
static char *drawn(int (*draw)(struct output *o))
{
    static char   path[] = "/tmp/gemkv-write-XXXXXX";
    char          name[64];
    struct io     io = { .out = stdout, .err = stderr };
    struct output o = { .f = NULL };
    struct text   t = { NULL, 0, 0 };
    FILE         *f;

    strcpy(path + strlen(path) - 6, "XXXXXX");
    text_add(&t, "", 0);
    if (!mkdtemp(path))
        return t.p;
    snprintf(name, sizeof name, "%s/plot.svg", path);
    if (!output_new(&o, &io, name, false) && !draw(&o) && (f = fopen(name, "r"))) {
        text_read(&t, fileno(f));
        fclose(f);
    }
    unlink(name);
    rmdir(path);
    return t.p;
}

static int grids(struct output *o)
{
    const struct grid two_of_them[] = { grid, { .title = (char *)"b\n", .x = "x", .y = "y", .column = column, .line = line, .n_column = 1,
                                                .n_line = 1, .value = value + 3 } };

    return plot_grids_svg(o, two_of_them, 2);
}

static int curves(struct output *o)
{
    return plot_curves_svg(o, "title", "layer", curve, 2, 4, 1);
}

static int many(struct output *o)
{
    static double       v[25];
    const struct curve  c = { "v", v };

    return plot_curves_svg(o, "title", "layer", &c, 1, 25, 25);
}

static int fewer(struct output *o)
{
    static double       v[24];
    const struct curve  c = { "v", v };

    return plot_curves_svg(o, "title", "layer", &c, 1, 24, 24);
}

static size_t times(const char *s, const char *what)
{
    size_t n = 0;

    for (; (s = strstr(s, what)); s++)
        n++;
    return n;
}

static const char svg_grids[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"480\" height=\"248\" viewBox=\"0 0 480 248\" font-family=\"sans-serif\" font-size=\"12\">\n"
    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    "<text x=\"120.0\" y=\"34.0\" text-anchor=\"start\" font-size=\"14\" font-weight=\"bold\">full &amp; &lt;more&gt;</text>\n"
    "<text x=\"112.0\" y=\"114.0\" text-anchor=\"end\" fill=\"#555\">length</text>\n"
    "<text x=\"8.0\" y=\"63.0\" text-anchor=\"start\" fill=\"#555\">depth</text>\n"
    "<text x=\"112.0\" y=\"63.0\" text-anchor=\"end\">0</text>\n"
    "<rect x=\"120\" y=\"46\" width=\"56\" height=\"26\" fill=\"#dc5055\" stroke=\"#fff\"/>\n"
    "<text x=\"148.0\" y=\"63.0\" text-anchor=\"middle\">0</text>\n"
    "<rect x=\"176\" y=\"46\" width=\"56\" height=\"26\" fill=\"#e68d55\" stroke=\"#fff\"/>\n"
    "<text x=\"204.0\" y=\"63.0\" text-anchor=\"middle\">26</text>\n"
    "<text x=\"112.0\" y=\"89.0\" text-anchor=\"end\">100 %</text>\n"
    "<rect x=\"176\" y=\"72\" width=\"56\" height=\"26\" fill=\"#3cb473\" stroke=\"#fff\"/>\n"
    "<text x=\"204.0\" y=\"89.0\" text-anchor=\"middle\">100</text>\n"
    "<text x=\"148.0\" y=\"114.0\" text-anchor=\"middle\">8192</text>\n"
    "<text x=\"204.0\" y=\"114.0\" text-anchor=\"middle\">a-long-one</text>\n"
    "<text x=\"120.0\" y=\"166.0\" text-anchor=\"start\" font-size=\"14\" font-weight=\"bold\">b?</text>\n"
    "<text x=\"112.0\" y=\"220.0\" text-anchor=\"end\" fill=\"#555\">x</text>\n"
    "<text x=\"8.0\" y=\"195.0\" text-anchor=\"start\" fill=\"#555\">y</text>\n"
    "<text x=\"112.0\" y=\"195.0\" text-anchor=\"end\">0</text>\n"
    "<rect x=\"120\" y=\"178\" width=\"56\" height=\"26\" fill=\"#3cb473\" stroke=\"#fff\"/>\n"
    "<text x=\"148.0\" y=\"195.0\" text-anchor=\"middle\">100</text>\n"
    "<text x=\"148.0\" y=\"220.0\" text-anchor=\"middle\">8192</text>\n"
    "</svg>\n";

static const char svg_curves[] =
    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"396\" viewBox=\"0 0 860 396\" font-family=\"sans-serif\" font-size=\"12\">\n"
    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n"
    "<text x=\"60.0\" y=\"30.0\" text-anchor=\"start\" font-size=\"14\" font-weight=\"bold\">title</text>\n"
    "<path d=\"M60 346.0h640\" stroke=\"#ddd\"/>\n"
    "<text x=\"52.0\" y=\"350.0\" text-anchor=\"end\">0 %</text>\n"
    "<path d=\"M60 271.0h640\" stroke=\"#ddd\"/>\n"
    "<text x=\"52.0\" y=\"275.0\" text-anchor=\"end\">25 %</text>\n"
    "<path d=\"M60 196.0h640\" stroke=\"#ddd\"/>\n"
    "<text x=\"52.0\" y=\"200.0\" text-anchor=\"end\">50 %</text>\n"
    "<path d=\"M60 121.0h640\" stroke=\"#ddd\"/>\n"
    "<text x=\"52.0\" y=\"125.0\" text-anchor=\"end\">75 %</text>\n"
    "<path d=\"M60 46.0h640\" stroke=\"#ddd\"/>\n"
    "<text x=\"52.0\" y=\"50.0\" text-anchor=\"end\">100 %</text>\n"
    "<text x=\"60.0\" y=\"364.0\" text-anchor=\"middle\">0</text>\n"
    "<text x=\"273.3\" y=\"364.0\" text-anchor=\"middle\">1</text>\n"
    "<text x=\"486.7\" y=\"364.0\" text-anchor=\"middle\">2</text>\n"
    "<text x=\"700.0\" y=\"364.0\" text-anchor=\"middle\">3</text>\n"
    "<text x=\"380.0\" y=\"384.0\" text-anchor=\"middle\" fill=\"#555\">layer</text>\n"
    "<path d=\"M273.3 46v300\" stroke=\"#888\" stroke-dasharray=\"4 3\"/>\n"
    "<path fill=\"none\" stroke-width=\"2\" stroke=\"#1f77b4\" d=\"M60.0 196.0L273.3 271.0M700.0 46.0\"/>\n"
    "<path d=\"M712 56.0h20\" stroke-width=\"2\" stroke=\"#1f77b4\"/>\n"
    "<text x=\"738.0\" y=\"60.0\" text-anchor=\"start\">all</text>\n"
    "<path fill=\"none\" stroke-width=\"2\" stroke=\"#ff7f0e\" d=\"M60.0 316.0M486.7 256.0\"/>\n"
    "<path d=\"M712 76.0h20\" stroke-width=\"2\" stroke=\"#ff7f0e\"/>\n"
    "<text x=\"738.0\" y=\"80.0\" text-anchor=\"start\">second</text>\n"
    "</svg>\n";

static void test_plots(void)
{
    char *s;

    unsetenv("NO_COLOR");
    is(plotted(as_grid), "full & <more>\n            8192 a-long-one\n    0          0         26\n100 %          -        100\n", "a grid as text");
    is(plotted(as_curve), "  layer   0  all        50.0 %  ####################\n             second     10.0 %  ....\n"
       "* layer   1  all        25.0 %  ##########\n             second     30.0 %  ............\n"
       "  layer   3  all       100.0 %  ########################################\n", "curves as text");
    is(drawn(grids), svg_grids, "grids as a picture");
    is(drawn(curves), svg_curves, "curves as a picture");
    s = drawn(many);
    ok(times(s, "text-anchor=\"middle\"") == 7 + 1 && !strstr(s, "dasharray") && strstr(s, ">24</text>"), "of 25 numbers every fourth is shown");
    free(s);
    s = drawn(fewer);
    ok(times(s, "text-anchor=\"middle\"") == 24 + 1, "of 24 all");
    free(s);
}

/* ---- sizes, words, sums ------------------------------------------------------------------ */
static void test_sizes(void)
{
    is(view_bytes(0), "0 B", "no bytes");
    is(view_bytes(1023), "1023 B", "1023 bytes");
    is(view_bytes(1024), "1.0 KiB", "1 KiB");
    is(view_bytes(1536), "1.5 KiB", "1.5 KiB");
    is(view_bytes(102348), "99.9 KiB", "one digit behind the point");
    is(view_bytes(102349), "100 KiB", "none from 100 on");
    is(view_bytes(1048063), "1023 KiB", "nearly 1 MiB");
    is(view_bytes(1048064), "1.0 MiB", "which 1023.5 KiB are");
    is(view_bytes(UINT64_C(5) << 30), "5.0 GiB", "GiB");
    is(view_bytes(UINT64_C(7) << 40), "7.0 TiB", "TiB");
    is(view_bytes(UINT64_MAX), "16384 PiB", "the largest");
}

/* 32 MiB that are written to are there, and no more than the address space. */
static void test_memory(void)
{
    const uint64_t before = memory_resident(), mapped = memory_mapped();
    const size_t   n = 32 << 20;
    char          *p;

    if (access("/proc/self/statm", R_OK) || getenv("MKMODEL")) {
        skip("no /proc/self/statm, or that of an emulator", "memory of this process");
        return;
    }
    p = grow(NULL, n, 1);
    memset(p, 1, n);
    ok(memory_resident() > before + n / 2 && memory_mapped() > mapped + n / 2 && memory_resident() <= memory_mapped() && p[n - 1] == 1,
       "memory of this process");
    free(p);
}

static void test_words(void)
{
    is(name_quoted("a/b-c_D.9:@%+="), "a/b-c_D.9:@%+=", "a word that needs no quotes");
    is(name_quoted("-o"), "./-o", "one that could be an option");
    is(name_quoted(""), "''", "an empty word");
    is(name_quoted("a b"), "'a b'", "a word with a space");
    is(name_quoted("it's '$x'"), "'it'\\''s '\\''$x'\\'''", "one with quotes");
}

static void test_sums(void)
{
    /* FNV-1a of 64 bits; a file that was made with it must be recognised later */
    ok(mix(MIX_START, "", 0) == 0xcbf29ce484222325u && mix(MIX_START, "a", 1) == 0xaf63dc4c8601ec8cu
       && mix(MIX_START, "foobar", 6) == 0x85944171f73967e8u, "sums");
    ok(mix_string(MIX_START, "ab") == mix(MIX_START, "ab", 3) && mix_string(MIX_START, NULL) == mix(MIX_START, "\xff", 1), "of strings");
    ok(mix_uint(MIX_START, 0x0102030405060708u) == mix(MIX_START, "\x08\x07\x06\x05\x04\x03\x02\x01", 8), "of numbers");
}

/* ---- messages --------------------------------------------------------------------------- */
static void test_messages(void)
{
    static const struct { gkv_status status; int code; } codes[] = {
        { GKV_NOMEM, 1 }, { GKV_LIMIT, 4 }, { GKV_IO, 1 }, { GKV_FORMAT, 3 }, { GKV_UNSUPPORTED, 3 }, { GKV_INVALID, 2 },
        { GKV_DOCUMENT, 5 }, { GKV_DEVICE, 1 }, { GKV_CANCELLED, 1 }
    };
    char           *out = NULL, *err = NULL, *longest = grow(NULL, 6000, 1);
    size_t          n_out, n_err, bad = 0;
    struct io       io = { .out = open_memstream(&out, &n_out), .err = open_memstream(&err, &n_err) };
    const gkv_error none = { .text = "" }, some = { .text = "some reason" };

    say(&io, "a\x1b[1mb\xff\xc3\xa9");
    warn(&io, "careful");
    ok(fail(&io, 7, "not so") == 7 && usage(&io, NULL, "no %s", "command") == EXIT_USAGE, "statuses are passed on");
    ok(fail_library(&io, GKV_IO, &some, "a file") == 1 && fail_library(&io, GKV_LIMIT, &some, NULL) == 4
       && fail_library(&io, GKV_FORMAT, &none, NULL) == 3, "statuses of the library become ours");
    io.quiet = true;
    say(&io, "nothing");
    warn(&io, "nothing");
    fail(&io, 1, "an error");
    say_fleeting(&io, "");
    say_fleeting(&io, "50 %%");
    out_printf(&io, "result");
    fflush(io.err);
    ok(!io.fleeting, "a result erases the line that is passing");
    memset(longest, 'x', 5999);
    longest[5999] = 0;
    say_fleeting(&io, "51 %%");
    fail(&io, 1, "%s", longest);
    ok(!io.fleeting, "a message, too");
    fclose(io.err);
    n_err = strlen(err);
    ok(n_err > 4103 && err[n_err - 1] == '\n' && !strncmp(err + n_err - 4096, longest, 4095) && err[n_err - 4097] == ' ',
       "a message has an end");
    err[n_err - 4096] = 0;
    is(err, "a?[1mb?\xc3\xa9\ngemkv: warning: careful\ngemkv: not so\ngemkv: no command; see 'gemkv --help'\ngemkv: a file: some reason\n"
       "gemkv: some reason\ngemkv: damaged model file\ngemkv: an error\n\r50 %%\033[K\r\033[K\r\r51 %%\033[K\r\033[Kgemkv: ", "the messages");
    ok(!out_flush(&io), "nothing is lost");
    fclose(io.out);
    is(out, "result", "the result");
    free(longest);
    io = (struct io){ .out = fopen("/dev/null", "w"), .err = fopen("/dev/null", "w") };
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        bad += fail_library(&io, codes[i].status, &none, NULL) != codes[i].code;
    ok(!bad && fail_library(&io, (gkv_status)99, &some, NULL) == 1, "an exit status for each");
    fclose(io.out);
    fclose(io.err);
}

/* A result that cannot be written is said once, and is the status each time. */
static void test_lost(void)
{
    char     *err = NULL;
    size_t    n;
    FILE     *full = fopen("/dev/full", "w");
    struct io io = { .out = full, .err = open_memstream(&err, &n) };

    if (!full) {
        fclose(io.err);
        free(err);
        skip("no /dev/full", "a full disk");
        return;
    }
    out_bytes(&io, "x", 1);
    ok(out_flush(&io) == EXIT_FAILED && out_flush(&io) == EXIT_FAILED && io.lost == -ENOSPC, "a result that is lost");
    fclose(io.err);
    is(err, "gemkv: standard output: No space left on device; part of the result is lost\n", "is said once");
    fclose(full);
}

int main(void)
{
    test_characters();
    test_text();
    test_json();
    test_parsed();
    test_refused();
    test_html();
    test_plots();
    test_sizes();
    test_memory();
    test_words();
    test_sums();
    test_messages();
    test_lost();
    return done();
}
