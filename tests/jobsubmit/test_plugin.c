/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The plugin itself, loaded by a fake slurmctld: what it leaves in a job_desc_msg_t. */
#include "config.h"

#include <check.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/profile.h"
#include "jobsubmit/slurmctld.h"
#include "tests/common/tmp.h"
#include "tests/jobsubmit/fake_slurmctld.h"

#define OURS     "_SLURM_SPANK_OPTION_hpc_balance_"
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static fake_plugin_t plugin;
static job_desc_msg_t *desc;
static char *message;
static char conf_path[TEST_TMP_MAX];

static void write_conf(const char *text)
{
    FILE *file;

    test_tmp_file(conf_path);
    file = fopen(conf_path, "we");
    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs(text, file), 0);
    ck_assert_int_eq(fclose(file), 0);
    setenv("HPC_BALANCE_CONF", conf_path, 1);
}

static void setup(void)
{
    write_conf("GuestPartition=guest\nGuestPriority=100\n");
    plugin = fake_load();
    ck_assert_int_eq(plugin.init(), 0);
    ck_assert_uint_eq(fake_errors(), 0);
    desc = fake_desc();
    message = NULL;
}

/* Whatever happened, all that the plugin left is Slurm's memory and freed with desc. */
static void teardown(void)
{
    if (desc)
        fake_free_desc(desc);
    fake_free_string(&message);
    ck_assert_int_eq(fake_blocks(), 0);
    ck_assert_int_eq(plugin.fini(), 0);
    dlclose(plugin.handle);
    unlink(conf_path);
}

static int submit(void)
{
    return plugin.submit(desc, FAKE_USER, &message);
}

static void assert_refused(const char *word)
{
    ck_assert_int_eq(submit(), ESLURM_NOT_SUPPORTED);
    ck_assert_ptr_nonnull(message);
    ck_assert_ptr_null(strchr(message, '\n'));
    ck_assert_msg(strstr(message, word), "'%s' lacks '%s'", message, word);
    ck_assert_ptr_null(desc->admin_comment);
    ck_assert_uint_eq(desc->priority, NO_VAL);
}

START_TEST(a_primary_is_tagged_and_left_alone)
{
    desc->partition = fake_string("batch");
    desc->shared = 0;
    desc->pn_min_memory = 0;
    desc->nice = NICE_OFFSET - 5;
    fake_add_env(desc, "MINE=1");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_str_eq(desc->partition, "batch");
    ck_assert_ptr_null(desc->qos);
    ck_assert_uint_eq(desc->priority, NO_VAL);
    ck_assert_uint_eq(desc->site_factor, NO_VAL);
    ck_assert_uint_eq(desc->nice, NICE_OFFSET - 5);
    ck_assert_ptr_nonnull(strstr(desc->admin_comment, "primary"));
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "primary");
    ck_assert_str_eq(fake_get_env(desc, "MINE"), "1");
    ck_assert_ptr_null(message);
}
END_TEST

START_TEST(without_a_tag_everything_else_is_as_with_one)
{
    unlink(conf_path);
    write_conf("AdminCommentTag=no\n");
    ck_assert_int_eq(plugin.init(), 0);
    fake_add_env(desc, OURS "guest=(null)");
    desc->admin_comment = fake_string("a note");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_str_eq(desc->admin_comment, "a note");
    ck_assert_str_eq(desc->partition, "guest");
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "guest@guest");
}
END_TEST

/* It is for slurmctld to refuse it. */
START_TEST(a_comment_that_is_too_long_is_left_alone)
{
    char text[5000];

    memset(text, ' ', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    memcpy(text, "{}", 2);
    fake_add_env(desc, OURS "guest=(null)");
    desc->admin_comment = fake_string(text);
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(fake_errors(), 1);
    ck_assert_str_eq(desc->admin_comment, text);
    ck_assert_str_eq(desc->partition, "guest");
}
END_TEST

START_TEST(a_job_without_any_environment_works)
{
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->spank_job_env_size, 2);
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "primary");
    ck_assert_ptr_nonnull(fake_get_env(desc, "HPCB_SUBMIT"));
    ck_assert_ptr_null(desc->spank_job_env[2]);
}
END_TEST

START_TEST(a_guest_is_routed)
{
    fake_add_env(desc, OURS "guest=(null)");
    desc->nice = NICE_OFFSET - 1000;
    desc->priority = 4000000;
    desc->admin_comment = fake_string("{\"site\":\"x\"}");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_str_eq(desc->partition, "guest");
    ck_assert_ptr_null(desc->qos);
    ck_assert_uint_eq(desc->priority, 100);
    ck_assert_uint_eq(desc->nice, NICE_OFFSET);
    ck_assert_uint_lt(desc->site_factor, NICE_OFFSET - 1000000000);
    ck_assert_ptr_nonnull(strstr(desc->admin_comment, "\"site\":\"x\""));
    ck_assert_ptr_nonnull(strstr(desc->admin_comment, "guest"));
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "guest@guest");
    ck_assert_ptr_nonnull(fake_get_env(desc, OURS "guest"));
}
END_TEST

START_TEST(a_submission_without_spank_is_known_by_its_partition)
{
    desc->partition = fake_string("guest");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->priority, 100);
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "guest@guest");
}
END_TEST

START_TEST(a_held_guest_stays_held)
{
    desc->partition = fake_string("guest");
    desc->priority = 0;
    desc->nice = NICE_OFFSET + 7;
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->priority, 0);
    ck_assert_uint_eq(desc->nice, NICE_OFFSET + 7);
}
END_TEST

START_TEST(the_qos_of_guests)
{
    job_desc_msg_t *first = desc;

    unlink(conf_path);
    write_conf("GuestQOS=low\n");
    ck_assert_int_eq(plugin.init(), 0);
    desc->qos = fake_string("low");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_str_eq(desc->partition, "guest");
    fake_free_desc(first);
    desc = fake_desc();
    desc->partition = fake_string("guest");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_str_eq(desc->qos, "low");
}
END_TEST

START_TEST(a_forged_class_does_not_survive)
{
    fake_add_env(desc, "HPCB_CLASS=primary");
    fake_add_env(desc, OURS "guest=(null)");
    fake_add_env(desc, "SPANK_HPCB_CLASS=primary");
    fake_add_env(desc, "HPCB_CLASS=primary");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->spank_job_env_size, 3);
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "guest@guest");
    ck_assert_ptr_null(fake_get_env(desc, "SPANK_HPCB_CLASS"));
}
END_TEST

START_TEST(the_prolog_is_told_the_program_and_by_nobody_else)
{
    fake_add_env(desc, "HPCB_PROGRAM=forged");
    fake_add_env(desc, "SPANK_HPCB_SUBMIT=1");
    desc->name = fake_string("CG");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->spank_job_env_size, 3);
    ck_assert_str_eq(fake_get_env(desc, "HPCB_PROGRAM"), "CG");
    ck_assert_ptr_null(fake_get_env(desc, "SPANK_HPCB_SUBMIT"));
}
END_TEST

/* slurmctld counts on as many entries as there are names. */
START_TEST(the_environment_is_mended)
{
    fake_add_env(desc, "TWICE=1");
    fake_add_env(desc, NULL);
    fake_add_env(desc, "noequals");
    fake_add_unterminated(desc, 64);
    fake_add_env(desc, "TWICE=2");
    fake_add_env(desc, "\xff\xfe=\x01");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->spank_job_env_size, 4);
    ck_assert_str_eq(fake_get_env(desc, "TWICE"), "2");
    ck_assert_ptr_null(desc->spank_job_env[4]);
}
END_TEST

START_TEST(a_count_without_array_is_none)
{
    desc->spank_job_env_size = 1000;
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->spank_job_env_size, 2);
}
END_TEST

START_TEST(too_large_an_environment_is_refused)
{
    desc->spank_job_env_size = 1000000;
    desc->spank_job_env = calloc(1, sizeof(char *));
    assert_refused("1000000");
    free(desc->spank_job_env);
    desc->spank_job_env = NULL;
    desc->spank_job_env_size = 0;
}
END_TEST

START_TEST(a_bad_option_is_refused)
{
    fake_add_env(desc, OURS "guest=maybe");
    assert_refused("--guest");
    ck_assert_uint_eq(desc->spank_job_env_size, 1);
    ck_assert_ptr_null(desc->partition);
}
END_TEST

START_TEST(a_refusal_is_added_to_what_was_said_before)
{
    message = fake_string("a hint of another plugin");
    fake_add_env(desc, OURS "guest=maybe");
    ck_assert_int_eq(submit(), ESLURM_NOT_SUPPORTED);
    ck_assert_ptr_nonnull(strstr(message, "another plugin\n--guest"));
}
END_TEST

START_TEST(nobody_listens_to_a_refusal)
{
    fake_add_env(desc, OURS "guest=maybe");
    ck_assert_int_eq(plugin.submit(desc, FAKE_USER, NULL), ESLURM_NOT_SUPPORTED);
}
END_TEST

static void claim(int what)
{
    switch (what) {
    case 0:
        desc->shared = JOB_SHARED_NONE;
        break;
    case 1:
        desc->shared = JOB_SHARED_USER;
        break;
    case 2:
        desc->shared = JOB_SHARED_MCS;
        break;
    case 3:
        desc->shared = 4;
        break;
    case 4:
        desc->core_spec = 0;
        break;
    case 5:
        desc->pn_min_memory = 0;
        break;
    case 6:
        desc->pn_min_memory = MEM_PER_CPU;
        break;
    case 7:
        desc->tres_per_job = fake_string("gres:gpu:1");
        break;
    case 8:
        desc->tres_per_node = fake_string("gres/gpu:1");
        break;
    case 9:
        desc->tres_per_socket = fake_string("gpu");
        break;
    case 10:
        desc->tres_per_task = fake_string("cpu:1,gres:gpu");
        break;
    case 11:
        desc->ntasks_per_tres = 2;
        break;
    default:
        ck_abort();
    }
}

START_TEST(a_guest_may_not_claim_what_cannot_be_shared)
{
    static const char *const words[] = {"--exclusive", "--exclusive", "--exclusive",
                                        "--exclusive", "--exclusive", "--mem",
                                        "--mem",       "--gres",      "--gres",
                                        "--gres",      "--gres",      "--gres"};

    claim(_i);
    fake_add_env(desc, OURS "guest=(null)");
    assert_refused(words[_i]);
}
END_TEST

/* sbatch --get-user-env, --export=NONE, --export=NAME: in a batch job, by what slurmd
 * goes by. */
static void ask_for_login_shell(void)
{
    desc->script = fake_string("#!/bin/sh\n");
    fake_add_environment(desc, "PATH=/bin");
    fake_add_environment(desc, "SLURM_GET_USER_ENV=1");
}

START_TEST(a_guest_gets_no_login_shell)
{
    ask_for_login_shell();
    fake_add_env(desc, OURS "guest=(null)");
    assert_refused("--get-user-env");
}
END_TEST

/* What it says instead depends on who asks. */
START_TEST(nor_from_scrontab)
{
    static int entry;

    ask_for_login_shell();
    desc->crontab_entry = &entry;
    fake_add_env(desc, OURS "guest=(null)");
    assert_refused("scrontab");
    desc->crontab_entry = NULL;
}
END_TEST

/* slurmd wants this very text. */
START_TEST(what_makes_slurmd_run_none_is_no_request)
{
    static const char *const harmless[] = {
        "SLURM_GET_USER_ENV=0", "SLURM_GET_USER_ENV=", "SLURM_GET_USER_ENV",
        "SLURM_GET_USER_ENV=10", "XSLURM_GET_USER_ENV=1"};

    desc->script = fake_string("#!/bin/sh\n");
    fake_add_environment(desc, harmless[_i]);
    fake_add_env(desc, OURS "guest=(null)");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
}
END_TEST

START_TEST(a_primary_does)
{
    ask_for_login_shell();
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
}
END_TEST

/* No script: salloc and srun in a batch job that had one. */
START_TEST(and_so_does_a_guest_without_a_script)
{
    ask_for_login_shell();
    fake_free_string(&desc->script);
    fake_add_env(desc, OURS "guest=(null)");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
}
END_TEST

START_TEST(an_environment_that_does_not_end_is_no_request)
{
    desc->script = fake_string("#!/bin/sh\n");
    fake_add_environment(desc, "SLURM_GET_USER_ENVIRONMENT=1");
    fake_add_environment(desc, "x");
    fake_free_string(&desc->environment[1]);
    desc->environment[1] = fake_unterminated(64);
    fake_add_env(desc, OURS "guest=(null)");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
}
END_TEST

START_TEST(harmless_requests_of_a_guest_pass)
{
    fake_add_env(desc, OURS "guest=(null)");
    desc->shared = JOB_SHARED_OK;
    desc->pn_min_memory = MEM_PER_CPU | 100;
    desc->tres_per_task = fake_string("cpu:1");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
}
END_TEST

/* One component of a heterogeneous job after the other, as slurmctld asks. */
static int component(uint32_t offset, const char *partition)
{
    int rc;

    fake_free_desc(desc);
    fake_free_string(&message);
    desc = fake_desc();
    desc->het_job_offset = offset;
    desc->partition = fake_string(partition);
    rc = submit();
    ck_assert(rc == SLURM_SUCCESS || strstr(message, "heterogeneous"));
    return rc;
}

static int submit_to(const char *partition, uint16_t shared)
{
    fake_free_desc(desc);
    desc = fake_desc();
    desc->partition = fake_string(partition);
    desc->shared = shared;
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    return desc->shared;
}

START_TEST(exclusive_partitions_give_whole_nodes)
{
    write_conf("ExclusivePartitions=whole,big\n");
    ck_assert_int_eq(plugin.init(), 0);
    ck_assert_int_eq(submit_to("batch", NO_VAL16), NO_VAL16);
    ck_assert_int_eq(submit_to("big", NO_VAL16), JOB_SHARED_NONE);
    ck_assert_int_eq(submit_to("batch,whole", JOB_SHARED_OK), JOB_SHARED_NONE);
    ck_assert_int_eq(submit_to("guest", JOB_SHARED_OK), JOB_SHARED_OK);
    ck_assert_int_eq(submit_to(NULL, NO_VAL16), NO_VAL16);
    default_part_name = fake_string("big");
    ck_assert_int_eq(submit_to(NULL, NO_VAL16), JOB_SHARED_NONE);
    ck_assert_int_eq(submit_to("batch", JOB_SHARED_OK), JOB_SHARED_OK);
    fake_free_string(&default_part_name);
}
END_TEST

START_TEST(components_of_one_class)
{
    ck_assert_int_eq(component(1, NULL), ESLURM_NOT_SUPPORTED); /* no first one */
    ck_assert_int_eq(component(0, "guest"), SLURM_SUCCESS);
    ck_assert_int_eq(component(1, "guest"), SLURM_SUCCESS);
    ck_assert_int_eq(component(2, "primary"), ESLURM_NOT_SUPPORTED);
    ck_assert_int_eq(component(0, "primary"), SLURM_SUCCESS);
    ck_assert_int_eq(component(1, NULL), SLURM_SUCCESS);
    ck_assert_int_eq(component(2, "guest"), ESLURM_NOT_SUPPORTED);
}
END_TEST

static int modify(uint32_t uid, const char *job_partition)
{
    return plugin.modify(desc, fake_job(job_partition), uid, &message);
}

START_TEST(the_border_is_closed_to_users)
{
    desc->partition = fake_string("primary");
    ck_assert_int_eq(modify(FAKE_USER, "guest"), ESLURM_ACCESS_DENIED);
    ck_assert_uint_eq(desc->site_factor, NO_VAL);
    ck_assert_int_eq(modify(FAKE_USER, "other"), SLURM_SUCCESS);
    ck_assert_int_eq(plugin.modify(desc, NULL, FAKE_USER, NULL), ESLURM_ACCESS_DENIED);
    ck_assert_int_eq(modify(FAKE_OPERATOR, "guest"), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->site_factor, NICE_OFFSET);
    ck_assert_uint_eq(desc->priority, NO_VAL);
}
END_TEST

START_TEST(an_operator_makes_a_guest)
{
    desc->partition = fake_string("guest");
    ck_assert_int_eq(modify(FAKE_USER, "primary"), ESLURM_ACCESS_DENIED);
    ck_assert_int_eq(modify(0, "primary"), SLURM_SUCCESS);
    ck_assert_uint_lt(desc->site_factor, NICE_OFFSET - 1000000000);
}
END_TEST

START_TEST(a_guests_priority_is_fixed_for_users)
{
    desc->priority = 5000;
    ck_assert_int_eq(modify(FAKE_USER, "guest"), ESLURM_ACCESS_DENIED);
    ck_assert_int_eq(modify(FAKE_OPERATOR, "guest"), SLURM_SUCCESS);
    ck_assert_int_eq(modify(FAKE_USER, "primary"), SLURM_SUCCESS);
    desc->priority = NO_VAL;
    desc->nice = NICE_OFFSET + 3;
    ck_assert_int_eq(modify(FAKE_USER, "guest"), ESLURM_ACCESS_DENIED);
}
END_TEST

START_TEST(hold_release_and_other_changes_pass)
{
    desc->priority = 0;
    ck_assert_int_eq(modify(FAKE_USER, "guest"), SLURM_SUCCESS);
    desc->priority = INFINITE;
    ck_assert_int_eq(modify(FAKE_USER, "guest"), SLURM_SUCCESS);
    desc->priority = NO_VAL;
    desc->time_limit = 5;
    ck_assert_int_eq(modify(FAKE_USER, "guest"), SLURM_SUCCESS);
    ck_assert_int_eq(plugin.modify(desc, NULL, FAKE_USER, NULL), SLURM_SUCCESS);
    ck_assert_uint_eq(desc->site_factor, NO_VAL);
}
END_TEST

START_TEST(a_guest_does_not_take_all_memory_later)
{
    desc->pn_min_memory = 0;
    ck_assert_int_eq(modify(FAKE_USER, "guest"), ESLURM_ACCESS_DENIED);
    ck_assert_int_eq(modify(FAKE_USER, "primary"), SLURM_SUCCESS);
}
END_TEST

START_TEST(broken_settings_do_not_stop_slurmctld)
{
    setenv("HPC_BALANCE_CONF", "/nonexistent/hpc-balance.conf", 1);
    ck_assert_int_eq(plugin.init(), SLURM_SUCCESS);
    ck_assert_uint_eq(fake_errors(), 1);
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
}
END_TEST

/* select/ and preempt/ read it then, too: between the two, nothing is a guest to one
 * and none to the other. */
START_TEST(a_changed_file_counts_at_reconfigure)
{
    FILE *file = fopen(conf_path, "we");

    ck_assert_ptr_nonnull(file);
    ck_assert_int_ge(fputs("GuestPartition=night\n", file), 0);
    ck_assert_int_eq(fclose(file), 0);
    desc->partition = fake_string("night");
    sleep(2);
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "primary");
    slurm_conf.last_update++;
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_str_eq(fake_get_env(desc, "HPCB_CLASS"), "guest@night");
}
END_TEST

/* scontrol setdebug: the file is not read again in the way of a submission, and nothing
 * is lost of what was read. */
START_TEST(an_unchanged_file_is_not_read_again)
{
    struct stat before;
    struct timespec times[2];
    int fd;

    ck_assert_int_eq(stat(conf_path, &before), 0);
    fd = open(conf_path, O_WRONLY | O_CLOEXEC);
    ck_assert_int_ge(fd, 0);
    /* Would be an error. */
    ck_assert_int_eq(write(fd, "?", 1), 1);
    close(fd);
    times[0] = before.st_atim;
    times[1] = before.st_mtim;
    ck_assert_int_eq(utimensat(AT_FDCWD, conf_path, times, 0), 0);
    slurm_conf.last_update++;
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(fake_errors(), 0);
    /* One that is wrong is tried at each reconfiguration. */
    ck_assert_int_eq(utimensat(AT_FDCWD, conf_path, NULL, 0), 0);
    for (int i = 0; i < 2; i++) {
        slurm_conf.last_update++;
        ck_assert_int_eq(submit(), SLURM_SUCCESS);
        ck_assert_uint_eq(fake_errors(), 1);
    }
}
END_TEST

START_TEST(slurm_finds_what_it_asks_for)
{
    static const char *const ours[] = {"plugin_name", "plugin_type", "plugin_version",
                                       "init",        "fini",        "job_submit",
                                       "job_modify"};

    for (size_t i = 0; i < COUNT(ours); i++)
        ck_assert_ptr_nonnull(dlsym(plugin.handle, ours[i]));
    ck_assert_str_eq(dlsym(plugin.handle, "plugin_type"), "job_submit/hpc_balance");
    ck_assert_uint_eq(*(const uint32_t *)dlsym(plugin.handle, "plugin_version"),
                      SLURM_VERSION_NUMBER);
    ck_assert_ptr_null(dlsym(plugin.handle, "hpcb_decide_submit"));
}
END_TEST

/* A guest hetjob in one thread, a primary one in the other, again and again.  Returns
 * NULL where none was refused. */
/* ---- Profiles ---- */

static char store_path[TEST_TMP_MAX + 32];

/* Many that do not matter, and two of FAKE_USER: CG, and CG as run by cg.B.4. */
static int fill_store(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    hpcb_profile_run_t run = {.known = {true, true, true},
                              .value = {674000000, 1000, 990000}};
    hpcb_profile_key_t key;

    for (uint32_t i = 0; i < *(uint32_t *)arg; i++) {
        if (hpcb_profile_key(5000 + i, "a job of somebody else", "a.out", &key) ||
            hpcb_profiles_learn(store, &key, &run, 1, err))
            return -1;
    }
    if (hpcb_profile_key(FAKE_USER, "CG", NULL, &key) ||
        hpcb_profiles_set(store, &key, &run, 2, err))
        return -1;
    run.value[HPCB_PROFILE_MEM] = 4096;
    run.known[HPCB_PROFILE_CPU] = false;
    return hpcb_profile_key(FAKE_USER, "CG", "cg.B.4", &key) ||
           hpcb_profiles_set(store, &key, &run, 2, err);
}

/* The plugin with a store. */
static void with_store(uint32_t others)
{
    char dir[TEST_TMP_MAX], text[512];
    hpcb_error_t err = {""};

    test_tmp_dir(dir);
    snprintf(store_path, sizeof(store_path), "%s/profiles.json", dir);
    ck_assert_msg(hpcb_profiles_update(store_path, fill_store, &others, &err) == 0,
                  "%s", err.text);
    unlink(conf_path);
    snprintf(text, sizeof(text), "ProfileStore=%s\n", store_path);
    write_conf(text);
    ck_assert_int_eq(plugin.init(), 0);
}

static void expect_tag(const char *part)
{
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_msg(strstr(desc->admin_comment, part) != NULL, "'%s' lacks '%s'",
                  desc->admin_comment, part);
}

START_TEST(what_was_learned_is_attached)
{
    with_store(3);
    fake_set_program(desc, "CG", "/home/x/cg.C.8");
    expect_tag("\"bw\":{\"mem\":674000000,\"net\":1000,\"cpu\":0.990000,"
               "\"source\":\"learned\"},\"program\":\"CG/cg.C.8\"}}");
}
END_TEST

START_TEST(the_executable_is_closer)
{
    with_store(3);
    fake_set_program(desc, "CG", "bin/cg.B.4");
    fake_add_env(desc, OURS "guest=(null)");
    expect_tag("\"class\":\"guest\",\"bw\":{\"mem\":4096,\"net\":1000,"
               "\"source\":\"learned\"},\"program\":\"CG/cg.B.4\"}}");
}
END_TEST

START_TEST(what_is_given_counts)
{
    with_store(3);
    fake_set_program(desc, "CG", NULL);
    fake_add_env(desc, OURS "bw_profile=net=1K");
    expect_tag("\"bw\":{\"net\":1024,\"source\":\"given\"},"
               "\"program\":\"CG\"}}");
}
END_TEST

static void expect_message(const char *part)
{
    ck_assert_ptr_nonnull(message);
    ck_assert_ptr_null(strchr(message, '\n'));
    ck_assert_msg(strstr(message, part) != NULL, "'%s' lacks '%s'", message, part);
}

START_TEST(who_asks_to_be_spread_is_told)
{
    fake_add_env(desc, OURS "bw_profile=mem=1K");
    fake_add_env(desc, OURS "bw_spread=(null)");
    expect_tag("\"spread\":true,\"bw\":{\"mem\":1024,");
    expect_message("SystemComment");
    ck_assert_str_eq(fake_get_env(desc, "HPCB_SPREAD"), "1");
}
END_TEST

START_TEST(a_learned_demand_spreads_as_well)
{
    with_store(3);
    fake_set_program(desc, "CG", "/home/x/cg.C.8");
    fake_add_env(desc, OURS "bw_spread");
    expect_tag("\"spread\":true,\"bw\":{\"mem\":674000000,");
    expect_message("SystemComment");
    ck_assert_str_eq(fake_get_env(desc, "HPCB_SPREAD"), "1");
}
END_TEST

START_TEST(what_is_not_known_is_not_spread)
{
    fake_add_env(desc, OURS "bw_spread=");
    ck_assert_int_eq(submit(), ESLURM_NOT_SUPPORTED);
    expect_message("takes no value");
    fake_free_string(&message);
    fake_free_desc(desc);
    desc = fake_desc();
    fake_add_env(desc, OURS "bw_spread=(null)");
    fake_add_env(desc, "HPCB_SPREAD=1");
    expect_tag("\"spread\":true");
    expect_message("changes nothing: the memory bandwidth of the job is not known");
    /* What it moves can be learned. */
    ck_assert_ptr_null(fake_get_env(desc, "HPCB_SPREAD"));
}
END_TEST

/* Each of these says how many tasks a node gets. */
static void lay_out(int how)
{
    switch (how) {
    case 0:
        desc->ntasks_per_node = 2;
        break;
    case 1:
        desc->ntasks_per_socket = 1;
        break;
    case 2:
        desc->ntasks_per_board = 1;
        break;
    case 3:
        desc->ntasks_per_tres = 1;
        break;
    case 4:
        desc->overcommit = 1;
        break;
    case 5:
        desc->task_dist = SLURM_DIST_PLANE;
        break;
    default:
        desc->task_dist = SLURM_DIST_ARBITRARY | SLURM_DIST_PACK_NODES;
    }
}

START_TEST(who_lays_out_tasks_is_not_spread)
{
    fake_add_env(desc, OURS "bw_profile=mem=1T");
    fake_add_env(desc, OURS "bw_spread=(null)");
    lay_out(_i);
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    expect_message("changes nothing: the job sets its own layout");
    ck_assert_ptr_null(fake_get_env(desc, "HPCB_SPREAD"));
}
END_TEST

/* sbatch shows what each component is told. */
START_TEST(components_are_told_the_same_once)
{
    static const char *const profiles[] = {"bw_profile=mem=1K", "bw_profile=mem=1K",
                                           "bw_profile=net=1K", "bw_profile=net=1K",
                                           "bw_profile=mem=1K"};

    for (uint32_t i = 0; i < 2 * COUNT(profiles); i++) {
        uint32_t offset = i % COUNT(profiles);
        char option[64];

        fake_free_string(&message);
        fake_free_desc(desc);
        desc = fake_desc();
        desc->het_job_offset = offset;
        snprintf(option, sizeof(option), OURS "%s", profiles[offset]);
        fake_add_env(desc, option);
        fake_add_env(desc, OURS "bw_spread=(null)");
        ck_assert_int_eq(submit(), SLURM_SUCCESS);
        if (offset % 2)
            ck_assert_ptr_null(message);
        else
            expect_message(offset == 2 ? "changes nothing" : "SystemComment");
    }
}
END_TEST

START_TEST(without_tags_nobody_is_spread)
{
    unlink(conf_path);
    write_conf("AdminCommentTag=no\n");
    ck_assert_int_eq(plugin.init(), 0);
    fake_add_env(desc, OURS "bw_profile=mem=1T");
    fake_add_env(desc, OURS "bw_spread=(null)");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    expect_message("AdminCommentTag=no");
}
END_TEST

START_TEST(a_guest_is_not_spread)
{
    fake_add_env(desc, OURS "bw_spread=(null)");
    desc->partition = fake_string("guest");
    ck_assert_int_eq(submit(), ESLURM_NOT_SUPPORTED);
    expect_message("--guest and --bw-spread exclude each other");
}
END_TEST

START_TEST(others_profiles_are_not_ours)
{
    with_store(3);
    fake_set_program(desc, "a job of somebody else", "a.out");
    expect_tag("\"class\":\"primary\",\"program\":\"a job of somebody else/a.out\"}}");
}
END_TEST

START_TEST(hostile_names_do_no_harm)
{
    static const char *const names[] = {"", "\n", "\"}}", "\xff\xfe", "%00", "/"};

    with_store(3);
    for (size_t i = 0; i < COUNT(names); i++) {
        desc = desc ? desc : fake_desc();
        fake_set_program(desc, names[i], names[COUNT(names) - 1 - i]);
        expect_tag("{\"hpcb\":{\"v\":1,\"class\":\"primary\"");
        fake_free_desc(desc);
        desc = NULL;
    }
    desc = fake_desc();
    fake_set_program(desc, "CG", "cg");
    fake_free_string(&desc->name);
    fake_free_string(&desc->argv[0]);
    desc->name = fake_unterminated(2);
    desc->argv[0] = fake_unterminated(3);
    expect_tag("\"class\":\"primary\"}}");
}
END_TEST

START_TEST(without_a_store_jobs_run)
{
    with_store(3);
    unlink(store_path);
    ck_assert_int_eq(plugin.fini(), 0);
    ck_assert_int_eq(plugin.init(), 0);
    fake_set_program(desc, "CG", NULL);
    expect_tag("\"class\":\"primary\",\"program\":\"CG\"}}");
    ck_assert_uint_eq(fake_errors(), 0);
}
END_TEST

START_TEST(a_bad_store_is_told_once)
{
    FILE *file;

    with_store(3);
    file = fopen(store_path, "we");
    ck_assert_ptr_nonnull(file);
    fclose(file);
    ck_assert_int_eq(plugin.fini(), 0);
    ck_assert_int_eq(plugin.init(), 0);
    fake_set_program(desc, "CG", NULL);
    expect_tag("\"class\":\"primary\",\"program\":\"CG\"}}");
    ck_assert_int_eq(submit(), SLURM_SUCCESS);
    ck_assert_uint_eq(fake_errors(), 1);
}
END_TEST

static double now_us(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double *left = a, *right = b;

    return (*left > *right) - (*left < *right);
}

/* Time of the thread, so that a busy machine changes nothing; sanitizers and valgrind
 * do. */
#ifdef __SANITIZE_ADDRESS__
#define LIMIT_US 500
#else
#define LIMIT_US 50
#endif

static double limit_us(void)
{
    const char *preload = getenv("LD_PRELOAD");

    return preload && strstr(preload, "valgrind") ? 5000 : LIMIT_US;
}

START_TEST(a_submission_takes_little_time)
{
    static double took[2001];

    with_store(2000);
    for (size_t i = 0; i < COUNT(took); i++) {
        job_desc_msg_t *mine = fake_desc();
        char *said = NULL;
        double begin;

        fake_set_program(mine, "CG", "/home/x/cg.B.4");
        fake_add_env(mine, "SOMETHING=1");
        fake_add_env(mine, OURS "guest=(null)");
        begin = now_us(CLOCK_THREAD_CPUTIME_ID);
        ck_assert_int_eq(plugin.submit(mine, FAKE_USER, &said), SLURM_SUCCESS);
        took[i] = now_us(CLOCK_THREAD_CPUTIME_ID) - begin;
        ck_assert_ptr_nonnull(strstr(mine->admin_comment, "\"mem\":4096"));
        fake_free_desc(mine);
    }
    qsort(took, COUNT(took), sizeof(took[0]), compare);
    fprintf(stderr,
            "# job_submit, 4002 profiles: median %.1f us, 99 %% within %.1f us, "
            "longest %.1f us\n",
            took[COUNT(took) / 2], took[COUNT(took) * 99 / 100], took[COUNT(took) - 1]);
    ck_assert(took[COUNT(took) / 2] < limit_us());
}
END_TEST

static void *submit_often(void *arg)
{
    const char *partition = arg;
    void *wrong = NULL;

    for (uint32_t i = 0; i < 2000; i++) {
        job_desc_msg_t *mine = fake_desc();
        char *said = NULL;

        mine->het_job_offset = i % 3;
        mine->partition = fake_string(partition);
        if (plugin.submit(mine, FAKE_USER, &said) != SLURM_SUCCESS)
            wrong = arg;
        fake_free_string(&said);
        fake_free_desc(mine);
    }
    return wrong;
}

START_TEST(calls_may_be_concurrent)
{
    pthread_t thread;
    void *theirs, *mine;

    ck_assert_int_eq(pthread_create(&thread, NULL, submit_often, "guest"), 0);
    mine = submit_often("primary");
    ck_assert_int_eq(pthread_join(thread, &theirs), 0);
    ck_assert_ptr_null(mine);
    ck_assert_ptr_null(theirs);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plugin");
    TCase *tcase = tcase_create("plugin");
    SRunner *runner = srunner_create(suite);
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, slurm_finds_what_it_asks_for);
    tcase_add_test(tcase, a_primary_is_tagged_and_left_alone);
    tcase_add_test(tcase, a_comment_that_is_too_long_is_left_alone);
    tcase_add_test(tcase, a_job_without_any_environment_works);
    tcase_add_test(tcase, without_a_tag_everything_else_is_as_with_one);
    tcase_add_test(tcase, a_guest_is_routed);
    tcase_add_test(tcase, a_submission_without_spank_is_known_by_its_partition);
    tcase_add_test(tcase, a_held_guest_stays_held);
    tcase_add_test(tcase, the_qos_of_guests);
    tcase_add_test(tcase, a_forged_class_does_not_survive);
    tcase_add_test(tcase, the_prolog_is_told_the_program_and_by_nobody_else);
    tcase_add_test(tcase, the_environment_is_mended);
    tcase_add_test(tcase, a_count_without_array_is_none);
    tcase_add_test(tcase, too_large_an_environment_is_refused);
    tcase_add_test(tcase, a_bad_option_is_refused);
    tcase_add_test(tcase, a_refusal_is_added_to_what_was_said_before);
    tcase_add_test(tcase, nobody_listens_to_a_refusal);
    tcase_add_loop_test(tcase, a_guest_may_not_claim_what_cannot_be_shared, 0, 12);
    tcase_add_test(tcase, harmless_requests_of_a_guest_pass);
    tcase_add_test(tcase, a_guest_gets_no_login_shell);
    tcase_add_test(tcase, nor_from_scrontab);
    tcase_add_loop_test(tcase, what_makes_slurmd_run_none_is_no_request, 0, 5);
    tcase_add_test(tcase, a_primary_does);
    tcase_add_test(tcase, and_so_does_a_guest_without_a_script);
    tcase_add_test(tcase, an_environment_that_does_not_end_is_no_request);
    tcase_add_test(tcase, exclusive_partitions_give_whole_nodes);
    tcase_add_test(tcase, components_of_one_class);
    tcase_add_test(tcase, the_border_is_closed_to_users);
    tcase_add_test(tcase, an_operator_makes_a_guest);
    tcase_add_test(tcase, a_guests_priority_is_fixed_for_users);
    tcase_add_test(tcase, hold_release_and_other_changes_pass);
    tcase_add_test(tcase, a_guest_does_not_take_all_memory_later);
    tcase_add_test(tcase, broken_settings_do_not_stop_slurmctld);
    tcase_add_test(tcase, a_changed_file_counts_at_reconfigure);
    tcase_add_test(tcase, an_unchanged_file_is_not_read_again);
    tcase_add_test(tcase, what_was_learned_is_attached);
    tcase_add_test(tcase, the_executable_is_closer);
    tcase_add_test(tcase, what_is_given_counts);
    tcase_add_test(tcase, who_asks_to_be_spread_is_told);
    tcase_add_test(tcase, a_learned_demand_spreads_as_well);
    tcase_add_test(tcase, what_is_not_known_is_not_spread);
    tcase_add_loop_test(tcase, who_lays_out_tasks_is_not_spread, 0, 7);
    tcase_add_test(tcase, components_are_told_the_same_once);
    tcase_add_test(tcase, without_tags_nobody_is_spread);
    tcase_add_test(tcase, a_guest_is_not_spread);
    tcase_add_test(tcase, others_profiles_are_not_ours);
    tcase_add_test(tcase, hostile_names_do_no_harm);
    tcase_add_test(tcase, without_a_store_jobs_run);
    tcase_add_test(tcase, a_bad_store_is_told_once);
    tcase_add_test(tcase, a_submission_takes_little_time);
    tcase_add_test(tcase, calls_may_be_concurrent);
    suite_add_tcase(suite, tcase);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
