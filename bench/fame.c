/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What two threads take from each other on this machine, and what a lever does about
 * it: tables 2.5 and figures 2.2 to 2.4 of Boneti's thesis for whatever lever there is.
 *
 * FAME (section 2.4.1): both micro-benchmarks of a pair repeat until each has ended at
 * least ten times and the mean rate of each, over all its complete repetitions, changes
 * by less than MAIV (1 %) from one to the next; what is incomplete is thrown away.
 * Instead of instructions a cycle, of which not every machine tells, rates are of
 * micro-iterations, as parts of the rate alone (ST): comparisons are what counts.
 *
 * The lever gives the primary thread a priority that differs from the secondary's by
 * -2 to 2: nice (weights of the kernel's: 3 to 1, 7 to 1, as near as nice levels come),
 * or a command that is run with both process ids and the difference, for anything else.
 */
#include "config.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench/args.h"
#include "bench/loads.h"
#include "bench/usage.h"

#define NAMES_MAX   16
#define RANGE       2 /* differences of priority, either way */
#define LEAST_TIMES 10
#define POLL_NS     2000000

typedef struct {
    unsigned n;
    const char *name[NAMES_MAX];
    double rate[NAMES_MAX]; /* alone, micro-iterations a second */
    int cpu[2];
    double maiv;
    double repetition; /* seconds of one, alone */
    double limit;      /* seconds of one pair */
    const char *lever; /* "nice", "none", or a command */
    int range;
} config_t;

/* Shared with the children.  Only the child writes its own. */
typedef struct {
    volatile unsigned times; /* complete repetitions */
    volatile double spent;   /* seconds for all of them */
    volatile bool ready;
} progress_t;

typedef struct {
    pid_t pid;
    progress_t *progress;
    unsigned seen;  /* repetitions, when the mean was looked at last */
    double mean;    /* seconds, then */
    bool is_steady; /* it changed by less than MAIV */
} thread_t;

static volatile bool *go;

static const char usage[] =
    "usage: fame [option...]\n"
    "  --loads=NAME,...   (cpu_int,lng_chain_int,ldint_l1,ldint_l2,ldint_mem,cpu_fp)\n"
    "  --cpus=P,S         of the primary and the secondary thread (0,0: they share "
    "one)\n"
    "  --lever=HOW        none, nice, or a command: it gets PID-P PID-S DIFFERENCE "
    "(nice)\n"
    "  --range=N          differences of priority from -N to N, 0 to 2 (2)\n"
    "  --maiv=PERCENT     (1)\n"
    "  --repetition=MS    length of one, alone (20)\n"
    "  --limit=SECONDS    of a pair, whatever its rates do (20)\n";

/* Nice levels apart for weights of about 3 and 7 to 1 (kernel/sched: 1.25 a level). */
static const int nice_levels[RANGE + 1] = {0, 5, 9};

static void pin(int cpu)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    if (sched_setaffinity(0, sizeof(set), &set))
        err(1, "CPU %d", cpu);
}

static void nap(void)
{
    struct timespec t = {.tv_nsec = POLL_NS};

    nanosleep(&t, NULL);
}

/* Repeat for ever; the parent ends it. */
static void repeat(bench_load_t *load, uint64_t iterations, progress_t *progress)
{
    double start;

    bench_load_run(load, iterations / 4 + 1);
    progress->ready = true;
    while (!*go)
        nap();
    start = bench_now();
    for (;;) {
        bench_load_run(load, iterations);
        progress->spent = bench_now() - start;
        __atomic_store_n(&progress->times, progress->times + 1, __ATOMIC_RELEASE);
    }
}

static pid_t launch(const config_t *config, unsigned which, int cpu,
                    progress_t *progress)
{
    pid_t parent = getpid(), pid = fork();
    bench_load_t *load;

    if (pid < 0)
        err(1, "fork");
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    pin(cpu);
    load = bench_load_open(config->name[which]);
    if (!load) {
        warn("%s", config->name[which]);
        _exit(1);
    }
    repeat(load, (uint64_t)(config->rate[which] * config->repetition) + 1, progress);
    _exit(0);
}

static void run_command(const char *command, const thread_t pair[2], int difference)
{
    char line[4096];

    snprintf(line, sizeof(line), "%s %d %d %d", command, (int)pair[0].pid,
             (int)pair[1].pid, difference);
    if (system(line) != 0)
        errx(1, "failed: %s", line);
}

static void pull(const config_t *config, const thread_t pair[2], int difference)
{
    int lower = difference < 0 ? 0 : 1;

    if (strcmp(config->lever, "none") == 0)
        return;
    if (strcmp(config->lever, "nice") != 0) {
        run_command(config->lever, pair, difference);
        return;
    }
    if (setpriority(PRIO_PROCESS, (id_t)pair[lower].pid, nice_levels[abs(difference)]))
        err(1, "nice");
}

static void judge(const config_t *config, thread_t *thread)
{
    unsigned times = __atomic_load_n(&thread->progress->times, __ATOMIC_ACQUIRE);
    double mean;

    if (times < LEAST_TIMES || times == thread->seen)
        return;
    mean = thread->progress->spent / times;
    thread->is_steady =
        thread->seen > 0 && fabs(mean - thread->mean) <= config->maiv * thread->mean;
    thread->seen = times;
    thread->mean = mean;
}

static void end(thread_t pair[2])
{
    for (int i = 0; i < 2; i++) {
        if (pair[i].pid <= 0)
            continue;
        kill(pair[i].pid, SIGKILL);
        waitpid(pair[i].pid, NULL, 0);
    }
}

static void wait_until_steady(const config_t *config, thread_t pair[2])
{
    double start = bench_now();

    while (!(pair[0].is_steady && pair[1].is_steady) &&
           bench_now() - start < config->limit) {
        nap();
        judge(config, &pair[0]);
        judge(config, &pair[1]);
    }
}

/* The rates of primary and secondary as parts of their rates alone; secondary < 0: the
 * primary alone. */
static void measure(const config_t *config, int primary, int secondary, int difference,
                    double rate[2])
{
    static progress_t *progress;
    thread_t pair[2] = {{0}};
    int which[2] = {primary, secondary};

    if (!progress)
        progress =
            mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (progress == MAP_FAILED)
        err(1, "mmap");
    memset(progress, 0, 4096);
    go = (volatile bool *)(progress + 2);
    for (int i = 0; i < 2; i++) {
        pair[i].progress = &progress[i];
        pair[i].is_steady = which[i] < 0;
        if (which[i] >= 0)
            pair[i].pid =
                launch(config, (unsigned)which[i], config->cpu[i], &progress[i]);
    }
    while (!progress[0].ready || (secondary >= 0 && !progress[1].ready))
        nap();
    if (secondary >= 0)
        pull(config, pair, difference);
    *go = true;
    wait_until_steady(config, pair);
    for (int i = 0; i < 2; i++)
        rate[i] = pair[i].mean > 0 ? config->repetition / pair[i].mean : 0;
    end(pair);
}

/* Alone: what one repetition is, and then its rate by the same method. */
static void calibrate(config_t *config)
{
    pin(config->cpu[0]);
    for (unsigned i = 0; i < config->n; i++) {
        bench_load_t *load = bench_load_open(config->name[i]);
        double rate[2];

        if (!load) {
            warnx("--loads: %s: no such micro-benchmark, or no memory",
                  config->name[i]);
            exit(2);
        }
        config->rate[i] = bench_load_rate(load);
        bench_load_close(load);
        measure(config, (int)i, -1, 0, rate);
        config->rate[i] *= rate[0];
        printf("%-14s %12.0f micro-iterations/s alone\n", config->name[i],
               config->rate[i]);
        fflush(stdout);
    }
}

static void header(const config_t *config, const char *title)
{
    printf("\n%s\n%-14s", title, "primary");
    for (unsigned s = 0; s < config->n; s++)
        printf(" %14s", config->name[s]);
    printf("\n");
}

typedef double results_t[2 * RANGE + 1][NAMES_MAX][NAMES_MAX][2];

static void table(const config_t *config, results_t results, int difference)
{
    char title[128];

    snprintf(title, sizeof(title),
             "difference %+d: primary / both, as parts of their rates alone",
             difference);
    header(config, title);
    for (unsigned p = 0; p < config->n; p++) {
        printf("%-14s", config->name[p]);
        for (unsigned s = 0; s < config->n; s++) {
            const double *r = results[difference + RANGE][p][s];

            printf("    %5.3f/%5.3f", r[0], r[0] + r[1]);
        }
        printf("\n");
    }
}

/* Figures 2.2 and 2.3, and 2.4: against equal priorities. */
static void gains(const config_t *config, results_t results, int difference)
{
    char title[128];

    snprintf(title, sizeof(title), "difference %+d against 0: primary x / throughput x",
             difference);
    header(config, title);
    for (unsigned p = 0; p < config->n; p++) {
        printf("%-14s", config->name[p]);
        for (unsigned s = 0; s < config->n; s++) {
            const double *r = results[difference + RANGE][p][s];
            const double *equal = results[RANGE][p][s];

            printf("    %5.2f/%5.2f", r[0] / equal[0],
                   (r[0] + r[1]) / (equal[0] + equal[1]));
        }
        printf("\n");
    }
}

static void measure_all(const config_t *config)
{
    static results_t results;

    for (int difference = -config->range; difference <= config->range; difference++)
        for (unsigned p = 0; p < config->n; p++)
            for (unsigned s = 0; s < config->n; s++)
                measure(config, (int)p, (int)s, difference,
                        results[difference + RANGE][p][s]);
    table(config, results, 0);
    for (int difference = 1; difference <= config->range; difference++) {
        gains(config, results, difference);
        gains(config, results, -difference);
    }
}

static void parse_loads(char *text, config_t *config)
{
    char *one;

    config->n = 0;
    while ((one = strsep(&text, ",")) != NULL) {
        if (config->n == NAMES_MAX)
            errx(2, "--loads: more than %d", NAMES_MAX);
        config->name[config->n++] = one;
    }
}

static void parse_cpus(char *text, config_t *config)
{
    char *second = strchr(text, ',');

    if (!second)
        errx(2, "--cpus=%s: two numbers, P,S", text);
    *second++ = '\0';
    config->cpu[0] = (int)bench_arg_count("--cpus", text, 0, CPU_SETSIZE - 1);
    config->cpu[1] = (int)bench_arg_count("--cpus", second, 0, CPU_SETSIZE - 1);
}

static void option(int name, char *text, config_t *config)
{
    switch (name) {
    case 'l':
        parse_loads(text, config);
        break;
    case 'c':
        parse_cpus(text, config);
        break;
    case 'L':
        config->lever = text;
        break;
    case 'r':
        config->range = (int)bench_arg_count("--range", text, 0, RANGE);
        break;
    case 'm':
        config->maiv = bench_arg_real("--maiv", text, 0.01, 50) / 100;
        break;
    case 'p':
        config->repetition = bench_arg_real("--repetition", text, 0.1, 1e5) * 1e-3;
        break;
    case 't':
        config->limit = bench_arg_real("--limit", text, 0.1, 1e5);
        break;
    default:
        fputs(usage, name == 'h' ? stdout : stderr);
        exit(name == 'h' ? 0 : 2);
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"loads", required_argument, NULL, 'l'},
        {"cpus", required_argument, NULL, 'c'},
        {"lever", required_argument, NULL, 'L'},
        {"range", required_argument, NULL, 'r'},
        {"maiv", required_argument, NULL, 'm'},
        {"repetition", required_argument, NULL, 'p'},
        {"limit", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    static char usual[] = "cpu_int,lng_chain_int,ldint_l1,ldint_l2,ldint_mem,cpu_fp";
    config_t config = {
        .maiv = 0.01, .repetition = 0.02, .limit = 20, .lever = "nice", .range = RANGE};
    int name;

    parse_loads(usual, &config);
    while ((name = getopt_long(argc, argv, "", options, NULL)) != -1)
        option(name, optarg, &config);
    bench_args_end(argc, argv);
    calibrate(&config);
    measure_all(&config);
    return 0;
}
