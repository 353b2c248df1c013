/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/jobrecord.h"
#include "tests/common/scratch.h"

/* 10 s on a node with 2 CPUs, of which 15 s were used. */
static hpcb_record_t node_record(const char *node, unsigned nodes)
{
    hpcb_record_t record = {
        .job = {.job_id = 77,
                .uid = 1000,
                .klass = HPCB_CLASS_GUEST,
                .partition = "guest",
                .begin_us = UINT64_C(1700000000000000)},
        .cluster = "tiny",
        .end_us = UINT64_C(1700000010000000),
        .cpus = 2,
        .usage = {15000000, 1000000, 4096},
        .about = {.nodes = nodes, .user = "ada", .name = "CG"},
    };

    snprintf(record.node, sizeof(record.node), "%s", node);
    return record;
}

static hpcb_rjson_t *to_json(const hpcb_record_t *record)
{
    char *text = hpcb_record_render(record, NULL);
    hpcb_rjson_t *object = hpcb_rjson_parse(text);

    ck_assert_ptr_nonnull(object);
    free(text);
    return object;
}

static hpcb_run_t *new_run(const hpcb_record_t *record)
{
    hpcb_run_key_t key;
    hpcb_run_t *run;

    hpcb_run_key_of(record, &key);
    run = hpcb_run_new(&key);
    ck_assert_ptr_nonnull(run);
    return run;
}

static int add(hpcb_run_t *run, const hpcb_record_t *record)
{
    hpcb_rjson_t *object = to_json(record);
    int changed = hpcb_run_add(run, object, NULL);

    json_object_put(object);
    return changed;
}

/* The value of a member of the run's line. */
static const char *member(const hpcb_run_t *run, const char *key)
{
    static char value[512];
    char *line = hpcb_run_render(run, NULL);
    hpcb_rjson_t *object = hpcb_rjson_parse(line), *found;

    ck_assert_msg(json_object_object_get_ex(object, key, &found), "%s", key);
    snprintf(value, sizeof(value), "%s", json_object_to_json_string(found));
    json_object_put(object);
    free(line);
    return value;
}

START_TEST(nodes_are_added_up)
{
    hpcb_record_t a = node_record("a", 2), b = node_record("b", 2);
    hpcb_run_t *run = new_run(&a);

    b.end_us += 10000000;
    b.usage.memory_peak = 5;
    ck_assert_int_eq(add(run, &a), 1);
    ck_assert(!hpcb_run_complete(run));
    ck_assert_int_eq(add(run, &b), 1);
    ck_assert(hpcb_run_complete(run));
    ck_assert_str_eq(member(run, "complete"), "true");
    ck_assert_str_eq(member(run, "nodes"), "2");
    ck_assert_str_eq(member(run, "cpus"), "4");
    ck_assert_str_eq(member(run, "cpu_seconds"), "30.000000");
    ck_assert_str_eq(member(run, "wall_seconds"), "20.000000");
    ck_assert_str_eq(member(run, "memory_peak_bytes"), "4096");
    ck_assert_str_eq(member(run, "efficiency"), "0.500000");
    ck_assert_str_eq(member(run, "stolen_fraction"), "0.066667");
    ck_assert_str_eq(member(run, "start"), "1700000000.000000");
    ck_assert_str_eq(member(run, "end"), "1700000020.000000");
    ck_assert_str_eq(member(run, "user"), "\"ada\"");
    ck_assert_str_eq(member(run, "array_job_id"), "null");
    hpcb_run_free(run);
}
END_TEST

START_TEST(a_node_counts_once_and_what_knows_more_wins)
{
    hpcb_record_t first = node_record("a", 1), later = first;
    hpcb_run_t *run = new_run(&first);

    ck_assert_int_eq(add(run, &first), 1);
    ck_assert_int_eq(add(run, &first), 0);
    later.usage.cpu_us = 0;
    later.job.begin_us = later.end_us;
    ck_assert_int_eq(add(run, &later), 0);
    ck_assert_str_eq(member(run, "cpu_seconds"), "15.000000");
    later.usage.cpu_us = 16000000;
    ck_assert_int_eq(add(run, &later), 1);
    ck_assert_str_eq(member(run, "cpu_seconds"), "16.000000");
    hpcb_run_free(run);
}
END_TEST

START_TEST(what_is_rendered_is_read_back)
{
    static const hpcb_task_usage_t tasks[] = {{"0", 0, 1, 2}, {"batch", 1, 3, 4}};
    hpcb_record_t a = node_record("a", 3), b = node_record("b", _i ? 3 : 0);
    hpcb_run_t *run = new_run(&a), *back;
    char *line, *again;

    uint32_t guests[] = {5, 4294967295u};

    a.tasks = tasks;
    a.n_tasks = 2;
    a.beside =
        (hpcb_beside_t){.known = true, .cpu_us = 7, .count = 2, .guests = guests};
    if (!_i)
        a.about.nodes = 0;
    a.about.array_job = 5;
    a.about.array_task = 6;
    ck_assert_int_eq(add(run, &a), 1);
    ck_assert_int_eq(add(run, &b), 1);
    line = hpcb_run_render(run, NULL);
    back = hpcb_run_parse(line, NULL);
    ck_assert_ptr_nonnull(back);
    ck_assert(!hpcb_run_complete(back));
    again = hpcb_run_render(back, NULL);
    ck_assert_str_eq(line, again);
    ck_assert_int_eq(add(back, &a), 0);
    ck_assert_uint_eq(hpcb_run_nodes(back), 2);
    free(line);
    free(again);
    hpcb_run_free(run);
    hpcb_run_free(back);
}
END_TEST

START_TEST(guests_beside_are_counted_once_over_the_nodes)
{
    uint32_t here[] = {5, 9}, there[] = {3, 9, 12};
    hpcb_record_t a = node_record("a", 3), b = node_record("b", 3), c = b;
    hpcb_run_t *run = new_run(&a);
    char *comment;

    a.beside = (hpcb_beside_t){.known = true, .cpu_us = 7, .count = 2, .guests = here};
    b.beside = (hpcb_beside_t){.known = true, .cpu_us = 5, .count = 3, .guests = there};
    ck_assert_int_eq(add(run, &a), 1);
    ck_assert_int_eq(add(run, &b), 1);
    ck_assert_str_eq(member(run, "guests_beside"), "4");
    ck_assert_str_eq(member(run, "guest_cpu_seconds"), "0.000012");
    comment = hpcb_run_comment(run, NULL, NULL);
    ck_assert_ptr_nonnull(strstr(comment, "\"guests\":4,"));
    free(comment);
    strcpy(c.node, "c");
    ck_assert_int_eq(add(run, &c), 1);
    ck_assert_str_eq(member(run, "guests_beside"), "null");
    ck_assert_str_eq(member(run, "guest_cpu_seconds"), "null");
    hpcb_run_free(run);
}
END_TEST

static const char *const no_guests[] = {
    "1", "{}", "[0]", "[-1]", "[4294967296]", "[1.5]", "[null]", "[\"5\"]"};

START_TEST(what_is_no_guest_is_no_record)
{
    hpcb_record_t a = node_record("a", 1);
    hpcb_run_t *run = new_run(&a);
    hpcb_rjson_t *object = to_json(&a);
    hpcb_error_t err = {""};

    json_object_object_add(object, "guest_cpu_seconds", json_object_new_int(1));
    json_object_object_add(object, "guests_beside", json_tokener_parse(no_guests[_i]));
    ck_assert_int_eq(hpcb_run_add(run, object, &err), -1);
    ck_assert_ptr_nonnull(strstr(err.text, "guests_beside"));
    json_object_put(object);
    hpcb_run_free(run);
}
END_TEST

START_TEST(the_key_is_read_from_the_front_of_a_line)
{
    hpcb_record_t a = node_record("a", 1);
    hpcb_run_key_t key = {.job_id = 1};
    hpcb_run_t *run;
    char *line;

    a.about.restart = 4;
    run = new_run(&a);
    ck_assert_int_eq(add(run, &a), 1);
    line = hpcb_run_render(run, NULL);
    for (size_t i = 0; i < 60; i++)
        ck_assert_int_eq(hpcb_run_key_of_line(line, i, &key), -1);
    ck_assert_int_eq(hpcb_run_key_of_line(line, strlen(line), &key), 0);
    ck_assert_mem_eq(&key, hpcb_run_key(run), sizeof(key));
    free(line);
    hpcb_run_free(run);
}
END_TEST

static const char *const no_runs[] = {
    "",
    "{}",
    "[]",
    "{\"kind\":\"job\",\"complete\":true,\"node_records\":[]}",
    "{\"kind\":\"job\",\"complete\":true,\"node_records\":[{}]}",
    "{\"kind\":\"job\",\"complete\":true,\"node_records\":[1]}",
    "{\"kind\":\"node\",\"complete\":true,\"node_records\":{}}",
};

START_TEST(what_is_no_run_is_refused)
{
    hpcb_error_t err = {""};

    ck_assert_ptr_null(hpcb_run_parse(no_runs[_i], &err));
    ck_assert_str_ne(err.text, "");
}
END_TEST

START_TEST(what_is_no_record_leaves_the_run)
{
    hpcb_record_t a = node_record("a", 1);
    hpcb_run_t *run = new_run(&a);
    hpcb_rjson_t *object = to_json(&a);
    hpcb_error_t err = {""};

    json_object_object_add(object, "tasks", json_object_new_int(1));
    ck_assert_int_eq(hpcb_run_add(run, object, &err), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcb_run_add(run, NULL, &err), -1);
    ck_assert_uint_eq(hpcb_run_nodes(run), 0);
    json_object_put(object);
    hpcb_run_free(run);
}
END_TEST

static hpcb_run_t *some_run(void)
{
    hpcb_record_t a = node_record("a", 1);
    hpcb_run_t *run = new_run(&a);

    ck_assert_int_eq(add(run, &a), 1);
    return run;
}

static const struct {
    const char *before, *after;
} comments[] = {
    {NULL, "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
           "\"cpu\":15.000,\"wall\":10.000}}"},
    {"{\"hpcb\":{\"v\":1,\"class\":\"primary\",\"policy\":\"auto\"},\"x\":[1]}",
     "{\"hpcb\":{\"v\":1,\"class\":\"primary\",\"policy\":\"auto\",\"eff\":0.750,"
     "\"stolen\":0.100,\"cpu\":15.000,\"wall\":10.000},\"x\":[1]}"},
    {"looked at by ada", "{\"comment\":\"looked at by ada\",\"hpcb\":{\"v\":1,"
                         "\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
                         "\"cpu\":15.000,\"wall\":10.000}}"},
    /* slurmdbd takes neither; the record has the name. */
    {"{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"program\":\"ada's\"}}",
     "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
     "\"cpu\":15.000,\"wall\":10.000}}"},
    {"{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"program\":\"a\\\"b\"}}",
     "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
     "\"cpu\":15.000,\"wall\":10.000}}"},
    {"{\"hpcb\":7}", "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,"
                     "\"stolen\":0.100,\"cpu\":15.000,\"wall\":10.000}}"},
};

START_TEST(figures_join_what_is_in_the_comment)
{
    hpcb_run_t *run = some_run();
    char *text = hpcb_run_comment(run, comments[_i].before, NULL);
    char *again = hpcb_run_comment(run, text, NULL);

    ck_assert_str_eq(text, comments[_i].after);
    ck_assert_str_eq(again, text);
    free(text);
    free(again);
    hpcb_run_free(run);
}
END_TEST

START_TEST(a_comment_has_at_most_one_kibibyte)
{
    hpcb_run_t *run = some_run();
    char foreign[HPCB_COMMENT_MAX], *text;
    hpcb_error_t err = {""};

    memset(foreign, 'x', sizeof(foreign) - 1);
    foreign[sizeof(foreign) - 1] = '\0';
    ck_assert_ptr_null(hpcb_run_comment(run, foreign, &err));
    ck_assert_int_eq(errno, EMSGSIZE);
    /* The program goes first. */
    snprintf(foreign, sizeof(foreign),
             "{\"hpcb\":{\"v\":1,\"program\":\"%0290d\"},\"x\":\"%0670d\"}", 1, 2);
    text = hpcb_run_comment(run, foreign, &err);
    ck_assert_msg(text != NULL, "%s", err.text);
    ck_assert_uint_lt(strlen(text), HPCB_COMMENT_MAX);
    ck_assert_ptr_null(strstr(text, "program"));
    ck_assert_ptr_nonnull(strstr(text, "\"eff\""));
    free(text);
    hpcb_run_free(run);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jobrecord");
    TCase *test = scratch_case("jobrecord");

    tcase_add_test(test, nodes_are_added_up);
    tcase_add_test(test, a_node_counts_once_and_what_knows_more_wins);
    tcase_add_loop_test(test, what_is_rendered_is_read_back, 0, 2);
    tcase_add_test(test, guests_beside_are_counted_once_over_the_nodes);
    tcase_add_loop_test(test, what_is_no_guest_is_no_record, 0,
                        (int)(sizeof(no_guests) / sizeof(no_guests[0])));
    tcase_add_test(test, the_key_is_read_from_the_front_of_a_line);
    tcase_add_loop_test(test, what_is_no_run_is_refused, 0,
                        sizeof(no_runs) / sizeof(no_runs[0]));
    tcase_add_test(test, what_is_no_record_leaves_the_run);
    tcase_add_loop_test(test, figures_join_what_is_in_the_comment, 0,
                        sizeof(comments) / sizeof(comments[0]));
    tcase_add_test(test, a_comment_has_at_most_one_kibibyte);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
