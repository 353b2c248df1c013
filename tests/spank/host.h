/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A stand-in for the programs that load a SPANK plugin: loads hpc_balance.so, and calls
 * its hooks in the order, the contexts and with the identities that Slurm 22.05 does.
 * What Slurm refuses in a context (an item, the environment, an option), this refuses
 * too.  One load per test: Check runs each test in a process of its own.
 */
#ifndef HPCB_TESTS_SPANK_HOST_H
#define HPCB_TESTS_SPANK_HOST_H

#include <stdbool.h>
#include "common/compat.h"

#define HOST_TASKS 4
#define HOST_CPUS  6       /* of every job */
#define HOST_CORES "0-2,5" /* by Slurm's numbers */
#define HOST_TEXT  8192

typedef struct {
    const char *name;
    const char *value;
} host_option_t;

/* One run of slurmstepd. */
typedef struct {
    uint32_t job_id;
    uint32_t step_id;
    uid_t uid;
    int tasks;                    /* 0 counts as 1, at most HOST_TASKS */
    const host_option_t *options; /* up to a NULL name */
    const char *const *env;       /* "NAME=value", up to NULL */
    bool parent_first;            /* the task's own set-up runs after post_fork */
    bool cut;                     /* the last task cannot be launched: no post_fork */
    void (*forked)(pid_t pid);    /* in slurmstepd, before each task_post_fork */
    void (*running)(void);        /* in slurmstepd, after the last task_post_fork */
    void (*prepare)(void);        /* in the task, where Slurm prepares it as root */
    void (*program)(void);        /* what the task runs; its output is out[] */
    void (*ended)(void);          /* in slurmstepd, after the last task_exit */
    /* results */
    int status[HOST_TASKS]; /* as waitpid gives it */
    char out[HOST_TEXT];    /* stdout and stderr of all tasks */
    char err[HOST_TEXT];
} host_step_t;

/* Load the plugin with these plugstack arguments (up to NULL); ends the test when it
 * cannot be loaded. */
void host_load(const char *const *args);

/* srun (S_CTX_LOCAL), sbatch or salloc (S_CTX_ALLOCATOR) with options, in a process of
 * its own: its exit code, 255 where a callback made Slurm end it, 0 where the job would
 * be submitted. */
int host_command(spank_context_t context, const host_option_t *options);

/* slurmd's own context: start and end. */
void host_slurmd(void);

/* The prolog or epilog of a job; its environment is the process's own. */
void host_prolog(uint32_t job_id, uid_t uid);
void host_epilog(uint32_t job_id, uid_t uid);

/* A whole step, from init to exit.  SLURM_EXTERN_CONT as step_id runs the extern
 * step's order, with a sleeping task. */
void host_step(host_step_t *step);

/* The step's environment as the last user_init left it; NULL where it is not set. */
const char *host_getenv(const char *name);

/* Everything that was logged so far by any process, "error: ...\ninfo: ...\n". */
const char *host_log(void);
/* How often text occurs in the log. */
int host_log_count(const char *text);

/* Results of hooks in slurmstepd and slurmd that were not 0. */
int host_failures(void);
/* The longest that one of them took, in microseconds. */
long host_longest_us(void);

#endif
