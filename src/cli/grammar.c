/* SPDX-License-Identifier: BSD-2-Clause
 * grammar.c - see grammar.h */
#include "config.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/grammar.h"
#include "src/cli/input.h"
#include "src/cli/say.h"
#include "src/cli/schema.h"

/* The file of that name, or the argument itself if it looks like the text. */
static int slurp(const struct options *o, const char *option, const char *arg, bool is_text, char **text, size_t *len)
{
    if (!access(arg, F_OK))
        return input_slurp(o->io, arg, text, len);
    if (!is_text)
        return usage(o->io, o->cmd, "--%s: %s: %s", option, arg, strerror(errno));
    *text = format("%s", arg);
    *len = strlen(arg);
    return 0;
}

static int schema(const struct options *o, char **text, size_t *len)
{
    const char *arg = o->schema;
    char       *why = NULL, *from = NULL;
    int         code = slurp(o, "json-schema", arg, arg[strspn(arg, " \t\r\n")] == '{', &from, len);

    if (!code) {
        *text = schema_grammar(from, *len, &why);
        if (*text)
            *len = strlen(*text);
        else
            code = usage(o->io, o->cmd, "--json-schema: %s", why);
    }
    free(why);
    free(from);
    return code;
}

int grammar_open(const struct options *o, gkv_grammar **out)
{
    gkv_error  err = { 0 };
    gkv_status status;
    char      *text = NULL;
    size_t     len = 0;
    int        code;

    *out = NULL;
    if (!o->grammar && !o->schema)
        return 0;
    if (o->grammar && o->schema)
        return usage(o->io, o->cmd, "--json-schema is a grammar; give it or --grammar");
    code = o->schema ? schema(o, &text, &len)
                     : slurp(o, "grammar", o->grammar, strstr(o->grammar, "::="), &text, &len);
    if (!code) {
        status = gkv_grammar_open(out, text, len, &err);
        code = status ? fail_library(o->io, status, &err, o->schema ? "--json-schema" : "--grammar") : 0;
    }
    free(text);
    return code;
}
