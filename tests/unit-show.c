/* SPDX-License-Identifier: BSD-2-Clause
 * unit-show.c - results of gemkv eval: the table, grids, JSON, CSV and the picture of results that are given here */
#include "config.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/eval/eval.h"
#include "src/cli/say.h"
#include "src/cli/text.h"
#include "tests/tap.h"

enum { N_ROWS = 5, N_WAYS = 2 };

static struct result results[N_ROWS * N_WAYS];
static struct row    rows[N_ROWS];
static struct way    ways[N_WAYS];
static char         *specs[] = { (char *)"gemfilter", (char *)"full" };

static struct result scored(double score, double ttft, double decode, uint64_t n_answer, uint64_t peak)
{
    struct result r = { .done = true, .ttft = ttft, .decode = decode, .n_prompt = 1000, .n_kept = 100, .n_answer = n_answer, .peak = peak };

    for (int i = 0; i < N_METRICS; i++)
        r.score[i] = score / (i + 1);
    return r;
}

/* Five rows of two groups, asked in two ways; of the last there is only one answer. */
static struct eval evaluation(void)
{
    static const char *const id[N_ROWS] = { "a", "=b", "c,\"d\"", "e", "f" };
    static const uint64_t length[N_ROWS] = { 400, 400, 900, 1000, 1024 };
    static const char first[] = "first", second[] = "second";
    struct eval e = { .task = "kv", .path = (char *)"m.gguf", .row = rows, .n_row = N_ROWS, .result = results, .way = ways, .n_way = N_WAYS,
                      .shown = { F1 }, .n_shown = 1 };

    e.o.methods = (struct methods){ specs, 2 };
    memset(results, 0, sizeof results);
    for (size_t i = 0; i < N_ROWS; i++) {
        rows[i] = (struct row){ .id = (char *)id[i], .group = i < 2 ? first : second, .length = length[i], .depth = i < 3 ? 25.5 * (double)i : -1,
                                .metric = EM };
        results[2 * i] = scored(0.25 * (double)i, 1 + (double)i, 0.5, 10, 1000 + i);
        results[2 * i + 1] = scored(1, 4, 2, 5, 3 << 20);
    }
    results[2 * 4 + 1].done = false;
    ways[0] = (struct way){ .name = (char *)"gemfilter" };
    ways[1] = (struct way){ .name = (char *)"full-method" };
    return e;
}

static char *shown(struct eval *e)
{
    char     *out = NULL;
    size_t    n;
    struct io io = { .out = open_memstream(&out, &n), .err = stderr };

    e->o.io = &io;
    ok(!show_results(e), "results are shown");
    fclose(io.out);
    return out;
}

/* Compares, and frees what was got. */
static void is(char *got, const char *want, const char *what)
{
    const int same = !strcmp(got, want);

    ok(same, "%s", what);
    if (!same)
        printf("# not %s\n", got);
    free(got);
}

static void test_people(void)
{
    struct eval e = evaluation();

    is(shown(&e),
       "kv                em  of full       f1 first token  of full   per token  of full     memory  of full   rows\n"
       "gemfilter     50.0 %     0.38   25.0 %      3.00 s     0.62     50.0 ms     0.12     1004 B     0.00      5\n"
       "full-method  100.0 %     1.00   50.0 %      4.00 s     1.00    400.0 ms     1.00    3.0 MiB     1.00      4\n"
       "\n"
       "gemfilter: mean 50.0 %\n"
       "         400   900  1000  1024\n"
       " first    12     -     -     -\n"
       "second     -    50    75   100\n"
       "\n"
       "full-method: mean 100.0 %\n"
       "         400   900  1000  1024\n"
       " first   100     -     -     -\n"
       "second     -   100   100     -\n",
       "a table, with ratios to full, and a grid of groups and lengths for each way");
    e.rounded = true;
    e.o.methods.n = 1;
    rows[0].metric = F1;
    is(shown(&e),
       "kv             score       f1 first token   per token     memory   rows\n"
       "gemfilter     50.0 %   25.0 %      3.00 s     50.0 ms     1004 B      5\n"
       "full-method   87.5 %   50.0 %      4.00 s    400.0 ms    3.0 MiB      4\n"
       "\n"
       "gemfilter: mean 50.0 %\n"
       "         512  1024\n"
       " first    12     -\n"
       "second     -    75\n"
       "\n"
       "full-method: mean 87.5 %\n"
       "         512  1024\n"
       " first    75     -\n"
       "second     -   100\n",
       "without full there are no ratios; lengths are rounded up; the measures differ");
    e = evaluation();
    rows[4].group = "third";
    results[2 * 4].done = false;
    {
        char *s = shown(&e);

        ok(strstr(s, "second") && !strstr(s, "third"), "a group without an answer has no line");
        free(s);
    }
    e = evaluation();
    for (size_t i = 0; i < N_ROWS; i++)
        rows[i].group = NULL;
    e.n_way = 1;
    e.n_row = 3;
    is(shown(&e),
       "kv              em       f1 first token   per token     memory   rows\n"
       "gemfilter   41.7 %   20.8 %      2.33 s    120.0 ms    3.0 MiB      3\n"
       "\n"
       "gemfilter: mean 41.7 %\n"
       "         400   900\n"
       "   0 %     0     -\n"
       "25.5 %   100     -\n"
       "  51 %     -    25\n",
       "a grid of depths and lengths");
    e.n_row = 1;
    is(shown(&e),
       "kv              em       f1 first token   per token     memory   rows\n"
       "gemfilter    0.0 %    0.0 %      1.00 s     50.0 ms     1000 B      1\n",
       "one row needs no grid");
    results[0].done = false;
    is(shown(&e),
       "kv           score       f1 first token   per token     memory   rows\n"
       "gemfilter    0.0 %    0.0 %      0.00 s      0.0 ms        0 B      0\n",
       "no answers");
}

static void test_machines(void)
{
    struct eval e = evaluation();
    char       *cpu = format("\"cpu\": \"%s\"", gkv_cpu()), *s, *p;
    struct text t = { NULL, 0, 0 };

    e.o.csv = true;
    is(shown(&e),
       "task,method,id,group,length,depth,metric,score,em,f1,contains,rouge-1,rouge-l,all,part,prompt,kept,answer,"
       "ttft,decode,memory\n"
       "kv,gemfilter,a,first,400,0,em,0,0,0,0,0,0,0,0,1000,100,10,1,0.5,1000\n"
       "kv,full-method,a,first,400,0,em,1,1,0.5,0.333333,0.25,0.2,0.166667,0.142857,1000,100,5,4,2,3145728\n"
       "kv,gemfilter,'=b,first,400,25.5,em,0.25,0.25,0.125,0.0833333,0.0625,0.05,0.0416667,0.0357143,1000,100,10,2,"
       "0.5,1001\n"
       "kv,full-method,'=b,first,400,25.5,em,1,1,0.5,0.333333,0.25,0.2,0.166667,0.142857,1000,100,5,4,2,3145728\n"
       "kv,gemfilter,\"c,\"\"d\"\"\",second,900,51,em,0.5,0.5,0.25,0.166667,0.125,0.1,0.0833333,0.0714286,1000,100,10,"
       "3,0.5,1002\n"
       "kv,full-method,\"c,\"\"d\"\"\",second,900,51,em,1,1,0.5,0.333333,0.25,0.2,0.166667,0.142857,1000,100,5,4,2,"
       "3145728\n"
       "kv,gemfilter,e,second,1000,,em,0.75,0.75,0.375,0.25,0.1875,0.15,0.125,0.107143,1000,100,10,4,0.5,1003\n"
       "kv,full-method,e,second,1000,,em,1,1,0.5,0.333333,0.25,0.2,0.166667,0.142857,1000,100,5,4,2,3145728\n"
       "kv,gemfilter,f,second,1024,,em,1,1,0.5,0.333333,0.25,0.2,0.166667,0.142857,1000,100,10,5,0.5,1004\n",
       "CSV");
    e = evaluation();
    e.n_row = 2;
    rows[1].group = NULL;
    rows[1].depth = -1;
    e.o.json = true;
    s = shown(&e);
    for (char *from = s; ; from = p + strlen(cpu)) {            /* which differs from machine to machine */
        p = strstr(from, cpu);
        text_add(&t, from, p ? (size_t)(p - from) : strlen(from));
        if (!p)
            break;
    }
    free(s);
    is(t.p,
       "[{\"task\": \"kv\", \"method\": \"gemfilter\", \"model\": \"m.gguf\", , \"rows\": [{\"id\": \"a\", "
       "\"task\": \"first\", \"length\": 400, \"depth\": 0, \"score\": 0, \"metric\": \"em\", \"em\": 0, \"f1\": 0, "
       "\"contains\": 0, \"rouge-1\": 0, \"rouge-l\": 0, \"all\": 0, \"part\": 0, \"tokens\": {\"prompt\": 1000, "
       "\"kept\": 100, \"answer\": 10}, \"seconds\": {\"ttft\": 1, \"decode\": 0.5}, \"memory\": 1000}, "
       "{\"id\": \"=b\", \"length\": 400, \"score\": 0.25, \"metric\": \"em\", \"em\": 0.25, \"f1\": 0.125, "
       "\"contains\": 0.08333333333333333, \"rouge-1\": 0.0625, \"rouge-l\": 0.05, \"all\": 0.041666666666666664, "
       "\"part\": 0.03571428571428571, \"tokens\": {\"prompt\": 1000, \"kept\": 100, \"answer\": 10}, "
       "\"seconds\": {\"ttft\": 2, \"decode\": 0.5}, \"memory\": 1001}], \"mean\": 0.125, \"means\": {\"em\": 0.125, "
       "\"f1\": 0.0625, \"contains\": 0.041666666666666664, \"rouge-1\": 0.03125, \"rouge-l\": 0.025, "
       "\"all\": 0.020833333333333332, \"part\": 0.017857142857142856}, \"seconds\": {\"ttft\": 1.5, "
       "\"per_token\": 0.05}, \"memory\": {\"peak\": 1001}}, {\"task\": \"kv\", \"method\": \"full-method\", "
       "\"model\": \"m.gguf\", , \"rows\": [{\"id\": \"a\", \"task\": \"first\", \"length\": 400, \"depth\": 0, "
       "\"score\": 1, \"metric\": \"em\", \"em\": 1, \"f1\": 0.5, \"contains\": 0.3333333333333333, "
       "\"rouge-1\": 0.25, \"rouge-l\": 0.2, \"all\": 0.16666666666666666, \"part\": 0.14285714285714285, "
       "\"tokens\": {\"prompt\": 1000, \"kept\": 100, \"answer\": 5}, \"seconds\": {\"ttft\": 4, \"decode\": 2}, "
       "\"memory\": 3145728}, {\"id\": \"=b\", \"length\": 400, \"score\": 1, \"metric\": \"em\", \"em\": 1, "
       "\"f1\": 0.5, \"contains\": 0.3333333333333333, \"rouge-1\": 0.25, \"rouge-l\": 0.2, "
       "\"all\": 0.16666666666666666, \"part\": 0.14285714285714285, \"tokens\": {\"prompt\": 1000, \"kept\": 100, "
       "\"answer\": 5}, \"seconds\": {\"ttft\": 4, \"decode\": 2}, \"memory\": 3145728}], \"mean\": 1, "
       "\"means\": {\"em\": 1, \"f1\": 0.5, \"contains\": 0.3333333333333333, \"rouge-1\": 0.25, \"rouge-l\": 0.2, "
       "\"all\": 0.16666666666666666, \"part\": 0.14285714285714285}, \"seconds\": {\"ttft\": 4, \"per_token\": 0.4}, "
       "\"memory\": {\"peak\": 3145728}}]\n",
       "JSON of two ways");
    e.n_way = 1;
    e.n_row = 0;
    s = shown(&e);
    ok(*s == '{' && strstr(s, "\"rows\": [], \"mean\": 0, "), "JSON of one way");
    free(s);
    free(cpu);
}

static void test_plot(void)
{
    struct eval e = evaluation();
    char        folder[] = "/tmp/gemkv-show-XXXXXX", path[64];
    struct io   io = { .out = stdout, .err = stderr };
    struct text t = { NULL, 0, 0 };
    FILE       *f;

    text_add(&t, "", 0);
    if (!mkdtemp(folder))
        return;
    snprintf(path, sizeof path, "%s/p.svg", folder);
    ok(!output_new(&e.plot, &io, path, false) && !show_plot(&e), "a picture");
    f = fopen(path, "r");
    if (f) {
        text_read(&t, fileno(f));
        fclose(f);
    }
    ok(strstr(t.p, ">gemfilter: mean 50.0 %<") && strstr(t.p, ">full-method: mean 100.0 %<") && strstr(t.p, ">second<") && strstr(t.p, ">1024<"),
       "of both ways");
    text_free(&t);
    unlink(path);
    rmdir(folder);
}

int main(void)
{
    test_people();
    test_machines();
    test_plot();
    return done();
}
