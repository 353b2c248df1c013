/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/nap.h"

/* Shorter sleeps cost more cycles than they free: 13 to 25 us per sleep in a virtual
 * machine (measured), usually 3 to 5 us on bare metal. */
#define LEAST_NAP_NS HPCB_NAP_QUIET_NS

/* A site with shorter waits does not sleep by prediction.  There is little to gain and
 * much to lose: two ranks that wait for each other in turns would learn long waits from
 * one another's sleeps. */
#define SHORT_WAIT_NS 150000

/* A sleep without a prediction is this part of the wait, and so delays it by 6 % at
 * most. */
#define NAPS_PER_WAIT 16

/* Before a predicted end the task polls, from twice the mean deviation before it.  At a
 * site of this regularity (deviation a small part of the mean) once is enough: about a
 * fifth of the waits end during the sleep, which delays them only a little.  It polls
 * for at least this part of the mean, for waits that have been all equal so far. */
#define REGULAR_PART 32
#define AWAKE_PART   64

/* How long a rank stays awake after it has moved data for others.  A late one doubles
 * it; it takes about fifty useless sleeps to halve it.  The following sleeps are a
 * small part of the time since then, so a higher limit is useless: if other programs
 * use the CPUs, data are late for reasons other than the rank. */
#define LEAST_PATIENCE_NS   50000
#define LONGEST_PATIENCE_NS 1000000
#define PATIENCE_SHIFT      6

/* If messages end sleeps (TCP), a sleep delays by a wakeup at most.  Of the waits that
 * end in or immediately after a sleep, each that a message has ended adds to trust, and
 * one that ended unnoticed subtracts so many. */
#define TRUST_MAX    64
#define TRUST_ENOUGH 16
#define TRUST_LOST   32

/* With trust a sleep is this part of the wait. */
#define TRUSTED_NAPS_PER_WAIT 2

/* Weights of a new wait in mean and deviation, as RFC 6298 has them. */
#define MEAN_SHIFT      3
#define DEVIATION_SHIFT 2

/* No wait is believed to be longer: keeps sums far from overflow. */
#define LONGEST_WAIT_NS 3600000000000ULL

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

hpcb_nap_site_t *hpcb_nap_site(hpcb_nap_table_t *table, uint64_t key)
{
    /* Fibonacci hashing: return addresses differ in their middle bits. */
    uint64_t hash = key * 0x9e3779b97f4a7c15ULL;
    hpcb_nap_site_t *site = &table->site[(hash >> 32) % HPCB_NAP_SITES];

    if (site->key != key)
        *site = (hpcb_nap_site_t){.key = key};
    return site;
}

/* Return the statistics of the present wait at this site. */
static const hpcb_nap_time_t *expected(const hpcb_nap_site_t *site,
                                       const hpcb_nap_wait_t *wait)
{
    return wait->came ? &site->end : &site->first;
}

/* Sleep until the expected event begins to happen. */
static uint64_t until_expected(const hpcb_nap_time_t *time, uint64_t late_ns,
                               uint64_t elapsed_ns)
{
    uint64_t scatter = time->deviation_ns, before;
    uint64_t end;

    if (scatter > time->mean_ns / REGULAR_PART)
        scatter *= 2;
    before = max_u64(scatter, time->mean_ns / AWAKE_PART) + late_ns;
    end = time->mean_ns > before ? time->mean_ns - before : 0;
    return end > elapsed_ns ? end - elapsed_ns : 0;
}

/* The end may come at any time: sleep a small part of the wait, if that is also small
 * compared to its usual scatter.  Once data have moved, the time since then counts,
 * because the wait may be one step of many, and each sleep delays the next one. */
static uint64_t at_any_time(const hpcb_nap_time_t *time, const hpcb_nap_table_t *table,
                            const hpcb_nap_wait_t *wait)
{
    unsigned naps =
        table->trust >= TRUST_ENOUGH ? TRUSTED_NAPS_PER_WAIT : NAPS_PER_WAIT;
    uint64_t wait_ns = max_u64(time->mean_ns, wait->elapsed_ns);

    if (wait->busy_ns > 0)
        return wait->quiet_ns / naps;
    if (wait->elapsed_ns <= time->mean_ns + 4 * time->deviation_ns &&
        wait_ns / NAPS_PER_WAIT > time->deviation_ns)
        return 0;
    return wait_ns / naps;
}

/* Return whether earlier waits predict the time: not in the middle of a transfer. */
static bool is_predictable(const hpcb_nap_site_t *site, const hpcb_nap_time_t *time,
                           const hpcb_nap_wait_t *wait)
{
    return site->waits >= 4 && time->mean_ns >= SHORT_WAIT_NS &&
           (wait->busy_ns == 0 || wait->quiet_ns >= wait->elapsed_ns / 2);
}

/* Return whether more data may arrive soon, as some did in this wait. */
static bool is_serving(const hpcb_nap_table_t *table, const hpcb_nap_wait_t *wait)
{
    uint64_t awake = LEAST_PATIENCE_NS;

    if (!wait->doubtful)
        awake =
            max_u64(table->patience_ns, min_u64(wait->busy_ns, LONGEST_PATIENCE_NS));
    awake = max_u64(awake, LEAST_PATIENCE_NS);
    return wait->busy_ns > 0 && wait->quiet_ns < awake;
}

uint64_t hpcb_nap_next(const hpcb_nap_conf_t *conf, const hpcb_nap_site_t *site,
                       const hpcb_nap_table_t *table, const hpcb_nap_wait_t *wait)
{
    const hpcb_nap_time_t *time = expected(site, wait);
    uint64_t nap = 0;

    if (wait->quiet_ns < conf->spin_ns || is_serving(table, wait))
        return 0;
    if (is_predictable(site, time, wait))
        nap = until_expected(time, table->late_ns, wait->elapsed_ns);
    if (nap < LEAST_NAP_NS)
        nap = min_u64(at_any_time(time, table, wait), conf->nap_max_ns / 2);
    if (nap < LEAST_NAP_NS)
        return 0;
    return min_u64(nap, conf->nap_max_ns);
}

/* It happened after happened_ns; once: never before. */
static void learn_time(hpcb_nap_time_t *time, uint64_t happened_ns, bool once)
{
    uint64_t happened = min_u64(happened_ns, LONGEST_WAIT_NS);
    bool later = happened > time->mean_ns;
    uint64_t off = later ? happened - time->mean_ns : time->mean_ns - happened;

    if (once) {
        *time = (hpcb_nap_time_t){happened, happened / 2};
        return;
    }
    /* A single wait that went wrong (a busy CPU, a lost packet) must not count as much
     * as it was long; a new habit of the site comes through in a few waits. */
    off = min_u64(off, 4 * time->deviation_ns + LEAST_NAP_NS / 8);
    if (later)
        time->mean_ns += off >> MEAN_SHIFT;
    else
        time->mean_ns -= off >> MEAN_SHIFT;
    time->deviation_ns += off >> DEVIATION_SHIFT;
    time->deviation_ns -= time->deviation_ns >> DEVIATION_SHIFT;
}

void hpcb_nap_learn(hpcb_nap_site_t *site, uint64_t first_ns, uint64_t waited_ns)
{
    learn_time(&site->first, first_ns, site->waits == 0);
    learn_time(&site->end, waited_ns, site->waits == 0);
    if (site->waits < UINT32_MAX)
        site->waits++;
}

void hpcb_nap_learn_end(hpcb_nap_table_t *table, bool woken)
{
    int trust = table->trust + (woken ? 1 : -TRUST_LOST);

    if (trust > TRUST_MAX)
        trust = TRUST_MAX;
    table->trust = trust > 0 ? trust : 0;
}

void hpcb_nap_learn_service(hpcb_nap_table_t *table, bool late)
{
    uint64_t patience = max_u64(table->patience_ns, LEAST_PATIENCE_NS);

    if (late)
        patience = min_u64(2 * patience, LONGEST_PATIENCE_NS);
    else
        patience -= patience >> PATIENCE_SHIFT;
    table->patience_ns = max_u64(patience, LEAST_PATIENCE_NS);
}

void hpcb_nap_learn_late(hpcb_nap_table_t *table, uint64_t asked_ns, uint64_t took_ns)
{
    uint64_t late =
        took_ns > asked_ns ? min_u64(took_ns - asked_ns, LONGEST_WAIT_NS) : 0;

    /* A sleep followed by preemption says nothing about timers. */
    if (late > asked_ns + LEAST_NAP_NS)
        return;
    table->late_ns += (late >> MEAN_SHIFT) - (table->late_ns >> MEAN_SHIFT);
}
