/* SPDX-License-Identifier: BSD-2-Clause
 * template.c - see template.h */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "src/template/run.h"
#include "src/template/template.h"

#define ASK "\n\nQuestion: "

/* The first row whose mark occurs is used, so more specific rows come first.  */
static const struct gkv__template templates[] = {
    { .name = "llama3",
      .summary = "llama3: <|start_header_id|>user<|end_header_id|> ... <|eot_id|>",
      .mark = "<|start_header_id|>",
      .open = "<|start_header_id|>user<|end_header_id|>\n\n", .ask = ASK,
      .close = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
      .turn = "<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
      .next = "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n" },
    { .name = "chatml", .summary = "chatml: <|im_start|>user ... <|im_end|>",
      .mark = "<|im_start|>",
      .open = "<|im_start|>user\n", .ask = ASK,
      .close = "<|im_end|>\n<|im_start|>assistant\n",
      .turn = "<|im_end|>\n<|im_start|>assistant\n", .next = "<|im_end|>\n<|im_start|>user\n" },
    { .name = "gemma", .summary = "gemma: <start_of_turn>user ... <end_of_turn>",
      .mark = "<start_of_turn>",
      .open = "<start_of_turn>user\n", .ask = ASK,
      .close = "<end_of_turn>\n<start_of_turn>model\n",
      .turn = "<end_of_turn>\n<start_of_turn>model\n", .next = "<end_of_turn>\n<start_of_turn>user\n" },
    { .name = "phi3", .summary = "phi3: <|user|> ... <|end|>",
      .mark = "<|end|>",
      .open = "<|user|>\n", .ask = ASK, .close = "<|end|>\n<|assistant|>\n",
      .turn = "<|end|>\n<|assistant|>\n", .next = "<|end|>\n<|user|>\n" },
    { .name = "deepseek", .summary = "deepseek: <\uff5cUser\uff5c> ... <\uff5cAssistant\uff5c>",
      .mark = "<\uff5cUser\uff5c>",
      .open = "<\uff5cUser\uff5c>", .ask = ASK, .close = "<\uff5cAssistant\uff5c>",
      .turn = "<\uff5cAssistant\uff5c>", .next = "<\uff5cend\u2581of\u2581sentence\uff5c><\uff5cUser\uff5c>" },
    { .name = "llama2", .summary = "llama2: [INST] <<SYS>> ... [/INST]",
      .mark = "<<SYS>>",
      .open = "[INST] ", .ask = ASK, .close = " [/INST]", .turn = " [/INST] ", .next = " </s><s>[INST] " },
    { .name = "mistral", .summary = "mistral: [INST] ... [/INST]",
      .mark = "[INST]",
      .open = "[INST] ", .ask = ASK, .close = " [/INST]", .turn = " [/INST] ", .next = "</s>[INST] " },
    { .name = "plain", .summary = "plain: no chat format: ... Question: ... Answer:",
      .open = "", .ask = ASK, .close = "\nAnswer:" },
};

enum { N_TEMPLATES = sizeof templates / sizeof *templates };

const struct gkv__template *const gkv__template_plain = &templates[N_TEMPLATES - 1];

const struct gkv__template gkv__template_raw = {
    .name = "raw", .summary = "documents and question, byte for byte",
    .open = "", .ask = "", .close = "",
};

const struct gkv__template *gkv__template_at(size_t i)
{
    return i < N_TEMPLATES ? &templates[i] : NULL;
}

const struct gkv__template *gkv__template_named(const char *name)
{
    for (size_t i = 0; i < N_TEMPLATES; i++)
        if (!strcmp(templates[i].name, name))
            return &templates[i];
    return NULL;
}

const struct gkv__template *gkv__template_recognise(const char *jinja, size_t len)
{
    for (size_t i = 0; i < N_TEMPLATES; i++)
        if (templates[i].mark && memmem(jinja, len, templates[i].mark, strlen(templates[i].mark)))
            return &templates[i];
    return NULL;
}

/* ---- the model's own -------------------------------------------------------------------- */

static const char place[] = "documents-and-question", said[] = "answer";

static bool is_text(const struct gkv__rendered *r, const struct gkv__range *at, const char *text)
{
    return at->end - at->start == strlen(text) && !memcmp(r->text + at->start, text, strlen(text));
}

/* What is between turns: known if several are printed as one is, only longer. */
static gkv_status add_turns(struct gkv__template *t, const char *jinja, size_t len, const struct gkv__chat *one,
                            size_t skip, gkv_error *err)
{
    const size_t open = strlen(t->open), close = strlen(t->close), system = one->n - 1;
    struct gkv__message message[4] = { one->message[0] };
    struct gkv__chat chat = *one;
    const struct gkv__range *user, *answer, *last;
    struct gkv__rendered r;
    size_t n_turn, n_next;
    char *grown;

    message[system] = message[system + 2] = (struct gkv__message){ "user", place, strlen(place) };
    message[system + 1] = (struct gkv__message){ "assistant", said, strlen(said) };
    chat.message = message;
    chat.n = system + 3;
    if (gkv__chat_render(jinja, len, &chat, &r, NULL) != GKV_OK)
        return GKV_OK;
    if (r.n_plain < 3) {
        gkv__rendered_free(&r);
        return GKV_OK;
    }
    last = &r.plain[r.n_plain - 1];
    answer = last - 1;
    user = last - 2;
    if (!is_text(&r, last, place) || !is_text(&r, answer, said) || !is_text(&r, user, place) ||
        user->start != skip + open || memcmp(r.text + skip, t->open, open) || r.len - last->end != close ||
        memcmp(r.text + last->end, t->close, close) || memchr(r.text, 0, r.len)) {
        gkv__rendered_free(&r);
        return GKV_OK;
    }
    n_turn = answer->start - user->end;
    n_next = last->start - answer->end;
    grown = malloc(open + close + n_turn + n_next + 4);
    if (!grown) {
        gkv__rendered_free(&r);
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    t->open = memcpy(grown, t->open, open + 1);
    t->close = memcpy(grown + open + 1, t->close, close + 1);
    t->turn = memcpy(grown + open + close + 2, r.text + user->end, n_turn);
    t->next = memcpy(grown + open + close + 3 + n_turn, r.text + answer->end, n_next);
    grown[open + close + 2 + n_turn] = grown[open + close + 3 + n_turn + n_next] = 0;
    free(t->text);
    t->text = grown;
    gkv__rendered_free(&r);
    return GKV_OK;
}

/* Whether the text ends with a mark and white space. */
static bool ends_with(const char *text, const char *mark)
{
    const size_t n = strlen(mark);
    size_t end = strlen(text);

    while (end && (text[end - 1] == ' ' || text[end - 1] == '\n'))
        end--;
    return end >= n && !memcmp(text + end - n, mark, n);
}

/* Models that may think first do not when their answer begins as earlier answers are printed, without the thoughts of
 * before, or with the end of a thought that the template has begun. */
static const char *direct(const struct gkv__template *t)
{
    const size_t n = strlen(t->close);

    if (t->turn && !strncmp(t->turn, t->close, n) && t->turn[n + strspn(t->turn + n, " \n")])
        return t->turn + n;
    return ends_with(t->close, "<think>") ? "\n</think>\n\n" : NULL;
}

/* ---- thoughts --------------------------------------------------------------------------- */

/* The first row of which both ends occur in a template is used. */
static const struct gkv__marks marks[] = {
    { "<|channel>thought", "\n", "\n", "<channel|>", "" },                                      /* Gemma 4 */
    { "<|channel|>analysis<|message|>", "", "", "<|end|>", "<|start|>assistant<|channel|>final<|message|>" },
    { "<|think|>", "", "", "<|end|>", "<|begin|>assistant<|content|>" },                        /* Solar Open */
    { "<|START_THINKING|>", "", "", "<|END_THINKING|>", "" },                                   /* Command */
    { "[THINK]", "", "", "[/THINK]", "" },                                                      /* Magistral */
    { "<seed:think>", "\n", "\n", "</seed:think>", "\n" },
    { "<think>", "\n", "\n", "</think>", "\n\n" },
};

static const struct gkv__marks *find_marks(const char *jinja, size_t len)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (memmem(jinja, len, marks[i].open, strlen(marks[i].open)) &&
            memmem(jinja, len, marks[i].end, strlen(marks[i].end)))
            return &marks[i];
    return NULL;
}

/* The white space behind a thought that the template has ended, or the usual. */
static const char *after(const struct gkv__template *t)
{
    const char *text = t->direct ? t->direct : t->close;
    const size_t n = strlen(text), spaces = GKV__MARKS_BYTES - strlen(t->marks->before) - strlen(t->marks->end);
    size_t end = n;

    if (!ends_with(text, t->marks->end))
        return t->marks->after;
    while (text[end - 1] == ' ' || text[end - 1] == '\n')
        end--;
    return n - end <= spaces ? text + end : t->marks->after;
}

/* How a thought begins: as the template begins it when it is told that the model shall think, and with the mark. */
static void add_start(struct gkv__template *t, const char *jinja, size_t len, const struct gkv__chat *told, size_t skip)
{
    const size_t open = strlen(t->open);
    const char *mark = t->marks->open, *space = t->marks->space, *close;
    const struct gkv__range *user;
    struct gkv__rendered r;
    int n = 0;

    if (gkv__chat_render(jinja, len, told, &r, NULL) != GKV_OK)
        return;
    user = r.n_plain ? &r.plain[r.n_plain - 1] : NULL;
    if (user && is_text(&r, user, place) && user->start == skip + open && !memcmp(r.text + skip, t->open, open) &&
        !memchr(r.text, 0, r.len)) {
        close = r.text + user->end;
        if (ends_with(close, mark))
            n = snprintf(t->start, sizeof t->start, "%s", close);
        else if (!ends_with(close, t->marks->end))
            n = snprintf(t->start, sizeof t->start, "%s%s%s", close, mark, space);
        if ((size_t)n >= sizeof t->start)
            *t->start = 0;
    }
    gkv__rendered_free(&r);
}

gkv_status gkv__template_own(struct gkv__template *out, const char *jinja, size_t len,
                             const char *system, const char *bos, const char *eos,
                             bool bos_is_added, bool think, int64_t now, gkv_error *err)
{
    const struct gkv__message turns[] = {
        { "system", system, system ? strlen(system) : 0 }, { "user", place, strlen(place) }
    };
    const struct gkv__chat chat = { .message = turns + !system, .n = system ? 2 : 1, .bos = bos, .eos = eos,
                                    .answer_next = true, .no_thinking = !think, .thinking = think, .now = now };
    const struct gkv__template *family = gkv__template_recognise(jinja, len);
    const size_t bos_len = bos_is_added ? strlen(bos) : 0;
    struct gkv__range user, system_at = { 0, 0 };
    struct gkv__chat told = chat;
    struct gkv__rendered r;
    size_t skip;

    GKV__TRY(gkv__chat_render(jinja, len, &chat, &r, err));
    user = r.n_plain ? r.plain[r.n_plain - 1] : system_at;
    if (r.n_plain == 2)
        system_at = r.plain[0];
    if (system && *system && r.n_plain < 2) {
        gkv__rendered_free(&r);
        return gkv__fail(err, GKV_UNSUPPORTED, "chat template: it leaves out what the system says");
    }
    if (r.n_plain > chat.n || !is_text(&r, &user, place) || memchr(r.text, 0, r.len)) {
        gkv__rendered_free(&r);
        return gkv__fail(err, GKV_UNSUPPORTED,
                         "chat template: it does not say once, and as it is, what the user says");
    }
    /* Splits the text around the user's turn.  Drops BOS if the tokenizer adds it. */
    skip = bos_len <= user.start && !memcmp(r.text, bos, bos_len) ? bos_len : 0;
    r.text[user.start] = 0;
    *out = (struct gkv__template){
        .name = family ? family->name : "own", .summary = "own: what the model brought",
        .open = r.text + skip, .ask = ASK, .close = r.text + user.end, .text = r.text,
    };
    if (system_at.start >= skip && system_at.end > skip) {
        out->system = system_at.start - skip;
        out->system_end = system_at.end - skip;
    }
    free(r.plain);
    GKV__TRY(add_turns(out, jinja, len, &chat, skip, err));
    out->direct = direct(out);
    out->marks = find_marks(jinja, len);
    out->told = think;
    if (!out->marks)
        return GKV_OK;
    if (!out->direct && ends_with(out->close, out->marks->open))
        out->direct = out->marks->end;
    out->after = after(out);
    told.thinking = true;
    add_start(out, jinja, len, &told, skip);
    return GKV_OK;
}
