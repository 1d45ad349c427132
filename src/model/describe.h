/* SPDX-License-Identifier: BSD-2-Clause
 * describe.h - counts of tensor types, as text for gkv_model_info. */
#ifndef GKV__DESCRIBE_H
#define GKV__DESCRIBE_H

#include "src/gguf/gguf.h"

enum { GKV__N_GROUPS = 7 };

struct gkv__types {
    char           all[96];                     /* "q8_0 113, f32 33"                        */
    char           text[GKV__N_GROUPS][96];     /* the same for each group                   */
    gkv_type_group group[GKV__N_GROUPS + 1];    /* groups that the file has                  */
    uint64_t       parameters;
};

void gkv__describe_types(const struct gkv__gguf *g, struct gkv__types *out);

#endif
