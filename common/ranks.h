/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Ranks of a step to be balanced on this node, from slurmstepd to hpcbd:
 * StateDir/jobs/<jobid>.<step>.ranks, written as a whole before the tasks run, removed
 * when the step ends (and with the job's other files).  libc only.
 */
#ifndef HPCB_COMMON_RANKS_H
#define HPCB_COMMON_RANKS_H

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>
#include "common/error.h"
#include "common/options.h"

/* Steps with more ranks on one node are not balanced. */
#define HPCB_RANKS_MAX 256

#define HPCB_STEP_MAX 16

typedef struct {
    pid_t pid;
    uint64_t start; /* start time (cgroup/task.h), because pids are reused */
} hpcb_ranks_task_t;

typedef struct {
    uint32_t job_id;
    char step[HPCB_STEP_MAX]; /* a number */
    char policy[HPCB_BALANCE_TEXT_MAX];
    uint32_t cpus;       /* of the job on this node */
    char page[PATH_MAX]; /* rank N has <page>.N (common/page.h); "": no pages */
    unsigned n;
    hpcb_ranks_task_t task[HPCB_RANKS_MAX]; /* by their number on this node */
} hpcb_ranks_t;

/* Write the file.  Return 0, or -1 with errno and err. */
int hpcb_ranks_save(const char *state_dir, const hpcb_ranks_t *ranks,
                    hpcb_error_t *err);

/* Load the file and check its owner.  Return 0, or -1 with errno (ENOENT: there is
 * none) and err; ranks is then unspecified. */
int hpcb_ranks_load(const char *state_dir, uint32_t job_id, const char *step,
                    hpcb_ranks_t *ranks, hpcb_error_t *err);

/* Parse the content of such a file, except job_id and step, which its name contains. */
int hpcb_ranks_parse(const char *text, size_t length, hpcb_ranks_t *ranks);

/* Remove the file.  A missing one is no error. */
int hpcb_ranks_remove(const char *state_dir, uint32_t job_id, const char *step,
                      hpcb_error_t *err);

/* Called for each file; file is its inode, a new one after each hpcb_ranks_save. */
typedef void (*hpcb_ranks_visit_t)(uint32_t job_id, const char *step, uint64_t file,
                                   void *arg);

/* Call visit for each file.  Return 0, or -1 with err. */
int hpcb_ranks_each(const char *state_dir, hpcb_ranks_visit_t visit, void *arg,
                    hpcb_error_t *err);

#endif
