/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Properties of a job for reports, from slurmd, slurmctld's job_submit plugin and
 * SPANK: StateDir/jobs/<jobid>.about (Key=Value), written by the prolog; of several
 * lines with a key the last one counts.  No decision depends on it.  Only root reads
 * it, because users may not see jobs of others (slurm.conf's PrivateData).  libc only.
 */
#ifndef HPCB_COMMON_ABOUT_H
#define HPCB_COMMON_ABOUT_H

#include <stdint.h>
#include "common/conf.h"
#include "common/error.h"

/* A job's name and executable together, including the NUL (like the tag's program). */
#define HPCB_ABOUT_NAME_MAX 256

#define HPCB_ABOUT_SUFFIX ".about"

/* 0 and "": not known. */
typedef struct {
    uint32_t restart;    /* number of requeues before this run */
    uint32_t nodes;      /* of the job */
    uint32_t array_job;  /* of an array element: the array's ID … */
    uint32_t array_task; /* … and the element's index */
    uint32_t het_job;    /* of a component: the ID of the first one */
    uint32_t spread;     /* 1: may have fewer tasks per node than Slurm's default */
    uint64_t submit;     /* seconds since the epoch */
    char user[HPCB_NAME_MAX];
    char name[HPCB_ABOUT_NAME_MAX];
    char executable[HPCB_ABOUT_NAME_MAX];
} hpcb_about_t;

/* Read from the environment of prolog or epilog, which slurmd and slurmctld write;
 * invalid values stay unknown.  Names, submit and spread come from HPCB_PROGRAM,
 * HPCB_SUBMIT and HPCB_SPREAD, which our job_submit plugin writes last. */
void hpcb_about_from_env(hpcb_about_t *about);

/* Split "name/executable", the format of the tag, into about; other texts leave both
 * unknown. */
void hpcb_about_program(hpcb_about_t *about, const char *program);

/* Copy from more what is unknown in about. */
void hpcb_about_fill(hpcb_about_t *about, const hpcb_about_t *more);

/* Write (replace) the job's file.  Return 0, or -1 with err. */
int hpcb_about_save(const char *state_dir, uint32_t job_id, const hpcb_about_t *about,
                    hpcb_error_t *err);

/* Add the IDs of an array to the file. */
int hpcb_about_add_array(const char *state_dir, uint32_t job_id, uint32_t array_job,
                         uint32_t array_task, hpcb_error_t *err);

/* Load the file; everything is unknown if there is none.  Return 0, or -1 with err if
 * it is not trusted or damaged. */
int hpcb_about_load(const char *state_dir, uint32_t job_id, hpcb_about_t *about,
                    hpcb_error_t *err);

#endif
