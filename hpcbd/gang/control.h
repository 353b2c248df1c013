/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What `hpcbctl gang` asks of the daemon (hpcbd/node/socket.h).  Users see and control
 * their own jobs, root all of them; root alone sees decisions, which name other users'
 * jobs, and changes what holds for the node.
 */
#ifndef HPCB_HPCBD_GANG_CONTROL_H
#define HPCB_HPCBD_GANG_CONTROL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Thing *i to list for uid, as JSON: jobs, then the jobs of decisions, of which one
 * text says several (hpcbd/gang/decision.h).  *i becomes the first that was not said.
 * The length; 0 if this one is not for uid, or takes no turns; -1 if text is too small
 * or memory runs out. */
int hpcbd_gang_item(size_t *i, uid_t uid, char *text, size_t size);

/* How many things there are; not all of them are for everybody. */
size_t hpcbd_gang_items(void);

/* The last object of a list, with "end" and "next" if there are more. */
int hpcbd_gang_end(size_t next, char *text, size_t size);

/* NULL, or why it is refused.  job_id 0: all jobs of the node. */
const char *hpcbd_gang_ask_pause(uint32_t job_id, uid_t uid, bool pause);

/* NULL, or why it is refused.  A job of the user's own may join, and leave when it has
 * joined; root's word counts for any. */
const char *hpcbd_gang_ask_join(uint32_t job_id, uid_t uid);
const char *hpcbd_gang_ask_leave(uint32_t job_id, uid_t uid);

/* NULL, or why it is refused.  partition NULL: all; 0: as it is. */
const char *hpcbd_gang_ask_set(const char *partition, uint64_t quantum_us,
                               uint64_t window, uid_t uid);

#endif
