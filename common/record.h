/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * JSON record of one job on one node (doc/record.md), through json-c.  Not for
 * slurmstepd: link libhpcb_record only to programs that link json-c.
 */
#ifndef HPCB_COMMON_RECORD_H
#define HPCB_COMMON_RECORD_H

#include "common/about.h"
#include "common/beside.h"
#include "common/ended.h"
#include "common/measured.h"
#include "common/state.h"
#include "common/tasks.h"

#define HPCB_RECORD_VERSION 1

/* Maximum length of a record, including its newline. */
#define HPCB_RECORD_BYTES 65536

typedef struct {
    hpcb_job_state_t job;
    char node[HPCB_NAME_MAX];
    char cluster[HPCB_NAME_MAX];
    uint64_t end_us; /* CLOCK_REALTIME */
    unsigned cpus;   /* CPUs of the job on this node, 0 = unknown */
    hpcb_usage_t usage;
    hpcb_measured_t measured;
    hpcb_about_t about;
    const hpcb_task_usage_t *tasks; /* owned by the caller */
    size_t n_tasks;
    hpcb_beside_t beside;           /* of a primary; its list is owned by the caller */
    char ended_for[HPCB_ENDED_MAX]; /* of a guest; "": hpcbd did not end it here */
} hpcb_record_t;

/* Print as one line of JSON (with a newline); the caller frees it.  Return NULL with
 * err if a name in it is invalid (node is a name; cluster and partition are printable
 * ASCII or empty) or memory is short. */
char *hpcb_record_render(const hpcb_record_t *record, hpcb_error_t *err);

/* Parse one record; record is unchanged on failure.  job.yield_waits is not part of a
 * record and becomes false; tasks and guests are skipped (common/record_parts.h). */
int hpcb_record_parse(const char *text, hpcb_record_t *record, hpcb_error_t *err);

/* Records are private.  A site that lets a group read them assigns the directory to
 * that group and sets the set-group-ID bit. */
#define HPCB_RECORD_MODE     0640
#define HPCB_RECORD_DIR_MODE 0750

/* Directories below SpoolDir: records to be sent, and the last ones sent. */
#define HPCB_SPOOL_RECORDS "records"
#define HPCB_SPOOL_SENT    "sent"

/* Get DIR/PLACE/<jobid>.<begin>.<node>.json, for a job that has been requeued
 * <jobid>+<restart>.<begin>.<node>.json; begin is in seconds, because Slurm may reuse a
 * job's ID.  A record that begins when it ends (of an epilog that found no begin) has
 * the path of the last one of its job and restart, if there is one.  Return 0, or -1
 * with err if the path is too long. */
int hpcb_record_path(const char *dir, const char *place, const hpcb_record_t *record,
                     char path[static PATH_MAX], hpcb_error_t *err);

/* Write DIR/records/… durably (replace).  dir is SpoolDir, or StateDir if that is
 * full. */
int hpcb_record_write(const char *dir, const hpcb_record_t *record, hpcb_error_t *err);

#endif
