/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Profiles learn by themselves: a child process follows the database of records, and
 * folds what each run has used into the profile store, which job_submit reads.  If it
 * is killed between writing the store and learner.pos, the last few runs count twice.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "common/log.h"
#include "hpcbd/collector/learner_runs.h"
#include "hpcbd/collector/position.h"
#include "hpcbd/worker.h"

#define LOOK_SECONDS 2

/* After a failure of the store: a full disk, or another process with the lock. */
#define FAILED_SECONDS 30

typedef struct {
    const char *dir;
    char store[PATH_MAX];
    int64_t position; /* behind what the store has */
    int64_t saved;    /* in the file */
    bool complained;
} learner_t;

static void sleep_seconds(unsigned seconds)
{
    struct timespec left = {.tv_sec = seconds};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static int save(learner_t *learner, hpcb_error_t *err)
{
    if (learner->position == learner->saved)
        return 0;
    if (hpcbd_position_save(learner->dir, HPCBD_LEARNER_POSITION, learner->position,
                            err))
        return -1;
    learner->saved = learner->position;
    return 0;
}

/* Continue with what the store has counted, also while learner.pos cannot be
 * written. */
static int take(learner_t *learner, const hpcbd_lesson_t *lessons, size_t count,
                int64_t position, hpcb_error_t *err)
{
    if (count > 0 &&
        hpcbd_learner_fold(learner->store, lessons, count, (uint64_t)time(NULL), err))
        return -1;
    learner->position = position;
    return save(learner, err);
}

/* Return the time to wait before the next read. */
static unsigned learn(learner_t *learner)
{
    static hpcbd_lesson_t lessons[HPCBD_LEARNER_RUNS];
    int64_t position = learner->position;
    bool more;
    size_t count = hpcbd_learner_next(learner->dir, &position, lessons, &more);
    hpcb_error_t err;

    if (position == learner->position && position == learner->saved)
        return LOOK_SECONDS;
    if (take(learner, lessons, count, position, &err)) {
        hpcb_log_once(&learner->complained, HPCB_LOG_ERROR,
                      "profiles do not learn at the moment: %s", err.text);
        return FAILED_SECONDS;
    }
    if (learner->complained)
        hpcb_log(HPCB_LOG_INFO, "profiles learn again");
    learner->complained = false;
    return more ? 0 : LOOK_SECONDS;
}

static int work(void *arg)
{
    const hpcb_conf_t *conf = arg;
    learner_t learner = {.dir = conf->collector_dir};
    hpcb_error_t err;

    hpcb_conf_profile_store(conf, learner.store);
    if (hpcbd_position_load(learner.dir, HPCBD_LEARNER_POSITION, &learner.position,
                            &err)) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return EXIT_FAILURE;
    }
    learner.saved = learner.position;
    for (;;)
        sleep_seconds(learn(&learner));
}

static bool is_wanted(const hpcb_conf_t *conf)
{
    (void)conf;
    return true;
}

static hpcbd_worker_t worker = {
    .name = "hpcbd: learner", .wanted = is_wanted, .work = work};

const hpcbd_part_t hpcbd_learner = {.name = "learner", .worker = &worker};
