/* SPDX-License-Identifier: BSD-2-Clause
 * unit-options.c - the words of a command line: which option each is, which values it takes, and what is said of others;
 * parameters of methods */
#include "config.h"
#include <inttypes.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include "src/base/param.h"
#include "src/cli/options.h"
#include "src/cli/say.h"
#include "src/cli/text.h"
#include "tests/tap.h"

enum { WORDS = 16 };

struct parsed {
    struct options o;
    char           own[4096];           /* behind them, what commands have of their own   */
    int            code;
    char          *err;                 /* what was said, without the newline             */
    char          *word[WORDS + 2];
};

/* "ask -k 5 q" is a command and its words. */
static struct parsed *parse(const struct cmd *cmd, const char *line)
{
    static struct parsed p;
    static struct io     io;
    char                *all = format("%s", line), *at = all;
    size_t               n_err;
    int                  n = 0;

    memset(&p, 0, sizeof p);
    p.word[n++] = format("%s", cmd->name);
    while (*at && n <= WORDS) {
        const size_t k = strcspn(at, " ");

        p.word[n++] = format("%.*s", (int)k, at);
        at += k + (at[k] == ' ');
    }
    io = (struct io){ .out = fopen("/dev/null", "w"), .err = open_memstream(&p.err, &n_err) };
    p.code = options_parse(&p.o, cmd, &io, n, p.word);
    fclose(io.out);
    fclose(io.err);
    p.err[strcspn(p.err, "\n")] = 0;
    free(all);
    return &p;
}

static void done_with(struct parsed *p)
{
    options_free(&p->o);
    free(p->err);
    for (int i = 0; p->word[i]; i++)
        free(p->word[i]);
}

/* It is refused with these words. */
static void refused(int line, const struct cmd *cmd, const char *words, const char *why)
{
    struct parsed *p = parse(cmd, words);
    char          *want = format("gemkv: %s: %s; see 'gemkv %s --help'", cmd->name, why, cmd->name);
    const bool     good = p->code == EXIT_USAGE && !strcmp(p->err, want);

    ok(good, "line %d: %s", line, words);
    if (!good)
        printf("# want %s\n# got  %d %s\n", want, p->code, p->err);
    free(want);
    done_with(p);
}

#define REFUSED(words, why) refused(__LINE__, &cmd_ask, words, why)

/* It is taken, and this holds of the options, p->o. */
#define TAKEN_BY(cmd, words, condition) do { \
        struct parsed *p = parse(cmd, words); \
        ok(!p->code && !*p->err && (condition), "line %d: %s", __LINE__, words); \
        if (p->code) printf("# %s\n", p->err); \
        done_with(p); \
    } while (0)
#define TAKEN(words, condition) TAKEN_BY(&cmd_ask, words, condition)

static bool is(const char *a, const char *b)
{
    return a && !strcmp(a, b);
}

/* ---- words ------------------------------------------------------------------------------- */
static void spellings(void)
{
    TAKEN("q", p->o.n_operand == 1 && is(p->o.operand[0], "q") && !p->o.given);
    TAKEN("--model a", is(p->o.model, "a") && !p->o.n_operand && p->o.given == 1);
    TAKEN("--model=a", is(p->o.model, "a"));
    TAKEN("--model=", is(p->o.model, ""));
    TAKEN("--mod=a b", is(p->o.model, "a") && is(p->o.operand[0], "b"));
    TAKEN("-m a", is(p->o.model, "a"));
    TAKEN("-ma", is(p->o.model, "a"));
    TAKEN("-qma b", p->o.quiet && is(p->o.model, "a") && is(p->o.operand[0], "b"));
    TAKEN("-qv", p->o.quiet && p->o.verbose);
    TAKEN("a -q b -- -v --x", p->o.n_operand == 4 && p->o.quiet && !p->o.verbose && is(p->o.operand[2], "-v") && is(p->o.operand[3], "--x"));
    TAKEN("- a", p->o.n_operand == 2 && is(p->o.operand[0], "-"));
    TAKEN("-m -- a", is(p->o.model, "--") && p->o.n_operand == 1);
    TAKEN("--keep 7 --keep-first 8", p->o.gkv.keep == 7 && p->o.gkv.keep_first == 8);
    TAKEN("--json", p->o.json && !p->o.lines);
    TAKEN("--json=lines", p->o.json && p->o.lines);
    TAKEN("--raw", p->o.gkv.raw == 1);
    REFUSED("--json=line", "option '--json' takes no argument but 'lines'");
    REFUSED("--quiet=1", "option '--quiet' takes no argument");
    REFUSED("--model", "option '--model' needs an argument: FILE");
    REFUSED("-m", "option '--model' needs an argument: FILE");
    REFUSED("-qm", "option '--model' needs an argument: FILE");
    REFUSED("-Z", "unknown option '-Z'");
    REFUSED("-qZ", "unknown option '-Z'");
    REFUSED("--xylophone", "unknown option '--xylophone'");
    REFUSED("--xylophone=1", "unknown option '--xylophone'");
    REFUSED("--modle a", "unknown option '--modle' (did you mean --model?)");
    REFUSED("--te 1", "option '--te' may be any of --temperature --template");
    REFUSED("--keep- 1", "option '--keep-' may be any of --keep-first --keep-last");
    REFUSED("--tt", "unknown option '--tt'");                          /* of --tty nothing is told */
    TAKEN("--tty", p->o.tty);
    /* One dash too few. */
    REFUSED("-method full", "option '-method' has two dashes: '--method'");
    REFUSED("-keep=5", "option '-keep=5' has two dashes: '--keep=5'");
    TAKEN("-metho full", is(p->o.model, "etho"));
    REFUSED("-model a", "option '-model' has two dashes: '--model'");
}

static void elsewhere(void)
{
    REFUSED("-p q", "no option '-p'; the question needs no option: write it last, in quotes");
    REFUSED("--prompt=q", "no option '--prompt'; the question needs no option: write it last, in quotes");
    REFUSED("-ngl 99", "no option '-ngl'; a GPU is used if there is one; --device cuda asks for it");
    REFUSED("--ctx-size 5", "no option '--ctx-size'; documents may have any length; -c N refuses longer ones");
    REFUSED("-mu x", "no option '-mu'; gemkv does not download; give a file with -m");
    REFUSED("--temp 1", "option '--temp' may be any of --temperature --template");
    REFUSED("-fa", "no option '-fa'; attention is always computed in tiles");
    TAKEN("-fb", p->o.file.n == 1 && is(p->o.file.v[0], "b"));
    {
        struct parsed *p = parse(&cmd_ask, "-hf a/b");
        const bool     named = strstr(p->err, "a/b") != NULL;

        ok(p->code && named, "a name of the hub: %s", p->err);
        done_with(p);
        p = parse(&cmd_ask, "--hf-repo=a/b");
        ok(p->code && strstr(p->err, "a/b"), "... behind the option: %s", p->err);
        done_with(p);
        p = parse(&cmd_ask, "-hf");
        ok(p->code && !strstr(p->err, "a/b"), "... or none: %s", p->err);
        done_with(p);
    }
}

/* ---- values ------------------------------------------------------------------------------ */
static void numbers(void)
{
#define TOKENS "' is not a number of tokens from 1 on, or a percentage like 5%"
    TAKEN("-k 1", p->o.gkv.keep == 1 && p->o.gkv.keep_percent <= 0);
    TAKEN("-k 4294967294", p->o.gkv.keep == 4294967294);
    TAKEN("-k 5%", p->o.gkv.keep_percent >= 5 && p->o.gkv.keep_percent <= 5);
    TAKEN("-k 5% -k 6", p->o.gkv.keep == 6 && p->o.gkv.keep_percent <= 0);
    TAKEN("-k .5%", p->o.gkv.keep_percent >= 0.5f && p->o.gkv.keep_percent <= 0.5f);
    TAKEN("-k 100%", p->o.gkv.keep_percent >= 100);
    REFUSED("-k 0", "option '--keep': '0" TOKENS);
    REFUSED("-k 0%", "option '--keep': '0%" TOKENS);
    REFUSED("-k 101%", "option '--keep': '101%" TOKENS);
    REFUSED("-k 5%%", "option '--keep': '5%%" TOKENS);
    REFUSED("-k 5x", "option '--keep': '5x" TOKENS);
    REFUSED("-k 4294967295", "option '--keep': '4294967295" TOKENS);
    REFUSED("-k -1", "option '--keep': '-1" TOKENS);
    REFUSED("-k -1%", "option '--keep': '-1%" TOKENS);

    TAKEN("-t 1", p->o.gkv.threads == 1);
    TAKEN("-t 4096", p->o.gkv.threads == 4096);
    TAKEN("-t 0012", p->o.gkv.threads == 12);
    REFUSED("-t 0", "option '--threads': '0' is not a number from 1 to 4096");
    REFUSED("-t 4097", "option '--threads': '4097' is not a number from 1 to 4096");
    REFUSED("-t 5x", "option '--threads': '5x' is not a number from 1 to 4096");
    REFUSED("-t 0x5", "option '--threads': '0x5' is not a number from 1 to 4096");
    REFUSED("-t /", "option '--threads': '/' is not a number from 1 to 4096");
    REFUSED("-t :", "option '--threads': ':' is not a number from 1 to 4096");
    REFUSED("-t=", "option '--threads': '=' is not a number from 1 to 4096");
    TAKEN("--seed 18446744073709551615", p->o.gkv.seed == UINT64_MAX);
    TAKEN("--seed 0", p->o.gkv.seed == 0);
    REFUSED("--seed 18446744073709551616", "option '--seed': '18446744073709551616' is not a number from 0 to 18446744073709551615");
    REFUSED("--seed 184467440737095516150", "option '--seed': '184467440737095516150' is not a number from 0 to 18446744073709551615");
    REFUSED("--seed=", "option '--seed': '' is not a number from 0 to 18446744073709551615");

#define ABOUT(x, want) ((x) > (want) - 1e-6 && (x) < (want) + 1e-6)
    TAKEN("--temperature 0.7", ABOUT(p->o.gkv.temperature, 0.7));
    TAKEN("--temperature 100", ABOUT(p->o.gkv.temperature, 100));
    TAKEN("--temperature 1.", ABOUT(p->o.gkv.temperature, 1));
    REFUSED("--temperature 100.1", "option '--temperature': '100.1' is not a number from 0 to 100");
    REFUSED("--temperature -1", "option '--temperature': '-1' is not a number from 0 to 100");
    REFUSED("--temperature .", "option '--temperature': '.' is not a number from 0 to 100");
    REFUSED("--temperature 1.2.3", "option '--temperature': '1.2.3' is not a number from 0 to 100");
    REFUSED("--temperature 1x", "option '--temperature': '1x' is not a number from 0 to 100");
    REFUSED("--temperature nan", "option '--temperature': 'nan' is not a number from 0 to 100");
    REFUSED("--temperature=", "option '--temperature': '' is not a number from 0 to 100");
    TAKEN("--presence-penalty -2.5", ABOUT(p->o.gkv.presence_penalty, -2.5));
    TAKEN("--presence-penalty -100", ABOUT(p->o.gkv.presence_penalty, -100));
    REFUSED("--presence-penalty -100.5", "option '--presence-penalty': '-100.5' is not a number from -100 to 100");
    REFUSED("--presence-penalty -", "option '--presence-penalty': '-' is not a number from -100 to 100");
    REFUSED("--presence-penalty --1", "option '--presence-penalty': '--1' is not a number from -100 to 100");
    TAKEN("--top-p 0.000000000000000000000000000000000000000000000000000000000000", p->o.gkv.top_p <= 0);
    REFUSED("--top-p 0.000000000000000000000000000000000000000000000000000000000000000",
            "option '--top-p': '0.000000000000000000000000000000000000000000000000000000000000000' is not a number from 0 to 1");

#define SCORE "' is not a score, as passages have them, such as 200"
    TAKEN("--min-score 200", ABOUT(p->o.min_score, 200));
    TAKEN("--min-score -1.5", ABOUT(p->o.min_score, -1.5));
    REFUSED("--min-score x", "option '--min-score': 'x" SCORE);
    REFUSED("--min-score 5x", "option '--min-score': '5x" SCORE);
    REFUSED("--min-score --5", "option '--min-score': '--5" SCORE);

#define SIZE "' is not a size like 512M or 1.5G"
#define MEMORY(word, want) TAKEN("--memory " word, p->o.gkv.memory_limit == (want))
    MEMORY("1", 1);
    MEMORY("123456", 123456);
    MEMORY("1K", 1024);
    MEMORY("1k", 1024);
    MEMORY("1.5KiB", 1536);
    MEMORY("2MB", UINT64_C(2) << 20);
    MEMORY("0.5G", UINT64_C(1) << 29);
    MEMORY("3t", UINT64_C(3) << 40);
    MEMORY("8388607T", UINT64_C(8388607) << 40);
    REFUSED("--memory 8388608T", "option '--memory': '8388608T" SIZE);
    REFUSED("--memory 0", "option '--memory': '0" SIZE);
    REFUSED("--memory 0K", "option '--memory': '0K" SIZE);
    REFUSED("--memory 1.5", "option '--memory': '1.5" SIZE);
    REFUSED("--memory 5X", "option '--memory': '5X" SIZE);
    REFUSED("--memory 5Kx", "option '--memory': '5Kx" SIZE);
    REFUSED("--memory 5KB1", "option '--memory': '5KB1" SIZE);
    REFUSED("--memory M", "option '--memory': 'M" SIZE);
    REFUSED("--memory -5M", "option '--memory': '-5M" SIZE);
    TAKEN("--memory 0.0009765625K", p->o.gkv.memory_limit == 1);
    REFUSED("--memory 0.0009K", "option '--memory': '0.0009K" SIZE);
}

/* The bounds of each option that is a number. */
static void bounds(void)
{
    static const struct { const struct cmd *cmd; const char *name, *low, *high, *less, *more; } of[] = {
        { &cmd_ask, "answer-timeout", "1", "86400", "0", "86401" }, { &cmd_ask, "top", "1", "4294967295", "0", "4294967296" },
        { &cmd_ask, "layer", "0", "2147483647", "-1", "2147483648" }, { &cmd_ask, "keep-first", "0", "4294967294", "-1", "4294967295" },
        { &cmd_ask, "keep-last", "0", "4294967294", "-1", "4294967295" }, { &cmd_ask, "chunk", "16", "65536", "15", "65537" },
        { &cmd_ask, "context", "1", "4294967295", "0", "4294967296" }, { &cmd_ask, "max-tokens", "1", "2147483647", "0", "2147483648" },
        { &cmd_ask, "draft", "0", "4", "-1", "5" }, { &cmd_ask, "think", "1", "2147483647", "0", "2147483648" },
        { &cmd_ask, "temperature", "0", "100", "-0.1", "100.1" }, { &cmd_ask, "top-p", "0", "1", "-0.1", "1.01" },
        { &cmd_ask, "min-p", "0", "1", "-0.1", "1.01" }, { &cmd_ask, "top-k", "0", "2147483647", "-1", "2147483648" },
        { &cmd_ask, "repeat-penalty", "0", "100", "-1", "100.1" }, { &cmd_ask, "presence-penalty", "-100", "100", "-100.1", "100.1" },
        { &cmd_ask, "frequency-penalty", "-100", "100", "-100.1", "100.1" }, { &cmd_ask, "repeat-last-n", "0", "2147483647", "-1", "2147483648" },
        { &cmd_ask, "threads", "1", "4096", "0", "4097" }, { &cmd_ask, "min-score", "-1000000", "1000000", "-x", "1e5" },
    };

    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const char *const value[] = { of[i].low, of[i].high, of[i].less, of[i].more };

        for (size_t k = 0; k < 4; k++) {
            char          *line = format("--%s=%s", of[i].name, value[k]);
            struct parsed *p = parse(of[i].cmd, line);

            ok(p->code == (k < 2 ? 0 : EXIT_USAGE), "%s", line);
            done_with(p);
            free(line);
        }
    }
}

static void words(void)
{
    TAKEN("--kv-type bf16", is(p->o.gkv.kv_type, "bf16"));
    TAKEN("--kv-type f32", is(p->o.gkv.kv_type, "f32"));
    TAKEN("--kv-type q8_0", is(p->o.gkv.kv_type, "q8_0"));
    REFUSED("--kv-type f1", "option '--kv-type': 'f1' is not one of f32|f16|bf16|q8_0 (did you mean f16?)");
    REFUSED("--kv-type xylophone", "option '--kv-type': 'xylophone' is not one of f32|f16|bf16|q8_0");
    REFUSED("--kv-type=", "option '--kv-type': '' is not one of f32|f16|bf16|q8_0");
    REFUSED("--kv-type f32|f16", "option '--kv-type': 'f32|f16' is not one of f32|f16|bf16|q8_0");
    TAKEN("--draft 0", p->o.gkv.draft == 0 && !p->o.gkv.draft_reader && !p->o.gkv.draft_mtp);
    TAKEN("--draft reader", p->o.gkv.draft == 4 && p->o.gkv.draft_reader && !p->o.gkv.draft_mtp);
    TAKEN("--draft mtp", p->o.gkv.draft == 4 && !p->o.gkv.draft_reader && p->o.gkv.draft_mtp);
    TAKEN("--draft mtp --draft 3", p->o.gkv.draft == 3 && !p->o.gkv.draft_reader && !p->o.gkv.draft_mtp);
    REFUSED("--draft 5", "option '--draft': '5' is not a number from 0 to 4");
#define THINK "' is not on, off, or a number of tokens from 1 on"
    TAKEN("--think on", p->o.gkv.think == GKV_THINK);
    TAKEN("--think off", p->o.gkv.think == 0);
    TAKEN("--think 77", p->o.gkv.think == 77);
    REFUSED("--think 0", "option '--think': '0" THINK);
    REFUSED("--think 7x", "option '--think': '7x" THINK);
    REFUSED("--think of", "option '--think': 'of" THINK);
    TAKEN("--keep-last prompt", p->o.gkv.keep_last == GKV_KEEP_PROMPT);
    TAKEN("--keep-last 3", p->o.gkv.keep_last == 3);
    REFUSED("--keep-last all", "option '--keep-last': 'all' is not a number from 0 to 4294967294");
    TAKEN("-f a -f - -f a", p->o.file.n == 3 && is(p->o.file.v[0], "a") && is(p->o.file.v[1], "-") && is(p->o.file.v[2], "a"));
    REFUSED("-f a -f - -f b -f -", "standard input can be read only once, '-f -' is given twice");
    TAKEN("--stop a --stop b", p->o.gkv.n_stop == 2 && is(p->o.gkv.stop[1], "b"));
    TAKEN_BY(&cmd_tokenize, "-f a", is(p->o.text, "a"));
    refused(__LINE__, &cmd_tokenize, "-f a -f b", "one file only");
    TAKEN_BY(&cmd_bench, "--methods full,gemfilter", p->o.methods.n == 2);
}

/* A command of our own: numbers in a list, and defaults that differ. */
static void own(void)
{
    static const struct opt_default defaults[] = { { "keep", "77" }, { "temperature", "0.5" }, { NULL, NULL } };
    static const struct opt more[] = {
        { FOR_ALL, 'y', "years", "N[,N]...", NULL, "years", opt_numbers, offsetof(struct options, lengths), 16, 99 }, { .name = NULL }
    };
    const struct cmd cmd = { .name = "mine", .summary = "Does", .synopsis = "X", .takes = FOR_ASK, .own = more, .defaults = defaults };
#define YEARS "' is not a list of up to 64 numbers from 16 to 99, like 8192,32768"
    struct parsed *one;
    struct text    many = { NULL, 0, 0 };

    TAKEN_BY(&cmd, "-y 16", p->o.lengths.n == 1 && p->o.lengths.v[0] == 16);
    TAKEN_BY(&cmd, "--years=99,16,50", p->o.lengths.n == 3 && p->o.lengths.v[0] == 99 && p->o.lengths.v[1] == 16 && p->o.lengths.v[2] == 50);
    refused(__LINE__, &cmd, "-y 15", "option '--years': '15" YEARS);
    refused(__LINE__, &cmd, "-y 16,100", "option '--years': '16,100" YEARS);
    refused(__LINE__, &cmd, "-y 16,", "option '--years': '16," YEARS);
    refused(__LINE__, &cmd, "-y 16;17", "option '--years': '16;17" YEARS);
    refused(__LINE__, &cmd, "-y ,16", "option '--years': ',16" YEARS);
    for (int i = 0; i < 64; i++)
        text_puts(&many, i ? ",20" : "-y 20");
    TAKEN_BY(&cmd, many.p, p->o.lengths.n == 64 && p->o.lengths.v[63] == 20);
    text_puts(&many, ",20");
    one = parse(&cmd, many.p);
    ok(one->code == EXIT_USAGE, "more numbers than there is room for");
    done_with(one);
    text_free(&many);

    TAKEN_BY(&cmd, "q", p->o.gkv.keep == 77 && ABOUT(p->o.gkv.temperature, 0.5) && !p->o.given && !options_given(&p->o, "keep"));
    TAKEN_BY(&cmd, "-k 5 q", p->o.gkv.keep == 5 && ABOUT(p->o.gkv.temperature, 0.5) && options_given(&p->o, "keep"));
    one = parse(&cmd, "q");
    ok(options_has(&one->o, "keep") && options_has(&one->o, "years") && !options_has(&one->o, "haystack"), "which options it has");
    ok(!options_set(&one->o, "keep", "9") && one->o.gkv.keep == 9 && options_given(&one->o, "keep") && !options_given(&one->o, "model"), "one is set");
    done_with(one);
    one = parse(&cmd, "--help --nope");
    ok(one->code == EXIT_SHOWN && !*one->err, "help ends it");
    done_with(one);
    one = parse(&cmd, "--list-options");
    ok(one->code == EXIT_SHOWN && !*one->err, "... and a list of options");
    done_with(one);
}

static void help(void)
{
    static const struct opt_default defaults[] = { { "b", "7" }, { NULL, NULL } };
    static const struct opt rows[] = {
        { FOR_ALL, 'a', "aa", NULL, NULL, "short", opt_flag, 0, 0, 0 },
        { FOR_ALL, 0, "b", "N", "5", "a default", opt_u32, 0, 0, 9 },
        { FOR_ALL, 0, "c", "[=WORD]", NULL, "sometimes", opt_text, 0, 0, 0 },
        { FOR_ALL, 'd', "hidden", NULL, NULL, NULL, opt_flag, 0, 0, 0 },
        { FOR_ALL, 'e', "exactly-so-lon", "N", NULL, "beside it", opt_u32, 0, 0, 9 },
        { FOR_ALL, 'f', "exactly-so-long", "N", "1", "one more letter: below it, and longer than a line of seventy-nine columns", opt_u32, 0, 0, 9 },
        { .name = NULL }
    };
    const struct cmd task = { .name = "t", .own = rows + 4 }, *const tasks[] = { &task, NULL };
    const struct cmd cmd = { .name = "mine", .summary = "Does", .synopsis = "X", .own = rows, .defaults = defaults, .tasks = tasks };
    static const char want[] =
        "Usage: gemkv mine X\n\nDoes.\n\nOptions:\n"
        "  -a, --aa                short\n"
        "      --b N               a default (default: 7)\n"
        "      --c[=WORD]          sometimes\n"
        "  -e, --exactly-so-lon N  beside it\n"
        "  -f, --exactly-so-long N\n"
        "                          one more letter: below it, and longer than a line of\n"
        "                          seventy-nine columns (default: 1)\n";
    static const char list[] = "-a, --aa\n--b N\n--c[=WORD]\n-e, --exactly-so-lon N\n-f, --exactly-so-long N\n"
                               "-e, --exactly-so-lon N\n-f, --exactly-so-long N\n";
    char     *out = NULL;
    size_t    n;
    struct io io = { .out = open_memstream(&out, &n) };

    args_help(&io, &cmd);
    fflush(io.out);
    ok(!strcmp(out, want), "help");
    if (strcmp(out, want))
        printf("# %s\n", out);
    rewind(io.out);
    args_list(&io, &cmd);
    fclose(io.out);
    ok(n == strlen(list) && !strncmp(out, list, n), "a list of options and those of tasks");
    free(out);
    out = NULL;
    io = (struct io){ .out = open_memstream(&out, &n) };
    args_wrap(&io, "a  b", 77);
    args_wrap(&io, "aa b", 77);
    args_wrap(&io, "longer-than-a-line c", 70);
    args_wrap(&io, "", 5);
    fclose(io.out);
    ok(!strcmp(out, "a\n                                                                             b\naa\n"
                    "                                                                             b\nlonger-than-a-line\n"
                    "                                                                      c\n\n"), "lines that are wrapped");
    free(out);
}

/* ---- parameters -------------------------------------------------------------------------- */
static const struct gkv__param rows[] = {
    { .name = "kernel", .value = "5", .help = "", .min = 1, .max = 9, .odd = true },
    { .name = "share", .value = "0.5", .help = "", .min = 0.25, .max = 1 },
    { .name = "n", .value = "3", .help = "", .min = -2, .max = 8 },
    { .name = "pool", .value = "max", .help = "", .words = "avg max none" },
    { .name = NULL }
};

/* want: all of them as text, or why not. */
static void parameters(const char *spec, const char *want)
{
    double     param[GKV__MAX_PARAMS];
    char       text[200];
    gkv_error  err = { 0 };
    gkv_status status = gkv__param_parse("method", spec, rows, param, &err);

    if (status)
        snprintf(text, sizeof text, "%.199s", err.text);
    else
        gkv__param_text(rows, param, text, sizeof text);
    ok(!strcmp(text, want), "%s", spec);
    if (strcmp(text, want))
        printf("# want %s\n# got  %s\n", want, text);
}

static void params(void)
{
    static const struct gkv__param none[] = { { .name = NULL } }, wrong[] = { { .name = "x", .value = "7", .max = 5 }, { .name = NULL } };
    double    param[GKV__MAX_PARAMS];
    char      text[64];
    gkv_error err = { 0 };

    parameters("x", "kernel=5,share=0.5,n=3,pool=max");
    parameters("x:", "method x has no parameter \"\"; it has: kernel share n pool");
    parameters("x:kernel=7", "kernel=7,share=0.5,n=3,pool=max");
    parameters("x:pool=none,n=-2,share=1,kernel=1", "kernel=1,share=1,n=-2,pool=none");
    parameters("x:pool=avg,share=0.25,kernel=9,n=8", "kernel=9,share=0.25,n=8,pool=avg");
    parameters("x:n=1,n=2", "kernel=5,share=0.5,n=2,pool=max");
    parameters("x:n=1,", "method x has no parameter \"\"; it has: kernel share n pool");
    parameters("x:kernle=7", "method x has no parameter \"kernle\" (did you mean kernel?); it has: kernel share n pool");
    parameters("x:xylophone", "method x has no parameter \"xylophone\"; it has: kernel share n pool");
    parameters("x:kernel", "kernel=: not an odd number from 1 to 9");
    parameters("x:kernel=", "kernel=: not an odd number from 1 to 9");
    parameters("x:kernel=4", "kernel=4: not an odd number from 1 to 9");
    parameters("x:kernel=11", "kernel=11: not an odd number from 1 to 9");
    parameters("x:kernel=-1", "kernel=-1: not an odd number from 1 to 9");
    parameters("x:n=2.5", "n=2.5: not a whole number from -2 to 8");
    parameters("x:n=9", "n=9: not a whole number from -2 to 8");
    parameters("x:n=-3", "n=-3: not a whole number from -2 to 8");
    parameters("x:n=3x", "n=3x: not a whole number from -2 to 8");
    parameters("x:n=nan", "n=nan: not a whole number from -2 to 8");
    parameters("x:share=0.2", "share=0.2: not a number from 0.25 to 1");
    parameters("x:share=1.01", "share=1.01: not a number from 0.25 to 1");
    parameters("x:share=0.5000000000000000000000000000", "kernel=5,share=0.5,n=3,pool=max");
    parameters("x:share=0.50000000000000000000000000000", "kernel=5,share=0.5,n=3,pool=max");
    parameters("x:share=0.500000000000000000000000000000", "share=0.500000000000000000000000000000: not a number from 0.25 to 1");
    parameters("x:pool=min", "pool=min: not one of: avg max none");
    parameters("x:pool=ma", "pool=ma: not one of: avg max none");
    parameters("x:pool=max none", "pool=max none: not one of: avg max none");
    parameters("x:pool", "pool=: not one of: avg max none");
    ok(gkv__param_parse("schedule", "y:a=1", none, param, &err) == GKV_INVALID && is(err.text, "schedule y has no parameter \"a\"; it has: none"),
       "one without parameters: %s", err.text);
    ok(gkv__param_parse("schedule", "y", wrong, param, &err) == GKV_INVALID, "a default that is none");
    ok(gkv__param_is("full", "full") && gkv__param_is("full:a=1", "full") && !gkv__param_is("ful", "full") && !gkv__param_is("full", "ful")
       && !gkv__param_is("fuel", "full"), "names before parameters");
    ok(gkv__param_row(rows, "kernel") == 0 && gkv__param_row(rows, "pool") == 3 && gkv__param_row(rows, "po") == -1, "rows by name");
    gkv__param_parse("method", "x", rows, param, &err);
    for (size_t n = 1; n < 34; n++) {           /* cut anywhere, within its room */
        char *cut = malloc(n);

        gkv__param_text(rows, param, cut, n);
        snprintf(text, sizeof text, "%.*s", (int)(n - 1), "kernel=5,share=0.5,n=3,pool=max");
        if (strcmp(cut, text))
            ok(false, "cut at %d: %s", (int)n, cut);
        free(cut);
    }
    gkv__param_text(none, param, text, sizeof text);
    ok(!*text, "no parameters");
}

int main(void)
{
    spellings();
    elsewhere();
    numbers();
    bounds();
    words();
    own();
    help();
    params();
    return done();
}
