/* SPDX-License-Identifier: BSD-2-Clause
 * match.c - a grammar against an answer, character by character.  See grammar.h
 *
 * An item is a place in a rule and a frame, which says where to go on after the rule: at the places of its edges, each
 * in another frame.  A rule that is called at the same character by several items has one frame with several edges,
 * so that items do not multiply.  The last rule that an item calls takes over its frame, so that a long repetition
 * does not make a deep stack.  A rule that ends where it began may be nothing: whoever called it has gone on at once. */
#include "config.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "src/answer/grammar.h"
#include "src/base/size.h"

/* Items after one character, and frames in all. */
enum { MAX_ITEMS = 1 << 16, MAX_FRAMES = 1 << 20, LAST_CHAR = 0x10ffff };

struct item  { uint32_t at, frame; };
struct frame { uint32_t edge, least; };         /* the first edge, or GKV__G_NONE; bytes from there to the end */
struct edge  { uint32_t at, frame, next, owner; };
struct seen  { uint64_t when; struct item item; };

/* Bytes of a character so far. */
struct utf8 { uint32_t value, least; int left; };

struct place {                          /* all that changes as the answer goes on: arrays are cut back */
    size_t      from, to;               /* the items that want a character                  */
    size_t      n_frames, n_edges;
    struct utf8 utf8;
    bool        may_end;
};

struct gkv__match {
    const gkv_grammar *g;
    struct place  p;
    struct item  *item;
    struct frame *frame;
    struct edge  *edge;
    struct item  *todo;                 /* of this character, not looked at yet             */
    struct seen  *seen;                 /* a table of them, of n_seen_room                  */
    uint64_t     *called_when;          /* of each rule: at which character ...             */
    uint32_t     *called;               /* ... and its frame there                          */
    uint64_t      now;                  /* counts characters, also those that are tried     */
    size_t        item_room, frame_room, edge_room, todo_room, seen_room, n_todo, n_seen;
    size_t        new_frames;           /* frames from here on are of this character        */
    size_t        clean_at;             /* n_frames at which unused ones are looked for     */
    uint64_t      taken, memory;        /* bytes of all these arrays; how many they may have */
    gkv_status    status;
};

static bool failed(struct gkv__match *m, gkv_status status)
{
    if (m->status == GKV_OK)
        m->status = status;
    return false;
}

/* Whether an array of `old` bytes may become one of `bytes`, beside which it is for a moment. */
static bool may_take(struct gkv__match *m, uint64_t old, uint64_t bytes)
{
    if (m->taken + bytes > m->memory)
        return failed(m, GKV_LIMIT);
    m->taken += bytes - old;
    return true;
}

static bool grow(struct gkv__match *m, void *array, size_t n, size_t size, size_t *room, size_t most)
{
    void *q;

    if (n < *room)
        return true;
    if (n >= most)
        return failed(m, GKV_INVALID);
    if (!may_take(m, *room * size, (2 * n + 64) * size))
        return false;
    memcpy(&q, array, sizeof q);
    q = realloc(q, (2 * n + 64) * size);
    if (!q)
        return failed(m, GKV_NOMEM);
    memcpy(array, &q, sizeof q);
    *room = 2 * n + 64;
    return true;
}

/* ---- items of one character ------------------------------------------------------------- */

static size_t slot_of(const struct gkv__match *m, struct item i)
{
    const uint64_t h = (i.at * UINT64_C(0x9e3779b97f4a7c15)) ^ (i.frame * UINT64_C(0xc2b2ae3d27d4eb4f));

    return (size_t)(h >> 20) & (m->seen_room - 1);
}

static void mark(struct gkv__match *m, struct item i)
{
    size_t at = slot_of(m, i);

    while (m->seen[at].when == m->now)
        at = (at + 1) & (m->seen_room - 1);
    m->seen[at] = (struct seen){ m->now, i };
}

static bool more_slots(struct gkv__match *m)
{
    struct seen *old = m->seen;
    const size_t n = m->seen_room;

    if (n >= 4 * (size_t)MAX_ITEMS)
        return failed(m, GKV_INVALID);
    if (!may_take(m, n * sizeof *m->seen, (n ? 2 * n : 256) * sizeof *m->seen))
        return false;
    m->seen = calloc(n ? 2 * n : 256, sizeof *m->seen);
    if (!m->seen) {
        m->seen = old;
        return failed(m, GKV_NOMEM);
    }
    m->seen_room = n ? 2 * n : 256;
    for (size_t i = 0; i < n; i++)
        if (old[i].when == m->now)
            mark(m, old[i].item);
    free(old);
    return true;
}

/* Adds an item to this character's, unless it is there. */
static bool add(struct gkv__match *m, uint32_t where, uint32_t frame)
{
    const struct item i = { where, frame };

    if (2 * m->n_seen >= m->seen_room && !more_slots(m))
        return false;
    for (size_t at = slot_of(m, i); m->seen[at].when == m->now; at = (at + 1) & (m->seen_room - 1))
        if (m->seen[at].item.at == where && m->seen[at].item.frame == frame)
            return true;
    if (!grow(m, &m->todo, m->n_todo, sizeof *m->todo, &m->todo_room, 4 * (size_t)MAX_ITEMS))
        return false;
    mark(m, i);
    m->n_seen++;
    m->todo[m->n_todo++] = i;
    return true;
}

static bool add_rule(struct gkv__match *m, uint32_t rule, uint32_t frame)
{
    for (uint32_t a = m->g->rule[rule].alt; a != GKV__G_NONE; a = m->g->alt[a].next)
        if (!add(m, m->g->alt[a].start, frame))
            return false;
    return true;
}

static bool add_edge(struct gkv__match *m, uint32_t owner, uint32_t at, uint32_t frame)
{
    struct frame *f = &m->frame[owner];

    if (!grow(m, &m->edge, m->p.n_edges, sizeof *m->edge, &m->edge_room, 4 * (size_t)MAX_FRAMES))
        return false;
    m->edge[m->p.n_edges] = (struct edge){ at, frame, f->edge, owner };
    f->edge = (uint32_t)m->p.n_edges++;
    f->least = (uint32_t)gkv__min(f->least, gkv__min((uint64_t)m->g->least[at] + m->frame[frame].least, GKV__G_NONE));
    return true;
}

static bool call(struct gkv__match *m, uint32_t rule, struct item i)
{
    const uint32_t after = i.at + 1;

    if (m->g->sym[after].kind == GKV__G_END)
        return add_rule(m, rule, i.frame);
    if (m->called_when[rule] != m->now) {
        if (!grow(m, &m->frame, m->p.n_frames, sizeof *m->frame, &m->frame_room, MAX_FRAMES))
            return false;
        m->called_when[rule] = m->now;
        m->called[rule] = (uint32_t)m->p.n_frames;
        m->frame[m->p.n_frames++] = (struct frame){ GKV__G_NONE, GKV__G_NONE };
        if (!add_rule(m, rule, m->called[rule]))
            return false;
    }
    return add_edge(m, m->called[rule], after, i.frame) &&
           (!m->g->rule[rule].nullable || add(m, after, i.frame));
}

/* The rule of this frame is complete; frame 0 is that of the whole answer. */
static bool leave(struct gkv__match *m, uint32_t frame)
{
    if (!frame)
        m->p.may_end = true;
    else if (frame < m->new_frames)
        for (uint32_t e = m->frame[frame].edge; e != GKV__G_NONE; e = m->edge[e].next)
            if (!add(m, m->edge[e].at, m->edge[e].frame))
                return false;
    return true;
}

/* From the items in todo to all those that want a character: m->item[from .. to). */
static bool close_items(struct gkv__match *m, size_t from)
{
    m->p.from = m->p.to = from;
    m->p.may_end = false;
    while (m->n_todo) {
        const struct item i = m->todo[--m->n_todo];
        const struct gkv__g_symbol s = m->g->sym[i.at];
        bool good = true;

        if (s.kind == GKV__G_END) {
            good = leave(m, i.frame);
        } else if (s.kind == GKV__G_RULE) {
            good = call(m, s.arg, i);
        } else {
            good = grow(m, &m->item, m->p.to, sizeof *m->item, &m->item_room, SIZE_MAX / 4 / sizeof *m->item);
            if (good)
                m->item[m->p.to++] = i;
        }
        if (!good)
            return false;
    }
    return true;
}

static void begin(struct gkv__match *m)
{
    m->now++;
    m->n_seen = m->n_todo = 0;
    m->new_frames = m->p.n_frames;
}

/* ---- characters ------------------------------------------------------------------------- */

/* Whether the symbol has a character from lo to hi. */
static bool meets(const gkv_grammar *g, struct gkv__g_symbol s, uint32_t lo, uint32_t hi)
{
    const struct gkv__g_class *c;
    size_t a = 0, b;

    if (s.kind == GKV__G_CHAR)
        return lo <= s.arg && s.arg <= hi;
    c = &g->set[s.arg];
    if (lo == hi && lo < 128)
        return c->ascii[lo / 32] >> lo % 32 & 1;
    for (b = c->n; a < b; ) {                   /* the first range that does not end before lo */
        const size_t mid = (a + b) / 2;

        if (g->range[c->first + mid].hi < lo)
            a = mid + 1;
        else
            b = mid;
    }
    return a < c->n && g->range[c->first + a].lo <= hi;
}

static bool any_meets(const struct gkv__match *m, uint32_t lo, uint32_t hi)
{
    for (size_t i = m->p.from; i < m->p.to; i++)
        if (meets(m->g, m->g->sym[m->item[i].at], lo, hi))
            return true;
    return false;
}

/* One more byte of UTF-8: false if it cannot be.  The characters that it may become are *lo .. *hi. */
static bool next_byte(struct utf8 *u, unsigned char b, uint32_t *lo, uint32_t *hi)
{
    if (u->left) {
        if ((b & 0xc0) != 0x80)
            return false;
        u->value = u->value << 6 | (b & 0x3f);
        u->left--;
    } else if (b < 0x80) {
        *u = (struct utf8){ b, 0, 0 };
    } else if (b >= 0xc2 && b <= 0xdf) {
        *u = (struct utf8){ b & 0x1f, 0x80, 1 };
    } else if (b >= 0xe0 && b <= 0xef) {
        *u = (struct utf8){ b & 0x0f, 0x800, 2 };
    } else if (b >= 0xf0 && b <= 0xf4) {
        *u = (struct utf8){ b & 0x07, 0x10000, 3 };
    } else {
        return false;
    }
    *lo = (uint32_t)gkv__max(u->value << 6 * u->left, u->least);
    *hi = (uint32_t)gkv__min(((u->value + 1) << 6 * u->left) - 1, LAST_CHAR);
    return *lo <= *hi && !(*lo >= 0xd800 && *hi <= 0xdfff);
}

/* Goes on with one byte.  `base`: where new items may lie. */
static bool eat(struct gkv__match *m, unsigned char b, size_t base)
{
    const size_t from = m->p.from, to = m->p.to;
    uint32_t lo, hi;

    if (!next_byte(&m->p.utf8, b, &lo, &hi))
        return false;
    if (m->p.utf8.left)
        return any_meets(m, lo, hi);
    begin(m);
    for (size_t i = from; i < to; i++)
        if (meets(m->g, m->g->sym[m->item[i].at], lo, lo) && !add(m, m->item[i].at + 1, m->item[i].frame))
            return false;
    return m->n_todo && close_items(m, base) && (m->p.to > m->p.from || m->p.may_end);
}

static bool eat_all(struct gkv__match *m, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (!eat(m, (unsigned char)text[i], m->p.to))
            return false;
    return true;
}

/* ---- frames that nothing uses any more -------------------------------------------------- */

static void clean(struct gkv__match *m)
{
    const size_t n = m->p.n_frames, n_edges = m->p.n_edges;
    const bool fits = m->taken + 2 * n * sizeof(uint32_t) <= m->memory;
    uint32_t *as = fits ? calloc(n, sizeof *as) : NULL;         /* the new number, plus 1 */
    uint32_t *todo = fits ? malloc(n * sizeof *todo) : NULL;
    size_t n_todo = 0;

    if (!as || !todo)                           /* the next time, then */
        goto out;
    as[0] = 1;
    for (size_t i = m->p.from; i < m->p.to; i++)
        if (!as[m->item[i].frame]) {
            as[m->item[i].frame] = 1;
            todo[n_todo++] = m->item[i].frame;
        }
    while (n_todo)
        for (uint32_t e = m->frame[todo[--n_todo]].edge; e != GKV__G_NONE; e = m->edge[e].next)
            if (!as[m->edge[e].frame]) {
                as[m->edge[e].frame] = 1;
                todo[n_todo++] = m->edge[e].frame;
            }
    m->p.n_frames = m->p.n_edges = 0;
    for (size_t i = 0; i < n; i++)
        if (as[i]) {
            m->frame[m->p.n_frames++] = (struct frame){ GKV__G_NONE, m->frame[i].least };
            as[i] = (uint32_t)m->p.n_frames;
        }
    for (size_t i = 0; i < n_edges; i++) {
        const struct edge e = m->edge[i];

        if (as[e.owner])
            add_edge(m, as[e.owner] - 1, e.at, as[e.frame] - 1);        /* there is room */
    }
    for (size_t i = m->p.from; i < m->p.to; i++)
        m->item[i].frame = as[m->item[i].frame] - 1;
out:
    m->clean_at = 2 * m->p.n_frames + 1024;
    free(as);
    free(todo);
}

/* ---- the whole -------------------------------------------------------------------------- */

static gkv_status start(struct gkv__match *m)
{
    const size_t n = m->g->n_rule;

    if (!may_take(m, 0, n * (sizeof *m->called + sizeof *m->called_when)))
        return GKV_LIMIT;
    m->called = calloc(n, sizeof *m->called);
    m->called_when = calloc(n, sizeof *m->called_when);
    if (!m->called || !m->called_when || !grow(m, &m->frame, 0, sizeof *m->frame, &m->frame_room, MAX_FRAMES))
        return GKV_NOMEM;
    m->frame[m->p.n_frames++] = (struct frame){ GKV__G_NONE, 0 };       /* of the whole answer */
    m->clean_at = 1024;
    begin(m);
    m->new_frames = 0;
    add_rule(m, m->g->root, 0);
    close_items(m, 0);
    return m->status;
}

gkv_status gkv__match_open(struct gkv__match **out, const gkv_grammar *g, uint64_t memory, gkv_error *err)
{
    struct gkv__match *m = calloc(1, sizeof *m);
    gkv_status status = GKV_NOMEM;

    *out = NULL;
    if (m) {
        m->g = g;
        m->memory = memory;
        status = start(m);
    }
    if (status == GKV_OK) {
        *out = m;
        return GKV_OK;
    }
    if (m)
        gkv__match_status(m, err);
    gkv__match_close(m);
    return status == GKV_NOMEM ? gkv__fail(err, GKV_NOMEM, "out of memory") : status;
}

void gkv__match_close(struct gkv__match *m)
{
    if (!m)
        return;
    free(m->item);
    free(m->frame);
    free(m->edge);
    free(m->todo);
    free(m->seen);
    free(m->called);
    free(m->called_when);
    free(m);
}

uint64_t gkv__match_least(const struct gkv__match *m)
{
    uint64_t least = UINT64_MAX;

    if (gkv__match_may_end(m))
        return 0;
    for (size_t i = m->p.from; i < m->p.to; i++)
        least = gkv__min(least, (uint64_t)m->g->least[m->item[i].at] + m->frame[m->item[i].frame].least);
    /* Inside a character it may be another, longer one than counted. */
    return m->p.utf8.left ? least + (uint64_t)m->p.utf8.left : least;
}

bool gkv__match_fits(struct gkv__match *m, const char *text, size_t len, uint64_t room)
{
    const struct place before = m->p;
    const bool fits = eat_all(m, text, len) && (room == UINT64_MAX || gkv__match_least(m) <= room);

    m->p = before;
    return fits;
}

gkv_status gkv__match_take(struct gkv__match *m, const char *text, size_t len, gkv_error *err)
{
    if (!eat_all(m, text, len)) {
        GKV__TRY(gkv__match_status(m, err));
        return gkv__fail(err, GKV_INVALID, "this text does not fit the grammar");
    }
    memmove(m->item, m->item + m->p.from, (m->p.to - m->p.from) * sizeof *m->item);
    m->p.to -= m->p.from;
    m->p.from = 0;
    if (m->p.n_frames > m->clean_at)
        clean(m);
    return GKV_OK;
}

bool gkv__match_may_end(const struct gkv__match *m)
{
    return m->p.may_end && !m->p.utf8.left;
}

bool gkv__match_must_end(const struct gkv__match *m)
{
    return gkv__match_may_end(m) && m->p.from == m->p.to;
}

void gkv__match_bytes(const struct gkv__match *m, bool fits[256])
{
    for (int b = 0; b < 256; b++) {
        struct utf8 u = m->p.utf8;
        uint32_t lo, hi;

        fits[b] = next_byte(&u, (unsigned char)b, &lo, &hi) && any_meets(m, lo, hi);
    }
}

gkv_status gkv__match_status(const struct gkv__match *m, gkv_error *err)
{
    if (m->status == GKV_NOMEM)
        return gkv__fail(err, GKV_NOMEM, "out of memory");
    if (m->status == GKV_LIMIT)
        return gkv__fail(err, GKV_LIMIT, "the grammar needs more memory than the %" PRIu64 " KiB that the limit leaves it; raise "
                         "--memory, or write it with fewer repetitions", m->memory / 1024);
    if (m->status != GKV_OK)
        return gkv__fail(err, m->status, "the grammar is too ambiguous: there are more than %d ways to read the answer",
                         MAX_ITEMS);
    return GKV_OK;
}
