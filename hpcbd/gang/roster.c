/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>

#include "common/log.h"
#include "hpcbd/gang/roster.h"
#include "hpcbd/windows/windows.h"

#define SECOND INT64_C(1000000000)

/* Interval at which files of each job are read. */
#define LOOK_NS SECOND

/* Jobs whose files are read at a time: some 70 reads each at most. */
#define LOOKS_AT_A_TIME 8

/* Maximum delay of scans until no job with windows is boosted. */
#define WAIT_NS (5 * SECOND)

hpcbd_member_t *hpcbd_set_at(const hpcbd_set_t *set, size_t i)
{
    return (hpcbd_member_t *)set->gang.list[i];
}

hpcbd_member_t *hpcbd_set_find(const hpcbd_set_t *set, uint32_t job_id)
{
    for (size_t i = 0; i < set->gang.count; i++)
        if (set->gang.list[i]->job_id == job_id)
            return hpcbd_set_at(set, i);
    return NULL;
}

hpcbd_member_t *hpcbd_roster_find(const hpcbd_roster_t *roster, uint32_t job_id)
{
    hpcbd_member_t *member = NULL;

    for (size_t i = 0; i < HPCBD_SETS && !member; i++)
        member = hpcbd_set_find(&roster->sets[i], job_id);
    return member;
}

void hpcbd_roster_mark(hpcbd_roster_t *roster, uint32_t job_id)
{
    hpcbd_member_t *member = hpcbd_roster_find(roster, job_id);

    if (member)
        member->dirty = true;
}

bool hpcbd_roster_is_placed(const hpcbd_roster_t *roster)
{
    for (size_t i = 0; i < HPCBD_SETS; i++)
        for (size_t k = 0; k < roster->sets[i].gang.count; k++)
            if (!hpcbd_member_has_cpus(hpcbd_set_at(&roster->sets[i], k)))
                return false;
    return true;
}

/* ---- who comes and goes ---- */

void hpcbd_roster_let_go(hpcbd_member_t *member)
{
    hpcbd_window_let_guest_go(member->policy.job_id, HPCBD_FREEZE_GANG);
    member->stopped = false;
}

/* The job may stay, and its record says for how long it was elected. */
static void forget(hpcbd_set_t *set, hpcbd_member_t *member, int64_t now_ns)
{
    hpcbd_roster_let_go(member);
    hpcbd_sense_elected(member->policy.job_id, member->begin_us,
                        hpcbd_member_elected_us(member, now_ns));
    hpcb_gang_remove(&set->gang, &member->policy);
    free(member);
}

void hpcbd_roster_clear(hpcbd_roster_t *roster, int64_t now_ns)
{
    for (size_t i = 0; i < HPCBD_SETS; i++) {
        hpcbd_set_t *set = &roster->sets[i];

        while (set->gang.count)
            forget(set, hpcbd_set_at(set, set->gang.count - 1), now_ns);
    }
}

static bool takes_turns(const hpcbd_roster_t *roster, const hpcbd_job_t *job)
{
    if (job->marked || job->turns == HPCBD_TURNS_LEFT)
        return false;
    return job->turns == HPCBD_TURNS_JOINED ||
           hpcb_conf_is_gang(roster->conf, job->state.partition);
}

static hpcbd_set_t *set_of(hpcbd_roster_t *roster, const hpcbd_job_t *job)
{
    bool guest = job->state.klass == HPCB_CLASS_GUEST;

    if (!takes_turns(roster, job))
        return NULL;
    for (size_t i = 0; i < HPCBD_SETS; i++)
        if (roster->sets[i].guests == guest)
            return &roster->sets[i];
    return NULL;
}

static hpcbd_member_t *join(hpcbd_set_t *set, const hpcbd_job_t *job, int64_t now_ns)
{
    hpcbd_member_t *member;

    if (set->gang.count == HPCB_GANG_JOBS_MAX) {
        hpcb_log_once(&set->full, HPCB_LOG_ERROR,
                      "job %u: more than %d %s take turns on this node: the others run "
                      "all the time",
                      job->state.job_id, HPCB_GANG_JOBS_MAX, set->name);
        return NULL;
    }
    member = hpcbd_member_new(job);
    if (!member)
        return NULL;
    member->dirty = true;
    hpcb_gang_add(&set->gang, &member->policy);
    hpcbd_member_turn(member, now_ns, now_ns, true);
    return member;
}

/* One that was requeued, or is of another class now, is another. */
static void keep_job(hpcbd_roster_t *roster, hpcbd_job_t *job)
{
    hpcbd_set_t *set = set_of(roster, job);
    hpcbd_member_t *member = set ? hpcbd_set_find(set, job->state.job_id) : NULL;

    job->gang = set != NULL;
    if (member && member->begin_us == job->state.begin_us)
        member->job = job;
}

/* Drop members without a job in the registry, or that do not take turns any more. */
static void forget_gone(hpcbd_set_t *set, int64_t now_ns)
{
    for (size_t i = set->gang.count; i-- > 0;)
        if (!hpcbd_set_at(set, i)->job)
            forget(set, hpcbd_set_at(set, i), now_ns);
}

/* After ended jobs have freed their entries. */
static void join_job(hpcbd_roster_t *roster, hpcbd_job_t *job, int64_t now_ns)
{
    hpcbd_set_t *set = set_of(roster, job);
    hpcbd_member_t *member;

    if (!set || !job->dir[0] || hpcbd_set_find(set, job->state.job_id))
        return;
    member = join(set, job, now_ns);
    if (member)
        member->job = job;
}

/* ---- scans ---- */

/* Return the longest waiting member that must be scanned; NULL if there is none. */
static hpcbd_member_t *next_dirty(const hpcbd_roster_t *roster)
{
    hpcbd_member_t *next = NULL;

    for (size_t i = 0; i < HPCBD_SETS; i++)
        for (size_t k = 0; k < roster->sets[i].gang.count; k++) {
            hpcbd_member_t *member = hpcbd_set_at(&roster->sets[i], k);

            if (member->dirty && (!next || member->looked_ns < next->looked_ns))
                next = member;
        }
    return next;
}

static void mark_all(hpcbd_roster_t *roster)
{
    for (size_t i = 0; i < HPCBD_SETS; i++)
        for (size_t k = 0; k < roster->sets[i].gang.count; k++)
            hpcbd_set_at(&roster->sets[i], k)->dirty = true;
}

bool hpcbd_roster_look(hpcbd_roster_t *roster, int64_t now_ns)
{
    hpcbd_member_t *member = next_dirty(roster);

    if (!member && now_ns - roster->marked_ns >= LOOK_NS) {
        roster->marked_ns = now_ns;
        mark_all(roster);
        member = next_dirty(roster);
    }
    if (hpcbd_window_must_wait() && now_ns - roster->looked_ns < WAIT_NS)
        return !member;
    for (unsigned looks = 0; member && looks < LOOKS_AT_A_TIME; looks++) {
        roster->looked_ns = member->looked_ns = now_ns;
        member->dirty = false;
        hpcbd_member_look(member, roster->node, roster->conf->state_dir, member->job);
        member = next_dirty(roster);
    }
    return !member;
}

void hpcbd_roster_follow(hpcbd_roster_t *roster, const hpcbd_registry_t *registry,
                         int64_t now_ns)
{
    for (size_t i = 0; i < HPCBD_SETS; i++)
        for (size_t k = 0; k < roster->sets[i].gang.count; k++)
            hpcbd_set_at(&roster->sets[i], k)->job = NULL;
    for (size_t i = 0; i < registry->count; i++)
        keep_job(roster, registry->jobs[i]);
    for (size_t i = 0; i < HPCBD_SETS; i++)
        forget_gone(&roster->sets[i], now_ns);
    for (size_t i = 0; i < registry->count; i++)
        join_job(roster, registry->jobs[i], now_ns);
}
