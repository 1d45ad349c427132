/* SPDX-License-Identifier: BSD-2-Clause
 * options.h - the one table of options that several commands have, and what they say
 *
 * A command's struct begins with a struct options, itself or as the beginning of its first member:
 * rows name their place in it by its distance from there. */
#ifndef GEMKV_CLI_OPTIONS_H
#define GEMKV_CLI_OPTIONS_H

#include <stdbool.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/methods.h"

/* Who has an option: commands, and makers of prompts. */
enum {
    FOR_ASK = 1,                        /* and select                                     */
    FOR_BENCH = 2,
    FOR_CALIBRATE = 4,
    FOR_INFO = 8,
    FOR_TOKENIZE = 16,
    FOR_PERPLEXITY = 32,
    FOR_ROWS = 64,                      /* tasks of eval that ask methods                 */
    FOR_LENGTHS = 128,                  /* prompts of several lengths, ...                */
    FOR_DEPTHS = 256,                   /* ... of answers at several places in them,      */
    FOR_HAYSTACK = 512,                 /* ... of files of text,                          */
    FOR_NEEDLES = 1024,                 /* ... and of sentences that are put there        */
    FOR_EVAL = 2048,                    /* eval without a task                            */
    FOR_ALL = ~0
};

struct options {
    gkv_options    gkv;
    const char    *model, *cpu;
    const char    *text;                /* the one file, or NULL                          */
    struct words   file;                /* of ask and select; "-" is standard input       */
    struct methods methods;
    struct numbers lengths, depths;
    uint64_t       samples;
    struct words   haystack;
    const char    *needles, *metric, *grade, *out, *plot, *rows, *report;
    bool           json, csv, quiet, verbose, tty;

    char         **operand;             /* what is left: n_operand words                  */
    int            n_operand;
    const struct cmd *cmd;
    uint64_t       given;               /* bit i: row i of the command                    */
};

extern const struct opt options_table[];        /* NULL name last                         */

/* Sets *o, zeroed, and the struct that it begins, from the command line; dies when it is wrong. */
void options_parse(struct options *o, const struct cmd *cmd, int argc, char **argv);
bool options_given(const struct options *o, const char *name);
void options_free(struct options *o);

#endif
