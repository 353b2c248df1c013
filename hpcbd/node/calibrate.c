/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Measurement of a node by itself: a child process runs `hpcbctl calibrate` while the
 * node has no job and nothing else runs, and kills it as soon as a job starts.  That
 * takes a few seconds per boot.  It checks for such a time once a minute, which costs
 * nothing; a disturbed measurement is retried after a minute, then after twice the
 * time, up to an hour.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup/node.h"
#include "common/log.h"
#include "hpcbd/node/capacity.h"
#include "hpcbd/node/quiet.h"
#include "hpcbd/worker.h"
#include "policy/cpus.h"
#include "sensor/idle.h"

/* The node's work immediately after its boot would disturb the measurement. */
#define FIRST_SECONDS 30
#define RETRY_SECONDS 60
#define RETRY_MAX     3600
#define BUSY_MAX      600 /* between two checks for other load */

/* Time for which the node must have been idle. */
#define QUIET_SECONDS 10

/* Delay between the prolog of a job and the end of the measurement. */
#define LOOK_MS 20

#define LIMIT_SECONDS 30
#define OUTPUT_BYTES  8192

static void sleep_seconds(unsigned seconds)
{
    struct timespec left = {.tv_sec = seconds};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static void __attribute__((noreturn)) calibrate(int out, pid_t parent)
{
    static const struct sched_param idle;
    hpcb_cpus_t all;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    sched_setscheduler(0, SCHED_IDLE, &idle);
    /* A site may keep its daemons on a few CPUs. */
    memset(&all, 0xff, sizeof(all));
    sched_setaffinity(0, sizeof(all), (cpu_set_t *)&all);
    /* Its progress output is for terminals. */
    if (getppid() != parent || dup2(out, STDOUT_FILENO) < 0 ||
        dup2(null, STDERR_FILENO) < 0)
        _exit(EXIT_FAILURE);
    execl(HPCBD_HPCBCTL, "hpcbctl", "calibrate", "--json", "--seconds", "2", NULL);
    _exit(EXIT_FAILURE);
}

/* Take what comes into text, until its end.  0, or -1 with err: a job came, or it takes
 * too long. */
static int listen_to(int fd, const char *state_dir, char text[static OUTPUT_BYTES],
                     hpcb_error_t *err)
{
    struct pollfd from = {.fd = fd, .events = POLLIN};
    size_t length = 0;
    ssize_t n = 1;

    for (int ms = 0; n != 0; ms += LOOK_MS) {
        if (hpcbd_has_jobs(state_dir))
            return hpcb_error(err, "a job has come");
        if (ms > LIMIT_SECONDS * 1000 || length >= OUTPUT_BYTES - 1)
            return hpcb_error(err, "it has not ended");
        if (poll(&from, 1, LOOK_MS) <= 0)
            continue;
        n = read(fd, text + length, OUTPUT_BYTES - 1 - length);
        if (n < 0)
            return hpcb_error(err, "%s", strerror(errno));
        length += (size_t)n;
    }
    text[length] = '\0';
    return 0;
}

/* For a while, in which this process sleeps. */
static bool others_work(const hpcb_node_t *node)
{
    static hpcb_idle_t before, after;

    if (hpcb_idle_read(node, &before, NULL) < 0)
        return true;
    sleep_seconds(QUIET_SECONDS);
    return hpcb_idle_read(node, &after, NULL) < 0 || hpcbd_is_busy(&before, &after);
}

/* The check takes CPU time, so it is less frequent while there is other load. */
static void wait_until_idle(const hpcb_node_t *node, const char *state_dir)
{
    unsigned pause = RETRY_SECONDS;

    for (;;) {
        if (hpcbd_has_jobs(state_dir)) {
            sleep_seconds(RETRY_SECONDS);
            continue;
        }
        if (!others_work(node))
            return;
        sleep_seconds(pause);
        pause = 2 * pause < BUSY_MAX ? 2 * pause : BUSY_MAX;
    }
}

static int measure(const char *state_dir, hpcbd_capacity_t *capacity, hpcb_error_t *err)
{
    char text[OUTPUT_BYTES];
    pid_t self = getpid(), child;
    int ends[2], status;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return hpcb_error(err, "%s", strerror(errno));
    child = fork();
    if (child == 0)
        calibrate(ends[1], self);
    close(ends[1]);
    status = child < 0 ? hpcb_error(err, "%s", strerror(errno))
                       : listen_to(ends[0], state_dir, text, err);
    close(ends[0]);
    if (child > 0) {
        kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
            ;
    }
    return status == 0 ? hpcbd_capacity_parse(text, capacity, err) : -1;
}

/* Hardware changes while a node is up: CPUs go offline, memory is plugged in. */
static bool is_measured(const char *state_dir)
{
    hpcbd_capacity_t capacity;

    hpcbd_capacity_load(state_dir, &capacity);
    return capacity.mem > 0;
}

static void measure_until_done(const hpcb_node_t *node, const char *state_dir)
{
    unsigned pause = RETRY_SECONDS;
    hpcbd_capacity_t capacity = {0};
    hpcb_error_t err;

    wait_until_idle(node, state_dir);
    while (measure(state_dir, &capacity, &err) < 0 ||
           hpcbd_capacity_save(state_dir, &capacity, &err) < 0) {
        hpcb_log(HPCB_LOG_DEBUG, "this node is not measured yet: %s", err.text);
        sleep_seconds(pause);
        pause = 2 * pause < RETRY_MAX ? 2 * pause : RETRY_MAX;
        wait_until_idle(node, state_dir);
    }
    hpcb_log(HPCB_LOG_INFO, "this node transfers %.2f GB/s to and from memory",
             (double)capacity.mem * 1e-9);
}

static int work(void *arg)
{
    const hpcb_conf_t *conf = arg;
    hpcb_node_t *node;
    hpcb_error_t err;

    if (hpcb_node_open("/", &node, &err) < 0) {
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
        return EXIT_FAILURE;
    }
    for (unsigned pause = FIRST_SECONDS; pause > 0; pause = RETRY_MAX) {
        sleep_seconds(pause);
        if (!is_measured(conf->state_dir))
            measure_until_done(node, conf->state_dir);
    }
    return EXIT_FAILURE;
}

static bool is_wanted(const hpcb_conf_t *conf)
{
    return *conf->collector_hosts != '\0';
}

static hpcbd_worker_t worker = {
    .name = "hpcbd: measure", .wanted = is_wanted, .work = work};

const hpcbd_part_t hpcbd_calibrate = {.name = "calibrate", .worker = &worker};
