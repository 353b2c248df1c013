/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * In the place of mpi/observe.c: writes down the events that the observer would see, as
 * numbers in the order of their first appearance, into $HPCB_RECORD.<process id>; at
 * most RECORDED of them.  For tests/mpi/streams, see record-streams there.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/observe.h"

#define RECORDED 20000
#define PER_LINE 24

_Thread_local hpcb_observer_t *hpcb_observer;

static hpcb_observer_t observer;
static hpcb_page_t page;
static unsigned number[UINT16_MAX + 1], numbers, recorded;
static FILE *file;

void hpcb_observe_young(hpcb_observer_t *o, hpcb_period_place_t place)
{
    uint16_t symbol = o->period.history[o->period.latest];

    (void)place;
    /* It never grows old, so that every event comes here. */
    o->period.held = 0;
    if (!file || recorded == RECORDED)
        return;
    if (number[symbol] == 0)
        number[symbol] = ++numbers;
    recorded++;
    fprintf(file, "%u%c", number[symbol], recorded % PER_LINE ? ' ' : '\n');
}

void hpcb_observe_resting(hpcb_observer_t *o)
{
    (void)o;
}

void hpcb_observe_end(hpcb_observer_t *o)
{
    o->left = 1;
}

void hpcb_observe_compute(hpcb_observer_t *o)
{
    (void)o;
}

void hpcb_observe_wait(hpcb_observer_t *o)
{
    (void)o;
}

void hpcb_observe_start(void)
{
    const char *base = getenv("HPCB_RECORD");
    char path[4096];

    if (!base || file)
        return;
    snprintf(path, sizeof(path), "%s.%d", base, (int)getpid());
    file = fopen(path, "we");
    hpcb_period_reset(&observer.period);
    observer.page = &page;
    hpcb_observer = &observer;
}

void hpcb_observe_stop(void)
{
    hpcb_observer = NULL;
    if (file)
        fclose(file);
    file = NULL;
}
