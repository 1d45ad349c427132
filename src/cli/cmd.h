/* SPDX-License-Identifier: BSD-2-Clause
 * cmd.h - commands: one file cmd-NAME.c, one const struct, and one line here and in main.c each */
#ifndef GEMKV_CLI_CMD_H
#define GEMKV_CLI_CMD_H

/* Exit statuses, which scripts rely on. */
enum {
    EXIT_SHOWN = -1,            /* an option such as --help was all there was to do; main() makes it EXIT_DONE */
    EXIT_DONE = 0,
    EXIT_FAILED,                /* input, output, device, cancelled                       */
    EXIT_USAGE,
    EXIT_MODEL,                 /* the model file was refused                             */
    EXIT_TOO_BIG,               /* would exceed --memory or --context                     */
    EXIT_DOCUMENT,              /* the document was refused                               */
    EXIT_ROWS                   /* all is done, but rows have failed                      */
};

/* What a command needs, when it has shut itself in, beside the files that its options name (confine.c). */
enum {
    NEEDS_PROGRAMS = 1,         /* converters of documents                                */
    NEEDS_ANY_FILE = 2,         /* to read                                                */
    NEEDS_SOCKET   = 4,         /* until it listens                                       */
    NEEDS_LAYERS   = 8,         /* to write the layers of models                          */
    NEEDS_HISTORY  = 16,        /* ... and what is typed                                  */
    NEEDS_OPERAND  = 32         /* ... and the folder that is its first operand           */
};

struct io;
struct opt;

/* The command's default for an option of the table. */
struct opt_default { const char *name, *value; };

struct cmd {
    const char        *name, *summary, *synopsis;
    unsigned           takes;                   /* bits of options.h: rows of options_table */
    unsigned           needs;                   /* bits of the above                      */
    const struct opt  *own;                     /* rows before those, or NULL             */
    const struct opt_default *defaults;         /* where they differ from the table, or NULL */
    int              (*run)(const struct cmd *self, struct io *io, int argc, char **argv);
    void             (*more_help)(struct io *io);       /* printed after the options; or NULL */
    const struct cmd *const *tasks;             /* subcommands, NULL last; or NULL */
};

extern const struct cmd cmd_ask, cmd_batch, cmd_chat, cmd_select, cmd_bench, cmd_calibrate, cmd_eval, cmd_index, cmd_info,
                        cmd_models, cmd_pair, cmd_serve, cmd_tokenize;

#endif
