/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include "common/tasks.h"
#include "spank/gain.h"

#define SECOND_US 1000000U
/* Before that there is nothing to say. */
#define SHORTEST_US (2 * SECOND_US)

/* D-HH:MM:SS as Slurm's commands print it. */
static const char *print_time(uint64_t us, char *text, size_t size)
{
    uint64_t seconds = us / SECOND_US, days = seconds / 86400;
    int used = days ? snprintf(text, size, "%" PRIu64 "-", days) : 0;

    snprintf(text + used, size - (size_t)used, "%02u:%02u:%02u",
             (unsigned)(seconds / 3600 % 24), (unsigned)(seconds / 60 % 60),
             (unsigned)(seconds % 60));
    return text;
}

static uint64_t elapsed_us(const hpcb_step_t *step)
{
    struct timespec now;
    uint64_t us;

    if (clock_gettime(CLOCK_REALTIME, &now))
        return 0;
    us = (uint64_t)now.tv_sec * SECOND_US + (uint64_t)now.tv_nsec / 1000;
    return us > step->job.begin_us ? us - step->job.begin_us : 0;
}

/* All of its steps.  A total of the job has what the steps have. */
static uint64_t cpu_of_job(const hpcb_step_t *step, const hpcb_usage_t *usage,
                           hpcb_usage_scope_t scope)
{
    hpcb_usage_t steps = {0};

    if (scope != HPCB_USAGE_JOB)
        hpcb_state_usage(step->conf.state_dir, step->job_id, &steps, NULL);
    return steps.cpu_us + usage->cpu_us;
}

/* Of the ranks that ended: mean CPU time by the highest, in percent, of the step with
 * the most ranks; 0 if there are not two. */
static unsigned load_balance(const hpcb_step_t *step, unsigned *ranks)
{
    static hpcb_task_usage_t tasks[HPCB_TASKS_MAX];
    size_t count = hpcb_tasks_load(step->conf.state_dir, step->job_id, tasks);
    unsigned balance = 0;

    *ranks = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0, most = 0;
        unsigned n = 0;

        for (size_t k = 0; k < count; k++) {
            if (strcmp(tasks[k].step, tasks[i].step) != 0)
                continue;
            sum += tasks[k].cpu_us;
            most = tasks[k].cpu_us > most ? tasks[k].cpu_us : most;
            n++;
        }
        if (n > *ranks && n > 1 && most > 0) {
            *ranks = n;
            balance = (unsigned)(sum * 100 / n / most);
        }
    }
    return balance;
}

static void print_guest(unsigned cpus, uint64_t cpu_us, uint64_t wall_us,
                        unsigned percent)
{
    char cpu[32], wall[32];

    slurm_spank_log("hpc_balance: this guest got %s of CPU time on this node, %u%% of "
                    "%u CPU%s for %s",
                    print_time(cpu_us, cpu, sizeof(cpu)), percent, cpus,
                    cpus == 1 ? "" : "s", print_time(wall_us, wall, sizeof(wall)));
}

static void print_balanced(const hpcb_step_t *step, unsigned cpus, uint64_t wall_us,
                           unsigned percent)
{
    char wall[32], ranks_text[80] = "";
    unsigned ranks, balance = load_balance(step, &ranks);

    if (ranks)
        snprintf(ranks_text, sizeof(ranks_text),
                 "; load balance of %u ranks %u%% (mean CPU time by the highest)",
                 ranks, balance);
    slurm_spank_log("hpc_balance: this job used %u%% of %u CPU%s on this node "
                    "for %s and left the rest to guests%s",
                    percent, cpus, cpus == 1 ? "" : "s",
                    print_time(wall_us, wall, sizeof(wall)), ranks_text);
}

void hpcb_spank_gain_print(spank_t sp, const hpcb_step_t *step,
                           const hpcb_usage_t *usage, hpcb_usage_scope_t scope)
{
    uint64_t wall_us = elapsed_us(step), cpu_us;
    uint16_t cpus = 0;
    unsigned percent;

    if (!step->recorded || strcmp(step->name, "batch") != 0 || wall_us < SHORTEST_US ||
        spank_get_item(sp, S_JOB_NCPUS, &cpus) != ESPANK_SUCCESS || cpus == 0)
        return;
    cpu_us = cpu_of_job(step, usage, scope);
    percent = (unsigned)(cpu_us * 100 / wall_us / cpus);
    if (step->klass == HPCB_CLASS_GUEST)
        print_guest(cpus, cpu_us, wall_us, percent);
    else if (step->job.policy != HPCB_POLICY_NONE)
        print_balanced(step, cpus, wall_us, percent);
}
