/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The profile store changes while slurmctld runs. */
#include "config.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "jobsubmit/profiles.h"
#include "tests/common/tmp.h"

static char path[TEST_TMP_MAX + 32];
static hpcb_profile_cache_t cache;
static hpcb_profile_key_t cg;
static atomic_uint errors;

static void count_errors(hpcb_log_level_t level, const char *line)
{
    (void)line;
    errors += level == HPCB_LOG_ERROR;
}

static void setup(void)
{
    char dir[TEST_TMP_MAX];

    test_tmp_dir(dir);
    snprintf(path, sizeof(path), "%s/profiles.json", dir);
    cache = (hpcb_profile_cache_t){.mutex = PTHREAD_MUTEX_INITIALIZER};
    errors = 0;
    hpcb_log_set_sink(count_errors);
    ck_assert_int_eq(hpcb_profile_key(1, "CG", NULL, &cg), 0);
}

static void teardown(void)
{
    hpcb_profile_cache_close(&cache);
}

static int set_mem(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    const hpcb_profile_run_t values = {.known = {true}, .value = {*(uint64_t *)arg}};

    return hpcb_profiles_set(store, &cg, &values, 1, err);
}

static void write_store(uint64_t mem)
{
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_profiles_update(path, set_mem, &mem, &err) == 0, "%s", err.text);
}

static void settle(void)
{
    pthread_mutex_lock(&cache.mutex);
    while (cache.reading) {
        pthread_mutex_unlock(&cache.mutex);
        usleep(100);
        pthread_mutex_lock(&cache.mutex);
    }
    pthread_mutex_unlock(&cache.mutex);
}

/* What a submission gets: 0 where there is no profile. */
static uint64_t mem_of(const char *store, int64_t now_ms)
{
    hpcb_profile_t profile;

    return hpcb_profile_cache_get(&cache, store, now_ms, &cg, &profile)
               ? profile.figures[HPCB_PROFILE_MEM].mean
               : 0;
}

/* The same once the thread has done what a look at that time makes it do. */
static uint64_t mem_at(int64_t now_ms)
{
    mem_of(path, now_ms);
    settle();
    return mem_of(path, now_ms);
}

START_TEST(a_changed_store_counts_after_a_second)
{
    ck_assert_uint_eq(mem_at(0), 0);
    write_store(7);
    ck_assert_uint_eq(mem_at(999), 0);
    ck_assert_uint_eq(mem_at(1000), 7);
    write_store(8);
    ck_assert_uint_eq(mem_at(1001), 7);
    ck_assert_uint_eq(mem_at(2000), 8);
    unlink(path);
    ck_assert_uint_eq(mem_at(2500), 8);
    ck_assert_uint_eq(mem_at(3000), 0);
    write_store(9);
    ck_assert_uint_eq(mem_at(4000), 9);
    ck_assert_uint_eq(errors, 0);
}
END_TEST

START_TEST(a_store_is_there_from_the_start)
{
    write_store(7);
    hpcb_profile_cache_open(&cache, path, 0);
    ck_assert_uint_eq(mem_of(path, 1), 7);
    ck_assert(!cache.joinable);
}
END_TEST

START_TEST(an_unchanged_store_is_not_read)
{
    write_store(7);
    hpcb_profile_cache_open(&cache, path, 0);
    ck_assert_uint_eq(mem_at(1000), 7);
    ck_assert_uint_eq(mem_at(2000), 7);
    ck_assert(!cache.joinable);
    write_store(7);
    ck_assert_uint_eq(mem_at(3000), 7);
    ck_assert(cache.joinable);
}
END_TEST

START_TEST(a_bad_store_changes_nothing_and_is_told_once)
{
    FILE *file;

    write_store(7);
    hpcb_profile_cache_open(&cache, path, 0);
    file = fopen(path, "we");
    ck_assert_ptr_nonnull(file);
    fputs("{", file);
    fclose(file);
    for (int64_t now = 1000; now < 5000; now += 1000)
        ck_assert_uint_eq(mem_at(now), 7);
    ck_assert_uint_eq(errors, 1);
    chmod(path, 0666);
    ck_assert_uint_eq(mem_at(5000), 7);
    ck_assert_uint_eq(errors, 2);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_uint_eq(mem_at(6000), 7);
    ck_assert_uint_eq(errors, 3);
}
END_TEST

START_TEST(another_path_is_another_store)
{
    char other[TEST_TMP_MAX];

    write_store(7);
    hpcb_profile_cache_open(&cache, path, 0);
    test_tmp_dir(other);
    ck_assert_uint_eq(mem_of(other, 1), 0);
    settle();
    ck_assert_uint_eq(errors, 1); /* a directory */
    ck_assert_uint_eq(mem_at(2), 7);
}
END_TEST

static void *ask_often(void *wrong)
{
    for (int64_t now = 0; now < 2000; now++)
        if (mem_of(path, now * 100) > 20)
            *(bool *)wrong = true;
    return NULL;
}

START_TEST(threads_may_ask_while_it_changes)
{
    pthread_t threads[3];
    bool wrong[3] = {false};

    write_store(1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask_often, &wrong[i]), 0);
    for (uint64_t mem = 2; mem <= 20; mem++)
        write_store(mem);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
        ck_assert(!wrong[i]);
    }
    settle();
    ck_assert_uint_eq(mem_at(INT64_MAX / 2), 20);
    ck_assert_uint_eq(errors, 0);
}
END_TEST

START_TEST(only_what_is_steady_is_applied)
{
    const uint64_t g = 1000000000;
    hpcb_profile_t profile = {.figures = {{g, g / 2, 2}, {g, g / 2 + 1, 2}}};
    hpcb_options_t options = {.bw_mem = 0};

    ck_assert(hpcb_profile_apply(&profile, &options));
    ck_assert_uint_eq(options.bw_mem, g);
    ck_assert_uint_eq(options.bw_net, 0);
    ck_assert(!(options.bw_cpu > 0));
    profile.figures[HPCB_PROFILE_MEM].deviation++;
    profile.figures[HPCB_PROFILE_CPU] =
        (hpcb_profile_figure_t){.mean = HPCB_PROFILE_ONE / 2, .count = 1};
    ck_assert(hpcb_profile_apply(&profile, &options));
    ck_assert_uint_eq(options.bw_mem, 0);
    ck_assert(options.bw_cpu > 0.49 && options.bw_cpu < 0.51);
    profile.figures[HPCB_PROFILE_CPU].count = 0;
    ck_assert(!hpcb_profile_apply(&profile, &options));
}
END_TEST

/* 0 means that nobody knows. */
START_TEST(what_was_measured_as_nothing_is_known)
{
    hpcb_profile_t profile = {.figures = {{0, 0, 1}, {3000, 9000, 4}, {0, 0, 2}}};
    hpcb_options_t options = {.bw_mem = 0};

    ck_assert(hpcb_profile_apply(&profile, &options));
    ck_assert_uint_eq(options.bw_mem, 1);
    ck_assert_uint_eq(options.bw_net, 3000);
    ck_assert(options.bw_cpu > 0 && options.bw_cpu < 2e-6);
}
END_TEST

START_TEST(programs_have_names)
{
    static const struct {
        const char *name, *executable, *program;
    } rows[] = {
        {"CG", NULL, "CG"},
        {"CG", "/x/CG", "CG"},
        {"CG", "cg.B.4", "CG/cg.B.4"},
        {"a/b", "c", "a/b/c"},
        {"\n%\xff", NULL, "%0A%25%FF"},
    };
    char buf[HPCB_TAG_PROGRAM_MAX], name[HPCB_PROFILE_NAME_MAX];
    hpcb_profile_key_t key;

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ck_assert_int_eq(hpcb_profile_key(1, rows[i].name, rows[i].executable, &key),
                         0);
        ck_assert_str_eq(hpcb_profile_program(&key, buf), rows[i].program);
    }
    memset(name, 'n', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ck_assert_int_eq(hpcb_profile_key(1, name, NULL, &key), 0);
    ck_assert_str_eq(hpcb_profile_program(&key, buf), name);
    ck_assert_int_eq(hpcb_profile_key(1, name, "x", &key), 0);
    ck_assert_str_eq(hpcb_profile_program(&key, buf), "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profiles");
    TCase *tcase = tcase_create("profiles");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, a_changed_store_counts_after_a_second);
    tcase_add_test(tcase, an_unchanged_store_is_not_read);
    tcase_add_test(tcase, a_bad_store_changes_nothing_and_is_told_once);
    tcase_add_test(tcase, another_path_is_another_store);
    tcase_add_test(tcase, a_store_is_there_from_the_start);
    tcase_add_test(tcase, threads_may_ask_while_it_changes);
    tcase_add_test(tcase, only_what_is_steady_is_applied);
    tcase_add_test(tcase, what_was_measured_as_nothing_is_known);
    tcase_add_test(tcase, programs_have_names);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
