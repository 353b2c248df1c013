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
    {"{\"hpcb\":7}", "{\"hpcb\":{\"v\":1,\"class\":\"guest\",\"eff\":0.750,"
                     "\"stolen\":0.100,\"cpu\":15.000,\"wall\":10.000,"
                     "\"net\":3000000000}}"},
};

START_TEST(figures_join_what_is_in_the_comment)
{
    char *text = hpcb_run_comment(&run, comments[_i].before, NULL);
    char *again = hpcb_run_comment(&run, text, NULL);

    ck_assert_str_eq(text, comments[_i].after);
    ck_assert_str_eq(again, text);
    free(text);
    free(again);
}
END_TEST

START_TEST(a_comment_has_at_most_one_kibibyte)
{
    char foreign[HPCB_COMMENT_MAX], *text;
    hpcb_error_t err = {""};

    memset(foreign, 'x', sizeof(foreign) - 1);
    foreign[sizeof(foreign) - 1] = '\0';
    ck_assert_ptr_null(hpcb_run_comment(&run, foreign, &err));
    ck_assert_int_eq(errno, EMSGSIZE);
    /* The program goes first. */
    snprintf(foreign, sizeof(foreign),
             "{\"hpcb\":{\"v\":1,\"program\":\"%0290d\"},\"x\":\"%0670d\"}", 1, 2);
    text = hpcb_run_comment(&run, foreign, &err);
    ck_assert_msg(text != NULL, "%s", err.text);
    ck_assert_uint_lt(strlen(text), HPCB_COMMENT_MAX);
    ck_assert_ptr_null(strstr(text, "program"));
    ck_assert_ptr_nonnull(strstr(text, "\"eff\""));
    free(text);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("jobrecord");
    TCase *test = scratch_case("jobrecord");

    tcase_add_loop_test(test, figures_join_what_is_in_the_comment, 0,
                        sizeof(comments) / sizeof(comments[0]));
    tcase_add_test(test, a_comment_has_at_most_one_kibibyte);
    suite_add_tcase(suite, test);
    return run_suite(suite);
}
