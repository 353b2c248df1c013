/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "common/log.h"
#include "hpcbctl/status/metrics.h"
#include "hpcbctl/output.h"
#include "tests/common/scratch.h"

static const hpcb_totals_t ONE = {1, 2000001, 3000000, 500000, 0};

static void add(hpcb_class_t klass, const hpcb_totals_t *figures)
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_totals_add(scratch_dir(), klass, figures, &err) == 0, "%s",
                  err.text);
}

static void read_back(hpcb_totals_t totals[HPCB_N_CLASSES])
{
    hpcb_error_t err;

    ck_assert_msg(hpcb_totals_read(scratch_dir(), totals, &err) == 0, "%s", err.text);
}

START_TEST(totals_begin_at_nothing_and_add_up)
{
    const hpcb_totals_t evicted = {1, 1, 2, 3, 1};
    hpcb_totals_t totals[HPCB_N_CLASSES];

    read_back(totals);
    ck_assert_uint_eq(totals[HPCB_CLASS_GUEST].jobs, 0);
    add(HPCB_CLASS_PRIMARY, &ONE);
    add(HPCB_CLASS_GUEST, &evicted);
    add(HPCB_CLASS_PRIMARY, &ONE);
    read_back(totals);
    ck_assert_uint_eq(totals[HPCB_CLASS_PRIMARY].jobs, 2);
    ck_assert_uint_eq(totals[HPCB_CLASS_PRIMARY].cpu_us, 4000002);
    ck_assert_uint_eq(totals[HPCB_CLASS_PRIMARY].wall_us, 6000000);
    ck_assert_uint_eq(totals[HPCB_CLASS_PRIMARY].run_delay_us, 1000000);
    ck_assert_uint_eq(totals[HPCB_CLASS_GUEST].evictions, 1);
    ck_assert_uint_eq(totals[HPCB_CLASS_UNKNOWN].jobs, 0);
}
END_TEST

START_TEST(epilogs_at_once_lose_nothing)
{
    hpcb_totals_t totals[HPCB_N_CLASSES];
    int status;

    for (int i = 0; i < 8; i++) {
        if (fork() == 0) {
            for (int k = 0; k < 5; k++)
                if (hpcb_totals_add(scratch_dir(), HPCB_CLASS_GUEST, &ONE, NULL) < 0)
                    k--; /* the others were too slow: again */
            _exit(0);
        }
    }
    for (int i = 0; i < 8; i++) {
        ck_assert_int_gt(wait(&status), 0);
        ck_assert_int_eq(status, 0);
    }
    read_back(totals);
    ck_assert_uint_eq(totals[HPCB_CLASS_GUEST].jobs, 40);
}
END_TEST

START_TEST(an_epilog_does_not_wait_for_ever)
{
    int fd = open(scratch("totals.lock"), O_RDWR | O_CREAT, 0600);
    hpcb_error_t err;

    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(hpcb_totals_add(scratch_dir(), HPCB_CLASS_GUEST, &ONE, &err), -1);
    ck_assert_int_eq(errno, EAGAIN);
    ck_assert_ptr_nonnull(strstr(err.text, "held by others"));
    close(fd);
}
END_TEST

static const char *const damaged[] = {
    "primary 1 2 3 4\n",    "primary 1 2 3 4 5 6\n",
    "primary 1 2 3 4 -5\n", "primary 1 2 3 4 99999999999999999999\n",
    "nobody 1 2 3 4 5\n",   "\n",
    "primary 1 2 3 4 5",
};

START_TEST(damaged_totals_are_refused_and_kept)
{
    hpcb_totals_t totals[HPCB_N_CLASSES] = {{.jobs = 7}};
    hpcb_error_t err;

    put_file(scratch("totals"), damaged[_i]);
    ck_assert_int_eq(hpcb_totals_read(scratch_dir(), totals, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_ptr_nonnull(strstr(err.text, "damaged"));
    ck_assert_uint_eq(totals[0].jobs, 7);
    ck_assert_int_eq(hpcb_totals_add(scratch_dir(), HPCB_CLASS_GUEST, &ONE, &err), -1);
    ck_assert_str_eq(get_file(scratch("totals")), damaged[_i]);
}
END_TEST

START_TEST(totals_that_others_may_write_are_refused)
{
    hpcb_totals_t totals[HPCB_N_CLASSES];

    add(HPCB_CLASS_GUEST, &ONE);
    ck_assert_int_eq(chmod(scratch("totals"), 0666), 0);
    ck_assert_int_eq(hpcb_totals_read(scratch_dir(), totals, NULL), -1);
    ck_assert_int_eq(errno, EPERM);
}
END_TEST

static const char status_text[] =
    "{\"mechanisms\":["
    "{\"name\":\"idle-group\",\"isolates\":true,\"here\":true},"
    "{\"name\":\"odd\\\"\\\\\\n\",\"isolates\":true,\"here\":false},"
    "{\"name\":\"oom\",\"isolates\":false,\"here\":true}],"
    "\"jobs\":["
    "{\"class\":\"guest\",\"running\":true,\"mechanism\":\"idle-group\",\"exposed\":0,"
    "\"begin\":1000.5,\"cpus\":2,"
    "\"cpu_seconds\":1.5,\"run_delay_seconds\":2.25},"
    "{\"class\":\"guest\",\"running\":true,\"mechanism\":null,\"exposed\":3,"
    "\"cpu_seconds\":1.0,\"run_delay_seconds\":0.0},"
    "{\"class\":\"guest\",\"running\":false,\"mechanism\":null,\"exposed\":0,"
    "\"begin\":1001.0,\"cpus\":3,"
    "\"cpu_seconds\":99.0,\"run_delay_seconds\":0.0},"
    "{\"class\":\"primary\",\"running\":true,\"mechanism\":null,\"exposed\":0,"
    "\"begin\":1004.0,\"cpus\":null,"
    "\"cpu_seconds\":10.0,\"run_delay_seconds\":0.125}]}";

static const char *const wanted[] = {
    "\nhpcb_jobs_ended_total{class=\"guest\"} 1\n",
    "\nhpcb_jobs_ended_total{class=\"primary\"} 0\n",
    "\nhpcb_cpu_seconds_total{class=\"guest\"} 2.000001\n",
    "\nhpcb_stolen_seconds_total{class=\"guest\"} 0.500000\n",
    "\nhpcb_evictions_total 0\n",
    "\nhpcb_jobs_running{class=\"guest\"} 2\n",
    "\nhpcb_cpus_held{class=\"guest\"} 5\n",
    "\nhpcb_cpus_held{class=\"primary\"} 0\n",
    "\nhpcb_memory_lent_bytes 4096\n",
    "\nhpcb_memory_guests_bytes 1024\n",
    "\nhpcb_guests_stopped 1\n",
    "\n# TYPE hpcb_guest_stops_total counter\nhpcb_guest_stops_total 12\n",
    "\nhpcb_guest_starved_total 3\n",
    "\nhpcb_guests_restricted 2\n",
    "\n# TYPE hpcb_guest_restrictions_total counter\nhpcb_guest_restrictions_total 5\n",
    "\nhpcb_guest_harmful_total 4\n",
    "\nhpcb_guest_cost_measured{method=\"run_delay\"} 0\n",
    "\nhpcb_guest_cost_measured{method=\"instructions\"} 2\n",
    "\nhpcb_guest_cost_measured{method=\"iterations\"} 1\n",
    "\nhpcb_guest_cost_max_ratio 0.031000\n",
    "\nhpcb_guest_cost_max_low_ratio 0.012000\n",
    "\nhpcb_guest_cost_max_high_ratio 0.050000\n",
    "\nhpcb_primaries_with_slices 1\n",
    "\n# TYPE hpcb_primary_slices_total counter\nhpcb_primary_slices_total 6\n",
    "\nhpcb_jobs_running{class=\"primary\"} 1\n",
    "\nhpcb_running_cpu_seconds{class=\"guest\"} 2.500000\n",
    "\nhpcb_running_stolen_seconds{class=\"primary\"} 0.125000\n",
    "\nhpcb_mechanism_available{mechanism=\"idle-group\"} 1\n",
    "\nhpcb_mechanism_available{mechanism=\"odd\\\"\\\\\\n\"} 0\n",
    "\nhpcb_guests_by_mechanism{mechanism=\"idle-group\"} 1\n",
    "\nhpcb_guest_tasks_exposed 3\n",
    "\nhpcb_spooled_records 4\n",
    "\nhpcb_problems 2\n",
};

START_TEST(the_text_says_what_is_here)
{
    hpcb_metrics_t metrics = {.problems = 2, .spooled = 4};
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    metrics.status = json_tokener_parse(status_text);
    metrics.memory = json_tokener_parse("{\"lent\":4096,\"guests\":1024}");
    metrics.crumbs = json_tokener_parse("{\"stopped\":1,\"stops\":12,\"requeues\":3}");
    metrics.harm = json_tokener_parse("{\"level\":2,\"steps\":5,\"requeues\":4,"
                                      "\"slices\":1,\"slices_given\":6}");
    metrics.jobs = json_tokener_parse(
        "[{\"job\":1,\"guest_cost\":{\"cost\":-0.01,\"method\":\"instructions\"}},"
        "{\"job\":2},"
        "{\"job\":3,\"guest_cost\":{\"cost\":0.031,\"low\":0.012,\"high\":0.05,"
        "\"method\":\"iterations\"}},"
        "{\"job\":4,\"guest_cost\":{\"cost\":0.02,\"method\":\"instructions\"}}]");
    metrics.totals[HPCB_CLASS_GUEST] = ONE;
    ck_assert_ptr_nonnull(metrics.status);
    hpcb_metrics_text(&metrics, out);
    fclose(out);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++)
        ck_assert_msg(strstr(text, wanted[i]), "%sis not in\n%s", wanted[i], text);
    ck_assert_ptr_null(strstr(text, "guests_by_mechanism{mechanism=\"oom"));
    json_object_put(metrics.status);
    json_object_put(metrics.memory);
    json_object_put(metrics.crumbs);
    json_object_put(metrics.harm);
    json_object_put(metrics.jobs);
    free(text);
}
END_TEST

/* Also of jobs between two steps, which run nothing. */
START_TEST(counters_have_what_jobs_have_used_so_far)
{
    hpcb_metrics_t metrics = {.status = json_tokener_parse(status_text)};
    const hpcb_totals_t *guests = &metrics.totals[HPCB_CLASS_GUEST];

    metrics.totals[HPCB_CLASS_GUEST] = ONE;
    hpcb_metrics_add_jobs(&metrics, 1003 * UINT64_C(1000000));
    ck_assert_uint_eq(guests->jobs, 1);
    ck_assert_uint_eq(guests->cpu_us, 2000001 + 1500000 + 1000000 + 99000000);
    ck_assert_uint_eq(guests->run_delay_us, 500000 + 2250000);
    ck_assert_uint_eq(guests->wall_us,
                      3000000 + 2500000 + 1003 * UINT64_C(1000000) + 2000000);
    /* This clock was set back since the primary's begin. */
    ck_assert_uint_eq(metrics.totals[HPCB_CLASS_PRIMARY].wall_us, 0);
    ck_assert_uint_eq(metrics.totals[HPCB_CLASS_PRIMARY].cpu_us, 10000000);
    json_object_put(metrics.status);
}
END_TEST

static uint64_t shown(uint64_t jobs, uint64_t cpu_us, bool note)
{
    hpcb_totals_t totals[HPCB_N_CLASSES] = {0};
    hpcb_error_t err;

    totals[HPCB_CLASS_GUEST] = (hpcb_totals_t){.jobs = jobs, .cpu_us = cpu_us};
    ck_assert_msg(hpcb_totals_show(scratch_dir(), totals, note, &err) == 0, "%s",
                  err.text);
    return totals[HPCB_CLASS_GUEST].cpu_us;
}

START_TEST(counters_never_go_back)
{
    ck_assert_uint_eq(shown(3, 100, false), 100);
    ck_assert_uint_eq(shown(3, 90, true), 90);
    ck_assert_uint_eq(shown(3, 200, true), 200);
    ck_assert_uint_eq(shown(3, 150, true), 200); /* neither here nor there */
    ck_assert_uint_eq(shown(4, 190, false), 200);
    ck_assert_uint_eq(shown(4, 210, true), 210);
}
END_TEST

START_TEST(counters_begin_anew_with_the_totals)
{
    ck_assert_uint_eq(shown(3, 100, true), 100);
    ck_assert_uint_eq(shown(0, 5, true), 5);
    ck_assert_uint_eq(shown(0, 4, true), 5);
    put_file(scratch("shown"), "damaged\n");
    ck_assert_uint_eq(shown(0, 6, true), 6);
    ck_assert_uint_eq(shown(0, 5, false), 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("metrics");
    TCase *tcase = scratch_case("metrics");

    tcase_add_test(tcase, totals_begin_at_nothing_and_add_up);
    tcase_add_test(tcase, epilogs_at_once_lose_nothing);
    tcase_add_test(tcase, an_epilog_does_not_wait_for_ever);
    tcase_add_loop_test(tcase, damaged_totals_are_refused_and_kept, 0,
                        sizeof(damaged) / sizeof(damaged[0]));
    tcase_add_test(tcase, totals_that_others_may_write_are_refused);
    tcase_add_test(tcase, the_text_says_what_is_here);
    tcase_add_test(tcase, counters_have_what_jobs_have_used_so_far);
    tcase_add_test(tcase, counters_never_go_back);
    tcase_add_test(tcase, counters_begin_anew_with_the_totals);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
