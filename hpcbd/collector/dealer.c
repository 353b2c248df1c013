/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "hpcbd/collector/dealer.h"
#include "policy/gang.h"

#define SECOND INT64_C(1000000000)

static_assert(HPCB_DEAL_AHEAD_SECONDS + HPCB_GANG_QUANTUM_MAX_US / 1000000 <
                  HPCB_DEAL_SECONDS,
              "a deal has begun when the next is made");

/* A node counts twice in a deal: primaries and guests take turns among themselves. */
#define NODES_MAX (HPCB_DEAL_NODES_MAX / 2)

/* A report's jobs, without their CPUs. */
typedef struct {
    uint32_t job_id, nodes;
    bool guest;
    uint64_t quantum_us;
    hpcb_bw_t use;
    bool mem_known, net_known;
    uint32_t depth;
    unsigned processors;
    uint64_t meets; /* of its class, in the order of the report */
} seat_t;

typedef struct {
    char name[HPCB_NAME_MAX];
    int64_t heard_ns;
    hpcb_bw_t capacity;
    unsigned processors[2]; /* all that jobs have together: primaries', guests' */
    size_t n_seats;
    seat_t seats[];
} node_t;

/* From a quantum on. */
typedef struct {
    unsigned cycle, slot; /* cycle 0: nothing */
    uint64_t from;
} owned_t;

/* The deal of a job. */
typedef struct {
    uint32_t job_id;
    uint64_t quantum_us;
    owned_t now, next;
} hand_t;

/* Combined reports of all nodes of a job. */
typedef struct {
    uint32_t job_id, nodes, reports;
    uint64_t quantum_us;
    bool guest, differs; /* differs: from node to node */
} job_t;

struct hpcbd_dealer {
    int64_t dealt_ns;
    bool has_dealt;
    size_t n_nodes, n_hands, n_jobs;
    node_t *nodes[NODES_MAX];         /* in any order */
    hand_t hands[HPCB_DEAL_JOBS_MAX]; /* by rising job_id, as all that follows */
    hand_t before[HPCB_DEAL_JOBS_MAX];
    job_t *jobs; /* while a deal is made */
    hpcb_deal_t deal;
    hpcbd_wide_t report;
    hpcbd_dealt_t answer;
};

hpcbd_dealer_t *hpcbd_dealer_new(int64_t now_ns)
{
    hpcbd_dealer_t *dealer = calloc(1, sizeof(*dealer));

    if (dealer)
        dealer->dealt_ns = now_ns;
    return dealer;
}

void hpcbd_dealer_free(hpcbd_dealer_t *dealer)
{
    if (!dealer)
        return;
    for (size_t i = 0; i < dealer->n_nodes; i++)
        free(dealer->nodes[i]);
    free(dealer);
}

/* ---- reports ---- */

/* Of the job at i: which of its class have a CPU of its own, in their order. */
static uint64_t who_meets(const hpcbd_wide_t *report, size_t i)
{
    uint64_t meets = 0;
    unsigned place = 0;

    for (size_t k = 0; k < report->n_jobs; k++) {
        if (report->jobs[k].guest != report->jobs[i].guest)
            continue;
        if (k != i && hpcb_cpus_meet(&report->jobs[i].cpus, &report->jobs[k].cpus))
            meets |= UINT64_C(1) << place;
        place++;
    }
    return meets;
}

static unsigned count_cpus(const hpcbd_wide_t *report, bool guests)
{
    hpcb_cpus_t all = {{0}};

    for (size_t i = 0; i < report->n_jobs; i++)
        if (report->jobs[i].guest == guests)
            hpcb_cpus_join(&all, &report->jobs[i].cpus);
    return hpcb_cpus_count(&all);
}

static node_t *make_node(const hpcbd_wide_t *report, int64_t now_ns)
{
    node_t *node = calloc(1, sizeof(*node) + report->n_jobs * sizeof(node->seats[0]));

    if (!node)
        return NULL;
    memcpy(node->name, report->node, sizeof(node->name));
    node->heard_ns = now_ns;
    node->capacity = report->capacity;
    node->n_seats = report->n_jobs;
    for (unsigned guests = 0; guests < 2; guests++)
        node->processors[guests] = count_cpus(report, guests);
    for (size_t i = 0; i < report->n_jobs; i++) {
        const hpcbd_wide_job_t *job = &report->jobs[i];

        node->seats[i] = (seat_t){
            .job_id = job->job_id,
            .nodes = job->nodes,
            .guest = job->guest,
            .quantum_us = job->quantum_us,
            .use = job->use,
            .mem_known = job->mem_known,
            .net_known = job->net_known,
            .depth = job->depth,
            .processors = hpcb_cpus_count(&job->cpus),
            .meets = who_meets(report, i),
        };
    }
    return node;
}

static void drop_silent(hpcbd_dealer_t *dealer, int64_t now_ns)
{
    size_t kept = 0;

    for (size_t i = 0; i < dealer->n_nodes; i++) {
        node_t *node = dealer->nodes[i];
        int64_t silent_ns = now_ns - node->heard_ns;

        /* Negative: the clock was set. */
        if (silent_ns >= 0 && silent_ns < HPCBD_TURNS_STALE_SECONDS * SECOND)
            dealer->nodes[kept++] = node;
        else
            free(node);
    }
    dealer->n_nodes = kept;
}

/* In the place of its last report. */
static node_t *put_node(hpcbd_dealer_t *dealer, int64_t now_ns)
{
    size_t place = 0;
    node_t *node;

    if (dealer->n_nodes == NODES_MAX)
        drop_silent(dealer, now_ns);
    while (place < dealer->n_nodes &&
           strcmp(dealer->nodes[place]->name, dealer->report.node) != 0)
        place++;
    if (place == NODES_MAX || !(node = make_node(&dealer->report, now_ns)))
        return NULL;
    if (place == dealer->n_nodes)
        dealer->n_nodes++;
    else
        free(dealer->nodes[place]);
    dealer->nodes[place] = node;
    return node;
}

/* ---- jobs ---- */

static int by_job_id(const void *one, const void *other)
{
    const uint32_t *a = one, *b = other; /* the first member of all that is sorted */

    return *a < *b ? -1 : *a > *b;
}

static void merge_job(job_t *job, const job_t *more)
{
    job->reports += more->reports;
    job->differs |= job->nodes != more->nodes || job->guest != more->guest ||
                    job->quantum_us != more->quantum_us;
}

static bool is_complete(const job_t *job)
{
    return !job->differs && job->reports == job->nodes;
}

/* As many as fit; complete ones only. */
static void keep_complete(hpcbd_dealer_t *dealer, const job_t *jobs, size_t count)
{
    size_t seats = 0;

    dealer->n_jobs = 0;
    for (size_t i = 0; i < count && dealer->n_jobs < HPCB_DEAL_JOBS_MAX; i++) {
        if (!is_complete(&jobs[i]) || seats + jobs[i].nodes > HPCB_DEAL_SEATS_MAX)
            continue;
        seats += jobs[i].nodes;
        dealer->jobs[dealer->n_jobs++] = jobs[i];
    }
}

/* The caller frees dealer->jobs.  0, or -1: there is no memory. */
static int find_jobs(hpcbd_dealer_t *dealer)
{
    size_t count = 0, merged = 0;

    for (size_t i = 0; i < dealer->n_nodes; i++)
        count += dealer->nodes[i]->n_seats;
    dealer->jobs = calloc(count + 1, sizeof(dealer->jobs[0]));
    if (!dealer->jobs)
        return -1;
    count = 0;
    for (size_t i = 0; i < dealer->n_nodes; i++)
        for (size_t k = 0; k < dealer->nodes[i]->n_seats; k++) {
            const seat_t *seat = &dealer->nodes[i]->seats[k];

            dealer->jobs[count++] = (job_t){.job_id = seat->job_id,
                                            .nodes = seat->nodes,
                                            .reports = 1,
                                            .quantum_us = seat->quantum_us,
                                            .guest = seat->guest};
        }
    qsort(dealer->jobs, count, sizeof(dealer->jobs[0]), by_job_id);
    for (size_t i = 0; i < count; i++)
        if (merged > 0 && dealer->jobs[merged - 1].job_id == dealer->jobs[i].job_id)
            merge_job(&dealer->jobs[merged - 1], &dealer->jobs[i]);
        else
            dealer->jobs[merged++] = dealer->jobs[i];
    keep_complete(dealer, dealer->jobs, merged);
    return 0;
}

static const job_t *find_job(const hpcbd_dealer_t *dealer, uint32_t job_id)
{
    return bsearch(&job_id, dealer->jobs, dealer->n_jobs, sizeof(dealer->jobs[0]),
                   by_job_id);
}

static const hand_t *find_hand(const hand_t *hands, size_t count, uint32_t job_id)
{
    return bsearch(&job_id, hands, count, sizeof(hands[0]), by_job_id);
}

/* ---- a deal ---- */

/* Remove bits that are not in the deal. */
static uint64_t compress(uint64_t meets, uint64_t kept)
{
    uint64_t result = 0;

    for (unsigned place = 0; kept; kept &= kept - 1, place++)
        if (meets & kept & -kept)
            result |= UINT64_C(1) << place;
    return result;
}

static void add_seats(hpcbd_dealer_t *dealer, const node_t *from, bool guests)
{
    hpcb_deal_t *deal = &dealer->deal;
    hpcb_deal_node_t *node = &deal->nodes[deal->n_nodes];
    uint64_t kept = 0;
    unsigned place = 0;

    *node = (hpcb_deal_node_t){.capacity = from->capacity,
                               .processors = from->processors[guests],
                               .first = (uint32_t)deal->n_seats};
    for (size_t i = 0; i < from->n_seats; i++) {
        const seat_t *seat = &from->seats[i];
        const job_t *job = find_job(dealer, seat->job_id);

        if (seat->guest != guests)
            continue;
        place++;
        if (!job)
            continue;
        kept |= UINT64_C(1) << (place - 1);
        deal->seats[deal->n_seats++] =
            (hpcb_deal_seat_t){.job = (uint32_t)(job - dealer->jobs),
                               .use = seat->use,
                               .mem_known = seat->mem_known,
                               .net_known = seat->net_known,
                               .processors = seat->processors,
                               .depth = seat->depth,
                               .meets = seat->meets};
    }
    node->count = (uint32_t)(deal->n_seats - node->first);
    for (uint32_t i = 0; i < node->count; i++)
        deal->seats[node->first + i].meets =
            compress(deal->seats[node->first + i].meets, kept);
    deal->n_nodes += node->count > 0;
}

/* The quantum from which a deal counts that is made now. */
static uint64_t first_quantum(const job_t *job, int64_t now_ns)
{
    uint64_t ahead_us = (uint64_t)(now_ns / 1000) + HPCB_DEAL_AHEAD_SECONDS * 1000000;

    return ahead_us / job->quantum_us + 1;
}

/* Return the job's slot when the deal begins: without a deal it owns quanta by its ID,
 * and if it keeps these it need not wait for another slot.  (Components of a
 * heterogeneous job own them by the ID of the whole, which reports do not contain.) */
static hpcb_deal_slot_t slot_before(const hpcbd_dealer_t *dealer, const job_t *job,
                                    int64_t now_ns)
{
    const hand_t *hand = find_hand(dealer->hands, dealer->n_hands, job->job_id);
    hpcb_deal_slot_t before = {.job_id = job->job_id, .cycle = HPCB_DEAL_CYCLE_MAX};

    if (hand && hand->now.cycle > 0) {
        before.cycle = hand->now.cycle;
        before.slot = hand->now.slot;
    } else {
        before.slot =
            hpcb_gang_slot(job->job_id, first_quantum(job, now_ns), before.cycle);
    }
    return before;
}

/* The last deal has begun: see the assertion above. */
static void begin_deal(hpcbd_dealer_t *dealer, int64_t now_ns)
{
    hpcb_deal_t *deal = &dealer->deal;

    for (size_t i = 0; i < dealer->n_hands; i++) {
        hand_t *hand = &dealer->hands[i];

        if (hand->next.cycle > 0)
            hand->now = hand->next;
        hand->next.cycle = 0;
    }
    deal->n_jobs = dealer->n_jobs;
    deal->n_nodes = deal->n_seats = 0;
    for (size_t i = 0; i < deal->n_jobs; i++)
        deal->jobs[i] = slot_before(dealer, &dealer->jobs[i], now_ns);
    for (unsigned guests = 0; guests < 2; guests++)
        for (size_t i = 0; i < dealer->n_nodes; i++)
            add_seats(dealer, dealer->nodes[i], guests);
}

/* before NULL: it had none. */
static hand_t make_hand(const hpcb_deal_slot_t *dealt, const job_t *job,
                        const hand_t *before, int64_t now_ns)
{
    hand_t hand = {.job_id = dealt->job_id, .quantum_us = job->quantum_us};

    if (before && before->quantum_us == job->quantum_us) {
        hand.now = before->now;
        if (dealt->cycle == hand.now.cycle && dealt->slot == hand.now.slot)
            return hand;
    }
    hand.next = (owned_t){
        .cycle = dealt->cycle, .slot = dealt->slot, .from = first_quantum(job, now_ns)};
    return hand;
}

static void end_deal(hpcbd_dealer_t *dealer, int64_t now_ns)
{
    const hpcb_deal_t *deal = &dealer->deal;
    size_t n_before = dealer->n_hands;

    memcpy(dealer->before, dealer->hands, n_before * sizeof(dealer->hands[0]));
    dealer->n_hands = 0;
    for (size_t i = 0; i < deal->n_jobs; i++)
        if (deal->jobs[i].cycle > 0)
            dealer->hands[dealer->n_hands++] = make_hand(
                &deal->jobs[i], &dealer->jobs[i],
                find_hand(dealer->before, n_before, deal->jobs[i].job_id), now_ns);
}

/* Reports that came meanwhile wait, and no node has fallen silent for that.  By whole
 * seconds: most deals take milliseconds. */
static int64_t deal(hpcbd_dealer_t *dealer)
{
    struct timespec begun, ended;
    int64_t took_ns;

    clock_gettime(CLOCK_MONOTONIC, &begun);
    hpcb_deal(&dealer->deal);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    took_ns = (ended.tv_sec - begun.tv_sec - (ended.tv_nsec < begun.tv_nsec)) * SECOND;
    for (size_t i = 0; i < dealer->n_nodes; i++)
        dealer->nodes[i]->heard_ns += took_ns;
    return took_ns;
}

static void deal_if_due(hpcbd_dealer_t *dealer, int64_t now_ns)
{
    int64_t since_ns = now_ns - dealer->dealt_ns;

    /* Negative: the clock was set. */
    if (since_ns >= 0 && since_ns < HPCB_DEAL_SECONDS * SECOND)
        return;
    dealer->dealt_ns = now_ns;
    drop_silent(dealer, now_ns);
    if (find_jobs(dealer) == 0) {
        begin_deal(dealer, now_ns);
        dealer->dealt_ns += deal(dealer);
        end_deal(dealer, dealer->dealt_ns);
        dealer->has_dealt = true;
    }
    free(dealer->jobs);
    dealer->jobs = NULL;
}

/* ---- answers ---- */

static void add_owned(hpcbd_dealt_t *answer, const hand_t *hand, const owned_t *owned)
{
    if (owned->cycle > 0)
        answer->jobs[answer->n_jobs++] =
            (hpcbd_dealt_job_t){.job_id = hand->job_id,
                                .quantum_us = hand->quantum_us,
                                .from = owned->from,
                                .cycle = owned->cycle,
                                .slot = owned->slot};
}

static void fill_answer(hpcbd_dealer_t *dealer, int64_t now_ns)
{
    hpcbd_dealt_t *answer = &dealer->answer;
    int64_t while_number = now_ns / SECOND / HPCB_DEAL_AHEAD_SECONDS;

    answer->until = 0;
    if (dealer->has_dealt)
        answer->until =
            while_number * HPCB_DEAL_AHEAD_SECONDS + HPCBD_DEAL_UNTIL_SECONDS;
    answer->n_jobs = 0;
    for (size_t i = 0; i < dealer->report.n_jobs; i++) {
        const hand_t *hand =
            find_hand(dealer->hands, dealer->n_hands, dealer->report.jobs[i].job_id);

        if (!hand)
            continue;
        add_owned(answer, hand, &hand->now);
        add_owned(answer, hand, &hand->next);
    }
}

char *hpcbd_dealer_take(hpcbd_dealer_t *dealer, const char *text, int64_t now_ns,
                        hpcb_error_t *err)
{
    char nonce[HPCBD_NONCE_MAX], *answer;

    if (hpcbd_wide_parse(text, &dealer->report, nonce, err) < 0) {
        errno = EPERM;
        return NULL;
    }
    if (!put_node(dealer, now_ns)) {
        errno = EAGAIN;
        hpcb_error(err, "%s: no memory, or too many nodes take turns",
                   dealer->report.node);
        return NULL;
    }
    deal_if_due(dealer, now_ns);
    fill_answer(dealer, now_ns);
    answer = hpcbd_dealt_print(&dealer->answer, nonce, err);
    if (!answer)
        errno = EAGAIN;
    return answer;
}
