/* SPDX-License-Identifier: BSD-2-Clause
 * unit-commands.c - the commands of the program: every option with a number has the range that it should, what is refused,
 * what an option sets, and what help and info show */
#include "config.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/cmd.h"
#include "src/cli/options.h"
#include "src/cli/text.h"
#include "tests/args-help.h"
#include "tests/tap.h"

/* ---- the options of the program --------------------------------------------------------- */
static const struct { const struct cmd *cmd; const char *words, *range; } ranges[] = {
    { &cmd_ask, "ask --answer-timeout", "a number from 1 to 86400" },
    { &cmd_ask, "ask --top", "a number from 1 to 4294967295" },
    { &cmd_ask, "ask --layer", "a number from 0 to 2147483647" },
    { &cmd_ask, "ask --keep-first", "a number from 0 to 4294967294" },
    { &cmd_ask, "ask --keep-last", "a number from 0 to 4294967294" },
    { &cmd_ask, "ask --chunk", "a number from 16 to 65536" },
    { &cmd_ask, "ask --memory", "a size like 512M or 1.5G" },
    { &cmd_ask, "ask --context", "a number from 1 to 4294967295" },
    { &cmd_ask, "ask --max-tokens", "a number from 1 to 2147483647" },
    { &cmd_ask, "ask --draft", "a number from 0 to 4" },
    { &cmd_ask, "ask --think", "on, off, or a number of tokens from 1 on" },
    { &cmd_ask, "ask --temperature", "a number from 0 to 100" },
    { &cmd_ask, "ask --top-p", "a number from 0 to 1" },
    { &cmd_ask, "ask --min-p", "a number from 0 to 1" },
    { &cmd_ask, "ask --top-k", "a number from 0 to 2147483647" },
    { &cmd_ask, "ask --repeat-penalty", "a number from 0 to 100" },
    { &cmd_ask, "ask --presence-penalty", "a number from -100 to 100" },
    { &cmd_ask, "ask --frequency-penalty", "a number from -100 to 100" },
    { &cmd_ask, "ask --repeat-last-n", "a number from 0 to 2147483647" },
    { &cmd_ask, "ask --seed", "a number from 0 to 18446744073709551615" },
    { &cmd_ask, "ask --threads", "a number from 1 to 4096" },
    { &cmd_ask, "ask --gpu-memory", "a size like 512M or 1.5G" },
    { &cmd_ask, "ask --keep", "a number of tokens from 1 on, or a percentage like 5%" },
    { &cmd_ask, "ask --min-score", "a score, as passages have them, such as 200" },
    { &cmd_ask, "ask --snap", "one of none|word|sentence" },
    { &cmd_ask, "ask --gemm", "one of own|coarse|exact|openblas|onednn" },
    { &cmd_ask, "ask --kv-type", "one of f32|f16|bf16|q8_0" },
    { &cmd_eval, "eval niah --lengths", "a list of up to 64 numbers from 16 to 4294967295, like 8192,32768" },
    { &cmd_eval, "eval niah --depths", "a list of up to 64 numbers from 0 to 100, like 8192,32768" },
    { &cmd_eval, "eval niah --samples", "a number from 1 to 10000" },
    { &cmd_eval, "eval niah --max-tokens", "a number from 1 to 2147483647" },
    { &cmd_eval, "eval qa --limit", "a number from 1 to 4294967295" },
    { &cmd_eval, "eval perplexity --context", "a number from 8 to 2147483647" },
    { &cmd_batch, "batch --max-errors", "a number from 0 to 4294967295" },
    { &cmd_batch, "batch --retry", "a number from 0 to 1000" },
    { &cmd_bench, "bench --n-prompt", "a list of up to 64 numbers from 0 to 2147483647, like 8192,32768" },
    { &cmd_bench, "bench --n-gen", "a number from 0 to 2147483647" },
    { &cmd_bench, "bench --n-depth", "a list of up to 64 numbers from 0 to 2147483647, like 8192,32768" },
    { &cmd_bench, "bench --repetitions", "a number from 1 to 1000" },
    { &cmd_pair, "pair --keep", "a list of percentages like 5%,10%" },
    { &cmd_pair, "pair --layers", "a list of up to 64 numbers from 0 to 2147483647, like 8192,32768" },
    { &cmd_pair, "pair --max-tokens", "a number from 1 to 2147483647" },
    { &cmd_pair, "pair --samples", "a number from 1 to 10000" },
    { &cmd_calibrate, "calibrate --seed", "a number from 0 to 18446744073709551615" },
    { &cmd_info, "info --context", "a list of up to 64 numbers from 1 to 4294967295, like 8192,32768" }
};

static struct result run(const struct cmd *cmd, const char *words, const char *value)
{
    struct result r = { 0, NULL, NULL };
    size_t        n_out, n_err;
    struct io     io = { .out = open_memstream(&r.out, &n_out), .err = open_memstream(&r.err, &n_err) };
    char         *argv[MAX_WORDS + 1], *line = format("%s %s", words, value);
    int           argc;

    argv_of(line, &argc, argv);
    r.code = cmd->run(cmd, &io, argc, argv);
    fclose(io.out);
    fclose(io.err);
    free(line);
    return r;
}

static void test_ranges(void)
{
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        const char   *words = ranges[i].words, *dashes = strstr(words, " --");
        const int     n = (int)(dashes - words);
        char         *want = format("gemkv: %.*s: option '%s': '?' is not %s; see 'gemkv %.*s --help'\n", n, words, dashes + 1,
                                    ranges[i].range, n, words);
        struct result r = run(ranges[i].cmd, words, "?");

        ok(r.code == EXIT_USAGE && !strcmp(r.err, want) && !*r.out, "%s: %s", words, ranges[i].range);
        if (strcmp(r.err, want))
            printf("# %s", r.err);
        free(want);
        result_free(&r);
    }
}

/* What the kinds of options of single commands refuse. */
static void test_refused(void)
{
    static const char *const budgets[] = { "5", "5%,", "5%%", "0%", "100.5%", ",5%", "5%;6%", "5%,0%", "5%,6", "-5%", "x%", "" };
    static const struct { const struct cmd *cmd; const char *words, *value, *why; } row[] = {
        { &cmd_eval, "eval kv", "--kinds=kv,x", "option '--kinds': no kind 'x'; there are kv, passkey, number and math.find" },
        { &cmd_eval, "eval kv", "--kinds=number.", "option '--kinds': no kind 'number.'; there are kv, passkey, number and math.find" },
        { &cmd_eval, "eval ruler", "--tasks=vt,cw", "option '--tasks': no task 'cw'; --help lists them" },
        { &cmd_eval, "eval ruler", "--tasks=cwe2", "option '--tasks': no task 'cwe2'; --help lists them" },
        { &cmd_eval, "eval niah", "--metric=f2", "option '--metric': no measure 'f2'; gemkv-eval(1) has them all" },
        { &cmd_eval, "eval qa", "-q", "no rows; give a file with --data" },
        { &cmd_index, "index", "-q", "no library given: the folder that documents are put into" },
        { &cmd_index, "index a", "-q", "no file given; a is the library" },
        { &cmd_index, "index --remove a", "-q", "--remove: no name given; --list shows those there are" },
        { &cmd_index, "index --list --verify a", "-q", "one of --list, --remove, --verify and --prune at a time" },
        { &cmd_index, "index --prune a", "b", "--list, --verify and --prune take a library and nothing else" },
        { &cmd_pair, "pair -f a", "b", "no operands; the text is given with -f" },
        { &cmd_pair, "pair", "-q", "which model reads? give it with --reader, the other with -m" },
        { &cmd_bench, "bench", "a", "methods, their options and a question need a document; give one with -f FILE" },
        { &cmd_bench, "bench -f a", "-p1", "-p and -d have no meaning for a document; leave them or -f out" },
        { &cmd_bench, "bench -f a b", "c", "one question only, in quotes" },
        { &cmd_chat, "chat", "a", "no question on the command line; it is asked for, or read from standard input" },
        { &cmd_chat, "chat -f a -f", "-", "the questions are on standard input; give the document as a file" },
        { &cmd_chat, "chat", "-q", "no document; give one with -f FILE, or a library with -L FOLDER" },
        { &cmd_chat, "chat -f a", "-Lb", "documents of a library, or files: give -L or -f" },
        { &cmd_chat, "chat -f a", "--top=2", "--among and --top choose documents of a library; give one with -L" },
        { &cmd_chat, "chat -f a", "--among=b", "--among and --top choose documents of a library; give one with -L" },
        { &cmd_ask, "ask a", "b", "one question only, in quotes; documents are given with -f" },
        { &cmd_ask, "ask --questions a", "b", "one question only, in quotes; documents are given with -f" },
        { &cmd_ask, "ask", "-ftext", "no question given; write it last, in quotes" },
        { &cmd_ask, "ask --questions", "-", "the questions are on standard input; give a document with -f FILE" },
        { &cmd_ask, "ask -f a", "''", "the question is empty" },
        { &cmd_ask, "ask -f a q", "--answer-model=m", "who answers? give the address with --answer-url URL" },
        { &cmd_tokenize, "tokenize a", "b", "one text only, in quotes" },
        { &cmd_tokenize, "tokenize a", "-fb", "text or -f, not both" },
        { &cmd_models, "models", "a", "it takes no names; 'gemkv info MODEL' describes one" },
        { &cmd_calibrate, "calibrate", "a", "no operands; the model is given with -m" },
        { &cmd_info, "info a", "b", "one model only" },
        { &cmd_info, "info a", "-mb", "one model only" },
        { &cmd_batch, "batch --in a", "b", "'b': no operands without --merge; rows are given with --in" },
        { &cmd_batch, "batch --merge a", "--in=b", "to join outputs: --merge FILE --in ROWS OUTPUT..." },
        { &cmd_batch, "batch --merge a", "b", "to join outputs: --merge FILE --in ROWS OUTPUT..." },
        { &cmd_batch, "batch --merge a --in b --out c", "d", "to join outputs: --merge FILE --in ROWS OUTPUT..." }
    };

    for (size_t i = 0; i < sizeof budgets / sizeof *budgets; i++) {
        struct result r = run(&cmd_pair, "pair --keep", *budgets[i] ? budgets[i] : "''");
        char         *want = format("gemkv: pair: option '--keep': '%s' is not a list of percentages like 5%%,10%%; see 'gemkv pair --help'\n", budgets[i]);

        ok(r.code == EXIT_USAGE && !strcmp(r.err, want), "pair --keep %s", budgets[i]);
        free(want);
        result_free(&r);
    }
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct result r = run(row[i].cmd, row[i].words, row[i].value);
        const int     n = row[i].cmd == &cmd_eval ? (int)strlen(row[i].words) : (int)strcspn(row[i].words, " ");
        char         *want = format("gemkv: %.*s: %s; see 'gemkv %.*s --help'\n", n, row[i].words, row[i].why, n, row[i].words);

        ok(r.code == EXIT_USAGE && !strcmp(r.err, want) && !*r.out, "%s %s", row[i].words, row[i].value);
        if (strcmp(r.err, want))
            printf("# %s", r.err);
        free(want);
        result_free(&r);
    }
}

/* ---- options that set more than one member ---------------------------------------------- */
static const struct cmd cmd_like_ask = { .name = "like", .summary = "", .synopsis = "", .takes = FOR_ASK | FOR_ELSEWHERE };

static struct io like_io;

/* Parses a line like ask's; o is for options_free.  Returns the status. */
static int asked(struct options *o, char **err, const char *given)
{
    char  *argv[MAX_WORDS + 1], *line = format("like %s", given), *out = NULL;
    size_t n_out, n_err;
    int    argc, code;

    *o = (struct options){ .top = 0 };
    like_io = (struct io){ .out = open_memstream(&out, &n_out), .err = open_memstream(err, &n_err) };
    argv_of(line, &argc, argv);
    code = options_parse(o, &cmd_like_ask, &like_io, argc, argv);
    fclose(like_io.out);
    fclose(like_io.err);
    free(out);
    for (size_t i = 0; i < o->stop.n; i++)      /* the words end with the line */
        o->stop.v[i] = NULL;
    free(line);
    return code;
}

static bool refused(const char *given, const char *why)
{
    struct options o;
    char          *err, *want = format("gemkv: like: %s; see 'gemkv like --help'\n", why);
    const bool     yes = asked(&o, &err, given) == EXIT_USAGE && !strcmp(err, want);

    if (!yes)
        printf("# %s", err);
    free(want);
    free(err);
    options_free(&o);
    return yes;
}

static void test_members(void)
{
    struct options o;
    char          *err;

    ok(!asked(&o, &err, "-k 5%") && o.gkv.keep_percent >= 5 && o.gkv.keep_percent <= 5, "--keep: a percentage");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "-k 5% -k 7") && o.gkv.keep == 7 && o.gkv.keep_percent <= 0, "and then a number of tokens");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "-k 100%") && o.gkv.keep_percent >= 100, "the largest percentage");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "-k 4294967294") && o.gkv.keep == UINT32_MAX - 1, "the largest number");
    free(err);
    options_free(&o);
    ok(refused("-k 100.5%", "option '--keep': '100.5%' is not a number of tokens from 1 on, or a percentage like 5%")
       && refused("-k 0%", "option '--keep': '0%' is not a number of tokens from 1 on, or a percentage like 5%")
       && refused("-k 4294967295", "option '--keep': '4294967295' is not a number of tokens from 1 on, or a percentage like 5%")
       && refused("-k 0", "option '--keep': '0' is not a number of tokens from 1 on, or a percentage like 5%"), "and no more");

    ok(!asked(&o, &err, "--json") && o.json && !o.lines, "--json");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--json=lines") && o.json && o.lines, "--json=lines");
    free(err);
    options_free(&o);
    ok(refused("--json=line", "option '--json' takes no argument but 'lines'"), "and no other argument");

    ok(!asked(&o, &err, "--min-score 1.5") && o.min_score >= 1.5f && o.min_score <= 1.5f, "--min-score");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--min-score=-2") && o.min_score >= -2 && o.min_score <= -2, "a negative one");
    free(err);
    options_free(&o);
    ok(refused("--min-score=--2", "option '--min-score': '--2' is not a score, as passages have them, such as 200")
       && refused("--min-score=2x", "option '--min-score': '2x' is not a score, as passages have them, such as 200"), "and no other sign");

    ok(!asked(&o, &err, "--draft 3") && o.gkv.draft == 3 && !o.gkv.draft_reader && !o.gkv.draft_mtp, "--draft: a number");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--draft reader") && o.gkv.draft == 4 && o.gkv.draft_reader && !o.gkv.draft_mtp, "the reader");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--draft mtp") && o.gkv.draft == 4 && !o.gkv.draft_reader && o.gkv.draft_mtp, "a layer of the model");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--draft mtp --draft 0") && o.gkv.draft == 0 && !o.gkv.draft_mtp, "the last counts");
    free(err);
    options_free(&o);

    ok(!asked(&o, &err, "--think on") && o.gkv.think == GKV_THINK, "--think on");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--think on --think off") && o.gkv.think == 0, "--think off");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--think 12") && o.gkv.think == 12, "--think 12");
    free(err);
    options_free(&o);
    ok(refused("--think 0", "option '--think': '0' is not on, off, or a number of tokens from 1 on")
       && refused("--think 5x", "option '--think': '5x' is not on, off, or a number of tokens from 1 on")
       && refused("--think 2147483648", "option '--think': '2147483648' is not on, off, or a number of tokens from 1 on"), "and nothing else");

    ok(!asked(&o, &err, "--keep-last 3") && o.gkv.keep_last == 3, "--keep-last");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "--keep-last 3 --keep-last prompt") && o.gkv.keep_last == GKV_KEEP_PROMPT, "--keep-last prompt");
    free(err);
    options_free(&o);

    ok(!asked(&o, &err, "-f - -f a -f a") && o.file.n == 3, "files, one of them standard input");
    free(err);
    options_free(&o);
    ok(refused("-f - -f a -f -", "standard input can be read only once, '-f -' is given twice"), "but not twice");

    ok(!asked(&o, &err, "--stop a --stop b") && o.gkv.stop == o.stop.v && o.gkv.n_stop == 2, "texts that end the answer");
    free(err);
    options_free(&o);
    ok(!asked(&o, &err, "-q -k 9") && o.quiet && like_io.quiet && options_given(&o, "keep") && options_given(&o, "quiet")
       && !options_given(&o, "layer") && options_has(&o, "layer") && !options_has(&o, "csv"), "which options it has, and which were given");
    free(err);
    options_free(&o);
}

/* ---- what they show --------------------------------------------------------------------- */
/* The help of ask ends with all names that its options take. */
static void test_names(void)
{
    struct result r = run(&cmd_ask, "ask", "--help");
    size_t        n, n_schedules, missing = 0;
    const gkv_method   *m = gkv_methods(&n);
    const gkv_schedule *s = gkv_schedules(&n_schedules);
    const char         *line;

    for (size_t i = 0; i < n; i++) {
        char *want = format("\n  %s ", m[i].name);

        missing += !strstr(r.out, want);
        free(want);
    }
    for (size_t i = 0; i < n_schedules; i++) {
        char *want = format("\n  %s ", s[i].name);

        missing += !strstr(r.out, want);
        free(want);
    }
    for (size_t i = 0; (line = gkv_template_describe(i)); i++) {
        char *want = format("\n  %.*s ", (int)strcspn(line, ":"), line);

        missing += !strstr(strstr(r.out, "Templates for --template:"), want);
        free(want);
    }
    ok(r.code == EXIT_SHOWN && !missing, "all methods, schedules and templates");
    result_free(&r);
    r = run(&cmd_eval, "eval", "nia");
    ok(r.code == EXIT_USAGE && !strcmp(r.err, "gemkv: eval: unknown task 'nia' (did you mean niah?); see 'gemkv eval --help'\n"), "a task that is near");
    result_free(&r);
    r = run(&cmd_eval, "eval", "everything");
    ok(r.code == EXIT_USAGE && !strcmp(r.err, "gemkv: eval: unknown task 'everything'; the tasks are: niah ruler kv qa perplexity; see 'gemkv eval --help'\n"),
       "or none");
    result_free(&r);
    r = run(&cmd_eval, "eval", "");
    ok(r.code == EXIT_USAGE && !strcmp(r.err, "gemkv: eval: no task given; the tasks are: niah ruler kv qa perplexity; see 'gemkv eval --help'\n"), "no task");
    result_free(&r);
}

/* Each line of the library is there, as text and as JSON. */
static void test_info(void)
{
    static const char *(*const describe[])(size_t i) = { gkv_cpu_describe, gkv_threads_describe, gkv_gemm_describe, gkv_device_describe };
    struct result text = run(&cmd_info, "info --cpu --devices", ""), json = run(&cmd_info, "info --cpu --devices --json", "");
    size_t        missing = 0, n = 0;
    const char   *s;

    for (size_t k = 0; k < sizeof describe / sizeof *describe; k++)
        for (size_t i = 0; (s = describe[k](i)); i++) {
            const char *colon = strstr(s, ": ");
            char       *line = format("\n  %s\n", s), *member = colon ? format("\"%.*s\": \"%s\"", (int)(colon - s), s, colon + 2) : NULL;

            n++;
            missing += !strstr(text.out, line);
            missing += member && !strpbrk(s, "\"\\") && !strstr(json.out, member);
            free(line);
            free(member);
        }
    ok(!text.code && !json.code && n > 3 && !missing, "kernels, threads, products and devices");
    result_free(&text);
    result_free(&json);
    text = run(&cmd_info, "info --speed --memory", "");
    ok(text.code == EXIT_USAGE && !strcmp(text.err, "gemkv: info: --speed or --memory, not both; see 'gemkv info --help'\n"), "one of them");
    result_free(&text);
}

int main(void)
{
    test_ranges();
    test_refused();
    test_members();
    test_names();
    test_info();
    return done();
}
