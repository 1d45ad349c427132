/* SPDX-License-Identifier: BSD-2-Clause
 * confine.c - see confine.h */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/model-name.h"
#include "src/cli/processes.h"
#include "src/cli/sandbox.h"
#include "src/cli/say.h"

enum { MOST_PARTS = 4096 };

/* NAME-00001-of-00003.gguf is one of three files. */
static void read_model(struct sandbox *s, const char *path)
{
    static const char shape[] = "-00001-of-00003.gguf";
    const size_t      n = strlen(path), k = sizeof shape - 1;
    unsigned          parts = 0;
    int               end = 0;
    char             *part;

    sandbox_read(s, path);
    if (n < k || sscanf(path + n - k, "-%*5u-of-%5u.gguf%n", &parts, &end) != 1 || end != (int)k)
        return;
    for (unsigned i = 1; i <= parts && i <= MOST_PARTS; i++) {
        part = format("%.*s-%05u-of-%05u.gguf", (int)(n - k), path, i, parts);
        sandbox_read(s, part);
        free(part);
    }
}

static void read_reader(struct sandbox *s, const struct options *o)
{
    char *path;

    if (!o->reader || model_name(o->io, o->reader, &path))
        return;
    read_model(s, path);
    free(path);
}

/* The folder of a file that is to come. */
static void change_beside(struct sandbox *s, const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    char       *folder;

    if (!path)
        return;
    folder = slash ? format("%.*s", (int)(slash + 1 - path), path) : format(".");
    sandbox_change(s, folder);
    free(folder);
}

/* select computes on the processor. */
static bool has_device(const struct options *o)
{
    const char *device = o->gkv.device;
    char       *plugin;
    bool        there;

    if (device && strcmp(device, "auto"))
        return strcmp(device, "cpu");
    if (o->cmd == &cmd_select)
        return false;
    plugin = processes_plugin("cuda");
    there = !access(plugin, R_OK);
    free(plugin);
    return there;
}

static bool is_confined(const struct options *o)
{
    return !o->io->processes && !has_device(o);
}

void confine(const struct options *o, const char *model)
{
    struct sandbox *s = is_confined(o) ? sandbox_new(o->answer_url) : NULL;
    char           *layers;

    if (!s)
        return;
    read_model(s, model);
    read_reader(s, o);
    layers = calibrated_folder();
    sandbox_read(s, layers);
    free(layers);
    sandbox_read(s, o->text);
    for (size_t i = 0; i < o->file.n; i++)
        sandbox_read(s, o->file.v[i]);
    if (o->library)
        sandbox_change(s, o->library);          /* SQLite's locks                         */
    change_beside(s, o->report);
    sandbox_begin(s);
}

/* The report shows pages of PDF, which a program finds. */
void confine_read(const struct options *o)
{
    if (is_confined(o) && !o->report && sandbox_wanted())
        sandbox_no_programs();
}
