/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The one owner of stopped guests on a node.  Parts of the daemon ask for a job to be
 * stopped, each with a reason of its own; the job runs when the last reason has gone.
 * Slurm's suspend is a reason that the kernel keeps: it acts on another level
 * (cgroup/freeze.h), so that a suspended job stays so whatever is asked for here.
 *
 * A guest that is stopped for long hears of its end: while a signal waits for it that
 * asks it to end, it goes on for a minute, at most once in ten.  Neither windows nor
 * experiments, which stop guests for less than it takes to be missed, are held up by
 * it, and who waits for its turn hears in its turn, unless it is paused.
 *
 * Guests have places for groups of their own, and primaries that take turns have, so
 * that neither is in the way of the other.  All groups of a primary are stopped, or
 * none: of those that need more the ones with the most groups get none and run on.  Of
 * guests that need more those with the most groups have as many stopped as there are
 * places left for, and each guest has some; if one of these is to be stopped for what
 * it costs, or to find that out, Slurm is asked to requeue it, once for each of its
 * runs.
 *
 * What a crash leaves stopped is set going by hpcb_freeze_release: by the watchdog, by
 * the unit's end (hpcbctl release windows) and by the daemon's next start.
 */
#ifndef HPCB_HPCBD_WINDOWS_FREEZE_H
#define HPCB_HPCBD_WINDOWS_FREEZE_H

#include <stdbool.h>
#include "cgroup/freeze.h"
#include "hpcbd/node/registry.h"

/* Groups of all guests of this node, and of all its primaries. */
#define HPCBD_FREEZE_LEVELS_MAX (HPCB_FREEZE_LEVELS_MAX / 2)

/* Who wants a job stopped; may be combined. */
typedef enum {
    HPCBD_FREEZE_WINDOW = 1 << 0,     /* a job with windows is favoured */
    HPCBD_FREEZE_GANG = 1 << 1,       /* it is another job's turn */
    HPCBD_FREEZE_GUARD = 1 << 2,      /* it harms a primary */
    HPCBD_FREEZE_EXPERIMENT = 1 << 3, /* how much it harms is being measured */
    HPCBD_FREEZE_CRUMBS = 1 << 4      /* primaries leave it next to nothing */
} hpcbd_freeze_reason_t;

typedef struct hpcbd_freeze hpcbd_freeze_t;

/* state_dir: StateDir.  Both must outlive the handle.  NULL when memory runs out. */
hpcbd_freeze_t *hpcbd_freeze_new(const hpcb_node_t *node, const char *state_dir);
/* Set every job going first.  NULL is fine. */
void hpcbd_freeze_free(hpcbd_freeze_t *freeze);

/* Look where the guests of registry, and primaries that take turns, can be stopped now:
 * walks through directories, so not at an edge.  What is new in a stopped job is
 * stopped; a job that has gone is forgotten. */
void hpcbd_freeze_look(hpcbd_freeze_t *freeze, const hpcbd_registry_t *registry);

/* One write for each level of the job, none if another reason keeps it stopped.  Return
 * false if one of its levels that the last look saw runs on, because it has too many,
 * the log could not be written or the kernel refused; or if it has none (yet).  The
 * look that finds this mended stops it, unless hpcbd_freeze_go has been called.  While
 * a guest hears of its end it counts as stopped. */
bool hpcbd_freeze_stop(hpcbd_freeze_t *freeze, uint32_t job_id,
                       hpcbd_freeze_reason_t reason);
void hpcbd_freeze_go(hpcbd_freeze_t *freeze, uint32_t job_id,
                     hpcbd_freeze_reason_t reason);
/* The same for all jobs and several reasons. */
void hpcbd_freeze_go_all(hpcbd_freeze_t *freeze, unsigned reasons);

/* Why it is to be stopped, of hpcbd_freeze_reason_t, also while it hears of its end; 0:
 * for no reason. */
unsigned hpcbd_freeze_reasons(const hpcbd_freeze_t *freeze, uint32_t job_id);

/* Whether it goes on in spite of a reason that holds for long, to hear of its end. */
bool hpcbd_freeze_hears(const hpcbd_freeze_t *freeze, uint32_t job_id);

#endif
