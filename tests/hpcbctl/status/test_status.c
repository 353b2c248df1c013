/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/mechanism.h"
#include "common/state.h"
#include "hpcbctl/output.h"
#include "hpcbctl/status/status.h"
#include "hpcbctl/tasks.h"
#include "hpcbctl/calibrate/topology.h"
#include "sensor/meter.h"
#include "tests/cgroup/fake_core.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/common/tmp.h"
#include "tests/hpcbctl/node_fixture.h"

#define SMT   "pack:2 core:4 pu:2"
#define METER "sys/fs/cgroup/unified/hpcb/job_5/0.0"

static json_object *collect(const hpcb_conf_t *conf, const hpcb_node_t *node,
                            unsigned expected)
{
    unsigned problems = 0;
    json_object *status = hpcb_status_collect(conf, node, SMT, &problems);

    ck_assert_ptr_nonnull(status);
    ck_assert_msg(problems == expected, "%u problems: %s", problems, fixture_log);
    return status;
}

static json_object *find(json_object *status, const char *list, const char *key,
                         const char *value)
{
    json_object *array = json_object_object_get(status, list);

    for (size_t i = 0; i < json_object_array_length(array); i++) {
        json_object *row = json_object_array_get_idx(array, i);

        if (strcmp(hpcb_json_get_text(row, key), value) == 0)
            return row;
    }
    ck_abort_msg("no %s=%s in %s", key, value, json_object_to_json_string(status));
    return NULL;
}

START_TEST(shows_what_a_node_has)
{
    static const struct {
        const char *snapshot;
        const char *mechanism;
        bool here;
    } cases[] = {
        {"v1-hybrid", "idle-group", true},     {"v2-slurm22", "idle-group", true},
        {"v1-comounted", "idle-group", false}, /* Linux 5.10 */
        {"no-cgroups", "idle-group", false},   {"no-cgroups", "freeze", false},
    };
    hpcb_node_t *node = fixture_node(fake_start(cases[_i].snapshot));
    json_object *status, *row;
    hpcb_conf_t conf;

    fixture_conf(&conf, "/nowhere");
    status = collect(&conf, node, 0);
    row = find(status, "mechanisms", "name", cases[_i].mechanism);
    ck_assert(hpcb_json_get_bool(row, "here") == cases[_i].here);
    /* Why not, or nothing. */
    ck_assert((*hpcb_json_get_text(row, "why_not") == '\0') == cases[_i].here);
    row = find(status, "sensors", "name", "network");
    ck_assert(!hpcb_json_get_bool(row, "here"));
    ck_assert_str_ne(hpcb_json_get_text(row, "why_not"), "");
    ck_assert_str_eq(hpcb_json_get_text(row, "scope"), "job");
    ck_assert_uint_eq(json_object_array_length(json_object_object_get(status, "jobs")),
                      0);
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(shows_guests_and_primaries)
{
    static const char *const snapshots[] = {"v1-hybrid", "v2-slurm22"};
    /* The job of task 100 there. */
    const uint32_t guest = _i ? 4 : 5;
    const char *root = fake_start(snapshots[_i]);
    hpcb_node_t *node = fixture_node(root);
    const hpcb_usage_t used = {.cpu_us = 2500000, .run_delay_us = 10, .memory_peak = 7};
    json_object *status, *row;
    pid_t pid = fake_task(100);
    hpcb_conf_t conf;
    char id[16];

    fixture_conf(&conf, root);
    fixture_job(&conf, guest, HPCB_CLASS_GUEST);
    fixture_job(&conf, 901, HPCB_CLASS_PRIMARY);
    fixture_job(&conf, 902, HPCB_CLASS_GUEST);
    fixture_lower(node, &conf, guest, pid, NULL);
    hpcb_state_add_usage(conf.state_dir, 901, HPCB_USAGE_STEP, &used, NULL);
    hpcb_state_add_usage(conf.state_dir, 901, HPCB_USAGE_STEP, &used, NULL);
    status = collect(&conf, node, 0);
    snprintf(id, sizeof(id), "%" PRIu32, guest);
    row = find(status, "jobs", "job_id", id);
    ck_assert_str_eq(hpcb_json_get_text(row, "class"), "guest");
    ck_assert_str_eq(hpcb_json_get_text(row, "mechanism"), "idle-group");
    ck_assert_str_eq(hpcb_json_get_text(row, "begin"), "1.500000");
    ck_assert(hpcb_json_get_bool(row, "running"));
    row = find(status, "jobs", "job_id", "901");
    ck_assert_str_eq(hpcb_json_get_text(row, "class"), "primary");
    ck_assert_str_eq(hpcb_json_get_text(row, "mechanism"), "");
    ck_assert_str_eq(hpcb_json_get_text(row, "cpu_seconds"), "5.000000");
    ck_assert_uint_eq(hpcb_json_get_u64(row, "memory_peak_bytes"), 7);
    /* Between two steps. */
    row = find(status, "jobs", "job_id", "902");
    ck_assert(!hpcb_json_get_bool(row, "running"));
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(tells_of_a_guest_that_nothing_lowers)
{
    const hpcb_usage_t ended = {.cpu_us = 1000000};
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    pid_t pid = fake_task(100);
    json_object *status, *row;
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    fixture_job(&conf, 5, HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_meter_attach(node, 5, "0", 0, pid, NULL), 0);
    fake_write(METER "/cpu.stat", "usage_usec 4200\n");
    fake_write(METER "/cpu.pressure", "some avg10=0.00 total=300\n");
    hpcb_state_add_usage(conf.state_dir, 5, HPCB_USAGE_STEP, &ended, NULL);
    status = collect(&conf, node, 1);
    row = find(status, "jobs", "job_id", "5");
    ck_assert(hpcb_json_get_bool(row, "running"));
    ck_assert_str_eq(hpcb_json_get_text(row, "mechanism"), "");
    ck_assert_ptr_nonnull(strstr(fixture_log, "job 5: nothing lowers task"));
    /* Ended steps and the running one. */
    ck_assert_str_eq(hpcb_json_get_text(row, "cpu_seconds"), "1.004200");
    ck_assert_str_eq(hpcb_json_get_text(row, "run_delay_seconds"), "0.000300");
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* On v1 each process has to be in the guest group; on v2 Slurm's directory holds all.
 */
START_TEST(sees_a_guests_process_that_got_out)
{
    static const char *const snapshots[] = {"v1-hybrid", "v2-slurm22"};
    const char *root = fake_start(snapshots[_i]), *found;
    hpcb_node_t *node = fixture_node(root);
    const uint32_t guest = _i ? 4 : 5;
    pid_t lowered = fake_task(100);
    json_object *status, *row;
    hpcb_conf_t conf;
    size_t length;
    char *text, id[16];
    FILE *out = open_memstream(&text, &length);

    fake_task(100);
    fixture_conf(&conf, root);
    fixture_job(&conf, guest, HPCB_CLASS_GUEST);
    fixture_lower(node, &conf, guest, lowered, NULL);
    snprintf(id, sizeof(id), "%" PRIu32, guest);
    status = collect(&conf, node, _i ? 0 : 1);
    row = find(status, "jobs", "job_id", id);
    ck_assert_str_eq(hpcb_json_get_text(row, "mechanism"), "idle-group");
    ck_assert_uint_eq(hpcb_json_get_u64(row, "exposed"), _i ? 0 : 1);
    hpcb_status_text(status, out);
    fclose(out);
    found = strstr(text, "PARTLY");
    ck_assert(_i ? !found : found != NULL);
    free(text);
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* The kernel shows it in the root group by then, and it is lifted so that it ends. */
START_TEST(a_task_that_has_been_killed_is_not_exposed)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    pid_t lowered = fake_task(100), killed = fake_task(100);
    siginfo_t info;
    json_object *status, *row;
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    fixture_job(&conf, 5, HPCB_CLASS_GUEST);
    fixture_lower(node, &conf, 5, lowered, NULL);
    ck_assert_int_eq(kill(killed, SIGKILL), 0);
    ck_assert_int_eq(waitid(P_PID, (id_t)killed, &info, WEXITED | WNOWAIT), 0);
    status = collect(&conf, node, 0);
    row = find(status, "jobs", "job_id", "5");
    ck_assert_str_eq(hpcb_json_get_text(row, "mechanism"), "idle-group");
    ck_assert_uint_eq(hpcb_json_get_u64(row, "exposed"), 0);
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

static void record_sluid(const hpcb_conf_t *conf, uint32_t id, const char *sluid)
{
    hpcb_job_state_t job = {.job_id = id, .uid = 7001, .klass = HPCB_CLASS_GUEST};
    hpcb_error_t err;

    snprintf(job.sluid, sizeof(job.sluid), "%s", sluid);
    ck_assert_msg(hpcb_state_save(conf->state_dir, &job, &err) == 0, "%s", err.text);
}

static const char *mechanism_of(json_object *status, const char *id)
{
    return hpcb_json_get_text(find(status, "jobs", "job_id", id), "mechanism");
}

/* From Slurm 26.05 on nothing in a path says which job it is. */
START_TEST(finds_a_job_by_its_sluid)
{
    const char *root = fake_start("v2-sluid");
    hpcb_node_t *node = fixture_node(root);
    pid_t pid = fake_task(100);
    json_object *status;
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    record_sluid(&conf, 6, "");
    record_sluid(&conf, 7, "s8B9M7Y1A9MR00");
    record_sluid(&conf, 8, "s8B9M7Y1A9MR01");
    fixture_lower(node, &conf, 7, pid, NULL);
    status = collect(&conf, node, 0);
    ck_assert_str_eq(mechanism_of(status, "6"), "");
    ck_assert_str_eq(mechanism_of(status, "7"), "idle-group");
    ck_assert_str_eq(mechanism_of(status, "8"), "");
    ck_assert_str_eq(
        hpcb_json_get_text(find(status, "jobs", "job_id", "7"), "cpu_seconds"),
        "5.000000");
    ck_assert_int_eq(hpcb_tasks_any(node, &conf, 7), pid);
    ck_assert_int_eq(hpcb_tasks_any(node, &conf, 8), 0);
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

/* One core of two threads; a task with a cookie, one without, both, and no guest. */
START_TEST(shows_what_keeps_off_siblings)
{
    static const char *const expected[] = {"core-cookie", "exposed", "exposed"};
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    char command[512];
    json_object *status, *row;
    hpcb_conf_t conf;
    pid_t pid = 0;

    fixture_conf(&conf, root);
    fake_core_start();
    snprintf(
        command, sizeof(command),
        "d='%s/sys/devices/system/cpu'; for c in 0 1; do mkdir -p $d/cpu$c/topology "
        "&& echo 0-1 > $d/cpu$c/topology/thread_siblings_list; done && "
        "echo 0-1 > $d/online",
        root);
    ck_assert_int_eq(system(command), 0);
    fixture_job(&conf, 5, HPCB_CLASS_GUEST);
    for (int i = 0; i < (_i == 2 ? 2 : 1); i++) {
        pid = fake_task(100);
        fixture_lower(node, &conf, 5, pid, NULL);
        fake_core_set(pid, _i == 0 || i == 0 ? 7 : 0);
    }
    if (_i == 1)
        fake_core_set(pid, 0);
    /* Where its primaries are is not to be found: anywhere. */
    snprintf(command, sizeof(command), "proc/%d/cgroup", (int)pid);
    fake_write(command, "1:cpu:/hpcb_guest/job_5\n");
    conf.guest_siblings_required = _i == 2;
    status = collect(&conf, node, _i == 2);
    row = find(status, "jobs", "job_id", "5");
    ck_assert_str_eq(hpcb_json_get_text(row, "siblings"), expected[_i]);
    json_object_put(status);
    fake_core_stop();
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(passes_over_a_damaged_record)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    json_object *status;
    hpcb_conf_t conf;

    fixture_conf(&conf, root);
    fixture_job(&conf, 7, HPCB_CLASS_PRIMARY);
    fake_write("state/jobs/8", "Class=\x01\x02junk\n");
    fake_write("state/jobs/notajob", "x");
    fake_write("state/jobs/7.usage", "step cpu_us=9");
    status = collect(&conf, node, 0);
    ck_assert_uint_eq(json_object_array_length(json_object_object_get(status, "jobs")),
                      1);
    ck_assert_ptr_nonnull(strstr(fixture_log, "damaged"));
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(says_the_same_to_people)
{
    const char *root = fake_start("v1-hybrid");
    hpcb_node_t *node = fixture_node(root);
    pid_t pid = fake_task(100);
    json_object *status;
    hpcb_conf_t conf;
    size_t length;
    char *text;
    FILE *out = open_memstream(&text, &length);

    fixture_conf(&conf, root);
    fixture_job(&conf, 5, HPCB_CLASS_GUEST);
    fixture_lower(node, &conf, 5, pid, NULL);
    status = collect(&conf, node, 0);
    hpcb_status_text(status, out);
    fclose(out);
    ck_assert_ptr_nonnull(
        strstr(text, "2 packages, 8 cores, 16 hardware threads (SMT)"));
    ck_assert_ptr_nonnull(strstr(text, "idle-group        yes       yes: cpu.idle=1"));
    ck_assert_ptr_nonnull(strstr(text, "5           guest    7001        p"));
    free(text);
    json_object_put(status);
    hpcb_node_close(node);
    fake_stop();
}
END_TEST

START_TEST(counts_machines)
{
    static const struct {
        const char *synthetic;
        hpcb_topology_t expected;
    } cases[] = {
        {SMT, {2, 1, 8, 16, true}},
        {"pack:1 core:2 pu:1", {1, 1, 2, 2, false}},
        {"numa:2 pack:1 core:3 pu:4", {2, 2, 6, 24, true}},
    };
    const hpcb_topology_t *expected = &cases[_i].expected;
    hpcb_topology_t found;

    ck_assert_int_eq(hpcb_topology_read(cases[_i].synthetic, &found, NULL), 0);
    ck_assert_uint_eq(found.packages, expected->packages);
    ck_assert_uint_eq(found.numa_nodes, expected->numa_nodes);
    ck_assert_uint_eq(found.cores, expected->cores);
    ck_assert_uint_eq(found.threads, expected->threads);
    ck_assert(found.smt == expected->smt);
}
END_TEST

START_TEST(looks_at_this_machine)
{
    hpcb_topology_t found = {.cores = 77};
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_topology_read("no:such", &found, &err), -1);
    ck_assert_uint_eq(found.cores, 77);
    ck_assert_int_eq(hpcb_topology_read(NULL, &found, &err), 0);
    ck_assert_uint_ge(found.threads, 1);
}
END_TEST

/* A real guest in real groups. */
START_TEST(verifies_on_the_kernel)
{
    json_object *status, *row;
    hpcb_node_t *node;
    hpcb_conf_t conf;
    char state[TEST_TMP_MAX], command[TEST_TMP_MAX + 16];
    pid_t pid;

    if (!real_enter()) {
        fprintf(stderr, "# skipped: %s\n", real_why());
        return;
    }
    test_tmp_dir(state);
    node = fixture_node("/");
    fixture_conf(&conf, state);
    pid = real_burner();
    fixture_job(&conf, 5, HPCB_CLASS_GUEST);
    ck_assert_int_eq(hpcb_meter_attach(node, 5, "0", 0, pid, NULL), 0);
    fixture_lower(node, &conf, 5, pid, NULL);
    real_sleep_ms(200);
    status = collect(&conf, node, 0);
    row = find(status, "jobs", "job_id", "5");
    ck_assert_str_ne(hpcb_json_get_text(row, "mechanism"), "");
    ck_assert(hpcb_json_get_bool(row, "metered"));
    json_object_put(status);
    real_reap(pid);
    hpcb_meter_remove(node, 5, &(hpcb_usage_t){0}, NULL);
    hpcb_isolate_cleanup(node, conf.guest_cgroup, 5, NULL);
    hpcb_node_close(node);
    snprintf(command, sizeof(command), "rm -r %s", state);
    ck_assert_int_eq(system(command), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("status");
    TCase *tcase = tcase_create("status");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_unchecked_fixture(tcase, real_setup, real_teardown);
    tcase_add_loop_test(tcase, shows_what_a_node_has, 0, 5);
    tcase_add_loop_test(tcase, shows_guests_and_primaries, 0, 2);
    tcase_add_test(tcase, tells_of_a_guest_that_nothing_lowers);
    tcase_add_loop_test(tcase, sees_a_guests_process_that_got_out, 0, 2);
    tcase_add_test(tcase, a_task_that_has_been_killed_is_not_exposed);
    tcase_add_test(tcase, finds_a_job_by_its_sluid);
    tcase_add_loop_test(tcase, shows_what_keeps_off_siblings, 0, 3);
    tcase_add_test(tcase, passes_over_a_damaged_record);
    tcase_add_test(tcase, says_the_same_to_people);
    tcase_add_loop_test(tcase, counts_machines, 0, 3);
    tcase_add_test(tcase, looks_at_this_machine);
    tcase_add_test(tcase, verifies_on_the_kernel);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
