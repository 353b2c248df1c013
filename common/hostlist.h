/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Slurm's compressed formats: lists of hosts ("n[1-3,07],login", "r[1-2]n[1-4]") and
 * counts per node ("2(x3),1").  Pure.
 */
#ifndef HPCB_COMMON_HOSTLIST_H
#define HPCB_COMMON_HOSTLIST_H

#include <stdbool.h>
#include <stddef.h>

#define HPCB_HOSTS_MAX 65536

/*
 * Call visit for each host of list, in order; a result other than 0 ends the walk.
 * Return the number of hosts visited, or -1 if list is malformed, a name has 256 bytes
 * or more, or there are more than HPCB_HOSTS_MAX.
 */
int hpcb_hostlist_each(const char *list, int (*visit)(const char *host, void *arg),
                       void *arg);

/* Return the position of host in list, -1 if it is not there or list is malformed. */
int hpcb_hostlist_index(const char *list, const char *host);

typedef enum { HPCB_HOSTS_APART, HPCB_HOSTS_OVERLAP, HPCB_HOSTS_SAME } hpcb_overlap_t;

/* Compare two lists; OVERLAP also if one of them cannot be read, because nothing is
 * certain then. */
hpcb_overlap_t hpcb_hostlist_compare(const char *a, const char *b);

/* Return the count of the index-th node in text like SLURM_JOB_CPUS_PER_NODE; 0 if it
 * is not there or text is malformed. */
unsigned hpcb_count_of_node(const char *text, unsigned index);

#endif
