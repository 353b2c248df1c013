/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Unpacks a snapshot of tests/snapshots, whose README.md describes the format.
 */
#ifndef HPCB_TESTS_COMMON_SNAPSHOT_H
#define HPCB_TESTS_COMMON_SNAPSHOT_H

#include "tests/common/tmp.h"

#define TEST_SNAPSHOT_SUFFIX ".snapshot"

/* Write the files of the snapshot in FILE below the directory dir, which exists.
 * Prints one line and aborts if that fails. */
void test_snapshot_unpack(const char *file, const char *dir);

/* Unpack tests/snapshots/NAME.snapshot into a new directory (test_tmp_dir) and write
 * the path of that to dir. */
void test_snapshot_open(const char *name, char dir[TEST_TMP_MAX]);

#endif
