/* SPDX-License-Identifier: BSD-2-Clause
 * args.h - option rows: what getopt, --help and the manual's check are made from */
#ifndef GEMKV_CLI_ARGS_H
#define GEMKV_CLI_ARGS_H

#include <stdint.h>
#include "src/cli/cmd.h"

struct opt {
    int         id;             /* what the command switches on                           */
    char        letter;         /* 0: none                                                */
    const char *name, *arg;     /* arg NULL: a flag                                       */
    const char *def, *help;     /* def NULL: nothing to say; help NULL: a hidden option   */
};

/* The last rows of every command; args_next acts on them itself. */
enum { OPT_HELP = 1000, OPT_LIST };
#define OPT_COMMON \
    { OPT_HELP, 'h', "help", NULL, NULL, "show this help" }, \
    { OPT_LIST, 0, "list-options", NULL, NULL, NULL }, \
    { 0, 0, NULL, NULL, NULL, NULL }

struct args {
    const struct cmd  *cmd;
    int                argc;
    char             **argv;    /* argv[0] is the command                                 */
    const struct opt  *opt;     /* the current option ...                                 */
    const char        *value;   /* ... and its argument                                   */
};

/* The next option's id, 0 after the last: then argv[optind] on are the operands. */
int args_next(struct args *a);

/* The current option's argument as a value from lo to hi; else it is a usage error. */
uint64_t args_uint(const struct args *a, uint64_t lo, uint64_t hi);
double   args_real(const struct args *a, double lo, double hi);
/* The same for N[,N]..., at most max of them; returns how many. */
size_t   args_uints(const struct args *a, uint64_t lo, uint64_t hi, uint64_t *v, size_t max);
uint64_t args_size(const struct args *a);               /* bytes: "512M", "1.5G"          */
const char *args_choice(const struct args *a);          /* a word of "a|b" in the row     */
_Noreturn void args_bad(const struct args *a, const char *expected);

/* The same for text that is only part of an argument: from s to the next character that
 * belongs to no number.  NULL when there is no such number. */
const char *parse_uint(const char *s, uint64_t lo, uint64_t hi, uint64_t *out);
const char *parse_real(const char *s, double lo, double hi, double *out);

void args_help(const struct cmd *cmd);                  /* to standard output             */
void args_list(const struct cmd *cmd);                /* "-m, --model FILE", line by line */
void args_wrap(const char *text, size_t indent);        /* the rest of a line, wrapped    */

#endif
