/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include "hpcbd/balance/passed.h"

struct hpcbd_passed_step {
    uint32_t job_id, step;
    uint64_t file;  /* a step that writes its ranks anew has another one */
    unsigned looks; /* until it is read again; 0: never */
    bool seen;      /* by this scan */
};

static int compare(const void *a, const void *b)
{
    const hpcbd_passed_step_t *left = a, *right = b;

    if (left->job_id != right->job_id)
        return left->job_id < right->job_id ? -1 : 1;
    return (left->step > right->step) - (left->step < right->step);
}

static hpcbd_passed_step_t name(uint32_t job_id, const char *step, uint64_t file)
{
    return (hpcbd_passed_step_t){.job_id = job_id,
                                 .step = (uint32_t)strtoul(step, NULL, 10),
                                 .file = file,
                                 .seen = true};
}

static bool is_over(hpcbd_passed_t *passed, const hpcbd_passed_step_t *wanted)
{
    hpcbd_passed_step_t *known = NULL;

    if (passed->sorted > 0)
        known = bsearch(wanted, passed->steps, passed->sorted, sizeof(*known), compare);
    if (!known || known->file != wanted->file)
        return false;
    known->seen = known->looks != 1;
    known->looks -= known->looks > 1;
    return known->seen;
}

hpcbd_passed_what_t hpcbd_passed_ask(hpcbd_passed_t *passed, uint32_t job_id,
                                     const char *step, uint64_t file)
{
    const hpcbd_passed_step_t wanted = name(job_id, step, file);

    if (is_over(passed, &wanted))
        return HPCBD_PASSED_OVER;
    if (passed->count == HPCBD_PASSED_MAX)
        return HPCBD_PASSED_FULL;
    if (passed->reads == HPCBD_PASSED_READS)
        return HPCBD_PASSED_LATER;
    passed->reads++;
    return HPCBD_PASSED_READ;
}

void hpcbd_passed_add(hpcbd_passed_t *passed, uint32_t job_id, const char *step,
                      uint64_t file, bool again)
{
    size_t room = passed->room ? 2 * passed->room : HPCBD_PASSED_READS;
    hpcbd_passed_step_t *larger;

    if (passed->count == passed->room) {
        larger = reallocarray(passed->steps, room, sizeof(*larger));
        if (!larger)
            return;
        passed->steps = larger;
        passed->room = room;
    }
    passed->steps[passed->count] = name(job_id, step, file);
    passed->steps[passed->count++].looks = again ? HPCBD_PASSED_RETRY : 0;
}

void hpcbd_passed_end(hpcbd_passed_t *passed, bool all)
{
    size_t kept = 0;
    bool changed = passed->count > passed->sorted;

    for (size_t i = 0; i < passed->count; i++) {
        if (all && !passed->steps[i].seen)
            continue;
        passed->steps[kept] = passed->steps[i];
        passed->steps[kept++].seen = false;
    }
    passed->count = passed->sorted = kept;
    passed->reads = 0;
    if (changed)
        qsort(passed->steps, kept, sizeof(*passed->steps), compare);
}

void hpcbd_passed_free(hpcbd_passed_t *passed)
{
    free(passed->steps);
    *passed = (hpcbd_passed_t){0};
}
