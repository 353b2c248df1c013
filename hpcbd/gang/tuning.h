/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* How long a turn is, and how many of them bandwidth is predicted from: for all
 * partitions, and where an operator has said so (hpcbctl gang set) for one. */
#ifndef HPCB_HPCBD_GANG_TUNING_H
#define HPCB_HPCBD_GANG_TUNING_H

#include "common/conf.h"
#include "hpcbd/gang/roster.h"

#define HPCBD_TUNED_MAX 16

/* 0: not set.  In `all` window 0 is GangWindow=0. */
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

/* Forget what was set for partitions. */
void hpcbd_tuning_reset(hpcbd_tuning_t *tuning, const hpcb_conf_t *conf);

/* What turn says holds for partition; NULL: for all, also those that had their own.
 * Return false if there are more partitions than HPCBD_TUNED_MAX. */
bool hpcbd_tuning_set(hpcbd_tuning_t *tuning, const char *partition,
                      const hpcbd_turn_t *turn);

/*
 * What holds for the jobs of set, which elect together: what was set for the partition
 * that takes turns there.  Jobs that have joined have no say; where there are several
 * such partitions, no one's own counts.  Only in a turn of the loop in which the roster
 * was followed.
 */
hpcbd_turn_t hpcbd_tuning_of(const hpcbd_tuning_t *tuning, const hpcbd_set_t *set);

/* Whether jobs of partition take turns in set with those of another: it cannot have its
 * own.  In such a turn of the loop, too. */
bool hpcbd_tuning_meets_other(const hpcbd_set_t *set, const char *partition);

#endif
