/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * One mutex and one condition control the threads: the opener increments `round` to
 * begin a pass and waits until `busy` is 0 again.  A thread binds itself and touches
 * its block as round 0.  Counters are read while they grow; each has a cache line of
 * its own, so that reading them does not slow down the threads.
 */
#include "config.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include "sensor/membench_kernel.h"
#include "sensor/membench_run.h"
#include "common/cleanup.h"

/* Work between two readings of the clock, about ten microseconds, so that the readings
 * are negligible. */
#define CHUNKS_PER_LOOK 16

/* A stop that comes just before the opener sleeps is seen after this at the latest. */
#define WAKE_SECONDS 0.1

typedef struct {
    _Alignas(256) atomic_uint_fast64_t bytes; /* of this pass */
    uint64_t accesses;
    double sum;
    double start;
    double end;
    double cpu;
    hpcb_membench_word_t *block;
    int cpu_number; /* -1: not bound */
    int error;      /* errno of what failed before round 1 */
    pthread_t thread;
    hpcb_membench_t *bench;
} worker_t;

struct hpcb_membench {
    hpcb_membench_options_t options;
    hpcb_membench_pass_t pass;
    double deadline; /* CLOCK_MONOTONIC */
    worker_t *workers;
    unsigned started;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned round;
    unsigned busy; /* workers that are not done with this round */
    bool quit;
    atomic_bool stop;
};

static double seconds_of(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int bind_to(int cpu)
{
    cpu_set_t *set = CPU_ALLOC(HPCB_CPUS_MAX);
    size_t size = CPU_ALLOC_SIZE(HPCB_CPUS_MAX);
    int rc;

    if (!set)
        return -1;
    CPU_ZERO_S(size, set);
    CPU_SET_S(cpu, size, set);
    rc = sched_setaffinity(0, size, set);
    CPU_FREE(set);
    return rc;
}

/* Bind, allocate and touch.  The words are ones: their sum is their number. */
static int prepare(worker_t *worker)
{
    const hpcb_membench_options_t *options = &worker->bench->options;
    size_t words = options->block / sizeof(hpcb_membench_word_t);
    void *block;

    if (worker->cpu_number >= 0 && bind_to(worker->cpu_number) < 0)
        return errno;
    block = mmap(NULL, options->block, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (block == MAP_FAILED)
        return errno;
    worker->block = block;
    /* A kernel without them returns EINVAL, which hpcb_membench_huge_bytes() shows. */
    (void)madvise(block, options->block,
                  options->huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    for (size_t i = 0; i < words; i++)
        worker->block[i] = 1;
    return 0;
}

static bool over(hpcb_membench_t *bench)
{
    return atomic_load_explicit(&bench->stop, memory_order_relaxed) ||
           seconds_of(CLOCK_MONOTONIC) >= bench->deadline;
}

static double touch(hpcb_membench_word_t *words, const hpcb_membench_chunk_t *chunk,
                    const hpcb_membench_pass_t *pass)
{
    return pass->write ? hpcb_membench_write(words, chunk, pass->stride)
                       : hpcb_membench_read(words, chunk, pass->stride);
}

static void work(worker_t *worker)
{
    hpcb_membench_t *bench = worker->bench;
    const hpcb_membench_pass_t *pass = &bench->pass;
    hpcb_membench_chunk_t chunk =
        hpcb_membench_chunk(pass->stride, bench->options.line, pass->write);
    size_t words = bench->options.block / sizeof(hpcb_membench_word_t);
    size_t at = 0;
    uint64_t bytes = 0;

    worker->start = seconds_of(CLOCK_MONOTONIC);
    worker->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID);
    while (!over(bench)) {
        for (unsigned i = 0; i < CHUNKS_PER_LOOK; i++) {
            for (unsigned r = 0; r < pass->reuse; r++)
                worker->sum += touch(worker->block + at, &chunk, pass);
            at += chunk.span;
            if (at + chunk.span > words)
                at = 0;
        }
        bytes += CHUNKS_PER_LOOK * chunk.bytes;
        worker->accesses += CHUNKS_PER_LOOK * (uint64_t)pass->reuse * chunk.accesses;
        atomic_store_explicit(&worker->bytes, bytes, memory_order_relaxed);
    }
    worker->end = seconds_of(CLOCK_MONOTONIC);
    worker->cpu = seconds_of(CLOCK_THREAD_CPUTIME_ID) - worker->cpu;
}

/* Report the end of a round and wait for the next.  False: there is none. */
static bool next_round(hpcb_membench_t *bench, unsigned *round)
{
    pthread_mutex_lock(&bench->lock);
    if (--bench->busy == 0)
        pthread_cond_broadcast(&bench->changed);
    while (bench->round == *round && !bench->quit)
        pthread_cond_wait(&bench->changed, &bench->lock);
    *round = bench->round;
    bool more = !bench->quit;
    pthread_mutex_unlock(&bench->lock);
    return more;
}

static void *run(void *arg)
{
    worker_t *worker = arg;
    unsigned round = 0;

    worker->error = prepare(worker);
    while (next_round(worker->bench, &round))
        work(worker);
    return NULL;
}

static void wait_done(hpcb_membench_t *bench)
{
    pthread_mutex_lock(&bench->lock);
    while (bench->busy > 0)
        pthread_cond_wait(&bench->changed, &bench->lock);
    pthread_mutex_unlock(&bench->lock);
}

void hpcb_membench_close(hpcb_membench_t *bench)
{
    if (!bench)
        return;
    pthread_mutex_lock(&bench->lock);
    bench->quit = true;
    pthread_cond_broadcast(&bench->changed);
    pthread_mutex_unlock(&bench->lock);
    for (unsigned i = 0; i < bench->started; i++) {
        pthread_join(bench->workers[i].thread, NULL);
        if (bench->workers[i].block)
            munmap(bench->workers[i].block, bench->options.block);
    }
    pthread_cond_destroy(&bench->changed);
    pthread_mutex_destroy(&bench->lock);
    free(bench->workers);
    free(bench);
}

/* Return the bytes of a key in a file with lines "Key: N kB"; 0 if it is not there. */
static size_t kib_line(const char *path, const char *key)
{
    hpcb_autofclose FILE *file = fopen(path, "re");
    char line[256];
    uint64_t kib = 0;

    while (file && fgets(line, sizeof(line), file))
        if (strncmp(line, key, strlen(key)) == 0 &&
            sscanf(line + strlen(key), ": %" SCNu64 " kB", &kib) == 1)
            return (size_t)kib << 10;
    return 0;
}

size_t hpcb_membench_huge_bytes(void)
{
    return kib_line("/proc/self/smaps_rollup", "AnonHugePages");
}

static int check_room(const hpcb_membench_options_t *options, hpcb_error_t *err)
{
    size_t available = kib_line("/proc/meminfo", "MemAvailable");
    size_t wanted;

    if (!__builtin_mul_overflow(options->block, options->threads, &wanted) &&
        (available == 0 || wanted <= available / 2))
        return 0;
    errno = ENOMEM;
    return hpcb_error(
        err,
        "%u blocks of %zu MiB are more than half of the %zu MiB of memory "
        "that are available",
        options->threads, options->block >> 20, available >> 20);
}

static hpcb_membench_t *make(const hpcb_membench_options_t *options)
{
    hpcb_membench_t *bench = calloc(1, sizeof(*bench));

    if (!bench)
        return NULL;
    bench->workers =
        aligned_alloc(_Alignof(worker_t), options->threads * sizeof(worker_t));
    if (!bench->workers) {
        free(bench);
        return NULL;
    }
    memset(bench->workers, 0, options->threads * sizeof(worker_t));
    bench->options = *options;
    bench->options.cpus = NULL; /* the caller's; start() is the last to need it */
    pthread_mutex_init(&bench->lock, NULL);
    pthread_cond_init(&bench->changed, NULL);
    return bench;
}

static int start_all(hpcb_membench_t *bench, const hpcb_cpus_t *cpus, hpcb_error_t *err)
{
    unsigned cpu = 0;

    bench->busy = bench->options.threads;
    for (unsigned i = 0; i < bench->options.threads; i++) {
        worker_t *worker = &bench->workers[i];
        int rc;

        worker->bench = bench;
        worker->cpu_number = -1;
        if (cpus) {
            cpu = hpcb_cpus_from(cpus, cpu);
            worker->cpu_number = (int)cpu++;
        }
        rc = pthread_create(&worker->thread, NULL, run, worker);
        if (rc != 0) {
            errno = rc;
            return hpcb_error(err, "thread %u of %u cannot be started: %s", i + 1,
                              bench->options.threads, strerror(rc));
        }
        bench->started++;
    }
    return 0;
}

/* Signals are the opener's, whose sleep they end. */
static int start(hpcb_membench_t *bench, const hpcb_cpus_t *cpus, hpcb_error_t *err)
{
    sigset_t all, before;
    int rc;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = start_all(bench, cpus, err);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

static int check_workers(const hpcb_membench_t *bench, hpcb_error_t *err)
{
    for (unsigned i = 0; i < bench->options.threads; i++) {
        const worker_t *worker = &bench->workers[i];

        errno = worker->error;
        if (worker->error && !worker->block && worker->cpu_number >= 0)
            return hpcb_error(err, "thread %u on CPU %d: %s", i, worker->cpu_number,
                              strerror(worker->error));
        if (worker->error)
            return hpcb_error(err, "thread %u: %s", i, strerror(worker->error));
    }
    return 0;
}

int hpcb_membench_open(const hpcb_membench_options_t *options, hpcb_membench_t **bench,
                       hpcb_error_t *err)
{
    hpcb_membench_t *made;

    if (options->cpus && hpcb_cpus_count(options->cpus) < options->threads) {
        errno = EINVAL;
        return hpcb_error(err, "%u threads need as many CPUs", options->threads);
    }
    if (check_room(options, err) < 0)
        return -1;
    made = make(options);
    if (!made)
        return hpcb_error(err, "%s", strerror(errno));
    if (start(made, options->cpus, err) < 0) {
        hpcb_membench_close(made);
        return -1;
    }
    wait_done(made);
    if (check_workers(made, err) < 0) {
        hpcb_membench_close(made);
        return -1;
    }
    *bench = made;
    return 0;
}

void hpcb_membench_stop(hpcb_membench_t *bench)
{
    atomic_store_explicit(&bench->stop, true, memory_order_relaxed);
}

static void begin_pass(hpcb_membench_t *bench, const hpcb_membench_pass_t *pass)
{
    pthread_mutex_lock(&bench->lock);
    bench->pass = *pass;
    for (unsigned i = 0; i < bench->options.threads; i++) {
        atomic_store_explicit(&bench->workers[i].bytes, 0, memory_order_relaxed);
        bench->workers[i].accesses = 0;
        bench->workers[i].sum = 0;
    }
    bench->deadline = seconds_of(CLOCK_MONOTONIC) + pass->seconds;
    bench->busy = bench->options.threads;
    bench->round++;
    pthread_cond_broadcast(&bench->changed);
    pthread_mutex_unlock(&bench->lock);
}

static uint64_t bytes_now(hpcb_membench_t *bench)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < bench->options.threads; i++)
        bytes += atomic_load_explicit(&bench->workers[i].bytes, memory_order_relaxed);
    return bytes;
}

static void sample(hpcb_membench_t *bench)
{
    if (bench->pass.sample)
        bench->pass.sample(seconds_of(CLOCK_MONOTONIC), bytes_now(bench),
                           bench->pass.arg);
}

static void sleep_until(double when)
{
    struct timespec t = {.tv_sec = (time_t)when,
                         .tv_nsec = (long)((when - floor(when)) * 1e9)};

    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static void look_on(hpcb_membench_t *bench)
{
    double every = bench->pass.every > 0 ? bench->pass.every : INFINITY;
    double next = seconds_of(CLOCK_MONOTONIC) + every;

    sample(bench);
    while (!over(bench)) {
        double now = seconds_of(CLOCK_MONOTONIC);

        if (now >= next) {
            sample(bench);
            next += every;
        }
        sleep_until(fmin(fmin(next, bench->deadline), now + WAKE_SECONDS));
    }
}

static int sum_up(const hpcb_membench_t *bench, hpcb_membench_result_t *result,
                  hpcb_error_t *err)
{
    hpcb_membench_result_t all = {.start = INFINITY};

    for (unsigned i = 0; i < bench->options.threads; i++) {
        const worker_t *worker = &bench->workers[i];

        if (worker->sum != (double)worker->accesses) {
            errno = EIO;
            return hpcb_error(err,
                              "thread %u read %" PRIu64 " words of 1 and their sum is "
                              "%.0f: memory or processor are not sound",
                              i, worker->accesses, worker->sum);
        }
        all.start = fmin(all.start, worker->start);
        all.end = fmax(all.end, worker->end);
        all.bytes += atomic_load(&worker->bytes);
        all.accesses += worker->accesses;
        all.cpu += worker->cpu;
    }
    *result = all;
    return 0;
}

int hpcb_membench_pass(hpcb_membench_t *bench, const hpcb_membench_pass_t *pass,
                       hpcb_membench_result_t *result, hpcb_error_t *err)
{
    begin_pass(bench, pass);
    look_on(bench);
    wait_done(bench);
    sample(bench);
    atomic_store_explicit(&bench->stop, false, memory_order_relaxed);
    return sum_up(bench, result, err);
}
