/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>

#include "cgroup/freeze.h"
#include "common/about.h"
#include "hpcbd/gang/member.h"
#include "hpcbd/node/cpus.h"

#define SECOND INT64_C(1000000000)

/* A quantum that was shorter says nothing about the next. */
#define SHORTEST_NS (SECOND / 100)

hpcbd_member_t *hpcbd_member_new(const hpcbd_job_t *job)
{
    hpcbd_member_t *member = calloc(1, sizeof(*member));

    if (!member)
        return NULL;
    member->policy.job_id = job->state.job_id;
    member->begin_us = job->state.begin_us;
    member->uid = job->state.uid;
    return member;
}

/* The job's first step may begin before the prolog has written it (PrologFlags=NoHold);
 * until then it counts as a job of this node alone.  Components of a heterogeneous job
 * wait for each other, also those that have one node. */
static void count_nodes(hpcbd_member_t *member, const char *state_dir)
{
    hpcb_about_t about;

    if (member->counted ||
        hpcb_about_load(state_dir, member->policy.job_id, &about, NULL) < 0 ||
        about.nodes == 0)
        return;
    member->policy.wide = about.nodes > 1 || about.het_job;
    member->policy.of_job = about.het_job;
    member->nodes = about.nodes;
    member->counted = true;
}

bool hpcbd_member_has_cpus(const hpcbd_member_t *member)
{
    return hpcb_cpus_from(&member->policy.cpus, 0) < HPCB_CPUS_MAX;
}

/* If jobs have no cpuset, all of them are described by Slurm's core numbers, which show
 * common cores just like CPU numbers. */
static void find_cpus(hpcbd_member_t *member, const hpcb_node_t *node,
                      const char *state_dir, const hpcbd_job_t *job)
{
    hpcb_cpus_t cpus;
    hpcbd_cpus_kind_t kind = hpcbd_cpus_of(node, state_dir, job, &cpus);

    if (kind == HPCBD_CPUS_LINUX ||
        (kind == HPCBD_CPUS_CORES && !hpcbd_member_has_cpus(member)))
        member->policy.cpus = cpus;
}

void hpcbd_member_look(hpcbd_member_t *member, const hpcb_node_t *node,
                       const char *state_dir, const hpcbd_job_t *job)
{
    count_nodes(member, state_dir);
    if (!job->dir[0])
        return;
    member->suspended = hpcb_freeze_by_slurm(node, job->dir);
    find_cpus(member, node, state_dir, job);
}

/* A counter that goes back began anew. */
static uint64_t rate(uint64_t before, uint64_t now, int64_t passed_ns)
{
    return now > before ? (uint64_t)((double)(now - before) * 1e9 / (double)passed_ns)
                        : 0;
}

/* Samples of the same window have gaps on the same axes. */
static void keep(hpcb_gang_job_t *job, const hpcb_fit_sample_t *sample, bool mem_known,
                 bool net_known)
{
    if (mem_known != job->mem_known || net_known != job->net_known)
        job->n_samples = 0;
    job->mem_known = mem_known;
    job->net_known = net_known;
    hpcb_gang_sample(job, sample);
}

static void take_sample(hpcbd_member_t *member, const hpcbd_moved_t *now,
                        int64_t passed_ns)
{
    const hpcbd_moved_t *before = &member->moved;
    bool mem_known = before->mem_known && now->mem_known;
    bool net_known = before->net_known && now->net_known;
    hpcb_fit_sample_t sample = {0, 0};

    if (passed_ns < SHORTEST_NS)
        return;
    if (mem_known)
        sample.cpu = rate(before->mem, now->mem, passed_ns);
    if (net_known)
        sample.net = rate(before->net, now->net, passed_ns);
    keep(&member->policy, &sample, mem_known, net_known);
}

/* The counters of a stopped job have not changed since the switch. */
void hpcbd_member_turn(hpcbd_member_t *member, int64_t edge_ns, int64_t now_ns,
                       bool runs)
{
    bool ran = member->since_ns != 0;
    hpcbd_moved_t now = {0};
    bool sensed = (ran || runs) && hpcbd_sense_read(member->policy.job_id, &now);

    if (ran) {
        if (sensed && member->sensed)
            take_sample(member, &now, (runs ? now_ns : edge_ns) - member->read_ns);
        member->elected_ns += (uint64_t)(edge_ns - member->since_ns);
    }
    member->since_ns = runs ? edge_ns : 0;
    member->read_ns = now_ns;
    member->moved = now;
    member->sensed = sensed;
}

uint64_t hpcbd_member_elected_us(const hpcbd_member_t *member, int64_t now_ns)
{
    uint64_t under_way = member->since_ns ? (uint64_t)(now_ns - member->since_ns) : 0;

    return (member->elected_ns + under_way) / 1000;
}
