/* SPDX-License-Identifier: BSD-2-Clause
 * mpirun -n N gather PLUGIN BYTES...
 *
 * Seconds that processes need until each has the same number of bytes of every other one: the exchange of a first pass by
 * several processes, with nothing computed meanwhile.  Prints a line for each number of bytes: the mean of ROUNDS, one right
 * after the other, since a process that is late in one of them has waited less, and the others more. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "group/plugin.h"

enum { ROUNDS = 32 };

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Not 0: the others cannot be reached. */
static int once(const gkv_group *g, const void *mine, size_t bytes, void *all)
{
    int left = g->gather(g->context, mine, bytes, all) ? -1 : 1;

    while (left > 0)
        left = g->wait(g->context);
    return left;
}

int main(int argc, char **argv)
{
    char error[GKV_GROUP_ERROR];
    void *library = argc > 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL, *symbol, *p;
    gkv_group_plugin_fn *find;
    const struct gkv_group_plugin *plugin;
    gkv_group g;

    if (!library) {
        fprintf(stderr, "usage: mpirun -n N gather PLUGIN BYTES...\n%s\n", argc > 2 ? dlerror() : "");
        return 2;
    }
    symbol = dlsym(library, GKV_GROUP_SYMBOL);
    memcpy(&find, &symbol, sizeof find);
    plugin = symbol ? find() : NULL;
    p = plugin && plugin->abi == GKV_GROUP_ABI ? plugin->open(&g, error) : NULL;
    if (!p) {
        fprintf(stderr, "gather: %s\n", plugin ? error : "not a plugin");
        return 1;
    }
    for (int i = 2; i < argc; i++) {
        const size_t bytes = strtoull(argv[i], NULL, 10);
        char *mine = calloc(bytes + 1, 1), *all = calloc(g.size, bytes + 1);
        double start;

        if (!mine || !all || once(&g, mine, bytes, all))        /* connects */
            plugin->abort(p, 1);
        start = now();
        for (int r = 0; r < ROUNDS; r++)
            if (once(&g, mine, bytes, all))
                plugin->abort(p, 1);
        if (!g.rank)
            printf("%u ranks, %zu bytes: %.6f s\n", g.size, bytes, (now() - start) / ROUNDS);
        free(mine);
        free(all);
    }
    plugin->close(p);
    return 0;
}
