/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What a step leaves for hpcbd, and the pages of its ranks. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include "common/conf.h"
#include "common/ranks.h"
#include "common/tell.h"
#include "tests/spank/tests.h"

#define JOB 9

static hpcb_ranks_t seen;
static int seen_rc;
static struct stat page[2];
static int page_rc[2];
static int hpcbd = -1;

static const char *below(const char *name)
{
    static char path[2][4096];
    static int turn;

    turn ^= 1;
    snprintf(path[turn], sizeof(path[turn]), "%s/%s", test_dir(), name);
    return path[turn];
}

static void load(void)
{
    char conf[8192 + 64];

    test_write("libhpcb_mpi.so", "ELF");
    ck_assert_int_eq(chmod(below("libhpcb_mpi.so"), 0644), 0);
    snprintf(conf, sizeof(conf), "BalancePages=%s\nMpiLibrary=%s\n", below("pages"),
             below("libhpcb_mpi.so"));
    test_load(conf, false);
}

/* Somebody listens where hpcbd would; what it is told waits there. */
static void start_hpcbd(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    ck_assert_int_eq(
        hpcb_tell_path(below("state"), address.sun_path, sizeof(address.sun_path)), 0);
    hpcbd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(hpcbd, (struct sockaddr *)&address, sizeof(address)), 0);
    ck_assert_int_eq(listen(hpcbd, 16), 0);
}

/* In slurmstepd, all tasks wait. */
static void look(void)
{
    char name[256], host[HPCB_NAME_MAX];

    seen_rc = hpcb_ranks_load(below("state"), JOB, "0", &seen, NULL);
    for (int i = 0; i < 2; i++) {
        snprintf(name, sizeof(name), "pages/%s.%d.0.%d",
                 hpcb_node_name(host, sizeof(host)), JOB, i);
        page_rc[i] = lstat(below(name), &page[i]);
    }
}

static void say_page(void)
{
    const char *path = host_getenv("HPCB_PAGE");

    printf("page %s\n", path ? path : "-");
    fflush(stdout);
}

/* What srun or sbatch was called with. */
static const char *const *user_env;

static void run(const char *value, int tasks, host_step_t *step)
{
    const host_option_t options[] = {{"hpc-balance", value}, {NULL, NULL}};

    *step = (host_step_t){.job_id = JOB,
                          .uid = test_user(),
                          .tasks = tasks,
                          .options = value ? options : NULL,
                          .env = user_env,
                          .program = say_page,
                          .running = look};
    host_step(step);
    ck_assert_int_eq(host_failures(), 0);
    ck_assert_int_lt(host_longest_us(), TEST_PATIENCE_US);
}

START_TEST(a_step_says_who_its_ranks_are)
{
    host_step_t step;

    load();
    start_hpcbd();
    test_record(JOB, "primary", "none", false);
    run("dlrb:threshold=10", 2, &step);
    ck_assert_int_eq(seen_rc, 0);
    ck_assert_str_eq(seen.policy, "dlrb:threshold=10");
    ck_assert_uint_eq(seen.cpus, HOST_CPUS);
    ck_assert_uint_eq(seen.n, 2);
    ck_assert_int_gt(seen.task[0].pid, 0);
    ck_assert_int_ne(seen.task[0].pid, seen.task[1].pid);
    ck_assert(seen.task[1].start != 0);
    /* All of it goes with the step. */
    ck_assert(!test_exists("state/jobs/9.0.ranks"));
    look();
    ck_assert_int_eq(page_rc[0], -1);
    ck_assert_int_eq(page_rc[1], -1);
    ck_assert_int_eq(host_log_count("info:") + host_log_count("error:"), 0);
}
END_TEST

START_TEST(each_rank_has_a_page_of_its_user)
{
    host_step_t step;

    if (getuid() != 0)
        return;
    load();
    start_hpcbd();
    test_record(JOB, "primary", "none", false);
    run("auto", 2, &step);
    for (int i = 0; i < 2; i++) {
        ck_assert_int_eq(page_rc[i], 0);
        ck_assert(S_ISREG(page[i].st_mode));
        ck_assert_int_eq(page[i].st_mode & 07777, 0600);
        ck_assert_int_eq(page[i].st_uid, test_user());
        ck_assert_int_eq(page[i].st_size, 256);
    }
    ck_assert_ptr_nonnull(strstr(step.out, ".9.0.0\n"));
    ck_assert_ptr_nonnull(strstr(step.out, ".9.0.1\n"));
}
END_TEST

/* The step's pages would stay until the machine is started again. */
START_TEST(a_launch_that_fails_leaves_no_page)
{
    const host_option_t options[] = {{"hpc-balance", "dlrb"}, {NULL, NULL}};
    host_step_t step = {.job_id = JOB,
                        .uid = test_user(),
                        .tasks = 2,
                        .options = options,
                        .program = say_page,
                        .running = look,
                        .cut = true};

    load();
    start_hpcbd();
    test_record(JOB, "primary", "none", false);
    host_step(&step);
    ck_assert_int_eq(seen_rc, -1);
    ck_assert_int_eq(page_rc[0], 0);
    look();
    ck_assert_int_eq(page_rc[0], -1);
}
END_TEST

static const struct {
    const char *klass, *recorded, *given;
    int tasks;
    const char *policy; /* NULL: nothing is left for hpcbd */
} rows[] = {
    {"primary", "none", NULL, 2, NULL},
    {"primary", "none", "wait", 2, NULL},
    {"primary", "dlrb", NULL, 2, "dlrb"},
    {"primary", "dlrb", "none", 2, NULL},
    {"primary", "static", NULL, 2, NULL},
    {"primary", "none", "", 2, "auto"},
    {"primary", "auto", "uniform", 2, "uniform"},
    {"primary", "none", "dlrb", 1, "dlrb"},
    {"primary", "none", "dlrb:nonsense=1", 2, NULL},
    {"guest", "none", "dlrb", 2, NULL},
};

START_TEST(who_is_balanced)
{
    host_step_t step;

    load();
    start_hpcbd();
    test_record(JOB, rows[_i].klass, rows[_i].recorded, false);
    run(rows[_i].given, rows[_i].tasks, &step);
    ck_assert_int_eq(seen_rc, rows[_i].policy ? 0 : -1);
    if (rows[_i].policy)
        ck_assert_str_eq(seen.policy, rows[_i].policy);
    ck_assert_int_eq(step.status[0], 0);
}
END_TEST

START_TEST(without_hpcbd_one_line_and_no_more)
{
    host_step_t step;

    load();
    test_record(JOB, "primary", "none", false);
    run(_i ? "dlrb" : "auto", 2, &step);
    ck_assert_int_eq(seen_rc, -1);
    ck_assert_int_eq(page_rc[0], -1);
    ck_assert_int_eq(host_log_count("info: hpc_balance: job 9: its ranks are not "
                                    "balanced, only their waits are turned: hpcbd does "
                                    "not run"),
                     1);
    ck_assert_int_eq(host_log_count("user: hpc_balance: --hpc-balance=dlrb has no "
                                    "effect on this node but on waits"),
                     _i);
    ck_assert_int_eq(step.status[0], 0);
}
END_TEST

/* Submitted from a rank of another job, or by a user who makes it up. */
START_TEST(no_page_but_the_steps_own)
{
    static const char *const env[] = {"HPCB_PAGE=/home/user/file", NULL};
    host_step_t step;

    load();
    if (_i)
        start_hpcbd();
    test_record(JOB, _i == 1 ? "guest" : "primary", "none", false);
    user_env = env;
    run("dlrb", 1, &step);
    user_env = NULL;
    ck_assert_ptr_null(strstr(step.out, "/home/user/file"));
    if (_i < 2)
        ck_assert_str_eq(step.out, "page -\n");
}
END_TEST

/* Then ranks are compared by what the kernel knows. */
START_TEST(pages_in_a_place_that_is_not_roots)
{
    host_step_t step;

    load();
    start_hpcbd();
    test_record(JOB, "primary", "none", false);
    if (_i == 0)
        ck_assert_int_eq(symlink("/tmp", below("pages")), 0);
    else
        test_write("pages", "a file");
    run("dlrb", 2, &step);
    ck_assert_int_eq(seen_rc, 0);
    ck_assert_str_eq(seen.page, "");
    ck_assert_int_eq(host_log_count("its ranks cannot say how they fare"), 1);
}
END_TEST

START_TEST(parameters_are_refused_before_anything_is_submitted)
{
    static const char *const bad[] = {
        "dlrb:nonsense=1",      "static:7", "static:4,", "adaptive:global=101",
        "uniform:high=1,low=2", "dlrb:4"};
    static const char *const good[] = {"dlrb:threshold=10", "static:4,6", "none",
                                       "wait", "adaptive:global=20"};
    host_option_t options[] = {{"hpc-balance", NULL}, {NULL, NULL}};

    load();
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        options[0].value = bad[i];
        ck_assert_int_eq(host_command(S_CTX_ALLOCATOR, options), 1);
    }
    ck_assert_int_eq(host_log_count("error: hpc_balance: --hpc-balance="),
                     (int)(sizeof(bad) / sizeof(bad[0])));
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        options[0].value = good[i];
        ck_assert_int_eq(host_command(S_CTX_LOCAL, options), 0);
    }
}
END_TEST

TCase *balance_tests(void)
{
    TCase *tc = tcase_create("balance");

    tcase_add_checked_fixture(tc, test_setup, test_teardown);
    tcase_add_test(tc, a_step_says_who_its_ranks_are);
    tcase_add_test(tc, each_rank_has_a_page_of_its_user);
    tcase_add_test(tc, a_launch_that_fails_leaves_no_page);
    tcase_add_loop_test(tc, who_is_balanced, 0, sizeof(rows) / sizeof(rows[0]));
    tcase_add_loop_test(tc, without_hpcbd_one_line_and_no_more, 0, 2);
    tcase_add_loop_test(tc, no_page_but_the_steps_own, 0, 3);
    tcase_add_loop_test(tc, pages_in_a_place_that_is_not_roots, 0, 2);
    tcase_add_test(tc, parameters_are_refused_before_anything_is_submitted);
    return tc;
}
