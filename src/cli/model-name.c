/* SPDX-License-Identifier: BSD-2-Clause
 * model-name.c - see model-name.h */
#include "config.h"
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/model-name.h"
#include "src/cli/places.h"
#include "src/cli/say.h"

/* ---- for a shell ----------------------------------------------------------------------- */
char *name_quoted(const char *word)
{
    char  *out, *p;
    size_t quotes = 0;

    if (*word && word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:@%+=-")] == 0)
        return format("%s%s", *word == '-' ? "./" : "", word);
    for (const char *s = word; *s; s++)
        quotes += *s == '\'';
    p = out = grow(NULL, strlen(word) + 3 * quotes + 3, 1);
    *p++ = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(p, "'\\''", 4);
            p += 4;
        } else {
            *p++ = *word;
        }
    }
    *p++ = '\'';
    *p = 0;
    return out;
}

/* ---- what is not on this machine --------------------------------------------------------- */
static bool ends_with(const char *s, const char *suffix)
{
    const size_t n = strlen(s), k = strlen(suffix);

    return n >= k && !strcasecmp(s + n - k, suffix);
}

/* Says: NAME: not on this machine; get it with CURL, and then gemkv's -m. */
static int download_file(struct io *io, const char *name, const char *url)
{
    const size_t n = strcspn(url, "?#");
    const char  *last = url + n;
    char        *file, *f, *u = name_quoted(url);
    int          code;

    while (last > url && last[-1] != '/')
        last--;
    file = last < url + n ? format("%.*s", (int)(url + n - last), last) : format("model.gguf");
    f = name_quoted(file);
    code = fail(io, EXIT_USAGE, "%s: gemkv opens no network connections; download it with: curl -L -o %s %s   "
                "and give it with -m %s", name, f, u, f);
    free(f);
    free(u);
    free(file);
    return code;
}

/* rest: "user/repo[:quant]" or "user/repo/[blob|resolve/main/]file.gguf[?...]". */
static int hub(struct io *io, const char *name, const char *rest)
{
    const size_t user = strcspn(rest, "/"), repo = rest[user] ? strcspn(rest + user + 1, "/:?#") : 0;
    const char  *more = rest + user + (rest[user] ? 1 : 0) + repo;
    const char  *quant = *more == ':' && more[1] ? more + 1 : "Q4_K_M";
    char        *of, *pattern, *url;
    int          code;

    if (rest[strcspn(rest, "?#")]) {            /* "?download=true" */
        of = format("%.*s", (int)strcspn(rest, "?#"), rest);
        code = hub(io, name, of);
        free(of);
        return code;
    }
    if (!user || !repo)
        return fail(io, EXIT_USAGE, "%s: a model of Hugging Face is named USER/REPOSITORY[:TYPE], such as "
                    "Qwen/Qwen3-4B-GGUF:Q4_K_M; gemkv opens no network connections: download its file, then give that "
                    "with -m", name);
    if (*more == '/' && ends_with(more, ".gguf")) {
        static const char *const views[] = { "/blob/", "/resolve/", "/raw/" };
        const char              *file = more + 1, *revision = "main";
        size_t                   n = 4;

        for (size_t i = 0; i < sizeof views / sizeof *views; i++)
            if (!strncmp(more, views[i], strlen(views[i])) && strchr(more + strlen(views[i]), '/')) {
                revision = more + strlen(views[i]);
                n = strcspn(revision, "/");
                file = revision + n + 1;
            }
        url = format("https://huggingface.co/%.*s/resolve/%.*s/%s", (int)(more - rest), rest, (int)n, revision, file);
        code = download_file(io, name, url);
        free(url);
        return code;
    }
    of = format("%.*s", (int)(more - rest), rest);
    url = name_quoted(of);
    free(of);
    of = format("*%s*.gguf", quant);
    pattern = name_quoted(of);
    code = fail(io, EXIT_USAGE, "%s: gemkv opens no network connections; download it with: hf download %s "
                "--include %s --local-dir .   and give the file with -m", name, url, pattern);
    free(pattern);
    free(of);
    free(url);
    return code;
}

int name_of_hub(struct io *io, const char *name)
{
    return name ? hub(io, name, name) : hub(io, "-hf", "");
}

/* What follows the prefix of the hub, or NULL. */
static const char *after_hub(const char *name)
{
    static const char *const prefix[] = {
        "hf://", "hf:", "https://huggingface.co/", "http://huggingface.co/", "https://hf.co/", "http://hf.co/",
        "huggingface.co/", "hf.co/"
    };

    for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
        if (!strncasecmp(name, prefix[i], strlen(prefix[i])))
            return name + strlen(prefix[i]);
    return NULL;
}

/* ---- files that are no GGUF --------------------------------------------------------------- */
enum { HEAD = 512 };

static const char ZIP[] = "PK\3\4";

static bool is_safetensors(const unsigned char *h, size_t n)
{
    uint64_t length = 0;

    for (int i = 7; i >= 0 && n >= 16; i--)
        length = length << 8 | h[i];
    return n >= 16 && length >= 2 && length < 1 << 27 && h[8] == '{' && (h[9] == '"' || h[9] == ' ' || h[9] == '\n'
                                                                            || h[9] == '}');
}

static bool begins(const unsigned char *h, size_t n, const char *magic)
{
    return n >= strlen(magic) && !memcmp(h, magic, strlen(magic));
}

static int convert(struct io *io, const char *name, const char *what, bool folder)
{
    const char *slash = strrchr(name, '/');
    char       *dir = folder ? format("%s", name) : slash ? format("%.*s", (int)(slash - name), name) : format(".");
    char       *d = name_quoted(*dir ? dir : "/");
    int         code;

    code = fail(io, EXIT_MODEL, "%s: %s; gemkv reads GGUF, which llama.cpp makes of the folder: python3 "
                "convert_hf_to_gguf.py %s --outfile model.gguf --outtype q8_0", name, what, d);
    free(d);
    free(dir);
    return code;
}

/* Refuses what is recognised as something else, with what to do; the library says what is wrong with the rest. */
static int check_kind(struct io *io, const char *name)
{
    size_t         n = 0;
    unsigned char *h = (unsigned char *)places_read(name, HEAD, &n);
    char          *config;
    int            code = 0;

    if (!h && errno == EISDIR) {
        config = format("%s/config.json", name);
        if (!access(config, F_OK))
            code = convert(io, name, "a folder with a model of the Transformers library", true);
        free(config);
        return code;
    }
    if (!h)
        return 0;
    if (is_safetensors(h, n))
        code = convert(io, name, "a safetensors file", false);
    else if ((begins(h, n, ZIP) && memmem(h, n, "data.pkl", 8)) || (n > 2 && h[0] == 0x80 && h[1] >= 2 && h[1] <= 5))
        code = convert(io, name, "a PyTorch checkpoint", false);
    else if (ends_with(name, ".onnx"))
        code = fail(io, EXIT_MODEL, "%s: an ONNX model, which cannot be converted; look for the same model as GGUF, or as "
                    "safetensors, which llama.cpp's convert_hf_to_gguf.py converts", name);
    else if (begins(h, n, "lmgg") || begins(h, n, "fmgg") || begins(h, n, "tjgg"))
        code = fail(io, EXIT_MODEL, "%s: a GGML file from before GGUF (2023); download the model again as GGUF", name);
    else if (begins(h, n, "version https://git-lfs"))
        code = fail(io, EXIT_MODEL, "%s: a pointer of Git LFS, not the model; run 'git lfs pull' in its repository", name);
    else if (begins(h, n, "<!DOCTYPE") || begins(h, n, "<!doctype") || begins(h, n, "<html"))
        code = fail(io, EXIT_MODEL, "%s: a web page, not a model; on Hugging Face, the address of the file has /resolve/, "
                    "not /blob/", name);
    else if (begins(h, n, "%PDF-") || begins(h, n, ZIP))
        code = fail(io, EXIT_MODEL, "%s: %s, not a model; give documents with -f", name,
                    *h == '%' ? "a PDF document" : "an Office document or ZIP archive");
    free(h);
    return code;
}

/* ---- the whole --------------------------------------------------------------------------- */
/* Whether Ollama could have given this name. */
static bool like_ollama(const char *name)
{
    return *name && *name != '/' && *name != '.' && *name != '~' && !ends_with(name, ".gguf")
           && !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:-")];
}

int model_name(struct io *io, const char *name, char **path)
{
    const char *rest = after_hub(name);
    char       *q;
    struct stat st = { 0 };
    int         code;

    *path = NULL;
    if (!stat(name, &st) || (errno != ENOENT && errno != ENOTDIR)) {
        code = S_ISREG(st.st_mode) || S_ISDIR(st.st_mode) ? check_kind(io, name) : 0;
        if (!code)
            *path = format("%s", name);
        return code;
    }
    if (like_ollama(name) && (*path = places_ollama(name)))
        return 0;
    if (rest)
        return hub(io, name, rest);
    if (strstr(name, "://"))
        return download_file(io, name, name);
    if (like_ollama(name) && (strchr(name, ':') || !strchr(name, '/'))) {
        q = name_quoted(name);
        code = fail(io, EXIT_FAILED, "%s: no such file, and Ollama has no such model here: 'ollama pull %s' gets it; "
                    "'gemkv models' lists the models found", name, q);
        free(q);
        return code;
    }
    return fail(io, EXIT_FAILED, "%s: no such file; 'gemkv models' lists the models found", name);
}
