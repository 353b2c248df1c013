/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A copy of a snapshot that answers as the kernel does: a task that is moved shows in
 * /proc/PID/cgroup, a new group has the knobs of its kind, cpu.weight and cpu.shares
 * refuse (EINVAL) while cpu.idle is 1, and cpu.idle=0 brings back the default weight.
 */
#ifndef HPCB_TESTS_FAKE_KERNEL_H
#define HPCB_TESTS_FAKE_KERNEL_H

#include <sys/types.h>

/* Unpack tests/snapshots/NAME.snapshot and let it answer from now on; returns its
 * directory. */
const char *fake_start(const char *name);
/* The kernel answers again; the copy is removed, tasks of fake_task are killed. */
void fake_stop(void);

/* A real sleeping task that the copy shows where the snapshot shows task `like`. */
pid_t fake_task(int like);

/* Every write to a path that ends with suffix fails with error (0: works again). */
void fake_fail(const char *suffix, int error);
/* The nth change (write, mkdir, rmdir) from now on kills the caller instead. */
void fake_crash_at(int nth);
/* Call hook before every change (NULL: none): what another process does meanwhile. */
void fake_interfere(void (*hook)(const char *path));
/* Changes since fake_start. */
int fake_changes(void);

/* Content of a file of the copy without the last newline, "(none)" where there is no
 * such file; overwritten by the next call but one. */
const char *fake_read(const char *path);
void fake_write(const char *path, const char *text);

#endif
