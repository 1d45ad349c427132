/* SPDX-License-Identifier: BSD-2-Clause
 * report-page.h - the page that report.c fills in: pieces of HTML with holes (html.h), and the style sheet
 *
 * Ids: qN a question, pN-M its M-th best passage in the text, lN-M the same in the list, dN a document. */
#ifndef GEMKV_CLI_REPORT_PAGE_H
#define GEMKV_CLI_REPORT_PAGE_H

static const char report_page[] =
    "<!DOCTYPE html>\n"
    "<html lang=\"en\">\n"
    "<head>\n"
    "<meta charset=\"utf-8\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta name=\"color-scheme\" content=\"light dark\">\n"
    "<meta name=\"referrer\" content=\"no-referrer\">\n"
    "<meta name=\"generator\" content=\"gemkv [[version]]\">\n"
    "<title>[[title]]</title>\n"
    "<style>\n[[style]]</style>\n"
    "</head>\n"
    "<body id=\"top\">\n"
    "<a class=\"skip\" href=\"#text\">Skip to the text</a>\n"
    "<main>\n"
    "[[contents]]"
    "[[questions]]"
    "<div class=\"desk\">\n"
    "<nav class=\"list\" aria-label=\"Passages, best first\">\n"
    "<h2>Passages, best first</h2>\n"
    "[[lists]]"
    "</nav>\n"
    "<div id=\"text\">\n"
    "[[documents]]"
    "</div>\n"
    "</div>\n"
    "</main>\n"
    "<footer>Made by gemkv [[version]]. This page runs no scripts and loads nothing.</footer>\n"
    "<a class=\"up\" href=\"#top\" aria-label=\"To the top\">\xe2\x86\x91</a>\n"
    "</body>\n"
    "</html>\n";

static const char report_content[] =
    "<li><a href=\"#q[[question number]]\" dir=\"auto\">[[question]]</a></li>\n";

static const char report_question[] =
    "<section class=\"question\" id=\"q[[question number]]\">\n"
    "<h1 dir=\"auto\">[[question]]</h1>\n";

static const char report_answer[] =
    "<div class=\"answer\" dir=\"auto\">[[answer]]</div>\n"
    "[[answer note]]";

static const char report_question_end[] =
    "[[strips]]"
    "<ul class=\"figures\">\n[[figures]]</ul>\n"
    "</section>\n";

static const char report_strip[] =
    "<figure>\n"
    "<figcaption><a href=\"#d[[document number]]\"><bdi>[[name]]</bdi></a> <span>[[passages]]</span></figcaption>\n"
    "<svg viewBox=\"0 0 1000 40\" preserveAspectRatio=\"none\" role=\"group\" "
        "aria-label=\"Where in [[name, plain]] the passages lie; the list below has the same links\">"
        "<rect class=\"track\" width=\"1000\" height=\"40\"/>[[ticks]]\n"
    "[[bars]]"
    "</svg>\n"
    "<div class=\"ends\" aria-hidden=\"true\"><span>[[unit]] 1</span><span>[[unit]] [[last unit]]</span></div>\n"
    "</figure>\n";

static const char report_bar[] =
    "<a href=\"#p[[id]]\" tabindex=\"-1\"><title>Passage [[number]], [[where]], score [[score]]</title>"
    "<rect class=\"b[[level]]\" [[bar]]/></a>\n";

static const char report_none[] =
    "<a href=\"#d[[document number]]\"><bdi>[[name]]</bdi></a>";

static const char report_list_head[] =
    "<h3 dir=\"auto\"><a href=\"#q[[question number]]\">[[question number]]. [[question]]</a></h3>\n";

static const char report_item[] =
    "<li><a id=\"l[[id]]\" href=\"#p[[id]]\"><span class=\"rank\">[[number]]</span>"
    "<span class=\"excerpt\" dir=\"auto\">[[excerpt]]</span>\n"
    "<small><span class=\"dots\" aria-hidden=\"true\">[[dots]]</span> [[where document]][[where]], "
        "score [[score]]</small></a></li>\n";

static const char report_document[] =
    "<section class=\"document [[set]]\" id=\"d[[document number]]\">\n"
    "<h2><bdi>[[name]]</bdi> <small>[[size]]</small></h2>\n"
    "[[text]]"
    "</section>\n";

static const char report_unmarked[] =
    "<details class=\"document [[set]]\" id=\"d[[document number]]\">\n"
    "<summary><bdi>[[name]]</bdi> <small>[[size]], nothing kept</small></summary>\n"
    "[[text]]"
    "</details>\n";

static const char report_anchor[] =
    "<a class=\"n\" id=\"p[[id]]\" href=\"#l[[id]]\" aria-label=\"Passage [[number]] of [[of]], score [[score]]; "
        "to the list\">[[number]]</a><span class=\"go\">[[neighbours]]</span>";

static const char report_previous[] =
    "<a href=\"#p[[id]]\" aria-label=\"Previous, passage [[number]]\">\xe2\x80\xb9 [[number]]</a>";

static const char report_next[] =
    "<a href=\"#p[[id]]\" aria-label=\"Next, passage [[number]]\">[[number]] \xe2\x80\xba</a>";

static const char report_mark[] = "<mark class=\"h[[level]]\">";

static const char report_style[] =
    ":root{color-scheme:light dark;--paper:#fcfbf8;--ink:#1d1b18;--soft:#5d574c;--line:#dcd6c9;--card:#f3f0e8;"
        "--link:#0b5394;--h1:#fdf3cf;--h2:#fde6a0;--h3:#fdd46a;--h4:#fdbb3c;--h5:#fa9f2e;--under:#8a4300;"
        "--b1:#b27f0d;--b2:#bd7a0c;--b3:#b8690a;--b4:#b05600;--b5:#963c00}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#17181b;--ink:#e8e4db;--soft:#a8a296;--line:#3a3a3d;"
        "--card:#212226;--link:#8ec5ff;--h1:#2e2a1a;--h2:#42370f;--h3:#57450a;--h4:#6f5200;--h5:#855800;"
        "--under:#ffb648;--b1:#86691d;--b2:#9a771a;--b3:#b98a18;--b4:#dc9d1f;--b5:#ffc04d}}\n"
    "*{box-sizing:border-box}\n"
    "html{scroll-padding:30vh 0 20vh;-webkit-text-size-adjust:100%;text-size-adjust:100%}\n"
    "body{margin:0;padding:1.5rem 1.25rem 4rem;background:var(--paper);color:var(--ink);"
        "font:1rem/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Noto Sans\",\"Liberation Sans\",sans-serif}\n"
    "main,footer{max-width:76rem;margin:0 auto}\n"
    "a{color:var(--link)}\n"
    "a:focus-visible,summary:focus-visible{outline:3px solid var(--link);outline-offset:2px;border-radius:2px}\n"
    ".skip{position:absolute;left:-99rem}.skip:focus{left:1rem;top:.5rem;background:var(--paper);padding:.3rem .6rem}\n"
    ".up{position:fixed;right:1rem;bottom:1rem;width:2.5rem;height:2.5rem;line-height:2.5rem;text-align:center;"
        "border:1px solid var(--line);border-radius:50%;background:var(--card);text-decoration:none}\n"
    "h1,h2,h3{line-height:1.25;overflow-wrap:anywhere}\n"
    "h1{margin:0 0 .75rem;font:600 clamp(1.5rem,4vw,2.1rem)/1.25 Charter,\"Iowan Old Style\",Palatino,Georgia,"
        "\"Noto Serif\",\"Liberation Serif\",serif;text-wrap:balance}\n"
    "h2{font-size:1.1rem;margin:0 0 .75rem}h2 small,summary small{font-weight:400;color:var(--soft);"
        "margin-inline-start:.5em}\n"
    "small,.note,figcaption span,.ends,footer{color:var(--soft)}\n"
    ".note{font-size:.9rem;margin:.25rem 0 1rem}\n"
    ".contents{margin-bottom:2rem;border-bottom:1px solid var(--line);padding-bottom:.5rem}\n"
    ".question{margin-bottom:2.5rem}\n"
    ".answer{max-width:70ch;margin:0 0 1rem;padding:.9rem 1.1rem;background:var(--card);border-inline-start:4px solid "
        "var(--b4);border-radius:0 6px 6px 0;font:1.15rem/1.55 Charter,\"Iowan Old Style\",Palatino,Georgia,"
        "\"Noto Serif\",\"Liberation Serif\",serif;white-space:pre-wrap;overflow-wrap:anywhere;"
        "unicode-bidi:plaintext}\n"
    ".figures{display:flex;flex-wrap:wrap;gap:.6rem 2rem;margin:1.25rem 0 0;padding:0;list-style:none;font-size:.9rem;"
        "overflow-wrap:anywhere}.figures small{display:block;font-size:.8rem}\n"
    "figure{margin:1.25rem 0}\n"
    "figcaption,.ends{display:flex;justify-content:space-between;gap:1rem;font-size:.9rem;overflow-wrap:anywhere}\n"
    "figcaption{margin-bottom:.25rem}figcaption span{white-space:nowrap}.ends{font-size:.8rem}\n"
    "svg{display:block;width:100%;height:2.5rem;border-radius:4px}\n"
    ".track{fill:var(--card)}.tick{stroke:var(--line);vector-effect:non-scaling-stroke}\n"
    "svg a:hover rect,svg a:focus rect{fill:var(--link)}\n"
    ".b1{fill:var(--b1)}.b2{fill:var(--b2)}.b3{fill:var(--b3)}.b4{fill:var(--b4)}.b5{fill:var(--b5)}\n"
    ".desk{border-top:1px solid var(--line);padding-top:1.5rem}\n"
    ".list{margin-bottom:2rem;font-size:.9rem}.list h3{font-size:.95rem;margin:1rem 0 .4rem}\n"
    ".list ol{list-style:none;margin:0;padding:0}\n"
    ".list li a{display:grid;grid-template-columns:2.2em 1fr;padding:.45rem .5rem;border-radius:6px;color:inherit;"
        "text-decoration:none}\n"
    ".list li a:hover,.list li a:target{background:var(--card)}\n"
    ".rank{font-weight:600;color:var(--link);font-variant-numeric:tabular-nums}.list small{grid-column:2}\n"
    ".excerpt{color:var(--soft);overflow-wrap:anywhere;unicode-bidi:plaintext}.excerpt b{color:var(--ink);"
        "font-weight:600}\n"
    ".dots{color:var(--under);letter-spacing:.1em}\n"
    "summary{cursor:pointer;padding:.45rem .5rem;color:var(--link)}\n"
    ".document{margin-bottom:3rem}\n"
    ".document h3{margin:2rem 0 .75rem;padding-top:.4rem;border-top:1px solid var(--line);font-size:.85rem;"
        "font-weight:600;color:var(--soft)}\n"
    ".t{content-visibility:auto;contain-intrinsic-size:auto 60rem;white-space:pre-wrap;overflow-wrap:anywhere;"
        "unicode-bidi:plaintext;tab-size:8}\n"
    ".prose .t{max-width:70ch;font:1.0625rem/1.6 Charter,\"Iowan Old Style\",Palatino,Georgia,\"Noto Serif\","
        "\"Liberation Serif\",serif}\n"
    ".columns .t{font:.85rem/1.5 ui-monospace,\"SF Mono\",Menlo,Consolas,\"DejaVu Sans Mono\",\"Liberation Mono\","
        "monospace;white-space:pre;overflow-x:auto}\n"
    "mark{color:inherit;text-decoration:underline;text-decoration-color:var(--under);"
        "text-decoration-skip-ink:none;text-underline-offset:.2em;border-radius:2px}\n"
    ".h1{background:var(--h1);text-decoration-style:dotted;text-decoration-thickness:1px}\n"
    ".h2{background:var(--h2);text-decoration-style:dashed;text-decoration-thickness:1px}\n"
    ".h3{background:var(--h3);text-decoration-thickness:1px}\n"
    ".h4{background:var(--h4);text-decoration-thickness:2px}\n"
    ".h5{background:var(--h5);text-decoration-thickness:3px}\n"
    ".n,.go a{font:600 .68rem/1 system-ui,sans-serif;text-decoration:none;unicode-bidi:isolate;direction:ltr;"
        "-webkit-user-select:none;user-select:none}\n"
    ".n{vertical-align:super;margin:0 .15em;color:var(--soft)}\n"
    ".n:focus-visible{outline-width:2px;outline-offset:1px;border-radius:1em}\n"
    ".go{display:none}\n"
    ".n:target,.go a{vertical-align:baseline;padding:.2em .5em;border-radius:1em;font-size:.8rem;"
        "border:1px solid var(--link)}\n"
    ".n:target{background:var(--link);color:var(--paper)}.n:target+.go{display:inline}\n"
    ".go a{background:var(--paper);margin:0 .15em}\n"
    ".n:target+.go+mark{outline:2px solid var(--link);outline-offset:2px}\n"
    ".c{font:.85em/1 ui-monospace,\"DejaVu Sans Mono\",monospace;border:1px solid var(--soft);border-radius:3px;"
        "padding:0 .2em;margin:0 .1em;unicode-bidi:isolate;direction:ltr}\n"
    "footer{font-size:.8rem;border-top:1px solid var(--line);padding-top:.75rem}\n"
    "@media (min-width:64rem){.desk{display:grid;grid-template-columns:20rem minmax(0,1fr);gap:2.5rem}"
        ".list{position:sticky;top:0;max-height:100vh;overflow-y:auto;padding-top:.5rem;align-self:start}}\n"
    "@media print{body{padding:0;background:#fff;font-size:10pt}.skip,.up,.go{display:none!important}"
        ".t{content-visibility:visible}.columns .t{white-space:pre-wrap;font-size:7.5pt}"
        ".prose .t,.answer{max-width:none}.prose .t{font-size:10.5pt}"
        "mark,svg,.answer{print-color-adjust:exact;-webkit-print-color-adjust:exact}"
        ".list li,figure,.answer,.figures{break-inside:avoid}h2,h3{break-after:avoid}"
        ".n:target{all:unset;font:600 .68rem/1 system-ui,sans-serif;vertical-align:super}"
        ".n:target+.go+mark{outline:0}a{color:inherit}}\n"
    "@media print and (prefers-color-scheme:dark){:root{--paper:#fff;--ink:#000;--soft:#444;--line:#ccc;--card:#f3f0e8;"
        "--link:#0b5394;--h1:#fdf3cf;--h2:#fde6a0;--h3:#fdd46a;--h4:#fdbb3c;--h5:#fa9f2e;--under:#8a4300;"
        "--b1:#b27f0d;--b2:#bd7a0c;--b3:#b8690a;--b4:#b05600;--b5:#963c00}}\n";

#endif
