/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * slurmstepd of a guest on cgroup v2.  Slurm keeps it in the job's directory
 * (job_N/step_S/slurm), which is idle: next to a busy primary it gets 0.3 % of a CPU,
 * and its work for the step - start it, forward signals, detect its end, clean up -
 * takes minutes.  On v1 it is in no group of ours, and what it forks later for the user
 * (--task-epilog) must be moved to the guest's tasks.
 *
 * So its threads become SCHED_FIFO, which groups do not limit.  It stays in its
 * directory: a user's --task-epilog is forked by slurmstepd and runs in the same one,
 * in no task's group (Slurm 22.05 to 26.05), and must be idle.  No child inherits the
 * policy (SCHED_RESET_ON_FORK).
 *
 * A kernel with CONFIG_RT_GROUP_SCHED does not allow that in v2 groups.  There
 * slurmstepd moves to where Slurm puts starting ones, <scope>/system, a sibling of the
 * jobs, and each of its children moves back before it does anything.
 *
 * A user can keep slurmstepd busy (output passes through it) and can start any number
 * of them, at the primary's expense.  So this lasts only as long as all slurmstepds of
 * the job use little (spank/credit.h).  On v1, where slurmstepd has the weight of a
 * primary by itself, it joins the guests after they have used too much, in a group of
 * its own next to that of the job's tasks.
 */
#ifndef HPCB_SPANK_STEPD_H
#define HPCB_SPANK_STEPD_H

#include <pthread.h>
#include "spank/setup.h"

/* Mean interval for calls of hpcb_spank_stepd_look: new threads, one for each message
 * to slurmstepd, wait for it. */
#define HPCB_SPANK_STEPD_LOOK_MS 500

/* slurm_spank_init_post_opt, root: open the job's account and, while it has time left,
 * raise all threads of slurmstepd if it is a guest's and inside of a lowered group. */
void hpcb_spank_stepd_open(const hpcb_step_t *step);

/* Return whether it must be watched: a guest's, on v2 inside of a lowered group. */
bool hpcb_spank_stepd_lifted(void);

/* slurm_spank_task_post_fork, root, after isolation: move to <scope>/system if the
 * kernel refuses to raise it.  Not earlier, because Slurm's plugins move slurmstepd
 * into the job's directory until tasks are forked.  On v1 its later children move to
 * the group of pid. */
void hpcb_spank_stepd_settle(const hpcb_step_t *step, pid_t pid);

/* Return Slurm's directory of the job, if slurmstepd has left it for <scope>/system;
 * otherwise "". */
const char *hpcb_spank_stepd_job(void);

/* From the watching thread (spank/dying.c), or before there is one: raise new threads,
 * or lower all except the caller if they have used too much, or if they wait for a
 * futex that would pass on their priority; those are not raised again.  The watching
 * thread's own use is charged in any case. */
void hpcb_spank_stepd_look(void);

/* From the main thread, after it has created the watching one, or failed to: raise that
 * thread, so that it reaches its first check; or keep all lowered, because there are no
 * checks. */
void hpcb_spank_stepd_watch(pthread_t thread);
void hpcb_spank_stepd_unwatched(void);

/* A task of the step is ending and takes long: raise all until the next check, also if
 * they have used too much, unless ends of the job's steps have as well
 * (hpcb_spank_credit_charge_end).  Return -1 if the kernel refuses. */
int hpcb_spank_stepd_lift(void);

/* slurm_spank_exit, after that thread has ended: no user process is left and none will
 * be forked.  Move to the root group, as Slurm is about to do (cgroup/v2 of 22.05 to
 * 26.05, before it removes the step's directories). */
void hpcb_spank_stepd_leave(void);

#endif
