/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbctl/job/leftovers.h"

/* slurmd's epilog has five in all (prolog/epilog.in). */
#define SECONDS   2
#define KILL_MS   200
#define STEP_MS   5
#define DEPTH_MAX 32
#define NOBODY    65534 /* no group is needed to remove what is one's own */

typedef struct {
    uid_t uid;
    dev_t device;
    time_t begin;
    struct timespec end; /* later files are not the guest's */
    bool failed;         /* to remove something of the guest's */
} owner_t;

typedef struct {
    const hpcb_job_state_t *guest;
    bool found;
} search_t;

static int is_another(const hpcb_job_state_t *state, void *arg)
{
    search_t *search = arg;

    search->found =
        state->uid == search->guest->uid && state->job_id != search->guest->job_id;
    return search->found;
}

/* Also if it cannot be determined. */
static bool has_another_job(const char *state_dir, const hpcb_job_state_t *guest)
{
    search_t search = {.guest = guest};

    return hpcb_state_each(state_dir, is_another, &search, NULL) < 0 || search.found;
}

static bool is_left_over(const owner_t *owner, uid_t uid, struct timespec changed)
{
    const struct timespec *end = &owner->end;

    return uid == owner->uid && changed.tv_sec >= owner->begin &&
           (changed.tv_sec < end->tv_sec ||
            (changed.tv_sec == end->tv_sec && changed.tv_nsec < end->tv_nsec));
}

/* A guest may have taken away its user's own rights. */
static int open_dir(const owner_t *owner, int parent, const char *name,
                    const struct stat *status)
{
    const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
    bool closed = (status->st_mode & S_IRWXU) != S_IRWXU;

    if (closed && is_left_over(owner, status->st_uid, status->st_ctim))
        fchmodat(parent, name, S_IRWXU, 0);
    return openat(parent, name, flags);
}

static void remove_name(owner_t *owner, int dir, const char *name, int flags)
{
    if (unlinkat(dir, name, flags) < 0 && errno != ENOENT)
        owner->failed = true;
}

static void remove_in(owner_t *owner, int dir, int depth);

static void remove_entry(owner_t *owner, int dir, const char *name, int depth)
{
    struct stat status;

    if (fstatat(dir, name, &status, AT_SYMLINK_NOFOLLOW) < 0 ||
        status.st_dev != owner->device || status.st_uid != owner->uid)
        return;
    if (S_ISDIR(status.st_mode)) {
        if (depth < DEPTH_MAX)
            remove_in(owner, open_dir(owner, dir, name, &status), depth + 1);
        if (is_left_over(owner, status.st_uid, status.st_ctim))
            remove_name(owner, dir, name, AT_REMOVEDIR);
    } else if (is_left_over(owner, status.st_uid, status.st_ctim)) {
        remove_name(owner, dir, name, 0);
    }
}

/* Takes the descriptor. */
static void remove_in(owner_t *owner, int dir, int depth)
{
    hpcb_autoclosedir DIR *handle = dir < 0 ? NULL : fdopendir(dir);
    struct dirent *entry;

    while (handle && (entry = readdir(handle)))
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            remove_entry(owner, dirfd(handle), entry->d_name, depth);
}

static void remove_segments(const owner_t *owner)
{
    struct shmid_ds status = {.shm_nattch = 0};
    struct shm_info info;
    int last = shmctl(0, SHM_INFO, (struct shmid_ds *)(void *)&info);

    for (int i = 0; i <= last; i++) {
        int id = shmctl(i, SHM_STAT, &status);
        /* At some time of that second. */
        struct timespec changed = {.tv_sec = status.shm_ctime, .tv_nsec = 999999999};

        if (id >= 0 && status.shm_nattch == 0 &&
            is_left_over(owner, status.shm_perm.uid, changed))
            shmctl(id, IPC_RMID, NULL);
    }
}

static void __attribute__((noreturn)) be_the_user(owner_t *owner, const char *dir)
{
    struct stat status;
    int fd;

    signal(SIGALRM, SIG_DFL);
    alarm(SECONDS);
    if (setgroups(0, NULL) < 0 || setresgid(NOBODY, NOBODY, NOBODY) < 0 ||
        setresuid(owner->uid, owner->uid, owner->uid) < 0)
        _exit(EXIT_FAILURE);
    remove_segments(owner);
    fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) < 0)
        _exit(EXIT_FAILURE);
    owner->device = status.st_dev;
    remove_in(owner, fd, 0);
    _exit(owner->failed ? EXIT_FAILURE : EXIT_SUCCESS);
}

static int64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Return whether it has ended within that time; status is that of waitpid(2). */
static bool has_ended(pid_t child, int ms, int *status)
{
    const struct timespec step = {.tv_nsec = STEP_MS * 1000000};
    const int64_t end_ms = now_ms() + ms;

    for (;;) {
        if (waitpid(child, status, WNOHANG) != 0)
            return true;
        if (now_ms() >= end_ms)
            return false;
        nanosleep(&step, NULL);
    }
}

/* Return whether the child has removed everything.  The user may have stopped it,
 * including its alarm.  A child that hangs in the kernel (a file system of the user
 * that does not answer) is left to init. */
static bool wait_or_kill(pid_t child)
{
    int status = EXIT_FAILURE;

    if (has_ended(child, SECONDS * 1000, &status))
        return status == 0;
    kill(child, SIGKILL);
    (void)has_ended(child, KILL_MS, &status);
    return false;
}

void hpcb_leftovers_remove(const char *state_dir, const hpcb_job_state_t *guest,
                           const char *dir)
{
    owner_t owner = {.uid = guest->uid, .begin = (time_t)(guest->begin_us / 1000000)};
    pid_t child;

    clock_gettime(CLOCK_REALTIME_COARSE, &owner.end); /* as file systems do */
    if (guest->uid == 0 || has_another_job(state_dir, guest))
        return;
    child = fork();
    if (child == 0)
        be_the_user(&owner, dir);
    if (child < 0 || !wait_or_kill(child))
        hpcb_log(HPCB_LOG_ERROR,
                 "job %" PRIu32 ": not all that uid %" PRIu32
                 " has left in %.200s and in "
                 "System V shared memory is removed (limit %d s)",
                 guest->job_id, (uint32_t)guest->uid, dir, SECONDS);
}
