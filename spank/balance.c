/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "common/ranks.h"
#include "common/tell.h"
#include "common/page.h"
#include "policy/balance.h"
#include "spank/balance.h"
#include "spank/useropts.h"

/* Variable with the page for libhpcb_mpi.so. */
#define PAGE_VARIABLE "HPCB_PAGE"

static struct {
    bool wanted;     /* the step is to be balanced */
    bool saved;      /* hpcbd knows of it */
    const char *why; /* it is not */
    hpcb_ranks_t ranks;
} balance;

/* The step's own wish, else the job's, of which the record has no parameters. */
static const char *policy_of(const hpcb_step_t *step)
{
    const hpcb_options_t *given = hpcb_spank_options();

    if (given->balance[0])
        return hpcb_policy_balances(given->policy) ? given->balance : NULL;
    return hpcb_policy_balances(step->job.policy) &&
                   step->job.policy != HPCB_POLICY_STATIC
               ? hpcb_policy_name(step->job.policy)
               : NULL;
}

static bool hpcbd_runs(const hpcb_step_t *step)
{
    hpcb_autoclose int fd = hpcb_tell_connect(step->conf.state_dir, NULL);

    /* Busy is not gone. */
    return fd >= 0 || errno == EAGAIN;
}

/* "batch", "interactive" and "extern" are shells or nothing. */
static bool is_numbered(const char *step)
{
    return step[strspn(step, "0123456789")] == '\0';
}

/* Before tasks are forked: each has to know its own.  "" where a name would be too
 * long. */
static void name_pages(const hpcb_step_t *step)
{
    char node[HPCB_NAME_MAX];

    /* Nodes of a test share the file system. */
    if (snprintf(balance.ranks.page, sizeof(balance.ranks.page), "%s/%s.%" PRIu32 ".%s",
                 step->conf.balance_pages, hpcb_node_name(node, sizeof(node)),
                 step->job_id, step->name) >= (int)sizeof(balance.ranks.page))
        balance.ranks.page[0] = '\0';
}

/* Return whether this node can honour the option. */
static bool is_possible(const hpcb_step_t *step, const char *policy)
{
    hpcb_balance_conf_t conf;
    const char *bad;

    if (hpcb_balance_conf_parse(policy, &conf, &bad)) {
        hpcb_log(HPCB_LOG_INFO,
                 "job %u: its ranks are not balanced: %.64s is wrong from \"%.32s\" on",
                 step->job_id, policy, bad);
        return false;
    }
    if (hpcbd_runs(step))
        return true;
    balance.why = "hpcbd does not run";
    hpcb_log(HPCB_LOG_INFO,
             "job %u: its ranks are not balanced, only their waits are turned: %s",
             step->job_id, balance.why);
    return false;
}

void hpcb_spank_balance_decide(const hpcb_step_t *step)
{
    const char *policy;

    memset(&balance, 0, sizeof(balance));
    if (!step->recorded || !step->tasks || step->klass != HPCB_CLASS_PRIMARY ||
        !is_numbered(step->name))
        return;
    policy = policy_of(step);
    if (!policy || !is_possible(step, policy))
        return;
    balance.wanted = true;
    balance.ranks.job_id = step->job_id;
    snprintf(balance.ranks.step, sizeof(balance.ranks.step), "%s", step->name);
    snprintf(balance.ranks.policy, sizeof(balance.ranks.policy), "%s", policy);
    name_pages(step);
}

/* A page that the environment names already is another job's or the user's, and tasks
 * of this step would write to it.  Who just says --hpc-balance gets what there is. */
void hpcb_spank_balance_user(spank_t sp)
{
    spank_unsetenv(sp, PAGE_VARIABLE);
    if (balance.why && hpcb_spank_options()->policy != HPCB_POLICY_AUTO)
        slurm_spank_log("hpc_balance: --hpc-balance=%.64s has no effect on this node "
                        "but on waits: %s",
                        hpcb_spank_options()->balance, balance.why);
}

/* Anybody who can write to the directory could replace a page by another file. */
static int open_pages(const char *dir, hpcb_error_t *err)
{
    int fd;

    if ((mkdir(dir, 0755) < 0 && errno != EEXIST) || hpcb_file_trusted(dir, err))
        return -1;
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    return fd < 0 ? hpcb_error(err, "%.300s: %s", dir, strerror(errno)) : fd;
}

static int make_page(spank_t sp, const hpcb_step_t *step, unsigned task,
                     hpcb_error_t *err)
{
    hpcb_autoclose int dir = open_pages(step->conf.balance_pages, err);
    hpcb_autoclose int fd = -1;
    char name[PATH_MAX];
    gid_t gid;

    if (dir < 0)
        return -1;
    if (spank_get_item(sp, S_JOB_GID, &gid) != ESPANK_SUCCESS)
        return hpcb_error(err, "Slurm does not say which group the job has");
    snprintf(name, sizeof(name), "%s.%u", strrchr(balance.ranks.page, '/') + 1, task);
    unlinkat(dir, name, 0);
    fd = hpcb_page_create(dir, name, step->uid, gid);
    return fd < 0 ? hpcb_error(err, "%.300s/%.100s: %s", step->conf.balance_pages, name,
                               strerror(errno))
                  : 0;
}

static void remove_pages(void)
{
    char path[PATH_MAX + 16];

    for (unsigned i = 0; *balance.ranks.page && i < balance.ranks.n; i++) {
        snprintf(path, sizeof(path), "%s.%u", balance.ranks.page, i);
        unlink(path);
    }
}

/* Without pages ranks are compared by what the kernel knows of them. */
static void add_page(spank_t sp, const hpcb_step_t *step, unsigned task)
{
    hpcb_error_t err;

    if (!*balance.ranks.page || make_page(sp, step, task, &err) == 0)
        return;
    hpcb_log(HPCB_LOG_INFO, "job %u: its ranks cannot say how they fare: %s",
             step->job_id, err.text);
    remove_pages();
    balance.ranks.page[0] = '\0';
}

static void give_up(const hpcb_step_t *step, const char *why)
{
    hpcb_log(HPCB_LOG_INFO, "job %u: its ranks are not balanced: %s", step->job_id,
             why);
    remove_pages();
    balance.wanted = false;
}

/* All ranks are known: hpcbd is notified of the last one (spank/tell.c). */
static void save(spank_t sp, const hpcb_step_t *step)
{
    hpcb_error_t err;
    uint16_t cpus;

    if (spank_get_item(sp, S_JOB_NCPUS, &cpus) == ESPANK_SUCCESS)
        balance.ranks.cpus = cpus;
    if (hpcb_ranks_save(step->conf.state_dir, &balance.ranks, &err) < 0) {
        give_up(step, err.text);
        return;
    }
    balance.saved = true;
}

void hpcb_spank_balance_task(spank_t sp, const hpcb_step_t *step, pid_t pid)
{
    hpcb_ranks_t *ranks = &balance.ranks;
    uint32_t tasks;
    uint64_t start;

    if (!balance.wanted)
        return;
    if (spank_get_item(sp, S_JOB_LOCAL_TASK_COUNT, &tasks) != ESPANK_SUCCESS ||
        tasks > HPCB_RANKS_MAX || hpcb_task_start(pid, &start) < 0) {
        give_up(step, "there are too many, or none");
        return;
    }
    add_page(sp, step, ranks->n);
    ranks->task[ranks->n++] = (hpcb_ranks_task_t){pid, start};
    if (ranks->n == tasks)
        save(sp, step);
}

void hpcb_spank_balance_env(spank_t sp)
{
    char path[PATH_MAX + 16];
    int task;

    if (!balance.wanted || !*balance.ranks.page ||
        spank_get_item(sp, S_TASK_ID, &task) != ESPANK_SUCCESS)
        return;
    snprintf(path, sizeof(path), "%s.%d", balance.ranks.page, task);
    spank_setenv(sp, PAGE_VARIABLE, path, 1);
}

void hpcb_spank_balance_exit(const hpcb_step_t *step)
{
    hpcb_error_t err;

    /* Also if not all tasks could be launched. */
    remove_pages();
    if (!balance.saved)
        return;
    if (hpcb_ranks_remove(step->conf.state_dir, step->job_id, step->name, &err) < 0)
        hpcb_log(HPCB_LOG_INFO, "%s", err.text);
    hpcb_tell(step->conf.state_dir, "job", step->job_id, NULL);
    balance.saved = false;
}
