/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The file is mapped and changed by atomic operations: who waited for a lock would wait
 * for a slurmstepd that is as idle as its guest.  Its page is allocated before it is
 * touched, or a full file system would be a SIGBUS.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "common/cleanup.h"
#include "common/file.h"
#include "spank/credit.h"

/* Several times the CPU time of a start and an end of a step (30 to 100 ms each on
 * common machines), and then a tenth of a percent of one CPU; accounting every 30 s
 * takes less. */
#define CREDIT_US  500000
#define CREDIT_PPM 1000

/* No more is owed than is earned in 50 s: once in less than UnkillableStepTimeout (60
 * s) slurmstepd must get to it that its job is to end.  It is lifted for 500 ms then
 * (spank/stepd.h), so that a job that always has debts takes 1 % of a CPU. */
#define DEBT_US 50000

/* Beyond that, for steps that are ending: enough to end steps of thousands of tasks,
 * then a percent of one CPU. */
#define END_US  2000000
#define END_PPM 10000

/* All zero at first. */
struct hpcb_credit {
    _Atomic int64_t left_us;
    _Atomic int64_t earned_us; /* CLOCK_BOOTTIME until which it has earned; 0: new */
    _Atomic int64_t ended_us;  /* taken for ends, less what has been earned since */
};

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_BOOTTIME, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int open_file(const char *state_dir, uint32_t job_id, hpcb_error_t *err)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof(path), "%s/jobs", state_dir);
    int fd;

    if (n < 0 || n > PATH_MAX - 32) {
        errno = ENAMETOOLONG;
        return hpcb_error(err, "%.200s is too long", state_dir);
    }
    if (hpcb_file_mkdirs(path, 0755, err) < 0 || hpcb_file_trusted(path, err) < 0)
        return -1;
    snprintf(path + n, sizeof(path) - (size_t)n, "/%" PRIu32 ".credit", job_id);
    fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    return fd < 0 ? hpcb_error(err, "%.300s: %s", path, strerror(errno)) : fd;
}

hpcb_credit_t *hpcb_spank_credit_private(void)
{
    hpcb_credit_t *made = mmap(NULL, sizeof(*made), PROT_READ | PROT_WRITE,
                               MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (made == MAP_FAILED)
        return NULL;
    atomic_store(&made->earned_us, now_us());
    return made;
}

hpcb_credit_t *hpcb_spank_credit_open(const char *state_dir, uint32_t job_id,
                                      hpcb_error_t *err)
{
    hpcb_autoclose int fd = open_file(state_dir, job_id, err);
    void *page;

    if (fd < 0)
        return NULL;
    errno = posix_fallocate(fd, 0, sizeof(hpcb_credit_t));
    page = errno ? MAP_FAILED
                 : mmap(NULL, sizeof(hpcb_credit_t), PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd, 0);
    if (page != MAP_FAILED)
        return page;
    hpcb_error(err, "no account of job %" PRIu32 ": %s", job_id, strerror(errno));
    return NULL;
}

static int64_t clamp(int64_t left_us)
{
    if (left_us > CREDIT_US)
        return CREDIT_US;
    return left_us < -DEBT_US ? -DEBT_US : left_us;
}

/* Return what is left then. */
static int64_t add_credit(hpcb_credit_t *credit, int64_t us)
{
    int64_t left = atomic_load(&credit->left_us), next;

    do
        next = clamp(left + us);
    while (!atomic_compare_exchange_weak(&credit->left_us, &left, next));
    return next;
}

/* Return the CPU time used for ends then, between nothing and the maximum that is
 * counted. */
static int64_t add_ended(hpcb_credit_t *credit, int64_t us)
{
    int64_t ended = atomic_load(&credit->ended_us), next;

    do {
        next = ended + us;
        if (next < 0)
            next = 0;
        else if (next > 2 * END_US)
            next = 2 * END_US;
    } while (!atomic_compare_exchange_weak(&credit->ended_us, &ended, next));
    return next;
}

/* Of those who come at once one adds what the time since the last one has earned. */
static void earn(hpcb_credit_t *credit)
{
    int64_t until = now_us(), since = atomic_load(&credit->earned_us);
    int64_t earned = since ? (until - since) * CREDIT_PPM / 1000000 : CREDIT_US;

    if (earned <= 0 ||
        !atomic_compare_exchange_strong(&credit->earned_us, &since, until))
        return;
    (void)add_credit(credit, earned);
    (void)add_ended(credit, -((until - since) * END_PPM / 1000000));
}

int64_t hpcb_spank_credit_charge(hpcb_credit_t *credit, int64_t used_us)
{
    if (!credit)
        return 0;
    earn(credit);
    return add_credit(credit, -used_us);
}

int64_t hpcb_spank_credit_charge_end(hpcb_credit_t *credit, int64_t used_us)
{
    if (!credit)
        return 0;
    earn(credit);
    return END_US - add_ended(credit, used_us);
}

void hpcb_spank_credit_close(hpcb_credit_t *credit)
{
    if (credit)
        munmap(credit, sizeof(*credit));
}
