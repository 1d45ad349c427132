/* SPDX-License-Identifier: BSD-2-Clause
 * processes.c - see processes.h */
#include "config.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "group/plugin.h"
#include "src/cli/args.h"
#include "src/cli/cmd.h"
#include "src/cli/processes.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

/* Whoever starts processes tells them so in their environment; each MPI library understands one of these ways. */
static const struct { const char *size, *rank, *plugin; } starters[] = {
    { "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "openmpi" },
    { "PMI_SIZE", "PMI_RANK", "mpich" },
};

struct processes {
    const struct gkv_group_plugin *api;
    void            *library, *context;
    gkv_group        group;
    bool             met, together;             /* all of them have, and none failed      */
    bool             helped;                    /* by the others, until they are told that it is over */
};

static unsigned long number(const char *name)
{
    const char *value = getenv(name);

    return value ? strtoul(value, NULL, 10) : 0;
}

/* The first way by which this process was told that it is one of several; -1: none. */
static int started(void)
{
    for (size_t i = 0; i < sizeof starters / sizeof *starters; i++)
        if (number(starters[i].size) > 1 && getenv(starters[i].rank))
            return (int)i;
    return -1;
}

static int failed(struct io *io, int how, const char *why)
{
    if (number(starters[how].rank) == 0)        /* once is enough */
        say(io, "gemkv: %lu processes were started, and cannot be connected: %s", number(starters[how].size), why);
    return EXIT_FAILED;
}

char *processes_plugin(const char *name)
{
    const char *dir = secure_getenv("GEMKV_PLUGIN_DIR");

    return format("%s/gemkv-%s.so", dir && *dir == '/' ? dir : PLUGINDIR, name);
}

/* An MPI library finds parts of its own among the symbols of all. */
static const struct gkv_group_plugin *load(const char *path, void **library, char why[GKV_GROUP_ERROR])
{
    gkv_group_plugin_fn *get = NULL;
    const struct gkv_group_plugin *api;

    if (access(path, R_OK)) {
        snprintf(why, GKV_GROUP_ERROR, "there is no %s; start one process, or build gemkv with that MPI library", path);
        return NULL;
    }
    *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!*library) {
        const char *text = dlerror();

        snprintf(why, GKV_GROUP_ERROR, "%s", text ? text : path);
        return NULL;
    }
    *(void **)&get = dlsym(*library, GKV_GROUP_SYMBOL);
    api = get ? get() : NULL;
    if (api && api->abi == GKV_GROUP_ABI)
        return api;
    snprintf(why, GKV_GROUP_ERROR, "%s is a plugin for another version of gemkv", path);
    return NULL;
}

int processes_open(struct processes **out, struct io *io)
{
    const int         how = started();
    struct processes *p;
    char             *path, why[GKV_GROUP_ERROR] = "";

    *out = NULL;
    if (how < 0)
        return 0;
    p = grow(NULL, 1, sizeof *p);
    *p = (struct processes){ .api = NULL };
    path = processes_plugin(starters[how].plugin);
    p->api = load(path, &p->library, why);
    free(path);
    if (p->api)
        p->context = p->api->open(&p->group, why);
    if (p->context && p->group.size != number(starters[how].size)) {
        snprintf(why, sizeof why, "they were not started by the mpirun of the MPI library in gemkv-%s.so", starters[how].plugin);
        p->api->close(p->context);
        p->context = NULL;
    }
    if (p->context) {
        *out = p;
        return 0;
    }
    free(p);
    return io ? failed(io, how, why) : 0;
}

const gkv_group *processes_group(const struct processes *p)
{
    return p ? &p->group : NULL;
}

bool processes_helps(const struct processes *p)
{
    return p && p->group.rank;
}

/* all[rank] = mine of each. */
static bool gather(struct processes *p, const void *mine, size_t bytes, void *all)
{
    int left;

    if (p->group.gather(p->group.context, mine, bytes, all))
        return false;
    while ((left = p->group.wait(p->group.context)) > 0)
        continue;
    return !left;
}

int processes_meet(struct processes *p, struct io *io, int code, const gkv_error *err)
{
    struct said { int code; char text[sizeof err->text]; } mine = { .code = code }, *all;

    if (!p)
        return code;
    p->met = true;
    if (err)
        memcpy(mine.text, err->text, sizeof mine.text);
    all = grow(NULL, p->group.size, sizeof *all);
    if (!gather(p, &mine, sizeof mine, all))
        mine.code = code = EXIT_FAILED;
    for (uint32_t i = 0; i < p->group.size && !code; i++) {
        code = all[i].code;
        if (code && *all[i].text && !p->group.rank)
            say(io, "gemkv: rank %u of %u: %s", i, p->group.size, all[i].text);
    }
    free(all);
    p->together = !code;
    return code;
}

int processes_ready(struct processes *p, struct io *io, int code, const gkv_error *err)
{
    code = processes_meet(p, io, code, err);
    if (p)
        p->helped = !code;
    return code;
}

bool processes_add(struct processes *p, uint64_t *number, size_t n)
{
    uint64_t *all = grow(NULL, p->group.size * n, sizeof *all);
    bool      good = gather(p, number, n * sizeof *number, all);

    for (size_t i = 0; good && i < n; i++) {
        number[i] = 0;
        for (uint32_t rank = 0; rank < p->group.size; rank++)
            number[i] += all[rank * n + i];
    }
    free(all);
    return good;
}

int64_t processes_next(struct processes *p)
{
    return p->api->next(p->context);
}

void processes_close(struct processes *p, struct io *io, int code)
{
    if (!p)
        return;
    if (!p->met)                                /* the others are about to */
        processes_meet(p, io, code ? code : EXIT_SHOWN, NULL);
    if (p->together && (code == EXIT_FAILED || (p->helped && !p->group.rank && gkv_group_end(&p->group, NULL))))
        p->api->abort(p->context, code);
    p->api->close(p->context);
    free(p);                    /* the library stays: threads of MPI may still be in it */
}
