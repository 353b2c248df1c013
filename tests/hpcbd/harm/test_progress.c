/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * What is read of a primary's progress (hpcbd/harm/progress.c, pages.c), on a copy of a
 * snapshot, with pages that the test writes as ranks do or as a hostile user would, and
 * with counters and a clock of its own: no machine that it runs on need have any.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "cgroup/knob.h"
#include "cgroup/steps.h"
#include "common/file.h"
#include "common/log.h"
#include "common/page.h"
#include "common/ranks.h"
#include "hpcbd/harm/pages.h"
#include "hpcbd/harm/progress.h"
#include "sensor/counters.h"
#include "sensor/stat.h"
#include "tests/cgroup/fake_kernel.h"
#include "tests/common/scratch.h"

#define SLURM_DIR "sys/fs/cgroup/system.slice/slurmstepd.scope"
#define JOB_DIR   SLURM_DIR "/job_4"
#define STEP      JOB_DIR "/step_0/user"
#define JOB       4
#define RANKS     2
#define MS        UINT64_C(1000000)
#define NOW       (UINT64_C(5000) * MS) /* ns */

static const char *root;
static hpcb_node_t *node;
static hpcbd_job_t primary;
static hpcbd_progress_t *progress;
static hpcb_ranks_t ranks;
static char state_dir[PATH_MAX];
static bool counts; /* the node has counters */
static long long count;
static int sets, opened;
static uint64_t clock_ns;
static uint64_t read_ns; /* what it takes to read a counter */
static bool going_on;    /* the ranks publish meanwhile */
static hpcbd_registry_t registry;
static const hpcbd_job_t *far_guest; /* it shares no core with the primary */
static char last_line[256];

bool hpcbd_near_shares(hpcbd_near_t *near, const hpcbd_job_t *a, const hpcbd_job_t *b)
{
    ck_assert_ptr_null(near);
    ck_assert_uint_eq(a->state.job_id, JOB);
    return b != far_guest;
}

/* The primary has a cpuset. */
static bool constrained = true;

int __wrap_hpcb_steps_cpus(const hpcb_node_t *at, const char *dir, hpcb_cpus_t *cpus);
int __wrap_hpcb_steps_cpus(const hpcb_node_t *at, const char *dir, hpcb_cpus_t *cpus)
{
    (void)at;
    (void)dir;
    (void)cpus;
    return constrained ? 0 : -1;
}

static void keep_line(hpcb_log_level_t level, const char *line)
{
    (void)level;
    snprintf(last_line, sizeof(last_line), "%s", line);
}

static int start_fake(hpcb_error_t *err)
{
    return counts ? 0 : hpcb_error(err, "no counters");
}

static int open_fake(const char *const *names, size_t n, pid_t tid, hpcb_error_t *err)
{
    (void)tid;
    (void)err;
    ck_assert_uint_eq(n, 1);
    ck_assert_str_eq(names[0], "PAPI_TOT_INS");
    opened++;
    return sets++;
}

static void say_at(unsigned rank, uint64_t iterations, uint64_t ended_ns);

static int read_fake(int set, long long *values, hpcb_error_t *err)
{
    (void)set;
    (void)err;
    values[0] = count;
    clock_ns += read_ns;
    for (unsigned i = 0; going_on && i < RANKS; i++)
        say_at(i, (clock_ns - NOW) / (4 * MS), clock_ns);
    return 0;
}

static void close_fake(int set)
{
    (void)set;
    sets--;
}

static const hpcb_counters_t fake = {start_fake, open_fake, read_fake, close_fake};

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    now->tv_sec = (time_t)(clock_ns / 1000000000);
    now->tv_nsec = (long)(clock_ns % 1000000000);
    return 0;
}

static void make_dir(const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", root, name);
    ck_assert_int_eq(hpcb_knob_mkdir(path, "", NULL), 0);
}

static const char *page_path(unsigned rank)
{
    char name[32];

    snprintf(name, sizeof(name), "pages/n.%u", rank);
    return scratch(name);
}

static void make_page(unsigned rank)
{
    int fd = hpcb_page_create(AT_FDCWD, page_path(rank), geteuid(), getegid());

    ck_assert_int_ge(fd, 0);
    close(fd);
}

/* So many iterations of 4 ms each. */
static void say_at(unsigned rank, uint64_t iterations, uint64_t ended_ns)
{
    const hpcb_page_t page = {.magic = HPCB_PAGE_MAGIC,
                              .version = HPCB_PAGE_VERSION,
                              .size = HPCB_PAGE_SIZE,
                              .period = 3,
                              .iterations = iterations,
                              .samples = 1,
                              .mean_ns = 4 * MS,
                              .ended_ns = ended_ns};
    int fd = open(page_path(rank), O_WRONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, &page, sizeof(page), 0), (int)sizeof(page));
    close(fd);
}

/* The last of them ended ago_ms ago. */
static void say(unsigned rank, uint64_t iterations, uint64_t ago_ms)
{
    say_at(rank, iterations, NOW - ago_ms * MS);
}

static void put_step(const char *step)
{
    snprintf(ranks.step, sizeof(ranks.step), "%s", step);
    ck_assert_int_eq(hpcb_ranks_save(scratch("state"), &ranks, NULL), 0);
}

static void put_usage(unsigned used, unsigned waited)
{
    char text[96];

    snprintf(text, sizeof(text), "usage_usec %u\n", used);
    fake_write(JOB_DIR "/cpu.stat", text);
    snprintf(text, sizeof(text), "some avg10=0.00 total=%u\nfull total=0\n", waited);
    fake_write(STEP "/task_0/cpu.pressure", text);
}

static void begin(void)
{
    hpcb_error_t err;

    root = fake_start("v2-slurm22");
    ck_assert_msg(hpcb_node_open(root, &node, &err) == 0, "%s", err.text);
    primary.state = (hpcb_job_state_t){
        .job_id = JOB, .uid = geteuid(), .klass = HPCB_CLASS_PRIMARY, .begin_us = 1};
    snprintf(primary.dir, sizeof(primary.dir), "%s/%s", root, JOB_DIR);
    make_dir(STEP "/task_0");
    fake_write(STEP "/task_0/cgroup.threads", "100\n101\n");
    make_dir("proc/pressure");
    fake_write("proc/pressure/cpu", "some total=0\n");
    put_usage(1000, 10);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("state/jobs"), 0755, NULL), 0);
    ck_assert_int_eq(hpcb_file_mkdirs(scratch("pages"), 0755, NULL), 0);
    ranks = (hpcb_ranks_t){.job_id = JOB, .policy = "lb", .cpus = RANKS, .n = RANKS};
    snprintf(ranks.page, sizeof(ranks.page), "%s", scratch("pages/n"));
    for (unsigned i = 0; i < RANKS; i++)
        ranks.task[i] = (hpcb_ranks_task_t){100 + (pid_t)i, 1};
    hpcb_counters_use(&fake);
    sets = opened = 0;
    clock_ns = NOW;
    read_ns = 0;
    going_on = false;
    snprintf(state_dir, sizeof(state_dir), "%s", scratch("state"));
    registry.count = 0;
    constrained = true;
    last_line[0] = '\0';
    hpcb_log_set_sink(keep_line);
    progress = hpcbd_progress_new(node, state_dir, &err);
    ck_assert_ptr_nonnull(progress);
}

static void with_pages(void)
{
    begin();
    put_step("0");
    for (unsigned i = 0; i < RANKS; i++) {
        make_page(i);
        say(i, 100, 0);
    }
}

static void end(void)
{
    hpcbd_progress_free(progress);
    ck_assert_int_eq(sets, 0);
    hpcb_counters_use(NULL);
    hpcb_node_close(node);
    fake_stop();
}

static hpcb_progress_at_t reading(void)
{
    hpcb_progress_at_t at;

    ck_assert_int_eq(hpcbd_progress_read(progress, &at), 0);
    return at;
}

static bool has_iterations(void)
{
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    return reading().has_iterations;
}

START_TEST(without_pages_and_counters_there_is_run_delay)
{
    hpcb_progress_at_t at;

    begin();
    ck_assert_str_eq(last_line, "");
    ck_assert_int_eq(hpcbd_progress_read(progress, &at), -1);
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    put_usage(5000, 300);
    at = reading();
    ck_assert_uint_eq(at.cpu_us, 5000);
    ck_assert(at.has_delay);
    ck_assert_uint_eq(at.delay_us, 300);
    ck_assert_uint_eq(at.time_us, NOW / 1000);
    ck_assert(!at.has_instructions && !at.has_iterations);
    end();
}
END_TEST

/* The method falls to the next one. */
START_TEST(without_pressure_there_is_no_run_delay)
{
    hpcb_progress_at_t at;
    hpcb_error_t err;

    begin();
    hpcbd_progress_free(progress);
    ck_assert_int_eq(hpcb_knob_rmdir(root, "proc/pressure", NULL), 0);
    progress = hpcbd_progress_new(node, state_dir, &err);
    ck_assert_str_eq(last_line,
                     "what guests cost primaries is measured without run delay: this "
                     "kernel accounts no pressure (boot it with psi=1)");
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    at = reading();
    ck_assert_uint_eq(at.cpu_us, 1000);
    ck_assert(!at.has_delay);
    end();
}
END_TEST

/* A primary with two threads. */
static hpcbd_job_t another(uint32_t job_id)
{
    static const char *const below[] = {"", "/step_0", "/step_0/user",
                                        "/step_0/user/task_0"};
    hpcbd_job_t job = primary;
    char name[PATH_MAX];

    job.state.job_id = job_id;
    for (size_t i = 0; i < sizeof(below) / sizeof(below[0]); i++) {
        snprintf(name, sizeof(name), SLURM_DIR "/job_%u%s", job_id, below[i]);
        make_dir(name);
    }
    snprintf(job.dir, sizeof(job.dir), "%s/" SLURM_DIR "/job_%u", root, job_id);
    snprintf(name, sizeof(name), SLURM_DIR "/job_%u/step_0/user/task_0/cgroup.threads",
             job_id);
    fake_write(name, "300\n301\n");
    snprintf(name, sizeof(name), SLURM_DIR "/job_%u/cpu.stat", job_id);
    fake_write(name, "usage_usec 77\n");
    snprintf(name, sizeof(name), SLURM_DIR "/job_%u/step_0/user/task_0/cpu.pressure",
             job_id);
    fake_write(name, "some avg10=0.00 total=5\nfull total=0\n");
    return job;
}

static hpcbd_job_t *guest_of(uint32_t job_id)
{
    static hpcbd_job_t guests[8];
    hpcbd_job_t *guest = &guests[registry.count];

    *guest = another(job_id);
    guest->state.klass = HPCB_CLASS_GUEST;
    registry.jobs[registry.count++] = guest;
    return guest;
}

static void guest_used(uint32_t job_id, unsigned us)
{
    char name[PATH_MAX], text[64];

    snprintf(name, sizeof(name), SLURM_DIR "/job_%u/cpu.stat", job_id);
    snprintf(text, sizeof(text), "usage_usec %u\n", us);
    fake_write(name, text);
}

static void expect_guests(const hpcb_progress_at_t *from, unsigned all, unsigned near)
{
    hpcb_progress_at_t now = reading();

    ck_assert(from->has_guests && now.has_guests);
    ck_assert_uint_eq(now.guests_us - from->guests_us, all);
    ck_assert_uint_eq(now.near_us - from->near_us, near);
}

START_TEST(guests_can_have_taken_what_they_used)
{
    hpcb_progress_at_t from;

    begin();
    guest_of(5);
    far_guest = guest_of(6);
    registry.jobs[registry.count++] = &primary;
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    from = reading();
    put_usage(900000, 0);
    guest_used(5, 77 + 30);
    guest_used(6, 77 + 500);
    expect_guests(&from, 530, 30);
    /* Without cpusets nothing keeps a guest on its cores. */
    constrained = false;
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    from = reading();
    guest_used(6, 77 + 600);
    expect_guests(&from, 100, 100);
    end();
}
END_TEST

/* An allocation without tasks uses nothing, and its first task is seen; of tasks that
 * cannot be read nobody knows. */
START_TEST(a_guest_without_tasks_uses_nothing)
{
    hpcb_progress_at_t from;
    hpcbd_job_t *guest;
    char stat[PATH_MAX];

    begin();
    guest = guest_of(5);
    snprintf(stat, sizeof(stat), "%s/cpu.stat", guest->dir);
    ck_assert_int_eq(unlink(stat), 0);
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    from = reading();
    guest_used(5, 40);
    expect_guests(&from, 40, 40);
    ck_assert_int_eq(unlink(stat), 0);
    fake_write(SLURM_DIR "/job_5/step_0/user/task_0/cgroup.procs", "300\n");
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    ck_assert(!reading().has_guests);
    /* It is marked only, and its place is not known. */
    guest_used(5, 40);
    guest->dir[0] = '\0';
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    ck_assert(reading().has_guests);
    guest->marked = true;
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    ck_assert(!reading().has_guests);
    end();
}
END_TEST

START_TEST(ranks_count_iterations_in_their_pages)
{
    with_pages();
    say(0, 1000, 0);
    say(1, 2000, 40);
    ck_assert(has_iterations());
    /* The mean; of the second ten more must have passed. */
    ck_assert_double_eq_tol(reading().iterations, 1505, 1e-6);
    end();
}
END_TEST

/* One that is silent: nobody knows how far the job is. */
START_TEST(a_rank_that_is_silent)
{
    with_pages();
    ck_assert(has_iterations());
    say(1, 100, 150);
    ck_assert(!has_iterations());
    say(1, 101, 0);
    ck_assert(has_iterations());
    end();
}
END_TEST

static void spoil(const void *bytes, size_t size, off_t at)
{
    int fd = open(page_path(1), O_WRONLY);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(pwrite(fd, bytes, size, at), (int)size);
    close(fd);
}

START_TEST(what_cannot_be_is_not_heard)
{
    const uint64_t odd = 1, none = 0, late = UINT64_MAX;

    with_pages();
    ck_assert(has_iterations());
    spoil(&odd, sizeof(odd), offsetof(hpcb_page_t, sequence));
    ck_assert(!has_iterations());
    say(1, 100, 0);
    spoil(&none, sizeof(none), offsetof(hpcb_page_t, period));
    ck_assert(!has_iterations());
    say(1, 100, 0);
    spoil(&late, sizeof(late), offsetof(hpcb_page_t, ended_ns));
    ck_assert(!has_iterations());
    say(1, 100, 0);
    ck_assert(has_iterations());
    ck_assert_int_eq(truncate(page_path(1), 10), 0);
    ck_assert(!reading().has_iterations);
    end();
}
END_TEST

START_TEST(a_page_of_somebody_else_is_not_heard)
{
    with_pages();
    primary.state.uid = geteuid() + 1;
    ck_assert(!has_iterations());
    primary.state.uid = geteuid();
    ck_assert_int_eq(unlink(page_path(1)), 0);
    ck_assert_int_eq(symlink(page_path(0), page_path(1)), 0);
    ck_assert(!has_iterations());
    end();
}
END_TEST

/* Which of them is the job's progress nobody knows. */
START_TEST(two_steps_say_nothing)
{
    with_pages();
    put_step("1");
    ck_assert(!has_iterations());
    ck_assert_int_eq(hpcb_ranks_remove(scratch("state"), JOB, "1", NULL), 0);
    ck_assert(has_iterations());
    ranks.page[0] = '\0';
    put_step("1");
    ck_assert(has_iterations());
    end();
}
END_TEST

static void with_ranks(unsigned n)
{
    begin();
    ranks.n = n;
    for (unsigned i = 0; i < ranks.n; i++) {
        ranks.task[i] = (hpcb_ranks_task_t){100 + (pid_t)i, 1};
        make_page(i);
        say(i, i, 0);
    }
    put_step("0");
}

/* While others are read: each has published since the clock was, one after the other.
 */
START_TEST(ranks_go_on_while_they_are_read)
{
    static hpcbd_pages_t pages;
    double iterations;

    with_ranks(HPCBD_PAGES_MAX);
    for (unsigned i = 0; i < ranks.n; i++)
        say_at(i, 1000, NOW + i * MS);
    hpcbd_pages_open(&pages, scratch("state"), &primary);
    ck_assert(hpcbd_pages_read(&pages, NOW, &iterations));
    ck_assert_double_eq_tol(iterations, 1000 - (HPCBD_PAGES_MAX - 1) / 8.0, 1e-6);
    say_at(1, 1000, NOW + 101 * MS);
    ck_assert(!hpcbd_pages_read(&pages, NOW, &iterations));
    hpcbd_pages_close(&pages);
    end();
}
END_TEST

/* Counters of many threads take their time, in which ranks publish. */
START_TEST(the_clock_goes_on_while_counters_are_read)
{
    hpcb_progress_at_t at;

    counts = true;
    with_pages();
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    going_on = true;
    read_ns = 60 * MS;
    for (unsigned i = 1; i <= 4; i++) {
        at = reading();
        ck_assert(at.has_iterations && at.has_instructions);
        ck_assert_uint_eq(at.time_us, (NOW + i * 120 * MS) / 1000);
        ck_assert_double_eq_tol(at.iterations, i * 30, 1e-6);
    }
    end();
}
END_TEST

START_TEST(many_ranks_are_read_in_part)
{
    static hpcbd_pages_t pages;
    double iterations;

    with_ranks(2 * HPCBD_PAGES_MAX);
    hpcbd_pages_open(&pages, scratch("state"), &primary);
    ck_assert_uint_eq(pages.n, HPCBD_PAGES_MAX);
    ck_assert(hpcbd_pages_read(&pages, NOW, &iterations));
    /* Every other rank. */
    ck_assert_double_eq_tol(iterations, HPCBD_PAGES_MAX - 1, 1e-6);
    hpcbd_pages_close(&pages);
    end();
}
END_TEST

START_TEST(threads_count_instructions)
{
    hpcb_progress_at_t at;

    counts = true;
    begin();
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    ck_assert_int_eq(sets, 2);
    count = 5000;
    at = reading();
    ck_assert(at.has_instructions);
    ck_assert_uint_eq(at.instructions, 10000);
    /* A task that has come since the last experiment. */
    make_dir(STEP "/task_1");
    fake_write(STEP "/task_1/cgroup.threads", "200\n");
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    ck_assert_int_eq(sets, 3);
    ck_assert_uint_eq(reading().instructions, 15000);
    /* A run of the job that is another one. */
    primary.state.begin_us++;
    opened = 0;
    ck_assert_int_eq(hpcbd_progress_begin(progress, &primary, 0, &registry, NULL), 0);
    ck_assert_int_ge(opened, 3);
    ck_assert_int_eq(sets, 3);
    end();
}
END_TEST

/* How many counters are opened for the job's next experiment. */
static int opened_for(const hpcbd_job_t *job)
{
    opened = 0;
    ck_assert_int_eq(hpcbd_progress_begin(progress, job, 0, &registry, NULL), 0);
    return opened;
}

/* To attach to each thread anew in each experiment of each would keep hpcbd busy. */
START_TEST(primaries_keep_their_counters)
{
    hpcbd_job_t second;

    counts = true;
    begin();
    second = another(5);
    ck_assert_int_ge(opened_for(&primary), 2);
    ck_assert_int_ge(opened_for(&second), 2);
    ck_assert_int_eq(sets, 4);
    ck_assert_int_eq(opened_for(&primary), 0);
    ck_assert_uint_eq(reading().cpu_us, 1000);
    ck_assert_int_eq(opened_for(&second), 0);
    ck_assert_uint_eq(reading().cpu_us, 77);
    /* One after the other at the same moment. */
    ck_assert_int_eq(hpcbd_progress_select(progress, 4), 0);
    ck_assert_uint_eq(reading().cpu_us, 1000);
    ck_assert_int_eq(hpcbd_progress_select(progress, 5), 0);
    ck_assert_uint_eq(reading().cpu_us, 77);
    ck_assert_int_eq(hpcbd_progress_select(progress, 6), -1);
    /* Until one goes. */
    hpcbd_progress_end(progress, 4);
    ck_assert_int_eq(sets, 2);
    ck_assert_uint_eq(reading().cpu_us, 77);
    hpcbd_progress_end(progress, 5);
    hpcbd_progress_end(progress, 6);
    ck_assert_int_eq(sets, 0);
    ck_assert_int_eq(hpcbd_progress_read(progress, &(hpcb_progress_at_t){0}), -1);
    end();
}
END_TEST

/* Each has the pages that it had when it was begun. */
START_TEST(pages_are_of_the_job_that_is_read)
{
    hpcbd_job_t second;

    with_pages();
    second = another(5);
    ck_assert(has_iterations());
    ck_assert_int_eq(hpcbd_progress_begin(progress, &second, 1, &registry, NULL), 0);
    ck_assert(!reading().has_iterations);
    ck_assert_int_eq(hpcbd_progress_select(progress, 4), 0);
    ck_assert(reading().has_iterations);
    end();
}
END_TEST

/* Whoever has had no experiment for longest makes room. */
START_TEST(so_many_keep_their_counters)
{
    hpcbd_job_t job[HPCBD_PROGRESS_JOBS + 1];

    counts = true;
    begin();
    for (uint32_t i = 0; i <= HPCBD_PROGRESS_JOBS; i++) {
        job[i] = another(10 + i);
        ck_assert_int_ge(opened_for(&job[i]), 2);
        ck_assert_int_eq(opened_for(&job[0]), 0);
    }
    ck_assert_int_eq(sets, 2 * HPCBD_PROGRESS_JOBS);
    ck_assert_int_eq(opened_for(&job[HPCBD_PROGRESS_JOBS]), 0);
    ck_assert_int_ge(opened_for(&job[1]), 2);
    ck_assert_int_eq(sets, 2 * HPCBD_PROGRESS_JOBS);
    end();
}
END_TEST

/* Files for counters are bounded: what a primary of many threads keeps, others have
 * not. So what is kept goes as soon as one of them lacks some. */
START_TEST(nobody_is_deprived_of_counters)
{
    const size_t others = HPCB_STAT_FILES_MAX - 4;
    hpcbd_job_t second;

    counts = true;
    begin();
    second = another(5);
    ck_assert_int_eq(hpcb_stat_take(others, NULL), 0);
    ck_assert_int_ge(opened_for(&primary), 2);
    for (int i = 0; i < 3; i++) {
        ck_assert_int_ge(opened_for(&second), 2);
        ck_assert(reading().has_instructions);
        ck_assert_int_ge(opened_for(&primary), 2);
        ck_assert(reading().has_instructions);
        ck_assert_int_eq(sets, 2);
    }
    hpcb_stat_give(others);
    end();
}
END_TEST

/* Nor later, when one has started another task.  Who has too many in any case is not
 * tried again and again. */
START_TEST(who_starts_more_tasks_makes_room)
{
    const size_t others = HPCB_STAT_FILES_MAX - 6;
    hpcbd_job_t second;

    counts = true;
    begin();
    second = another(5);
    ck_assert_int_eq(hpcb_stat_take(others, NULL), 0);
    ck_assert_int_ge(opened_for(&second), 2);
    ck_assert_int_ge(opened_for(&primary), 2);
    ck_assert_int_eq(sets, 4);
    make_dir(STEP "/task_1");
    fake_write(STEP "/task_1/cgroup.threads", "200\n");
    opened_for(&primary);
    ck_assert(!reading().has_instructions);
    ck_assert_int_ge(opened_for(&primary), 3);
    ck_assert(reading().has_instructions);
    ck_assert_int_eq(sets, 3);
    make_dir(STEP "/task_2");
    fake_write(STEP "/task_2/cgroup.threads", "400\n401\n402\n");
    for (int i = 0; i < 2; i++) {
        opened_for(&primary);
        ck_assert(!reading().has_instructions);
    }
    ck_assert_int_eq(opened_for(&primary), 0);
    ck_assert(!reading().has_instructions);
    hpcb_stat_give(others);
    end();
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("harm_progress");
    TCase *tc = scratch_case("harm_progress");

    tcase_add_test(tc, without_pages_and_counters_there_is_run_delay);
    tcase_add_test(tc, without_pressure_there_is_no_run_delay);
    tcase_add_test(tc, guests_can_have_taken_what_they_used);
    tcase_add_test(tc, a_guest_without_tasks_uses_nothing);
    tcase_add_test(tc, ranks_count_iterations_in_their_pages);
    tcase_add_test(tc, a_rank_that_is_silent);
    tcase_add_test(tc, what_cannot_be_is_not_heard);
    tcase_add_test(tc, a_page_of_somebody_else_is_not_heard);
    tcase_add_test(tc, two_steps_say_nothing);
    tcase_add_test(tc, ranks_go_on_while_they_are_read);
    tcase_add_test(tc, the_clock_goes_on_while_counters_are_read);
    tcase_add_test(tc, many_ranks_are_read_in_part);
    tcase_add_test(tc, threads_count_instructions);
    tcase_add_test(tc, primaries_keep_their_counters);
    tcase_add_test(tc, pages_are_of_the_job_that_is_read);
    tcase_add_test(tc, so_many_keep_their_counters);
    tcase_add_test(tc, nobody_is_deprived_of_counters);
    tcase_add_test(tc, who_starts_more_tasks_makes_room);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
