/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Rows of the table of fields fit their codecs, and the manual has them. */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/record_codec.h"
#include "tests/common/scratch.h"

static bool is_written(const hpcb_field_t *field)
{
    return field->member.codec != NULL;
}

START_TEST(places_are_counted_without_a_gap)
{
    unsigned written = 0;

    for (size_t i = 0; i < hpcb_n_fields; i++)
        written += is_written(&hpcb_fields[i]);
    ck_assert_uint_gt(written, 0);
    for (unsigned place = 1; place <= written; place++)
        ck_assert_msg(hpcb_field_of_place(place) != NULL, "no place %u", place);
    ck_assert_ptr_null(hpcb_field_of_place(written + 1));
}
END_TEST

START_TEST(what_the_database_takes_from_a_node_is_written)
{
    for (size_t i = 0; i < hpcb_n_fields; i++)
        if (hpcb_fields[i].source != HPCB_FIELD_COMPUTED)
            ck_assert_msg(is_written(&hpcb_fields[i]), "%s", hpcb_fields[i].name);
}
END_TEST

START_TEST(codecs_fit_what_rows_name)
{
    for (size_t i = 0; i < hpcb_n_fields; i++) {
        const hpcb_member_t *member = &hpcb_fields[i].member;

        if (!member->codec)
            continue;
        ck_assert_msg(!member->codec->size || member->codec->size == member->size,
                      "%s: %zu bytes", hpcb_fields[i].name, member->size);
        ck_assert_uint_le(member->offset + member->size, sizeof(hpcb_record_t));
    }
}
END_TEST

START_TEST(the_manual_has_what_a_node_writes)
{
    const char *top = getenv("HPCB_SRCDIR");
    const hpcb_field_t *field;
    char path[PATH_MAX], name[80];
    const char *page;

    snprintf(path, sizeof(path), "%s/doc/record.md", top ? top : ".");
    page = get_file(path);
    for (unsigned place = 1; (field = hpcb_field_of_place(place)); place++) {
        snprintf(name, sizeof(name), "`%s`", field->name);
        ck_assert_msg(strstr(page, name) != NULL, "no %s in doc/record.md", name);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("record_fields");
    TCase *tc = tcase_create("record_fields");

    tcase_add_test(tc, places_are_counted_without_a_gap);
    tcase_add_test(tc, what_the_database_takes_from_a_node_is_written);
    tcase_add_test(tc, codecs_fit_what_rows_name);
    tcase_add_test(tc, the_manual_has_what_a_node_writes);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
