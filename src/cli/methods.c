/* SPDX-License-Identifier: BSD-2-Clause
 * methods.c - see methods.h */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/eval/retrieve.h"
#include "src/cli/options.h"
#include "src/cli/say.h"

static void add(struct methods *m, const char *spec, size_t len)
{
    m->spec = grow(m->spec, m->n + 1, sizeof *m->spec);
    m->spec[m->n++] = format("%.*s", (int)len, spec);
}

static void add_all(struct methods *m)
{
    size_t            n;
    const gkv_method *row = gkv_methods(&n);

    add(m, "full", 4);
    for (size_t i = 0; i < n; i++)
        if (strcmp(row[i].name, "full"))
            add(m, row[i].name, strlen(row[i].name));
}

void methods_add(struct methods *m, const char *list)
{
    const char *end = list;

    if (!strcmp(list, "all")) {
        add_all(m);
        return;
    }
    for (const char *start = list; *end; start = end + 1) {
        end = start + strcspn(start, ",");
        while (*end) {
            size_t k = strcspn(end + 1, ",:=");

            if (end[1 + k] != '=')
                break;
            end += 1 + strcspn(end + 1, ",");
        }
        add(m, start, (size_t)(end - start));
    }
}

void methods_free(struct methods *m)
{
    for (size_t i = 0; i < m->n; i++)
        free(m->spec[i]);
    free(m->spec);
    *m = (struct methods){ NULL, 0 };
}

size_t methods_full(const struct methods *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->spec[i], "full"))
            return i;
    return SIZE_MAX;
}

int methods_check(const struct options *o, gkv_model *model)
{
    const struct methods *m = &o->methods;
    gkv_options opt = o->gkv;
    uint64_t    bytes;
    gkv_error   err = { 0 };
    gkv_status  status = GKV_OK;

    for (size_t i = 0; i < m->n && !status; i++) {
        opt.method = m->spec[i];
        for (size_t j = 0; j < i; j++)
            if (!strcmp(m->spec[j], m->spec[i]))
                return usage(o->io, o->cmd, "method %s is given twice", m->spec[i]);
        if (!strncmp(o->cmd->name, "eval ", 5) && retrieve_is(m->spec[i])) {
            const char *why = retrieve_check(m->spec[i]);

            if (why)
                return usage(o->io, o->cmd, "method retrieve: %s", why);
            opt.method = "full";
        }
        status = gkv_memory_needed(model, &opt, 1024, &bytes, &err);
    }
    return status ? fail_library(o->io, status, &err, NULL) : 0;
}

static void forget_peak(void)
{
    int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);

    if (fd < 0)
        return;
    if (write(fd, "5", 1) < 0)
        errno = 0;                              /* an old kernel cannot reset the peak */
    close(fd);
}

gkv_status methods_fresh(struct io *io, gkv_model **model, const char *path, gkv_error *err)
{
    gkv_model_close(*model);
    *model = NULL;
    forget_peak();
    return calibrated_open(io, model, path, err);
}
