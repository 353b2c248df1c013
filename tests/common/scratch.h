/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What the tests of common/ share: a scratch directory of its own for each test (all of
 * them gone at the end, also after failures) and small helpers around files.
 */
#ifndef HPCB_TESTS_COMMON_SCRATCH_H
#define HPCB_TESTS_COMMON_SCRATCH_H

#include <check.h>
#include <stdbool.h>
#include <sys/types.h>

/* Fixtures: scratch_open/close unchecked, scratch_enter checked. */
void scratch_open(void);
void scratch_close(void);
void scratch_enter(void);

/* The path of name in this test's directory; valid until the test ends. */
const char *scratch(const char *name);

/* The test's directory. */
const char *scratch_dir(void);

void put_file(const char *path, const char *text);

/* The content of path, NUL-terminated, in a static buffer of 1 MiB. */
const char *get_file(const char *path);

/* Number of entries of a directory other than . and .. */
int count_entries(const char *dir);

mode_t mode_of(const char *path);

/* A test case with those fixtures and a limit that a loaded machine keeps. */
TCase *scratch_case(const char *name);

/* Run the suite; the program's exit status. */
int run_suite(Suite *suite);

#endif
