/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Output of hpcb-sim replay. */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "sim/model.h"
#include "sim/replay.h"

/* Influences on the figures that are not simulated. */
static const char *const not_simulated[] = {
    "memory bandwidth", "topology",     "GRES",         "partitions",
    "priorities",       "dependencies", "reservations",
};

static void put(json_object *object, const char *name, json_object *value)
{
    json_object_object_add(object, name, value);
}

static json_object *describe_history(const hpcb_sim_order_t *order,
                                     const hpcb_sim_history_t *history)
{
    json_object *said = json_object_new_object(), *passed = json_object_new_object();

    hpcb_sim_put_text(said, "file", order->path);
    hpcb_sim_put_int(said, "lines", (int64_t)history->lines);
    hpcb_sim_put_int(said, "jobs", (int64_t)history->n);
    hpcb_sim_put_int(said, "unsorted", (int64_t)history->unsorted);
    for (unsigned i = 0; i < HPCB_SIM_REASONS; i++)
        hpcb_sim_put_int(passed, hpcb_sim_reason_name((hpcb_sim_reason_t)i),
                         (int64_t)history->passed_over[i]);
    put(said, "passed_over", passed);
    return said;
}

static json_object *describe_cluster(const hpcb_sim_cluster_t *cluster)
{
    json_object *said = json_object_new_object();

    hpcb_sim_put_int(said, "nodes", cluster->nodes);
    hpcb_sim_put_int(said, "cpus_per_node", cluster->cpus);
    hpcb_sim_put_int(said, "memory_mib_per_node", cluster->memory / 1024);
    hpcb_sim_put_real(said, "guest_part", cluster->guest_part);
    hpcb_sim_put_real(said, "guest_cost", cluster->guest_cost);
    hpcb_sim_put_real(said, "guest_max_slowdown", cluster->max_slowdown);
    hpcb_sim_put_real(said, "guest_time", hpcb_sim_guest_time(cluster));
    hpcb_sim_put_real(said, "guest_limit", cluster->guest_limit);
    put(said, "requeue", json_object_new_boolean(!cluster->no_requeue));
    hpcb_sim_put_real(said, "nice_share", cluster->nice_share);
    hpcb_sim_put_int(said, "window_start", cluster->from);
    hpcb_sim_put_int(said, "window_end", cluster->to);
    hpcb_sim_put_int(said, "seed", (int64_t)cluster->seed);
    return said;
}

static json_object *describe_assumed(const hpcb_sim_assumed_t *assumed)
{
    json_object *said = json_object_new_object();

    hpcb_sim_put_int(said, "cpu_time", (int64_t)assumed->load);
    hpcb_sim_put_int(said, "memory_asked", (int64_t)assumed->memory_asked);
    hpcb_sim_put_int(said, "memory_used", (int64_t)assumed->memory_used);
    hpcb_sim_put_int(said, "time_limit", (int64_t)assumed->limit);
    return said;
}

static json_object *describe_regime(const hpcb_sim_figures_t *figures)
{
    json_object *said = json_object_new_object();

    hpcb_sim_put_int(said, "jobs", (int64_t)figures->jobs);
    hpcb_sim_put_real(said, "throughput_jobs_per_hour",
                      figures->throughput_jobs_per_hour);
    hpcb_sim_put_real(said, "efficiency", figures->efficiency);
    hpcb_sim_put_real(said, "turnaround_mean_seconds", figures->turnaround_mean_s);
    hpcb_sim_put_real(said, "guest_cpu_seconds", figures->guest_cpu_seconds);
    hpcb_sim_put_real(said, "primary_slowdown_mean", figures->primary_slowdown_mean);
    hpcb_sim_put_int(said, "guests", (int64_t)figures->guests);
    hpcb_sim_put_real(said, "period_seconds", figures->period_s);
    hpcb_sim_put_real(said, "makespan_seconds", figures->makespan_s);
    hpcb_sim_put_real(said, "cpu_seconds", figures->cpu_seconds);
    hpcb_sim_put_real(said, "left_idle_cpu_seconds", figures->left_idle_cpu_seconds);
    hpcb_sim_put_real(said, "primary_turnaround_mean_seconds",
                      figures->primary_turnaround_mean_s);
    hpcb_sim_put_real(said, "guest_turnaround_mean_seconds",
                      figures->guest_turnaround_mean_s);
    hpcb_sim_put_real(said, "lost_cpu_seconds", figures->lost_cpu_seconds);
    hpcb_sim_put_int(said, "evictions", (int64_t)figures->evictions);
    hpcb_sim_put_int(said, "starved", (int64_t)figures->starved);
    hpcb_sim_put_int(said, "cancelled", (int64_t)figures->cancelled);
    hpcb_sim_put_int(said, "timeouts", (int64_t)figures->timeouts);
    hpcb_sim_put_int(said, "guest_timeouts", (int64_t)figures->guest_timeouts);
    return said;
}

hpcb_sim_load_t hpcb_sim_offered(const hpcb_sim_cluster_t *cluster,
                                 const hpcb_sim_history_t *history)
{
    double there =
        (double)cluster->nodes * cluster->cpus * (double)(cluster->to - cluster->from);
    hpcb_sim_load_t load = {-1, -1};

    if (there <= 0)
        return load;
    load = (hpcb_sim_load_t){0, 0};
    for (size_t i = 0; i < history->n; i++) {
        double asks = (double)history->job[i].cpus * (double)history->job[i].run;

        load.all += asks / there;
        load.guests += hpcb_sim_is_guest(cluster, history, i) ? asks / there : 0;
    }
    return load;
}

static void put_load(json_object *all, const char *name, double load)
{
    if (load >= 0)
        hpcb_sim_put_real(all, name, load);
    else
        put(all, name, NULL);
}

static json_object *describe_limits(void)
{
    json_object *list = json_object_new_array();

    for (size_t i = 0; i < sizeof(not_simulated) / sizeof(not_simulated[0]); i++)
        json_object_array_add(list, json_object_new_string(not_simulated[i]));
    return list;
}

json_object *hpcb_sim_replay_json(const hpcb_sim_outcome_t *outcome)
{
    json_object *all = json_object_new_object(), *regimes = json_object_new_object();
    hpcb_sim_load_t load = hpcb_sim_offered(&outcome->order->cluster, outcome->history);

    put(all, "history", describe_history(outcome->order, outcome->history));
    put(all, "cluster", describe_cluster(&outcome->order->cluster));
    put(all, "assumed", describe_assumed(&outcome->assumed));
    put_load(all, "offered_load", load.all);
    put_load(all, "offered_guest_load", load.guests);
    put(all, "not_simulated", describe_limits());
    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++)
        put(regimes, hpcb_sim_regime_names[i], describe_regime(&outcome->figures[i]));
    put(all, "regimes", regimes);
    return all;
}

static void print_row(const char *name, const hpcb_sim_figures_t *figures)
{
    printf(
        "%-14s %8.2f %7.2f %12.0f %12.0f %10.0f %+9.2f%% %8" PRIu64 " %9" PRIu64 "\n",
        name, figures->throughput_jobs_per_hour, 100 * figures->efficiency,
        figures->primary_turnaround_mean_s, figures->guest_turnaround_mean_s,
        figures->guest_cpu_seconds / 3600, 100 * (figures->primary_slowdown_mean - 1),
        figures->timeouts, figures->evictions);
}

static void print_restriction(const hpcb_sim_cluster_t *cluster)
{
    double time = hpcb_sim_guest_time(cluster);

    if (time < 1)
        printf("GuestMaxSlowdown=%g%% is less than guests cost (--guest-cost): on "
               "nodes of primaries they run for %.3g %% of the time.\n",
               100 * cluster->max_slowdown, 100 * time);
}

static void print_notes(const hpcb_sim_outcome_t *outcome)
{
    uint64_t late = outcome->figures[HPCB_SIM_GUESTS_MEMORY].guest_timeouts;
    hpcb_sim_load_t load = hpcb_sim_offered(&outcome->order->cluster, outcome->history);

    printf(
        "\nIn the history primaries left %.0f of their allocated CPU hours idle: the "
        "most that guests next to them could have had.\n",
        outcome->figures[HPCB_SIM_GUESTS].left_idle_cpu_seconds / 3600);
    if (load.all >= 0)
        printf("Jobs ask for %.3g %% of the CPUs' time, guests among them for %.3g %%. "
               "%s\n",
               100 * load.all, 100 * load.guests,
               load.all < 1
                   ? "What is submitted gets done in any regime: compare turnaround, "
                     "not throughput."
                   : "More than there is: compare throughput and efficiency; "
                     "turnaround grows with the length of the history.");
    if (late > 0)
        printf("%" PRIu64 " guests with lent memory ran into their time limits: "
               "--guest-limit says what longer ones would give.\n",
               late);
    print_restriction(&outcome->order->cluster);
    printf("Not simulated:");
    for (size_t i = 0; i < sizeof(not_simulated) / sizeof(not_simulated[0]); i++)
        printf("%s %s", i > 0 ? "," : "", not_simulated[i]);
    printf(".\n");
}

void hpcb_sim_replay_table(const hpcb_sim_outcome_t *outcome)
{
    printf("%zu jobs\n\n%-14s %8s %7s %12s %12s %10s %10s %8s %9s\n"
           "%-14s %8s %7s %12s %12s %10s %10s %8s %9s\n",
           outcome->history->n, "", "jobs/h", "eff. %", "turnaround", "turnaround",
           "guests'", "primaries", "timed", "requeued", "", "", "", "primaries s",
           "guests s", "CPU h", "slower", "out", "guests");
    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++)
        print_row(hpcb_sim_regime_names[i], &outcome->figures[i]);
    print_notes(outcome);
}

static void complain_late(const hpcb_sim_order_t *order,
                          const hpcb_sim_history_t *history, unsigned reason)
{
    const hpcb_sim_cluster_t *cluster = &order->cluster;

    fprintf(stderr, "hpcb-sim: %s: %" PRIu64 " jobs passed over (%s: ", order->path,
            history->passed_over[reason],
            hpcb_sim_reason_name((hpcb_sim_reason_t)reason));
    if (reason == HPCB_SIM_OUTSIDE)
        fprintf(stderr, "not between --start and --end)\n");
    else
        fprintf(stderr,
                "more CPUs or memory than %" PRIu32 " nodes of %" PRIu32
                " CPUs and %" PRId64 " MiB have)\n",
                cluster->nodes, cluster->cpus, cluster->memory / 1024);
}

void hpcb_sim_replay_complain(const hpcb_sim_order_t *order,
                              const hpcb_sim_history_t *history)
{
    for (unsigned i = 0; i < HPCB_SIM_REASONS; i++) {
        if (history->passed_over[i] == 0)
            continue;
        if (history->first_line[i] > 0)
            fprintf(stderr,
                    "hpcb-sim: %s:%" PRIu64 ": passed over (%s: %s); %" PRIu64
                    " such lines\n",
                    order->path, history->first_line[i],
                    hpcb_sim_reason_name((hpcb_sim_reason_t)i), history->first_text[i],
                    history->passed_over[i]);
        else
            complain_late(order, history, i);
    }
    if (history->unsorted > 0)
        fprintf(
            stderr,
            "hpcb-sim: %s: %" PRIu64
            " jobs were not in the order of their submission, and have been sorted\n",
            order->path, history->unsorted);
}
