/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * How far this node's clock is from those of its peers (WindowPeers).  Windows follow
 * the clock alone; this only tells when they cannot be trusted, and then suspends them.
 *
 * A child process asks each peer in turn, as NTP does, with four times: the question is
 * sent, arrives, an echo is sent, arrives.  MUNGE takes milliseconds, so that no time
 * can be sealed when it is taken: question and final answer are credentials (seal.h),
 * the echo in between is only the question's random number, and counts for nothing
 * unless the answer names it.
 */
#ifndef HPCB_HPCBD_WINDOWS_PEERS_H
#define HPCB_HPCBD_WINDOWS_PEERS_H

#include <json-c/json.h>
#include <stdbool.h>
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_peers;

/* [{"host", "offset_us", "round_trip_us", "age_s"}, ...] of those that have answered;
 * the caller frees it.  NULL when memory runs out. */
json_object *hpcbd_peers_status(void);

/* How far ahead of ours the clocks of the peers are that have answered: the median.
 * False: none has in the last minute. */
bool hpcbd_peers_offset(int64_t *offset_ns);

/* The clock of a peer (its place in the list with that number; from outside, and
 * checked here) is offset_ns ahead of ours. */
void hpcbd_peers_answer(uint64_t list, uint64_t peer, int64_t offset_ns,
                        int64_t round_trip_ns);

#endif
