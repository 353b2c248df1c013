/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* hpcb-sim run: each seed is a run of its own, and as many of them at once as there are
 * CPUs. */
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

#include "common/error.h"
#include "sim/model.h"
#include "sim/output.h"
#include "sim/replay_page.h"
#include "sim/scenario.h"
#include "sim/sim.h"

#define THREADS_MAX  256
#define SETTINGS_MAX 64
#define LOOK_NS      200000000

typedef struct {
    const char *path, *html;
    const char *setting[SETTINGS_MAX];
    size_t settings;
    uint64_t seed, seeds;
    hpcb_sim_format_t format;
} order_t;

typedef struct {
    const order_t *order;
    json_object **rows; /* of each seed */
    hpcb_sim_progress_t *progress;
    atomic_uint_fast64_t next, ended;
    atomic_bool failed;
    hpcb_error_t err; /* of who set failed */
} work_t;

static json_object *read_scenario(const order_t *order, hpcb_error_t *err)
{
    json_object *scenario = hpcb_sim_scenario_read(order->path, err);

    for (size_t i = 0; scenario && i < order->settings; i++) {
        if (hpcb_sim_scenario_set(scenario, order->setting[i], err) < 0) {
            json_object_put(scenario);
            scenario = NULL;
        }
    }
    return scenario;
}

/* Run one seed with a scenario of its own: json-c's objects are for one thread. */
static int run_seed(work_t *work, uint64_t i, hpcb_error_t *err)
{
    json_object *scenario = read_scenario(work->order, err);
    hpcb_error_t why = {""};
    hpcb_sim_model_t model;
    const char *name;
    int rc = -1;

    if (!scenario)
        return -1;
    if (hpcb_sim_text(scenario, "scenario", "model", &name, &why) == 0) {
        model = hpcb_sim_model(name);
        if (model)
            rc = model(scenario, work->order->seed + i, &work->progress[i],
                       work->rows[i], &why);
        else
            hpcb_error(&why, "scenario: model=%s: not one of %s", name,
                       hpcb_sim_models());
    }
    json_object_put(scenario);
    return rc == 0 ? 0 : hpcb_error(err, "%s: %s", work->order->path, why.text);
}

static void *work_on(void *argument)
{
    work_t *work = argument;
    uint64_t i;

    while (!work->failed && (i = work->next++) < work->order->seeds) {
        hpcb_error_t err = {""};

        if (run_seed(work, i, &err) < 0 && !atomic_exchange(&work->failed, true))
            work->err = err;
        work->ended++;
    }
    return NULL;
}

static void show(const work_t *work, const struct timespec *begin)
{
    uint64_t seeds = work->order->seeds;
    struct timespec now;
    double part = 0, since;

    for (uint64_t i = 0; i < seeds; i++)
        part += work->progress[i].ppm / 1e6 / (double)seeds;
    clock_gettime(CLOCK_MONOTONIC, &now);
    since = (double)(now.tv_sec - begin->tv_sec) +
            (double)(now.tv_nsec - begin->tv_nsec) / 1e9;
    if (part > 0)
        fprintf(stderr, "\r%5.1f %%, %.0f s left \033[K", 100 * part,
                since * (1 - part) / part);
}

/* A line with the time left, on a terminal, until no seed is left. */
static void watch(work_t *work)
{
    const struct timespec look = {.tv_nsec = LOOK_NS};
    struct timespec begin;

    if (!isatty(STDERR_FILENO))
        return;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (!work->failed && work->ended < work->order->seeds) {
        nanosleep(&look, NULL);
        show(work, &begin);
    }
    fprintf(stderr, "\r\033[K");
}

static int run_threads(work_t *work)
{
    pthread_t thread[THREADS_MAX];
    long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t wanted = cpus < 1 ? 1 : cpus > THREADS_MAX ? THREADS_MAX : (uint64_t)cpus;
    uint64_t n = 0;

    if (wanted > work->order->seeds)
        wanted = work->order->seeds;
    while (n < wanted && pthread_create(&thread[n], NULL, work_on, work) == 0)
        n++;
    if (n == 0)
        return hpcb_error(&work->err, "no thread can be started");
    watch(work);
    while (n > 0)
        pthread_join(thread[--n], NULL);
    return work->failed ? -1 : 0;
}

/* The page, of what --json prints. */
static int draw(const work_t *work, const char *title, hpcb_error_t *err)
{
    const order_t *order = work->order;
    size_t size = 0;
    char *text = NULL;
    FILE *stream = open_memstream(&text, &size);
    int rc = -1;

    if (stream) {
        rc = hpcb_sim_output(stream, HPCB_SIM_JSON, title, order->seed, work->rows,
                             order->seeds);
        if (fclose(stream) != 0)
            rc = -1;
    }
    if (rc < 0)
        hpcb_error(err, "%s", strerror(errno));
    else if (hpcb_sim_page(order->html, text) < 0)
        rc = hpcb_error(err, "%s: no page has been written", order->html);
    free(text);
    return rc;
}

static int print(const work_t *work, hpcb_error_t *err)
{
    const order_t *order = work->order;
    json_object *scenario = read_scenario(order, err);
    json_object *title = NULL;
    const char *text;
    int rc = 0;

    if (!scenario)
        return -1;
    json_object_object_get_ex(scenario, "title", &title);
    text = title ? json_object_get_string(title) : order->path;
    if (!order->html || order->format != HPCB_SIM_TABLE)
        rc = hpcb_sim_output(stdout, order->format, text, order->seed, work->rows,
                             order->seeds);
    if (rc < 0)
        hpcb_error(err, "standard output: %s", strerror(errno));
    else if (order->html)
        rc = draw(work, text, err);
    json_object_put(scenario);
    return rc;
}

static int run(const order_t *order)
{
    work_t work = {.order = order};
    int rc = -1;

    work.rows = calloc(order->seeds, sizeof(json_object *));
    work.progress = calloc(order->seeds, sizeof(*work.progress));
    if (work.rows && work.progress) {
        for (uint64_t i = 0; i < order->seeds; i++)
            work.rows[i] = json_object_new_array();
        rc = run_threads(&work);
        if (rc == 0)
            rc = print(&work, &work.err);
    } else {
        hpcb_error(&work.err, "%s", strerror(errno));
    }
    for (uint64_t i = 0; work.rows && i < order->seeds; i++)
        json_object_put(work.rows[i]);
    free(work.rows);
    free(work.progress);
    if (rc < 0)
        fprintf(stderr, "hpcb-sim: %s\n", work.err.text);
    return rc < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

static const char help[] =
    "Usage: hpcb-sim run SCENARIO [--seed N] [--seeds N] [--set MEMBER=VALUE]\n"
    "                    [--json | --csv] [--html FILE]\n"
    "\n"
    "Run a scenario from a JSON file and print its figures.\n"
    "\n"
    "  -s, --seed N            seed of the random numbers (default: 1)\n"
    "  -n, --seeds N           run N seeds in parallel, the first is --seed\n"
    "  -S, --set MEMBER=VALUE  replace a member of the scenario: job.work_ns=1000000\n"
    "  -j, --json              print one JSON object\n"
    "  -c, --csv               print comma-separated values\n"
    "  -H, --html FILE         write an HTML page with plots (hpcb-report's package)\n";

static int take_option(order_t *order, int option)
{
    int64_t value = 0;

    switch (option) {
    case 's':
        if (hpcb_sim_number("--seed", optarg, 0, INT64_MAX, &value) < 0)
            return -1;
        order->seed = (uint64_t)value;
        return 0;
    case 'n':
        if (hpcb_sim_number("--seeds", optarg, 1, HPCB_SIM_SEEDS_MAX, &value) < 0)
            return -1;
        order->seeds = (uint64_t)value;
        return 0;
    case 'S':
        if (order->settings == SETTINGS_MAX) {
            fprintf(stderr, "hpcb-sim: --set: more than %d\n", SETTINGS_MAX);
            return -1;
        }
        order->setting[order->settings++] = optarg;
        return 0;
    case 'j':
        order->format = HPCB_SIM_JSON;
        return 0;
    case 'c':
        order->format = HPCB_SIM_CSV;
        return 0;
    case 'H':
        order->html = optarg;
        return 0;
    default:
        return -1;
    }
}

int hpcb_sim_run(int argc, char *argv[])
{
    static const struct option options[] = {
        {"seed", required_argument, NULL, 's'}, {"seeds", required_argument, NULL, 'n'},
        {"set", required_argument, NULL, 'S'},  {"json", no_argument, NULL, 'j'},
        {"csv", no_argument, NULL, 'c'},        {"html", required_argument, NULL, 'H'},
        {"help", no_argument, NULL, 'h'},       {NULL, 0, NULL, 0},
    };
    order_t order = {.seed = 1, .seeds = 1};
    int option;

    while ((option = getopt_long(argc, argv, "s:n:S:jcH:h", options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return EXIT_SUCCESS;
        }
        if (take_option(&order, option) < 0)
            return HPCB_SIM_USAGE;
    }
    if (optind != argc - 1) {
        fputs("hpcb-sim: run: one scenario is needed (see --help)\n", stderr);
        return HPCB_SIM_USAGE;
    }
    order.path = argv[optind];
    return run(&order);
}
