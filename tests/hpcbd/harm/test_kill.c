/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A daemon that stops guests for experiments, for their harm and for crumbs, gives a
 * primary long slices and a guest a memory limit, is killed at random moments: nothing
 * stays stopped, sliced or limited, and what Slurm has suspended meanwhile stays
 * suspended.  Its parts, its watchdog and
 * its loop are the real ones, on a copy of a snapshot; the tasks are real, too.  Time
 * goes faster there, and somebody sets the clock.  Experiments and crumbs decide for
 * themselves; about the guard's levels and slices the test does, more often.
 *
 * HPCB_KILLS says how often, 20 times by default.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/favour.h"
#include "cgroup/freeze.h"
#include "cgroup/knob.h"
#include "cgroup/slices.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "cgroup/undo.h"
#include "common/state.h"
#include "hpcbd/gang/gang.h"
#include "hpcbd/harm/crumbs.h"
#include "hpcbd/harm/experiment.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/windows/windows.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/scratch.h"

#define MS       UINT64_C(1000000)
#define SECOND   INT64_C(1000000000)
#define PRIMARY  4711
#define GUEST    4712
#define PATIENCE 60000 /* ms; beyond that somebody has not done his work */
#define SPEED    20    /* of the daemon's time */
#define FD_MAX   256   /* timers of the daemon's */

/* What a round is about. */
typedef enum { GUARD, SLICES, EXPERIMENT, CRUMBS, KINDS } kind_t;

/* What the daemon has done, as the test sees it, also when the daemon is dead. */
typedef struct {
    atomic_bool stopped, sliced;
    atomic_uint why, steps; /* hpcbd_freeze_reason_t; how often the clock was set */
} page_t;

/* What was found in all rounds. */
static struct {
    unsigned stopped[KINDS], sliced, suspended, steps;
} found;

static const char *root;
static char guest_dir[PATH_MAX], freezer[PATH_MAX + 64], suspender[PATH_MAX + 64],
    memory_limit[PATH_MAX + 64], state_dir[PATH_MAX];
static pid_t task; /* of the primary */
static char own_slice[HPCB_TASK_TEXT_MAX];
static bool slices; /* this kernel has them */
static page_t *page;

int __real_hpcb_node_open(const char *path, hpcb_node_t **node, hpcb_error_t *err);
/* No job takes turns here. */
bool hpcbd_gang_switches(uint32_t job_id)
{
    (void)job_id;
    return false;
}

bool hpcbd_gang_elected(uint32_t job_id, uint64_t *us)
{
    (void)job_id;
    (void)us;
    return false;
}

int __wrap_hpcb_node_open(const char *path, hpcb_node_t **node, hpcb_error_t *err);
int __wrap_hpcb_node_open(const char *path, hpcb_node_t **node, hpcb_error_t *err)
{
    return __real_hpcb_node_open(strcmp(path, "/") == 0 ? root : path, node, err);
}

/* Slices of the real task are looked for as on a node. */
bool __wrap_hpcb_node_live(const hpcb_node_t *node);
bool __wrap_hpcb_node_live(const hpcb_node_t *node)
{
    (void)node;
    return true;
}

/* Nobody is favoured here, and no real task is looked at for it. */
int __wrap_hpcb_favour_release(const hpcb_node_t *node, const char *dir,
                               const char *cgroup, hpcb_error_t *err);
int __wrap_hpcb_favour_release(const hpcb_node_t *node, const char *dir,
                               const char *cgroup, hpcb_error_t *err)
{
    (void)node, (void)dir, (void)cgroup, (void)err;
    return 0;
}

int __wrap_mlockall(int flags);
int __wrap_mlockall(int flags)
{
    (void)flags;
    return 0;
}

int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param);
int __wrap_sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    (void)pid, (void)policy, (void)param;
    errno = EPERM;
    return -1;
}

/* ---- the daemon's time ---- */

/* SPEED times as fast since it began, and the wall clock ahead of that; it stands still
 * while the machine keeps the daemon from a timer that has expired.  The watchdog's
 * poll is as slow as ever: it takes that for a machine that stood still.  Nobody hangs
 * here. */
static struct {
    bool fast;
    int64_t began_ns[2]; /* of CLOCK_REALTIME, CLOCK_MONOTONIC */
    int64_t ahead_ns, still_ns;
    struct {
        bool is_timer, cancelled;
        clockid_t clock;
        int64_t due_ns, interval_ns; /* on clock; 0: none */
    } timers[FD_MAX];
} times;

static int64_t to_ns(struct timespec time)
{
    return (int64_t)time.tv_sec * SECOND + time.tv_nsec;
}

static struct timespec to_time(int64_t ns)
{
    return (struct timespec){ns / SECOND, ns % SECOND};
}

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    int rc = __real_clock_gettime(clock, now);

    if (rc < 0 || !times.fast || clock > CLOCK_MONOTONIC)
        return rc;
    *now =
        to_time(times.began_ns[clock] + SPEED * (to_ns(*now) - times.began_ns[clock]) +
                (clock == CLOCK_REALTIME ? times.ahead_ns : 0) - times.still_ns);
    return rc;
}

static int64_t now_of(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return to_ns(now);
}

int __real_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *before);
int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *before);
/* The kernel's timer for what is due; it is off if nothing is. */
static int arm(int fd)
{
    int64_t left_ns = times.timers[fd].due_ns - now_of(times.timers[fd].clock);
    struct itimerspec real = {.it_value = {0, 1}};

    if (!times.timers[fd].due_ns)
        real.it_value.tv_nsec = 0;
    else if (left_ns > 0)
        real.it_value = to_time(left_ns / SPEED + 1);
    return __real_timerfd_settime(fd, 0, &real, NULL);
}

int __wrap_timerfd_settime(int fd, int flags, const struct itimerspec *when,
                           struct itimerspec *before)
{
    bool at = flags & TFD_TIMER_ABSTIME;
    int64_t value_ns = to_ns(when->it_value);

    if (!times.fast || fd >= FD_MAX)
        return __real_timerfd_settime(fd, flags, when, before);
    times.timers[fd].is_timer = true;
    times.timers[fd].cancelled = false;
    times.timers[fd].clock = at ? CLOCK_REALTIME : CLOCK_MONOTONIC;
    times.timers[fd].interval_ns = to_ns(when->it_interval);
    times.timers[fd].due_ns =
        value_ns && !at ? now_of(CLOCK_MONOTONIC) + value_ns : value_ns;
    return arm(fd);
}

/* It has expired; time has stood still since.  False: not yet, because it did. */
static bool expire(int fd)
{
    int64_t late_ns = now_of(times.timers[fd].clock) - times.timers[fd].due_ns;

    if (late_ns < 0) {
        arm(fd);
        return false;
    }
    times.still_ns += late_ns;
    if (times.timers[fd].interval_ns)
        times.timers[fd].due_ns += times.timers[fd].interval_ns;
    else
        times.timers[fd].due_ns = 0;
    arm(fd);
    return true;
}

ssize_t __real_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size);
ssize_t __wrap_read(int fd, void *data, size_t size)
{
    ssize_t length = __real_read(fd, data, size);

    if (fd < 0 || fd >= FD_MAX || length < 0 || !times.timers[fd].is_timer)
        return length;
    if (!times.timers[fd].cancelled && expire(fd))
        return length;
    errno = times.timers[fd].cancelled ? ECANCELED : EAGAIN;
    times.timers[fd].cancelled = false;
    return -1;
}

/* Who waits for a time of the wall clock hears of it. */
static void set_clock(int64_t by_ns)
{
    const struct itimerspec now = {.it_value = {0, 1}};

    times.ahead_ns += by_ns;
    for (int fd = 0; fd < FD_MAX; fd++) {
        if (!times.timers[fd].due_ns || times.timers[fd].clock != CLOCK_REALTIME)
            continue;
        times.timers[fd].due_ns = 0;
        times.timers[fd].cancelled = true;
        __real_timerfd_settime(fd, 0, &now, NULL);
    }
    atomic_fetch_add(&page->steps, 1);
}

static void begin_to_run_fast(void)
{
    struct timespec now;

    for (clockid_t clock = CLOCK_REALTIME; clock <= CLOCK_MONOTONIC; clock++) {
        __real_clock_gettime(clock, &now);
        times.began_ns[clock] = to_ns(now);
    }
    times.fast = true;
}

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* ---- the node ---- */

static void save_job(uint32_t job_id, hpcb_class_t klass, const char *dir)
{
    const hpcb_job_state_t record = {.job_id = job_id,
                                     .uid = geteuid(),
                                     .klass = klass,
                                     .partition = "p",
                                     .begin_us = 1};
    hpcb_error_t err;

    ck_assert_msg(hpcb_state_save(state_dir, &record, &err) == 0, "%s", err.text);
    ck_assert_int_eq(hpcb_state_save_place(state_dir, job_id, dir, NULL), 0);
}

/* A group's file; formats the time that its tasks have waited, or a pid. */
static void put_number(const char *dir, const char *name, const char *format,
                       long long number)
{
    char path[PATH_MAX + 64], text[128];

    snprintf(path, sizeof(path), "%s/%s", dir, name);
    snprintf(text, sizeof(text), format, number);
    put_file(path, text);
}

/* In the job, and in its only task: whichever is read. */
static void put_figures(const char *dir, long long waited_us)
{
    char group[PATH_MAX + 32];

    for (int i = 0; i < 2; i++) {
        snprintf(group, sizeof(group), "%s%s", dir, i ? "/step_0/user/task_0" : "");
        put_number(group, "cpu.stat", "usage_usec %lld\n", 1000);
        put_number(group, "cpu.pressure",
                   "some avg10=0.00 avg60=0.00 avg300=0.00 total=%lld\n", waited_us);
    }
}

/* A guest next to the snapshot's job, which is the primary. */
static void make_guest(const char *primary_dir)
{
    static const char *const below[] = {"", "/step_0", "/step_0/user",
                                        "/step_0/user/task_0"};
    size_t above = (size_t)(strrchr(primary_dir, '/') - primary_dir);
    char group[PATH_MAX + 32];

    snprintf(guest_dir, sizeof(guest_dir), "%.*s/job_%d", (int)above, primary_dir,
             GUEST);
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(group, sizeof(group), "%s%s", guest_dir, below[i]);
        ck_assert_int_eq(hpcb_knob_mkdir(group, "", NULL), 0);
    }
    put_number(group, "cgroup.procs", "%lld\n", fake_task(101));
    put_figures(guest_dir, 0);
    snprintf(freezer, sizeof(freezer), "%s/" HPCB_FREEZE_KNOB, group);
    snprintf(memory_limit, sizeof(memory_limit), "%s/memory.max", guest_dir);
    snprintf(suspender, sizeof(suspender), "%s/step_0/user/" HPCB_FREEZE_KNOB,
             guest_dir);
    save_job(GUEST, HPCB_CLASS_GUEST, guest_dir);
}

static void list_task(hpcb_node_t *node)
{
    char dir[PATH_MAX];

    ck_assert_int_eq(
        hpcb_node_task_dir(node, task, HPCB_CTL_FREEZER, dir, sizeof(dir), NULL), 0);
    put_number(dir, "cgroup.procs", "%lld\n", task);
}

static void begin(void)
{
    char dir[PATH_MAX];
    hpcb_node_t *node;

    root = fake_start("real-24.11-v2");
    fake_write("proc/sys/kernel/osrelease", "6.18.0");
    ck_assert_int_eq(hpcb_knob_mkdir(root, "proc/pressure", NULL), 0);
    fake_write("proc/pressure/cpu", "some avg10=0.00 total=0\n");
    snprintf(state_dir, sizeof(state_dir), "%s/state", root);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    task = fake_task(101);
    list_task(node);
    ck_assert_int_eq(hpcb_steps_job(node, task, dir, sizeof(dir), NULL), 0);
    hpcb_node_close(node);
    put_figures(dir, 1000);
    save_job(PRIMARY, HPCB_CLASS_PRIMARY, dir);
    make_guest(dir);
    slices = hpcb_task_get(task, "slice", own_slice, sizeof(own_slice), NULL) == 0;
    page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                -1, 0);
    ck_assert(page != MAP_FAILED);
}

static void end(void)
{
    munmap(page, sizeof(*page));
    fake_stop();
}

static bool is_frozen(const char *knob)
{
    return get_file(knob)[0] == '1';
}

static bool is_stopped(void)
{
    return is_frozen(freezer);
}

static bool is_sliced(void)
{
    char slice[HPCB_TASK_TEXT_MAX];

    return slices && hpcb_task_get(task, "slice", slice, sizeof(slice), NULL) == 0 &&
           strcmp(slice, HPCB_SLICE_PRIMARY) == 0;
}

/* ---- the daemon ---- */

static hpcbd_t daemon_of_test;
static hpcb_source_t *timer;
static unsigned seed;

static unsigned random_below(unsigned limit)
{
    return (unsigned)rand_r(&seed) / 7 % limit;
}

static hpcb_guard_level_t level;

static hpcb_guard_level_t level_of(const hpcbd_job_t *guest)
{
    (void)guest;
    return level;
}

static void restrain(hpcb_guard_level_t wanted)
{
    level = wanted;
    hpcbd_restrain_guests(level == HPCB_GUARD_FREE ? NULL : level_of, true);
}

/* What a round is not about is rare: a guest that is stopped is no subject. */
static void decide(kind_t kind)
{
    unsigned what = random_below(kind < EXPERIMENT ? 600 : 6000);

    if (what < 3)
        restrain(HPCB_GUARD_HALF + random_below(3));
    else if (what == 4)
        restrain(HPCB_GUARD_FREE);
    else if (what < 10)
        hpcbd_slices_set(PRIMARY, random_below(2));
    if (random_below(1000) == 0)
        set_clock((int64_t)random_below(6000) * (int64_t)MS - 3 * SECOND);
}

/* What the kernel would say. */
static void let_guest_wait(void)
{
    static int64_t began_ns;

    if (!began_ns)
        began_ns = now_of(CLOCK_MONOTONIC);
    put_figures(guest_dir, (now_of(CLOCK_MONOTONIC) - began_ns) / 1000);
}

static void on_timer(void *arg, uint64_t what)
{
    kind_t *kind = arg;

    (void)what;
    let_guest_wait();
    decide(*kind);
    atomic_store(&page->stopped, is_stopped());
    atomic_store(&page->why, hpcbd_window_why_stopped(GUEST));
    atomic_store(&page->sliced, is_sliced());
}

static const hpcbd_part_t *const parts[] = {
    &hpcbd_window, &hpcbd_restrain, &hpcbd_slices, &hpcbd_experiment, &hpcbd_crumbs};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static int start_parts(kind_t kind)
{
    hpcb_error_t err;

    hpcb_conf_defaults(&daemon_of_test.conf);
    if (kind != CRUMBS)
        daemon_of_test.conf.guest_min_share_ppm = 0;
    snprintf(daemon_of_test.conf.state_dir, sizeof(daemon_of_test.conf.state_dir), "%s",
             state_dir);
    daemon_of_test.loop = hpcb_loop_new(&err);
    for (size_t i = 0; daemon_of_test.loop && i < PARTS; i++)
        if (parts[i]->start(&daemon_of_test, &err) < 0)
            return -1;
    return daemon_of_test.loop ? 0 : -1;
}

/* As the guard of memory has it. */
static int limit_guest(void)
{
    char lent[PATH_MAX + 16];
    hpcb_undo_t *undo;

    snprintf(lent, sizeof(lent), "%s/" HPCB_UNDO_LENT, state_dir);
    if (hpcb_undo_open(lent, GUEST, &undo, NULL) < 0 ||
        hpcb_undo_note_file(undo, memory_limit, "max", NULL) < 0)
        return -1;
    put_file(memory_limit, "1048576\n");
    return 0;
}

/* Its watchdog has this standard input, too, and nothing else of what is open. */
static void __attribute__((noreturn)) be_daemon(int input, unsigned number, kind_t kind)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    dup2(input, STDIN_FILENO);
    close(input);
    seed = number;
    begin_to_run_fast();
    if (start_parts(kind) < 0 || limit_guest() < 0)
        _exit(2);
    timer =
        hpcb_loop_timer(daemon_of_test.loop, CLOCK_MONOTONIC, on_timer, &kind, NULL);
    if (!timer)
        _exit(3);
    hpcb_timer_in(timer, MS, 40 * MS);
    hpcb_loop_run(daemon_of_test.loop, NULL);
    _exit(4);
}

/* One that starts and ends as it should. */
static void __attribute__((noreturn)) be_next_daemon(void)
{
    if (start_parts(CRUMBS) < 0)
        _exit(2);
    for (size_t i = PARTS; i-- > 0;)
        parts[i]->stop(&daemon_of_test);
    _exit(0);
}

/* ---- rounds ---- */

static bool is_stopped_for(kind_t kind)
{
    static const unsigned reasons[] = {[GUARD] = HPCBD_FREEZE_GUARD,
                                       [EXPERIMENT] = HPCBD_FREEZE_EXPERIMENT,
                                       [CRUMBS] = HPCBD_FREEZE_CRUMBS};

    return atomic_load(&page->stopped) && atomic_load(&page->why) & reasons[kind];
}

/* Until the daemon has stopped the guest, or given the primary slices: what this round
 * is about. */
static void wait_for_state(unsigned number, kind_t kind, pid_t daemon)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (kind == SLICES ? atomic_load(&page->sliced) : is_stopped_for(kind))
            return;
        ck_assert_msg(waitpid(daemon, NULL, WNOHANG) == 0, "the daemon has ended");
        sleep_us(1000);
    }
    ck_abort_msg("round %u: nothing is stopped or sliced (%u)", number, kind);
}

/* A suspend or none, and a resume or none, before the kill.  True: Slurm has the guest
 * suspended. */
static bool suspend_and_wait(kind_t kind)
{
    bool suspended = random_below(2), resumed = suspended && random_below(2);
    unsigned limit_us = kind == EXPERIMENT ? 15000 : 200000;

    if (suspended)
        put_file(suspender, "1\n");
    sleep_us((long)random_below(limit_us));
    if (resumed)
        put_file(suspender, "0\n");
    sleep_us((long)random_below(limit_us / 4));
    return suspended && !resumed;
}

static void count(bool suspended)
{
    found.sliced += atomic_load(&page->sliced);
    found.suspended += suspended;
    found.steps += atomic_load(&page->steps);
    for (kind_t kind = GUARD; kind < KINDS; kind++)
        found.stopped[kind] += kind != SLICES && is_stopped_for(kind);
}

/* Both have gone when nobody holds the other end. */
static void wait_for_watchdog(int output)
{
    struct pollfd gone = {.fd = output, .events = POLLIN};

    ck_assert_msg(poll(&gone, 1, PATIENCE) == 1, "the watchdog is still there");
}

static void run_next_daemon(void)
{
    int status;
    pid_t pid = fork();

    if (pid == 0)
        be_next_daemon();
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
}

static kind_t kind_of(unsigned number)
{
    kind_t kind = number % KINDS;

    return kind == SLICES && !slices ? GUARD : kind;
}

/* whole: the watchdog dies, too, so that it is up to the next daemon. */
static void run_round(unsigned number, bool whole)
{
    kind_t kind = kind_of(number);
    bool suspended;
    int ends[2];
    pid_t daemon;

    ck_assert_int_eq(pipe(ends), 0);
    *page = (page_t){.stopped = false};
    put_file(suspender, "0\n");
    daemon = fork();
    if (daemon == 0) {
        close(ends[0]);
        be_daemon(ends[1], number, kind);
    }
    setpgid(daemon, daemon);
    close(ends[1]);
    wait_for_state(number, kind, daemon);
    suspended = suspend_and_wait(kind);
    ck_assert_int_eq(kill(whole ? -daemon : daemon, SIGKILL), 0);
    ck_assert_int_eq(waitpid(daemon, NULL, 0), daemon);
    count(suspended);
    wait_for_watchdog(ends[0]);
    close(ends[0]);
    ck_assert_msg(whole || strcmp(get_file(memory_limit), "max") == 0,
                  "round %u: the guest keeps its limit", number);
    if (whole)
        run_next_daemon();
    ck_assert_msg(!is_stopped(), "round %u: the guest stays stopped", number);
    ck_assert_msg(!is_sliced(), "round %u: the primary keeps its slices", number);
    ck_assert_msg(is_frozen(suspender) == suspended,
                  "round %u: Slurm's own stop has changed", number);
}

static unsigned rounds(void)
{
    const char *text = getenv("HPCB_KILLS");

    return text ? (unsigned)strtoul(text, NULL, 10) : 20;
}

static void say_what_was_found(void)
{
    fprintf(stderr,
            "%u kills: while guests were stopped by guard %u, experiment %u, crumbs "
            "%u; sliced %u; suspended by Slurm %u; the clock was set %u times\n",
            rounds(), found.stopped[GUARD], found.stopped[EXPERIMENT],
            found.stopped[CRUMBS], found.sliced, found.suspended, found.steps);
}

START_TEST(whoever_is_killed_leaves_nothing_stopped)
{
    begin();
    seed = (unsigned)time(NULL);
    fprintf(stderr, "seed %u\n", seed);
    for (unsigned i = 0; i < rounds(); i++)
        run_round(i, i / KINDS % 2);
    say_what_was_found();
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kill");
    TCase *tc = scratch_case("kill");

    tcase_set_timeout(tc, 60 + 60 * rounds());
    tcase_add_test(tc, whoever_is_killed_leaves_nothing_stopped);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
