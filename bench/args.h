/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Option values of the bench programs.  A malformed one ends the program with
 * status 2 and one line that names the option, the value and what is allowed.
 */
#ifndef HPCB_BENCH_ARGS_H
#define HPCB_BENCH_ARGS_H

#include <stdint.h>

/* A whole decimal number, min <= value <= max. */
uint64_t bench_arg_count(const char *option, const char *text, uint64_t min,
                         uint64_t max);

/* A finite number with or without a fraction, min <= value <= max. */
double bench_arg_real(const char *option, const char *text, double min, double max);

/* After getopt_long(): nothing may be left over.  Ends the program otherwise. */
void bench_args_end(int argc, char **argv);

#endif
