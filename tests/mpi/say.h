/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a test program prints: one file a rank ($HPCB_TEST_OUT.<rank>), because
 * launchers mix the output of ranks.  Lines must not depend on time or addresses: the
 * runner compares them with and without the library.
 */
#ifndef HPCB_TESTS_MPI_SAY_H
#define HPCB_TESTS_MPI_SAY_H

#include <mpi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *say_file;

static inline void say_open(const char *who, int rank)
{
    const char *prefix = getenv("HPCB_TEST_OUT");
    char path[4096];

    snprintf(path, sizeof path, "%s.%s%d", prefix ? prefix : "out", who, rank);
    say_file = fopen(path, "w");
    if (!say_file) {
        perror(path);
        abort();
    }
}

__attribute__((format(printf, 1, 2))) static inline void say(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vfprintf(say_file, format, args);
    va_end(args);
    fputc('\n', say_file);
    fflush(say_file);
}

static inline void say_ints(const char *what, const int *values, int count)
{
    fprintf(say_file, "%s:", what);
    for (int i = 0; i < count; i++)
        fprintf(say_file, " %d", values[i]);
    fputc('\n', say_file);
    fflush(say_file);
}

static inline int error_class(int code)
{
    int class = -1;

    if (code == MPI_SUCCESS)
        return 0;
    MPI_Error_class(code, &class);
    return class;
}

/* Every field a status has; fill it with say_soil before, to see what is left alone. */
static inline void say_status(const char *what, MPI_Status *status, MPI_Datatype type)
{
    int count = -1, elements = -1, cancelled = -1;

    MPI_Get_count(status, type, &count);
    MPI_Get_elements(status, type, &elements);
    MPI_Test_cancelled(status, &cancelled);
    say("%s: source %d tag %d error %d count %d elements %d cancelled %d", what,
        status->MPI_SOURCE, status->MPI_TAG, status->MPI_ERROR, count, elements,
        cancelled);
}

static inline void say_soil(MPI_Status *status)
{
    memset(status, 0, sizeof *status);
    status->MPI_SOURCE = -77;
    status->MPI_TAG = -78;
    status->MPI_ERROR = -79;
}

#endif
