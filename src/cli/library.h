/* SPDX-License-Identifier: BSD-2-Clause
 * library.h - libraries of documents: what index writes, and ask and select read */
#ifndef GEMKV_CLI_LIBRARY_H
#define GEMKV_CLI_LIBRARY_H

#include <stdbool.h>
#include <gemkv.h>
#include "src/cli/json.h"
#include "src/cli/progress.h"

struct run;

/* A document that is not asked about as it is: why, or NULL: its file is another by now.   */
struct remark { char *name, *why; };

/* What -L found.  Zeroed: it was not given. */
struct shelf {
    gkv_library   *library;
    gkv_document  *document;            /* those asked about, one behind the other        */
    gkv_document **part;                /* they, until they are joined                    */
    char         **name;                /* of each part ...                               */
    char         **unit;                /* ... and what its form feeds end; NULL: pages, or none */
    uint64_t      *chosen;              /* ids of these and of those that could not be loaded */
    size_t         n_chosen;
    size_t         n;
    struct remark *remark;
    size_t         n_remarks;
    uint64_t       n_all, tokens_all;   /* of the library, or of those --among names      */
    bool           ranked;              /* BM25 has chosen                                */
};

/* Opens r->o.library.  0 or an exit status, as these: */
int  library_open(struct run *r);
/* The session of r about documents of it, whose names become r->o.file. */
int  library_session(struct run *r);
/* The same for the next question, which may choose others: those that stay the same stay loaded.  Without -L it
 * does nothing. */
int  library_again(struct run *r);
void library_close(struct shelf *s);
void library_json(struct json *j, const struct run *r);

/* ---- what index needs too ------------------------------------------------------------ */
int  library_failed(struct io *io, gkv_status status, const gkv_error *err);

/* Where a file is, and what tells whether it has changed.  Free path; NULL: it is no regular file. */
struct facts {
    char    *path;
    uint64_t bytes;
    int64_t  modified;                  /* ns since 1970                                  */
};
struct facts library_facts(const char *path);
bool library_is_gone(const char *path);         /* not only out of reach                  */

/* The filter layer that this model would be asked at. */
int32_t library_layer(const gkv_model *model, const gkv_options *o);

#endif
