/* SPDX-License-Identifier: BSD-2-Clause
 * calibrated.c - see calibrated.h */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/json-parse.h"
#include "src/cli/output.h"
#include "src/cli/say.h"

enum { LARGEST = 1 << 20 };             /* bytes of a file that is read */

char *calibrated_folder(void)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");

    if (data && *data == '/')                   /* XDG: ignore relative paths */
        return format("%s/gemkv", data);
    return home && *home == '/' ? format("%s/.local/share/gemkv", home) : NULL;
}

char *calibrated_path(const gkv_model *model)
{
    char *folder = calibrated_folder(), *path;

    path = folder ? format("%s/%016" PRIx64 ".json", folder, gkv_model_fingerprint(model)) : NULL;
    free(folder);
    return path;
}

/* The file's text, at most LARGEST bytes of it; NULL when it cannot be opened. */
static char *slurp(const char *path, size_t *n)
{
    FILE *f = fopen(path, "re");
    char *text;

    if (!f)
        return NULL;
    text = grow(NULL, LARGEST + 1, 1);
    *n = fread(text, 1, LARGEST, f);
    fclose(f);
    text[*n] = 0;
    return text;
}

/* An invalid file is ignored, but with a warning. */
static void use(struct io *io, gkv_model *model)
{
    char         *path = calibrated_path(model), *text;
    struct value *v;
    const char   *why;
    size_t        n, at;
    double        layer, tsp;

    text = path ? slurp(path, &n) : NULL;
    if (text) {
        v = parse_json(text, n, &why, &at);
        layer = parse_number(v, "layer", -1);
        tsp = parse_number(v, "tsp_layer", -1);
        if (!(layer >= 0 && layer < UINT32_MAX && tsp >= 0 && tsp < UINT32_MAX)
            || gkv_model_layers(model, (uint32_t)layer, (uint32_t)tsp, "calibration", NULL))
            warn(io, "%s: no layers of this model in it; run gemkv calibrate again", path);
        parse_free(v);
    }
    free(text);
    free(path);
}

gkv_status calibrated_open(struct io *io, gkv_model **out, const char *path, gkv_error *err)
{
    gkv_status status = gkv_model_open(out, path, 0, err);

    if (!status)
        use(io, *out);
    return status;
}

int calibrated_store(struct io *io, const gkv_model *model, const char *text, size_t len)
{
    char *path = calibrated_path(model), *fresh;
    FILE *f = NULL;
    int   code = 0;

    if (!path)
        return fail(io, EXIT_FAILED, "neither $XDG_DATA_HOME nor $HOME names a folder to store the "
                    "calibration in");
    fresh = format("%s.%ld", path, (long)getpid());
    if (!output_folders(path))
        f = fopen(fresh, "we");
    if (!f || fwrite(text, 1, len, f) != len || fflush(f) || rename(fresh, path)) {
        code = fail(io, EXIT_FAILED, "%s: cannot store the calibration: %s", path, strerror(errno));
        unlink(fresh);
    }
    if (f)
        fclose(f);
    free(fresh);
    free(path);
    return code;
}

int calibrated_forget(struct io *io, const gkv_model *model, int *gone)
{
    char *path = calibrated_path(model);
    int   code = 0;

    *gone = path && !unlink(path);
    if (path && !*gone && errno != ENOENT)
        code = fail(io, EXIT_FAILED, "%s: %s", path, strerror(errno));
    free(path);
    return code;
}
