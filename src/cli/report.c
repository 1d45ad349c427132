/* SPDX-License-Identifier: BSD-2-Clause
 * report.c - see report.h.  The page is one file without scripts or external links; the stronger
 * the colour of a passage, the higher its score among the kept ones. */
#include "config.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "src/cli/input.h"
#include "src/cli/report.h"

static void html(FILE *f, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        switch (s[i]) {
        case '&': fputs("&amp;", f); break;
        case '<': fputs("&lt;", f); break;
        case '>': fputs("&gt;", f); break;
        case '"': fputs("&quot;", f); break;
        default:
            /* text has no NUL; other control characters are not allowed in HTML */
            fputc((unsigned char)s[i] < 0x20 && !strchr("\t\n\r", s[i]) ? '?' : s[i], f);
        }
}

static void html_str(FILE *f, const char *s)
{
    html(f, s, strlen(s));
}

static void document(const struct run *r, size_t i, float low, float high)
{
    size_t          n, len, at = 0;
    const gkv_kept *k = gkv_session_kept(r->session, &n);
    const char     *text = gkv_document_text(gkv_session_document(r->session), i, &len);
    FILE           *f = r->report.f;

    fputs("<h2>", f);
    html_str(f, input_name(r->o.file.v[i]));
    fputs("</h2>\n<pre>", f);
    for (size_t j = 0; j < n; j++) {
        double strength = high > low ? (double)(k[j].score - low) / (double)(high - low) : 0.5;

        if (k[j].file != i)
            continue;
        html(f, text + at, (size_t)k[j].start - at);
        fprintf(f, "<mark style=\"background:rgba(255,190,0,%.2f)\" title=\"bytes %" PRIu64 "-%"
                PRIu64 ", score %.3g\">", 0.25 + 0.75 * strength, k[j].start, k[j].end,
                (double)k[j].score);
        html(f, k[j].text, (size_t)(k[j].end - k[j].start));
        fputs("</mark>", f);
        at = (size_t)k[j].end;
    }
    html(f, text + at, len - at);
    fputs("</pre>\n", f);
}

int report_write(struct run *r, const char *answer, size_t len)
{
    FILE           *f = r->report.f;
    size_t          n;
    const gkv_kept *k = gkv_session_kept(r->session, &n);
    float           low = n ? k[0].score : 0, high = low;
    gkv_stats       s;

    if (!f)
        return 0;
    gkv_session_stats(r->session, &s);
    for (size_t i = 0; i < n; i++) {
        low = k[i].score < low ? k[i].score : low;
        high = k[i].score > high ? k[i].score : high;
    }
    fputs("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>gemkv</title>\n"
          "<style>body{max-width:46em;margin:2em auto;padding:0 1em;font-family:serif}"
          "pre{white-space:pre-wrap;font-family:inherit}mark{color:inherit}</style></head><body>\n"
          "<h1>", f);
    html_str(f, r->question);
    fputs("</h1>\n", f);
    if (answer) {
        fputs("<p><strong>", f);
        html(f, answer, len);
        fputs("</strong></p>\n", f);
    }
    fprintf(f, "<p>Method %s kept %" PRIu64 " of %" PRIu64 " tokens, in %zu passages; they are "
            "marked below.</p>\n", s.method, s.tokens_kept, s.tokens_prompt, n);
    for (size_t i = 0; i < r->o.file.n; i++)
        document(r, i, low, high);
    fputs("</body></html>\n", f);
    return output_keep(&r->report);
}
