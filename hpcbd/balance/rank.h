/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Sensors of rank balancing: the iterations of one rank from its status page
 * (common/page.h, which the user owns), or the kernel's figures if the page has none.
 */
#ifndef HPCB_HPCBD_BALANCE_RANK_H
#define HPCB_HPCBD_BALANCE_RANK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/rank.h"
#include "policy/balance.h"
#include "policy/waiter.h"

typedef struct {
    pid_t pid;
    uint64_t start;
    hpcb_rank_t *hands;  /* NULL: the rank is not changed */
    int page;            /* -1: it has no valid page */
    bool speaks;         /* it has reported iterations recently */
    uint64_t said, seen; /* samples: the last one used by a step; the last one */
    int64_t heard_ns;    /* time of the last new sample */
    int64_t patience_ns; /* a rank without a sample for so long counts as silent */
    hpcb_waiter_t waiter;
    bool asked;              /* a priority of POWER was requested */
    hpcb_rank_times_t times; /* at the last step */
    int64_t times_ns;
} hpcbd_rank_t;

/* Open the page at path, if it is a page of uid. */
void hpcbd_rank_page(hpcbd_rank_t *rank, const char *path, uid_t uid);

/* Undo all changes of the rank; with leave except a group of ours (hpcb_rank_leave). */
void hpcbd_rank_close(hpcbd_rank_t *rank, bool leave);

/* Return whether its task still exists. */
bool hpcbd_rank_lives(const hpcbd_rank_t *rank);

/* Read the rank's counters with one or two system calls.  Return whether waiter.spins
 * has changed. */
bool hpcbd_rank_listen(hpcbd_rank_t *rank, int64_t now_ns, int64_t interval_ns);

/* Return whether it reports iterations and has a new sample since the last step. */
bool hpcbd_rank_has_news(const hpcbd_rank_t *rank);

/* Read its sample.  Return 0, or -1: try again later, or it has become silent. */
int hpcbd_rank_hear(hpcbd_rank_t *rank, hpcb_balance_sample_t *sample);

/* Request this hardware-thread priority from the rank (POWER), or none (0), valid until
 * it should have reported several more times.  One system call. */
void hpcbd_rank_ask(hpcbd_rank_t *rank, unsigned priority, int64_t now_ns);

/* Return the seconds of one of its iterations so far; 0: unknown. */
double hpcbd_rank_usual(const hpcbd_rank_t *rank);

/* Get the kernel's figures since the last call: time in which it was ready counts as
 * compute time, as in a page.  All 0 if there are none. */
void hpcbd_rank_measure(hpcbd_rank_t *rank, int64_t now_ns,
                        hpcb_balance_sample_t *sample);

#endif
