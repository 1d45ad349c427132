/* SPDX-License-Identifier: BSD-2-Clause
 * options.c - command lines: words that end with a newline, the first a command's name */
#include "config.h"
#include <string.h>
#include "src/cli/options.h"
#include "src/cli/say.h"
#include "tests/fuzz/fuzz.h"

static const struct cmd *const commands[] = {
    &cmd_ask, &cmd_chat, &cmd_batch, &cmd_select, &cmd_index, &cmd_serve, &cmd_bench, &cmd_calibrate, &cmd_eval,
    &cmd_pair, &cmd_info, &cmd_models, &cmd_tokenize
};

enum { N_COMMANDS = sizeof commands / sizeof *commands, WORDS = 64 };

static const struct cmd *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (!strcmp(name, commands[i]->name))
            return commands[i];
        for (const struct cmd *const *t = commands[i]->tasks; t && *t; t++)
            if (!strcmp(name, (*t)->name))
                return *t;
    }
    return commands[0];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    static union { struct options o; char bytes[1 << 14]; } of;         /* as large as any command's */
    struct input in = { data, size };
    char        *word[WORDS + 1];
    int          n = 0, code;
    struct io    io;

    if (!null)
        null = fopen("/dev/null", "w");
    io = (struct io){ .out = null, .err = null };
    while (in.n && n < WORDS)
        word[n++] = fuzz_text(take_until(&in, '\n'));
    word[n] = NULL;
    if (n) {
        memset(&of, 0, sizeof of);
        code = options_parse(&of.o, find(word[0]), &io, n, word);
        must(code >= EXIT_SHOWN && code <= EXIT_ROWS && of.o.n_operand >= 0 && of.o.n_operand < n);
        must(of.o.lengths.n <= MAX_NUMBERS && of.o.depths.n <= MAX_NUMBERS);
        options_free(&of.o);
    }
    while (n)
        free(word[--n]);
    return 0;
}
