/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cgroup/knob.h"
#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbd/memory/limit.h"

#define MECHANISM "memory-limit"

/* v1 shows "no limit" as the largest page-aligned number below 2^63. */
#define NO_LIMIT (UINT64_C(1) << 62)

/* A change of less than that is none: a write takes page cache back, and waits. */
#define STEP_BYTES (UINT64_C(4) << 20)

/* Amount that one request reclaims, because the guard does not wait for more. */
#define RECLAIM_MAX (UINT64_C(64) << 20)

/* Maximum time of the kernel's reclaim for one write, because primaries do not wait for
 * it. */
#define WRITE_US 20000

/* Of groups below a job: step, user, task. */
#define DEPTH_MAX 4

static const char *knob_of(int version)
{
    return version == 1 ? "memory.limit_in_bytes" : "memory.max";
}

/* Processes that the kernel has killed in this group alone (v1), or in it and below
 * (v2). */
static uint64_t kills_of(int version, const char *dir)
{
    char text[512];
    const char *line;
    uint64_t kills;

    if (hpcb_knob_read(dir, version == 1 ? "memory.oom_control" : "memory.events", text,
                       sizeof(text), NULL) < 0)
        return 0;
    line = strstr(text, "oom_kill ");
    return line && sscanf(line, "oom_kill %" SCNu64, &kills) == 1 ? kills : 0;
}

static uint64_t kills_below(const char *dir, int depth)
{
    hpcb_autoclosedir DIR *handle = depth < DEPTH_MAX ? opendir(dir) : NULL;
    uint64_t kills = kills_of(1, dir);
    struct dirent *entry;
    char path[PATH_MAX];

    while (handle && (entry = readdir(handle)))
        if (entry->d_type == DT_DIR && entry->d_name[0] != '.' &&
            hpcb_knob_path(dir, entry->d_name, path, sizeof(path), NULL) == 0)
            kills += kills_below(path, depth + 1);
    return kills;
}

static uint64_t all_kills(int version, const char *dir)
{
    return version == 1 ? kills_below(dir, 0) : kills_of(version, dir);
}

int hpcbd_limit_look(hpcbd_limit_t *limit, int version, const char *dir,
                     hpcb_error_t *err)
{
    uint64_t now;

    if (hpcb_knob_number(dir, knob_of(version), &now, err) < 0)
        return -1;
    if (!limit->seen)
        limit->kills = all_kills(version, dir);
    limit->seen = true;
    if (limit->set && now == limit->set)
        return 0;
    limit->set = 0;
    limit->own = now >= NO_LIMIT ? UINT64_MAX : now;
    return 0;
}

static void wake(int signo)
{
    (void)signo;
}

/* One write(2), for which the kernel reclaims until a signal comes: then with errno
 * EINTR.  hpcb_knob_write would begin again. */
static int write_once(const char *dir, const char *name, const char *text,
                      hpcb_error_t *err)
{
    const struct sigaction interrupt = {.sa_handler = wake};
    const struct itimerval limit = {.it_interval = {.tv_usec = WRITE_US},
                                    .it_value = {.tv_usec = WRITE_US}};
    const struct itimerval none = {.it_value = {.tv_sec = 0}};
    hpcb_autoclose int fd = -1;
    char path[PATH_MAX];
    ssize_t n;

    if (hpcb_knob_path(dir, name, path, sizeof(path), err) < 0)
        return -1;
    fd = open(path, O_WRONLY | O_TRUNC | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    sigaction(SIGALRM, &interrupt, NULL);
    setitimer(ITIMER_REAL, &limit, NULL);
    n = write(fd, text, strlen(text));
    if (n < 0)
        hpcb_error(err, "%s: %s", path, strerror(errno));
    setitimer(ITIMER_REAL, &none, NULL);
    return n < 0 ? -1 : 0;
}

static int note_limit(hpcbd_limit_t *limit, const char *state_dir, uint32_t job_id,
                      int version, const char *dir, hpcb_error_t *err)
{
    char lent[PATH_MAX], path[PATH_MAX], old[32];

    if (limit->undo)
        return hpcb_undo_renew(limit->undo, err);
    if (hpcb_knob_path(state_dir, HPCB_UNDO_LENT, lent, sizeof(lent), err) < 0 ||
        hpcb_knob_path(dir, knob_of(version), path, sizeof(path), err) < 0 ||
        hpcb_undo_open(lent, job_id, &limit->undo, err) < 0)
        return -1;
    snprintf(old, sizeof(old), "%" PRIu64, limit->own);
    if (limit->own == UINT64_MAX)
        snprintf(old, sizeof(old), "%s", version == 1 ? "-1" : "max");
    hpcb_undo_scope(limit->undo, MECHANISM, 0);
    if (hpcb_undo_note_file(limit->undo, path, old, err) == 0)
        return 0;
    hpcb_undo_close(limit->undo);
    limit->undo = NULL;
    return -1;
}

static bool is_small_change(const hpcbd_limit_t *limit, uint64_t bytes)
{
    return limit->set && bytes < limit->set + STEP_BYTES &&
           limit->set < bytes + STEP_BYTES;
}

int hpcbd_limit_set(hpcbd_limit_t *limit, const char *state_dir, uint32_t job_id,
                    int version, const char *dir, uint64_t bytes, hpcb_error_t *err)
{
    uint64_t page = 65536; /* the largest of a kernel: what is read back is the same */
    char text[32];

    if (bytes >= limit->own) {
        hpcbd_limit_end(limit, state_dir, job_id);
        return 0;
    }
    bytes = bytes / page * page;
    if (is_small_change(limit, bytes))
        return 0;
    if (note_limit(limit, state_dir, job_id, version, dir, err) < 0)
        return -1;
    if (!limit->set)
        limit->kills = all_kills(version, dir);
    snprintf(text, sizeof(text), "%" PRIu64, bytes);
    if (write_once(dir, knob_of(version), text, err) < 0)
        return -1;
    limit->set = bytes;
    return 0;
}

/* On v1 the groups of a step that has ended take their kills with them. */
bool hpcbd_limit_killed(hpcbd_limit_t *limit, int version, const char *dir)
{
    uint64_t kills = all_kills(version, dir);

    if (kills < limit->kills)
        limit->kills = kills;
    return limit->seen && kills > limit->kills;
}

void hpcbd_limit_forget_kills(hpcbd_limit_t *limit, int version, const char *dir)
{
    limit->kills = all_kills(version, dir);
}

uint64_t hpcbd_limit_reclaim(int version, const char *dir, uint64_t bytes)
{
    char text[32];

    if (version != 2)
        return bytes;
    if (bytes > RECLAIM_MAX)
        bytes = RECLAIM_MAX;
    snprintf(text, sizeof(text), "%" PRIu64, bytes);
    write_once(dir, "memory.reclaim", text, NULL);
    return bytes;
}

void hpcbd_limit_end(hpcbd_limit_t *limit, const char *state_dir, uint32_t job_id)
{
    char lent[PATH_MAX];
    hpcb_error_t err;

    if (!limit->undo)
        return;
    hpcb_undo_close(limit->undo);
    limit->undo = NULL;
    limit->set = 0;
    if (hpcb_knob_path(state_dir, HPCB_UNDO_LENT, lent, sizeof(lent), &err) < 0 ||
        hpcb_undo_replay(lent, job_id, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "job %" PRIu32 ": %s", job_id, err.text);
}
