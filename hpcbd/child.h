/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A process of its own for what may block: it is forked from the daemon, ends with it,
 * and is started again, later and later, when it ends by itself.
 */
#ifndef HPCB_HPCBD_CHILD_H
#define HPCB_HPCBD_CHILD_H

#include "hpcbd/loop.h"

typedef struct hpcbd_child hpcbd_child_t;

/* In a child: its end of a stream socket whose other end the daemon has. */
#define HPCBD_CHILD_SOCKET 3

/* Run work(arg) in a child named name; what it returns is its exit code.  work gets a
 * process without blocked signals, with their default actions (but SIGPIPE, which is
 * ignored), and of ordinary scheduling.  NULL with err. */
hpcbd_child_t *hpcbd_child_start(hpcb_loop_t *loop, const char *name,
                                 int (*work)(void *arg), void *arg, hpcb_error_t *err);

/* Call changed(arg) from the loop each time that the child has ended, and each time
 * that it has been started again. */
void hpcbd_child_watch(hpcbd_child_t *child, void (*changed)(void *arg), void *arg);

/* The daemon's end of the socket, which stays the child's; -1 while there is none. */
int hpcbd_child_socket(const hpcbd_child_t *child);

/* Kill it; it is started again like one that ends by itself. */
void hpcbd_child_kill(hpcbd_child_t *child);

/* End it (SIGKILL: its work is made for that) and forget it.  NULL is fine. */
void hpcbd_child_stop(hpcbd_child_t *child);

#endif
