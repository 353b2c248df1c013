/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/common/scratch.h"
#include "tests/common/tmp.h"

#define TIMEOUT_SECONDS 60
#define PATHS           64

static char base[TEST_TMP_MAX];
static char here[PATH_MAX / 2];

void scratch_open(void)
{
    test_tmp_dir(base);
}

static int remove_one(const char *path, const struct stat *st, int flag,
                      struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    return remove(path);
}

void scratch_close(void)
{
    nftw(base, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void scratch_enter(void)
{
    snprintf(here, sizeof(here), "%s/XXXXXX", base);
    ck_assert_ptr_nonnull(mkdtemp(here));
}

const char *scratch_dir(void)
{
    return here;
}

const char *scratch(const char *name)
{
    static char paths[PATHS][PATH_MAX];
    static unsigned next;
    char *path = paths[next++ % PATHS];

    snprintf(path, PATH_MAX, "%s/%s", here, name);
    return path;
}

void put_file(const char *path, const char *text)
{
    FILE *stream = fopen(path, "w");

    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(text, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
}

const char *get_file(const char *path)
{
    static char text[1 << 20];
    FILE *stream = fopen(path, "r");
    size_t length;

    ck_assert_msg(stream != NULL, "cannot open %s", path);
    length = fread(text, 1, sizeof(text) - 1, stream);
    text[length] = '\0';
    fclose(stream);
    return text;
}

int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    ck_assert_ptr_nonnull(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

mode_t mode_of(const char *path)
{
    struct stat st;

    ck_assert_int_eq(lstat(path, &st), 0);
    return st.st_mode & 07777;
}

TCase *scratch_case(const char *name)
{
    TCase *tc = tcase_create(name);

    tcase_set_timeout(tc, TIMEOUT_SECONDS);
    tcase_add_unchecked_fixture(tc, scratch_open, scratch_close);
    tcase_add_checked_fixture(tc, scratch_enter, NULL);
    return tc;
}

int run_suite(Suite *suite)
{
    SRunner *runner = srunner_create(suite);
    int failed;

    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
