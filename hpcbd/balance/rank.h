/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The eyes of rank balancing: what one rank says of its iterations in its page
 * (common/page.h, which the user owns), and what the kernel says of it where it says
 * nothing.
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
    hpcb_rank_t *hands;  /* NULL: nothing is done to it */
    int page;            /* -1: it has none that can be believed */
    bool speaks;         /* and it has said something lately */
    uint64_t said, seen; /* samples: that went into a step; that there are */
    int64_t heard_ns;    /* when there was a new one */
    int64_t patience_ns; /* who is silent for so long has stopped speaking */
    hpcb_waiter_t waiter;
    bool asked;              /* for a priority of POWER */
    hpcb_rank_times_t times; /* at the last step */
    int64_t times_ns;
} hpcbd_rank_t;

/* Take the page at path, if it is uid's and looks like one. */
void hpcbd_rank_page(hpcbd_rank_t *rank, const char *path, uid_t uid);

/* What is done to it is undone; leave: but for a group of ours (hpcb_rank_leave). */
void hpcbd_rank_close(hpcbd_rank_t *rank, bool leave);

/* Its task is still there. */
bool hpcbd_rank_lives(const hpcbd_rank_t *rank);

/* Listen: one system call, or two.  Whether waiter.spins has changed. */
bool hpcbd_rank_listen(hpcbd_rank_t *rank, int64_t now_ns, int64_t interval_ns);

/* It speaks, and has said something new since the last step. */
bool hpcbd_rank_has_news(const hpcbd_rank_t *rank);

/* What it says.  0, or -1: come back later, or it does not speak any more. */
int hpcbd_rank_hear(hpcbd_rank_t *rank, hpcb_balance_sample_t *sample);

/* Ask it to give itself this hardware-thread priority (POWER), or none (0), until it
 * should have spoken again several times.  One system call. */
void hpcbd_rank_ask(hpcbd_rank_t *rank, unsigned priority, int64_t now_ns);

/* Seconds of one of its iterations up to now, 0: it has not said. */
double hpcbd_rank_usual(const hpcbd_rank_t *rank);

/* What the kernel says of the time since this was asked last: ready time counts as
 * computing, as in a page.  All 0 where it says nothing. */
void hpcbd_rank_measure(hpcbd_rank_t *rank, int64_t now_ns,
                        hpcb_balance_sample_t *sample);

#endif
