/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What a guest on one hardware thread gets while a primary computes on the other, on
 * the running kernel, in CPU seconds of both, as TAP.  For root on a machine with SMT
 * (in tests: a virtual one).
 *
 * Overview: two "jobs" in directories as Slurm lays them out (a step of its own scope
 * on v2, slurm_<node>/uid_U on v1), a spinning process in each, the primary bound to
 * the first thread of a core.  Each case lowers the guest as slurmstepd would, lets
 * both run for SECONDS, and compares.  Figures are asserted within wide limits around
 * the exact one, because the CPUs of a virtual machine are not always there.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/core_sched.h"
#include "cgroup/cores.h"
#include "cgroup/knob.h"
#include "cgroup/siblings.h"
#include "cgroup/task.h"
#include "cgroup/tree.h"
#include "common/file.h"
#include "policy/share.h"

#define GUESTS  "hpcb_evidence"
#define PRIMARY 1001
#define GUEST   1002
#define SCOPE   "system.slice/evidence_slurmstepd.scope"
#define USER    65534

static double seconds = 4;
static hpcb_node_t *node;
static hpcb_cores_t cores;
static unsigned first, second; /* the two threads */
static unsigned tests, failures;

static void note(const char *format, ...) __attribute__((format(printf, 1, 2)));

static void note(const char *format, ...)
{
    va_list arguments;

    printf("# ");
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
    fflush(stdout);
}

/* For tests/platforms/table: CPU seconds, of the seconds that passed; a part of them
 * where they have to be.  primary and state may be missing (below 0, NULL). */
static void figures(const char *name, double passed, double primary, double guest,
                    double least, double most, const char *state)
{
    printf("# figures: {\"case\": \"%s\", \"seconds\": %.3f, \"guest\": %.3f, "
           "\"least\": %.3f, \"most\": %.3f",
           name, passed, guest, least, most);
    if (primary >= 0)
        printf(", \"primary\": %.3f", primary);
    if (state)
        printf(", \"state\": \"%s\"", state);
    printf("}\n");
}

static void result(bool good, const char *name)
{
    printf("%sok %u - %s\n", good ? "" : "not ", ++tests, name);
    fflush(stdout);
    failures += !good;
}

static void skip(const char *name, const char *why)
{
    printf("ok %u - %s # SKIP %s\n", ++tests, name, why);
    fflush(stdout);
}

static void __attribute__((noreturn)) give_up(const char *what, const char *why)
{
    printf("Bail out! %s: %s\n", what, why);
    exit(1);
}

static void pause_for(double s)
{
    struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};

    while (nanosleep(&t, &t) < 0 && errno == EINTR)
        ;
}

/* ---- jobs as Slurm lays them out ---- */

static void enable(const char *dir)
{
    hpcb_knob_write(dir, "cgroup.subtree_control", "+cpu", NULL);
    hpcb_knob_write(dir, "cgroup.subtree_control", "+cpuset", NULL);
}

/* Below mount; on v2 with the controllers handed down to the last one. */
static void make_path(const char *mount, const char *path, bool v2)
{
    char dir[PATH_MAX];
    hpcb_error_t err;

    snprintf(dir, sizeof(dir), "%s/%s", mount, path);
    for (char *slash = dir + strlen(mount); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(dir, 0755) < 0 && errno != EEXIST)
            give_up(dir, strerror(errno));
        if (v2)
            enable(dir);
        *slash = '/';
    }
    if (hpcb_knob_mkdir(dir, "", &err) < 0)
        give_up("groups", err.text);
}

static void enter(const char *mount, const char *path, pid_t pid)
{
    char dir[PATH_MAX], text[16];
    hpcb_error_t err;

    snprintf(dir, sizeof(dir), "%s/%s", mount, path);
    snprintf(text, sizeof(text), "%d", (int)pid);
    if (hpcb_knob_write(dir, "cgroup.procs", text, &err) < 0)
        give_up("groups", err.text);
}

/* v1: what a cpuset needs before it takes anybody. */
static void fill_cpuset(const char *mount, char *path)
{
    char dir[PATH_MAX], cpus[1024], mems[1024];

    hpcb_knob_read(mount, "cpuset.cpus", cpus, sizeof(cpus), NULL);
    hpcb_knob_read(mount, "cpuset.mems", mems, sizeof(mems), NULL);
    for (char *slash = path; slash; slash = strchr(slash + 1, '/')) {
        if (slash == path)
            continue;
        *slash = '\0';
        snprintf(dir, sizeof(dir), "%s/%s", mount, path);
        *slash = '/';
        hpcb_knob_write(dir, "cpuset.cpus", cpus, NULL);
        hpcb_knob_write(dir, "cpuset.mems", mems, NULL);
    }
    snprintf(dir, sizeof(dir), "%s/%s", mount, path);
    hpcb_knob_write(dir, "cpuset.cpus", cpus, NULL);
    hpcb_knob_write(dir, "cpuset.mems", mems, NULL);
}

static void into_job(pid_t pid, unsigned job)
{
    static const hpcb_controller_t v1[] = {HPCB_CTL_FREEZER, HPCB_CTL_CPUSET};
    char path[256];

    if (hpcb_node_version(node, HPCB_CTL_CPU) == 2) {
        const char *mount = hpcb_node_mount(node, HPCB_CTL_CPU);

        snprintf(path, sizeof(path), SCOPE "/job_%u/step_0/user/task_0", job);
        make_path(mount, path, true);
        enter(mount, path, pid);
        return;
    }
    for (size_t i = 0; i < sizeof(v1) / sizeof(v1[0]); i++) {
        const char *mount = hpcb_node_mount(node, v1[i]);

        if (!mount || hpcb_node_version(node, v1[i]) != 1)
            continue;
        snprintf(path, sizeof(path), "slurm_evidence/uid_0/job_%u/step_0", job);
        make_path(mount, path, false);
        if (v1[i] == HPCB_CTL_CPUSET)
            fill_cpuset(mount, path);
        enter(mount, path, pid);
    }
}

static void remove_jobs(void)
{
    static const hpcb_controller_t all[] = {HPCB_CTL_CPU, HPCB_CTL_FREEZER,
                                            HPCB_CTL_CPUSET};
    static const char *const names[] = {SCOPE, "slurm_evidence", GUESTS};
    char dir[PATH_MAX];

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        const char *mount = hpcb_node_mount(node, all[i]);

        for (size_t n = 0; mount && n < sizeof(names) / sizeof(names[0]); n++) {
            snprintf(dir, sizeof(dir), "%s/%s", mount, names[n]);
            if (hpcb_knob_exists(dir, ""))
                hpcb_tree_remove(dir, mount, NULL);
        }
    }
}

/* ---- processes ---- */

static void bind_to(pid_t pid, const char *list)
{
    hpcb_cpus_t cpus;

    if (hpcb_cpus_parse(list, &cpus) < 0 ||
        sched_setaffinity(pid, sizeof(cpus), (cpu_set_t *)&cpus) < 0)
        give_up("affinity", strerror(errno));
}

/* Spins once a byte comes; dies with us. */
static pid_t spinner(unsigned job, const char *cpus, int *go)
{
    int ends[2];
    pid_t pid;
    char c;

    if (pipe(ends) < 0 || (pid = fork()) < 0)
        give_up("fork", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[1]);
        if (read(ends[0], &c, 1) != 1)
            _exit(1);
        for (volatile unsigned long i = 0;; i = i + 1)
            ;
    }
    close(ends[0]);
    *go = ends[1];
    into_job(pid, job);
    bind_to(pid, cpus);
    return pid;
}

static void start(int go)
{
    if (write(go, "g", 1) != 1)
        give_up("pipe", strerror(errno));
    close(go);
}

static void reap(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static double cpu_seconds(pid_t pid)
{
    unsigned long long ns = 0;
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
    file = fopen(path, "re");
    if (!file || fscanf(file, "%llu", &ns) != 1)
        give_up(path, strerror(errno));
    fclose(file);
    return (double)ns / 1e9;
}

/* ---- cases ---- */

typedef struct {
    double primary, guest; /* CPU seconds */
    double time;           /* that passed */
} shares_t;

static hpcb_target_t target_of(pid_t pid)
{
    return (hpcb_target_t){
        .node = node, .pid = pid, .job_id = GUEST, .guest_cgroup = GUESTS};
}

/* Lower the waiting guest; what it comes to, or NULL with err. */
static const char *lower(pid_t pid, const hpcb_siblings_want_t *want,
                         hpcb_siblings_task_t *task, hpcb_error_t *err)
{
    const hpcb_target_t target = target_of(pid);

    if (!hpcb_isolate(&target, err) ||
        (want && hpcb_siblings_lower(&target, want, task, err) < 0))
        return NULL;
    return hpcb_siblings_state(&target, err);
}

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static shares_t run_both(pid_t primary, int go_primary, pid_t guest, int go_guest)
{
    shares_t before, after;

    start(go_primary);
    start(go_guest);
    pause_for(0.2);
    before = (shares_t){cpu_seconds(primary), cpu_seconds(guest), now()};
    pause_for(seconds);
    after = (shares_t){cpu_seconds(primary), cpu_seconds(guest), now()};
    return (shares_t){after.primary - before.primary, after.guest - before.guest,
                      after.time - before.time};
}

/* With isolated false the guest is left as it is.  state (may be NULL) is what
 * hpcb_siblings_state must say. */
typedef struct {
    const char *name;
    const char *guest_cpus; /* "second", "both" */
    bool isolated;
    hpcb_siblings_want_t want;
    const char *state;
    double low, high; /* the guest's part of the time of one CPU */
    bool exclusive;   /* the two are never at work at the same time */
} case_t;

static void run_case(const case_t *c)
{
    hpcb_siblings_task_t task = {0};
    const char *state = "";
    hpcb_error_t err = {""};
    char cpus[32], own[16];
    int go_primary, go_guest;
    pid_t primary, guest;
    shares_t got;
    bool good;

    snprintf(own, sizeof(own), "%u", first);
    snprintf(cpus, sizeof(cpus), strcmp(c->guest_cpus, "both") == 0 ? "%u,%u" : "%u",
             second, first);
    primary = spinner(PRIMARY, own, &go_primary);
    guest = spinner(GUEST, cpus, &go_guest);
    if (c->isolated)
        state = lower(guest, &c->want, &task, &err);
    got = run_both(primary, go_primary, guest, go_guest);
    note("%s: in %.1f s the primary got %.3f s and the guest %.3f s of CPU (%.2f %%; "
         "expected %.2f to %.2f %%)%s%s",
         c->name, got.time, got.primary, got.guest, 100 * got.guest / got.time,
         100 * c->low, 100 * c->high,
         state ? "; " : "; exposed: ", state ? state : err.text);
    figures(c->name, got.time, got.primary, got.guest, c->low, c->high,
            state ? state : "exposed");
    good = got.guest >= c->low * got.time && got.guest <= c->high * got.time &&
           got.primary >= (c->exclusive ? 0.7 : 0.85) * got.time;
    if (c->exclusive && got.primary + got.guest > 1.03 * got.time)
        good = false;
    if (c->state && (!state || strcmp(state, c->state) != 0))
        good = false;
    result(good, c->name);
    reap(primary);
    reap(guest);
    remove_jobs();
}

static const case_t always[] = {
    {.name = "not lowered, on the sibling: all of it",
     .guest_cpus = "second",
     .low = 0.8,
     .high = 1.05},
    {.name = "idle group alone, on the sibling: nearly all of it",
     .guest_cpus = "second",
     .isolated = true,
     .low = 0.7,
     .high = 1.05},
    {.name = "throttled, difference 2: a quarter",
     .guest_cpus = "second",
     .isolated = true,
     .want = {.throttle = true, .difference = 2},
     .state = "sibling-throttle",
     .low = 0.15,
     .high = 0.35},
    {.name = "throttled, difference 4: 1 of 16",
     .guest_cpus = "second",
     .isolated = true,
     .want = {.throttle = true, .difference = 4},
     .state = "sibling-throttle",
     .low = 0.03,
     .high = 0.12},
    {.name = "throttled, difference 5: 1 of 100",
     .guest_cpus = "second",
     .isolated = true,
     .want = {.throttle = true, .difference = 5},
     .state = "sibling-throttle",
     .low = 0.004,
     .high = 0.04},
    {.name = "kept off the sibling: only what the primary's thread leaves",
     .guest_cpus = "both",
     .isolated = true,
     .want = {.avoid = true},
     .state = "none needed",
     .high = 0.05},
};

/* Not beside it, but instead of it now and then (policy/siblings.h). */
static const case_t core[] = {
    {.name = "cookie, on the sibling: little, and never beside it",
     .guest_cpus = "second",
     .isolated = true,
     .want = {.cookie = true},
     .state = "core-cookie",
     .high = 0.25,
     .exclusive = true},
    {.name = "cookie, and kept off: almost nothing",
     .guest_cpus = "both",
     .isolated = true,
     .want = {.cookie = true, .avoid = true},
     .state = "core-cookie",
     .high = 0.05,
     .exclusive = true},
};

static double cpu_for_a_while(pid_t pid, double *passed)
{
    double begun = now(), before = cpu_seconds(pid), got;

    pause_for(seconds);
    got = cpu_seconds(pid) - before;
    *passed = now() - begun;
    return got;
}

/* The primary ends: what was set is taken back. */
static void primary_ends(void)
{
    static const char name[] = "no primary any more: not throttled";
    const hpcb_siblings_want_t want = {.throttle = true, .difference = 4};
    hpcb_siblings_task_t task = {0};
    hpcb_error_t err = {""};
    int go_primary, go_guest;
    pid_t primary, guest;
    char own[16], other[16];
    double got, passed;

    snprintf(own, sizeof(own), "%u", first);
    snprintf(other, sizeof(other), "%u", second);
    primary = spinner(PRIMARY, own, &go_primary);
    guest = spinner(GUEST, other, &go_guest);
    start(go_primary);
    start(go_guest);
    lower(guest, &want, &task, &err);
    reap(primary);
    lower(guest, &want, &task, &err);
    pause_for(0.2);
    got = cpu_for_a_while(guest, &passed);
    note("after the primary's end the guest gets %.3f s of %.1f s", got, passed);
    figures(name, passed, -1, got, 0.7, 1.05, NULL);
    result(task.plan.how == HPCB_SIBLINGS_NOTHING && got >= 0.7 * passed, name);
    reap(guest);
    remove_jobs();
}

/* As the user: take cookie 0 from another task of the user's. */
static void take_cookie_off(pid_t from)
{
    if (setgid(USER) < 0 || setuid(USER) < 0)
        _exit(2);
    /* Being looked at by oneself is lost with the change of user. */
    prctl(PR_SET_DUMPABLE, 1);
    if (prctl(62, HPCB_CORE_SHARE_FROM, from, 0, 0UL) < 0)
        _exit(3);
    for (volatile unsigned long i = 0;; i = i + 1)
        ;
}

static pid_t users_task(int *go, pid_t from)
{
    int ends[2];
    pid_t pid;
    char c;

    if (pipe(ends) < 0 || (pid = fork()) < 0)
        give_up("fork", strerror(errno));
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(ends[1]);
        if (read(ends[0], &c, 1) == 1)
            take_cookie_off(from);
        _exit(1);
    }
    close(ends[0]);
    *go = ends[1];
    return pid;
}

static pid_t bystander(void)
{
    pid_t pid = fork();

    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setgid(USER) < 0 || setuid(USER) < 0)
        _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
    for (;;)
        pause();
}

/* What no kernel forbids (cgroup/mechanism_core.c), and what follows it. */
static void hostile(void)
{
    static const char name[] = "who takes it off is throttled";
    const hpcb_siblings_want_t want = {
        .cookie = true, .throttle = true, .difference = 5};
    hpcb_siblings_task_t task = {0};
    hpcb_error_t err = {""};
    int go_guest, go_primary;
    pid_t other = bystander(), guest = users_task(&go_guest, other), primary, who = 0;
    char own[16], sibling[16];
    uint64_t taken = 1, again = 0;
    hpcb_target_t target;
    unsigned mended, from = 0;
    double got, passed;

    snprintf(own, sizeof(own), "%u", first);
    snprintf(sibling, sizeof(sibling), "%u", second);
    primary = spinner(PRIMARY, own, &go_primary);
    into_job(guest, GUEST);
    bind_to(guest, sibling);
    lower(guest, &want, &task, &err);
    start(go_primary);
    start(go_guest);
    pause_for(1);
    target = target_of(guest);
    hpcb_core_cookie(guest, &taken, NULL);
    mended = hpcb_siblings_mend(&target, &from, &who);
    hpcb_core_cookie(guest, &again, NULL);
    note("a guest that takes cookie 0 from another task of its user has it (%s); %u "
         "mended",
         taken ? "no" : "yes", mended);
    result(taken == 0 && mended == 1 && who == guest && again != 0,
           "a cookie taken off is put back");
    if (hpcb_siblings_punish(&target, &want, &err) < 0)
        note("%s", err.text);
    hpcb_siblings_free(guest, NULL);
    got = cpu_for_a_while(guest, &passed);
    note("throttled for it, and without a cookie: %.3f s of %.1f s", got, passed);
    figures(name, passed, -1, got, 0, 0.04, NULL);
    result(got <= 0.04 * passed, name);
    reap(guest);
    reap(primary);
    reap(other);
    remove_jobs();
}

/* A core with two threads: its first two. */
static bool find_core(void)
{
    for (unsigned cpu = hpcb_cpus_from(&cores.online, 0); cpu < HPCB_CPUS_MAX;
         cpu = hpcb_cpus_from(&cores.online, cpu + 1)) {
        if (cores.core[cpu] == cpu)
            continue;
        first = cores.core[cpu];
        second = cpu;
        return true;
    }
    return false;
}

int main(int argc, char *argv[])
{
    size_t n = sizeof(always) / sizeof(always[0]);
    hpcb_error_t err;
    bool cookies;

    if (argc > 1)
        seconds = atof(argv[1]);
    if (geteuid() != 0 || seconds < 0.5)
        give_up("evidence", "to be run as root, with at least 0.5 seconds");
    if (hpcb_node_open("/", &node, &err) < 0 || hpcb_node_cores(node, &cores, &err) < 0)
        give_up("this machine", err.text);
    if (!find_core()) {
        printf("1..0 # SKIP no core of this machine has two threads\n");
        return 0;
    }
    cookies = hpcb_core_probe(&err) == 0;
    note("CPUs %u and %u are one core; cgroup v%d; core scheduling: %s", first, second,
         hpcb_node_version(node, HPCB_CTL_CPU), cookies ? "yes" : err.text);
    printf("1..%zu\n", n + 5);
    for (size_t i = 0; i < n; i++)
        run_case(&always[i]);
    primary_ends();
    if (cookies) {
        run_case(&core[0]);
        run_case(&core[1]);
        hostile();
    } else {
        skip(core[0].name, "no core scheduling");
        skip(core[1].name, "no core scheduling");
        skip("a cookie taken off is put back", "no core scheduling");
        skip("who takes it off is throttled", "no core scheduling");
    }
    hpcb_node_close(node);
    return failures ? 1 : 0;
}
