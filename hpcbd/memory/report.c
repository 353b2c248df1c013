/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* A report that does not reach the collector is not sent again: the next one is newer.
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/ended.h"
#include "common/file.h"
#include "common/log.h"
#include "common/text.h"
#include "hpcbd/harm/company.h"
#include "hpcbd/memory/guard.h"
#include "hpcbd/memory/report.h"
#include "hpcbd/memory/requeues.h"
#include "hpcbd/node/capacity.h"
#include "hpcbd/node/saturation.h"
#include "hpcbd/records/seal.h"
#include "hpcbd/records/conn.h"
#include "hpcbd/requeue.h"
#include "hpcbd/records/wire_company.h"
#include "hpcbd/records/wire_live.h"

/* 1024 jobs of at most 150 bytes. */
#define REPORT_BYTES (192 * 1024)

/* A collector that does not answer must not keep requeues waiting. */
#define SEND_SECONDS 3

/* Bad company is reported again after this time, as long as it is stored here, because
 * there is no answer. */
#define COMPANY_SECONDS 60

/* Work without a notification, or that failed, is retried after this time. */
#define LOOK_SECONDS 10

/* Words of jobs that are over, removed at the start; the next start has the rest. */
#define SWEEP_MAX 4096

typedef struct {
    const hpcb_conf_t *conf;
    int64_t sent; /* time of the last report that went */
    int64_t company_sent;
    hpcb_file_stamp_t company;
    bool no_collector;
} reporter_t;

static char *read_text(const hpcb_conf_t *conf)
{
    hpcb_autofree char *text = malloc(REPORT_BYTES);
    char path[PATH_MAX], *whole;

    if (!text ||
        snprintf(path, sizeof(path), "%s/" HPCBD_MEMORY_FILE, conf->state_dir) >=
            (int)sizeof(path) ||
        hpcb_file_read_trusted(path, text, REPORT_BYTES, NULL) < 0)
        return NULL;
    whole = text;
    text = NULL;
    return whole;
}

int hpcbd_memory_read(const hpcb_conf_t *conf, hpcb_live_node_t *node)
{
    hpcb_autofree char *text = read_text(conf);

    return text ? hpcbd_live_parse(text, node, NULL) : -1;
}

static int send_text(const hpcb_conf_t *conf, const char *text, hpcb_error_t *err)
{
    hpcb_autofree char *credential = hpcbd_seal(text, strlen(text), err);
    hpcb_autoclose int fd =
        credential ? hpcbd_ship_connect(conf, SEND_SECONDS, err) : -1;

    return fd < 0 ? -1 : hpcbd_ship_frame(fd, credential, err);
}

/* Return the report: the memory sample with the node's bandwidth. */
static char *make_report(const hpcb_conf_t *conf, hpcb_live_node_t *node)
{
    hpcbd_saturation_t saturation;
    hpcbd_capacity_t capacity;
    char *text;

    if (hpcbd_memory_read(conf, node) < 0)
        return NULL;
    hpcbd_capacity_load(conf->state_dir, &capacity);
    node->mem_bandwidth = capacity.mem;
    node->net_bandwidth = capacity.net;
    hpcbd_saturation_load(conf->state_dir, (int64_t)time(NULL), &saturation);
    node->saturation = saturation.verdict.level;
    node->memory_part = saturation.verdict.part;
    text = hpcbd_live_print(node, NULL);
    free(node->jobs);
    node->jobs = NULL;
    return text;
}

/* An old report is useless, and a sent one need not be repeated. */
static void send_report(reporter_t *reporter)
{
    hpcb_live_node_t node;
    hpcb_autofree char *text =
        *reporter->conf->collector_hosts ? make_report(reporter->conf, &node) : NULL;
    hpcb_error_t err;
    bool is_new;

    if (!text)
        return;
    is_new =
        node.time != reporter->sent && hpcb_live_is_fresh(&node, (int64_t)time(NULL));
    if (!is_new)
        return;
    if (send_text(reporter->conf, text, &err) < 0) {
        hpcb_log_once(&reporter->no_collector, HPCB_LOG_ERROR,
                      "this node lends no memory: %s", err.text);
        return;
    }
    if (reporter->no_collector)
        hpcb_log(HPCB_LOG_INFO, "the collector takes reports again");
    reporter->no_collector = false;
    reporter->sent = node.time;
}

static char *make_company(const hpcb_conf_t *conf, int64_t now)
{
    hpcb_autofree hpcb_company_t *company = malloc(sizeof(*company));

    return company && hpcbd_company_load(conf->state_dir, now, company) == 0
               ? hpcbd_company_report(company, NULL)
               : NULL;
}

static bool is_company_due(reporter_t *reporter, int64_t now)
{
    char path[PATH_MAX];
    bool changed;

    if (snprintf(path, sizeof(path), "%s/" HPCB_COMPANY_FILE,
                 reporter->conf->state_dir) >= (int)sizeof(path))
        return false;
    changed = hpcb_file_changed(path, &reporter->company);
    return reporter->company.inode &&
           (changed || now - reporter->company_sent >= COMPANY_SECONDS);
}

static void send_company(reporter_t *reporter)
{
    int64_t now = (int64_t)time(NULL);
    hpcb_autofree char *text = NULL;
    hpcb_error_t err;

    if (!*reporter->conf->collector_hosts || !is_company_due(reporter, now))
        return;
    text = make_company(reporter->conf, now);
    /* It is sent again anyhow. */
    if (text)
        send_text(reporter->conf, text, &err);
    reporter->company_sent = now;
}

/* Notes of guests that were ended, and reports, which replace StateDir/memory and
 * StateDir/company. */
typedef struct {
    int fd;    /* -1: poll passes it over */
    int state; /* of StateDir itself */
} watcher_t;

static watcher_t watch(const hpcb_conf_t *conf)
{
    watcher_t watcher = {.fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK)};
    char path[PATH_MAX];

    if (watcher.fd < 0)
        return watcher;
    if (snprintf(path, sizeof(path), "%s/" HPCBD_REQUEUE_DIR, conf->state_dir) <
        (int)sizeof(path))
        inotify_add_watch(watcher.fd, path, IN_MOVED_TO);
    watcher.state =
        inotify_add_watch(watcher.fd, conf->state_dir, IN_MOVED_TO | IN_ONLYDIR);
    return watcher;
}

/* Other files of StateDir are none of ours. */
static bool has_news(const watcher_t *watcher)
{
    char events[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
    bool is_new = false;
    ssize_t length;

    while ((length = read(watcher->fd, events, sizeof(events))) > 0)
        for (char *next = events; next < events + length;) {
            const struct inotify_event *event = (void *)next;

            is_new |= event->wd != watcher->state || event->len == 0 ||
                      strcmp(event->name, HPCBD_MEMORY_FILE) == 0 ||
                      strcmp(event->name, HPCB_COMPANY_FILE) == 0;
            next += sizeof(*event) + event->len;
        }
    return is_new;
}

/* Wait for an event, or for the time of the next scan. */
static void wait_for_news(const watcher_t *watcher)
{
    struct pollfd fd = {.fd = watcher->fd, .events = POLLIN};

    while (poll(&fd, 1, LOOK_SECONDS * 1000) > 0 && !has_news(watcher))
        ;
}

int hpcbd_memory_report(void *conf)
{
    reporter_t reporter = {.conf = conf};
    hpcbd_requeues_t requeues = {.state_dir = reporter.conf->state_dir};
    watcher_t watcher = watch(conf);

    signal(SIGCHLD, SIG_IGN); /* the process that notifies a user is not waited for */
    hpcb_ended_sweep(reporter.conf->state_dir, SWEEP_MAX);
    for (;;) {
        hpcbd_requeues_carry_out(&requeues);
        send_report(&reporter);
        send_company(&reporter);
        wait_for_news(&watcher);
    }
}
