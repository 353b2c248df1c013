/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The deal of hpcbd's collector for jobs of several nodes: policy/deal with its limits
 * and times.  Reports are one report old at the computation of a deal; its answers have
 * reached all nodes when it begins.  The time of the first deal after the start of the
 * jobs is random.
 */
#include "config.h"

#include <stdlib.h>

#include "policy/deal.h"
#include "sim/gang_parts.h"
#include "sim/random.h"

#define SECOND INT64_C(1000000000)

/* Each of them may have guests, too, and counts twice then. */
#define NODES_MAX (HPCB_DEAL_NODES_MAX / 2)

#define NEVER    UINT64_MAX
#define NO_PLACE UINT32_MAX

/* Of a job. */
typedef struct {
    unsigned cycle, slot;           /* cycle 0: it owns quanta by its id */
    unsigned next_cycle, next_slot; /* 0: as it is */
} hand_t;

struct hpcb_sim_gang_dealer {
    const hpcb_sim_gang_run_t *run;
    uint64_t first;
    int64_t report_ns; /* since the begin: when nodes say what the next deal rests on */
    uint64_t from;     /* quantum from which the last deal counts */
    hand_t *hands;
    uint32_t *place; /* of jobs, in deal.jobs; NO_PLACE: not dealt */
    hpcb_deal_t deal;
};

void hpcb_sim_gang_dealer_free(hpcb_sim_gang_dealer_t *dealer)
{
    if (!dealer)
        return;
    free(dealer->hands);
    free(dealer->place);
    free(dealer);
}

/* Choose the jobs that fit, those with the lowest IDs first, like keep_complete() of
 * hpcbd/collector/dealer.c.  Nodes beyond its limit count as silent. */
static void choose_jobs(hpcb_sim_gang_dealer_t *dealer)
{
    const hpcb_sim_gang_mix_t *mix = dealer->run->mix;
    size_t jobs = 0, seats = 0;

    for (uint32_t i = 0; i < mix->n_jobs; i++) {
        const hpcb_sim_gang_job_t *job = &mix->job[i];
        uint32_t last = mix->listed
                            ? mix->nodes - 1
                            : mix->seat[mix->by_job[job->first + job->count - 1]].node;

        dealer->place[i] = NO_PLACE;
        if (job->nodes < 2 || last >= NODES_MAX || jobs == HPCB_DEAL_JOBS_MAX ||
            seats + job->nodes > HPCB_DEAL_SEATS_MAX)
            continue;
        dealer->place[i] = (uint32_t)jobs++;
        seats += job->nodes;
    }
    dealer->deal.n_jobs = jobs;
}

hpcb_sim_gang_dealer_t *hpcb_sim_gang_dealer_new(const hpcb_sim_gang_run_t *run,
                                                 uint64_t first)
{
    hpcb_sim_gang_dealer_t *dealer = calloc(1, sizeof(*dealer));
    hpcb_sim_stream_t chance = hpcb_sim_stream(run->seed, 5);

    if (!dealer)
        return NULL;
    dealer->run = run;
    dealer->first = first;
    dealer->from = NEVER;
    dealer->report_ns =
        (int64_t)hpcb_sim_below(&chance, (uint64_t)(HPCB_DEAL_SECONDS * SECOND));
    dealer->hands = calloc(run->mix->n_jobs, sizeof(dealer->hands[0]));
    dealer->place = calloc(run->mix->n_jobs, sizeof(dealer->place[0]));
    if (!dealer->hands || !dealer->place) {
        hpcb_sim_gang_dealer_free(dealer);
        return NULL;
    }
    choose_jobs(dealer);
    return dealer;
}

/* ---- reports ---- */

/* The most jobs that one of its CPUs has. */
static unsigned depth_of(const hpcb_sim_gang_mix_t *mix, uint32_t place)
{
    const hpcb_sim_gang_seat_t *seat = &mix->seat[place];
    uint32_t first = mix->node_first[seat->node], end = mix->node_first[seat->node + 1];
    unsigned most = 0;

    for (uint64_t left = seat->cpus; left; left &= left - 1) {
        unsigned jobs = 0;

        for (uint32_t i = first; i < end; i++)
            jobs += (mix->seat[i].cpus & left & -left) != 0;
        most = jobs > most ? jobs : most;
    }
    return most;
}

/* Return what hpcbd/gang/deal.c would report. */
static hpcb_deal_seat_t report_seat(const hpcb_sim_gang_dealer_t *dealer,
                                    uint32_t place, const hpcb_gang_t *gang,
                                    const hpcb_gang_job_t *job)
{
    const hpcb_sim_gang_seat_t *seat = &dealer->run->mix->seat[place];
    bool counts = gang->window > 0 && job->n_samples > 0;

    return (hpcb_deal_seat_t){
        .job = dealer->place[seat->job],
        .use = hpcb_gang_predict(gang, job),
        .mem_known = counts && job->mem_known,
        .net_known = counts && job->net_known,
        .processors = (unsigned)__builtin_popcountll(seat->cpus),
        .depth = depth_of(dealer->run->mix, place),
    };
}

/* Of the seats of one node that are in the deal: places[i] is that of the i-th. */
static void find_meets(const hpcb_sim_gang_mix_t *mix, hpcb_deal_seat_t *seats,
                       const uint32_t *places, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < count; k++)
            if (k != i && mix->seat[places[i]].cpus & mix->seat[places[k]].cpus)
                seats[i].meets |= UINT64_C(1) << k;
}

static void report_node(hpcb_sim_gang_dealer_t *dealer, uint32_t node,
                        const hpcb_gang_t *gang, const hpcb_gang_job_t *jobs)
{
    const hpcb_sim_gang_setting_t *setting = dealer->run->setting;
    const hpcb_sim_gang_mix_t *mix = dealer->run->mix;
    hpcb_deal_t *deal = &dealer->deal;
    hpcb_deal_seat_t *seats = &deal->seats[deal->n_seats];
    uint32_t places[HPCB_DEAL_NODE_SEATS], count = 0;
    uint64_t cpus = 0;

    for (uint32_t i = mix->node_first[node]; i < mix->node_first[node + 1]; i++) {
        if (mix->job[mix->seat[i].job].nodes > 1)
            cpus |= mix->seat[i].cpus;
        if (dealer->place[mix->seat[i].job] == NO_PLACE)
            continue;
        seats[count] = report_seat(dealer, i, gang, &jobs[i]);
        places[count++] = i;
    }
    if (count == 0)
        return;
    find_meets(mix, seats, places, count);
    deal->nodes[deal->n_nodes++] = (hpcb_deal_node_t){
        .capacity = {(uint64_t)setting->known_memory * HPCB_SIM_GANG_MB,
                     (uint64_t)setting->known_network * HPCB_SIM_GANG_MB},
        .processors = (unsigned)__builtin_popcountll(cpus),
        .first = (uint32_t)deal->n_seats,
        .count = count,
    };
    deal->n_seats += count;
}

/* ---- deals ---- */

/* As slot_before() there. */
static hpcb_deal_slot_t slot_before(const hand_t *hand, uint32_t id, uint64_t from)
{
    if (hand->cycle > 0)
        return (hpcb_deal_slot_t){id, hand->cycle, hand->slot};
    return (hpcb_deal_slot_t){id, HPCB_DEAL_CYCLE_MAX,
                              hpcb_gang_slot(id, from, HPCB_DEAL_CYCLE_MAX)};
}

static void begin_deal(hpcb_sim_gang_dealer_t *dealer, uint32_t first_id)
{
    for (uint32_t i = 0; i < dealer->run->mix->n_jobs; i++)
        if (dealer->place[i] != NO_PLACE)
            dealer->deal.jobs[dealer->place[i]] =
                slot_before(&dealer->hands[i], first_id + i, dealer->from);
}

/* A job that keeps its slot does so without a break; one without a slot owns quanta by
 * its ID at once. */
static void end_deal(hpcb_sim_gang_dealer_t *dealer)
{
    for (uint32_t i = 0; i < dealer->run->mix->n_jobs; i++) {
        const hpcb_deal_slot_t *dealt;
        hand_t *hand = &dealer->hands[i];

        if (dealer->place[i] == NO_PLACE)
            continue;
        dealt = &dealer->deal.jobs[dealer->place[i]];
        hand->next_cycle = 0;
        if (dealt->cycle == 0)
            hand->cycle = 0;
        else if (dealt->cycle != hand->cycle || dealt->slot != hand->slot) {
            hand->next_cycle = dealt->cycle;
            hand->next_slot = dealt->slot;
        }
    }
}

static void make_deal(hpcb_sim_gang_dealer_t *dealer, const hpcb_gang_t *gang,
                      const hpcb_gang_job_t *jobs)
{
    const hpcb_sim_gang_mix_t *mix = dealer->run->mix;
    int64_t begin_ns = dealer->report_ns +
                       (HPCB_DEAL_REPORT_SECONDS + HPCB_DEAL_AHEAD_SECONDS) * SECOND;

    dealer->deal.n_nodes = dealer->deal.n_seats = 0;
    for (uint32_t i = 0; i < mix->n_nodes; i++)
        report_node(dealer, i, &gang[i], jobs);
    dealer->from =
        dealer->first + (uint64_t)(begin_ns / dealer->run->setting->quantum_ns) + 1;
    begin_deal(dealer, jobs[0].job_id - mix->seat[0].job);
    hpcb_deal(&dealer->deal);
    end_deal(dealer);
    dealer->report_ns += HPCB_DEAL_SECONDS * SECOND;
}

/* Set the slots of the jobs from now on. */
static void apply(hpcb_sim_gang_dealer_t *dealer, bool begins, hpcb_gang_job_t *jobs)
{
    const hpcb_sim_gang_mix_t *mix = dealer->run->mix;

    for (uint32_t i = 0; i < mix->n_jobs && begins; i++) {
        hand_t *hand = &dealer->hands[i];

        if (hand->next_cycle == 0)
            continue;
        hand->cycle = hand->next_cycle;
        hand->slot = hand->next_slot;
        hand->next_cycle = 0;
    }
    for (uint32_t i = 0; i < mix->n_seats; i++) {
        jobs[i].cycle = dealer->hands[mix->seat[i].job].cycle;
        jobs[i].slot = dealer->hands[mix->seat[i].job].slot;
    }
}

void hpcb_sim_gang_deal(hpcb_sim_gang_dealer_t *dealer, uint64_t number,
                        const hpcb_gang_t *gang, hpcb_gang_job_t *seats)
{
    int64_t now_ns =
        (int64_t)(number - dealer->first) * dealer->run->setting->quantum_ns;
    bool makes = dealer->deal.n_jobs > 0 && now_ns >= dealer->report_ns;
    bool begins = number >= dealer->from;

    if (makes)
        make_deal(dealer, gang, seats);
    if (makes || begins)
        apply(dealer, begins, seats);
    if (begins)
        dealer->from = NEVER;
}
