/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Switches are at multiples of the quantum by the wall clock, so that all nodes switch
 * at the same time and number quanta equally.  At a switch the next jobs are elected;
 * the others are stopped before these are continued.  Longer work comes after that:
 * jobs that ran are measured, files are read.  So elections use the quanta before the
 * one that ends; the jobs that ran in that one are last in the list anyway.  Guests and
 * primaries are elected separately, at their own switches, because they share CPUs with
 * each other anyway.
 *
 * The timer expires at the next switch of either, and before it if there are files left
 * to read or jobs to find.
 */
#include "config.h"

#include <time.h>

#include "common/log.h"
#include "hpcbd/gang/capacity.h"
#include "hpcbd/gang/clock.h"
#include "hpcbd/gang/deal.h"
#include "hpcbd/gang/decision.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/gang/roster.h"
#include "hpcbd/gang/tuning.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/windows/windows.h"

_Static_assert(HPCB_GANG_WINDOW_LIMIT == HPCB_GANG_WINDOW_MAX,
               "common/conf and policy/gang have the same limits");

#define SECOND INT64_C(1000000000)
#define MS     (SECOND / 1000)

/* Delay after a new job, or after a part of the jobs has been scanned. */
#define SOON_NS (200 * MS)

/* Interval of scans for jobs that share a CPU while there are none, and for the CPUs of
 * a job whose first step may be about to begin. */
#define IDLE_NS   (5 * SECOND)
#define PLACED_NS SECOND

/* That late an election may be, besides its quantum; the watchdog adds half a second.
 */
#define DECIDE_NS SECOND

/* Interval of checks of the node's bandwidth, and of its clock. */
#define LOOK_NS SECOND

static struct {
    hpcbd_t *daemon;
    hpcb_node_t *node;
    hpcb_source_t *timer; /* NULL: there is no gang */
    hpcbd_roster_t roster;
    hpcbd_tuning_t tuning;
    bool unread; /* there are jobs to scan */
    bool soon;   /* the timer has been brought forward */
    bool paused;
    uint64_t quanta;
    hpcb_bw_t told, capacity; /* told: from hpc-balance.conf */
    hpcbd_clock_t clock;
    int64_t looked_ns; /* at capacity and clock */
    hpcbd_decisions_t decisions;
    hpcbd_deal_t deal;
} engine = {
    .roster = {.sets = {{.name = "primaries"}, {.name = "guests", .guests = true}}}};

static int64_t clock_ns(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
}

/* ---- a quantum ---- */

/* A job that is stopped for another reason would leave its turn unused.  Not so for
 * GuestMinShare: hpcbd/harm/share.c decides by the guest's turns whether it
 * continues. */
static bool is_paused(const hpcbd_member_t *member)
{
    return member->held || member->suspended || hpcbd_restrain_holds(member->job);
}

/* All but those that have been paused. */
static void elect_all(const hpcbd_set_t *set, bool *run)
{
    for (size_t i = 0; i < set->gang.count; i++)
        run[i] = !set->gang.list[i]->paused;
}

/* Return false if no job takes turns. */
static bool elect(hpcbd_set_t *set, hpcb_bw_t *capacity, bool *run)
{
    for (size_t i = 0; i < set->gang.count; i++) {
        hpcbd_member_t *member = hpcbd_set_at(set, i);

        member->policy.paused = is_paused(member);
    }
    if (engine.paused || !hpcb_gang_contends(&set->gang)) {
        elect_all(set, run);
        return false;
    }
    hpcbd_deal_apply(&engine.deal, set);
    *capacity = hpcb_gang_capacity(&set->gang, &engine.capacity);
    hpcb_gang_select(&set->gang, capacity, (uint64_t)set->number, run);
    return true;
}

/* A job of unknown CPUs keeps running, and so does one that cannot be stopped. */
static bool must_stop(const hpcbd_member_t *member, bool run)
{
    return !run && hpcbd_member_has_cpus(member);
}

/* Line 4 of algorithm 1 before line 15.  Asked for anew each time: the owner forgets it
 * if the watchdog goes. */
static void carry_out(hpcbd_set_t *set, const bool *run)
{
    for (size_t i = 0; i < set->gang.count; i++) {
        hpcbd_member_t *member = hpcbd_set_at(set, i);

        if (must_stop(member, run[i]))
            member->stopped =
                hpcbd_window_stop_guest(member->policy.job_id, HPCBD_FREEZE_GANG);
    }
    for (size_t i = 0; i < set->gang.count; i++) {
        hpcbd_member_t *member = hpcbd_set_at(set, i);

        if (!must_stop(member, run[i]))
            hpcbd_roster_let_go(member);
        set->switching |= must_stop(member, run[i]);
    }
}

static void switch_set(hpcbd_set_t *set)
{
    bool run[HPCB_GANG_JOBS_MAX] = {false};
    hpcb_bw_t capacity;
    bool elected = elect(set, &capacity, run);

    set->switching = elected;
    carry_out(set, run);
    if (!elected) {
        hpcb_gang_rest(&set->gang);
        return;
    }
    engine.quanta++;
    hpcbd_decisions_note(&engine.decisions, set->name, (uint64_t)set->number,
                         &set->gang, &capacity, run);
    hpcb_gang_begin(&set->gang, run);
}

static void measure(const hpcbd_set_t *set, int64_t edge_ns)
{
    for (size_t i = 0; i < set->gang.count; i++) {
        hpcbd_member_t *member = hpcbd_set_at(set, i);

        hpcbd_member_turn(member, edge_ns, clock_ns(CLOCK_MONOTONIC),
                          member->policy.runs);
    }
}

/* ---- switches ---- */

static bool is_switching(void)
{
    bool switching = false;

    for (size_t i = 0; i < HPCBD_SETS; i++)
        switching |= engine.roster.sets[i].switching;
    return switching;
}

/* While a job is stopped, the next decision must be made within a quantum, or the
 * watchdog acts. */
static void decide_in_time(void)
{
    int64_t end_ns = INT64_MAX;

    for (size_t i = 0; i < HPCBD_SETS; i++) {
        const hpcbd_set_t *set = &engine.roster.sets[i];

        if (set->switching && set->decided_ns + set->quantum_ns < end_ns)
            end_ns = set->decided_ns + set->quantum_ns;
    }
    hpcbd_window_decide_by(HPCBD_WATCHDOG_GANG,
                           end_ns < INT64_MAX ? end_ns + DECIDE_NS : 0);
}

/* A turn ends a quantum after it began, whatever the clock says. */
static bool is_due(const hpcbd_set_t *set, bool expired, int64_t wall_ns,
                   int64_t now_ns)
{
    if (now_ns - set->decided_ns >= set->quantum_ns)
        return true;
    return expired && !(set->switching && set->number == wall_ns / set->quantum_ns);
}

static void run_due(bool expired, int64_t wall_ns, int64_t now_ns)
{
    bool due[HPCBD_SETS];

    for (size_t i = 0; i < HPCBD_SETS; i++) {
        hpcbd_set_t *set = &engine.roster.sets[i];

        due[i] = is_due(set, expired, wall_ns, now_ns);
        if (!due[i])
            continue;
        set->number = wall_ns / set->quantum_ns;
        set->decided_ns = now_ns;
        set->switching = true; /* until it is decided */
    }
    decide_in_time(); /* before any job is stopped */
    for (size_t i = 0; i < HPCBD_SETS; i++)
        if (due[i])
            switch_set(&engine.roster.sets[i]);
    for (size_t i = 0; i < HPCBD_SETS; i++)
        if (due[i])
            measure(&engine.roster.sets[i], now_ns);
}

static int64_t idle_ns(void)
{
    if (engine.unread)
        return SOON_NS;
    return hpcbd_roster_is_placed(&engine.roster) ? IDLE_NS : PLACED_NS;
}

/* At most until a quantum after the last decision, because the next switch may be
 * further away after a clock step. */
static int64_t wait_ns(int64_t wall_ns, int64_t now_ns)
{
    int64_t least_ns = idle_ns();

    for (size_t i = 0; i < HPCBD_SETS; i++) {
        const hpcbd_set_t *set = &engine.roster.sets[i];
        int64_t edge_ns, end_ns;

        if (!set->switching)
            continue;
        edge_ns = set->quantum_ns - wall_ns % set->quantum_ns;
        end_ns = set->decided_ns + set->quantum_ns - now_ns;
        least_ns = edge_ns < least_ns ? edge_ns : least_ns;
        least_ns = end_ns < least_ns ? end_ns : least_ns;
    }
    return least_ns > 0 ? least_ns : 1;
}

/* The kernel reports clock steps while the timer waits; one between our reading of the
 * clock and the timer's start must be detected here. */
static void wait_for_edge(int64_t now_ns)
{
    for (int tries = 0; tries < 4; tries++) {
        int64_t wall_ns = clock_ns(CLOCK_REALTIME);

        hpcb_timer_at(engine.timer, (uint64_t)(wall_ns + wait_ns(wall_ns, now_ns)), 0);
        if (clock_ns(CLOCK_REALTIME) >= wall_ns)
            return;
    }
    hpcb_timer_in(engine.timer, (uint64_t)wait_ns(clock_ns(CLOCK_REALTIME), now_ns), 0);
}

static void arm(int64_t now_ns)
{
    decide_in_time();
    if (is_switching())
        wait_for_edge(now_ns);
    else
        hpcb_timer_in(engine.timer, (uint64_t)idle_ns(), 0);
}

/* The clock was set: the present quantum by the clock is not due to a switch. */
static void renumber(int64_t wall_ns)
{
    for (size_t i = 0; i < HPCBD_SETS; i++)
        if (engine.roster.sets[i].switching)
            engine.roster.sets[i].number = wall_ns / engine.roster.sets[i].quantum_ns;
}

static void tune(hpcbd_set_t *set)
{
    hpcbd_turn_t turn = hpcbd_tuning_of(&engine.tuning, set);

    set->quantum_ns = (int64_t)turn.quantum_us * 1000;
    set->gang.window = turn.window;
}

static bool has_wide_jobs(void)
{
    for (size_t i = 0; i < HPCBD_SETS; i++)
        for (size_t k = 0; k < engine.roster.sets[i].gang.count; k++)
            if (engine.roster.sets[i].gang.list[k]->wide)
                return true;
    return false;
}

static int64_t shortest_quantum_ns(void)
{
    int64_t least_ns = INT64_MAX;

    for (size_t i = 0; i < HPCBD_SETS; i++)
        if (engine.roster.sets[i].quantum_ns < least_ns)
            least_ns = engine.roster.sets[i].quantum_ns;
    return least_ns;
}

/* A node is measured after its boot, or measured anew: the file comes when it comes. */
static void look_around(int64_t now_ns)
{
    if (now_ns - engine.looked_ns < LOOK_NS)
        return;
    engine.looked_ns = now_ns;
    hpcbd_gang_capacity(&engine.told, engine.daemon->conf.state_dir, &engine.capacity);
    hpcbd_clock_look(&engine.clock, has_wide_jobs() ? shortest_quantum_ns() : 0);
}

/* expirations 0: the clock was set. */
static void on_timer(void *arg, uint64_t expirations)
{
    int64_t wall_ns = clock_ns(CLOCK_REALTIME), now_ns = clock_ns(CLOCK_MONOTONIC);
    bool switched = is_switching(); /* files are read after the switch then */

    (void)arg;
    engine.soon = false;
    if (expirations == 0)
        renumber(wall_ns);
    hpcbd_roster_follow(&engine.roster, hpcbd_window_registry(), now_ns);
    if (!switched)
        engine.unread = !hpcbd_roster_look(&engine.roster, now_ns);
    for (size_t i = 0; i < HPCBD_SETS; i++)
        tune(&engine.roster.sets[i]);
    run_due(expirations > 0, wall_ns, now_ns);
    if (switched)
        engine.unread = !hpcbd_roster_look(&engine.roster, now_ns);
    look_around(now_ns);
    hpcbd_deal_follow(&engine.deal, &engine.roster, &engine.capacity, now_ns);
    arm(now_ns);
}

/* ---- what others ask ---- */

/* Not if the next expiration is a switch anyway.  Requests of users are handled after
 * SOON_NS, because each time all jobs are measured and elected. */
static void soon(int64_t in_ns)
{
    if (engine.timer && !is_switching() && !engine.soon)
        hpcb_timer_in(engine.timer, (uint64_t)in_ns, 0);
    engine.soon = true;
}

void hpcbd_gang_job(uint32_t job_id)
{
    hpcbd_roster_mark(&engine.roster, job_id);
    soon(SOON_NS);
}

const hpcbd_member_t *hpcbd_gang_member(uint32_t job_id)
{
    return hpcbd_roster_find(&engine.roster, job_id);
}

bool hpcbd_gang_switches(uint32_t job_id)
{
    for (size_t i = 0; i < HPCBD_SETS; i++)
        if (hpcbd_set_find(&engine.roster.sets[i], job_id))
            return engine.roster.sets[i].switching;
    return false;
}

bool hpcbd_gang_elected(uint32_t job_id, uint64_t *us)
{
    const hpcbd_member_t *member = hpcbd_roster_find(&engine.roster, job_id);

    if (!member)
        return false;
    *us = hpcbd_member_elected_us(member, clock_ns(CLOCK_MONOTONIC));
    return true;
}

void hpcbd_gang_stats(hpcbd_gang_stats_t *stats)
{
    *stats = (hpcbd_gang_stats_t){
        .turn = engine.tuning.all,
        .paused = engine.paused,
        .quanta = engine.quanta,
        .capacity = engine.capacity,
        .clock = engine.clock.wrong,
    };
}

bool hpcbd_gang_pause(uint32_t job_id, bool pause)
{
    hpcbd_member_t *member = job_id ? hpcbd_roster_find(&engine.roster, job_id) : NULL;
    bool *paused = member ? &member->held : &engine.paused;

    if (job_id && !member)
        return false;
    if (*paused == pause)
        return true;
    *paused = pause;
    soon(member ? SOON_NS : MS);
    return true;
}

static bool by_partition(const hpcbd_job_t *job)
{
    return hpcb_conf_is_gang(&engine.daemon->conf, job->state.partition);
}

static void set_turns(hpcbd_job_t *job, hpcbd_turns_t turns)
{
    if (job->turns == turns)
        return;
    job->turns = turns;
    soon(SOON_NS);
}

const char *hpcbd_gang_join(hpcbd_job_t *job)
{
    if (!engine.timer)
        return "no jobs take turns on this node (GuestOversubscribe, GangPartitions)";
    set_turns(job, by_partition(job) ? HPCBD_TURNS_OF_PARTITION : HPCBD_TURNS_JOINED);
    return NULL;
}

const char *hpcbd_gang_leave(hpcbd_job_t *job, bool by_root)
{
    if (!by_partition(job) && job->turns != HPCBD_TURNS_JOINED)
        return "the job takes no turns";
    set_turns(job, by_root && by_partition(job) ? HPCBD_TURNS_LEFT
                                                : HPCBD_TURNS_OF_PARTITION);
    return NULL;
}

hpcbd_turn_t hpcbd_gang_turn(uint32_t job_id)
{
    for (size_t i = 0; i < HPCBD_SETS; i++) {
        const hpcbd_set_t *set = &engine.roster.sets[i];

        if (hpcbd_set_find(set, job_id))
            return (hpcbd_turn_t){(uint64_t)set->quantum_ns / 1000, set->gang.window};
    }
    return (hpcbd_turn_t){0, 0};
}

static bool meets_other(const char *partition)
{
    bool meets = false;

    hpcbd_roster_follow(&engine.roster, hpcbd_window_registry(),
                        clock_ns(CLOCK_MONOTONIC));
    for (size_t i = 0; i < HPCBD_SETS; i++)
        meets |= hpcbd_tuning_meets_other(&engine.roster.sets[i], partition);
    return meets;
}

const char *hpcbd_gang_set(const char *partition, const hpcbd_turn_t *turn)
{
    if ((turn->quantum_us && (turn->quantum_us < HPCB_GANG_QUANTUM_MIN_US ||
                              turn->quantum_us > HPCB_GANG_QUANTUM_MAX_US)) ||
        turn->window > HPCB_GANG_WINDOW_MAX)
        return "out of range";
    if (partition && !hpcb_conf_is_gang(&engine.daemon->conf, partition))
        return "no jobs of that partition take turns";
    if (partition && meets_other(partition))
        return "jobs of other partitions take turns with those of that one here";
    return hpcbd_tuning_set(&engine.tuning, partition, turn)
               ? NULL
               : "too many partitions have turns of their own";
}

const hpcbd_decisions_t *hpcbd_gang_decisions(void)
{
    return &engine.decisions;
}

/* ---- the part ---- */

static int begin(hpcbd_t *daemon, hpcb_error_t *err)
{
    const hpcb_conf_t *conf = &daemon->conf;

    hpcbd_tuning_reset(&engine.tuning, conf);
    hpcbd_gang_capacity_told(daemon->conf_path, &engine.told);
    hpcbd_gang_capacity(&engine.told, conf->state_dir, &engine.capacity);
    engine.deal = (hpcbd_deal_t){.reported_ns = 0};
    if (!engine.timer)
        engine.timer =
            hpcb_loop_timer(daemon->loop, CLOCK_REALTIME, on_timer, NULL, err);
    if (!engine.timer)
        return -1;
    hpcb_timer_in(engine.timer, (uint64_t)SOON_NS, 0);
    engine.soon = true;
    return 0;
}

/* All jobs run. */
static void end(void)
{
    hpcbd_roster_clear(&engine.roster, clock_ns(CLOCK_MONOTONIC));
    if (!engine.timer)
        return;
    hpcbd_window_decide_by(HPCBD_WATCHDOG_GANG, 0);
    hpcb_source_remove(engine.timer);
    engine.timer = NULL;
    for (size_t i = 0; i < HPCBD_SETS; i++)
        engine.roster.sets[i].switching = false;
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    engine.daemon = daemon;
    if (hpcb_node_open("/", &engine.node, err) < 0)
        return -1;
    engine.roster.node = engine.node;
    engine.roster.conf = &daemon->conf;
    engine.roster.marked_ns = engine.roster.looked_ns = engine.looked_ns = 0;
    engine.clock = (hpcbd_clock_t){0};
    return hpcb_conf_has_gangs(&daemon->conf) ? begin(daemon, err) : 0;
}

static void drop_marks(void)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();

    for (size_t i = 0; i < registry->count; i++)
        registry->jobs[i]->gang = false;
}

static void reload(hpcbd_t *daemon)
{
    hpcb_error_t err;

    if (!hpcb_conf_has_gangs(&daemon->conf)) {
        end();
        drop_marks();
    } else if (begin(daemon, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "jobs take no turns: %s", err.text);
    }
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    end();
    hpcbd_decisions_free(&engine.decisions);
    hpcb_node_close(engine.node);
    engine.node = NULL;
}

const hpcbd_part_t hpcbd_gang = {
    .name = "gang", .start = start, .reload = reload, .stop = stop};
