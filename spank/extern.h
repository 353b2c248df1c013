/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_SPANK_EXTERN_H
#define HPCB_SPANK_EXTERN_H

#include <sys/types.h>

/*
 * Return the placeholder process of the extern step (PrologFlags=Contain).  SPANK calls
 * task_post_fork for it with task -1 and without a pid (22.05 … 26.05), but from the
 * thread that has just forked it, so it is that thread's youngest child.  Return 0 if
 * the kernel does not list children (CONFIG_PROC_CHILDREN).
 */
pid_t hpcb_spank_extern_pid(void);

#endif
