/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The single owner of stopped guests on a node.  Parts of the daemon request that a job
 * be stopped, each with a reason of its own; the job runs when the last reason is
 * gone.  Slurm's suspend is a reason that the kernel keeps: it acts on another level
 * (cgroup/freeze.h), so that a suspended job stays suspended whatever is requested
 * here.
 *
 * A guest that is stopped for long receives its end: while a signal that asks it to end
 * is pending it runs for a minute, at most once in ten.  This does not apply to windows
 * and experiments, whose stops are too short.  A guest that waits for its turn receives
 * signals in its turn, unless it is paused.
 *
 * Guests, and primaries that take turns, have separate limits for the number of their
 * groups, so that neither is affected by the other.  Either all groups of a primary are
 * stopped or none: beyond the limit the primaries with the most groups run on.  Guests
 * with the most groups have as many stopped as the limit allows, and each guest has
 * some; if one of these is to be stopped for its harm, or to measure that, its requeue
 * is requested from Slurm, once for each of its runs.
 *
 * After a crash hpcb_freeze_release continues stopped jobs: called by the watchdog, by
 * the unit's end (hpcbctl release windows) and by the daemon's next start.
 */
#ifndef HPCB_HPCBD_WINDOWS_FREEZE_H
#define HPCB_HPCBD_WINDOWS_FREEZE_H

#include <stdbool.h>
#include "cgroup/freeze.h"
#include "hpcbd/node/registry.h"

/* Maximum number of groups of all guests of this node, and of all its primaries. */
#define HPCBD_FREEZE_LEVELS_MAX (HPCB_FREEZE_LEVELS_MAX / 2)

/* Reasons to stop a job; may be combined. */
typedef enum {
    HPCBD_FREEZE_WINDOW = 1 << 0,     /* a job with windows is boosted */
    HPCBD_FREEZE_GANG = 1 << 1,       /* it is another job's turn */
    HPCBD_FREEZE_GUARD = 1 << 2,      /* it harms a primary */
    HPCBD_FREEZE_EXPERIMENT = 1 << 3, /* its harm is being measured */
    HPCBD_FREEZE_CRUMBS = 1 << 4      /* primaries leave it next to no CPU time */
} hpcbd_freeze_reason_t;

typedef struct hpcbd_freeze hpcbd_freeze_t;

/* state_dir: StateDir.  Both must outlive the handle.  Return NULL if memory is
 * short. */
hpcbd_freeze_t *hpcbd_freeze_new(const hpcb_node_t *node, const char *state_dir);
/* Continue every job and free.  freeze may be NULL. */
void hpcbd_freeze_free(hpcbd_freeze_t *freeze);

/* Scan the groups of registry's guests, and of primaries that take turns; walks through
 * directories, so not at a switch.  New groups of a stopped job are stopped; a job that
 * has ended is dropped. */
void hpcbd_freeze_look(hpcbd_freeze_t *freeze, const hpcbd_registry_t *registry);

/* Stop or continue with one write for each group of the job, none if another reason
 * keeps it stopped.  Return false if one of its groups of the last scan is running,
 * because there are too many, the log could not be written or the kernel refused; or if
 * it has none (yet).  A later scan stops it when possible, unless hpcbd_freeze_go has
 * been called.  A guest that runs to receive its end counts as stopped. */
bool hpcbd_freeze_stop(hpcbd_freeze_t *freeze, uint32_t job_id,
                       hpcbd_freeze_reason_t reason);
void hpcbd_freeze_go(hpcbd_freeze_t *freeze, uint32_t job_id,
                     hpcbd_freeze_reason_t reason);
/* Drop several reasons for all jobs. */
void hpcbd_freeze_go_all(hpcbd_freeze_t *freeze, unsigned reasons);

/* Return the reasons to stop it, of hpcbd_freeze_reason_t, also while it runs to
 * receive its end; 0: none. */
unsigned hpcbd_freeze_reasons(const hpcbd_freeze_t *freeze, uint32_t job_id);

/* Return whether it runs in spite of a long-lasting reason, to receive its end. */
bool hpcbd_freeze_hears(const hpcbd_freeze_t *freeze, uint32_t job_id);

#endif
