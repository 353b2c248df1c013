/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A line begins with a newline and ends with "end", as those of common/state.c. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/file.h"
#include "common/tasks.h"
#include "common/text.h"

/* Of a line: two newlines, a step, three numbers, the end. */
#define LINE_BYTES 96
#define FILE_BYTES (HPCB_TASKS_MAX * LINE_BYTES)

static int path_of(char *path, const char *state_dir, uint32_t job_id,
                   hpcb_error_t *err)
{
    if (snprintf(path, PATH_MAX, "%s/jobs/%" PRIu32 ".tasks", state_dir, job_id) <
        PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return hpcb_error(err, "the state directory's name is too long");
}

int hpcb_tasks_add(const char *state_dir, uint32_t job_id,
                   const hpcb_task_usage_t *tasks, size_t count, hpcb_error_t *err)
{
    char path[PATH_MAX], text[FILE_BYTES] = "";
    struct stat st = {.st_size = 0};
    size_t used = 0;

    if (path_of(path, state_dir, job_id, err))
        return -1;
    (void)lstat(path, &st);
    for (size_t i = 0; i < count; i++) {
        char line[LINE_BYTES];
        size_t length = (size_t)snprintf(
            line, sizeof(line), "\n%s %" PRIu32 " %" PRIu64 " %" PRIu64 " end\n",
            tasks[i].step, tasks[i].task, tasks[i].cpu_us, tasks[i].run_delay_us);

        if ((size_t)st.st_size + used + length >= sizeof(text))
            break;
        memcpy(text + used, line, length + 1);
        used += length;
    }
    return used ? hpcb_file_append(path, text, 0644, err) : 0;
}

/* The next word of *rest as a number. */
static int take_number(char **rest, uint64_t max, uint64_t *value)
{
    const char *word = strsep(rest, " ");

    return word ? hpcb_text_u64(word, max, value) : -1;
}

static int read_line(char *line, hpcb_task_usage_t *task)
{
    hpcb_task_usage_t read = {.task = 0};
    const char *step = strsep(&line, " ");
    uint64_t rank;

    if (!hpcb_text_is_name(step, sizeof(read.step)) ||
        hpcb_text_copy(read.step, sizeof(read.step), step) ||
        take_number(&line, UINT32_MAX, &rank) ||
        take_number(&line, UINT64_MAX, &read.cpu_us) ||
        take_number(&line, UINT64_MAX, &read.run_delay_us) || !line ||
        strcmp(line, "end") != 0)
        return -1;
    read.task = (uint32_t)rank;
    *task = read;
    return 0;
}

size_t hpcb_tasks_load(const char *state_dir, uint32_t job_id,
                       hpcb_task_usage_t tasks[static HPCB_TASKS_MAX])
{
    char path[PATH_MAX], text[FILE_BYTES + 1];
    char *rest = text, *line;
    size_t count = 0;

    if (path_of(path, state_dir, job_id, NULL) ||
        hpcb_file_read_trusted(path, text, sizeof(text), NULL) < 0)
        return 0;
    while (count < HPCB_TASKS_MAX && (line = strsep(&rest, "\n")))
        count += read_line(line, &tasks[count]) == 0;
    return count;
}
