/* SPDX-License-Identifier: BSD-2-Clause
 * child.h - a program, or a function, that turns one file into text in a process of its own
 *
 * Files are an attacker's, and so may be what a converter does with them.  The process gets the file as descriptor
 * CHILD_FILE and nothing else of ours: no other descriptor, no network, no shell, a temporary folder of its own, and
 * limits of memory, time and output.  It dies with us. */
#ifndef GEMKV_CLI_INPUT_CHILD_H
#define GEMKV_CLI_INPUT_CHILD_H

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "src/cli/text.h"

enum { CHILD_FILE = 3, CHILD_ARGS = 16, CHILD_NO_PROGRAM = 127 };

/* Limits, which the manual names.  The seconds are $GEMKV_CONVERTER_SECONDS if that is set. */
enum { CHILD_SECONDS = 300, CHILD_MEMORY_GIB = 4, CHILD_OUTPUT_GIB = 1 };

/* Reads the file fd and writes its text to out.  0, or 1 after writing one line about why not to err. */
typedef int child_reader(int fd, FILE *out, FILE *err);
/* For a reader that takes the file as one text: as it returns. */
int child_text(int fd, struct text *t, FILE *err);

struct child {
    pid_t    pid;               /* 0: none                                                */
    int      out;               /* its standard output                                    */
    FILE    *err;               /* what it wrote to standard error                        */
    char    *dir;               /* its temporary folder                                   */
    uint64_t bytes;             /* of its output so far                                   */
};

/* Starts argv, whose program is looked up in $PATH, or the reader if that is not NULL.  0 or an errno. */
int child_start(struct child *c, const char *const *argv, child_reader *reader, int file);
/* Reads some bytes; 0 at the end.  -1: *why is set, NULL if a signal cancelled us. */
ssize_t child_read(struct child *c, char *buf, size_t n, const char **why);
/* Ends it, killing it if it still runs.  0, or what it returned, or 128 and more if a signal ended it.  why[n] gets its first line
 * about an error, or "". */
int child_end(struct child *c, char *why, size_t n);

#endif
