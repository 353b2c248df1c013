/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A directory for all that a test program writes, below $TMPDIR or /tmp, made before
 * main and removed when the program ends: also after tests that failed, whose own
 * clean-up Check does not run (it forks a process for each test and lets that go).
 */
#ifndef HPCB_TESTS_COMMON_TMP_H
#define HPCB_TESTS_COMMON_TMP_H

#include <stddef.h>

/* Enough for what test_tmp_dir and test_tmp_file say. */
#define TEST_TMP_MAX 128

/* Make a new empty directory / file (0700, 0600) in it and write its path to path.
 * Aborts where that fails. */
void test_tmp_dir(char path[TEST_TMP_MAX]);
void test_tmp_file(char path[TEST_TMP_MAX]);

#endif
