/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Sets of CPUs (hardware threads), as numbers of Linux.  Pure.  The words are those of
 * sched_getaffinity(2), so that a set can be passed to the kernel as it is.
 */
#ifndef HPCB_POLICY_CPUS_H
#define HPCB_POLICY_CPUS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* Linux on x86 ends at 8192 CPUs (CONFIG_MAXSMP). */
#define HPCB_CPUS_MAX       8192
#define HPCB_CPUS_WORD_BITS (sizeof(unsigned long) * CHAR_BIT)

typedef struct {
    unsigned long word[HPCB_CPUS_MAX / HPCB_CPUS_WORD_BITS];
} hpcb_cpus_t;

/* cpu is below HPCB_CPUS_MAX. */
void hpcb_cpus_add(hpcb_cpus_t *cpus, unsigned cpu);
bool hpcb_cpus_has(const hpcb_cpus_t *cpus, unsigned cpu);

unsigned hpcb_cpus_count(const hpcb_cpus_t *cpus);
bool hpcb_cpus_equal(const hpcb_cpus_t *a, const hpcb_cpus_t *b);
/* Every one of a is in b. */
bool hpcb_cpus_within(const hpcb_cpus_t *a, const hpcb_cpus_t *b);

/* They have a CPU in common. */
bool hpcb_cpus_meet(const hpcb_cpus_t *a, const hpcb_cpus_t *b);

/* The first CPU that is not below cpu, or HPCB_CPUS_MAX. */
unsigned hpcb_cpus_from(const hpcb_cpus_t *cpus, unsigned cpu);

/* to becomes what is in either / in to and not in less. */
void hpcb_cpus_join(hpcb_cpus_t *to, const hpcb_cpus_t *more);
void hpcb_cpus_drop(hpcb_cpus_t *to, const hpcb_cpus_t *less);

/* Read the kernel's list format, "0-3,8" with or without a newline at its end; an empty
 * list is an empty set.  0, or -1 with cpus untouched. */
int hpcb_cpus_parse(const char *list, hpcb_cpus_t *cpus);

/* Write it.  0, or -1 when it does not fit (text is then unspecified). */
int hpcb_cpus_list(const hpcb_cpus_t *cpus, char *text, size_t size);

#endif
