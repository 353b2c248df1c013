/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the tests of this directory share. */
#ifndef HPCB_TESTS_SPANK_TESTS_H
#define HPCB_TESTS_SPANK_TESTS_H

#include <check.h>
#include "tests/spank/host.h"

/* A hook may take 100 ms; the rest is for a machine that does other things as well. */
#define TEST_PATIENCE_US 1000000

TCase *options_tests(void);
TCase *prolog_tests(void);
TCase *step_tests(void);
TCase *isolation_tests(void);
TCase *dying_tests(void);
TCase *yield_tests(void);
TCase *usage_tests(void);
TCase *siblings_tests(void);
TCase *stepd_tests(void);
TCase *balance_tests(void);

/* A directory of the test's own (below $TMPDIR or /tmp) with an empty state/, removed
 * by test_teardown. */
void test_setup(void);
void test_teardown(void);
const char *test_dir(void);

/* PRINTF into NAME below test_dir(); parents are made. */
void test_write(const char *name, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* 1 where NAME below test_dir() exists. */
int test_exists(const char *name);

/*
 * Write hpc-balance.conf with StateDir and `more` ("Key=Value\n..."), and the files
 * that hpcb_node_open wants of a node without any cpu cgroup; autogroup says whether
 * the kernel of that node separates sessions.  Then load the plugin for them.
 */
void test_load(const char *more, bool autogroup);

/* StateDir/jobs/<job_id>, as root's prolog leaves it, for test_user() or for uid. */
void test_record(uint32_t job_id, const char *klass, const char *policy, bool yields);
void test_record_of(uid_t uid, uint32_t job_id, const char *klass, const char *policy,
                    bool yields);

/* No SCHED_FIFO any more, as CONFIG_RT_GROUP_SCHED has it, for this process alone. */
void test_give_up_realtime(void);

/* The user of the test's jobs: "nobody" where we are root, else who we are. */
uid_t test_user(void);

#endif
