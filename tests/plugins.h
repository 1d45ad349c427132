/* SPDX-License-Identifier: BSD-2-Clause
 * plugins.h - the device "null" of this build (gpu/null), which is this processor */
#ifndef TESTS_PLUGINS_H
#define TESTS_PLUGINS_H

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Makes --device null known.  false: this build has no plugins, as with --disable-shared, where the folder is there without
 * the file. */
static bool null_device(void)
{
    const char *build = getenv("builddir") ? getenv("builddir") : ".";
    char folder[PATH_MAX + 32], file[PATH_MAX + 64], at[PATH_MAX];

    if (!realpath(build, at))
        return false;
    snprintf(folder, sizeof folder, "%s/gpu/null/.libs", at);
    snprintf(file, sizeof file, "%s/gemkv-null.so", folder);
    return !access(file, R_OK) && !setenv("GEMKV_PLUGIN_DIR", folder, 1);
}

#endif
