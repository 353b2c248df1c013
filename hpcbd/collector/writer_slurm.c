/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/compat.h"
#include <slurm/slurmdb.h>

#include "hpcbd/collector/writer_slurm.h"

extern __attribute__((visibility("default"))) const hpcbd_slurm_t hpcbd_slurm;

/* Exit code of a shell if a signal ended its command: this plus the signal. */
#define SHELL_SIGNALED 128

static void *connection;

static void begin(void)
{
    static bool begun;

    if (!begun)
        HPCB_SLURM_INIT();
    begun = true;
}

/* The answer is kept for good, and so is what it was read from: releases disagree on
 * how that is freed. */
static int has_dbd(void)
{
    static slurm_conf_t *conf;

    begin();
    if (!conf && slurm_load_ctl_conf(0, &conf))
        return -1;
    return conf->accounting_storage_type &&
           strcmp(conf->accounting_storage_type, "accounting_storage/slurmdbd") == 0;
}

static hpcbd_outcome_t open_connection(void)
{
    uint16_t flags = 0;
    int found;

    if (connection)
        return HPCBD_DONE;
    found = has_dbd();
    if (found <= 0)
        return found ? HPCBD_FAILED : HPCBD_NO_DBD;
    connection = slurmdb_connection_get(&flags);
    return connection ? HPCBD_DONE : HPCBD_FAILED;
}

static hpcbd_outcome_t lose_connection(void)
{
    if (connection)
        slurmdb_connection_close(&connection);
    connection = NULL;
    return HPCBD_FAILED;
}

/* The lists have no destructor: what is in them is the caller's. */
typedef struct {
    slurmdb_job_cond_t cond;
    slurm_selected_step_t step;
} question_t;

/* For Slurm's interfaces, which write to none of these texts. */
static void *unconst(const char *text)
{
    void *same;

    memcpy(&same, &text, sizeof(same));
    return same;
}

static void ask_for(question_t *question, const char *cluster, uint32_t job_id)
{
    memset(question, 0, sizeof(*question));
    question->cond.db_flags = SLURMDB_JOB_FLAG_NOTSET;
    question->cond.flags = JOBCOND_FLAG_NO_STEP | JOBCOND_FLAG_NO_DEFAULT_USAGE;
    question->step.array_task_id = NO_VAL;
    question->step.het_job_offset = NO_VAL;
    question->step.step_id.job_id = job_id;
    question->step.step_id.step_id = NO_VAL;
    question->step.step_id.step_het_comp = NO_VAL;
    question->cond.step_list = slurm_list_create(NULL);
    question->cond.cluster_list = slurm_list_create(NULL);
    slurm_list_append(question->cond.step_list, &question->step);
    slurm_list_append(question->cond.cluster_list, unconst(cluster));
}

static void forget(question_t *question)
{
    slurm_list_destroy(question->cond.step_list);
    slurm_list_destroy(question->cond.cluster_list);
}

/* An element of an array has two ids; slurmdbd may answer with all of its array.
 * Slurm's types of lists and iterators changed their names in 23.11. */
static hpcbd_outcome_t read_comment(void *jobs, uint32_t job_id, char **comment)
{
    void *each = slurm_list_iterator_create(jobs);
    hpcbd_outcome_t outcome = HPCBD_NOT_ENDED;
    const slurmdb_job_rec_t *job;

    while ((job = slurm_list_next(each))) {
        if (job->jobid != job_id || job->end == 0)
            continue;
        free(*comment);
        *comment = strdup(job->admin_comment ? job->admin_comment : "");
        outcome = *comment ? HPCBD_DONE : HPCBD_FAILED;
    }
    slurm_list_iterator_destroy(each);
    return outcome;
}

static hpcbd_outcome_t get_comment(const char *cluster, uint32_t job_id, char **comment)
{
    hpcbd_outcome_t outcome = open_connection();
    question_t question;
    void *jobs;

    if (outcome != HPCBD_DONE)
        return outcome;
    ask_for(&question, cluster, job_id);
    jobs = slurmdb_jobs_get(connection, &question.cond);
    forget(&question);
    if (!jobs)
        return lose_connection();
    *comment = NULL;
    outcome = read_comment(jobs, job_id, comment);
    slurm_list_destroy(jobs);
    return outcome;
}

static hpcbd_outcome_t set_comment(const char *cluster, uint32_t job_id,
                                   const char *comment)
{
    hpcbd_outcome_t outcome = open_connection();
    slurmdb_job_rec_t job;
    question_t question;
    void *changed;

    if (outcome != HPCBD_DONE)
        return outcome;
    memset(&job, 0, sizeof(job));
    job.derived_ec = NO_VAL;
    job.admin_comment = unconst(comment);
    ask_for(&question, cluster, job_id);
    changed = slurmdb_job_modify(connection, &question.cond, &job);
    forget(&question);
    if (!changed)
        return lose_connection();
    slurm_list_destroy(changed);
    return slurmdb_connection_commit(connection, true) ? lose_connection() : HPCBD_DONE;
}

/* Return the job's comment with text appended, to be freed; NULL if it is there
 * already, or if slurmctld does not answer. */
static char *comment_with(uint32_t job_id, const char *text)
{
    job_info_msg_t *jobs = NULL;
    const char *old = NULL;
    char *comment = NULL;

    if (slurm_load_job(&jobs, hpcb_job_by_id(job_id), SHOW_ALL))
        return NULL;
    if (jobs->record_count > 0)
        old = jobs->job_array[0].comment;
    if (!old || !strstr(old, text)) {
        if (asprintf(&comment, "%s%s%s", old ? old : "", old && *old ? "; " : "",
                     text) < 0)
            comment = NULL;
    }
    slurm_free_job_info_msg(jobs);
    return comment;
}

/* 0, or -1: a job that has ended, as it may have by now, takes none. */
static int add_comment(uint32_t job_id, const char *text)
{
    char *comment = comment_with(job_id, text);
    job_desc_msg_t change;
    int rc = 0;

    if (comment) {
        slurm_init_job_desc_msg(&change);
        HPCB_DESC_JOB_ID(&change) = job_id;
        change.comment = comment;
        rc = slurm_update_job(&change) ? -1 : 0;
    }
    free(comment);
    return rc;
}

static hpcbd_outcome_t refused(uint32_t job_id, int error, bool ended)
{
    switch (error) {
    case ESLURM_JOB_PENDING:
        return HPCBD_DONE;
    case ESLURM_DISABLED:
    case ESLURM_BATCH_ONLY:
        if (ended)
            slurm_kill_job(hpcb_job_by_id(job_id), SIGKILL, KILL_FULL_JOB);
        return HPCBD_NO_REQUEUE;
    case ESLURM_INVALID_JOB_ID:
    case ESLURM_ALREADY_DONE:
        return HPCBD_NO_REQUEUE;
    default:
        return HPCBD_FAILED;
    }
}

/* The comment first: so it is of the run that was ended. */
static hpcbd_outcome_t requeue(uint32_t job_id, const char *text, bool ended)
{
    hpcbd_outcome_t outcome = HPCBD_DONE;
    int told;

    begin();
    told = add_comment(job_id, text);
    if (slurm_requeue(hpcb_job_by_id(job_id), 0))
        outcome = refused(job_id, errno, ended);
    if (told < 0 && outcome == HPCBD_DONE)
        add_comment(job_id, text);
    return outcome;
}

/* On cgroup v1 Slurm does not notice that a node was full: the script was killed, or
 * its last command was. */
static bool was_killed(const slurm_job_info_t *job)
{
    int status = (int)job->exit_code;

    return (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
           (WIFEXITED(status) && WEXITSTATUS(status) == SHELL_SIGNALED + SIGKILL);
}

static hpcbd_outcome_t end_of(const slurm_job_info_t *job, time_t then)
{
    if (job->start_time > then)
        return HPCBD_RUNS_ANEW;
    switch (job->job_state & JOB_STATE_BASE) {
    case JOB_FAILED:
        return was_killed(job) ? HPCBD_DONE : HPCBD_NO_REQUEUE;
    case JOB_OOM:
        return HPCBD_DONE;
    case JOB_RUNNING:
    case JOB_SUSPENDED:
        return HPCBD_NOT_ENDED;
    default:
        return HPCBD_NO_REQUEUE;
    }
}

/* All components of a heterogeneous job, and all tasks of an array, come with it. */
static hpcbd_outcome_t how_it_ended(uint32_t job_id, time_t then)
{
    hpcbd_outcome_t outcome = HPCBD_NO_REQUEUE;
    job_info_msg_t *jobs = NULL;

    begin();
    if (slurm_load_job(&jobs, hpcb_job_by_id(job_id), SHOW_ALL))
        return errno == ESLURM_INVALID_JOB_ID ? HPCBD_NO_REQUEUE : HPCBD_FAILED;
    for (uint32_t i = 0; i < jobs->record_count; i++)
        if (jobs->job_array[i].job_id == job_id)
            outcome = end_of(&jobs->job_array[i], then);
    slurm_free_job_info_msg(jobs);
    return outcome;
}

const hpcbd_slurm_t hpcbd_slurm = {.get = get_comment,
                                   .set = set_comment,
                                   .requeue = requeue,
                                   .how_it_ended = how_it_ended};
