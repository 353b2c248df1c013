/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The daemon's event loop: one thread, epoll, callbacks.  A callback must not block;
 * what may (libslurm, slow disks of others) belongs into a child process.
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
 *   descriptor  the EPOLL bits that came
 *   timer       how often it has expired since the last call; 0: somebody has set the
 *               clock (timers set with hpcb_timer_at only), and the timer is off
 *   signal      the signal's number
 */
typedef void (*hpcb_loop_fn)(void *arg, uint64_t what);

/* NULL with err where the kernel or memory gives none. */
hpcb_loop_t *hpcb_loop_new(hpcb_error_t *err);

/* Frees the sources that are left as well (not the callers' descriptors).  NULL is
 * fine. */
void hpcb_loop_free(hpcb_loop_t *loop);

/* Call back until hpcb_loop_stop.  0, or -1 with err when waiting itself fails. */
int hpcb_loop_run(hpcb_loop_t *loop, hpcb_error_t *err);

/* Wait up to timeout_ms (-1: for ever) and dispatch what has come, once.  For tests.
 * 0 or -1 with err. */
int hpcb_loop_once(hpcb_loop_t *loop, int timeout_ms, hpcb_error_t *err);

/* From now on note in turns for how long each turn keeps the loop from waiting: who
 * comes in one waits for the rest of it.  turns outlives the loop. */
void hpcb_loop_note_turns(hpcb_loop_t *loop, hpcb_histogram_t *turns);

/* hpcb_loop_run returns after the events that it is at. */
void hpcb_loop_stop(hpcb_loop_t *loop);

/* Watch fd, which stays the caller's: remove the source before it is closed.  events:
 * EPOLLIN, EPOLLOUT, EPOLLPRI, …; level-triggered.  NULL with errno and err on
 * failure. */
hpcb_source_t *hpcb_loop_fd(hpcb_loop_t *loop, int fd, uint32_t events, hpcb_loop_fn fn,
                            void *arg, hpcb_error_t *err);

/* Change the events of a descriptor's source.  0 or -1 with errno. */
int hpcb_source_events(hpcb_source_t *source, uint32_t events);

/* A timer that is off, on CLOCK_MONOTONIC (delays: no step of the clock matters) or
 * CLOCK_REALTIME (edges that all nodes share). */
hpcb_source_t *hpcb_loop_timer(hpcb_loop_t *loop, clockid_t clock, hpcb_loop_fn fn,
                               void *arg, hpcb_error_t *err);

/* Expire first_ns from now, then every interval_ns (0: once).  first_ns 0 switches it
 * off. */
int hpcb_timer_in(hpcb_source_t *timer, uint64_t first_ns, uint64_t interval_ns);

/* Expire every interval_ns from now on.  Nothing changes if the timer does so already:
 * its next time is not put off. */
int hpcb_timer_every(hpcb_source_t *timer, uint64_t interval_ns);

/* Expire at at_ns of the timer's clock, then every interval_ns (0: once).  On
 * CLOCK_REALTIME a step of the clock ends the wait with what 0. */
int hpcb_timer_at(hpcb_source_t *timer, uint64_t at_ns, uint64_t interval_ns);

/* Block signo in this process and take it here: children must unblock it
 * (hpcb_loop_unblock_signals) before they exec. */
hpcb_source_t *hpcb_loop_signal(hpcb_loop_t *loop, int signo, hpcb_loop_fn fn,
                                void *arg, hpcb_error_t *err);

/* In a child, between fork and exec: no signal is blocked any more. */
void hpcb_loop_unblock_signals(void);

/* No callback of source comes any more; any callback may call it, its own included.
 * NULL is fine. */
void hpcb_source_remove(hpcb_source_t *source);

#endif
