/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Jobs are sampled every few seconds, closer together as memory goes faster.  In
 * between only the node's available memory is read, at an interval in which it cannot
 * change much: each read takes CPU time from a job.  The kernel wakes us when tasks
 * wait for memory (PSI).
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
#include <sys/inotify.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/exiting.h"
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbd/memory/end.h"
#include "hpcbd/memory/guard.h"
#include "hpcbd/memory/killed.h"
#include "hpcbd/memory/limit.h"
#include "hpcbd/node/busy.h"
#include "hpcbd/node/registry.h"
#include "hpcbd/records/wire_live.h"
#include "hpcbd/requeue.h"
#include "policy/lend.h"
#include "policy/memguard.h"
#include "sensor/memory.h"

#define REST_MS     4000  /* between samples without jobs: a new one is notified */
#define TERM_MS     2000  /* after a SIGTERM */
#define GONE_MS     5000  /* a guest that still has memory then is none that ends */
#define STUCK_MS    10000 /* a guest whose page cache cannot be taken back */
#define PSI_TRIGGER "some 20000 1000000"
#define ROUND_MS    100  /* of reclaim in one sample, and of limits */
#define STALL_MS    200  /* from a stall to the sample that weighs it */
#define NEW_JOB_MS  50   /* until the place of a new job is known */
#define AGAIN_MS    25   /* from a sample that comes after a fall to the next one */
#define SHORT_MS    1000 /* a node that was short counts as the cause for so long */
#define OOM_NEVER   "-1000"
#define OOM_ALWAYS  1000

typedef struct {
    uint32_t job_id;
    uint64_t begin_us;
    uid_t uid;
    char *output; /* while has_less: hpcbd_killed_output; else NULL */
    uint64_t had; /* bytes, then */
    hpcb_memrate_t rate;
    hpcb_memory_t memory;
    uint64_t peak;
    hpcb_busy_t busy;
    hpcbd_limit_t limit; /* of a guest with a group */
    bool limited;        /* limit says what is in force */
    uint64_t asked;      /* bytes that reclaim was to take back, by the last sample */
    uint64_t used_then;  /* at the time of the request */
    int64_t stuck_ms;    /* it did not: 0, or when that was seen */
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
    hpcb_memfall_t fall;
    int64_t short_ms;  /* last time at which half of the reserve was used */
    int64_t spares_ms; /* since when guests have been spared; 0: they are not */
    uint64_t stalled_us;
    int64_t sampled_ms;
    hpcb_memnode_t seen;
    hpcb_memguest_t guests[HPCBD_JOBS_MAX];
    hpcbd_job_t *guest_jobs[HPCBD_JOBS_MAX];
    track_t *guest_tracks[HPCBD_JOBS_MAX];
    size_t n_guests;
    size_t turn; /* guest whose limit is set first */
    unsigned cpus;
    int psi;  /* -1: the kernel has none */
    int jobs; /* reports new records in StateDir/jobs; -1: not available */
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

/* The job has gone.  If it had less than Slurm lets it have, the kernel may have killed
 * it for that. */
static void leave(const guard_t *guard, track_t *track)
{
    hpcbd_killed_t killed = {
        .job_id = track->job_id, .uid = track->uid, .used = track->had};
    hpcb_error_t err;

    if (track->output) {
        snprintf(killed.output, sizeof(killed.output), "%s", track->output);
        if (!track->term_ms &&
            hpcbd_killed_note(guard->conf->state_dir, &killed, &err) < 0)
            hpcb_log(HPCB_LOG_ERROR, "job %u: %s", track->job_id, err.text);
    }
    free(track->output);
    track->output = NULL;
    hpcbd_limit_end(&track->limit, guard->conf->state_dir, track->job_id);
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
    if (track && track->begin_us != job->state.begin_us) {
        if (track->begin_us)
            leave(guard, track);
        *track = (track_t){.job_id = job->state.job_id,
                           .begin_us = job->state.begin_us,
                           .uid = job->state.uid};
    }
    return track;
}

static void forget_unseen(guard_t *guard)
{
    for (size_t i = guard->n_tracks; i-- > 0;) {
        if (guard->tracks[i]->seen)
            continue;
        leave(guard, guard->tracks[i]);
        free(guard->tracks[i]);
        guard->tracks[i] = guard->tracks[--guard->n_tracks];
    }
}

static void sample_job(guard_t *guard, const hpcbd_job_t *job, track_t *track)
{
    bool huge = guard->memory.huge_pages > 0;

    track->seen = true;
    /* Most nodes of a job that runs no step there never have a place of it. */
    track->known =
        !job->dir[0] || hpcb_memory_job(guard->node, job->dir, track->memory.dir, huge,
                                        &track->memory, NULL) == 0;
    if (!track->known || !job->dir[0])
        track->memory = (hpcb_memory_t){0};
    hpcb_memrate_add(&track->rate, track->memory.used, now_ms());
    if (track->memory.used > track->peak)
        track->peak = track->memory.used;
    if (track->memory.peak > track->peak)
        track->peak = track->memory.peak;
    hpcbd_busy_sample(&track->busy, guard->node, job, (uint64_t)now_ms() * 1000);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static int version_of(const guard_t *guard)
{
    return hpcb_node_version(guard->node, HPCB_CTL_MEMORY);
}

/* Return what reclaim can free.  A guest that keeps its page cache busy or dirty has
 * none: reclaim was requested, and less than half of it was freed. */
static uint64_t reclaimable(track_t *track)
{
    bool stuck =
        track->asked && track->memory.used + track->asked / 2 > track->used_then;

    track->asked = 0;
    if (stuck)
        track->stuck_ms = now_ms();
    if (track->stuck_ms && now_ms() - track->stuck_ms < STUCK_MS)
        return 0;
    return track->memory.reclaimable;
}

static void add_guest(guard_t *guard, hpcbd_job_t *job, track_t *track)
{
    bool ending = track->kill_ms || track->memory.exiting;

    if (track->kill_ms && now_ms() - track->kill_ms >= GONE_MS)
        return; /* its remaining memory belongs to no process, and is not freed soon */
    track->limited =
        track->memory.dir[0] && hpcbd_limit_look(&track->limit, version_of(guard),
                                                 track->memory.dir, NULL) == 0;
    guard->guests[guard->n_guests] = (hpcb_memguest_t){
        .used = track->memory.used,
        .reclaimable = reclaimable(track),
        .growth = track->rate.per_sec,
        .begin = (int64_t)job->state.begin_us,
        .ending = ending,
        .own = track->limited ? track->limit.own : HPCB_MEMGUARD_NO_LIMIT,
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

static void look(guard_t *guard, uint64_t available)
{
    hpcb_memfall_look(&guard->fall, available, now_ms());
    if (available < hpcbd_memory_reserve(guard->conf, guard->memory.total) / 2)
        guard->short_ms = now_ms();
}

static bool is_zero(const guard_t *guard, const char *sysctl)
{
    char text[16];

    return hpcb_node_read(guard->node, sysctl, text, sizeof(text), NULL) >= 0 &&
           strcmp(text, "0\n") == 0;
}

/* Return whether the kernel's OOM killer takes guests before anything of a primary, and
 * has been seen to do so. */
static bool guests_are_first(const guard_t *guard)
{
    for (size_t i = 0; i < guard->n_guests; i++)
        if (!guard->guest_tracks[i]->limited)
            return false;
    return guard->conf->guest_oom_score_adj == OOM_ALWAYS &&
           is_zero(guard, "proc/sys/vm/panic_on_oom") &&
           is_zero(guard, "proc/sys/vm/oom_kill_allocating_task");
}

static void see_node(guard_t *guard, int64_t now)
{
    hpcb_memnode_t *seen = &guard->seen;

    seen->real = guard->memory.total;
    seen->available = guard->memory.available;
    seen->falls = guard->fall.per_sec;
    seen->reserve = hpcbd_memory_reserve(guard->conf, guard->memory.total);
    seen->stalled = hpcb_memory_stalled(
        guard->node, (uint64_t)(now - guard->sampled_ms) * 1000, &guard->stalled_us);
    seen->guests_first = guard->n_guests > 0 && guests_are_first(guard);
    seen->spared_ms = guard->spares_ms ? (unsigned)(now - guard->spares_ms) : 0;
}

static int sample(guard_t *guard)
{
    int64_t now = now_ms();
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
    look(guard, guard->memory.available);
    see_node(guard, now);
    guard->sampled_ms = now;
    return 0;
}

/* The job's group in v1's cpu controller, "" if it can have none. */
static void find_group(const guard_t *guard, uint32_t job_id, char *group, size_t size)
{
    const char *mount = hpcb_node_mount(guard->node, HPCB_CTL_CPU);
    char name[HPCB_NAME_MAX + 32];
    int n = -1;

    if (hpcb_node_version(guard->node, HPCB_CTL_CPU) == 1 &&
        hpcb_node_job_group(guard->conf->guest_cgroup, job_id, name, sizeof(name)) == 0)
        n = snprintf(group, size, "%s/%s", mount, name);
    if (n < 0 || (size_t)n >= size)
        group[0] = '\0';
}

static void end_guest(guard_t *guard, size_t i, bool at_once)
{
    char group[PATH_MAX];
    const hpcbd_job_t *job = guard->guest_jobs[i];
    track_t *track = guard->guest_tracks[i];
    bool first = !track->term_ms;
    hpcbd_ending_t ending = {
        .node = guard->node,
        .state_dir = guard->conf->state_dir,
        .job_id = job->state.job_id,
        .uid = job->state.uid,
        .steps = job->dir,
        .group = group,
        .used = track->memory.used,
        .at_once = at_once || (!first && now_ms() - track->term_ms >= TERM_MS),
    };
    hpcb_error_t err;

    if (!first && !ending.at_once)
        return;
    find_group(guard, job->state.job_id, group, sizeof(group));
    if (first)
        hpcb_log(HPCB_LOG_INFO, "job %u: " HPCBD_MEMORY_TEXT " (%s; it used %lu MiB)",
                 job->state.job_id, ending.at_once ? "SIGKILL" : "SIGTERM",
                 (unsigned long)(ending.used >> 20));
    if (hpcbd_memory_end(&ending, first, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "job %u: %s; it is not requeued", job->state.job_id,
                 err.text);
    track->term_ms = track->term_ms ? track->term_ms : now_ms();
    if (ending.at_once && !track->kill_ms)
        track->kill_ms = now_ms();
}

/* A guest that was told to end and has not is killed in any case, because its requeue
 * was requested from Slurm. */
static void act(guard_t *guard, const hpcb_memdecision_t *decision)
{
    for (size_t i = 0; i < guard->n_guests; i++) {
        const track_t *track = guard->guest_tracks[i];

        if (guard->guests[i].end)
            end_guest(guard, i, decision->at_once);
        else if (track->term_ms && track->memory.used > 0 && !decision->spares)
            end_guest(guard, i, track->kill_ms != 0);
    }
}

/* If the kernel kills for want of memory now, it is not the guest's fault: our limit is
 * in force, or the node was full. */
static bool has_less(const guard_t *guard, const track_t *track)
{
    return track->limit.set || now_ms() - guard->short_ms < SHORT_MS;
}

/* True if the kernel has killed a process of the guest for what others took. */
static bool was_killed(guard_t *guard, track_t *track)
{
    if (!track->limited)
        return false;
    if (has_less(guard, track))
        return hpcbd_limit_killed(&track->limit, version_of(guard), track->memory.dir);
    hpcbd_limit_forget_kills(&track->limit, version_of(guard), track->memory.dir);
    return false;
}

/* A killed or exiting process may wait long for a CPU, and so may its memory. */
static void hasten(const guard_t *guard, size_t i)
{
    char group[PATH_MAX];

    find_group(guard, guard->guest_tracks[i]->job_id, group, sizeof(group));
    hpcb_exiting_lift(guard->guest_jobs[i]->dir, group);
}

/* End a guest of which the kernel has killed a process.  If all of its processes exit,
 * none is left to notify: leave() does the rest when they have ended. */
static void see_to_killed(guard_t *guard, bool spares)
{
    for (size_t i = 0; i < guard->n_guests; i++) {
        track_t *track = guard->guest_tracks[i];
        bool killed = was_killed(guard, track);

        if (track->term_ms && !spares)
            continue;
        if (killed && !track->memory.exiting && !track->term_ms && !spares) {
            guard->guests[i].end = true;
            end_guest(guard, i, true);
        } else if (killed || (track->memory.exiting && has_less(guard, track))) {
            hasten(guard, i);
        }
    }
}

/* In parts by what can be had of each; the guests that can give it first. */
static void reclaim(guard_t *guard, uint64_t bytes, int64_t until_ms)
{
    for (size_t i = 0; i < guard->n_guests && bytes > 0 && now_ms() < until_ms; i++) {
        track_t *track = guard->guest_tracks[i];
        uint64_t part = least(bytes, guard->guests[i].reclaimable);

        if (!track->limited || guard->guests[i].ending || guard->guests[i].end)
            continue;
        part = hpcbd_limit_reclaim(version_of(guard), track->memory.dir, part);
        track->asked = part;
        track->used_then = track->memory.used;
        bytes -= part;
    }
}

/* On v1 a lower limit is the only way to ask for page cache; on v2 the kernel would
 * kill if it did not come. */
static uint64_t limit_of(const guard_t *guard, size_t i)
{
    const track_t *track = guard->guest_tracks[i];

    if (version_of(guard) == 2)
        return guard->guests[i].limit;
    return guard->guests[i].limit - least(track->asked, guard->guests[i].limit);
}

/* Its output is known as long as the kernel may kill it without its fault. */
static void note_output(const guard_t *guard, track_t *track, const char *steps)
{
    if (has_less(guard, track) && !track->output) {
        char path[PATH_MAX];

        track->had = track->limit.set ? track->limit.set : track->memory.used;
        hpcbd_killed_output(guard->node, steps, path, sizeof(path));
        track->output = strdup(path);
    } else if (!has_less(guard, track)) {
        free(track->output);
        track->output = NULL;
    }
}

static void limit_guest(guard_t *guard, size_t i)
{
    track_t *track = guard->guest_tracks[i];
    hpcb_error_t err;

    if (!track->limited || guard->guests[i].ending || guard->guests[i].end)
        return;
    if (hpcbd_limit_set(&track->limit, guard->conf->state_dir, track->job_id,
                        version_of(guard), track->memory.dir, limit_of(guard, i),
                        &err) == 0)
        return;
    if (errno != EBUSY && errno != EINTR && !hpcb_knob_gone(errno))
        hpcb_log_once(&guard->complained, HPCB_LOG_ERROR, "job %u: %s", track->job_id,
                      err.text);
}

/* Each may block for 20 ms.  Those that are left come first in the next round; on v1
 * nothing has been asked of them. */
static void limit_guests(guard_t *guard, int64_t until_ms)
{
    size_t n = 0;

    for (; n < guard->n_guests && now_ms() < until_ms; n++)
        limit_guest(guard, guard->turn++ % guard->n_guests);
    for (size_t i = guard->turn; version_of(guard) == 1 && n < guard->n_guests; n++)
        guard->guest_tracks[i++ % guard->n_guests]->asked = 0;
}

/* With GuestMemory=allocated what a guest has is its own.  Ends come first: what
 * follows waits for the kernel to take back page cache. */
static void protect(guard_t *guard, hpcb_memdecision_t *decision)
{
    int64_t until_ms;

    hpcb_memguard_decide(&guard->seen, guard->guests, guard->n_guests, decision);
    guard->spares_ms = !decision->spares  ? 0
                       : guard->spares_ms ? guard->spares_ms
                                          : now_ms();
    act(guard, decision);
    see_to_killed(guard, decision->spares);
    for (size_t i = 0; i < guard->n_guests; i++)
        note_output(guard, guard->guest_tracks[i], guard->guest_jobs[i]->dir);
    if (decision->ended)
        return;
    until_ms = now_ms() + ROUND_MS;
    reclaim(guard, decision->reclaim, until_ms);
    hpcb_memguard_divide(decision->limit, guard->guests, guard->n_guests);
    limit_guests(guard, until_ms + ROUND_MS);
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
    for (size_t i = 0; i < guard->registry.count; i++) {
        const hpcbd_job_t *job = guard->registry.jobs[i];
        const track_t *track = NULL;

        for (size_t k = 0; k < guard->n_tracks && !track; k++)
            if (guard->tracks[k]->job_id == job->state.job_id)
                track = guard->tracks[k];
        if (!track || !track->known)
            continue;
        jobs[node.n_jobs] = (hpcb_live_job_t){
            .job_id = job->state.job_id,
            .guest = job->state.klass == HPCB_CLASS_GUEST,
            .used = track->memory.used,
            .growth = track->rate.per_sec,
            .peak = track->peak,
        };
        jobs[node.n_jobs].cpus_known =
            hpcb_busy_cpus(&track->busy, &jobs[node.n_jobs].cpus);
        node.n_jobs++;
    }
    text = hpcbd_live_print(&node, NULL);
    if (text && snprintf(path, sizeof(path), "%s/" HPCBD_MEMORY_FILE,
                         guard->conf->state_dir) < (int)sizeof(path))
        hpcb_file_swap(path, text, strlen(text), 0600, NULL);
}

/* A job has begun, or its place is known: other files there are none of ours. */
static bool tells_of_job(const char *name)
{
    const char *suffix = name + strspn(name, "0123456789");

    return suffix != name && (!*suffix || strcmp(suffix, ".place") == 0);
}

static bool has_new_job(const guard_t *guard)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool is_new = false;
    ssize_t length;

    while ((length = read(guard->jobs, events, sizeof(events))) > 0)
        for (char *next = events; next < events + length;) {
            const struct inotify_event *event = (void *)next;

            is_new |= event->len && tells_of_job(event->name);
            next += sizeof(*event) + event->len;
        }
    return is_new;
}

typedef enum { QUIET, STALLED, NEW_JOB } news_t;

/* stalled: a stall has been reported already. */
static news_t nap(const guard_t *guard, int64_t ms, bool stalled)
{
    struct pollfd fds[] = {{.fd = stalled ? -1 : guard->psi, .events = POLLPRI},
                           {.fd = guard->jobs, .events = POLLIN}};

    if (poll(fds, 2, (int)ms) <= 0)
        return QUIET;
    if (fds[0].revents & POLLPRI)
        return STALLED;
    return fds[1].revents && has_new_job(guard) ? NEW_JOB : QUIET;
}

/* Guests run, and may hold memory that is allocated to primaries. */
static bool is_lent(const guard_t *guard)
{
    return guard->n_guests > 0 && guard->conf->guest_memory_unused;
}

static int64_t look_ms(const guard_t *guard, const hpcb_memdecision_t *decision)
{
    return hpcb_memguard_look_ms(decision->headroom, guard->cpus);
}

static bool is_going(guard_t *guard, uint64_t floor)
{
    hpcb_memory_node_t memory;

    if (!is_lent(guard))
        return false;
    if (hpcb_memory_node(guard->node, &memory, NULL) < 0)
        return true;
    look(guard, memory.available);
    return memory.available < floor;
}

static int64_t sooner(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Sleep until the next sample is due, which events may advance.  Return true if
 * available memory falls at an unknown rate. */
static bool wait_for_next(guard_t *guard, const hpcb_memdecision_t *decision)
{
    int64_t begun = now_ms(), end = begun + decision->next_ms, left;
    uint64_t floor = guard->memory.available -
                     least(guard->memory.available, decision->headroom / 2);
    int64_t tick = is_lent(guard) ? look_ms(guard, decision) : decision->next_ms;
    bool stalled = false;

    while ((left = end - now_ms()) > 0) {
        news_t news = nap(guard, sooner(left, tick), stalled);

        stalled |= news == STALLED;
        if (news != QUIET)
            end = sooner(end, now_ms() + (news == STALLED ? STALL_MS : NEW_JOB_MS));
        if (is_going(guard, floor))
            return now_ms() - begun > HPCB_MEMGUARD_SAMPLE_MIN_MS;
    }
    return false;
}

/* One report may be lost; slurmctld reads the file every 5 s. */
_Static_assert(2 * REST_MS / 1000 + 5 < HPCB_LIVE_STALE_SECONDS,
               "a node at rest is not stale");

static int watch_jobs(const hpcb_conf_t *conf)
{
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char path[PATH_MAX];

    if (fd >= 0 &&
        snprintf(path, sizeof(path), "%s/jobs", conf->state_dir) < (int)sizeof(path))
        inotify_add_watch(fd, path, IN_MOVED_TO | IN_CLOSE_WRITE | IN_CREATE);
    return fd;
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

    signal(SIGCHLD, SIG_IGN); /* the process that notifies a user is not waited for */
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
    bool falls = false;

    guard.conf = conf;
    if (hpcb_node_open("/", &guard.node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return EXIT_FAILURE;
    }
    guard.registry.node = guard.node;
    guard.registry.guest_cgroup = guard.conf->guest_cgroup;
    be_ready();
    if (hpcb_undo_replay_lent(guard.conf->state_dir, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "memory: %s", err.text);
    /* With those that are offline, which may come up later.  -1 counts as very many. */
    guard.cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
    guard.psi = watch_psi(guard.node);
    guard.jobs = watch_jobs(guard.conf);
    for (;;) {
        decision = (hpcb_memdecision_t){.next_ms = HPCB_MEMGUARD_SAMPLE_MAX_MS};
        if (sample(&guard) == 0) {
            if (guard.conf->guest_memory_unused)
                protect(&guard, &decision);
            report(&guard);
        }
        if (guard.registry.count == 0)
            decision.next_ms = REST_MS;
        /* Over the whole time since the sample before, what has just begun is little.
         */
        if (falls)
            decision.next_ms = AGAIN_MS;
        falls = wait_for_next(&guard, &decision);
    }
}
