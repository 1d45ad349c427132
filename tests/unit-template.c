/* SPDX-License-Identifier: BSD-2-Clause
 * unit-template.c - chat templates: the same bytes as jinja2 renders; text from messages stays marked;
 * hostile and broken templates are refused. */
#include "config.h"
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "src/template/run.h"
#include "src/template/template.h"
#include "tests/file.h"
#include "tests/rng.h"
#include "tests/tap.h"

enum { MAX_MESSAGES = 8, NOW = 1722006245 };    /* 2024-07-26 15:04:05 */

static gkv_error err;

/* Replaces the C library's memmem, which reads a byte or two and finds nothing if the length is negative:
 * only a sanitizer would see that. */
static unsigned below_zero;

void *memmem(const void *text, size_t len, const void *what, size_t n)
{
    const char *p = text;

    below_zero += len > PTRDIFF_MAX;
    for (size_t left = len > PTRDIFF_MAX ? 0 : len; left >= n; left--, p++)
        if (!memcmp(p, what, n))
            return (void *)(uintptr_t)p;
    return NULL;
}

static uint64_t fnv(uint64_t h, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h = (h ^ (uint8_t)p[i]) * UINT64_C(0x100000001b3);
    return h;
}

#define FNV UINT64_C(0xcbf29ce484222325)

/* Decodes in place, NUL-terminated; "-" is empty. */
static size_t unhex(char *s)
{
    const bool empty = *s == '-';
    size_t     n = 0;

    for (unsigned byte; !empty && s[2 * n] && sscanf(s + 2 * n, "%2x", &byte) == 1; n++)
        s[n] = (char)byte;
    s[n] = 0;
    return n;
}

struct talk {
    char                name[64];
    struct gkv__message message[MAX_MESSAGES];
    size_t              n;
};

static void add_message(struct talk *t, char *role, char *hex)
{
    t->message[t->n].role = role;
    t->message[t->n].content_len = unhex(hex);
    t->message[t->n++].content = hex;
}

static bool     no_thinking;
static uint64_t less_steps;
static size_t   less_memory;

static gkv_status render(const char *jinja, size_t len, const struct talk *t, const char *bos,
                         const char *eos, bool answer, struct gkv__rendered *out)
{
    const struct gkv__chat chat = { .message = t->message, .n = t->n, .bos = bos, .eos = eos,
                                    .answer_next = answer, .no_thinking = no_thinking, .now = NOW,
                                    .less_steps = less_steps, .less_memory = less_memory };

    err.text[0] = 0;
    return gkv__chat_render(jinja, len, &chat, out, &err);
}

/* ---- jinja2 ----------------------------------------------------------------------------- */

/* Renders a mutated template: bytes changed, removed, doubled, or replaced by bytes of another template. */
static void mutate(const char *text, size_t len, const char *other, size_t other_len,
                   const struct talk *t)
{
    char                *copy = malloc(2 * len + other_len + 1);
    struct gkv__rendered out;
    gkv_status           status;

    memcpy(copy, text, len);
    for (unsigned edits = 1 + rng() % 3; edits > 0 && len > 0; edits--) {
        size_t at = rng() % len, n = rng() % 8;

        n = n < len - at ? n : len - at;
        switch (rng() % 4) {
        case 0:
            copy[at] = "{}%#-'\"|.()[]:,=~ \n\\09a\xc3"[rng() % 25];
            break;
        case 1:
            memmove(copy + at, copy + at + n, len - at - n);
            len -= n;
            break;
        case 2:
            n = n < len / 4 ? n : len / 4;
            memmove(copy + at + n, copy + at, len - at);
            len += n;
            break;
        case 3:
            n = n < other_len ? n : other_len;
            memcpy(copy + at, other, n < len - at ? n : len - at);
            break;
        }
    }
    /* Exactly len bytes, so that a sanitizer sees a read beyond them.             */
    copy = realloc(copy, len ? len : 1);
    status = render(copy, len, t, "<s>", "</s>", true, &out);
    if (status != GKV_OK && (err.status != status || !err.text[0] ||
                             (status != GKV_INVALID && status != GKV_UNSUPPORTED &&
                              status != GKV_LIMIT)))
        ok(0, "a mutant: status %d, \"%s\"", status, err.text);
    gkv__rendered_free(&out);
    free(copy);
}

/* Renders a template truncated to every length. */
static size_t cut(const char *text, size_t len, const struct talk *t)
{
    for (size_t n = 0; n < len; n++) {
        char                *copy = malloc(n ? n : 1);
        struct gkv__rendered out;
        gkv_status           status;

        memcpy(copy, text, n);
        status = render(copy, n, t, "<s>", "</s>", true, &out);
        if (status != GKV_OK && status != GKV_INVALID && status != GKV_UNSUPPORTED)
            ok(0, "%.*s: status %d, \"%s\"", (int)n, text, status, err.text);
        gkv__rendered_free(&out);
        free(copy);
    }
    return len;
}

/* Whether it is refused clearly with fewer steps, and with less memory, than it takes, however few or little; and else gives
 * the same.  n: how often it was rendered. */
static bool ends_anywhere(const char *text, size_t len, const struct talk *t, const struct gkv__rendered *want, size_t *n)
{
    enum { STEPS = 2000, MEMORY = 16000, UNIT = 16 };
    uint64_t content = 0;
    bool     good = true;

    for (size_t i = 0; i < t->n; i++)
        content += t->message[i].content_len;
    for (unsigned of = 0; of < 2; of++)
        for (size_t left = 0; left < (of ? MEMORY : STEPS); left += of ? UNIT : 1, ++*n) {
            struct gkv__rendered out;
            gkv_status           status;

            less_steps = of ? 0 : GKV__CHAT_STEPS + content * 4 - left;
            less_memory = of ? GKV__CHAT_MEMORY + (size_t)content * 32 - left : 0;
            status = render(text, len, t, "<s>", "</s>", true, &out);
            if (status == GKV_OK)
                good &= want->text && want->len == out.len && !memcmp(want->text, out.text, out.len);
            else if (status == GKV_LIMIT)
                good &= strstr(err.text, of ? "it takes too much memory" : "it takes too many steps") != NULL;
            else
                good &= !want->text;
            gkv__rendered_free(&out);
            if (status != GKV_LIMIT)
                break;
        }
    less_steps = less_memory = 0;
    return good;
}

/* Some of our own, which end anywhere, too. */
static void test_ends(void)
{
    static const struct { const char *jinja, *want; } row[] = {
        { "{{ [{'a': {'b': 1}}, {'a': {'b': 2}}]|map(attribute='a.b')|list }}", "[1, 2]" },
        { "{% if 0.5 %}a{% endif %}{% if 0.0 %}b{% endif %}{% if namespace() %}c{% endif %}{% if {} %}d{% endif %}", "ac" },
        { "[{{ ('' * 3) ~ 'ab' * 3 }}]", "[ababab]" },
        { "{{ {'a': 'x' * 40, 'b': ['y' * 3], 'c': none} }}", "{'a': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx', 'b': ['yyy'], 'c': None}" },
        { "{% macro m(a, b=2, c=3) %}{{ a ~ b ~ c }};{% endmacro %}{{ m(1) }}{{ m(1, c=4) }}{{ m('x' * 9) }}", "123;124;xxxxxxxxx23;" },
        { "{% if false %}a{% elif 'b' in 'abc' %}b{% else %}c{% endif %}", "b" },
        { "{% for x in [1, 2, 3] %}{{ x }}{% endfor %}{% set y = (4, 5) %}{{ y[1] }}", "1235" },
        { "{{ [5, 6].1 }}{{ 'abc'.startswith('b') }}{{ 'abc'.endswith('bc') }}{{ 'a b  c'.split() }}", "6FalseTrue['a', 'b', 'c']" },
        { "{{ 'g\303\251nie'[1:3] }}{{ 'abc'[5:] }}{{ 1 / 3 }} {{ 2.5 }}", "\303\251n0.3333333333333333 2.5" },
        { "{%- raw -%} {{ x }} {%- endraw -%} y", "{{ x }}y" }
    };
    const struct talk talk = { .n = 1, .message = { { "user", "x", 1 } } };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct gkv__rendered out;
        const size_t         len = strlen(row[i].jinja);
        const gkv_status     status = render(row[i].jinja, len, &talk, "<s>", "</s>", true, &out);
        size_t               n = 0;

        ok(status == GKV_OK && !strcmp(out.text, row[i].want), "%s: %s", row[i].jinja, out.text ? out.text : err.text);
        ok(ends_anywhere(row[i].jinja, len, &talk, &out, &n) && n > 10, "... and %zu times with less: %s", n, err.text);
        gkv__rendered_free(&out);
    }
}

static void test_jinja(void)
{
    size_t      size, cases = 0, bad = 0, mutants = 0, cuts = 0, other_len = 0, ends = 0, bad_ends = 0;
    char       *all = slurp("tests/files/template/jinja.txt", &size), *rest, *other = NULL;
    struct talk talk = { .n = 0 };

    for (char *line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char                *in, *word = strtok_r(line, " ", &in), *text = strtok_r(NULL, " ", &in);
        char                *want = strtok_r(NULL, " ", &in), *what = strtok_r(NULL, " ", &in);
        struct gkv__rendered out;
        size_t               len, n;
        bool                 good;

        if (!strcmp(word, "message")) {
            add_message(&talk, text, want);
            continue;
        }
        cases++;
        len = unhex(text);
        if (render(text, len, &talk, "<s>", "</s>", true, &out) != GKV_OK) {
            good = !strcmp(want, "error") && (unhex(what), strstr(err.text, what)) &&
                   !strncmp(err.text, "chat template, line ", 20);
        } else {
            n = unhex(want);
            good = n == out.len && !memcmp(want, out.text, n);
        }
        if (!good) {
            printf("# %s\n# got  %s\n# want %s\n", text, out.text ? out.text : err.text, want);
            bad++;
        }
        if (!ends_anywhere(text, len, &talk, &out, &ends)) {
            printf("# %s: %s\n", text, err.text);
            bad_ends++;
        }
        gkv__rendered_free(&out);
        cuts += cut(text, len, &talk);
        for (int i = 0; i < 40; i++, mutants++)
            mutate(text, len, other ? other : text, other ? other_len : len, &talk);
        other = text;
        other_len = len;
    }
    ok(cases > 60 && bad == 0, "jinja2: %zu templates, %zu differ", cases, bad);
    ok(mutants > 2000, "%zu mutants are rendered or refused", mutants);
    ok(cuts > 2000, "%zu that end too early too", cuts);
    ok(ends > 10000 && bad_ends == 0, "%zu of fewer steps or less memory, too, but for %zu templates", ends, bad_ends);
    free(all);
}

/* ---- the templates of models ------------------------------------------------------------ */

/* Whether p[n] occurs in one of the messages. */
static bool was_said(const struct talk *t, const char *p, size_t n)
{
    for (size_t i = 0; i < t->n; i++)
        if (memmem(t->message[i].content, t->message[i].content_len, p, n))
            return true;
    return false;
}

/* Whether ranges ascend, contain only text of messages, and contain every letter of the last turn. */
static bool well_marked(const struct talk *t, const struct gkv__rendered *r)
{
    const struct gkv__message *last = &t->message[t->n - 1];
    size_t                     at = 0, n = last->content_len, best = 0;
    const char                *p = last->content;

    for (; n > 0 && ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x80); n--)
        p++;
    while (n > 0 && ((unsigned char)p[n - 1] <= ' ' || (unsigned char)p[n - 1] >= 0x80))
        n--;
    for (size_t i = 0; i < r->n_plain; i++) {
        const struct gkv__range a = r->plain[i];

        if (a.start < at || a.end <= a.start || a.end > r->len ||
            !was_said(t, r->text + a.start, a.end - a.start))
            return false;
        at = a.end + 1;
        best += memmem(r->text + a.start, a.end - a.start, p, n) != NULL;
    }
    return best > 0;
}

static uint64_t hash_ids(const struct gkv__tokens *t)
{
    uint64_t h = FNV;
    char     buf[16];

    for (size_t i = 0; i < t->n; i++)
        h = fnv(h, buf, (size_t)snprintf(buf, sizeof buf, "%" PRIu32 " ", t->id[i]));
    return h;
}

struct vocab { char name[64]; struct gkv__gguf *g; struct gkv__vocab *v; };

static struct gkv__vocab *vocab_of(struct vocab *list, size_t n, const char *shared,
                                   const char *name)
{
    size_t i = 0;
    char   path[4096];

    for (; i < n && list[i].name[0]; i++)
        if (!strcmp(list[i].name, name))
            return list[i].v;
    snprintf(path, sizeof path, "%s/tokenizers/%s", shared, name);
    if (i == n || gkv__gguf_open(&list[i].g, path, &err) != GKV_OK)
        return NULL;
    snprintf(list[i].name, sizeof list[i].name, "%s", name);
    if (gkv__vocab_open(&list[i].v, list[i].g, &err) != GKV_OK)
        list[i].v = NULL;
    return list[i].v;
}

/* The whole of shared/templates/name, or NULL. */
static char *template_text(const char *shared, const char *name, size_t *len)
{
    char  path[4096], *text = NULL;
    FILE *f;

    snprintf(path, sizeof path, "%s/templates/%s", shared, name);
    f = fopen(path, "rb");
    if (!f)
        return NULL;
    text = malloc(1 << 16);
    *len = fread(text, 1, 1 << 16, f);
    fclose(f);
    return text;
}

struct golden {
    const char  *shared;
    struct talk  talk[MAX_MESSAGES];
    struct vocab vocab[8];
    size_t       n_talks;
    size_t       parts, bad_parts, texts, bad_texts, refusals, bad_refusals, bad_marks;
    size_t       ids, bad_ids;
};

static void check_text(struct golden *g, char **w, const struct talk *t, gkv_status status,
                       const struct gkv__rendered *out)
{
    bool good;

    if (!strcmp(w[6], "error")) {
        unhex(w[7]);
        g->refusals++;
        g->bad_refusals += status != GKV_INVALID || !strstr(err.text, w[7]);
        return;
    }
    good = status == GKV_OK && out->len == strtoull(w[6], NULL, 10) &&
           fnv(FNV, out->text, out->len) == strtoull(w[7], NULL, 16);
    g->texts++;
    g->bad_texts += !good;
    g->bad_marks += good && !well_marked(t, out);
    if (!good)
        printf("# %s %s %s: %s%s\n", w[1], w[2], w[3], err.text, out->text ? out->text : "");
}

/* A model that can think is told not to, or begins behind its thoughts. */
static void test_thinking(void)
{
#define SAYS(before) "{% for m in messages %}{{ '<' + m.role + '>' }}{% if m.role == 'assistant' %}" before \
                     "{% endif %}{{ m.content }}{% endfor %}"
    static const struct { const char *jinja, *close, *direct, *what; } t[] = {
        { SAYS("") "{{ '<assistant>' }}{% if enable_thinking is defined and not enable_thinking %}"
          "{{ '<think></think>' }}{% else %}{{ '<think>' }}{% endif %}", "<assistant><think></think>", NULL,
          "a template that can think is told not to" },
        { SAYS("") "{{ '<assistant><think>' }}", "<assistant><think>", "\n</think>\n\n", "a thought that is begun" },
        { SAYS("") "{{ '<assistant><think>\n ' }}", "<assistant><think>\n ", "\n</think>\n\n", "and a line of it" },
        { SAYS("") "{{ '<assistant>think>' }}", "<assistant>think>", NULL, "no thought" },
        { "{{ messages[0].content }}{{ '<think>' }}", "<think>", "\n</think>\n\n", "a thought, and no known turns" },
        { SAYS("{{ '<channel>final<message>' }}") "{{ '<assistant>' }}", "<assistant>", "<channel>final<message>",
          "another channel than that of thoughts" },
        { SAYS("{{ ' \n' }}") "{{ '<assistant>' }}", "<assistant>", NULL, "a space in front of answers" },
        { SAYS("{{ ' \n.' }}") "{{ '<assistant>' }}", "<assistant>", " \n.", "a space and more" },
        { SAYS("{{ '<x>' }}") "{{ '<assistant><y>' }}", "<assistant><y>", NULL, "something else in front of answers" },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct gkv__template own;

        if (gkv__template_own(&own, t[i].jinja, strlen(t[i].jinja), NULL, "", "", false, false, NOW, &err) != GKV_OK) {
            ok(0, "%s", err.text);
            continue;
        }
        ok(!strcmp(own.close, t[i].close) && !own.direct == !t[i].direct &&
           (!own.direct || !strcmp(own.direct, t[i].direct)), "%s", t[i].what);
        free(own.text);
    }
#undef SAYS
}

/* How a model is made to think first, and how it then ends that. */
static void test_thoughts(void)
{
#define SAYS "{% for m in messages %}{{ '<' + m.role + '>' }}{{ m.content }}{% endfor %}{{ '<assistant>' }}"
#define OFF  "{% if enable_thinking is defined and not enable_thinking %}"
    static const struct { const char *jinja, *start, *told, *direct, *after, *what; } t[] = {
        { SAYS, NULL, NULL, NULL, NULL, "no thoughts" },
        { SAYS "{# </think> #}", NULL, NULL, NULL, NULL, "an end alone" },
        { SAYS OFF "<think>\n\n</think>\n\n{% endif %}", "<assistant><think>\n", "", NULL, "\n\n", "Qwen 3" },
        { SAYS OFF "<think></think>\n{% else %}<think> {% endif %}", "<assistant><think> ", "", NULL, "\n", "a thought begun" },
        { SAYS OFF "<think></think>{% endif %}", "<assistant><think>\n", "", NULL, "", "nothing behind" },
        { SAYS OFF "<think></think>.{% endif %}", "<assistant><think>\n", "", NULL, "\n\n", "a text behind" },
        { SAYS "<think></think>", "", "", NULL, "", "a thought that is ended always" },
        { SAYS "{% if thinking %}<think>{% else %}</think>{% endif %}", "<assistant><think>", "", NULL, "", "DeepSeek" },
        { OFF "/no{% endif %}" SAYS OFF "<think></think>{% endif %}", "", "<assistant><think>\n", NULL, "", "said in front" },
        { SAYS "{# <|channel|>analysis<|message|> <|end|> #}", "<assistant><|channel|>analysis<|message|>", "", NULL,
          "<|start|>assistant<|channel|>final<|message|>", "channels" },
        { SAYS OFF "[THINK][/THINK]{% endif %}", "<assistant>[THINK]", "", NULL, "", "other marks" },
        { SAYS "<|START_THINKING|>{# <|END_THINKING|> #}", "<assistant><|START_THINKING|>", "", "<|END_THINKING|>", "",
          "one that is begun always" },
        { SAYS OFF "<think></think>                                                                {% endif %}",
          "<assistant><think>\n", "", NULL, "\n\n", "much space behind" },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct gkv__template own, told;

        if (gkv__template_own(&own, t[i].jinja, strlen(t[i].jinja), NULL, "", "", false, false, NOW, &err) != GKV_OK ||
            gkv__template_own(&told, t[i].jinja, strlen(t[i].jinja), NULL, "", "", false, true, NOW, &err) != GKV_OK) {
            ok(0, "%s", err.text);
            continue;
        }
        ok(!own.marks == !t[i].start && !strcmp(own.start, t[i].start ? t[i].start : "") && !own.told && told.told &&
           (!t[i].told || !*t[i].told || !strcmp(told.start, t[i].told)) && (!t[i].after || !strcmp(own.after, t[i].after)) &&
           !own.direct == !t[i].direct && (!own.direct || !strcmp(own.direct, t[i].direct)), "thoughts: %s", t[i].what);
        free(own.text);
        free(told.text);
    }
#undef SAYS
#undef OFF
}

/* Templates that begin no thought when they are told to, or write something else then: there is no start to give. */
static void test_told(void)
{
#define SAYS "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
#define TOLD(what) "{% if enable_thinking %}" what "{% endif %}"
#define THINKS "<think>{# </think> #}"
    static const struct { const char *jinja, *start, *what; } t[] = {
        { SAYS THINKS, "<think>", "one that may think" },
        { SAYS TOLD("at length:") THINKS, "at length:<think>", "one that says more" },
        { SAYS TOLD("{{ raise_exception('no thoughts') }}") THINKS, "", "one that refuses to" },
        { "{% if not enable_thinking %}" SAYS "{% endif %}" THINKS, "", "one that says nothing then" },
        { SAYS TOLD("{{ messages[0].content|upper }}") THINKS, "", "one that says it again" },
        { SAYS TOLD("{{ '\\0' }}") THINKS, "", "one that writes a zero" },
        { "{{ 'think' if enable_thinking else 'never' }}" SAYS THINKS, "", "one with another beginning" },
        { TOLD("more") SAYS THINKS, "", "one with a longer beginning" },
        { SAYS TOLD("{{ 'x' * 248 }}") THINKS, NULL, "one whose beginning just fits" },
        { SAYS TOLD("{{ 'x' * 249 }}") THINKS, "", "one whose beginning is too long" },
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct gkv__template own;

        if (gkv__template_own(&own, t[i].jinja, strlen(t[i].jinja), NULL, "", "", false, false, NOW, &err) != GKV_OK) {
            ok(0, "%s", err.text);
            continue;
        }
        ok(own.marks && (t[i].start ? !strcmp(own.start, t[i].start) : strlen(own.start) == 255), "told to think: %s: %s",
           t[i].what, own.start);
        free(own.text);
    }
#undef SAYS
#undef TOLD
#undef THINKS
}

/* What is between turns, and NULL where an earlier turn is left out or the last one changes. */
static void test_turns(void)
{
#define TURN(who, what) "{{ '<' + " who " + '>' + " what " + '</>\n' }}"
    static const struct { const char *jinja, *turn, *next; } t[] = {
        { "{% for m in messages %}" TURN("m.role", "m.content") "{% endfor %}"
          "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}", "</>\n<assistant>", "</>\n<user>" },
        { TURN("'user'", "messages[-1].content") "{{ '<assistant>' }}", NULL, NULL },
        { "{% for m in messages %}{% if loop.last and loop.index > 1 %}{{ 'then ' }}{% endif %}"
          TURN("m.role", "m.content") "{% endfor %}{{ '<assistant>' }}", "</>\n<assistant>", "</>\nthen <user>" },
        { "{{ messages | length }}{% for m in messages %}" TURN("m.role", "m.content") "{% endfor %}", NULL, NULL },
#define SAYS(what) "{% for m in messages %}{% set more = messages|length > 1 %}" TURN("m.role", what) "{% endfor %}"
        { SAYS("m.content") "{{ raise_exception('one turn only') if messages|length > 1 }}", NULL, NULL },
        { SAYS("(m.content|upper if more and loop.last else m.content)"), NULL, NULL },
        { SAYS("(m.content|upper if m.role == 'assistant' else m.content)"), NULL, NULL },
        { SAYS("(m.content|upper if more and loop.first else m.content)"), NULL, NULL },
        { SAYS("(m.content[1:] if more and loop.first else m.content)"), NULL, NULL },
        { "{{ 'chat:' if messages|length > 1 }}" SAYS("m.content"), NULL, NULL },
        { SAYS("m.content") "{{ 'end' if messages|length > 1 }}", NULL, NULL },
        { SAYS("m.content") "{{ messages|length }}", NULL, NULL },
        { SAYS("m.content ~ ('\\0' if m.role == 'assistant')"), NULL, NULL },
        { SAYS("m.content"), "</>\n<assistant>", "</>\n<user>" },
#undef SAYS
    };

    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        struct gkv__template own;

        if (gkv__template_own(&own, t[i].jinja, strlen(t[i].jinja), NULL, "", "", false, false, NOW, &err) != GKV_OK) {
            ok(0, "%s", err.text);
            continue;
        }
        ok(t[i].turn ? own.turn && own.next && !strcmp(own.turn, t[i].turn) && !strcmp(own.next, t[i].next)
                     : !own.turn && !own.next, "template %zu: what is between turns", i + 1);
        free(own.text);
    }
#undef TURN
}

/* Whether a question about documents gets the same text in two parts, except for a BOS that the tokenizer
 * adds. */
static bool same_parts(const char *jinja, size_t len, char **w, const struct gkv__rendered *r)
{
    const struct gkv__range user = r->plain[0];
    bool                    good = r->n_plain == 1;

    for (int added = 0; added < 2 && good; added++) {
        struct gkv__template own;
        const size_t         bos = added ? strlen(w[4]) : 0;
        const size_t         skip = strncmp(r->text, w[4], bos) ? 0 : bos;

        if (gkv__template_own(&own, jinja, len, NULL, w[4], w[5], added, false, NOW, &err) != GKV_OK)
            return false;
        good = strlen(own.open) == user.start - skip && strlen(own.close) == r->len - user.end &&
               !memcmp(own.open, r->text + skip, user.start - skip) &&
               !memcmp(own.close, r->text + user.end, r->len - user.end);
        free(own.text);
    }
    return good;
}

static void check_ids(struct golden *g, char **w, const struct gkv__rendered *out)
{
    const struct gkv__vocab *v = vocab_of(g->vocab, 8, g->shared, w[6]);
    struct gkv__tokens       t = { 0 };

    g->ids++;
    if (!v || gkv__tokenize(v, out->text, out->len, NULL, 0, &t, &err) != GKV_OK ||
        t.n != strtoull(w[7], NULL, 10) || hash_ids(&t) != strtoull(w[8], NULL, 16)) {
        printf("# ids of %s %s %s: %zu, not %s\n", w[1], w[2], w[3], t.n, w[7]);
        g->bad_ids++;
    }
    gkv__tokens_free(&t);
}

/* Renders one case; false when the template is not here. */
static bool check_case(struct golden *g, char **w)
{
    size_t               len, t = 0;
    char                *jinja = template_text(g->shared, w[1], &len);
    struct gkv__rendered out;
    gkv_status           status;

    if (!jinja)
        return false;
    while (strcmp(g->talk[t].name, w[2]))
        t++;
    unhex(w[4]), unhex(w[5]);
    status = render(jinja, len, &g->talk[t], w[4], w[5], *w[3] == '1', &out);
    if (!strcmp(w[0], "ids"))
        check_ids(g, w, &out);
    else
        check_text(g, w, &g->talk[t], status, &out);
    if (!strcmp(w[0], "case") && !strcmp(w[2], "user") && *w[3] == '1') {
        gkv__rendered_free(&out);               /* as questions are rendered */
        no_thinking = true;
        render(jinja, len, &g->talk[t], w[4], w[5], true, &out);
        no_thinking = false;
        g->parts++;
        g->bad_parts += !same_parts(jinja, len, w, &out);
    }
    for (int i = 0; i < 8; i++)
        mutate(jinja, len, jinja + len / 2, len / 2, &g->talk[t]);
    gkv__rendered_free(&out);
    free(jinja);
    return true;
}

static void test_golden(const char *shared)
{
    static struct golden g;
    size_t               size;
    char                *all = slurp("tests/files/template/golden.txt", &size), *rest;

    g.shared = shared;
    for (char *line = strtok_r(all, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        char  *w[9] = { NULL }, *in;
        size_t i = 0;

        for (char *p = strtok_r(line, " ", &in); p && i < 9; p = strtok_r(NULL, " ", &in))
            w[i++] = p;
        if (!strcmp(w[0], "conversation"))
            snprintf(g.talk[g.n_talks++].name, sizeof g.talk->name, "%s", w[1]);
        else if (!strcmp(w[0], "message"))
            add_message(&g.talk[g.n_talks - 1], w[1], w[2]);
        else if (!check_case(&g, w))
            break;
    }
    if (g.texts == 0) {
        ok(1, "templates of models # SKIP no %s/templates", shared);
    } else {
        ok(g.texts == 152 && g.bad_texts == 0, "%zu renderings, %zu differ", g.texts, g.bad_texts);
        ok(g.refusals == 8 && g.bad_refusals == 0, "%zu refusals of their own, %zu differ",
           g.refusals, g.bad_refusals);
        ok(g.bad_marks == 0, "what came out of messages is marked, but for %zu", g.bad_marks);
        ok(g.parts == 16 && g.bad_parts == 0, "%zu for a question about documents, %zu differ",
           g.parts, g.bad_parts);
        ok(g.ids == 68 && g.bad_ids == 0, "%zu renderings tokenized, %zu differ", g.ids, g.bad_ids);
    }
    for (size_t i = 0; i < 8; i++) {
        gkv__vocab_close(g.vocab[i].v);
        gkv__gguf_close(g.vocab[i].g);
    }
    free(all);
}

/* ---- marks and limits ------------------------------------------------------------------- */

static void test_marks(void)
{
    static const struct { const char *jinja, *text, *user; } row[] = {
        { "<s>{{ messages[0].content }}</s>", "<s> <s>Hi </s>", "...xxxxxxx...." },
        { "{{ messages[0].content|trim|upper }}!", "<S>HI!", "xxxxx." },
        { "{% set x = '[' ~ messages[0].content ~ ']' %}{{ x[2:-2] }}", "<s>Hi", "xxxxx" },
        { "{{ messages[0].content.split('H')|join('<s>') }}", " <s><s>i ", "xxxx...xx" },
        { "{{ messages[0].content|replace('<s>', '<t>') }}", " <t>Hi ", "x...xxx" },
        { "{{ messages[0].content|tojson }}", "\" <s>Hi \"", ".xxxxxxx." },
        { "{{ [messages[0].content] }}", "[' <s>Hi ']", "..xxxxxxx.." },
        { "{% for c in messages[0].content|trim %}{{ c }}-{% endfor %}", "<-s->-H-i-",
          "x.x.x.x.x." },
        { "{% macro m(a) %}{{ a }}{{ bos_token }}{% endmacro %}{{ m(messages[0].content) }}",
          " <s>Hi <s>", "xxxxxxx..." },
        { "{% set x %}a{{ messages[0].content }}{% endset %}{{ x }}", "a <s>Hi ", ".xxxxxxx" },
    };
    struct talk          talk = { .n = 1, .message = { { "user", " <s>Hi ", 7 } } };
    struct gkv__rendered out;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char   user[64] = "";
        size_t len = strlen(row[i].text);

        bool good = render(row[i].jinja, strlen(row[i].jinja), &talk, "<s>", "</s>", true,
                           &out) == GKV_OK && out.len == len && !memcmp(out.text, row[i].text, len);

        memset(user, '.', len);
        for (size_t j = 0; good && j < out.n_plain; j++)
            memset(user + out.plain[j].start, 'x', out.plain[j].end - out.plain[j].start);
        ok(good && !strcmp(user, row[i].user), "marked: %s: %s %s", row[i].jinja,
           out.text ? out.text : err.text, user);
        gkv__rendered_free(&out);
    }
}

/* head, n times middle, tail */
static gkv_status render_repeated(const char *head, const char *middle, size_t n, const char *tail)
{
    const struct talk    talk = { .n = 1, .message = { { "user", "x", 1 } } };
    size_t               len = strlen(head) + n * strlen(middle) + strlen(tail);
    char                *text = malloc(len + 1), *o = text;
    struct gkv__rendered out;
    gkv_status           status;

    o += sprintf(o, "%s", head);
    for (size_t i = 0; i < n; i++) {
        memcpy(o, middle, strlen(middle));
        o += strlen(middle);
    }
    sprintf(o, "%s", tail);
    status = render(text, len, &talk, "", "", true, &out);
    gkv__rendered_free(&out);
    free(text);
    return status;
}

/* Errors at the end of the text: every place where something else is expected. */
static void test_wrong(void)
{
    static const struct { const char *jinja, *why; } row[] = {
        { "{% raw \t}", "\"}\" where %} should be" },
        { "{% raw x", "\"x\" where %} should be" },
        { "{% raw xyz-", "\"xyz\" where %} should be" },
        { "{% raw xyz- %}{% endraw %}", "\"xyz\" where %} should be" },
        { "{% raw 12345678901234567890", "\"12345678901234567890\" where %} should be" },
        { "{% raw 'abcdefghijklmnopqrstuvwxyz'", "\"abcdefghijklmnopqrstuvwxyz\" where %} should be" },
        { "{% raw", "it ends where %} should be" },
        { "{% raw %}{% endraw", "raw without endraw" },
        { "{% raw -%}", "raw without endraw" },
        { "{% if 1 xyz", "\"xyz\" where %} should be" },
        { "{% for x of xyz", "\"of\" where in should be" },
        { "{% for x of", "\"of\" where in should be" },
        { "{% set =", "\"=\" where a name should be" },
        { "{% set (a", "it ends where ) should be" },
        { "{% macro 1", "\"1\" where a name should be" },
        { "{% macro m)", "\")\" where ( should be" },
        { "{% filter 'x'", "\"x\" where a name should be" },
        { "{% 'x'", "\"x\" where a tag should be" },
        { "{% xyz", "the tag \"xyz\" is not supported" },
        { "{{ 1 xyz", "\"xyz\" where }} should be" },
        { "{{ )", "\")\" where a value should be" },
        { "{{ x[", "it ends where a value should be" },
        { "{{ x[]", "\"]\" where an index should be" },
        { "{{ x[1)", "\")\" where ] should be" },
        { "{{ x.)", "\")\" where a name should be" },
        { "{{ x|)", "\")\" where a name should be" },
        { "{{ x is )", "\")\" where a name should be" },
        { "{{ {1)", "\")\" where : should be" },
        { "{{ {1:2)", "\")\" where , should be" },
        { "{{ (1]", "\"]\" where , should be" },
        { "{{ f(1]", "\"]\" where , should be" },
        { "{{ '{a}'.format(1) }}", "format: only {} and {N} are supported" },
        { "{{ 'x{'.format(1) }}", "format: only {} and {N} are supported" },
        { "{{ 'x{0'.format(1) }}", "format: only {} and {N} are supported" },
        { "{{ '}'.format(1) }}", "format: only {} and {N} are supported" },
        { "{{ '{}{}'.format(1) }}", "format: there is no argument 1" },
        { "{{ '{1}'.format(1) }}", "format: there is no argument 1" },
        { "{{ '{}'.format(a=1) }}", "format: there is no argument 0" },
        { "{{ '{99999999999999999999999999}'.format(1) }}", "format: " },
        { "{{ {1: 2}|dictsort(by='x') }}", "dictsort: by \"key\" or by \"value\"" },
        { "{{ [1]|dictsort }}", "items" },
        { "{% for x in y recursive %}{% endfor %}", "recursive are not supported" },
        { "{{ 1e3 }}", "\"e3\" where }} should be" },
        { "{% macro m() %}{% endmacro %}{{ m }}", "cannot be printed" },
        { "{% macro m() %}{% endmacro %}{{ m|tojson }}", "is not JSON" },
        { "{{ [1]|tojson(indent=-1) }}", "tojson: indent is -1" },
        { "{{ [1]|tojson(indent=65) }}", "tojson: indent is 65" },
        { "{{ [1]|tojson(sort_keys=true) }}", "tojson: only indent is supported" },
        { "{{ 4 is divisibleby('a') }}", "divisibleby" },
        { "{{ [1].pop() }}", "a list has no method \"pop\"" },
        { "{{ strftime_now(1) }}", "strftime_now" },
        { "{{ (-9223372036854775807 - 1)|abs }}", "abs: too large" },
        { "{{ x.abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz }}",
          "\"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl\" of something undefined" },
        { "{{ 1000000000000000000000000000000000000000000000000000000000000000000000.5 }}", "is too long" },
        { "{{ 1|no_such_filter_of_more_than_32_letters }}", "no_such_filter_of_more_than_32_l" },
        { "{{ 1 is no_such_test_at_all_of_more_than_32_letters }}", "no_such_test_at_all_of_more_than\"" },
        { "{{ 'x'.no_such_method_of_more_than_32_letters() }}", "no_such_method_of_more_than_32_l" },
        { "{{ no_such_function_of_more_than_32_letters() }}", "no_such_function_of_more_than_32\"" },
        { "{% no_such_tag_of_many_letters_more_than_32 %}", "no_such_tag_of_many_letters_more" },
    };
    const struct talk talk = { .n = 1, .message = { { "user", "x", 1 } } };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        struct gkv__rendered out;
        const gkv_status     status = render(row[i].jinja, strlen(row[i].jinja), &talk, "", "", true,
                                             &out);

        ok((status == GKV_UNSUPPORTED || status == GKV_INVALID) && strstr(err.text, row[i].why), "%s: %s", row[i].jinja,
           err.text);
        gkv__rendered_free(&out);
    }
}

/* What is said by a template that refuses is cut. */
static void test_refusal(void)
{
    static const char jinja[] = "{{ raise_exception('a' * 199 ~ 'bcd') }}";
    const struct talk talk = { .n = 1, .message = { { "user", "x", 1 } } };
    struct gkv__rendered out;
    const gkv_status status = render(jinja, sizeof jinja - 1, &talk, "", "", true, &out);

    ok(status == GKV_INVALID && strstr(err.text, "aab") && !strstr(err.text, "bc"), "a long refusal: %s", err.text);
    gkv__rendered_free(&out);
}

/* The sizes of messages are added before any is read. */
static void test_sizes(void)
{
    const struct talk more = { .n = 2, .message = { { "user", "x", SIZE_MAX }, { "user", "x", SIZE_MAX } } };
    const struct talk large = { .n = 1, .message = { { "user", "x", SIZE_MAX } } };
    struct gkv__rendered out;

    ok(render("", 0, &more, "", "", true, &out) == GKV_LIMIT && strstr(err.text, "too long"), "2^65 bytes: %s", err.text);
    ok(render("", 0, &large, "", "", true, &out) == GKV_LIMIT && strstr(err.text, "too long"), "2^64 bytes: %s", err.text);
}

/* Results of our own: where jinja2 has larger numbers, and text that is not UTF-8. */
static void test_own(void)
{
    static const struct { const char *jinja, *said, *want; } row[] = {
        { "{{ (99999999999.0 * 99999999999.0)|int }},{{ (-99999999999.0 * 99999999999.0)|int }}", "", "0,0" },
        { "{{ '9223372036854775807'|int }},{{ '9223372036854775808'|int }},{{ '99999999999999999999'|int }}", "",
          "9223372036854775807,0,0" },
        { "{{ '1.5'|int }},{{ '-2.9'|int }},{{ ' 7. '|int }},{{ '.5'|int }},{{ '-.5'|int }},{{ '1.x'|int }},{{ '1.5.2'|int }}", "",
          "1,-2,7,0,0,0,0" },
        { "[{{ messages[0].content|trim }}]", "a\xe3\x80\x80 \xe2\x80\x83", "[a]" },
        { "[{{ messages[0].content|trim }}]", " \x80\x80\x80\x80\x80 ", "[\x80\x80\x80\x80\x80]" },
        { "[{{ messages[0].content|trim }}]", "\x80 ", "[\x80]" },
        { "[{{ messages[0].content|trim }}]", "\xe3\x80", "[\xe3\x80]" },
        { "{{ messages[0].content|length }}", "\x80", "0" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct talk talk = { .n = 1, .message = { { "user", row[i].said, strlen(row[i].said) } } };
        struct gkv__rendered out;
        const gkv_status status = render(row[i].jinja, strlen(row[i].jinja), &talk, "", "", true, &out);
        const size_t n = strlen(row[i].want);

        ok(status == GKV_OK && out.len == n && !memcmp(out.text, row[i].want, n), "%s: %.*s", row[i].jinja,
           (int)out.len, out.text ? out.text : err.text);
        gkv__rendered_free(&out);
    }
}

/* The families, by number, by name and by what is in a template of theirs. */
static void test_families(void)
{
    size_t n = 0;

    for (const struct gkv__template *t; (t = gkv__template_at(n)); n++)
        ok(gkv__template_named(t->name) == t, "the family %s", t->name);
    ok(n > 3 && !gkv__template_at(n + 1) && !gkv__template_named("chatm") && !gkv__template_named(""), "and no other");
    ok(!gkv__template_recognise("{{ x }}", 7), "a template of none");
}

/* The date is given by the caller, who may have it from the environment. */
static void test_date(void)
{
    static const struct { int64_t now; const char *date; } row[] = {
        { NOW, "2024-07-26 15:04:05 Friday 03 PM" },
        { 43200, "1970-01-01 12:00:00 Thursday 12 PM" },
        { 0, "1970-01-01 00:00:00 Thursday 12 AM" },
        { -1, "1969-12-31 23:59:59 Wednesday 11 PM" },
        { -86400, "1969-12-31 00:00:00 Wednesday 12 AM" },
        { -86401, "1969-12-30 23:59:59 Tuesday 11 PM" },
        { INT64_MAX, "292277026596-12-04 15:30:07 Sunday 03 PM" },
        { INT64_MIN, "-292277022657-01-27 08:29:52 Sunday 08 AM" },
    };
    static const char jinja[] = "{{ strftime_now('%Y-%m-%d %H:%M:%S %A %I %p') }}", cut_off[] = "{{ strftime_now('%Y%') }}";
    const struct gkv__chat today = { .bos = "", .eos = "", .now = NOW };
    struct gkv__rendered end;

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const struct gkv__chat chat = { .bos = "", .eos = "", .now = row[i].now };
        struct gkv__rendered   out;
        const gkv_status       status = gkv__chat_render(jinja, sizeof jinja - 1, &chat, &out, &err);

        ok(status == GKV_OK && out.len == strlen(row[i].date) &&
           !memcmp(out.text, row[i].date, out.len), "%" PRId64 " is %s", row[i].now, row[i].date);
        gkv__rendered_free(&out);
    }
    ok(gkv__chat_render(cut_off, sizeof cut_off - 1, &today, &end, &err) == GKV_OK && end.len == 5 &&
       !memcmp(end.text, "2024%", 5), "a percent sign at the end");
    gkv__rendered_free(&end);
}

static void test_hostile(void)
{
    static const struct { const char *head, *middle; size_t n; const char *tail; } row[] = {
        { "{{ ", "(", 100000, "1 }}" },
        { "{{ ", "[", 100000, "1 }}" },
        { "{{ ", "not ", 100000, "1 }}" },
        { "{{ ", "-", 100000, "1 }}" },
        { "{{ 1", "+1", 100000, " }}" },
        { "{{ x", ".y", 100000, " }}" },
        { "{{ x", "|trim", 100000, " }}" },
        { "{{ x", "[x", 100000, " }}" },
        { "", "{% if 1 %}", 100000, "" },
        { "{% if 0 %}", "{% elif 0 %}", 50000, "{% endif %}" },
        { "", "{% for x in [1, 2] %}", 50, "" },
        { "{% set ns = namespace(l=[1]) %}{% for i in range(300) %}{% set ns.l = [ns.l, ns.l] %}"
          "{% endfor %}{{ ns.l == [] }}{{ ns.l }}", "", 0, "" },
        { "{% set a = [] %}{% set _ = a.append(a) %}{{ a }}", "", 0, "" },
        { "{% set a = [] %}{% set _ = a.append(a) %}{% set b = [] %}{% set _ = b.append(b) %}"
          "{{ a == b }}", "", 0, "" },
        { "{% set a = [] %}{% set _ = a.append(a) %}{{ a|tojson }}", "", 0, "" },
        { "{% for i in range(10000000000) %}{% endfor %}", "", 0, "" },
        { "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "",
          0, "" },
        { "{{ 'a' * 9000000000000000000 }}", "", 0, "" },
        { "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}"
          "{% endfor %}", "", 0, "" },
        { "{% set a = [1] %}{% for x in a %}{% set _ = a.append(x) %}{% endfor %}"
          "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "", 0, "" },
        { "{{ 'x'|indent(9000000000000000000) }}{{ ('x\\n' * 9)|indent(99999999) }}", "", 0, "" },
        { "{{ [1]|tojson(indent=64) }}{{ [1]|tojson(indent=65) }}", "", 0, "" },
        { "{{ f(", "1,", 17, ") }}" },
        { "{{ 9223372036854775807 + 1 }}", "", 0, "" },
        { "{{ [9223372036854775807, 1]|sum }}", "", 0, "" },
        { "{{ 9223372036854775808 }}", "", 0, "" },
        { "{{ (-9223372036854775807 - 1) // -1 }}", "", 0, "" },
        { "{{ '\\uD800' }}", "", 0, "" },
        { "{% set f = raise_exception %}{{ f('x') }}", "", 0, "" },
    };

    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        gkv_status status = render_repeated(row[i].head, row[i].middle, row[i].n, row[i].tail);

        ok(status == GKV_LIMIT || status == GKV_INVALID || status == GKV_UNSUPPORTED,
           "refused: %.40s%.20s: %s", row[i].head, row[i].middle, err.text);
    }
    {
        char loops[64 * 40] = "", *o = loops;

        for (int i = 0; i < 40; i++)
            o += sprintf(o, "{%% for x in [1, 2] %%}");
        for (int i = 0; i < 40; i++)
            o += sprintf(o, "{%% endfor %%}");
        ok(render_repeated(loops, "", 0, "") == GKV_LIMIT, "2^40 rounds: %s", err.text);
    }
    ok(render_repeated("{% for i in range(300) %}", "{% if 0 %}{% endif %}", 3000, "{% endfor %}") == GKV_OK,
       "900,000 tests");
    ok(render_repeated("{% for i in range(1500) %}", "{% if 0 %}{% endif %}", 3000, "{% endfor %}") == GKV_LIMIT,
       "4,500,000 tests: %s", err.text);
    ok(render_repeated("", "a\n", 1 << 19, "") == GKV_OK, "a template of a megabyte");
    ok(render_repeated("", "a\n", (1 << 19) + 1, "") == GKV_LIMIT, "a larger one: %s", err.text);
    ok(render_repeated("{{ x", " }}{{ x", 5000, " }}") == GKV_OK, "5000 tags");
    ok(render_repeated("{# ", "{{ '", 1000, "#}") == GKV_OK, "a comment is not read");
}

int main(void)
{
    const char *shared = getenv("GKV_SHARED"), *srcdir = getenv("srcdir");
    static char beside[4096];

    snprintf(beside, sizeof beside, "%s/../shared", srcdir ? srcdir : ".");
    test_jinja();
    test_ends();
    test_turns();
    test_thinking();
    test_thoughts();
    test_told();
    test_marks();
    test_wrong();
    test_refusal();
    test_sizes();
    test_own();
    test_families();
    test_date();
    test_hostile();
    ok(below_zero == 0, "%u searches in a text of less than no bytes", below_zero);
    if (BIG_ENDIAN_HOST)
        return done();
    test_golden(shared ? shared : beside);
    return done();
}
