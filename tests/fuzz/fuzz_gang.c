/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Reports of jobs that take turns, which the dealer takes, and deals. */
#include "config.h"

#include <errno.h>

#include "hpcbd/collector/dealer.h"
#include "tests/fuzz/fuzz.h"

#define JOB                                                                            \
    "\"nodes\":2,\"guest\":true,\"quantum_us\":500000,\"depth\":2,\"mem\":900000000,"  \
    "\"net\":null}"
#define JOBS                                                                           \
    "{\"job_id\":7,\"cpus\":\"0-3\"," JOB ",{\"job_id\":8,\"cpus\":\"3,9\"," JOB
#define REPORT                                                                         \
    "{\"version\":1,\"type\":\"gang\",\"node\":\"n1\",\"mem\":1000000000,\"net\":0,"   \
    "\"jobs\":[" JOBS "],\"nonce\":\"ab\"}"

const char *const fuzz_seeds[] = {
    REPORT,
    "{\"version\":1,\"type\":\"gang\",\"node\":\"n2\",\"mem\":0,\"net\":5,\"jobs\":"
    "[" JOBS "],\"nonce\":\"ab\"}",
    "{\"version\":1,\"type\":\"deal\",\"until\":1700000060,\"jobs\":[{\"job_id\":7,"
    "\"quantum_us\":500000,\"from\":3400000024,\"cycle\":4,\"slot\":3}],"
    "\"nonce\":\"ab\"}",
    NULL,
};

static void check_dealt(const hpcbd_dealt_t *dealt)
{
    FUZZ_ASSERT(dealt->n_jobs <= HPCBD_DEALT_MAX);
    for (size_t i = 0; i < dealt->n_jobs; i++)
        FUZZ_ASSERT(dealt->jobs[i].job_id != 0 && dealt->jobs[i].cycle > 0 &&
                    dealt->jobs[i].cycle <= HPCB_DEAL_CYCLE_MAX &&
                    dealt->jobs[i].slot < dealt->jobs[i].cycle);
}

/* What was read can be written and read again. */
static void try_deal(const char *text)
{
    static hpcbd_dealt_t dealt, back;
    hpcb_error_t err = {""};
    char *again;

    if (hpcbd_dealt_parse(text, NULL, &dealt, &err) < 0) {
        fuzz_check_error(&err);
        return;
    }
    check_dealt(&dealt);
    again = hpcbd_dealt_print(&dealt, "ab", NULL);
    FUZZ_ASSERT(again && hpcbd_dealt_parse(again, "ab", &back, NULL) == 0);
    FUZZ_ASSERT(back.until == dealt.until && back.n_jobs == dealt.n_jobs);
    free(again);
}

/* A deal is made of what has come so far each time. */
static void try_report(const char *text)
{
    static hpcbd_dealer_t *dealer;
    static hpcbd_dealt_t dealt;
    static int64_t now_ns = INT64_C(1700000000000000000);
    hpcb_error_t err = {""};
    char *answer;

    (void)hpcbd_wide_is_report(text);
    if (!dealer)
        dealer = hpcbd_dealer_new(now_ns);
    FUZZ_ASSERT(dealer);
    now_ns += (HPCB_DEAL_SECONDS - 1) * INT64_C(500000000);
    answer = hpcbd_dealer_take(dealer, text, now_ns, &err);
    if (!answer) {
        FUZZ_ASSERT(errno == EPERM);
        fuzz_check_error(&err);
        return;
    }
    FUZZ_ASSERT(hpcbd_dealt_parse(answer, NULL, &dealt, NULL) == 0);
    check_dealt(&dealt);
    free(answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);

    try_report(REPORT);
    try_report(text);
    try_deal(text);
    free(text);
    return 0;
}
