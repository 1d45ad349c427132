/* SPDX-License-Identifier: BSD-2-Clause
 * unit-args.c - the command line: words become options and operands as with GNU getopt_long, each kind of option takes
 * what it should and nothing beside it; shells complete them; parts of rows and lists of methods */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/batch/shard.h"
#include "src/cli/cmd.h"
#include "src/cli/completion.h"
#include "src/cli/options.h"
#include "src/cli/say.h"
#include "src/cli/text.h"
#include "tests/args-help.h"
#include "tests/tap.h"

enum { NOBODY = 1 << 30 };       /* the rows of all commands, and of no other */

/* ---- a command of the test ---------------------------------------------------------------- */
struct mine {
    struct options o;
    uint64_t       u64, size;
    uint32_t       u32;
    float          f32, g32;
    struct numbers list;
    const char    *text, *file, *choice, *maybe;
    struct words   words;
    bool           flag, hidden;
    int            on;
};

#define MINE(member) offsetof(struct mine, member)

static const struct opt own[] = {
    { 0, 'a', "alpha", "N", "9", "a number", opt_u64, MINE(u64), 5, 20 },
    { 0, 'b', "beta", "N", NULL, "a number whose help is so long that it does not fit in a line of seventy-nine columns, and not in two",
      opt_u32, MINE(u32), 0, UINT32_MAX },
    { 0, 0, "gamma", "X", "1", "a real number", opt_f32, MINE(f32), (uint64_t)-2, 2 },
    { 0, 0, "gamble", "X", NULL, "one that is not negative", opt_f32, MINE(g32), 0, 3 },
    { 0, 'l', "list", "N[,N]...", NULL, "numbers", opt_numbers, MINE(list), 1, 99 },
    { 0, 's', "size", "SIZE", NULL, "bytes", opt_size, MINE(size), 0, 0 },
    { 0, 't', "text", "TEXT", NULL, "text", opt_text, MINE(text), 0, 0 },
    { 0, 'f', "file", "FILE", NULL, "one file", opt_file, MINE(file), 0, 0 },
    { 0, 'w', "word", "WORD", NULL, "a word each time", opt_words, MINE(words), 0, 0 },
    { 0, 'c', "choice", "red|green|dark-green", NULL, "a colour", opt_choice, MINE(choice), 0, 0 },
    { 0, 0, "maybe", "[=WORD]", NULL, "a word, or none", opt_text, MINE(maybe), 0, 0 },
    { 0, 'x', "flag", NULL, NULL, "a flag", opt_flag, MINE(flag), 0, 0 },
    { 0, 0, "on", NULL, NULL, "another", opt_on, MINE(on), 0, 0 },
    { 0, 0, "hidden", NULL, NULL, NULL, opt_flag, MINE(hidden), 0, 0 },
    { 0, 0, "an-option-of-a-name-that-is-long", "N", NULL, "its help is on the next line", opt_u64, MINE(u64), 0, 1 },
    { .name = NULL }
};

static void more_help(struct io *io)
{
    out_printf(io, "\nMore of it.\n");
}

static const struct opt_default defaults[] = { { "alpha", "7" }, { .name = NULL } };
static const struct cmd cmd_mine = {
    .name = "mine", .summary = "What is mine", .synopsis = "[OPTION]... [WORD]", .takes = NOBODY, .own = own,
    .defaults = defaults, .more_help = more_help
};

/* What a command line sets, or what is said against it. */
static char *parsed(const char *given)
{
    struct mine m = { .o = { .top = 0 } };
    struct text t = { NULL, 0, 0 };
    char       *argv[MAX_WORDS + 1], *line = format("%s", given), *out = NULL, *err = NULL;
    size_t      n_out, n_err;
    struct io   io = { .out = open_memstream(&out, &n_out), .err = open_memstream(&err, &n_err) };
    int         argc, code;

    argv_of(line, &argc, argv);
    code = options_parse(&m.o, &cmd_mine, &io, argc, argv);
    fclose(io.out);
    fclose(io.err);
    text_add(&t, "", 0);
    if (m.u64 != 7)
        text_printf(&t, "alpha %" PRIu64 ";", m.u64);
    if (m.u32)
        text_printf(&t, "beta %" PRIu32 ";", m.u32);
    if (m.f32 < 0 || m.f32 > 0)
        text_printf(&t, "gamma %g;", (double)m.f32);
    if (m.g32 < 0 || m.g32 > 0)
        text_printf(&t, "gamble %g;", (double)m.g32);
    for (size_t i = 0; i < m.list.n && !code; i++)
        text_printf(&t, "list %" PRIu64 ";", m.list.v[i]);
    if (m.size)
        text_printf(&t, "size %" PRIu64 ";", m.size);
    if (m.text)
        text_printf(&t, "text %s;", m.text);
    if (m.file)
        text_printf(&t, "file %s;", m.file);
    if (m.choice)
        text_printf(&t, "choice %s;", m.choice);
    if (m.maybe)
        text_printf(&t, "maybe %s;", m.maybe);
    for (size_t i = 0; i < m.words.n; i++)
        text_printf(&t, "word %s;", m.words.v[i]);
    text_puts(&t, m.flag ? "flag;" : "");
    text_puts(&t, m.on == 1 ? "on;" : "");
    text_puts(&t, m.hidden ? "hidden;" : "");
    for (int i = 0; i < m.o.n_operand; i++)
        text_printf(&t, "<%s>", m.o.operand[i]);
    if (code) {
        text_free(&t);
        text_printf(&t, "[%d] %s", code, err);
    } else if (*err) {
        text_printf(&t, "said: %s", err);
    }
    free(m.words.v);
    options_free(&m.o);
    free(out);
    free(err);
    free(line);
    return t.p;
}

/* What a line gives; "!TEXT" stands for the refusal with that text. */
static const struct { const char *line, *want; } lines[] = {
    { "mine", "" },
    { "mine one two", "<one><two>" },
    { "mine -a 5 one", "alpha 5;<one>" },
    { "mine one -a5 two", "alpha 5;<one><two>" },
    { "mine --alpha 20", "alpha 20;" },
    { "mine --alpha=20", "alpha 20;" },
    { "mine --al 20", "alpha 20;" },
    { "mine --al=20 -- --al=5 -x", "alpha 20;<--al=5><-x>" },
    { "mine - -x", "flag;<->" },
    { "mine -- -x --", "<-x><-->" },
    { "mine -xa6", "alpha 6;flag;" },
    { "mine -xa 6", "alpha 6;flag;" },
    { "mine -xx", "flag;" },
    { "mine --on --hidden", "on;hidden;" },
    { "mine --hid", "!unknown option '--hid'" },
    { "mine --maybe", "" },
    { "mine --maybe one", "<one>" },
    { "mine --maybe=one", "maybe one;" },
    { "mine -t one -t two", "text two;" },
    { "mine -t -x", "text -x;" },
    { "mine -t ''", "text ;" },
    { "mine -f one", "file one;" },
    { "mine -f one -f two", "!one file only" },
    { "mine -w one --word=two -wthree", "word one;word two;word three;" },
    { "mine -a 4", "!option '--alpha': '4' is not a number from 5 to 20" },
    { "mine -a 21", "!option '--alpha': '21' is not a number from 5 to 20" },
    { "mine -a 5x", "!option '--alpha': '5x' is not a number from 5 to 20" },
    { "mine -a ''", "!option '--alpha': '' is not a number from 5 to 20" },
    { "mine -a +5", "!option '--alpha': '+5' is not a number from 5 to 20" },
    { "mine -a 18446744073709551621", "!option '--alpha': '18446744073709551621' is not a number from 5 to 20" },
    { "mine -a", "!option '--alpha' needs an argument: N" },
    { "mine -xa", "!option '--alpha' needs an argument: N" },
    { "mine -b 4294967295", "beta 4294967295;" },
    { "mine -b 4294967296", "!option '--beta': '4294967296' is not a number from 0 to 4294967295" },
    { "mine --gamma=-2", "gamma -2;" },
    { "mine --gamma 1.25", "gamma 1.25;" },
    { "mine --gamma .5", "gamma 0.5;" },
    { "mine --gamma=-2.1", "!option '--gamma': '-2.1' is not a number from -2 to 2" },
    { "mine --gamma=2.1", "!option '--gamma': '2.1' is not a number from -2 to 2" },
    { "mine --gamma=1e0", "!option '--gamma': '1e0' is not a number from -2 to 2" },
    { "mine --gamma=1.2.3", "!option '--gamma': '1.2.3' is not a number from -2 to 2" },
    { "mine --gamma=.", "!option '--gamma': '.' is not a number from -2 to 2" },
    { "mine --gamma=-", "!option '--gamma': '-' is not a number from -2 to 2" },
    { "mine --gamma=nan", "!option '--gamma': 'nan' is not a number from -2 to 2" },
    { "mine --gamble=3", "gamble 3;" },
    { "mine --gamble=-0", "!option '--gamble': '-0' is not a number from 0 to 3" },
    { "mine --gam=1", "!option '--gam' may be any of --gamma --gamble" },
    { "mine -l 1,99,5", "list 1;list 99;list 5;" },
    { "mine -l 1 -l 2", "list 2;" },
    { "mine -l 0", "!option '--list': '0' is not a list of up to 64 numbers from 1 to 99, like 8192,32768" },
    { "mine -l 1,", "!option '--list': '1,' is not a list of up to 64 numbers from 1 to 99, like 8192,32768" },
    { "mine -l 1;2", "!option '--list': '1;2' is not a list of up to 64 numbers from 1 to 99, like 8192,32768" },
    { "mine -s 1", "size 1;" },
    { "mine -s 18446744073709551615", "size 18446744073709551615;" },
    { "mine -s 3K", "size 3072;" },
    { "mine -s 3k", "size 3072;" },
    { "mine -s 1.5KiB", "size 1536;" },
    { "mine -s 2MB", "size 2097152;" },
    { "mine -s 1G", "size 1073741824;" },
    { "mine -s .5T", "size 549755813888;" },
    { "mine -s 8388607T", "size 9223370937343148032;" },
    { "mine -s 8388608T", "!option '--size': '8388608T' is not a size like 512M or 1.5G" },
    { "mine -s 0", "!option '--size': '0' is not a size like 512M or 1.5G" },
    { "mine -s 0.0009K", "!option '--size': '0.0009K' is not a size like 512M or 1.5G" },
    { "mine -s 0.001K", "size 1;" },
    { "mine -s 1.5", "!option '--size': '1.5' is not a size like 512M or 1.5G" },
    { "mine -s 1P", "!option '--size': '1P' is not a size like 512M or 1.5G" },
    { "mine -s 1Ki", "!option '--size': '1Ki' is not a size like 512M or 1.5G" },
    { "mine -s 1KB2", "!option '--size': '1KB2' is not a size like 512M or 1.5G" },
    { "mine -s K", "!option '--size': 'K' is not a size like 512M or 1.5G" },
    { "mine -c red", "choice red;" },
    { "mine -c green", "choice green;" },
    { "mine -c dark-green", "choice dark-green;" },
    { "mine -c re", "!option '--choice': 're' is not one of red|green|dark-green (did you mean red?)" },
    { "mine -c ''", "!option '--choice': '' is not one of red|green|dark-green" },
    { "mine -c red|green", "!option '--choice': 'red|green' is not one of red|green|dark-green" },
    { "mine --flag=1", "!option '--flag' takes no argument" },
    { "mine --flags", "!unknown option '--flags' (did you mean --flag?)" },
    { "mine --zebra=stripes", "!unknown option '--zebra'" },
    { "mine -z", "!unknown option '-z'" },
    { "mine -xz", "!unknown option '-z'" },
    { "mine -alpha", "!option '-alpha' has two dashes: '--alpha'" },
    { "mine -alpha=6", "!option '-alpha=6' has two dashes: '--alpha=6'" },
    { "mine -temp", "text emp;" },
    { "mine -text", "!option '-text' has two dashes: '--text'" },
    { "mine -tex", "text ex;" },
    { "mine -ngl 99", "!no option '-ngl'; a GPU is used if there is one; --device cuda asks for it" },
    { "mine --temp=1", "!no option '--temp'; it is --temperature here" },
    { "mine -fa", "!no option '-fa'; attention is always computed in tiles" },
    { "mine -f a", "file a;" },
    { "mine -p why", "!no option '-p'; the question needs no option: write it last, in quotes" }
};

static void test_lines(void)
{
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const char *want = lines[i].want;
        char       *all = *want == '!' ? format("[2] gemkv: mine: %s; see 'gemkv mine --help'\n", want + 1) : format("%s", want);
        char       *got = parsed(lines[i].line);

        ok(!strcmp(got, all), "%s", lines[i].line);
        if (strcmp(got, all))
            printf("# %s\n", got);
        free(all);
        free(got);
    }
}

/* A list of as many numbers as it may have, and of one more. */
static void test_many(void)
{
    struct text t = { NULL, 0, 0 };
    char       *got;

    text_puts(&t, "mine -l 1");
    for (int i = 1; i < MAX_NUMBERS; i++)
        text_puts(&t, ",2");
    got = parsed(t.p);
    ok(strlen(got) == 7 * MAX_NUMBERS, "a list of %d numbers", MAX_NUMBERS);
    free(got);
    text_puts(&t, ",2");
    got = parsed(t.p);
    ok(!strncmp(got, "[2] ", 4), "and none of one more");
    free(got);
    text_free(&t);
}

static void test_numbers(void)
{
    uint64_t    u = 0;
    double      d = 0;
    const char *s = "12,x", *end, *nines = "0000000000000000000000000000000000000000000000000000000000000.5";
    char       *longer = format("0%s", nines);

    end = parse_uint(s, 12, 12, &u);
    ok(end == s + 2 && u == 12, "a number ends at what is no digit");
    ok(parse_uint("18446744073709551615", 0, UINT64_MAX, &u) && u == UINT64_MAX, "the largest number");
    ok(!parse_uint("18446744073709551616", 0, UINT64_MAX, &u), "one more is none");
    ok(!parse_uint("/1", 0, 9, &u) && !parse_uint(":", 0, 99, &u) && !parse_uint("", 0, 9, &u), "no digits, no number");
    ok(parse_uint("1/", 0, 9, &u) && parse_uint("1:", 0, 9, &u) && u == 1, "characters beside the digits end one");
    end = parse_real(s = "2.5%", 0, 2.5, &d);
    ok(end == s + 3 && d <= 2.5 && d >= 2.5, "a real number ends at what is no part of one");
    ok(parse_real(nines, 0, 1, &d) && d >= 0.5, "one of 63 characters");
    ok(!parse_real(longer, 0, 1, &d), "one of 64 is too long");
    ok(parse_real("-1", -1, 1, &d) && d <= -1, "a sign, where numbers may be negative");
    ok(!parse_real("-0", 0, 1, &d) && !parse_real("--1", -2, 1, &d) && !parse_real("-", -1, 1, &d), "and no other");
    free(longer);
}

/* ---- its help --------------------------------------------------------------------------- */
static const char help[] =
    "Usage: gemkv mine [OPTION]... [WORD]\n"
    "\n"
    "What is mine.\n"
    "\n"
    "Options:\n"
    "  -a, --alpha N           a number (default: 7)\n"
    "  -b, --beta N            a number whose help is so long that it does not fit\n"
    "                          in a line of seventy-nine columns, and not in two\n"
    "      --gamma X           a real number (default: 1)\n"
    "      --gamble X          one that is not negative\n"
    "  -l, --list N[,N]...     numbers\n"
    "  -s, --size SIZE         bytes\n"
    "  -t, --text TEXT         text\n"
    "  -f, --file FILE         one file\n"
    "  -w, --word WORD         a word each time\n"
    "  -c, --choice red|green|dark-green\n"
    "                          a colour\n"
    "      --maybe[=WORD]      a word, or none\n"
    "  -x, --flag              a flag\n"
    "      --on                another\n"
    "      --an-option-of-a-name-that-is-long N\n"
    "                          its help is on the next line\n"
    "  -m, --model FILE        GGUF model (default: $GEMKV_MODEL, else the bundled\n"
    "                          model)\n"
    "  -h, --help              show this help\n"
    "\n"
    "More of it.\n";

static const char list[] =
    "-a, --alpha N\n-b, --beta N\n--gamma X\n--gamble X\n-l, --list N[,N]...\n-s, --size SIZE\n-t, --text TEXT\n-f, --file FILE\n"
    "-w, --word WORD\n-c, --choice red|green|dark-green\n--maybe[=WORD]\n-x, --flag\n--on\n--an-option-of-a-name-that-is-long N\n"
    "-m, --model FILE\n-h, --help\n";

static struct result shown(const char *option)
{
    struct mine   m = { .o = { .top = 0 } };
    struct result r = { 0, NULL, NULL };
    size_t        n_out, n_err;
    struct io     io = { .out = open_memstream(&r.out, &n_out), .err = open_memstream(&r.err, &n_err) };
    char         *argv[] = { (char *)"mine", (char *)option, (char *)"-z", NULL };

    r.code = options_parse(&m.o, &cmd_mine, &io, 3, argv);
    fclose(io.out);
    fclose(io.err);
    options_free(&m.o);
    return r;
}

static void test_help(void)
{
    struct result r = shown("--help");

    ok(r.code == EXIT_SHOWN && !*r.err, "after --help nothing more is read");
    ok(!strcmp(r.out, help), "the help");
    result_free(&r);
    r = shown("--list-options");
    ok(r.code == EXIT_SHOWN && !*r.err && !strcmp(r.out, list), "the list of options");
    result_free(&r);
}

static void wraps(size_t indent, const char *text, const char *want, const char *what)
{
    char     *out = NULL;
    size_t    n;
    struct io io = { .out = open_memstream(&out, &n), .err = stderr };

    args_wrap(&io, text, indent);
    fclose(io.out);
    ok(!strcmp(out, want), "%s", what);
    free(out);
}

static void test_wrap(void)
{
    wraps(70, "123456789 x", "123456789\n"
          "                                                                      x\n", "a line has 79 columns");
    wraps(70, "1234567 x", "1234567 x\n", "and not fewer");
    wraps(70, "1234567  89", "1234567\n"
          "                                                                      89\n", "what would be the 80th is in the next");
    wraps(70, "a-word-that-is-longer-than-a-line", "a-word-that-is-longer-than-a-line\n", "a word is not broken");
    wraps(2, "", "\n", "nothing");
}

/* ---- completions ------------------------------------------------------------------------ */
static const struct opt few[] = {
    { 0, 'a', "alpha", "N", NULL, "it's [a]: \\ number", opt_text, MINE(text), 0, 0 },
    { 0, 0, "choice", "red|GREEN|cuda[:N]|5%|dark-red", NULL, "a colour", opt_text, MINE(text), 0, 0 },
    { 0, 'f', "file", "FILE", NULL, "a file", opt_text, MINE(text), 0, 0 },
    { 0, 0, "folder", "FOLDER", NULL, "a folder", opt_text, MINE(text), 0, 0 },
    { 0, 'x', "flag", NULL, NULL, "a flag", opt_flag, MINE(flag), 0, 0 },
    { 0, 0, "maybe", "[=WORD]", NULL, "a word, or none", opt_text, MINE(maybe), 0, 0 },
    { 0, 0, "hidden", NULL, NULL, NULL, opt_flag, MINE(hidden), 0, 0 },
    { .name = NULL }
};
static const struct cmd task_one = { .name = "group one", .summary = "The first", .own = few + 4 };
static const struct cmd task_two = { .name = "group two", .summary = "The second's", .own = few + 6 };
static const struct cmd *const tasks[] = { &task_one, &task_two, NULL };
static const struct cmd cmd_few = { .name = "few", .summary = "It's few: [x]", .own = few };
static const struct cmd cmd_group = { .name = "group", .summary = "Some", .own = few + 5, .tasks = tasks };

static char *completed(const char *shell, const struct cmd *const *command, size_t n_command)
{
    char     *out = NULL;
    size_t    n;
    struct io io = { .out = open_memstream(&out, &n), .err = stderr };

    ok(completion(&io, shell, command, n_command) == EXIT_DONE, "completion of %s", shell);
    fclose(io.out);
    return out;
}

/* Whether the part of all from `from` up to `to` is this; to NULL: the end. */
static bool has_part(const char *all, const char *from, const char *to, const char *want)
{
    const char  *begin = strstr(all, from), *end = begin ? to ? strstr(begin, to) : begin + strlen(begin) : NULL;
    const bool   same = end && (size_t)(end - begin) == strlen(want) && !memcmp(begin, want, strlen(want));

    if (!same)
        printf("# %.*s\n", end ? (int)(end - begin) : 0, begin ? begin : "");
    return same;
}

static void test_completion(void)
{
    static const struct cmd *const both[] = { &cmd_few, &cmd_group }, *const ask[] = { &cmd_ask };
    struct text       t = { NULL, 0, 0 };
    size_t            n;
    const gkv_method *m = gkv_methods(&n);
    const char       *s;
    char             *got = completed("bash", both, 2);

    ok(strstr(got, "-W 'few group' -- ") && has_part(got, "    'few')", "    *) _gemkv_files; return;;",
       "    'few')\n"
       "        case $prev in\n"
       "        -a|--alpha) :; return;;\n"
       "        --choice) _gemkv_words 'red cuda dark-red'; return;;\n"
       "        -f|--file) _gemkv_files; return;;\n"
       "        --folder) _gemkv_folders; return;;\n"
       "        esac\n"
       "        options='--alpha --choice --file --folder --flag --maybe';;\n"
       "    'group')\n"
       "        case $prev in\n"
       "        esac\n"
       "        options='--maybe one two';;\n"
       "    'group one')\n"
       "        case $prev in\n"
       "        esac\n"
       "        options='--flag --maybe';;\n"
       "    'group two')\n"
       "        case $prev in\n"
       "        esac\n"
       "        options='';;\n"), "what bash reads");
    free(got);
    got = completed("zsh", both, 2);
    ok(strstr(got, "            'few:It'\\''s few\\: \\[x\\]'\n            'group:Some'\n        )\n") && has_part(got, "    'few')", "    *) _files;;",
       "    'few')\n"
       "        _arguments -s \\\n"
       "            '*-a[it'\\''s \\[a\\]\\: \\\\ number]:N:' \\\n"
       "            '*--alpha=[it'\\''s \\[a\\]\\: \\\\ number]:N:' \\\n"
       "            '*--choice=[a colour]:red|GREEN|cuda\\[\\:N\\]|5%|dark-red:(red cuda dark-red)' \\\n"
       "            '*-f[a file]:FILE:_files' \\\n"
       "            '*--file=[a file]:FILE:_files' \\\n"
       "            '*--folder=[a folder]:FOLDER:_files -/' \\\n"
       "            '*-x[a flag]' \\\n"
       "            '*--flag[a flag]' \\\n"
       "            '*--maybe[a word, or none]' \\\n"
       "            '*:file:_files';;\n"
       "    'group')\n"
       "        _arguments -s \\\n"
       "            '*--maybe[a word, or none]' \\\n"
       "            '1:task:(one two)';;\n"
       "    'group one')\n"
       "        _arguments -s \\\n"
       "            '*-x[a flag]' \\\n"
       "            '*--flag[a flag]' \\\n"
       "            '*--maybe[a word, or none]' \\\n"
       "            '*:file:_files';;\n"
       "    'group two')\n"
       "        _arguments -s \\\n"
       "            '*:file:_files';;\n"), "what zsh reads");
    free(got);
    got = completed("fish", both, 2);
    ok(has_part(got, "complete", NULL,
       "complete -c gemkv -n '__fish_seen_subcommand_from few' -l alpha -s a -x -d 'it\\'s [a]: \\\\ number'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from few' -l choice -x -a 'red cuda dark-red' -d 'a colour'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from few' -l file -s f -r -F -d 'a file'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from few' -l folder -x -a '(__fish_complete_directories)' -d 'a folder'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from few' -l flag -s x -d 'a flag'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from few' -l maybe -d 'a word, or none'\n"
       "complete -c gemkv -n __fish_use_subcommand -a few -d 'It\\'s few: [x]'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from group' -l maybe -d 'a word, or none'\n"
       "complete -c gemkv -n __fish_use_subcommand -a group -d 'Some'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from one' -l flag -s x -d 'a flag'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from one' -l maybe -d 'a word, or none'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from eval' -a one -d 'The first'\n"
       "complete -c gemkv -n '__fish_seen_subcommand_from eval' -a two -d 'The second\\'s'\n"), "what fish reads");
    free(got);

    got = completed("bash", ask, 1);
    for (size_t i = 0; i < n; i++)
        text_printf(&t, "%s%s", i ? " " : "--method) _gemkv_words '", m[i].name);
    text_puts(&t, "'; return;;");
    ok(strstr(got, t.p), "names of methods");
    text_free(&t);
    text_puts(&t, "--schedule) _gemkv_words 'auto");
    for (size_t i = 0; i < (gkv_schedules(&n), n); i++)
        text_printf(&t, " %s", gkv_schedules(&n)[i].name);
    text_puts(&t, "'; return;;");
    ok(strstr(got, t.p), "names of schedules");
    text_free(&t);
    for (size_t i = 0; (s = gkv_template_describe(i)); i++)
        text_printf(&t, "%s%.*s", i ? " " : "--template) _gemkv_words '", (int)strcspn(s, ":"), s);
    text_puts(&t, "'; return;;");
    ok(strstr(got, t.p), "names of templates");
    text_free(&t);
    free(got);
}

/* ---- --shard ---------------------------------------------------------------------------- */
static const char *const variables[] = {
    "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT",
    "JOB_COMPLETION_INDEX", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE"
};

/* The variables' values with a comma behind each ("-": it is not set), the option's word, and "INDEX/COUNT" from 0 on with who said
 * it, or what is wrong. */
static const struct { const char *values, *word, *want; } shards[] = {
    { "", NULL, "0/1" },
    { "", "3/16", "2/16" },
    { "", "1/1", "0/1" },
    { "", "1000000/1000000", "999999/1000000" },
    { "", "1/1000001", "option '--shard': '1/1000001' is not like 3/16, from 1/16 to 16/16, or /16" },
    { "", "4/3", "option '--shard': '4/3' is not like 3/16, from 1/16 to 16/16, or /16" },
    { "", "0/3", "option '--shard': '0/3' is not like 3/16, from 1/16 to 16/16, or /16" },
    { "", "3", "option '--shard': '3' is not like 3/16, from 1/16 to 16/16, or /16" },
    { "", "3/", "option '--shard': '3/' is not like 3/16, from 1/16 to 16/16, or /16" },
    { "", "3/4/", "option '--shard': '3/4/' is not like 3/16, from 1/16 to 16/16, or /16" },
    { "", "/0", "option '--shard': '/0' is not like 3/16, from 1/16 to 16/16, or /16" },
    { "", "/2", "--shard /2: no variable says which part this is; give --shard I/N" },
    { "", "/1", "0/1" },
    { "0,0,3,-,4,", NULL, "0/4 SLURM_ARRAY_TASK_ID" },
    { "3,0,3,1,4,", NULL, "3/4 SLURM_ARRAY_TASK_ID" },
    { "3,0,3,1,4,", "/4", "3/4 SLURM_ARRAY_TASK_ID" },
    { "3,0,3,1,4,", "2/5", "1/5" },
    { "3,0,3,1,4,", "/5", "--shard /5, but SLURM_ARRAY_TASK_COUNT is 4; give --shard I/N with both numbers" },
    { "9,5,9,2,3,", NULL, "2/3 SLURM_ARRAY_TASK_ID" },
    { "7,5,9,2,2,", NULL, "the job array is not whole, so SLURM_ARRAY_TASK_ID does not say which part of the rows this is; give --shard I/N" },
    { "7,5,10,2,3,", NULL, "the job array is not whole, so SLURM_ARRAY_TASK_ID does not say which part of the rows this is; give --shard I/N" },
    { "7,5,9,0,3,", NULL, "the job array is not whole, so SLURM_ARRAY_TASK_ID does not say which part of the rows this is; give --shard I/N" },
    { "7,5,4,1,3,", NULL, "the job array is not whole, so SLURM_ARRAY_TASK_ID does not say which part of the rows this is; give --shard I/N" },
    { "4,5,6,1,2,", NULL, "SLURM_ARRAY_TASK_ID is no number of a part of 2; give --shard I/N" },
    { "5,5,6,1,2,", NULL, "0/2 SLURM_ARRAY_TASK_ID" },
    { "7,5,6,1,2,", NULL, "SLURM_ARRAY_TASK_ID is no number of a part of 2; give --shard I/N" },
    { "0,-,-,-,-,", NULL, "SLURM_ARRAY_TASK_ID is set, but not SLURM_ARRAY_TASK_COUNT: of how many? give --shard I/N" },
    { "0,-,-,-,0,", NULL, "SLURM_ARRAY_TASK_ID says which part of the rows this is, but not of how many; give --shard /N" },
    { "0,-,-,-,1,", NULL, "0/1" },
    { "0x,-,-,-,4,", NULL, "0/1" },
    { "0,-,-,-,1000001,", NULL, "SLURM_ARRAY_TASK_ID is no number of a part of 1000001; give --shard I/N" },
    { "0,-,-,-,1000000,", NULL, "0/1000000 SLURM_ARRAY_TASK_ID" },
    { "-,-,-,-,-,2,", NULL, "JOB_COMPLETION_INDEX says which part of the rows this is, but not of how many; give --shard /N" },
    { "-,-,-,-,-,2,", "/3", "2/3 JOB_COMPLETION_INDEX" },
    { "-,-,-,-,-,3,", "/3", "JOB_COMPLETION_INDEX is no number of a part of 3; give --shard I/N" },
    { "-,-,-,-,-,-,1,2,", NULL, "1/2 OMPI_COMM_WORLD_RANK" },
    { "-,-,-,-,-,-,1,2,0,2,", NULL, "1/2 OMPI_COMM_WORLD_RANK" },
    { "-,-,-,-,-,-,-,-,1,2,", NULL, "1/2 PMI_RANK" },
    { "1,-,-,-,2,-,1,2,", NULL, "SLURM_ARRAY_TASK_ID and OMPI_COMM_WORLD_RANK both say which part of the rows this is; give --shard I/N" },
    { "1,-,-,-,2,-,0,1,", NULL, "1/2 SLURM_ARRAY_TASK_ID" }
};

static void test_shards(void)
{
    for (size_t i = 0; i < sizeof shards / sizeof *shards; i++) {
        const char  *at = shards[i].values;
        struct shard s;
        char        *got, *want, *err = NULL, *out = NULL;
        size_t       n_out, n_err;
        struct io    io = { .out = open_memstream(&out, &n_out), .err = open_memstream(&err, &n_err) };

        for (size_t k = 0; k < sizeof variables / sizeof *variables; k++) {
            char *value = format("%.*s", (int)strcspn(at, ","), at);

            if (*value && strcmp(value, "-"))
                setenv(variables[k], value, 1);
            else
                unsetenv(variables[k]);
            at += strcspn(at, ",") + (*at != 0);
            free(value);
        }
        if (shard_find(&s, &cmd_mine, &io, shards[i].word))
            got = NULL;
        else
            got = format("%zu/%zu%s%s", s.i, s.n, s.from ? " " : "", s.from ? s.from : "");
        fclose(io.out);
        fclose(io.err);
        got = got ? got : format("%s", err);
        want = strchr(shards[i].want, ';') || strstr(shards[i].want, "--shard") ?
            format("gemkv: mine: %s; see 'gemkv mine --help'\n", shards[i].want) : format("%s", shards[i].want);
        ok(!strcmp(got, want), "part %s of %s", shards[i].word ? shards[i].word : "", shards[i].values);
        if (strcmp(got, want))
            printf("# %s\n", got);
        free(got);
        free(want);
        free(err);
        free(out);
    }
    {
        const struct shard s = { 6, 9, NULL };
        char              *name = shard_name(&s, "a%s.%s-%d"), *plain = shard_name(&s, "");

        ok(!strcmp(name, "a7.7-%d") && !strcmp(plain, ""), "names of parts");
        free(name);
        free(plain);
    }
}

/* ---- lists of methods ------------------------------------------------------------------- */
static void splits(const char *given, const char *want)
{
    struct methods m = { NULL, 0 };
    struct text    t = { NULL, 0, 0 };

    methods_add(&m, given);
    for (size_t i = 0; i < m.n; i++)
        text_printf(&t, "%s%s", i ? " " : "", m.spec[i]);
    ok(!strcmp(t.p, want), "methods %s", given);
    if (strcmp(t.p, want))
        printf("# %s\n", t.p);
    text_free(&t);
    methods_free(&m);
}

static void test_methods(void)
{
    struct methods m = { NULL, 0 };
    size_t         n;

    splits("a", "a");
    splits("a,b", "a b");
    splits("a:x=1,y=2,b", "a:x=1,y=2 b");
    splits("a:x=1,b:y=2,z=3", "a:x=1 b:y=2,z=3");
    splits("a:x=1,y=2", "a:x=1,y=2");
    gkv_methods(&n);
    methods_add(&m, "all");
    ok(m.n == n && methods_full(&m) == 0 && !strcmp(m.spec[0], "full"), "all methods, full first");
    for (size_t i = 1; i < m.n; i++)
        if (!strcmp(m.spec[i], "full"))
            n = 0;
    ok(n, "and once");
    methods_free(&m);
    methods_add(&m, "a,full");
    ok(methods_full(&m) == 1, "where full is");
    methods_free(&m);
    methods_add(&m, "a");
    ok(methods_full(&m) == SIZE_MAX, "or that it is not");
    methods_free(&m);
}

int main(void)
{
    test_lines();
    test_many();
    test_numbers();
    test_help();
    test_wrap();
    test_completion();
    test_shards();
    test_methods();
    return done();
}
