/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Reader of nodes' live state (common/live.h) and of bad company (policy/company.h), in
 * a thread of its own: the caller holds slurmctld's locks, and a disk that does not
 * answer must not block slurmctld.
 */
#ifndef HPCB_SELECT_READER_H
#define HPCB_SELECT_READER_H

#include "common/error.h"
#include "common/live.h"
#include "policy/company.h"

/* Read the files in dir (CollectorDir) from now on, as if they had never been read. */
void hpcb_reader_follow(const char *dir);

/*
 * Let the thread read the file, and wait for that up to 100 ms; not at all while an
 * earlier read has not returned.  The first call creates the thread, which runs until
 * the process ends.
 *
 * Return 1 if live is new (its old content has been freed); 0 if there is nothing new
 * (yet); -1 with errno and err if there is no valid file or no thread.
 */
int hpcb_reader_look(hpcb_live_t *live, hpcb_error_t *err);

/*
 * Get bad company as of the last reads.  Return 1 if *company is new (the old one has
 * been freed); it is NULL if there is no valid file: err has the reason then ("": there
 * is none).  Return 0 if there is nothing new.  Never waits.
 */
int hpcb_reader_company(hpcb_company_t **company, hpcb_error_t *err);

#endif
