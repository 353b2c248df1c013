/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Child process of the daemon for work that may block.  It ends with the daemon, and is
 * restarted, with growing delays, if it ends by itself.
 */
#ifndef HPCB_HPCBD_CHILD_H
#define HPCB_HPCBD_CHILD_H

#include "hpcbd/loop.h"

typedef struct hpcbd_child hpcbd_child_t;

/* In a child: its end of a stream socket to the daemon. */
#define HPCBD_CHILD_SOCKET 3

/* Run work(arg) in a child called name; its result is the exit code.  work runs without
 * blocked signals, with default actions (except SIGPIPE, which is ignored) and ordinary
 * scheduling.  Return NULL with err on failure. */
hpcbd_child_t *hpcbd_child_start(hpcb_loop_t *loop, const char *name,
                                 int (*work)(void *arg), void *arg, hpcb_error_t *err);

/* Call changed(arg) from the loop each time that the child has ended or has been
 * restarted. */
void hpcbd_child_watch(hpcbd_child_t *child, void (*changed)(void *arg), void *arg);

/* Return the daemon's end of the socket, which the child owns; -1 while there is
 * none. */
int hpcbd_child_socket(const hpcbd_child_t *child);

/* Kill the child; it is restarted like one that ends by itself. */
void hpcbd_child_kill(hpcbd_child_t *child);

/* End the child (with SIGKILL, for which its work is designed) and free it.  child may
 * be NULL. */
void hpcbd_child_stop(hpcbd_child_t *child);

#endif
