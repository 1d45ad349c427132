/* SPDX-License-Identifier: BSD-2-Clause
 * options.h - the one table of options that commands share, and the struct that they set
 *
 * A command's struct begins with a struct options, directly or at the beginning of its first member,
 * because rows name a member by its offset from there. */
#ifndef GEMKV_CLI_OPTIONS_H
#define GEMKV_CLI_OPTIONS_H

#include <stdbool.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/methods.h"

/* Which commands have an option, and what kinds of prompts they make. */
enum {
    FOR_ASK = 1,                        /* ask and select                                 */
    FOR_BENCH = 2,
    FOR_CALIBRATE = 4,
    FOR_INFO = 8,
    FOR_TOKENIZE = 16,
    FOR_PERPLEXITY = 32,
    FOR_ROWS = 64,                      /* tasks of eval that ask methods                 */
    FOR_LENGTHS = 128,                  /* that make prompts of several lengths, ...      */
    FOR_DEPTHS = 256,                   /* ... with answers at several depths,            */
    FOR_HAYSTACK = 512,                 /* ... from files of text,                        */
    FOR_NEEDLES = 1024,                 /* ... with sentences put into them               */
    FOR_EVAL = 2048,                    /* eval without a task                            */
    FOR_INDEX = 4096,
    FOR_CHAT = 8192,
    FOR_QA = 16384,
    FOR_MODELS = 32768,
    FOR_ELSEWHERE = 65536,              /* that show answers, perhaps of another program  */
    FOR_PAIR = 131072,
    FOR_SERVE = 262144,
    FOR_BATCH = 524288,
    FOR_ALL = 0x7fffffff
};

struct options {
    gkv_options    gkv;
    const char    *model, *cpu;
    const char    *reader;              /* the model that reads, or NULL: the same        */
    const char    *answer_url, *answer_model, *answer_key;     /* who answers elsewhere, or NULL      */
    uint32_t       answer_timeout;      /* seconds; 0: the default                        */
    const char    *text;                /* a single file, or NULL                         */
    struct words   file;                /* for ask and select; "-" is standard input      */
    const char    *questions;           /* a file of them                                 */
    const char    *library, *among;     /* the folder, and which documents; or NULL       */
    uint32_t       top;                 /* how many of them; 0: the default               */
    struct methods methods;
    struct numbers lengths, depths;
    uint64_t       samples;
    struct words   haystack;
    const char    *grammar, *schema;    /* file or text, or NULL                          */
    struct words   stop;                /* of gkv.stop                                    */
    const char    *needles, *metric, *grade, *out, *plot, *rows, *report;
    float          min_score;
    bool           json, csv, quiet, verbose, tty, force, cite;
    bool           lines;               /* json, as lines that come while it works        */
    bool           ocr, recursive;     /* how files are read and found                   */
    struct words   found;              /* names in `file` that are ours to free          */

    const char   **operand;             /* n_operand words after the options              */
    int            n_operand;
    const struct cmd *cmd;
    struct io     *io;                  /* where messages and results go                  */
    uint64_t       given;               /* bit i: row i of the command                    */
};

extern const struct opt options_table[];        /* NULL name last                         */

/* Sets *o, which is zeroed and begins the command's struct, from the command line.  0, or an exit status: after saying
 * what is wrong, or EXIT_SHOWN. */
int  options_parse(struct options *o, const struct cmd *cmd, struct io *io, int argc, char **argv);
/* Folders and patterns among the names of documents become files, as --recursive and --ocr say.  0 or an exit status. */
int  options_find(struct options *o, struct words *w);
/* Sets an option that the command has, as if it were given.  0, or an exit status after saying what is wrong. */
int  options_set(struct options *o, const char *name, const char *value);
bool options_has(const struct options *o, const char *name);      /* its command has it */
bool options_given(const struct options *o, const char *name);    /* ... and it was given */
void options_free(struct options *o);

#endif
