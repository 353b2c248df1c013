/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The collector: receives requests from connections, and answers when their records are
 * on disk.  stats.json in CollectorDir has statistics (immediately after SIGUSR1).
 *
 * A request passes through three child processes: one that decodes credentials (of
 * anybody: an attacker can make it slow), one that keeps records, and one that encodes
 * the credentials of answers:
 *
 *   take_frame -> opened -> kept -> sealed
 *
 * A report of jobs that take turns passes through a fourth, the dealer, instead of the
 * keeper of records (dealt instead of kept).
 *
 * In between it belongs to its connection and ends with it.  If many requests wait for
 * the disk, connections are not read, so that nodes wait.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbd/collector/company.h"
#include "hpcbd/collector/conn.h"
#include "hpcbd/collector/dealer.h"
#include "hpcbd/collector/keeper.h"
#include "hpcbd/collector/limit.h"
#include "hpcbd/collector/live_reports.h"
#include "hpcbd/hpcbd.h"
#include "hpcbd/records/seal.h"
#include "hpcbd/records/sealer.h"
#include "hpcbd/records/wire.h"
#include "hpcbd/records/wire_company.h"
#include "hpcbd/records/wire_gang.h"
#include "hpcbd/records/wire_live.h"

#define MS_NS     UINT64_C(1000000)
#define SECOND_NS (1000 * MS_NS)

/* Interval for checks of waiting runs, silent connections and the statistics. */
#define TICK_NS (2 * SECOND_NS)

/* A munged that takes longer hangs. */
#define MUNGE_LIMIT_MS 10000

/* A deal of the largest size takes some seconds. */
#define DEAL_LIMIT_MS 60000

/* Frames of one origin that wait for munged. */
#define FRAMES_WAITING_MAX 64

/* Requests that wait for the disk: then connections wait, until there are half as many.
 */
#define REQUESTS_WAITING_MAX 128

/* Pending call of a connection. */
typedef struct {
    hpcbd_conn_t *conn;
    hpcbd_call_t *call; /* NULL: none */
    char *text;         /* of the request, then of the answer; NULL: not opened */
} waiting_t;

typedef struct {
    hpcbd_t *daemon;
    hpcbd_conns_t *conns;
    hpcbd_sealer_t *opener, *keeper, *dealer, *sealer;
    hpcbd_limit_t limit;
    hpcbd_live_t *live;
    hpcbd_company_t *company;
    hpcb_source_t *tick, *usr1;
    char tick_text[32];
    bool ticking;
    /* Those of keepers that have ended, and of this one. */
    hpcbd_keeper_totals_t before, totals;
    uint64_t refused_credentials, malformed, limited;
    int64_t since;
    char last_stats[1024];
    bool munge_trouble, deal_trouble;
} collector_t;

static collector_t collector;

static void free_waiting(void *data)
{
    waiting_t *waiting = data;

    hpcbd_call_cancel(waiting->call);
    free(waiting->text);
    free(waiting);
}

/* Close what waits for munged and comes from the origin arg. */
static void close_limited(hpcbd_conn_t *conn, void *arg)
{
    const waiting_t *waiting = hpcbd_conn_get(conn);

    if (!waiting->call || waiting->text ||
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
    /* Anybody can cause many of these. */
    if (collector.refused_credentials++ < 10)
        hpcb_log(HPCB_LOG_INFO, "refused a message: %s", why);
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

static void let_wait(void)
{
    size_t calls = hpcbd_sealer_calls(collector.keeper);

    if (calls >= REQUESTS_WAITING_MAX)
        hpcbd_conns_pause(collector.conns, true);
    else if (calls <= REQUESTS_WAITING_MAX / 2)
        hpcbd_conns_pause(collector.conns, false);
}

static void answer_with(waiting_t *waiting, const char *answer)
{
    waiting->call = NULL;
    free(waiting->text);
    waiting->text = answer ? strdup(answer) : NULL;
    if (waiting->text)
        waiting->call =
            hpcbd_sealer_call(collector.sealer, hpcbd_conn_origin(waiting->conn),
                              waiting->text, sealed, waiting);
    if (!waiting->call)
        hpcbd_conn_close(waiting->conn);
}

/* The keeper has said why in the log. */
static void kept(void *arg, const char *answer, int error, const char *why)
{
    (void)error;
    (void)why;
    answer_with(arg, answer);
    let_wait();
}

static void dealt(void *arg, const char *answer, int error, const char *why)
{
    if (answer)
        collector.deal_trouble = false;
    else if (error == EPERM)
        collector.malformed++;
    else
        hpcb_log_once(&collector.deal_trouble, HPCB_LOG_ERROR,
                      "no quanta are dealt: %s", why);
    answer_with(arg, answer);
}

/* While a deal is made the others must not take all connections: they ask again. */
static int deal_text(waiting_t *waiting, const char *text)
{
    collector.munge_trouble = false;
    if (hpcbd_sealer_calls(collector.dealer) >= REQUESTS_WAITING_MAX)
        return -1;
    waiting->text = strdup(text);
    if (waiting->text)
        waiting->call =
            hpcbd_sealer_call(collector.dealer, hpcbd_conn_origin(waiting->conn),
                              waiting->text, dealt, waiting);
    return waiting->call ? 0 : -1;
}

static int keep_text(waiting_t *waiting, const char *text)
{
    size_t room = strlen(text) + 2;

    collector.munge_trouble = false;
    waiting->text = malloc(room);
    if (!waiting->text)
        return -1;
    snprintf(waiting->text, room, "%c%s", HPCBD_KEEPER_REQUEST, text);
    waiting->call =
        hpcbd_sealer_call(collector.keeper, hpcbd_conn_origin(waiting->conn),
                          waiting->text, kept, waiting);
    let_wait();
    return waiting->call ? 0 : -1;
}

/* A report of a node's live state is not answered. */
static int take_report(const char *text)
{
    collector.munge_trouble = false;
    if (hpcbd_live_take(collector.live, text) && errno == EINVAL)
        collector.malformed++;
    return -1;
}

/* Nor is one of bad company. */
static int take_company(const char *text)
{
    collector.munge_trouble = false;
    if (hpcbd_company_take(collector.company, text) < 0)
        collector.malformed++;
    return -1;
}

static int take_text(waiting_t *waiting, const char *text)
{
    if (hpcbd_wide_is_report(text))
        return deal_text(waiting, text);
    if (hpcbd_live_is_report(text))
        return take_report(text);
    if (hpcbd_company_is_report(text))
        return take_company(text);
    return keep_text(waiting, text);
}

static void opened(void *arg, const char *text, int error, const char *why)
{
    waiting_t *waiting = arg;
    hpcbd_conn_t *conn = waiting->conn;

    waiting->call = NULL;
    hpcbd_conn_forget(conn);
    if (!text)
        refuse(conn, error, why);
    if (!text || take_text(waiting, text))
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

static uint64_t total(size_t at)
{
    uint64_t before, now;

    memcpy(&before, (const char *)&collector.before + at, sizeof(before));
    memcpy(&now, (const char *)&collector.totals + at, sizeof(now));
    return before + now;
}

#define TOTAL(member) total(offsetof(hpcbd_keeper_totals_t, member))

static void render_stats(char *text, size_t size)
{
    const hpcbd_conn_stats_t *conns = hpcbd_conns_stats(collector.conns);

    snprintf(text, size,
             "{\"version\":1,\"since\":%" PRId64 ",\"records\":%" PRIu64
             ",\"duplicates\":%" PRIu64 ",\"refused_records\":%" PRIu64
             ",\"runs\":%" PRIu64 ",\"incomplete_runs\":%" PRIu64
             ",\"pending_runs\":%" PRIu64 ",\"write_failures\":%" PRIu64
             ",\"connections\":%" PRIu64 ",\"dropped_connections\":%" PRIu64
             ",\"requests\":%" PRIu64 ",\"malformed_frames\":%" PRIu64
             ",\"refused_credentials\":%" PRIu64 ",\"malformed_requests\":%" PRIu64
             ",\"limited_requests\":%" PRIu64 "}\n",
             collector.since, TOTAL(records), TOTAL(duplicates), TOTAL(refused),
             TOTAL(runs), TOTAL(incomplete), collector.totals.pending, TOTAL(failures),
             conns->connections, conns->dropped, TOTAL(requests), conns->malformed,
             collector.refused_credentials, TOTAL(malformed) + collector.malformed,
             collector.limited);
}

/* The loop waits for no disk; another collector counts from 0 anyway. */
static void write_stats(void)
{
    char text[sizeof(collector.last_stats)], path[PATH_MAX];

    render_stats(text, sizeof(text));
    if (strcmp(text, collector.last_stats) == 0)
        return;
    if (snprintf(path, sizeof(path), "%s/stats.json",
                 collector.daemon->conf.collector_dir) < (int)sizeof(path) &&
        hpcb_file_swap(path, text, strlen(text), 0644, NULL) == 0)
        memcpy(collector.last_stats, text, sizeof(text));
}

static void add_up(const hpcbd_keeper_totals_t *last)
{
    hpcbd_keeper_totals_t *before = &collector.before;

    before->requests += last->requests;
    before->malformed += last->malformed;
    before->refused += last->refused;
    before->records += last->records;
    before->duplicates += last->duplicates;
    before->runs += last->runs;
    before->incomplete += last->incomplete;
    before->failures += last->failures;
}

static void ticked(void *arg, const char *text, int error, const char *why)
{
    hpcbd_keeper_totals_t read;

    (void)arg;
    (void)error;
    (void)why;
    collector.ticking = false;
    if (text && hpcbd_keeper_totals(text, &read) == 0) {
        /* Another keeper counts from 0. */
        if (read.requests < collector.totals.requests)
            add_up(&collector.totals);
        collector.totals = read;
    }
    write_stats();
}

static void tick(void)
{
    static const hpcbd_origin_t self;

    if (collector.ticking)
        return;
    snprintf(collector.tick_text, sizeof(collector.tick_text), "%c%" PRIu64,
             HPCBD_KEEPER_TICK, (uint64_t)collector.daemon->conf.collector_wait * 1000);
    collector.ticking = hpcbd_sealer_call(collector.keeper, &self, collector.tick_text,
                                          ticked, NULL) != NULL;
}

static void on_tick(void *arg, uint64_t count)
{
    (void)arg;
    (void)count;
    hpcbd_conns_sweep(collector.conns);
    tick();
}

static void on_usr1(void *arg, uint64_t signo)
{
    (void)arg;
    (void)signo;
    tick();
    write_stats();
}

static int watch(hpcb_loop_t *loop, hpcb_error_t *err)
{
    collector.tick = hpcb_loop_timer(loop, CLOCK_MONOTONIC, on_tick, NULL, err);
    collector.usr1 = hpcb_loop_signal(loop, SIGUSR1, on_usr1, NULL, err);
    if (!collector.tick || !collector.usr1)
        return -1;
    return hpcb_timer_in(collector.tick, TICK_NS, TICK_NS);
}

/* hpcbd_seal as a hpcbd_sealer_work_fn. */
static char *seal(const char *text, hpcb_error_t *err)
{
    return hpcbd_seal(text, strlen(text), err);
}

/* As a hpcbd_sealer_work_fn: what the child knows is its own. */
static char *deal(const char *text, hpcb_error_t *err)
{
    static hpcbd_dealer_t *dealer;
    struct timespec now;
    int64_t now_ns;

    clock_gettime(CLOCK_REALTIME, &now);
    now_ns = (int64_t)now.tv_sec * (int64_t)SECOND_NS + now.tv_nsec;
    if (!dealer)
        dealer = hpcbd_dealer_new(now_ns);
    if (dealer)
        return hpcbd_dealer_take(dealer, text, now_ns, err);
    errno = EAGAIN;
    hpcb_error(err, "out of memory");
    return NULL;
}

static int start_children(hpcb_loop_t *loop, hpcb_error_t *err)
{
    collector.opener =
        hpcbd_sealer_start(loop, "hpcbd: open", hpcbd_unseal, MUNGE_LIMIT_MS, err);
    if (collector.opener)
        collector.sealer =
            hpcbd_sealer_start(loop, "hpcbd: seal", seal, MUNGE_LIMIT_MS, err);
    if (collector.sealer)
        collector.dealer =
            hpcbd_sealer_start(loop, "hpcbd: deal", deal, DEAL_LIMIT_MS, err);
    if (collector.dealer)
        collector.keeper =
            hpcbd_keeper_start(loop, collector.daemon->conf.collector_dir, err);
    return collector.keeper ? 0 : -1;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    hpcbd_conns_close(collector.conns);
    hpcbd_sealer_stop(collector.opener);
    hpcbd_sealer_stop(collector.keeper);
    hpcbd_sealer_stop(collector.dealer);
    hpcbd_sealer_stop(collector.sealer);
    hpcb_source_remove(collector.tick);
    hpcb_source_remove(collector.usr1);
    hpcbd_live_close(collector.live);
    hpcbd_company_close(collector.company);
    collector = (collector_t){.daemon = NULL};
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    const hpcb_conf_t *conf = &daemon->conf;

    collector = (collector_t){.daemon = daemon, .since = (int64_t)time(NULL)};
    if (start_children(daemon->loop, err) == 0)
        collector.live = hpcbd_live_open(daemon->loop, conf->collector_dir, err);
    if (collector.live)
        collector.company = hpcbd_company_open(conf->collector_dir, err);
    if (collector.company)
        collector.conns = hpcbd_conns_open(daemon->loop, (uint16_t)conf->collector_port,
                                           take_frame, NULL, err);
    if (collector.conns && watch(daemon->loop, err) == 0) {
        hpcb_log(HPCB_LOG_INFO, "records are taken at port %u",
                 hpcbd_conns_port(collector.conns));
        return 0;
    }
    stop(daemon);
    return -1;
}

const hpcbd_part_t hpcbd_collector = {
    .name = "collector", .start = start, .stop = stop};
