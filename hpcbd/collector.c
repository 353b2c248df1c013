/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector: takes requests from connections into the store, and answers when the
 * store has them on disk.  Requests of some milliseconds share one commit.  stats.json
 * in CollectorDir says what has happened (SIGUSR1: at once).
 *
 * A request goes through calls of MUNGE in two child processes, one that opens
 * credentials (anybody's: slow at an attacker's will) and one that makes those of
 * answers:
 *
 *   take_frame -> opened -> commit -> answer -> sealed
 *
 * In between it belongs to its connection and goes with it.
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
#include "hpcbd/collector_limit.h"
#include "hpcbd/collector_live.h"
#include "hpcbd/collector_store.h"
#include "hpcbd/hpcbd.h"
#include "hpcbd/seal.h"
#include "hpcbd/sealer.h"
#include "hpcbd/wire.h"
#include "hpcbd/wire_live.h"

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)

/* The time in which requests come together for one commit. */
#define GATHER_NS (5 * MS_NS)

/* How often runs that have waited long enough, silent connections and the statistics
 * are looked at. */
#define TICK_NS (2 * SECOND_NS)

/* A munged that takes longer hangs. */
#define MUNGE_LIMIT_MS 10000

/* Frames of one origin that wait for munged. */
#define FRAMES_WAITING_MAX 64

/* What a connection waits for. */
typedef struct {
    hpcbd_conn_t *conn;
    hpcbd_call_t *call;   /* NULL: none */
    hpcb_rjson_t *answer; /* NULL: not taken yet */
    char *text;           /* of answer, while it is sealed */
} waiting_t;

typedef struct {
    hpcbd_t *daemon;
    hpcbd_store_t *store;
    hpcbd_conns_t *conns;
    hpcbd_sealer_t *opener, *sealer;
    hpcbd_limit_t limit;
    hpcbd_live_t *live;
    hpcb_source_t *commit, *tick, *usr1;
    bool gathering;
    uint64_t requests, refused_credentials, malformed, refused_records, limited;
    int64_t since;
    char last_stats[1024];
    bool disk_trouble, munge_trouble;
} collector_t;

static collector_t collector;

static void free_waiting(void *data)
{
    waiting_t *waiting = data;

    hpcbd_call_cancel(waiting->call);
    json_object_put(waiting->answer);
    free(waiting->text);
    free(waiting);
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

static int take_request(waiting_t *waiting, const hpcbd_request_t *request)
{
    waiting->answer = hpcbd_answer_new(request->nonce);
    if (!waiting->answer)
        return -1;
    for (size_t i = 0; i < request->count; i++)
        if (take_entry(&request->entries[i], waiting->answer))
            return -1;
    collector.requests++;
    if (!collector.gathering)
        hpcb_timer_in(collector.commit, GATHER_NS, 0);
    collector.gathering = true;
    return 0;
}

/* Close what waits for munged and comes from the origin arg. */
static void close_limited(hpcbd_conn_t *conn, void *arg)
{
    const waiting_t *waiting = hpcbd_conn_get(conn);

    if (!waiting->call || waiting->answer ||
        memcmp(hpcbd_conn_origin(conn), arg, sizeof(hpcbd_origin_t)) != 0)
        return;
    collector.limited++;
    hpcbd_conn_close(conn);
}

static void limit(hpcbd_origin_t origin)
{
    uint64_t now_ms = hpcbd_now_ms();

    hpcbd_limit_note(&collector.limit, &origin, now_ms);
    if (hpcbd_limit_reached(&collector.limit, &origin, now_ms))
        hpcbd_conns_waiting(collector.conns, close_limited, &origin);
}

static void refuse(const hpcbd_conn_t *conn, int error, const char *why)
{
    if (error == EAGAIN) {
        hpcb_log_once(&collector.munge_trouble, HPCB_LOG_ERROR, "%s", why);
        return;
    }
    limit(*hpcbd_conn_origin(conn));
    /* Anybody can make many of these. */
    if (collector.refused_credentials++ < 10)
        hpcb_log(HPCB_LOG_INFO, "refused a message: %s", why);
}

static int take_text(waiting_t *waiting, const char *text)
{
    hpcbd_request_t request;
    hpcb_error_t err;
    int status;

    collector.munge_trouble = false;
    if (hpcbd_request_parse(text, &request, &err)) {
        collector.malformed++;
        return -1;
    }
    status = take_request(waiting, &request);
    json_object_put(request.object);
    return status;
}

/* A report of a node's live state is not answered. */
static int take_report(const char *text)
{
    collector.munge_trouble = false;
    if (hpcbd_live_take(collector.live, text) && errno == EINVAL)
        collector.malformed++;
    return -1;
}

static void opened(void *arg, const char *text, int error, const char *why)
{
    waiting_t *waiting = arg;
    hpcbd_conn_t *conn = waiting->conn;

    waiting->call = NULL;
    hpcbd_conn_forget(conn);
    if (!text)
        refuse(conn, error, why);
    if (!text ||
        (hpcbd_live_is_report(text) ? take_report(text) : take_text(waiting, text)))
        hpcbd_conn_close(conn);
}

/* An origin that sends what munged refuses, or too much at once, waits until it
 * connects again. */
static bool may_ask(const hpcbd_origin_t *origin)
{
    if (!hpcbd_limit_reached(&collector.limit, origin, hpcbd_now_ms()) &&
        hpcbd_sealer_waiting(collector.opener, origin) < FRAMES_WAITING_MAX)
        return true;
    collector.limited++;
    return false;
}

static int take_frame(void *arg, hpcbd_conn_t *conn, const char *frame)
{
    const hpcbd_origin_t *origin = hpcbd_conn_origin(conn);
    waiting_t *waiting = may_ask(origin) ? calloc(1, sizeof(*waiting)) : NULL;

    (void)arg;
    if (!waiting)
        return -1;
    waiting->conn = conn;
    hpcbd_conn_set(conn, waiting, free_waiting);
    waiting->call = hpcbd_sealer_call(collector.opener, origin, frame, opened, waiting);
    return waiting->call ? 0 : -1;
}

static void sealed(void *arg, const char *credential, int error, const char *why)
{
    waiting_t *waiting = arg;

    (void)error;
    waiting->call = NULL;
    if (credential) {
        hpcbd_conn_answer(waiting->conn, credential);
        return;
    }
    hpcb_log_once(&collector.munge_trouble, HPCB_LOG_ERROR, "%s", why);
    hpcbd_conn_close(waiting->conn);
}

/* arg: whether what was asked is on disk. */
static void answer(hpcbd_conn_t *conn, void *arg)
{
    const bool *kept = arg;
    waiting_t *waiting = hpcbd_conn_get(conn);

    if (waiting->call)
        return;
    if (*kept)
        waiting->text = hpcb_rjson_print(waiting->answer, "", NULL);
    if (waiting->text)
        waiting->call = hpcbd_sealer_call(collector.sealer, hpcbd_conn_origin(conn),
                                          waiting->text, sealed, waiting);
    if (!waiting->call)
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

    snprintf(text, size,
             "{\"version\":1,\"since\":%" PRId64 ",\"records\":%" PRIu64
             ",\"duplicates\":%" PRIu64 ",\"refused_records\":%" PRIu64
             ",\"runs\":%" PRIu64 ",\"incomplete_runs\":%" PRIu64
             ",\"pending_runs\":%zu,\"write_failures\":%" PRIu64
             ",\"connections\":%" PRIu64 ",\"dropped_connections\":%" PRIu64
             ",\"requests\":%" PRIu64 ",\"malformed_frames\":%" PRIu64
             ",\"refused_credentials\":%" PRIu64 ",\"malformed_requests\":%" PRIu64
             ",\"limited_requests\":%" PRIu64 "}\n",
             collector.since, store->records, store->duplicates,
             collector.refused_records, store->runs, store->incomplete,
             hpcbd_store_pending(collector.store), store->failures, conns->connections,
             conns->dropped, collector.requests, conns->malformed,
             collector.refused_credentials, collector.malformed, collector.limited);
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

/* hpcbd_seal as a hpcbd_sealer_work_fn. */
static char *seal(const char *text, hpcb_error_t *err)
{
    return hpcbd_seal(text, strlen(text), err);
}

static int start_children(hpcb_loop_t *loop, hpcb_error_t *err)
{
    collector.opener =
        hpcbd_sealer_start(loop, "hpcbd: open", hpcbd_unseal, MUNGE_LIMIT_MS, err);
    if (collector.opener)
        collector.sealer =
            hpcbd_sealer_start(loop, "hpcbd: seal", seal, MUNGE_LIMIT_MS, err);
    return collector.sealer ? 0 : -1;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcbd_conns_close(collector.conns);
    hpcbd_sealer_stop(collector.opener);
    hpcbd_sealer_stop(collector.sealer);
    hpcb_source_remove(collector.commit);
    hpcb_source_remove(collector.tick);
    hpcb_source_remove(collector.usr1);
    hpcbd_live_close(collector.live);
    hpcbd_store_close(collector.store);
    collector = (collector_t){.daemon = NULL};
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    const hpcb_conf_t *conf = &daemon->conf;

    collector = (collector_t){.daemon = daemon, .since = (int64_t)time(NULL)};
    if (start_children(daemon->loop, err) == 0)
        collector.store = hpcbd_store_open(conf->collector_dir, hpcbd_now_ms(), err);
    if (collector.store)
        collector.live = hpcbd_live_open(daemon->loop, conf->collector_dir, err);
    if (collector.live)
        collector.conns = hpcbd_conns_open(daemon->loop, (uint16_t)conf->collector_port,
                                           take_frame, NULL, err);
    if (collector.conns && watch(daemon->loop, err) == 0)
        return 0;
    stop(daemon);
    return -1;
}

const hpcbd_part_t hpcbd_collector = {
    .name = "collector", .start = start, .stop = stop};
