/* SPDX-License-Identifier: BSD-2-Clause
 * material.c - see material.h */
#include "config.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/input.h"
#include "src/cli/material.h"
#include "src/cli/json-parse.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

const char stock_sentences[] = "The grass is green. The sky is blue. The sun is yellow. "
                               "Here we go. There and back again.";

/* ---- random numbers ------------------------------------------------------------------ */
/* SplitMix64: Steele, Lea and Flood, "Fast splittable pseudorandom number generators" (2014). */
uint64_t rng_next(struct rng *r)
{
    uint64_t z = r->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

struct rng rng_of(uint64_t seed, const char *what, uint64_t i)
{
    struct rng r = { seed };

    for (; *what; what++)
        r.state = rng_next(&r) ^ (unsigned char)*what;
    r.state = rng_next(&r) ^ i;
    rng_next(&r);
    return r;
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    const uint64_t fair = UINT64_MAX - UINT64_MAX % n;
    uint64_t       v;

    do
        v = rng_next(r);
    while (v >= fair);
    return v % n;
}

void rng_shuffle(struct rng *r, uint32_t *v, size_t n)
{
    for (size_t i = n; i > 1; i--) {
        size_t   j = (size_t)rng_below(r, i);
        uint32_t t = v[i - 1];

        v[i - 1] = v[j];
        v[j] = t;
    }
}

void rng_choose(struct rng *r, uint32_t max, uint32_t *out, size_t n)
{
    uint32_t *all = grow(NULL, max, sizeof *all);

    for (uint32_t i = 0; i < max; i++)
        all[i] = i;
    rng_shuffle(r, all, max);
    memcpy(out, all, n * sizeof *out);
    free(all);
}

char *rng_uuid(struct rng *r)
{
    const uint64_t a = rng_next(r), b = rng_next(r);

    return format("%08" PRIx64 "-%04" PRIx64 "-4%03" PRIx64 "-%x%03" PRIx64 "-%012" PRIx64,
                  a >> 32, a >> 16 & 0xffff, a & 0xfff, 8 + (unsigned)(b >> 62),
                  b >> 48 & 0xfff, b & 0xffffffffffff);
}

char *rng_digits(struct rng *r, int n)
{
    char *s = grow(NULL, (size_t)n + 1, 1);

    for (int i = 0; i < n; i++)
        s[i] = (char)('0' + (i ? rng_below(r, 10) : 1 + rng_below(r, 9)));
    s[n] = 0;
    return s;
}

static const char *const adjectives[N_ADJECTIVES] = {
    "amber", "ancient", "bashful", "bitter", "blue", "brave", "breezy", "bright", "broad",
    "bronze", "busy", "calm", "careful", "cheerful", "chilly", "clever", "cloudy", "crimson",
    "crooked", "curious", "dainty", "distant", "dusty", "eager", "early", "fearless", "fragile",
    "frosty", "gentle", "gloomy", "golden", "graceful", "green", "hollow", "honest", "humble",
    "idle", "jolly", "lively", "lonely", "lucky", "mellow", "misty", "modest", "noisy", "pale",
    "patient", "plain", "polite", "proud", "quiet", "rapid", "rusty", "salty", "secret",
    "silent", "silver", "sleepy", "steady", "sturdy", "tender", "thirsty", "velvet", "wooden"
};

static const char *const nouns[N_NOUNS] = {
    "acorn", "anchor", "apple", "apron", "arrow", "attic", "badger", "bakery", "barrel",
    "basket", "beacon", "beaver", "bell", "bench", "blanket", "bottle", "bridge", "broom",
    "bucket", "button", "cabin", "camel", "candle", "canyon", "carpet", "castle", "cellar",
    "chapel", "cherry", "chimney", "clock", "cobbler", "comet", "compass", "cottage", "cricket",
    "curtain", "daisy", "dolphin", "drum", "eagle", "engine", "falcon", "feather", "fiddle",
    "forest", "fountain", "garden", "gate", "glacier", "goose", "hammer", "harbour", "hatchet",
    "hedge", "helmet", "heron", "hill", "island", "jacket", "jungle", "kettle", "kitchen",
    "ladder", "lagoon", "lantern", "lemon", "lizard", "magnet", "maple", "market", "meadow",
    "mirror", "monkey", "mountain", "mustard", "needle", "oak", "ocean", "orchard", "otter",
    "oyster", "paddle", "palace", "parrot", "pebble", "pencil", "pepper", "piano", "pigeon",
    "pillow", "planet", "pocket", "puddle", "rabbit", "raven", "ribbon", "river", "rocket",
    "saddle", "sailor", "salmon", "shadow", "shovel", "signal", "spider", "sponge", "spoon",
    "stable", "statue", "stone", "sunset", "table", "tailor", "temple", "thimble", "thunder",
    "tiger", "tower", "trumpet", "tunnel", "valley", "village", "violin", "walnut", "whistle",
    "window", "wizard"
};

char *word_pair(uint32_t i)
{
    return format("%s-%s", adjectives[i % N_ADJECTIVES], nouns[i / N_ADJECTIVES % N_NOUNS]);
}

/* ---- haystack ------------------------------------------------------------------------ */
/* Length of a sentence's end at s: a full stop and closing quotation marks, followed by white space where the
 * script has any; or 0. */
static size_t sentence_end(const char *s)
{
    static const struct { const char *text; bool space; } stop[] = {
        { ".", true }, { "!", true }, { "?", true }, { "\xd8\x9f", true }, { "\xe0\xa5\xa4", true },
        { "\xe3\x80\x82", false }, { "\xef\xbc\x81", false }, { "\xef\xbc\x9f", false }
    };
    static const char *const closing[] = { "\"", "'", ")", "\xe2\x80\x9d", "\xe2\x80\x99", "\xe3\x80\x8d" };
    size_t which = 0, k;

    while (which < sizeof stop / sizeof *stop && strncmp(s, stop[which].text, strlen(stop[which].text)))
        which++;
    if (which == sizeof stop / sizeof *stop)
        return 0;
    k = strlen(stop[which].text);
    for (size_t i = 0; i < sizeof closing / sizeof *closing; i++)
        if (!strncmp(s + k, closing[i], strlen(closing[i]))) {
            k += strlen(closing[i]);
            i = (size_t)-1;                     /* there may be more */
        }
    return !stop[which].space || s[k] == ' ' || s[k] == '\n' || s[k] == '\r' || s[k] == '\t' || !s[k] ? k : 0;
}

/* Where to cut what is longer than n bytes without a full stop, as code and tables are: at the end of a line, a
 * word or a character. */
static size_t cut(const char *s, size_t n)
{
    size_t i = n;

    while (i && s[i] != '\n')
        i--;
    for (i = i ? i : n; i && s[i] != ' ' && s[i] != '\n';)
        i--;
    for (i = i ? i : n; i + 4 > n && ((unsigned char)s[i] & 0xc0) == 0x80;)
        i--;
    return i;
}

static void add_end(struct haystack *h, size_t end)
{
    enum { LONGEST = 1000 };
    size_t from = h->n ? h->end[h->n - 1] : 0, to;

    for (; from < end; from = to) {
        to = end - from > LONGEST ? from + cut(h->text + from, LONGEST) : end;
        if (!(h->n & (h->n - 1)))
            h->end = grow(h->end, 2 * h->n + 2, sizeof *h->end);
        h->end[h->n++] = to;
    }
}

static void find_sentences(struct haystack *h)
{
    const size_t n = strlen(h->text);

    for (size_t i = 0; i < n; i++) {
        size_t k = sentence_end(h->text + i);

        if (!k)
            continue;
        add_end(h, i + k);
        i += k - 1;
    }
    add_end(h, n);                              /* a last one without a sentence's end */
}

void haystack_of(struct haystack *h, const char *text, const char *again)
{
    *h = (struct haystack){ .text = format("%s", text), .again = again };
    find_sentences(h);
}

int haystack_read(struct haystack *h, struct io *io, const char *const *file, size_t n)
{
    struct text t = { NULL, 0, 0 };
    char       *own = NULL;
    const char *bundled;
    int         code = 0;

    if (!n) {
        own = run_data_path(MATERIAL_BOOK);
        if (!own)
            return fail(io, EXIT_FAILED, "the bundled book %s is not installed; give a text with "
                        "--haystack", MATERIAL_BOOK);
        bundled = own;
        file = &bundled;
        n = 1;
    }
    for (size_t i = 0; i < n && !code; i++) {
        char  *one = NULL;
        size_t len;

        code = input_slurp(io, file[i], &one, &len);
        if (!code && strlen(one) < len)
            code = fail(io, EXIT_DOCUMENT, "%s: not text: it has a NUL byte", input_name(file[i]));
        if (!code) {
            text_puts(&t, i ? "\n\n" : "");
            text_add(&t, one, len);
        }
        free(one);
    }
    while (t.n && strchr(" \n\r\t", t.p[t.n - 1]))
        t.p[--t.n] = 0;
    if (!code && !t.n)
        code = fail(io, EXIT_DOCUMENT, "%s: there is no text in it", input_name(file[0]));
    if (!code)
        haystack_of(h, t.p, "\n\n");
    text_free(&t);
    free(own);                                          /* file[0] may be it */
    return code;
}

void haystack_free(struct haystack *h)
{
    free(h->text);
    free(h->end);
    *h = (struct haystack){ NULL, NULL, 0, NULL };
}

void haystack_build(const struct haystack *h, size_t n, const struct insert *in, size_t n_in,
                    struct text *out)
{
    for (size_t i = 0; i <= n; i++) {
        const size_t at = i % h->n, from = at ? h->end[at - 1] : 0;

        for (; n_in && in->before <= i; in++, n_in--) {
            text_puts(out, i ? " " : "");
            text_puts(out, in->text);
            text_puts(out, i ? "" : " ");
        }
        if (i == n)
            break;
        text_puts(out, i && !at ? h->again : "");
        text_add(out, h->text + from, h->end[at] - from);
    }
}

static size_t bytes_before(const struct haystack *h, size_t i)
{
    return i / h->n * (h->end[h->n - 1] + strlen(h->again)) + (i % h->n ? h->end[i % h->n - 1] : 0);
}

size_t haystack_at(const struct haystack *h, size_t n, double percent)
{
    const double where = percent / 100 * (double)bytes_before(h, n);
    size_t       low = 0, high = n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if ((double)bytes_before(h, middle) < where)
            low = middle + 1;
        else
            high = middle;
    }
    if (low && where - (double)bytes_before(h, low - 1) < (double)bytes_before(h, low) - where)
        low--;
    return low;
}

/* ---- needles ------------------------------------------------------------------------- */
static bool read_needle(const struct value *v, size_t i, struct needle *n)
{
    const char         *id = parse_string(v, "id"), *text = parse_string(v, "needle");
    const char         *question = parse_string(v, "question");
    const struct value *answers = parse_member(v, "answers");

    if (!text || !question || !answers || answers->type != PARSE_ARRAY || !answers->first)
        return false;
    *n = (struct needle){ .id = id ? format("%s", id) : format("%zu", i),
                          .text = format("%s", text), .question = format("%s", question) };
    for (const struct value *a = answers->first; a; a = a->next)
        if (a->type == PARSE_STRING) {
            n->answer = grow(n->answer, n->n_answer + 1, sizeof *n->answer);
            n->answer[n->n_answer++] = format("%s", a->text);
        }
    return true;
}

int needles_read(struct needles *n, struct io *io, const char *file)
{
    char               *own = file ? NULL : run_data_path(MATERIAL_NEEDLES), *text = NULL;
    const struct value *list;
    struct value       *v = NULL;
    const char         *why;
    size_t              len, at;
    int                 code;

    *n = (struct needles){ NULL, 0 };
    if (!file && !own)
        return fail(io, EXIT_FAILED, "the bundled %s is not installed; give a file with --needles",
                    MATERIAL_NEEDLES);
    file = file ? file : own;
    code = input_slurp(io, file, &text, &len);
    if (!code) {
        v = parse_json(text, len, &why, &at);
        if (!v)
            code = fail(io, EXIT_FAILED, "%s: not JSON: %s, at byte %zu", file, why, at + 1);
    }
    list = v;
    if (v && v->type == PARSE_OBJECT)
        for (list = v->first; list && list->type != PARSE_ARRAY;)
            list = list->next;
    for (const struct value *i = list ? list->first : NULL; i; i = i->next) {
        n->needle = grow(n->needle, n->n + 1, sizeof *n->needle);
        if (read_needle(i, n->n, &n->needle[n->n]))
            n->n++;
    }
    if (!code && !n->n)
        code = fail(io, EXIT_FAILED, "%s: no needles in it; each is an object with \"needle\", "
                    "\"question\" and \"answers\"", file);
    parse_free(v);
    free(text);
    free(own);
    return code;
}

void needles_free(struct needles *n)
{
    for (size_t i = 0; i < n->n; i++) {
        free(n->needle[i].id);
        free(n->needle[i].text);
        free(n->needle[i].question);
        for (size_t j = 0; j < n->needle[i].n_answer; j++)
            free(n->needle[i].answer[j]);
        free(n->needle[i].answer);
    }
    free(n->needle);
    *n = (struct needles){ NULL, 0 };
}
