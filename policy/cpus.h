/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Sets of CPUs (hardware threads), numbered as in Linux.  Pure.  The words have the
 * format of sched_getaffinity(2), so that a set can be passed to the kernel unchanged.
 */
#ifndef HPCB_POLICY_CPUS_H
#define HPCB_POLICY_CPUS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* The maximum of Linux on x86 (CONFIG_MAXSMP). */
#define HPCB_CPUS_MAX       8192
#define HPCB_CPUS_WORD_BITS (sizeof(unsigned long) * CHAR_BIT)

typedef struct {
    unsigned long word[HPCB_CPUS_MAX / HPCB_CPUS_WORD_BITS];
} hpcb_cpus_t;

/* cpu must be below HPCB_CPUS_MAX. */
void hpcb_cpus_add(hpcb_cpus_t *cpus, unsigned cpu);
bool hpcb_cpus_has(const hpcb_cpus_t *cpus, unsigned cpu);

unsigned hpcb_cpus_count(const hpcb_cpus_t *cpus);
bool hpcb_cpus_equal(const hpcb_cpus_t *a, const hpcb_cpus_t *b);
/* Return whether all CPUs of a are in b. */
bool hpcb_cpus_within(const hpcb_cpus_t *a, const hpcb_cpus_t *b);

/* Return whether a and b have a CPU in common. */
bool hpcb_cpus_meet(const hpcb_cpus_t *a, const hpcb_cpus_t *b);

/* Return the first CPU of the set that is not below cpu, or HPCB_CPUS_MAX. */
unsigned hpcb_cpus_from(const hpcb_cpus_t *cpus, unsigned cpu);

/* Add the CPUs of more to to; remove those of less from it. */
void hpcb_cpus_join(hpcb_cpus_t *to, const hpcb_cpus_t *more);
void hpcb_cpus_drop(hpcb_cpus_t *to, const hpcb_cpus_t *less);

/* Read the kernel's list format, "0-3,8", with or without a trailing newline.  An empty
 * list is an empty set.  Return 0, or -1 with cpus unchanged. */
int hpcb_cpus_parse(const char *list, hpcb_cpus_t *cpus);

/* Write the list format.  Return 0, or -1 with text unspecified if it does not fit. */
int hpcb_cpus_list(const hpcb_cpus_t *cpus, char *text, size_t size);

#endif
