/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Crash at every point: the linker routes the system calls that change files (see
 * crash_ldflags in the makefile) through a counter, and the process dies right before
 * the chosen one, as after a kill -9 there.
 */
#ifndef HPCB_TESTS_COMMON_CRASH_H
#define HPCB_TESTS_COMMON_CRASH_H

/* Run act in a child once for each of its system calls, dying before it, and once to
 * the end; check is called after every run.  Returns the number of crashes. */
int crash_everywhere(void (*act)(void), void (*check)(void));

/* Run act once for each of its system calls, and once to the end: right before the call
 * meanwhile is run, as if act's process were stopped there for so long.  check is
 * called after every run.  Returns the number of calls. */
int stop_everywhere(void (*act)(void), void (*meanwhile)(void), void (*check)(void));

/* From now on this process dies at the first fsync(2) of a file below dir, as one that
 * is killed while it waits for a slow disk. */
void crash_in_fsync(const char *dir);

#endif
