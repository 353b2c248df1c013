/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The node's part of collection: a child process that sends what waits in the spool,
 * and waits itself for the rest.  A record leaves the spool when the collector says
 * that it is on its disk; whatever goes wrong before that ends in sending it again, so
 * that the collector may see it twice.  No time stamp decides anything: clocks may
 * step.
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "common/record.h"
#include "hpcbd/records/conn.h"
#include "hpcbd/records/spool.h"
#include "hpcbd/worker.h"

/* A collector that fsyncs on a busy disk may be slow; one that is gone is known sooner,
 * by the kernel. */
#define ANSWER_SECONDS 60

/* inotify wakes us; this is for changes that it does not report (a directory created
 * anew). */
#define LOOK_MS 15000

#define BACKOFF_FIRST_MS 500
#define BACKOFF_MAX_MS   60000

/* Thousands of nodes end a job at the same moment. */
#define SPREAD_MS 1000

static uint32_t random_below(uint32_t limit)
{
    uint32_t number = 0;

    if (getrandom(&number, sizeof(number), GRND_NONBLOCK) != (ssize_t)sizeof(number))
        number = (uint32_t)getpid();
    return limit ? number % limit : 0;
}

static void sleep_ms(uint32_t ms)
{
    struct timespec left = {.tv_sec = ms / 1000,
                            .tv_nsec = (long)(ms % 1000) * 1000000};

    while (nanosleep(&left, &left) && errno == EINTR)
        ;
}

static char *exchange(const hpcb_conf_t *conf, hpcb_rjson_t *request, hpcb_error_t *err)
{
    hpcb_autofree char *text = hpcb_rjson_print(request, "", err);

    return text ? hpcbd_ship_exchange(conf, text, ANSWER_SECONDS, err) : NULL;
}

static void settle(const char *id, hpcbd_verdict_t verdict, void *arg)
{
    hpcbd_spool_settle(arg, id, verdict);
}

/* Returns the number of records that went, or -1. */
static int send_batch(const hpcb_conf_t *conf, hpcbd_spool_t *spool, hpcb_error_t *err)
{
    hpcb_rjson_auto hpcb_rjson_t *request = NULL;
    hpcb_autofree char *answer = NULL;
    char nonce[HPCBD_NONCE_MAX];
    int count;

    if (hpcbd_nonce(nonce, err))
        return -1;
    request = hpcbd_request_new(nonce);
    if (!request)
        return hpcb_error(err, "out of memory");
    count = hpcbd_spool_read(spool, request, err);
    if (count <= 0)
        return count;
    answer = exchange(conf, request, err);
    if (!answer || hpcbd_answer_parse(answer, nonce, settle, spool, err))
        return -1;
    return count;
}

static int watch(const hpcb_conf_t *conf)
{
    const char *const dirs[] = {conf->spool_dir, conf->state_dir};
    int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    char path[PATH_MAX];

    for (size_t i = 0; fd >= 0 && i < 2; i++)
        if (snprintf(path, sizeof(path), "%s/" HPCB_SPOOL_RECORDS, dirs[i]) <
            (int)sizeof(path))
            inotify_add_watch(fd, path, IN_MOVED_TO);
    return fd;
}

static void wait_for_records(int watcher)
{
    struct pollfd poll_fd = {.fd = watcher, .events = POLLIN};
    char events[4096];

    if (poll(&poll_fd, 1, LOOK_MS) <= 0)
        return;
    sleep_ms(random_below(SPREAD_MS));
    while (read(watcher, events, sizeof(events)) > 0)
        ;
}

typedef struct {
    uint32_t backoff_ms;
    bool complained; /* the log says once that it does not work, once that it does */
} trouble_t;

static void back_off(trouble_t *trouble, const hpcb_error_t *err)
{
    hpcb_log_once(&trouble->complained, HPCB_LOG_ERROR, "records wait in the spool: %s",
                  err->text);
    hpcb_log(HPCB_LOG_DEBUG, "%s", err->text);
    sleep_ms(trouble->backoff_ms / 2 + random_below(trouble->backoff_ms));
    trouble->backoff_ms *= 2;
    if (trouble->backoff_ms > BACKOFF_MAX_MS)
        trouble->backoff_ms = BACKOFF_MAX_MS;
}

static void recover(trouble_t *trouble)
{
    if (trouble->complained)
        hpcb_log(HPCB_LOG_INFO, "the collector takes records again");
    *trouble = (trouble_t){.backoff_ms = BACKOFF_FIRST_MS};
}

static int ship(void *arg)
{
    const hpcb_conf_t *conf = arg;
    trouble_t trouble = {.backoff_ms = BACKOFF_FIRST_MS};
    hpcbd_spool_t spool;
    int watcher;

    hpcbd_spool_open(&spool, conf);
    watcher = watch(conf);
    for (;;) {
        hpcb_error_t err = {""};
        int sent;

        hpcbd_spool_prune(&spool);
        sent = send_batch(conf, &spool, &err);
        if (sent < 0) {
            back_off(&trouble, &err);
        } else if (sent == 0) {
            wait_for_records(watcher);
        } else {
            recover(&trouble);
        }
    }
    return EXIT_FAILURE;
}

static bool is_wanted(const hpcb_conf_t *conf)
{
    return *conf->collector_hosts != '\0';
}

static hpcbd_worker_t worker = {
    .name = "hpcbd: ship", .wanted = is_wanted, .work = ship};

const hpcbd_part_t hpcbd_ship = {.name = "ship", .worker = &worker};
