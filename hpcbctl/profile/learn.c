/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * profile learn: add records of jobs (doc/record.md) to the profile store.
 *
 * A file has one record per line: those of the collector, one for a run of a job, or a
 * node's own, of which those of one run are averaged.  All lines are read, sorted by
 * run and combined to runs; these are added in the order in which they first occurred,
 * because the latest run of a profile has the largest weight.  A line that is not a
 * record is reported, and the others count.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbctl/output.h"
#include "hpcbctl/profile/profile.h"
#include "hpcbctl/profile/records.h"

typedef struct {
    hpcb_job_line_t line;
    hpcb_profile_key_t key;
    size_t place; /* in the order of reading */
} entry_t;

typedef struct {
    const hpcb_ctl_t *ctl;
    bool by_user;
    uint32_t uid;     /* of --user: records of others are passed over */
    entry_t *entries; /* records; at the end one a run */
    size_t count, room;
    size_t records, refused;
} learn_t;

/* ---- Reading ---- */

static int add_entry(learn_t *learn, const entry_t *entry, hpcb_error_t *err)
{
    if (learn->count == learn->room) {
        size_t room = learn->room ? 2 * learn->room : 64;
        entry_t *larger = reallocarray(learn->entries, room, sizeof(*larger));

        if (!larger)
            return hpcb_error(err, "out of memory");
        learn->entries = larger;
        learn->room = room;
    }
    learn->entries[learn->count] = *entry;
    learn->entries[learn->count].place = learn->count;
    learn->count++;
    return 0;
}

static int read_line(learn_t *learn, const char *text, hpcb_error_t *err)
{
    const hpcb_ctl_t *ctl = learn->ctl;
    entry_t entry;
    const char *name, *executable;

    if (hpcb_job_line_read(text, &entry.line, err))
        return -1;
    if (learn->by_user && entry.line.uid != learn->uid)
        return 0;
    name = ctl->name ? ctl->name : entry.line.name;
    executable = ctl->executable ? ctl->executable : entry.line.executable;
    if (!*name)
        return hpcb_error(err, "it holds no job_name: give --name");
    if (hpcb_profile_key(entry.line.uid, name, executable, &entry.key))
        return hpcb_error(err, "names of jobs and executables: 1 to 255 bytes");
    learn->records++;
    return add_entry(learn, &entry, err);
}

static void refuse(learn_t *learn, const char *path, size_t number,
                   const hpcb_error_t *why)
{
    hpcb_error_t line;

    hpcb_error(&line, "profile learn: %.200s, line %zu: %s", path, number, why->text);
    hpcb_log(HPCB_LOG_ERROR, "%s", line.text);
    learn->refused++;
}

/* The collector may be writing the last line at this moment. */
static bool is_unfinished(const char *text, ssize_t length, size_t number)
{
    return number > 1 && text[length - 1] != '\n';
}

static void read_stream(learn_t *learn, const char *path, FILE *file)
{
    hpcb_autofree char *text = NULL;
    size_t size = 0, number = 0;
    ssize_t length;
    hpcb_error_t err;

    while ((length = getline(&text, &size, file)) > 0) {
        number++;
        if (text[0] != '\n' && !is_unfinished(text, length, number) &&
            read_line(learn, text, &err))
            refuse(learn, path, number, &err);
    }
    if (ferror(file)) {
        hpcb_error(&err, "it cannot be read");
        refuse(learn, path, number + 1, &err);
    }
}

static void read_file(learn_t *learn, const char *path)
{
    hpcb_error_t err;
    int fd = hpcb_file_open_trusted(path, &err);
    hpcb_autofclose FILE *file = fd < 0 ? NULL : fdopen(fd, "r");

    if (file) {
        read_stream(learn, path, file);
        return;
    }
    if (fd >= 0)
        hpcb_error(&err, "out of memory");
    hpcb_log(HPCB_LOG_ERROR, "profile learn: %s", err.text);
    learn->refused++;
}

/* ---- One run each ---- */

static int by_number(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* 0 for records of one run. */
static int by_run(const entry_t *a, const entry_t *b)
{
    int order = by_number(a->line.job_id, b->line.job_id);

    if (order == 0)
        order = by_number(a->line.submit, b->line.submit);
    if (order == 0)
        order = by_number(a->line.restart, b->line.restart);
    if (order == 0)
        order = strcmp(a->line.cluster, b->line.cluster);
    if (order == 0)
        order = by_number(a->key.uid, b->key.uid);
    if (order == 0)
        order = strcmp(a->key.name, b->key.name);
    return order ? order : strcmp(a->key.executable, b->key.executable);
}

/* Within a run, the collector's come last. */
static int by_run_and_place(const void *a, const void *b)
{
    const entry_t *one = a, *other = b;
    int order = by_run(one, other);

    if (order == 0)
        order = by_number(one->line.whole, other->line.whole);
    return order ? order : by_number(one->place, other->place);
}

static int by_place(const void *a, const void *b)
{
    return by_number(((const entry_t *)a)->place, ((const entry_t *)b)->place);
}

/* Memory must be enough on each node, hence the largest. */
static void merge_axis(hpcb_job_line_t *run, hpcb_profile_axis_t axis,
                       const entry_t *entries, size_t count)
{
    double sum = 0, most = 0;
    size_t known = 0;

    for (size_t i = 0; i < count; i++) {
        double value = entries[i].line.known[axis] ? entries[i].line.value[axis] : 0;

        sum += value;
        most = value > most ? value : most;
        known += entries[i].line.known[axis];
    }
    run->known[axis] = known > 0;
    run->value[axis] = known > 0 ? sum / (double)known : 0;
    if (axis == HPCB_PROFILE_PEAK)
        run->value[axis] = most;
}

/* Records of one run: the collector's last one, or else the mean over the nodes. */
static entry_t merged(const entry_t *entries, size_t count)
{
    entry_t run = entries[count - 1];

    run.place = entries[0].place;
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES && !run.line.whole; axis++)
        merge_axis(&run.line, axis, entries, count);
    return run;
}

static void make_runs(learn_t *learn)
{
    size_t runs = 0;

    if (learn->count == 0)
        return;
    qsort(learn->entries, learn->count, sizeof(entry_t), by_run_and_place);
    for (size_t first = 0, next; first < learn->count; first = next) {
        const entry_t *entries = &learn->entries[first];

        for (next = first + 1; next < learn->count; next++)
            if (by_run(entries, &learn->entries[next]))
                break;
        learn->entries[runs++] = merged(entries, next - first);
    }
    learn->count = runs;
    qsort(learn->entries, runs, sizeof(entry_t), by_place);
}

/* ---- Learning ---- */

static hpcb_profile_run_t run_of(const hpcb_job_line_t *line)
{
    hpcb_profile_run_t run = {.known = {false}};

    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++) {
        double most = (double)hpcb_profile_axis_max(axis);
        double value = line->value[axis];

        if (!line->known[axis])
            continue;
        if (axis == HPCB_PROFILE_CPU)
            value *= HPCB_PROFILE_ONE;
        run.known[axis] = true;
        run.value[axis] = (uint64_t)(value < most ? value : most);
    }
    return run;
}

static int fold(hpcb_profiles_t *store, void *arg, hpcb_error_t *err)
{
    const learn_t *learn = arg;
    uint64_t now = (uint64_t)time(NULL);

    for (size_t i = 0; i < learn->count; i++) {
        hpcb_profile_run_t run = run_of(&learn->entries[i].line);

        if (hpcb_profiles_learn(store, &learn->entries[i].key, &run, now, err))
            return -1;
    }
    return 0;
}

static size_t runs_with(const learn_t *learn, hpcb_profile_axis_t axis)
{
    size_t runs = 0;

    for (size_t i = 0; i < learn->count; i++)
        runs += learn->entries[i].line.known[axis];
    return runs;
}

/* Without counters nothing is learned for the placement of guests, which the user
 * should know. */
static int print(const learn_t *learn)
{
    size_t mem = runs_with(learn, HPCB_PROFILE_MEM);
    size_t net = runs_with(learn, HPCB_PROFILE_NET);
    size_t cpu = runs_with(learn, HPCB_PROFILE_CPU);
    size_t peak = runs_with(learn, HPCB_PROFILE_PEAK);

    if (learn->ctl->json)
        printf("{\"records\": %zu, \"runs\": %zu, \"refused\": %zu, "
               "\"with_mem\": %zu, \"with_net\": %zu, \"with_cpu\": %zu, "
               "\"with_peak\": %zu}\n",
               learn->records, learn->count, learn->refused, mem, net, cpu, peak);
    else
        printf("%zu records, %zu runs learned: memory of %zu, network of %zu, CPU of "
               "%zu, peak memory of %zu\n",
               learn->records, learn->count, mem, net, cpu, peak);
    if (!learn->ctl->json && learn->count > 0 && mem == 0 && net == 0)
        printf("No record says what bytes its job moved: bandwidths come from "
               "--bw-profile and \"hpcbctl profile set\" alone here.\n");
    return fflush(stdout);
}

/* Returns 0, or 1 after a line. */
static int learn_all(learn_t *learn, const char *store)
{
    hpcb_error_t err;

    for (int i = 0; i < learn->ctl->n_operands; i++)
        read_file(learn, learn->ctl->operands[i]);
    make_runs(learn);
    if (learn->count > 0 && hpcb_profiles_update(store, fold, learn, &err)) {
        hpcb_log(HPCB_LOG_ERROR, "profile learn: %s", err.text);
        return 1;
    }
    return print(learn) || learn->refused > 0;
}

int hpcb_profile_learn(const hpcb_ctl_t *ctl)
{
    learn_t learn = {.ctl = ctl, .by_user = ctl->user != NULL};
    char store[PATH_MAX];
    int rc;

    if (ctl->n_operands == 0)
        return hpcb_profile_usage("learn", "give the records to learn from");
    if (hpcb_profile_path(ctl, store) ||
        (ctl->user && hpcb_profile_uid(ctl->user, &learn.uid)))
        return 1;
    rc = learn_all(&learn, store);
    free(learn.entries);
    return rc;
}
