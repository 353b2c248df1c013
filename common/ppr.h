/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * POWER's hardware-thread priority (program priority register): instructions that set
 * that of the calling thread.  cgroup/mechanism_ppr.h describes how long it lasts.  No
 * effect on other machines and on processors without the register.
 */
#ifndef HPCB_COMMON_PPR_H
#define HPCB_COMMON_PPR_H

/* Levels that user code may set; the kernel has more. */
enum {
    HPCB_PPR_VERY_LOW = 1,
    HPCB_PPR_LOW = 2,
    HPCB_PPR_MEDIUM_LOW = 3, /* Linux' default for user code */
    HPCB_PPR_MEDIUM = 4
};

/* Set a priority; other values have no effect.  No system call. */
static inline void hpcb_ppr_write(unsigned priority)
{
#ifdef __powerpc64__
    switch (priority) {
    case HPCB_PPR_VERY_LOW:
        __asm__ volatile("or 31,31,31");
        break;
    case HPCB_PPR_LOW:
        __asm__ volatile("or 1,1,1");
        break;
    case HPCB_PPR_MEDIUM_LOW:
        __asm__ volatile("or 6,6,6");
        break;
    case HPCB_PPR_MEDIUM:
        __asm__ volatile("or 2,2,2");
        break;
    default:
        break;
    }
#else
    (void)priority;
#endif
}

#endif
