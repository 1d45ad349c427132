/* SPDX-License-Identifier: BSD-2-Clause
 * confine.c - see confine.h */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/calibrated.h"
#include "src/cli/confine.h"
#include "src/cli/eval/retrieve.h"
#include "src/cli/line.h"
#include "src/cli/material.h"
#include "src/cli/model-name.h"
#include "src/cli/output.h"
#include "src/cli/processes.h"
#include "src/cli/run.h"
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
    size_t n = path ? strlen(path) : 0;
    char  *folder;

    if (!path)
        return;
    while (n && path[n - 1] == '/')
        n--;
    while (n && path[n - 1] != '/')
        n--;
    folder = n ? format("%.*s", (int)n, path) : format(".");
    sandbox_change(s, folder);
    free(folder);
}

/* A folder that may be there. */
static void change_folder(struct sandbox *s, const char *path)
{
    if (path && access(path, F_OK))
        change_beside(s, path);
    else
        sandbox_change(s, path);
}

/* Files and folders of the command's own options. */
static void allow_own(struct sandbox *s, const struct options *o)
{
    for (const struct opt *opt = o->cmd->own; opt && opt->name; opt++) {
        const char *value = opt->set == opt_text ? *(const char *const *)((const char *)o + opt->at) : NULL;

        if (!value)
            continue;
        if (strstr(opt->arg, "FILE"))
            sandbox_read(s, value);
        else if (strstr(opt->arg, "FOLDER"))
            change_folder(s, value);
        else if (strstr(opt->arg, "PATH") && *value == '/')
            change_beside(s, value);            /* a socket                               */
    }
}

/* Of a home folder that is not there, nothing. */
static void allow_history(struct sandbox *s)
{
    static const char *const known[] = { ".inputrc", ".editrc", ".terminfo" };
    const char *home = getenv("HOME");
    char       *path = isatty(STDIN_FILENO) ? line_past() : NULL;

    change_beside(s, path);
    free(path);
    for (size_t i = 0; home && i < sizeof known / sizeof *known; i++) {
        path = format("%s/%s", home, known[i]);
        sandbox_read(s, path);
        free(path);
    }
    sandbox_read(s, getenv("INPUTRC"));
    sandbox_read(s, getenv("TERMINFO"));
}

/* Their folder is made. */
static void allow_layers(struct sandbox *s, const struct options *o, bool change)
{
    char *folder = calibrated_folder(), *file = folder ? format("%s/x", folder) : NULL;

    if (change && !options_given(o, "dry-run") && file && !output_folders(file))
        sandbox_change(s, folder);
    else
        sandbox_read(s, folder);
    free(file);
    free(folder);
}

/* Needles, texts and pages. */
static void read_bundled(struct sandbox *s)
{
    static const char *const names[] = { MATERIAL_BOOK, MATERIAL_NEEDLES, "serve" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *path = run_data_path(names[i]);

        sandbox_read(s, path);
        free(path);
    }
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

/* What another program needs that gives passages is its own affair. */
static bool asks_another(const struct options *o)
{
    for (size_t i = 0; i < o->methods.n; i++)
        if (retrieve_is(o->methods.spec[i]))
            return true;
    return false;
}

static bool is_confined(const struct options *o)
{
    return !o->io->processes && !has_device(o) && !asks_another(o);
}

void confine(const struct options *o, const char *model)
{
    const unsigned  needs = o->cmd->needs;
    struct sandbox *s = is_confined(o) ? sandbox_new(o->answer_url || needs & NEEDS_SOCKET) : NULL;

    if (!s)
        return;
    if (model)
        read_model(s, model);
    read_reader(s, o);
    read_bundled(s);
    allow_layers(s, o, needs & NEEDS_LAYERS);
    sandbox_read(s, o->text);
    sandbox_read(s, o->needles);
    for (size_t i = 0; i < o->haystack.n; i++)
        sandbox_read(s, o->haystack.v[i]);
    for (size_t i = 0; i < o->file.n; i++)
        sandbox_read(s, o->file.v[i]);
    if (needs & NEEDS_ANY_FILE)
        sandbox_read(s, "/");
    if (o->library)
        sandbox_change(s, o->library);          /* SQLite's locks                         */
    if (needs & NEEDS_OPERAND)
        change_folder(s, *o->operand);
    change_beside(s, o->out);
    change_beside(s, o->plot);
    change_beside(s, o->rows);
    change_beside(s, o->report);
    allow_own(s, o);
    if (needs & NEEDS_HISTORY)
        allow_history(s);
    sandbox_begin(s);
    if (!(needs & NEEDS_PROGRAMS))
        sandbox_no_programs();
}

/* The report shows pages of PDF, which a program finds. */
void confine_read(const struct options *o)
{
    if (is_confined(o) && !o->report && sandbox_wanted())
        sandbox_no_programs();
}

void confine_listens(const struct options *o)
{
    if (is_confined(o) && !o->answer_url && sandbox_wanted())
        sandbox_no_sockets();
}
