/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "cgroup/task.h"
#include "common/log.h"
#include "hpcbd/balance/rank.h"
#include "common/page.h"

/* A rank is silent for so many of its iterations, or intervals of those that have none,
 * before the kernel is asked instead. */
#define PATIENCE_ITERATIONS 16
#define PATIENCE_INTERVALS  4

/* For how long it is asked for a priority at least. */
#define LEAST_ASKED_NS INT64_C(1000000000)

void hpcbd_rank_page(hpcbd_rank_t *rank, const char *path, uid_t uid)
{
    rank->page = hpcb_page_open(path, O_RDWR, uid);
}

void hpcbd_rank_close(hpcbd_rank_t *rank, bool leave)
{
    if (leave)
        hpcb_rank_leave(rank->hands);
    else
        hpcb_rank_close(rank->hands);
    rank->hands = NULL;
    if (rank->asked)
        hpcbd_rank_ask(rank, 0, 0);
    if (rank->page >= 0)
        close(rank->page);
    rank->page = -1;
}

bool hpcbd_rank_lives(const hpcbd_rank_t *rank)
{
    uint64_t start;

    return hpcb_task_start(rank->pid, &start) == 0 && start == rank->start;
}

/* Permanently: a page that once had impossible content is not read again. */
static void distrust(hpcbd_rank_t *rank)
{
    hpcb_log(HPCB_LOG_INFO, "task %d: what its page says cannot be; it is left alone",
             (int)rank->pid);
    close(rank->page);
    rank->page = -1;
    rank->speaks = false;
}

static bool scan_wait(hpcbd_rank_t *rank, uint64_t waits)
{
    hpcb_waiter_said_t said = hpcb_waiter_scan(&rank->waiter, waits);

    if (said == HPCB_WAITER_ASK)
        return hpcb_waiter_wants(&rank->waiter, hpcb_rank_runs(rank->hands));
    return said == HPCB_WAITER_CHANGED;
}

bool hpcbd_rank_listen(hpcbd_rank_t *rank, int64_t now_ns, int64_t interval_ns)
{
    int64_t patience = PATIENCE_INTERVALS * interval_ns;
    uint64_t samples, waits;

    if (rank->page < 0)
        return hpcb_waiter_unknown(&rank->waiter);
    if (hpcb_page_peek(rank->page, &samples, &waits) < 0) {
        distrust(rank);
        return hpcb_waiter_unknown(&rank->waiter);
    }
    if (samples != rank->seen) {
        rank->seen = samples;
        rank->heard_ns = now_ns;
        rank->speaks = true;
    }
    if (rank->patience_ns > patience)
        patience = rank->patience_ns;
    if (now_ns - rank->heard_ns > patience)
        rank->speaks = false;
    return scan_wait(rank, waits);
}

bool hpcbd_rank_has_news(const hpcbd_rank_t *rank)
{
    return rank->speaks && rank->seen != rank->said;
}

int hpcbd_rank_hear(hpcbd_rank_t *rank, hpcb_balance_sample_t *sample)
{
    hpcb_page_t page;

    if (hpcb_page_read(rank->page, &page) < 0) {
        if (errno != EAGAIN)
            distrust(rank);
        return -1;
    }
    rank->said = rank->seen = page.samples;
    /* At most 16 * 2 * HPCB_PAGE_LONGEST_NS. */
    rank->patience_ns =
        (int64_t)(PATIENCE_ITERATIONS * (page.compute_ns + page.wait_ns));
    *sample = (hpcb_balance_sample_t){page.compute_ns, page.wait_ns};
    return 0;
}

void hpcbd_rank_ask(hpcbd_rank_t *rank, unsigned priority, int64_t now_ns)
{
    int64_t patience =
        rank->patience_ns > LEAST_ASKED_NS ? rank->patience_ns : LEAST_ASKED_NS;
    const hpcb_page_level_t level = {.priority = priority,
                                     .until_ns = (uint64_t)(now_ns + patience)};

    /* The rank itself is responsible for the effect. */
    rank->asked = rank->page >= 0 && hpcb_page_ask(rank->page, &level) == 0;
}

double hpcbd_rank_usual(const hpcbd_rank_t *rank)
{
    hpcb_page_t page;

    if (rank->page < 0 || hpcb_page_read(rank->page, &page) < 0)
        return 0;
    return (double)page.usual_ns / 1e9;
}

static uint64_t since(uint64_t before, uint64_t now)
{
    return now > before ? now - before : 0;
}

void hpcbd_rank_measure(hpcbd_rank_t *rank, int64_t now_ns,
                        hpcb_balance_sample_t *sample)
{
    hpcb_rank_times_t times, before = rank->times;
    int64_t passed = now_ns - rank->times_ns;
    bool known = rank->times_ns != 0;
    uint64_t busy;

    *sample = (hpcb_balance_sample_t){0, 0};
    rank->times_ns = 0;
    if (hpcb_rank_times(rank->hands, &times) < 0)
        return;
    rank->times = times;
    rank->times_ns = now_ns;
    if (!known || passed <= 0)
        return;
    busy = since(before.run_ns, times.run_ns) + since(before.delay_ns, times.delay_ns);
    sample->compute_ns = busy < (uint64_t)passed ? busy : (uint64_t)passed;
    sample->wait_ns = (uint64_t)passed - sample->compute_ns;
}
