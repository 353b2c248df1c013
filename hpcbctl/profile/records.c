/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/record.h"
#include "common/record_json.h"
#include "common/record_parts.h"
#include "hpcbctl/profile/records.h"

#define MILLION 1e6

static void know(hpcb_job_line_t *job, hpcb_profile_axis_t axis, double value)
{
    if (!isfinite(value) || value < 0)
        return;
    job->known[axis] = true;
    job->value[axis] = value;
}

/* Records write names as the profile store does.  "": not known. */
static int read_names(hpcb_job_line_t *job, const char *name, const char *executable,
                      hpcb_error_t *err)
{
    if (hpcb_profile_decode(name ? name : "", job->name) == 0 &&
        hpcb_profile_decode(executable ? executable : "", job->executable) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "its job_name or executable is none as records have them");
}

/* ---- A node's ---- */

/* Read the bytes transferred while the job was on the node. */
static void read_bytes(hpcb_job_line_t *job, hpcb_profile_axis_t axis,
                       hpcb_rjson_t *object, const char *key, double seconds)
{
    uint64_t bytes;

    if (seconds > 0 && hpcb_rjson_get_u64(object, key, INT64_MAX, &bytes) == 0)
        know(job, axis, (double)bytes / seconds);
}

static int read_node(hpcb_rjson_t *object, hpcb_job_line_t *job, hpcb_error_t *err)
{
    hpcb_record_t record;
    double seconds;

    if (hpcb_record_from_json(object, &record, err))
        return -1;
    seconds = record.end_us > record.job.begin_us
                  ? (double)(record.end_us - record.job.begin_us) / MILLION
                  : 0;
    memcpy(job->cluster, record.cluster, sizeof(job->cluster));
    job->job_id = record.job.job_id;
    job->restart = record.about.restart;
    job->submit = record.about.submit;
    job->uid = record.job.uid;
    if (!record.about.spread) {
        read_bytes(job, HPCB_PROFILE_MEM, object, "memory_bytes", seconds);
        read_bytes(job, HPCB_PROFILE_NET, object, "network_bytes", seconds);
        if (record.usage.memory_peak > 0)
            know(job, HPCB_PROFILE_PEAK, (double)record.usage.memory_peak);
    }
    if (seconds > 0 && record.cpus > 0)
        know(job, HPCB_PROFILE_CPU,
             (double)record.usage.cpu_us / MILLION / (seconds * record.cpus));
    return read_names(job, record.about.name, record.about.executable, err);
}

/* ---- The collector's ---- */

static void read_number(hpcb_job_line_t *job, hpcb_profile_axis_t axis,
                        hpcb_rjson_t *object, const char *key)
{
    hpcb_rjson_t *value;

    if (json_object_object_get_ex(object, key, &value) &&
        (json_object_is_type(value, json_type_double) ||
         json_object_is_type(value, json_type_int)))
        know(job, axis, json_object_get_double(value));
}

/* {"mean":…}, or null. */
static void read_mean(hpcb_job_line_t *job, hpcb_profile_axis_t axis,
                      hpcb_rjson_t *object, const char *key)
{
    hpcb_rjson_t *spread;

    if (json_object_object_get_ex(object, key, &spread) &&
        json_object_is_type(spread, json_type_object))
        read_number(job, axis, spread, "mean");
}

/* Of nodes with all tasks that Slurm would put there. */
static void read_figures_of_a_node(hpcb_job_line_t *job, hpcb_rjson_t *object)
{
    uint64_t peak = 0;

    read_mean(job, HPCB_PROFILE_MEM, object, "mem_bandwidth");
    read_mean(job, HPCB_PROFILE_NET, object, "net_bandwidth");
    if (hpcb_rjson_get_u64(object, "memory_peak_bytes", INT64_MAX, &peak) == 0 && peak)
        know(job, HPCB_PROFILE_PEAK, (double)peak);
}

static int read_whole(hpcb_rjson_t *object, hpcb_job_line_t *job, hpcb_error_t *err)
{
    uint64_t version = 0, id = 0, restart = 0, uid = 0;

    if (hpcb_rjson_get_u64(object, "version", 1, &version) || version != 1 ||
        hpcb_rjson_get_u64(object, "job_id", UINT32_MAX, &id) || id == 0 ||
        hpcb_rjson_get_u64(object, "restart", UINT32_MAX, &restart) ||
        hpcb_rjson_get_u64(object, "user_id", UINT32_MAX, &uid) ||
        hpcb_rjson_get_word(object, "cluster", job->cluster, sizeof(job->cluster))) {
        errno = EINVAL;
        return hpcb_error(err, "not a record of a job");
    }
    job->whole = true;
    job->job_id = (uint32_t)id;
    job->restart = (uint32_t)restart;
    (void)hpcb_rjson_get_u64(object, "submit", INT64_MAX, &job->submit);
    job->uid = (uint32_t)uid;
    read_number(job, HPCB_PROFILE_CPU, object, "efficiency");
    if (!json_object_get_boolean(json_object_object_get(object, "spread")))
        read_figures_of_a_node(job, object);
    return read_names(job, hpcb_rjson_get_text(object, "job_name"),
                      hpcb_rjson_get_text(object, "executable"), err);
}

int hpcb_job_line_read(const char *line, hpcb_job_line_t *job, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *object = hpcb_rjson_parse(line);
    hpcb_job_line_t found = {.known = {false}};
    const char *kind = object ? hpcb_rjson_get_text(object, "kind") : NULL;
    int rc = kind && strcmp(kind, "job") == 0 ? read_whole(object, &found, err)
                                              : read_node(object, &found, err);

    if (rc == 0)
        *job = found;
    return rc;
}
