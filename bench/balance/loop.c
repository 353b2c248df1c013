/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The least that balances a job: reads the pages of its ranks, asks policy/balance, and
 * sets weights and affinities.  For bench/balance, which starts the job; without a node
 * daemon, one job, no undo (the groups are thrown away afterwards).
 *
 *   balance-loop POLICY GROUPS PAGES RANKS CPU...
 *
 * POLICY as hpcb_balance_conf_parse takes it; GROUPS/<rank> a cpu group (cgroup v1)
 * with the tasks of that rank; PAGES/<rank> its page.  It ends on SIGTERM, and prints
 * one line of JSON: steps, changes, and the last step that changed something.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "common/page.h"
#include "policy/balance.h"

#define POLL_NS      1000000
#define USUAL_SHARES 1024

typedef struct {
    const char *groups, *pages;
    hpcb_balance_conf_t conf;
    hpcb_balance_places_t places;
    hpcb_balance_t balance;
    int page[HPCB_BALANCE_RANKS];
    uint64_t seen[HPCB_BALANCE_RANKS]; /* samples that went into a step */
    unsigned changes, last_change;
} loop_t;

static volatile sig_atomic_t ended;

static void end(int signal)
{
    (void)signal;
    ended = 1;
}

static void write_shares(const loop_t *loop, unsigned rank, unsigned shares)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%u/cpu.shares", loop->groups, rank);
    file = fopen(path, "we");
    if (!file || fprintf(file, "%u\n", shares) < 0 || fclose(file))
        warn("%s", path);
}

/* All threads that the rank has now; later ones inherit it. */
static void pin(const loop_t *loop, unsigned rank, unsigned cpu)
{
    char path[4096];
    cpu_set_t set;
    FILE *file;
    int tid;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    snprintf(path, sizeof(path), "%s/%u/tasks", loop->groups, rank);
    file = fopen(path, "re");
    while (file && fscanf(file, "%d", &tid) == 1)
        if (sched_setaffinity(tid, sizeof(set), &set) && errno != ESRCH)
            warn("task %d", tid);
    if (file)
        fclose(file);
}

static void apply(const loop_t *loop, unsigned what)
{
    for (unsigned i = 0; i < loop->balance.n; i++) {
        if (what & HPCB_BALANCE_MOVED)
            pin(loop, i, loop->places.place[loop->balance.rank[i].place].cpu);
        write_shares(
            loop, i,
            hpcb_balance_weight(&loop->places, &loop->balance, i, USUAL_SHARES));
    }
}

/* Whether every rank has ended an iteration since the last step. */
static int collect(loop_t *loop, hpcb_balance_sample_t *samples)
{
    hpcb_page_t page;
    uint64_t now[HPCB_BALANCE_RANKS];

    for (unsigned i = 0; i < loop->balance.n; i++) {
        if (hpcb_page_read(loop->page[i], &page) || page.samples == loop->seen[i])
            return 0;
        now[i] = page.samples;
        samples[i] = (hpcb_balance_sample_t){page.compute_ns, page.wait_ns};
    }
    for (unsigned i = 0; i < loop->balance.n; i++)
        loop->seen[i] = now[i];
    return 1;
}

static void trace(const loop_t *loop, const hpcb_balance_sample_t *samples)
{
    fprintf(stderr, "%u:", loop->balance.steps);
    for (unsigned i = 0; i < loop->balance.n; i++)
        fprintf(stderr, "  %6.1f+%-6.1f %u:%u", (double)samples[i].compute_ns * 1e-6,
                (double)samples[i].wait_ns * 1e-6,
                loop->places.place[loop->balance.rank[i].place].cpu,
                loop->balance.rank[i].priority);
    fprintf(stderr, "\n");
}

static void step(loop_t *loop)
{
    static hpcb_balance_sample_t samples[HPCB_BALANCE_RANKS];
    unsigned what;

    if (!collect(loop, samples))
        return;
    what = hpcb_balance_step(&loop->conf, &loop->places, samples, &loop->balance);
    if (getenv("BALANCE_TRACE"))
        trace(loop, samples);
    if (!what)
        return;
    apply(loop, what);
    loop->changes++;
    loop->last_change = loop->balance.steps;
}

static void open_pages(loop_t *loop, unsigned ranks)
{
    char path[4096];

    for (unsigned i = 0; i < ranks; i++) {
        snprintf(path, sizeof(path), "%s/%u", loop->pages, i);
        loop->page[i] = open(path, O_RDONLY | O_CLOEXEC);
        if (loop->page[i] < 0)
            err(1, "%s", path);
    }
}

static void report(const loop_t *loop)
{
    printf("{\"steps\":%u,\"changes\":%u,\"last_change\":%u,\"phases\":%u,\"ranks\":[",
           loop->balance.steps, loop->changes, loop->last_change,
           loop->balance.dlrb.phases);
    for (unsigned i = 0; i < loop->balance.n; i++)
        printf("%s[%u,%u]", i ? "," : "",
               loop->places.place[loop->balance.rank[i].place].cpu,
               loop->balance.rank[i].priority);
    printf("]}\n");
}

int main(int argc, char **argv)
{
    static loop_t loop;
    struct timespec pause = {.tv_nsec = POLL_NS};
    const char *bad;
    unsigned ranks;

    if (argc < 6)
        errx(2, "usage: balance-loop POLICY GROUPS PAGES RANKS CPU...");
    if (hpcb_balance_conf_parse(argv[1], &loop.conf, &bad))
        errx(2, "%s: wrong from \"%s\" on", argv[1], bad);
    loop.groups = argv[2];
    loop.pages = argv[3];
    ranks = (unsigned)strtoul(argv[4], NULL, 10);
    for (int i = 5; i < argc; i++)
        loop.places.place[loop.places.n++] =
            (hpcb_balance_place_t){.cpu = (uint16_t)atoi(argv[i]), .core = (uint16_t)i};
    if (hpcb_balance_begin(&loop.conf, &loop.places, ranks, NULL, &loop.balance))
        errx(2, "%u ranks on %u CPUs", ranks, loop.places.n);
    open_pages(&loop, ranks);
    signal(SIGTERM, end);
    apply(&loop, HPCB_BALANCE_MOVED);
    while (!ended) {
        step(&loop);
        nanosleep(&pause, NULL);
    }
    report(&loop);
    return 0;
}
