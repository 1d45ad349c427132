/* SPDX-License-Identifier: BSD-2-Clause
 * run-together.c - a command that mpirun has started several times: the first process runs it, the others help */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include "src/cli/calibrated.h"
#include "src/cli/processes.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

/* What a process does that is not the first of several: it computes parts of first passes.  The first one says what is
 * wrong with the command line. */
static int help_others(const struct cmd *cmd, struct io *io, int argc, char **argv)
{
    enum { OWN = 4096 };                        /* rows of the command's own go behind its options; they say nothing here */
    struct { struct run run; char own[OWN]; } room = { .run = { .question = NULL } };
    struct io  mute = { .out = fopen("/dev/null", "w") };
    gkv_error  err = { 0 };
    gkv_status status = GKV_OK;
    char      *path = NULL;
    int        code;

    mute.err = mute.out;
    code = mute.out ? options_parse(&room.run.o, cmd, &mute, argc, argv) : EXIT_FAILED;
    if (!code)
        code = run_begin(&room.run.o, &path);
    if (!code)
        status = calibrated_open(&mute, &room.run.model, path, &err);
    if (!code && !status)
        status = run_open_reader(&room.run.o, path, &room.run.reader, &err);
    if (status)
        code = fail_library(&mute, status, &err, NULL);
    code = processes_ready(io->processes, io, code, &err);
    room.run.o.gkv.group = processes_group(io->processes);
    if (!code && gkv_group_help(run_reader(&room.run), &room.run.o.gkv, &err))
        code = fail(io, EXIT_FAILED, "%s", err.text);
    free(path);
    run_close(&room.run);
    if (mute.out)
        fclose(mute.out);
    return code;
}

int run_together(const struct cmd *cmd, struct io *io, int argc, char **argv, run_command *first)
{
    int code = processes_open(&io->processes, io);

    if (code)
        return code;
    if (!processes_helps(io->processes)) {
        code = first(cmd, io, argc, argv);
        processes_close(io->processes, io, code);
        return code;
    }
    code = help_others(cmd, io, argc, argv);
    processes_close(io->processes, io, code);
    return code == EXIT_FAILED ? code : EXIT_DONE;      /* the first one's is that of all */
}
