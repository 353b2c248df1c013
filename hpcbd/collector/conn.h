/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Connections to the collector's port.  Anybody may connect and send anything: nothing
 * is trusted and little is stored until a frame is complete and munged has decoded it,
 * and the connection that has been silent longest is closed if there are too many.
 */
#ifndef HPCB_HPCBD_COLLECTOR_CONN_H
#define HPCB_HPCBD_COLLECTOR_CONN_H

#include <netinet/in.h>
#include <stdbool.h>
#include "hpcbd/loop.h"

/* Maximum number of connections, and of bytes in incomplete frames. */
#define HPCBD_CONNS_MAX  1024
#define HPCBD_CONN_BYTES (64u * 1024 * 1024)

/* Maximum time without a byte. */
#define HPCBD_CONN_IDLE_MS 60000

typedef struct hpcbd_conns hpcbd_conns_t;
typedef struct hpcbd_conn hpcbd_conn_t;

typedef struct {
    uint64_t connections; /* accepted */
    uint64_t frames;      /* whole */
    uint64_t malformed;   /* bytes that are not a frame */
    uint64_t dropped;     /* closed because they were idle or too many */
} hpcbd_conn_stats_t;

/* Origin of a connection or datagram: the address, of IPv6 the network (a host may have
 * any number of addresses of one).  Ports below 1024 belong to root and count
 * separately, so that traffic of a node's users is not held against its daemon.  No
 * padding, because origins are compared with memcmp. */
typedef struct {
    unsigned char address[16];
    unsigned char reserved_port; /* 0 or 1 */
} hpcbd_origin_t;

/* Return the origin of a peer; peer may be a sockaddr_in. */
hpcbd_origin_t hpcbd_origin_of(const struct sockaddr_in6 *peer);

/* Take the content of a frame (NUL-terminated), which is valid until hpcbd_conn_forget,
 * hpcbd_conn_answer or hpcbd_conn_close.  The connection is not read until
 * hpcbd_conn_answer.  -1 closes it. */
typedef int (*hpcbd_take_fn)(void *arg, hpcbd_conn_t *conn, const char *frame);

/* Listen on port.  Return NULL with err on failure. */
hpcbd_conns_t *hpcbd_conns_open(hpcb_loop_t *loop, uint16_t port, hpcbd_take_fn take,
                                void *arg, hpcb_error_t *err);
void hpcbd_conns_close(hpcbd_conns_t *conns);

/* Return the port (useful if 0 was requested). */
uint16_t hpcbd_conns_port(const hpcbd_conns_t *conns);

/* Attach data to a connection until it is answered or closed. */
void hpcbd_conn_set(hpcbd_conn_t *conn, void *data, void (*release)(void *data));
void *hpcbd_conn_get(const hpcbd_conn_t *conn);

const hpcbd_origin_t *hpcbd_conn_origin(const hpcbd_conn_t *conn);

/* Free the frame that was taken. */
void hpcbd_conn_forget(hpcbd_conn_t *conn);

/* Call visit for each connection that waits for an answer; it may answer or close
 * it. */
void hpcbd_conns_waiting(hpcbd_conns_t *conns,
                         void (*visit)(hpcbd_conn_t *conn, void *arg), void *arg);

/* Send text as a frame, and continue to read. */
void hpcbd_conn_answer(hpcbd_conn_t *conn, const char *text);
void hpcbd_conn_close(hpcbd_conn_t *conn);

/* Stop or resume reading from connections; senders wait meanwhile. */
void hpcbd_conns_pause(hpcbd_conns_t *conns, bool pause);

/* Close connections that have been silent for too long; call this every few seconds. */
void hpcbd_conns_sweep(hpcbd_conns_t *conns);

const hpcbd_conn_stats_t *hpcbd_conns_stats(const hpcbd_conns_t *conns);

/* CLOCK_MONOTONIC in milliseconds. */
uint64_t hpcbd_now_ms(void);

#endif
