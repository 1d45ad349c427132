/* SPDX-License-Identifier: BSD-2-Clause
 * calibrated.h - what gemkv calibrate found out about models, in the user's data directory:
 * one file per model, named by its fingerprint */
#ifndef GEMKV_CLI_CALIBRATED_H
#define GEMKV_CLI_CALIBRATED_H

#include <gemkv.h>

/* gkv_model_open, and what is known of the model is used from then on. */
gkv_status calibrated_open(gkv_model **out, const char *path, gkv_error *err);

/* The file for this model, for free(); NULL when there is no data directory. */
char *calibrated_path(const gkv_model *model);

/* The layers for the model, with text, JSON that has them and comes back as it is.  0, or an
 * exit status after saying why. */
int calibrated_store(const gkv_model *model, const char *text, size_t len);
/* *gone: there was something to forget. */
int calibrated_forget(const gkv_model *model, int *gone);

#endif
