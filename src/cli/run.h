/* SPDX-License-Identifier: BSD-2-Clause
 * run.h - what ask and select share: their options, and the way from these to a session
 * that has read its documents and its question */
#ifndef GEMKV_CLI_RUN_H
#define GEMKV_CLI_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/output.h"

struct run {
    const char   *model_path, *cpu, *question, *report_path;
    struct output report;
    const char  **file;                         /* as given; "-" is standard input        */
    size_t        n_file;
    bool          json, quiet, verbose, tty;
    gkv_options   opt;
    gkv_model    *model;
    gkv_session  *session;
    char          warned[256];                  /* the last warning of the library        */
};

typedef gkv_status run_ask(gkv_session *s, const char *question, size_t len,
                           gkv_error *err);

extern const struct opt run_opts[];
void run_more_help(void);                       /* the methods and their parameters       */

/* Everything up to and with ask (gkv_ask or gkv_select).  0 or an exit status; either way
 * run_close follows. */
int  run_open(struct run *r, const struct cmd *cmd, int argc, char **argv, run_ask *ask);
void run_close(struct run *r);

/* Says what the library warns of, unless it has been said. */
void run_warn(struct run *r);

/* Says why the library gave up, or how far the work was when it was cancelled. */
int  run_failed(gkv_status status, const gkv_error *err);

/* The object of the contract; answer NULL: without "answer" and "finish". */
void run_json(const struct run *r, const char *answer, size_t len);

/* ---- also of use to info and tokenize ------------------------------------------------ */
/* arg of -m or, when NULL, $GEMKV_MODEL or the bundled model; dies when there is none. */
char *run_model_path(const struct cmd *cmd, const char *arg);
/* A bundled file, for free(), or NULL. */
char *run_data_path(const char *name);
/* The level of --cpu or, when NULL, of $GEMKV_CPU; dies when there is no such level. */
void  run_cap_cpu(const char *level);
/* "N" or "P%" */
void  run_parse_keep(const struct args *a, gkv_options *opt);

#endif
