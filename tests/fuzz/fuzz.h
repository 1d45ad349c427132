/* SPDX-License-Identifier: BSD-2-Clause
 * fuzz.h - what the targets share
 *
 * A target is one file with LLVMFuzzerTestOneInput, which returns 0 for any bytes.  Linked with libFuzzer it is fuzzed,
 * linked with driver.c it replays files. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What holds for every input. */
#define must(x)                                                                                   \
    do {                                                                                          \
        if (!(x)) {                                                                               \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #x);                \
            abort();                                                                              \
        }                                                                                         \
    } while (0)

/* The input, read from its front. */
struct input { const uint8_t *p; size_t n; };

/* Its next byte; 0 at the end. */
static inline unsigned take(struct input *in)
{
    if (!in->n)
        return 0;
    in->n--;
    return *in->p++;
}

/* Its next n bytes, or what is left of them. */
static inline struct input take_bytes(struct input *in, size_t n)
{
    const struct input part = { in->p, n < in->n ? n : in->n };

    in->p += part.n;
    in->n -= part.n;
    return part;
}

/* What is in front of the next byte `end`, which is skipped. */
struct input take_until(struct input *in, uint8_t end);

/* The bytes and a NUL, for free(). */
char *fuzz_text(struct input in);
/* The path of a file without a name that holds these bytes, until the next call with the same slot. */
enum { FUZZ_SLOTS = 4 };
const char *fuzz_file(unsigned slot, const void *data, size_t size);
/* A new folder, and its end with all that is in it. */
char *fuzz_folder(void);
void  fuzz_remove(char *folder);
/* The path of a file that belongs to the target: in $FUZZ_FILES, or beside the program.  It must be there. */
const char *fuzz_resource(const char *name);

#endif
