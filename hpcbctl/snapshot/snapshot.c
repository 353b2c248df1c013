/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview.  In this order:
 *   about                 what this is, one Key=Value a line
 *   plain files           kernel release, sysctls, CPU topology
 *   mountinfo             the lines of cgroup mounts and of what covers them
 *   processes             those of Slurm's jobs, one per set of cgroups: its cgroup
 * file knobs                 of each cgroup on the way from a mount to such a process
 * A file that is not there, or cannot be read, is left out: its absence is what
 * discovery will see.  What is written goes through one function (put_file), which
 * counts.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/node.h"
#include "cgroup/parse.h"
#include "common/cleanup.h"
#include "common/text.h"
#include "hpcbctl/snapshot/intree.h"
#include "hpcbctl/snapshot/anonymize.h"
#include "hpcbctl/snapshot/snapshot.h"
#include "policy/cpus.h"

#define BYTES_MAX     (8u << 20)
#define PROCESSES_MAX 64
#define FIRST_PID     100
#define KNOB_MAX      4096
#define CGROUP_MAX    65536
#define MOUNTINFO_MAX (8u << 20)
#define MOUNT_MAX     (9 * PATH_MAX) /* two paths of octal escapes, and the rest */
#define DEPTH_MAX     32

unsigned hpcb_snapshot_files_max = 20000;

typedef struct {
    pid_t pid;
    char *text; /* /proc/PID/cgroup */
} process_t;

typedef struct {
    const hpcb_node_t *node;
    char root[PATH_MAX]; /* "" for the running system, no slash at the end */
    int from;
    int to;
    bool keep_names;
    hpcb_anonymize_t *names;
    process_t processes[PROCESSES_MAX];
    unsigned n_processes;
    hpcb_snapshot_t done;
    bool failed;
    hpcb_error_t *err;
} take_t;

/* As they are. */
static const char *const plain_files[] = {
    "proc/sys/kernel/osrelease",         "proc/sys/kernel/sched_autogroup_enabled",
    "sys/kernel/sched_ext/state",        "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/possible",   "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/smt/active", "sys/devices/system/cpu/smt/control",
    "sys/devices/system/node/online",    NULL,
};

/* Below sys/devices/system/cpu/cpuN. */
static const char *const cpu_files[] = {
    "topology/core_id",
    "topology/physical_package_id",
    "topology/thread_siblings_list",
    NULL,
};

static const char *const knobs[] = {
    "cgroup.controllers",
    "cgroup.events",
    "cgroup.freeze",
    "cgroup.subtree_control",
    "cgroup.type",
    "cpu.cfs_period_us",
    "cpu.cfs_quota_us",
    HPCB_KNOB_IDLE,
    "cpu.max",
    "cpu.pressure",
    "cpu.rt_period_us",
    "cpu.rt_runtime_us",
    "cpu.shares",
    "cpu.stat",
    "cpu.weight",
    "cpuset.cpus",
    "cpuset.cpus.effective",
    "cpuset.cpus.partition",
    "cpuset.effective_cpus",
    "cpuset.mems",
    "freezer.state",
    "io.weight",
    "memory.high",
    "memory.limit_in_bytes",
    "memory.max",
    "memory.max_usage_in_bytes",
    "memory.peak",
    "memory.soft_limit_in_bytes",
    NULL,
};

/* Of these only that they are there: they hold a site's path, or cannot be read. */
static const char *const marks[] = {"cgroup.kill", "release_agent", NULL};

static int fail(take_t *take, const char *path)
{
    take->failed = true;
    return hpcb_error(take->err, "%s: %s", path, strerror(errno));
}

/* Files that a job has made too long or too many are missing; only a lack of memory is
 * a failure. */
static int leave_out(take_t *take, const char *path)
{
    if (errno == ENOMEM)
        return fail(take, path);
    take->done.truncated = true;
    return 0;
}

/* Write one file.  0 also where the limits say no. */
static int put_file(take_t *take, const char *path, const char *text)
{
    size_t length = strlen(text);

    if (take->done.files >= hpcb_snapshot_files_max ||
        take->done.bytes + length > BYTES_MAX) {
        take->done.truncated = true;
        return 0;
    }
    if (hpcb_intree_write(take->to, path, text, length) < 0)
        return fail(take, path);
    take->done.files++;
    take->done.bytes += length;
    return 0;
}

static int join(char *path, size_t size, const char *dir, const char *name)
{
    int n = snprintf(path, size, "%s/%s", dir, name);

    return n < 0 || (size_t)n >= size ? -1 : 0;
}

/* Copy dir/name, as from calls it, to to/name. */
static int copy(take_t *take, const char *from, const char *to, const char *name)
{
    char source[PATH_MAX], target[PATH_MAX], text[KNOB_MAX];

    if (join(source, sizeof(source), from, name) ||
        join(target, sizeof(target), to, name) ||
        hpcb_intree_read(take->from, source, text, sizeof(text)) < 0)
        return 0;
    return put_file(take, target, text);
}

static int copy_plain(take_t *take)
{
    char text[KNOB_MAX];

    for (size_t i = 0; plain_files[i]; i++) {
        if (hpcb_intree_read(take->from, plain_files[i], text, sizeof(text)) < 0)
            continue;
        if (put_file(take, plain_files[i], text))
            return -1;
    }
    return 0;
}

/* Return the number after prefix, -1 if name has another form. */
static int numbered(const char *name, const char *prefix, int max)
{
    size_t length = strlen(prefix);
    uint64_t number;

    if (strncmp(name, prefix, length) != 0 ||
        hpcb_text_u64(name + length, (uint64_t)max, &number) < 0)
        return -1;
    return (int)number;
}

static int copy_cpu(const char *name, void *arg)
{
    char dir[NAME_MAX + 64];
    take_t *take = arg;

    if (numbered(name, "cpu", HPCB_CPUS_MAX - 1) < 0)
        return 0;
    snprintf(dir, sizeof(dir), "sys/devices/system/cpu/%s", name);
    for (size_t i = 0; cpu_files[i]; i++)
        if (copy(take, dir, dir, cpu_files[i]))
            return -1;
    return 0;
}

static int copy_numa(const char *name, void *arg)
{
    char dir[NAME_MAX + 64];

    if (numbered(name, "node", HPCB_CPUS_MAX - 1) < 0)
        return 0;
    snprintf(dir, sizeof(dir), "sys/devices/system/node/%s", name);
    return copy(arg, dir, dir, "cpulist");
}

static int copy_topology(take_t *take)
{
    hpcb_intree_list(take->from, "sys/devices/system/cpu", copy_cpu, take);
    hpcb_intree_list(take->from, "sys/devices/system/node", copy_numa, take);
    return take->failed ? -1 : 0;
}

/* proc/self is a link on a running system: to the number that this process has there.
 */
static void self_dir(const take_t *take, char *dir, size_t size)
{
    char number[32];
    ssize_t n = readlinkat(take->from, "proc/self", number, sizeof(number) - 1);
    uint64_t pid;

    number[n > 0 ? n : 0] = '\0';
    if (hpcb_text_u64(number, INT_MAX, &pid) == 0)
        snprintf(dir, size, "proc/%" PRIu64, pid);
    else
        snprintf(dir, size, "proc/self");
}

static int copy_self(take_t *take)
{
    hpcb_autofree char *text = malloc(CGROUP_MAX);
    hpcb_autofree char *out = NULL;
    char dir[64], path[128];

    if (!text)
        return fail(take, "proc/self/cgroup");
    self_dir(take, dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/cgroup", dir);
    if (hpcb_intree_read(take->from, path, text, CGROUP_MAX) < 0)
        return 0;
    out = malloc(CGROUP_MAX);
    if (!out || hpcb_anonymize_cgroup(take->names, text, out, CGROUP_MAX) < 0)
        return leave_out(take, path);
    return put_file(take, "proc/self/cgroup", out);
}

/* The process numbers in text that are part of the snapshot, as it calls them. */
static void map_pids(const take_t *take, const char *text, char *out, size_t size)
{
    size_t used = 0;
    char *end;

    out[0] = '\0';
    for (long pid = strtol(text, &end, 10); end != text; pid = strtol(text, &end, 10)) {
        for (unsigned i = 0; i < take->n_processes && used + 16 < size; i++)
            if (take->processes[i].pid == pid)
                used += (size_t)snprintf(out + used, size - used, "%ld\n",
                                         take->keep_names ? pid : FIRST_PID + (long)i);
        text = end;
    }
}

static int copy_procs(take_t *take, const char *from, const char *to)
{
    hpcb_autofree char *text = NULL;
    char source[PATH_MAX], target[PATH_MAX], out[KNOB_MAX];

    if (join(source, sizeof(source), from, "cgroup.procs") ||
        join(target, sizeof(target), to, "cgroup.procs") ||
        !hpcb_intree_exists(take->from, source))
        return 0;
    text = malloc(CGROUP_MAX);
    if (!text)
        return fail(take, from);
    if (hpcb_intree_read(take->from, source, text, CGROUP_MAX) < 0)
        text[0] = '\0';
    map_pids(take, text, out, sizeof(out));
    return put_file(take, target, out);
}

static int copy_marks(take_t *take, const char *from, const char *to)
{
    char source[PATH_MAX], target[PATH_MAX];

    for (size_t i = 0; marks[i]; i++) {
        if (join(source, sizeof(source), from, marks[i]) ||
            join(target, sizeof(target), to, marks[i]) ||
            !hpcb_intree_exists(take->from, source))
            continue;
        if (put_file(take, target, ""))
            return -1;
    }
    return 0;
}

/* A group, by its path below the root (no slash at the start). */
static int copy_group(take_t *take, const char *from)
{
    char to[PATH_MAX], seen[PATH_MAX];

    if (hpcb_anonymize_path(take->names, from, to, sizeof(to)) < 0)
        return leave_out(take, from);
    if (join(seen, sizeof(seen), to, "cgroup.procs") ||
        hpcb_intree_exists(take->to, seen))
        return 0;
    if (copy_procs(take, from, to) || copy_marks(take, from, to))
        return -1;
    for (size_t i = 0; knobs[i]; i++)
        if (copy(take, from, to, knobs[i]))
            return -1;
    return 0;
}

static int depth_of(const char *path)
{
    int depth = 0;

    for (; *path; path++)
        depth += *path == '/';
    return depth;
}

/* dir and each group above it up to mount; both begin with the root's path. */
static int copy_groups(take_t *take, const char *mount, char *dir)
{
    size_t skip = strlen(take->root) + 1, top = strlen(mount);

    while (strlen(dir) >= top && strlen(dir) > skip) {
        if (depth_of(dir + skip) > DEPTH_MAX)
            take->done.truncated = true;
        else if (copy_group(take, dir + skip))
            return -1;
        *strrchr(dir, '/') = '\0';
    }
    return 0;
}

static int copy_knobs(take_t *take)
{
    for (unsigned i = 0; i < take->n_processes; i++)
        for (int c = 0; c < HPCB_CTL_COUNT; c++) {
            const char *mount = hpcb_node_mount(take->node, (hpcb_controller_t)c);
            char dir[PATH_MAX];

            if (mount &&
                hpcb_node_task_dir(take->node, take->processes[i].pid,
                                   (hpcb_controller_t)c, dir, sizeof(dir), NULL) == 0 &&
                copy_groups(take, mount, dir))
                return -1;
        }
    return 0;
}

static bool below_meter(const hpcb_node_t *node, pid_t pid)
{
    const char *mount = hpcb_node_mount(node, HPCB_CTL_UNIFIED);
    char dir[PATH_MAX];

    return mount &&
           hpcb_node_task_dir(node, pid, HPCB_CTL_UNIFIED, dir, sizeof(dir), NULL) ==
               0 &&
           strncmp(dir + strlen(mount), "/" HPCB_UNIFIED_GROUP "/",
                   strlen("/" HPCB_UNIFIED_GROUP "/")) == 0;
}

static bool in_a_job(const hpcb_node_t *node, pid_t pid)
{
    char dir[PATH_MAX];

    for (int c = 0; c < HPCB_CTL_COUNT; c++)
        if (hpcb_node_job_dir(node, pid, (hpcb_controller_t)c, dir, sizeof(dir),
                              NULL) == 0)
            return true;
    return below_meter(node, pid);
}

typedef struct {
    pid_t *list;
    size_t count;
    size_t room;
} pids_t;

static int note_pid(const char *name, void *arg)
{
    pids_t *pids = arg;
    uint64_t pid;

    if (hpcb_text_u64(name, INT_MAX, &pid) || pid == 0)
        return 0;
    if (pids->count == pids->room) {
        size_t more = pids->room ? pids->room * 2 : 256;
        pid_t *larger = reallocarray(pids->list, more, sizeof(*larger));

        if (!larger)
            return -1;
        pids->list = larger;
        pids->room = more;
    }
    pids->list[pids->count++] = (pid_t)pid;
    return 0;
}

static int by_number(const void *a, const void *b)
{
    pid_t left = *(const pid_t *)a, right = *(const pid_t *)b;

    return (left > right) - (left < right);
}

/* Keep pid, unless one in the same groups is kept already.  -1 when memory runs out. */
static int keep_process(take_t *take, pid_t pid, char *text)
{
    char path[64], *kept;

    snprintf(path, sizeof(path), "proc/%d/cgroup", (int)pid);
    if (hpcb_intree_read(take->from, path, text, CGROUP_MAX) < 0)
        return 0;
    for (unsigned i = 0; i < take->n_processes; i++)
        if (strcmp(take->processes[i].text, text) == 0)
            return 0;
    if (take->n_processes == PROCESSES_MAX) {
        take->done.truncated = true;
        return 0;
    }
    kept = strdup(text);
    if (!kept)
        return fail(take, path);
    take->processes[take->n_processes++] = (process_t){.pid = pid, .text = kept};
    return 0;
}

static int find_processes(take_t *take)
{
    hpcb_autofree char *text = malloc(CGROUP_MAX);
    pids_t pids = {0};
    int rc = 0;

    if (!text)
        return fail(take, "proc");
    hpcb_intree_list(take->from, "proc", note_pid, &pids);
    if (pids.count > 0)
        qsort(pids.list, pids.count, sizeof(*pids.list), by_number);
    for (size_t i = 0; rc == 0 && i < pids.count; i++)
        if (in_a_job(take->node, pids.list[i]))
            rc = keep_process(take, pids.list[i], text);
    free(pids.list);
    return rc;
}

static int write_processes(take_t *take)
{
    hpcb_autofree char *out = malloc(CGROUP_MAX);
    char path[64];

    if (!out)
        return fail(take, "proc");
    for (unsigned i = 0; i < take->n_processes; i++) {
        const process_t *process = &take->processes[i];

        snprintf(path, sizeof(path), "proc/%d/cgroup",
                 take->keep_names ? (int)process->pid : FIRST_PID + (int)i);
        if (hpcb_anonymize_cgroup(take->names, process->text, out, CGROUP_MAX) < 0
                ? leave_out(take, path)
                : put_file(take, path, out))
            return -1;
    }
    take->done.processes = take->n_processes;
    return 0;
}

static bool is_cgroup(const hpcb_mount_line_t *mount)
{
    return strcmp(mount->fstype, "cgroup") == 0 ||
           strcmp(mount->fstype, "cgroup2") == 0;
}

/* Return the mount points of cgroups, one per line, for covers. */
static char *cgroup_points(const char *mountinfo)
{
    hpcb_autofree char *copied = strdup(mountinfo);
    char *points = calloc(1, strlen(mountinfo) + 3), *end = points, *save = NULL;
    hpcb_mount_line_t mount;

    if (!copied || !points) {
        free(points);
        return NULL;
    }
    *end++ = '\n';
    for (char *line = strtok_r(copied, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (hpcb_parse_mount(line, &mount) == 0 && is_cgroup(&mount) &&
            !strchr(mount.point, '\n'))
            end += sprintf(end, "%s\n", mount.point);
    return points;
}

/* Return whether the mount is one of cgroups, or at the mount point of one. */
static bool matters(const hpcb_mount_line_t *mount, const char *points)
{
    char wanted[PATH_MAX + 2];

    if (is_cgroup(mount))
        return true;
    return snprintf(wanted, sizeof(wanted), "\n%s\n", mount->point) <
               (int)sizeof(wanted) &&
           strstr(points, wanted);
}

/* One line of mountinfo, if it matters: to out, and the knobs of the mount's top. */
static int take_mount(take_t *take, const char *line, const char *points, FILE *out)
{
    hpcb_autofree char *parsed = strdup(line);
    hpcb_autofree char *again = NULL;
    hpcb_autofree char *text = NULL;
    hpcb_mount_line_t mount;

    if (!parsed)
        return fail(take, "mountinfo");
    if (hpcb_parse_mount(parsed, &mount) < 0 || !matters(&mount, points))
        return 0;
    again = strdup(line);
    text = malloc(MOUNT_MAX);
    if (!again || !text)
        return fail(take, "mountinfo");
    if (hpcb_anonymize_mount(take->names, again, text, MOUNT_MAX) < 0)
        return leave_out(take, "mountinfo");
    fputs(text, out);
    return is_cgroup(&mount) ? copy_group(take, mount.point + 1) : 0;
}

static int take_mounts(take_t *take, char *mountinfo, FILE *out)
{
    hpcb_autofree char *points = cgroup_points(mountinfo);
    char *save = NULL;

    if (!points)
        return fail(take, "mountinfo");
    for (char *line = strtok_r(mountinfo, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save))
        if (take_mount(take, line, points, out))
            return -1;
    return 0;
}

static int copy_mounts(take_t *take)
{
    hpcb_autofree char *mountinfo = malloc(MOUNTINFO_MAX);
    hpcb_autofree char *kept = NULL;
    char dir[64], path[128];
    size_t length;
    FILE *out;
    int rc;

    if (!mountinfo)
        return fail(take, "mountinfo");
    self_dir(take, dir, sizeof(dir));
    snprintf(path, sizeof(path), "%s/mountinfo", dir);
    if (hpcb_intree_read(take->from, path, mountinfo, MOUNTINFO_MAX) < 0)
        return fail(take, path);
    out = open_memstream(&kept, &length);
    if (!out)
        return fail(take, path);
    rc = take_mounts(take, mountinfo, out);
    if (fclose(out) != 0 && rc == 0)
        return fail(take, path);
    return rc ? -1 : put_file(take, "proc/self/mountinfo", kept);
}

/* Last, because it says whether all the rest is there. */
static int write_about(take_t *take, const char *slurm)
{
    struct utsname machine;
    char text[512];

    if (uname(&machine) < 0)
        return fail(take, "uname");
    snprintf(text, sizeof(text),
             "Snapshot=1\nVersion=%s\nSlurm=%s\nMachine=%s\nNames=%s\nComplete=%s\n",
             PACKAGE_VERSION, slurm ? slurm : "unknown",
             take->root[0] ? "unknown" : machine.machine,
             take->keep_names ? "kept" : "replaced",
             take->done.truncated ? "no" : "yes");
    if (hpcb_intree_write(take->to, "about", text, strlen(text)) < 0)
        return fail(take, "about");
    take->done.files++;
    take->done.bytes += strlen(text);
    return 0;
}

static int take_all(take_t *take, const char *slurm)
{
    return find_processes(take) || copy_plain(take) || copy_topology(take) ||
                   copy_mounts(take) || copy_self(take) || write_processes(take) ||
                   copy_knobs(take) || write_about(take, slurm)
               ? -1
               : 0;
}

static int set_root(take_t *take, const char *root)
{
    size_t length = strlen(root);

    while (length > 0 && root[length - 1] == '/')
        length--;
    errno = ENAMETOOLONG;
    if (length >= sizeof(take->root))
        return -1;
    memcpy(take->root, root, length);
    take->root[length] = '\0';
    return 0;
}

int hpcb_snapshot_take(const char *root, int out, const char *guest_cgroup,
                       bool keep_names, const char *slurm, hpcb_snapshot_t *done,
                       hpcb_error_t *err)
{
    hpcb_autoclose int from = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    hpcb_error_t spare = {""};
    take_t take = {
        .from = from,
        .to = out,
        .keep_names = keep_names,
        .err = err ? err : &spare,
    };
    hpcb_node_t *node;
    int rc;

    if (from < 0 || set_root(&take, root) < 0)
        return fail(&take, root);
    if (hpcb_node_open(root, &node, err) < 0)
        return -1;
    take.node = node;
    take.names = hpcb_anonymize_open(keep_names, guest_cgroup);
    rc = take.names ? take_all(&take, slurm) : fail(&take, "names");
    take.done.jobs = take.names ? hpcb_anonymize_jobs(take.names) : 0;
    if (rc == 0)
        *done = take.done;
    for (unsigned i = 0; i < take.n_processes; i++)
        free(take.processes[i].text);
    hpcb_anonymize_close(take.names);
    hpcb_node_close(node);
    return rc;
}
