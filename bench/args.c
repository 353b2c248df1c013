/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"
#include <ctype.h>
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include "bench/args.h"

#define EXIT_USAGE 2

uint64_t bench_arg_count(const char *option, const char *text, uint64_t min,
                         uint64_t max)
{
    char *end;

    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (errno || !isdigit((unsigned char)text[0]) || *end || value < min || value > max)
        errx(EXIT_USAGE,
             "--%s: \"%s\" is not a whole number from %" PRIu64 " to %" PRIu64, option,
             text, min, max);
    return value;
}

double bench_arg_real(const char *option, const char *text, double min, double max)
{
    char *end;

    errno = 0;
    double value = strtod(text, &end);
    if (errno || end == text || *end || !isfinite(value) || value < min || value > max)
        errx(EXIT_USAGE, "--%s: \"%s\" is not a number from %g to %g", option, text,
             min, max);
    return value;
}

void bench_args_end(int argc, char **argv)
{
    if (optind < argc)
        errx(EXIT_USAGE, "unexpected argument \"%s\" (see --help)", argv[optind]);
}
