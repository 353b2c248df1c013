/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Connections of a node to the collector.  They block: for child processes. */
#ifndef HPCB_HPCBD_RECORDS_CONN_H
#define HPCB_HPCBD_RECORDS_CONN_H

#include "common/conf.h"
#include "common/error.h"

/* Connect to the first host of CollectorHost that answers.  Each operation on the
 * socket, including the connection, takes at most so many seconds.  The caller closes
 * it.  Return -1 with err on failure. */
int hpcbd_ship_connect(const hpcb_conf_t *conf, unsigned seconds, hpcb_error_t *err);

/* Send one frame (hpcbd/records/wire.h).  Return 0, or -1 with err. */
int hpcbd_ship_frame(int fd, const char *credential, hpcb_error_t *err);

/* Send text in a MUNGE credential, and return the text of the answer, which the caller
 * frees.  Each step takes up to so many seconds.  Return NULL with err on failure. */
char *hpcbd_ship_exchange(const hpcb_conf_t *conf, const char *text, unsigned seconds,
                          hpcb_error_t *err);

#endif
