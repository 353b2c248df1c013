/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The periods of real programs: streams/NAME.txt holds the calls of one rank, recorded
 * by record.c, after lines "# key value": program, period (known from the program, see
 * there), and from: the event from which on it must be found, and hold to the end but
 * for `stray` events.
 */
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "policy/periodicity.h"

#define EVENTS_MAX 20000
#define STREAMS    8 /* at least */
#define FILES_MAX  32

typedef struct {
    unsigned period, from, stray;
    unsigned n;
    uint16_t event[EVENTS_MAX];
} stream_t;

static char names[FILES_MAX][256];
static int n_names;
static stream_t stream;

static const char *directory(void)
{
    static char path[4096];
    const char *source = getenv("HPCB_SRCDIR");

    snprintf(path, sizeof(path), "%s/tests/mpi/streams", source ? source : ".");
    return path;
}

static void find_streams(void)
{
    DIR *dir = opendir(directory());
    struct dirent *entry;

    while (dir && (entry = readdir(dir)) && n_names < FILES_MAX)
        if (strstr(entry->d_name, ".txt"))
            snprintf(names[n_names++], sizeof(names[0]), "%s", entry->d_name);
    if (dir)
        closedir(dir);
}

static void read_stream(const char *name)
{
    char path[5000], line[4096];
    FILE *file;

    memset(&stream, 0, sizeof(stream));
    snprintf(path, sizeof(path), "%s/%s", directory(), name);
    file = fopen(path, "re");
    ck_assert_ptr_nonnull(file);
    while (fgets(line, sizeof(line), file)) {
        if (sscanf(line, "# period %u", &stream.period) == 1 ||
            sscanf(line, "# from %u", &stream.from) == 1 ||
            sscanf(line, "# stray %u", &stream.stray) == 1 || line[0] == '#')
            continue;
        for (char *at = line, *end;; at = end) {
            unsigned long event = strtoul(at, &end, 10);

            if (end == at)
                break;
            ck_assert_uint_lt(stream.n, EVENTS_MAX);
            stream.event[stream.n++] = (uint16_t)event;
        }
    }
    fclose(file);
}

START_TEST(there_are_enough)
{
    ck_assert_int_ge(n_names, STREAMS);
}
END_TEST

START_TEST(known_period)
{
    static hpcb_period_t detector;
    unsigned wrong = 0;

    read_stream(names[_i]);
    ck_assert_uint_gt(stream.n, stream.from + 2 * stream.period);
    hpcb_period_reset(&detector);
    for (unsigned i = 0; i < stream.n; i++) {
        hpcb_period_event(&detector, hpcb_period_symbol(stream.event[i]));
        wrong += i >= stream.from && detector.period != stream.period;
    }
    ck_assert_msg(wrong <= stream.stray, "%s: %u of %u events without period %u",
                  names[_i], wrong, stream.n - stream.from, stream.period);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("streams");
    TCase *tcase = tcase_create("streams");
    SRunner *runner;
    int failed;

    find_streams();
    tcase_add_test(tcase, there_are_enough);
    tcase_add_loop_test(tcase, known_period, 0, n_names);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
