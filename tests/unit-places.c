/* SPDX-License-Identifier: BSD-2-Clause
 * unit-places.c - where models are looked for: folders of other programs, their limits, Ollama's names, and what is beside
 * the program */
#include "config.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "src/cli/places.h"
#include "src/cli/run.h"
#include "src/cli/say.h"
#include "src/cli/text.h"
#include "tests/tap.h"

#define DIGITS "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char top[] = "/tmp/gemkv-places-XXXXXX";

/* Makes the file below top, with its folders; the same text twice is still two files. */
static void put(const char *name, const char *text)
{
    char *path = format("%s/%s", top, name);
    FILE *f;

    for (char *slash = path + strlen(top) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = 0;
        mkdir(path, 0700);
        *slash = '/';
    }
    f = fopen(path, "w");
    if (f) {
        fputs(text, f);
        fclose(f);
    }
    free(path);
}

/* The names that a search finds, but the bundled one's, without the name of top. */
static char *found(bool *all)
{
    struct models m;
    struct text   t = { NULL, 0, 0 };

    text_puts(&t, "");
    places_search(&m);
    for (size_t i = 0; i < m.n; i++)
        if (strcmp(m.v[i].place, "gemkv")) {
            const bool mine = !strncmp(m.v[i].name, top, strlen(top));

            text_printf(&t, "%s|%s\n", m.v[i].place, m.v[i].name + (mine ? strlen(top) : 0));
        }
    *all = m.all;
    places_free(&m);
    return t.p;
}

static void is(char *got, const char *want, const char *what)
{
    const int same = !strcmp(got, want);

    ok(same, "%s", what);
    if (!same)
        printf("# not %s\n", got);
    free(got);
}

static void test_search(void)
{
    char *link = format("%s/.cache/huggingface/hub/a/loop", top), *target = format("%s/.cache/huggingface/hub", top);
    bool  all;

    put(".cache/huggingface/beside.gguf", "1");         /* beside the folder, not in it */
    put(".cache/huggingface/hub/b.gguf", "1");
    put(".cache/huggingface/hub/a/c.GGUF", "1");
    put(".cache/huggingface/hub/a/c.gguf.part", "1");
    put(".cache/huggingface/hub/a/gguf", "1");
    put(".cache/huggingface/hub/1/2/3/4/5/6/7/deep.gguf", "1");
    put(".cache/huggingface/hub/1/2/3/4/5/6/7/8/deeper.gguf", "1");
    put("here/mine.gguf", "1");
    put("here/below/not.gguf", "1");
    put(".ollama/models/manifests/registry.ollama.ai/library/small/latest",
        "{\"layers\": [{\"mediaType\": \"application/vnd.ollama.image.license\", \"digest\": \"sha256:" DIGITS "\"}, "
        "{\"mediaType\": \"application/vnd.ollama.image.model\", \"digest\": \"sha256:" DIGITS "\"}]}");
    put(".ollama/models/manifests/registry.ollama.ai/library/none/latest", "{\"layers\": {}}");
    put(".ollama/models/manifests/registry.ollama.ai/short", "{\"layers\": []}");
    put(".ollama/models/blobs/sha256-" DIGITS, "1");
    ok(!symlink(target, link), "a loop");
    is(found(&all), "this folder|mine.gguf\nHugging Face|/.cache/huggingface/hub/1/2/3/4/5/6/7/deep.gguf\n"
       "Hugging Face|/.cache/huggingface/hub/a/c.GGUF\nHugging Face|/.cache/huggingface/hub/b.gguf\nOllama|small:latest\n",
       "in the order of their names, in folders below each other, but not in those beside them");
    ok(all, "these were all");
    setenv("GEMKV_MODEL", "below/not.gguf", 1);
    is(found(&all), "$GEMKV_MODEL|below/not.gguf\nthis folder|mine.gguf\nHugging Face|/.cache/huggingface/hub/1/2/3/4/5/6/7/deep.gguf\n"
       "Hugging Face|/.cache/huggingface/hub/a/c.GGUF\nHugging Face|/.cache/huggingface/hub/b.gguf\nOllama|small:latest\n",
       "the model of the environment is the first");
    unsetenv("GEMKV_MODEL");
    free(link);
    free(target);
}

static void test_many(void)
{
    struct models m;
    char          name[64];
    size_t        before;

    places_search(&m);
    before = m.n;                       /* with the bundled one, where it is installed */
    places_free(&m);
    for (size_t i = before; i < 2000; i++) {
        snprintf(name, sizeof name, ".cache/llama.cpp/%04zu.gguf", i);
        put(name, "");
    }
    places_search(&m);
    ok(before > 4 && m.n == 2000 && m.all, "2000 models are all");
    places_free(&m);
    put(".cache/llama.cpp/last.gguf", "");
    places_search(&m);
    ok(m.n == 2000 && !m.all, "more are not looked at");
    places_free(&m);
}

static bool is_blob(const char *name)
{
    char *path = places_ollama(name), *want = format("%s/.ollama/models/blobs/sha256-" DIGITS, top);
    bool  yes = path && !strcmp(path, want);

    if (path && !yes)
        printf("# %s\n", path);
    free(path);
    free(want);
    return yes;
}

static void test_ollama(void)
{
    static const char layer[] = "{\"layers\": [{\"mediaType\": \"application/vnd.ollama.image.model\", \"digest\": \"%s\"}]}";
    static const struct { const char *digest; bool good; } digests[] = {
        { "sha256:" DIGITS, true }, { "sha256:" DIGITS "0", false }, { "sha512:" DIGITS, false },
        { "sha256:A123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false },
        { "sha256:123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef", false }, { "", false }
    };
    char *text;

    put(".ollama/models/manifests/registry.ollama.ai/some/body/q4", "");
    text = format(layer, "sha256:" DIGITS);
    put(".ollama/models/manifests/registry.ollama.ai/some/body/q4", text);
    put(".ollama/models/manifests/hf.co/user/repo/latest", text);
    put(".ollama/models/manifests/host:99/u/m/latest", text);
    free(text);
    ok(is_blob("small") && is_blob("small:latest") && !is_blob("small:other") && !is_blob("none") && !is_blob("smal"), "names of its library");
    ok(is_blob("some/body:q4") && !is_blob("some/body"), "of somebody");
    ok(is_blob("hf.co/user/repo") && is_blob("hf.co/user/repo:latest"), "of another host");
    ok(!is_blob("") && !is_blob(":latest") && !is_blob("small:") && !is_blob("/small") && !is_blob("./small") && !is_blob("small:.")
       && !is_blob("some/./body:q4") && !is_blob("some//body:q4") && !is_blob("small:../latest"), "what leads elsewhere is no name");
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        text = format(layer, digests[i].digest);
        put(".ollama/models/manifests/registry.ollama.ai/library/digest/latest", text);
        ok(is_blob("digest") == digests[i].good, "digest %s", digests[i].digest);
        free(text);
    }
}

static void test_read(void)
{
    char  *path = format("%s/here/mine.gguf", top), *fifo = format("%s/fifo", top), *s;
    size_t n = 7;

    put("here/mine.gguf", "12345");
    s = places_read(path, 5, &n);
    ok(s && n == 5 && !strcmp(s, "12345"), "a file");
    free(s);
    s = places_read(path, 4, &n);
    ok(s && n == 4 && !strcmp(s, "1234"), "its beginning");
    free(s);
    s = places_read(path, 100, &n);
    ok(s && n == 5 && !strcmp(s, "12345"), "no more than there is");
    free(s);
    ok(!places_read(top, 5, &n) && errno == EISDIR, "a folder");
    ok(!mkfifo(fifo, 0600) && !places_read(fifo, 5, &n) && errno == EINVAL, "what is no file");
    free(fifo);
    free(path);
}

/* Copies this program to a folder, makes the file below it that its data may be, or none, and asks the copy where its data is. */
static void beside(const char *data, const char *want)
{
    char *program = format("%s/prefix/bin/program", top), *command = format("'%s' data", program), *where;
    char  line[4200] = "";
    FILE *from, *to, *f;
    int   c;

    put("prefix/bin/program", "");
    chmod(program, 0700);
    from = fopen("/proc/self/exe", "rb");
    to = fopen(program, "wb");
    while (from && to && (c = getc(from)) != EOF)
        putc(c, to);
    if (from)
        fclose(from);
    if (to)
        fclose(to);
    if (data)
        put(data, "");
    fflush(stdout);
    f = popen(command, "r");
    if (f && !fgets(line, sizeof line, f))
        line[0] = 0;
    if (f)
        pclose(f);
    line[strcspn(line, "\n")] = 0;
    where = line + (strncmp(line, top, strlen(top)) ? 0 : strlen(top));
    ok(!strcmp(where, want), "data at %s", want);
    if (strcmp(where, want))
        printf("# %s\n", line);
    if (data) {
        free(command);
        command = format("%s/%s", top, data);
        unlink(command);
    }
    free(command);
    free(program);
}

int main(int argc, char **argv)
{
    static const char *const variables[] = {
        "HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", "LLAMA_CACHE", "OLLAMA_MODELS", "XDG_DATA_HOME", "GEMKV_MODEL"
    };
    char *s;

    if (argc > 1 && !strcmp(argv[1], "data")) {         /* the copy */
        s = run_data_path("gemkv-no-such-data");
        puts(s ? s : "none");
        free(s);
        return 0;
    }
    if (!mkdtemp(top))
        return 1;
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
    setenv("HOME", top, 1);
    put("here/mine.gguf", "1");
    s = format("%s/here", top);
    if (chdir(s))
        return 1;
    free(s);
    test_search();
    test_ollama();
    test_read();
    test_many();
    if (access("/proc/self/exe", R_OK) || getenv("MKMODEL")) {
        skip("no /proc, or an emulator", "data beside the program");
    } else {
        beside(NULL, "none");
        beside("prefix/share/gemkv/gemkv-no-such-data", "/prefix/bin/../share/gemkv/gemkv-no-such-data");
        beside("prefix/bin/share/gemkv/gemkv-no-such-data", "/prefix/bin/share/gemkv/gemkv-no-such-data");
    }
    s = format("rm -rf '%s'", top);
    if (chdir("/") || system(s))
        printf("# %s is left\n", top);
    free(s);
    return done();
}
