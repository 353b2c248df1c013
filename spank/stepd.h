/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * slurmstepd of a guest on cgroup v2.  Slurm keeps it in the job's directory
 * (job_N/step_S/slurm), which is idle: beside a busy primary it gets 0.3 % of a CPU,
 * and what it does for the step - start it, pass on signals, see it end, clean up -
 * takes minutes.  On v1 it is in no group of ours, and what it forks later for the user
 * (--task-epilog) has to be sent to where the guest's tasks are.
 *
 * So its threads become SCHED_FIFO, which groups do not hold back.  It stays where it
 * is: a user's --task-epilog is forked by slurmstepd and runs beside it, in no task's
 * group (Slurm 22.05 to 26.05), and must be idle.  No child inherits the policy
 * (SCHED_RESET_ON_FORK), whoever forks.
 *
 * A kernel with CONFIG_RT_GROUP_SCHED refuses that in v2 groups.  There slurmstepd goes
 * where Slurm has those that start, <scope>/system, which is a sibling of the jobs, and
 * each of its children goes back before it does anything.
 *
 * A user can keep slurmstepd busy (output passes through it) and can start as many as
 * they like, and the primary pays for it.  So this lasts only as long as all
 * slurmstepds of the job take little (spank/credit.h).  On v1, where slurmstepd has the
 * weight of a primary by itself, it joins the guests when they have taken too much, in
 * a group of its own beside that of the job's tasks.
 */
#ifndef HPCB_SPANK_STEPD_H
#define HPCB_SPANK_STEPD_H

#include <pthread.h>
#include "spank/setup.h"

/* How often, on average, hpcb_spank_stepd_look is to be called: new threads, one for
 * each message to slurmstepd, wait for it. */
#define HPCB_SPANK_STEPD_LOOK_MS 500

/* slurm_spank_init_post_opt, root: open the job's account and, while there is something
 * left of it, lift what there is of slurmstepd, if it is a guest's and inside of what
 * is lowered. */
void hpcb_spank_stepd_open(const hpcb_step_t *step);

/* Whether it is to be looked after: a guest's, on v2 inside of what is lowered. */
bool hpcb_spank_stepd_lifted(void);

/* slurm_spank_task_post_fork, root, after isolation: go to <scope>/system where the
 * kernel refuses to lift it.  Not earlier, because Slurm's plugins put slurmstepd into
 * the job's directory again until tasks are forked.  On v1 its later children go to the
 * group of pid. */
void hpcb_spank_stepd_settle(const hpcb_step_t *step, pid_t pid);

/* Slurm's directory of the job, where slurmstepd has left it for <scope>/system; else
 * "". */
const char *hpcb_spank_stepd_job(void);

/* From the watching thread (spank/dying.c), or before there is one: lift new threads,
 * or let all but the caller down where they have taken too much, or wait for a futex
 * that hands their priority on, which they are not lifted again for.  What the watching
 * thread takes itself is on the account in any case. */
void hpcb_spank_stepd_look(void);

/* From the main thread, which has made the watching one, or could not: lift it, so that
 * it comes to its first look / stay down, because nobody would look. */
void hpcb_spank_stepd_watch(pthread_t thread);
void hpcb_spank_stepd_unwatched(void);

/* A task of the step is ending and takes long: lift all until the next look, also when
 * they have taken too much, as long as ends of the job have not, either
 * (hpcb_spank_credit_charge_end).  -1 where the kernel refuses. */
int hpcb_spank_stepd_lift(void);

/* slurm_spank_exit, after that thread has ended: there is nothing left of the user, and
 * nothing more will be forked for one.  Leave for the root group, as Slurm is about to
 * do (cgroup/v2 of 22.05 to 26.05, before it removes the step's directories). */
void hpcb_spank_stepd_leave(void);

#endif
