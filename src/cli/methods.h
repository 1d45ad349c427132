/* SPDX-License-Identifier: BSD-2-Clause
 * methods.h - several methods that are run one after the other and compared */
#ifndef GEMKV_CLI_METHODS_H
#define GEMKV_CLI_METHODS_H

#include <stddef.h>
#include <gemkv.h>

struct options;

struct methods {                /* { NULL, 0 } is an empty list                           */
    char **spec;                /* as given, such as "asl:tau=0.3"                        */
    size_t n;
};

/* Commas part methods, and the parameters of one: "a:x=1,y=2,b" are two.  "all": each there is,
 * full first. */
void methods_add(struct methods *m, const char *list);
void methods_free(struct methods *m);

/* The index of full, or SIZE_MAX. */
size_t methods_full(const struct methods *m);

/* Each is known, can be run with the other options, and is there once: so that a wrong one is refused before
 * the first is run.  Dies when one is there twice. */
gkv_status methods_check(const struct options *o, gkv_model *model, gkv_error *err);

/* A method shall meet the model as a new process would: *model is closed and the file mapped anew,
 * and the kernel's record of the largest memory begins at what there is, so that peaks can be
 * compared.  *model is NULL when that fails. */
gkv_status methods_fresh(gkv_model **model, const char *path, gkv_error *err);

#endif
