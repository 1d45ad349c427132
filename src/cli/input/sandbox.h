/* SPDX-License-Identifier: BSD-2-Clause
 * sandbox.h - which files the process that reads a document may open */
#ifndef GEMKV_CLI_INPUT_SANDBOX_H
#define GEMKV_CLI_INPUT_SANDBOX_H

/* For the rest of this process, and of those that it starts, where the kernel has Landlock; elsewhere nothing.
 *   dir      the folder where a program may write; NULL: one of our readers, which opens no file but iconv's tables
 *   file     the document, which it may open by its descriptor
 *   err      what it may write its messages to, opened again or not
 * No TCP connection either, and no signal to a process of ours, where the kernel knows how. */
void sandbox_enter(const char *dir, int file, int err);

#endif
