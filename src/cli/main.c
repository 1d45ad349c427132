/* SPDX-License-Identifier: BSD-2-Clause
 * main.c - dispatches to the commands */
#include "config.h"
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <gemkv.h>
#include "src/cli/args.h"
#include "src/cli/completion.h"
#include "src/cli/output.h"
#include "src/cli/places.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"

static const struct cmd *const commands[] = {
    &cmd_ask, &cmd_chat, &cmd_batch, &cmd_select, &cmd_index, &cmd_serve, &cmd_bench, &cmd_calibrate, &cmd_eval, &cmd_pair,
    &cmd_info, &cmd_models, &cmd_tokenize
};

enum { N_COMMANDS = sizeof commands / sizeof *commands };

static const struct cmd *find(const char *name)
{
    for (size_t i = 0; i < N_COMMANDS; i++)
        if (!strcmp(commands[i]->name, name))
            return commands[i];
    return NULL;
}

/* Commands of llama.cpp and Ollama that people type from habit, and what to do instead. */
static const struct { const char *name, *instead; } elsewhere[] = {
    { "run", "'gemkv ask -m MODEL -f FILE QUESTION' asks once, 'gemkv chat -m MODEL -f FILE' is a conversation" },
    { "pull", "gemkv opens no network connections; 'gemkv models' lists the models found, Ollama's too" },
    { "list", "'gemkv models' lists the models found" },
    { "ls", "'gemkv models' lists the models found" },
    { "show", "'gemkv info MODEL' describes a model" },
    { "cli", "'gemkv chat -m MODEL -f FILE' is a conversation" },
    { "version", "'gemkv --version' prints it" }
};

static int unknown(struct io *io, const char *word)
{
    char       *all = format("%s", commands[0]->name), *more;
    const char *near;
    size_t      n;
    int         code;

    for (size_t i = 1; i < N_COMMANDS; i++) {
        more = format("%s %s", all, commands[i]->name);
        free(all);
        all = more;
    }
    near = word ? gkv_nearest(all, word, strlen(word), &n) : NULL;
    for (size_t i = 0; word && i < sizeof elsewhere / sizeof *elsewhere; i++)
        if (!strcmp(word, elsewhere[i].name)) {
            free(all);
            return usage(io, NULL, "no command '%s'; %s", word, elsewhere[i].instead);
        }
    if (near)
        code = usage(io, NULL, "unknown command '%s' (did you mean %.*s?)", word, (int)n, near);
    else if (word)
        code = usage(io, NULL, "'%s' is no command and no file; the commands are: %s", word, all);
    else
        code = usage(io, NULL, "no command given; 'gemkv FILE QUESTION' asks about a file; the commands are: %s", all);
    free(all);
    return code;
}

/* ---- gemkv FILE... QUESTION -------------------------------------------------------------- */
static bool is_file(const char *word)
{
    struct stat st;

    return !stat(word, &st) && !S_ISDIR(st.st_mode);
}

static bool is_model(const char *path)
{
    size_t n = 0;
    char  *head = places_read(path, 4, &n);
    bool   is = head && n == 4 && !memcmp(head, "GGUF", 4);

    free(head);
    return is;
}

/* What somebody means who gives files and a question, and no command: gemkv ask, with -f for each of the files that
 * come first, and -m for a model among them. */
static int ask_files(struct io *io, int argc, char **argv)
{
    char **all = grow(NULL, 2 * (size_t)argc + 2, sizeof *all);
    int    n = 0, i, n_documents = 0, code;

    all[n++] = (char *)cmd_ask.name;
    for (i = 1; i < argc && is_file(argv[i]); i++) {
        const bool model = is_model(argv[i]);

        all[n++] = (char *)(model ? "-m" : "-f");
        all[n++] = argv[i];
        n_documents += !model;
    }
    if (!n_documents)
        code = usage(io, NULL, "%s is a model; ask it about a document: gemkv ask -m MODEL -f FILE QUESTION", argv[1]);
    else if (i == argc)
        code = usage(io, NULL, "%s: what about it? gemkv FILE QUESTION asks, 'gemkv chat -f FILE' is a conversation",
                     argv[1]);
    else {
        while (i < argc)
            all[n++] = argv[i++];
        all[n] = NULL;
        code = cmd_ask.run(&cmd_ask, io, n, all);
    }
    free(all);
    return code;
}

static void help(struct io *io)
{
    out_printf(io, "Usage: gemkv COMMAND [options]\n"
               "       gemkv FILE... QUESTION\n\n"
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

/* ---- files that change while they are used ------------------------------------------------ */
static void on_bus(int sig, siginfo_t *why, void *context)
{
    static const char  text[] = "gemkv: a model or an index became shorter while it was used, or its disk failed; "
                                "replace such files by renaming\n";
    static atomic_flag said = ATOMIC_FLAG_INIT;
    ssize_t            n = 0;

    (void)context;
    if (why->si_code != BUS_ADRERR) {
        signal(sig, SIG_DFL);                   /* a defect of ours, which happens again now */
        return;
    }
    if (atomic_flag_test_and_set(&said))        /* another thread has found the same, and ends the process */
        for (;;)
            pause();
    output_remove_all();
    if (isatty(STDERR_FILENO))
        n = write(STDERR_FILENO, "\r\033[K", 4);
    if (n >= 0)
        n = write(STDERR_FILENO, text, sizeof text - 1);
    _exit(EXIT_FAILED);
}

/* Models and indexes are mapped.  What is no longer there when it is looked at is a signal, and no error of a call. */
static void watch_files(void)
{
    struct sigaction act;

    memset(&act, 0, sizeof act);
    act.sa_sigaction = on_bus;
    act.sa_flags = SA_SIGINFO;
    sigemptyset(&act.sa_mask);
    sigaction(SIGBUS, &act, NULL);
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
    } else if (!strcmp(word, "--completion")) {
        return completion(io, argc > 2 ? argv[2] : NULL, commands, N_COMMANDS);
    } else if (word[0] == '-') {
        argv[0] = (char *)cmd_ask.name;         /* gemkv -m MODEL -f FILE QUESTION: ask is meant */
        return cmd_ask.run(&cmd_ask, io, argc, argv);
    } else if (is_file(word)) {
        return ask_files(io, argc, argv);
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
    watch_files();
    code = command(&io, argc, argv);
    lost = out_flush(&io);
    progress_die();
    return code == EXIT_SHOWN ? lost : code ? code : lost;
}
