/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Measured detours (bench/detour/run --runs): JSON lines, each of them a run with
 * "regime", "elapsed_ns", and "at_ns" and "length_ns" of each detour in order of time.
 * Lines without "regime" are comments.
 *
 * The runs of a regime are concatenated to a tape that repeats.
 */
#ifndef HPCB_SIM_RECORDING_H
#define HPCB_SIM_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

#define HPCB_SIM_DETOURS_MAX 4000000 /* per regime */

typedef struct {
    int64_t at_ns, length_ns; /* on the tape; the next one begins after its end */
} hpcb_sim_recorded_t;

typedef struct {
    hpcb_sim_recorded_t *detour; /* n of them, sorted by at_ns */
    size_t n;
    int64_t tape_ns; /* length of the tape, > 0 */
    int64_t busy_ns; /* total length of the detours, less than tape_ns */
} hpcb_sim_recording_t;

/*
 * Read the runs of a regime; name: of the file, for messages.  Return 0, or -1 with
 * err, which names the line, and *recording unchanged.  The caller frees *recording.
 */
int hpcb_sim_recording_read(FILE *stream, const char *name, const char *regime,
                            hpcb_sim_recording_t *recording, hpcb_error_t *err);

void hpcb_sim_recording_free(hpcb_sim_recording_t *recording);

/* The recordings of a file that a scenario needs, each read once. */
#define HPCB_SIM_RECORDINGS_MAX 64

typedef struct {
    char *path; /* NULL: the scenario has none */
    struct {
        const char *regime; /* owned by the caller that requested it */
        hpcb_sim_recording_t recording;
    } of[HPCB_SIM_RECORDINGS_MAX];
    size_t n;
} hpcb_sim_recordings_t;

/* Return the recording of a regime, owned by recordings, or NULL with err. */
const hpcb_sim_recording_t *hpcb_sim_recordings_get(hpcb_sim_recordings_t *recordings,
                                                    const char *regime,
                                                    hpcb_error_t *err);

void hpcb_sim_recordings_free(hpcb_sim_recordings_t *recordings);

/* Return the first detour that ends after at_ns (0 ... tape_ns - 1); n if there is
 * none. */
size_t hpcb_sim_recording_find(const hpcb_sim_recording_t *recording, int64_t at_ns);

#endif
