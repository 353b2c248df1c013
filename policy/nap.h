/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How long a task that waits may sleep before it looks again.  Pure: time comes in as
 * arguments (nanoseconds), the answer goes out as a value; the caller measures, sleeps
 * and owns the memory, one table a thread, so that nothing here is shared.
 *
 * A sleep is paid for twice: in cycles (going to sleep and waking up) and in delay,
 * because nobody wakes the sleeper when its message arrives.  So a nap must be long
 * against the first and short against the wait.  What wait to expect is learned per
 * call site as TCP learns round trips (RFC 6298): a mean and a mean deviation.  A site
 * whose waits are regular sleeps until shortly before the expected end and then looks
 * all the time; a site whose waits are irregular takes naps that are a small part of
 * its mean; a site whose waits are short never sleeps.
 */
#ifndef HPCB_POLICY_NAP_H
#define HPCB_POLICY_NAP_H

#include <stdint.h>

/* Sites that a thread remembers; one that hashes onto another takes its place. */
#define HPCB_NAP_SITES 128

/* Spin this long before a nap, never nap longer than nap_max (0: never nap). */
typedef struct {
    uint64_t spin_ns;
    uint64_t nap_max_ns;
} hpcb_nap_conf_t;

/* What is known of one call site; all zero: nothing yet. */
typedef struct {
    uint64_t key;
    uint64_t mean_ns;
    uint64_t deviation_ns;
    uint32_t waits;
} hpcb_nap_site_t;

/* All zero is an empty table.  late_ns: by how much naps end after they should. */
typedef struct {
    uint64_t late_ns;
    hpcb_nap_site_t site[HPCB_NAP_SITES];
} hpcb_nap_table_t;

/* Where a wait stands: begun elapsed_ns ago, and nothing has moved for the last
 * quiet_ns of it (all of it, if nothing has moved yet). */
typedef struct {
    uint64_t elapsed_ns;
    uint64_t quiet_ns;
} hpcb_nap_wait_t;

/* The place of key in table, forgetting another site if need be; never NULL. */
hpcb_nap_site_t *hpcb_nap_site(hpcb_nap_table_t *table, uint64_t key);

/* Nanoseconds to sleep now, 0: look again at once.  late_ns as in the table. */
uint64_t hpcb_nap_next(const hpcb_nap_conf_t *conf, const hpcb_nap_site_t *site,
                       uint64_t late_ns, const hpcb_nap_wait_t *wait);

/* A wait at this site has ended after waited_ns. */
void hpcb_nap_learn(hpcb_nap_site_t *site, uint64_t waited_ns);

/* A nap of asked_ns took took_ns. */
void hpcb_nap_learn_late(hpcb_nap_table_t *table, uint64_t asked_ns, uint64_t took_ns);

#endif
