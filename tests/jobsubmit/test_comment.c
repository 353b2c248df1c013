/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The tag goes into AdminComment beside what is there already. */
#include "config.h"

#include <check.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "jobsubmit/comment.h"

#define TAG      "{\"hpcb\":{\"class\":\"guest\"}}"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The member key of the merged comment as text; the caller frees it. */
static char *member(const char *before, const char *key)
{
    hpcb_error_t err;
    char *merged = hpcb_comment_merge(before, TAG, &err);
    json_object *object, *value;
    char *copy = NULL;

    ck_assert_ptr_nonnull(merged);
    object = json_tokener_parse(merged);
    ck_assert(json_object_is_type(object, json_type_object));
    if (json_object_object_get_ex(object, key, &value))
        copy = strdup(json_object_is_type(value, json_type_string)
                          ? json_object_get_string(value)
                          : json_object_to_json_string_ext(value, 0));
    json_object_put(object);
    free(merged);
    return copy;
}

static void check_member(const char *before, const char *key, const char *expected)
{
    char *value = member(before, key);

    ck_assert_pstr_eq(value, expected);
    free(value);
}

START_TEST(alone_the_tag_is_the_comment)
{
    hpcb_error_t err;
    char *none = hpcb_comment_merge(NULL, TAG, &err);
    char *empty = hpcb_comment_merge("", TAG, &err);

    ck_assert_pstr_eq(none, TAG);
    ck_assert_pstr_eq(empty, TAG);
    free(none);
    free(empty);
}
END_TEST

START_TEST(keys_of_others_stay)
{
    const char *before = "{\"a\":{\"b\":[1,2.50]},\"hpcb\":\"forged\"}";

    check_member(before, "a", "{\"b\":[1,2.50]}");
    check_member(before, "hpcb", "{\"class\":\"guest\"}");
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
    check_member(texts[_i], "hpcb", "{\"class\":\"guest\"}");
}
END_TEST

START_TEST(a_tag_that_is_no_object_is_an_error)
{
    hpcb_error_t err;

    ck_assert_ptr_null(hpcb_comment_merge("x", "guest", &err));
    ck_assert_ptr_nonnull(strstr(err.text, "guest"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("comment");
    TCase *tcase = tcase_create("comment");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_test(tcase, alone_the_tag_is_the_comment);
    tcase_add_test(tcase, keys_of_others_stay);
    tcase_add_loop_test(tcase, any_other_text_is_kept_whole, 0, COUNT(texts));
    tcase_add_test(tcase, a_tag_that_is_no_object_is_an_error);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
