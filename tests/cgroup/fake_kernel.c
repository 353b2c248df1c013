/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Overview: hpcb_plain_ops does what is common to all cgroup file systems; on top of it
 * fake_knob_write, fake_mkdir and fake_rmdir add the kernel's rules, count changes, and
 * fail, crash or interfere as the test has asked.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/node.h"
#include "cgroup/parse.h"
#include "cgroup/plain.h"
#include "common/file.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/cgroup/real_kernel.h"
#include "tests/common/snapshot.h"
#include "tests/common/tmp.h"

#define TASKS_MAX 32

static struct {
    char root[TEST_TMP_MAX];
    hpcb_node_t *node;
    pid_t tasks[TASKS_MAX];
    int n_tasks;
    char fail_suffix[64];
    int fail_error;
    int crash_at;
    int changes;
    void (*hook)(const char *path);
} fake;

static void die(const char *what)
{
    perror(what);
    abort();
}

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void run(const char *format, ...)
{
    char command[2 * PATH_MAX];
    va_list args;

    va_start(args, format);
    vsnprintf(command, sizeof(command), format, args);
    va_end(args);
    if (system(command) != 0)
        die(command);
}

static void store(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    if (!file || fputs(text, file) < 0 || fclose(file) != 0)
        die(path);
}

static void change(const char *path)
{
    if (fake.hook) {
        void (*hook)(const char *path) = fake.hook;

        fake.hook = NULL;
        hook(path);
        fake.hook = hook;
    }
    fake.changes++;
    if (fake.crash_at > 0 && --fake.crash_at == 0)
        raise(SIGKILL);
}

static bool ends(const char *path, const char *suffix)
{
    size_t n = strlen(path), m = strlen(suffix);

    return m > 0 && n >= m && strcmp(path + n - m, suffix) == 0;
}

static void beside(const char *path, const char *name, char *out)
{
    const char *slash = strrchr(path, '/');

    snprintf(out, PATH_MAX, "%.*s/%s", (int)(slash - path), path, name);
}

/* The controller in whose hierarchy path is. */
static hpcb_controller_t hierarchy(const char *path, const char **rest)
{
    for (int c = 0; c < HPCB_CTL_COUNT; c++) {
        const char *mount = hpcb_node_mount(fake.node, (hpcb_controller_t)c);

        if (mount && strncmp(path, mount, strlen(mount)) == 0 &&
            path[strlen(mount)] == '/') {
            *rest = path + strlen(mount);
            return (hpcb_controller_t)c;
        }
    }
    return HPCB_CTL_COUNT;
}

/* Let proc/PID/cgroup say that the task is where its pid was written. */
static void show_move(const char *path, const char *pid)
{
    char file[PATH_MAX], text[8192], out[16384] = "", *save = NULL;
    const char *rest = NULL, *name;
    hpcb_controller_t c = hierarchy(path, &rest);
    int version = c < HPCB_CTL_COUNT ? hpcb_node_version(fake.node, c) : 0;

    snprintf(file, sizeof(file), "%s/proc/%s/cgroup", fake.root, pid);
    if (!version || hpcb_file_read(file, text, sizeof(text), NULL) < 0)
        return;
    name = hpcb_node_controller_name(c, version);
    for (char *line = strtok_r(text, "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        char *names = strchr(line, ':') + 1, *where = strchr(names, ':') + 1;
        size_t length = (size_t)(where - 1 - names), used = strlen(out);
        int to = (int)(strrchr(rest, '/') - rest);

        if (version == 2 ? length == 0 : hpcb_parse_word(names, length, name))
            snprintf(out + used, sizeof(out) - used, "%.*s%s%.*s\n",
                     (int)(where - line), line, to ? "" : "/", to, rest);
        else
            snprintf(out + used, sizeof(out) - used, "%s\n", line);
    }
    store(file, out);
}

static bool idle(const char *path)
{
    char knob[PATH_MAX], text[16];

    beside(path, "cpu.idle", knob);
    return hpcb_file_read(knob, text, sizeof(text), NULL) > 0 && text[0] == '1';
}

static void follow_idle(const char *path, bool on)
{
    char knob[PATH_MAX];

    beside(path, "cpu.shares", knob);
    if (access(knob, F_OK) == 0)
        store(knob, on ? "3\n" : "1024\n");
    beside(path, "cpu.weight", knob);
    if (access(knob, F_OK) == 0)
        store(knob, on ? "1\n" : "100\n");
}

/* A line of io.weight replaces the line of its kind. */
static int write_io_weight(const char *path, const char *text)
{
    char old[1024], out[2048];

    if (hpcb_file_read(path, old, sizeof(old), NULL) < 0)
        return -1;
    snprintf(out, sizeof(out), "%s%s", text, old + strcspn(old, "\n"));
    store(path, out);
    return 0;
}

static int fake_knob_write(const char *path, const char *text, hpcb_error_t *err)
{
    char knob[PATH_MAX];

    change(path);
    if (fake.fail_error && ends(path, fake.fail_suffix))
        errno = fake.fail_error;
    else if ((ends(path, "/cpu.weight") || ends(path, "/cpu.shares")) && idle(path))
        errno = EINVAL;
    else
        errno = 0;
    if (errno)
        return hpcb_error(err, "%s: \"%s\": %s", path, text, strerror(errno));
    if (ends(path, "/cpu.idle"))
        follow_idle(path, strcmp(text, "1") == 0);
    if (ends(path, "/cgroup.freeze")) {
        beside(path, "cgroup.events", knob);
        store(knob, strcmp(text, "1") == 0 ? "frozen 1\n" : "frozen 0\n");
    }
    if (ends(path, "/io.weight"))
        return write_io_weight(path, text);
    if (hpcb_plain_ops.write(path, text, err) < 0)
        return -1;
    if (ends(path, "/cgroup.procs"))
        show_move(path, text);
    return 0;
}

static int fake_mkdir(const char *path, mode_t mode)
{
    static const char *const knobs[][2] = {
        {"cpu.idle", "0\n"},
        {"cpu.shares", "1024\n"},
        {"cpu.weight", "100\n"},
        {"cpu.cfs_quota_us", "-1\n"},
        {"cpu.cfs_period_us", "100000\n"},
        {"cpu.stat", "usage_usec 0\n"},
        {"cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"},
        {"cgroup.freeze", "0\n"},
        {"cgroup.events", "frozen 0\n"},
    };
    char above[PATH_MAX], mine[PATH_MAX];

    change(path);
    if (hpcb_plain_ops.mkdir(path, mode) < 0)
        return -1;
    for (size_t i = 0; i < sizeof(knobs) / sizeof(knobs[0]); i++) {
        beside(path, knobs[i][0], above);
        snprintf(mine, sizeof(mine), "%s/%s", path, knobs[i][0]);
        if (access(above, F_OK) == 0 ||
            (strncmp(knobs[i][0], "cgroup.", 7) == 0 && strstr(path, "/unified/")))
            store(mine, knobs[i][1]);
    }
    return 0;
}

static int fake_rmdir(const char *path)
{
    change(path);
    return hpcb_plain_ops.rmdir(path);
}

static const hpcb_knob_ops_t fake_ops = {
    hpcb_file_read,
    fake_knob_write,
    fake_mkdir,
    fake_rmdir,
};

const char *fake_start(const char *name)
{
    hpcb_error_t err;

    memset(&fake, 0, sizeof(fake));
    test_snapshot_open(name, fake.root);
    if (hpcb_node_open(fake.root, &fake.node, &err) < 0)
        die(err.text);
    hpcb_knob_set_ops(&fake_ops);
    return fake.root;
}

void fake_stop(void)
{
    hpcb_knob_set_ops(NULL);
    hpcb_node_close(fake.node);
    for (int i = 0; i < fake.n_tasks; i++) {
        kill(fake.tasks[i], SIGKILL);
        waitpid(fake.tasks[i], NULL, 0);
    }
    run("rm -rf '%s'", fake.root);
}

pid_t fake_task(int like)
{
    pid_t pid = real_fork();

    while (pid == 0)
        pause();
    if (pid < 0 || fake.n_tasks == TASKS_MAX)
        die("fork");
    fake.tasks[fake.n_tasks++] = pid;
    run("mkdir -p '%s/proc/%d' && cp '%s/proc/%d/cgroup' '%s/proc/%d/cgroup'",
        fake.root, (int)pid, fake.root, like, fake.root, (int)pid);
    return pid;
}

void fake_fail(const char *suffix, int error)
{
    snprintf(fake.fail_suffix, sizeof(fake.fail_suffix), "%s", suffix);
    fake.fail_error = error;
}

void fake_crash_at(int nth)
{
    fake.crash_at = nth;
}

void fake_interfere(void (*hook)(const char *path))
{
    fake.hook = hook;
}

int fake_changes(void)
{
    return fake.changes;
}

const char *fake_read(const char *path)
{
    static char texts[2][8192];
    static int turn;
    char full[PATH_MAX], *text = texts[turn ^= 1];

    snprintf(full, sizeof(full), "%s/%s", fake.root, path);
    if (hpcb_file_read(full, text, sizeof(texts[0]), NULL) < 0)
        return "(none)";
    if (*text && text[strlen(text) - 1] == '\n')
        text[strlen(text) - 1] = '\0';
    return text;
}

void fake_write(const char *path, const char *text)
{
    char full[PATH_MAX];

    snprintf(full, sizeof(full), "%s/%s", fake.root, path);
    store(full, text);
}
