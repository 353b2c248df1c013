/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Anonymization of names in the kernel's texts about cgroups: names that are not known
 * to belong to Slurm, systemd, the kernel or us are secret unless a person decides
 * otherwise.  The same name always has the same replacement, so that paths still match
 * each other; only that and the kind of a name remain:
 *   job_4711 -> job_1   uid_2001 -> uid_1001 (uid_0 stays)   slurm_n17 -> slurm_node1
 *   n17_slurmstepd.scope -> node1_slurmstepd.scope   a SLUID -> s0000000000001
 *   the group of guests -> hpcb_guest   anything else -> group1
 * Pure.  The texts are hostile (a container names its own groups).
 */
#ifndef HPCB_HPCBCTL_SNAPSHOT_ANONYMIZE_H
#define HPCB_HPCBCTL_SNAPSHOT_ANONYMIZE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hpcb_anonymize hpcb_anonymize_t;

/* keep: nothing is replaced.  guest_cgroup is copied.  The caller closes it.  Return
 * NULL if memory is short. */
hpcb_anonymize_t *hpcb_anonymize_open(bool keep, const char *guest_cgroup);
void hpcb_anonymize_close(hpcb_anonymize_t *names);

/* Each returns 0, or -1 with errno (ENAMETOOLONG, ENOMEM, ENOSPC: more than 4096 names
 * of a kind); out is then undefined. */

/* Replace the components of a path. */
int hpcb_anonymize_path(hpcb_anonymize_t *names, const char *path, char *out,
                        size_t size);

/* Replace names in the text of /proc/PID/cgroup.  Invalid lines are dropped. */
int hpcb_anonymize_cgroup(hpcb_anonymize_t *names, const char *text, char *out,
                          size_t size);

/*
 * Replace names in a line of mountinfo (parsed in place).  Only what discovery reads
 * remains: IDs, and for a cgroup mount its root, its mount point and the super block
 * options of the kernel (release_agent names a program of the site).  Of other mounts
 * only the mount point remains.  Names with blanks are escaped like the kernel does.
 */
int hpcb_anonymize_mount(hpcb_anonymize_t *names, char *line, char *out, size_t size);

/* Return the number of different jobs so far. */
unsigned hpcb_anonymize_jobs(const hpcb_anonymize_t *names);

#endif
