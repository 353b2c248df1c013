/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/profile.h"
#include "tests/common/crash.h"
#include "tests/common/scratch.h"

static hpcb_profile_key_t key(uint32_t uid, const char *name, const char *executable)
{
    hpcb_profile_key_t made;

    ck_assert_int_eq(hpcb_profile_key(uid, name, executable, &made), 0);
    return made;
}

static hpcb_profile_run_t run(uint64_t mem)
{
    return (hpcb_profile_run_t){.known = {true}, .value = {mem}};
}

static void learn(hpcb_profiles_t *store, hpcb_profile_key_t k, uint64_t mem,
                  uint64_t now)
{
    const hpcb_profile_run_t one = run(mem);

    ck_assert_int_eq(hpcb_profiles_learn(store, &k, &one, now, NULL), 0);
}

static const hpcb_profile_figure_t *figure(const hpcb_profiles_t *store,
                                           hpcb_profile_key_t k)
{
    const hpcb_profile_t *entry = hpcb_profiles_find(store, &k);

    ck_assert_ptr_nonnull(entry);
    return &entry->figures[HPCB_PROFILE_MEM];
}

START_TEST(keys_take_any_bytes_but_have_a_limit)
{
    char name[HPCB_PROFILE_NAME_MAX + 1];
    hpcb_profile_key_t k, before;

    memset(&k, 0x5a, sizeof(k));
    before = k;
    memset(name, 'n', sizeof(name));
    name[HPCB_PROFILE_NAME_MAX] = '\0';
    ck_assert_int_eq(hpcb_profile_key(1, name, NULL, &k), -1);
    ck_assert_int_eq(hpcb_profile_key(1, "n", name, &k), -1);
    ck_assert_int_eq(hpcb_profile_key(1, "", "x", &k), -1);
    ck_assert_int_eq(hpcb_profile_key(1, NULL, "x", &k), -1);
    ck_assert_int_eq(memcmp(&k, &before, sizeof(k)), 0);
    name[HPCB_PROFILE_NAME_MAX - 1] = '\0';
    ck_assert_int_eq(hpcb_profile_key(1, name, "/a/b/\n\xff", &k), 0);
    ck_assert_str_eq(k.executable, "\n\xff");
    ck_assert_str_eq(key(1, "n", "./").executable, "");
    ck_assert_str_eq(key(1, "n", NULL).executable, "");
}
END_TEST

START_TEST(the_mean_is_weighted)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    const hpcb_profile_key_t k = key(1, "CG", NULL);
    double mean, deviation = 0;

    learn(store, k, 1000, 1);
    ck_assert_uint_eq(figure(store, k)->mean, 1000);
    ck_assert_uint_eq(figure(store, k)->deviation, 0);
    learn(store, k, 2000, 2);
    ck_assert_uint_eq(figure(store, k)->mean, 1500);
    ck_assert_uint_eq(figure(store, k)->deviation, 500);
    learn(store, k, 3000, 3);
    ck_assert_uint_eq(figure(store, k)->mean, 2000);
    mean = 2000;
    deviation = (500.0 * 2 + 1500) / 3;
    for (int i = 0; i < 50; i++) {
        uint64_t value = (uint64_t)(i * 7919 % 1000) * 1000;

        learn(store, k, value, 4);
        deviation += (fabs((double)value - mean) - deviation) / 4;
        mean += ((double)value - mean) / 4;
        ck_assert(fabs((double)figure(store, k)->mean - mean) < 5);
        ck_assert(fabs((double)figure(store, k)->deviation - deviation) < 10);
    }
    ck_assert_uint_eq(figure(store, k)->count, 53);
    hpcb_profiles_free(store);
}
END_TEST

START_TEST(three_runs_say_what_most_stay_below)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    const hpcb_profile_key_t k = key(1, "CG", NULL);

    learn(store, k, 1000, 1);
    learn(store, k, 2000, 2);
    ck_assert_uint_eq(hpcb_profile_p95(hpcb_profiles_find(store, &k), HPCB_PROFILE_MEM),
                      0);
    learn(store, k, 1500, 3);
    ck_assert_uint_eq(hpcb_profile_p95(hpcb_profiles_find(store, &k), HPCB_PROFILE_MEM),
                      figure(store, k)->mean + 2 * figure(store, k)->deviation);
    ck_assert_uint_gt(hpcb_profile_p95(hpcb_profiles_find(store, &k), HPCB_PROFILE_MEM),
                      2000);
    ck_assert_uint_eq(
        hpcb_profile_p95(hpcb_profiles_find(store, &k), HPCB_PROFILE_PEAK), 0);
    hpcb_profiles_free(store);
}
END_TEST

START_TEST(a_jump_is_unsteady_until_it_lasts)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    const hpcb_profile_key_t k = key(1, "CG", NULL);
    int runs = 0;

    for (int i = 0; i < 5; i++)
        learn(store, k, 1000, 1);
    ck_assert(hpcb_profile_steady(figure(store, k)));
    learn(store, k, 20000, 2);
    ck_assert(!hpcb_profile_steady(figure(store, k)));
    while (!hpcb_profile_steady(figure(store, k))) {
        learn(store, k, 20000, 3);
        runs++;
    }
    ck_assert_int_gt(runs, 0);
    ck_assert_int_lt(runs, 8);
    ck_assert(!hpcb_profile_steady(&(hpcb_profile_figure_t){0}));
    hpcb_profiles_free(store);
}
END_TEST

START_TEST(an_unknown_executable_gets_what_all_have)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    const hpcb_profile_key_t a = key(1, "CG", "/bin/a"), b = key(1, "CG", "b");
    const hpcb_profile_key_t c = key(1, "CG", "c"), other = key(2, "CG", "a");

    learn(store, a, 1000, 1);
    learn(store, b, 3000, 1);
    ck_assert_uint_eq(hpcb_profiles_count(store), 3);
    ck_assert_uint_eq(hpcb_profiles_look_up(store, &a)->figures[0].mean, 1000);
    ck_assert_uint_eq(hpcb_profiles_look_up(store, &b)->figures[0].mean, 3000);
    ck_assert_uint_eq(hpcb_profiles_look_up(store, &c)->figures[0].mean, 2000);
    ck_assert_ptr_null(hpcb_profiles_find(store, &c));
    ck_assert_ptr_null(hpcb_profiles_look_up(store, &other));
    hpcb_profiles_free(store);
}
END_TEST

START_TEST(what_was_set_stays)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    const hpcb_profile_key_t k = key(1, "CG", NULL);
    const hpcb_profile_run_t values = {.known = {true, false, true},
                                       .value = {UINT64_MAX, 7, 2000000}};
    const hpcb_profile_run_t nothing = {.known = {false}};
    const hpcb_profile_t *entry;

    learn(store, k, 1000, 1);
    ck_assert_int_eq(hpcb_profiles_set(store, &k, &values, 2, NULL), 0);
    learn(store, k, 1000, 3);
    entry = hpcb_profiles_find(store, &k);
    ck_assert(entry->fixed);
    ck_assert_uint_eq(entry->updated, 2);
    ck_assert_uint_eq(entry->figures[HPCB_PROFILE_MEM].mean, UINT64_C(1) << 60);
    ck_assert_uint_eq(entry->figures[HPCB_PROFILE_NET].count, 0);
    ck_assert_uint_eq(entry->figures[HPCB_PROFILE_CPU].mean, HPCB_PROFILE_ONE);
    ck_assert_int_eq(
        hpcb_profiles_learn(store, &(hpcb_profile_key_t){.uid = 9}, &nothing, 1, NULL),
        0);
    ck_assert_uint_eq(hpcb_profiles_count(store), 1);
    hpcb_profiles_free(store);
}
END_TEST

START_TEST(forgets_what_matches)
{
    static const struct {
        hpcb_profile_filter_t filter;
        size_t dropped;
    } cases[] = {
        {{.by_user = true, .uid = 3}, 0},
        {{.by_user = true, .uid = 2, .name = "x"}, 0},
        {{.name = "y", .executable = "a"}, 1},
        {{.executable = ""}, 3},
        {{.by_user = true, .uid = 1}, 2},
        {{.name = NULL}, 1},
        {{.name = NULL}, 0},
    };
    hpcb_profiles_t *store = hpcb_profiles_new();

    learn(store, key(1, "x", "a"), 1, 1);
    learn(store, key(1, "x", "b"), 1, 1);
    learn(store, key(1, "y", "a"), 1, 1);
    learn(store, key(2, "y", "b"), 1, 1);
    ck_assert_uint_eq(hpcb_profiles_count(store), 7);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(hpcb_profiles_forget(store, &cases[i].filter) == cases[i].dropped,
                      "case %zu", i);
    hpcb_profiles_free(store);
}
END_TEST

START_TEST(a_user_cannot_push_out_others)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    const hpcb_profile_key_t mine = key(1, "mine", NULL);
    const hpcb_profile_key_t first = key(2, "flood-0", NULL);
    const hpcb_profile_run_t values = run(5);
    char name[32];

    learn(store, mine, 1, 1);
    ck_assert_int_eq(hpcb_profiles_set(store, &first, &values, 1, NULL), 0);
    for (unsigned i = 1; i < 2000; i++) {
        snprintf(name, sizeof(name), "flood-%u", i);
        learn(store, key(2, name, NULL), 1, 2 + i);
    }
    ck_assert_uint_eq(hpcb_profiles_count(store), 1 + HPCB_PROFILES_USER_MAX);
    ck_assert_ptr_nonnull(hpcb_profiles_find(store, &mine));
    ck_assert_ptr_nonnull(hpcb_profiles_find(store, &first));
    figure(store, key(2, "flood-1999", NULL));
    figure(store, key(2, "flood-1489", NULL));
    ck_assert_ptr_null(
        hpcb_profiles_find(store, &(hpcb_profile_key_t){2, "flood-1488", ""}));
    for (unsigned i = 0; i < 6000; i++)
        learn(store, key(100 + i, "one", NULL), 1, 5000 + i);
    ck_assert_uint_eq(hpcb_profiles_count(store), HPCB_PROFILES_MAX);
    ck_assert_ptr_null(hpcb_profiles_find(store, &mine));
    ck_assert_ptr_nonnull(hpcb_profiles_find(store, &first));
    hpcb_profiles_free(store);
}
END_TEST

/* ---- The file ---- */

START_TEST(there_and_back)
{
    static const char odd[] = "\x01\n\t \"\\%25 \xc3\xa4\xff</script>";
    hpcb_profiles_t *store = hpcb_profiles_new(), *back;
    const hpcb_profile_key_t k = key(UINT32_MAX, odd, odd + 1);
    const hpcb_profile_run_t values = {.known = {true, true, true},
                                       .value = {UINT64_MAX, 1, 600000}};
    hpcb_error_t err = {""};
    size_t length, again;
    char *text, *second;

    ck_assert_int_eq(hpcb_profiles_learn(store, &k, &values, INT64_MAX, NULL), 0);
    ck_assert_int_eq(
        hpcb_profiles_set(store, &(hpcb_profile_key_t){5, "n", ""}, &values, 1, NULL),
        0);
    text = hpcb_profiles_render(store, &length, &err);
    ck_assert_msg(text != NULL, "%s", err.text);
    for (size_t i = 0; i < length; i++)
        ck_assert(text[i] == '\n' || (text[i] >= ' ' && text[i] < 0x7f));
    back = hpcb_profiles_parse(text, length, &err);
    ck_assert_msg(back != NULL, "%s: %s", err.text, text);
    ck_assert_uint_eq(hpcb_profiles_count(back), 3);
    for (size_t i = 0; i < 3; i++)
        ck_assert_int_eq(memcmp(hpcb_profiles_at(store, i), hpcb_profiles_at(back, i),
                                sizeof(hpcb_profile_t)),
                         0);
    second = hpcb_profiles_render(back, &again, &err);
    ck_assert_str_eq(text, second);
    free(text);
    free(second);
    hpcb_profiles_free(store);
    hpcb_profiles_free(back);
}
END_TEST

static char *sample_text(size_t *length)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    char *text;

    learn(store, key(1, "a%\n", "b"), 1000, 1);
    learn(store, key(7, "c", NULL), UINT64_C(1) << 60, 2);
    text = hpcb_profiles_render(store, length, NULL);
    hpcb_profiles_free(store);
    ck_assert_ptr_nonnull(text);
    return text;
}

/* As if a disk had lost the rest; only the last newline may be missing. */
START_TEST(cut_off_anywhere_it_is_refused)
{
    size_t length;
    char *text = sample_text(&length);

    for (size_t cut = 0; cut < length; cut++) {
        char *part = strndup(text, cut);
        hpcb_error_t err = {""};
        hpcb_profiles_t *store;

        errno = 0;
        store = hpcb_profiles_parse(part, cut, &err);
        ck_assert_msg((store != NULL) == (cut == length - 1), "at %zu", cut);
        ck_assert(store || (errno == EINVAL && *err.text));
        hpcb_profiles_free(store);
        free(part);
    }
    free(text);
}
END_TEST

/* Whatever one byte becomes (a fifth of what it can): refused, or a store that is
 * whole. */
START_TEST(a_wrong_byte_does_no_harm)
{
    size_t length;
    char *text = sample_text(&length);

    for (size_t i = 0; i < length; i++) {
        for (unsigned byte = 0; byte < 256; byte += 5) {
            char old = text[i];
            hpcb_profiles_t *store;

            text[i] = (char)byte;
            store = hpcb_profiles_parse(text, length, NULL);
            ck_assert(!store || hpcb_profiles_count(store) <= 3);
            hpcb_profiles_free(store);
            text[i] = old;
        }
    }
    free(text);
}
END_TEST

#define ENTRY(members) "{\"version\":1,\"profiles\":[{" members "}]}"
#define GOOD           "\"user_id\":1,\"name\":\"a\",\"executable\":\"\",\"updated\":1"

START_TEST(strangers_stores_are_refused)
{
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "null",
        "{\"version\":1}",
        "{\"version\":2,\"profiles\":[]}",
        "{\"version\":-1,\"profiles\":[]}",
        "{\"version\":1,\"profiles\":{}}",
        "{\"version\":1,\"profiles\":[]} x",
        "{\"version\":1,\"profiles\":[null]}",
        "{\"version\":1,\"profiles\":[{" GOOD "},{" GOOD "}]}",
        ENTRY("\"name\":\"a\",\"executable\":\"\",\"updated\":1"),
        ENTRY(
            "\"user_id\":4294967296,\"name\":\"a\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"%\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"%0\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"%00\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"%0a\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"%41\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"\\u0000\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"\\u00e4\",\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":7,\"executable\":\"\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"a\",\"updated\":1"),
        ENTRY("\"user_id\":1,\"name\":\"a\",\"executable\":\"\""),
        ENTRY(GOOD ",\"mem\":7"),
        ENTRY(GOOD ",\"mem\":{}"),
        ENTRY(GOOD ",\"mem\":{\"mean\":1,\"deviation\":1,\"count\":0}"),
        ENTRY(GOOD ",\"mem\":{\"mean\":-1,\"deviation\":1,\"count\":1}"),
        ENTRY(GOOD ",\"mem\":{\"mean\":1.5,\"deviation\":1,\"count\":1}"),
        ENTRY(GOOD
              ",\"net\":{\"mean\":1152921504606846977,\"deviation\":1,\"count\":1}"),
        ENTRY(GOOD ",\"cpu\":{\"mean\":1000001,\"deviation\":1,\"count\":1}"),
        ENTRY(GOOD ",\"fixed\":1"),
    };

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        hpcb_error_t err = {""};

        errno = 0;
        ck_assert_msg(!hpcb_profiles_parse(bad[i], strlen(bad[i]), &err), "%s", bad[i]);
        ck_assert_int_eq(errno, EINVAL);
        ck_assert(*err.text);
    }
    ck_assert_ptr_null(
        hpcb_profiles_parse("{\"version\":1,\"profiles\":[]}\0x", 29, NULL));
}
END_TEST

START_TEST(a_later_release_may_say_more)
{
    static const char text[] =
        "{\"version\":1,\"who\":null,\"profiles\":[{" GOOD ",\"io\":{\"mean\":1}}]}";
    hpcb_profiles_t *store = hpcb_profiles_parse(text, strlen(text), NULL);

    ck_assert_ptr_nonnull(store);
    ck_assert_uint_eq(hpcb_profiles_count(store), 1);
    hpcb_profiles_free(store);
}
END_TEST

START_TEST(a_file_has_a_largest_size)
{
    hpcb_profiles_t *store = hpcb_profiles_new();
    char name[HPCB_PROFILE_NAME_MAX], program[HPCB_PROFILE_NAME_MAX];
    size_t length, count;
    char *text;

    memset(name, 0xff, sizeof(name));
    memset(program, '\n', sizeof(program));
    name[sizeof(name) - 1] = program[sizeof(program) - 1] = '\0';
    for (unsigned i = 0; i < 2000; i++)
        learn(store, key(i, name, program), 1, i);
    count = hpcb_profiles_count(store);
    ck_assert_uint_eq(count, 4000);
    text = hpcb_profiles_render(store, &length, NULL);
    ck_assert_ptr_nonnull(text);
    ck_assert_uint_le(length, HPCB_PROFILES_BYTES);
    ck_assert_uint_gt(length, HPCB_PROFILES_BYTES / 10 * 8);
    ck_assert_uint_lt(hpcb_profiles_count(store), count);
    figure(store, key(1999, name, program));
    free(text);
    hpcb_profiles_free(store);
}
END_TEST

static int learn_once(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    const hpcb_profile_key_t k = key(1, "CG", NULL);
    const hpcb_profile_run_t one = run(1000);

    (void)arg;
    return hpcb_profiles_learn(store, &k, &one, 1, err);
}

static unsigned runs_in(const char *path)
{
    hpcb_error_t err = {""};
    hpcb_profiles_t *store = hpcb_profiles_load(path, &err);
    unsigned count;

    if (!store && errno == ENOENT)
        return 0;
    ck_assert_msg(store != NULL, "%s", err.text);
    count = figure(store, key(1, "CG", NULL))->count;
    hpcb_profiles_free(store);
    return count;
}

START_TEST(updates_begin_and_go_on)
{
    const char *path = scratch("spool/deep/profiles.json");
    hpcb_error_t err = {""};

    for (unsigned i = 1; i < 4; i++) {
        ck_assert_msg(hpcb_profiles_update(path, learn_once, NULL, &err) == 0, "%s",
                      err.text);
        ck_assert_uint_eq(runs_in(path), i);
    }
    ck_assert_uint_eq(mode_of(path), 0644);
    ck_assert_int_eq(count_entries(scratch("spool/deep")), 2);
}
END_TEST

static int fail_to_change(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    learn_once(store, arg, err);
    return hpcb_error(err, "no");
}

START_TEST(a_failed_change_changes_nothing)
{
    const char *path = scratch("profiles.json");
    hpcb_error_t err = {""};

    ck_assert_int_eq(hpcb_profiles_update(path, learn_once, NULL, &err), 0);
    ck_assert_int_eq(hpcb_profiles_update(path, fail_to_change, NULL, &err), -1);
    ck_assert_str_eq(err.text, "no");
    ck_assert_uint_eq(runs_in(path), 1);
}
END_TEST

START_TEST(a_damaged_or_strange_file_is_left_alone)
{
    const char *path = scratch("profiles.json");
    hpcb_error_t err = {""};

    put_file(path, "{\"version\":1,\"profi");
    ck_assert_int_eq(hpcb_profiles_update(path, learn_once, NULL, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "is not a profile store: not one JSON"));
    ck_assert_str_eq(get_file(path), "{\"version\":1,\"profi");
    put_file(path, "{\"version\":1,\"profiles\":[]}");
    chmod(path, 0666);
    errno = 0;
    ck_assert_ptr_null(hpcb_profiles_load(path, &err));
    ck_assert_int_eq(errno, EPERM);
    unlink(path);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(hpcb_profiles_update(path, learn_once, NULL, &err), -1);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(hpcb_profiles_update(path, learn_once, NULL, &err), -1);
    ck_assert_int_eq(hpcb_profiles_update("profiles.json", learn_once, NULL, &err), -1);
}
END_TEST

/* Crash points: before each system call that changes files, and amid each write. */

static const char *crash_path;
static unsigned runs_before;

static void update_it(void)
{
    hpcb_profiles_update(crash_path, learn_once, NULL, NULL);
}

static void whole_and_old_or_new(void)
{
    unsigned now = runs_in(crash_path);

    ck_assert(now == runs_before || now == runs_before + 1);
    runs_before = now;
}

START_TEST(killed_anywhere_it_is_old_or_new)
{
    crash_path = scratch("spool/profiles.json");
    runs_before = 0;
    ck_assert_int_gt(crash_everywhere(update_it, whole_and_old_or_new), 5);
    ck_assert_uint_ge(runs_before, 1);
    /* The store, its lock, and nothing of those that were killed. */
    ck_assert_int_eq(count_entries(scratch("spool")), 2);
}
END_TEST

/* A child that updates the store again and again until it is killed. */
static pid_t start_writer(const char *path)
{
    pid_t pid = fork();

    ck_assert_int_ge(pid, 0);
    if (pid > 0)
        return pid;
    while (hpcb_profiles_update(path, learn_once, NULL, NULL) == 0)
        ;
    _exit(1);
}

START_TEST(killed_at_any_moment_it_is_whole)
{
    const char *path = scratch("profiles.json");
    unsigned before = 0;

    for (unsigned i = 0; i < 60; i++) {
        pid_t pid = start_writer(path);
        unsigned now;

        /* On a busy machine, none comes far in such a time. */
        while (i == 0 && runs_in(path) == 0)
            usleep(500);
        usleep(500 + i * 211 % 5000);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        now = runs_in(path);
        ck_assert_uint_ge(now, before);
        before = now;
    }
    ck_assert_uint_gt(before, 0);
    ck_assert_int_eq(hpcb_profiles_update(path, learn_once, NULL, NULL), 0);
    ck_assert_uint_eq(runs_in(path), before + 1);
    ck_assert_int_eq(count_entries(scratch_dir()), 2);
}
END_TEST

START_TEST(writers_do_not_lose_each_others_work)
{
    const char *path = scratch("profiles.json");
    pid_t pids[4];

    for (int i = 0; i < 4; i++) {
        pids[i] = fork();
        ck_assert_int_ge(pids[i], 0);
        if (pids[i] == 0) {
            for (int n = 0; n < 10; n++)
                if (hpcb_profiles_update(path, learn_once, NULL, NULL))
                    _exit(1);
            _exit(0);
        }
    }
    for (int i = 0; i < 4; i++) {
        int status;

        ck_assert_int_eq(waitpid(pids[i], &status, 0), pids[i]);
        ck_assert_int_eq(status, 0);
    }
    ck_assert_uint_eq(runs_in(path), 40);
}
END_TEST

START_TEST(waiting_for_a_writer_ends)
{
    const char *path = scratch("profiles.json");
    int fd = open(scratch("profiles.json.lock"), O_RDWR | O_CREAT, 0600);
    hpcb_error_t err = {""};

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(flock(fd, LOCK_EX), 0);
    ck_assert_int_eq(hpcb_profiles_update(path, learn_once, NULL, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "has locked it for 5 s"));
    close(fd);
    ck_assert_int_eq(hpcb_profiles_update(path, learn_once, NULL, &err), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("profile");
    TCase *tc = scratch_case("profile");

    tcase_add_test(tc, keys_take_any_bytes_but_have_a_limit);
    tcase_add_test(tc, the_mean_is_weighted);
    tcase_add_test(tc, three_runs_say_what_most_stay_below);
    tcase_add_test(tc, a_jump_is_unsteady_until_it_lasts);
    tcase_add_test(tc, an_unknown_executable_gets_what_all_have);
    tcase_add_test(tc, what_was_set_stays);
    tcase_add_test(tc, forgets_what_matches);
    tcase_add_test(tc, a_user_cannot_push_out_others);
    tcase_add_test(tc, there_and_back);
    tcase_add_test(tc, cut_off_anywhere_it_is_refused);
    tcase_add_test(tc, a_wrong_byte_does_no_harm);
    tcase_add_test(tc, strangers_stores_are_refused);
    tcase_add_test(tc, a_later_release_may_say_more);
    tcase_add_test(tc, a_file_has_a_largest_size);
    tcase_add_test(tc, updates_begin_and_go_on);
    tcase_add_test(tc, a_failed_change_changes_nothing);
    tcase_add_test(tc, a_damaged_or_strange_file_is_left_alone);
    tcase_add_test(tc, killed_anywhere_it_is_old_or_new);
    tcase_add_test(tc, killed_at_any_moment_it_is_whole);
    tcase_add_test(tc, writers_do_not_lose_each_others_work);
    tcase_add_test(tc, waiting_for_a_writer_ends);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
