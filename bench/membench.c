/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * membench: asks memory for a chosen bandwidth and tells what it got (Koukis and
 * Koziris, section 3).  --stride 1 is their membench-min, --stride line their
 * membench-max.
 */
#include "config.h"
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "bench/args.h"
#include "bench/usage.h"
#include "sensor/membench_cache.h"
#include "sensor/membench_kernel.h"
#include "sensor/membench_run.h"

#define WORD      sizeof(hpcb_membench_word_t)
#define BLOCK_MIN ((size_t)1 << 20)
#define BLOCK_MAX ((size_t)1 << 40)
#define REUSE_MAX 100000

static const char help[] =
    "Usage: membench [--threads N] [--cpus LIST] [--size BYTES] [--stride WORDS|line]\n"
    "                [--reuse N] [--write] [--seconds S] [--huge-pages yes|no]\n"
    "                [--trace FILE [--every-ms MS]] [--json]\n"
    "Goes through a block of memory in order, again and again, and prints how many "
    "bytes\n"
    "memory moved in a second.  SIGTERM or SIGINT ends it early, with its result.\n"
    "\n"
    "  --threads N      each with a block of its own, which it touches first itself\n"
    "                   (default: one, or one for each of --cpus)\n"
    "  --cpus LIST      bind them, one to each, as \"0-3,8\" (default: not bound)\n"
    "  --size BYTES     of a block, with K, M or G for 2^10, 2^20, 2^30 (default: "
    "eight\n"
    "                   times the caches, of which threads that share one have a part\n"
    "                   each; at least 16M)\n"
    "  --stride WORDS   read every WORDS-th word of 8 bytes; line (the default): one "
    "in\n"
    "                   each cache line.  1 asks for least, line for most\n"
    "  --reuse N        read every 16 KiB N times before going on: asks for about the\n"
    "                   Nth part (default 1)\n"
    "  --write          write each word that was read: memory then moves each line\n"
    "                   twice, and that is what is counted\n"
    "  --seconds S      how long, at most 3600 (default 1)\n"
    "  --huge-pages X   yes (default): ask for transparent huge pages; no: ask for "
    "none.\n"
    "                   What it got is printed\n"
    "  --trace FILE     append lines \"<CLOCK_MONOTONIC> <bytes so far>\"\n"
    "  --every-ms MS    so often, and at start and end (default 20)\n"
    "  --json           print one JSON line instead of text\n"
    "  --help           this text\n";

typedef struct {
    hpcb_membench_options_t options;
    hpcb_membench_pass_t pass;
    hpcb_membench_cache_t cache;
    hpcb_cpus_t cpus;
    bool bound;
    bool json;
    const char *trace;
} config_t;

static hpcb_membench_t *running;

static void on_signal(int signal)
{
    (void)signal;
    hpcb_membench_stop(running);
}

static size_t parse_size(const char *text)
{
    static const char units[] = "KMG";
    size_t length = strlen(text);
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    char digits[32];
    unsigned shift = 0;

    if (unit)
        shift = 10 * (unsigned)(unit - units + 1);
    if (unit || length >= sizeof(digits))
        length = length > 0 ? length - 1 : 0;
    snprintf(digits, sizeof(digits), "%.*s", (int)length, text);
    return bench_arg_count("size", digits, (BLOCK_MIN + (1u << shift) - 1) >> shift,
                           BLOCK_MAX >> shift)
           << shift;
}

static void parse_cpus(config_t *config, const char *text)
{
    if (hpcb_cpus_parse(text, &config->cpus) < 0 || hpcb_cpus_count(&config->cpus) == 0)
        errx(2, "--cpus: \"%s\" is no list of CPUs such as 0-3,8", text);
    config->bound = true;
}

static bool parse_yes(const char *option, const char *text)
{
    if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
        errx(2, "--%s: \"%s\" is neither yes nor no", option, text);
    return text[0] == 'y';
}

static void set(config_t *config, int opt)
{
    if (opt == 't')
        config->options.threads =
            (unsigned)bench_arg_count("threads", optarg, 1, HPCB_MEMBENCH_THREADS_MAX);
    else if (opt == 'c')
        parse_cpus(config, optarg);
    else if (opt == 'b')
        config->options.block = parse_size(optarg);
    else if (opt == 's')
        config->pass.stride =
            strcmp(optarg, "line") == 0
                ? 0
                : bench_arg_count("stride", optarg, 1, HPCB_MEMBENCH_STRIDE_MAX);
    else if (opt == 'r')
        config->pass.reuse = (unsigned)bench_arg_count("reuse", optarg, 1, REUSE_MAX);
    else if (opt == 'w')
        config->pass.write = true;
    else if (opt == 'S')
        config->pass.seconds = bench_arg_real("seconds", optarg, 1e-3, 3600);
    else if (opt == 'p')
        config->options.huge_pages = parse_yes("huge-pages", optarg);
    else if (opt == 'f')
        config->trace = optarg;
    else if (opt == 'e')
        config->pass.every = bench_arg_real("every-ms", optarg, 1, 1e6) * 1e-3;
    else if (opt == 'j')
        config->json = true;
    else if (opt == 'h')
        exit(fputs(help, stdout) < 0);
    else
        exit(2);
}

static config_t parse(int argc, char **argv)
{
    static const struct option options[] = {
        {"threads", required_argument, NULL, 't'},
        {"cpus", required_argument, NULL, 'c'},
        {"size", required_argument, NULL, 'b'},
        {"stride", required_argument, NULL, 's'},
        {"reuse", required_argument, NULL, 'r'},
        {"write", no_argument, NULL, 'w'},
        {"seconds", required_argument, NULL, 'S'},
        {"huge-pages", required_argument, NULL, 'p'},
        {"trace", required_argument, NULL, 'f'},
        {"every-ms", required_argument, NULL, 'e'},
        {"json", no_argument, NULL, 'j'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    config_t config = {.options = {.huge_pages = true},
                       .pass = {.reuse = 1, .seconds = 1, .every = 0.02}};
    int opt;

    while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1)
        set(&config, opt);
    bench_args_end(argc, argv);
    return config;
}

/* What was not given, from the machine. */
static void complete(config_t *config)
{
    hpcb_membench_options_t *options = &config->options;
    hpcb_error_t err;

    if (options->threads == 0)
        options->threads = config->bound ? hpcb_cpus_count(&config->cpus) : 1;
    if (hpcb_membench_cache(NULL, config->bound ? &config->cpus : NULL, &config->cache,
                            &err) < 0)
        errx(1, "%s", err.text);
    options->line = config->cache.line;
    if (options->block == 0)
        options->block = config->cache.block;
    if (config->pass.stride == 0)
        config->pass.stride = options->line / WORD;
    if (config->bound)
        options->cpus = &config->cpus;
}

/* One write per line: with O_APPEND a reader never sees a torn line of ours. */
static void trace(double when, uint64_t bytes, void *arg)
{
    if (dprintf(*(int *)arg, "%.6f %" PRIu64 "\n", when, bytes) < 0)
        err(1, "trace");
}

static void print_text(const config_t *config, const hpcb_membench_result_t *result,
                       size_t huge)
{
    double wall = result->end - result->start;

    printf(
        "membench: %u thread%s, %s every %zu. word of %zu bytes, %u time%s, blocks of "
        "%zu MiB (%zu MiB of all in huge pages)\n",
        config->options.threads, config->options.threads == 1 ? "" : "s",
        config->pass.write ? "reading and writing" : "reading", config->pass.stride,
        WORD, config->pass.reuse, config->pass.reuse == 1 ? "" : "s",
        config->options.block >> 20, huge >> 20);
    printf("%.3f GB/s: %" PRIu64 " bytes in %.3f s",
           (double)result->bytes / wall * 1e-9, result->bytes, wall);
    printf(", CPUs had for %.1f %% of it\n",
           100 * result->cpu / (config->options.threads * wall));
}

static void print_json(const config_t *config, const hpcb_membench_result_t *result,
                       const bench_usage_t *usage, size_t huge)
{
    printf("{\"program\":\"membench\",\"threads\":%u,\"stride\":%zu,\"reuse\":%u,"
           "\"write\":%s,\"block\":%zu,\"line\":%zu,\"last_level_cache\":%zu,"
           "\"huge_bytes\":%zu,",
           config->options.threads, config->pass.stride, config->pass.reuse,
           config->pass.write ? "true" : "false", config->options.block,
           config->options.line, config->cache.last_level, huge);
    bench_usage_print(usage);
    printf(",\"bytes\":%" PRIu64 ",\"accesses\":%" PRIu64
           ",\"bytes_per_second\":%.0f}\n",
           result->bytes, result->accesses,
           (double)result->bytes / (result->end - result->start));
}

static int open_trace(config_t *config, int *fd)
{
    if (!config->trace)
        return 0;
    *fd = open(config->trace, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    config->pass.sample = trace;
    config->pass.arg = fd;
    return *fd < 0 ? -1 : 0;
}

int main(int argc, char **argv)
{
    struct sigaction action = {.sa_handler = on_signal};
    hpcb_membench_result_t result;
    config_t config = parse(argc, argv);
    bench_usage_t usage;
    hpcb_error_t error;
    int fd = -1;

    complete(&config);
    if (open_trace(&config, &fd) < 0)
        err(1, "%s", config.trace);
    if (hpcb_membench_open(&config.options, &running, &error) < 0)
        errx(1, "%s", error.text);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    size_t huge = hpcb_membench_huge_bytes();
    if (bench_usage_start(&usage) < 0)
        err(1, "/proc/self/schedstat");
    if (hpcb_membench_pass(running, &config.pass, &result, &error) < 0)
        errx(1, "%s", error.text);
    if (bench_usage_stop(&usage) < 0)
        err(1, "/proc/self/schedstat");
    if (config.json)
        print_json(&config, &result, &usage, huge);
    else
        print_text(&config, &result, huge);
    hpcb_membench_close(running);
    if (fd >= 0)
        close(fd);
    return 0;
}
