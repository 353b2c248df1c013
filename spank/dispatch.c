/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The SPANK entry points, and the one place that asks in which process we are.
 *
 * hook x context x what we may do (Slurm 22.05 … 26.05; "-": Slurm does not call it)
 *
 * hook                  process, identity              what we do
 * --------------------  -----------------------------  ------------------------------
 * init                  srun, sbatch, salloc (user)    register the options
 *                       slurmd (root, before it        register the options: no file,
 *                        daemonizes)                    socket, thread or fork
 *                       slurmstepd (root)              register the options
 *                       prolog, epilog: -              nothing, if ever called:
 *                                                       registering would hide the
 *                                                       job's options from us
 * option callback       srun, sbatch, salloc           parse, note what is wrong
 *                       slurmstepd (root)              keep as a hint, never fail
 * job_prolog            own slurmstepd (root), once    record class and policy
 *                        per job and node
 * init_post_opt         srun, sbatch, salloc           wrong options: one line, exit(1)
 *                        (nothing submitted yet)
 *                       slurmstepd (root, before       configuration, record, node;
 *                        the I/O of tasks is set up)    a guest's on v2 lifts itself
 *                       slurmd                         nothing
 * user_init             slurmstepd (euid = user, its   environment of the tasks; lines
 *                        I/O reaches the user)          for the user
 * task_init_privileged  the forked task (root)         guests: oom_score_adj
 * task_post_fork        slurmstepd (root), the task    meter; guests: isolate, keep
 *                        waits; also for the extern     them from running beside
 *                        step, as task -1 without pid   primaries on a core, and watch
 *                                                       over that and their end in a
 *                                                       thread of our own; hpcbd is
 *                                                       notified of the last one
 * task_init             the task (user), released,     guests: verify, or end the task;
 *                        its stdio in place; not in     balanced: name its page
 *                        the extern step
 * task_exit             slurmstepd (root), the task    read what Slurm's cgroups say
 *                        is reaped, the step's
 *                        cgroups are still there
 * exit                  slurmstepd (root), the step's  end the thread, fold the step's
 *                        v1 cgroups are gone (on v2     usage, take back pages and
 *                        it is still in its own)        ranks
 *                       elsewhere                      nothing
 * job_epilog            own slurmstepd (root), before  nothing; epilog=yes: clean up
 *                        the Epilog script
 *
 * Every hook returns 0 whatever happens (with a `required` line an error would drain
 * the node) and nothing waits: all I/O is on small files in kernel file systems and in
 * StateDir.  One does not return: job_prolog of a guest that this node can neither
 * record nor mark (spank/jobscript.c).
 */
#include "config.h"

#include "common/compat.h"
#include "spank/args.h"
#include "spank/balance.h"
#include "spank/dying.h"
#include "spank/extern.h"
#include "spank/isolate.h"
#include "spank/jobscript.h"
#include "spank/log.h"
#include "spank/setup.h"
#include "spank/siblings.h"
#include "spank/stepd.h"
#include "spank/tell.h"
#include "spank/usage.h"
#include "spank/useropts.h"
#include "spank/window.h"
#include "spank/yield.h"

/* The build hides every symbol that is not marked. */
#define ENTRY __attribute__((visibility("default")))

/* Definitions of spank.h's SPANK_PLUGIN, but visible.  The name is part of the name of
 * each option in a job's environment. */
extern ENTRY const char plugin_name[], plugin_type[];
extern ENTRY const unsigned int plugin_version;
const char plugin_name[] = "hpc_balance";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;

#ifdef HPCB_SPANK_HAS_INIT_FAILURE_MODE
extern ENTRY int slurm_spank_init_failure_mode;
int slurm_spank_init_failure_mode = ESPANK_JOB_FAILURE;
#endif

typedef enum {
    HOOK_INIT,
    HOOK_INIT_POST_OPT,
    HOOK_JOB_PROLOG,
    HOOK_USER_INIT,
    HOOK_TASK_INIT_PRIVILEGED,
    HOOK_TASK_POST_FORK,
    HOOK_TASK_INIT,
    HOOK_TASK_EXIT,
    HOOK_EXIT,
    HOOK_JOB_EPILOG
} hook_t;

static pid_t waiting_pid(spank_t sp, const hpcb_step_t *step)
{
    pid_t pid;

    if (!step->tasks)
        return hpcb_spank_extern_pid();
    return spank_get_item(sp, S_TASK_PID, &pid) == ESPANK_SUCCESS ? pid : 0;
}

static void task_post_fork(spank_t sp, const hpcb_step_t *step)
{
    pid_t pid = waiting_pid(sp, step);
    int task;

    if (pid <= 0)
        return;
    if (spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS || task < 0)
        task = 0;
    hpcb_spank_usage_attach(step, (uint32_t)task, pid);
    hpcb_spank_isolate_task(step, pid);
    hpcb_spank_isolate_primary(sp, step, pid);
    hpcb_spank_siblings_task(step, pid);
    hpcb_spank_stepd_settle(step, pid);
    hpcb_spank_dying_watch(step, pid);
    hpcb_spank_balance_task(sp, step, pid);
    hpcb_spank_tell_task(sp, step, pid);
}

static void in_step(hook_t hook, spank_t sp, const hpcb_step_t *step)
{
    switch (hook) {
    case HOOK_INIT_POST_OPT:
        hpcb_spank_usage_array(sp, step);
        hpcb_spank_stepd_open(step);
        hpcb_spank_yield_decide(step);
        hpcb_spank_balance_decide(step);
        break;
    case HOOK_USER_INIT:
        hpcb_spank_yield_env(sp, step);
        hpcb_spank_window_user(step);
        hpcb_spank_balance_user(sp);
        break;
    case HOOK_TASK_INIT_PRIVILEGED:
        hpcb_spank_isolate_privileged(step);
        break;
    case HOOK_TASK_POST_FORK:
        task_post_fork(sp, step);
        break;
    case HOOK_TASK_INIT:
        hpcb_spank_isolate_verify(step);
        hpcb_spank_balance_env(sp);
        break;
    case HOOK_TASK_EXIT:
        hpcb_spank_usage_task_exit(sp, step);
        break;
    case HOOK_EXIT:
        hpcb_spank_dying_stop();
        hpcb_spank_stepd_leave();
        hpcb_spank_siblings_exit(step);
        hpcb_spank_balance_exit(step);
        hpcb_spank_usage_exit(step);
        hpcb_spank_step_close();
        break;
    default:
        break;
    }
}

static void in_slurmstepd(hook_t hook, spank_t sp, const hpcb_spank_args_t *args)
{
    const hpcb_step_t *step;

    if (hook == HOOK_INIT)
        (void)hpcb_spank_options_register(sp);
    if (hook == HOOK_INIT_POST_OPT)
        hpcb_spank_step_open(sp, args);
    step = hpcb_spank_step();
    if (step)
        in_step(hook, sp, step);
}

static void in_job_script(hook_t hook, spank_t sp, const hpcb_spank_args_t *args)
{
    if (hook == HOOK_JOB_PROLOG)
        hpcb_spank_job_prolog(sp, args);
    else if (hook == HOOK_JOB_EPILOG)
        hpcb_spank_job_epilog(sp, args);
}

static void in_command(hook_t hook, spank_t sp)
{
    if (hook == HOOK_INIT)
        (void)hpcb_spank_options_register(sp);
    else if (hook == HOOK_INIT_POST_OPT)
        hpcb_spank_options_enforce();
}

static int dispatch(hook_t hook, spank_t sp, int ac, char *av[])
{
    hpcb_spank_args_t args;

    hpcb_spank_log_on();
    switch (spank_context()) {
    case S_CTX_LOCAL:
    case S_CTX_ALLOCATOR:
        in_command(hook, sp);
        break;
    case S_CTX_SLURMD:
        if (hook == HOOK_INIT)
            (void)hpcb_spank_options_register(sp);
        break;
    case S_CTX_REMOTE:
        hpcb_spank_args(ac, av, &args);
        in_slurmstepd(hook, sp, &args);
        break;
    case S_CTX_JOB_SCRIPT:
        hpcb_spank_args(ac, av, &args);
        in_job_script(hook, sp, &args);
        break;
    default:
        break;
    }
    return 0;
}

#define HOOK(function, hook)                                                           \
    extern ENTRY spank_f function;                                                     \
    int function(spank_t sp, int ac, char *av[])                                       \
    {                                                                                  \
        return dispatch(hook, sp, ac, av);                                             \
    }

HOOK(slurm_spank_init, HOOK_INIT)
HOOK(slurm_spank_init_post_opt, HOOK_INIT_POST_OPT)
HOOK(slurm_spank_job_prolog, HOOK_JOB_PROLOG)
HOOK(slurm_spank_user_init, HOOK_USER_INIT)
HOOK(slurm_spank_task_init_privileged, HOOK_TASK_INIT_PRIVILEGED)
HOOK(slurm_spank_task_post_fork, HOOK_TASK_POST_FORK)
HOOK(slurm_spank_task_init, HOOK_TASK_INIT)
HOOK(slurm_spank_task_exit, HOOK_TASK_EXIT)
HOOK(slurm_spank_exit, HOOK_EXIT)
HOOK(slurm_spank_job_epilog, HOOK_JOB_EPILOG)
