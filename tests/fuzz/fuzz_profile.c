/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include "common/profile.h"
#include "tests/fuzz/fuzz.h"

#define CG "{\"user_id\":1000,\"name\":\"CG\",\"executable\":\"cg.B.4\","

const char *const fuzz_seeds[] = {
    "{\"version\":1,\"profiles\":[\n" CG
    "\"mem\":{\"mean\":674000000,\"deviation\":1000,\"count\":3},"
    "\"net\":{\"mean\":1,\"deviation\":0,\"count\":1},"
    "\"cpu\":{\"mean\":990000,\"deviation\":5,\"count\":4294967295},"
    "\"updated\":1700000000},\n"
    "{\"user_id\":0,\"name\":\"%00%0A%E4 %25\",\"executable\":\"\",\"updated\":0,"
    "\"fixed\":true}\n]}\n",
    "{\"version\":1,\"profiles\":[]}",
    "{\"version\":2,\"profiles\":[" CG "\"updated\":1}]}",
    "{\"version\":1,\"profiles\":[" CG "\"updated\":1}," CG "\"updated\":1}]}",
    NULL,
};

static void check_entry(const hpcb_profile_t *entry)
{
    FUZZ_ASSERT(*entry->key.name);
    FUZZ_ASSERT(strnlen(entry->key.name, HPCB_PROFILE_NAME_MAX) <
                HPCB_PROFILE_NAME_MAX);
    FUZZ_ASSERT(strnlen(entry->key.executable, HPCB_PROFILE_NAME_MAX) <
                HPCB_PROFILE_NAME_MAX);
    for (unsigned axis = 0; axis < HPCB_PROFILE_FIGURES; axis++) {
        const hpcb_profile_figure_t *figure = &entry->figures[axis];

        FUZZ_ASSERT(figure->mean <= hpcb_profile_axis_max(axis));
        FUZZ_ASSERT(figure->deviation <= hpcb_profile_axis_max(axis));
        FUZZ_ASSERT(figure->count > 0 || figure->mean + figure->deviation == 0);
    }
}

static void check_entries(const hpcb_profiles_t *store)
{
    size_t count = hpcb_profiles_count(store);

    FUZZ_ASSERT(count <= HPCB_PROFILES_MAX);
    for (size_t i = 0; i < count; i++) {
        const hpcb_profile_t *entry = hpcb_profiles_at(store, i);

        check_entry(entry);
        FUZZ_ASSERT(hpcb_profiles_find(store, &entry->key) == entry);
        FUZZ_ASSERT(hpcb_profiles_look_up(store, &entry->key) == entry);
    }
}

/* Learning changes what was read without a doubt for UBSan. */
static void check_learning(hpcb_profiles_t *store)
{
    const hpcb_profile_run_t run = {{true, true, true}, {UINT64_MAX, 0, 500000}};
    hpcb_profile_key_t key;

    if (hpcb_profiles_count(store) > 0)
        key = hpcb_profiles_at(store, 0)->key;
    else
        FUZZ_ASSERT(hpcb_profile_key(1, "x", "/y/z", &key) == 0);
    FUZZ_ASSERT(hpcb_profiles_learn(store, &key, &run, 7, NULL) == 0);
    check_entries(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_text(data, size);
    hpcb_error_t err = {""};
    hpcb_profiles_t *store = hpcb_profiles_parse(text, size, &err);
    hpcb_profiles_t *back;
    char *first, *second;
    size_t length, again;

    free(text);
    if (!store) {
        fuzz_check_error(&err);
        return 0;
    }
    check_entries(store);
    first = hpcb_profiles_render(store, &length, NULL);
    FUZZ_ASSERT(first && length <= HPCB_PROFILES_BYTES && strlen(first) == length);
    back = hpcb_profiles_parse(first, length, NULL);
    FUZZ_ASSERT(back && hpcb_profiles_count(back) == hpcb_profiles_count(store));
    second = hpcb_profiles_render(back, &again, NULL);
    FUZZ_ASSERT(second && again == length && memcmp(first, second, length) == 0);
    check_learning(store);
    free(first);
    free(second);
    hpcb_profiles_free(store);
    hpcb_profiles_free(back);
    return 0;
}
