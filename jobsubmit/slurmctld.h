/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a job_submit plugin needs of slurmctld beyond Slurm's public headers: the
 * functions that slurmctld and libslurmfull export, with the same prototypes from
 * 22.05 to 26.05 (read in the sources of each).
 */
#ifndef HPCB_JOBSUBMIT_SLURMCTLD_H
#define HPCB_JOBSUBMIT_SLURMCTLD_H

#include <stdbool.h>
#include <stddef.h>
#include "common/compat.h"

/* Opaque to us: its layout changes with every release. */
typedef struct job_record job_record_t;

/* All that follows crosses the border between the plugin and slurmctld. */
#pragma GCC visibility push(default)

/* The plugin's entry points, as slurmctld looks for them. */
extern const char plugin_name[];
extern const char plugin_type[];
extern const uint32_t plugin_version;
extern int init(void);
extern int fini(void);
extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg);
extern int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr,
                      uint32_t submit_uid HPCB_ERR_MSG_PARAMETER);

/*
 * Slurm's memory: a block with a header of its own in front.  Every string that is
 * put into a job_desc_msg_t or *err_msg is freed by slurmctld with slurm_xfree and
 * must come from here; malloc'ed memory there crashes slurmctld.  None returns NULL
 * for want of memory (slurmctld aborts).
 */
extern void *slurm_xcalloc(size_t count, size_t size, bool clear, bool try_only,
                           const char *file, int line, const char *function);
extern void slurm_xfree(void **item);
extern char *slurm_xstrdup(const char *text);
extern char *slurm_xstrdup_printf(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* How many bytes were asked for. */
extern size_t slurm_xsize(void *item);

/*
 * Of slurmctld itself, and weak: absent, the plugin still loads and refuses more.
 *
 * validate_operator: root, SlurmUser, or operator and above by slurmdbd.  slurmctld
 * calls it right before job_modify, under the same locks.
 */
extern bool validate_operator(uid_t uid) __attribute__((weak));

/*
 * job_common_env_vars: the environment that slurmctld gives its prolog plugins, an
 * array of slurm_x memory that ends with NULL.  The only way to a job's partition that
 * needs no internal header: plugins (prep/script) call it with this prototype in all
 * releases.  It takes no lock; callers hold at least the job read lock, as job_modify
 * does.  It may ask NSS for the user's and the group's name.  What it must not be given
 * (see hpcb_spank_env_sift) only a job can have that was accepted without this plugin.
 */
extern char **job_common_env_vars(job_record_t *job_ptr, bool is_complete)
    __attribute__((weak));

/* The name of the default partition, or NULL.  The caller holds at least the partition
 * read lock, as job_submit does. */
extern char *default_part_name __attribute__((weak));

/* slurm.conf in force.  last_update (its first member in all releases) changes when
 * slurmctld is reconfigured. */
extern slurm_conf_t slurm_conf __attribute__((weak));

#pragma GCC visibility pop

#endif
