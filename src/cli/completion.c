/* SPDX-License-Identifier: BSD-2-Clause
 * completion.c - see completion.h */
#include "config.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/completion.h"
#include "src/cli/options.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

/* ---- what may follow an option --------------------------------------------------------- */
enum kind { NOTHING, WORDS, FILES, FOLDERS, ANYTHING };

static void add_word(struct text *t, const char *word, size_t n)
{
    if (t->n)
        text_puts(t, " ");
    text_add(t, word, n);
}

static void add_names(struct text *t, const char *option)
{
    size_t              n, n_schedules;
    const gkv_method   *m = gkv_methods(&n);
    const gkv_schedule *s = gkv_schedules(&n_schedules);
    const char         *line;

    if (!strcmp(option, "method") || !strcmp(option, "methods"))
        for (size_t i = 0; i < n; i++)
            add_word(t, m[i].name, strlen(m[i].name));
    if (!strcmp(option, "schedule")) {
        add_word(t, "auto", 4);
        for (size_t i = 0; i < n_schedules; i++)
            add_word(t, s[i].name, strlen(s[i].name));
    }
    if (!strcmp(option, "template"))
        for (size_t i = 0; (line = gkv_template_describe(i)); i++)
            add_word(t, line, strcspn(line, ":"));
}

/* words: of an option whose argument is one of some, with spaces between them. */
static enum kind kind_of(const struct opt *o, struct text *words)
{
    *words = (struct text){ NULL, 0, 0 };
    if (!o->arg || *o->arg == '[')              /* "--json[=lines]" takes no word of its own */
        return NOTHING;
    add_names(words, o->name);
    if (!words->n && strchr(o->arg, '|'))       /* "em|f1|all|part"; capital letters stand for something else */
        for (const char *w = o->arg; *w; w += strspn(w, "|")) {
            const size_t n = strcspn(w, "|[");          /* "cuda[:N]" is cuda */

            if (strcspn(w, "ABCDEFGHIJKLMNOPQRSTUVWXYZ%") >= n)
                add_word(words, w, n);
            w += strcspn(w, "|");
        }
    return words->n ? WORDS : strstr(o->arg, "FILE") ? FILES : strstr(o->arg, "FOLDER") ? FOLDERS : ANYTHING;
}

/* ---- each command and each option ------------------------------------------------------ */
typedef void visit(struct io *io, const struct cmd *cmd, const struct opt *const *row, size_t n);

static void each(struct io *io, const struct cmd *const *command, size_t n, visit *f)
{
    for (size_t i = 0; i < n; i++) {
        const struct opt *row[MAX_OPTS], *shown[MAX_OPTS];
        const size_t      n_rows = args_rows(command[i], row);
        size_t            n_shown = 0, n_tasks = 0;

        for (size_t k = 0; k < n_rows; k++)
            if (row[k]->help)
                shown[n_shown++] = row[k];
        f(io, command[i], shown, n_shown);
        while (command[i]->tasks && command[i]->tasks[n_tasks])
            n_tasks++;
        each(io, command[i]->tasks, n_tasks, f);
    }
}

static void names(struct io *io, const struct cmd *const *command, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out_printf(io, "%s%s", i ? " " : "", command[i]->name);
}

/* The text within single quotes of a shell, without characters that zsh's _arguments reads as its own. */
static void plain(struct io *io, const char *s)
{
    for (; *s; s++)
        if (*s == '\'')
            out_printf(io, "'\\''");
        else if (strchr("[]:\\", *s))
            out_printf(io, "\\%c", *s);
        else
            out_char(io, *s);
}

/* ---- bash ------------------------------------------------------------------------------ */
static void bash_command(struct io *io, const struct cmd *cmd, const struct opt *const *row, size_t n)
{
    static const char *const action[] = { [FILES] = "_gemkv_files", [FOLDERS] = "_gemkv_folders", [ANYTHING] = ":" };

    out_printf(io, "    '%s')\n        case $prev in\n", cmd->name);
    for (size_t i = 0; i < n; i++) {
        struct text     words;
        const enum kind kind = kind_of(row[i], &words);

        if (kind != NOTHING) {
            out_printf(io, "        ");
            if (row[i]->letter)
                out_printf(io, "-%c|", row[i]->letter);
            out_printf(io, "--%s) ", row[i]->name);
            if (kind == WORDS)
                out_printf(io, "_gemkv_words '%s'", words.p);
            else
                out_printf(io, "%s", action[kind]);
            out_printf(io, "; return;;\n");
        }
        text_free(&words);
    }
    out_printf(io, "        esac\n        options='");
    for (size_t i = 0; i < n; i++)
        out_printf(io, "%s--%s", i ? " " : "", row[i]->name);
    if (cmd->tasks)
        for (const struct cmd *const *t = cmd->tasks; *t; t++)
            out_printf(io, " %s", strchr((*t)->name, ' ') + 1);
    out_printf(io, "';;\n");
}

static void bash(struct io *io, const struct cmd *const *command, size_t n)
{
    out_printf(io,
        "# Completion of gemkv for bash; made by gemkv --completion bash\n"
        "_gemkv_words() { COMPREPLY=($(compgen -W \"$1\" -- \"$cur\")); }\n"
        "_gemkv_files() { local IFS=$'\\n'; COMPREPLY=($(compgen -f -- \"$cur\")); compopt -o filenames 2>/dev/null; }\n"
        "_gemkv_folders() { local IFS=$'\\n'; COMPREPLY=($(compgen -d -- \"$cur\")); compopt -o filenames 2>/dev/null; }\n"
        "_gemkv() {\n"
        "    local cur=$2 prev=$3 command=${COMP_WORDS[1]} options=\n"
        "    COMPREPLY=()\n"
        "    if test \"$COMP_CWORD\" = 1; then\n"
        "        _gemkv_files\n"
        "        COMPREPLY+=($(compgen -W '");
    names(io, command, n);
    out_printf(io, "' -- \"$cur\"))\n"
        "        return\n"
        "    fi\n"
        "    case $command in eval) test \"$COMP_CWORD\" = 2 || command=\"eval ${COMP_WORDS[2]}\";; esac\n"
        "    case $command in\n");
    each(io, command, n, bash_command);
    out_printf(io,
        "    *) _gemkv_files; return;;\n"
        "    esac\n"
        "    case $cur in\n"
        "    -*) _gemkv_words \"$options\";;\n"
        "    *) case $command in eval) _gemkv_words \"$options\";; *) _gemkv_files;; esac;;\n"
        "    esac\n"
        "}\n"
        "complete -F _gemkv gemkv\n");
}

/* ---- zsh ------------------------------------------------------------------------------- */
static void zsh_command(struct io *io, const struct cmd *cmd, const struct opt *const *row, size_t n)
{
    out_printf(io, "    '%s')\n        _arguments -s", cmd->name);
    for (size_t i = 0; i < n; i++) {
        struct text     words;
        const enum kind kind = kind_of(row[i], &words);

        for (int dash = row[i]->letter ? 1 : 2; dash <= 2; dash++) {
            out_printf(io, " \\\n            '*");
            if (dash == 1)
                out_printf(io, "-%c[", row[i]->letter);
            else
                out_printf(io, "--%s%s[", row[i]->name, kind != NOTHING ? "=" : "");
            plain(io, row[i]->help);
            out_char(io, ']');
            if (kind != NOTHING) {
                out_char(io, ':');
                plain(io, row[i]->arg);
                out_char(io, ':');
            }
            if (kind == WORDS)
                out_printf(io, "(%s)", words.p);
            else if (kind == FILES || kind == FOLDERS)
                out_printf(io, kind == FILES ? "_files" : "_files -/");
            out_char(io, '\'');
        }
        text_free(&words);
    }
    if (cmd->tasks) {
        out_printf(io, " \\\n            '1:task:(");
        for (const struct cmd *const *t = cmd->tasks; *t; t++)
            out_printf(io, "%s%s", t == cmd->tasks ? "" : " ", strchr((*t)->name, ' ') + 1);
        out_printf(io, ")'");
    } else {
        out_printf(io, " \\\n            '*:file:_files'");
    }
    out_printf(io, ";;\n");
}

static void zsh(struct io *io, const struct cmd *const *command, size_t n)
{
    out_printf(io,
        "#compdef gemkv\n"
        "# Completion of gemkv for zsh; made by gemkv --completion zsh\n"
        "_gemkv() {\n"
        "    local command=$words[2]\n"
        "    if (( CURRENT == 2 )); then\n"
        "        local -a commands=(\n");
    for (size_t i = 0; i < n; i++) {
        out_printf(io, "            '%s:", command[i]->name);
        plain(io, command[i]->summary);
        out_printf(io, "'\n");
    }
    out_printf(io, "        )\n"
        "        _describe command commands\n"
        "        _files\n"
        "        return\n"
        "    fi\n"
        "    shift words\n"
        "    (( CURRENT-- ))\n"
        "    if [[ $command = eval ]] && (( CURRENT > 2 )); then\n"
        "        command=\"eval $words[2]\"\n"
        "        shift words\n"
        "        (( CURRENT-- ))\n"
        "    fi\n"
        "    case $command in\n");
    each(io, command, n, zsh_command);
    out_printf(io, "    *) _files;;\n    esac\n}\ncompdef _gemkv gemkv\n");
}

/* ---- fish ------------------------------------------------------------------------------ */
/* The text within single quotes of fish, where only \ and ' are special. */
static void fish_text(struct io *io, const char *s)
{
    for (; *s; s++) {
        if (*s == '\'' || *s == '\\')
            out_char(io, '\\');
        out_char(io, *s);
    }
}

static void fish_command(struct io *io, const struct cmd *cmd, const struct opt *const *row, size_t n)
{
    const char *task = strchr(cmd->name, ' ');

    for (size_t i = 0; i < n; i++) {
        struct text     words;
        const enum kind kind = kind_of(row[i], &words);

        out_printf(io, "complete -c gemkv -n '__fish_seen_subcommand_from %s' -l %s", task ? task + 1 : cmd->name,
                   row[i]->name);
        if (row[i]->letter)
            out_printf(io, " -s %c", row[i]->letter);
        if (kind == WORDS)
            out_printf(io, " -x -a '%s'", words.p);
        else if (kind == FOLDERS)
            out_printf(io, " -x -a '(__fish_complete_directories)'");
        else if (kind != NOTHING)
            out_printf(io, kind == FILES ? " -r -F" : " -x");
        out_printf(io, " -d '");
        fish_text(io, row[i]->help);
        out_printf(io, "'\n");
        text_free(&words);
    }
    if (task) {
        out_printf(io, "complete -c gemkv -n '__fish_seen_subcommand_from eval' -a %s -d '", task + 1);
        fish_text(io, cmd->summary);
        out_printf(io, "'\n");
    } else {
        out_printf(io, "complete -c gemkv -n __fish_use_subcommand -a %s -d '", cmd->name);
        fish_text(io, cmd->summary);
        out_printf(io, "'\n");
    }
}

static void fish(struct io *io, const struct cmd *const *command, size_t n)
{
    out_printf(io, "# Completion of gemkv for fish; made by gemkv --completion fish\n");
    each(io, command, n, fish_command);
}

/* ---- the whole ------------------------------------------------------------------------- */
int completion(struct io *io, const char *shell, const struct cmd *const *command, size_t n)
{
    static const struct {
        const char *name;
        void      (*print)(struct io *io, const struct cmd *const *command, size_t n);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };

    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (shell && !strcmp(shell, shells[i].name)) {
            shells[i].print(io, command, n);
            return EXIT_DONE;
        }
    return usage(io, NULL, "--completion is for bash, zsh or fish");
}
