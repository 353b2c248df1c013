/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* hpcb-sim replay: what guests would have given a site, by its own history. */
#include "config.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <json-c/json.h>

#include "common/error.h"
#include "sim/cluster.h"
#include "sim/from_records.h"
#include "sim/history.h"
#include "sim/replay.h"
#include "sim/replay_page.h"
#include "sim/sim.h"

#define LOOK_NS    200000000
#define AT_ONCE    10 /* times what the cluster can do meanwhile has been submitted */
#define JSON_STYLE (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED)

typedef struct {
    const hpcb_sim_cluster_t *cluster;
    const hpcb_sim_history_t *history;
    hpcb_sim_regime_t regime;
    hpcb_sim_progress_t progress;
    hpcb_sim_figures_t *figures;
    hpcb_error_t err;
    int rc;
    atomic_bool ended;
} work_t;

const char *const hpcb_sim_regime_names[HPCB_SIM_REGIMES] = {"dedicated", "nice",
                                                             "guests", "guests_memory"};

static void *work_on(void *argument)
{
    work_t *work = argument;

    hpcb_sim_progress_begin(&work->progress, 1);
    work->rc = hpcb_sim_cluster(work->cluster, work->regime, work->history,
                                &work->progress, work->figures, &work->err);
    work->ended = true;
    return NULL;
}

/* A line with the time left, on a terminal. */
static void watch(work_t work[])
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    struct timespec begin, now;

    if (!isatty(STDERR_FILENO))
        return;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    for (;;) {
        double part = 0, since;
        bool ended = true;

        nanosleep(&look, NULL);
        for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++) {
            part += work[i].progress.ppm / 1e6 / HPCB_SIM_REGIMES;
            ended &= work[i].ended;
        }
        if (ended)
            break;
        clock_gettime(CLOCK_MONOTONIC, &now);
        since = (double)(now.tv_sec - begin.tv_sec);
        if (part > 0)
            fprintf(stderr, "\r%5.1f %%, %.0f s left \033[K", 100 * part,
                    since * (1 - part) / part);
    }
    fprintf(stderr, "\r\033[K");
}

static int run_threads(work_t work[])
{
    pthread_t thread[HPCB_SIM_REGIMES];
    bool started[HPCB_SIM_REGIMES];

    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++) {
        started[i] = pthread_create(&thread[i], NULL, work_on, &work[i]) == 0;
        if (!started[i])
            work_on(&work[i]);
    }
    watch(work);
    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++)
        if (started[i])
            pthread_join(thread[i], NULL);
    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++) {
        if (work[i].rc < 0) {
            fprintf(stderr, "hpcb-sim: %s: %s\n", hpcb_sim_regime_names[i],
                    work[i].err.text);
            return -1;
        }
    }
    return 0;
}

static int run_regimes(hpcb_sim_outcome_t *outcome)
{
    work_t work[HPCB_SIM_REGIMES] = {0};

    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++) {
        work[i].cluster = &outcome->order->cluster;
        work[i].history = outcome->history;
        work[i].regime = (hpcb_sim_regime_t)i;
        work[i].figures = &outcome->figures[i];
    }
    return run_threads(work);
}

static int read_file(const hpcb_sim_order_t *order, hpcb_sim_history_t *history,
                     hpcb_error_t *err)
{
    FILE *stream = strcmp(order->path, "-") == 0 ? stdin : fopen(order->path, "re");
    int rc;

    if (!stream)
        return hpcb_error(err, "%s", strerror(errno));
    rc = order->read(stream, history, err);
    if (stream != stdin)
        fclose(stream);
    return rc;
}

static int read_history(const hpcb_sim_order_t *order, hpcb_sim_history_t *history)
{
    hpcb_error_t err = {""};
    int rc = order->read
                 ? read_file(order, history, &err)
                 : hpcb_sim_read_records(order->path, order->name, history, &err);

    if (rc == 0)
        rc = hpcb_sim_history_sort(history, &err);
    if (rc < 0)
        fprintf(stderr, "hpcb-sim: %s: %s\n", order->path, err.text);
    return rc;
}

static int print(const hpcb_sim_outcome_t *outcome)
{
    const hpcb_sim_order_t *order = outcome->order;
    json_object *all = hpcb_sim_replay_json(outcome);
    const char *text = json_object_to_json_string_ext(all, JSON_STYLE);
    int rc = 0;

    if (order->json)
        printf("%s\n", text);
    else if (!order->html)
        hpcb_sim_replay_table(outcome);
    if (order->html)
        rc = hpcb_sim_page(order->html, text);
    json_object_put(all);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "hpcb-sim: standard output: %s\n", strerror(errno));
        rc = -1;
    }
    return rc;
}

/* The time from the first submission to the last, if that is how long the cluster
 * worked for these jobs, and not only how long it took to submit them. */
static void set_window(hpcb_sim_order_t *order, const hpcb_sim_history_t *history)
{
    hpcb_sim_cluster_t *cluster = &order->cluster;

    cluster->from = order->start ? order->from : history->job[0].submit;
    cluster->to = order->end ? order->to : history->job[history->n - 1].submit;
    if (!order->start && !order->end &&
        hpcb_sim_offered(cluster, history).all > AT_ONCE)
        cluster->to = cluster->from;
}

/* Apply the requested part of the history, and assumed values; the window is known from
 * then on. */
static int prepare(hpcb_sim_order_t *order, hpcb_sim_history_t *history,
                   hpcb_sim_assumed_t *assumed)
{
    hpcb_sim_cluster_t *cluster = &order->cluster;
    hpcb_sim_shape_t shape = {
        .nodes = cluster->nodes, .cpus = cluster->cpus, .memory = cluster->memory};

    if (order->start || order->end)
        hpcb_sim_history_clip(history, order->from, order->to);
    *assumed = hpcb_sim_history_assume(history, cluster->seed, &shape);
    hpcb_sim_replay_complain(order, history);
    if (history->n == 0) {
        fprintf(stderr, "hpcb-sim: %s: no job that ran\n", order->path);
        return -1;
    }
    set_window(order, history);
    return 0;
}

static int replay(hpcb_sim_order_t *order)
{
    hpcb_sim_history_t history = {0};
    hpcb_sim_outcome_t outcome = {.order = order, .history = &history};
    int rc = read_history(order, &history);

    if (rc == 0)
        rc = prepare(order, &history, &outcome.assumed);
    if (rc == 0)
        rc = run_regimes(&outcome);
    if (rc == 0)
        rc = print(&outcome);
    hpcb_sim_history_free(&history);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const char help[] =
    "Usage: hpcb-sim replay (--swf FILE | --sacct FILE | --records DIR) --nodes N\n"
    "                       --cpus-per-node C [OPTION]...\n"
    "\n"
    "Run the jobs of a history again, without and with guests, and print gain and\n"
    "cost of guests.\n"
    "\n"
    "      --swf FILE          trace in the Standard Workload Format; - is standard\n"
    "                          input\n"
    "      --sacct FILE        output of sacct --parsable2\n"
    "      --records DIR       the collector's records: its CollectorDir\n"
    "      --cluster NAME      use records of this cluster, if there are several\n"
    "      --start TIME, --end TIME  replay this period, like sacct --truncate:\n"
    "                          2026-11-23T10:00 or seconds\n"
    "      --nodes N           nodes of the cluster\n"
    "      --cpus-per-node C   CPUs of each node\n"
    "      --memory MIB        memory of each node (default: 4096 for each CPU)\n"
    "      --guest-part PERCENT  part of the jobs that fit on a node that are guests\n"
    "                          (default: 25)\n"
    "      --guest-cost PERCENT  by how much guests slow primaries down\n"
    "                          (default: 0.7, measured)\n"
    "      --guest-max-slowdown PERCENT  GuestMaxSlowdown\n"
    "                          (default: 1; 0: no limit)\n"
    "      --guest-limit PERCENT  time limits of guests, in percent of those in the\n"
    "                          history (default: 100)\n"
    "      --nice-share PERCENT  share of a CPU for a nice guest next to a primary\n"
    "                          (default: 50, measured)\n"
    "      --no-requeue        cancel guests instead of requeueing (JobRequeue=0)\n"
    "      --seed N            seed of the selection of guests and of assumed values\n"
    "                          (default: 1)\n"
    "      --json              print one JSON object\n"
    "      --html FILE         write an HTML page\n";

int hpcb_sim_replay(int argc, char *argv[])
{
    hpcb_sim_order_t order = {0};

    if (hpcb_sim_replay_options(argc, argv, &order) < 0)
        return HPCB_SIM_USAGE;
    if (order.help) {
        fputs(help, stdout);
        return EXIT_SUCCESS;
    }
    return replay(&order);
}
