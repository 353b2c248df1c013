/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What reports want to know of a job and a node learns from slurmd, slurmctld's
 * job_submit plugin and SPANK: StateDir/jobs/<jobid>.about (Key=Value), written by the
 * prolog, of which a later line counts.  Nothing is decided by it.  Only root reads it:
 * users may not see jobs of others (slurm.conf's PrivateData).  libc only.
 */
#ifndef HPCB_COMMON_ABOUT_H
#define HPCB_COMMON_ABOUT_H

#include <stdint.h>
#include "common/conf.h"
#include "common/error.h"

/* A job's name and its executable together, with the NUL (as the tag's program). */
#define HPCB_ABOUT_NAME_MAX 256

#define HPCB_ABOUT_SUFFIX ".about"

/* 0 and "": not known. */
typedef struct {
    uint32_t restart;    /* how often the job had been requeued before this run */
    uint32_t nodes;      /* of the job */
    uint32_t array_job;  /* of an element of an array: the array's id … */
    uint32_t array_task; /* … and the element's index */
    uint32_t het_job;    /* of a component: the first one's id */
    uint32_t spread;     /* 1: may have fewer tasks a node than Slurm would put there */
    uint64_t submit;     /* seconds since the epoch */
    char user[HPCB_NAME_MAX];
    char name[HPCB_ABOUT_NAME_MAX];
    char executable[HPCB_ABOUT_NAME_MAX];
} hpcb_about_t;

/* From the prolog's or epilog's environment, which slurmd and slurmctld write; what
 * cannot be is left unknown.  Names, submit and spread come from HPCB_PROGRAM,
 * HPCB_SUBMIT and HPCB_SPREAD, of which our job_submit plugin is the last writer. */
void hpcb_about_from_env(hpcb_about_t *about);

/* Split "name/executable", as the tag has it, into about; what is no such text leaves
 * both unknown. */
void hpcb_about_program(hpcb_about_t *about, const char *program);

/* What about does not know is taken from more. */
void hpcb_about_fill(hpcb_about_t *about, const hpcb_about_t *more);

/* Write it for the job (replace).  0 or -1 with err. */
int hpcb_about_save(const char *state_dir, uint32_t job_id, const hpcb_about_t *about,
                    hpcb_error_t *err);

/* Add an array's ids to what is there. */
int hpcb_about_add_array(const char *state_dir, uint32_t job_id, uint32_t array_job,
                         uint32_t array_task, hpcb_error_t *err);

/* Load it; about is all unknown where there is none.  0, or -1 with err where it cannot
 * be believed. */
int hpcb_about_load(const char *state_dir, uint32_t job_id, hpcb_about_t *about,
                    hpcb_error_t *err);

#endif
