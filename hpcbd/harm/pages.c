/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "common/page.h"
#include "common/ranks.h"
#include "hpcbd/harm/pages.h"
#include "policy/progress.h"

typedef struct {
    const char *state_dir;
    uint32_t job_id;
    unsigned steps;     /* of it that have pages */
    hpcb_ranks_t ranks; /* the last such one */
} search_t;

/* Of thousands of steps two are enough. */
static void look_at(uint32_t job_id, const char *step, uint64_t file, void *arg)
{
    search_t *search = arg;
    hpcb_ranks_t ranks;

    (void)file;
    if (job_id != search->job_id || search->steps > 1 ||
        hpcb_ranks_load(search->state_dir, job_id, step, &ranks, NULL) < 0 ||
        !ranks.page[0])
        return;
    search->ranks = ranks;
    search->steps++;
}

/* Return false if it is not the user's page. */
static bool open_one(hpcbd_pages_t *pages, const char *base, unsigned rank, uid_t uid)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof(path), "%s.%u", base, rank);
    pages->fd[pages->n] = hpcb_page_open(path, O_RDONLY, uid);
    if (pages->fd[pages->n] < 0)
        return false;
    pages->n++;
    return true;
}

void hpcbd_pages_open(hpcbd_pages_t *pages, const char *state_dir,
                      const hpcbd_job_t *job)
{
    search_t search = {.state_dir = state_dir, .job_id = job->state.job_id};
    unsigned wanted;

    pages->n = 0;
    if (hpcb_ranks_each(state_dir, look_at, &search, NULL) < 0 || search.steps != 1)
        return;
    wanted = search.ranks.n < HPCBD_PAGES_MAX ? search.ranks.n : HPCBD_PAGES_MAX;
    for (unsigned i = 0; i < wanted; i++) {
        if (!open_one(pages, search.ranks.page, i * search.ranks.n / wanted,
                      job->state.uid)) {
            hpcbd_pages_close(pages);
            return;
        }
    }
}

void hpcbd_pages_close(hpcbd_pages_t *pages)
{
    while (pages->n > 0)
        close(pages->fd[--pages->n]);
}

bool hpcbd_pages_read(const hpcbd_pages_t *pages, uint64_t now_ns, double *iterations)
{
    double sum = 0, place;
    hpcb_page_t page;

    for (unsigned i = 0; i < pages->n; i++) {
        if (hpcb_page_read(pages->fd[i], &page) < 0 || page.period == 0 ||
            !hpcb_progress_place(page.iterations, page.mean_ns, page.ended_ns, now_ns,
                                 &place))
            return false;
        sum += place;
    }
    *iterations = pages->n > 0 ? sum / pages->n : 0;
    return pages->n > 0;
}
