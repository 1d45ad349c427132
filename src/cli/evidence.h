/* SPDX-License-Identifier: BSD-2-Clause
 * evidence.h - what an answer rests on, for people and as JSON */
#ifndef GEMKV_CLI_EVIDENCE_H
#define GEMKV_CLI_EVIDENCE_H

#include "src/cli/cite.h"
#include "src/cli/json.h"
#include "src/cli/run.h"

/* Members of the object of --json: "kept", the runs of tokens as they are, in document order; "passages", the
 * sentences that people are shown, the best first. */
void evidence_kept(struct json *j, const struct run *r);
void evidence_passages(struct json *j, const struct run *r);

/* Lines of --json=lines, written at once: the passages before the answer, and a piece of it.  0, or an exit status. */
int evidence_events(const struct run *r);
int evidence_token(const struct run *r, const char *text, size_t len);

/* --cite: the answer with a number behind each sentence that a passage supports, and below it those places; the same
 * as the member "citations" of --json. */
void evidence_print_cited(const struct run *r, const char *answer, size_t len);
void evidence_citations(struct json *j, const struct run *r, const char *answer, size_t len);

#endif
