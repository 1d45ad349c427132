/* SPDX-License-Identifier: BSD-2-Clause
 * plugin.h - the interface between the program and a plugin that connects processes, gemkv-openmpi.so or gemkv-mpich.so.
 * Only the plugin is linked with an MPI library, and only the program opens it.
 *
 * A plugin never prints or exits, but for `abort`. */
#ifndef GKV_GROUP_PLUGIN_H
#define GKV_GROUP_PLUGIN_H

#include <gemkv.h>

/* Increased with any change below; a plugin with another number is not used. */
#define GKV_GROUP_ABI 1
#define GKV_GROUP_SYMBOL "gkv_group_plugin"

enum { GKV_GROUP_ERROR = 256 };         /* bytes, with the NUL */

struct gkv_group_plugin {
    uint32_t abi;
    /* All processes that were started together: rank, size and functions into *out, which may be used until close.
     * NULL: error has one line. */
    void  *(*open)(gkv_group *out, char error[GKV_GROUP_ERROR]);
    /* The next of the numbers 0, 1, 2, ..., of which each goes to one rank only.  -1: the others cannot be reached. */
    int64_t (*next)(void *p);
    void   (*close)(void *p);           /* waits until all ranks have called it              */
    void   (*abort)(void *p, int code); /* ends all ranks                                    */
};

typedef const struct gkv_group_plugin *gkv_group_plugin_fn(void);

#endif
