/* SPDX-License-Identifier: BSD-2-Clause
 * jsonl.c - the files of gemkv batch: rows, a line with a form feed alone, and answers to them */
#include "config.h"
#include <string.h>
#include "src/cli/batch/answers.h"
#include "src/cli/batch/merge.h"
#include "src/cli/batch/rows.h"
#include "tests/fuzz/fuzz.h"

static int take_answer(void *arg, const struct answer *a)
{
    answers_row(arg, a);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static FILE *null;
    struct input in = { data, size }, rows_text = take_until(&in, '\f');
    struct rows  rows = { .n = 0 };
    struct tail  tail;
    struct io    io;
    size_t      *order;
    FILE        *f;

    if (!null)
        null = fopen("/dev/null", "w");
    io = (struct io){ .out = null, .err = null };
    if (!rows_open(&rows, &io, fuzz_file(0, rows_text.p, rows_text.n))) {
        rows_deal(&rows, 3);
        order = rows_order(&rows);
        free(order);
        for (size_t i = 0; i < rows.n; i++) {
            struct row row = { .n_text = 0 };

            must(rows.entry[i].start >= 0 && (size_t)rows.entry[i].start + rows.entry[i].n <= rows_text.n);
            if (!row_read(&rows, &rows.entry[i], &row))
                must(row.why || row.question.n);
            row_done(&row);
        }
        f = fopen(fuzz_file(1, in.p, in.n), "r");
        must(f);
        if (!answers_each(&io, "answers", f, take_answer, &rows, &tail))
            must(tail.whole >= 0 && (size_t)tail.whole <= in.n);
        fclose(f);
    }
    rows_close(&rows);
    return 0;
}
