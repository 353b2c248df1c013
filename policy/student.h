/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_POLICY_STUDENT_H
#define HPCB_POLICY_STUDENT_H

/* Return the two-sided 95 % quantile of Student's t with that many degrees of freedom
 * (they need not be whole).  From 3 on the error is below 1 %. */
double hpcb_student_t(double freedom);

#endif
