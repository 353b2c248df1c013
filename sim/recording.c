/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "sim/recording.h"
#include "sim/scenario.h"

#define DEPTH_MAX   8
#define RUN_NS_MAX  INT64_C(1000000000000000) /* more than a week */
#define TAPE_NS_MAX (HPCB_SIM_NS_MAX / 2)
#define LEFT_MIN    1000 /* a job has this part of the tape at least */

static json_object *parse(const char *line, size_t length, hpcb_error_t *err)
{
    json_tokener *tokener = json_tokener_new_ex(DEPTH_MAX);
    json_object *object;
    enum json_tokener_error state;

    if (!tokener) {
        hpcb_error(err, "%s", strerror(ENOMEM));
        return NULL;
    }
    /* The closing NUL ends a bare number. */
    object = json_tokener_parse_ex(tokener, line, (int)length + 1);
    state = json_tokener_get_error(tokener);
    json_tokener_free(tokener);
    if (state == json_tokener_success && json_object_is_type(object, json_type_object))
        return object;
    hpcb_error(err, "not a JSON object%s%s", state == json_tokener_success ? "" : ": ",
               state == json_tokener_success ? "" : json_tokener_error_desc(state));
    json_object_put(object);
    return NULL;
}

static int enlarge(hpcb_sim_recording_t *tape, size_t more, hpcb_error_t *err)
{
    hpcb_sim_recorded_t *larger;

    if (more > HPCB_SIM_DETOURS_MAX - tape->n)
        return hpcb_error(err, "more than %d detours of one regime",
                          HPCB_SIM_DETOURS_MAX);
    if (more == 0)
        return 0;
    larger = reallocarray(tape->detour, tape->n + more, sizeof(*larger));
    if (!larger)
        return hpcb_error(err, "%s", strerror(errno));
    tape->detour = larger;
    return 0;
}

static int read_lists(json_object *run, json_object **at, json_object **length,
                      hpcb_error_t *err)
{
    if (!json_object_object_get_ex(run, "at_ns", at) ||
        !json_object_is_type(*at, json_type_array) ||
        !json_object_object_get_ex(run, "length_ns", length) ||
        !json_object_is_type(*length, json_type_array))
        return hpcb_error(err, "run: at_ns and length_ns: two lists are needed");
    if (json_object_array_length(*at) != json_object_array_length(*length))
        return hpcb_error(err, "run: %zu of at_ns, but %zu of length_ns",
                          json_object_array_length(*at),
                          json_object_array_length(*length));
    return 0;
}

static bool is_whole(json_object *value, int64_t min, int64_t max)
{
    return json_object_is_type(value, json_type_int) &&
           json_object_get_int64(value) >= min && json_object_get_int64(value) <= max;
}

/* A detour that begins at free_from or later; it is cut at the end of the run. */
static int read_detour(json_object *at, json_object *length, int64_t free_from,
                       int64_t elapsed, hpcb_sim_recorded_t *detour, hpcb_error_t *err)
{
    int64_t left;

    if (!is_whole(at, free_from, elapsed - 1))
        return hpcb_error(err,
                          "run: at_ns: %s: not a whole number between the end of the "
                          "detour before and that of the run",
                          json_object_to_json_string(at));
    if (!is_whole(length, 1, RUN_NS_MAX))
        return hpcb_error(err, "run: length_ns: %s: not a whole number from 1",
                          json_object_to_json_string(length));
    detour->at_ns = json_object_get_int64(at);
    detour->length_ns = json_object_get_int64(length);
    left = elapsed - detour->at_ns;
    if (detour->length_ns > left)
        detour->length_ns = left;
    return 0;
}

/* Append the detours of a run. */
static int append(json_object *run, hpcb_sim_recording_t *tape, hpcb_error_t *err)
{
    json_object *at, *length;
    int64_t elapsed = 0, free_from = 0;
    size_t n;

    if (hpcb_sim_int(run, "run", "elapsed_ns", 1, RUN_NS_MAX, &elapsed, err) < 0 ||
        read_lists(run, &at, &length, err) < 0)
        return -1;
    if (elapsed > TAPE_NS_MAX - tape->tape_ns)
        return hpcb_error(err, "run: elapsed_ns: all runs together are too long");
    n = json_object_array_length(at);
    if (enlarge(tape, n, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        hpcb_sim_recorded_t *detour = &tape->detour[tape->n];

        if (read_detour(json_object_array_get_idx(at, i),
                        json_object_array_get_idx(length, i), free_from, elapsed,
                        detour, err) < 0)
            return -1;
        free_from = detour->at_ns + detour->length_ns;
        tape->busy_ns += detour->length_ns;
        detour->at_ns += tape->tape_ns;
        tape->n++;
    }
    tape->tape_ns += elapsed;
    return 0;
}

static int read_line(const char *line, size_t length, const char *wanted,
                     hpcb_sim_recording_t *tape, hpcb_error_t *err)
{
    json_object *run = parse(line, length, err);
    const char *regime;
    int rc = 0;

    if (!run)
        return -1;
    if (hpcb_sim_has(run, "regime")) {
        rc = hpcb_sim_text(run, "run", "regime", &regime, err);
        if (rc == 0 && strcmp(regime, wanted) == 0)
            rc = append(run, tape, err);
    }
    json_object_put(run);
    return rc;
}

static int read_lines(FILE *stream, const char *name, const char *regime,
                      hpcb_sim_recording_t *tape, hpcb_error_t *err)
{
    hpcb_autofree char *line = NULL;
    hpcb_error_t why = {""};
    size_t size = 0, all = 0;
    ssize_t length;
    unsigned number = 0;

    while ((length = getline(&line, &size, stream)) > 0) {
        number++;
        all += (size_t)length;
        if (all > HPCB_SIM_FILE_MAX)
            return hpcb_error(err, "%s: %s", name, strerror(EFBIG));
        if (line[length - 1] == '\n')
            line[--length] = '\0';
        if (read_line(line, (size_t)length, regime, tape, &why) < 0)
            return hpcb_error(err, "%s:%u: %s", name, number, why.text);
    }
    if (ferror(stream))
        return hpcb_error(err, "%s: %s", name, strerror(errno));
    if (tape->tape_ns == 0)
        return hpcb_error(err, "%s: no run of the regime '%s'", name, regime);
    if (tape->busy_ns > tape->tape_ns / LEFT_MIN * (LEFT_MIN - 1))
        return hpcb_error(err, "%s: '%s': detours leave hardly anything to a job", name,
                          regime);
    return 0;
}

int hpcb_sim_recording_read(FILE *stream, const char *name, const char *regime,
                            hpcb_sim_recording_t *recording, hpcb_error_t *err)
{
    hpcb_sim_recording_t tape = {0};

    if (read_lines(stream, name, regime, &tape, err) < 0) {
        hpcb_sim_recording_free(&tape);
        return -1;
    }
    *recording = tape;
    return 0;
}

void hpcb_sim_recording_free(hpcb_sim_recording_t *recording)
{
    free(recording->detour);
    *recording = (hpcb_sim_recording_t){0};
}

size_t hpcb_sim_recording_find(const hpcb_sim_recording_t *recording, int64_t at_ns)
{
    size_t low = 0, high = recording->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const hpcb_sim_recorded_t *detour = &recording->detour[middle];

        if (detour->at_ns + detour->length_ns <= at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

const hpcb_sim_recording_t *hpcb_sim_recordings_get(hpcb_sim_recordings_t *recordings,
                                                    const char *regime,
                                                    hpcb_error_t *err)
{
    hpcb_autofclose FILE *stream = NULL;
    size_t n = recordings->n;

    for (size_t i = 0; i < n; i++)
        if (strcmp(recordings->of[i].regime, regime) == 0)
            return &recordings->of[i].recording;
    if (!recordings->path || n == HPCB_SIM_RECORDINGS_MAX) {
        hpcb_error(err,
                   recordings->path ? "recorded=%s: one regime too many"
                                    : "recorded=%s: the scenario names no file in "
                                      "its member 'recording'",
                   regime);
        return NULL;
    }
    stream = fopen(recordings->path, "re");
    if (!stream) {
        hpcb_error(err, "%s: %s", recordings->path, strerror(errno));
        return NULL;
    }
    if (hpcb_sim_recording_read(stream, recordings->path, regime,
                                &recordings->of[n].recording, err) < 0)
        return NULL;
    recordings->of[n].regime = regime;
    recordings->n++;
    return &recordings->of[n].recording;
}

void hpcb_sim_recordings_free(hpcb_sim_recordings_t *recordings)
{
    for (size_t i = 0; i < recordings->n; i++)
        hpcb_sim_recording_free(&recordings->of[i].recording);
    free(recordings->path);
    *recordings = (hpcb_sim_recordings_t){0};
}
