/* SPDX-License-Identifier: BSD-2-Clause
 * run.c - see run.h: statements and expressions of a chat template */
#include "config.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "src/template/call.h"
#include "src/template/parse.h"
#include "src/template/run.h"

enum { MAX_TEMPLATE = 1 << 20, MAX_CONTENT = 1 << 26 };

static const struct gkv__jvalue undefined;

enum flow { ON, BREAK, CONTINUE };

static struct gkv__jvalue evaluate(struct gkv__jrun *r, const struct gkv__jnode *e);
static enum flow          execute(struct gkv__jrun *r, const struct gkv__jnode *list);

/* ---- variables -------------------------------------------------------------------------- */
/* var[0 .. n_global) are the template's variables, never empty; var[floor ..) those of the present macro
 * and its loops, of which the innermost begin at frame. */

static struct gkv__jvar *lookup(struct gkv__jrun *r, struct gkv__jstr name)
{
    for (size_t i = r->n_var; i-- > 0 && gkv__j_charge(r, 0); ) {
        if (i < r->floor && i >= r->n_global)
            i = r->n_global;                    /* skip variables of the macro's callers */
        else if (r->var[i].name.n == name.n && memcmp(r->var[i].name.p, name.p, name.n) == 0)
            return &r->var[i];
    }
    return NULL;
}

static void assign(struct gkv__jrun *r, struct gkv__jstr name, struct gkv__jvalue v)
{
    for (size_t i = r->frame; i < r->n_var && gkv__j_charge(r, 0); i++)
        if (r->var[i].name.n == name.n && memcmp(r->var[i].name.p, name.p, name.n) == 0) {
            r->var[i].value = v;
            return;
        }
    if (r->n_var == r->var_cap) {
        size_t            cap = r->var_cap ? 2 * r->var_cap : 32;
        struct gkv__jvar *var = gkv__j_alloc(r, cap, sizeof *var);

        if (!var)
            return;
        if (r->n_var)
            memcpy(var, r->var, r->n_var * sizeof *var);
        r->var = var;
        r->var_cap = cap;
    }
    r->var[r->n_var++] = (struct gkv__jvar){ name, v };
    if (r->frame == 0)
        r->n_global = r->n_var;
}

/* Assigns one value, or its items, to names a, b, ...; or to an attribute of a namespace. */
static void assign_to(struct gkv__jrun *r, const struct gkv__jnode *target, struct gkv__jvalue v)
{
    size_t n = 0;

    for (const struct gkv__jnode *t = target; t; t = t->next)
        n++;
    if (n > 1) {
        v = gkv__j_items(r, v);
        if (r->status == GKV_OK && v.u.list->n != n)
            gkv__j_fail(r, GKV_INVALID, "%zu values for %zu names", v.u.list->n, n);
    }
    for (size_t i = 0; target && r->status == GKV_OK; target = target->next, i++) {
        struct gkv__jvalue item = n > 1 ? v.u.list->at[i] : v;
        struct gkv__jvar  *var;

        if (target->type == GKV__J_NAME) {
            assign(r, target->name, item);
            continue;
        }
        var = lookup(r, target->a->name);
        if (!var || var->value.kind != GKV__J_DICT || !var->value.u.dict->is_namespace)
            gkv__j_fail(r, GKV_INVALID, "only a namespace has attributes that can be set");
        else
            gkv__j_set(r, var->value, gkv__j_str(target->name), item);
    }
}

/* ---- expressions ------------------------------------------------------------------------ */

static double number(struct gkv__jvalue v)
{
    return v.kind == GKV__J_FLOAT ? v.u.f : v.kind == GKV__J_BOOL ? v.u.b : (double)v.u.i;
}

static bool is_number(struct gkv__jvalue v)
{
    return v.kind == GKV__J_INT || v.kind == GKV__J_FLOAT || v.kind == GKV__J_BOOL;
}

static struct gkv__jvalue in_floats(struct gkv__jrun *r, char op, double a, double b)
{
    double f = 0;

    if (b == 0 && strchr("/f%", op))
        gkv__j_fail(r, GKV_INVALID, "division by zero");
    else
        f = op == '+' ? a + b : op == '-' ? a - b : op == '*' ? a * b : op == '/' ? a / b
          : op == 'f' ? floor(a / b) : a - b * floor(a / b);
    return (struct gkv__jvalue){ .kind = GKV__J_FLOAT, .u.f = f };
}

static struct gkv__jvalue in_integers(struct gkv__jrun *r, char op, int64_t a, int64_t b)
{
    int64_t i = 0;
    bool    wrong = false;

    switch (op) {
    case '+': wrong = __builtin_add_overflow(a, b, &i); break;
    case '-': wrong = __builtin_sub_overflow(a, b, &i); break;
    case '*': wrong = __builtin_mul_overflow(a, b, &i); break;
    case '/': return in_floats(r, op, (double)a, (double)b);
    default:
        wrong = b == 0 || (a == INT64_MIN && b == -1);
        if (!wrong)                             /* rounds down, as in Python */
            i = op == 'f' ? a / b - (a % b != 0 && (a % b < 0) != (b < 0))
                          : a % b + (a % b != 0 && (a % b < 0) != (b < 0) ? b : 0);
    }
    if (wrong)
        gkv__j_fail(r, GKV_INVALID, "a number too large, or division by zero");
    return gkv__j_int(i);
}

static struct gkv__jvalue chain(struct gkv__jrun *r, struct gkv__jvalue a, struct gkv__jvalue b)
{
    struct gkv__jtext t = { 0 };

    gkv__j_write(r, &t, a, false);
    gkv__j_write(r, &t, b, false);
    return gkv__j_finish(&t);
}

static struct gkv__jvalue repeat(struct gkv__jrun *r, struct gkv__jvalue s, int64_t n)
{
    struct gkv__jtext t = { 0 };

    for (; n > 0 && s.u.s.n > 0 && r->status == GKV_OK; n--)
        gkv__j_put(r, &t, s.u.s);
    return gkv__j_finish(&t);
}

static struct gkv__jvalue binary(struct gkv__jrun *r, char op, struct gkv__jvalue a,
                                 struct gkv__jvalue b)
{
    struct gkv__jvalue list;

    if (op == '~')
        return chain(r, a, b);
    if (a.kind == GKV__J_INT && b.kind == GKV__J_INT)
        return in_integers(r, op, a.u.i, b.u.i);
    if (is_number(a) && is_number(b))
        return in_floats(r, op, number(a), number(b));
    if (op == '+' && a.kind == GKV__J_STR && b.kind == GKV__J_STR)
        return chain(r, a, b);
    if (op == '*' && a.kind == GKV__J_STR && b.kind == GKV__J_INT)
        return repeat(r, a, b.u.i);
    if (op == '+' && a.kind == GKV__J_LIST && b.kind == GKV__J_LIST) {
        list = gkv__j_list(r);
        for (size_t i = 0; i < a.u.list->n && r->status == GKV_OK; i++)
            gkv__j_append(r, list, a.u.list->at[i]);
        for (size_t i = 0; i < b.u.list->n && r->status == GKV_OK; i++)
            gkv__j_append(r, list, b.u.list->at[i]);
        return list;
    }
    gkv__j_fail(r, GKV_INVALID, "%s %c %s", gkv__j_kind(a), op == 'f' ? '/' : op, gkv__j_kind(b));
    return undefined;
}

static struct gkv__jvalue compare(struct gkv__jrun *r, const struct gkv__jnode *e)
{
    struct gkv__jvalue a = evaluate(r, e->a);

    for (const struct gkv__jnode *arg = e->args; arg && r->status == GKV_OK; arg = arg->next) {
        struct gkv__jvalue b = evaluate(r, arg->a);
        bool               yes = false;

        switch (arg->op) {
        case '=': yes = gkv__j_same(r, a, b); break;
        case '!': yes = !gkv__j_same(r, a, b); break;
        case '<': yes = gkv__j_order(r, a, b) < 0; break;
        case 'l': yes = gkv__j_order(r, a, b) <= 0; break;
        case '>': yes = gkv__j_order(r, a, b) > 0; break;
        case 'g': yes = gkv__j_order(r, a, b) >= 0; break;
        case 'i': yes = gkv__j_contains(r, b, a); break;
        case 'n': yes = !gkv__j_contains(r, b, a); break;
        }
        if (!yes)
            return gkv__j_bool(false);
        a = b;
    }
    return gkv__j_bool(r->status == GKV_OK);
}

/* Evaluates the arguments of a call. */
static void arguments(struct gkv__jrun *r, const struct gkv__jnode *arg, struct gkv__jargs *out)
{
    out->n = 0;
    for (; arg && r->status == GKV_OK; arg = arg->next) {
        if (out->n == GKV__J_MAX_ARGS) {
            gkv__j_fail(r, GKV_LIMIT, "more than %d arguments", GKV__J_MAX_ARGS);
            return;
        }
        out->name[out->n] = arg->name;
        out->v[out->n++] = evaluate(r, arg->a);
    }
}

/* Runs a list of statements; their output becomes a value. */
static struct gkv__jvalue captured(struct gkv__jrun *r, const struct gkv__jnode *body)
{
    struct gkv__jtext t = { 0 }, *out = r->out;

    r->out = &t;
    execute(r, body);
    r->out = out;
    return gkv__j_finish(&t);
}

static struct gkv__jvalue call_macro(struct gkv__jrun *r, const struct gkv__jnode *macro,
                                     const struct gkv__jargs *args)
{
    const size_t       n = r->n_var, hidden = r->floor, frame = r->frame;
    struct gkv__jvalue text;
    size_t             i = 0;

    r->floor = r->frame = r->n_var;
    for (const struct gkv__jnode *p = macro->args; p && r->status == GKV_OK; p = p->next, i++) {
        struct gkv__jvalue v = undefined;
        bool               given = false;

        for (size_t j = 0; j < args->n; j++)
            if (args->name[j].n ? args->name[j].n == p->name.n &&
                                  memcmp(args->name[j].p, p->name.p, p->name.n) == 0 : i == j) {
                v = args->v[j];
                given = true;
            }
        if (!given && p->a)
            v = evaluate(r, p->a);
        assign(r, p->name, v);
    }
    text = captured(r, macro->body);
    r->n_var = n;
    r->floor = hidden;
    r->frame = frame;
    return text;
}

static struct gkv__jvalue call(struct gkv__jrun *r, const struct gkv__jnode *e)
{
    const struct gkv__jnode *callee = e->a;
    struct gkv__jvalue       of = undefined;
    struct gkv__jargs       *args;

    if (callee->type == GKV__J_ATTR)
        of = evaluate(r, callee->a);
    else if (callee->type == GKV__J_NAME) {
        struct gkv__jvar *var = lookup(r, callee->name);

        of = var ? var->value : undefined;
    }
    args = gkv__j_alloc(r, 1, sizeof *args);    /* too large for the stack of nested calls */
    if (!args)
        return undefined;
    arguments(r, e->args, args);
    if (r->status != GKV_OK)
        return undefined;
    if (callee->type == GKV__J_ATTR)
        return gkv__j_method(r, of, callee->name, args);
    if (of.kind == GKV__J_MACRO && of.u.macro)
        return call_macro(r, of.u.macro, args);
    if (callee->type == GKV__J_NAME)
        return gkv__j_function(r, callee->name, args);
    gkv__j_fail(r, GKV_UNSUPPORTED, "a call of something that is no name");
    return undefined;
}

static struct gkv__jvalue filtered(struct gkv__jrun *r, const struct gkv__jnode *e)
{
    struct gkv__jvalue v = evaluate(r, e->a);
    struct gkv__jargs *args = gkv__j_alloc(r, 1, sizeof *args);

    if (!args)
        return undefined;
    arguments(r, e->args, args);
    if (r->status != GKV_OK)
        return undefined;
    if (e->type == GKV__J_FILTER)
        return gkv__j_filter(r, e->name, v, args);
    return gkv__j_bool(gkv__j_test(r, e->name, v, args) != e->negated);
}

static struct gkv__jvalue made(struct gkv__jrun *r, const struct gkv__jnode *e)
{
    const bool         is_list = e->type == GKV__J_MAKE_LIST;
    struct gkv__jvalue v = is_list ? gkv__j_list(r) : gkv__j_dict(r);

    for (const struct gkv__jnode *arg = e->args; arg && r->status == GKV_OK; arg = arg->next) {
        struct gkv__jvalue a = evaluate(r, arg->a);

        if (is_list)
            gkv__j_append(r, v, a);
        else
            gkv__j_set(r, v, a, evaluate(r, arg->b));
    }
    return v;
}

static struct gkv__jvalue named(struct gkv__jrun *r, struct gkv__jstr name)
{
    struct gkv__jvar *var = lookup(r, name);

    if (var)
        return var->value;
    /* for "strftime_now is defined" */
    return gkv__j_is_function(name) ? (struct gkv__jvalue){ .kind = GKV__J_MACRO } : undefined;
}

static struct gkv__jvalue negated(struct gkv__jrun *r, struct gkv__jvalue v)
{
    if (v.kind == GKV__J_FLOAT) {
        v.u.f = -v.u.f;
        return v;
    }
    if (v.kind == GKV__J_INT)
        return in_integers(r, '-', 0, v.u.i);
    gkv__j_fail(r, GKV_INVALID, "- %s", gkv__j_kind(v));
    return undefined;
}

static struct gkv__jvalue inner(struct gkv__jrun *r, const struct gkv__jnode *e)
{
    struct gkv__jvalue v;

    switch (e->type) {
    case GKV__J_CONST:     return e->value;
    case GKV__J_NAME:      return named(r, e->name);
    case GKV__J_MAKE_LIST:
    case GKV__J_MAKE_DICT: return made(r, e);
    case GKV__J_ATTR:      return gkv__j_get(r, evaluate(r, e->a), gkv__j_str(e->name));
    case GKV__J_ITEM:
        v = evaluate(r, e->a);
        return gkv__j_get(r, v, evaluate(r, e->b));
    case GKV__J_SLICE:
        v = evaluate(r, e->a);
        return gkv__j_slice(r, v, evaluate(r, e->b), evaluate(r, e->c), evaluate(r, e->d));
    case GKV__J_CALL:      return call(r, e);
    case GKV__J_FILTER:
    case GKV__J_TEST:      return filtered(r, e);
    case GKV__J_BINARY:
        v = evaluate(r, e->a);
        return binary(r, e->op, v, evaluate(r, e->b));
    case GKV__J_COMPARE:   return compare(r, e);
    case GKV__J_AND:
        v = evaluate(r, e->a);
        return gkv__j_true(v) ? evaluate(r, e->b) : v;
    case GKV__J_OR:
        v = evaluate(r, e->a);
        return gkv__j_true(v) ? v : evaluate(r, e->b);
    case GKV__J_NOT:       return gkv__j_bool(!gkv__j_true(evaluate(r, e->a)));
    case GKV__J_NEGATE:    return negated(r, evaluate(r, e->a));
    case GKV__J_CHOICE:    return gkv__j_true(evaluate(r, e->b)) ? evaluate(r, e->a)
                                                                  : evaluate(r, e->c);
    default:               return undefined;
    }
}

/* An expression that is missing evaluates to undefined. */
static struct gkv__jvalue evaluate(struct gkv__jrun *r, const struct gkv__jnode *e)
{
    struct gkv__jvalue v = undefined;

    if (!e || !gkv__j_charge(r, 0))
        return undefined;
    r->line = e->line;
    if (++r->depth > GKV__J_MAX_DEPTH)
        gkv__j_fail(r, GKV_LIMIT, "it is nested too deeply");
    else
        v = inner(r, e);
    r->depth--;
    return r->status == GKV_OK ? v : undefined;
}

/* ---- statements ------------------------------------------------------------------------- */

/* The items of the list for which the loop's own condition is true. */
static struct gkv__jvalue let_through(struct gkv__jrun *r, const struct gkv__jnode *s,
                                      struct gkv__jvalue items)
{
    struct gkv__jvalue list = gkv__j_list(r);

    for (size_t i = 0; r->status == GKV_OK && i < items.u.list->n; i++) {
        const size_t n = r->n_var, frame = r->frame;

        r->frame = n;
        assign_to(r, s->args, items.u.list->at[i]);
        if (gkv__j_true(evaluate(r, s->b)))
            gkv__j_append(r, list, items.u.list->at[i]);
        r->n_var = n;
        r->frame = frame;
    }
    return list;
}

static void loop(struct gkv__jrun *r, const struct gkv__jnode *s)
{
    static const struct gkv__jstr loop_name = { "loop", NULL, 4 };
    struct gkv__jvalue            items = gkv__j_items(r, evaluate(r, s->a));
    const size_t                  frame = r->frame;
    struct gkv__jloop            *l = gkv__j_alloc(r, 1, sizeof *l);
    enum flow                     flow = ON;

    if (s->b && r->status == GKV_OK)
        items = let_through(r, s, items);
    if (r->status != GKV_OK)
        return;
    *l = (struct gkv__jloop){ 0, items.u.list->n, items.u.list->at };
    for (; l->i < l->n && flow != BREAK && gkv__j_charge(r, 0); l->i++) {
        const size_t n = r->n_var;

        r->frame = n;
        assign(r, loop_name, (struct gkv__jvalue){ .kind = GKV__J_LOOP, .u.loop = l });
        assign_to(r, s->args, l->item[l->i]);
        flow = execute(r, s->body);
        r->n_var = n;
        r->frame = frame;
    }
    if (l->n == 0)
        execute(r, s->other);
}

static enum flow statement(struct gkv__jrun *r, const struct gkv__jnode *s)
{
    struct gkv__jvalue v;

    switch (s->type) {
    case GKV__J_TEXT:
        gkv__j_put(r, r->out, s->value.u.s);
        return ON;
    case GKV__J_PRINT:
        v = evaluate(r, s->a);
        gkv__j_write(r, r->out, v, false);
        return ON;
    case GKV__J_IF:
        return execute(r, gkv__j_true(evaluate(r, s->a)) ? s->body : s->other);
    case GKV__J_FOR:
        loop(r, s);
        return ON;
    case GKV__J_SET:
        assign_to(r, s->args, s->a ? evaluate(r, s->a) : captured(r, s->body));
        return ON;
    case GKV__J_DEFINE:
        assign(r, s->name, (struct gkv__jvalue){ .kind = GKV__J_MACRO, .u.macro = s });
        return ON;
    case GKV__J_BREAK:
        return BREAK;
    case GKV__J_CONTINUE:
        return CONTINUE;
    case GKV__J_BLOCK:
        return execute(r, s->body);
    case GKV__J_FILTERED: {
        const size_t n = r->n_var, frame = r->frame;

        v = captured(r, s->body);
        r->frame = n;
        assign(r, (struct gkv__jstr){ "", NULL, 0 }, v);
        gkv__j_write(r, r->out, evaluate(r, s->a), false);
        r->n_var = n;
        r->frame = frame;
        return ON;
    }
    default:
        return ON;
    }
}

static enum flow execute(struct gkv__jrun *r, const struct gkv__jnode *list)
{
    enum flow flow = ON;

    if (++r->depth > GKV__J_MAX_DEPTH)
        gkv__j_fail(r, GKV_LIMIT, "it is nested too deeply");
    for (; list && flow == ON && gkv__j_charge(r, 0); list = list->next) {
        r->line = list->line;
        flow = statement(r, list);
    }
    r->depth--;
    return flow;
}

/* ---- rendering -------------------------------------------------------------------------- */

static struct gkv__jvalue messages(struct gkv__jrun *r, const struct gkv__chat *chat)
{
    struct gkv__jvalue list = gkv__j_list(r);

    for (size_t i = 0; i < chat->n && r->status == GKV_OK; i++) {
        const struct gkv__message *m = &chat->message[i];
        struct gkv__jvalue         dict = gkv__j_dict(r);
        struct gkv__jstr           content = { m->content_len ? m->content : "", NULL,
                                               m->content_len };
        uint8_t                   *user = gkv__j_alloc(r, m->content_len + 1, 1);

        if (!user)
            break;
        memset(user, 1, m->content_len);
        content.user = user;
        gkv__j_set(r, dict, gkv__j_text("role"), gkv__j_text(m->role));
        gkv__j_set(r, dict, gkv__j_text("content"), gkv__j_str(content));
        gkv__j_append(r, list, dict);
    }
    return list;
}

static void set_global(struct gkv__jrun *r, const char *name, struct gkv__jvalue v)
{
    assign(r, gkv__j_text(name).u.s, v);
}

/* Copies text and ranges out of the run's memory. */
static gkv_status hand_over(const struct gkv__jtext *t, struct gkv__rendered *out, gkv_error *err)
{
    size_t n = 0;

    for (size_t i = 0; i < t->n; i++)
        n += t->user[i] && (i == 0 || !t->user[i - 1]);
    out->text = malloc(t->n + 1);
    out->plain = malloc((n + 1) * sizeof *out->plain);
    if (!out->text || !out->plain) {
        gkv__rendered_free(out);
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    }
    if (t->n)
        memcpy(out->text, t->p, t->n);
    out->text[t->n] = 0;
    out->len = t->n;
    for (size_t i = 0; i < t->n; i++) {
        if (!t->user[i])
            continue;
        if (i == 0 || !t->user[i - 1])
            out->plain[out->n_plain++].start = i;
        out->plain[out->n_plain - 1].end = i + 1;
    }
    return GKV_OK;
}

gkv_status gkv__chat_render(const char *jinja, size_t len, const struct gkv__chat *chat,
                            struct gkv__rendered *out, gkv_error *err)
{
    struct gkv__jtext  text = { 0 };
    struct gkv__jrun   r = { .err = err, .steps = GKV__CHAT_STEPS - chat->less_steps,
                             .memory = GKV__CHAT_MEMORY - chat->less_memory, .now = chat->now, .out = &text,
                             .line = 1 };
    struct gkv__jnode *list;
    uint64_t           content = 0;

    memset(out, 0, sizeof *out);
    if (len > MAX_TEMPLATE)
        return gkv__fail(err, GKV_LIMIT, "chat template: %zu bytes are too many", len);
    for (size_t i = 0; i < chat->n; i++)
        if (!gkv__add(content, chat->message[i].content_len, &content) || content > MAX_CONTENT)
            return gkv__fail(err, GKV_LIMIT, "the messages are too long for a chat template");
    r.steps += content * 4;                     /* enough to go over all of it a few times */
    r.memory += (size_t)content * 32;
    list = gkv__j_parse(&r, jinja, len);
    set_global(&r, "messages", messages(&r, chat));
    set_global(&r, "bos_token", gkv__j_text(chat->bos));
    set_global(&r, "eos_token", gkv__j_text(chat->eos));
    set_global(&r, "add_generation_prompt", gkv__j_bool(chat->answer_next));
    if (chat->no_thinking || chat->thinking)
        set_global(&r, "enable_thinking", gkv__j_bool(chat->thinking));
    if (chat->thinking)
        set_global(&r, "thinking", gkv__j_bool(true));
    execute(&r, list);
    if (r.status == GKV_OK)
        r.status = hand_over(&text, out, err);
    gkv__j_free(&r);
    return r.status;
}

void gkv__rendered_free(struct gkv__rendered *out)
{
    free(out->text);
    free(out->plain);
    memset(out, 0, sizeof *out);
}
