/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview: a pair of functions per attribute (get_X, set_X), the table that names
 * them, and what else one asks of a task (start time, threads).  The values are texts
 * so that the undo log needs to know nothing about them; set_X refuses what get_X
 * cannot have said, because the log may be damaged.
 */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "cgroup/core_sched.h"
#include "cgroup/knob.h"
#include "cgroup/task.h"
#include "common/cleanup.h"
#include "common/file.h"

#define THREADS_MAX    65536
#define IOPRIO_PROCESS 1  /* IOPRIO_WHO_PROCESS of linux/ioprio.h */
#define IOPRIO_SHIFT   13 /* of the class: IOPRIO_CLASS_SHIFT */

typedef cpu_set_t cpu_mask_t[HPCB_CPUS_MAX / CPU_SETSIZE];
#define MASK_NIBBLES (sizeof(cpu_mask_t) * 2)

typedef struct {
    const char *name;
    int (*get)(pid_t pid, char *text, size_t size);
    int (*set)(pid_t pid, const char *text);
} attribute_t;

static int number(const char *text, long low, long high, long *value)
{
    char *end;

    errno = 0;
    *value = strtol(text, &end, 10);
    if (errno || end == text || *end || *value < low || *value > high) {
        errno = EINVAL;
        return -1;
    }
    return 0;
}

static int get_policy(pid_t pid, char *text, size_t size)
{
    struct sched_param param;
    int policy = sched_getscheduler(pid);

    if (policy < 0 || sched_getparam(pid, &param) < 0)
        return -1;
    snprintf(text, size, "%d %d", policy, param.sched_priority);
    return 0;
}

static int set_policy(pid_t pid, const char *text)
{
    struct sched_param param = {0};
    int policy, end = 0;

    if (sscanf(text, "%d %d%n", &policy, &param.sched_priority, &end) != 2 ||
        text[end]) {
        errno = EINVAL;
        return -1;
    }
    return sched_setscheduler(pid, policy, &param);
}

static int get_nice(pid_t pid, char *text, size_t size)
{
    int value;

    errno = 0;
    value = getpriority(PRIO_PROCESS, (id_t)pid);
    if (errno)
        return -1;
    snprintf(text, size, "%d", value);
    return 0;
}

static int set_nice(pid_t pid, const char *text)
{
    long value;

    if (number(text, -20, 19, &value) < 0)
        return -1;
    return setpriority(PRIO_PROCESS, (id_t)pid, (int)value);
}

static int get_ioprio(pid_t pid, char *text, size_t size)
{
    long value = syscall(SYS_ioprio_get, IOPRIO_PROCESS, pid);

    if (value < 0)
        return -1;
    /* Before Linux 5.15 class "none" is shown with a level, with which it cannot be
     * set. */
    if (value >> IOPRIO_SHIFT == 0)
        value = 0;
    snprintf(text, size, "%ld", value);
    return 0;
}

static int set_ioprio(pid_t pid, const char *text)
{
    long value;

    if (number(text, 0, 0xffff, &value) < 0)
        return -1;
    return (int)syscall(SYS_ioprio_set, IOPRIO_PROCESS, pid, value);
}

/* struct sched_attr of linux/sched/types.h, which older C libraries lack. */
typedef struct {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime; /* of a policy that shares fairly: the slice */
    uint64_t deadline;
    uint64_t period;
} sched_attributes_t;

#define KEEP_POLICY UINT64_C(0x08) /* SCHED_FLAG_KEEP_POLICY */

/* Other policies have a runtime that means something else, or ignore it. */
static int read_slice(pid_t tid, sched_attributes_t *now)
{
    memset(now, 0, sizeof(*now));
    if (syscall(SYS_sched_getattr, tid, now, sizeof(*now), 0) < 0)
        return -1;
    if ((now->policy == SCHED_OTHER || now->policy == SCHED_BATCH) && now->runtime)
        return 0;
    errno = ENOTSUP;
    return -1;
}

static int write_slice(pid_t tid, sched_attributes_t now, uint64_t slice_ns)
{
    now.size = sizeof(now);
    now.flags |= KEEP_POLICY;
    now.runtime = slice_ns;
    return (int)syscall(SYS_sched_setattr, tid, &now, 0);
}

static int get_slice(pid_t tid, char *text, size_t size)
{
    sched_attributes_t now;

    if (read_slice(tid, &now) < 0)
        return -1;
    snprintf(text, size, "%" PRIu64, now.runtime);
    return 0;
}

/* A slice that the kernel would give it anyhow is left to the kernel, as it was. */
static int set_slice(pid_t tid, const char *text)
{
    sched_attributes_t now;
    long slice_ns;

    if (number(text, 0, LONG_MAX, &slice_ns) < 0)
        return -1;
    if (read_slice(tid, &now) < 0)
        return errno == ENOTSUP ? 0 : -1;
    if (write_slice(tid, now, 0) < 0)
        return -1;
    if (slice_ns == 0 ||
        (read_slice(tid, &now) == 0 && now.runtime == (uint64_t)slice_ns))
        return 0;
    return write_slice(tid, now, (uint64_t)slice_ns);
}

static const char digits[] = "0123456789abcdef";

static unsigned nibble(const cpu_set_t *mask, size_t index)
{
    unsigned value = 0;

    for (size_t bit = 0; bit < 4; bit++) {
        if (CPU_ISSET_S(index * 4 + bit, sizeof(cpu_mask_t), mask))
            value |= 1u << bit;
    }
    return value;
}

static int write_mask(const cpu_set_t *mask, char *text, size_t size)
{
    size_t top = MASK_NIBBLES, used = 0;

    while (top > 1 && nibble(mask, top - 1) == 0)
        top--;
    if (top >= size) {
        errno = ENAMETOOLONG;
        return -1;
    }
    while (top > 0)
        text[used++] = digits[nibble(mask, --top)];
    text[used] = '\0';
    return 0;
}

static int get_affinity(pid_t pid, char *text, size_t size)
{
    cpu_mask_t mask;

    if (sched_getaffinity(pid, sizeof(mask), mask) < 0)
        return -1;
    return write_mask(mask, text, size);
}

static int set_affinity(pid_t pid, const char *text)
{
    size_t length = strlen(text);
    cpu_mask_t mask;

    memset(mask, 0, sizeof(mask));
    errno = EINVAL;
    if (length == 0 || length > MASK_NIBBLES)
        return -1;
    for (size_t i = 0; i < length; i++) {
        const char *digit = strchr(digits, text[length - 1 - i]);
        unsigned value = digit ? (unsigned)(digit - digits) : 16;

        if (value > 15)
            return -1;
        for (size_t bit = 0; bit < 4; bit++) {
            if (value & 1u << bit)
                CPU_SET_S(i * 4 + bit, sizeof(mask), mask);
        }
    }
    return sched_setaffinity(pid, sizeof(mask), mask);
}

/* For a process whose threads all have the same CPUs; ENOTUNIQ if they have different
 * ones, which could not be restored. */
static int get_process_affinity(pid_t pid, char *text, size_t size)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;
    char other[HPCB_TASK_TEXT_MAX];

    if (get_affinity(pid, text, size) < 0 ||
        hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (get_affinity(tids[i], other, sizeof(other)) < 0 || strcmp(other, text) == 0)
            continue;
        errno = ENOTUNIQ;
        return -1;
    }
    return 0;
}

static int set_process_affinity(pid_t pid, const char *text)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;
    int rc = 0;

    if (hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (set_affinity(tids[i], text) < 0 && errno != ESRCH)
            rc = -1;
    return rc;
}

/* From /proc, because prlimit(2) requires CAP_SYS_RESOURCE even to read another user's
 * limits, and containers often run without it. */
static int get_rlimit(pid_t pid, const char *name, char *text, size_t size)
{
    char path[64], limits[4096], soft[24], hard[24], *line;

    snprintf(path, sizeof(path), "/proc/%d/limits", (int)pid);
    if (hpcb_file_read(path, limits, sizeof(limits), NULL) < 0)
        return -1;
    line = strstr(limits, name);
    if (!line || sscanf(line + strlen(name), "%23s %23s", soft, hard) != 2) {
        errno = ENODATA;
        return -1;
    }
    snprintf(text, size, "%s %s", soft, hard);
    return 0;
}

static int parse_limit(const char *text, rlim_t *limit)
{
    long value;

    *limit = RLIM_INFINITY;
    if (strcmp(text, "unlimited") == 0)
        return 0;
    if (number(text, 0, LONG_MAX, &value) < 0)
        return -1;
    *limit = (rlim_t)value;
    return 0;
}

static int set_rlimit(pid_t pid, __rlimit_resource_t resource, const char *text)
{
    char soft[24], hard[24];
    struct rlimit limit;
    int end = 0;

    if (sscanf(text, "%23s %23s%n", soft, hard, &end) != 2 || text[end] ||
        parse_limit(soft, &limit.rlim_cur) < 0 ||
        parse_limit(hard, &limit.rlim_max) < 0) {
        errno = EINVAL;
        return -1;
    }
    return prlimit(pid, resource, &limit, NULL);
}

static int get_rlimit_nice(pid_t pid, char *text, size_t size)
{
    return get_rlimit(pid, "Max nice priority", text, size);
}

static int set_rlimit_nice(pid_t pid, const char *text)
{
    return set_rlimit(pid, RLIMIT_NICE, text);
}

static int get_rlimit_rtprio(pid_t pid, char *text, size_t size)
{
    return get_rlimit(pid, "Max realtime priority", text, size);
}

static int set_rlimit_rtprio(pid_t pid, const char *text)
{
    return set_rlimit(pid, RLIMIT_RTPRIO, text);
}

static int get_oom_score_adj(pid_t pid, char *text, size_t size)
{
    char path[64];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
    n = hpcb_file_read(path, text, size, NULL);
    if (n < 0)
        return -1;
    text[strcspn(text, "\n")] = '\0';
    return 0;
}

static int set_oom_score_adj(pid_t pid, const char *text)
{
    char path[64];
    long value;

    if (number(text, -1000, 1000, &value) < 0)
        return -1;
    snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", (int)pid);
    return hpcb_file_write(path, text, NULL);
}

/* A pid in cgroup.procs takes every thread of the process along. */
static int set_cgroup(pid_t pid, const char *text)
{
    char id[16];

    snprintf(id, sizeof(id), "%d", (int)pid);
    return hpcb_knob_write(text, "cgroup.procs", id, NULL);
}

static int get_core_cookie(pid_t pid, char *text, size_t size)
{
    uint64_t id;

    if (hpcb_core_cookie(pid, &id, NULL) < 0)
        return -1;
    snprintf(text, size, "%" PRIu64, id);
    return 0;
}

static pid_t parent_of(pid_t pid)
{
    char path[64], text[1024];
    const char *rest;
    int parent = 0;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (hpcb_file_read(path, text, sizeof(text), NULL) < 0)
        return 0;
    rest = strrchr(text, ')');
    return rest && sscanf(rest + 1, " %*c %d", &parent) == 1 ? parent : 0;
}

/* Cookies cannot be made to order.  A task had its old one from slurmstepd, which is
 * the caller or the task's parent. */
static int set_core_cookie(pid_t pid, const char *text)
{
    unsigned long long id;
    uint64_t mine;
    int end = 0;

    if (sscanf(text, "%llu%n", &id, &end) != 1 || text[end] || text[0] < '0' ||
        text[0] > '9') {
        errno = EINVAL;
        return -1;
    }
    if (id == 0 || (hpcb_core_cookie(0, &mine, NULL) == 0 && mine == id))
        return hpcb_core_share(0, id, pid, NULL);
    if (hpcb_core_share(parent_of(pid), id, pid, NULL) == 0)
        return 0;
    if (errno == ESTALE)
        errno = ESRCH;
    return -1;
}

static const attribute_t attributes[] = {
    {"policy", get_policy, set_policy},
    {"nice", get_nice, set_nice},
    {"ioprio", get_ioprio, set_ioprio},
    {"slice", get_slice, set_slice},
    {"affinity", get_affinity, set_affinity},
    {"process-affinity", get_process_affinity, set_process_affinity},
    {"rlimit-nice", get_rlimit_nice, set_rlimit_nice},
    {"rlimit-rtprio", get_rlimit_rtprio, set_rlimit_rtprio},
    {"oom_score_adj", get_oom_score_adj, set_oom_score_adj},
    {"cgroup", NULL, set_cgroup},
    {"core-cookie", get_core_cookie, set_core_cookie},
};

static const attribute_t *find_attribute(const char *name)
{
    for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++) {
        if (strcmp(attributes[i].name, name) == 0)
            return &attributes[i];
    }
    return NULL;
}

int hpcb_task_get(pid_t pid, const char *attribute, char *text, size_t size,
                  hpcb_error_t *err)
{
    const attribute_t *row = find_attribute(attribute);

    if (!row || !row->get || pid <= 0) {
        errno = EINVAL;
        return hpcb_error(err, "task %d: %s cannot be read", (int)pid, attribute);
    }
    if (row->get(pid, text, size) < 0)
        return hpcb_error(err, "task %d: %s: %s", (int)pid, attribute, strerror(errno));
    return 0;
}

int hpcb_task_set(pid_t pid, const char *attribute, const char *text, hpcb_error_t *err)
{
    const attribute_t *row = find_attribute(attribute);

    if (!row || pid <= 0) {
        errno = EINVAL;
        return hpcb_error(err, "task %d: %s cannot be set", (int)pid, attribute);
    }
    if (row->set(pid, text) < 0)
        return hpcb_error(err, "task %d: %s to \"%s\": %s", (int)pid, attribute, text,
                          strerror(errno));
    return 0;
}

int hpcb_task_cpus(pid_t tid, hpcb_cpus_t *cpus, hpcb_error_t *err)
{
    hpcb_cpus_t found;

    memset(&found, 0, sizeof(found));
    if (sched_getaffinity(tid, sizeof(found), (cpu_set_t *)&found) < 0)
        return hpcb_error(err, "task %d: affinity: %s", (int)tid, strerror(errno));
    *cpus = found;
    return 0;
}

int hpcb_task_mask(const hpcb_cpus_t *cpus, char *text, size_t size)
{
    return write_mask((const cpu_set_t *)cpus, text, size);
}

/* Field 22 of stat; the second, the command's name, may hold blanks and brackets. */
int hpcb_task_start(pid_t pid, uint64_t *start)
{
    char path[64], text[1024], *field;
    unsigned long long value;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    if (pid <= 0 || hpcb_file_read(path, text, sizeof(text), NULL) < 0) {
        errno = ESRCH;
        return -1;
    }
    field = strrchr(text, ')');
    for (int i = 2; field && i < 22; i++)
        field = strchr(field + 1, ' ');
    if (!field || sscanf(field, " %llu", &value) != 1) {
        errno = ESRCH;
        return -1;
    }
    *start = value;
    return 0;
}

static int read_program(pid_t pid, char *program, size_t size)
{
    char path[64];
    ssize_t n;

    snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
    n = pid > 0 ? readlink(path, program, size - 1) : -1;
    if (n < 0)
        return -1;
    program[n] = '\0';
    return 0;
}

bool hpcb_task_begun(pid_t pid)
{
    char own[PATH_MAX], parents[PATH_MAX];

    return read_program(pid, own, sizeof(own)) < 0 ||
           read_program(parent_of(pid), parents, sizeof(parents)) < 0 ||
           strcmp(own, parents) != 0;
}

static int read_threads(DIR *dir, pid_t **tids, size_t *count)
{
    size_t used = 0, room = 0;
    pid_t *list = NULL;
    struct dirent *entry;
    long tid;

    while (used < THREADS_MAX && (entry = readdir(dir))) {
        if (number(entry->d_name, 1, INT_MAX, &tid) < 0)
            continue;
        if (used == room) {
            pid_t *larger = reallocarray(list, room ? room * 2 : 16, sizeof(*list));

            if (!larger) {
                free(list);
                return -1;
            }
            list = larger;
            room = room ? room * 2 : 16;
        }
        list[used++] = (pid_t)tid;
    }
    *tids = list;
    *count = used;
    return 0;
}

int hpcb_task_threads(pid_t pid, pid_t **tids, size_t *count, hpcb_error_t *err)
{
    char path[64];
    DIR *dir;
    int rc;

    snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
    dir = opendir(path);
    if (!dir)
        return hpcb_error(err, "%s: %s", path, strerror(errno));
    rc = read_threads(dir, tids, count);
    closedir(dir);
    return rc < 0 ? hpcb_error(err, "%s: out of memory", path) : 0;
}

static bool thread_is_realtime(pid_t tid)
{
    int policy = sched_getscheduler(tid);

    if (policy < 0)
        return false;
    policy &= ~SCHED_RESET_ON_FORK;
    return policy == SCHED_FIFO || policy == SCHED_RR || policy == SCHED_DEADLINE;
}

bool hpcb_task_realtime(pid_t pid)
{
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;

    if (hpcb_task_threads(pid, &tids, &count, NULL) < 0)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (thread_is_realtime(tids[i]))
            return true;
    }
    return false;
}

int hpcb_task_end_realtime(pid_t pid, hpcb_error_t *err)
{
    const struct sched_param param = {.sched_priority = 0};
    hpcb_autofree pid_t *tids = NULL;
    size_t count = 0;
    int changed = 0;

    if (hpcb_task_threads(pid, &tids, &count, err) < 0)
        return errno == ENOENT || errno == ESRCH ? 0 : -1;
    for (size_t i = 0; i < count; i++) {
        if (!thread_is_realtime(tids[i]))
            continue;
        if (sched_setscheduler(tids[i], SCHED_OTHER, &param) == 0)
            changed++;
        else if (errno != ESRCH)
            return hpcb_error(err, "thread %d: policy: %s", (int)tids[i],
                              strerror(errno));
    }
    return changed;
}
