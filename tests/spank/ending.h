/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A process that is exiting for as long as the test likes: the init of a PID namespace
 * waits in its exit for a process of it that nobody has reaped.
 */
#ifndef HPCB_TESTS_SPANK_ENDING_H
#define HPCB_TESTS_SPANK_ENDING_H

#include <sys/types.h>

/* Its pid, or -1 where no namespace can be had.  One at a time. */
pid_t ending_begin(void);
/* It has gone when this returns. */
void ending_end(void);

/* A zombie of the caller, who has to reap it. */
pid_t ending_zombie(void);

#endif
