/* SPDX-License-Identifier: BSD-2-Clause
 * base64.h - data in base64 (RFC 4648), as it comes in JSON */
#ifndef GEMKV_CLI_SERVE_BASE64_H
#define GEMKV_CLI_SERVE_BASE64_H

#include <stdbool.h>

/* Decodes text, in which white space does not count, to a new file; template is as for mkstemp(3).  False: it is not
 * base64, or cannot be written; then there is no file. */
bool base64_to_file(const char *text, char *template);

#endif
