/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The model "memory": a primary touches nearly all memory of a node as fast as it can,
 * while a guest uses a part of what the node lends (bench/memory).  policy/memguard
 * decides at samples, at the times of hpcbd's (hpcbd/memory/guard.c).  The guest
 * ignores SIGTERM.  A primary without free memory waits until there is some; the kernel
 * kills the guest then.
 */
#include "config.h"

#include <inttypes.h>
#include <stdbool.h>

#include "policy/lend.h"
#include "policy/memguard.h"
#include "sim/model.h"
#include "sim/random.h"
#include "sim/scenario.h"

#define MIB       (UINT64_C(1) << 20)
#define STEP_MS   1
#define LONGEST   INT64_C(3600000) /* ms of one run */
#define TICK_MS   50               /* as in hpcbd: reads available memory */
#define TERM_MS   2000             /* from SIGTERM to SIGKILL */
#define AGAIN_MS  25               /* between two samples of a fall */
#define GONE_PART 100 /* a guest with less than this part of it has ended */

typedef struct {
    uint64_t real, reserve, kernel, held; /* bytes */
    uint64_t touch, release;              /* bytes a second */
} setting_t;

typedef struct {
    const setting_t *setting;
    hpcb_memrate_t growth;
    hpcb_memfall_t fall;
    uint64_t primary, guest;
    int64_t start_ms; /* from hpcbd's first sample to the first touch */
    int64_t now_ms, sampled_ms;
    int64_t sample_ms, tick_ms; /* times of the next ones */
    uint64_t floor;             /* available below this: sample at once */
    bool falls;                 /* that has happened, after some time */
    int64_t spares_ms;          /* since when the guest is spared; -1: it is not */
    int64_t term_ms, kill_ms, gone_ms; /* -1: not yet */
} run_t;

static uint64_t available(const run_t *run)
{
    uint64_t used = run->setting->kernel + run->primary + run->guest;

    return run->setting->real > used ? run->setting->real - used : 0;
}

static void act(run_t *run, bool end, bool at_once)
{
    bool termed = run->term_ms >= 0;

    if (!end && !termed)
        return;
    if (!termed)
        run->term_ms = run->now_ms;
    if (run->kill_ms < 0 && (at_once || run->now_ms - run->term_ms >= TERM_MS))
        run->kill_ms = run->now_ms;
}

static void sample(run_t *run)
{
    const setting_t *setting = run->setting;
    hpcb_memguest_t guest = {
        .used = run->guest, .ending = run->kill_ms >= 0, .own = HPCB_MEMGUARD_NO_LIMIT};
    hpcb_memnode_t node = {.real = setting->real,
                           .reserve = setting->reserve,
                           .available = available(run),
                           .primaries = run->primary,
                           .guests_first = true};
    hpcb_memdecision_t decision;

    hpcb_memrate_add(&run->growth, run->primary, run->now_ms + 1);
    hpcb_memfall_look(&run->fall, node.available, run->now_ms + 1);
    node.growth = run->growth.per_sec;
    node.falls = run->fall.per_sec;
    if (run->spares_ms >= 0)
        node.spared_ms = (unsigned)(run->now_ms - run->spares_ms);
    hpcb_memguard_decide(&node, &guest, run->guest > 0, &decision);
    act(run, guest.end, decision.at_once);
    if (!decision.spares)
        run->spares_ms = -1;
    else if (run->spares_ms < 0)
        run->spares_ms = run->now_ms;
    run->floor = node.available > decision.headroom / 2
                     ? node.available - decision.headroom / 2
                     : 0;
    run->sampled_ms = run->now_ms;
    run->sample_ms = run->now_ms + (run->falls ? AGAIN_MS : decision.next_ms);
    run->tick_ms = run->now_ms + TICK_MS;
}

static bool is_due(run_t *run)
{
    run->falls = false;
    if (run->now_ms >= run->sample_ms)
        return true;
    if (run->now_ms < run->tick_ms)
        return false;
    run->tick_ms += TICK_MS;
    hpcb_memfall_look(&run->fall, available(run), run->now_ms + 1);
    if (run->guest == 0 || available(run) >= run->floor)
        return false;
    run->falls = run->now_ms - run->sampled_ms > HPCB_MEMGUARD_SAMPLE_MIN_MS;
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void touch(run_t *run, uint64_t wanted)
{
    const setting_t *setting = run->setting;

    if (run->kill_ms >= 0)
        run->guest -= least(run->guest, setting->release / 1000 * STEP_MS);
    if (run->gone_ms < 0 && run->guest < setting->held / GONE_PART)
        run->gone_ms = run->now_ms;
    if (available(run) == 0 && run->kill_ms < 0)
        run->kill_ms = run->now_ms;
    if (run->now_ms >= run->start_ms)
        run->primary += least(least(setting->touch / 1000 * STEP_MS, available(run)),
                              wanted - run->primary);
}

/* ms that the primary touched memory for, or -1: it has not come to its end. */
static int64_t run_primary(run_t *run)
{
    uint64_t wanted = run->setting->real - run->setting->kernel;

    while (run->primary < wanted && run->now_ms < LONGEST) {
        if (is_due(run))
            sample(run);
        touch(run, wanted);
        run->now_ms += STEP_MS;
    }
    return run->primary < wanted ? -1 : run->now_ms - run->start_ms;
}

static int read_setting(json_object *scenario, setting_t *setting, hpcb_error_t *err)
{
    static const char *const known[] = {"model",      "real_mib",    "kernel_mib",
                                        "guest_part", "touch_mib_s", "release_mib_s",
                                        NULL};
    const hpcb_lend_reserve_t reserve = {.percent = 5};
    int64_t real = 0, kernel = 0, touched = 0, release = 0;
    double part = 0;

    if (hpcb_sim_known(scenario, "scenario", known, err) < 0 ||
        hpcb_sim_int(scenario, "scenario", "real_mib", 600, 1 << 24, &real, err) < 0 ||
        hpcb_sim_int(scenario, "scenario", "kernel_mib", 0, real - 1, &kernel, err) <
            0 ||
        hpcb_sim_real(scenario, "scenario", "guest_part", 0, 1, &part, err) < 0 ||
        hpcb_sim_int(scenario, "scenario", "touch_mib_s", 1, 1 << 24, &touched, err) <
            0 ||
        hpcb_sim_int(scenario, "scenario", "release_mib_s", 1, 1 << 24, &release, err) <
            0)
        return -1;
    setting->real = (uint64_t)real * MIB;
    setting->kernel = (uint64_t)kernel * MIB;
    setting->touch = (uint64_t)touched * MIB;
    setting->release = (uint64_t)release * MIB;
    setting->reserve = hpcb_lend_reserve(&reserve, setting->real);
    setting->held = (uint64_t)((double)(setting->real - setting->reserve) * part);
    if (setting->held + setting->kernel > setting->real)
        return hpcb_error(err, "scenario: the guest and the kernel use more than the "
                               "node has");
    return 0;
}

/* From the first touch; 0: it has not come to that. */
static double since_start(const run_t *run, int64_t ms)
{
    return ms > run->start_ms ? (double)(ms - run->start_ms) / 1e3 : 0;
}

static void put_row(json_object *rows, const char *regime, const run_t *run, int64_t ms,
                    int64_t alone_ms)
{
    json_object *row = hpcb_sim_row(rows);

    hpcb_sim_put_text(row, "regime", regime);
    hpcb_sim_put_real(row, "seconds", (double)ms / 1e3);
    hpcb_sim_put_real(row, "slowdown", (double)ms / (double)alone_ms);
    hpcb_sim_put_real(row, "killed_after_seconds", since_start(run, run->kill_ms));
    hpcb_sim_put_real(row, "free_after_seconds", since_start(run, run->gone_ms));
}

int hpcb_sim_memory_model(json_object *scenario, uint64_t seed,
                          hpcb_sim_progress_t *progress, json_object *rows,
                          hpcb_error_t *err)
{
    static const char *const names[] = {"alone", "guest"};
    hpcb_sim_stream_t chance = hpcb_sim_stream(seed, 1);
    int64_t start_ms = (int64_t)hpcb_sim_below(&chance, HPCB_MEMGUARD_SAMPLE_MAX_MS);
    int64_t alone_ms = 0;
    setting_t setting = {0};

    hpcb_sim_progress_begin(progress, 2);
    if (read_setting(scenario, &setting, err) < 0)
        return -1;
    for (unsigned i = 0; i < 2; i++) {
        run_t run = {.setting = &setting,
                     .guest = i > 0 ? setting.held : 0,
                     .start_ms = start_ms,
                     .spares_ms = -1,
                     .term_ms = -1,
                     .kill_ms = -1,
                     .gone_ms = -1};
        int64_t ms = run_primary(&run);

        if (ms < 0)
            return hpcb_error(err, "%s: the primary does not end within an hour",
                              names[i]);
        alone_ms = i == 0 ? ms : alone_ms;
        put_row(rows, names[i], &run, ms, alone_ms);
        hpcb_sim_progress_step(progress);
    }
    return 0;
}
