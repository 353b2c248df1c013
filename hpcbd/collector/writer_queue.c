/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "hpcbd/collector/writer_queue.h"

size_t hpcbd_queue_room(const hpcbd_queue_t *queue)
{
    return HPCBD_QUEUE_MAX - queue->count;
}

static hpcbd_queued_t *find_job(hpcbd_queue_t *queue, const hpcb_run_t *run)
{
    for (size_t i = 0; i < queue->count; i++) {
        const hpcb_run_t *known = &queue->entries[i].what.run;

        if (known->job_id == run->job_id && strcmp(known->cluster, run->cluster) == 0)
            return &queue->entries[i];
    }
    return NULL;
}

/* A node that reports late gives an earlier run a later number. */
static bool is_later(const hpcbd_writer_run_t *what, const hpcbd_writer_run_t *than)
{
    if (what->submit != than->submit)
        return what->submit > than->submit;
    return what->run.restart != than->run.restart
               ? what->run.restart > than->run.restart
               : what->seq > than->seq;
}

void hpcbd_queue_add(hpcbd_queue_t *queue, const hpcbd_writer_run_t *what,
                     uint64_t now_ms)
{
    hpcbd_queued_t *known = find_job(queue, &what->run);

    if (known && !is_later(what, &known->what))
        return;
    if (!known)
        known = &queue->entries[queue->count++];
    *known = (hpcbd_queued_t){.what = *what, .due_ms = now_ms};
}

static size_t first_due(const hpcbd_queue_t *queue)
{
    size_t first = 0;

    for (size_t i = 1; i < queue->count; i++)
        if (queue->entries[i].due_ms < queue->entries[first].due_ms)
            first = i;
    return first;
}

hpcbd_queued_t *hpcbd_queue_due(hpcbd_queue_t *queue, uint64_t now_ms)
{
    return hpcbd_queue_next_ms(queue) <= now_ms ? &queue->entries[first_due(queue)]
                                                : NULL;
}

uint64_t hpcbd_queue_next_ms(const hpcbd_queue_t *queue)
{
    return queue->count > 0 ? queue->entries[first_due(queue)].due_ms : UINT64_MAX;
}

/* Their order stays, in which they were published. */
void hpcbd_queue_remove(hpcbd_queue_t *queue, hpcbd_queued_t *entry)
{
    size_t behind = queue->count - 1 - (size_t)(entry - queue->entries);

    memmove(entry, entry + 1, behind * sizeof(*entry));
    queue->count--;
}

bool hpcbd_queue_put_off(hpcbd_queue_t *queue, hpcbd_queued_t *entry, uint64_t now_ms)
{
    if (++entry->tries < HPCBD_END_TRIES) {
        entry->due_ms = now_ms + HPCBD_END_PAUSE_MS;
        return true;
    }
    hpcbd_queue_remove(queue, entry);
    return false;
}

int64_t hpcbd_queue_position(const hpcbd_queue_t *queue, int64_t read)
{
    int64_t position = read;

    for (size_t i = 0; i < queue->count; i++)
        if (queue->entries[i].what.seq <= position)
            position = queue->entries[i].what.seq - 1;
    return position;
}
