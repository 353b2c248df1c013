/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The JSON record of one job on one node (doc/record.md), through json-c.  Not for
 * slurmstepd: link libhpcb_record only where json-c is.
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

/* The longest record, with its newline. */
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
    const hpcb_task_usage_t *tasks; /* the caller's */
    size_t n_tasks;
    hpcb_beside_t beside;           /* of a primary; its list is the caller's */
    char ended_for[HPCB_ENDED_MAX]; /* of a guest; "": nobody ended it here */
} hpcb_record_t;

/* Render as one line of JSON (newline at the end); the caller frees it.  NULL with err
 * when a name in it cannot be written (node is a name; cluster and partition are
 * printable ASCII or empty) or memory runs out. */
char *hpcb_record_render(const hpcb_record_t *record, hpcb_error_t *err);

/* Parse one record; record is untouched on failure.  job.yield_waits is not part of a
 * record and comes out false; tasks and guests are left out (common/record_parts.h). */
int hpcb_record_parse(const char *text, hpcb_record_t *record, hpcb_error_t *err);

/* Nobody else's business.  A site that wants a group to read them gives the directory
 * to that group, and the set-group-ID bit. */
#define HPCB_RECORD_MODE     0640
#define HPCB_RECORD_DIR_MODE 0750

/* Below SpoolDir: what is to be sent, and the last that was. */
#define HPCB_SPOOL_RECORDS "records"
#define HPCB_SPOOL_SENT    "sent"

/* DIR/PLACE/<jobid>.<begin>.<node>.json, of a job that has been requeued
 * <jobid>+<restart>.<begin>.<node>.json; begin is in seconds: Slurm may give a job's id
 * again.  A record that begins when it ends (of an epilog that found no begin) has the
 * path of the last one of its job and restart, if one is there.  0, or -1 with err
 * where that is too long. */
int hpcb_record_path(const char *dir, const char *place, const hpcb_record_t *record,
                     char path[static PATH_MAX], hpcb_error_t *err);

/* Write DIR/records/… durably (replace); dir is SpoolDir, or StateDir where that is
 * full. */
int hpcb_record_write(const char *dir, const hpcb_record_t *record, hpcb_error_t *err);

#endif
