/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Interface between profile.c and profile_file.c. */
#ifndef HPCB_COMMON_PROFILE_STORE_H
#define HPCB_COMMON_PROFILE_STORE_H

#include "common/profile.h"

struct hpcb_profiles {
    hpcb_profile_t *entries; /* sorted, unique keys */
    size_t count, room;
};

/* Order: user, name, executable. */
int hpcb_profile_compare(const hpcb_profile_key_t *a, const hpcb_profile_key_t *b);

/* Reserve memory for that many entries.  Return -1 if memory is short. */
int hpcb_profiles_reserve(hpcb_profiles_t *store, size_t count);

void hpcb_profiles_drop(hpcb_profiles_t *store, size_t index);
void hpcb_profiles_drop_oldest(hpcb_profiles_t *store);

#endif
