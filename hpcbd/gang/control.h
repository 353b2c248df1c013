/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Requests of `hpcbctl gang` to the daemon (hpcbd/node/socket.h).  Users see and
 * control their own jobs, root all of them.  Only root sees decisions, which name other
 * users' jobs, and changes settings of the node.
 */
#ifndef HPCB_HPCBD_GANG_CONTROL_H
#define HPCB_HPCBD_GANG_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Write item *i of the list for uid as JSON: jobs, followed by the jobs of decisions,
 * of which one text may contain several (hpcbd/gang/decision.h).  *i becomes the next
 * item.  Return the length; 0 if this item is not for uid, or takes no turns; -1 if
 * text is too small or memory is short. */
int hpcbd_gang_item(size_t *i, uid_t uid, char *text, size_t size);

/* Return the number of items; a user may not see all of them. */
size_t hpcbd_gang_items(void);

/* Write the last object of a list, with "end", and "next" if there are more. */
int hpcbd_gang_end(size_t next, char *text, size_t size);

/* Return NULL, or why the request is refused.  job_id 0: all jobs of the node. */
const char *hpcbd_gang_ask_pause(uint32_t job_id, uid_t uid, bool pause);

/* Return NULL, or why the request is refused.  Users may let their own jobs join, and
 * leave after joining; root any job. */
const char *hpcbd_gang_ask_join(uint32_t job_id, uid_t uid);
const char *hpcbd_gang_ask_leave(uint32_t job_id, uid_t uid);

/* Return NULL, or why the request is refused.  partition NULL: all; 0: unchanged. */
const char *hpcbd_gang_ask_set(const char *partition, uint64_t quantum_us,
                               uint64_t window, uid_t uid);

#endif
