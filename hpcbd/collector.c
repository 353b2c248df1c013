/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector: takes requests from connections into the store, and answers when the
 * store has them on disk.  Requests of some milliseconds share one commit.  stats.json
 * in CollectorDir says what has happened (SIGUSR1: at once).
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbd/collector_conn.h"
#include "hpcbd/collector_store.h"
#include "hpcbd/hpcbd.h"
#include "hpcbd/seal.h"
#include "hpcbd/wire.h"

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)

/* The time in which requests come together for one commit. */
#define GATHER_NS (5 * MS_NS)

/* How often runs that have waited long enough, silent connections and the statistics
 * are looked at. */
#define TICK_NS (2 * SECOND_NS)

typedef struct {
    hpcbd_t *daemon;
    hpcbd_store_t *store;
    hpcbd_conns_t *conns;
    hpcb_source_t *commit, *tick, *usr1;
    bool gathering;
    uint64_t requests, refused_credentials, malformed, refused_records;
    int64_t since;
    char last_stats[1024];
    bool disk_trouble, munge_trouble;
} collector_t;

static collector_t collector;

static void put_answer(void *data)
{
    json_object_put(data);
}

/* Each record's part of the answer.  -1 when memory runs out. */
static int take_entry(const hpcbd_entry_t *entry, hpcb_rjson_t *answer)
{
    hpcb_error_t err;

    if (hpcbd_store_add(collector.store, entry->record, hpcbd_now_ms(), &err) == 0)
        return hpcbd_answer_add(answer, entry->id, HPCBD_KEPT);
    if (errno != EINVAL) {
        hpcb_log_once(&collector.disk_trouble, HPCB_LOG_ERROR, "%s", err.text);
        return 0;
    }
    collector.refused_records++;
    hpcb_log(HPCB_LOG_INFO, "refused %.100s: %s", entry->id, err.text);
    return hpcbd_answer_add(answer, entry->id, HPCBD_REFUSED);
}

static int take_request(hpcbd_conn_t *conn, const hpcbd_request_t *request)
{
    hpcb_rjson_t *answer = hpcbd_answer_new(request->nonce);

    if (!answer)
        return -1;
    hpcbd_conn_set(conn, answer, put_answer);
    for (size_t i = 0; i < request->count; i++)
        if (take_entry(&request->entries[i], answer))
            return -1;
    collector.requests++;
    if (!collector.gathering)
        hpcb_timer_in(collector.commit, GATHER_NS, 0);
    collector.gathering = true;
    return 0;
}

static char *unseal(const char *frame)
{
    hpcb_error_t err;
    char *text = hpcbd_unseal(frame, &err);

    if (text) {
        collector.munge_trouble = false;
        return text;
    }
    if (errno == EAGAIN) {
        hpcb_log_once(&collector.munge_trouble, HPCB_LOG_ERROR, "%s", err.text);
        return NULL;
    }
    /* Anybody can make many of these. */
    if (collector.refused_credentials++ < 10)
        hpcb_log(HPCB_LOG_INFO, "refused a message: %s", err.text);
    return NULL;
}

static int take_frame(void *arg, hpcbd_conn_t *conn, const char *frame)
{
    hpcb_autofree char *text = unseal(frame);
    hpcbd_request_t request;
    hpcb_error_t err;
    int status;

    (void)arg;
    if (!text)
        return -1;
    if (hpcbd_request_parse(text, &request, &err)) {
        collector.malformed++;
        return -1;
    }
    status = take_request(conn, &request);
    json_object_put(request.object);
    return status;
}

/* arg: whether what was asked is on disk. */
static void answer(hpcbd_conn_t *conn, void *arg)
{
    const bool *kept = arg;
    hpcb_rjson_t *object = hpcbd_conn_get(conn);
    hpcb_autofree char *text = NULL, *credential = NULL;
    hpcb_error_t err;

    if (*kept && object)
        text = hpcb_rjson_print(object, "", &err);
    if (text)
        credential = hpcbd_seal(text, strlen(text), &err);
    if (credential) {
        hpcbd_conn_answer(conn, credential);
        return;
    }
    if (text)
        hpcb_log_once(&collector.munge_trouble, HPCB_LOG_ERROR, "%s", err.text);
    hpcbd_conn_close(conn);
}

static void commit(void)
{
    hpcb_error_t err;
    bool kept = hpcbd_store_commit(collector.store, hpcbd_now_ms(), &err) == 0;

    if (!kept)
        hpcb_log_once(&collector.disk_trouble, HPCB_LOG_ERROR,
                      "records are not taken: %s", err.text);
    else if (collector.disk_trouble)
        hpcb_log(HPCB_LOG_INFO, "records are taken again");
    if (kept)
        collector.disk_trouble = false;
    collector.gathering = false;
    hpcbd_conns_waiting(collector.conns, answer, &kept);
}

static void on_commit(void *arg, uint64_t count)
{
    (void)arg;
    (void)count;
    commit();
}

static void render_stats(char *text, size_t size)
{
    const hpcbd_store_stats_t *store = hpcbd_store_stats(collector.store);
    const hpcbd_conn_stats_t *conns = hpcbd_conns_stats(collector.conns);

    snprintf(
        text, size,
        "{\"version\":1,\"since\":%" PRId64 ",\"records\":%" PRIu64
        ",\"duplicates\":%" PRIu64 ",\"refused_records\":%" PRIu64 ",\"runs\":%" PRIu64
        ",\"incomplete_runs\":%" PRIu64
        ",\"pending_runs\":%zu,\"write_failures\":%" PRIu64 ",\"connections\":%" PRIu64
        ",\"dropped_connections\":%" PRIu64 ",\"requests\":%" PRIu64
        ",\"malformed_frames\":%" PRIu64 ",\"refused_credentials\":%" PRIu64
        ",\"malformed_requests\":%" PRIu64 "}\n",
        collector.since, store->records, store->duplicates, collector.refused_records,
        store->runs, store->incomplete, hpcbd_store_pending(collector.store),
        store->failures, conns->connections, conns->dropped, collector.requests,
        conns->malformed, collector.refused_credentials, collector.malformed);
}

static void write_stats(void)
{
    char text[sizeof(collector.last_stats)], path[PATH_MAX];

    render_stats(text, sizeof(text));
    if (strcmp(text, collector.last_stats) == 0)
        return;
    if (snprintf(path, sizeof(path), "%s/stats.json",
                 collector.daemon->conf.collector_dir) < (int)sizeof(path) &&
        hpcb_file_replace(path, text, strlen(text), 0644, NULL) == 0)
        memcpy(collector.last_stats, text, sizeof(text));
}

static void on_tick(void *arg, uint64_t count)
{
    (void)arg;
    (void)count;
    hpcbd_store_expire(collector.store, hpcbd_now_ms(),
                       (uint64_t)collector.daemon->conf.collector_wait * 1000);
    if (hpcbd_store_dirty(collector.store) && !collector.gathering)
        commit();
    hpcbd_conns_sweep(collector.conns);
    write_stats();
}

static void on_usr1(void *arg, uint64_t signo)
{
    (void)arg;
    (void)signo;
    write_stats();
}

static int watch(hpcb_loop_t *loop, hpcb_error_t *err)
{
    collector.commit = hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_commit, NULL, err);
    collector.tick = hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_tick, NULL, err);
    collector.usr1 = hpcb_loop_signal(loop, SIGUSR1, on_usr1, NULL, err);
    if (!collector.commit || !collector.tick || !collector.usr1)
        return -1;
    return hpcb_timer_in(collector.tick, TICK_NS, TICK_NS);
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcbd_conns_close(collector.conns);
    hpcb_source_remove(collector.commit);
    hpcb_source_remove(collector.tick);
    hpcb_source_remove(collector.usr1);
    hpcbd_store_close(collector.store);
    collector = (collector_t){.daemon = NULL};
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    const hpcb_conf_t *conf = &daemon->conf;

    collector = (collector_t){.daemon = daemon, .since = (int64_t)time(NULL)};
    collector.store = hpcbd_store_open(conf->collector_dir, hpcbd_now_ms(), err);
    if (collector.store)
        collector.conns = hpcbd_conns_open(daemon->loop, (uint16_t)conf->collector_port,
                                           take_frame, NULL, err);
    if (collector.conns && watch(daemon->loop, err) == 0)
        return 0;
    stop(daemon);
    return -1;
}

const hpcbd_part_t hpcbd_collector = {
    .name = "collector", .start = start, .stop = stop};
