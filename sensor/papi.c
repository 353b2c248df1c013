/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * From the counters of the hardware, through PAPI: bytes between caches and main memory
 * (paper 002, section 5.2: cache lines that go over the bus, times their size), and
 * instructions.
 *
 * Counters of cores follow a job's threads and all that these create, so the figure is
 * the job's.  They count the lines that a core's own reads bring in: what prefetchers
 * and network cards bring, and lines that are written back, is missing.  Counters of
 * memory controllers have all of it, but for all jobs of the node together.
 *
 * The first row of a table whose events can all be opened is used.  Names are those of
 * the vendors, as libpfm writes them:
 *   Intel SDM, volume 3, architectural event 2EH/41H; uncore reference manuals,
 *   UNC_M_CAS_COUNT (64 bytes each); AMD processor programming references, family 17h
 *   PMCx043 and 19h PMCx044; Arm Architecture Reference Manual, common events 0x0037
 * and 0x002A.
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "policy/cpus.h"
#include "sensor/counters.h"
#include "sensor/papi.h"
#include "sensor/rows.h"
#include "sensor/stat.h"
#include "sensor/threads.h"

#define LINE        64
#define THREADS_MAX 4096 /* of one job */
#define EVENT_MAX   96
#define SOCKETS_MAX 16

const hpcb_papi_row_t hpcb_papi_cores[] = {
    {"AMD family 19h",
     {"ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_NEAR",
      "ANY_DATA_CACHE_FILLS_FROM_SYSTEM:DRAM_IO_FAR"},
     LINE},
    {"AMD family 17h",
     {"DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_LCL_DRAM",
      "DATA_CACHE_REFILLS_FROM_SYSTEM:LS_MABRESP_RMT_DRAM"},
     LINE},
    {"Intel", {"LONGEST_LAT_CACHE:MISS"}, LINE},
    {"Arm", {"LL_CACHE_MISS_RD"}, LINE},
    {"Arm, older cores", {"L3D_CACHE_REFILL"}, LINE},
    {NULL, {NULL}, 0},
};

/* Of any vendor.  PAPI counts them in user mode. */
const hpcb_papi_row_t hpcb_papi_instructions[] = {
    {"PAPI", {"PAPI_TOT_INS"}, 1},
    {"Linux", {"perf::INSTRUCTIONS"}, 1},
    {NULL, {NULL}, 0},
};

/* Prefixes of the units' names; a number and the event follow. */
const hpcb_papi_row_t hpcb_papi_sockets[] = {
    {"spr_unc_imc", {"UNC_M_CAS_COUNT:RD", "UNC_M_CAS_COUNT:WR"}, LINE},
    {"icx_unc_imc", {"UNC_M_CAS_COUNT:RD", "UNC_M_CAS_COUNT:WR"}, LINE},
    {"skx_unc_imc", {"UNC_M_CAS_COUNT:RD", "UNC_M_CAS_COUNT:WR"}, LINE},
    {"bdx_unc_imc", {"UNC_M_CAS_COUNT:RD", "UNC_M_CAS_COUNT:WR"}, LINE},
    {"hswep_unc_imc", {"UNC_M_CAS_COUNT:RD", "UNC_M_CAS_COUNT:WR"}, LINE},
    {"ivbep_unc_imc", {"UNC_M_CAS_COUNT:RD", "UNC_M_CAS_COUNT:WR"}, LINE},
    {"snbep_unc_imc", {"UNC_M_CAS_COUNT:RD", "UNC_M_CAS_COUNT:WR"}, LINE},
    {NULL, {NULL}, 0},
};

static size_t events_of(const hpcb_papi_row_t *row)
{
    size_t n = 0;

    while (n < HPCB_PAPI_EVENTS && row->event[n])
        n++;
    return n;
}

/* Sum of all counters of a set, each of so many units. */
static int add_set(int set, size_t n, unsigned units, uint64_t *sum, hpcb_error_t *err)
{
    long long values[HPCB_COUNTERS_MAX];

    if (hpcb_counters()->read(set, values, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        if (values[i] < 0) {
            errno = ERANGE;
            return hpcb_error(err, "a counter says %lld", values[i]);
        }
        *sum += (uint64_t)values[i] * units;
    }
    return 0;
}

/* Cores */

/* The first row of which all events count on the calling thread. */
static const hpcb_papi_row_t *core_row(const hpcb_papi_row_t *table, hpcb_error_t *err)
{
    hpcb_error_t last = {""};

    if (hpcb_counters()->start(err) < 0)
        return NULL;
    for (const hpcb_papi_row_t *row = table; row->name; row++) {
        int set = hpcb_counters()->open(row->event, events_of(row), gettid(), &last);

        if (set >= 0) {
            hpcb_counters()->close(set);
            return row;
        }
    }
    hpcb_error(err, "this CPU's cores do not count it: %.300s", last.text);
    return NULL;
}

/* A thread that a group had when it was attached, and all that it has created since. */
typedef struct {
    int id;
    size_t group;
} core_set_t;

/* Its threads are attached.  ino 0: the place is free. */
typedef struct {
    ino_t ino;
    bool busy; /* it still has threads */
} core_group_t;

typedef struct {
    const hpcb_papi_row_t *row;
    hpcb_figure_t figure;
    uint64_t ended; /* counts of groups that have no threads any more */
    size_t n_sets, n_groups, entered;
    core_set_t sets[THREADS_MAX];
    core_group_t groups[THREADS_MAX];
} cores_t;

static int probe_table(const hpcb_node_t *node, const hpcb_papi_row_t *table,
                       hpcb_error_t *err)
{
    if (!hpcb_node_mount(node, HPCB_CTL_UNIFIED))
        return hpcb_error(err, "no cgroup2 hierarchy is mounted");
    return core_row(table, err) ? 0 : -1;
}

static int probe_cores(const hpcb_node_t *node, hpcb_error_t *err)
{
    return probe_table(node, hpcb_papi_cores, err);
}

static int probe_instructions(const hpcb_node_t *node, hpcb_error_t *err)
{
    return probe_table(node, hpcb_papi_instructions, err);
}

/* The place of a group, or of ino 0 a free one; THREADS_MAX: there is none. */
static size_t place_of(cores_t *cores, ino_t ino)
{
    for (size_t i = 0; i < cores->n_groups; i++)
        if (cores->groups[i].ino == ino)
            return i;
    return ino == 0 && cores->n_groups < THREADS_MAX ? cores->n_groups++ : THREADS_MAX;
}

static bool note_busy(ino_t group, void *arg)
{
    cores_t *cores = arg;
    size_t place = place_of(cores, group);

    if (place < THREADS_MAX)
        cores->groups[place].busy = true;
    return false;
}

/* Threads created by a group's threads are counted with them: each group is attached
 * once. */
static bool is_new(ino_t group, void *arg)
{
    cores_t *cores = arg;

    if (place_of(cores, group) < THREADS_MAX)
        return false;
    cores->entered = place_of(cores, 0);
    if (cores->entered < THREADS_MAX)
        cores->groups[cores->entered].ino = group;
    return true;
}

static int attach(pid_t tid, void *arg, hpcb_error_t *err)
{
    cores_t *cores = arg;
    int set;

    if (cores->n_sets == THREADS_MAX || cores->entered == THREADS_MAX)
        return hpcb_error(err, "the job has started more than %d threads", THREADS_MAX);
    if (hpcb_stat_take(events_of(cores->row), err) < 0)
        return -1;
    set = hpcb_counters()->open(cores->row->event, events_of(cores->row), tid, err);
    if (set < 0) {
        hpcb_stat_give(events_of(cores->row));
        return errno == ESRCH ? 0 : -1;
    }
    cores->sets[cores->n_sets++] = (core_set_t){set, cores->entered};
    return 0;
}

/* Keep what was counted, and give the counters back. */
static int close_ended(cores_t *cores, hpcb_error_t *err)
{
    for (size_t i = 0; i < cores->n_sets;) {
        const core_set_t *set = &cores->sets[i];

        if (cores->groups[set->group].busy) {
            i++;
            continue;
        }
        if (add_set(set->id, events_of(cores->row), cores->row->units, &cores->ended,
                    err) < 0)
            return -1;
        hpcb_counters()->close(set->id);
        hpcb_stat_give(events_of(cores->row));
        cores->sets[i] = cores->sets[--cores->n_sets];
    }
    return 0;
}

/* A job of many steps has as many counters as its steps that run. */
static int leave_ended(cores_t *cores, const hpcb_sensor_job_t *job, hpcb_error_t *err)
{
    static const hpcb_threads_visitor_t visitor = {.enter = note_busy};

    for (size_t i = 0; i < cores->n_groups; i++)
        cores->groups[i].busy = false;
    if (hpcb_threads_each(job->dir, &visitor, cores, err) < 0 ||
        close_ended(cores, err) < 0)
        return -1;
    for (size_t i = 0; i < cores->n_groups; i++)
        if (!cores->groups[i].busy)
            cores->groups[i].ino = 0;
    return 0;
}

static int adopt(void *handle, const hpcb_sensor_job_t *job, hpcb_error_t *err)
{
    static const hpcb_threads_visitor_t visitor = {.enter = is_new, .visit = attach};

    if (leave_ended(handle, job, err) < 0)
        return -1;
    return hpcb_threads_each(job->dir, &visitor, handle, err);
}

static void close_cores(void *handle)
{
    cores_t *cores = handle;

    for (size_t i = 0; i < cores->n_sets; i++)
        hpcb_counters()->close(cores->sets[i].id);
    hpcb_stat_give(cores->n_sets * events_of(cores->row));
    free(cores);
}

static int open_table(const hpcb_sensor_job_t *job, const hpcb_papi_row_t *table,
                      hpcb_figure_t figure, void **handle, hpcb_error_t *err)
{
    const hpcb_papi_row_t *row = core_row(table, err);
    cores_t *cores;

    if (!row)
        return -1;
    cores = calloc(1, sizeof(*cores));
    if (!cores)
        return hpcb_error(err, "no memory");
    cores->row = row;
    cores->figure = figure;
    if (adopt(cores, job, err) < 0) {
        close_cores(cores);
        return -1;
    }
    *handle = cores;
    return 0;
}

static int open_cores(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    return open_table(job, hpcb_papi_cores, HPCB_FIGURE_TRANSFER, handle, err);
}

static int open_instructions(const hpcb_sensor_job_t *job, void **handle,
                             hpcb_error_t *err)
{
    return open_table(job, hpcb_papi_instructions, HPCB_FIGURE_INSTRUCTIONS, handle,
                      err);
}

static int sample_cores(void *handle, uint64_t *values, hpcb_error_t *err)
{
    const cores_t *cores = handle;

    values[cores->figure] += cores->ended;
    for (size_t i = 0; i < cores->n_sets; i++) {
        if (add_set(cores->sets[i].id, events_of(cores->row), cores->row->units,
                    &values[cores->figure], err) < 0)
            return -1;
    }
    return 0;
}

const hpcb_sensor_t hpcb_sensor_papi_cores = {
    .name = "papi-cores",
    .what = "bytes that a job's threads read from main memory (PAPI)",
    .figures = 1U << HPCB_FIGURE_TRANSFER,
    .probe = probe_cores,
    .open = open_cores,
    .sample = sample_cores,
    .close = close_cores,
    .adopt = adopt,
};

const hpcb_sensor_t hpcb_sensor_papi_instructions = {
    .name = "papi-instructions",
    .what = "instructions that a job's threads execute (PAPI)",
    .figures = 1U << HPCB_FIGURE_INSTRUCTIONS,
    .probe = probe_instructions,
    .open = open_instructions,
    .sample = sample_cores,
    .close = close_cores,
    .adopt = adopt,
};

/* Sockets */

typedef struct {
    int set;
    size_t n;
    unsigned units;
} sockets_t;

typedef struct {
    size_t n;
    char name[HPCB_COUNTERS_MAX][EVENT_MAX];
} names_t;

/* The first CPU of each socket, as the kernel's driver of the controllers wants it. */
static size_t first_cpus(const hpcb_node_t *node, unsigned *cpus, size_t max)
{
    hpcb_cpus_t firsts;
    char text[1024];
    size_t n = 0;

    if (hpcb_node_read(node, "sys/bus/event_source/devices/uncore_imc_0/cpumask", text,
                       sizeof(text), NULL) < 0 ||
        hpcb_cpus_parse(text, &firsts) < 0)
        return 0;
    for (unsigned cpu = hpcb_cpus_from(&firsts, 0); n < max && cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(&firsts, cpu + 1))
        cpus[n++] = cpu;
    return n;
}

static bool is_unit(const hpcb_node_t *node, unsigned unit)
{
    char name[96], text[64];

    snprintf(name, sizeof(name), "sys/bus/event_source/devices/uncore_imc_%u/cpumask",
             unit);
    return hpcb_node_read(node, name, text, sizeof(text), NULL) == 0;
}

/* The row's events of each unit and socket.  -1: more than a set can have. */
static int list(const hpcb_node_t *node, const hpcb_papi_row_t *row, names_t *names)
{
    unsigned cpus[SOCKETS_MAX];
    size_t sockets = first_cpus(node, cpus, SOCKETS_MAX), events = events_of(row);

    names->n = 0;
    for (unsigned unit = 0; is_unit(node, unit); unit++) {
        if (names->n + sockets * events > HPCB_COUNTERS_MAX)
            return -1;
        for (size_t i = 0; i < sockets * events; i++)
            snprintf(names->name[names->n++], EVENT_MAX, "%s%u::%s:cpu=%u", row->name,
                     unit, row->event[i % events], cpus[i / events]);
    }
    return 0;
}

static int open_row(const hpcb_node_t *node, const hpcb_papi_row_t *row,
                    sockets_t *sockets, hpcb_error_t *err)
{
    const char *pointers[HPCB_COUNTERS_MAX];
    hpcb_autofree names_t *names = malloc(sizeof(*names));

    if (!names)
        return hpcb_error(err, "no memory");
    if (list(node, row, names) < 0)
        return hpcb_error(err, "more memory controllers than PAPI can read at once");
    if (names->n == 0)
        return hpcb_error(err, "the kernel has no driver of memory controllers here");
    for (size_t i = 0; i < names->n; i++)
        pointers[i] = names->name[i];
    *sockets = (sockets_t){.n = names->n, .units = row->units};
    sockets->set = hpcb_counters()->open(pointers, names->n, 0, err);
    return sockets->set < 0 ? -1 : 0;
}

static int open_any(const hpcb_node_t *node, sockets_t *sockets, hpcb_error_t *err)
{
    if (hpcb_counters()->start(err) < 0)
        return -1;
    for (const hpcb_papi_row_t *row = hpcb_papi_sockets; row->name; row++) {
        if (open_row(node, row, sockets, err) == 0)
            return 0;
    }
    return -1;
}

static int probe_sockets(const hpcb_node_t *node, hpcb_error_t *err)
{
    sockets_t sockets;

    if (open_any(node, &sockets, err) < 0)
        return -1;
    hpcb_counters()->close(sockets.set);
    return 0;
}

static int open_sockets(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err)
{
    sockets_t *sockets = malloc(sizeof(*sockets));

    if (!sockets)
        return hpcb_error(err, "no memory");
    if (open_any(job->node, sockets, err) < 0) {
        free(sockets);
        return -1;
    }
    *handle = sockets;
    return 0;
}

static int sample_sockets(void *handle, uint64_t *values, hpcb_error_t *err)
{
    const sockets_t *sockets = handle;

    return add_set(sockets->set, sockets->n, sockets->units,
                   &values[HPCB_FIGURE_TRANSFER], err);
}

static void close_sockets(void *handle)
{
    sockets_t *sockets = handle;

    hpcb_counters()->close(sockets->set);
    free(sockets);
}

const hpcb_sensor_t hpcb_sensor_papi_sockets = {
    .name = "papi-sockets",
    .what = "bytes at the memory controllers (PAPI), of all jobs together",
    .whole = true,
    .figures = 1U << HPCB_FIGURE_TRANSFER,
    .probe = probe_sockets,
    .open = open_sockets,
    .sample = sample_sockets,
    .close = close_sockets,
};
