/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A page that a user has written anything into.  An input is a list of pairs of bytes:
 * where to write, and what; over a good page, as most of random ones are no page at
 * all. The first byte is the length of the file, if it is even.
 */
#include "config.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/page.h"
#include "policy/periodicity.h"
#include "tests/fuzz/fuzz.h"

const char *const fuzz_seeds[] = {
    "a",         "a\x18\x04",         "a\x2f\xff\x37\xff", "a\x10\x01",
    "b\x18\x04", "a\x08\x02\x0c\x7f", "a\x19\x01\x18\x01", NULL,
};

static hpcb_page_t good_page(void)
{
    return (hpcb_page_t){
        .magic = HPCB_PAGE_MAGIC,
        .version = HPCB_PAGE_VERSION,
        .size = HPCB_PAGE_SIZE,
        .sequence = 12,
        .period = 4,
        .iterations = 17,
        .samples = 3,
        .compute_ns = 1000000,
        .wait_ns = 3000000,
        .mean_ns = 4000000,
    };
}

static void check(const hpcb_page_t *page)
{
    FUZZ_ASSERT(page->period <= HPCB_PAGE_PERIOD_MAX);
    FUZZ_ASSERT(page->compute_ns <= HPCB_PAGE_LONGEST_NS);
    FUZZ_ASSERT(page->wait_ns <= HPCB_PAGE_LONGEST_NS);
    FUZZ_ASSERT(page->mean_ns <= HPCB_PAGE_LONGEST_NS);
    FUZZ_ASSERT(page->sequence % 2 == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    hpcb_page_t bad = good_page(), seen, untouched;
    size_t length = sizeof(bad);

    if (fd < 0)
        fd = memfd_create("page", MFD_CLOEXEC);
    FUZZ_ASSERT(fd >= 0);
    if (size > 0 && data[0] % 2 == 0)
        length = data[0];
    for (size_t i = 1; i + 1 < size; i += 2)
        ((uint8_t *)&bad)[data[i]] = data[i + 1];
    FUZZ_ASSERT(ftruncate(fd, 0) == 0);
    FUZZ_ASSERT(pwrite(fd, &bad, length, 0) == (ssize_t)length);
    memset(&seen, 0xa5, sizeof(seen));
    untouched = seen;
    if (hpcb_page_read(fd, &seen) == 0) {
        FUZZ_ASSERT(length == sizeof(bad));
        FUZZ_ASSERT(memcmp(&seen, &bad, sizeof(seen)) == 0);
        check(&seen);
    } else {
        FUZZ_ASSERT(errno == EAGAIN || errno == EPROTO);
        FUZZ_ASSERT(memcmp(&seen, &untouched, sizeof(seen)) == 0);
    }
    return 0;
}
