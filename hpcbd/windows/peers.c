/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/text.h"
#include "hpcbd/child.h"
#include "hpcbd/windows/peers.h"
#include "hpcbd/windows/peers_talk.h"
#include "hpcbd/windows/windows.h"

/* An answer that is older says nothing any more. */
#define FRESH_S 60

static struct {
    hpcbd_t *daemon;
    hpcbd_peers_talk_t talk;
    hpcbd_child_t *child;
    hpcb_source_t *stale; /* expires when the last answer becomes void */
    struct {
        int64_t offset_ns, round_trip_ns;
        time_t when; /* CLOCK_MONOTONIC; 0: never */
    } answers[HPCBD_PEERS_MAX];
} peers;

static time_t monotonic_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1;
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* The median: one peer with a wrong clock must not stop everybody else. */
bool hpcbd_peers_offset(int64_t *offset_ns)
{
    int64_t offsets[HPCBD_PEERS_MAX];
    size_t count = 0;

    for (unsigned i = 0; i < peers.talk.count; i++)
        if (peers.answers[i].when && monotonic_s() - peers.answers[i].when <= FRESH_S)
            offsets[count++] = peers.answers[i].offset_ns;
    if (count == 0)
        return false;
    qsort(offsets, count, sizeof(offsets[0]), compare);
    *offset_ns = offsets[count / 2];
    return true;
}

static void judge(void)
{
    int64_t limit_ns = (int64_t)peers.daemon->conf.max_clock_offset_us * 1000;
    int64_t median = 0;

    (void)hpcbd_peers_offset(&median);
    hpcbd_window_suspend(median > limit_ns || median < -limit_ns
                             ? "the clock differs from the peers' by more than "
                               "MaxClockOffset"
                             : NULL);
}

static void judge_when_stale(void)
{
    hpcb_timer_in(peers.stale, (FRESH_S + 1) * UINT64_C(1000000000), 0);
}

/* Peers that do not answer any more have no effect. */
static void on_stale(void *arg, uint64_t what)
{
    (void)arg;
    (void)what;
    judge();
}

void hpcbd_peers_answer(uint64_t list, uint64_t peer, int64_t offset_ns,
                        int64_t round_trip_ns)
{
    if (list != peers.talk.list || peer >= peers.talk.count)
        return;
    peers.answers[peer].offset_ns = offset_ns;
    peers.answers[peer].round_trip_ns = round_trip_ns;
    peers.answers[peer].when = monotonic_s();
    judge();
    judge_when_stale();
}

/* This node itself is no peer: one list serves all nodes. */
static void list_peers(const hpcb_conf_t *conf)
{
    char list[HPCB_LIST_MAX], self[HPCB_NAME_MAX];
    char *rest = list, *item;

    hpcb_node_name(self, sizeof(self));
    if (hpcb_text_copy(list, sizeof(list), conf->window_peers))
        return;
    while (*list && (item = strsep(&rest, ","))) {
        if (strcmp(item, self) == 0)
            continue;
        if (peers.talk.count == HPCBD_PEERS_MAX) {
            hpcb_log(HPCB_LOG_INFO, "only %d peers are asked", HPCBD_PEERS_MAX);
            return;
        }
        if (hpcb_text_copy(peers.talk.names[peers.talk.count], HPCB_NAME_MAX, item) ==
            0)
            peers.talk.count++;
    }
}

static int ask(hpcbd_t *daemon, hpcb_error_t *err)
{
    peers.talk.list++;
    peers.talk.count = 0;
    memset(peers.answers, 0, sizeof(peers.answers));
    list_peers(&daemon->conf);
    if (peers.talk.count == 0)
        return 0;
    peers.talk.state_dir = daemon->conf.state_dir;
    peers.talk.port = (uint16_t)daemon->conf.window_port;
    peers.child = hpcbd_child_start(daemon->loop, "hpcbd: peers", hpcbd_peers_talk,
                                    &peers.talk, err);
    return peers.child ? 0 : -1;
}

static int start(hpcbd_t *daemon, hpcb_error_t *err)
{
    peers.daemon = daemon;
    peers.stale = hpcb_loop_timer(daemon->loop, CLOCK_MONOTONIC, on_stale, NULL, err);
    return peers.stale ? ask(daemon, err) : -1;
}

static void stop_asking(void)
{
    hpcbd_child_stop(peers.child);
    peers.child = NULL;
}

static void stop(hpcbd_t *daemon)
{
    (void)daemon;
    stop_asking();
    hpcb_source_remove(peers.stale);
    peers.stale = NULL;
}

/* Answers are by place in a list that may be another now; what they said of the clock
 * stands until peers have answered again, or a minute has passed. */
static void reload(hpcbd_t *daemon)
{
    hpcb_error_t err;

    stop_asking();
    if (ask(daemon, &err))
        hpcb_log(HPCB_LOG_ERROR, "%s", err.text);
    if (peers.talk.count == 0)
        judge();
    else
        judge_when_stale();
}

static json_object *describe(unsigned i)
{
    json_object *object = json_object_new_object();

    if (!object)
        return NULL;
    json_object_object_add(object, "host", json_object_new_string(peers.talk.names[i]));
    json_object_object_add(object, "offset_us",
                           json_object_new_int64(peers.answers[i].offset_ns / 1000));
    json_object_object_add(
        object, "round_trip_us",
        json_object_new_int64(peers.answers[i].round_trip_ns / 1000));
    json_object_object_add(
        object, "age_s", json_object_new_int64(monotonic_s() - peers.answers[i].when));
    return object;
}

json_object *hpcbd_peers_status(void)
{
    json_object *array = json_object_new_array();

    for (unsigned i = 0; array && i < peers.talk.count; i++)
        if (peers.answers[i].when)
            json_object_array_add(array, describe(i));
    return array;
}

const hpcbd_part_t hpcbd_peers = {
    .name = "peers", .start = start, .reload = reload, .stop = stop};
