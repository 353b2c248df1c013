/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cgroup/favour_rows.h"
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/text.h"

int hpcb_favour_open(const hpcb_favour_job_t *job, hpcb_favour_t **favour,
                     hpcb_error_t *err)
{
    hpcb_favour_t *made = calloc(1, sizeof(*made));

    if (!made)
        return hpcb_error(err, "out of memory");
    made->job = *job;
    made->knob = -1;
    if (hpcb_text_copy(made->dir, sizeof(made->dir), job->dir) ||
        hpcb_text_copy(made->cgroup, sizeof(made->cgroup), job->cgroup)) {
        free(made);
        return hpcb_error(err, "%.200s: name too long", job->dir);
    }
    if (hpcb_undo_open(job->state_dir, job->job_id, &made->undo, err) < 0) {
        free(made);
        return -1;
    }
    hpcb_error(&made->why, "no process of the job has been seen yet");
    *favour = made;
    return 0;
}

void hpcb_favour_close(hpcb_favour_t *favour)
{
    if (!favour)
        return;
    hpcb_favour_end(favour, NULL);
    if (favour->row)
        favour->row->close(favour);
    hpcb_undo_close(favour->undo);
    /* The log's content is undone already, and is void without the job. */
    if (favour->job.state_dir)
        hpcb_undo_replay(favour->job.state_dir, favour->job.job_id, NULL);
    free(favour);
}

static void add_threads(hpcb_favour_t *favour, pid_t pid, int priority)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;
    uint64_t start;

    if (hpcb_task_start(pid, &start) < 0 ||
        hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return;
    favour->n_processes++;
    for (size_t i = 0; i < count; i++) {
        if (favour->n_threads == HPCB_FAVOUR_THREADS_MAX) {
            favour->overflow = true;
            return;
        }
        favour->threads[favour->n_threads++] =
            (hpcb_favour_thread_t){tids[i], pid, start, priority};
    }
}

static int add_task(pid_t pid, void *arg)
{
    hpcb_favour_t *favour = arg;

    add_threads(favour, pid, HPCB_FAVOUR_PRIORITY);
    return favour->overflow;
}

static int add_daemon(pid_t pid, void *arg)
{
    hpcb_favour_t *favour = arg;

    add_threads(favour, pid, HPCB_FAVOUR_PRIORITY_DAEMON);
    return favour->overflow;
}

static int list_threads(hpcb_favour_t *favour, hpcb_error_t *err)
{
    favour->n_threads = favour->n_processes = 0;
    favour->overflow = false;
    if (hpcb_steps_busy(favour->job.node, favour->dir, add_task, favour) < 0) {
        if (!hpcb_knob_exists(favour->dir, ""))
            errno = ENOENT;
        return hpcb_error(err, "%s: %s", favour->dir, strerror(errno));
    }
    if (favour->n_threads)
        hpcb_steps_daemons(favour->job.node, favour->dir, add_daemon, favour);
    return 0;
}

static void choose(hpcb_favour_t *favour)
{
    const hpcb_favour_row_t *const rows[] = {&hpcb_favour_fifo, &hpcb_favour_weight};
    const hpcb_window_mechanism_t names[] = {HPCB_WINDOW_FIFO, HPCB_WINDOW_WEIGHT};
    hpcb_error_t why = {""};

    favour->chosen_with = favour->no_fifo;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hpcb_error_t one;

        if (favour->job.wanted != HPCB_WINDOW_AUTO && favour->job.wanted != names[i])
            continue;
        if (rows[i]->probe(favour, favour->threads[0].tid, &one) == 0) {
            favour->row = rows[i];
            break;
        }
        hpcb_error(&why, "%s%s%s: %.200s", why.text, why.text[0] ? "; " : "",
                   rows[i]->name, one.text);
    }
    favour->why = why;
}

/* Give up a mechanism that has turned out not to work, for the next one. */
static void fall_back(hpcb_favour_t *favour, const hpcb_error_t *reason)
{
    const hpcb_favour_row_t *failed = favour->row;

    failed->end(favour, NULL);
    failed->close(favour);
    favour->row = NULL;
    if (failed == &hpcb_favour_fifo && favour->job.wanted == HPCB_WINDOW_AUTO) {
        favour->job.wanted = HPCB_WINDOW_WEIGHT;
        choose(favour);
        if (favour->row && favour->row->look(favour, NULL) < 0)
            favour->row = NULL;
    }
    hpcb_error(&favour->why, "%s: %.300s", failed->name, reason->text);
}

void hpcb_favour_forbid_fifo(hpcb_favour_t *favour, const char *why)
{
    favour->no_fifo = why;
}

/* Choose the mechanism again if fifo was allowed or forbidden since the last choice. */
static void reconsider(hpcb_favour_t *favour)
{
    const hpcb_favour_row_t *row = favour->row;

    if (!row || favour->chosen_with == favour->no_fifo)
        return;
    row->end(favour, NULL);
    row->close(favour);
    favour->row = NULL;
}

static bool listed(const hpcb_favour_t *favour, pid_t tid)
{
    for (size_t i = 0; i < favour->n_threads; i++)
        if (favour->threads[i].tid == tid)
            return true;
    return false;
}

int hpcb_favour_look(hpcb_favour_t *favour, hpcb_error_t *err)
{
    hpcb_favour_thread_t before[HPCB_FAVOUR_THREADS_MAX];
    size_t n_before = favour->favoured ? favour->n_threads : 0;
    hpcb_error_t why;
    int rc;

    memcpy(before, favour->threads, n_before * sizeof(before[0]));
    rc = list_threads(favour, err);
    /* A shell counts only while no step runs; nothing would end its boost later. */
    for (size_t i = 0; i < n_before; i++)
        if (!listed(favour, before[i].tid))
            hpcb_favour_let_down(&before[i]);
    if (rc < 0)
        return -1;
    if (favour->n_threads == 0)
        return 0;
    reconsider(favour);
    if (!favour->row)
        choose(favour);
    if (!favour->row)
        return 0;
    if (favour->row->look(favour, &why) < 0 ||
        (favour->favoured && favour->row->begin(favour, &why) < 0))
        fall_back(favour, &why);
    return 0;
}

int hpcb_favour_begin(hpcb_favour_t *favour, hpcb_error_t *err)
{
    hpcb_error_t why;

    favour->favoured = true;
    if (!favour->row || favour->row->begin(favour, &why) == 0)
        return 0;
    fall_back(favour, &why);
    if (favour->row && favour->row->begin(favour, &why) == 0)
        return 0;
    return hpcb_error(err, "%s", why.text);
}

int hpcb_favour_end(hpcb_favour_t *favour, hpcb_error_t *err)
{
    favour->favoured = false;
    return favour->row ? favour->row->end(favour, err) : 0;
}

const char *hpcb_favour_mechanism(const hpcb_favour_t *favour)
{
    return favour->row ? favour->row->name : "none";
}

const char *hpcb_favour_why(const hpcb_favour_t *favour)
{
    return favour->why.text;
}

size_t hpcb_favour_threads(const hpcb_favour_t *favour)
{
    return favour->n_threads;
}

int hpcb_favour_release(const hpcb_node_t *node, const char *state_dir,
                        const char *cgroup, hpcb_error_t *err)
{
    /* Threads first, because a spinning FIFO rank delays the others. */
    int fifo = hpcb_favour_fifo_release(node, err);
    int logs = hpcb_undo_replay_all(state_dir, fifo < 0 ? NULL : err);
    int weight =
        hpcb_favour_weight_release(node, cgroup, fifo < 0 || logs < 0 ? NULL : err);

    return fifo < 0 || logs < 0 || weight < 0 ? -1 : fifo + logs + weight;
}
