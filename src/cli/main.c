/* SPDX-License-Identifier: BSD-2-Clause
 * main.c - dispatches to the commands */
#include "config.h"
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/say.h"

static const struct cmd *const commands[] = {
    &cmd_ask, &cmd_select, &cmd_index, &cmd_bench, &cmd_calibrate, &cmd_eval, &cmd_info, &cmd_tokenize
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const struct cmd *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

static _Noreturn void unknown(const char *word)
{
    char  *all = format("%s", commands[0]->name), *more;

    for (size_t i = 1; i < N_COMMANDS; i++) {
        more = format("%s, %s", all, commands[i]->name);
        free(all);
        all = more;
    }
    if (word)
        usage(NULL, "unknown command '%s'; the commands are %s", word, all);
    usage(NULL, "no command given; the commands are %s", all);
}

static void help(void)
{
    out_printf("Usage: gemkv COMMAND [options]\n\n"
               "Answers questions about very long documents with a local language model.\n"
               "\nCommands:\n");
    for (size_t i = 0; i < N_COMMANDS; i++)
        out_printf("  %-10s  %s\n", commands[i]->name, commands[i]->summary);
    out_printf("\n'gemkv COMMAND --help' lists its options; see also gemkv(1).\n");
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

int main(int argc, char **argv)
{
    const char       *word = argc > 1 ? argv[1] : NULL;
    const struct cmd *cmd;
    int               code = EXIT_DONE;

    open_standard_files();
    if (!word)
        unknown(NULL);
    cmd = find(word);
    if (cmd) {
        code = cmd->run(cmd, argc - 1, argv + 1);
    } else if (!strcmp(word, "--version") || !strcmp(word, "-V")) {
        out_printf("gemkv %s\n", gkv_version());
    } else if (!strcmp(word, "--help") || !strcmp(word, "-h")
               || (!strcmp(word, "help") && argc == 2)) {
        help();
    } else if (!strcmp(word, "help")) {
        cmd = find(argv[2]);
        if (!cmd)
            unknown(argv[2]);
        args_help(cmd);
    } else if (!strcmp(word, "--list-options")) {
        for (size_t i = 0; i < N_COMMANDS; i++)
            args_list(commands[i]);
    } else if (word[0] == '-') {
        usage(NULL, "unknown option '%s' in front of a command", word);
    } else {
        unknown(word);
    }
    out_flush();
    return code;
}
