/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Figures of a regime.  Rates are those of the window, which is the same for all
 * regimes: the time until the last job has ended depends on that single job, and says
 * little about a site in operation.  If all jobs were submitted at once there is no
 * window; it then ends with the last of them.
 */
#include "config.h"

#include "sim/cluster_parts.h"

static double seconds(double ns)
{
    return ns / (double)HPCB_SIM_SECOND;
}

/* CPU seconds of work. */
static double cpu_of(const hpcb_sim_state_t *state, uint32_t job, double work_ns)
{
    const hpcb_sim_past_t *past = &state->history->job[job];

    return (double)past->load * seconds(work_ns) * past->cpus;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Return which part of the run that ends now was in the window. */
static double inside(const hpcb_sim_state_t *state, uint32_t job)
{
    int64_t start = state->run[job].start_ns, end = state->now_ns;
    int64_t from = state->conf->from * HPCB_SIM_SECOND,
            to = state->conf->to * HPCB_SIM_SECOND;

    from = from > start ? from : start;
    to = smaller(to, end);
    return end > start && to > from ? (double)(to - from) / (double)(end - start) : 0;
}

static void count_primary(hpcb_sim_sums_t *sums, double elapsed_ns, double done_ns)
{
    if (done_ns <= 0)
        return;
    sums->primary_ends++;
    sums->slowdown += elapsed_ns / done_ns;
}

static void add(double sums[2], double value, double part)
{
    sums[0] += value;
    sums[1] += value * part;
}

void hpcb_sim_count_end(hpcb_sim_state_t *state, uint32_t job, bool timed_out)
{
    const hpcb_sim_past_t *past = &state->history->job[job];
    hpcb_sim_sums_t *sums = &state->sums;
    double done = hpcb_sim_done_ns(state, job), cpu = cpu_of(state, job, done);
    double elapsed = (double)(state->now_ns - state->run[job].start_ns);
    double turnaround =
        seconds((double)(state->now_ns - past->submit * HPCB_SIM_SECOND));
    double part = inside(state, job);
    /* Turnaround distinguishes both classes also without guests, for comparison. */
    bool guest = hpcb_sim_is_guest(state->conf, state->history, job);

    sums->last_ns = state->now_ns;
    if (!guest)
        count_primary(sums, elapsed, done);
    if (timed_out) {
        sums->timeouts++;
        sums->guest_timeouts += guest;
        sums->lost_cpu += cpu;
        return;
    }
    sums->ended[0]++;
    sums->ended[1] += state->now_ns <= state->conf->to * HPCB_SIM_SECOND;
    sums->turnaround += turnaround;
    add(sums->cpu, cpu, part);
    if (guest) {
        sums->guests++;
        if (state->regime != HPCB_SIM_DEDICATED)
            add(sums->guest_cpu, cpu, part);
        return;
    }
    sums->primaries++;
    add(sums->idle, (1 - (double)past->load) * seconds(done) * past->cpus, part);
    sums->primary_turnaround += turnaround;
}

void hpcb_sim_count_lost(hpcb_sim_state_t *state, uint32_t job)
{
    state->sums.evictions++;
    state->sums.cancelled += state->conf->no_requeue;
    state->sums.lost_cpu += cpu_of(state, job, hpcb_sim_done_ns(state, job));
}

static double mean(double sum, uint64_t n)
{
    return n > 0 ? sum / (double)n : 0;
}

void hpcb_sim_sum_up(const hpcb_sim_state_t *state, hpcb_sim_figures_t *figures)
{
    const hpcb_sim_sums_t *sums = &state->sums;
    const hpcb_sim_cluster_t *conf = state->conf;
    unsigned window = conf->to > conf->from;
    double cpus = (double)conf->nodes * conf->cpus;
    double makespan =
        seconds((double)sums->last_ns) - (double)state->history->job[0].submit;
    double period = window ? (double)(conf->to - conf->from) : makespan;

    *figures = (hpcb_sim_figures_t){
        .jobs = sums->ended[0],
        .guests = state->regime == HPCB_SIM_DEDICATED ? 0 : sums->guests,
        .period_s = period,
        .makespan_s = makespan,
        .cpu_seconds = sums->cpu[window],
        .guest_cpu_seconds = sums->guest_cpu[window],
        .left_idle_cpu_seconds = sums->idle[window],
        .lost_cpu_seconds = sums->lost_cpu,
        .throughput_jobs_per_hour =
            period > 0 ? 3600 * (double)sums->ended[window] / period : 0,
        .efficiency = period > 0 ? sums->cpu[window] / (cpus * period) : 0,
        .turnaround_mean_s = mean(sums->turnaround, sums->ended[0]),
        .primary_turnaround_mean_s = mean(sums->primary_turnaround, sums->primaries),
        .guest_turnaround_mean_s =
            mean(sums->turnaround - sums->primary_turnaround, sums->guests),
        .primary_slowdown_mean =
            sums->primary_ends > 0 ? mean(sums->slowdown, sums->primary_ends) : 1,
        .evictions = sums->evictions,
        .starved = sums->starved,
        .cancelled = sums->cancelled,
        .timeouts = sums->timeouts,
        .guest_timeouts = sums->guest_timeouts,
    };
}
