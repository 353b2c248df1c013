/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the collector reads: requests of nodes; and what earlier releases wrote. */
#include "config.h"

#include <errno.h>
#include <unistd.h>

#include "common/record_parts.h"
#include "hpcbd/records/wire.h"
#include "records/database.h"
#include "records/import.h"
#include "tests/fuzz/fuzz.h"

#define RECORD                                                                         \
    "{\"version\":1,\"job_id\":77,\"node\":\"n1\",\"cluster\":\"c\",\"class\":"        \
    "\"guest\",\"policy\":\"none\",\"user_id\":1000,\"partition\":\"p\",\"begin\":1,"  \
    "\"end\":11.5,\"wall_seconds\":10.5,\"cpus\":2,\"cpu_seconds\":15.5,"              \
    "\"run_delay_seconds\":0.02,\"memory_peak_bytes\":4096,\"nodes\":2,\"restart\":1," \
    "\"array_job_id\":7,\"array_task_id\":0,\"het_job_id\":null,\"user\":\"u\","       \
    "\"job_name\":\"a\",\"executable\":\"b\",\"submit\":1,\"guests_beside\":[5,9],"    \
    "\"guest_cpu_seconds\":2.5,\"tasks\":[{\"step\":\"0\","                            \
    "\"task\":1,\"cpu_seconds\":1.5,\"run_delay_seconds\":0}]}"

const char *const fuzz_seeds[] = {
    "{\"version\":1,\"type\":\"records\",\"nonce\":\"ab\",\"records\":[{\"id\":"
    "\"77.n1.json\",\"record\":" RECORD "}]}",
    "{\"version\":1,\"kind\":\"job\",\"cluster\":\"c\",\"job_id\":77,\"restart\":1,"
    "\"class\":\"guest\",\"policy\":\"none\",\"user_id\":1,\"partition\":\"p\","
    "\"complete\":false,\"nodes\":3,\"node_records\":[" RECORD "]}",
    "{\"version\":1,\"type\":\"ack\",\"nonce\":\"ab\",\"kept\":[\"a\"],\"refused\":[]}",
    NULL,
};

static hpcb_store_t *store;

static void check_error(void)
{
    /* A disk that is at fault here would be another test's. */
    FUZZ_ASSERT(errno == EINVAL);
}

/* What is no record for the parser is none for the database. */
static void try_record(hpcb_rjson_t *object)
{
    hpcb_record_t record;
    hpcb_error_t err = {""};
    int changed = hpcb_store_add(store, object, 0, &err);

    if (changed < 0)
        check_error();
    else
        FUZZ_ASSERT(hpcb_record_from_json(object, &record, NULL) == 0 &&
                    hpcb_store_add(store, object, 0, &err) == 0);
}

static void try_lines(const char *text)
{
    FILE *stream = fmemopen((void *)text, strlen(text), "r");
    hpcb_import_t totals = {.records = 0};

    if (!stream)
        return;
    FUZZ_ASSERT(hpcb_import_stream(store, stream, false, &totals, NULL) == 0);
    fclose(stream);
}

/* In a directory that the next fuzzer goes on with; nothing waits for the disk. */
static void open_store(void)
{
    char dir[64];

    snprintf(dir, sizeof(dir), "/tmp/hpcb-fuzz-collector-%ld", (long)geteuid());
    store = hpcb_store_new(dir, true, NULL);
    FUZZ_ASSERT(store && hpcb_store_open(store, 0, NULL) == 0);
    FUZZ_ASSERT(hpcb_database_run(hpcb_store_database(store),
                                  "PRAGMA synchronous = OFF; DELETE FROM run",
                                  NULL) == 0);
}

static void note(const char *id, hpcbd_verdict_t verdict, void *arg)
{
    (void)verdict;
    (void)arg;
    FUZZ_ASSERT(!strchr(id, '/') && strlen(id) < HPCBD_ID_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    hpcb_error_t err = {""};
    hpcbd_request_t request;

    if (!store)
        open_store();
    if (hpcbd_request_parse(text, &request, &err)) {
        fuzz_check_error(&err);
    } else {
        for (size_t i = 0; i < request.count; i++)
            try_record(request.entries[i].record);
        json_object_put(request.object);
    }
    (void)hpcbd_answer_parse(text, "ab", note, NULL, NULL);
    try_lines(text);
    hpcb_store_rollback(store);
    free(text);
    return 0;
}
