/* SPDX-License-Identifier: BSD-2-Clause
 * places.c - see places.h */
#include "config.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/json-parse.h"
#include "src/cli/places.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

enum {
    DEEPEST = 8,                        /* folders in folders                             */
    MOST_ENTRIES = 100000,              /* of one place                                   */
    MOST_MODELS = 2000,
    MANIFEST = 1 << 20                  /* bytes                                          */
};

/* ---- where ----------------------------------------------------------------------------- */
/* Folders that are not there are left out, and files that two rows lead to are listed once. */
static const struct spot {
    const char *place, *variable, *below;
    int         deep;                   /* how far to look: 1, only in the folder         */
    bool        manifests;              /* Ollama's: names are files, models are blobs    */
} places[] = {
    { "Hugging Face", "HF_HUB_CACHE", "", DEEPEST, false },
    { "Hugging Face", "HF_HOME", "/hub", DEEPEST, false },
    { "Hugging Face", "XDG_CACHE_HOME", "/huggingface/hub", DEEPEST, false },
    { "Hugging Face", "HOME", "/.cache/huggingface/hub", DEEPEST, false },
    { "llama.cpp", "LLAMA_CACHE", "", DEEPEST, false },
    { "llama.cpp", "XDG_CACHE_HOME", "/llama.cpp", DEEPEST, false },
    { "llama.cpp", "HOME", "/.cache/llama.cpp", DEEPEST, false },
    { "Ollama", "OLLAMA_MODELS", "", DEEPEST, true },
    { "Ollama", "HOME", "/.ollama/models", DEEPEST, true },
    { "Ollama", NULL, "/usr/share/ollama/.ollama/models", DEEPEST, true },
    { "LM Studio", "HOME", "/.lmstudio/models", DEEPEST, false },
    { "LM Studio", "HOME", "/.cache/lm-studio/models", DEEPEST, false },
    { "GPT4All", "XDG_DATA_HOME", "/nomic.ai/GPT4All", DEEPEST, false },
    { "GPT4All", "HOME", "/.local/share/nomic.ai/GPT4All", DEEPEST, false }
};

enum { N_PLACES = sizeof places / sizeof *places };

/* The place's folder, for free(), or NULL.  A relative path in a variable is not followed: it would depend on where one
 * is. */
static char *folder_of(const struct spot *p)
{
    const char *v = p->variable ? getenv(p->variable) : "";

    return v && (!p->variable || *v == '/') ? format("%s%s", v, p->below) : NULL;
}

/* ---- files ----------------------------------------------------------------------------- */
char *places_read(const char *path, size_t most, size_t *n)
{
    int         fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    struct stat st;
    char       *text = NULL;
    ssize_t     k = 1;

    if (fd < 0)
        return NULL;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
        text = grow(NULL, most + 1, 1);
        for (*n = 0; *n < most && k > 0; *n += k > 0 ? (size_t)k : 0)
            k = read(fd, text + *n, most - *n);
        text[*n] = 0;
    } else {
        errno = S_ISDIR(st.st_mode) ? EISDIR : EINVAL;
    }
    close(fd);
    return text;
}

/* Takes over both strings. */
static void add(struct models *m, const char *place, char *path, char *name)
{
    struct stat st;
    bool        known = stat(path, &st) || !S_ISREG(st.st_mode);

    for (size_t i = 0; i < m->n && !known; i++)
        known = m->v[i].inode == st.st_ino && m->v[i].device == st.st_dev;
    if (!known && m->n == MOST_MODELS)
        m->all = false;
    if (known || m->n == MOST_MODELS) {
        free(path);
        free(name);
        return;
    }
    m->v = grow(m->v, m->n + 1, sizeof *m->v);
    m->v[m->n++] = (struct found){ path, name, place, st.st_dev, st.st_ino };
}

/* ---- Ollama's manifests ------------------------------------------------------------------ */
/* The blob that a manifest says is the model, for free(), or NULL. */
static char *blob_of(const char *folder, const char *manifest)
{
    size_t              n, at;
    const char         *why;
    char               *text = places_read(manifest, MANIFEST, &n), *blob = NULL;
    struct value       *v = text ? parse_json(text, n, &why, &at) : NULL;
    const struct value *layers = v ? parse_member(v, "layers") : NULL;

    for (const struct value *l = layers && layers->type == PARSE_ARRAY ? layers->first : NULL; l && !blob; l = l->next) {
        const char *type = parse_string(l, "mediaType"), *digest = parse_string(l, "digest");

        if (type && digest && !strcmp(type, "application/vnd.ollama.image.model") && !strncmp(digest, "sha256:", 7)
            && strlen(digest) == 7 + 64 && strspn(digest + 7, "0123456789abcdef") == 64)
            blob = format("%s/blobs/sha256-%s", folder, digest + 7);
    }
    parse_free(v);
    free(text);
    return blob;
}

/* "registry.ollama.ai/library/llama3.2/3b" is llama3.2:3b.  For free(), or NULL. */
static char *name_of(const char *below)
{
    static const char *const usual[] = { "registry.ollama.ai/library/", "registry.ollama.ai/" };
    const char              *tag = strrchr(below, '/');
    size_t                   skip = 0;

    for (size_t i = 0; i < 2 && !skip; i++)
        if (!strncmp(below, usual[i], strlen(usual[i])))
            skip = strlen(usual[i]);
    return tag && tag > below + skip ? format("%.*s:%s", (int)(tag - (below + skip)), below + skip, tag + 1) : NULL;
}

/* ---- folders --------------------------------------------------------------------------- */
struct walk {
    struct models      *m;
    const struct spot *place;
    const char         *folder;
    size_t              n_entries;
    struct { unsigned long long device, inode; } above[DEEPEST + 1];
};

static void entry(struct walk *w, char *path)
{
    const size_t len = strlen(path);
    char        *blob, *name;

    if (w->place->manifests) {
        name = name_of(path + strlen(w->folder) + strlen("/manifests/"));
        blob = name ? blob_of(w->folder, path) : NULL;
        if (blob)
            add(w->m, w->place->place, blob, name);
        else
            free(name);
        free(path);
    } else if (len > 5 && !strcasecmp(path + len - 5, ".gguf")) {
        add(w->m, w->place->place, path, format("%s", path));
    } else {
        free(path);
    }
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* depth: of this folder, from 0 on. */
static void walk(struct walk *w, const char *folder, int depth)
{
    DIR            *dir = opendir(folder);
    const struct dirent *e;
    struct stat     st;
    char          **name = NULL;
    size_t          n = 0;

    if (!dir)
        return;
    if (fstat(dirfd(dir), &st)) {
        closedir(dir);
        return;
    }
    for (int i = 0; i < depth; i++)
        if (w->above[i].device == st.st_dev && w->above[i].inode == st.st_ino) {
            closedir(dir);                      /* a link to a folder above this one */
            return;
        }
    w->above[depth].device = st.st_dev;
    w->above[depth].inode = st.st_ino;
    while ((e = readdir(dir))) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        if (w->n_entries++ >= MOST_ENTRIES) {
            w->m->all = false;
            break;
        }
        name = grow(name, n + 1, sizeof *name);
        name[n++] = format("%s/%s", folder, e->d_name);
    }
    closedir(dir);
    if (n)
        qsort(name, n, sizeof *name, by_name);
    for (size_t i = 0; i < n; i++) {
        if (stat(name[i], &st) || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))) {
            free(name[i]);
        } else if (S_ISREG(st.st_mode)) {
            entry(w, name[i]);
        } else {
            if (depth + 1 < w->place->deep)
                walk(w, name[i], depth + 1);
            free(name[i]);
        }
    }
    free(name);
}

void places_search(struct models *m)
{
    static const struct spot here = { "this folder", NULL, "", 1, false };
    const char               *env = getenv("GEMKV_MODEL");
    char                     *bundled = run_data_path(RUN_BUNDLED), *folder, *top;

    *m = (struct models){ .all = true };
    if (env && *env)
        add(m, "$GEMKV_MODEL", format("%s", env), format("%s", env));
    walk(&(struct walk){ .m = m, .place = &here, .folder = "." }, ".", 0);
    for (size_t i = 0; i < m->n; i++)
        if (!strncmp(m->v[i].name, "./", 2))
            memmove(m->v[i].name, m->v[i].name + 2, strlen(m->v[i].name) - 1);
    for (size_t i = 0; i < N_PLACES; i++) {
        if (!(folder = folder_of(&places[i])))
            continue;
        top = format("%s%s", folder, places[i].manifests ? "/manifests" : "");
        walk(&(struct walk){ .m = m, .place = &places[i], .folder = folder }, top, 0);
        free(top);
        free(folder);
    }
    if (bundled && (top = realpath(bundled, NULL)))
        add(m, "gemkv", top, format("%s", top));
    free(bundled);
}

void places_free(struct models *m)
{
    for (size_t i = 0; i < m->n; i++) {
        free(m->v[i].path);
        free(m->v[i].name);
    }
    free(m->v);
    *m = (struct models){ NULL, 0, false };
}

char *places_ollama(const char *name)
{
    const char *colon = strrchr(name, ':'), *slash = strchr(name, '/');
    const bool  tagged = colon && !strchr(colon, '/');
    const char *tag = tagged ? colon + 1 : "latest";
    const int   len = (int)(tagged ? (size_t)(colon - name) : strlen(name));
    const bool  host = slash && memchr(name, '.', (size_t)(slash - name));
    char       *found = NULL, *manifest, *folder;
    struct stat st;

    if (!len || !*tag || *name == '/' || *name == '.' || *tag == '.' || strstr(name, "/.") || strstr(name, "//"))
        return NULL;
    for (size_t i = 0; i < N_PLACES && !found; i++) {
        if (!places[i].manifests || !(folder = folder_of(&places[i])))
            continue;
        manifest = format("%s/manifests/%s%.*s/%s", folder, host ? "" : slash ? "registry.ollama.ai/"
                          : "registry.ollama.ai/library/", len, name, tag);
        found = blob_of(folder, manifest);
        if (found && (stat(found, &st) || !S_ISREG(st.st_mode))) {
            free(found);
            found = NULL;
        }
        free(manifest);
        free(folder);
    }
    return found;
}
