/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* All of it runs in the child, but for hpcbd_keeper_start and _totals. */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/text.h"
#include "hpcbd/collector/conn.h"
#include "hpcbd/collector/keeper.h"
#include "hpcbd/records/wire.h"
#include "records/import.h"

static struct {
    char dir[PATH_MAX];
    hpcb_store_t *store;
    bool taken_over; /* files of an earlier release */
    bool trouble;
    hpcbd_keeper_totals_t totals;
} keeper;

static void complain(const hpcb_error_t *err)
{
    hpcb_log_once(&keeper.trouble, HPCB_LOG_ERROR, "records are not taken: %s",
                  err->text);
}

static int take_over(hpcb_error_t *err)
{
    hpcb_import_t totals = {.records = 0};
    int files = hpcb_import_old(keeper.store, keeper.dir, &totals, err);

    if (files < 0 && hpcb_store_open(keeper.store, hpcbd_now_ms(), NULL))
        return -1; /* the database is at fault: later */
    keeper.taken_over = true;
    if (files < 0)
        hpcb_log(HPCB_LOG_ERROR,
                 "files of an earlier release wait for the next start: %s", err->text);
    if (files > 0)
        hpcb_log(HPCB_LOG_INFO,
                 "took over %d files of an earlier release: %" PRIu64
                 " records of nodes, %" PRIu64 " known, %" PRIu64
                 " lines that are none; the files are in %s/records/imported",
                 files, totals.records, totals.known, totals.refused, keeper.dir);
    return 0;
}

/* 0; or -1 with err: nothing is taken at the moment. */
static int open_store(hpcb_error_t *err)
{
    const char *repaired;

    if (!keeper.store && !(keeper.store = hpcb_store_new(keeper.dir, true, err)))
        return -1;
    if (hpcb_store_open(keeper.store, hpcbd_now_ms(), err))
        return -1;
    repaired = hpcb_store_repaired(keeper.store);
    if (*repaired)
        hpcb_log(HPCB_LOG_ERROR, "%s", repaired);
    return keeper.taken_over ? 0 : take_over(err);
}

/* Each record's part of the answer.  -1 with err: none of what is not on disk is kept.
 */
static int take_entry(const hpcbd_entry_t *entry, hpcb_rjson_t *answer,
                      hpcb_error_t *err)
{
    if (hpcb_store_add(keeper.store, entry->record, hpcbd_now_ms(), err) >= 0)
        return hpcbd_answer_add(answer, entry->id, HPCBD_KEPT);
    if (errno != EINVAL)
        return -1;
    keeper.totals.refused++;
    hpcb_log(HPCB_LOG_INFO, "refused %.100s: %s", entry->id, err->text);
    return hpcbd_answer_add(answer, entry->id, HPCBD_REFUSED);
}

static int take_entries(const hpcbd_request_t *request, hpcbd_sealer_item_t *item)
{
    hpcb_rjson_auto hpcb_rjson_t *answer = hpcbd_answer_new(request->nonce);
    int status = answer ? 0 : hpcb_error(&item->why, "out of memory");

    for (size_t i = 0; status == 0 && i < request->count; i++)
        status = take_entry(&request->entries[i], answer, &item->why);
    if (status == 0)
        item->made = hpcb_rjson_print(answer, "", &item->why);
    return item->made ? 0 : -1;
}

/* 0; or -1: the batch is lost. */
static int take_request(hpcbd_sealer_item_t *item)
{
    hpcbd_request_t request;
    int status;

    if (hpcbd_request_parse(item->text + 1, &request, &item->why)) {
        keeper.totals.malformed++;
        item->error = EPERM;
        return 0;
    }
    keeper.totals.requests++;
    status = take_entries(&request, item);
    json_object_put(request.object);
    return status;
}

static int tick(hpcbd_sealer_item_t *item)
{
    uint64_t wait_ms = 0;

    if (hpcb_text_u64(item->text + 1, INT64_MAX, &wait_ms))
        return 0;
    return hpcb_store_expire(keeper.store, hpcbd_now_ms(), wait_ms, &item->why);
}

static int take_item(hpcbd_sealer_item_t *item)
{
    return *item->text == HPCBD_KEEPER_TICK ? tick(item) : take_request(item);
}

static void print_totals(hpcbd_sealer_item_t *item)
{
    static const hpcb_store_stats_t none;
    const hpcb_store_stats_t *store =
        keeper.store ? hpcb_store_stats(keeper.store) : &none;
    uint64_t pending = keeper.store ? hpcb_store_pending(keeper.store) : 0;

    item->made = malloc(256);
    if (!item->made)
        return;
    snprintf(item->made, 256,
             "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
             " %" PRIu64 " %" PRIu64 " %" PRIu64,
             keeper.totals.requests, keeper.totals.malformed, keeper.totals.refused,
             store->records, store->duplicates, store->runs, store->incomplete,
             store->failures, pending);
}

int hpcbd_keeper_totals(const char *text, hpcbd_keeper_totals_t *totals)
{
    hpcbd_keeper_totals_t read;

    if (sscanf(text,
               "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
               " %" SCNu64 " %" SCNu64 " %" SCNu64,
               &read.requests, &read.malformed, &read.refused, &read.records,
               &read.duplicates, &read.runs, &read.incomplete, &read.failures,
               &read.pending) != 9)
        return -1;
    *totals = read;
    return 0;
}

/* Records that are not on disk are not acknowledged: their senders get no answer. */
static void lose(hpcbd_sealer_item_t *items, size_t count, const hpcb_error_t *err)
{
    if (keeper.store)
        hpcb_store_rollback(keeper.store);
    complain(err);
    for (size_t i = 0; i < count; i++) {
        if (items[i].error == EPERM)
            continue;
        free(items[i].made);
        items[i].made = NULL;
        items[i].error = EAGAIN;
        items[i].why = *err;
    }
}

static int keep(hpcbd_sealer_item_t *items, size_t count, hpcb_error_t *err)
{
    if (open_store(err))
        return -1;
    for (size_t i = 0; i < count; i++) {
        if (take_item(&items[i])) {
            *err = items[i].why;
            return -1;
        }
    }
    return hpcb_store_commit(keeper.store, hpcbd_now_ms(), err);
}

static void work(hpcbd_sealer_item_t *items, size_t count)
{
    hpcb_error_t err = {""};

    if (keep(items, count, &err)) {
        lose(items, count, &err);
    } else {
        if (keeper.trouble)
            hpcb_log(HPCB_LOG_INFO, "records are taken again");
        keeper.trouble = false;
    }
    for (size_t i = 0; i < count; i++)
        if (*items[i].text == HPCBD_KEEPER_TICK)
            print_totals(&items[i]);
}

hpcbd_sealer_t *hpcbd_keeper_start(hpcb_loop_t *loop, const char *dir,
                                   hpcb_error_t *err)
{
    memset(&keeper, 0, sizeof(keeper));
    snprintf(keeper.dir, sizeof(keeper.dir), "%s", dir);
    return hpcbd_sealer_start_batch(loop, "hpcbd: keeper", work, err);
}
