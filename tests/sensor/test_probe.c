/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Bursts on this machine, which may be as loaded as it likes: no rate is asserted. */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "policy/cpus.h"
#include "sensor/probe.h"
#include "tests/cgroup/fake_kernel.h"

#define GIB   (UINT64_C(1) << 30)
#define BLOCK (4 * HPCB_PROBE_PART)

/* Bytes that this test itself takes between two looks, at most. */
#define OTHERS ((size_t)60 << 10)

/* More bursts than a block can need on a machine that interrupts each of them. */
#define TRIES 100000
#define CACHE "sys/devices/system/cpu/cpu0/cache/index%d/size"

static const char *root;

static void put_cache(int index, const char *size)
{
    char command[4096], path[128];

    snprintf(path, sizeof(path), CACHE, index);
    snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s/%s')\"", root, path);
    ck_assert_int_eq(system(command), 0);
    fake_write(path, size);
}

START_TEST(a_block_is_twice_the_largest_cache)
{
    hpcb_node_t *node;
    hpcb_error_t err = {""};

    root = fake_start("v1-hybrid");
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    ck_assert_uint_eq(hpcb_probe_block(node, 64 * GIB, &err), (size_t)64 << 20);
    put_cache(0, "32K\n");
    put_cache(2, "1024K\n");
    put_cache(3, "107520K\n");
    ck_assert_uint_eq(hpcb_probe_block(node, 64 * GIB, &err), (size_t)210 << 20);
    ck_assert_uint_eq(hpcb_probe_block(node, GIB, &err), 0);
    ck_assert_ptr_nonnull(strstr(err.text, "105 MiB"));
    put_cache(3, "no size\n");
    ck_assert_uint_eq(hpcb_probe_block(node, 64 * GIB, &err), (size_t)2 << 20);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

static uint64_t cpu_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static unsigned a_cpu(void)
{
    hpcb_cpus_t mine = {0};

    ck_assert_int_eq(sched_getaffinity(0, sizeof(mine), (cpu_set_t *)&mine), 0);
    return hpcb_cpus_from(&mine, 0);
}

static hpcb_probe_t *opened(void)
{
    hpcb_probe_t *probe;
    hpcb_error_t err;

    ck_assert_msg(hpcb_probe_open(BLOCK, &probe, &err) == 0, "%s", err.text);
    return probe;
}

/* Bytes of this process's own that are in memory, exactly. */
static size_t resident(void)
{
    FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
    char line[256];
    size_t kib = 0;

    ck_assert_ptr_nonnull(rollup);
    while (fgets(line, sizeof(line), rollup))
        (void)sscanf(line, "Anonymous: %zu kB", &kib);
    fclose(rollup);
    return kib << 10;
}

/* True: the whole block is written. */
static bool touch(hpcb_probe_t *probe, unsigned cpu)
{
    if (hpcb_probe_touch(probe, cpu) == 0)
        return true;
    ck_assert(errno == EAGAIN || errno == EBUSY);
    return false;
}

static void touch_all(hpcb_probe_t *probe, unsigned cpu)
{
    while (!touch(probe, cpu))
        ;
}

/* Opening writes nothing. */
START_TEST(a_block_is_written_in_parts)
{
    const size_t slack = HPCB_PROBE_PART; /* of huge pages at both ends */
    size_t before = resident();
    hpcb_probe_t *probe = opened();

    ck_assert_uint_le(resident(), before + slack);
    for (size_t parts = 1; !touch(probe, a_cpu()); parts++)
        ck_assert_uint_le(resident(), before + parts * HPCB_PROBE_PART + slack);
    ck_assert_uint_ge(resident(), before + BLOCK - slack);
    hpcb_probe_close(probe);
}
END_TEST

/* On that CPU, until it is killed. */
static pid_t compete(unsigned cpu)
{
    hpcb_cpus_t one = {0};
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    hpcb_cpus_add(&one, cpu);
    sched_setaffinity(0, sizeof(one), (cpu_set_t *)&one);
    for (volatile unsigned long i = 0;; i = i + 1)
        ;
}

/* True if somebody else came while a part was written: more is there than before, but
 * not all of the part. */
static bool is_interrupted(unsigned cpu)
{
    hpcb_probe_t *probe = opened();
    bool found = false, done = false;

    while (!found && !done) {
        size_t before = resident(), written;

        done = touch(probe, cpu);
        written = resident() - before;
        found =
            !done && errno == EBUSY && written >= OTHERS && written < HPCB_PROBE_PART;
    }
    if (found) /* it goes on from there */
        touch_all(probe, cpu);
    hpcb_probe_close(probe);
    return found;
}

/* Sooner or later: which of the two runs when is the kernel's affair. */
START_TEST(writing_ends_when_somebody_else_runs)
{
    const unsigned cpu = a_cpu();
    pid_t other = compete(cpu);

    while (!is_interrupted(cpu))
        ;
    kill(other, SIGKILL);
    ck_assert_int_eq(waitpid(other, NULL, 0), other);
}
END_TEST

/* "7f0000000000 local anon=4096 dirty=4096 N0=4096 ...": whether a mapping of pages
 * belongs to the node on which it is touched, and is there as a whole. */
static bool is_mapped(size_t pages, unsigned node)
{
    FILE *maps = fopen("/proc/self/numa_maps", "r");
    char line[1024], all[32], there[32];
    bool found = false;

    ck_assert_ptr_nonnull(maps);
    snprintf(all, sizeof(all), " anon=%zu ", pages);
    snprintf(there, sizeof(there), " N%u=%zu ", node, pages);
    while (!found && fgets(line, sizeof(line), maps))
        found = strstr(line, " local ") && strstr(line, all) && strstr(line, there);
    fclose(maps);
    return found;
}

/* Whatever the daemon was started with: here it is bound to the first node. */
START_TEST(a_block_belongs_to_the_node_of_its_cpu)
{
    unsigned long first = 1;
    unsigned cpu = a_cpu(), node = 0;
    hpcb_probe_t *probe;
    hpcb_cpus_t one = {0};

    if (access("/proc/self/numa_maps", R_OK) < 0 ||
        syscall(SYS_set_mempolicy, MPOL_BIND, &first, 8 * sizeof(first)) < 0) {
        fprintf(stderr, "# skipped: this kernel knows no NUMA nodes\n");
        return;
    }
    probe = opened();
    touch_all(probe, cpu);
    hpcb_cpus_add(&one, cpu);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(one), (cpu_set_t *)&one), 0);
    ck_assert_int_eq(syscall(SYS_getcpu, NULL, &node, NULL), 0);
    ck_assert(is_mapped(BLOCK / (size_t)sysconf(_SC_PAGESIZE), node));
    hpcb_probe_close(probe);
}
END_TEST

/* A burst has an end, whoever else is at work, and says so if it was disturbed. */
START_TEST(bursts_end)
{
    const unsigned bursts = 50, cpu = a_cpu();
    hpcb_cpus_t before = {0}, after = {0};
    hpcb_probe_t *probe = opened();
    unsigned done = 0;
    uint64_t used;

    /* A site may keep its daemons on a few CPUs. */
    hpcb_cpus_add(&before, cpu);
    ck_assert_int_eq(sched_setaffinity(0, sizeof(before), (cpu_set_t *)&before), 0);
    touch_all(probe, cpu);
    used = cpu_us();
    for (unsigned i = 0; i < bursts; i++) {
        uint64_t memory = 0, cache = 0;

        if (hpcb_probe_burst(probe, cpu, &memory, &cache) < 0) {
            ck_assert_int_eq(errno, EBUSY);
            ck_assert(memory == 0 && cache == 0);
            continue;
        }
        ck_assert(memory > 0 && cache > 0);
        done++;
    }
    used = (cpu_us() - used) / bursts;
    fprintf(stderr, "# %u of %u bursts, %llu us of CPU each\n", done, bursts,
            (unsigned long long)used);
    /* A look at the clock may come late by what a chunk takes, under valgrind, too. */
    ck_assert_uint_lt(used, 100 * HPCB_PROBE_BURST_US);
    ck_assert_int_eq(sched_getaffinity(0, sizeof(after), (cpu_set_t *)&after), 0);
    ck_assert(memcmp(&before, &after, sizeof(before)) == 0);
    hpcb_probe_close(probe);
}
END_TEST

START_TEST(a_cpu_that_is_not_there)
{
    uint64_t memory = 7, cache = 7;
    hpcb_probe_t *probe = opened();

    ck_assert_int_eq(hpcb_probe_burst(probe, HPCB_CPUS_MAX - 1, &memory, &cache), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcb_probe_touch(probe, HPCB_CPUS_MAX - 1), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert(memory == 7 && cache == 7);
    hpcb_probe_close(probe);
    hpcb_probe_close(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("probe");
    TCase *tcase = tcase_create("probe");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_block_is_twice_the_largest_cache);
    tcase_add_test(tcase, a_block_is_written_in_parts);
    tcase_add_test(tcase, writing_ends_when_somebody_else_runs);
    tcase_add_test(tcase, a_block_belongs_to_the_node_of_its_cpu);
    tcase_add_test(tcase, bursts_end);
    tcase_add_test(tcase, a_cpu_that_is_not_there);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
