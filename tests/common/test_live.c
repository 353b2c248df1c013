/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/live.h"
#include "tests/common/scratch.h"

#define BANDWIDTH UINT64_C(20000000000)

static hpcb_live_job_t jobs[] = {
    {.job_id = 7,
     .used = 100,
     .growth = 5,
     .peak = 120,
     .cpus_known = true,
     .cpus = 1250000},
    {.job_id = 8, .guest = true, .used = 1, .growth = 0, .peak = UINT64_MAX},
};

static hpcb_live_node_t make_node(const char *name, int64_t time, uint32_t n_jobs)
{
    hpcb_live_node_t node = {
        .time = time,
        .memory = UINT64_C(1) << 40,
        .available = 12345,
        .protects = true,
        .mem_bandwidth = BANDWIDTH,
        .net_bandwidth = BANDWIDTH / 20,
        .saturation = HPCB_LIVE_SATURATION_BUSY,
        .memory_part = 654,
        .n_jobs = n_jobs,
        .jobs = jobs,
    };

    strcpy(node.name, name);
    return node;
}

static void put_node(hpcb_live_table_t *table, const char *name, int64_t time,
                     uint32_t n_jobs)
{
    hpcb_live_node_t node = make_node(name, time, n_jobs);

    ck_assert_int_eq(hpcb_live_put(table, &node), 0);
}

/* Three nodes, of which the second reported twice. */
static hpcb_live_table_t *make_table(void)
{
    hpcb_live_table_t *table = hpcb_live_table_new();

    put_node(table, "n2", 10, 1);
    put_node(table, "n1", 11, 0);
    put_node(table, "n3", 12, 2);
    put_node(table, "n2", 13, 2);
    return table;
}

static void check_job(const hpcb_live_job_t *found, const hpcb_live_job_t *job,
                      bool is_new)
{
    ck_assert_uint_eq(found->job_id, job->job_id);
    ck_assert_int_eq(found->guest, job->guest);
    ck_assert_uint_eq(found->used, job->used);
    ck_assert_uint_eq(found->growth, job->growth);
    ck_assert_uint_eq(found->peak, job->peak);
    ck_assert_int_eq(found->cpus_known, is_new && job->cpus_known);
    ck_assert_uint_eq(found->cpus, is_new ? job->cpus : 0);
}

static void check_content(const hpcb_live_t *live, uint64_t mem)
{
    static const int64_t times[] = {11, 13, 12};
    static const uint32_t counts[] = {0, 2, 2};
    static const char *const names[] = {"n1", "n2", "n3"};

    ck_assert_uint_eq(live->n_nodes, 3);
    for (size_t i = 0; i < 3; i++) {
        const hpcb_live_node_t *node = &live->nodes[i];

        ck_assert_str_eq(node->name, names[i]);
        ck_assert_int_eq(node->time, times[i]);
        ck_assert_uint_eq(node->n_jobs, counts[i]);
        ck_assert_uint_eq(node->memory, UINT64_C(1) << 40);
        ck_assert_uint_eq(node->available, 12345);
        ck_assert(node->protects);
        ck_assert_uint_eq(node->mem_bandwidth, mem);
        ck_assert_uint_eq(node->net_bandwidth, mem / 20);
        ck_assert_uint_eq(node->saturation, mem ? HPCB_LIVE_SATURATION_BUSY : 0);
        ck_assert_uint_eq(node->memory_part, mem ? 654 : 0);
        for (size_t k = 0; k < counts[i]; k++)
            check_job(&node->jobs[k], &jobs[k], mem > 0);
    }
}

START_TEST(the_last_report_of_each_node_is_read_back)
{
    hpcb_live_table_t *table = make_table();
    hpcb_live_t live;
    size_t length;
    void *data = hpcb_live_render(table, &length);

    ck_assert_int_eq(hpcb_live_parse(data, length, &live, NULL), 0);
    check_content(&live, BANDWIDTH);
    hpcb_live_clear(&live);
    ck_assert_uint_eq(live.n_nodes, 0);
    free(data);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(no_prefix_of_a_file_is_one)
{
    hpcb_live_table_t *table = make_table();
    size_t length;
    char *data = hpcb_live_render(table, &length);
    hpcb_live_t live = {.n_nodes = 77};
    hpcb_error_t err;

    for (size_t cut = 0; cut < length; cut++) {
        ck_assert_int_eq(hpcb_live_parse(data, cut, &live, &err), -1);
        ck_assert_int_eq(errno, EINVAL);
    }
    ck_assert_uint_eq(live.n_nodes, 77);
    free(data);
    hpcb_live_table_free(table);
}
END_TEST

/* The file of a later version: each record has 8 more bytes at its end. */
static char *widened(const char *data, size_t length, size_t *wide)
{
    static const size_t sizes[] = {32, 120, 120, 120, 40, 40, 40, 40};
    char *out = calloc(1, length + 8 * 8), *next = out;
    uint32_t header[8];

    for (size_t i = 0; i < 8; i++) {
        memcpy(next, data, sizes[i]);
        memset(next + sizes[i], 0x5a, 8);
        data += sizes[i];
        next += sizes[i] + 8;
    }
    memcpy(header, out, sizeof(header));
    for (size_t i = 3; i < 6; i++)
        header[i] += 8;
    memcpy(out, header, sizeof(header));
    *wide = (size_t)(next - out);
    return out;
}

/* The file of the first version: nodes end before their bandwidths, jobs before their
 * CPUs, of which their flags know nothing. */
START_TEST(what_an_older_writer_has_not_written_is_nothing)
{
    hpcb_live_table_t *table = make_table();
    uint32_t node_size = 96, job_size = 32;
    size_t length;
    char *data = hpcb_live_render(table, &length);
    hpcb_live_t live;

    for (size_t i = 0; i < 3; i++) {
        char *record = data + 32 + i * 96;

        length -= 24;
        memmove(record + 96, record + 120, (size_t)(data + length - record - 96));
    }
    for (size_t i = 0; i < 4; i++) {
        char *record = data + 32 + 3 * 96 + i * 32;

        length -= 8;
        record[4] &= 1;
        memmove(record + 32, record + 40, (size_t)(data + length - record - 32));
    }
    memcpy(data + 16, &node_size, sizeof(node_size));
    memcpy(data + 20, &job_size, sizeof(job_size));
    ck_assert_int_eq(hpcb_live_parse(data, length, &live, NULL), 0);
    check_content(&live, 0);
    hpcb_live_clear(&live);
    free(data);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(members_added_later_are_passed_over)
{
    hpcb_live_table_t *table = make_table();
    size_t length, wide;
    char *data = hpcb_live_render(table, &length);
    char *later = widened(data, length, &wide);
    hpcb_live_t live;

    ck_assert_int_eq(hpcb_live_parse(later, wide, &live, NULL), 0);
    check_content(&live, BANDWIDTH);
    hpcb_live_clear(&live);
    free(later);
    free(data);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(what_no_node_has_is_refused)
{
    hpcb_live_table_t *table = hpcb_live_table_new();
    hpcb_live_node_t slash = make_node("a/b", 1, 0), empty = make_node("", 1, 0);
    hpcb_live_node_t many = make_node("n1", 1, HPCB_LIVE_NODE_JOBS_MAX + 1);

    ck_assert_int_eq(hpcb_live_put(table, &slash), -1);
    ck_assert_int_eq(errno, EINVAL);
    ck_assert_int_eq(hpcb_live_put(table, &empty), -1);
    ck_assert_int_eq(hpcb_live_put(table, &many), -1);
    ck_assert_uint_eq(hpcb_live_count(table), 0);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(there_is_an_end_to_nodes)
{
    hpcb_live_table_t *table = hpcb_live_table_new();
    hpcb_live_node_t more = make_node("more", 1, 0);
    char name[16];

    for (int i = 0; i < HPCB_LIVE_NODES_MAX; i++) {
        snprintf(name, sizeof(name), "n%05d", i);
        put_node(table, name, i, 0);
    }
    ck_assert_int_eq(hpcb_live_put(table, &more), -1);
    ck_assert_int_eq(errno, ENOSPC);
    put_node(table, "n00000", 1, 2);
    hpcb_live_drop(table, 1000);
    ck_assert_uint_eq(hpcb_live_count(table), HPCB_LIVE_NODES_MAX - 1000);
    ck_assert_int_eq(hpcb_live_put(table, &more), 0);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(a_file_is_read_once)
{
    hpcb_live_table_t *table = make_table();
    hpcb_live_known_t known = {0};
    hpcb_live_t live = {0};

    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_int_eq(hpcb_live_write(table, scratch_dir(), NULL), 0);
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), 1);
    check_content(&live, BANDWIDTH);
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), 0);
    ck_assert_int_eq(hpcb_live_write(table, scratch_dir(), NULL), 0);
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), 1);
    ck_assert_int_eq(mode_of(scratch(HPCB_LIVE_FILE)) & 0777, 0644);
    hpcb_live_clear(&live);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(a_file_that_others_may_write_does_not_count)
{
    hpcb_live_table_t *table = make_table();
    hpcb_live_known_t known = {0};
    hpcb_live_t live = {0};
    const char *path = scratch(HPCB_LIVE_FILE);

    ck_assert_int_eq(hpcb_live_write(table, scratch_dir(), NULL), 0);
    ck_assert_int_eq(chmod(path, 0666), 0);
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), -1);
    ck_assert_int_eq(errno, EPERM);
    ck_assert_int_eq(chmod(path, 0644), 0);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(path, 65534, 65534), 0);
        ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), -1);
    }
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(symlink("/etc/passwd", path), 0);
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), -1);
    ck_assert_uint_eq(live.n_nodes, 0);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(a_broken_file_leaves_what_was_read)
{
    hpcb_live_table_t *table = make_table();
    hpcb_live_known_t known = {0};
    hpcb_live_t live = {0};

    ck_assert_int_eq(hpcb_live_write(table, scratch_dir(), NULL), 0);
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), 1);
    unlink(scratch(HPCB_LIVE_FILE));
    put_file(scratch(HPCB_LIVE_FILE), "no such thing");
    ck_assert_int_eq(hpcb_live_read(scratch_dir(), &known, &live, NULL), -1);
    check_content(&live, BANDWIDTH);
    hpcb_live_clear(&live);
    hpcb_live_table_free(table);
}
END_TEST

START_TEST(a_report_ages)
{
    hpcb_live_node_t node = make_node("n1", 1000, 0);

    ck_assert(hpcb_live_is_fresh(&node, 1000));
    ck_assert(hpcb_live_is_fresh(&node, 1000 + HPCB_LIVE_STALE_SECONDS - 1));
    ck_assert(!hpcb_live_is_fresh(&node, 1000 + HPCB_LIVE_STALE_SECONDS));
    ck_assert(!hpcb_live_is_fresh(&node, 999));
    node.time = INT64_MIN;
    ck_assert(!hpcb_live_is_fresh(&node, 1000));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("live");
    TCase *tcase = scratch_case("live");

    tcase_add_test(tcase, the_last_report_of_each_node_is_read_back);
    tcase_add_test(tcase, no_prefix_of_a_file_is_one);
    tcase_add_test(tcase, members_added_later_are_passed_over);
    tcase_add_test(tcase, what_an_older_writer_has_not_written_is_nothing);
    tcase_add_test(tcase, what_no_node_has_is_refused);
    tcase_add_test(tcase, there_is_an_end_to_nodes);
    tcase_add_test(tcase, a_file_is_read_once);
    tcase_add_test(tcase, a_file_that_others_may_write_does_not_count);
    tcase_add_test(tcase, a_broken_file_leaves_what_was_read);
    tcase_add_test(tcase, a_report_ages);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
