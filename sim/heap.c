/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stdbool.h>
#include <stdlib.h>

#include "sim/heap.h"

#define ROOM_FIRST 64

static bool before(const hpcb_sim_event_t *a, const hpcb_sim_event_t *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->id < b->id;
}

static int grow(hpcb_sim_heap_t *heap)
{
    size_t room = heap->room > 0 ? 2 * heap->room : ROOM_FIRST;
    hpcb_sim_event_t *event = reallocarray(heap->event, room, sizeof(*event));

    if (!event)
        return -1;
    heap->event = event;
    heap->room = room;
    return 0;
}

int hpcb_sim_heap_push(hpcb_sim_heap_t *heap, hpcb_sim_event_t event)
{
    size_t at = heap->n;

    if (heap->n == heap->room && grow(heap) < 0)
        return -1;
    heap->n++;
    while (at > 0 && before(&event, &heap->event[(at - 1) / 2])) {
        heap->event[at] = heap->event[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap->event[at] = event;
    return 0;
}

const hpcb_sim_event_t *hpcb_sim_heap_first(const hpcb_sim_heap_t *heap)
{
    return heap->n > 0 ? &heap->event[0] : NULL;
}

void hpcb_sim_heap_replace(hpcb_sim_heap_t *heap, hpcb_sim_event_t event)
{
    size_t at = 0, child;

    while ((child = 2 * at + 1) < heap->n) {
        if (child + 1 < heap->n && before(&heap->event[child + 1], &heap->event[child]))
            child++;
        if (!before(&heap->event[child], &event))
            break;
        heap->event[at] = heap->event[child];
        at = child;
    }
    heap->event[at] = event;
}

void hpcb_sim_heap_pop(hpcb_sim_heap_t *heap)
{
    heap->n--;
    if (heap->n > 0)
        hpcb_sim_heap_replace(heap, heap->event[heap->n]);
}

void hpcb_sim_heap_free(hpcb_sim_heap_t *heap)
{
    free(heap->event);
    *heap = (hpcb_sim_heap_t){0};
}
