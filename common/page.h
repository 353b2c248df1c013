/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Status page of a rank: a small file, written by libhpcb_mpi.so in the program through
 * a mapping and read by hpcbd through read calls.
 *
 * It belongs to the user, who may write anything into it or truncate it at any time.
 * So the reader never maps it (a mapping of a truncated file causes SIGBUS), copies
 * before it checks, never waits, and uses numbers only where a wrong one does no harm:
 * they move shares among the tasks of one job.
 *
 * One thread of one program writes it after claiming it.  Processes that were started
 * by one task (mpirun's daemon starts all ranks of a node) may have been given the same
 * page, and only the first one uses it.  Numbers have the machine's byte order; a
 * reader that does not know the version ignores the page.
 */
#ifndef HPCB_COMMON_PAGE_H
#define HPCB_COMMON_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* "hpcbpage" in little-endian order */
#define HPCB_PAGE_MAGIC   0x6567617062637068U
#define HPCB_PAGE_VERSION 3
#define HPCB_PAGE_SIZE    256

/* Longest period in MPI calls (the limit of policy/periodicity.h). */
#define HPCB_PAGE_PERIOD_MAX 256U

/* Longest iteration or interval (11 days). */
#define HPCB_PAGE_LONGEST_NS 1000000000000000U

/*
 * Data from hpcbd to the program: POWER's hardware-thread priority (common/ppr.h) that
 * the program should have while it computes.  It is void from until_ns on, so that no
 * rank stays slow if hpcbd ends.
 */
typedef struct {
    uint64_t priority; /* 0: the default */
    uint64_t until_ns;
} hpcb_page_level_t;

/* Times in ns; CLOCK_MONOTONIC for points in time. */
typedef struct {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    uint64_t sequence;   /* odd: the members up to waits are being written */
    uint64_t period;     /* MPI calls per iteration; 0: no iterations are known */
    uint64_t iterations; /* completed ones */
    uint64_t samples;    /* number of samples; a sample is the following four */
    uint64_t compute_ns; /* of one iteration, or of an interval if period is 0 */
    uint64_t wait_ns;    /* inside of blocking MPI calls */
    uint64_t mean_ns;    /* of all iterations since the last sample */
    uint64_t ended_ns;   /* end of the last one */
    uint64_t waits;      /* odd: in a blocking call; changes at begin and end of each */
    uint64_t owner;      /* process ID of the writer; 0: none */
    uint64_t usual_ns;   /* mean of all iterations since the period was found */
    hpcb_page_level_t asked;
    uint64_t reserved[17];
} hpcb_page_t;

_Static_assert(sizeof(hpcb_page_t) == HPCB_PAGE_SIZE, "the layout is an interface");

/*
 * Create an empty page called name, which must not exist, in directory dir: a file of
 * uid and gid, 0600, with its memory allocated.  Return a descriptor for reading,
 * close-on-exec, that the caller closes; or -1 with errno and no file left.  Called by
 * root.
 */
int hpcb_page_create(int dir, const char *name, uid_t uid, gid_t gid);

/* Open the page at path if it belongs to uid.  Return a descriptor, close-on-exec,
 * that the caller closes, or -1 with errno (EPROTO: another file).  how: O_RDONLY or
 * O_RDWR. */
int hpcb_page_open(const char *path, int how, uid_t uid);

/*
 * Copy a page and check it.  Return 0; or -1 with page unchanged and errno EAGAIN (it
 * is being written, or nothing has been written yet: try again later), EPROTO (no page,
 * or impossible numbers), or that of the read.  Takes at most a few system calls,
 * whatever the writer does.
 */
int hpcb_page_read(int fd, hpcb_page_t *page);

/* Set the requested priority.  fd is open for writing.  One system call, which never
 * extends the file beyond a page.  Return 0, or -1 with errno. */
int hpcb_page_ask(int fd, const hpcb_page_level_t *level);

/* Read only the two numbers that change with each event, without a check; each is from
 * some moment.  One system call.  Return 0, or -1 with errno (EPROTO: the file is too
 * short). */
int hpcb_page_peek(int fd, uint64_t *samples, uint64_t *waits);

#endif
