/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The store in memory: an array, sorted by key.  profile_file.c reads and writes it.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/capacity.h"
#include "common/profile_store.h"
#include "common/text.h"

/* The newest run's part of the mean is 1 / WEIGHT. */
#define WEIGHT 4

static const struct {
    const char *name;
    uint64_t max;
} axes[HPCB_PROFILE_FIGURES] = {
    [HPCB_PROFILE_MEM] = {"mem", HPCB_BANDWIDTH_MAX},
    [HPCB_PROFILE_NET] = {"net", HPCB_BANDWIDTH_MAX},
    [HPCB_PROFILE_CPU] = {"cpu", HPCB_PROFILE_ONE},
    [HPCB_PROFILE_PEAK] = {"peak", HPCB_BANDWIDTH_MAX},
    [HPCB_PROFILE_MEM_PEAK] = {"mem_peak", HPCB_BANDWIDTH_MAX},
    [HPCB_PROFILE_NET_PEAK] = {"net_peak", HPCB_BANDWIDTH_MAX},
};

const char *hpcb_profile_axis_name(hpcb_profile_axis_t axis)
{
    return axes[axis].name;
}

uint64_t hpcb_profile_axis_max(hpcb_profile_axis_t axis)
{
    return axes[axis].max;
}

int hpcb_profile_key(uint32_t uid, const char *name, const char *executable,
                     hpcb_profile_key_t *key)
{
    const char *slash = executable ? strrchr(executable, '/') : NULL;
    hpcb_profile_key_t made = {.uid = uid};

    if (slash)
        executable = slash + 1;
    if (!name || !*name || hpcb_text_copy(made.name, sizeof(made.name), name) ||
        hpcb_text_copy(made.executable, sizeof(made.executable),
                       executable ? executable : ""))
        return -1;
    *key = made;
    return 0;
}

hpcb_profiles_t *hpcb_profiles_new(void)
{
    return calloc(1, sizeof(hpcb_profiles_t));
}

void hpcb_profiles_free(hpcb_profiles_t *store)
{
    if (store)
        free(store->entries);
    free(store);
}

size_t hpcb_profiles_count(const hpcb_profiles_t *store)
{
    return store->count;
}

const hpcb_profile_t *hpcb_profiles_at(const hpcb_profiles_t *store, size_t index)
{
    return &store->entries[index];
}

int hpcb_profile_compare(const hpcb_profile_key_t *a, const hpcb_profile_key_t *b)
{
    int order;

    if (a->uid != b->uid)
        return a->uid < b->uid ? -1 : 1;
    order = strcmp(a->name, b->name);
    return order ? order : strcmp(a->executable, b->executable);
}

/* Return the position of key, or where it would be inserted. */
static size_t position(const hpcb_profiles_t *store, const hpcb_profile_key_t *key)
{
    size_t low = 0, high = store->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (hpcb_profile_compare(&store->entries[middle].key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static hpcb_profile_t *find(const hpcb_profiles_t *store, const hpcb_profile_key_t *key)
{
    size_t at = position(store, key);

    if (at == store->count || hpcb_profile_compare(&store->entries[at].key, key) != 0)
        return NULL;
    return &store->entries[at];
}

const hpcb_profile_t *hpcb_profiles_find(const hpcb_profiles_t *store,
                                         const hpcb_profile_key_t *key)
{
    return find(store, key);
}

static hpcb_profile_key_t any_executable(const hpcb_profile_key_t *key)
{
    hpcb_profile_key_t any = *key;

    memset(any.executable, 0, sizeof(any.executable));
    return any;
}

const hpcb_profile_t *hpcb_profiles_look_up(const hpcb_profiles_t *store,
                                            const hpcb_profile_key_t *key)
{
    const hpcb_profile_key_t any = any_executable(key);
    const hpcb_profile_t *exact = hpcb_profiles_find(store, key);

    return exact ? exact : hpcb_profiles_find(store, &any);
}

bool hpcb_profile_steady(const hpcb_profile_figure_t *figure)
{
    return figure->count > 0 && figure->deviation <= figure->mean / 2;
}

void hpcb_profiles_drop(hpcb_profiles_t *store, size_t index)
{
    hpcb_profile_t *entry = &store->entries[index];

    store->count--;
    memmove(entry, entry + 1, (store->count - index) * sizeof(*entry));
}

static bool is_older(const hpcb_profile_t *a, const hpcb_profile_t *b)
{
    if (a->fixed != b->fixed)
        return b->fixed;
    return a->updated < b->updated;
}

/* Drop the entry between first and end that will be missed least: the oldest, and of
 * those that an administrator has set only where there are no others. */
static void drop_oldest(hpcb_profiles_t *store, size_t first, size_t end)
{
    size_t oldest = first;

    for (size_t i = first + 1; i < end; i++)
        if (is_older(&store->entries[i], &store->entries[oldest]))
            oldest = i;
    if (first < end)
        hpcb_profiles_drop(store, oldest);
}

void hpcb_profiles_drop_oldest(hpcb_profiles_t *store)
{
    drop_oldest(store, 0, store->count);
}

/* Ensure that another entry of that user fits. */
static void make_room(hpcb_profiles_t *store, uint32_t uid)
{
    const hpcb_profile_key_t start = {.uid = uid};
    size_t first = position(store, &start), end = first;

    while (end < store->count && store->entries[end].key.uid == uid)
        end++;
    if (end - first >= HPCB_PROFILES_USER_MAX)
        drop_oldest(store, first, end);
    if (store->count >= HPCB_PROFILES_MAX)
        hpcb_profiles_drop_oldest(store);
}

int hpcb_profiles_reserve(hpcb_profiles_t *store, size_t count)
{
    hpcb_profile_t *larger;

    if (count <= store->room)
        return 0;
    count = count < 16 ? 16 : count + count / 2;
    larger = reallocarray(store->entries, count, sizeof(*larger));
    if (!larger)
        return -1;
    store->entries = larger;
    store->room = count;
    return 0;
}

/* The entry of key, a new one where there is none; NULL when memory runs out. */
static hpcb_profile_t *obtain(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                              hpcb_error_t *err)
{
    hpcb_profile_t *entry = find(store, key);
    size_t at;

    if (entry)
        return entry;
    make_room(store, key->uid);
    if (hpcb_profiles_reserve(store, store->count + 1)) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    at = position(store, key);
    entry = &store->entries[at];
    memmove(entry + 1, entry, (store->count - at) * sizeof(*entry));
    store->count++;
    *entry = (hpcb_profile_t){.key = *key};
    return entry;
}

static uint64_t limited(hpcb_profile_axis_t axis, uint64_t value)
{
    return value < axes[axis].max ? value : axes[axis].max;
}

/* Values have at most 61 bits. */
static uint64_t approach(uint64_t from, uint64_t to, uint32_t divisor)
{
    return to >= from ? from + (to - from) / divisor : from - (from - to) / divisor;
}

static void fold(hpcb_profile_figure_t *figure, uint64_t value)
{
    uint32_t divisor = figure->count < WEIGHT ? figure->count + 1 : WEIGHT;
    uint64_t distance =
        value > figure->mean ? value - figure->mean : figure->mean - value;

    if (figure->count == 0)
        distance = 0;
    figure->mean = approach(figure->mean, value, divisor);
    figure->deviation = approach(figure->deviation, distance, divisor);
    if (figure->count < UINT32_MAX)
        figure->count++;
}

/* Of a normal distribution 95 % lie below 1.65 sigma, which are 2.06 mean deviations.
 */
uint64_t hpcb_profile_p95(const hpcb_profile_t *profile, hpcb_profile_axis_t axis)
{
    const hpcb_profile_figure_t *figure = &profile->figures[axis];

    if (!profile->fixed && figure->count < HPCB_PROFILE_P95_RUNS)
        return 0;
    return limited(axis, figure->mean) + 2 * limited(axis, figure->deviation);
}

static int learn_one(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                     const hpcb_profile_run_t *run, uint64_t now, hpcb_error_t *err)
{
    hpcb_profile_t *entry = obtain(store, key, err);

    if (!entry)
        return -1;
    if (entry->fixed)
        return 0;
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++)
        if (run->known[axis])
            fold(&entry->figures[axis], limited(axis, run->value[axis]));
    entry->updated = now;
    return 0;
}

static bool is_empty(const hpcb_profile_run_t *run)
{
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++)
        if (run->known[axis])
            return false;
    return true;
}

int hpcb_profiles_learn(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                        const hpcb_profile_run_t *run, uint64_t now, hpcb_error_t *err)
{
    const hpcb_profile_key_t any = any_executable(key);

    if (is_empty(run))
        return 0;
    if (*key->executable && learn_one(store, key, run, now, err))
        return -1;
    return learn_one(store, &any, run, now, err);
}

int hpcb_profiles_set(hpcb_profiles_t *store, const hpcb_profile_key_t *key,
                      const hpcb_profile_run_t *values, uint64_t now, hpcb_error_t *err)
{
    hpcb_profile_t *entry = obtain(store, key, err);

    if (!entry)
        return -1;
    *entry = (hpcb_profile_t){.key = *key, .updated = now, .fixed = true};
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++)
        if (values->known[axis])
            entry->figures[axis] = (hpcb_profile_figure_t){
                .mean = limited(axis, values->value[axis]), .count = 1};
    return 0;
}

bool hpcb_profile_matches(const hpcb_profile_t *profile,
                          const hpcb_profile_filter_t *filter)
{
    const hpcb_profile_key_t *key = &profile->key;

    return (!filter->by_user || key->uid == filter->uid) &&
           (!filter->name || strcmp(key->name, filter->name) == 0) &&
           (!filter->executable || strcmp(key->executable, filter->executable) == 0);
}

size_t hpcb_profiles_forget(hpcb_profiles_t *store, const hpcb_profile_filter_t *filter)
{
    size_t kept = 0, before = store->count;

    for (size_t i = 0; i < before; i++) {
        if (hpcb_profile_matches(&store->entries[i], filter))
            continue;
        if (kept != i)
            store->entries[kept] = store->entries[i];
        kept++;
    }
    store->count = kept;
    return before - kept;
}
