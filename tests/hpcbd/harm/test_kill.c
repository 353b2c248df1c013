/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * A daemon that stops guests for experiments, for their harm and for crumbs, and gives
 * a primary long slices, is killed at random moments: nothing stays stopped or sliced.
 * Its parts, its watchdog and its loop are the real ones, on a copy of a snapshot; the
 * primary's task is real, too.  Who decides is the test, and much faster.
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
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/favour.h"
#include "cgroup/freeze.h"
#include "cgroup/knob.h"
#include "cgroup/slices.h"
#include "cgroup/steps.h"
#include "cgroup/task.h"
#include "common/state.h"
#include "hpcbd/harm/restrain.h"
#include "hpcbd/harm/slices.h"
#include "hpcbd/windows/windows.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/scratch.h"

#define MS       UINT64_C(1000000)
#define SECOND   INT64_C(1000000000)
#define PRIMARY  4711
#define GUEST    4712
#define PATIENCE 30000 /* ms; beyond that somebody has not done his work */

/* What the daemon has done, as the test sees it, also when the daemon is dead. */
typedef struct {
    atomic_bool ready, stopped, sliced;
} page_t;

static const char *root;
static char freezer[PATH_MAX + 64], state_dir[PATH_MAX];
static pid_t task; /* of the primary */
static char own_slice[HPCB_TASK_TEXT_MAX];
static bool slices; /* this kernel has them */
static page_t *page;

int __real_hpcb_node_open(const char *path, hpcb_node_t **node, hpcb_error_t *err);
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

static int64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * SECOND + now.tv_nsec;
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

/* A guest next to the snapshot's job, which is the primary. */
static void make_guest(const char *primary_dir)
{
    static const char *const below[] = {"", "/step_0", "/step_0/user",
                                        "/step_0/user/task_0"};
    size_t above = (size_t)(strrchr(primary_dir, '/') - primary_dir);
    char dir[PATH_MAX], group[PATH_MAX + 32];

    snprintf(dir, sizeof(dir), "%.*s/job_%d", (int)above, primary_dir, GUEST);
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(group, sizeof(group), "%s%s", dir, below[i]);
        ck_assert_int_eq(hpcb_knob_mkdir(group, "", NULL), 0);
    }
    snprintf(freezer, sizeof(freezer), "%s/step_0/user/task_0/" HPCB_FREEZE_KNOB, dir);
    save_job(GUEST, HPCB_CLASS_GUEST, dir);
}

static void list_task(hpcb_node_t *node)
{
    char dir[PATH_MAX], path[PATH_MAX + 16];
    FILE *procs;

    ck_assert_int_eq(
        hpcb_node_task_dir(node, task, HPCB_CTL_FREEZER, dir, sizeof(dir), NULL), 0);
    snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
    procs = fopen(path, "w");
    ck_assert_ptr_nonnull(procs);
    fprintf(procs, "%d\n", (int)task);
    ck_assert_int_eq(fclose(procs), 0);
}

static void begin(void)
{
    char dir[PATH_MAX];
    hpcb_node_t *node;

    root = fake_start("real-24.11-v2");
    fake_write("proc/sys/kernel/osrelease", "6.18.0");
    snprintf(state_dir, sizeof(state_dir), "%s/state", root);
    ck_assert_int_eq(hpcb_node_open(root, &node, NULL), 0);
    task = fake_task(101);
    list_task(node);
    ck_assert_int_eq(hpcb_steps_job(node, task, dir, sizeof(dir), NULL), 0);
    hpcb_node_close(node);
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

static bool is_stopped(void)
{
    return strcmp(get_file(freezer), "1") == 0 || strcmp(get_file(freezer), "1\n") == 0;
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

/* As experiments and crumbs do it. */
static void toggle(hpcbd_freeze_reason_t reason, hpcbd_watchdog_deadline_t deadline)
{
    if (random_below(2)) {
        hpcbd_window_decide_by(deadline, now_ns() + 5 * SECOND);
        hpcbd_window_stop_guest(GUEST, reason);
        return;
    }
    hpcbd_window_let_guest_go(GUEST, reason);
    hpcbd_window_decide_by(deadline, 0);
}

static void decide(void)
{
    unsigned what = random_below(600);

    if (what == 0)
        restrain(HPCB_GUARD_HALF + random_below(3));
    else if (what == 1)
        restrain(HPCB_GUARD_FREE);
    else if (what < 6)
        hpcbd_slices_set(PRIMARY, random_below(2));
    else if (what < 400)
        toggle(HPCBD_FREEZE_EXPERIMENT, HPCBD_WATCHDOG_EXPERIMENT);
    else
        toggle(HPCBD_FREEZE_CRUMBS, HPCBD_WATCHDOG_GUESTS);
}

static void on_timer(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    if (seed % 3 == 0 && !atomic_load(&page->ready))
        restrain(HPCB_GUARD_STOP); /* takes a turn of half a second */
    decide();
    atomic_store(&page->stopped, is_stopped());
    atomic_store(&page->sliced, is_sliced());
    atomic_store(&page->ready, true);
}

static const hpcbd_part_t *const parts[] = {&hpcbd_window, &hpcbd_restrain,
                                            &hpcbd_slices};
#define PARTS (sizeof(parts) / sizeof(parts[0]))

static int start_parts(void)
{
    hpcb_error_t err;

    hpcb_conf_defaults(&daemon_of_test.conf);
    snprintf(daemon_of_test.conf.state_dir, sizeof(daemon_of_test.conf.state_dir), "%s",
             state_dir);
    daemon_of_test.loop = hpcb_loop_new(&err);
    for (size_t i = 0; daemon_of_test.loop && i < PARTS; i++)
        if (parts[i]->start(&daemon_of_test, &err) < 0)
            return -1;
    return daemon_of_test.loop ? 0 : -1;
}

/* Its watchdog has this standard input, too, and nothing else of what is open. */
static void __attribute__((noreturn)) be_daemon(int input, unsigned number)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setpgid(0, 0);
    dup2(input, STDIN_FILENO);
    close(input);
    seed = number;
    if (start_parts() < 0)
        _exit(2);
    timer = hpcb_loop_timer(daemon_of_test.loop, CLOCK_MONOTONIC, on_timer, NULL, NULL);
    if (!timer)
        _exit(3);
    hpcb_timer_in(timer, MS, 2 * MS);
    hpcb_loop_run(daemon_of_test.loop, NULL);
    _exit(4);
}

/* One that starts and ends as it should. */
static void __attribute__((noreturn)) be_next_daemon(void)
{
    if (start_parts() < 0)
        _exit(2);
    for (size_t i = PARTS; i-- > 0;)
        parts[i]->stop(&daemon_of_test);
    _exit(0);
}

/* ---- rounds ---- */

/* Until the daemon has stopped the guest, or given the primary slices: what this round
 * is about. */
static void wait_for_state(unsigned number, pid_t daemon)
{
    bool wants_slices = slices && number % 2;

    for (int i = 0; i < PATIENCE; i++) {
        if (atomic_load(&page->ready) &&
            (wants_slices ? atomic_load(&page->sliced) : atomic_load(&page->stopped)))
            return;
        ck_assert_msg(waitpid(daemon, NULL, WNOHANG) == 0, "the daemon has ended");
        sleep_us(1000);
    }
    ck_abort_msg("round %u: nothing is stopped or sliced", number);
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

/* whole: the watchdog dies, too, so that it is up to the next daemon. */
static void run_round(unsigned number, bool whole)
{
    int ends[2];
    pid_t daemon;

    ck_assert_int_eq(pipe(ends), 0);
    *page = (page_t){false, false, false};
    daemon = fork();
    if (daemon == 0) {
        close(ends[0]);
        be_daemon(ends[1], number);
    }
    setpgid(daemon, daemon);
    close(ends[1]);
    wait_for_state(number, daemon);
    sleep_us((long)random_below(700000));
    ck_assert_int_eq(kill(whole ? -daemon : daemon, SIGKILL), 0);
    ck_assert_int_eq(waitpid(daemon, NULL, 0), daemon);
    wait_for_watchdog(ends[0]);
    close(ends[0]);
    if (whole)
        run_next_daemon();
    ck_assert_msg(!is_stopped(), "round %u: the guest stays stopped", number);
    ck_assert_msg(!is_sliced(), "round %u: the primary keeps its slices", number);
}

static unsigned rounds(void)
{
    const char *text = getenv("HPCB_KILLS");

    return text ? (unsigned)strtoul(text, NULL, 10) : 20;
}

START_TEST(whoever_is_killed_leaves_nothing_stopped)
{
    begin();
    seed = (unsigned)time(NULL);
    fprintf(stderr, "seed %u\n", seed);
    for (unsigned i = 0; i < rounds(); i++)
        run_round(i, i % 4 > 1);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("kill");
    TCase *tc = scratch_case("kill");

    tcase_set_timeout(tc, 60 + 30 * rounds());
    tcase_add_test(tc, whoever_is_killed_leaves_nothing_stopped);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
