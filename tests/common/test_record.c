/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <json-c/json.h>

#include "common/record.h"
#include "tests/common/comma.h"
#include "tests/common/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const hpcb_task_usage_t sample_tasks[] = {
    {.step = "0", .task = 3, .cpu_us = 1500000, .run_delay_us = 1}};

static uint32_t sample_guests[] = {5, 9};

static const hpcb_record_t sample = {
    .job = {.job_id = 77,
            .uid = 1000,
            .klass = HPCB_CLASS_GUEST,
            .policy = HPCB_POLICY_AUTO,
            .partition = "guest",
            .begin_us = UINT64_C(1700000000123456)},
    .node = "node-1",
    .cluster = "tiny",
    .end_us = UINT64_C(1700000010123456),
    .cpus = 2,
    .usage = {15000000, 20000, 4096},
    .measured = {.network = {.known = true, .bytes = 123456789012, .p95 = 20000000000},
                 .memory = {.why = "no resctrl"},
                 .guest_cost = {11234, -2000, 24468, "run_delay"},
                 .elected_us = 4500000,
                 .restraint = {3, 1, HPCB_RESTRAINT_UNKNOWN, 2500000, 0,
                               HPCB_RESTRAINT_UNKNOWN}},
    .ended_for = "memory",
    .about = {.restart = 1,
              .nodes = 2,
              .array_job = 70,
              .spread = 1,
              .user = "ada",
              .name = "CG",
              .executable = "cg.B",
              .submit = 1699999990},
    .tasks = sample_tasks,
    .n_tasks = 1,
    .beside = {.known = true, .cpu_us = 2500000, .count = 2, .guests = sample_guests},
};

static const char sample_json[] =
    "{\"version\":1,\"job_id\":77,\"node\":\"node-1\",\"cluster\":\"tiny\","
    "\"class\":\"guest\",\"policy\":\"auto\",\"user_id\":1000,\"partition\":\"guest\","
    "\"begin\":1700000000.123456,\"end\":1700000010.123456,\"wall_seconds\":10.000000,"
    "\"cpus\":2,\"cpu_seconds\":15.000000,\"run_delay_seconds\":0.020000,"
    "\"memory_peak_bytes\":4096,\"efficiency\":0.750000,"
    "\"stolen_fraction\":0.002000,\"network_bytes\":123456789012,"
    "\"network_peak_rate\":20000000000,\"network_reason\":null,"
    "\"memory_bytes\":null,\"memory_peak_rate\":null,"
    "\"memory_reason\":\"no resctrl\",\"nodes\":2,\"restart\":1,\"array_job_id\":70,"
    "\"array_task_id\":0,\"het_job_id\":null,\"user\":\"ada\",\"job_name\":\"CG\","
    "\"executable\":\"cg.B\",\"submit\":1699999990,\"guests_beside\":[5,9],"
    "\"guest_cpu_seconds\":2.500000,\"guest_cost\":0.011234,"
    "\"guest_cost_low\":-0.002000,\"guest_cost_high\":0.024468,"
    "\"guest_cost_method\":\"run_delay\",\"ended_for\":\"memory\",\"elected_seconds\":"
    "4.500000,\"guard_steps\":3,\"guests_requeued\":1,\"sliced_seconds\":null,"
    "\"throttled_seconds\":2.500000,\"stopped_seconds\":0.000000,"
    "\"starved_seconds\":null,\"spread\":true,\"tasks\":[{\"step\":"
    "\"0\","
    "\"task\":3,\"cpu_seconds\":1.500000,\"run_delay_seconds\":0.000001}]}\n";

static void expect_equal(const hpcb_record_t *a, const hpcb_record_t *b)
{
    ck_assert_uint_eq(a->job.job_id, b->job.job_id);
    ck_assert_uint_eq(a->job.uid, b->job.uid);
    ck_assert_int_eq(a->job.klass, b->job.klass);
    ck_assert_int_eq(a->job.policy, b->job.policy);
    ck_assert_str_eq(a->job.partition, b->job.partition);
    ck_assert(a->job.begin_us == b->job.begin_us);
    ck_assert_str_eq(a->node, b->node);
    ck_assert_str_eq(a->cluster, b->cluster);
    ck_assert(a->end_us == b->end_us);
    ck_assert_uint_eq(a->cpus, b->cpus);
    ck_assert(a->usage.cpu_us == b->usage.cpu_us);
    ck_assert(a->usage.run_delay_us == b->usage.run_delay_us);
    ck_assert(a->usage.memory_peak == b->usage.memory_peak);
    ck_assert_mem_eq(&a->about, &b->about, sizeof(a->about));
}

/* Also in a locale whose decimal point is a comma. */
START_TEST(a_record_is_one_line_of_json)
{
    char *text;

    if (_i && !comma_enter())
        return;
    text = hpcb_record_render(&sample, NULL);
    ck_assert_str_eq(text, sample_json);
    free(text);
    comma_leave();
}
END_TEST

START_TEST(what_is_rendered_is_parsed)
{
    hpcb_record_t back, odd = sample;
    char *text;

    ck_assert_int_eq(hpcb_record_parse(sample_json, &back, NULL), 0);
    expect_equal(&sample, &back);
    odd.job = (hpcb_job_state_t){.job_id = 4294967295u, .uid = 4294967295u};
    odd.job.begin_us = 1;
    odd.end_us = UINT64_MAX - 1;
    odd.usage = (hpcb_usage_t){999999, UINT64_MAX, UINT64_MAX};
    odd.cluster[0] = '\0';
    text = hpcb_record_render(&odd, NULL);
    ck_assert_int_eq(hpcb_record_parse(text, &back, NULL), 0);
    expect_equal(&odd, &back);
    free(text);
}
END_TEST

/* Render record and return the text of one member. */
static const char *member(const hpcb_record_t *record, const char *key)
{
    static char value[64];
    char *text = hpcb_record_render(record, NULL);
    struct json_object *object = json_tokener_parse(text), *found;

    ck_assert(json_object_object_get_ex(object, key, &found));
    snprintf(value, sizeof(value), "%s", json_object_to_json_string(found));
    json_object_put(object);
    free(text);
    return value;
}

START_TEST(unknown_ratios_are_null)
{
    hpcb_record_t record = sample;

    record.cpus = 0;
    ck_assert_str_eq(member(&record, "efficiency"), "null");
    ck_assert_str_eq(member(&record, "stolen_fraction"), "0.002000");
    record.end_us = record.job.begin_us;
    ck_assert_str_eq(member(&record, "stolen_fraction"), "null");
    record.end_us--;
    ck_assert_str_eq(member(&record, "wall_seconds"), "0.000000");
    ck_assert_str_eq(member(&record, "stolen_fraction"), "null");
    record.end_us = record.job.begin_us + 1;
    record.cpus = 1;
    record.usage.cpu_us = UINT64_MAX;
    ck_assert_str_eq(member(&record, "efficiency"), "null");
}
END_TEST

START_TEST(names_that_cannot_be_are_not_rendered)
{
    hpcb_record_t record = sample;
    hpcb_error_t err;

    strcpy(record.node, "../x");
    ck_assert_ptr_null(hpcb_record_render(&record, &err));
    ck_assert_str_eq(err.text, "a record's node is not a name");
    ck_assert_int_eq(hpcb_record_write(scratch_dir(), &record, &err), -1);
    record = sample;
    strcpy(record.cluster, "\xff");
    ck_assert_ptr_null(hpcb_record_render(&record, &err));
    record = sample;
    strcpy(record.job.partition, "a\"b\\c");
    ck_assert_str_eq(member(&record, "partition"), "\"a\\\"b\\\\c\"");
}
END_TEST

/* The sample with the first occurrence of from replaced by to. */
static const char *edited(const char *from, const char *to)
{
    static char text[2048];
    const char *at = strstr(sample_json, from);

    ck_assert_msg(at != NULL, "%s", from);
    snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - sample_json), sample_json, to,
             at + strlen(from));
    return text;
}

START_TEST(values_of_a_record_are_checked)
{
    static const char *const edits[][2] = {
        {"\"version\":1", "\"version\":2"},
        {"\"version\":1", "\"version\":\"1\""},
        {"\"version\":1,", ""},
        {"\"job_id\":77", "\"job_id\":-1"},
        {"\"job_id\":77", "\"job_id\":4294967296"},
        {"\"job_id\":77", "\"job_id\":77.0"},
        {"\"job_id\":77", "\"job_id\":null"},
        {"\"node-1\"", "\"\""},
        {"\"node-1\"", "\"..\""},
        {"\"node-1\"", "\"a/b\""},
        {"\"node-1\"", "\"node\\u0000x\""},
        {"\"node-1\"", "[\"node\"]"},
        {"\"tiny\"", "\"a\\nb\""},
        {"\"tiny\"",
         "\"0123456789012345678901234567890123456789012345678901234567890123\""},
        {"\"guest\"", "\"Guest\""},
        {"\"auto\"", "\"fast\""},
        {"\"user_id\":1000", "\"user_id\":99999999999"},
        {"\"cpus\":2", "\"cpus\":true"},
        {"1700000000.123456", "-1"},
        {"1700000000.123456", "1e300"},
        {"1700000000.123456", "NaN"},
        {"1700000000.123456", "Infinity"},
        {"1700000000.123456", "\"1700000000\""},
        {"15.000000", "null"},
        {"\"memory_peak_bytes\":4096", "\"memory_peak_bytes\":-4096"},
        {"\"memory_peak_bytes\":4096", "\"memory_peak_bytes\":1.5"},
        {"\"spread\":true", "\"spread\":1"},
        {"}\n", "}{}"},
        {"}\n", "} x"},
        {"}\n", ",}"},
        {"{", "[{"},
    };
    hpcb_record_t record = sample;
    hpcb_error_t err;

    for (size_t i = 0; i < COUNT(edits); i++) {
        const char *text = edited(edits[i][0], edits[i][1]);

        err.text[0] = '\0';
        ck_assert_msg(hpcb_record_parse(text, &record, &err) == -1, "%s", text);
        ck_assert_int_eq(errno, EINVAL);
        ck_assert_ptr_nonnull(strstr(err.text, "record"));
    }
    expect_equal(&record, &sample);
}
END_TEST

START_TEST(other_forms_of_the_same_are_parsed)
{
    hpcb_record_t record;

    ck_assert_int_eq(hpcb_record_parse(edited("15.000000", "15"), &record, NULL), 0);
    expect_equal(&record, &sample);
    ck_assert_int_eq(hpcb_record_parse(edited("15.000000", "1.5e1"), &record, NULL), 0);
    expect_equal(&record, &sample);
    ck_assert_int_eq(hpcb_record_parse(edited("{", " {\"new\":[{}],"), &record, NULL),
                     0);
    expect_equal(&record, &sample);
}
END_TEST

START_TEST(cut_records_and_junk_are_refused)
{
    static const char *const bad[] = {"",       "{",  "[]",   "null",           "1",
                                      "\"{}\"", "{}", "\xff", "{\"version\":1}"};
    char text[sizeof(sample_json)], deep[4001];
    hpcb_record_t record;

    for (size_t cut = 0; cut < strlen(sample_json) - 1; cut++) {
        snprintf(text, sizeof(text), "%.*s", (int)cut, sample_json);
        ck_assert_int_eq(hpcb_record_parse(text, &record, NULL), -1);
    }
    for (size_t i = 0; i < COUNT(bad); i++)
        ck_assert_int_eq(hpcb_record_parse(bad[i], &record, NULL), -1);
    memset(deep, '[', sizeof(deep) - 1);
    deep[sizeof(deep) - 1] = '\0';
    ck_assert_int_eq(hpcb_record_parse(deep, &record, NULL), -1);
}
END_TEST

START_TEST(records_are_written_where_they_belong)
{
    char long_dir[PATH_MAX];
    hpcb_error_t err;

    ck_assert_int_eq(hpcb_record_write(scratch("spool"), &sample, NULL), 0);
    ck_assert_str_eq(get_file(scratch("spool/records/77+1.1700000000.node-1.json")),
                     sample_json);
    ck_assert_int_eq(hpcb_record_write(scratch("spool"), &sample, NULL), 0);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 1);
    memset(long_dir, 'x', sizeof(long_dir) - 1);
    long_dir[sizeof(long_dir) - 1] = '\0';
    ck_assert_int_eq(hpcb_record_write(long_dir, &sample, &err), -1);
    put_file(scratch("file"), "");
    ck_assert_int_eq(hpcb_record_write(scratch("file"), &sample, &err), -1);
}
END_TEST

/* The path of a record of job 77 in the spool, without the directory. */
static const char *path_of(uint32_t restart, uint64_t submit, uint64_t begin,
                           uint64_t end)
{
    hpcb_record_t record = sample;
    static char path[PATH_MAX];

    record.about.restart = restart;
    record.about.submit = submit;
    record.job.begin_us = begin * 1000000;
    record.end_us = end * 1000000 + (begin < end);
    ck_assert_int_eq(hpcb_record_path(scratch("spool"), "records", &record, path, NULL),
                     0);
    return strrchr(path, '/') + 1;
}

START_TEST(records_of_jobs_with_one_id_have_names_of_their_own)
{
    hpcb_record_t record = sample;

    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(hpcb_record_write(scratch("spool"), &record, NULL), 0);
        record.job.begin_us += UINT64_C(5000000000);
        record.end_us += UINT64_C(5000000000);
    }
    ck_assert_int_eq(count_entries(scratch("spool/records")), 3);
    ck_assert_str_eq(path_of(1, 0, 1763700000, 1763700001),
                     "77+1.1763700000.node-1.json");
}
END_TEST

START_TEST(a_record_without_begin_is_that_of_the_last_run)
{
    put_file(scratch("spool"), "");
    ck_assert_str_eq(path_of(1, 0, 900, 900), "77+1.900.node-1.json");
    ck_assert_int_eq(unlink(scratch("spool")), 0);
    ck_assert_int_eq(mkdir(scratch("spool"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch("spool/records"), 0755), 0);
    put_file(scratch("spool/records/77+1.300.node-1.json"), "");
    put_file(scratch("spool/records/77+1.500.node-1.json"), "");
    put_file(scratch("spool/records/77+1.400.node-1.json"), "");
    put_file(scratch("spool/records/77+1.600.other-node-1.json"), "");
    put_file(scratch("spool/records/77+1.700.node-1.json.tmpABC"), "");
    put_file(scratch("spool/records/77+1.x.node-1.json"), "");
    put_file(scratch("spool/records/77+10.800.node-1.json"), "");
    put_file(scratch("spool/records/77.200.node-1.json"), "");
    ck_assert_str_eq(path_of(1, 0, 900, 900), "77+1.500.node-1.json");
    ck_assert_str_eq(path_of(1, 490, 900, 900), "77+1.500.node-1.json");
    ck_assert_str_eq(path_of(0, 0, 900, 900), "77.200.node-1.json");
    ck_assert_str_eq(path_of(2, 0, 900, 900), "77+2.900.node-1.json");
    ck_assert_str_eq(path_of(1, 0, 900, 901), "77+1.900.node-1.json");
    /* Another job of that id. */
    ck_assert_str_eq(path_of(1, 899, 900, 900), "77+1.900.node-1.json");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record");
    TCase *tc = scratch_case("record");

    tcase_add_loop_test(tc, a_record_is_one_line_of_json, 0, 2);
    tcase_add_test(tc, what_is_rendered_is_parsed);
    tcase_add_test(tc, unknown_ratios_are_null);
    tcase_add_test(tc, names_that_cannot_be_are_not_rendered);
    tcase_add_test(tc, values_of_a_record_are_checked);
    tcase_add_test(tc, other_forms_of_the_same_are_parsed);
    tcase_add_test(tc, cut_records_and_junk_are_refused);
    tcase_add_test(tc, records_are_written_where_they_belong);
    tcase_add_test(tc, records_of_jobs_with_one_id_have_names_of_their_own);
    tcase_add_test(tc, a_record_without_begin_is_that_of_the_last_run);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
