/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "tests/common/scratch.h"

static int lines;
static hpcb_log_level_t last_level;
static char last_line[4096];

static void keep(hpcb_log_level_t level, const char *line)
{
    lines++;
    last_level = level;
    snprintf(last_line, sizeof(last_line), "%s", line);
    errno = EBADF;
}

START_TEST(the_sink_gets_clean_lines)
{
    hpcb_log_set_sink(keep);
    errno = EXDEV;
    hpcb_log(HPCB_LOG_DEBUG, "job %d: %s", 7, "a\nb");
    ck_assert_int_eq(errno, EXDEV);
    ck_assert_int_eq(lines, 1);
    ck_assert_int_eq(last_level, HPCB_LOG_DEBUG);
    ck_assert_str_eq(last_line, "job 7: a?b");
}
END_TEST

START_TEST(long_lines_are_cut)
{
    char text[5000];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    hpcb_log_set_sink(keep);
    hpcb_log(HPCB_LOG_INFO, "%s", text);
    ck_assert_uint_eq(strlen(last_line), 1023);
}
END_TEST

START_TEST(once_is_once_per_flag)
{
    bool cgroup = false, config = false;

    hpcb_log_set_sink(keep);
    for (int i = 0; i < 3; i++) {
        hpcb_log_once(&cgroup, HPCB_LOG_ERROR, "no cgroup");
        hpcb_log_once(&config, HPCB_LOG_ERROR, "no config");
    }
    ck_assert_int_eq(lines, 2);
    ck_assert(cgroup && config);
}
END_TEST

START_TEST(without_a_sink_stderr_has_it_but_for_debug)
{
    const char *path = scratch("stderr");
    int fd = open(path, O_WRONLY | O_CREAT, 0600);

    ck_assert_int_ge(dup2(fd, STDERR_FILENO), 0);
    hpcb_log_set_sink(keep);
    hpcb_log_set_sink(NULL);
    hpcb_log(HPCB_LOG_ERROR, "an error");
    hpcb_log(HPCB_LOG_DEBUG, "a detail");
    hpcb_log(HPCB_LOG_INFO, "news");
    ck_assert_str_eq(get_file(path), "an error\nnews\n");
    ck_assert_int_eq(lines, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("log");
    TCase *tc = scratch_case("log");

    tcase_add_test(tc, the_sink_gets_clean_lines);
    tcase_add_test(tc, long_lines_are_cut);
    tcase_add_test(tc, once_is_once_per_flag);
    tcase_add_test(tc, without_a_sink_stderr_has_it_but_for_debug);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
