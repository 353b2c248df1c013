/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Connections to the collector's port.  Anybody may make one and send anything: until a
 * frame is whole and munged has opened it, nothing is believed, little is kept, and the
 * one that has been silent for longest makes room for others.
 */
#ifndef HPCB_HPCBD_COLLECTOR_CONN_H
#define HPCB_HPCBD_COLLECTOR_CONN_H

#include <netinet/in.h>
#include <stdbool.h>
#include "hpcbd/loop.h"

/* At once, and bytes of frames that are not whole yet. */
#define HPCBD_CONNS_MAX  1024
#define HPCBD_CONN_BYTES (64u * 1024 * 1024)

/* Without a byte for so long. */
#define HPCBD_CONN_IDLE_MS 60000

typedef struct hpcbd_conns hpcbd_conns_t;
typedef struct hpcbd_conn hpcbd_conn_t;

typedef struct {
    uint64_t connections; /* accepted */
    uint64_t frames;      /* whole */
    uint64_t malformed;   /* bytes that are no frame */
    uint64_t dropped;     /* idle, or making room */
} hpcbd_conn_stats_t;

/* Where a connection or a datagram comes from: the address, of IPv6 the network
 * (anybody has as many addresses of one as they like).  Ports below 1024 are root's
 * there and count apart, so that what users of a node send is not held against its
 * daemon.  No padding: origins are compared with memcmp. */
typedef struct {
    unsigned char address[16];
    unsigned char reserved_port; /* 0 or 1 */
} hpcbd_origin_t;

/* The origin of a peer; peer may be a sockaddr_in. */
hpcbd_origin_t hpcbd_origin_of(const struct sockaddr_in6 *peer);

/* Take a frame's content (NUL-terminated), which stays until hpcbd_conn_forget,
 * hpcbd_conn_answer or hpcbd_conn_close.  The connection is silent until
 * hpcbd_conn_answer.  -1: it is closed. */
typedef int (*hpcbd_take_fn)(void *arg, hpcbd_conn_t *conn, const char *frame);

/* Listen on port.  NULL with err. */
hpcbd_conns_t *hpcbd_conns_open(hpcb_loop_t *loop, uint16_t port, hpcbd_take_fn take,
                                void *arg, hpcb_error_t *err);
void hpcbd_conns_close(hpcbd_conns_t *conns);

/* The port that it listens on (where 0 was asked for). */
uint16_t hpcbd_conns_port(const hpcbd_conns_t *conns);

/* What the caller wants to keep with a connection until it is answered or closed. */
void hpcbd_conn_set(hpcbd_conn_t *conn, void *data, void (*release)(void *data));
void *hpcbd_conn_get(const hpcbd_conn_t *conn);

const hpcbd_origin_t *hpcbd_conn_origin(const hpcbd_conn_t *conn);

/* The frame that was taken is not needed any more. */
void hpcbd_conn_forget(hpcbd_conn_t *conn);

/* Call visit for each connection that waits for an answer; it may answer or close it.
 */
void hpcbd_conns_waiting(hpcbd_conns_t *conns,
                         void (*visit)(hpcbd_conn_t *conn, void *arg), void *arg);

/* Send text as a frame, and listen again. */
void hpcbd_conn_answer(hpcbd_conn_t *conn, const char *text);
void hpcbd_conn_close(hpcbd_conn_t *conn);

/* Read nothing from connections, or go on: who sends waits. */
void hpcbd_conns_pause(hpcbd_conns_t *conns, bool pause);

/* Close what has been silent for too long; to be called every few seconds. */
void hpcbd_conns_sweep(hpcbd_conns_t *conns);

const hpcbd_conn_stats_t *hpcbd_conns_stats(const hpcbd_conns_t *conns);

/* CLOCK_MONOTONIC. */
uint64_t hpcbd_now_ms(void);

#endif
