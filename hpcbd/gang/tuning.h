/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Length of a turn, and number of turns from which bandwidth is predicted: for all
 * partitions, and for single ones if an operator has set them (hpcbctl gang set). */
#ifndef HPCB_HPCBD_GANG_TUNING_H
#define HPCB_HPCBD_GANG_TUNING_H

#include "common/conf.h"
#include "hpcbd/gang/roster.h"

#define HPCBD_TUNED_MAX 16

/* 0: not set.  In `all` window 0 means GangWindow=0. */
typedef struct {
    uint64_t quantum_us;
    unsigned window;
} hpcbd_turn_t;

typedef struct {
    hpcbd_turn_t all;
    struct {
        char partition[HPCB_NAME_MAX];
        hpcbd_turn_t turn;
    } own[HPCBD_TUNED_MAX];
    size_t count;
} hpcbd_tuning_t;

/* Drop the settings of partitions. */
void hpcbd_tuning_reset(hpcbd_tuning_t *tuning, const hpcb_conf_t *conf);

/* Set turn for partition; NULL: for all, including those with their own settings.
 * Return false if there are more partitions than HPCBD_TUNED_MAX. */
bool hpcbd_tuning_set(hpcbd_tuning_t *tuning, const char *partition,
                      const hpcbd_turn_t *turn);

/*
 * Return the settings for the jobs of set, which elect together: those of the partition
 * that takes turns there.  Jobs that have joined do not count.  With several such
 * partitions the settings for all partitions apply, not their own.  Only in an
 * iteration of the loop after hpcbd_roster_follow.
 */
hpcbd_turn_t hpcbd_tuning_of(const hpcbd_tuning_t *tuning, const hpcbd_set_t *set);

/* Return whether jobs of partition take turns in set with those of another one, so that
 * it cannot have its own settings.  In such an iteration of the loop, too. */
bool hpcbd_tuning_meets_other(const hpcbd_set_t *set, const char *partition);

#endif
