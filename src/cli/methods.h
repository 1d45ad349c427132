/* SPDX-License-Identifier: BSD-2-Clause
 * methods.h - a list of methods that are run one after the other and compared */
#ifndef GEMKV_CLI_METHODS_H
#define GEMKV_CLI_METHODS_H

#include <stddef.h>
#include <gemkv.h>

struct options;

struct methods {                /* { NULL, 0 } is an empty list                           */
    char **spec;                /* as given, such as "asl:tau=0.3"                        */
    size_t n;
};

/* Adds a list.  Commas separate methods, and also the parameters of one: "a:x=1,y=2,b" are two methods.
 * "all": all methods there are, full first. */
void methods_add(struct methods *m, const char *list);
void methods_free(struct methods *m);

/* The index of full, or SIZE_MAX. */
size_t methods_full(const struct methods *m);

/* Checks that each method is known and can be run with the other options, so that a wrong one is refused
 * before the first is run; so is a list with a method twice.  0, or an exit status after saying why. */
int methods_check(const struct options *o, gkv_model *model);

/* Gives a method the model as in a new process: *model is closed and the file mapped again, and the
 * kernel's record of peak memory is reset to the present use, so that peaks can be compared.
 * *model is NULL on failure. */
gkv_status methods_fresh(struct io *io, gkv_model **model, const char *path, gkv_error *err);

#endif
