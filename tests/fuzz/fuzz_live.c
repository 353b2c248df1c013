/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Live state of nodes: reports as text, and the file with bytes of it changed. */
#include "config.h"

#include "common/live.h"
#include "hpcbd/records/wire_company.h"
#include "hpcbd/records/wire_live.h"
#include "tests/fuzz/fuzz.h"

#define NODE                                                                           \
    "\"name\":\"n1\",\"time\":1000,\"memory\":4096,\"available\":1,\"protects\":true"
#define JOB                                                                            \
    "{\"job_id\":7,\"guest\":true,\"used\":1,\"growth\":2,\"peak\":"                   \
    "18446744073709551615}"

const char *const fuzz_seeds[] = {
    "{\"version\":1,\"type\":\"live\",\"node\":{" NODE ",\"jobs\":[" JOB "," JOB "]}}",
    "{\"version\":1,\"type\":\"live\",\"node\":{" NODE ",\"jobs\":[]}}",
    "{\"version\":1,\"type\":\"company\",\"pairs\":\"hpcb-company 1\\n"
    "ffffffffffffffff 2 3 4 5 6\\n1 2 3 4 4611686018427387903 4294967295\\n\"}",
    "hpcb-company 1\n1 2 3 4 5 6\n",
    "\x10\x02\x14\xff\x20\x01",
    NULL,
};

static void check_node(const hpcb_live_node_t *node)
{
    FUZZ_ASSERT(*node->name && memchr(node->name, '\0', sizeof(node->name)));
    FUZZ_ASSERT(node->n_jobs <= HPCB_LIVE_NODE_JOBS_MAX);
    for (size_t i = 0; i < node->n_jobs; i++)
        FUZZ_ASSERT(node->jobs[i].job_id != 0);
}

/* What was read can be written and read again. */
static void try_report(const char *text)
{
    hpcb_error_t err = {""};
    hpcb_live_node_t node, back;
    char *again;

    (void)hpcbd_live_is_report(text);
    if (hpcbd_live_parse(text, &node, &err)) {
        fuzz_check_error(&err);
        return;
    }
    check_node(&node);
    again = hpcbd_live_print(&node, NULL);
    FUZZ_ASSERT(again && hpcbd_live_parse(again, &back, NULL) == 0);
    FUZZ_ASSERT(strcmp(node.name, back.name) == 0 && node.time == back.time &&
                node.n_jobs == back.n_jobs && node.memory == back.memory);
    free(again);
    free(back.jobs);
    free(node.jobs);
}

/* Nothing in it makes a sum overflow, and it can be written and read again. */
static void try_company(const char *text)
{
    static hpcb_company_t company, back;
    static char again[HPCB_COMPANY_TEXT_MAX];

    (void)hpcbd_company_is_report(text);
    if (hpcbd_company_read(text, &company) < 0 &&
        hpcb_company_parse(&company, text) < 0)
        return;
    FUZZ_ASSERT(company.count <= HPCB_COMPANY_MAX);
    for (size_t i = 0; i < company.count; i++) {
        (void)hpcb_company_judge(&company.pairs[i], 0);
        (void)hpcb_company_judge(&company.pairs[i], INT64_MAX);
    }
    FUZZ_ASSERT(hpcb_company_print(&company, again) < sizeof(again));
    FUZZ_ASSERT(hpcb_company_parse(&back, again) == 0 && back.count == company.count);
}

static char *good_file(size_t *length)
{
    hpcb_live_table_t *table = hpcb_live_table_new();
    hpcb_live_job_t jobs[] = {{.job_id = 1, .used = 2}, {.job_id = 3, .guest = true}};
    hpcb_live_node_t node = {.name = "n1", .time = 5, .n_jobs = 2, .jobs = jobs};
    char *data;

    FUZZ_ASSERT(table && hpcb_live_put(table, &node) == 0);
    node.name[1] = '2';
    node.n_jobs = 1;
    FUZZ_ASSERT(hpcb_live_put(table, &node) == 0);
    data = hpcb_live_render(table, length);
    FUZZ_ASSERT(data);
    hpcb_live_table_free(table);
    return data;
}

/* Pairs of bytes: which byte of the file to change, and by what; one left over cuts the
 * file. */
static void try_file(const uint8_t *changes, size_t size)
{
    size_t length;
    char *data = good_file(&length), *tight;
    hpcb_error_t err = {""};
    hpcb_live_t live;

    for (size_t i = 0; i + 1 < size; i += 2)
        data[changes[i] * 3u % length] ^= (char)changes[i + 1];
    if (size % 2)
        length -= changes[size - 1] % length;
    tight = malloc(length);
    FUZZ_ASSERT(tight);
    memcpy(tight, data, length);
    if (hpcb_live_parse(tight, length, &live, &err)) {
        fuzz_check_error(&err);
    } else {
        for (size_t i = 0; i < live.n_nodes; i++)
            check_node(&live.nodes[i]);
        hpcb_live_clear(&live);
    }
    free(tight);
    free(data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    hpcb_live_t live;

    try_report(text);
    try_company(text);
    try_file(data, size < 16 ? size : 16);
    if (hpcb_live_parse(data, size, &live, NULL) == 0)
        hpcb_live_clear(&live);
    free(text);
    return 0;
}
