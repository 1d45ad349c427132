/* SPDX-License-Identifier: BSD-2-Clause
 * full.c - keeps every token, in one pass: the baseline, exact. */
#include "config.h"
#include "src/select/select.h"

extern const struct gkv__select gkv__select_full;

static const struct gkv__param params[] = { { .name = NULL } };

const struct gkv__select gkv__select_full = {
    .name = "full",
    .summary = "no selection: the whole prompt through the whole model",
    .params = params,
    .kind = GKV__KEEPS_ALL,
};
