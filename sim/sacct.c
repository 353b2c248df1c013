/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * sacct --parsable2: names in the first line, then a line for each job and, if the
 * export has them, its steps, from which memory comes (sacct keeps MaxRSS with steps
 * only).
 *
 *   sacct -a -P -S 2026-01-01 -o JobIDRaw,Submit,Start,ElapsedRaw,AllocCPUS,State,\
 *       TotalCPU,TimelimitRaw,ReqMem,NNodes,MaxRSS,NTasks
 *
 * Times may be in seconds (SLURM_TIME_FORMAT=%s) or as sacct prints them; these are
 * taken as they stand, so that an hour is missing or doubled when clocks change.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/error.h"
#include "sim/history.h"
#include "sim/moment.h"

#define FIELDS_MAX 256
#define MOST       1e15

enum {
    JOB,
    SUBMIT,
    ELAPSED,
    CPUS,
    STATE,
    CPU_TIME,
    LIMIT,
    MEMORY_ASKED,
    NODES,
    MEMORY_USED,
    TASKS,
    START,
    COLUMNS
};

/* The names of each column, the best first; ^: in seconds or minutes, as a number. */
static const struct {
    const char *names[3];
    bool needed;
} columns[COLUMNS] = {
    [JOB] = {{"JobIDRaw", "JobID"}, true},
    [SUBMIT] = {{"Submit"}, true},
    [ELAPSED] = {{"ElapsedRaw", "Elapsed"}, true},
    [CPUS] = {{"AllocCPUS", "NCPUS"}, true},
    [STATE] = {{"State"}, false},
    [CPU_TIME] = {{"TotalCPU"}, false},
    [LIMIT] = {{"TimelimitRaw", "Timelimit"}, false},
    [MEMORY_ASKED] = {{"ReqMem"}, false},
    [NODES] = {{"NNodes", "AllocNodes"}, false},
    [MEMORY_USED] = {{"MaxRSS"}, false},
    [TASKS] = {{"NTasks"}, false},
    [START] = {{"Start"}, false},
};

typedef struct {
    int at[COLUMNS]; /* field number; -1: not there */
    bool minutes;    /* the limit is TimelimitRaw */
    int fields;
    bool open; /* job has one to which the next lines may add steps */
    hpcb_sim_past_t job;
} reader_t;

static int split(char *line, char *field[FIELDS_MAX])
{
    int n = 0;

    line[strcspn(line, "\r\n")] = '\0';
    while (n < FIELDS_MAX) {
        char *bar = strchr(line, '|');

        field[n++] = line;
        if (!bar)
            return n;
        *bar = '\0';
        line = bar + 1;
    }
    return FIELDS_MAX + 1;
}

static int find(char *field[], int n, const char *name)
{
    for (int i = 0; i < n; i++)
        if (strcasecmp(field[i], name) == 0)
            return i;
    return -1;
}

static int read_names(char *line, reader_t *reader, hpcb_error_t *err)
{
    char *field[FIELDS_MAX];
    int n = split(line, field);

    if (n > FIELDS_MAX)
        return hpcb_error(err, "line 1: more than %d columns", FIELDS_MAX);
    for (unsigned i = 0; i < COLUMNS; i++) {
        reader->at[i] = -1;
        for (unsigned j = 0; j < 3 && columns[i].names[j] && reader->at[i] < 0; j++) {
            reader->at[i] = find(field, n, columns[i].names[j]);
            if (i == LIMIT && reader->at[i] >= 0)
                reader->minutes = j == 0;
        }
        if (columns[i].needed && reader->at[i] < 0)
            return hpcb_error(err,
                              "line 1: no column %s: not what sacct --parsable2 prints "
                              "with -o %s,...",
                              columns[i].names[0], columns[i].names[0]);
    }
    reader->fields = n;
    return 0;
}

/* [DAYS-][[HOURS:]MINUTES:]SECONDS, or a number of seconds. */
static bool duration(const char *text, double *seconds)
{
    double days = 0, part = 0, sum = 0;
    const char *dash = strchr(text, '-');
    char copy[64];
    char *save = NULL;

    if (strlen(text) >= sizeof(copy))
        return false;
    if (dash > text) {
        snprintf(copy, sizeof(copy), "%.*s", (int)(dash - text), text);
        if (!hpcb_sim_decimal(copy, &days))
            return false;
        text = dash + 1;
    }
    snprintf(copy, sizeof(copy), "%s", text);
    if (!*copy)
        return false;
    for (char *word = strtok_r(copy, ":", &save); word;
         word = strtok_r(NULL, ":", &save)) {
        if (!hpcb_sim_decimal(word, &part))
            return false;
        sum = sum * 60 + part;
    }
    *seconds = sum + days * 86400;
    return true;
}

/* "4G", "512Mn" (a node), "2Gc" (a CPU): KiB; unit: the letter behind, or 0. */
static bool size(const char *text, double *kib, char *unit)
{
    static const char units[] = "KMGTP";
    char digits[32];
    size_t n = strspn(text, ".0123456789");
    const char *found;

    if (n == 0 || n >= sizeof(digits))
        return false;
    snprintf(digits, sizeof(digits), "%.*s", (int)n, text);
    if (!hpcb_sim_decimal(digits, kib))
        return false;
    text += n;
    found = *text ? strchr(units, *text) : NULL;
    if (found) {
        for (const char *at = units; at < found; at++)
            *kib *= 1024;
        text++;
    } else {
        *kib /= 1024;
    }
    *unit = *text;
    return (*text == '\0' || ((*text == 'n' || *text == 'c') && !text[1])) &&
           *kib < MOST;
}

/* A field, or "" if the export has no such column. */
static const char *get_field(const reader_t *reader, char *field[], unsigned column)
{
    return reader->at[column] < 0 ? "" : field[reader->at[column]];
}

static int flush(reader_t *reader, hpcb_sim_history_t *history, hpcb_error_t *err)
{
    if (!reader->open)
        return 0;
    reader->open = false;
    return hpcb_sim_history_add(history, &reader->job, err);
}

static int refuse(hpcb_sim_history_t *history, hpcb_sim_reason_t reason,
                  unsigned column, const char *value)
{
    char text[64];

    snprintf(text, sizeof(text), "%s is '%.30s'", columns[column].names[0], value);
    hpcb_sim_pass_over(history, reason, text);
    return 0;
}

static int64_t memory_asked(const reader_t *reader, char *field[], double cpus)
{
    double kib, nodes = 1;
    char unit;

    if (!size(get_field(reader, field, MEMORY_ASKED), &kib, &unit) || kib <= 0)
        return HPCB_SIM_UNKNOWN;
    if (unit == 'n' &&
        (!hpcb_sim_decimal(get_field(reader, field, NODES), &nodes) || nodes < 1))
        nodes = 1;
    kib *= unit == 'c' ? cpus : unit == 'n' ? nodes : 1;
    return kib < MOST ? (int64_t)kib : HPCB_SIM_UNKNOWN;
}

static int64_t memory_used(const reader_t *reader, char *field[])
{
    double kib, tasks;
    char unit;

    if (!size(get_field(reader, field, MEMORY_USED), &kib, &unit) || kib <= 0)
        return HPCB_SIM_UNKNOWN;
    if (!hpcb_sim_decimal(get_field(reader, field, TASKS), &tasks) || tasks < 1)
        tasks = 1;
    return kib * tasks < MOST ? (int64_t)(kib * tasks) : HPCB_SIM_UNKNOWN;
}

static void fill(const reader_t *reader, char *field[], double submit, double run,
                 double cpus, hpcb_sim_past_t *job)
{
    const char *limit = get_field(reader, field, LIMIT);
    double value;

    *job = (hpcb_sim_past_t){
        .submit = (int64_t)submit,
        .begin = HPCB_SIM_UNKNOWN,
        .run = (int64_t)run,
        .limit = HPCB_SIM_UNKNOWN,
        .memory_asked = memory_asked(reader, field, cpus),
        .memory_used = memory_used(reader, field),
        .cpus = (uint32_t)cpus,
        .load = HPCB_SIM_UNKNOWN,
    };
    if (hpcb_sim_moment(get_field(reader, field, START), &value) && value >= submit &&
        value <= (double)HPCB_SIM_TIME_MAX)
        job->begin = (int64_t)value;
    if (reader->minutes ? hpcb_sim_decimal(limit, &value) : duration(limit, &value)) {
        value *= reader->minutes ? 60 : 1;
        if (value > 0 && value < (double)HPCB_SIM_RUN_MAX)
            job->limit = (int64_t)value;
    }
    /* 0: accounting gathered nothing. */
    if (duration(get_field(reader, field, CPU_TIME), &value) && value > 0)
        job->load = (float)(value < cpus * run ? value / (cpus * run) : 1);
}

static int take_job(reader_t *reader, char *field[], hpcb_sim_history_t *history,
                    hpcb_error_t *err)
{
    static const char *const going[] = {"PENDING", "RUNNING", "SUSPENDED", "REQUEUED"};
    const char *state = get_field(reader, field, STATE);
    double submit, run, cpus;

    if (flush(reader, history, err) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(going) / sizeof(going[0]); i++)
        if (strcmp(state, going[i]) == 0)
            return refuse(history, HPCB_SIM_NOT_ENDED, STATE, state);
    if (!hpcb_sim_moment(get_field(reader, field, SUBMIT), &submit))
        return refuse(history, HPCB_SIM_NO_NUMBER, SUBMIT,
                      get_field(reader, field, SUBMIT));
    if (!duration(get_field(reader, field, ELAPSED), &run))
        return refuse(history, HPCB_SIM_NO_NUMBER, ELAPSED,
                      get_field(reader, field, ELAPSED));
    if (!hpcb_sim_decimal(get_field(reader, field, CPUS), &cpus))
        return refuse(history, HPCB_SIM_NO_NUMBER, CPUS,
                      get_field(reader, field, CPUS));
    if (submit < 0 || submit > (double)HPCB_SIM_TIME_MAX)
        return refuse(history, HPCB_SIM_NEGATIVE, SUBMIT,
                      get_field(reader, field, SUBMIT));
    if (run < 0 || run > (double)HPCB_SIM_RUN_MAX)
        return refuse(history, HPCB_SIM_NEGATIVE, ELAPSED,
                      get_field(reader, field, ELAPSED));
    if (cpus < 0 || cpus > HPCB_SIM_CPUS_MAX)
        return refuse(history, HPCB_SIM_NEGATIVE, CPUS, get_field(reader, field, CPUS));
    if (run < 1 || cpus < 1)
        return refuse(history, HPCB_SIM_DID_NOT_RUN, run < 1 ? ELAPSED : CPUS, "0");
    fill(reader, field, submit, run, cpus, &reader->job);
    reader->open = true;
    return 0;
}

static int take_line(char *line, reader_t *reader, hpcb_sim_history_t *history,
                     hpcb_error_t *err)
{
    char *field[FIELDS_MAX];
    char text[64];
    int n;

    if (strchr("\r\n", *line))
        return 0;
    n = split(line, field);
    if (n != reader->fields) {
        snprintf(text, sizeof(text), "%d fields instead of %d", n, reader->fields);
        hpcb_sim_pass_over(history, HPCB_SIM_CUT, text);
        return 0;
    }
    if (strchr(get_field(reader, field, JOB), '.')) {
        int64_t used = memory_used(reader, field);

        if (reader->open && used > reader->job.memory_used)
            reader->job.memory_used = used;
        return 0;
    }
    return take_job(reader, field, history, err);
}

int hpcb_sim_read_sacct(FILE *stream, hpcb_sim_history_t *history, hpcb_error_t *err)
{
    hpcb_autofree char *line = NULL;
    size_t room = 0;
    reader_t reader = {0};

    while (getline(&line, &room, stream) >= 0) {
        history->lines++;
        if ((history->lines == 1 ? read_names(line, &reader, err)
                                 : take_line(line, &reader, history, err)) < 0)
            return -1;
    }
    if (ferror(stream))
        return hpcb_error(err, "%s", strerror(errno));
    return flush(&reader, history, err);
}
