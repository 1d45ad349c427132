/* SPDX-License-Identifier: BSD-2-Clause
 * files.c - /v1/files, as OpenAI has it */
#include "config.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "src/cli/cmd.h"
#include "src/cli/json.h"
#include "src/cli/serve/api.h"

static void put_file(struct json *j, const struct stored *f)
{
    json_open(j, '{');
    json_named_string(j, "id", f->id);
    json_named_string(j, "object", "file");
    json_named_uint(j, "bytes", f->bytes);
    json_named_uint(j, "created_at", (uint64_t)f->created);
    json_named_string(j, "filename", f->name);
    json_named_string(j, "purpose", "user_data");
    json_named_string(j, "status", "processed");
    json_named_string(j, "status_details", f->remark);
    json_close(j);
}

static void send_json(struct web_call *c, struct json *j)
{
    web_answer(c, 200, "application/json", j->text.p, j->text.n);
    text_free(&j->text);
}

#define FILES "/v1/files/"

/* What comes after it in the path. */
static const char *id_of(const struct web_call *c)
{
    return web_path(c) + strlen(FILES);
}

static void no_file(struct web_call *c)
{
    web_fail(c, 404, NULL, "there is no file %.100s", id_of(c));
}

void files_add(struct web_call *c)
{
    struct api   *api = web_arg(c);
    const char   *name, *path = web_file(c, &name);
    struct stored f;
    struct json   j = { .depth = 0 };
    char         *why;
    int           code;

    if (!path) {
        web_fail(c, 400, NULL, "the form has no file");
        return;
    }
    code = store_add(api->store, path, name, false, &f, &why);
    if (code)
        web_fail(c, code == EXIT_DOCUMENT ? 422 : 507, NULL, "%s", why);
    free(why);
    if (code)
        return;
    put_file(&j, &f);
    stored_free(&f);
    send_json(c, &j);
}

void files_list(struct web_call *c)
{
    struct api    *api = web_arg(c);
    size_t         n;
    struct stored *f = store_list(api->store, &n);
    struct json    j = { .depth = 0 };

    json_open(&j, '{');
    json_named_string(&j, "object", "list");
    json_named_open(&j, "data", '[');
    for (size_t i = 0; i < n; i++) {
        put_file(&j, &f[i]);
        stored_free(&f[i]);
    }
    json_close(&j);
    json_key(&j, "has_more");
    json_bool(&j, false);
    json_close(&j);
    free(f);
    send_json(c, &j);
}

/* Its text, as passages count its bytes and lines. */
static void send_content(struct web_call *c, const struct stored *f)
{
    struct text text = { NULL, 0, 0 };
    const int   fd = open(f->path, O_RDONLY | O_CLOEXEC);

    if (fd >= 0 && text_read(&text, fd))
        web_answer(c, 200, "text/plain; charset=utf-8", text.p, text.n);
    else if (errno == ENOENT)
        no_file(c);
    else
        web_fail(c, 500, NULL, "its text cannot be read: %s", strerror(errno));
    if (fd >= 0)
        close(fd);
    text_free(&text);
}

void files_get(struct web_call *c)
{
    struct api   *api = web_arg(c);
    const char   *more = strchr(id_of(c), '/');
    char         *id = format("%.*s", (int)strcspn(id_of(c), "/"), id_of(c));
    struct stored f;
    struct json   j = { .depth = 0 };

    if ((more && strcmp(more, "/content")) || !store_get(api->store, id, &f)) {
        no_file(c);
    } else {
        if (more) {
            send_content(c, &f);
        } else {
            put_file(&j, &f);
            send_json(c, &j);
        }
        stored_free(&f);
    }
    free(id);
}

void files_remove(struct web_call *c)
{
    struct api *api = web_arg(c);
    struct json j = { .depth = 0 };

    if (!store_remove(api->store, id_of(c))) {
        no_file(c);
        return;
    }
    json_open(&j, '{');
    json_named_string(&j, "id", id_of(c));
    json_named_string(&j, "object", "file");
    json_key(&j, "deleted");
    json_bool(&j, true);
    json_close(&j);
    send_json(c, &j);
}
