/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The kernel's text about cgroups, taken apart: lines of mountinfo, /proc/PID/cgroup,
 * and the paths in them.  Pure: text in, text out.  A job owns some of these texts
 * (names of groups that a container made), so everything here is hostile.
 */
#ifndef HPCB_CGROUP_PARSE_H
#define HPCB_CGROUP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/* One line of mountinfo; the pointers go into the line that was parsed. */
typedef struct {
    int id;
    int parent;
    char *root;  /* of the mount inside its file system, escapes resolved */
    char *point; /* where it is mounted, escapes resolved */
    char *fstype;
    char *super; /* super block options: a v1 mount's controllers are here */
} hpcb_mount_line_t;

/* Resolve \ooo in place, as mountinfo (and our undo log) writes blanks, tabs, newlines
 * and backslashes. */
void hpcb_parse_unescape(char *text);

/* Take line (no newline) apart in place.  0, or -1 when it is not a mount. */
int hpcb_parse_mount(char *line, hpcb_mount_line_t *mount);

/* True where word is one of the comma-separated words of list, length bytes long. */
bool hpcb_parse_word(const char *list, size_t length, const char *word);

/*
 * Copy the path that text (/proc/PID/cgroup) gives for controller, NULL for the
 * cgroup2 hierarchy.  0, or -1 with errno ENOENT (not there, or the group is deleted)
 * or ENAMETOOLONG.
 */
int hpcb_parse_cgroup(const char *text, const char *controller, char *path,
                      size_t size);

/*
 * Map path (from /proc/PID/cgroup) below the directory root at which a mount begins
 * (mountinfo): "" for the mount's own directory, else "/...".  -1 with errno EXDEV
 * where path is not below it: the task is outside of this mount or of the cgroup
 * namespace, and its path must not be followed.
 */
int hpcb_parse_below(const char *root, const char *path, char *rest, size_t size);

/*
 * Length of the part of rest (from hpcb_parse_below) that names Slurm's directory of a
 * job, 0 where there is none:
 *   v1: .../slurm|slurm_<node>/uid_<U>/<job>[/...]
 *   v2: .../slurmstepd.scope|<node>_slurmstepd.scope/<job>/step_<S>[/...]
 * <job> is job_<N>, and since Slurm 26.05 also a SLUID.
 */
size_t hpcb_parse_job(const char *rest, int version);

#endif
