/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Offset between this node's clock and those of its peers (WindowPeers).  Windows
 * depend on the clock alone; this part only detects that it cannot be trusted, and
 * suspends windows then.
 *
 * A child process asks each peer in turn, as NTP does, with four times: request sent,
 * request received, echo sent, echo received.  MUNGE takes milliseconds, so a time
 * cannot be authenticated at the moment when it is taken: request and final answer are
 * credentials (seal.h), the echo in between is only the request's random number, and is
 * only valid if the answer names it.
 */
#ifndef HPCB_HPCBD_WINDOWS_PEERS_H
#define HPCB_HPCBD_WINDOWS_PEERS_H

#include <json-c/json.h>
#include <stdbool.h>
#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_peers;

/* Return [{"host", "offset_us", "round_trip_us", "age_s"}, ...] of the peers that have
 * answered; the caller frees it.  NULL if memory is short. */
json_object *hpcbd_peers_status(void);

/* Get the median by which the clocks of answering peers are ahead of ours.  Return
 * false if none has answered in the last minute. */
bool hpcbd_peers_offset(int64_t *offset_ns);

/* Store that the clock of a peer (its index in the list with that number; untrusted,
 * checked here) is offset_ns ahead of ours. */
void hpcbd_peers_answer(uint64_t list, uint64_t peer, int64_t offset_ns,
                        int64_t round_trip_ns);

#endif
