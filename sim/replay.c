/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* hpcb-sim replay: what guests would have given a site, by its own history. */
#include "config.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
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
#include "sim/model.h"
#include "sim/replay_page.h"
#include "sim/sim.h"

#define GIB_PER_CPU 4 /* of memory, if nobody says how much a node has */
#define LOOK_NS     200000000
#define JSON_STYLE  (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED)

typedef int (*reader_t)(FILE *, hpcb_sim_history_t *, hpcb_error_t *);

typedef struct {
    const char *path, *html;
    reader_t read; /* NULL: path is a CollectorDir */
    hpcb_sim_cluster_t cluster;
    bool json;
} order_t;

typedef struct {
    const order_t *order;
    const hpcb_sim_history_t *history;
    hpcb_sim_regime_t regime;
    hpcb_sim_progress_t progress;
    hpcb_sim_figures_t figures;
    hpcb_error_t err;
    int rc;
    atomic_bool ended;
} work_t;

static const char *const regime_names[] = {"dedicated", "nice", "guests",
                                           "guests_memory"};

static void *work_on(void *argument)
{
    work_t *work = argument;

    hpcb_sim_progress_begin(&work->progress, 1);
    work->rc = hpcb_sim_cluster(&work->order->cluster, work->regime, work->history,
                                &work->progress, &work->figures, &work->err);
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

static int run_regimes(work_t work[])
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
            fprintf(stderr, "hpcb-sim: %s: %s\n", regime_names[i], work[i].err.text);
            return -1;
        }
    }
    return 0;
}

static void put(json_object *object, const char *name, json_object *value)
{
    json_object_object_add(object, name, value);
}

static json_object *describe_history(const order_t *order,
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
    hpcb_sim_put_real(said, "nice_share", cluster->nice_share);
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
    hpcb_sim_put_real(said, "cpu_seconds", figures->cpu_seconds);
    hpcb_sim_put_real(said, "left_idle_cpu_seconds", figures->left_idle_cpu_seconds);
    hpcb_sim_put_real(said, "primary_turnaround_mean_seconds",
                      figures->primary_turnaround_mean_s);
    hpcb_sim_put_real(said, "guest_turnaround_mean_seconds",
                      figures->guest_turnaround_mean_s);
    hpcb_sim_put_int(said, "evictions", (int64_t)figures->evictions);
    return said;
}

static json_object *describe(const order_t *order, const hpcb_sim_history_t *history,
                             const hpcb_sim_assumed_t *assumed, const work_t work[])
{
    json_object *all = json_object_new_object(), *regimes = json_object_new_object();

    put(all, "history", describe_history(order, history));
    put(all, "cluster", describe_cluster(&order->cluster));
    put(all, "assumed", describe_assumed(assumed));
    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++)
        put(regimes, regime_names[i], describe_regime(&work[i].figures));
    put(all, "regimes", regimes);
    return all;
}

static void print_table(const hpcb_sim_history_t *history, const work_t work[])
{
    printf("%zu jobs\n\n%-15s %10s %8s %12s %16s %10s\n", history->n, "", "jobs/h",
           "eff. %", "turnaround s", "guests' CPU s", "primaries");
    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++) {
        const hpcb_sim_figures_t *figures = &work[i].figures;

        printf("%-15s %10.2f %8.2f %12.0f %16.0f %+9.2f%%\n", regime_names[i],
               figures->throughput_jobs_per_hour, 100 * figures->efficiency,
               figures->turnaround_mean_s, figures->guest_cpu_seconds,
               100 * (figures->primary_slowdown_mean - 1));
    }
    printf("\nIn the history jobs left %.0f CPU hours of what they held idle: the most "
           "that "
           "guests beside them could have had.\n",
           work[HPCB_SIM_DEDICATED].figures.left_idle_cpu_seconds / 3600);
}

static void tell_history(const order_t *order, const hpcb_sim_history_t *history)
{
    for (unsigned i = 0; i < HPCB_SIM_REASONS; i++) {
        const char *name = hpcb_sim_reason_name((hpcb_sim_reason_t)i);

        if (history->passed_over[i] == 0)
            continue;
        if (history->first_line[i] > 0)
            fprintf(stderr,
                    "hpcb-sim: %s:%" PRIu64 ": passed over (%s: %s); %" PRIu64
                    " such lines\n",
                    order->path, history->first_line[i], name, history->first_text[i],
                    history->passed_over[i]);
        else
            fprintf(stderr,
                    "hpcb-sim: %s: %" PRIu64
                    " jobs passed over (%s: more CPUs than the "
                    "%" PRIu64 " of --nodes and --cpus-per-node)\n",
                    order->path, history->passed_over[i], name,
                    (uint64_t)order->cluster.nodes * order->cluster.cpus);
    }
    if (history->unsorted > 0)
        fprintf(
            stderr,
            "hpcb-sim: %s: %" PRIu64
            " jobs were not in the order of their submission, and have been sorted\n",
            order->path, history->unsorted);
}

static int read_file(const order_t *order, hpcb_sim_history_t *history,
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

static int read_history(const order_t *order, hpcb_sim_history_t *history)
{
    hpcb_error_t err = {""};
    int rc = order->read ? read_file(order, history, &err)
                         : hpcb_sim_read_records(order->path, history, &err);

    if (rc == 0)
        rc = hpcb_sim_history_sort(history, &err);
    if (rc < 0)
        fprintf(stderr, "hpcb-sim: %s: %s\n", order->path, err.text);
    return rc;
}

static int print(const order_t *order, const hpcb_sim_history_t *history,
                 const hpcb_sim_assumed_t *assumed, const work_t work[])
{
    json_object *all = describe(order, history, assumed, work);
    const char *text = json_object_to_json_string_ext(all, JSON_STYLE);
    int rc = 0;

    if (order->json)
        printf("%s\n", text);
    else if (!order->html)
        print_table(history, work);
    if (order->html)
        rc = hpcb_sim_page(order->html, text);
    json_object_put(all);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "hpcb-sim: standard output: %s\n", strerror(errno));
        rc = -1;
    }
    return rc;
}

static int replay(const order_t *order)
{
    const hpcb_sim_cluster_t *cluster = &order->cluster;
    hpcb_sim_history_t history = {0};
    hpcb_sim_assumed_t assumed;
    work_t work[HPCB_SIM_REGIMES] = {0};
    int rc = read_history(order, &history);

    if (rc == 0) {
        assumed = hpcb_sim_history_assume(&history, cluster->seed,
                                          (uint64_t)cluster->nodes * cluster->cpus,
                                          cluster->memory / cluster->cpus);
        tell_history(order, &history);
        if (history.n == 0) {
            fprintf(stderr, "hpcb-sim: %s: no job that ran\n", order->path);
            rc = -1;
        }
    }
    for (unsigned i = 0; i < HPCB_SIM_REGIMES; i++) {
        work[i].order = order;
        work[i].history = &history;
        work[i].regime = (hpcb_sim_regime_t)i;
    }
    if (rc == 0)
        rc = run_regimes(work);
    if (rc == 0)
        rc = print(order, &history, &assumed, work);
    hpcb_sim_history_free(&history);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const char help[] =
    "Usage: hpcb-sim replay (--swf FILE | --sacct FILE | --records DIR) --nodes N\n"
    "                       --cpus-per-node C [OPTION]...\n"
    "\n"
    "Runs the jobs of a history again, without guests and with, and prints what they\n"
    "would have given and cost.\n"
    "\n"
    "      --swf FILE          in the Standard Workload Format; - is standard input\n"
    "      --sacct FILE        as sacct --parsable2 prints it\n"
    "      --records DIR       the collector's records: its CollectorDir\n"
    "      --nodes N           of the cluster\n"
    "      --cpus-per-node C   of each node\n"
    "      --memory MIB        of each node (default: 4096 for each CPU)\n"
    "      --guest-part PERCENT  of the jobs that fit on a node, those that are "
    "guests\n"
    "                          (default: 25)\n"
    "      --guest-cost PERCENT  by which primaries are slower beside guests\n"
    "                          (default: 0.7, measured)\n"
    "      --nice-share PERCENT  of a CPU that a nice guest has beside a primary\n"
    "                          (default: 50, measured: sessions are equals)\n"
    "      --seed N            which jobs are guests, and what is assumed (default: "
    "1)\n"
    "      --json              print one JSON object\n"
    "      --html FILE         write a page\n";

static int take_percent(const char *option, double most, double *value)
{
    char *end;
    double got = strtod(optarg, &end);

    if (end == optarg || *end || !(got >= 0 && got <= most)) {
        fprintf(stderr, "hpcb-sim: %s=%s: not a number of 0 to %g\n", option, optarg,
                most);
        return -1;
    }
    *value = got / 100;
    return 0;
}

static int take_file(order_t *order, reader_t reader)
{
    if (order->path) {
        fputs("hpcb-sim: replay: one history only\n", stderr);
        return -1;
    }
    order->path = optarg;
    order->read = reader;
    return 0;
}

static int take_option(order_t *order, int option, const char *name)
{
    hpcb_sim_cluster_t *cluster = &order->cluster;
    int64_t value = 0;
    int rc = 0;

    switch (option) {
    case 'w':
        return take_file(order, hpcb_sim_read_swf);
    case 'a':
        return take_file(order, hpcb_sim_read_sacct);
    case 'r':
        return take_file(order, NULL);
    case 'N':
        rc = hpcb_sim_number(name, optarg, 1, HPCB_SIM_NODES_MAX, &value);
        cluster->nodes = (uint32_t)value;
        return rc;
    case 'C':
        rc = hpcb_sim_number(name, optarg, 1, HPCB_SIM_PER_NODE_MAX, &value);
        cluster->cpus = (uint32_t)value;
        return rc;
    case 'm':
        rc = hpcb_sim_number(name, optarg, 1, INT64_C(1) << 40, &value);
        cluster->memory = value * 1024;
        return rc;
    case 's':
        rc = hpcb_sim_number(name, optarg, 0, INT64_MAX, &value);
        cluster->seed = (uint64_t)value;
        return rc;
    case 'g':
        return take_percent(name, 100, &cluster->guest_part);
    case 'c':
        return take_percent(name, 1000, &cluster->guest_cost);
    case 'n':
        return take_percent(name, 99, &cluster->nice_share);
    case 'j':
        order->json = true;
        return 0;
    case 'H':
        order->html = optarg;
        return 0;
    default:
        return -1;
    }
}

static int check_order(order_t *order)
{
    if (!order->path || order->cluster.nodes == 0 || order->cluster.cpus == 0) {
        fprintf(stderr, "hpcb-sim: replay: %s is missing (see --help)\n",
                !order->path                ? "--swf, --sacct or --records"
                : order->cluster.nodes == 0 ? "--nodes"
                                            : "--cpus-per-node");
        return -1;
    }
    if (order->cluster.memory == 0)
        order->cluster.memory =
            (int64_t)order->cluster.cpus * GIB_PER_CPU * 1024 * 1024;
    return 0;
}

int hpcb_sim_replay(int argc, char *argv[])
{
    static const struct option options[] = {
        {"swf", required_argument, NULL, 'w'},
        {"sacct", required_argument, NULL, 'a'},
        {"records", required_argument, NULL, 'r'},
        {"nodes", required_argument, NULL, 'N'},
        {"cpus-per-node", required_argument, NULL, 'C'},
        {"memory", required_argument, NULL, 'm'},
        {"guest-part", required_argument, NULL, 'g'},
        {"guest-cost", required_argument, NULL, 'c'},
        {"nice-share", required_argument, NULL, 'n'},
        {"seed", required_argument, NULL, 's'},
        {"json", no_argument, NULL, 'j'},
        {"html", required_argument, NULL, 'H'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    order_t order = {
        .cluster = {.nice_share = 0.5,
                    .guest_cost = 0.007,
                    .guest_part = 0.25,
                    .seed = 1},
    };
    int option, which = 0;
    char name[32];

    while ((option = getopt_long(argc, argv, "jh", options, &which)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        snprintf(name, sizeof(name), "--%s", options[which].name);
        if (take_option(&order, option, name) < 0)
            return HPCB_SIM_USAGE;
    }
    if (optind != argc) {
        fprintf(stderr, "hpcb-sim: replay: '%s' is not an option\n", argv[optind]);
        return HPCB_SIM_USAGE;
    }
    return check_order(&order) < 0 ? HPCB_SIM_USAGE : replay(&order);
}
