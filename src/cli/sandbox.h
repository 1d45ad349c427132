/* SPDX-License-Identifier: BSD-2-Clause
 * sandbox.h - what this process, and those that it starts, may still do
 *
 * Files are Landlock's part (sandbox.c), system calls seccomp's (sandbox-calls.c).  Both are Linux's, and both can only
 * take away.  Where the kernel has none, or another architecture is built for, nothing happens. */
#ifndef GEMKV_CLI_SANDBOX_H
#define GEMKV_CLI_SANDBOX_H

#include <stdbool.h>

/* The process that reads a document (input/child.c).
 *   dir      the folder where a program may write; NULL: one of our readers, which opens no file but iconv's tables
 *   file     the document, which it may open by its descriptor
 *   err      what it may write its messages to, opened again or not
 * No TCP connection either, and no signal to a process of ours, where the kernel knows how. */
void sandbox_enter(const char *dir, int file, int err);

/* gemkv itself, when it knows what it will read and before it has read any of it.  It may read what belongs to the
 * system, start converters, write temporary files, and use what is named here.  Threads that there are already stay as
 * they are, so there should be none. */
struct sandbox;
struct sandbox *sandbox_new(bool network);      /* NULL: not wanted, or not here; the next three take that */
void sandbox_read(struct sandbox *s, const char *path);         /* a file, or a folder with all in it */
void sandbox_change(struct sandbox *s, const char *folder);     /* files in it are made, changed and removed */
/* Frees s.  No other file than those, no signal to other processes; without `network`, no socket of any kind. */
void sandbox_begin(struct sandbox *s);

/* System calls that nothing here needs, such as ptrace and mount, fail from now on; without `network`, socket, too. */
void sandbox_calls(bool network);
/* Whether $GEMKV_SANDBOX is not "off". */
bool sandbox_wanted(void);
/* From now on, no program is started, no socket made: those that there are stay. */
void sandbox_no_programs(void);
void sandbox_no_sockets(void);

#endif
