/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "common/text.h"
#include "hpcbd/gang/tuning.h"

void hpcbd_tuning_reset(hpcbd_tuning_t *tuning, const hpcb_conf_t *conf)
{
    tuning->all = (hpcbd_turn_t){conf->gang_quantum_us, conf->gang_window};
    tuning->count = 0;
}

static void change(hpcbd_turn_t *turn, const hpcbd_turn_t *to)
{
    if (to->quantum_us)
        turn->quantum_us = to->quantum_us;
    if (to->window)
        turn->window = to->window;
}

static void set_all(hpcbd_tuning_t *tuning, const hpcbd_turn_t *turn)
{
    change(&tuning->all, turn);
    for (size_t i = 0; i < tuning->count; i++) {
        if (turn->quantum_us)
            tuning->own[i].turn.quantum_us = 0;
        if (turn->window)
            tuning->own[i].turn.window = 0;
    }
}

bool hpcbd_tuning_set(hpcbd_tuning_t *tuning, const char *partition,
                      const hpcbd_turn_t *turn)
{
    size_t i = 0;

    if (!partition) {
        set_all(tuning, turn);
        return true;
    }
    while (i < tuning->count && strcmp(tuning->own[i].partition, partition) != 0)
        i++;
    if (i == HPCBD_TUNED_MAX ||
        hpcb_text_copy(tuning->own[i].partition, HPCB_NAME_MAX, partition) < 0)
        return false;
    if (i == tuning->count)
        tuning->own[tuning->count++].turn = (hpcbd_turn_t){0, 0};
    change(&tuning->own[i].turn, turn);
    return true;
}

/* NULL: it has joined. */
static const char *partition_of(const hpcbd_member_t *member)
{
    return member->job->turns == HPCBD_TURNS_JOINED ? NULL
                                                    : member->job->state.partition;
}

/* The partition of set whose jobs take turns; NULL: there are none or several. */
static const char *only_partition(const hpcbd_set_t *set)
{
    const char *only = NULL;

    for (size_t i = 0; i < set->gang.count; i++) {
        const char *partition = partition_of(hpcbd_set_at(set, i));

        if (partition && only && strcmp(partition, only) != 0)
            return NULL;
        only = partition ? partition : only;
    }
    return only;
}

hpcbd_turn_t hpcbd_tuning_of(const hpcbd_tuning_t *tuning, const hpcbd_set_t *set)
{
    hpcbd_turn_t turn = tuning->all;
    const char *partition = only_partition(set);

    for (size_t i = 0; i < tuning->count; i++)
        if (partition && strcmp(tuning->own[i].partition, partition) == 0)
            change(&turn, &tuning->own[i].turn);
    return turn;
}

bool hpcbd_tuning_meets_other(const hpcbd_set_t *set, const char *partition)
{
    bool meets = false, has = false;

    for (size_t i = 0; i < set->gang.count; i++) {
        const char *other = partition_of(hpcbd_set_at(set, i));
        bool same = other && strcmp(other, partition) == 0;

        has |= same;
        meets |= other && !same;
    }
    return has && meets;
}
