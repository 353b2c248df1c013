/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the profile store learns from the database of records. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/record.h"
#include "hpcbd/collector/learner_runs.h"
#include "records/store.h"
#include "tests/common/scratch.h"
#include "tests/hpcbd/collector/sample_records.h"

#define MILLION UINT64_C(1000000)
#define BEGIN   (1700000000 * MILLION)

static hpcbd_lesson_t lessons[HPCBD_LEARNER_RUNS];

/* Ten seconds on a node of four CPUs, of which 40 million bytes were sent. */
static hpcb_record_t record_of(uint32_t job)
{
    return (hpcb_record_t){
        .job = {.job_id = job,
                .uid = 1000,
                .klass = HPCB_CLASS_PRIMARY,
                .partition = "primary",
                .begin_us = BEGIN},
        .cluster = "tiny",
        .node = "n1",
        .end_us = BEGIN + 10 * MILLION,
        .cpus = 4,
        .usage = {10 * MILLION, 0, 300 << 20},
        .measured = {.network = {.known = true, .bytes = 40000000, .p95 = 9000000},
                     .memory = {.why = "no counters"}},
        .about = {.nodes = 1, .name = "CG", .executable = "cg.B"},
    };
}

static void store(const char *dir, const hpcb_record_t *record)
{
    hpcb_error_t err = {""};
    hpcb_store_t *store = hpcb_store_new(dir, true, &err);
    char *text = hpcb_record_render(record, &err);
    hpcb_rjson_t *object = hpcb_rjson_parse(text);

    ck_assert_msg(hpcb_store_open(store, 1000, &err) == 0, "%s", err.text);
    ck_assert_msg(hpcb_store_add(store, object, 1000, &err) >= 0, "%s", err.text);
    ck_assert_msg(hpcb_store_commit(store, 1000, &err) == 0, "%s", err.text);
    json_object_put(object);
    free(text);
    hpcb_store_free(store);
}

static size_t next(const char *dir, int64_t *position)
{
    bool more = true;
    size_t count = hpcbd_learner_next(dir, position, lessons, &more);

    ck_assert(!more);
    return count;
}

START_TEST(a_run_says_what_its_program_needs)
{
    const char *dir = scratch("c");
    hpcb_record_t record = record_of(1);
    const hpcb_profile_run_t *run = &lessons[0].run;
    int64_t position = 0;

    ck_assert_uint_eq(next(dir, &position), 0);
    store(dir, &record);
    ck_assert_uint_eq(next(dir, &position), 1);
    ck_assert_str_eq(lessons[0].key.name, "CG");
    ck_assert_str_eq(lessons[0].key.executable, "cg.B");
    ck_assert_uint_eq(lessons[0].key.uid, 1000);
    ck_assert(run->known[HPCB_PROFILE_NET] && !run->known[HPCB_PROFILE_MEM]);
    ck_assert_uint_eq(run->value[HPCB_PROFILE_NET], 4000000);
    ck_assert_uint_eq(run->value[HPCB_PROFILE_NET_PEAK], 9000000);
    ck_assert(!run->known[HPCB_PROFILE_MEM_PEAK]);
    ck_assert_uint_eq(run->value[HPCB_PROFILE_PEAK], 300 << 20);
    ck_assert_uint_eq(run->value[HPCB_PROFILE_CPU], HPCB_PROFILE_ONE / 4);
    ck_assert_uint_eq(next(dir, &position), 0);
}
END_TEST

/* Who waits for a CPU does not leave one. */
START_TEST(what_others_took_is_added)
{
    const char *dir = scratch("c");
    hpcb_record_t record = record_of(1);
    int64_t position = 0;

    record.job.klass = HPCB_CLASS_GUEST;
    record.usage.run_delay_us = 10 * MILLION;
    store(dir, &record);
    record = record_of(2);
    record.job.klass = HPCB_CLASS_GUEST;
    record.usage.cpu_us = MILLION;
    record.usage.run_delay_us = 39 * MILLION;
    store(dir, &record);
    ck_assert_uint_eq(next(dir, &position), 2);
    ck_assert_uint_eq(lessons[0].run.value[HPCB_PROFILE_NET], 5333333);
    ck_assert_uint_eq(lessons[0].run.value[HPCB_PROFILE_CPU], HPCB_PROFILE_ONE / 2);
    ck_assert(!lessons[1].run.known[HPCB_PROFILE_NET]);
    ck_assert_uint_eq(lessons[1].run.value[HPCB_PROFILE_CPU], HPCB_PROFILE_ONE);
}
END_TEST

/* A node with fewer tasks than Slurm would put there says nothing of one that is full:
 * or the next job would be packed, and the one after it spread again. */
START_TEST(nodes_of_runs_that_were_spread_teach_nothing)
{
    const char *dir = scratch("c"), *path = scratch("p/profiles.json");
    hpcb_record_t record = record_of(1);
    hpcb_error_t err = {""};
    hpcb_profiles_t *profiles;
    const hpcb_profile_t *found;
    int64_t position = 0;

    record.measured.memory =
        (hpcb_measure_t){.known = true, .bytes = 195000, .p95 = 19500};
    store(dir, &record);
    record.job.job_id = 2;
    record.about.spread = 1;
    record.measured.memory.bytes = 100000;
    store(dir, &record);
    ck_assert_uint_eq(next(dir, &position), 2);
    ck_assert_msg(hpcbd_learner_fold(path, lessons, 2, 77, &err) == 0, "%s", err.text);
    profiles = hpcb_profiles_load(path, &err);
    ck_assert_msg(profiles != NULL, "%s", err.text);
    found = hpcb_profiles_find(profiles, &lessons[0].key);
    ck_assert_ptr_nonnull(found);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_MEM].count, 1);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_MEM].mean, 19500);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_MEM_PEAK].count, 1);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_NET].count, 1);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_PEAK].count, 1);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_CPU].count, 2);
    hpcb_profiles_free(profiles);
}
END_TEST

START_TEST(runs_that_say_nothing_are_passed_over)
{
    const char *dir = scratch("c");
    hpcb_record_t record = record_of(1);
    int64_t position = 0, before;

    record.end_us = BEGIN + MILLION; /* too short */
    store(dir, &record);
    record = record_of(2);
    record.about.name[0] = '\0';
    store(dir, &record);
    record = record_of(3);
    record.about.nodes = 2; /* one has not reported */
    store(dir, &record);
    ck_assert_uint_eq(next(dir, &position), 0);
    ck_assert_int_gt(position, 0);
    before = position;
    snprintf(record.node, sizeof(record.node), "n2");
    store(dir, &record);
    ck_assert_uint_eq(next(dir, &position), 1);
    ck_assert_int_gt(position, before);
}
END_TEST

START_TEST(the_store_has_what_was_learned)
{
    const char *dir = scratch("c"), *path = scratch("p/profiles.json");
    hpcb_record_t record = record_of(1);
    hpcb_error_t err = {""};
    hpcb_profiles_t *profiles;
    const hpcb_profile_t *found;
    int64_t position = 0;

    store(dir, &record);
    record = record_of(2);
    record.measured.network.bytes = 80000000;
    store(dir, &record);
    ck_assert_uint_eq(next(dir, &position), 2);
    ck_assert_msg(hpcbd_learner_fold(path, lessons, 2, 77, &err) == 0, "%s", err.text);
    profiles = hpcb_profiles_load(path, &err);
    ck_assert_msg(profiles != NULL, "%s", err.text);
    found = hpcb_profiles_find(profiles, &lessons[0].key);
    ck_assert_ptr_nonnull(found);
    ck_assert(!found->fixed && found->updated == 77);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_NET].count, 2);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_NET].mean, 6000000);
    ck_assert_uint_eq(found->figures[HPCB_PROFILE_NET_PEAK].mean, 9000000);
    hpcb_profiles_free(profiles);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("collector learner");
    TCase *test = scratch_case("learner");

    tcase_add_test(test, a_run_says_what_its_program_needs);
    tcase_add_test(test, what_others_took_is_added);
    tcase_add_test(test, nodes_of_runs_that_were_spread_teach_nothing);
    tcase_add_test(test, runs_that_say_nothing_are_passed_over);
    tcase_add_test(test, the_store_has_what_was_learned);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
