/*
 * SPDX-License-Identifier: LGPL-2.1-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The reader's side of page.h; not part of libhpcb_mpi.so. */
#include "config.h"

#include "common/page.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

/* The writer is in between for some 10 ns: twice in a row says that it stays there. */
#define ATTEMPTS 3

static int fail(int fd, int dir, const char *name)
{
    int saved = errno;

    unlinkat(dir, name, 0);
    close(fd);
    errno = saved;
    return -1;
}

int hpcb_page_create(int dir, const char *name, uid_t uid, gid_t gid)
{
    int fd =
        openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int rc;

    if (fd < 0)
        return -1;
    /* Memory now: a full file system must not kill the program with SIGBUS later. */
    rc = posix_fallocate(fd, 0, HPCB_PAGE_SIZE);
    if (rc) {
        errno = rc;
        return fail(fd, dir, name);
    }
    if (fchown(fd, uid, gid))
        return fail(fd, dir, name);
    return fd;
}

int hpcb_page_open(const char *path, int how, uid_t uid)
{
    int fd = open(path, how | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
    struct stat st;

    if (fd < 0)
        return -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == uid &&
        st.st_size == HPCB_PAGE_SIZE)
        return fd;
    close(fd);
    errno = EPROTO;
    return -1;
}

static int read_part(int fd, void *to, size_t size, off_t at)
{
    ssize_t n = pread(fd, to, size, at);

    if (n < 0)
        return -1;
    if ((size_t)n == size)
        return 0;
    errno = EPROTO;
    return -1;
}

/* Return 1 if it was copied while it was not being written, 0 otherwise, -1 with
 * errno.  Reading the sequence before and after the copy ensures an order that a single
 * read call would not. */
static int copy(int fd, hpcb_page_t *page)
{
    uint64_t before, after;
    off_t at = offsetof(hpcb_page_t, sequence);

    if (read_part(fd, &before, sizeof(before), at) ||
        read_part(fd, page, sizeof(*page), 0) ||
        read_part(fd, &after, sizeof(after), at))
        return -1;
    return before % 2 == 0 && before == after && before == page->sequence;
}

static bool is_sane(const hpcb_page_t *page)
{
    return page->magic == HPCB_PAGE_MAGIC && page->version == HPCB_PAGE_VERSION &&
           page->size == HPCB_PAGE_SIZE && page->period <= HPCB_PAGE_PERIOD_MAX &&
           page->compute_ns <= HPCB_PAGE_LONGEST_NS &&
           page->wait_ns <= HPCB_PAGE_LONGEST_NS &&
           page->mean_ns <= HPCB_PAGE_LONGEST_NS &&
           page->usual_ns <= HPCB_PAGE_LONGEST_NS;
}

int hpcb_page_read(int fd, hpcb_page_t *page)
{
    hpcb_page_t seen;
    int done = 0;

    for (int i = 0; i < ATTEMPTS && done == 0; i++) {
        done = copy(fd, &seen);
        if (done < 0)
            return -1;
    }
    errno = done == 0 || seen.magic == 0 ? EAGAIN : EPROTO;
    if (done == 0 || !is_sane(&seen))
        return -1;
    *page = seen;
    return 0;
}

int hpcb_page_ask(int fd, const hpcb_page_level_t *level)
{
    ssize_t n = pwrite(fd, level, sizeof(*level), offsetof(hpcb_page_t, asked));

    return n == (ssize_t)sizeof(*level) ? 0 : -1;
}

int hpcb_page_peek(int fd, uint64_t *samples, uint64_t *waits)
{
    struct {
        uint64_t samples, compute_ns, wait_ns, mean_ns, ended_ns, waits;
    } part;

    _Static_assert(sizeof(part) ==
                       offsetof(hpcb_page_t, owner) - offsetof(hpcb_page_t, samples),
                   "part is what the page has there");
    if (read_part(fd, &part, sizeof(part), offsetof(hpcb_page_t, samples)))
        return -1;
    *samples = part.samples;
    *waits = part.waits;
    return 0;
}
