/* SPDX-License-Identifier: BSD-2-Clause
 * zip.h - members of a ZIP archive, by name */
#ifndef GEMKV_CLI_INPUT_ZIP_H
#define GEMKV_CLI_INPUT_ZIP_H

#include <stddef.h>

/* The whole member, with a NUL after it, for free(); NULL: there is none, or it is damaged. */
char *zip_member(int fd, const char *name, size_t *n);

/* The member that `target` means in a member of that name: "xl/workbook.xml" and "sheets/a.xml" give
 * "xl/sheets/a.xml".  For free(). */
char *zip_resolve(const char *from, const char *target);

#endif
