/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The row ppr: the lowest hardware-thread priority that the processor takes, for the
 * calling thread.  Nothing is noted for undo: Linux gives every thread the same value
 * to come back to.
 */
#include "config.h"

#include <errno.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <unistd.h>
#include "cgroup/mechanism_ppr.h"
#include "cgroup/rows.h"

#ifdef __powerpc64__

#define PRI_SHIFT 50         /* bits 11 to 13 of the PPR, counted from the left */
#define ISA_2_06  0x00000100 /* PPC_FEATURE_ARCH_2_06 of asm/cputable.h: POWER7 */

/* From POWER7 on, as Linux has it (CPU_FTR_HAS_PPR): older processors may end a program
 * that reads the register. */
static bool has_ppr(void)
{
    return getauxval(AT_HWCAP) & ISA_2_06;
}

static int read_priority(void)
{
    uint64_t ppr;

    __asm__ volatile("mfspr %0, 896" : "=r"(ppr));
    return (int)(ppr >> PRI_SHIFT & 7);
}

#else

static bool has_ppr(void)
{
    return false;
}

static int read_priority(void)
{
    return -1;
}

#endif

int hpcb_ppr_get(void)
{
    if (has_ppr())
        return read_priority();
    errno = ENOTSUP;
    return -1;
}

int hpcb_ppr_set(int priority)
{
    if (!has_ppr()) {
        errno = ENOTSUP;
        return -1;
    }
    if (priority < HPCB_PPR_VERY_LOW || priority > HPCB_PPR_MEDIUM) {
        errno = EINVAL;
        return -1;
    }
    hpcb_ppr_write((unsigned)priority);
    if (read_priority() == priority)
        return 0;
    errno = EPERM;
    return -1;
}

int hpcb_ppr_probe(const hpcb_node_t *node, hpcb_error_t *err)
{
    (void)node;
    if (has_ppr())
        return 0;
    errno = ENOTSUP;
#ifdef __powerpc64__
    return hpcb_error(err, "this POWER processor is older than POWER7");
#else
    return hpcb_error(err, "not POWER");
#endif
}

/* The register cannot be reached from another process or thread. */
static int is_caller(const hpcb_target_t *target, hpcb_error_t *err)
{
    if (target->pid == gettid())
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "task %d: only a thread itself can set its priority",
                      (int)target->pid);
}

int hpcb_ppr_apply(const hpcb_target_t *target, hpcb_error_t *err)
{
    if (hpcb_ppr_probe(target->node, err) < 0 || is_caller(target, err) < 0)
        return -1;
    if (hpcb_ppr_set(HPCB_PPR_VERY_LOW) == 0 || hpcb_ppr_set(HPCB_PPR_LOW) == 0)
        return 0;
    return hpcb_error(err, "the processor takes no low priority from user code");
}

/* is_caller asks the kernel who we are: on Linux the priority would be lost with it, so
 * the register is read first. */
int hpcb_ppr_verify(const hpcb_target_t *target, hpcb_error_t *err)
{
    int priority = hpcb_ppr_get();

    if (hpcb_ppr_probe(target->node, err) < 0 || is_caller(target, err) < 0)
        return -1;
    if (priority >= HPCB_PPR_VERY_LOW && priority <= HPCB_PPR_LOW)
        return 0;
    errno = EINVAL;
    return hpcb_error(err, "the hardware-thread priority of task %d is %d",
                      (int)target->pid, priority);
}

int hpcb_ppr_undo(const hpcb_mechanism_t *row, const hpcb_target_t *target,
                  hpcb_error_t *err)
{
    (void)row;
    if (hpcb_ppr_probe(target->node, NULL) < 0 || is_caller(target, NULL) < 0)
        return 0;
    if (hpcb_ppr_set(HPCB_PPR_MEDIUM_LOW) == 0)
        return 0;
    return hpcb_error(err, "the processor does not take medium-low priority");
}
