/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "cgroup/steps.h"
#include "common/log.h"
#include "hpcbd/harm/company.h"
#include "hpcbd/harm/guarded.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/harm/tally.h"
#include "hpcbd/node/cpus.h"
#include "hpcbd/windows/windows.h"

#define SECOND UINT64_C(1000000000)

/* A step rests on a minute's comparisons at least; guests get one back after ten
 * minutes, later with each restriction (five minutes doubled each time), up to an hour.
 */
#define LOOK_NS    (60 * SECOND)
#define RETURN_NS  (300 * SECOND)
#define LONGEST_NS (3600 * SECOND)

/* Guests that a line of the log names. */
#define NAMED_MAX 8

/* Guests on its cores, the others of the node, or those that were to go. */
typedef struct {
    const char *name; /* in the log */
    const hpcbd_job_t *guests[HPCBD_JOBS_MAX];
    size_t count;
    bool wanted; /* some would run but for the guard */
    bool same;   /* some were there in the turn before */
    bool stays;  /* or it is empty for a moment, or the same programs have come back */
} group_t;

/* Input of one decision. */
typedef struct {
    const char *state_dir;
    const hpcbd_job_t *job; /* NULL: it has gone */
    double limit;           /* GuestMaxSlowdown */
    hpcb_guard_conf_t policy;
    bool known; /* so far of verdict */
    hpcb_progress_verdict_t verdict;
    group_t near, far, left;
    uint64_t from_ns, now_ns; /* evidence is of the time between them */
    hpcb_node_t *node;        /* for searching idle guests; NULL: not possible */
} turn_t;

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * SECOND + (uint64_t)now.tv_nsec;
}

bool hpcbd_guarded_is_held(const hpcbd_job_t *guest)
{
    const unsigned held = HPCBD_FREEZE_WINDOW | HPCBD_FREEZE_CRUMBS;

    return hpcbd_window_why_stopped(guest->state.job_id) & held;
}

static const hpcbd_job_t *job_of(const hpcbd_guarded_t *guarded)
{
    return hpcbd_registry_find(hpcbd_window_registry(), guarded->job_id);
}

static bool is_free(const hpcbd_guarded_t *guarded)
{
    return guarded->guards.near.level == HPCB_GUARD_FREE &&
           guarded->guards.far.level == HPCB_GUARD_FREE;
}

hpcb_guard_level_t hpcbd_guarded_level(const hpcbd_guarded_t *guarded,
                                       hpcbd_near_t *near, const hpcbd_job_t *guest)
{
    const hpcb_guards_t *guards = &guarded->guards;
    const hpcb_guard_t *group = &guards->left;
    const hpcbd_job_t *job;

    if (!hpcbd_leavers_has(&guarded->leavers, guest)) {
        job = is_free(guarded) ? NULL : job_of(guarded);
        if (!job)
            return HPCB_GUARD_FREE;
        group = hpcbd_near_shares(near, job, guest) ? &guards->near : &guards->far;
    }
    return hpcb_guard_level_of(group, guest->state.job_id);
}

static hpcb_guard_level_t greater_of(hpcb_guard_level_t a, hpcb_guard_level_t b)
{
    return a > b ? a : b;
}

hpcb_guard_level_t hpcbd_guarded_most(const hpcbd_guarded_t *guarded)
{
    const hpcb_guards_t *guards = &guarded->guards;
    hpcb_guard_level_t most =
        greater_of(greater_of(guards->near.level, guards->far.level),
                   guarded->leavers.count ? guards->left.level : HPCB_GUARD_FREE);

    return most == HPCB_GUARD_REQUEUE ? HPCB_GUARD_STOP : most;
}

static void add_guest(group_t *group, const hpcbd_job_t *guest, uint64_t before_ns)
{
    group->guests[group->count++] = guest;
    group->wanted |= !hpcbd_guarded_is_held(guest);
    group->same |= guest->guest_since_ns <= before_ns;
}

static void clear(group_t *group, const char *name)
{
    group->name = name;
    group->count = 0;
    group->wanted = group->same = group->stays = false;
}

/* The next task of an array is known by those before it, but does not wait for what is
 * left of the pause of one that was stopped. */
static void find_regulars(const turn_t *turn, group_t *group, hpcbd_regulars_t *known,
                          const hpcb_guard_t *guard)
{
    group->stays = hpcbd_regulars_stay(known, group->guests, group->count, group->same,
                                       turn->now_ns) &&
                   guard->level < HPCB_GUARD_STOP;
}

static group_t *group_of(const hpcbd_guarded_t *guarded, turn_t *turn,
                         hpcbd_near_t *near, const hpcbd_job_t *guest)
{
    if (hpcbd_leavers_has(&guarded->leavers, guest))
        return &turn->left;
    return hpcbd_near_shares(near, turn->job, guest) ? &turn->near : &turn->far;
}

/* Once for all primaries. */
static void note_guest(const turn_t *turn, hpcbd_job_t *guest)
{
    if (guest->guest_since_ns)
        return;
    guest->guest_since_ns = turn->now_ns;
    if (!guest->marked)
        guest->guest_program = hpcbd_company_program(turn->state_dir, &guest->state);
}

static void find_groups(hpcbd_guarded_t *guarded, turn_t *turn, hpcbd_near_t *near)
{
    const hpcbd_registry_t *registry = hpcbd_window_registry();

    clear(&turn->near, "those on its cores");
    clear(&turn->far, "those on other cores");
    clear(&turn->left, "those that were to go");
    hpcbd_leavers_clean(&guarded->leavers, registry);
    for (size_t i = 0; turn->job && i < registry->count; i++) {
        hpcbd_job_t *guest = registry->jobs[i];

        if (guest->state.klass != HPCB_CLASS_GUEST)
            continue;
        note_guest(turn, guest);
        add_guest(group_of(guarded, turn, near, guest), guest, guarded->stepped_ns);
    }
    find_regulars(turn, &turn->near, &guarded->near, &guarded->guards.near);
    find_regulars(turn, &turn->far, &guarded->far, &guarded->guards.far);
    if (!turn->far.count && !turn->left.count)
        turn->near.name = "they";
}

/* ---- what the log says ---- */

/* Once for each primary: a user who keeps on lying does not fill the log. */
static void say_doubt(hpcbd_guarded_t *guarded, const hpcb_progress_verdict_t *verdict)
{
    if (guarded->doubted || !verdict->doubts)
        return;
    guarded->doubted = true;
    hpcb_log(HPCB_LOG_INFO,
             "job %u: ignoring the guest cost by %s (at most %.2f %%): by %s it is at "
             "least %.2f %%",
             guarded->job_id, hpcb_progress_name(verdict->doubted),
             100 * verdict->claim.high, hpcb_progress_name(verdict->source),
             100 * verdict->found.low);
}

static void say_cap(hpcbd_guarded_t *guarded, const turn_t *turn)
{
    const hpcb_guards_t *guards = &guarded->guards;
    const hpcb_progress_verdict_t *verdict = &turn->verdict;

    if (guarded->capped || verdict->least <= turn->limit ||
        (guards->near.level != HPCB_GUARD_QUARTER &&
         guards->far.level != HPCB_GUARD_QUARTER) ||
        hpcb_progress_most(verdict, turn->limit) > HPCB_GUARD_QUARTER)
        return;
    guarded->capped = true;
    hpcb_log(
        HPCB_LOG_INFO,
        "job %u: guests are not restricted further: only iterations, which the job "
        "itself counts, show a cost of %.2f %% (proven: %.2f %%)",
        guarded->job_id, 100 * verdict->found.cost, 100 * verdict->proven_low);
}

static int name_guest(const hpcbd_job_t *guest, const char *before, char *text,
                      size_t size)
{
    uint32_t job_id = guest->state.job_id;

    return guest->marked ? snprintf(text, size, "%sjob %" PRIu32, before, job_id)
                         : snprintf(text, size, "%sjob %" PRIu32 " of uid %" PRIu32,
                                    before, job_id, guest->state.uid);
}

/* "job 7 of uid 1003, job 9 of uid 1003 and 2 more". */
static void name_guests(const hpcbd_job_t *const *guests, size_t count, char *text,
                        size_t size)
{
    size_t named = count < NAMED_MAX ? count : NAMED_MAX, length = 0;

    snprintf(text, size, "nobody");
    for (size_t i = 0; i < named && length < size; i++)
        length +=
            (size_t)name_guest(guests[i], i ? ", " : "", text + length, size - length);
    if (named < count && length < size)
        snprintf(text + length, size - length, " and %zu more", count - named);
}

static const char *what_follows(const turn_t *turn, const group_t *group,
                                hpcb_guard_level_t was, hpcb_guard_level_t level)
{
    static const char *const what[] = {
        [HPCB_GUARD_FREE] = "run freely",
        [HPCB_GUARD_SLICES] = "run freely, and its tasks have slices of 100 ms",
        [HPCB_GUARD_HALF] = "run in half of the time",
        [HPCB_GUARD_QUARTER] = "run in a quarter of the time",
        [HPCB_GUARD_STOP] = "are stopped",
        [HPCB_GUARD_REQUEUE] = "are to be requeued",
    };

    if (level == HPCB_GUARD_HALF && was == HPCB_GUARD_FREE && group == &turn->near &&
        turn->policy.slices)
        return "run in half of the time, and its tasks have slices of 100 ms";
    return what[level];
}

/* ", typically at least 1.30 %", if the interval alone would not have led to the step.
 */
static void say_typical(const turn_t *turn, char *text, size_t size)
{
    const hpcb_progress_verdict_t *verdict = &turn->verdict;

    text[0] = '\0';
    if (verdict->found.low <= turn->limit && verdict->least > turn->limit)
        snprintf(text, size, ", typically at least %.2f %%", 100 * verdict->least);
}

static void say_step(const hpcbd_guarded_t *guarded, const turn_t *turn,
                     const group_t *group, const char *what)
{
    const hpcb_harm_estimate_t *found = &turn->verdict.found;
    char named[NAMED_MAX * 48], typical[48];

    name_guests(group->guests, group->count, named, sizeof(named));
    say_typical(turn, typical, sizeof(typical));
    if (turn->known)
        hpcb_log(HPCB_LOG_INFO,
                 "job %u: guests cost it %.2f %% (%.2f to %.2f %% by %s%s, "
                 "GuestMaxSlowdown=%g%%): %s %s (%s)",
                 guarded->job_id, 100 * found->cost, 100 * found->low,
                 100 * found->high, hpcb_progress_name(turn->verdict.source), typical,
                 100 * turn->limit, group->name, what, named);
    else
        hpcb_log(HPCB_LOG_INFO, "job %u: guests cannot be seen to harm it: %s %s (%s)",
                 guarded->job_id, group->name, what, named);
}

static void say_who_goes(const hpcbd_guarded_t *guarded, const char *what,
                         const group_t *those)
{
    char named[NAMED_MAX * 48];

    name_guests(those->guests, those->count, named, sizeof(named));
    hpcb_log(HPCB_LOG_INFO, "job %u: %s: %s", guarded->job_id, what, named);
}

/* ---- what is done ---- */

static int any(pid_t pid, void *arg)
{
    (void)pid;
    (void)arg;
    return 1;
}

/* An allocation that waits for its user, for example. */
static bool is_idle(const turn_t *turn, const hpcbd_job_t *guest)
{
    return !guest->dir[0] ||
           (turn->node && hpcb_steps_busy(turn->node, guest->dir, any, NULL) != 1);
}

/* Return false if it shares all cores only because its own are not known. */
static bool has_place(const turn_t *turn, const hpcbd_job_t *guest)
{
    hpcb_cpus_t cpus;

    return turn->node && hpcbd_cpus_of(turn->node, turn->state_dir, guest, &cpus) !=
                             HPCBD_CPUS_UNKNOWN;
}

/* Of the group those that evidence is about and that run something. */
static void find_guilty(const turn_t *turn, const group_t *group,
                        const hpcb_guard_t *guard, group_t *guilty)
{
    guilty->count = 0;
    for (size_t i = 0; i < group->count; i++) {
        const hpcbd_job_t *guest = group->guests[i];

        if (hpcb_guard_goes(guard, guest->state.job_id) &&
            guest->guest_since_ns <= turn->from_ns && !is_idle(turn, guest))
            guilty->guests[guilty->count++] = guest;
    }
}

/* All of them stop; of these, those that have a place are requeued. */
static void expel(hpcbd_guarded_t *guarded, const turn_t *turn, group_t *guilty)
{
    size_t go = 0;
    unsigned new = 0;

    for (size_t i = 0; i < guilty->count; i++) {
        const hpcbd_job_t *guest = guilty->guests[i];
        bool added = hpcbd_leavers_add(&guarded->leavers, guest);

        if (!has_place(turn, guest))
            continue;
        hpcbd_restrain_requeue(guest);
        guilty->guests[go++] = guest;
        new += added;
    }
    guilty->count = go;
    hpcbd_tally_requeued(guarded->job_id, new);
    hpcbd_company_remember(turn->state_dir, turn->job, guilty->guests, go);
    say_who_goes(guarded, "Slurm is asked to requeue", guilty);
}

static void send_away(hpcbd_guarded_t *guarded, const turn_t *turn,
                      const group_t *group, hpcb_guard_t *guard)
{
    static group_t guilty;

    find_guilty(turn, group, guard, &guilty);
    if (guilty.count > HPCB_GUARD_GO_MAX) {
        hpcb_guard_halve(guard, turn->now_ns);
        say_who_goes(guarded, "which of its guests it is, is tried with half of these",
                     &guilty);
        return;
    }
    hpcb_guards_requeue(&turn->policy, &guarded->guards, guard, guilty.count > 0,
                        turn->now_ns);
    guarded->there.left |= guilty.count > 0;
    if (guilty.count)
        expel(guarded, turn, &guilty);
}

/* True: guests of the group are restricted further than they were. */
static bool follow(hpcbd_guarded_t *guarded, turn_t *turn, const group_t *group,
                   hpcb_guard_t *guard, hpcb_guard_level_t was)
{
    hpcb_guard_level_t level = guard->level;
    hpcb_error_t err;

    if (level != was)
        say_step(guarded, turn, group, what_follows(turn, group, was, level));
    if (level > was)
        hpcbd_tally_step(guarded->job_id);
    if (!hpcb_guard_is_due(guard))
        return level > was && level > HPCB_GUARD_SLICES;
    if (hpcb_node_open("/", &turn->node, &err) < 0)
        turn->node = NULL;
    send_away(guarded, turn, group, guard);
    hpcb_node_close(turn->node);
    return true;
}

static void forget(hpcbd_guarded_t *guarded)
{
    hpcb_progress_clear(&guarded->since);
    guarded->heard = 0;
    guarded->ran = (hpcb_guards_who_t){.near = false};
}

void hpcbd_guarded_anew(hpcbd_guarded_t *guarded)
{
    hpcb_guards_anew(&guarded->guards, guarded->there, now_ns());
    forget(guarded);
}

/* Evidence from times in which a group was empty or had other guests does not apply to
 * its present members.  Held guests still count as present: windows and crumbs hold
 * some for moments, and no evidence would be left.  Return true if the group has
 * changed. */
static bool note_group(const group_t *group, bool *there, bool *ran, bool *same)
{
    bool before = *there;

    *there = group->count > 0 || (before && group->stays);
    *same = before && (group->same || group->stays);
    *ran |= group->wanted;
    return *there != before || (*there && !*same);
}

/* Comparisons are about the guests on its cores as long as these run. */
static bool is_about_near(const hpcbd_guarded_t *guarded, const turn_t *turn)
{
    return turn->near.wanted && guarded->guards.near.level < HPCB_GUARD_STOP;
}

static void notice(hpcbd_guarded_t *guarded, const turn_t *turn)
{
    hpcb_guards_who_t *there = &guarded->there, ran = {.near = false}, same;
    bool near = note_group(&turn->near, &there->near, &ran.near, &same.near);
    bool far = note_group(&turn->far, &there->far, &ran.far, &same.far);
    bool left = note_group(&turn->left, &there->left, &ran.left, &same.left);

    if (far && !near && !left && is_about_near(guarded, turn)) {
        if (!same.far) {
            guarded->guards.far = (hpcb_guard_t){0};
            guarded->ran.far = false;
        }
    } else if (near || far || left) {
        hpcb_guards_anew(&guarded->guards, same, turn->now_ns);
        forget(guarded);
    }
    guarded->ran.near |= ran.near;
    guarded->ran.far |= ran.far;
    guarded->ran.left |= ran.left;
    guarded->stepped_ns = turn->now_ns;
}

void hpcbd_guarded_rest(hpcbd_guarded_t *guarded)
{
    uint64_t time_ns = now_ns();
    bool near = hpcbd_regulars_stay(&guarded->near, NULL, 0, false, time_ns);
    bool far = hpcbd_regulars_stay(&guarded->far, NULL, 0, false, time_ns);

    guarded->there.near &= near;
    guarded->there.far &= far;
    guarded->there.left = false;
}

/* Note whether there was a comparison since the last step. */
static void hear(hpcbd_guarded_t *guarded, uint64_t time_ns)
{
    size_t count = 0;

    for (int i = 0; i < HPCB_PROGRESS_SOURCES; i++)
        count += guarded->since.harm[i].count;
    if (count != guarded->heard)
        hpcb_guards_hear(&guarded->guards, time_ns);
    guarded->heard = count;
}

static bool follow_all(hpcbd_guarded_t *guarded, turn_t *turn, const hpcb_guards_t *was)
{
    hpcb_guards_t *guards = &guarded->guards;
    bool further = false;

    further |= follow(guarded, turn, &turn->left, &guards->left, was->left.level);
    further |= follow(guarded, turn, &turn->near, &guards->near, was->near.level);
    further |= follow(guarded, turn, &turn->far, &guards->far, was->far.level);
    if (guards->left.level == HPCB_GUARD_FREE)
        guarded->leavers.count = 0;
    return further;
}

static hpcb_guard_conf_t policy_for(double limit)
{
    return (hpcb_guard_conf_t){
        .max_slowdown = limit,
        .look_ns = LOOK_NS,
        .return_ns = RETURN_NS,
        .longest_ns = LONGEST_NS,
        .slices = hpcbd_slices_possible(),
    };
}

bool hpcbd_guarded_step(hpcbd_guarded_t *guarded, hpcbd_near_t *near,
                        const char *state_dir, double limit)
{
    static turn_t turn;
    hpcb_guards_t *guards = &guarded->guards, was;
    hpcb_harm_estimate_t evidence = {0};
    bool further;

    turn.state_dir = state_dir;
    turn.job = job_of(guarded);
    turn.limit = limit;
    turn.policy = policy_for(limit);
    turn.now_ns = now_ns();
    find_groups(guarded, &turn, near);
    notice(guarded, &turn);
    hear(guarded, turn.now_ns);
    turn.known = hpcb_progress_judge(&guarded->since, &turn.verdict);
    if (turn.known) {
        turn.policy.most = hpcb_progress_most(&turn.verdict, limit);
        evidence = hpcb_progress_evidence(&turn.verdict);
        say_doubt(guarded, &turn.verdict);
        say_cap(guarded, &turn);
    }
    was = *guards;
    turn.from_ns = hpcb_guards_from(&was);
    hpcb_guards_step(&turn.policy, guards, guarded->ran, turn.known ? &evidence : NULL,
                     turn.now_ns);
    further = follow_all(guarded, &turn, &was);
    if (hpcb_guards_from(guards) != turn.from_ns)
        forget(guarded);
    return further;
}
