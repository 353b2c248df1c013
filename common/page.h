/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a rank says of its iterations: a small file, written by libhpcb_mpi.so in the
 * program through a mapping and read by the node daemon through read calls.
 *
 * It belongs to the user, who may write anything into it at any time, or make it
 * shorter.  So the reader never maps it (a mapping of a file that has become shorter is
 * a SIGBUS), copies before it checks, never waits, and believes a number only as far as
 * it does no harm: what is read moves shares among the tasks of one job.
 *
 * Written by one thread of one program, which claims it: processes that were started by
 * one task (mpirun's daemon starts all ranks of a node) may have been given the same
 * page, and only the first one uses it.  Numbers are the machine's own; a reader that
 * does not know the version leaves the page alone.
 */
#ifndef HPCB_COMMON_PAGE_H
#define HPCB_COMMON_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* "hpcbpage" where the least byte comes first */
#define HPCB_PAGE_MAGIC   0x6567617062637068U
#define HPCB_PAGE_VERSION 3
#define HPCB_PAGE_SIZE    256

/* No period has more MPI calls (policy/periodicity.h finds no longer one). */
#define HPCB_PAGE_PERIOD_MAX 256U

/* No iteration and no interval is longer (11 days). */
#define HPCB_PAGE_LONGEST_NS 1000000000000000U

/*
 * The other way, from the node daemon: POWER's hardware-thread priority
 * (common/ppr.h) that the program should have while it computes.  It is worth nothing
 * from until_ns on, so that no rank stays slow when nobody is there to take it back.
 */
typedef struct {
    uint64_t priority; /* 0: as usual */
    uint64_t until_ns;
} hpcb_page_level_t;

/* Times in ns, of CLOCK_MONOTONIC where they are points in time. */
typedef struct {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    uint64_t sequence;   /* odd: what follows, up to waits, is being written */
    uint64_t period;     /* MPI calls an iteration, 0: no iterations are known */
    uint64_t iterations; /* that have ended */
    uint64_t samples;    /* counts up with each sample, the four that follow */
    uint64_t compute_ns; /* of one iteration, or of an interval where period is 0 */
    uint64_t wait_ns;    /* inside of blocking MPI calls */
    uint64_t mean_ns;    /* of all iterations since the last sample */
    uint64_t ended_ns;   /* when the last of them ended */
    uint64_t waits;      /* odd: in a blocking call; changes with every one */
    uint64_t owner;      /* process id of who writes, 0: nobody */
    uint64_t usual_ns;   /* mean of all iterations since they were found */
    hpcb_page_level_t asked;
    uint64_t reserved[17];
} hpcb_page_t;

_Static_assert(sizeof(hpcb_page_t) == HPCB_PAGE_SIZE, "the layout is an interface");

/*
 * Make an empty page called name, which must not exist, in directory dir: a file of
 * uid and gid, 0600, with its memory in place.  A descriptor to read from,
 * close-on-exec and the caller's; or -1 with errno and no file left.  Called by root.
 */
int hpcb_page_create(int dir, const char *name, uid_t uid, gid_t gid);

/* Open the page at path if it is one of uid's: a descriptor, close-on-exec and the
 * caller's, or -1 with errno (EPROTO: another file).  how: O_RDONLY or O_RDWR. */
int hpcb_page_open(const char *path, int how, uid_t uid);

/*
 * Copy a page and check it.  0; or -1 with page untouched and errno EAGAIN (just being
 * written, or nothing written yet: come back later), EPROTO (no page, or numbers that
 * cannot be), or what the read said.  At most a few system calls, whatever the other
 * side does.
 */
int hpcb_page_read(int fd, hpcb_page_t *page);

/* Ask for a priority.  fd is open for writing.  One system call, which never makes the
 * file longer than a page.  0, or -1 with errno. */
int hpcb_page_ask(int fd, const hpcb_page_level_t *level);

/* Only the two numbers that say whether there is something new, each as it is at some
 * moment, unchecked.  One system call.  0, or -1 with errno (EPROTO: the file is too
 * short). */
int hpcb_page_peek(int fd, uint64_t *samples, uint64_t *waits);

#endif
