/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Starts one process of an application and, when it has ended, writes what it took:
 * the counterpart of the wrapper in Stiehr 2004, section 1.3.
 */
#include "config.h"
#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "bench/usage.h"

#define NO_COMMAND 127 /* as shells say that a program cannot be started */

static const char help[] =
    "Usage: thesis-getstats [--preload LIBRARY] FILE PROGRAM [ARG]...\n"
    "Runs PROGRAM, with LIBRARY as its LD_PRELOAD, ends as it did, and writes one "
    "JSON\n"
    "line to FILE.R where R is $SLURM_PROCID (0 without one): start and end (seconds "
    "of\n"
    "CLOCK_MONOTONIC), cpu (of it and what it waited for) and run_delay (of its first\n"
    "thread: it could have run and others had the CPU).\n";

typedef struct {
    const char *preload;
    const char *file;
    char **command;
} config_t;

static config_t parse(int argc, char **argv)
{
    config_t config = {0};
    int i = 1;

    if (argc > 1 && strcmp(argv[1], "--help") == 0)
        exit(fputs(help, stdout) < 0);
    if (argc > 3 && strcmp(argv[1], "--preload") == 0) {
        config.preload = argv[2];
        i = 3;
    }
    if (argc < i + 2)
        errx(2, "needs a file and a program (see --help)");
    config.file = argv[i];
    config.command = &argv[i + 1];
    return config;
}

static void become(const config_t *config)
{
    signal(SIGTERM, SIG_DFL);
    if (config->preload && setenv("LD_PRELOAD", config->preload, 1) < 0)
        err(NO_COMMAND, "LD_PRELOAD");
    execvp(config->command[0], config->command);
    err(NO_COMMAND, "%s", config->command[0]);
}

/* Seconds of the process, which has ended and has not been waited for. */
static double run_delay_of(pid_t pid)
{
    unsigned long long delay;
    char path[64];

    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    FILE *f = fopen(path, "re");
    if (!f)
        err(1, "%s", path);
    int n = fscanf(f, "%*u %llu", &delay);
    fclose(f);
    if (n != 1)
        errx(1, "%s: no run delay", path);
    return (double)delay * 1e-9;
}

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

/* Whole under its name or not at all: others wait for it to appear. */
static void save(const char *file, const char *line)
{
    const char *rank = getenv("SLURM_PROCID");
    char path[4096], fresh[4096];

    snprintf(path, sizeof(path), "%.4000s.%.20s", file, rank ? rank : "0");
    snprintf(fresh, sizeof(fresh), "%.4080s.new", path);
    FILE *f = fopen(fresh, "we");
    if (!f)
        err(1, "%s", fresh);
    fputs(line, f);
    if (fclose(f) != 0 || rename(fresh, path) < 0)
        err(1, "%s", path);
}

int main(int argc, char **argv)
{
    config_t config = parse(argc, argv);
    bench_usage_t usage = {.start = bench_now()};
    struct rusage ru;
    siginfo_t info;
    char line[256];
    int status;
    /* A job that is cancelled gets it in all of its processes: outlive the other. */
    signal(SIGTERM, SIG_IGN);
    pid_t pid = fork();

    if (pid < 0)
        err(1, "fork");
    if (pid == 0)
        become(&config);
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) < 0)
        err(1, "waitid");
    usage.end = bench_now();
    usage.run_delay = run_delay_of(pid);
    if (wait4(pid, &status, 0, &ru) < 0)
        err(1, "wait4");
    usage.cpu = seconds(ru.ru_utime) + seconds(ru.ru_stime);
    snprintf(line, sizeof(line),
             "{\"start\":%.6f,\"end\":%.6f,\"cpu\":%.6f,\"run_delay\":%.6f}\n",
             usage.start, usage.end, usage.cpu, usage.run_delay);
    save(config.file, line);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
