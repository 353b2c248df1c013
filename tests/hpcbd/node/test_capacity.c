/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What a node has measured of itself, as the daemon keeps it. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "hpcbd/node/capacity.h"
#include "tests/common/scratch.h"

START_TEST(what_was_measured_is_kept)
{
    const hpcbd_capacity_t measured = {.mem = 12000000000, .net = 2500000000};
    const char *dir = scratch_dir();
    hpcbd_capacity_t read = {1, 1};
    hpcb_error_t err;

    hpcbd_capacity_load(dir, &read);
    ck_assert(read.mem == 0 && read.net == 0);
    ck_assert_int_eq(hpcbd_capacity_save(dir, &measured, &err), 0);
    hpcbd_capacity_load(dir, &read);
    ck_assert_uint_eq(read.mem, measured.mem);
    ck_assert_uint_eq(read.net, measured.net);
}
END_TEST

START_TEST(other_hardware_is_not_measured)
{
    const char *dir = scratch_dir();
    char path[PATH_MAX], text[128];
    hpcbd_capacity_t read;

    snprintf(path, sizeof(path), "%s/capacity", dir);
    snprintf(text, sizeof(text), "cpus %ld pages %ld mem 5 net 6\n",
             sysconf(_SC_NPROCESSORS_ONLN), sysconf(_SC_PHYS_PAGES));
    put_file(path, text);
    hpcbd_capacity_load(dir, &read);
    ck_assert_uint_eq(read.mem, 5);
    snprintf(text, sizeof(text), "cpus %ld pages %ld mem 5 net 6\n",
             sysconf(_SC_NPROCESSORS_ONLN) + 1, sysconf(_SC_PHYS_PAGES));
    put_file(path, text);
    hpcbd_capacity_load(dir, &read);
    ck_assert_uint_eq(read.mem, 0);
    put_file(path, "cpus 1 pages\n");
    hpcbd_capacity_load(dir, &read);
    ck_assert_uint_eq(read.mem, 0);
}
END_TEST

START_TEST(only_a_quiet_node_counts)
{
    hpcbd_capacity_t found = {7, 7};
    hpcb_error_t err;

    ck_assert_int_eq(hpcbd_capacity_parse("", &found, &err), -1);
    ck_assert_int_eq(hpcbd_capacity_parse("{\"quiet\":true}", &found, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcbd_capacity_parse(
                         "{\"mem_bytes_per_second\":5,\"quiet\":false}", &found, &err),
                     -1);
    ck_assert_int_eq(errno, EBUSY);
    ck_assert_uint_eq(found.mem, 7);
    ck_assert_int_eq(
        hpcbd_capacity_parse("{\"mem_bytes_per_second\":5,"
                             "\"net_bytes_per_second\":null,\"quiet\":true}",
                             &found, &err),
        0);
    ck_assert(found.mem == 5 && found.net == 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("capacity");
    TCase *test = scratch_case("capacity");

    tcase_add_test(test, what_was_measured_is_kept);
    tcase_add_test(test, other_hardware_is_not_measured);
    tcase_add_test(test, only_a_quiet_node_counts);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
