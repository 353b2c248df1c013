/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Everything that measures a job while it runs, behind one interface: a table of
 * sensors, one row each (probe, open on a job, sample, close).  hpcbd opens a job when
 * its first step starts, samples it once a quantum and closes it in the epilog;
 * `hpcbctl status` lists the rows and says why a node lacks one.
 *
 * Rules that hold for every row:
 *  - what it measures grows only (but for memory in use, a level); it starts at any
 *    value when the job is opened;
 *  - what it attaches to the kernel goes when the process that opened it goes;
 *  - what the kernel does keep (resctrl's groups) is found again, or swept away;
 *  - a failure costs that figure and nothing else;
 *  - a figure that covers more than the job (a port, a socket) is marked as shared as
 *    soon as another job was open at the same time, and is never charged to one.
 */
#ifndef HPCB_SENSOR_SENSOR_H
#define HPCB_SENSOR_SENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "cgroup/node.h"
#include "common/error.h"

typedef enum {
    HPCB_FIGURE_CPU,          /* CPU time, us */
    HPCB_FIGURE_RUN_DELAY,    /* runnable, but without a CPU, us */
    HPCB_FIGURE_STALL_MEMORY, /* some task waited for memory, us (PSI) */
    HPCB_FIGURE_STALL_IO,     /* some task waited for storage, us (PSI) */
    HPCB_FIGURE_NETWORK_RX,   /* bytes in IP packets that sockets received */
    HPCB_FIGURE_NETWORK_TX,   /* the same, sent */
    HPCB_FIGURE_FABRIC_RX,    /* bytes at InfiniBand and Omni-Path ports */
    HPCB_FIGURE_FABRIC_TX,
    HPCB_FIGURE_TRANSFER,     /* bytes between caches and main memory */
    HPCB_FIGURE_MEMORY,       /* bytes in use now: a level, not a count */
    HPCB_FIGURE_INSTRUCTIONS, /* that its threads have executed in user mode */
    HPCB_FIGURES
} hpcb_figure_t;

typedef struct {
    uint64_t value;
    const char *sensor; /* name of the row that measured it; NULL: not measured */
    bool shared;        /* of all jobs that were on the node, not of this one alone */
} hpcb_reading_t;

typedef struct {
    hpcb_reading_t figure[HPCB_FIGURES];
} hpcb_sample_t;

/* What a sensor may know of the job that it is opened on; valid during the call. */
typedef struct {
    const hpcb_node_t *node;
    uint32_t job_id;
    const char *dir; /* its group in the cgroup2 hierarchy (sensor/meter.h) */
} hpcb_sensor_job_t;

typedef struct hpcb_sensor {
    const char *name; /* "network" */
    const char *what; /* one line for hpcbctl status */
    bool whole;       /* measures the node, not the job */
    unsigned figures; /* bits 1 << HPCB_FIGURE_... that it can measure */
    int (*probe)(const hpcb_node_t *node, hpcb_error_t *err); /* 0, or -1 and why not */
    /* A handle of the sensor's, or -1 with err.  A row that measures the whole node is
     * opened once, with job_id 0 and dir NULL. */
    int (*open)(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err);
    /* Put values (indexed by figure) for the row's figures; -1 with err and values
     * undefined. */
    int (*sample)(void *handle, uint64_t *values, hpcb_error_t *err);
    void (*close)(void *handle);
    /* May be NULL.  Take in tasks of the job that did not come from those taken in
     * before. */
    int (*adopt)(void *handle, const hpcb_sensor_job_t *job, hpcb_error_t *err);
    /* May be NULL.  Remove what an earlier process left behind in the kernel. */
    void (*sweep)(const hpcb_node_t *node);
} hpcb_sensor_t;

/* In order of preference where several measure one figure. */
const hpcb_sensor_t *const *hpcb_sensors(size_t *count);

#define HPCB_SENSORS_MAX 16

/* The sensors that this node has, and the jobs that are open on them. */
typedef struct hpcb_sensing hpcb_sensing_t;
typedef struct hpcb_sensed hpcb_sensed_t;

/* Probe the count (at most HPCB_SENSORS_MAX) sensors of rows, which like node must
 * outlive the result.  A sensor that is absent is no failure.  0, or -1 with err when
 * there is no memory. */
int hpcb_sensing_open(const hpcb_node_t *node, const hpcb_sensor_t *const *rows,
                      size_t count, hpcb_sensing_t **sensing, hpcb_error_t *err);
/* Remove what a process that was killed left behind.  Call it before the first job is
 * opened, and only in the process that measures this node. */
void hpcb_sensing_sweep(hpcb_sensing_t *sensing);

/* A round of samples begins: what covers the whole node is read once in it. */
void hpcb_sensing_round(hpcb_sensing_t *sensing);

/* All jobs must be closed. */
void hpcb_sensing_close(hpcb_sensing_t *sensing);

/* Why row i is absent on this node; NULL if it is there. */
const char *hpcb_sensing_why_not(const hpcb_sensing_t *sensing, size_t i);

/*
 * Open every sensor that the node has on a job.  place is Slurm's directory of the job,
 * which pure cgroup v2 needs.  Sensors that cannot be opened are left out.  0, or -1
 * with err if the job has no group yet or there is no memory.
 */
int hpcb_sensed_open(hpcb_sensing_t *sensing, uint32_t job_id, const char *place,
                     hpcb_sensed_t **job, hpcb_error_t *err);

/* A step has begun: its tasks are the job's from now on. */
void hpcb_sensed_adopt(hpcb_sensed_t *job);

/* Why the job's sensor i gives nothing (it is absent, or failed to open or to sample);
 * NULL if it measures. */
const char *hpcb_sensed_why_not(const hpcb_sensed_t *job, size_t i);

/* Read all sensors of the job.  A sensor that fails is closed; its figures are missing
 * from then on. */
void hpcb_sensed_sample(hpcb_sensed_t *job, hpcb_sample_t *sample);

void hpcb_sensed_close(hpcb_sensed_t *job);

#endif
