/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * fit-pairs: asks policy/fitness which jobs should share a node of two processors, so
 * that bench/pairing measures the code that decides and no copy of it.
 */
#include "config.h"
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "bench/args.h"
#include "common/cleanup.h"
#include "policy/fitness.h"

#define PROCESSORS 2
#define JOBS_MAX   64

static const char help[] =
    "Usage: fit-pairs --capacity BYTES [--place] < lists\n"
    "Pairs jobs of one processor each for a node of two, quantum by quantum with\n"
    "MemBUS' algorithm 2, until each job has run once.  Each line on stdin is a list "
    "of\n"
    "jobs: the bytes that each one moves in a second, in the order of the queue.  For\n"
    "each, a line with their places in it, from 0: \"0+3 1+2\"; one that runs alone\n"
    "stands alone.\n"
    "\n"
    "  --capacity BYTES  what the node's memory moves in a second\n"
    "  --place           the first half of a list are primaries, one on each node, "
    "the\n"
    "                    others guests that arrive in this order: each goes to the "
    "node\n"
    "                    that it fits best, or waits and stands alone.  Jobs of equal\n"
    "                    bytes are copies of one program\n"
    "  --help            this text\n";

typedef struct {
    hpcb_fit_app_t apps[JOBS_MAX];
    size_t place[JOBS_MAX]; /* in the line */
    size_t count;
} queue_t;

typedef struct {
    hpcb_bw_t capacity;
    bool place;
} config_t;

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"capacity", required_argument, NULL, 'c'},
        {"place", no_argument, NULL, 'p'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {0};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (opt == 'c')
            config.capacity.mem =
                bench_arg_count("capacity", optarg, 1, HPCB_FIT_BW_MAX);
        else if (opt == 'p')
            config.place = true;
        else if (opt == 'h')
            exit(fputs(help, stdout) < 0);
        else
            exit(2);
    }
    bench_args_end(argc, argv);
    if (config.capacity.mem == 0)
        errx(2, "--capacity is needed");
    return config;
}

static int parse_line(char *line, queue_t *queue)
{
    char *rest = NULL;

    queue->count = 0;
    for (char *word = strtok_r(line, " \n", &rest); word;
         word = strtok_r(NULL, " \n", &rest)) {
        char *end;

        errno = 0;
        uint64_t demand = strtoull(word, &end, 10);
        if (!isdigit((unsigned char)word[0]) || *end || errno ||
            queue->count == JOBS_MAX)
            return -1;
        queue->apps[queue->count] =
            (hpcb_fit_app_t){.use = {.mem = demand}, .processors = 1};
        queue->place[queue->count] = queue->count;
        queue->count++;
    }
    return queue->count > 0 ? 0 : -1;
}

/* One quantum: print who runs and take them off the queue. */
static void run_quantum(queue_t *queue, const hpcb_bw_t *capacity)
{
    bool selected[JOBS_MAX];
    size_t left = 0;
    const char *separator = "";

    hpcb_fit_select(queue->apps, queue->count, capacity, PROCESSORS, selected);
    for (size_t i = 0; i < queue->count; i++) {
        if (selected[i]) {
            printf("%s%zu", separator, queue->place[i]);
            separator = "+";
            continue;
        }
        queue->apps[left] = queue->apps[i];
        queue->place[left++] = queue->place[i];
    }
    queue->count = left;
}

static void run_all(queue_t *queue, const hpcb_bw_t *capacity)
{
    while (queue->count > 0) {
        run_quantum(queue, capacity);
        putchar(queue->count > 0 ? ' ' : '\n');
    }
}

/* The best node without a guest for this one, the first of equals; -1: it waits. */
static int choose_node(const queue_t *queue, size_t guest, const hpcb_bw_t *capacity,
                       const bool *taken)
{
    uint64_t demand = queue->apps[guest].use.mem;
    const hpcb_fit_guest_t wants = {
        .use.mem = demand, .mem_known = true, .program = demand, .processors = 1};
    uint32_t least = HPCB_FIT_SCORE_REFUSED;
    int found = -1;

    for (size_t i = 0; i < (queue->count + 1) / 2; i++) {
        const hpcb_fit_node_t node = {.capacity = *capacity,
                                      .used_by_primaries = queue->apps[i].use,
                                      .same_program = queue->apps[i].use.mem == demand,
                                      .processors_left = PROCESSORS - 1};
        uint32_t score =
            taken[i] ? HPCB_FIT_SCORE_REFUSED : hpcb_fit_score(&node, &wants);

        if (score < least) {
            least = score;
            found = (int)i;
        }
    }
    return found;
}

static void place_all(const queue_t *queue, const hpcb_bw_t *capacity)
{
    size_t nodes = (queue->count + 1) / 2;
    bool taken[JOBS_MAX] = {false};
    size_t guest_of[JOBS_MAX];
    const char *separator = "";

    for (size_t guest = nodes; guest < queue->count; guest++) {
        int node = choose_node(queue, guest, capacity, taken);

        if (node < 0) {
            printf("%s%zu", separator, guest);
            separator = " ";
            continue;
        }
        taken[node] = true;
        guest_of[node] = guest;
    }
    for (size_t i = 0; i < nodes; i++) {
        printf("%s%zu", separator, i);
        if (taken[i])
            printf("+%zu", guest_of[i]);
        separator = " ";
    }
    putchar('\n');
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    hpcb_autofree char *line = NULL;
    size_t size = 0;

    for (uintmax_t number = 1; getline(&line, &size, stdin) >= 0; number++) {
        queue_t queue;

        if (parse_line(line, &queue) < 0)
            errx(2,
                 "line %" PRIuMAX ": expected up to %d whole numbers, the bytes/s of "
                 "each job",
                 number, JOBS_MAX);
        if (config.place)
            place_all(&queue, &config.capacity);
        else
            run_all(&queue, &config.capacity);
    }
    if (ferror(stdin) || fflush(stdout) != 0)
        err(1, "fit-pairs");
    return 0;
}
