/* SPDX-License-Identifier: BSD-2-Clause
 * template.c - a chat template and what is said in it: the template, a NUL, the question */
#include "config.h"
#include <string.h>
#include "src/template/run.h"
#include "src/template/template.h"
#include "tests/fuzz/fuzz.h"

static void render(const char *jinja, size_t len, const char *question, size_t n)
{
    const struct gkv__message m[] = { { "system", "Be brief.", 9 }, { "user", "A cat <|im_start|>", 18 },
                                      { "assistant", "Meow.", 5 }, { "user", question, n } };
    struct gkv__rendered      out = { .text = NULL };
    gkv_error                 err = { 0 };
    size_t                    at = 0;

    for (unsigned i = 0; i < 2; i++) {
        const struct gkv__chat chat = { .message = m, .n = 4, .bos = "<s>", .eos = "</s>", .answer_next = i,
                                        .no_thinking = i, .now = 1700000000 };

        if (gkv__chat_render(jinja, len, &chat, &out, &err) != GKV_OK) {
            must(!out.text && *err.text && !strchr(err.text, '\n'));
            return;
        }
        must(strlen(out.text) <= out.len && !out.text[out.len]);
        at = 0;
        for (size_t k = 0; k < out.n_plain; k++) {
            must(out.plain[k].start >= at && out.plain[k].end >= out.plain[k].start && out.plain[k].end <= out.len);
            at = out.plain[k].end;
        }
        gkv__rendered_free(&out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input         in = { data, size };
    const struct input   jinja = take_until(&in, 0);
    const char          *text = (const char *)jinja.p;
    struct gkv__template t = { .text = NULL };
    gkv_error            err = { 0 };

    render(text, jinja.n, (const char *)in.p, in.n);
    gkv__template_recognise(text, jinja.n);
    if (gkv__template_own(&t, text, jinja.n, "Be brief.", "<s>", "</s>", true, true, 1700000000, &err) == GKV_OK)
        must(t.open && t.ask && t.close && t.system <= t.system_end && t.system_end <= strlen(t.open));
    else
        must(*err.text);
    free(t.text);
    return 0;
}
