/* SPDX-License-Identifier: BSD-2-Clause
 * readers.h - what we read ourselves, each in a process of its own (child.h) */
#ifndef GEMKV_CLI_INPUT_READERS_H
#define GEMKV_CLI_INPUT_READERS_H

#include <stdbool.h>
#include "src/cli/input/child.h"
#include "src/cli/text.h"

child_reader read_docx, read_pptx, read_odf, read_ods, read_xlsx, read_epub, read_html, read_mail, read_csv, read_rtf;

/* The character between fields of a table, seen from its first n bytes; 0: they are no table.  Less is asked of
 * a file that is named so. */
char csv_looks(const char *p, size_t n, bool named);

/* The text of HTML, with its title or without. */
void text_of_html(const char *html, size_t n, bool title, struct text *out);

#endif
