/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Root's data of a job on this node: StateDir/jobs/<jobid> (Key=Value), written by the
 * prolog or the SPANK job prolog from slurmd's data of the credential, trusted by every
 * later step (doc/architecture.md, "Trust").  Usage of finished steps is appended to
 * StateDir/jobs/<jobid>.usage.  Without json-c, because slurmstepd reads it.
 */
#ifndef HPCB_COMMON_STATE_H
#define HPCB_COMMON_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>
#include "common/class.h"
#include "common/conf.h"
#include "common/error.h"
#include "common/options.h"

/* A SLUID including the NUL: 's' and 13 letters or digits (Slurm 26.05). */
#define HPCB_SLUID_MAX 15

/* A boot ID of the kernel (a UUID) including the NUL. */
#define HPCB_BOOT_MAX 37

typedef struct {
    uint32_t job_id;
    uid_t uid;
    hpcb_class_t klass;
    hpcb_policy_t policy;
    bool yield_waits;          /* preload libhpcb_mpi.so into its tasks */
    hpcb_window_spec_t window; /* coordinated windows; all zero: none */
    char partition[HPCB_NAME_MAX];
    char sluid[HPCB_SLUID_MAX]; /* Slurm 26.05: the job's own name, also that of its
                                   cgroup v2 directory; "" if Slurm has none */
    uint64_t begin_us;          /* CLOCK_REALTIME, microseconds since the epoch */
    char boot[HPCB_BOOT_MAX];   /* when it was saved, set by hpcb_state_save; "": not
                                   known */
} hpcb_job_state_t;

/* Get the SLUID from the environment of prolog and epilog, which slurmd sets itself; ""
 * if there is none or it is invalid. */
void hpcb_state_sluid(char sluid[static HPCB_SLUID_MAX]);

/* Save atomically (0644, parents 0755).  klass is primary or guest, partition is one
 * word of printable ASCII or empty, sluid letters and digits or empty.  The first
 * record of a job counts: if one exists with the same uid and of this boot, return 0
 * and write nothing.  A record of another uid or boot, or one that cannot be read, is
 * left over from an old job (only root writes here): it is replaced, with a line in the
 * log.  Other files of a job without a record, or of one that is replaced, are removed;
 * its undo log only if it is of another boot. */
int hpcb_state_save(const char *state_dir, const hpcb_job_state_t *state,
                    hpcb_error_t *err);

/* Load and check the owner (hpcb_file_trusted), of state_dir and its jobs/ too.  Return
 * -1 with errno ENOENT if there is none, EPERM if not trusted, EINVAL if it is damaged;
 * state is unchanged on failure. */
int hpcb_state_load(const char *state_dir, uint32_t job_id, hpcb_job_state_t *state,
                    hpcb_error_t *err);

/* Parse the content of such a file; state is unchanged on failure.  Unknown keys are
 * skipped, because a later release may have written them. */
int hpcb_state_parse(const char *text, size_t length, hpcb_job_state_t *state,
                     hpcb_error_t *err);

/* Save or load Slurm's cgroup directory of the job on this node (cgroup/steps.h), for
 * callers that know no task of it: JOBS/<id>.place.  Saving it again changes nothing.
 * Return 0, or -1 with errno and err; loading checks the owner and yields an absolute
 * path. */
int hpcb_state_save_place(const char *state_dir, uint32_t job_id, const char *dir,
                          hpcb_error_t *err);
int hpcb_state_load_place(const char *state_dir, uint32_t job_id, char *dir,
                          size_t size, hpcb_error_t *err);

/* Save or load the cores of this node that Slurm has allocated to the job, as a list of
 * Slurm's own numbers ("0-3,8"): JOBS/<id>.cores, written as root with each step,
 * because a requeued job may have others.  Return 0, or -1 with errno and err; loading
 * checks the owner, leaves cores unchanged on failure, and does not check that it is
 * such a list. */
int hpcb_state_save_cores(const char *state_dir, uint32_t job_id, const char *cores,
                          hpcb_error_t *err);
int hpcb_state_load_cores(const char *state_dir, uint32_t job_id, char *cores,
                          size_t size, hpcb_error_t *err);

/* Remove every file of the job under state_dir (<id>, <id>.usage, <id>.undo and any
 * other <id>.*); missing ones are no error.  If this is interrupted, either the job's
 * record is complete or the job is over. */
int hpcb_state_remove(const char *state_dir, uint32_t job_id, hpcb_error_t *err);

/* Return whether a removal was interrupted: the remaining files of the job are void.
 * Another hpcb_state_remove finishes it, and so does hpcb_state_save for the next
 * run. */
bool hpcb_state_is_over(const char *state_dir, uint32_t job_id);

/* Call visit for each recorded job (hpcbctl status, release).  Return the number of
 * jobs visited, or -1.  A result of visit other than 0 ends the walk; visit may remove
 * its job.  A record that is not trusted or damaged is logged and skipped. */
int hpcb_state_each(const char *state_dir,
                    int (*visit)(const hpcb_job_state_t *state, void *arg), void *arg,
                    hpcb_error_t *err);

typedef struct {
    uint64_t cpu_us;       /* CPU time, all tasks */
    uint64_t run_delay_us; /* time in which tasks were runnable and waited for a CPU */
    uint64_t memory_peak;  /* bytes */
} hpcb_usage_t;

/* STEP: usage of one finished step (steps are summed).  JOB: the job's running total at
 * some moment (the largest counts).  The two are added: for CPU time a node uses one of
 * them, depending on where the kernel keeps the figures. */
typedef enum { HPCB_USAGE_STEP, HPCB_USAGE_JOB } hpcb_usage_scope_t;

/* Add usage.  The files stay small for any number of steps.  If a caller is killed or
 * stopped, nothing that was added is lost, and other callers wait for about 0.1 s at
 * most. */
int hpcb_state_add_usage(const char *state_dir, uint32_t job_id,
                         hpcb_usage_scope_t scope, const hpcb_usage_t *usage,
                         hpcb_error_t *err);

/* Sum up the usage; all zero and 0 if none was recorded.  A line truncated by a crash
 * is skipped.  memory_peak is the maximum over all lines. */
int hpcb_state_usage(const char *state_dir, uint32_t job_id, hpcb_usage_t *usage,
                     hpcb_error_t *err);

/* Read the content of a .usage file from an open stream.  Return 0, or -1 if reading
 * failed (errno, usage unchanged). */
int hpcb_usage_read(FILE *stream, hpcb_usage_t *usage);

#endif
