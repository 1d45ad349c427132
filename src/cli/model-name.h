/* SPDX-License-Identifier: BSD-2-Clause
 * model-name.h - what people give as a model: a file, and what other programs take */
#ifndef GEMKV_CLI_MODEL_NAME_H
#define GEMKV_CLI_MODEL_NAME_H

struct io;

/* *path: the model's file, for free(): name itself, or the file that Ollama has under this name.  0, or an exit status
 * after saying why there is none, with the command that downloads or converts it. */
int model_name(struct io *io, const char *name, char **path);

/* The word as a shell reads it back; for free(). */
char *name_quoted(const char *word);

/* Says how to download "user/repo[:quant]" of the Hugging Face hub; name NULL: in general.  Returns an exit status. */
int name_of_hub(struct io *io, const char *name);

#endif
