/* SPDX-License-Identifier: BSD-2-Clause
 * main.c - dispatches to the commands */
#include "config.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

static const struct cmd *const commands[] = {
    &cmd_ask, &cmd_chat, &cmd_select, &cmd_index, &cmd_bench, &cmd_calibrate, &cmd_eval, &cmd_info, &cmd_tokenize
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const struct cmd *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static int unknown(struct io *io, const char *word)
{
    char  *all = format("%s", commands[0]->name), *more;
    int    code;

    for (size_t i = 1; i < N_COMMANDS; i++) {
        more = format("%s, %s", all, commands[i]->name);
        free(all);
        all = more;
    }
    code = word ? usage(io, NULL, "unknown command '%s'; the commands are %s", word, all)
                : usage(io, NULL, "no command given; the commands are %s", all);
    free(all);
    return code;
}

static void help(struct io *io)
{
    out_printf(io, "Usage: gemkv COMMAND [options]\n\n"
               "Answers questions about very long documents with a local language model.\n"
               "\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        out_printf(io, "  %-10s  %s\n", commands[i]->name, commands[i]->summary);
    out_printf(io, "\n'gemkv COMMAND --help' lists its options; 'man gemkv-COMMAND' explains them.\n");
}

/* If the caller closed standard output, a file opened later must not take its place. */
static void open_standard_files(void)
{
    int fd;

    do
        fd = open("/dev/null", O_RDONLY);       /* writing to it fails, and is reported   */
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

static int command(struct io *io, int argc, char **argv)
{
    const char       *word = argc > 1 ? argv[1] : NULL;
    const struct cmd *cmd = word ? find(word) : NULL;

    if (!word)
        return unknown(io, NULL);
    if (cmd)
        return cmd->run(cmd, io, argc - 1, argv + 1);
    if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        out_printf(io, "gemkv %s\n", gkv_version());
    } else if (!strcmp(word, "--help") || !strcmp(word, "-h")
               || (!strcmp(word, "help") && argc == 2)) {
        help(io);
    } else if (!strcmp(word, "help")) {
        cmd = find(argv[2]);
        if (!cmd)
            return unknown(io, argv[2]);
        args_help(io, cmd);
    } else if (!strcmp(word, "--list-options")) {
        for (size_t i = 0; i < N_COMMANDS; i++)
            args_list(io, commands[i]);
    } else if (word[0] == '-') {
        return usage(io, NULL, "unknown option '%s' in front of a command", word);
    } else {
        return unknown(io, word);
    }
    return EXIT_DONE;
}

/* The only place that decides how the process ends. */
int main(int argc, char **argv)
{
    struct io io = { .out = stdout, .err = stderr };
    int       code, lost;

    open_standard_files();
    code = command(&io, argc, argv);
    lost = out_flush(&io);
    progress_die();
    return code == EXIT_SHOWN ? lost : code ? code : lost;
}
