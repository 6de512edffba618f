/* SPDX-License-Identifier: Apache-2.0 */
#include "projector/window.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "common/clock.h"

#define ONE INT64_C(1000)
#define LEAST (4 * ONE)
#define START (8 * ONE)
#define MOST (64 * ONE)
#define PERIOD (30 * CLOCK_SECOND)
/* Latency is flat up to twice the lowest plus this. */
#define SLACK (10 * CLOCK_MS)
#define PAUSE_FIRST (25 * CLOCK_MS)
#define PAUSE_MOST (30 * CLOCK_SECOND)
#define USUAL_QPS 50
#define USUAL_BURST 100

void
window_init(struct window *w, uint64_t seed, int64_t now)
{
    *w = (struct window){
        .limit = START, .chance = seed | 1, .period_end = now + PERIOD};
    w->filled_at = now;
}

static int
read_rate(double *rate, const char *text, double usual, double least,
          struct err *err)
{
    char *end;

    *rate = usual;
    if (*text == '\0')
        return 0;
    errno = 0;
    *rate = strtod(text, &end);
    if (errno != 0 || *end != '\0' || !isfinite(*rate) || *rate < least ||
        *rate <= 0)
        return err_set(err, "%s is no rate of requests", text);
    return 0;
}

int
window_rate(struct window *w, const char *qps, const char *burst,
            struct err *err)
{
    if (*qps == '\0' && *burst == '\0')
        return 0;
    if (read_rate(&w->qps, qps, USUAL_QPS, 0, err) != 0 ||
        read_rate(&w->burst, burst, USUAL_BURST, 1, err) != 0)
        return -1;
    w->tokens = w->burst;
    return 0;
}

static double
tokens_at(const struct window *w, int64_t now)
{
    double tokens =
        w->tokens + w->qps * (double)(now - w->filled_at) / CLOCK_SECOND;

    return tokens > w->burst ? w->burst : tokens;
}

bool
window_open(const struct window *w, unsigned in_flight, int64_t now)
{
    if (now < w->paused || in_flight >= window_limit(w))
        return false;
    return w->qps <= 0 || tokens_at(w, now) >= 1;
}

int64_t
window_opens(const struct window *w, int64_t now)
{
    int64_t at = now < w->paused ? w->paused : now;
    double lack = w->qps <= 0 ? 0 : 1 - tokens_at(w, at);

    if (lack <= 0)
        return at;
    return at + 1 + (int64_t)(lack / w->qps * CLOCK_SECOND);
}

void
window_sent(struct window *w, int64_t now)
{
    if (w->qps <= 0)
        return;
    w->tokens = tokens_at(w, now) - 1;
    w->filled_at = now;
}

/* xorshift: any spread will do here. */
static int64_t
by_chance(struct window *w, int64_t most)
{
    w->chance ^= w->chance << 13;
    w->chance ^= w->chance >> 7;
    w->chance ^= w->chance << 17;
    return (int64_t)(w->chance % ((uint64_t)most + 1));
}

static void
pause_for(struct window *w, int64_t retry_after, int64_t now)
{
    int64_t pause = PAUSE_MOST;

    if (w->refusals < 16 && PAUSE_FIRST << w->refusals < pause)
        pause = PAUSE_FIRST << w->refusals;
    if (pause < retry_after)
        pause = retry_after;
    pause += by_chance(w, pause / 4);
    if (now + pause > w->paused)
        w->paused = now + pause;
}

static void
refused(struct window *w, const struct window_answer *a, int64_t now)
{
    /* What was under way when it was halved tells nothing new. */
    if (a->sent_at >= w->halved_at) {
        w->limit = w->limit / 2 < LEAST ? LEAST : w->limit / 2;
        w->halved_at = now;
        pause_for(w, a->retry_after, now);
        w->refusals++;
    } else if (a->retry_after > 0 && now + a->retry_after > w->paused) {
        w->paused = now + a->retry_after;
    }
}

/* The lowest latency of this period and the one before. */
static int64_t
lowest(struct window *w, int64_t latency, int64_t now)
{
    if (now >= w->period_end) {
        w->fast_old = w->fast;
        w->fast = 0;
        w->period_end = now + PERIOD;
    }
    if (w->fast == 0 || latency < w->fast)
        w->fast = latency;
    return w->fast_old != 0 && w->fast_old < w->fast ? w->fast_old : w->fast;
}

static void
accepted(struct window *w, const struct window_answer *a, int64_t now)
{
    int64_t latency = now - a->sent_at;
    int64_t low = lowest(w, latency, now);
    int64_t step = ONE * ONE / w->limit;

    w->refusals = 0;
    w->usual = w->usual == 0 ? latency : w->usual + (latency - w->usual) / 8;
    if (w->usual > 2 * low + SLACK)
        w->limit = w->limit - step < LEAST ? LEAST : w->limit - step;
    else if (a->in_flight + 1 >= window_limit(w)) /* it is made use of */
        w->limit = w->limit + step > MOST ? MOST : w->limit + step;
}

void
window_answered(struct window *w, const struct window_answer *a, int64_t now)
{
    if (a->status == 0 || a->status == 429 || a->status >= 500)
        refused(w, a, now);
    else
        accepted(w, a, now);
}

unsigned
window_refusals(const struct window *w)
{
    return w->refusals;
}

unsigned
window_limit(const struct window *w)
{
    return (unsigned)(w->limit / ONE);
}
