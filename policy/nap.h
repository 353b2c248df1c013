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
 * its mean; a site whose waits are short never sleeps.  What is expected is the first
 * thing to come, and only after that the end.
 *
 * Where a message does wake the sleeper, as the socket of an MPI over TCP can, naps may
 * be long.  That is learned as well, from how waits end.
 *
 * A rank that waits also serves others: one-sided accesses, pieces of long messages,
 * rounds of collectives.  While it does, it stays awake: for as long as data have been
 * moving, and for its patience, which grows each time that data were there already when
 * it woke up, and shrinks slowly with the naps in which nothing came.
 */
#ifndef HPCB_POLICY_NAP_H
#define HPCB_POLICY_NAP_H

#include <stdbool.h>
#include <stdint.h>

/* Sites that a thread remembers; one that hashes onto another takes its place. */
#define HPCB_NAP_SITES 128

/* Spin this long before a nap, never nap longer than nap_max (0: never nap). */
typedef struct {
    uint64_t spin_ns;
    uint64_t nap_max_ns;
} hpcb_nap_conf_t;

/* When something happens in the waits of a site, from their begin. */
typedef struct {
    uint64_t mean_ns;
    uint64_t deviation_ns;
} hpcb_nap_time_t;

/* What is known of one call site; all zero: nothing yet.  Usually the wait ends with
 * what comes first, but a long message or a collective has only begun by then, and
 * others wait for what this rank does about it. */
typedef struct {
    uint64_t key;
    hpcb_nap_time_t first; /* something comes after it has been quiet */
    hpcb_nap_time_t end;
    uint32_t waits;
} hpcb_nap_site_t;

/* All zero is an empty table. */
typedef struct {
    uint64_t late_ns;     /* by how much naps end after they should */
    uint64_t patience_ns; /* how long to stay awake after data moved; 0: the least */
    int trust;            /* that messages end naps, from 0 on */
    hpcb_nap_site_t site[HPCB_NAP_SITES];
} hpcb_nap_table_t;

/* What comes after it was quiet for less than this is no first: nobody sleeps so early.
 */
#define HPCB_NAP_QUIET_NS 40000

/* Where a wait stands: begun elapsed_ns ago, and nothing has moved for the last
 * quiet_ns of it (all of it, if nothing has moved yet).  Before that, data had been
 * moving for busy_ns (0: nothing has moved yet); doubtful: or it only seemed so, once.
 * came: what comes first has come.
 */
typedef struct {
    uint64_t elapsed_ns;
    uint64_t quiet_ns;
    uint64_t busy_ns;
    bool doubtful;
    bool came;
} hpcb_nap_wait_t;

/* The place of key in table, forgetting another site if need be; never NULL. */
hpcb_nap_site_t *hpcb_nap_site(hpcb_nap_table_t *table, uint64_t key);

/* Return the nanoseconds to sleep now, 0: look again at once.  site: one of table's. */
uint64_t hpcb_nap_next(const hpcb_nap_conf_t *conf, const hpcb_nap_site_t *site,
                       const hpcb_nap_table_t *table, const hpcb_nap_wait_t *wait);

/* A wait at this site has ended after waited_ns.  After first_ns something came first;
 * as long as it waited, if that was its end. */
void hpcb_nap_learn(hpcb_nap_site_t *site, uint64_t first_ns, uint64_t waited_ns);

/* A wait has ended in a nap, or just after it; woken: its message ended the nap. */
void hpcb_nap_learn_end(hpcb_nap_table_t *table, bool woken);

/* After a nap the wait goes on; late: data were there that others waited to have
 * moved. */
void hpcb_nap_learn_service(hpcb_nap_table_t *table, bool late);

/* A nap of asked_ns took took_ns. */
void hpcb_nap_learn_late(hpcb_nap_table_t *table, uint64_t asked_ns, uint64_t took_ns);

#endif
