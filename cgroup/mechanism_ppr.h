/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The hardware-thread priority of POWER (program priority register, PPR): how the
 * threads of one core share its decode slots.  It belongs to the calling thread; nobody
 * else can set it with an instruction.  libc only, no state.
 *
 * How long it lasts on Linux.  Read in the kernel's sources, never seen on hardware:
 *  - an interrupt (tick, page fault, preemption) saves the register and restores it
 *    (4.1: ret_from_except; 6.2: interrupt_return_*_user);
 *  - a system call does not: each return from one, by sc and by scv, executes
 *    `or 6,6,6`, so the thread comes back with MEDIUM_LOW, whatever it had set (4.1:
 *    HMT_MEDIUM_LOW_HAS_PPR in entry_64.S; 6.2: HMT_MEDIUM_LOW in interrupt_64.S);
 *  - hence execve(2) loses it, and fork(2): parent and child come back from a system
 *    call (and copy_thread gives the child DEFAULT_PPR, which is MEDIUM_LOW);
 *  - a signal handler ends in a system call (sigreturn);
 *  - ptrace(2) can write the saved register (NT_PPC_PPR), which counts when the thread
 *    next returns from an interrupt, not when it returns from a system call.
 * So a launcher cannot lower a program with it: what it sets is gone before user code
 * begins.  It is for code inside a program, between two system calls: a phase of
 * computation, a loop that polls.
 * Not known: other releases (none between 4.1 and 6.2 was read), what PowerVM adds, and
 * whether a given processor takes VERY_LOW from user code (the ISA of POWER8 allows
 * it). qemu-user (7.2) models LOW, MEDIUM_LOW and MEDIUM, takes no other level from
 * user code, and keeps the register over system calls, which Linux does not.
 */
#ifndef HPCB_CGROUP_MECHANISM_PPR_H
#define HPCB_CGROUP_MECHANISM_PPR_H

#include "common/ppr.h"

/* Set the calling thread's priority and read it back.  Return 0, or -1 with errno:
 * ENOTSUP (no PPR here), EINVAL (none of the four), EPERM (the processor did not accept
 * it).  Makes no system call. */
int hpcb_ppr_set(int priority);

/* Return the calling thread's priority, 0 to 7; -1 with errno ENOTSUP.  Makes no system
 * call. */
int hpcb_ppr_get(void);

#endif
