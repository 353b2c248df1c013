/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Socket of a node's daemon (common/tell.h).  Every peer is hostile: SO_PEERCRED
 * identifies it; only root may notify about jobs, and users may only ask about their
 * own jobs.
 *
 *   {"verb":"job","job":N}     root: the job is new, or has new tasks
 *   {"verb":"measure","job":N} root: the job's steps have ended; answered when its
 *                              traffic is in StateDir
 *   {"verb":"end","job":N}     root: the job has ended here
 *   {"verb":"clock",...}       the daemon's own child (hpcbd/windows/peers_talk.h)
 *   {"verb":"status","from":I} an object for each of the next jobs, then one with
 *                              "end": true and, if there are more, "next": I
 *   {"verb":"gang","from":I}   an object for each of the next jobs that take turns
 *                              (root: then for each of the last decisions), then as
 *                              above
 *   {"verb":"gang-pause","job":N}, {"verb":"gang-resume","job":N}
 *                              a job of the user's own; without job: root
 *   {"verb":"gang-join","job":N}, {"verb":"gang-leave","job":N}   the same
 *   {"verb":"gang-set","quantum_us":N,"window":N,"partition":NAME}   root; each may be
 *                              omitted
 *
 * A packet is one message: nothing is buffered for a peer.  A peer that sends nothing
 * for a while, or does not read its answer, is disconnected.  Peers that connect too
 * often wait together with all later ones, but the loop does not.
 */
#ifndef HPCB_HPCBD_NODE_SOCKET_H
#define HPCB_HPCBD_NODE_SOCKET_H

#include "hpcbd/hpcbd.h"

extern const hpcbd_part_t hpcbd_node;

#endif
