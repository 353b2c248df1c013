/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The reader of pages against writers that are honest, slow, or out to harm it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "common/page.h"

static char directory[] = "/tmp/hpcb-page-XXXXXX";
static int dir = -1, fd = -1;
static hpcb_page_t good, seen;

static void put(const void *data, size_t size)
{
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    ck_assert_int_eq(pwrite(fd, data, size, 0), (ssize_t)size);
}

static void setup(void)
{
    strcpy(directory + sizeof(directory) - 7, "XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(directory));
    dir = open(directory, O_RDONLY | O_DIRECTORY);
    fd = hpcb_page_create(dir, "page", getuid(), getgid());
    ck_assert_int_ge(fd, 0);
    good = (hpcb_page_t){
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
        .usual_ns = 5000000,
    };
    memset(&seen, 0xa5, sizeof(seen));
}

static void teardown(void)
{
    close(fd);
    unlinkat(dir, "page", 0);
    close(dir);
    rmdir(directory);
}

/* Refused with expected in errno, and nothing handed out. */
static void refused(int expected)
{
    hpcb_page_t untouched;

    memset(&untouched, 0xa5, sizeof(untouched));
    errno = 0;
    ck_assert_int_eq(hpcb_page_read(fd, &seen), -1);
    ck_assert_int_eq(errno, expected);
    ck_assert_int_eq(memcmp(&seen, &untouched, sizeof(seen)), 0);
}

START_TEST(a_new_page)
{
    struct stat st;

    ck_assert_int_eq(fstat(fd, &st), 0);
    ck_assert_int_eq(st.st_size, HPCB_PAGE_SIZE);
    ck_assert_int_eq(st.st_mode & 07777, 0600);
    ck_assert_int_gt(st.st_blocks, 0);
    refused(EAGAIN);
    ck_assert_int_eq(hpcb_page_create(dir, "page", getuid(), getgid()), -1);
    ck_assert_int_eq(errno, EEXIST);
    ck_assert_int_eq(symlinkat("/nowhere/at/all", dir, "link"), 0);
    ck_assert_int_eq(hpcb_page_create(dir, "link", getuid(), getgid()), -1);
    unlinkat(dir, "link", 0);
}
END_TEST

START_TEST(a_good_page)
{
    put(&good, sizeof(good));
    ck_assert_int_eq(hpcb_page_read(fd, &seen), 0);
    ck_assert_int_eq(memcmp(&seen, &good, sizeof(seen)), 0);
}
END_TEST

START_TEST(bad_numbers)
{
    const struct {
        size_t at;
        uint64_t value;
        size_t size;
    } rows[] = {
        {offsetof(hpcb_page_t, magic), 1, 8},
        {offsetof(hpcb_page_t, version), HPCB_PAGE_VERSION + 1, 4},
        {offsetof(hpcb_page_t, size), 255, 4},
        {offsetof(hpcb_page_t, period), 257, 8},
        {offsetof(hpcb_page_t, compute_ns), HPCB_PAGE_LONGEST_NS + 1, 8},
        {offsetof(hpcb_page_t, wait_ns), UINT64_MAX, 8},
        {offsetof(hpcb_page_t, mean_ns), UINT64_MAX / 2, 8},
        {offsetof(hpcb_page_t, usual_ns), UINT64_MAX / 2, 8},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hpcb_page_t bad = good;

        memcpy((char *)&bad + rows[i].at, &rows[i].value, rows[i].size);
        put(&bad, sizeof(bad));
        refused(EPROTO);
    }
}
END_TEST

START_TEST(being_written)
{
    good.sequence++;
    put(&good, sizeof(good));
    refused(EAGAIN);
}
END_TEST

START_TEST(shorter_than_it_was)
{
    for (size_t size = 0; size < sizeof(good); size += 15) {
        put(&good, size);
        refused(EPROTO);
    }
    ck_assert_int_eq(ftruncate(fd, 0), 0);
    refused(EPROTO);
}
END_TEST

START_TEST(peeking)
{
    uint64_t samples = 7, waits = 7;

    good.waits = 9;
    put(&good, sizeof(good));
    ck_assert_int_eq(hpcb_page_peek(fd, &samples, &waits), 0);
    ck_assert_uint_eq(samples, 3);
    ck_assert_uint_eq(waits, 9);
    put(&good, offsetof(hpcb_page_t, waits) + 7);
    ck_assert_int_eq(hpcb_page_peek(fd, &samples, &waits), -1);
    ck_assert_int_eq(errno, EPROTO);
    ck_assert_uint_eq(waits, 9);
}
END_TEST

START_TEST(no_file_to_read)
{
    int saved = fd;

    fd = -1;
    refused(EBADF);
    fd = dir;
    refused(EISDIR);
    fd = saved;
}
END_TEST

/* Random damage: either refused, or everything is in its range. */
START_TEST(fuzzed)
{
    srandom(20260101);
    for (int i = 0; i < 20000; i++) {
        hpcb_page_t bad = good;
        unsigned flips = 1 + (unsigned)random() % 8;
        size_t size = random() % 8 ? sizeof(bad) : (size_t)random() % sizeof(bad);

        for (unsigned f = 0; f < flips; f++)
            ((unsigned char *)&bad)[random() % (long)sizeof(bad)] =
                (unsigned char)(random() % 4 ? 0xff : random());
        put(&bad, size);
        if (hpcb_page_read(fd, &seen))
            continue;
        ck_assert_uint_eq(size, sizeof(bad));
        ck_assert_uint_le(seen.period, 256);
        ck_assert_uint_le(seen.compute_ns, HPCB_PAGE_LONGEST_NS);
        ck_assert_uint_le(seen.wait_ns, HPCB_PAGE_LONGEST_NS);
        ck_assert_uint_le(seen.mean_ns, HPCB_PAGE_LONGEST_NS);
    }
}
END_TEST

static volatile int stop;

/* Writes as the library does, all numbers the same; and shortens the file now and then
 * if harmful. */
static void *write_all_the_time(void *harmful)
{
    hpcb_page_t *page =
        mmap(NULL, HPCB_PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

    for (uint64_t i = 1; !stop; i++) {
        __atomic_store_n(&page->sequence, 2 * i + 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        __atomic_store_n(&page->iterations, i, __ATOMIC_RELAXED);
        __atomic_store_n(&page->samples, i, __ATOMIC_RELAXED);
        __atomic_store_n(&page->ended_ns, i, __ATOMIC_RELAXED);
        __atomic_store_n(&page->sequence, 2 * i + 2, __ATOMIC_RELEASE);
        if (harmful && i % 1000 == 0) {
            ck_assert_int_eq(ftruncate(fd, 100), 0);
            ck_assert_int_eq(ftruncate(fd, HPCB_PAGE_SIZE), 0);
            put(&good, sizeof(good));
        }
    }
    munmap(page, HPCB_PAGE_SIZE);
    return NULL;
}

START_TEST(never_half_of_one_sample)
{
    pthread_t writer;
    unsigned read = 0;

    put(&good, sizeof(good));
    stop = 0;
    ck_assert_int_eq(pthread_create(&writer, NULL, write_all_the_time, NULL), 0);
    for (unsigned i = 0; i < 20000; i++) {
        if (hpcb_page_read(fd, &seen) || seen.samples == 3)
            continue;
        read++;
        ck_assert_uint_eq(seen.iterations, seen.samples);
        ck_assert_uint_eq(seen.iterations, seen.ended_ns);
        ck_assert_uint_eq(seen.sequence, 2 * seen.samples + 2);
    }
    stop = 1;
    pthread_join(writer, NULL);
    /* A writer without a pause leaves few moments; a real one is hardly ever met. */
    ck_assert_uint_gt(read, 0);
}
END_TEST

START_TEST(a_file_that_shrinks_while_it_is_read)
{
    pthread_t writer;

    put(&good, sizeof(good));
    stop = 0;
    ck_assert_int_eq(pthread_create(&writer, NULL, write_all_the_time, &good), 0);
    for (unsigned i = 0; i < 20000; i++)
        hpcb_page_read(fd, &seen);
    stop = 1;
    pthread_join(writer, NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("page");
    TCase *tcase = tcase_create("page");
    SRunner *runner;
    int failed;

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, a_new_page);
    tcase_add_test(tcase, a_good_page);
    tcase_add_test(tcase, bad_numbers);
    tcase_add_test(tcase, being_written);
    tcase_add_test(tcase, shorter_than_it_was);
    tcase_add_test(tcase, peeking);
    tcase_add_test(tcase, no_file_to_read);
    tcase_add_test(tcase, fuzzed);
    tcase_add_test(tcase, never_half_of_one_sample);
    tcase_add_test(tcase, a_file_that_shrinks_while_it_is_read);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
