/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * job begin and job end with an environment like slurmd's.  The job ids are far above
 * any real one: nothing of theirs is in the running kernel's groups.
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/record.h"
#include "hpcbctl/verbs.h"
#include "tests/common/crash.h"
#include "tests/common/scratch.h"

#define JOB    "4000000007"
#define JOB_ID 4000000007u
#define OWNER  1000

static hpcb_ctl_t ctl;
static char conf_path[PATH_MAX];

static void put_conf(void)
{
    char text[8192];

    snprintf(text, sizeof(text),
             "GuestPartition=guest\nGuestCgroup=hpcb_test_none\nStateDir=%s/state\n"
             "SpoolDir=%s/spool\n",
             scratch_dir(), scratch_dir());
    put_file(scratch("hpc-balance.conf"), text);
}

static void enter_job(void)
{
    scratch_enter();
    put_conf();
    snprintf(conf_path, sizeof(conf_path), "%s", scratch("hpc-balance.conf"));
    ctl = (hpcb_ctl_t){.conf_path = conf_path};
    setenv("SLURM_JOB_ID", JOB, 1);
    setenv("SLURM_JOB_UID", "1000", 1);
    setenv("SLURM_JOB_PARTITION", "guest", 1);
    setenv("SLURM_CLUSTER_NAME", "test", 1);
    setenv("SLURMD_NODENAME", "n2", 1);
    setenv("SLURM_NODELIST", "n[1-3]", 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", "2,4,1", 1);
    unsetenv("SLURM_JOB_SLUID");
    unsetenv("SPANK_HPCB_CLASS");
    unsetenv("HPC_BALANCE_CONF");
}

/* Of the last run that there is.  restart: "", or "+" and a count. */
static const char *spool_path(const char *place, const char *restart)
{
    static char path[PATH_MAX];
    hpcb_record_t asked = {.job = {.job_id = JOB_ID}};

    if (*restart)
        asked.about.restart = (uint32_t)strtoul(restart + 1, NULL, 10);
    hpcb_node_name(asked.node, sizeof(asked.node));
    ck_assert_int_eq(hpcb_record_path(scratch("spool"), place, &asked, path, NULL), 0);
    return path;
}

static const char *record_path(void)
{
    return spool_path("records", "");
}

static hpcb_record_t record(void)
{
    hpcb_record_t read;
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_record_parse(get_file(record_path()), &read, &err) == 0, "%s",
                  err.text);
    return read;
}

static hpcb_job_state_t state(void)
{
    hpcb_job_state_t read;
    hpcb_error_t err = {""};

    ck_assert_msg(hpcb_state_load(scratch("state"), JOB_ID, &read, &err) == 0, "%s",
                  err.text);
    return read;
}

static void use(uint64_t cpu_us, uint64_t peak)
{
    hpcb_usage_t usage = {.cpu_us = cpu_us, .run_delay_us = 5, .memory_peak = peak};

    ck_assert_int_eq(
        hpcb_state_add_usage(scratch("state"), JOB_ID, HPCB_USAGE_STEP, &usage, NULL),
        0);
}

START_TEST(a_job_is_recorded_and_leaves_its_record)
{
    hpcb_record_t done;

    ck_assert_int_eq(hpcb_job_begin(&ctl), 0);
    ck_assert_int_eq(state().klass, HPCB_CLASS_GUEST);
    use(3000000, 4096);
    use(1000000, 8192);
    ck_assert_int_eq(hpcb_job_end(&ctl), 0);
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
    done = record();
    ck_assert_uint_eq(done.job.job_id, JOB_ID);
    ck_assert_uint_eq(done.job.uid, OWNER);
    ck_assert_int_eq(done.job.klass, HPCB_CLASS_GUEST);
    ck_assert_str_eq(done.job.partition, "guest");
    ck_assert_str_eq(done.cluster, "test");
    ck_assert_uint_eq(done.usage.cpu_us, 4000000);
    ck_assert_uint_eq(done.usage.run_delay_us, 10);
    ck_assert_uint_eq(done.usage.memory_peak, 8192);
    ck_assert_uint_gt(done.end_us, done.job.begin_us);
}
END_TEST

START_TEST(class_follows_the_partition_not_the_label)
{
    setenv("SPANK_HPCB_CLASS", "primary", 1);
    hpcb_job_begin(&ctl);
    ck_assert_int_eq(state().klass, HPCB_CLASS_GUEST);
    setenv("SLURM_JOB_PARTITION", "day", 1);
    setenv("SPANK_HPCB_CLASS", "guest", 1);
    hpcb_job_begin(&ctl);
    ck_assert_int_eq(state().klass, HPCB_CLASS_PRIMARY);
}
END_TEST

START_TEST(an_earlier_run_in_another_partition_does_not_count)
{
    setenv("SLURM_JOB_PARTITION", "day", 1);
    hpcb_job_begin(&ctl);
    use(7000000, 4096);
    ck_assert_int_eq(state().klass, HPCB_CLASS_PRIMARY);
    setenv("SLURM_JOB_PARTITION", "guest", 1);
    hpcb_job_begin(&ctl);
    ck_assert_int_eq(state().klass, HPCB_CLASS_GUEST);
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().usage.cpu_us, 0);
}
END_TEST

/* From Slurm 26.05 on. */
START_TEST(a_run_is_known_by_its_sluid)
{
    uint64_t begin;

    setenv("SLURM_JOB_SLUID", "s8B9M7Y1A9MR00", 1);
    hpcb_job_begin(&ctl);
    ck_assert_str_eq(state().sluid, "s8B9M7Y1A9MR00");
    begin = state().begin_us;
    hpcb_job_begin(&ctl);
    ck_assert_uint_eq(state().begin_us, begin);
    setenv("SLURM_JOB_SLUID", "s8B9M7Y1A9MR01", 1);
    hpcb_job_begin(&ctl);
    ck_assert_str_eq(state().sluid, "s8B9M7Y1A9MR01");
}
END_TEST

/* SPANK's job prolog comes first, and knows the options. */
START_TEST(the_first_record_of_a_run_wins)
{
    const hpcb_job_state_t first = {
        .job_id = JOB_ID,
        .uid = OWNER,
        .klass = HPCB_CLASS_PRIMARY,
        .policy = HPCB_POLICY_AUTO,
        .yield_waits = true,
        .partition = "day",
        .begin_us = 17,
    };

    setenv("SLURM_JOB_PARTITION", "day", 1);
    ck_assert_int_eq(hpcb_state_save(scratch("state"), &first, NULL), 0);
    hpcb_job_begin(&ctl);
    ck_assert_uint_eq(state().begin_us, 17);
    ck_assert_int_eq(state().policy, HPCB_POLICY_AUTO);
    ck_assert(state().yield_waits);
}
END_TEST

START_TEST(a_second_epilog_does_not_make_the_record_worse)
{
    char first[4096];

    hpcb_job_begin(&ctl);
    use(3000000, 4096);
    hpcb_job_end(&ctl);
    snprintf(first, sizeof(first), "%s", get_file(record_path()));
    ck_assert_int_eq(hpcb_job_end(&ctl), 0);
    ck_assert_str_eq(get_file(record_path()), first);
    /* What a kill in the middle of the removal may leave. */
    use(1, 1);
    hpcb_job_end(&ctl);
    ck_assert_str_eq(get_file(record_path()), first);
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
    ck_assert_int_eq(
        strncmp(strstr(get_file(scratch("spool/totals")), "guest "), "guest 1 ", 8), 0);
}
END_TEST

/* Job ids start again when slurmctld has lost its state. */
START_TEST(another_users_old_record_is_replaced)
{
    hpcb_job_begin(&ctl);
    hpcb_job_end(&ctl);
    setenv("SLURM_JOB_UID", "2000", 1);
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().job.uid, 2000);
}
END_TEST

START_TEST(a_new_run_replaces_the_record)
{
    hpcb_job_begin(&ctl);
    hpcb_job_end(&ctl);
    hpcb_job_begin(&ctl);
    use(9000000, 4096);
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().usage.cpu_us, 9000000);
}
END_TEST

/* slurmctld has counted a requeue already when the epilog of the run before it comes.
 */
START_TEST(a_run_keeps_the_count_that_it_began_with)
{
    setenv("SLURM_JOB_RESTART_COUNT", "0", 1);
    hpcb_job_begin(&ctl);
    setenv("SLURM_JOB_RESTART_COUNT", "1", 1);
    hpcb_job_end(&ctl);
    unsetenv("SLURM_JOB_RESTART_COUNT");
    ck_assert_uint_eq(record().about.restart, 0);
}
END_TEST

/* The other job on the node: its id, class and the CPU time that it has used. */
static void begin_other(uint32_t job_id, const char *partition, uint64_t cpu_us)
{
    const hpcb_usage_t usage = {.cpu_us = cpu_us};
    char id[16];

    snprintf(id, sizeof(id), "%u", job_id);
    setenv("SLURM_JOB_ID", id, 1);
    setenv("SLURM_JOB_PARTITION", partition, 1);
    hpcb_job_begin(&ctl);
    ck_assert_int_eq(
        hpcb_state_add_usage(scratch("state"), job_id, HPCB_USAGE_STEP, &usage, NULL),
        0);
    setenv("SLURM_JOB_ID", JOB, 1);
}

static void end_other(uint32_t job_id)
{
    char id[16];

    snprintf(id, sizeof(id), "%u", job_id);
    setenv("SLURM_JOB_ID", id, 1);
    hpcb_job_end(&ctl);
    setenv("SLURM_JOB_ID", JOB, 1);
}

static void expect_member(const char *member)
{
    const char *text = get_file(record_path());

    ck_assert_msg(strstr(text, member) != NULL, "%s is not in %s", member, text);
}

/* Of the run before this one, which no prolog here has begun. */
START_TEST(an_epilog_that_knows_nothing_makes_no_run_of_the_next_count)
{
    setenv("SLURM_JOB_RESTART_COUNT", "1", 1);
    hpcb_job_end(&ctl);
    ck_assert_int_eq(access(scratch("spool/records"), F_OK), -1);
    begin_other(4000000009u, "day", 0);
    use(3000000, 4096);
    hpcb_job_end(&ctl);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 1);
    unsetenv("SLURM_JOB_RESTART_COUNT");
}
END_TEST

/* slurmd has left out its prolog. */
START_TEST(a_run_without_a_prolog_follows_on_one_that_was_here)
{
    hpcb_job_begin(&ctl);
    hpcb_job_end(&ctl);
    setenv("SLURM_JOB_RESTART_COUNT", "1", 1);
    hpcb_job_end(&ctl);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 2);
    hpcb_job_end(&ctl);
    setenv("SLURM_JOB_RESTART_COUNT", "3", 1);
    hpcb_job_end(&ctl);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 2);
    unsetenv("SLURM_JOB_RESTART_COUNT");
}
END_TEST

START_TEST(a_primary_knows_the_guests_beside_it)
{
    begin_other(4000000001u, "guest", 5000000);
    begin_other(4000000002u, "guest", 7000000);
    begin_other(4000000009u, "day", 9000000);
    setenv("SLURM_JOB_PARTITION", "day", 1);
    hpcb_job_begin(&ctl);
    begin_other(4000000003u, "guest", 2000000);
    end_other(4000000003u);
    begin_other(4000000001u, "guest", 1000000);
    end_other(4000000001u);
    setenv("SLURM_JOB_PARTITION", "day", 1);
    hpcb_job_end(&ctl);
    expect_member("\"guests_beside\":[4000000001,4000000002,4000000003],"
                  "\"guest_cpu_seconds\":3.000000,");
}
END_TEST

START_TEST(a_guest_knows_of_none_beside_it)
{
    begin_other(4000000001u, "guest", 5000000);
    begin_other(4000000009u, "day", 9000000);
    setenv("SLURM_JOB_PARTITION", "guest", 1);
    hpcb_job_begin(&ctl);
    hpcb_job_end(&ctl);
    expect_member("\"guests_beside\":null,\"guest_cpu_seconds\":null,");
}
END_TEST

START_TEST(damaged_and_foreign_files_are_no_records)
{
    ck_assert_int_eq(mkdir(scratch("spool"), 0755), 0);
    ck_assert_int_eq(mkdir(scratch("spool/records"), 0755), 0);
    put_file(record_path(), "{\"version\":1,");
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().job.uid, OWNER);
    ck_assert_int_eq(unlink(record_path()), 0);
    ck_assert_int_eq(unlink(record_path()), 0);
    ck_assert_int_eq(symlink("/etc/passwd", record_path()), 0);
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().job.uid, OWNER);
}
END_TEST

START_TEST(an_end_without_a_beginning_says_what_the_environment_says)
{
    hpcb_job_end(&ctl);
    ck_assert_int_eq(record().job.klass, HPCB_CLASS_GUEST);
    ck_assert_str_eq(record().job.partition, "guest");
    ck_assert_uint_eq(record().job.begin_us, record().end_us);
    unlink(record_path());
    unsetenv("SLURM_JOB_PARTITION");
    hpcb_job_end(&ctl);
    ck_assert_int_eq(record().job.klass, HPCB_CLASS_UNKNOWN);
    unlink(record_path());
    setenv("SPANK_HPCB_CLASS", "primary", 1);
    hpcb_job_end(&ctl);
    ck_assert_int_eq(record().job.klass, HPCB_CLASS_PRIMARY);
}
END_TEST

static unsigned cpus_for(const char *list, const char *counts)
{
    setenv("SLURM_NODELIST", list, 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", counts, 1);
    unlink(record_path());
    hpcb_job_end(&ctl);
    return record().cpus;
}

START_TEST(cpus_are_this_nodes_or_unknown)
{
    char node[HPCB_NAME_MAX], list[256];

    hpcb_node_name(node, sizeof(node));
    snprintf(list, sizeof(list), "aa,%s,zz", node);
    ck_assert_uint_eq(cpus_for(list, "2,4,1"), 4);
    ck_assert_uint_eq(cpus_for(list, "2(x3)"), 2);
    ck_assert_uint_eq(cpus_for("aa,zz", "2(x2)"), 2);
    ck_assert_uint_eq(cpus_for("aa,zz", "2,4"), 0);
    ck_assert_uint_eq(cpus_for("aa[", "2,4"), 0);
    ck_assert_uint_eq(cpus_for(list, ""), 0);
    ck_assert_uint_eq(cpus_for(list, "-1,4(x99999999999)"), 0);
}
END_TEST

START_TEST(an_epilog_without_credential_has_the_prologs_cpus)
{
    char node[HPCB_NAME_MAX];

    setenv("SLURM_NODELIST", hpcb_node_name(node, sizeof(node)), 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", "4", 1);
    hpcb_job_begin(&ctl);
    unsetenv("SLURM_NODELIST");
    unsetenv("SLURM_JOB_CPUS_PER_NODE");
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().cpus, 4);
}
END_TEST

START_TEST(hostile_environments_end_in_exit_code_0)
{
    static const char *const ids[] = {"", "0", "-1", "4294967296", "7x", "../7", " 7"};
    static const char *const names[] = {"../../etc", "a b", "guest\nClass=primary",
                                        "\377\376", ""};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        setenv("SLURM_JOB_ID", ids[i], 1);
        ck_assert_int_eq(hpcb_job_begin(&ctl), 0);
        ck_assert_int_eq(hpcb_job_end(&ctl), 0);
    }
    setenv("SLURM_JOB_ID", JOB, 1);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        setenv("SLURM_JOB_PARTITION", names[i], 1);
        setenv("SLURM_CLUSTER_NAME", names[i], 1);
        setenv("SLURMD_NODENAME", names[i], 1);
        ck_assert_int_eq(hpcb_job_begin(&ctl), 0);
        ck_assert_int_eq(hpcb_job_end(&ctl), 0);
    }
    ck_assert_int_le(count_entries(scratch_dir()), 3);
}
END_TEST

/* hpcbd has sent the record, and given its content up because the spool was full. */
START_TEST(a_name_among_what_was_sent_is_a_record)
{
    hpcb_job_end(&ctl);
    ck_assert_int_eq(mkdir(scratch("spool/sent"), 0750), 0);
    put_file(spool_path("sent", ""), "");
    ck_assert_int_eq(unlink(record_path()), 0);
    hpcb_job_end(&ctl);
    ck_assert_int_eq(access(record_path(), F_OK), -1);
}
END_TEST

/* The spool took none the first time. */
START_TEST(a_record_in_memory_is_a_record)
{
    hpcb_job_begin(&ctl);
    use(3000000, 4096);
    put_file(scratch("spool"), "");
    hpcb_job_end(&ctl);
    ck_assert_int_eq(count_entries(scratch("state/records")), 1);
    ck_assert_int_eq(unlink(scratch("spool")), 0);
    hpcb_job_end(&ctl);
    ck_assert_int_eq(count_entries(scratch("state/records")), 0);
    ck_assert_uint_eq(record().usage.cpu_us, 3000000);
}
END_TEST

START_TEST(a_record_that_memory_does_not_take_is_in_the_spool)
{
    hpcb_job_begin(&ctl);
    use(3000000, 4096);
    put_file(scratch("state/records"), "");
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().usage.cpu_us, 3000000);
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
}
END_TEST

/* Nothing is to be moved, and nothing written once more by every epilog. */
START_TEST(one_directory_for_state_and_spool_keeps_the_record)
{
    struct stat before, after;

    hpcb_job_begin(&ctl);
    use(3000000, 4096);
    ck_assert_int_eq(symlink("state", scratch("spool")), 0);
    hpcb_job_end(&ctl);
    ck_assert_uint_eq(record().usage.cpu_us, 3000000);
    ck_assert_int_eq(stat(record_path(), &before), 0);
    begin_other(4000000009u, "day", 0);
    end_other(4000000009u);
    ck_assert_int_eq(stat(record_path(), &after), 0);
    ck_assert_uint_eq(after.st_ino, before.st_ino);
}
END_TEST

START_TEST(a_full_spool_keeps_nothing_of_the_job)
{
    hpcb_job_begin(&ctl);
    put_file(scratch("spool"), "");
    ck_assert_int_eq(hpcb_job_end(&ctl), 0);
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
}
END_TEST

static void prepare(void)
{
    unlink(record_path());
    hpcb_job_begin(&ctl);
    use(3000000, 4096);
}

static void end_job(void)
{
    hpcb_job_end(&ctl);
}

/* After the kill the epilog is run once more. */
static void expect_whole_record(void)
{
    hpcb_record_t done;

    end_job();
    done = record();
    ck_assert_int_eq(done.job.klass, HPCB_CLASS_GUEST);
    ck_assert_uint_eq(done.usage.cpu_us, 3000000);
    ck_assert_uint_gt(done.end_us, done.job.begin_us);
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
    prepare();
}

START_TEST(killed_anywhere_another_epilog_finishes)
{
    prepare();
    ck_assert_int_ge(crash_everywhere(end_job, expect_whole_record), 5);
}
END_TEST

/* slurmctld has counted a requeue meanwhile.  Where nothing is left of the run, the
 * second epilog could be that of another one without a prolog. */
static void expect_no_second_record(void)
{
    bool is_left = count_entries(scratch("state/jobs")) > 0;

    setenv("SLURM_JOB_RESTART_COUNT", "1", 1);
    end_job();
    unsetenv("SLURM_JOB_RESTART_COUNT");
    ck_assert(!is_left || access(spool_path("records", "+1"), F_OK) != 0);
    ck_assert_uint_eq(record().usage.cpu_us, 3000000);
    prepare();
}

START_TEST(killed_anywhere_a_requeue_makes_no_second_record)
{
    prepare();
    ck_assert_int_ge(crash_everywhere(end_job, expect_no_second_record), 5);
}
END_TEST

/* After the kill there is no other epilog, but another run.  Where the first one has
 * its record still, they are one. */
static void expect_new_run(void)
{
    bool is_over = access(scratch("state/jobs/" JOB), F_OK) != 0;

    hpcb_job_begin(&ctl);
    end_job();
    ck_assert_uint_eq(record().usage.cpu_us, is_over ? 0 : 3000000);
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
    prepare();
}

START_TEST(killed_anywhere_the_next_run_is_whole)
{
    prepare();
    ck_assert_int_ge(crash_everywhere(end_job, expect_new_run), 5);
}
END_TEST

/* Ends the job in a process that is killed when the spool's disk is slow. */
static void end_with_a_slow_spool(void)
{
    pid_t pid = fork();
    int status;

    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        crash_in_fsync(scratch("spool"));
        end_job();
        _exit(EXIT_SUCCESS);
    }
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) != EXIT_SUCCESS);
}

START_TEST(killed_with_a_slow_spool_nothing_stays_and_no_record_is_lost)
{
    prepare();
    end_with_a_slow_spool();
    ck_assert_int_eq(count_entries(scratch("state/jobs")), 0);
    ck_assert_int_eq(count_entries(scratch("state/records")), 1);
    ck_assert_int_eq(access(record_path(), F_OK), -1);
    end_job();
    ck_assert_uint_eq(record().usage.cpu_us, 3000000);
    ck_assert_int_eq(count_entries(scratch("state/records")), 0);
}
END_TEST

START_TEST(an_epilog_spools_the_record_of_one_that_was_killed)
{
    prepare();
    end_with_a_slow_spool();
    begin_other(4000000009u, "day", 0);
    end_other(4000000009u);
    ck_assert_uint_eq(record().usage.cpu_us, 3000000);
    ck_assert_int_eq(count_entries(scratch("spool/records")), 3); /* and a torn one */
    ck_assert_int_eq(count_entries(scratch("state/records")), 0);
}
END_TEST

/* No other epilog of the job comes: what another job's epilog finds must do, unless the
 * job's state tells that its epilog did not finish. */
static void expect_record_or_state(void)
{
    bool is_left = access(scratch("state/jobs/" JOB), F_OK) == 0;

    if (is_left)
        end_job();
    begin_other(4000000009u, "day", 0);
    end_other(4000000009u);
    ck_assert_uint_eq(record().usage.cpu_us, 3000000);
    ck_assert_int_eq(access(scratch("state/jobs/" JOB), F_OK), -1);
    setenv("SLURM_JOB_PARTITION", "guest", 1);
    prepare();
}

START_TEST(killed_anywhere_another_jobs_epilog_has_the_record)
{
    prepare();
    ck_assert_int_ge(crash_everywhere(end_job, expect_record_or_state), 5);
}
END_TEST

/* What hpcb_leftovers_remove finds when it is called. */
static bool left_after_state, left_before_spool;

void __real_hpcb_leftovers_remove(const char *state_dir, const hpcb_job_state_t *guest,
                                  const char *dir);
void __wrap_hpcb_leftovers_remove(const char *state_dir, const hpcb_job_state_t *guest,
                                  const char *dir);

void __wrap_hpcb_leftovers_remove(const char *state_dir, const hpcb_job_state_t *guest,
                                  const char *dir)
{
    left_after_state = access(scratch("state/jobs/" JOB), F_OK) != 0;
    left_before_spool = access(record_path(), F_OK) != 0;
    __real_hpcb_leftovers_remove(state_dir, guest, dir);
}

START_TEST(what_the_guest_left_in_memory_does_not_wait_for_the_spool)
{
    prepare();
    end_job();
    ck_assert(left_after_state);
    ck_assert(left_before_spool);
}
END_TEST

static void prepare_primary(void)
{
    unlink(record_path());
    setenv("SLURM_JOB_PARTITION", "day", 1);
    hpcb_job_begin(&ctl);
    use(3000000, 4096);
}

static void expect_guest_beside(void)
{
    end_job();
    expect_member("\"cpu_seconds\":3.000000,");
    expect_member("\"guests_beside\":[4000000001],\"guest_cpu_seconds\":0.000000,");
    prepare_primary();
}

START_TEST(killed_anywhere_the_guests_beside_are_known)
{
    begin_other(4000000001u, "guest", 5000000);
    prepare_primary();
    ck_assert_int_ge(crash_everywhere(end_job, expect_guest_beside), 5);
}
END_TEST

static Suite *suite(void)
{
    Suite *s = suite_create("job");
    TCase *tc = tcase_create("job");

    tcase_add_unchecked_fixture(tc, scratch_open, scratch_close);
    tcase_add_checked_fixture(tc, enter_job, NULL);
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, a_job_is_recorded_and_leaves_its_record);
    tcase_add_test(tc, class_follows_the_partition_not_the_label);
    tcase_add_test(tc, an_earlier_run_in_another_partition_does_not_count);
    tcase_add_test(tc, a_run_is_known_by_its_sluid);
    tcase_add_test(tc, the_first_record_of_a_run_wins);
    tcase_add_test(tc, a_second_epilog_does_not_make_the_record_worse);
    tcase_add_test(tc, another_users_old_record_is_replaced);
    tcase_add_test(tc, a_new_run_replaces_the_record);
    tcase_add_test(tc, a_run_keeps_the_count_that_it_began_with);
    tcase_add_test(tc, an_epilog_that_knows_nothing_makes_no_run_of_the_next_count);
    tcase_add_test(tc, a_run_without_a_prolog_follows_on_one_that_was_here);
    tcase_add_test(tc, a_primary_knows_the_guests_beside_it);
    tcase_add_test(tc, a_guest_knows_of_none_beside_it);
    tcase_add_test(tc, damaged_and_foreign_files_are_no_records);
    tcase_add_test(tc, an_end_without_a_beginning_says_what_the_environment_says);
    tcase_add_test(tc, cpus_are_this_nodes_or_unknown);
    tcase_add_test(tc, an_epilog_without_credential_has_the_prologs_cpus);
    tcase_add_test(tc, hostile_environments_end_in_exit_code_0);
    tcase_add_test(tc, a_name_among_what_was_sent_is_a_record);
    tcase_add_test(tc, a_record_in_memory_is_a_record);
    tcase_add_test(tc, a_record_that_memory_does_not_take_is_in_the_spool);
    tcase_add_test(tc, one_directory_for_state_and_spool_keeps_the_record);
    tcase_add_test(tc, a_full_spool_keeps_nothing_of_the_job);
    tcase_add_test(tc, killed_anywhere_another_epilog_finishes);
    tcase_add_test(tc, killed_anywhere_a_requeue_makes_no_second_record);
    tcase_add_test(tc, killed_anywhere_the_next_run_is_whole);
    tcase_add_test(tc, killed_anywhere_the_guests_beside_are_known);
    tcase_add_test(tc, killed_with_a_slow_spool_nothing_stays_and_no_record_is_lost);
    tcase_add_test(tc, an_epilog_spools_the_record_of_one_that_was_killed);
    tcase_add_test(tc, killed_anywhere_another_jobs_epilog_has_the_record);
    tcase_add_test(tc, what_the_guest_left_in_memory_does_not_wait_for_the_spool);
    suite_add_tcase(s, tc);
    return s;
}

int main(void)
{
    return run_suite(suite());
}
