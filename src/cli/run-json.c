/* SPDX-License-Identifier: BSD-2-Clause
 * run-json.c - the documented JSON object of a question */
#include "config.h"
#include <stdlib.h>
#include <string.h>
#include "src/cli/answerer.h"
#include "src/cli/evidence.h"
#include "src/cli/json.h"
#include "src/cli/run.h"
#include "src/cli/say.h"

/* Writes "key=value,..." as an object. */
static void json_parameters(struct json *j, const char *p)
{
    json_named_open(j, "parameters", '{');
    while (*p) {
        size_t key = strcspn(p, "="), value = strcspn(p + key + 1, ",");
        char  *k = format("%.*s", (int)key, p), *v = format("%.*s", (int)value, p + key + 1), *end;
        double number = strtod(v, &end);

        json_key(j, k);
        if (*end)
            json_string(j, v);
        else
            json_real(j, number);
        free(k);
        free(v);
        p += key + 1 + value;
        p += *p == ',';
    }
    json_close(j);
}

static void json_device(struct json *j, const gkv_stats *s)
{
    json_named_string(j, "device_model", s->device_model);
    json_named_uint(j, "device_layers", s->device_layers);
    json_named_uint(j, "device_memory", s->device_memory);
    json_named_open(j, "upload", '{');
    json_named_real(j, "seconds", s->upload);
    json_named_real(j, "waited", s->upload_waited);
    json_close(j);
}

/* What belongs to the model that reads, and to the one that answers. */
static void json_two_tokens(struct json *j, const struct run *r, const gkv_stats *s)
{
    json_named_open(j, "reader", '{');
    json_named_uint(j, "document", s->tokens_document);
    json_named_uint(j, "prompt", s->tokens_prompt);
    json_close(j);
    json_named_open(j, "answerer", '{');
    if (r->answerer) {
        answerer_tokens(j, r->answerer);
    } else {
        json_named_uint(j, "prompt", s->tokens_kept);
        json_named_uint(j, "answer", s->tokens_answer);
    }
    json_close(j);
}

static void json_two_seconds(struct json *j, const gkv_stats *s)
{
    json_named_open(j, "reader", '{');
    json_named_real(j, "load", s->load_reader);
    json_named_real(j, "first", s->first);
    json_close(j);
    json_named_open(j, "answerer", '{');
    json_named_real(j, "load", s->load - s->load_reader);
    json_named_real(j, "hand_over", s->hand_over);
    json_named_real(j, "second", s->second);
    json_named_real(j, "decode", s->decode);
    json_close(j);
}

void run_json(struct json *j, const struct run *r, const char *answer, size_t len)
{
    json_open(j, '{');
    if (r->o.lines)
        json_named_string(j, "event", answer ? "answer" : "selection");
    if (r->often)
        json_named_string(j, "question", r->question);
    run_json_members(j, r, answer, len);
    json_close(j);
}

void run_json_members(struct json *j, const struct run *r, const char *answer, size_t len)
{
    gkv_stats s;

    run_stats(r, &s);
    if (answer) {
        if (r->o.cite && !r->nothing) {
            evidence_citations(j, r, answer, len);
        } else {
            json_key(j, "answer");
            json_text(j, answer, len);
        }
        json_named_string(j, "finish", r->nothing ? "not found" : s.finish);
        if (s.stop)
            json_named_string(j, "stop", s.stop);
        if (s.thought) {
            json_key(j, "thinking");
            json_text(j, s.thought, strlen(s.thought));
        }
    }
    json_named_string(j, "method", s.method);
    json_parameters(j, s.parameters);
    json_named_layer(j, "layer", s.layer);
    json_named_string(j, "schedule", s.schedule);
    if (s.schedule_reason)
        json_named_string(j, "schedule_reason", s.schedule_reason);
    if (s.snap) {
        json_named_string(j, "reader", r->answerer ? r->o.model : r->o.reader);
        if (r->answerer)
            answerer_json(j, r->answerer);
        json_named_string(j, "snap", s.snap);
    }
    json_named_string(j, "device", s.device);
    if (s.device_model)
        json_device(j, &s);
    json_named_string(j, "cpu", s.cpu);
    if (s.warning)
        json_named_string(j, "warning", s.warning);

    json_named_open(j, "tokens", '{');
    json_named_uint(j, "document", s.tokens_document);
    json_named_uint(j, "prompt", s.tokens_prompt);
    json_named_uint(j, "kept", s.tokens_kept);
    json_named_uint(j, "answer", s.tokens_answer);
    if (s.tokens_thought)
        json_named_uint(j, "thinking", s.tokens_thought);
    if (s.snap)
        json_two_tokens(j, r, &s);
    json_close(j);

    json_named_open(j, "seconds", '{');
    json_named_real(j, "load", s.load);
    json_named_real(j, "tokenize", s.tokenize);
    json_named_real(j, "first", s.first);
    json_named_real(j, "second", s.second);
    json_named_real(j, "ttft", s.ttft);
    json_named_real(j, "decode", s.decode);
    json_named_real(j, "total", s.total);
    if (s.snap)
        json_two_seconds(j, &s);
    json_close(j);

    if (s.processes > 1) {
        json_named_open(j, "processes", '{');
        json_named_uint(j, "number", s.processes);
        json_named_real(j, "waited", s.waited);
        json_close(j);
    }

    json_named_open(j, "draft", '{');           /* as often as it has paid, so no two runs need agree */
    json_named_uint(j, "guessed", s.drafted);
    json_named_uint(j, "right", s.accepted);
    if (r->o.gkv.draft_reader) {
        json_named_open(j, "reader", '{');
        json_named_uint(j, "guessed", s.drafted_reader);
        json_named_uint(j, "right", s.accepted_reader);
        json_close(j);
    }
    if (r->o.gkv.draft_mtp) {
        json_named_open(j, "mtp", '{');
        json_named_uint(j, "guessed", s.drafted_mtp);
        json_named_uint(j, "right", s.accepted_mtp);
        json_close(j);
    }
    json_close(j);

    json_named_open(j, "memory", '{');
    json_named_uint(j, "predicted", s.memory_predicted);
    json_named_uint(j, "peak", s.memory_peak);
    json_named_uint(j, "kv", s.memory_kv);
    if (r->o.gkv.repack)
        json_named_uint(j, "packed", s.memory_packed);
    if (s.snap) {
        json_named_uint(j, "reader", s.predicted_reader);
        json_named_uint(j, "answerer", s.predicted_answerer);
    }
    json_close(j);

    if (r->o.library)
        library_json(j, r);
    evidence_kept(j, r);
    evidence_passages(j, r);
}
