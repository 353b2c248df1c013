/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tag.h"
#include "tests/common/comma.h"
#include "tests/common/scratch.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define GUEST        "{\"v\":1,\"class\":\"guest\"}"

/* 10 s, of which two CPUs were used for 15 s. */
static const hpcb_run_t run = {
    .cluster = "tiny",
    .job_id = 77,
    .klass = HPCB_CLASS_GUEST,
    .efficiency = 0.75,
    .stolen_fraction = 0.1,
    .cpu_seconds = 15,
    .wall_seconds = 10,
    .mem_bandwidth = -1,
    .net_bandwidth = 3e9,
};

static const struct {
    const char *before, *after;
} comments[] = {
    {NULL, "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
           "\"cpu\":15.000,\"wall\":10.000,"
           "\"net\":3000000000}}"},
    {"{\"hpcb\":{\"v\":1,\"class\":\"primary\",\"policy\":\"auto\"},\"x\":[1]}",
     "{\"hpcb\":{\"v\":1,\"class\":\"primary\",\"policy\":\"auto\",\"eff\":0.750,"
     "\"stolen\":0.100,\"cpu\":15.000,\"wall\":10.000,"
     "\"net\":3000000000},\"x\":[1]}"},
    {"looked at by ada", "{\"comment\":\"looked at by ada\",\"hpcb\":{\"v\":1,"
                         "\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
                         "\"cpu\":15.000,\"wall\":10.000,"
                         "\"net\":3000000000}}"},
    /* slurmdbd takes neither; the record has the name. */
    {"{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"program\":\"ada's\"}}",
     "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
     "\"cpu\":15.000,\"wall\":10.000,"
     "\"net\":3000000000}}"},
    {"{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"program\":\"a\\\"b\"}}",
     "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,\"stolen\":0.100,"
     "\"cpu\":15.000,\"wall\":10.000,"
     "\"net\":3000000000}}"},
    /* Jobstats takes its own text back. */
    {"JS1:H4sIAAAAAAAA/6tWKs5MzdNRKC5JLElVsqoFAA==",
     "JS1:H4sIAAAAAAAA/6tWKs5MzdNRKC5JLElVsqoFAA=="},
    {"JS1:", "JS1:"},
    {"{\"hpcb\":7}", "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,"
                     "\"stolen\":0.100,\"cpu\":15.000,\"wall\":10.000,"
                     "\"net\":3000000000}}"},
};

START_TEST(figures_join_what_is_in_the_comment)
{
    char *text = hpcb_tag_add_run(comments[_i].before, &run, NULL);
    char *again = hpcb_tag_add_run(text, &run, NULL);

    ck_assert_str_eq(text, comments[_i].after);
    ck_assert_str_eq(again, text);
    free(text);
    free(again);
}
END_TEST

START_TEST(figures_have_a_point_in_any_locale)
{
    char *text;

    if (!comma_enter())
        return;
    text = hpcb_tag_add_run(NULL, &run, NULL);
    ck_assert_str_eq(text, comments[0].after);
    free(text);
    comma_leave();
}
END_TEST

START_TEST(a_comment_has_at_most_one_kibibyte)
{
    char foreign[HPCB_COMMENT_MAX], *text;
    hpcb_error_t err = {""};

    memset(foreign, 'x', sizeof(foreign) - 1);
    foreign[sizeof(foreign) - 1] = '\0';
    ck_assert_ptr_null(hpcb_tag_add_run(foreign, &run, &err));
    ck_assert_int_eq(errno, EMSGSIZE);
    /* The program goes first. */
    snprintf(foreign, sizeof(foreign),
             "{\"hpcb\":{\"v\":1,\"program\":\"%0290d\"},\"x\":\"%0670d\"}", 1, 2);
    text = hpcb_tag_add_run(foreign, &run, &err);
    ck_assert_msg(text != NULL, "%s", err.text);
    ck_assert_uint_lt(strlen(text), HPCB_COMMENT_MAX);
    ck_assert_ptr_null(strstr(text, "program"));
    ck_assert_ptr_nonnull(strstr(text, "\"eff\""));
    free(text);
}
END_TEST

/* ---- as submitted ---- */

/* Also in a locale whose decimal point is a comma. */
START_TEST(tags_leave_out_what_was_not_given)
{
    static const struct {
        hpcb_class_t klass;
        hpcb_options_t options;
        const char *tag;
        bool learned;
        const char *program;
    } rows[] = {
        {HPCB_CLASS_GUEST,
         {0},
         "{\"hpcb\":{\"v\":1,\"class\":\"guest\"}}",
         false,
         NULL},
        {HPCB_CLASS_UNKNOWN, {0}, "{\"hpcb\":{\"v\":1}}", false, NULL},
        {HPCB_CLASS_PRIMARY,
         {.policy = HPCB_POLICY_AUTO},
         "{\"hpcb\":{\"v\":1,\"class\":\"primary\",\"policy\":\"auto\"}}",
         false,
         NULL},
        {HPCB_CLASS_GUEST,
         {.bw_mem = 1024, .bw_cpu = 0.6},
         "{\"hpcb\":{\"v\":1,\"class\":\"guest\","
         "\"bw\":{\"mem\":1024,\"cpu\":0.600000,\"source\":\"given\"}}}",
         false,
         NULL},
        {HPCB_CLASS_GUEST,
         {.bw_net = UINT64_C(1) << 60},
         "{\"hpcb\":{\"v\":1,\"class\":\"guest\","
         "\"bw\":{\"net\":1152921504606846976,\"source\":\"learned\"}}}",
         true,
         NULL},
        {HPCB_CLASS_PRIMARY,
         {0},
         "{\"hpcb\":{\"v\":1,\"class\":\"primary\",\"program\":\"a \\\"b\\\"/c\"}}",
         true,
         "a \"b\"/c"},
        {HPCB_CLASS_PRIMARY,
         {0},
         "{\"hpcb\":{\"v\":1,\"class\":\"primary\"}}",
         false,
         "a\nb"},
        {HPCB_CLASS_PRIMARY,
         {.bw_mem = 1024, .spread = true},
         "{\"hpcb\":{\"v\":1,\"class\":\"primary\",\"spread\":true,"
         "\"bw\":{\"mem\":1024,\"source\":\"given\"}}}",
         false,
         NULL},
    };

    if (_i && !comma_enter())
        return;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const hpcb_tag_t said = {rows[i].klass, &rows[i].options, rows[i].learned,
                                 rows[i].program, 0};
        char *tag = hpcb_tag_add(NULL, &said, NULL);

        ck_assert_str_eq(tag, rows[i].tag);
        free(tag);
    }
    comma_leave();
}
END_TEST

START_TEST(the_largest_tag_fits_an_admin_comment)
{
    const hpcb_options_t options = {.guest = true,
                                    .policy = HPCB_POLICY_ADAPTIVE,
                                    .bw_mem = UINT64_MAX,
                                    .bw_net = UINT64_MAX,
                                    .bw_cpu = 1};
    char program[HPCB_TAG_PROGRAM_MAX + 1];
    const hpcb_tag_t said = {HPCB_CLASS_PRIMARY, &options, true, program, INT64_MAX};
    char *tag;

    memset(program, '\\', sizeof(program));
    program[HPCB_TAG_PROGRAM_MAX] = '\0';
    tag = hpcb_tag_add(NULL, &said, NULL);
    ck_assert_ptr_null(strstr(tag, "program"));
    free(tag);
    program[HPCB_TAG_PROGRAM_MAX - 1] = '\0';
    tag = hpcb_tag_add(NULL, &said, NULL);
    ck_assert_ptr_nonnull(strstr(tag, "program"));
    ck_assert_uint_lt(strlen(tag), HPCB_COMMENT_MAX);
    free(tag);
}
END_TEST

/* ---- beside what others wrote ---- */

static const hpcb_options_t no_options;
static const hpcb_tag_t guest = {.klass = HPCB_CLASS_GUEST, .options = &no_options};

static void check_member(const char *before, const char *key, const char *expected)
{
    char *merged = hpcb_tag_add(before, &guest, NULL);
    json_object *object = json_tokener_parse(merged), *value;

    ck_assert(json_object_is_type(object, json_type_object));
    ck_assert(json_object_object_get_ex(object, key, &value));
    ck_assert_str_eq(json_object_is_type(value, json_type_string)
                         ? json_object_get_string(value)
                         : json_object_to_json_string_ext(value, 0),
                     expected);
    json_object_put(object);
    free(merged);
}

START_TEST(alone_the_tag_is_the_comment)
{
    char *none = hpcb_tag_add(NULL, &guest, NULL);
    char *empty = hpcb_tag_add("", &guest, NULL);

    ck_assert_pstr_eq(none, "{\"hpcb\":" GUEST "}");
    ck_assert_pstr_eq(empty, none);
    free(none);
    free(empty);
}
END_TEST

START_TEST(jobstats_text_keeps_its_beginning)
{
    char *after = hpcb_tag_add("JS1:H4sIAAA=", &guest, NULL);

    ck_assert_pstr_eq(after, "JS1:H4sIAAA=");
    free(after);
    /* Others' texts stay whole, but not at the beginning. */
    check_member("JS2:x", "comment", "JS2:x");
}
END_TEST

START_TEST(keys_of_others_stay)
{
    const char *before = "{\"a\":{\"b\":[1,2.50]},\"hpcb\":\"forged\"}";

    check_member(before, "a", "{\"b\":[1,2.50]}");
    check_member(before, "hpcb", GUEST);
}
END_TEST

static const char *const texts[] = {
    "reserved for course 12",
    "[1,2]",
    "\"text\"",
    "17",
    "{\"a\":1} and more",
    "{\"a\":1",
    "null",
    "{\"a\":\"\xff\"}",
    " ",
    "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
};

START_TEST(any_other_text_is_kept_whole)
{
    check_member(texts[_i], "comment", texts[_i]);
    check_member(texts[_i], "hpcb", GUEST);
}
END_TEST

/* slurmctld would refuse the job for such a text. */
START_TEST(what_leaves_no_room_gets_no_tag)
{
    char before[HPCB_COMMENT_MAX];
    const hpcb_tag_t said = {HPCB_CLASS_GUEST, &no_options, false, "a/b", 0};
    hpcb_error_t err = {""};
    char *after;

    memset(before, 'x', sizeof(before));
    before[HPCB_COMMENT_MAX - 30] = '\0';
    ck_assert_ptr_null(hpcb_tag_add(before, &said, &err));
    ck_assert_int_eq(errno, EMSGSIZE);
    ck_assert_ptr_nonnull(strstr(err.text, "too long"));
    /* The program goes first. */
    before[HPCB_COMMENT_MAX - 60] = '\0';
    after = hpcb_tag_add(before, &said, &err);
    ck_assert_msg(after != NULL, "%s", err.text);
    ck_assert_uint_lt(strlen(after), HPCB_COMMENT_MAX);
    ck_assert_ptr_null(strstr(after, "program"));
    free(after);
}
END_TEST

/* A megabyte may come over the network.  Parsed, it would be short enough. */
START_TEST(a_text_that_is_too_long_is_not_parsed)
{
    static char text[1 << 20];
    const size_t lengths[] = {HPCB_COMMENT_MAX - 1, HPCB_COMMENT_MAX, sizeof(text) - 1};
    const char tagged[] = "{\"hpcb\":{\"v\":1,\"peak\":7}}";
    bool fits = lengths[_i] < HPCB_COMMENT_MAX;
    hpcb_tag_demand_t demand;
    char *added, *ended;

    memset(text, ' ', lengths[_i]);
    memcpy(text, tagged, strlen(tagged));
    text[lengths[_i]] = '\0';
    hpcb_tag_read(text, &demand);
    ck_assert_uint_eq(demand.peak, fits ? 7 : 0);
    errno = 0;
    added = hpcb_tag_add(text, &guest, NULL);
    ck_assert(!added == !fits && (fits || errno == EMSGSIZE));
    errno = 0;
    ended = hpcb_tag_add_run(text, &run, NULL);
    ck_assert(!ended == !fits && (fits || errno == EMSGSIZE));
    free(added);
    free(ended);
}
END_TEST

/* ---- read back ---- */

START_TEST(what_is_written_is_read)
{
    const hpcb_options_t options = {
        .bw_mem = 12884901888, .bw_net = 3, .bw_cpu = 0.6, .spread = true};
    const hpcb_tag_t tag = {HPCB_CLASS_PRIMARY, &options, true, "a \"b\"/c", 0};
    char *text = hpcb_tag_add("{\"site\":1}", &tag, NULL);
    char *ended = hpcb_tag_add_run(text, &run, NULL);
    hpcb_tag_demand_t demand;

    hpcb_tag_read(text, &demand);
    ck_assert_uint_eq(demand.mem, options.bw_mem);
    ck_assert_uint_eq(demand.net, options.bw_net);
    ck_assert_uint_eq(demand.cpu, (uint32_t)(options.bw_cpu * 1e6 + 0.5));
    ck_assert_str_eq(demand.program, tag.program);
    ck_assert(demand.learned && demand.spread);
    hpcb_tag_read(ended, &demand);
    ck_assert_uint_eq(demand.mem, options.bw_mem);
    hpcb_tag_read("{\"hpcb\":{\"program\":7,\"bw\":[1]}}", &demand);
    ck_assert_uint_eq(demand.mem, 0);
    ck_assert_str_eq(demand.program, "");
    hpcb_tag_read("{\"hpcb\":{\"spread\":1,\"bw\":{\"mem\":1,\"source\":\"given\"}}}",
                  &demand);
    ck_assert(!demand.learned && !demand.spread);
    free(text);
    free(ended);
}
END_TEST

/* tests/report/test_tag.py reads the same lines. */
START_TEST(the_format_is_that_of_tags_jsonl)
{
    const char *top = getenv("HPCB_SRCDIR");
    const hpcb_options_t options = {
        .policy = HPCB_POLICY_AUTO, .bw_mem = 12884901888, .bw_net = 3, .bw_cpu = 0.6};
    const hpcb_tag_t tag = {HPCB_CLASS_PRIMARY, &options, true, "CG/cg.B", 0};
    hpcb_run_t ended = run;
    char path[PATH_MAX], lines[4096];
    char *submitted = hpcb_tag_add("a note", &tag, NULL), *after, *alone;

    ended.restart = 2;
    ended.guests_known = true;
    ended.guests = 3;
    ended.mem_bandwidth = 5e9;
    after = hpcb_tag_add_run(submitted, &ended, NULL);
    alone = hpcb_tag_add_run(NULL, &run, NULL);
    snprintf(lines, sizeof(lines), "%s\n%s\n%s\n", submitted, after, alone);
    snprintf(path, sizeof(path), "%s/tests/common/tags.jsonl", top ? top : ".");
    ck_assert_str_eq(lines, get_file(path));
    free(submitted);
    free(after);
    free(alone);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("tag");
    TCase *test = scratch_case("tag");

    tcase_add_loop_test(test, figures_join_what_is_in_the_comment, 0,
                        sizeof(comments) / sizeof(comments[0]));
    tcase_add_test(test, figures_have_a_point_in_any_locale);
    tcase_add_test(test, a_comment_has_at_most_one_kibibyte);
    tcase_add_loop_test(test, tags_leave_out_what_was_not_given, 0, 2);
    tcase_add_test(test, the_largest_tag_fits_an_admin_comment);
    tcase_add_test(test, alone_the_tag_is_the_comment);
    tcase_add_test(test, jobstats_text_keeps_its_beginning);
    tcase_add_test(test, keys_of_others_stay);
    tcase_add_loop_test(test, any_other_text_is_kept_whole, 0, COUNT(texts));
    tcase_add_test(test, what_is_written_is_read);
    tcase_add_test(test, what_leaves_no_room_gets_no_tag);
    tcase_add_loop_test(test, a_text_that_is_too_long_is_not_parsed, 0, 3);
    tcase_add_test(test, the_format_is_that_of_tags_jsonl);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
