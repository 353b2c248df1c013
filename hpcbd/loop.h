/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The daemon's event loop: one thread, epoll, callbacks.  A callback must not block;
 * code that may (libslurm, slow disks of others) belongs in a child process.
 */
#ifndef HPCB_HPCBD_LOOP_H
#define HPCB_HPCBD_LOOP_H

#include <stdint.h>
#include <sys/epoll.h>
#include <time.h>
#include "common/error.h"
#include "common/histogram.h"

typedef struct hpcb_loop hpcb_loop_t;
typedef struct hpcb_source hpcb_source_t;

/*
 * what is, by the kind of source:
 *   descriptor  the EPOLL bits
 *   timer       number of expirations since the last call; 0: the clock was set (only
 *               for timers set with hpcb_timer_at), and the timer is off
 *   signal      the signal's number
 */
typedef void (*hpcb_loop_fn)(void *arg, uint64_t what);

/* Return NULL with err if the kernel refuses or memory is short. */
hpcb_loop_t *hpcb_loop_new(hpcb_error_t *err);

/* Free the loop with its remaining sources (not the callers' descriptors).  loop may be
 * NULL. */
void hpcb_loop_free(hpcb_loop_t *loop);

/* Dispatch events until hpcb_loop_stop.  Return 0, or -1 with err if waiting itself
 * fails. */
int hpcb_loop_run(hpcb_loop_t *loop, hpcb_error_t *err);

/* Wait up to timeout_ms (-1: forever) and dispatch events once.  For tests.  Return 0,
 * or -1 with err. */
int hpcb_loop_once(hpcb_loop_t *loop, int timeout_ms, hpcb_error_t *err);

/* Record from now on in turns how long each iteration of the loop runs.  An event that
 * arrives during an iteration waits for its end.  turns must outlive the loop. */
void hpcb_loop_note_turns(hpcb_loop_t *loop, hpcb_histogram_t *turns);

/* Make hpcb_loop_run return after the present events. */
void hpcb_loop_stop(hpcb_loop_t *loop);

/* Watch fd, which the caller owns: remove the source before closing it.  events:
 * EPOLLIN, EPOLLOUT, EPOLLPRI, …; level-triggered.  Return NULL with errno and err on
 * failure. */
hpcb_source_t *hpcb_loop_fd(hpcb_loop_t *loop, int fd, uint32_t events, hpcb_loop_fn fn,
                            void *arg, hpcb_error_t *err);

/* Change the events of a descriptor's source.  Return 0, or -1 with errno. */
int hpcb_source_events(hpcb_source_t *source, uint32_t events);

/* Create a timer that is off, on CLOCK_MONOTONIC (delays, independent of clock steps)
 * or CLOCK_REALTIME (switches that all nodes share). */
hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err);

/* Expire first_ns from now, then every interval_ns (0: once).  first_ns 0 turns it
 * off. */
int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns);

/* Expire every interval_ns from now on.  No effect if the timer already does so: its
 * next time stays. */
int hpcb_timer_every(hpcb_source_t *timer, uint64_t interval_ns);

/* Expire at at_ns of the timer's clock, then every interval_ns (0: once).  On
 * CLOCK_REALTIME a step of the clock calls back with what 0. */
int hpcb_timer_at(hpcb_source_t *timer, uint64_t at_ns, uint64_t interval_ns);

/* Block signo in this process and receive it here.  Children must unblock it
 * (hpcb_loop_unblock_signals) before they exec. */
hpcb_source_t *hpcb_loop_signal(hpcb_loop_t *loop, int signo, hpcb_loop_fn fn,
                                void *arg, hpcb_error_t *err);

/* Unblock all signals in a child, between fork and exec. */
void hpcb_loop_unblock_signals(void);

/* Remove a source: its callback is not called any more.  Any callback may call this,
 * including its own.  source may be NULL. */
void hpcb_source_remove(hpcb_source_t *source);

#endif
