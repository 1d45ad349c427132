/* SPDX-License-Identifier: BSD-2-Clause
 * driver.c - main() of a target that is not linked with libFuzzer: replays files, and folders of them
 *
 *     gguf [-n VARIANTS] FILE|FOLDER...
 *
 * Each file is run as it is, and then as VARIANTS (40) damaged copies, cut or with some bytes changed, the same ones in
 * each run.  An input ends at a page that cannot be read.  One that fails is written to crash-TARGET. */
#include "config.h"
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/fuzz/fuzz.h"
#include "tests/rng.h"

/* Of the sanitizers, where the program is built with one. */
void __sanitizer_set_death_callback(void (*f)(void)) __attribute__((weak));

enum { DEEPEST = 4 };

static const char    *program;
static const uint8_t *running;          /* the input, or NULL                             */
static size_t         n_running, n_runs;
static unsigned       n_variants = 40;

/* ---- an input that fails ------------------------------------------------------------- */
static void save(void)
{
    char    path[256] = "crash-";
    int     fd;
    ssize_t done;

    if (!running)
        return;
    strncat(path, program, sizeof path - strlen(path) - 1);
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    done = fd < 0 ? -1 : write(fd, running, n_running);
    running = NULL;
    if (done >= 0) {
        strncat(path, " is the input that failed\n", sizeof path - strlen(path) - 1);
        done = write(STDERR_FILENO, path, strlen(path));
    }
}

static void caught(int signal)
{
    save();
    raise(signal);                      /* which the handler does not catch twice         */
}

/* A target that ends the process has failed, too. */
static void left(void)
{
    if (running) {
        save();
        _exit(1);
    }
}

static void watch(void)
{
    static const int signals[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGALRM };
    struct sigaction a = { .sa_handler = caught, .sa_flags = (int)SA_RESETHAND };

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!__sanitizer_set_death_callback || signals[i] == SIGALRM)
            sigaction(signals[i], &a, NULL);
    if (__sanitizer_set_death_callback)
        __sanitizer_set_death_callback(save);
    atexit(left);
}

/* ---- running ------------------------------------------------------------------------- */
static void run(const uint8_t *data, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (size + page - 1) / page * page;
    uint8_t     *map = mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    must(map != MAP_FAILED && !mprotect(map + room, page, PROT_NONE));
    memcpy(map + room - size, data, size);
    running = map + room - size;
    n_running = size;
    LLVMFuzzerTestOneInput(running, size);
    running = NULL;
    n_runs++;
    munmap(map, room + page);
}

/* In one to four places: a bit, a byte that means something in texts, bytes of elsewhere, or a number of a file that is
 * too large or too small. */
static void damage(uint8_t *data, size_t n)
{
    static const char     odd[] = "\"'\\{}[]<>%&#=:;,.-+0 \n\r\t\f\x01\x7f\x80\xff";
    static const uint64_t numbers[] = { 0, 5, 255, UINT32_MAX, INT32_MAX, UINT64_MAX, ~UINT64_C(4095),
                                        UINT64_C(1) << 33 };

    for (unsigned times = 1 + rng() % 4; times; times--) {
        const size_t page = rng() % n / 4096 * 4096;            /* where files have the heads of their parts */
        const size_t at = rng() % 2 ? rng() % n : page + rng() % (n - page < 256 ? n - page : 256);
        const size_t from = rng() % n, left = n - (at > from ? at : from);

        switch (rng() % 4) {
        case 0: data[at] ^= (uint8_t)(1u << rng() % 8); break;
        case 1: data[at] = (uint8_t)odd[rng() % sizeof odd]; break;
        case 2: memmove(data + at, data + from, left < 16 ? left : 16); break;
        default: memcpy(data + at, &numbers[rng() % 8], n - at < 8 ? n - at : 8); break;
        }
    }
}

static void replay(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size + 1);

    must(copy);
    run(data, size);
    rng_state = size;
    for (unsigned i = 0; i < n_variants && size; i++) {
        memcpy(copy, data, size);
        if (i % 2)
            damage(copy, size);
        run(copy, i % 2 ? size : size * i / n_variants);
    }
    free(copy);
}

static int replay_file(const char *path)
{
    FILE    *f = fopen(path, "rb");
    uint8_t *data = NULL;
    size_t   size = 0, n = 1;

    while (f && n) {
        data = realloc(data, size + (1 << 16));
        must(data);
        n = fread(data + size, 1, 1 << 16, f);
        size += n;
    }
    if (!f || ferror(f)) {
        perror(path);
        return 1;
    }
    fclose(f);
    replay(data, size);
    free(data);
    return 0;
}

static int replay_all(const char *path, int depth)
{
    struct dirent **name;
    struct stat     st;
    int             n, bad = 0;

    if (stat(path, &st) || !S_ISDIR(st.st_mode) || depth == DEEPEST)
        return replay_file(path);
    n = scandir(path, &name, NULL, alphasort);
    for (int i = 0; i < n; i++) {
        char inner[4096];

        snprintf(inner, sizeof inner, "%s/%s", path, name[i]->d_name);
        if (*name[i]->d_name != '.')
            bad |= replay_all(inner, depth + 1);
        free(name[i]);
    }
    free(name);
    return bad;
}

int main(int argc, char **argv)
{
    int bad = 0, first = 1;

    program = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
    if (argc > 2 && !strcmp(argv[1], "-n")) {
        n_variants = (unsigned)strtoul(argv[2], NULL, 10);
        first = 3;
    }
    watch();
    for (int i = first; i < argc; i++)
        bad |= replay_all(argv[i], 0);
    printf("%s: %zu inputs\n", program, n_runs);
    return bad;
}
