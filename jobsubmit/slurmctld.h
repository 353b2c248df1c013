/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Symbols that a job_submit plugin needs of slurmctld beyond Slurm's public headers:
 * functions that slurmctld and libslurmfull export, with the same prototypes from 22.05
 * to 26.05 (checked in the sources of each).
 */
#ifndef HPCB_JOBSUBMIT_SLURMCTLD_H
#define HPCB_JOBSUBMIT_SLURMCTLD_H

#include <stdbool.h>
#include <stddef.h>
#include "common/compat.h"

/* Opaque, because its layout changes with every release. */
typedef struct job_record job_record_t;

/* The following symbols cross the boundary between plugin and slurmctld. */
#pragma GCC visibility push(default)

/* Entry points of the plugin that slurmctld looks up. */
extern const char plugin_name[];
extern const char plugin_type[];
extern const uint32_t plugin_version;
extern int init(void);
extern int fini(void);
extern int job_submit(job_desc_msg_t *job_desc, uint32_t submit_uid, char **err_msg);
extern int job_modify(job_desc_msg_t *job_desc, job_record_t *job_ptr,
                      uint32_t submit_uid HPCB_ERR_MSG_PARAMETER);

/*
 * Slurm's memory: a block with a header.  slurmctld frees every string in a
 * job_desc_msg_t and *err_msg by slurm_xfree, so it must come from these functions;
 * memory of malloc crashes slurmctld.  None returns NULL if memory is short (slurmctld
 * aborts).
 */
extern void *slurm_xcalloc(size_t count, size_t size, bool clear, bool try_only,
                           const char *file, int line, const char *function);
extern void slurm_xfree(void **item);
extern char *slurm_xstrdup(const char *text);
extern char *slurm_xstrdup_printf(const char *format, ...)
    __attribute__((format(printf, 1, 2)));
/* Return the requested size. */
extern size_t slurm_xsize(void *item);

/*
 * Functions of slurmctld itself, weak: without them the plugin still loads, and rejects
 * more.
 *
 * validate_operator: root, SlurmUser, or operator and above by slurmdbd.  slurmctld
 * calls it immediately before job_modify, under the same locks.
 */
extern bool validate_operator(uid_t uid) __attribute__((weak));

/*
 * job_common_env_vars: environment of slurmctld's prolog plugins, a NULL-terminated
 * array in slurm_x memory.  The only way to a job's partition without an internal
 * header: plugins (prep/script) call it with this prototype in all releases.  It takes
 * no lock; callers have at least the job read lock, like job_modify.  It may query NSS
 * for the names of user and group.  Only a job that was accepted without this plugin
 * can have an environment that it must not be called with (see hpcb_spank_env_sift).
 */
extern char **job_common_env_vars(job_record_t *job_ptr, bool is_complete)
    __attribute__((weak));

/* Name of the default partition, or NULL.  The caller has at least the partition read
 * lock, like job_submit. */
extern char *default_part_name __attribute__((weak));

/* The present slurm.conf.  last_update (its first member in all releases) changes when
 * slurmctld is reconfigured. */
extern slurm_conf_t slurm_conf __attribute__((weak));

#pragma GCC visibility pop

#endif
