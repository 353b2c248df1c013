/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Policy=, Cpus=, Page=, then a line "PID START" for each rank. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/ranks.h"
#include "common/text.h"

/* Of a line: two numbers, a blank and a newline. */
#define LINE_BYTES 40
#define FILE_BYTES (PATH_MAX + HPCB_BALANCE_TEXT_MAX + 64 + HPCB_RANKS_MAX * LINE_BYTES)

#define SUFFIX "ranks"

static int path_of(char *path, const char *state_dir, uint32_t job_id, const char *step,
                   hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/jobs/%" PRIu32 ".%s." SUFFIX, state_dir, job_id,
                 step) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the state directory's name is too long");
}

int hpcb_ranks_save(const char *state_dir, const hpcb_ranks_t *ranks, hpcb_error_t *err)
{
    char path[PATH_MAX], text[FILE_BYTES];
    size_t used;

    if (path_of(path, state_dir, ranks->job_id, ranks->step, err))
        return -1;
    used =
        (size_t)snprintf(text, sizeof(text), "Policy=%s\nCpus=%" PRIu32 "\nPage=%s\n",
                         ranks->policy, ranks->cpus, ranks->page);
    for (unsigned i = 0; i < ranks->n; i++)
        used += (size_t)snprintf(text + used, sizeof(text) - used, "%d %" PRIu64 "\n",
                                 (int)ranks->task[i].pid, ranks->task[i].start);
    return hpcb_file_replace(path, text, used, 0644, err);
}

/* The value of a line NAME=VALUE, or NULL. */
static const char *value_of(const char *line, const char *name)
{
    size_t length = strlen(name);

    return line && strncmp(line, name, length) == 0 && line[length] == '='
               ? line + length + 1
               : NULL;
}

static int read_head(char **rest, hpcb_ranks_t *ranks)
{
    const char *policy = value_of(strsep(rest, "\n"), "Policy");
    const char *cpus = value_of(strsep(rest, "\n"), "Cpus");
    const char *page = value_of(strsep(rest, "\n"), "Page");
    uint64_t n;

    if (!policy || !cpus || !page || (*page && *page != '/') ||
        hpcb_text_copy(ranks->policy, sizeof(ranks->policy), policy) ||
        hpcb_text_copy(ranks->page, sizeof(ranks->page), page) ||
        hpcb_text_u64(cpus, UINT32_MAX, &n))
        return -1;
    ranks->cpus = (uint32_t)n;
    return 0;
}

static int read_task(char *line, hpcb_ranks_task_t *task)
{
    const char *word = strsep(&line, " ");
    uint64_t pid;

    if (!line || hpcb_text_u64(word, INT32_MAX, &pid) || pid == 0 ||
        hpcb_text_u64(line, UINT64_MAX, &task->start))
        return -1;
    task->pid = (pid_t)pid;
    return 0;
}

int hpcb_ranks_parse(const char *text, size_t length, hpcb_ranks_t *ranks)
{
    char copy[FILE_BYTES];
    char *rest = copy, *line;

    errno = EINVAL;
    if (length == 0 || length >= sizeof(copy) || memchr(text, '\0', length) ||
        text[length - 1] != '\n')
        return -1;
    memcpy(copy, text, length - 1);
    copy[length - 1] = '\0';
    ranks->n = 0;
    if (read_head(&rest, ranks))
        return -1;
    while ((line = strsep(&rest, "\n")))
        if (ranks->n == HPCB_RANKS_MAX || read_task(line, &ranks->task[ranks->n++]))
            return -1;
    return 0;
}

int hpcb_ranks_load(const char *state_dir, uint32_t job_id, const char *step,
                    hpcb_ranks_t *ranks, hpcb_error_t *err)
{
    char path[PATH_MAX], text[FILE_BYTES];
    ssize_t length;

    if (path_of(path, state_dir, job_id, step, err))
        return -1;
    length = hpcb_file_read_trusted(path, text, sizeof(text), err);
    if (length < 0)
        return -1;
    ranks->job_id = job_id;
    if (hpcb_text_copy(ranks->step, sizeof(ranks->step), step) == 0 &&
        hpcb_ranks_parse(text, (size_t)length, ranks) == 0)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "%.300s is damaged", path);
}

int hpcb_ranks_remove(const char *state_dir, uint32_t job_id, const char *step,
                      hpcb_error_t *err)
{
    char path[PATH_MAX];

    if (path_of(path, state_dir, job_id, step, err))
        return -1;
    return unlink(path) == 0 || errno == ENOENT
               ? 0
               : hpcb_error(err, "%.300s: %s", path, strerror(errno));
}

/* <job>.<step>.ranks, cut in place; -1 for any other name. */
static int take_apart(char *name, uint32_t *job_id, const char **step)
{
    uint64_t job, number;
    char *rest = name;
    const char *word = strsep(&rest, ".");

    *step = strsep(&rest, ".");
    if (!rest || strcmp(rest, SUFFIX) != 0 || hpcb_text_u64(word, UINT32_MAX, &job) ||
        job == 0 || hpcb_text_u64(*step, UINT32_MAX, &number))
        return -1;
    *job_id = (uint32_t)job;
    return 0;
}

int hpcb_ranks_each(const char *state_dir, hpcb_ranks_visit_t visit, void *arg,
                    hpcb_error_t *err)
{
    hpcb_autoclosedir DIR *dir = NULL;
    char path[PATH_MAX];
    struct dirent *entry;

    if (snprintf(path, sizeof(path), "%s/jobs", state_dir) >= (int)sizeof(path))
        return hpcb_error(err, "the state directory's name is too long");
    dir = opendir(path);
    if (!dir)
        return errno == ENOENT ? 0 : hpcb_error(err, "%s: %s", path, strerror(errno));
    while ((entry = readdir(dir))) {
        const char *step;
        uint32_t job_id;

        if (take_apart(entry->d_name, &job_id, &step) == 0)
            visit(job_id, step, entry->d_ino, arg);
    }
    return 0;
}
