/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Names in what the kernel says of cgroups, replaced by ones that tell nothing: what is
 * not known to be Slurm's, systemd's, the kernel's or ours is a secret until a person
 * has said otherwise.  The same name always gets the same replacement, so that paths
 * still match each other; only that and the kind of a name remain:
 *   job_4711 -> job_1   uid_2001 -> uid_1001 (uid_0 stays)   slurm_n17 -> slurm_node1
 *   n17_slurmstepd.scope -> node1_slurmstepd.scope   a SLUID -> s0000000000001
 *   the group of guests -> hpcb_guest   anything else -> group1
 * Pure: text in, text out.  The texts are hostile (a container names its own groups).
 */
#ifndef HPCB_HPCBCTL_SNAPSHOT_ANONYMIZE_H
#define HPCB_HPCBCTL_SNAPSHOT_ANONYMIZE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hpcb_anonymize hpcb_anonymize_t;

/* keep: nothing is replaced.  guest_cgroup is copied.  The caller closes it.  NULL when
 * memory runs out. */
hpcb_anonymize_t *hpcb_anonymize_open(bool keep, const char *guest_cgroup);
void hpcb_anonymize_close(hpcb_anonymize_t *names);

/* Each returns 0, or -1 with errno (ENAMETOOLONG, ENOMEM, ENOSPC: more than 4096 names
 * of a kind); out is then undefined. */

/* A path, component by component. */
int hpcb_anonymize_path(hpcb_anonymize_t *names, const char *path, char *out,
                        size_t size);

/* The text of /proc/PID/cgroup.  Lines that are none are left out. */
int hpcb_anonymize_cgroup(hpcb_anonymize_t *names, const char *text, char *out,
                          size_t size);

/*
 * A line of mountinfo (taken apart in place) as far as discovery reads it: ids, and for
 * a cgroup mount its root, its point and those super block options that the kernel
 * makes (release_agent names a program of the site's).  Of another mount only the point
 * remains.  Names with blanks are escaped as the kernel does.
 */
int hpcb_anonymize_mount(hpcb_anonymize_t *names, char *line, char *out, size_t size);

/* How many jobs have been met. */
unsigned hpcb_anonymize_jobs(const hpcb_anonymize_t *names);

#endif
