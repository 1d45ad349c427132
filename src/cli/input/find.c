/* SPDX-License-Identifier: BSD-2-Clause
 * find.c - see find.h
 *
 * In folders, hidden files, backups and what .gitignore and .gemkvignore name are left out without a word; files that
 * have no text are skipped, which is said. */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/input/encoding.h"
#include "src/cli/input/find.h"
#include "src/cli/input/format.h"
#include "src/cli/progress.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum { DEEPEST = 64, MOST_SAID = 10 };

struct rule {
    char  *pattern;
    size_t base;                /* length of the folder's name that it counts from        */
    bool   keeps, folder, anchored;
};

struct found {
    struct io     *io;
    const struct find_how *how;
    struct words   words, *own;
    struct rule   *rule;
    size_t         n_rules, n_skipped;
    char          *head;        /* SNIFF_BYTES bytes                                      */
};

static void add(struct found *f, char *name)
{
    words_add(f->own, name);
    words_add(&f->words, name);
}

/* ---- ignore files ------------------------------------------------------------------------ */
static void read_rules(struct found *f, const char *folder, const char *name)
{
    char  *path = format("%s/%s", folder, name), *line = NULL;
    FILE  *in = fopen(path, "re");
    size_t room = 0;
    ssize_t n;

    free(path);
    while (in && (n = getline(&line, &room, in)) > 0) {
        struct rule r = { .base = strlen(folder) + 1 };
        char       *p = line;

        while (n && strchr("\r\n \t", line[n - 1]))
            line[--n] = 0;
        if (!n || *p == '#')
            continue;
        r.keeps = *p == '!';
        p += r.keeps;
        n = (ssize_t)strlen(p);
        if (n > 3 && !strcmp(p + n - 3, "/**"))
            p[n -= 2] = 0;
        r.folder = n > 1 && p[n - 1] == '/';
        if (r.folder)
            p[n - 1] = 0;
        if (!strncmp(p, "**/", 3) && !strchr(p + 3, '/'))
            p += 3;
        r.anchored = strchr(p, '/');
        p += *p == '/';
        r.pattern = format("%s", p);
        f->rule = grow(f->rule, f->n_rules + 1, sizeof *f->rule);
        f->rule[f->n_rules++] = r;
    }
    free(line);
    if (in)
        fclose(in);
}

/* The last rule that matches decides. */
static bool ignored(const struct found *f, const char *path, const char *name, bool folder)
{
    bool out = *name == '.' || name[strlen(name) - 1] == '~' || (folder && !strcmp(name, "CVS"));

    for (size_t i = 0; !out && i < f->n_rules; i++) {
        const struct rule *last = &f->rule[f->n_rules - 1 - i];

        if ((!last->folder || folder)
            && !fnmatch(last->pattern, last->anchored ? path + last->base : name, last->anchored ? FNM_PATHNAME : 0))
            return !last->keeps;
    }
    return out;
}

/* ---- files ------------------------------------------------------------------------------- */
/* Why a file has no text, from its first bytes; NULL: it may have. */
static const char *no_text(const struct found *f, const char *path)
{
    struct sniff         s = { .name = path, .head = f->head, .document = true };
    const struct format *format;
    struct encoding      e;
    int                  fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t              n = fd < 0 ? -1 : read(fd, f->head, SNIFF_BYTES);
    size_t               i = 0;

    if (fd >= 0)
        close(fd);
    if (n < 0)
        return strerror(errno);
    s.n_head = (size_t)n;
    while (i < s.n_head && strchr(" \t\r\n", s.head[i]) && s.head[i])
        i++;
    if (i == s.n_head && s.n_head < SNIFF_BYTES)
        return "blank";
    format = format_of(&s);
    if (format && !strcmp(format->what, "a ZIP archive"))       /* its end may say more: it is tried */
        return NULL;
    if (format)
        return format->kind == FORMAT_NEVER || (format->kind == FORMAT_IMAGE && !f->how->ocr) ? format->what : NULL;
    encoding_of(&e, s.head, s.n_head, n < SNIFF_BYTES);
    return memchr(s.head, 0, s.n_head) && !e.name ? "a binary file" : NULL;
}

static void take(struct found *f, char *path)
{
    const char *why = no_text(f, path);

    if (!why) {
        add(f, path);
        return;
    }
    if (f->n_skipped++ < MOST_SAID && strcmp(why, "blank"))
        say(f->io, "%s: skipped: %s", path, why);
    free(path);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int walk(struct found *f, const char *folder, int depth)
{
    DIR            *d = opendir(folder);
    struct dirent  *e;
    char          **name = NULL;
    size_t          n = 0;
    const size_t    n_rules = f->n_rules;
    int             code = 0;

    if (!d)
        return fail(f->io, EXIT_FAILED, "%s: cannot read: %s", folder, strerror(errno));
    while ((e = readdir(d)))
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) {
            name = grow(name, n + 1, sizeof *name);
            name[n++] = format("%s", e->d_name);
        }
    closedir(d);
    if (n)
        qsort(name, n, sizeof *name, by_name);
    read_rules(f, folder, ".gitignore");
    read_rules(f, folder, ".gemkvignore");
    for (size_t i = 0; i < n; i++) {
        char       *path = format("%s/%s", strcmp(folder, "/") ? folder : "", name[i]);
        struct stat st = { .st_mode = 0 };
        const bool  seen = !code && !lstat(path, &st), folder_here = seen && S_ISDIR(st.st_mode);

        if (progress_cancelled())
            code = code ? code : fail(f->io, EXIT_FAILED, "cancelled while looking into %s", folder);
        if (!seen || ignored(f, path, name[i], folder_here)) {
            free(path);
        } else if (folder_here) {               /* not through links: they may lead back */
            if (depth < DEEPEST)
                code = walk(f, path, depth + 1);
            free(path);
        } else if (!stat(path, &st) && S_ISREG(st.st_mode)) {
            take(f, path);
        } else {
            free(path);
        }
        free(name[i]);
    }
    free(name);
    while (f->n_rules > n_rules)
        free(f->rule[--f->n_rules].pattern);
    return code;
}

/* ---- names ------------------------------------------------------------------------------- */
static int folder_files(struct found *f, const char *name)
{
    char  *folder = format("%s", name);
    size_t n = strlen(folder), before = f->words.n;
    int    code;

    if (!f->how->recursive) {
        free(folder);
        return fail(f->io, EXIT_FAILED, "%s: a directory; -r reads the files in it", name);
    }
    while (n > 1 && folder[n - 1] == '/')       /* "notes/" and "notes" are the same documents */
        folder[--n] = 0;
    f->n_skipped = 0;
    code = walk(f, folder, 0);
    if (!code && f->n_skipped > MOST_SAID)
        say(f->io, "%s: skipped %zu files", folder, f->n_skipped);
    if (!code && f->words.n == before)
        code = fail(f->io, EXIT_DOCUMENT, "%s: there are no files with text in it", folder);
    free(folder);
    return code;
}

static int pattern_files(struct found *f, const char *name)
{
    glob_t g;
    int    code = 0;

    if (glob(name, GLOB_MARK, NULL, &g))
        return fail(f->io, EXIT_FAILED, "%s: no file has such a name", name);
    for (size_t i = 0; !code && i < g.gl_pathc; i++) {
        const size_t n = strlen(g.gl_pathv[i]);

        if (n && g.gl_pathv[i][n - 1] != '/')
            add(f, format("%s", g.gl_pathv[i]));
        else if (f->how->recursive)
            code = folder_files(f, g.gl_pathv[i]);
    }
    globfree(&g);
    return code ? code : f->words.n ? 0 : fail(f->io, EXIT_FAILED, "%s: only directories; -r reads the files in them", name);
}

int find_files(struct io *io, const struct find_how *how, struct words *w, struct words *own)
{
    struct found f = { .io = io, .how = how, .own = own, .head = grow(NULL, SNIFF_BYTES, 1) };
    struct stat  st;
    int          code = 0;

    for (size_t i = 0; !code && i < w->n; i++) {
        const char *name = w->v[i];

        if (strcmp(name, "-") && !stat(name, &st) && S_ISDIR(st.st_mode))
            code = folder_files(&f, name);
        else if (strpbrk(name, "*?[") && !strstr(name, "://") && lstat(name, &st))
            code = pattern_files(&f, name);
        else
            words_add(&f.words, name);
    }
    free(f.head);
    free(f.rule);
    free(w->v);
    *w = f.words;
    return code;
}

void find_free(struct words *own)
{
    for (size_t i = 0; i < own->n; i++)
        free((char *)own->v[i]);
    free(own->v);
    *own = (struct words){ NULL, 0 };
}
