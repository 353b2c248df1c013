/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Measurements of running jobs behind one interface: a table of sensors, one row each
 * (probe, open on a job, sample, close).  hpcbd opens a job when its first step starts,
 * samples it once a quantum and closes it in the epilog; `hpcbctl status` lists the
 * rows and why a node lacks one.
 *
 * Rules for every row:
 *  - Values only grow (except memory in use, a level) and start at any value.
 *  - What it attaches to the kernel disappears with the process that opened it.
 *  - State that the kernel keeps (resctrl's groups) is found again or removed.
 *  - A failure costs only that figure.
 *  - A figure that covers more than the job (a port, a socket) is marked as shared as
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
    HPCB_FIGURE_RUN_DELAY,    /* time in which tasks were runnable without a CPU, us */
    HPCB_FIGURE_STALL_MEMORY, /* time in which a task waited for memory, us (PSI) */
    HPCB_FIGURE_STALL_IO,     /* time in which a task waited for storage, us (PSI) */
    HPCB_FIGURE_NETWORK_RX,   /* bytes in IP packets that sockets received */
    HPCB_FIGURE_NETWORK_TX,   /* bytes in IP packets that sockets sent */
    HPCB_FIGURE_FABRIC_RX,    /* bytes at InfiniBand and Omni-Path ports */
    HPCB_FIGURE_FABRIC_TX,
    HPCB_FIGURE_TRANSFER,     /* bytes between caches and main memory */
    HPCB_FIGURE_MEMORY,       /* bytes in use now: a level, not a count */
    HPCB_FIGURE_INSTRUCTIONS, /* executed by its threads in user mode */
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

/* The job on which a sensor is opened; valid during the call. */
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
    int (*probe)(const hpcb_node_t *node,
                 hpcb_error_t *err); /* 0, or -1 with the reason */
    /* Return a handle, or -1 with err.  A row that measures the whole node is opened
     * once, with job_id 0 and dir NULL. */
    int (*open)(const hpcb_sensor_job_t *job, void **handle, hpcb_error_t *err);
    /* Write values (indexed by figure) of the row's figures.  Return 0, or -1 with err
     * and values undefined. */
    int (*sample)(void *handle, uint64_t *values, hpcb_error_t *err);
    void (*close)(void *handle);
    /* May be NULL.  Add tasks of the job that are not children of known ones. */
    int (*adopt)(void *handle, const hpcb_sensor_job_t *job, hpcb_error_t *err);
    /* May be NULL.  Remove what an earlier process left in the kernel. */
    void (*sweep)(const hpcb_node_t *node);
} hpcb_sensor_t;

/* In order of preference if several measure one figure. */
const hpcb_sensor_t *const *hpcb_sensors(size_t *count);

#define HPCB_SENSORS_MAX 16

/* The sensors of this node, and the jobs open on them. */
typedef struct hpcb_sensing hpcb_sensing_t;
typedef struct hpcb_sensed hpcb_sensed_t;

/* Probe the count (at most HPCB_SENSORS_MAX) sensors of rows, which like node must
 * outlive the result.  A missing sensor is no failure.  Return 0, or -1 with err if
 * memory is short. */
int hpcb_sensing_open(const hpcb_node_t *node, const hpcb_sensor_t *const *rows,
                      size_t count, hpcb_sensing_t **sensing, hpcb_error_t *err);
/* Remove what a killed process left behind.  Call this before the first job is opened,
 * and only in the process that measures this node. */
void hpcb_sensing_sweep(hpcb_sensing_t *sensing);

/* Begin a round of samples: sensors of the whole node are read once in it. */
void hpcb_sensing_round(hpcb_sensing_t *sensing);

/* All jobs must be closed. */
void hpcb_sensing_close(hpcb_sensing_t *sensing);

/* Return why row i is missing on this node; NULL if it is there. */
const char *hpcb_sensing_why_not(const hpcb_sensing_t *sensing, size_t i);

/*
 * Open every sensor of the node on a job.  place is Slurm's directory of the job, which
 * pure cgroup v2 needs.  Sensors that cannot be opened are skipped.  Return 0, or -1
 * with err if the job has no group yet or memory is short.
 */
int hpcb_sensed_open(hpcb_sensing_t *sensing, uint32_t job_id, const char *place,
                     hpcb_sensed_t **job, hpcb_error_t *err);

/* Add the tasks of a step that has begun. */
void hpcb_sensed_adopt(hpcb_sensed_t *job);

/* Return why the job's sensor i has no value (it is missing, or failed to open or to
 * sample); NULL if it measures. */
const char *hpcb_sensed_why_not(const hpcb_sensed_t *job, size_t i);

/* Read all sensors of the job.  A sensor that fails is closed, and its figures are
 * missing from then on. */
void hpcb_sensed_sample(hpcb_sensed_t *job, hpcb_sample_t *sample);

void hpcb_sensed_close(hpcb_sensed_t *job);

#endif
