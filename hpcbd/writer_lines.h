/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* How far the files of CollectorDir/records have been read: CollectorDir/writer.pos. */
#ifndef HPCB_HPCBD_WRITER_LINES_H
#define HPCB_HPCBD_WRITER_LINES_H

#include "common/error.h"

/* Lines that are taken together. */
#define HPCBD_LINES_MAX 64

typedef struct hpcbd_positions hpcbd_positions_t;

/* NULL with err. */
hpcbd_positions_t *hpcbd_positions_open(const char *dir, hpcb_error_t *err);
void hpcbd_positions_close(hpcbd_positions_t *positions);

/* Call visit for up to HPCBD_LINES_MAX lines that have not been read, but for those of
 * which a later one of the same run is among them; then note that on disk.  The number
 * of lines read, 0 where there is nothing new; or -1 with err. */
long hpcbd_positions_next(hpcbd_positions_t *positions,
                          void (*visit)(const char *line, void *arg), void *arg,
                          hpcb_error_t *err);

#endif
