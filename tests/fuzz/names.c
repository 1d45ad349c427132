/* SPDX-License-Identifier: BSD-2-Clause
 * names.c - names that lead to files: of devices, which are plugins, and of models in Ollama's folders, with a manifest
 *
 *     a name   a NUL   the manifest */
#include "config.h"
#include <string.h>
#include <sys/stat.h>
#include "src/answer/device.h"
#include "src/cli/places.h"
#include "tests/fuzz/fuzz.h"

static char *home;

static void leave(void)
{
    fuzz_remove(home);
}

static void write_file(const char *name, const void *data, size_t n)
{
    char  path[4200];
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", home, name);
    for (char *slash = path + strlen(home) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    f = fopen(path, "wb");
    must(f && fwrite(data, 1, n, f) == n && !fclose(f));
}

/* A plugin outside of the folder of plugins, which no name may reach, and a manifest that anybody may have written. */
static void prepare(void)
{
    char plugins[4200];

    home = fuzz_folder();
    atexit(leave);
    snprintf(plugins, sizeof plugins, "%s/plugins", home);
    setenv("GEMKV_PLUGIN_DIR", plugins, 1);
    setenv("OLLAMA_MODELS", home, 1);
    setenv("HOME", home, 1);
    write_file("plugins/gemkv-known.so", "", 0);
    write_file("outside.so", "", 0);
    write_file("plugins/gemkv-x/a", "", 0);
    write_file("blobs/sha256-/a", "", 0);
    write_file("blobs/sha256-0000000000000000000000000000000000000000000000000000000000000000", "GGUF", 4);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = { data, size };
    char        *name = fuzz_text(take_until(&in, 0)), *model;
    gkv_error    err = { 0 };

    if (!home)
        prepare();
    if (gkv__device_check(name, &err) == GKV_OK)
        must(!strcmp(name, "auto") || !strcmp(name, "cpu") || !strncmp(name, "known", 5) || !strncmp(name, "cuda", 4));
    else
        must(*err.text && !strchr(err.text, '\n'));
    write_file("manifests/registry.ollama.ai/library/m/latest", in.p, in.n);
    for (unsigned i = 0; i < 2; i++) {
        model = places_ollama(i ? "m" : name);
        must(!model || (!strncmp(model, home, strlen(home)) && !strncmp(model + strlen(home), "/blobs/sha256-", 14) &&
                        strlen(model) == strlen(home) + 14 + 64));
        free(model);
    }
    free(name);
    return 0;
}
