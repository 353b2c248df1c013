/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* What the collector reads: requests of nodes, and lines of its own files. */
#include "config.h"

#include "common/jobrecord.h"
#include "hpcbd/wire.h"
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

/* What a run says of itself is read back as the same. */
static void check_run(const hpcb_run_t *run)
{
    char *line = hpcb_run_render(run, NULL), *again;
    char *comment = hpcb_run_comment(run, "before", NULL);
    hpcb_run_key_t key;
    hpcb_run_t *back;

    FUZZ_ASSERT(line && comment && strlen(comment) < HPCB_COMMENT_MAX);
    FUZZ_ASSERT(strchr(line, '\n') == line + strlen(line) - 1);
    back = hpcb_run_parse(line, NULL);
    FUZZ_ASSERT(back);
    again = hpcb_run_render(back, NULL);
    FUZZ_ASSERT(strcmp(line, again) == 0);
    if (hpcb_run_key_of_line(line, strlen(line), &key) == 0)
        FUZZ_ASSERT(memcmp(&key, hpcb_run_key(run), sizeof(key)) == 0);
    hpcb_run_free(back);
    free(comment);
    free(again);
    free(line);
}

static void try_record(hpcb_rjson_t *object)
{
    hpcb_record_t record;
    hpcb_run_key_t key;
    hpcb_run_t *run;

    if (hpcb_record_from_json(object, &record, NULL))
        return;
    hpcb_run_key_of(&record, &key);
    run = hpcb_run_new(&key);
    if (hpcb_run_add(run, object, NULL) > 0) {
        check_run(run);
        FUZZ_ASSERT(hpcb_run_add(run, object, NULL) == 0);
    }
    hpcb_run_free(run);
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
    hpcb_run_t *run;

    if (hpcbd_request_parse(text, &request, &err)) {
        fuzz_check_error(&err);
    } else {
        for (size_t i = 0; i < request.count; i++)
            try_record(request.entries[i].record);
        json_object_put(request.object);
    }
    (void)hpcbd_answer_parse(text, "ab", note, NULL, NULL);
    run = hpcb_run_parse(text, NULL);
    if (run)
        check_run(run);
    hpcb_run_free(run);
    free(text);
    return 0;
}
