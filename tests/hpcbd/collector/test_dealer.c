/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Who owns which quanta: what nodes and the collector say of it, and what is dealt. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hpcbd/collector/dealer.h"
#include "policy/gang.h"
#include "tests/common/scratch.h"

#define SECOND  INT64_C(1000000000)
#define MB      UINT64_C(1000000)
#define QUANTUM UINT64_C(500000)
#define NONCE   "0123456789abcdef"

static hpcbd_wide_t report;
static hpcbd_dealt_t answer;
static int64_t now_ns;

static void begin_report(const char *node)
{
    memset(&report, 0, sizeof(report));
    strcpy(report.node, node);
    report.capacity = (hpcb_bw_t){1000 * MB, 100 * MB};
}

static hpcbd_wide_job_t *add_job(uint32_t job_id, uint32_t nodes, const char *cpus,
                                 uint64_t mem)
{
    hpcbd_wide_job_t *job = &report.jobs[report.n_jobs++];

    *job = (hpcbd_wide_job_t){.job_id = job_id,
                              .nodes = nodes,
                              .guest = true,
                              .quantum_us = QUANTUM,
                              .use = {mem * MB, 0},
                              .mem_known = true,
                              .net_known = true,
                              .depth = 2};
    ck_assert_int_eq(hpcb_cpus_parse(cpus, &job->cpus), 0);
    return job;
}

/* The report with a nonce; the caller frees it. */
static char *print_report(void)
{
    char *text = hpcbd_wide_print(&report, NULL), *whole;
    hpcb_rjson_t *object = hpcb_rjson_parse(text);

    ck_assert_int_eq(hpcb_rjson_add_text(object, "nonce", NONCE), 0);
    whole = hpcb_rjson_print(object, "", NULL);
    json_object_put(object);
    free(text);
    return whole;
}

/* What the node hears. */
static void send_report(hpcbd_dealer_t *dealer)
{
    char *text = print_report();
    hpcb_error_t err = {""};
    char *back = hpcbd_dealer_take(dealer, text, now_ns, &err);

    ck_assert_msg(back, "%s", err.text);
    ck_assert_int_eq(hpcbd_dealt_parse(back, NONCE, &answer, NULL), 0);
    free(back);
    free(text);
}

/* ---- messages ---- */

START_TEST(a_report_is_read_back)
{
    char nonce[HPCBD_NONCE_MAX], *text;
    hpcbd_wide_t *read = malloc(sizeof(*read));

    begin_report("live");
    add_job(7, 2, "0-3,8", 5);
    add_job(UINT32_MAX, 3, "8191", 0)->mem_known = false;
    report.jobs[1].guest = false;
    report.jobs[1].use.net = UINT64_MAX;
    text = print_report();
    ck_assert(hpcbd_wide_is_report(text));
    ck_assert_int_eq(hpcbd_wide_parse(text, read, nonce, NULL), 0);
    ck_assert_str_eq(nonce, NONCE);
    ck_assert_str_eq(read->node, "live");
    ck_assert_uint_eq(read->capacity.net, 100 * MB);
    ck_assert_uint_eq(read->n_jobs, 2);
    ck_assert_uint_eq(read->jobs[0].job_id, 7);
    ck_assert_uint_eq(read->jobs[0].nodes, 2);
    ck_assert_uint_eq(read->jobs[0].depth, 2);
    ck_assert_uint_eq(read->jobs[0].quantum_us, QUANTUM);
    ck_assert_uint_eq(read->jobs[0].use.mem, 5 * MB);
    ck_assert(read->jobs[0].guest && read->jobs[0].mem_known);
    ck_assert(hpcb_cpus_equal(&read->jobs[0].cpus, &report.jobs[0].cpus));
    ck_assert(!read->jobs[1].guest && !read->jobs[1].mem_known);
    ck_assert_uint_eq(read->jobs[1].use.net, INT64_MAX);
    free(text);
    free(read);
}
END_TEST

/* As many jobs as there can be, whose CPUs are long lists. */
START_TEST(a_full_report_fits_a_frame)
{
    char nonce[HPCBD_NONCE_MAX], *text;
    hpcbd_wide_t *read = malloc(sizeof(*read));

    begin_report("n1");
    for (uint32_t i = 0; i < HPCBD_WIDE_MAX; i++) {
        hpcbd_wide_job_t *job = add_job(UINT32_MAX - i, UINT32_MAX, "0", 0);

        job->guest = i % 2;
        job->use = (hpcb_bw_t){UINT64_MAX, UINT64_MAX};
        for (unsigned cpu = 4000; cpu < 4390; cpu += 2)
            hpcb_cpus_add(&job->cpus, cpu);
    }
    text = print_report();
    ck_assert_uint_lt(strlen(text), HPCBD_BATCH_BYTES);
    ck_assert_int_eq(hpcbd_wide_parse(text, read, nonce, NULL), 0);
    ck_assert_uint_eq(read->n_jobs, HPCBD_WIDE_MAX);
    free(text);
    /* A job whose list is too long is left out; more jobs than that of a kind are not
     * read. */
    for (unsigned cpu = 5000; cpu < 6000; cpu += 2)
        hpcb_cpus_add(&report.jobs[0].cpus, cpu);
    text = print_report();
    ck_assert_int_eq(hpcbd_wide_parse(text, read, nonce, NULL), 0);
    ck_assert_uint_eq(read->n_jobs, HPCBD_WIDE_MAX - 1);
    free(text);
    report.jobs[1].guest = false;
    report.jobs[3].guest = false;
    text = print_report();
    ck_assert_int_eq(hpcbd_wide_parse(text, read, nonce, NULL), -1);
    free(text);
    free(read);
}
END_TEST

#define HEAD "{\"version\":1,\"type\":\"gang\",\"nonce\":\"a\","
#define NODE HEAD "\"node\":\"n1\",\"mem\":1,\"net\":2,\"jobs\":["
#define JOB  "\"guest\":true,\"mem\":1,\"net\":null,\"depth\":2,"

static const char *const no_reports[] = {
    "",
    HEAD "\"node\":\"n1\",\"mem\":1,\"net\":2}",
    HEAD "\"node\":\"../n\",\"mem\":1,\"net\":2,\"jobs\":[]}",
    HEAD "\"node\":\"n1\",\"mem\":-1,\"net\":2,\"jobs\":[]}",
    "{\"version\":1,\"type\":\"gang\",\"node\":\"n1\",\"mem\":1,\"net\":2,\"jobs\":[]}",
    "{\"version\":1,\"type\":\"live\",\"nonce\":\"a\",\"node\":\"n1\",\"mem\":1,"
    "\"net\":2,\"jobs\":[]}",
    NODE "1]}",
    NODE "{" JOB "\"job_id\":0,\"nodes\":2,\"quantum_us\":500000,\"cpus\":\"0\"}]}",
    NODE "{" JOB "\"job_id\":1,\"nodes\":1,\"quantum_us\":500000,\"cpus\":\"0\"}]}",
    NODE "{" JOB "\"job_id\":1,\"nodes\":2,\"quantum_us\":1,\"cpus\":\"0\"}]}",
    NODE "{" JOB "\"job_id\":1,\"nodes\":2,\"quantum_us\":99999999,\"cpus\":\"0\"}]}",
    NODE "{" JOB "\"job_id\":1,\"nodes\":2,\"quantum_us\":500000,\"cpus\":\"\"}]}",
    NODE "{" JOB "\"job_id\":1,\"nodes\":2,\"quantum_us\":500000,\"cpus\":\"9999\"}]}",
    NODE "{" JOB "\"job_id\":1,\"nodes\":2,\"quantum_us\":500000,\"cpus\":0}]}",
    NODE "{\"job_id\":1,\"nodes\":2,\"quantum_us\":500000,\"cpus\":\"0\"}]}",
    NODE "{" JOB "\"job_id\":1,\"nodes\":2,\"quantum_us\":500000,\"cpus\":\"0\"},"
         "{" JOB "\"job_id\":1,\"nodes\":2,\"quantum_us\":500000,\"cpus\":\"0\"}]}",
};

START_TEST(what_is_no_report_is_refused)
{
    hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);
    hpcb_error_t err;

    for (size_t i = 0; i < sizeof(no_reports) / sizeof(no_reports[0]); i++) {
        ck_assert_msg(!hpcbd_dealer_take(dealer, no_reports[i], now_ns, &err), "%zu",
                      i);
        ck_assert_int_eq(errno, EPERM);
    }
    hpcbd_dealer_free(dealer);
}
END_TEST

#define DEAL "{\"version\":1,\"type\":\"deal\",\"nonce\":\"a\",\"until\":7,\"jobs\":["
#define SLOT "{\"job_id\":1,\"quantum_us\":500000,\"from\":9,"

static const char *const no_deals[] = {
    "{\"version\":1,\"type\":\"deal\",\"nonce\":\"a\",\"jobs\":[]}",
    "{\"version\":1,\"type\":\"deal\",\"nonce\":\"b\",\"until\":7,\"jobs\":[]}",
    "{\"version\":1,\"type\":\"ack\",\"nonce\":\"a\",\"until\":7,\"jobs\":[]}",
    DEAL SLOT "\"cycle\":0,\"slot\":0}]}",
    DEAL SLOT "\"cycle\":3,\"slot\":0}]}",
    DEAL SLOT "\"cycle\":128,\"slot\":0}]}",
    DEAL SLOT "\"cycle\":4294967296,\"slot\":0}]}",
    DEAL SLOT "\"cycle\":4,\"slot\":4}]}",
    DEAL SLOT "\"cycle\":4}]}",
    DEAL "{\"job_id\":1,\"quantum_us\":0,\"from\":9,\"cycle\":4,\"slot\":1}]}",
    DEAL "{\"job_id\":1,\"quantum_us\":500000,\"from\":-9,\"cycle\":4,\"slot\":1}]}",
};

START_TEST(what_is_no_deal_is_refused)
{
    char *text;

    for (size_t i = 0; i < sizeof(no_deals) / sizeof(no_deals[0]); i++) {
        ck_assert_msg(hpcbd_dealt_parse(no_deals[i], "a", &answer, NULL) == -1, "%zu",
                      i);
        ck_assert_int_eq(errno, EINVAL);
    }
    answer.until = INT64_MAX;
    answer.n_jobs = HPCBD_DEALT_MAX;
    for (uint32_t i = 0; i < HPCBD_DEALT_MAX; i++)
        answer.jobs[i] = (hpcbd_dealt_job_t){i + 1, QUANTUM, UINT64_MAX, 64, 63};
    text = hpcbd_dealt_print(&answer, "a", NULL);
    ck_assert_uint_lt(strlen(text), HPCBD_BATCH_BYTES);
    ck_assert_int_eq(hpcbd_dealt_parse(text, NULL, &answer, NULL), 0);
    ck_assert_uint_eq(answer.n_jobs, HPCBD_DEALT_MAX);
    ck_assert_uint_eq(answer.jobs[255].job_id, 256);
    ck_assert_uint_eq(answer.jobs[255].slot, 63);
    ck_assert_uint_eq(answer.jobs[255].from, INT64_MAX);
    free(text);
}
END_TEST

/* ---- deals ---- */

/* The paper's case: four jobs, each on both CPUs' nodes. */
static void say(hpcbd_dealer_t *dealer, const char *node, unsigned jobs,
                const uint64_t *mem)
{
    begin_report(node);
    for (unsigned i = 0; i < jobs; i++)
        add_job(i + 1, 2, i % 2 ? "1" : "0", mem[i]);
    send_report(dealer);
}

static const uint64_t even[] = {900, 900, 50, 50}, odd[] = {900, 50, 50, 900};

/* Both nodes report for a while; answer is the second one's last. */
static void pass(hpcbd_dealer_t *dealer, unsigned seconds, unsigned jobs,
                 const uint64_t *mem)
{
    for (int64_t end_ns = now_ns + seconds * SECOND; now_ns < end_ns;
         now_ns += HPCB_DEAL_REPORT_SECONDS * SECOND) {
        say(dealer, "n1", jobs, mem);
        say(dealer, "n2", jobs, mem);
    }
}

/* In force at now_ns; NULL: nothing. */
static const hpcbd_dealt_job_t *in_force(uint32_t job_id)
{
    const hpcbd_dealt_job_t *found = NULL;

    for (size_t i = 0; i < answer.n_jobs; i++)
        if (answer.jobs[i].job_id == job_id &&
            answer.jobs[i].from <= (uint64_t)now_ns / 1000 / QUANTUM &&
            (!found || answer.jobs[i].from > found->from))
            found = &answer.jobs[i];
    return found;
}

static bool together(uint32_t one, uint32_t other)
{
    const hpcbd_dealt_job_t *a = in_force(one), *b = in_force(other);

    ck_assert(a && b);
    ck_assert_uint_eq(a->cycle, 2);
    return a->slot == b->slot;
}

START_TEST(the_papers_case_is_dealt)
{
    hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);
    uint64_t from;

    pass(dealer, HPCB_DEAL_SECONDS, 4, even);
    ck_assert_uint_eq(answer.n_jobs, 0);
    ck_assert_int_eq(answer.until, 0);
    say(dealer, "n1", 4, even);
    ck_assert_uint_eq(answer.n_jobs, 4);
    ck_assert_ptr_null(in_force(1));
    from = answer.jobs[0].from;
    ck_assert_uint_ge(from * QUANTUM,
                      (uint64_t)(now_ns / 1000) + HPCB_DEAL_AHEAD_SECONDS * 1000000);
    ck_assert_int_ge(answer.until, now_ns / SECOND + HPCBD_DEAL_UNTIL_SECONDS -
                                       HPCB_DEAL_AHEAD_SECONDS);
    ck_assert_int_le(answer.until, now_ns / SECOND + HPCBD_DEAL_UNTIL_SECONDS);
    say(dealer, "n2", 4, even);
    for (unsigned i = 0; i < 4; i++)
        ck_assert_uint_eq(answer.jobs[i].from, from);
    pass(dealer, 2 * HPCB_DEAL_SECONDS, 4, even);
    ck_assert(!together(1, 2) && together(1, 4) && together(2, 3));
    ck_assert_uint_eq(in_force(1)->from, from);
    ck_assert_uint_eq(answer.n_jobs, 4);
    hpcbd_dealer_free(dealer);
}
END_TEST

/* Jobs that share a CPU of both nodes, as many as its cycle has slots. */
static void say_all_on_one(hpcbd_dealer_t *dealer, const char *node, uint32_t first)
{
    begin_report(node);
    for (uint32_t i = 0; i < 8; i++)
        add_job(first + i, 2, "0", 100)->depth = 8;
    send_report(dealer);
}

/* Until then jobs own quanta by their ids; a slot that comes later in the cycle would
 * be a longer wait. */
START_TEST(the_first_deal_leaves_jobs_the_slots_that_they_own)
{
    for (uint32_t first = 1; first < 400; first += 13) {
        hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);
        bool taken[8] = {false};

        for (int i = 0; i < 3; i++, now_ns += HPCB_DEAL_SECONDS / 2 * SECOND) {
            say_all_on_one(dealer, "n1", first);
            say_all_on_one(dealer, "n2", first);
        }
        ck_assert_uint_eq(answer.n_jobs, 8);
        for (uint32_t i = 0; i < 8; i++) {
            unsigned own = hpcb_gang_slot(first + i, answer.jobs[i].from, 8);

            ck_assert_uint_eq(answer.jobs[i].cycle, 8);
            if (!taken[own])
                ck_assert_uint_eq(answer.jobs[i].slot, own);
            taken[own] = true;
        }
        hpcbd_dealer_free(dealer);
    }
}
END_TEST

/* The old deal is told of until the new one has begun, so that a node that has just
 * started follows it, too. */
START_TEST(a_change_is_told_ahead)
{
    hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);
    unsigned both = 0;

    pass(dealer, 2 * HPCB_DEAL_SECONDS, 4, even);
    ck_assert(together(1, 4));
    for (unsigned i = 0; i < 20 && !together(1, 2); i++) {
        pass(dealer, 1, 4, odd);
        both += answer.n_jobs == 8 || answer.n_jobs == 6;
    }
    ck_assert_uint_ge(both, 2);
    ck_assert(together(1, 2) || together(1, 3));
    pass(dealer, 3 * HPCB_DEAL_SECONDS, 4, odd);
    ck_assert(together(1, 2) && together(3, 4));
    ck_assert_uint_eq(answer.n_jobs, 4);
    hpcbd_dealer_free(dealer);
}
END_TEST

/* Who is not told of by all its nodes, or not alike, has no deal; the others have. */
START_TEST(all_nodes_of_a_job_must_say_the_same)
{
    static const struct {
        uint32_t nodes;
        uint64_t quantum_us;
        bool guest, third;
    } lies[] = {{3, QUANTUM, true, false},
                {2, 2 * QUANTUM, true, false},
                {2, QUANTUM, false, false},
                {2, QUANTUM, true, true}};

    for (size_t i = 0; i < 4; i++) {
        hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);

        for (unsigned k = 0; k < 16; k++, now_ns += 5 * SECOND) {
            say(dealer, "n1", 4, even);
            if (lies[i].third) {
                begin_report("n3");
                add_job(1, 2, "0", 0);
                send_report(dealer);
            }
            begin_report("n2");
            add_job(1, lies[i].nodes, "0", 900)->guest = lies[i].guest;
            report.jobs[0].quantum_us = lies[i].quantum_us;
            for (uint32_t job = 2; job <= 4; job++)
                add_job(job, 2, job % 2 ? "0" : "1", even[job - 1]);
            send_report(dealer);
        }
        ck_assert_ptr_null(in_force(1));
        ck_assert(in_force(3) && !together(2, 4));
        hpcbd_dealer_free(dealer);
    }
}
END_TEST

START_TEST(who_is_silent_has_no_jobs)
{
    hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);

    pass(dealer, 2 * HPCB_DEAL_SECONDS, 4, even);
    ck_assert_uint_eq(answer.n_jobs, 4);
    for (unsigned i = 0; i < 10; i++, now_ns += 5 * SECOND)
        say(dealer, "n1", 4, even);
    ck_assert_uint_eq(answer.n_jobs, 0);
    pass(dealer, 2 * HPCB_DEAL_SECONDS, 3, even);
    ck_assert_uint_eq(answer.n_jobs, 3);
    hpcbd_dealer_free(dealer);
}
END_TEST

/* Whatever the clock does, it goes on. */
START_TEST(a_step_of_the_clock_is_survived)
{
    hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);

    pass(dealer, 2 * HPCB_DEAL_SECONDS, 4, even);
    now_ns -= 3600 * SECOND;
    pass(dealer, 4 * HPCB_DEAL_SECONDS, 4, even);
    ck_assert(together(1, 4) && !together(1, 2));
    now_ns += 7200 * SECOND;
    pass(dealer, 4 * HPCB_DEAL_SECONDS, 4, even);
    ck_assert(together(1, 4) && !together(1, 2));
    hpcbd_dealer_free(dealer);
}
END_TEST

/* Jobs that are not dealt for are left out of who meets whom. */
START_TEST(seats_keep_their_places)
{
    hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);

    for (unsigned k = 0; k < 16; k++, now_ns += 5 * SECOND)
        for (unsigned node = 1; node <= 2; node++) {
            begin_report(node == 1 ? "n1" : "n2");
            add_job(10, 9, "0-1", 0);
            add_job(11, 2, "0", 1)->guest = false;
            add_job(1, 2, "0", 900);
            add_job(12, 9, "1", 0);
            add_job(2, 2, "1", 900);
            add_job(3, 2, "0", 50);
            send_report(dealer);
        }
    ck_assert(!together(1, 3) && !together(1, 2) && together(2, 3));
    ck_assert_ptr_null(in_force(10));
    ck_assert_ptr_nonnull(in_force(11));
    hpcbd_dealer_free(dealer);
}
END_TEST

/* A primary on all nodes that there can be, and guests on the last of them. */
START_TEST(primaries_leave_guests_their_seats)
{
    enum { ALL = HPCB_DEAL_NODES_MAX / 2 };
    hpcbd_dealer_t *dealer = hpcbd_dealer_new(now_ns);
    char name[HPCB_NAME_MAX];

    for (unsigned i = 0; i < 5; i++, now_ns += HPCB_DEAL_AHEAD_SECONDS * SECOND)
        for (unsigned node = 1; node <= ALL; node++) {
            snprintf(name, sizeof(name), "n%u", node);
            begin_report(name);
            add_job(9, ALL, "0", 0)->guest = false;
            if (node > ALL - 2) {
                add_job(1, 2, "0", 0);
                add_job(2, 2, "0", 0);
            }
            send_report(dealer);
        }
    ck_assert_ptr_nonnull(in_force(1));
    ck_assert_ptr_nonnull(in_force(2));
    ck_assert(!together(1, 2));
    hpcbd_dealer_free(dealer);
}
END_TEST

static void setup(void)
{
    now_ns = 1700000001 * SECOND + 123;
}

int main(void)
{
    Suite *suite = suite_create("dealer");
    TCase *tcase = scratch_case("dealer");

    tcase_add_checked_fixture(tcase, setup, NULL);
    tcase_add_test(tcase, a_report_is_read_back);
    tcase_add_test(tcase, a_full_report_fits_a_frame);
    tcase_add_test(tcase, what_is_no_report_is_refused);
    tcase_add_test(tcase, what_is_no_deal_is_refused);
    tcase_add_test(tcase, the_papers_case_is_dealt);
    tcase_add_test(tcase, the_first_deal_leaves_jobs_the_slots_that_they_own);
    tcase_add_test(tcase, a_change_is_told_ahead);
    tcase_add_test(tcase, all_nodes_of_a_job_must_say_the_same);
    tcase_add_test(tcase, who_is_silent_has_no_jobs);
    tcase_add_test(tcase, a_step_of_the_clock_is_survived);
    tcase_add_test(tcase, seats_keep_their_places);
    tcase_add_test(tcase, primaries_leave_guests_their_seats);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
