/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * profile learn: fold records of jobs (doc/record.md) into the profile store.
 *
 * There is one record for each node of a job: those of one job are averaged first, and
 * count as one run.  A record says what CPU time a job took.  Its name, its executable
 * and the bytes that it moved are members that a site's own collection may add, or
 * options say them.  A file that is no such record is one line, and the others count.
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/record.h"
#include "hpcbctl/output.h"
#include "hpcbctl/profile.h"

#define RECORD_BYTES 65536
#define DEPTH_MAX    16
#define MILLION      1e6

/* One run of a job, summed over its nodes. */
typedef struct {
    uint32_t job_id;
    char cluster[HPCB_NAME_MAX];
    hpcb_profile_key_t key;
    double sum[HPCB_PROFILE_FIGURES];
    unsigned count[HPCB_PROFILE_FIGURES];
} job_t;

typedef struct {
    const hpcb_ctl_t *ctl;
    bool by_user;
    uint32_t uid; /* of --user: records of others are passed over */
    job_t *jobs;
    size_t n_jobs;
    size_t records, refused;
} learn_t;

static json_object *parse(const char *text)
{
    struct json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    json_object *object;

    if (!tokener)
        return NULL;
    object = json_tokener_parse_ex(tokener, text, -1);
    json_tokener_free(tokener);
    return object;
}

/* A member that is a text, or NULL. */
static const char *get_text(json_object *object, const char *key)
{
    json_object *member;

    if (!json_object_object_get_ex(object, key, &member) ||
        !json_object_is_type(member, json_type_string))
        return NULL;
    return json_object_get_string(member);
}

static void count(job_t *job, hpcb_profile_axis_t axis, double value)
{
    job->sum[axis] += value;
    job->count[axis]++;
}

/* Bytes moved while the job was on the node. */
static void count_bytes(job_t *job, hpcb_profile_axis_t axis, json_object *object,
                        const char *key, double seconds)
{
    json_object *member;

    if (seconds > 0 && json_object_object_get_ex(object, key, &member) &&
        json_object_is_type(member, json_type_int) &&
        json_object_get_int64(member) >= 0)
        count(job, axis, (double)json_object_get_uint64(member) / seconds);
}

static void count_record(job_t *job, const hpcb_record_t *record, json_object *object)
{
    uint64_t begin = record->job.begin_us, end = record->end_us;
    double seconds = end > begin ? (double)(end - begin) / MILLION : 0;

    count_bytes(job, HPCB_PROFILE_MEM, object, "memory_bytes", seconds);
    count_bytes(job, HPCB_PROFILE_NET, object, "network_bytes", seconds);
    if (seconds > 0 && record->cpus > 0)
        count(job, HPCB_PROFILE_CPU,
              (double)record->usage.cpu_us / MILLION / (seconds * record->cpus));
}

/* The job that a record belongs to, a new one where it is the first; NULL when memory
 * runs out. */
static job_t *find_job(learn_t *learn, const hpcb_record_t *record,
                       const hpcb_profile_key_t *key)
{
    job_t *larger;

    for (size_t i = learn->n_jobs; i > 0; i--) {
        job_t *job = &learn->jobs[i - 1];

        if (job->job_id == record->job.job_id &&
            strcmp(job->cluster, record->cluster) == 0 &&
            memcmp(&job->key, key, sizeof(*key)) == 0)
            return job;
    }
    larger = reallocarray(learn->jobs, learn->n_jobs + 1, sizeof(*larger));
    if (!larger)
        return NULL;
    learn->jobs = larger;
    larger += learn->n_jobs++;
    *larger = (job_t){.job_id = record->job.job_id, .key = *key};
    memcpy(larger->cluster, record->cluster, sizeof(larger->cluster));
    return larger;
}

static int read_record(learn_t *learn, const char *text, hpcb_error_t *err)
{
    const hpcb_ctl_t *ctl = learn->ctl;
    hpcb_autojson json_object *object = NULL;
    const char *name, *executable;
    hpcb_profile_key_t key;
    hpcb_record_t record;
    job_t *job;

    if (hpcb_record_parse(text, &record, err))
        return -1;
    if (learn->by_user && record.job.uid != learn->uid)
        return 0;
    object = parse(text);
    name = ctl->name ? ctl->name : get_text(object, "job_name");
    executable = ctl->executable ? ctl->executable : get_text(object, "executable");
    if (!name)
        return hpcb_error(err, "it holds no job_name: give --name");
    if (hpcb_profile_key(record.job.uid, name, executable, &key))
        return hpcb_error(err, "names of jobs and executables: 1 to 255 bytes");
    job = find_job(learn, &record, &key);
    if (!job)
        return hpcb_error(err, "out of memory");
    count_record(job, &record, object);
    learn->records++;
    return 0;
}

static void read_file(learn_t *learn, const char *path, char *buf)
{
    hpcb_error_t err;

    if (hpcb_file_read_trusted(path, buf, RECORD_BYTES, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "profile learn: %s", err.text);
        learn->refused++;
    } else if (read_record(learn, buf, &err)) {
        hpcb_error_t line;

        hpcb_error(&line, "profile learn: %.200s: %s", path, err.text);
        hpcb_log(HPCB_LOG_ERROR, "%s", line.text);
        learn->refused++;
    }
}

static hpcb_profile_run_t run_of(const job_t *job)
{
    hpcb_profile_run_t run = {.known = {false}};

    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++) {
        double most = (double)hpcb_profile_axis_max(axis);
        double mean;

        if (job->count[axis] == 0)
            continue;
        mean = job->sum[axis] / job->count[axis];
        if (axis == HPCB_PROFILE_CPU)
            mean *= HPCB_PROFILE_ONE;
        run.known[axis] = true;
        run.value[axis] = (uint64_t)(mean < most ? mean : most);
    }
    return run;
}

static int fold(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    const learn_t *learn = arg;
    uint64_t now = (uint64_t)time(NULL);

    for (size_t i = 0; i < learn->n_jobs; i++) {
        hpcb_profile_run_t run = run_of(&learn->jobs[i]);

        if (hpcb_profiles_learn(store, &learn->jobs[i].key, &run, now, err))
            return -1;
    }
    return 0;
}

static int print(const learn_t *learn)
{
    if (learn->ctl->json)
        printf("{\"records\": %zu, \"runs\": %zu, \"refused\": %zu}\n", learn->records,
               learn->n_jobs, learn->refused);
    else
        printf("%zu records, %zu runs learned\n", learn->records, learn->n_jobs);
    return fflush(stdout);
}

/* Returns 0, or 1 after a line. */
static int learn_all(learn_t *learn, const char *store)
{
    hpcb_autofree char *buf = malloc(RECORD_BYTES);
    hpcb_error_t err;

    if (!buf) {
        hpcb_log(HPCB_LOG_ERROR, "profile learn: out of memory");
        return 1;
    }
    for (int i = 0; i < learn->ctl->n_operands; i++)
        read_file(learn, learn->ctl->operands[i], buf);
    if (learn->n_jobs > 0 && hpcb_profiles_update(store, fold, learn, &err)) {
        hpcb_log(HPCB_LOG_ERROR, "profile learn: %s", err.text);
        return 1;
    }
    return print(learn) || learn->refused > 0;
}

int hpcb_profile_learn(const hpcb_ctl_t *ctl)
{
    learn_t learn = {.ctl = ctl, .by_user = ctl->user != NULL};
    char store[PATH_MAX];
    int rc;

    if (ctl->n_operands == 0)
        return hpcb_profile_usage("learn", "give the records to learn from");
    if (hpcb_profile_path(ctl, store) ||
        (ctl->user && hpcb_profile_uid(ctl->user, &learn.uid)))
        return 1;
    rc = learn_all(&learn, store);
    free(learn.jobs);
    return rc;
}
