/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <limits.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/capacity.h"
#include "common/file.h"
#include "common/state.h"
#include "hpcbctl/calibrate/calibrate.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/tmp.h"

static char root[TEST_TMP_MAX];

/* A file below root, its directories made. */
static void put(const char *path, const char *text)
{
    char full[PATH_MAX], *slash;
    hpcb_error_t err;
    FILE *file;

    snprintf(full, sizeof(full), "%s/%s", root, path);
    slash = strrchr(full, '/');
    *slash = '\0';
    ck_assert_msg(hpcb_file_mkdirs(full, 0755, &err) == 0, "%s", err.text);
    *slash = '/';
    file = fopen(full, "w");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
}

static void interface(const char *name, const char *type, const char *state,
                      const char *speed, const char *duplex, bool real)
{
    char path[128];

    snprintf(path, sizeof(path), "sys/class/net/%s/type", name);
    put(path, type);
    snprintf(path, sizeof(path), "sys/class/net/%s/operstate", name);
    put(path, state);
    snprintf(path, sizeof(path), "sys/class/net/%s/speed", name);
    put(path, speed);
    snprintf(path, sizeof(path), "sys/class/net/%s/duplex", name);
    put(path, duplex);
    if (real) {
        snprintf(path, sizeof(path), "sys/class/net/%s/device/vendor", name);
        put(path, "0x15b3\n");
    }
}

static hpcb_network_t network_of(void)
{
    hpcb_network_t network;

    hpcb_calibrate_network(root, &network);
    return network;
}

START_TEST(the_fastest_link_counts)
{
    hpcb_network_t network;

    test_tmp_dir(root);
    ck_assert_uint_eq(network_of().bytes_per_second, 0);
    interface("eno1", "1\n", "up\n", "1000\n", "full\n", true);
    interface("eno2", "1\n", "up\n", "25000\n", "full\n", true);
    interface("eno3", "1\n", "down\n", "100000\n", "full\n", true);
    interface("bond0", "1\n", "up\n", "50000\n", "full\n", false);
    interface("lo", "772\n", "unknown\n", "1000000\n", "full\n", false);
    interface("can0", "280\n", "up\n", "1000000\n", "full\n", true);
    network = network_of();
    ck_assert_uint_eq(network.bytes_per_second, UINT64_C(2) * 25000 * 125000);
    ck_assert_str_eq(network.link, "eno2");
    ck_assert_uint_eq(network.silent, 0);
}
END_TEST

START_TEST(half_duplex_is_half)
{
    test_tmp_dir(root);
    interface("eth0", "1\n", "up\n", "100\n", "half\n", true);
    ck_assert_uint_eq(network_of().bytes_per_second, UINT64_C(100) * 125000);
}
END_TEST

START_TEST(links_that_do_not_tell)
{
    static const char *const speeds[] = {"-1\n", "0\n",    "4294967295\n", "65535\n",
                                         "",     "fast\n", "1e5\n"};

    test_tmp_dir(root);
    interface("eth0", "1\n", "up\n", speeds[_i], "unknown\n", true);
    ck_assert_uint_eq(network_of().bytes_per_second, 0);
    ck_assert_uint_eq(network_of().silent, 1);
}
END_TEST

START_TEST(infiniband_counts_too)
{
    hpcb_network_t network;

    test_tmp_dir(root);
    interface("ib0", "32\n", "up\n", "56000\n", "full\n", true);
    put("sys/class/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)\n");
    put("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
    put("sys/class/infiniband/mlx5_1/ports/1/rate", "200 Gb/sec (4X HDR)\n");
    put("sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n");
    put("sys/class/infiniband/qib0/ports/1/rate", "much\n");
    put("sys/class/infiniband/qib0/ports/1/state", "4: ACTIVE\n");
    network = network_of();
    ck_assert_uint_eq(network.bytes_per_second, UINT64_C(2) * 100000 * 125000);
    ck_assert_str_eq(network.link, "mlx5_0 port 1");
    ck_assert_uint_eq(network.silent, 1);
    put("sys/class/infiniband/mlx5_0/ports/1/rate", "2.5 Gb/sec (1X SDR)\n");
    put("sys/class/net/ib0/operstate", "down\n");
    ck_assert_uint_eq(network_of().bytes_per_second, UINT64_C(2) * 2500 * 125000);
}
END_TEST

/* What is printed is what hpc-balance.conf takes, and never more than was measured. */
START_TEST(line_is_read_back)
{
    static const uint64_t sizes[] = {1,
                                     999,
                                     1023,
                                     1024,
                                     1025,
                                     125000000,
                                     37000000000,
                                     (UINT64_C(1) << 40) - 1,
                                     UINT64_C(1) << 40,
                                     210000000000,
                                     UINT64_C(1) << 50};
    hpcb_capacity_t row;
    hpcb_error_t err;
    char line[HPCB_NODES_MAX];

    ck_assert_int_eq(
        hpcb_calibrate_line("n1", sizes[_i], sizes[10 - _i], line, sizeof(line)), 0);
    ck_assert_msg(hpcb_capacity_parse(line, &row, &err) == 0, "%s: %s", line, err.text);
    ck_assert_str_eq(row.nodes, "n1");
    ck_assert_uint_le(row.mem, sizes[_i]);
    ck_assert_uint_ge(row.mem, sizes[_i] - sizes[_i] / 10);
    ck_assert_uint_le(row.net, sizes[10 - _i]);
}
END_TEST

START_TEST(line_says_what_is_known)
{
    char line[64];

    ck_assert_int_eq(hpcb_calibrate_line("n1", 1 << 30, 0, line, sizeof(line)), 0);
    ck_assert_str_eq(line, "NodeName=n1 MemBandwidth=1.0G");
    ck_assert_int_eq(hpcb_calibrate_line("n1", 0, 1536, line, sizeof(line)), 0);
    ck_assert_str_eq(line, "NodeName=n1 NetBandwidth=1.5K");
    ck_assert_int_eq(hpcb_calibrate_line("n1", 0, 0, line, sizeof(line)), -1);
    ck_assert_int_eq(hpcb_calibrate_line("n1", 1, 1, line, 20), -1);
}
END_TEST

START_TEST(ticks_of_proc_stat)
{
    double busy = -1, all = -1;
    long hertz = sysconf(_SC_CLK_TCK);

    ck_assert_int_eq(
        hpcb_company_ticks("cpu  1 2 3 4000 50 6 7 8 0 0\ncpu0 1", &busy, &all), 0);
    ck_assert(fabs(busy * (double)hertz - 27) < 1e-6);
    ck_assert(fabs(all * (double)hertz - 4077) < 1e-6);
    ck_assert_int_eq(hpcb_company_ticks("cpu 1 2 3\n", &busy, &all), -1);
    ck_assert_int_eq(hpcb_company_ticks("", &busy, &all), -1);
    ck_assert_int_eq(hpcb_company_ticks("intr 1 2 3 4 5 6 7 8\n", &busy, &all), -1);
}
END_TEST

static void record(const hpcb_conf_t *conf, uint32_t id, hpcb_class_t klass)
{
    const hpcb_job_state_t job = {
        .job_id = id, .uid = 7001, .klass = klass, .partition = "p", .begin_us = 1};
    hpcb_error_t err;

    ck_assert_msg(hpcb_state_save(conf->state_dir, &job, &err) == 0, "%s", err.text);
}

START_TEST(jobs_on_record)
{
    hpcb_company_t company = {.busy = 0.5};
    hpcb_node_t *node;
    hpcb_conf_t conf;
    hpcb_error_t err;

    test_tmp_dir(root);
    ck_assert_int_eq(hpcb_node_open(fake_start("no-cgroups"), &node, &err), 0);
    hpcb_conf_defaults(&conf);
    snprintf(conf.state_dir, sizeof(conf.state_dir), "%s/state", root);
    ck_assert_int_eq(hpcb_company_jobs(&conf, node, &company, &err), 0);
    ck_assert_uint_eq(company.primaries + company.guests, 0);
    record(&conf, 3, HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_company_jobs(&conf, node, &company, &err), 0);
    ck_assert_uint_eq(company.primaries, 0);
    ck_assert_uint_eq(company.guests, 1);
    record(&conf, 4, HPCB_CLASS_PRIMARY);
    record(&conf, 5, HPCB_CLASS_PRIMARY);
    ck_assert_int_eq(hpcb_company_jobs(&conf, node, &company, &err), 0);
    ck_assert_uint_eq(company.primaries, 2);
    ck_assert(company.a_primary == 4 || company.a_primary == 5);
    ck_assert(company.busy == 0.5);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* A task of Slurm's job 5 that nobody has recorded: a primary, for all that is known.
 */
START_TEST(jobs_without_a_record)
{
    hpcb_company_t company = {0};
    hpcb_node_t *node;
    hpcb_conf_t conf;
    hpcb_error_t err;

    test_tmp_dir(root);
    ck_assert_int_eq(hpcb_node_open(fake_start("v1-hybrid"), &node, &err), 0);
    hpcb_conf_defaults(&conf);
    snprintf(conf.state_dir, sizeof(conf.state_dir), "%s/state", root);
    fake_task(100);
    fake_task(100);
    ck_assert_int_eq(hpcb_company_jobs(&conf, node, &company, &err), 0);
    ck_assert_uint_eq(company.primaries, 1);
    ck_assert_uint_eq(company.a_primary, 5);
    record(&conf, 5, HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_company_jobs(&conf, node, &company, &err), 0);
    ck_assert_uint_eq(company.primaries, 0);
    ck_assert_uint_eq(company.guests, 1);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

static unsigned passes_seen;

static void see_pass(unsigned pass, unsigned passes)
{
    ck_assert_uint_eq(pass, ++passes_seen);
    ck_assert_uint_le(pass, passes);
}

START_TEST(memory_is_measured)
{
    hpcb_cpus_t cpus = {0}, one = {0};
    hpcb_memory_t memory;
    hpcb_error_t err;

    ck_assert_int_eq(sched_getaffinity(0, sizeof(cpus), (cpu_set_t *)&cpus) < 0, 0);
    hpcb_cpus_add(&one, hpcb_cpus_from(&cpus, 0));
    ck_assert_msg(hpcb_calibrate_memory(&one, 0.2, see_pass, &memory, &err) == 0, "%s",
                  err.text);
    ck_assert_uint_eq(passes_seen, HPCB_CALIBRATE_PASSES);
    ck_assert_uint_eq(memory.cpus, 1);
    ck_assert_uint_ge(memory.rows, 4);
    for (size_t i = 0; i < memory.rows; i++) {
        ck_assert(memory.row[i].least <= memory.row[i].median);
        ck_assert(memory.row[i].median <= memory.row[i].most);
        ck_assert(memory.row[i].most > 0);
    }
    ck_assert_uint_gt(memory.capacity, 0);
    ck_assert(memory.capacity == (uint64_t)memory.row[0].median ||
              memory.capacity == (uint64_t)memory.row[1].median);
}
END_TEST

START_TEST(memory_on_no_such_cpu)
{
    hpcb_memory_t memory = {.cpus = 77};
    hpcb_cpus_t cpus = {0};
    hpcb_error_t err;

    hpcb_cpus_add(&cpus, HPCB_CPUS_MAX - 1);
    ck_assert_int_eq(hpcb_calibrate_memory(&cpus, 0.1, NULL, &memory, &err), -1);
    ck_assert_uint_eq(memory.cpus, 77);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("calibrate");
    TCase *tests = tcase_create("calibrate");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, the_fastest_link_counts);
    tcase_add_test(tests, half_duplex_is_half);
    tcase_add_loop_test(tests, links_that_do_not_tell, 0, 7);
    tcase_add_test(tests, infiniband_counts_too);
    tcase_add_loop_test(tests, line_is_read_back, 0, 11);
    tcase_add_test(tests, line_says_what_is_known);
    tcase_add_test(tests, ticks_of_proc_stat);
    tcase_add_test(tests, jobs_on_record);
    tcase_add_test(tests, jobs_without_a_record);
    tcase_add_test(tests, memory_is_measured);
    tcase_add_test(tests, memory_on_no_such_cpu);
    suite_add_tcase(suite, tests);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed > 0;
}
