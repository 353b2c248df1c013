/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "tests/common/tmp.h"

#define OPEN_MAX_DIRS 16
/* Tests write paths below this one into buffers of their own. */
#define LONGEST_BASE 64

static char base[TEST_TMP_MAX];
static pid_t owner;

static int remove_one(const char *path, const struct stat *status, int type,
                      struct FTW *at)
{
    (void)status;
    (void)at;
    /* A test may have taken away its own right to look into it. */
    if (type == FTW_DNR)
        chmod(path, 0700);
    (void)!remove(path);
    return 0;
}

/* Also called where a forked child ends by exit(). */
static void remove_base(void)
{
    if (getpid() == owner)
        nftw(base, remove_one, OPEN_MAX_DIRS, FTW_DEPTH | FTW_PHYS);
}

static void __attribute__((constructor)) make_base(void)
{
    const char *tmp = getenv("TMPDIR");

    if (!tmp || tmp[0] != '/' || strlen(tmp) > LONGEST_BASE)
        tmp = "/tmp";
    snprintf(base, sizeof(base), "%s/hpcb-test-XXXXXX", tmp);
    if (!mkdtemp(base))
        abort();
    /* Files of tests that run as another user are in it. */
    chmod(base, 0711);
    owner = getpid();
    atexit(remove_base);
}

void test_tmp_dir(char path[TEST_TMP_MAX])
{
    snprintf(path, TEST_TMP_MAX, "%.100s/XXXXXX", base);
    if (!mkdtemp(path))
        abort();
}

void test_tmp_file(char path[TEST_TMP_MAX])
{
    int fd;

    snprintf(path, TEST_TMP_MAX, "%.100s/XXXXXX", base);
    fd = mkstemp(path);
    if (fd < 0)
        abort();
    close(fd);
}
