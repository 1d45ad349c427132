/* SPDX-License-Identifier: BSD-2-Clause
 * calibrated.h - results of gemkv calibrate, kept in the user's data directory: one file per
 * model, named by its fingerprint */
#ifndef GEMKV_CLI_CALIBRATED_H
#define GEMKV_CLI_CALIBRATED_H

#include <gemkv.h>

struct io;

/* Opens the model with gkv_model_open and sets the layers that calibrate found for it, if any. */
gkv_status calibrated_open(struct io *io, gkv_model **out, const char *path, gkv_error *err);

/* Path of the file for this model, for free(); NULL when there is no data directory. */
char *calibrated_folder(void);                  /* where the files are; NULL: nowhere; for free() */
char *calibrated_path(const gkv_model *model);

/* Stores the layers found for the model: text is JSON that has them.  0, or an exit status after
 * saying why. */
int calibrated_store(struct io *io, const gkv_model *model, const char *text, size_t len);
/* *gone: whether there was a file to remove. */
int calibrated_forget(struct io *io, const gkv_model *model, int *gone);

#endif
