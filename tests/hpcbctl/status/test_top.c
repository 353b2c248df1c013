/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What hpcbctl top makes of two looks at the jobs of a node. */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "hpcbctl/job/windows.h"
#include "hpcbctl/status/top.h"
#include "tests/common/scratch.h"

#define JOB(id, klass, begin, cpus, used, waited)                                      \
    "{\"job_id\":" #id ",\"class\":\"" klass "\",\"user_id\":0,\"partition\":\"p\","   \
    "\"cpus\":" #cpus ",\"begin\":" #begin ",\"cpu_seconds\":" #used                   \
    ",\"run_delay_seconds\":" #waited ",\"memory_peak_bytes\":5242880,"                \
    "\"running\":true,\"mechanism\":null,\"exposed\":0}"

static const char before[] = "[" JOB(7, "guest", 100.5, 2, 10.0, 5.0) "," JOB(
    8, "primary", 50.0, 4, 100.0, 1.0) "," JOB(9, "guest", 60.0, null, 77.0, 0.0) "]";

/* Two seconds later: 8 is another run of that number, and 9 had its groups summed up.
 */
static const char now[] = "[" JOB(7, "guest", 100.5, 2, 11.0, 8.0) "," JOB(
    8, "primary", 101.0, 4, 0.5, 0.0) "," JOB(9, "guest", 60.0, null, 76.0,
                                              0.0) "," JOB(10, "primary", 50.0, 4, 3.0,
                                                           0.0) "]";

static char *shown(const char *first, const char *second, size_t rows)
{
    json_object *a = json_tokener_parse(first), *b = json_tokener_parse(second);
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    ck_assert(a && b);
    hpcb_top_text(a, b, 2.0, rows, out);
    fclose(out);
    json_object_put(a);
    json_object_put(b);
    return text;
}

static void assert_has(const char *text, const char *words)
{
    ck_assert_msg(strstr(text, words) != NULL, "no '%s' in\n%s", words, text);
}

START_TEST(what_was_used_since_the_last_look)
{
    char *text = shown(before, now, 0);

    assert_has(text, "   2 guests          2 CPUs held      0.50 used      1.50 tasks");
    assert_has(text, "   2 primaries       8 CPUs held      0.00 used      0.00 tasks");
    assert_has(text,
               "\n7           guest    root        p                 2     50.0    "
               "150.0           5  NONE\n");
    assert_has(text,
               "\n9           guest    root        p                 -      0.0      "
               "0.0           5  NONE\n");
    free(text);
}
END_TEST

START_TEST(the_busiest_come_first)
{
    char *text = shown(before, now, 1);

    assert_has(text, "\n7 ");
    ck_assert_ptr_null(strstr(text, "\n9 "));
    assert_has(text, "\n... and 3 more\n");
    free(text);
}
END_TEST

START_TEST(a_node_without_jobs)
{
    char *text = shown("[]", "[]", 5);

    assert_has(text, "   0 primaries       0 CPUs held");
    ck_assert_ptr_null(strstr(text, "more"));
    free(text);
}
END_TEST

/* Below, of those of which it is known. */
START_TEST(what_guests_cost_and_how_that_is_known)
{
    json_object *jobs = json_tokener_parse(
        "[{\"job\":7,\"window\":\"none\"},"
        "{\"job\":8,\"window\":\"none\",\"guest_cost\":{\"cost\":0.0123,\"low\":-0.001,"
        "\"high\":0.0256,\"comparisons\":42,\"method\":\"iterations\"}}]");
    char *text = NULL;
    size_t length;
    FILE *out = open_memstream(&text, &length);

    hpcb_windows_jobs_text(jobs, out);
    fclose(out);
    ck_assert_str_eq(text,
                     "\nJOB         GUESTS %       LOW      HIGH  TIMES  MEASURED "
                     "BY\n8              +1.23     -0.10     +2.56     42  "
                     "iterations\n");
    free(text);
    json_object_put(jobs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("top");
    TCase *tcase = scratch_case("top");

    tcase_add_test(tcase, what_was_used_since_the_last_look);
    tcase_add_test(tcase, the_busiest_come_first);
    tcase_add_test(tcase, a_node_without_jobs);
    tcase_add_test(tcase, what_guests_cost_and_how_that_is_known);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
