/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A locale whose decimal point is a comma.  Few machines have one, so that it is made.
 */
#ifndef HPCB_TESTS_COMMON_COMMA_H
#define HPCB_TESTS_COMMON_COMMA_H

#include <stdbool.h>

/* Enter it.  If the machine cannot make one, print a line that says so and return
 * false: the test proves nothing then. */
bool comma_enter(void);

/* Back to the C locale. */
void comma_leave(void);

#endif
