/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The files of nodes' live state (common/live.h) and of bad company (policy/company.h),
 * read by a thread of its own: who asks holds slurmctld's locks, and a disk that does
 * not answer must not hold slurmctld up.
 */
#ifndef HPCB_SELECT_READER_H
#define HPCB_SELECT_READER_H

#include "common/error.h"
#include "common/live.h"
#include "policy/company.h"

/* Read the files in dir (CollectorDir) from now on, as if they had never been read. */
void hpcb_reader_follow(const char *dir);

/*
 * Have the thread look at the file.  That is waited for up to 100 ms; not at all while
 * it has not come back from an earlier look.  The first call makes the thread, which
 * lives as long as the process.
 *
 * 1: live is new, what it held before has been released; 0: nothing new, or not yet;
 * -1 with errno and err: there is no file that counts, or no thread.
 */
int hpcb_reader_look(hpcb_live_t *live, hpcb_error_t *err);

/*
 * Bad company, as the last looks have seen it.  1: *company is new, what it was before
 * has been freed; it is NULL if there is no file, or none that counts: then err says
 * why ("": there is none).  0: nothing new.  Never waits.
 */
int hpcb_reader_company(hpcb_company_t **company, hpcb_error_t *err);

#endif
