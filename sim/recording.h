/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Detours as they were measured (bench/detour/run --runs): JSON lines, each of them a
 * run with "regime", "elapsed_ns", and "at_ns" and "length_ns" of each detour in the
 * order of time.  Lines without "regime" are for people.
 *
 * The runs of a regime, one behind the other, are a tape that begins again at its end.
 */
#ifndef HPCB_SIM_RECORDING_H
#define HPCB_SIM_RECORDING_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/error.h"

#define HPCB_SIM_DETOURS_MAX 4000000 /* of a regime */

typedef struct {
    int64_t at_ns, length_ns; /* at_ns: on the tape; the next begins behind its end */
} hpcb_sim_recorded_t;

typedef struct {
    hpcb_sim_recorded_t *detour; /* n of them, by at_ns */
    size_t n;
    int64_t tape_ns; /* the length of the tape, above 0 */
    int64_t busy_ns; /* of that, what detours take: less than all */
} hpcb_sim_recording_t;

/*
 * Read the runs of a regime; name: of the file, for messages.  0, or -1 with err, which
 * names the line, and *recording untouched.  The caller frees *recording.
 */
int hpcb_sim_recording_read(FILE *stream, const char *name, const char *regime,
                            hpcb_sim_recording_t *recording, hpcb_error_t *err);

void hpcb_sim_recording_free(hpcb_sim_recording_t *recording);

/* The recordings of a file that a scenario needs, each read once. */
#define HPCB_SIM_RECORDINGS_MAX 64

typedef struct {
    char *path; /* NULL: the scenario has none */
    struct {
        const char *regime; /* whoever asks for it keeps it */
        hpcb_sim_recording_t recording;
    } of[HPCB_SIM_RECORDINGS_MAX];
    size_t n;
} hpcb_sim_recordings_t;

/* The recording of a regime, which belongs to recordings, or NULL with err. */
const hpcb_sim_recording_t *hpcb_sim_recordings_get(hpcb_sim_recordings_t *recordings,
                                                    const char *regime,
                                                    hpcb_error_t *err);

void hpcb_sim_recordings_free(hpcb_sim_recordings_t *recordings);

/* The first detour that ends after at_ns (0 ... tape_ns - 1); n if there is none. */
size_t hpcb_sim_recording_find(const hpcb_sim_recording_t *recording, int64_t at_ns);

#endif
