/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/node.h"
#include "cgroup/tree.h"
#include "tests/cgroup/real_kernel.h"

#define PLACES 2

static const hpcb_controller_t controllers[PLACES] = {HPCB_CTL_CPU, HPCB_CTL_UNIFIED};
static char mounts[PLACES][PATH_MAX], groups[PLACES][PATH_MAX];
static const char *why = "";
static bool ready;
static pid_t runner;

static bool look(hpcb_node_t *node)
{
    for (int i = 0; i < PLACES; i++) {
        const char *mount = hpcb_node_mount(node, controllers[i]);

        if (!mount || hpcb_node_version(node, HPCB_CTL_CPU) != 1) {
            why = "no v1 cpu hierarchy with a cgroup2 mount beside it";
            return false;
        }
        strcpy(mounts[i], mount);
        snprintf(groups[i], sizeof(groups[i]), "%.4000s/hpcb_unit_test_%d", mount,
                 (int)getpid());
        if (mkdir(groups[i], 0755) < 0) {
            why = strerror(errno);
            return false;
        }
    }
    return true;
}

void real_setup(void)
{
    hpcb_node_t *node;

    runner = getpid();
    why = "not root";
    if (geteuid() != 0 || hpcb_node_open("/", &node, NULL) < 0)
        return;
    ready = look(node);
    hpcb_node_close(node);
}

void real_teardown(void)
{
    for (int i = 0; i < PLACES; i++) {
        for (int try = 0; groups[i][0] && try < 100; try++) {
            if (hpcb_tree_remove(groups[i], mounts[i], NULL) == 0)
                break;
            real_sleep_ms(10);
        }
    }
}

const char *real_why(void)
{
    return why;
}

static bool remount(int i)
{
    static const char *const v1[] = {"cpu", "cpu,cpuacct"};

    if (umount2(mounts[i], MNT_DETACH) < 0)
        return false;
    if (controllers[i] == HPCB_CTL_UNIFIED)
        return mount("none", mounts[i], "cgroup2", 0, NULL) == 0;
    return mount("none", mounts[i], "cgroup", 0, v1[0]) == 0 ||
           mount("none", mounts[i], "cgroup", 0, v1[1]) == 0;
}

bool real_enter(void)
{
    char pid[16];

    if (!ready)
        return false;
    if (getpid() == runner) {
        why = "CK_FORK=no: nobody would be left outside to remove the groups";
        return false;
    }
    snprintf(pid, sizeof(pid), "%d", (int)getpid());
    for (int i = 0; i < PLACES; i++) {
        if (hpcb_knob_write(groups[i], "cgroup.procs", pid, NULL) < 0) {
            why = "cannot enter a group";
            return false;
        }
    }
    why = "no namespaces";
    if (unshare(CLONE_NEWCGROUP | CLONE_NEWNS) < 0 ||
        mount("none", "/", "none", MS_REC | MS_PRIVATE, NULL) < 0)
        return false;
    return remount(0) && remount(1);
}

pid_t real_fork(void)
{
    pid_t parent = getpid(), pid = fork();

    if (pid != 0)
        return pid;
    signal(SIGALRM, SIG_DFL); /* Check has a handler */
    alarm(60);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    return 0;
}

pid_t real_burner(void)
{
    pid_t pid = real_fork();
    cpu_set_t all, one;

    if (pid != 0)
        return pid;
    setsid();
    sched_getaffinity(0, sizeof(all), &all);
    CPU_ZERO(&one);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0; cpu--) {
        if (CPU_ISSET(cpu, &all)) {
            CPU_SET(cpu, &one);
            break;
        }
    }
    sched_setaffinity(0, sizeof(one), &one);
    for (volatile unsigned long i = 0;; i = i + 1)
        ;
}

static void *touch_and_wait(void *bytes)
{
    char *memory = malloc(*(size_t *)bytes + 1);

    if (!memory)
        _exit(1);
    for (size_t i = 0; i <= *(size_t *)bytes; i += 1024)
        ((volatile char *)memory)[i] = 1;
    for (;;)
        pause();
    return NULL;
}

static bool is_zombie(pid_t pid)
{
    char path[64], state = '?';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%*d (%*[^)]) %c", &state) != 1)
        abort();
    fclose(file);
    return state == 'Z';
}

pid_t real_leaderless(size_t bytes)
{
    static size_t touched;
    pid_t pid = real_fork();
    pthread_t thread;

    if (pid == 0) {
        touched = bytes;
        if (pthread_create(&thread, NULL, touch_and_wait, &touched) != 0)
            _exit(1);
        pthread_exit(NULL);
    }
    for (int i = 0; i < 1000 && !is_zombie(pid); i++)
        real_sleep_ms(10);
    return pid;
}

real_time_t real_time(pid_t pid)
{
    unsigned long long cpu = 0, delay = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    file = fopen(path, "r");
    if (!file || fscanf(file, "%llu %llu", &cpu, &delay) != 2)
        abort();
    fclose(file);
    return (real_time_t){.cpu_us = cpu / 1000, .delay_us = delay / 1000};
}

void real_sleep_ms(int ms)
{
    const struct timespec nap = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000L};

    nanosleep(&nap, NULL);
}

void real_reap(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}
