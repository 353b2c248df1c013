/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "hpcbctl/decisions.h"
#include "hpcbctl/output.h"
#include "tests/common/scratch.h"

/* Join parts, written as JSON, and compare with expected. */
static void joins(const char *parts, const char *expected)
{
    hpcb_autojson json_object *array = json_tokener_parse(parts);
    hpcb_autojson json_object *decisions = NULL;

    ck_assert_ptr_nonnull(array);
    decisions = hpcb_decisions_join(array);
    ck_assert_ptr_nonnull(decisions);
    ck_assert_str_eq(json_object_to_json_string_ext(decisions, JSON_C_TO_STRING_PLAIN),
                     expected);
}

#define PART(gang, quantum, from, of, jobs)                                            \
    "{\"gang\":\"" gang "\",\"quantum\":" #quantum ",\"from\":" #from ",\"of\":" #of   \
    ",\"jobs\":[" jobs "]}"
#define WHOLE(gang, quantum, jobs)                                                     \
    "{\"gang\":\"" gang "\",\"quantum\":" #quantum ",\"jobs\":[" jobs "]}"

START_TEST(joins_what_follows)
{
    joins("[]", "[]");
    joins("[" PART("a", 1, 0, 1, "7") "]", "[" WHOLE("a", 1, "7") "]");
    joins("[" PART("a", 1, 0, 5, "7,8") "," PART("a", 1, 2, 5, "9,10") "," PART(
              "a", 1, 4, 5, "11") "," PART("a", 2, 0, 1, "7") "]",
          "[" WHOLE("a", 1, "7,8,9,10,11") "," WHOLE("a", 2, "7") "]");
}
END_TEST

/* hpcbd takes decisions, and forgets others, from one page to the next. */
START_TEST(leaves_out_what_is_not_whole)
{
    joins("[" PART("a", 1, 0, 3, "7,8") "]", "[]");
    joins("[" PART("a", 1, 2, 3, "9") "," PART("a", 2, 0, 1, "7") "]",
          "[" WHOLE("a", 2, "7") "]");
    joins("[" PART("a", 1, 0, 3, "7") "," PART("a", 1, 2, 3, "9") "]", "[]");
    joins("[" PART("a", 1, 0, 2, "7") "," PART("a", 2, 1, 2, "9") "," PART("a", 3, 0, 1,
                                                                           "5") "]",
          "[" WHOLE("a", 3, "5") "]");
    joins("[" PART("a", 1, 0, 2, "7") "," PART("b", 1, 1, 2, "9") "]", "[]");
    joins("[" PART("a", 1, 0, 3, "7") "," PART("a", 1, 1, 3, "8") "," PART("a", 1, 1, 3,
                                                                           "8") "]",
          "[]");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("decisions");
    TCase *tc = tcase_create("decisions");

    tcase_add_test(tc, joins_what_follows);
    tcase_add_test(tc, leaves_out_what_is_not_whole);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
