/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbd/gang/deal.h"

#define SECOND INT64_C(1000000000)

#define DEALT_BYTES (64 * 1024)

static int path_of(const hpcb_conf_t *conf, const char *name,
                   char path[static PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/%s", conf->state_dir, name);

    return n >= 0 && n < PATH_MAX ? 0 : -1;
}

/* ---- what is said ---- */

static bool takes_part(const hpcb_gang_job_t *job)
{
    return !job->paused && hpcb_cpus_from(&job->cpus, 0) < HPCB_CPUS_MAX;
}

/* Count the jobs of the set on each CPU. */
static void count_jobs(const hpcb_gang_t *gang, uint16_t jobs[static HPCB_CPUS_MAX])
{
    memset(jobs, 0, HPCB_CPUS_MAX * sizeof(jobs[0]));
    for (size_t i = 0; i < gang->count; i++) {
        const hpcb_cpus_t *cpus = &gang->list[i]->cpus;

        if (!takes_part(gang->list[i]))
            continue;
        for (unsigned cpu = hpcb_cpus_from(cpus, 0); cpu < HPCB_CPUS_MAX;
             cpu = hpcb_cpus_from(cpus, cpu + 1))
            jobs[cpu]++;
    }
}

static unsigned depth_of(const hpcb_cpus_t *cpus,
                         const uint16_t jobs[static HPCB_CPUS_MAX])
{
    unsigned most = 0;

    for (unsigned cpu = hpcb_cpus_from(cpus, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(cpus, cpu + 1))
        if (jobs[cpu] > most)
            most = jobs[cpu];
    return most;
}

static void fill_job(hpcbd_wide_job_t *job, const hpcbd_set_t *set,
                     const hpcbd_member_t *member)
{
    bool counts = set->gang.window > 0 && member->policy.n_samples > 0;

    *job = (hpcbd_wide_job_t){
        .job_id = member->policy.job_id,
        .nodes = member->nodes,
        .guest = set->guests,
        .quantum_us = (uint64_t)set->quantum_ns / 1000,
        .use = hpcb_gang_predict(&set->gang, &member->policy),
        .mem_known = counts && member->policy.mem_known,
        .net_known = counts && member->policy.net_known,
        .cpus = member->policy.cpus,
    };
}

/* Components of a heterogeneous job have ids of their own, and quanta in common: their
 * ids decide.  Those with the lowest ids if there are too many, so that nodes choose
 * the same. */
static hpcbd_member_t *next_wide(const hpcbd_set_t *set, uint32_t after)
{
    hpcbd_member_t *next = NULL;

    for (size_t i = 0; i < set->gang.count; i++) {
        hpcbd_member_t *member = hpcbd_set_at(set, i);
        const hpcb_gang_job_t *job = &member->policy;

        if (member->nodes > 1 && job->of_job == 0 && takes_part(job) &&
            job->job_id > after && (!next || job->job_id < next->policy.job_id))
            next = member;
    }
    return next;
}

static void fill_set(hpcbd_wide_t *turns, const hpcbd_set_t *set)
{
    uint16_t jobs[HPCB_CPUS_MAX];
    const hpcbd_member_t *member = next_wide(set, 0);

    if (!member)
        return;
    count_jobs(&set->gang, jobs);
    for (unsigned i = 0; member && i < HPCB_DEAL_NODE_SEATS; i++) {
        hpcbd_wide_job_t *job = &turns->jobs[turns->n_jobs++];

        fill_job(job, set, member);
        job->depth = depth_of(&job->cpus, jobs);
        member = next_wide(set, job->job_id);
    }
}

bool hpcbd_deal_fill(const hpcbd_roster_t *roster, hpcbd_wide_t *turns)
{
    turns->n_jobs = 0;
    hpcb_node_name(turns->node, sizeof(turns->node));
    for (size_t i = 0; i < HPCBD_SETS; i++)
        fill_set(turns, &roster->sets[i]);
    return turns->n_jobs > 0;
}

static void report(hpcbd_deal_t *deal, const hpcbd_roster_t *roster,
                   const hpcb_bw_t *capacity)
{
    hpcb_autofree hpcbd_wide_t *turns = malloc(sizeof(*turns));
    hpcb_autofree char *text = NULL;
    char path[PATH_MAX];
    hpcb_error_t err = {""};

    if (!turns || !hpcbd_deal_fill(roster, turns))
        return;
    turns->capacity = *capacity;
    text = hpcbd_wide_print(turns, &err);
    if (!text || path_of(roster->conf, HPCBD_TURNS_FILE, path) < 0)
        return;
    if (hpcb_file_swap(path, text, strlen(text), 0600, &err) < 0)
        hpcb_log_once(&deal->trouble, HPCB_LOG_ERROR,
                      "quanta follow from the ids of jobs: %s", err.text);
    else
        deal->trouble = false;
}

/* ---- answers ---- */

/* A file that is none of ours deals nothing. */
static void look(hpcbd_deal_t *deal, const hpcb_conf_t *conf)
{
    hpcb_autofree char *text = NULL;
    char path[PATH_MAX];

    if (path_of(conf, HPCBD_DEALT_FILE, path) < 0 ||
        !hpcb_file_changed(path, &deal->stamp))
        return;
    text = malloc(DEALT_BYTES);
    if (!text || hpcb_file_read_trusted(path, text, DEALT_BYTES, NULL) < 0 ||
        hpcbd_dealt_parse(text, NULL, &deal->dealt, NULL) < 0)
        deal->dealt.n_jobs = 0;
}

void hpcbd_deal_follow(hpcbd_deal_t *deal, const hpcbd_roster_t *roster,
                       const hpcb_bw_t *capacity, int64_t now_ns)
{
    if (!*roster->conf->collector_hosts)
        return;
    /* The timer of long quanta comes seldom, and now and then early. */
    if (now_ns - deal->reported_ns >= HPCB_DEAL_REPORT_SECONDS * SECOND - SECOND / 2) {
        deal->reported_ns = now_ns;
        report(deal, roster, capacity);
    }
    if (now_ns - deal->looked_ns >= SECOND) {
        deal->looked_ns = now_ns;
        look(deal, roster->conf);
    }
}

/* The latest that has begun.  NULL: there is none. */
static const hpcbd_dealt_job_t *in_force(const hpcbd_dealt_t *dealt, uint32_t job_id,
                                         const hpcbd_set_t *set)
{
    const hpcbd_dealt_job_t *found = NULL;

    for (size_t i = 0; i < dealt->n_jobs; i++) {
        const hpcbd_dealt_job_t *job = &dealt->jobs[i];

        if (job->job_id == job_id &&
            job->quantum_us == (uint64_t)set->quantum_ns / 1000 &&
            job->from <= (uint64_t)set->number && (!found || job->from > found->from))
            found = job;
    }
    return found;
}

void hpcbd_deal_apply(const hpcbd_deal_t *deal, hpcbd_set_t *set)
{
    bool counts = set->number * set->quantum_ns / SECOND < deal->dealt.until;

    for (size_t i = 0; i < set->gang.count; i++) {
        hpcb_gang_job_t *job = set->gang.list[i];
        const hpcbd_dealt_job_t *dealt =
            counts && job->wide ? in_force(&deal->dealt, job->job_id, set) : NULL;

        job->cycle = dealt ? dealt->cycle : 0;
        job->slot = dealt ? dealt->slot : 0;
    }
}
