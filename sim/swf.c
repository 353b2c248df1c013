/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The Standard Workload Format (Feitelson's Parallel Workloads Archive): 18 numbers a
 * line, -1 for what is not known, comments behind a semicolon.  The CPU time (field 6)
 * and both memories (7 and 10, KiB) are those of one processor.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "sim/history.h"

#define FIELDS 18
#define MOST   1e18
#define LARGE  1e15 /* KiB */

enum {
    JOB,
    SUBMIT,
    WAIT,
    RUN,
    CPUS,
    CPU_TIME,
    MEMORY,
    CPUS_ASKED,
    TIME_ASKED,
    MEMORY_ASKED,
    STATUS
};

/* The fields of a line: how many there are (at most FIELDS + 1), or -1 with *bad at
 * what is no number. */
static int split(char *line, double field[FIELDS], const char **bad)
{
    int n = 0;
    char *save = NULL;

    for (char *word = strtok_r(line, " \t\r\n", &save); word;
         word = strtok_r(NULL, " \t\r\n", &save)) {
        char *end;

        if (n == FIELDS)
            return FIELDS + 1;
        field[n] = strtod(word, &end);
        if (*end || !(field[n] > -MOST && field[n] < MOST) ||
            strspn(word, "+-.0123456789eE") != strlen(word)) {
            *bad = word;
            return -1;
        }
        n++;
    }
    return n;
}

/* Of n cpus together, or unknown. */
static int64_t times(double each, double n)
{
    return each < 0 || each * n > LARGE ? HPCB_SIM_UNKNOWN : (int64_t)(each * n);
}

static int take_job(const double field[FIELDS], hpcb_sim_history_t *history,
                    hpcb_error_t *err)
{
    double cpus = field[CPUS] > 0 ? field[CPUS] : field[CPUS_ASKED];
    hpcb_sim_past_t job;

    if (field[RUN] == -1 || field[RUN] == 0 || cpus == -1 || (cpus >= 0 && cpus < 1)) {
        hpcb_sim_pass_over(history, HPCB_SIM_DID_NOT_RUN, "no running time or no CPUs");
        return 0;
    }
    if (field[SUBMIT] < 0 || field[RUN] < 0 || cpus < 0 ||
        field[SUBMIT] > (double)HPCB_SIM_TIME_MAX ||
        field[RUN] > (double)HPCB_SIM_RUN_MAX || cpus > HPCB_SIM_CPUS_MAX) {
        hpcb_sim_pass_over(
            history, HPCB_SIM_NEGATIVE,
            "submission, running time or CPUs below 0 or beyond all sense");
        return 0;
    }
    job = (hpcb_sim_past_t){
        .submit = (int64_t)field[SUBMIT],
        .begin = field[WAIT] >= 0 && field[WAIT] < (double)HPCB_SIM_RUN_MAX
                     ? (int64_t)(field[SUBMIT] + field[WAIT])
                     : HPCB_SIM_UNKNOWN,
        .run = field[RUN] < 1 ? 1 : (int64_t)field[RUN],
        .limit = field[TIME_ASKED] > 0 && field[TIME_ASKED] < (double)HPCB_SIM_RUN_MAX
                     ? (int64_t)field[TIME_ASKED]
                     : HPCB_SIM_UNKNOWN,
        .memory_asked = field[MEMORY_ASKED] == 0 ? HPCB_SIM_UNKNOWN
                                                 : times(field[MEMORY_ASKED], cpus),
        .memory_used =
            field[MEMORY] == 0 ? HPCB_SIM_UNKNOWN : times(field[MEMORY], cpus),
        .cpus = (uint32_t)cpus,
        .load = HPCB_SIM_UNKNOWN,
    };
    if (field[CPU_TIME] >= 0)
        job.load =
            (float)(field[CPU_TIME] < field[RUN] ? field[CPU_TIME] / field[RUN] : 1);
    return hpcb_sim_history_add(history, &job, err);
}

static int take_line(char *line, hpcb_sim_history_t *history, hpcb_error_t *err)
{
    double field[FIELDS] = {0};
    const char *bad = NULL;
    char text[64];
    int n;

    line += strspn(line, " \t");
    if (*line == ';' || strchr("\r\n", *line))
        return 0;
    n = split(line, field, &bad);
    if (n == FIELDS)
        return take_job(field, history, err);
    if (n < 0) {
        snprintf(text, sizeof(text), "'%.40s' is no number", bad);
        hpcb_sim_pass_over(history, HPCB_SIM_NO_NUMBER, text);
    } else {
        snprintf(text, sizeof(text), "%d%s fields instead of %d", n,
                 n > FIELDS ? " or more" : "", FIELDS);
        hpcb_sim_pass_over(history, HPCB_SIM_CUT, text);
    }
    return 0;
}

int hpcb_sim_read_swf(FILE *stream, hpcb_sim_history_t *history, hpcb_error_t *err)
{
    hpcb_autofree char *line = NULL;
    size_t room = 0;

    while (getline(&line, &room, stream) >= 0) {
        history->lines++;
        if (take_line(line, history, err) < 0)
            return -1;
    }
    return ferror(stream) ? hpcb_error(err, "%s", strerror(errno)) : 0;
}
