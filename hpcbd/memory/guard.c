/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs are sampled every few seconds, closer together as memory goes faster.  In
 * between only the node's available memory is looked at, which costs some microseconds,
 * and the kernel wakes us when tasks wait for memory (PSI).
 *
 * Memory is locked, and the OOM killer passes us over: we are needed when there is
 * none.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbd/memory/end.h"
#include "hpcbd/memory/guard.h"
#include "hpcbd/node/registry.h"
#include "hpcbd/records/wire_live.h"
#include "policy/lend.h"
#include "policy/memguard.h"
#include "sensor/memory.h"

#define TICK_MS     50   /* looks at available memory while guests run */
#define TERM_MS     2000 /* after a SIGTERM */
#define GONE_MS     5000 /* a guest that still has memory then is none that ends */
#define PSI_TRIGGER "some 20000 1000000"
#define PSI_REST_MS 200 /* between two wake-ups by the kernel */
#define OOM_NEVER   "-1000"

typedef struct {
    uint32_t job_id;
    uint64_t begin_us;
    hpcb_memrate_t rate;
    hpcb_memory_t memory;
    uint64_t peak;
    int64_t term_ms, kill_ms; /* 0: not yet */
    bool known;               /* memory is what the job has now */
    bool seen;
} track_t;

typedef struct {
    const hpcb_conf_t *conf;
    hpcb_node_t *node;
    hpcbd_registry_t registry;
    track_t *tracks[HPCBD_JOBS_MAX];
    size_t n_tracks;
    hpcb_memory_node_t memory;
    uint64_t stalled_us;
    int64_t sampled_ms;
    hpcb_memnode_t seen;
    hpcb_memguest_t guests[HPCBD_JOBS_MAX];
    hpcbd_job_t *guest_jobs[HPCBD_JOBS_MAX];
    track_t *guest_tracks[HPCBD_JOBS_MAX];
    size_t n_guests;
    int psi; /* -1: the kernel has none */
    bool complained;
} guard_t;

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

uint64_t hpcbd_memory_reserve(const hpcb_conf_t *conf, uint64_t memory)
{
    const hpcb_lend_reserve_t reserve = {.percent = conf->guest_memory_reserve.percent,
                                         .bytes = conf->guest_memory_reserve.bytes};

    return hpcb_lend_reserve(&reserve, memory);
}

static track_t *track_of(guard_t *guard, const hpcbd_job_t *job)
{
    track_t *track = NULL;

    for (size_t i = 0; i < guard->n_tracks && !track; i++)
        if (guard->tracks[i]->job_id == job->state.job_id)
            track = guard->tracks[i];
    if (!track && guard->n_tracks < HPCBD_JOBS_MAX) {
        track = calloc(1, sizeof(*track));
        if (track)
            guard->tracks[guard->n_tracks++] = track;
    }
    if (track && track->begin_us != job->state.begin_us)
        *track =
            (track_t){.job_id = job->state.job_id, .begin_us = job->state.begin_us};
    return track;
}

static void forget_unseen(guard_t *guard)
{
    for (size_t i = guard->n_tracks; i-- > 0;) {
        if (guard->tracks[i]->seen)
            continue;
        free(guard->tracks[i]);
        guard->tracks[i] = guard->tracks[--guard->n_tracks];
    }
}

static void sample_job(guard_t *guard, const hpcbd_job_t *job, track_t *track)
{
    bool huge = guard->memory.huge_pages > 0;

    track->seen = true;
    /* Not before its first step has begun and its place is recorded. */
    track->known = job->dir[0] && hpcb_memory_job(guard->node, job->dir, huge,
                                                  &track->memory, NULL) == 0;
    if (!track->known)
        track->memory = (hpcb_memory_t){0};
    hpcb_memrate_add(&track->rate, track->memory.used, now_ms());
    if (track->memory.used > track->peak)
        track->peak = track->memory.used;
    if (track->memory.peak > track->peak)
        track->peak = track->memory.peak;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static void add_guest(guard_t *guard, hpcbd_job_t *job, track_t *track)
{
    bool ending = track->kill_ms && now_ms() - track->kill_ms < GONE_MS;

    guard->guests[guard->n_guests] = (hpcb_memguest_t){
        .used = track->memory.used,
        .reclaimable = 0,
        .growth = track->rate.per_sec,
        .begin = (int64_t)job->state.begin_us,
        .ending = ending,
    };
    guard->guest_jobs[guard->n_guests] = job;
    guard->guest_tracks[guard->n_guests++] = track;
}

static void add_job(guard_t *guard, hpcbd_job_t *job)
{
    track_t *track = track_of(guard, job);

    if (!track)
        return;
    sample_job(guard, job, track);
    if (job->state.klass == HPCB_CLASS_GUEST) {
        add_guest(guard, job, track);
        return;
    }
    guard->seen.primaries += track->memory.used;
    guard->seen.growth += track->rate.per_sec;
}

static int sample(guard_t *guard)
{
    int64_t now = now_ms();
    uint64_t elapsed_us = (uint64_t)(now - guard->sampled_ms) * 1000;
    hpcb_error_t err;

    hpcbd_registry_refresh(&guard->registry, guard->conf->state_dir, UINT_MAX);
    for (size_t i = 0; i < guard->n_tracks; i++)
        guard->tracks[i]->seen = false;
    guard->seen = (hpcb_memnode_t){0};
    guard->n_guests = 0;
    for (size_t i = 0; i < guard->registry.count; i++)
        add_job(guard, guard->registry.jobs[i]);
    forget_unseen(guard);
    if (hpcb_memory_node(guard->node, &guard->memory, &err) < 0) {
        hpcb_log_once(&guard->complained, HPCB_LOG_ERROR, "%s", err.text);
        return -1;
    }
    guard->seen.real = guard->memory.total;
    guard->seen.available = guard->memory.available;
    guard->seen.reserve = hpcbd_memory_reserve(guard->conf, guard->memory.total);
    guard->seen.stalled =
        hpcb_memory_stalled(guard->node, elapsed_us, &guard->stalled_us);
    guard->sampled_ms = now;
    return 0;
}

static void end_guest(guard_t *guard, size_t i, bool at_once)
{
    const hpcbd_job_t *job = guard->guest_jobs[i];
    track_t *track = guard->guest_tracks[i];
    bool first = !track->term_ms;
    hpcbd_ending_t ending = {
        .node = guard->node,
        .state_dir = guard->conf->state_dir,
        .job_id = job->state.job_id,
        .uid = job->state.uid,
        .steps = job->dir,
        .used = track->memory.used,
        .at_once = at_once || (!first && now_ms() - track->term_ms >= TERM_MS),
    };
    hpcb_error_t err;

    if (!first && !ending.at_once)
        return;
    if (first)
        hpcb_log(HPCB_LOG_INFO, "job %u: " HPCBD_MEMORY_TEXT " (%s; it held %lu MiB)",
                 job->state.job_id, ending.at_once ? "SIGKILL" : "SIGTERM",
                 (unsigned long)(ending.used >> 20));
    if (hpcbd_memory_end(&ending, first, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s; it is not requeued", job->state.job_id,
                 err.text);
    track->term_ms = track->term_ms ? track->term_ms : now_ms();
    if (ending.at_once)
        track->kill_ms = now_ms();
}

/* A guest that was told to end and has not is killed, whatever there is by now: Slurm
 * has been asked to requeue it. */
static void act(guard_t *guard, const hpcb_memdecision_t *decision)
{
    for (size_t i = 0; i < guard->n_guests; i++) {
        const track_t *track = guard->guest_tracks[i];

        if (guard->guests[i].end)
            end_guest(guard, i, decision->at_once);
        else if (track->term_ms && track->memory.used > 0)
            end_guest(guard, i, track->kill_ms != 0);
    }
}

/* With GuestMemory=allocated what a guest has is its own. */
static void protect(guard_t *guard, hpcb_memdecision_t *decision)
{
    hpcb_memguard_decide(&guard->seen, guard->guests, guard->n_guests, decision);
    act(guard, decision);
}

/* A job of which nothing is known is left out: all that it was promised counts then. */
static void report(const guard_t *guard)
{
    hpcb_live_job_t jobs[HPCB_LIVE_NODE_JOBS_MAX];
    hpcb_live_node_t node = {.time = (int64_t)time(NULL),
                             .memory = guard->memory.total,
                             .available = guard->memory.available,
                             .protects = guard->conf->guest_memory_unused,
                             .jobs = jobs};
    hpcb_autofree char *text = NULL;
    char path[PATH_MAX];

    hpcb_node_name(node.name, sizeof(node.name));
    for (size_t i = 0; i < guard->registry.count && i < guard->n_tracks; i++) {
        const hpcbd_job_t *job = guard->registry.jobs[i];
        const track_t *track = NULL;

        for (size_t k = 0; k < guard->n_tracks && !track; k++)
            if (guard->tracks[k]->job_id == job->state.job_id)
                track = guard->tracks[k];
        if (!track || !track->known)
            continue;
        jobs[node.n_jobs++] = (hpcb_live_job_t){
            .job_id = job->state.job_id,
            .guest = job->state.klass == HPCB_CLASS_GUEST,
            .used = track->memory.used,
            .growth = track->rate.per_sec,
            .peak = track->peak,
        };
    }
    text = hpcbd_live_print(&node, NULL);
    if (text && snprintf(path, sizeof(path), "%s/" HPCBD_MEMORY_FILE,
                         guard->conf->state_dir) < (int)sizeof(path))
        hpcb_file_swap(path, text, strlen(text), 0600, NULL);
}

/* True if the kernel says that tasks wait for memory. */
static bool nap(const guard_t *guard, int ms)
{
    struct pollfd psi = {.fd = guard->psi, .events = POLLPRI};

    return poll(&psi, 1, ms) > 0 && (psi.revents & POLLPRI);
}

/* Sleep until the next sample is due, or something happens. */
static void wait_for_next(guard_t *guard, const hpcb_memdecision_t *decision)
{
    int64_t end = now_ms() + decision->next_ms;
    uint64_t floor = guard->memory.available -
                     least(guard->memory.available, decision->headroom / 2);
    int64_t left;

    if (guard->n_guests == 0 || !guard->conf->guest_memory_unused) {
        poll(NULL, 0, (int)decision->next_ms);
        return;
    }
    while ((left = end - now_ms()) > 0) {
        hpcb_memory_node_t memory;

        if (nap(guard, left < TICK_MS ? (int)left : TICK_MS)) {
            poll(NULL, 0, PSI_REST_MS);
            return;
        }
        if (hpcb_memory_node(guard->node, &memory, NULL) < 0 ||
            memory.available < floor)
            return;
    }
}

/* The trigger ends with its descriptor. */
static int watch_psi(const hpcb_node_t *node)
{
    char path[PATH_MAX];
    int fd;

    if (hpcb_node_path(node, "proc/pressure/memory", path, sizeof(path), NULL) < 0)
        return -1;
    fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd >= 0 && write(fd, PSI_TRIGGER, sizeof(PSI_TRIGGER)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

static void be_ready(void)
{
    hpcb_error_t err;

    signal(SIGCHLD, SIG_IGN); /* nobody waits for who tells a user */
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) < 0)
        hpcb_log(HPCB_LOG_INFO, "memory cannot be locked: %s", strerror(errno));
    if (hpcb_task_set(getpid(), "oom_score_adj", OOM_NEVER, &err) < 0)
        hpcb_log(HPCB_LOG_INFO, "%s", err.text);
}

int hpcbd_memory_guard(void *conf)
{
    static guard_t guard;
    hpcb_memdecision_t decision;
    hpcb_error_t err;

    guard.conf = conf;
    if (hpcb_node_open("/", &guard.node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return EXIT_FAILURE;
    }
    be_ready();
    guard.psi = watch_psi(guard.node);
    for (;;) {
        decision = (hpcb_memdecision_t){.next_ms = HPCB_MEMGUARD_SAMPLE_MAX_MS};
        if (sample(&guard) == 0) {
            if (guard.conf->guest_memory_unused)
                protect(&guard, &decision);
            report(&guard);
        }
        wait_for_next(&guard, &decision);
    }
}
