/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Future events, earliest first: a binary heap of (time, id).  Of events at the same
 * time the lower id is first, so that the order never depends on the order of
 * insertion.
 */
#ifndef HPCB_SIM_HEAP_H
#define HPCB_SIM_HEAP_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int64_t at_ns;
    uint32_t id;
    uint32_t version; /* for the caller: identifies one of the events of an id */
} hpcb_sim_event_t;

/* All zero: empty.  Free it with hpcb_sim_heap_free. */
typedef struct {
    hpcb_sim_event_t *event;
    size_t n, room;
} hpcb_sim_heap_t;

/* Add an event, O(log n).  Return 0, or -1 with errno ENOMEM. */
int hpcb_sim_heap_push(hpcb_sim_heap_t *heap, hpcb_sim_event_t event);

/* Return the first event, or NULL; valid until the next call. */
const hpcb_sim_event_t *hpcb_sim_heap_first(const hpcb_sim_heap_t *heap);

/* Remove the first event of a heap that is not empty, O(log n). */
void hpcb_sim_heap_pop(hpcb_sim_heap_t *heap);

/* Do that and a push, at half the cost. */
void hpcb_sim_heap_replace(hpcb_sim_heap_t *heap, hpcb_sim_event_t event);

void hpcb_sim_heap_free(hpcb_sim_heap_t *heap);

#endif
