/* SPDX-License-Identifier: BSD-2-Clause
 * args.h - options as rows of a table, from which the command line is parsed, and --help and the manual's check are
 * made.  The syntax is that of GNU getopt_long, whose state is the process's; here it is in struct args. */
#ifndef GEMKV_CLI_ARGS_H
#define GEMKV_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/cli/cmd.h"

struct words {
    const char **v;             /* for free()                                             */
    size_t       n;
};

void words_add(struct words *w, const char *word);

struct args {
    const struct cmd  *cmd;
    struct io         *io;
    int                argc, at;        /* at: the next word, at first 1                  */
    char             **argv;    /* argv[0] is the command                                 */
    const struct opt  *opt;     /* the current option ...                                 */
    const char        *value;   /* ... and its argument                                   */
    const char        *letters; /* of the current word, still to come                     */
    bool               ended;   /* "--" has come: no more options                         */
    struct words       operand; /* the words that are no options                          */
};

/* Stores the current option's argument where its row says.  0, or an exit status after saying what is wrong. */
typedef int opt_set(const struct args *a, void *at);

struct opt {
    unsigned    takers;         /* commands that have it: see options.h                   */
    char        letter;         /* 0: none                                                */
    const char *name, *arg;     /* arg NULL: a flag; "[=WORD]": it can be left out        */
    const char *def, *help;     /* NULL def: none to show; NULL help: hidden option       */
    opt_set    *set;
    size_t      at;             /* offset in the command's struct of what set fills       */
    uint64_t    lo, hi;         /* range of its numbers                                   */
};

/* Kinds of options. */
opt_set opt_flag,               /* bool                                                   */
        opt_on,                 /* int                                                    */
        opt_text,               /* const char *                                           */
        opt_file,               /* the same, but only once                                */
        opt_choice,             /* the same: a word of "a|b" in the row                   */
        opt_u32, opt_u64, opt_f32,
        opt_size,               /* uint64_t: "512M", "1.5G"                               */
        opt_numbers,            /* struct numbers: N[,N]...                               */
        opt_words,              /* struct words: adds one each time                       */
        opt_help, opt_list;     /* print the options; EXIT_SHOWN                          */

enum { MAX_NUMBERS = 64 };

struct numbers {
    uint64_t v[MAX_NUMBERS];
    size_t   n;
};

/* The command's options in the order of its --help, into row[MAX_OPTS].  Returns how many. */
enum { MAX_OPTS = 60 };
size_t args_rows(const struct cmd *cmd, const struct opt **row);

/* Sets a->opt to the next option, or to NULL after the last.  0, or an exit status after saying what is wrong. */
int args_next(struct args *a);

int args_bad(const struct args *a, const char *expected);

/* Parse a number that is only part of an argument.  Return the first character after it, or NULL when
 * there is no number from lo to hi. */
const char *parse_uint(const char *s, uint64_t lo, uint64_t hi, uint64_t *out);
const char *parse_real(const char *s, double lo, double hi, double *out);

void args_help(struct io *io, const struct cmd *cmd);                  /* as a result     */
void args_list(struct io *io, const struct cmd *cmd);   /* "-m, --model FILE", line by line */
void args_wrap(struct io *io, const char *text, size_t indent);        /* the rest of a line, wrapped    */

#endif
