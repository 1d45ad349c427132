/* SPDX-License-Identifier: BSD-2-Clause
 * mkmodel.h - a GGUF file before it is written.  Its rows hold what will be written, right or wrong,
 * so that damage (mkmodel-break.c) is an edit of rows. */
#ifndef MKMODEL_H
#define MKMODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "src/gguf/gguf.h"
#include "src/quant/quant.h"

struct kv {
    char     key[96];
    uint64_t key_n;             /* length to write                                       */
    uint32_t type, elements;    /* elements: type of array elements                      */
    uint64_t n;                 /* number of array elements to write                     */
    uint8_t *data;              /* strings include their lengths                         */
    size_t   bytes, cap;
};

enum fill { RANDOM, AROUND_ONE, RAMP, MINUS, ONES, DIAGONAL };  /* matrices, norms, rope_freqs, decays, ... */

struct tensor {
    char                     name[64];
    uint64_t                 name_n;            /* length to write                       */
    uint32_t                 n_dims;
    uint64_t                 dim[5];
    uint32_t                 ggml;              /* type number to write                  */
    uint64_t                 offset;            /* offset to write                       */
    bool                     forced;            /* offset is given, not computed         */
    bool                     hidden;            /* has data, but no entry                */
    /* the data that are written */
    const struct gkv__quant *format;
    uint64_t                 elements;
    enum fill                fill;
    float                    deviation;         /* for RANDOM */
};

enum cut { CUT_NOTHING, CUT_ALL, CUT_MAGIC, CUT_HEADER, CUT_METADATA, CUT_INFOS, CUT_DATA,
           CUT_LAST_BYTE };

struct file {
    char           magic[4];
    uint32_t       version, alignment;
    uint64_t       seed;
    uint64_t       more_kv, more_tensors;       /* added to the counts, modulo 2^64      */
    enum cut       cut;
    struct kv     *kv;
    size_t         n_kv;
    struct tensor *tensor;
    size_t         n_tensors;
};

/* mkmodel.c */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

/* mkmodel-write.c: these append rows; a pointer to a row is valid until the next row is added. */
struct kv     *add_kv(struct file *f, uint32_t type, const char *key);
void           add_u32(struct file *f, const char *key, uint32_t v);
void           add_f32(struct file *f, const char *key, float v);
void           add_bool(struct file *f, const char *key, bool v);
void           add_str(struct file *f, const char *key, const char *v);
struct kv     *add_array(struct file *f, const char *key, uint32_t elements);
void           append(struct kv *kv, const void *p, size_t n);
void           append_str(struct kv *kv, const char *s);
struct tensor *add_tensor(struct file *f, const struct gkv__quant *format, enum fill fill,
                          float deviation, uint64_t n_out, uint64_t n_in, const char *name,
                          ...) __attribute__((format(printf, 7, 8)));
struct kv     *find_kv(struct file *f, const char *key);
struct tensor *find_tensor(struct file *f, const char *name);
void           write_file(const struct file *f, const char *path);
void           write_parts(struct file *f, const char *path, uint32_t n_parts);

/* mkmodel-break.c: damages f, a model of that architecture; false when there is no such damage. */
bool           break_file(struct file *f, const char *arch, const char *name);
void           list_breaks(void);

#endif
