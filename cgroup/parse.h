/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Parsers for the kernel's texts about cgroups: lines of mountinfo, /proc/PID/cgroup,
 * and the paths in them.  Pure.  Jobs control some of these texts (names of groups that
 * a container made), so all input is hostile.
 */
#ifndef HPCB_CGROUP_PARSE_H
#define HPCB_CGROUP_PARSE_H

#include <stdbool.h>
#include <stddef.h>

/* A line of mountinfo; the pointers point into the parsed line. */
typedef struct {
    int id;
    int parent;
    char *root;  /* of the mount inside its file system, escapes resolved */
    char *point; /* mount point, escapes resolved */
    char *fstype;
    char *super; /* super block options, which contain a v1 mount's controllers */
} hpcb_mount_line_t;

/* Resolve \ooo in place, which mountinfo and our undo log write for blanks, tabs,
 * newlines and backslashes. */
void hpcb_parse_unescape(char *text);

/* Parse line (without newline) in place.  Return 0, or -1 if it is not a mount. */
int hpcb_parse_mount(char *line, hpcb_mount_line_t *mount);

/* Return true if word is one of the comma-separated words of list, length bytes
 * long. */
bool hpcb_parse_word(const char *list, size_t length, const char *word);

/*
 * Copy the path of controller from text (/proc/PID/cgroup); NULL: that of the cgroup2
 * hierarchy.  Return 0, or -1 with errno ENOENT (not there, or the group is deleted) or
 * ENAMETOOLONG.
 */
int hpcb_parse_cgroup(const char *text, const char *controller, char *path,
                      size_t size);

/*
 * Map path (from /proc/PID/cgroup) below the root directory of a mount (mountinfo): ""
 * for the mount's own directory, otherwise "/...".  Return 0, or -1 with errno EXDEV if
 * path is not below it: the task is outside of this mount or of the cgroup namespace,
 * and its path must not be followed.
 */
int hpcb_parse_below(const char *root, const char *path, char *rest, size_t size);

/*
 * Return the length of the part of rest (from hpcb_parse_below) that names Slurm's
 * directory of a job, 0 if there is none:
 *   v1: .../slurm|slurm_<node>/uid_<U>/<job>[/...]
 *   v2: .../slurmstepd.scope|<node>_slurmstepd.scope/<job>/step_<S>[/...]
 * <job> is job_<N>, and since Slurm 26.05 also a SLUID.
 */
size_t hpcb_parse_job(const char *rest, int version);

#endif
