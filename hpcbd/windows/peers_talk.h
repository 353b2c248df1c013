/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The child process of peers.c: requests and answers by UDP. */
#ifndef HPCB_HPCBD_WINDOWS_PEERS_TALK_H
#define HPCB_HPCBD_WINDOWS_PEERS_TALK_H

#include <stdint.h>
#include "common/conf.h"

#define HPCBD_PEERS_MAX 16

typedef struct {
    const char *state_dir; /* of the daemon's socket, to which answers are sent */
    uint16_t port;
    unsigned list; /* number of the list, because names change with the configuration */
    unsigned count;
    char names[HPCBD_PEERS_MAX][HPCB_NAME_MAX];
} hpcbd_peers_talk_t;

/* Run until it is killed.  Return the exit code on failure.  arg: a
 * hpcbd_peers_talk_t.  Sends each answer to the daemon:
 * {"verb":"clock","list":L,"peer":I,"offset_ns":N,"round_trip_ns":N}, where I is the
 * index in names. */
int hpcbd_peers_talk(void *arg);

#endif
