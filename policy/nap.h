/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Length of the sleeps of a task that waits.  Pure: times are arguments in nanoseconds,
 * and the result is a value.  The caller measures, sleeps and owns the memory, one
 * table per thread, so that no state is shared.
 *
 * A sleep costs cycles (to fall asleep and to wake up) and delay, because nobody wakes
 * the task when its message arrives.  So a sleep must be long compared to its own cost
 * and short compared to the wait.  The expected wait is learned per call site as TCP
 * learns round trips (RFC 6298): by a mean and a mean deviation.  At a site with
 * regular waits the task sleeps until shortly before the expected end and then polls.
 * At a site with irregular waits its sleeps are a small part of the mean.  At a site
 * with short waits it never sleeps.  The expected event is the first arrival of data,
 * and after that the end.
 *
 * If a message does wake the task, as the socket of an MPI over TCP can, sleeps may be
 * long.  This is learned from how waits end.
 *
 * A rank that waits also serves others: one-sided accesses, parts of long messages,
 * rounds of collectives.  While it serves it stays awake: as long as data are moving
 * and for its patience after that.  Patience grows each time that data are already
 * there when the task wakes up, and shrinks slowly with sleeps in which nothing
 * arrived.
 */
#ifndef HPCB_POLICY_NAP_H
#define HPCB_POLICY_NAP_H

#include <stdbool.h>
#include <stdint.h>

/* Number of sites per thread.  Two sites with the same hash replace each other. */
#define HPCB_NAP_SITES 128

/* Poll for spin_ns before the first sleep; sleep for nap_max_ns at most (0: never). */
typedef struct {
    uint64_t spin_ns;
    uint64_t nap_max_ns;
} hpcb_nap_conf_t;

/* Time of an event from the begin of a wait, by site. */
typedef struct {
    uint64_t mean_ns;
    uint64_t deviation_ns;
} hpcb_nap_time_t;

/* State of one call site; all zero: nothing is known.  Usually the first data end the
 * wait.  A long message or a collective has only begun by then, and other ranks wait
 * for what this rank does about it. */
typedef struct {
    uint64_t key;
    hpcb_nap_time_t first; /* first arrival after a quiet time */
    hpcb_nap_time_t end;
    uint32_t waits;
} hpcb_nap_site_t;

/* All zero: empty table. */
typedef struct {
    uint64_t late_ns;     /* delay of the end of sleeps */
    uint64_t patience_ns; /* how long to stay awake after data moved; 0: the minimum */
    int trust; /* grows if messages end sleeps, shrinks if they do not; starts at 0 */
    hpcb_nap_site_t site[HPCB_NAP_SITES];
} hpcb_nap_table_t;

/* An arrival after a shorter quiet time does not count as the first one, because no
 * task sleeps that early. */
#define HPCB_NAP_QUIET_NS 40000

/* State of a wait that began elapsed_ns ago.  quiet_ns: time since data moved last, or
 * elapsed_ns if none have.  busy_ns: for how long data had been moving before that; 0:
 * none have.  doubtful: this was seen only once and may be wrong.  came: the first
 * arrival is over. */
typedef struct {
    uint64_t elapsed_ns;
    uint64_t quiet_ns;
    uint64_t busy_ns;
    bool doubtful;
    bool came;
} hpcb_nap_wait_t;

/* Return the entry of key in table, which may replace another site.  Never NULL. */
hpcb_nap_site_t *hpcb_nap_site(hpcb_nap_table_t *table, uint64_t key);

/* Return the time to sleep now in ns.  0: poll again at once.  site: an entry of
 * table. */
uint64_t hpcb_nap_next(const hpcb_nap_conf_t *conf, const hpcb_nap_site_t *site,
                       const hpcb_nap_table_t *table, const hpcb_nap_wait_t *wait);

/* Learn that a wait at this site ended after waited_ns and that data first arrived
 * after first_ns.  Both are equal if the first data ended the wait. */
void hpcb_nap_learn(hpcb_nap_site_t *site, uint64_t first_ns, uint64_t waited_ns);

/* Learn that a wait ended in a sleep or immediately after it.  woken: its message ended
 * the sleep. */
void hpcb_nap_learn_end(hpcb_nap_table_t *table, bool woken);

/* Learn that a wait continues after a sleep.  late: data were there that others were
 * waiting for. */
void hpcb_nap_learn_service(hpcb_nap_table_t *table, bool late);

/* Learn that a sleep of asked_ns took took_ns. */
void hpcb_nap_learn_late(hpcb_nap_table_t *table, uint64_t asked_ns, uint64_t took_ns);

#endif
