/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <ftw.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "tests/common/tmp.h"
#include "tests/spank/tests.h"

static char dir[TEST_TMP_MAX];

/* What slurmd and slurmctld put there, and a test before this one may have. */
static void clear_environment(void)
{
    unsetenv("SLURM_JOB_PARTITION");
    unsetenv("SPANK_HPCB_CLASS");
    unsetenv("SLURM_SPANK__SLURM_SPANK_OPTION_hpc_balance_guest");
    unsetenv("HPC_BALANCE_CONF");
    unsetenv("SLURM_CONF");
    unsetenv("SPANK__SLURM_SPANK_OPTION_hpc_balance_hpc_balance");
}

void test_setup(void)
{
    clear_environment();
    test_tmp_dir(dir);
    ck_assert_int_eq(chmod(dir, 0755), 0);
    test_write("state/jobs/.keep", "%s", "");
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

void test_teardown(void)
{
    nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

const char *test_dir(void)
{
    return dir;
}

static void make_parents(char *path)
{
    for (char *slash = strchr(path + strlen(dir), '/'); slash;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        mkdir(path, 0755);
        *slash = '/';
    }
}

void test_write(const char *name, const char *format, ...)
{
    char path[2048];
    va_list arguments;
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    make_parents(path);
    file = fopen(path, "we");
    ck_assert_msg(file != NULL, "%s", path);
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fclose(file);
}

int test_exists(const char *name)
{
    char path[2048];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

void test_load(const char *more, bool autogroup)
{
    char conf[1024], root[1024];
    const char *args[] = {conf, root, NULL};

    test_write("hpc-balance.conf", "StateDir=%s/state\n%s", dir, more);
    test_write("proc/self/mountinfo", "22 1 0:20 / /proc rw - proc proc rw\n");
    test_write("proc/self/cgroup", "0::/\n");
    test_write("proc/sys/kernel/sched_autogroup_enabled", "%d\n", autogroup);
    snprintf(conf, sizeof(conf), "conf=%s/hpc-balance.conf", dir);
    snprintf(root, sizeof(root), "root=%s", dir);
    host_load(args);
}

void test_record_of(uid_t uid, uint32_t job_id, const char *klass, const char *policy,
                    bool yields)
{
    char name[64];

    snprintf(name, sizeof(name), "state/jobs/%u", job_id);
    test_write(name,
               "JobId=%u\nUid=%u\nClass=%s\nPolicy=%s\nYieldWaits=%s\n"
               "Partition=p\nBegin=1\n",
               job_id, (unsigned)uid, klass, policy, yields ? "yes" : "no");
}

void test_record(uint32_t job_id, const char *klass, const char *policy, bool yields)
{
    test_record_of(test_user(), job_id, klass, policy, yields);
}

void test_give_up_realtime(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];

    ck_assert_int_eq(syscall(SYS_capget, &header, data), 0);
    data[0].effective &= ~(1u << CAP_SYS_NICE);
    data[0].permitted &= ~(1u << CAP_SYS_NICE);
    ck_assert_int_eq(syscall(SYS_capset, &header, data), 0);
}

uid_t test_user(void)
{
    return getuid() == 0 ? 65534 : getuid();
}

int main(void)
{
    Suite *suite = suite_create("spank");
    SRunner *runner = srunner_create(suite);
    int failed;

    suite_add_tcase(suite, options_tests());
    suite_add_tcase(suite, prolog_tests());
    suite_add_tcase(suite, step_tests());
    suite_add_tcase(suite, isolation_tests());
    suite_add_tcase(suite, dying_tests());
    suite_add_tcase(suite, yield_tests());
    suite_add_tcase(suite, usage_tests());
    suite_add_tcase(suite, siblings_tests());
    suite_add_tcase(suite, stepd_tests());
    suite_add_tcase(suite, balance_tests());
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
