/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/conf.h"
#include "hpcbd/gang/control.h"
#include "hpcbd/gang/decision.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/windows/windows.h"

static void add(json_object *object, const char *key, json_object *value)
{
    json_object_object_add(object, key, value);
}

static void add_number(json_object *object, const char *key, uint64_t value)
{
    add(object, key,
        json_object_new_int64(value < INT64_MAX ? (int64_t)value : INT64_MAX));
}

/* Null if it is not known. */
static void add_known(json_object *object, const char *key, uint64_t value, bool known)
{
    if (known)
        add_number(object, key, value);
    else
        add(object, key, NULL);
}

/* Add the quanta in which it precedes others: only for a job of several nodes. */
static void add_slot(json_object *object, const hpcb_gang_job_t *job)
{
    const char *by = job->cycle ? "bandwidth" : "id";

    add(object, "owns_by", job->wide ? json_object_new_string(by) : NULL);
    add_known(object, "cycle", job->cycle, job->cycle > 0);
    add_known(object, "slot", job->slot, job->cycle > 0);
}

/* Frees object. */
static int render(json_object *object, char *text, size_t size)
{
    const char *json = json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN);
    size_t length = json ? strlen(json) : size;

    if (length < size)
        memcpy(text, json, length + 1);
    json_object_put(object);
    return length < size ? (int)length : -1;
}

static const char *state_of(const hpcbd_member_t *member)
{
    if (member->held)
        return "paused";
    if (member->suspended)
        return "suspended";
    return member->stopped ? "waiting" : "running";
}

static void add_identity(json_object *object, const hpcbd_job_t *job)
{
    add_number(object, "job", job->state.job_id);
    add_number(object, "user_id", job->state.uid);
    add(object, "class", json_object_new_string(hpcb_class_name(job->state.klass)));
    add(object, "partition", json_object_new_string(job->state.partition));
}

/* It takes no turns any more. */
static int put_left(const hpcbd_job_t *job, char *text, size_t size)
{
    json_object *object = json_object_new_object();

    if (!object)
        return -1;
    add_identity(object, job);
    add(object, "state", json_object_new_string("left"));
    add(object, "joined", json_object_new_boolean(0));
    return render(object, text, size);
}

static int put_job(const hpcbd_job_t *job, const hpcbd_member_t *member, char *text,
                   size_t size)
{
    json_object *object = json_object_new_object();
    const hpcb_gang_job_t *policy = &member->policy;
    hpcbd_turn_t turn = hpcbd_gang_turn(job->state.job_id);
    hpcb_gang_t gang = {.window = turn.window};
    char cpus[1024];
    hpcb_bw_t use;
    uint64_t elected_us = 0;

    if (!object)
        return -1;
    use = hpcb_gang_predict(&gang, policy);
    hpcbd_gang_elected(job->state.job_id, &elected_us);
    add_identity(object, job);
    if (hpcb_cpus_list(&policy->cpus, cpus, sizeof(cpus)) == 0)
        add(object, "cpus", json_object_new_string(cpus));
    add(object, "state", json_object_new_string(state_of(member)));
    add(object, "joined", json_object_new_boolean(job->turns == HPCBD_TURNS_JOINED));
    add_known(object, "mem", use.mem, policy->mem_known);
    add_known(object, "net", use.net, policy->net_known);
    add(object, "quantum_seconds",
        json_object_new_double((double)turn.quantum_us / 1e6));
    add_number(object, "window", turn.window);
    add_slot(object, policy);
    add_number(object, "turns", policy->turns);
    add_number(object, "waited", policy->waited);
    add(object, "elected_seconds", json_object_new_double((double)elected_us / 1e6));
    return render(object, text, size);
}

#define WRAPPED "{\"decision\":}"

/* *at: of the jobs of all decisions. */
static int put_decision(size_t *at, char *text, size_t size)
{
    const hpcbd_decisions_t *decisions = hpcbd_gang_decisions();
    json_object *object = json_object_new_object();
    json_object *part =
        size > sizeof(WRAPPED)
            ? hpcbd_decisions_part(decisions, at, size - sizeof(WRAPPED))
            : NULL;

    if (object && part && json_object_object_add(object, "decision", part) == 0)
        return render(object, text, size);
    json_object_put(part);
    json_object_put(object);
    return -1;
}

static int put_item(const hpcbd_job_t *job, uid_t uid, char *text, size_t size)
{
    const hpcbd_member_t *member;

    if (uid != 0 && uid != job->state.uid)
        return 0;
    member = hpcbd_gang_member(job->state.job_id);
    if (member)
        return put_job(job, member, text, size);
    return job->turns == HPCBD_TURNS_LEFT ? put_left(job, text, size) : 0;
}

int hpcbd_gang_item(size_t *i, uid_t uid, char *text, size_t size)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();
    size_t at;
    int length;

    if (*i < registry->count)
        return put_item(registry->jobs[(*i)++], uid, text, size);
    if (uid != 0) {
        *i = hpcbd_gang_items();
        return 0;
    }
    at = *i - registry->count;
    length = put_decision(&at, text, size);
    *i = registry->count + at;
    return length;
}

size_t hpcbd_gang_items(void)
{
    return hpcbd_window_registry()->count +
           hpcbd_decisions_jobs(hpcbd_gang_decisions());
}

int hpcbd_gang_end(size_t next, char *text, size_t size)
{
    json_object *object = json_object_new_object();
    char name[HPCB_NAME_MAX];
    hpcbd_gang_stats_t stats;

    if (!object)
        return -1;
    hpcbd_gang_stats(&stats);
    add(object, "end", json_object_new_boolean(1));
    if (next < hpcbd_gang_items())
        add_number(object, "next", next);
    add(object, "node", json_object_new_string(hpcb_node_name(name, sizeof(name))));
    add(object, "quantum_seconds",
        json_object_new_double((double)stats.turn.quantum_us / 1e6));
    add_number(object, "window", stats.turn.window);
    add(object, "paused", json_object_new_boolean(stats.paused));
    add_number(object, "quanta", stats.quanta);
    add_known(object, "mem_capacity", stats.capacity.mem, stats.capacity.mem > 0);
    add_known(object, "net_capacity", stats.capacity.net, stats.capacity.net > 0);
    if (*stats.clock)
        add(object, "clock", json_object_new_string(stats.clock));
    return render(object, text, size);
}

const char *hpcbd_gang_ask_pause(uint32_t job_id, uid_t uid, bool pause)
{
    const hpcbd_member_t *member = job_id ? hpcbd_gang_member(job_id) : NULL;

    if (uid != 0 && job_id == 0)
        return "only root may say that";
    /* Users get no information about jobs of others. */
    if (job_id && (!member || (uid != 0 && member->uid != uid)))
        return "no such job of yours takes turns on this node";
    hpcbd_gang_pause(job_id, pause);
    return NULL;
}

/* Return NULL if it is not uid's.  The owner of a job that is only marked is not
 * known. */
static hpcbd_job_t *job_of(uint32_t job_id, uid_t uid)
{
    hpcbd_job_t *job = hpcbd_registry_find(hpcbd_window_registry(), job_id);

    return job && !job->marked && (uid == 0 || uid == job->state.uid) ? job : NULL;
}

const char *hpcbd_gang_ask_join(uint32_t job_id, uid_t uid)
{
    hpcbd_job_t *job = job_of(job_id, uid);

    return job ? hpcbd_gang_join(job) : "no such job of yours is on this node";
}

/* A user's job that ran all the time would take from those that share its cores with it
 * what it likes. */
const char *hpcbd_gang_ask_leave(uint32_t job_id, uid_t uid)
{
    hpcbd_job_t *job = job_of(job_id, uid);

    if (!job)
        return "no such job of yours is on this node";
    if (uid != 0 && job->turns != HPCBD_TURNS_JOINED)
        return "only root may let a job leave that has not joined";
    return hpcbd_gang_leave(job, uid == 0);
}

const char *hpcbd_gang_ask_set(const char *partition, uint64_t quantum_us,
                               uint64_t window, uid_t uid)
{
    const hpcbd_turn_t turn = {quantum_us,
                               window < UINT_MAX ? (unsigned)window : UINT_MAX};

    return uid == 0 ? hpcbd_gang_set(partition, &turn) : "only root may say that";
}
