/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/log.h"
#include "hpcbd/gang/ask.h"
#include "hpcbd/gang/deal.h"
#include "hpcbd/records/conn.h"
#include "hpcbd/worker.h"

/* A large deal takes the collector some seconds; the next report is made anyway. */
#define ANSWER_SECONDS 10

#define REPORT_BYTES (256 * 1024)

typedef struct {
    const hpcb_conf_t *conf;
    char report[PATH_MAX], answer[PATH_MAX];
    hpcb_file_stamp_t stamp;
    bool complained; /* the log says once that it does not work, once that it does */
} asker_t;

/* The report with a nonce: what is sent; the caller frees it.  NULL: there is none. */
static char *read_report(const asker_t *asker, const char *nonce)
{
    hpcb_autofree char *text = malloc(REPORT_BYTES);
    hpcb_rjson_auto hpcb_rjson_t *message = NULL;

    if (!text || hpcb_file_read_trusted(asker->report, text, REPORT_BYTES, NULL) < 0)
        return NULL;
    message = hpcb_rjson_parse(text);
    if (!message || hpcb_rjson_add_text(message, "nonce", nonce) < 0)
        return NULL;
    return hpcb_rjson_print(message, "", NULL);
}

/* Write until when it counts; 0: nothing has been dealt yet. */
static int read_deal(const char *answer, const char *nonce, int64_t *until,
                     hpcb_error_t *err)
{
    hpcb_autofree hpcbd_dealt_t *dealt = malloc(sizeof(*dealt));

    if (!dealt)
        return hpcb_error(err, "out of memory");
    if (hpcbd_dealt_parse(answer, nonce, dealt, err) < 0)
        return -1;
    *until = dealt->until;
    return 0;
}

/* 0, or -1 with err. */
static int ask(const asker_t *asker, const char *text, const char *nonce,
               hpcb_error_t *err)
{
    hpcb_autofree char *answer =
        hpcbd_ship_exchange(asker->conf, text, ANSWER_SECONDS, err);
    int64_t until = 0;

    if (!answer || read_deal(answer, nonce, &until, err) < 0)
        return -1;
    if (until == 0)
        return 0; /* a collector that has just begun: what it said before counts */
    return hpcb_file_swap(asker->answer, answer, strlen(answer), 0600, err);
}

static void ask_if_new(asker_t *asker)
{
    hpcb_autofree char *text = NULL;
    char nonce[HPCBD_NONCE_MAX];
    hpcb_error_t err = {""};

    if (!hpcb_file_changed(asker->report, &asker->stamp) ||
        hpcbd_nonce(nonce, &err) < 0 || !(text = read_report(asker, nonce)))
        return;
    if (ask(asker, text, nonce, &err) < 0) {
        hpcb_log_once(&asker->complained, HPCB_LOG_ERROR,
                      "jobs of several nodes own quanta by their ids: %s", err.text);
        return;
    }
    if (asker->complained)
        hpcb_log(HPCB_LOG_INFO, "the collector deals quanta again");
    asker->complained = false;
}

static int work(void *conf)
{
    asker_t asker = {.conf = conf};

    snprintf(asker.report, sizeof(asker.report), "%.4000s/" HPCBD_TURNS_FILE,
             asker.conf->state_dir);
    snprintf(asker.answer, sizeof(asker.answer), "%.4000s/" HPCBD_DEALT_FILE,
             asker.conf->state_dir);
    /* The report of an earlier daemon is old; the answer that it received contains its
     * own expiry. */
    (void)hpcb_file_changed(asker.report, &asker.stamp);
    for (;;) {
        sleep(HPCB_DEAL_REPORT_SECONDS);
        ask_if_new(&asker);
    }
    return EXIT_FAILURE;
}

static bool is_wanted(const hpcb_conf_t *conf)
{
    return *conf->collector_hosts && hpcb_conf_has_gangs(conf);
}

static hpcbd_worker_t worker = {
    .name = "hpcbd: ask", .wanted = is_wanted, .work = work};

const hpcbd_part_t hpcbd_gang_ask = {.name = "gang-ask", .worker = &worker};
