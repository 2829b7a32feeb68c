/* SPDX-License-Identifier: MIT */
/*
 * See pace.h. What a request takes of the target's main loop is what the kernel says that its thread used; where
 * that cannot be seen, what passed until the reply, less what QEMU needs to read the request byte by byte in another
 * thread. What was used is paid for out of a credit that grows with the share allowed; a little of it may be saved up,
 * so that single requests never wait.
 */
#include "vmm/live/pace.h"

/* What QEMU needs to read one byte of a request. */
#define READ_US_PER_BYTE 7.4
/* The longest stretch of main loop that one request is to take, with room for a bad guess. */
#define STRETCH_US 3500.0
/* What a property costs, until it was measured; and a request itself. */
#define FIRST_US_PER_PROPERTY 8.0
#define REQUEST_US 80.0
/* Of requests for so few properties nothing is learnt: they cost what a request does. */
#define SMALL_COST 10
/* When all of a request's work is over, and the kernel has counted it. */
#define SETTLE_US 5000
/* So much main-loop time may be saved up. */
#define CREDIT_US 20000.0
/* Of the share, what may be used for what nobody waits for. */
#define IDLE_SHARE 0.4

void live_pace_init(LivePace *pace, double duty, gint64 timeout_us, gint64 now)
{
    *pace = (LivePace){.duty = duty,
                       .timeout_us = timeout_us,
                       .credit_us = CREDIT_US,
                       .idle_credit_us = CREDIT_US * IDLE_SHARE,
                       .credited_at = now,
                       .us_per_property = FIRST_US_PER_PROPERTY};
}

guint live_pace_batch(const LivePace *pace)
{
    return (guint)CLAMP(STRETCH_US / pace->us_per_property, 1, LIVE_BATCH_MAX);
}

/* ---- the credit ---- */

static void credit_update(LivePace *pace, gint64 now)
{
    double more = (double)(now - pace->credited_at) * pace->duty;

    pace->credit_us = MIN(pace->credit_us + more, CREDIT_US);
    pace->idle_credit_us = MIN(pace->idle_credit_us + more * IDLE_SHARE, CREDIT_US * IDLE_SHARE);
    pace->credited_at = now;
}

/* No debt is so large that the pause which pays for it looks like silence of the target: what held its main loop so
 * long may have been another's request. */
static void credit_take(LivePace *pace, double us, gboolean urgent)
{
    double debt_max = pace->duty * (double)pace->timeout_us / 2;

    pace->credit_us = MAX(pace->credit_us - us, -debt_max);
    if (!urgent) {
        pace->idle_credit_us = MAX(pace->idle_credit_us - us, -debt_max * IDLE_SHARE);
    }
}

gint64 live_pace_delay(LivePace *pace, gboolean urgent, gint64 now)
{
    double missing;

    credit_update(pace, now);
    missing = -pace->credit_us;
    if (!urgent) {
        missing = MAX(missing, -pace->idle_credit_us / IDLE_SHARE);
    }
    return pace->duty >= 1 || missing < 0 ? 0 : (gint64)(missing / pace->duty) + 1;
}

gboolean live_pace_has_idle(const LivePace *pace)
{
    return pace->idle_credit_us > 0;
}

/* ---- what a request took ---- */

/* Of the target's main loop since this was asked last, as the kernel says; negative: unknown. */
static double main_us(LivePace *pace, gint64 main_ns)
{
    gint64 before = pace->main_ns;

    pace->main_ns = main_ns;
    return main_ns >= 0 && before >= 0 ? (double)(main_ns - before) / 1000 : -1;
}

static double guess_us(const LivePace *pace, const LiveSpent *spent)
{
    return REQUEST_US + spent->cost * pace->us_per_property;
}

static void learn(LivePace *pace, double took, guint cost)
{
    double each = MIN(took / cost, 4 * pace->us_per_property);

    if (cost > SMALL_COST) {
        pace->us_per_property = CLAMP(0.75 * pace->us_per_property + 0.25 * each, 0.5, 100.0);
    }
}

/* The main loop goes on with a request after its reply, and what the kernel says of a thread that runs is some
 * milliseconds old: only now is it known what was used. No more than passed, though: it has others to work for. */
static void bill_settle(LivePace *pace, gint64 main_ns, gint64 now)
{
    LiveBill *bill = &pace->bill;
    double more = main_us(pace, main_ns), used = bill->used + MAX(more, 0);

    if (bill->requests == 0) {
        return;
    }
    used = MIN(used, (double)(now - bill->began));
    credit_take(pace, used - bill->paid, bill->urgent);
    if (bill->requests == 1) {
        learn(pace, used, bill->cost);
    }
    *bill = (LiveBill){0};
}

/* What is known by now is paid for at once, the rest when it is. */
static void bill_add(LivePace *pace, const LiveSpent *spent, double passed, double used, gint64 now)
{
    LiveBill *bill = &pace->bill;
    double paid = MAX(used, MIN(guess_us(pace, spent), passed));

    if (bill->requests++ == 0) {
        bill->began = spent->sent_at;
    }
    bill->used += used;
    bill->paid += paid;
    bill->cost = spent->cost;
    bill->urgent = spent->urgent;
    bill->due = now + SETTLE_US;
    credit_take(pace, paid, spent->urgent);
}

/* Where the main loop's thread cannot be seen: what passed until the reply, less the reading of the request, and no
 * more than a busy machine would make of it. */
void live_pace_answered(LivePace *pace, const LiveSpent *spent, gint64 main_ns, gint64 now)
{
    double guess = guess_us(pace, spent), used = main_us(pace, main_ns);
    double passed = (double)(now - spent->began_at) - (double)spent->bytes * READ_US_PER_BYTE;

    credit_update(pace, now);
    if (!spent->measured) {
        credit_take(pace, guess, spent->urgent);
    } else if (used >= 0) {
        bill_add(pace, spent, passed, used, now);
    } else {
        double took = spent->cost <= SMALL_COST ? guess : CLAMP(passed, guess / 4, guess * 4);

        credit_take(pace, took, spent->urgent);
        learn(pace, took, spent->cost);
    }
}

void live_pace_begin(LivePace *pace, gint64 main_ns, gint64 now)
{
    bill_settle(pace, main_ns, now);
}

gint64 live_pace_due(const LivePace *pace)
{
    return pace->bill.due;
}

void live_pace_settle(LivePace *pace, gint64 main_ns, gint64 now)
{
    credit_update(pace, now);
    bill_settle(pace, main_ns, now);
}
