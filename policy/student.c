/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "policy/student.h"

/* The first terms of Cornish and Fisher's expansion. */
double hpcb_student_t(double freedom)
{
    const double z = 1.959964;
    double z3 = z * z * z, z5 = z3 * z * z;

    return z + (z3 + z) / (4 * freedom) +
           (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
           (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) /
               (384 * freedom * freedom * freedom);
}
