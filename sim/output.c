/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/output.h"

#define COLUMNS_MAX 64
#define JSON_STYLE  (JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED)

/* A value without quotes. */
static const char *text_of(json_object *value)
{
    return json_object_is_type(value, json_type_string)
               ? json_object_get_string(value)
               : json_object_to_json_string(value);
}

static void widen(json_object *rows, size_t width[])
{
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        size_t at = 0;

        json_object_object_foreach(json_object_array_get_idx(rows, i), key, value)
        {
            size_t wide = strlen(text_of(value));

            wide = wide > strlen(key) ? wide : strlen(key);
            if (at < COLUMNS_MAX && wide > width[at])
                width[at] = wide;
            at++;
        }
    }
}

static void table_rows(FILE *stream, json_object *rows, const size_t width[], bool head,
                       uint64_t seed)
{
    for (size_t i = 0; i < json_object_array_length(rows); i++) {
        json_object *row = json_object_array_get_idx(rows, i);
        size_t at = 0;

        if (head && i == 0) {
            fputs("seed", stream);
            json_object_object_foreach(row, name, unused)
            {
                (void)unused;
                if (at < COLUMNS_MAX)
                    fprintf(stream, "  %*s", (int)width[at++], name);
            }
            fputc('\n', stream);
            at = 0;
        }
        fprintf(stream, "%4" PRIu64, seed);
        json_object_object_foreach(row, key, value)
        {
            (void)key;
            if (at < COLUMNS_MAX)
                fprintf(stream, "  %*s", (int)width[at++], text_of(value));
        }
        fputc('\n', stream);
    }
}

static void table(FILE *stream, const char *title, uint64_t seed,
                  json_object *const rows[], uint64_t seeds)
{
    size_t width[COLUMNS_MAX] = {0};

    for (uint64_t i = 0; i < seeds; i++)
        widen(rows[i], width);
    fprintf(stream, "%s\n\n", title);
    for (uint64_t i = 0; i < seeds; i++)
        table_rows(stream, rows[i], width, i == 0, seed + i);
}

/* In quotes if it has to be (RFC 4180). */
static void csv_text(FILE *stream, const char *text)
{
    if (!strpbrk(text, ",\"\r\n")) {
        fputs(text, stream);
        return;
    }
    fputc('"', stream);
    for (; *text; text++)
        fprintf(stream, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', stream);
}

static void csv_row(FILE *stream, json_object *row, bool names)
{
    json_object_object_foreach(row, key, value)
    {
        fputc(',', stream);
        csv_text(stream, names ? key : text_of(value));
    }
    fputc('\n', stream);
}

static void csv(FILE *stream, uint64_t seed, json_object *const rows[], uint64_t seeds)
{
    for (uint64_t i = 0; i < seeds; i++) {
        for (size_t j = 0; j < json_object_array_length(rows[i]); j++) {
            json_object *row = json_object_array_get_idx(rows[i], j);

            if (i == 0 && j == 0) {
                fputs("seed", stream);
                csv_row(stream, row, true);
            }
            fprintf(stream, "%" PRIu64, seed + i);
            csv_row(stream, row, false);
        }
    }
}

static int json(FILE *stream, const char *title, uint64_t seed,
                json_object *const rows[], uint64_t seeds)
{
    json_object *all = json_object_new_object(), *runs = json_object_new_array();

    if (!all || !runs) {
        json_object_put(all);
        json_object_put(runs);
        errno = ENOMEM;
        return -1;
    }
    json_object_object_add(all, "title", json_object_new_string(title));
    json_object_object_add(all, "runs", runs);
    for (uint64_t i = 0; i < seeds; i++) {
        json_object *run = json_object_new_object();

        json_object_object_add(run, "seed", json_object_new_int64((int64_t)(seed + i)));
        json_object_object_add(run, "rows", json_object_get(rows[i]));
        json_object_array_add(runs, run);
    }
    fprintf(stream, "%s\n", json_object_to_json_string_ext(all, JSON_STYLE));
    json_object_put(all);
    return 0;
}

int hpcb_sim_output(FILE *stream, hpcb_sim_format_t format, const char *title,
                    uint64_t seed, json_object *const rows[], uint64_t seeds)
{
    int rc = 0;

    if (format == HPCB_SIM_JSON)
        rc = json(stream, title, seed, rows, seeds);
    else if (format == HPCB_SIM_CSV)
        csv(stream, seed, rows, seeds);
    else
        table(stream, title, seed, rows, seeds);
    if (rc == 0 && (fflush(stream) != 0 || ferror(stream)))
        rc = -1;
    return rc;
}
