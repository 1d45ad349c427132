/* SPDX-License-Identifier: BSD-2-Clause
 * shard.c - see shard.h */
#include "config.h"
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "src/cli/args.h"
#include "src/cli/batch/shard.h"
#include "src/cli/say.h"
#include "src/cli/text.h"

enum { MOST = 1000000 };

/* Who starts several processes tells each which it is.  min: the first number; NULL: 0.  count NULL: it does not say
 * of how many. */
static const struct source { const char *index, *min, *max, *step, *count; } sources[] = {
    { "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP",
      "SLURM_ARRAY_TASK_COUNT" },
    { "JOB_COMPLETION_INDEX", NULL, NULL, NULL, NULL },
    { "OMPI_COMM_WORLD_RANK", NULL, NULL, NULL, "OMPI_COMM_WORLD_SIZE" },
    { "PMI_RANK", NULL, NULL, NULL, "PMI_SIZE" },
};

enum { N_SOURCES = sizeof sources / sizeof *sources };

/* The number in the variable; false: there is none. */
static bool number(const char *name, uint64_t *out)
{
    const char *s = name ? getenv(name) : NULL;

    s = s ? parse_uint(s, 0, UINT32_MAX, out) : NULL;
    return s && !*s;
}

/* A job array with gaps, as when a few of its tasks run again, does not say which part a task has. */
static bool has_gaps(const struct source *s, uint64_t count)
{
    uint64_t min = 0, max = 0, step = 1;

    if (!s->max || !number(s->min, &min) || !number(s->max, &max))
        return false;
    number(s->step, &step);
    return !step || max < min || (max - min) % step || (max - min) / step + 1 != count;
}

static int of_source(struct shard *s, const struct source *from, const struct cmd *cmd, struct io *io, uint64_t n)
{
    uint64_t index = 0, count = n, min = 0, step = 1;

    number(from->index, &index);
    if (from->count && !number(from->count, &count))
        return usage(io, cmd, "%s is set, but not %s: of how many? give --shard I/N", from->index, from->count);
    if (!count)
        return usage(io, cmd, "%s says which part of the rows this is, but not of how many; give --shard /N",
                     from->index);
    if (n && count != n)
        return usage(io, cmd, "--shard /%" PRIu64 ", but %s is %" PRIu64 "; give --shard I/N with both numbers", n,
                     from->count, count);
    if (has_gaps(from, count))
        return usage(io, cmd, "the job array is not whole, so %s does not say which part of the rows this is; "
                     "give --shard I/N", from->index);
    number(from->min, &min);
    number(from->step, &step);
    index = index < min ? count : (index - min) / step;
    if (index >= count || count > MOST)
        return usage(io, cmd, "%s is no number of a part of %" PRIu64 "; give --shard I/N", from->index, count);
    *s = (struct shard){ (size_t)index, (size_t)count, from->index };
    return 0;
}

/* One process of one is no part. */
static bool says(const struct source *s)
{
    uint64_t index, count = 0;

    return number(s->index, &index) && !(number(s->count, &count) && count == 1);
}

static int of_environment(struct shard *s, const struct cmd *cmd, struct io *io, uint64_t n)
{
    const struct source *found = NULL;

    for (size_t i = 0; i < N_SOURCES; i++) {
        if (!says(&sources[i]))
            continue;
        /* Open MPI's processes may have the variables of both kinds of MPI. */
        if (found && strcmp(found->index, "OMPI_COMM_WORLD_RANK"))
            return usage(io, cmd, "%s and %s both say which part of the rows this is; give --shard I/N", found->index,
                         sources[i].index);
        found = found ? found : &sources[i];
    }
    if (found)
        return of_source(s, found, cmd, io, n);
    return n > 1 ? usage(io, cmd, "--shard /%" PRIu64 ": no variable says which part this is; give --shard I/N", n) : 0;
}

int shard_find(struct shard *s, const struct cmd *cmd, struct io *io, const char *word)
{
    uint64_t    i = 0, n = 0;
    const char *end = word;

    *s = (struct shard){ 0, 1, NULL };
    if (!word)
        return of_environment(s, cmd, io, 0);
    if (*word != '/')
        end = parse_uint(word, 1, MOST, &i);
    end = end && *end == '/' ? parse_uint(end + 1, 1, MOST, &n) : NULL;
    if (!end || *end || i > n)
        return usage(io, cmd, "option '--shard': '%s' is not like 3/16, from 1/16 to 16/16, or /16", word);
    if (!i)
        return of_environment(s, cmd, io, n);
    *s = (struct shard){ (size_t)i - 1, (size_t)n, NULL };
    return 0;
}

char *shard_name(const struct shard *s, const char *name)
{
    struct text t = { NULL, 0, 0 };

    text_puts(&t, "");
    for (const char *at; (at = strstr(name, "%s")); name = at + 2) {
        text_add(&t, name, (size_t)(at - name));
        text_printf(&t, "%zu", s->i + 1);
    }
    text_puts(&t, name);
    return t.p;
}
