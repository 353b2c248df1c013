/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "cgroup/frequency.h"
#include "cgroup/knob.h"

#define DIRECTORY  "sys/devices/system/cpu/cpu%u/cpufreq"
#define PREFERENCE "energy_performance_preference"
#define AVAILABLE  "energy_performance_available_preferences"

static const char *const lower[HPCB_FREQUENCY_LOWEST] = {"balance_power", "power"};

static void name_of(unsigned cpu, const char *knob, char name[96])
{
    snprintf(name, 96, DIRECTORY "/%s", cpu, knob);
}

static bool has_word(const char *text, const char *word)
{
    size_t length = strlen(word);

    for (const char *at = strstr(text, word); at; at = strstr(at + 1, word))
        if ((at == text || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

int hpcb_frequency_probe(const hpcb_node_t *node, unsigned cpu, hpcb_error_t *err)
{
    char name[96], text[256];

    name_of(cpu, AVAILABLE, name);
    if (hpcb_node_read(node, name, text, sizeof(text), err) < 0)
        return -1;
    for (unsigned i = 0; i < HPCB_FREQUENCY_LOWEST; i++)
        if (!has_word(text, lower[i])) {
            errno = ENOTSUP;
            return hpcb_error(err, "cpu%u does not know \"%s\"", cpu, lower[i]);
        }
    return 0;
}

int hpcb_frequency_note(const hpcb_node_t *node, unsigned cpu, hpcb_undo_t *undo,
                        char old[HPCB_FREQUENCY_TEXT_MAX], hpcb_error_t *err)
{
    char name[96], path[PATH_MAX];

    name_of(cpu, PREFERENCE, name);
    if (hpcb_node_read(node, name, old, HPCB_FREQUENCY_TEXT_MAX, err) < 0 ||
        hpcb_node_path(node, name, path, sizeof(path), err) < 0)
        return -1;
    return hpcb_undo_note_file(undo, path, old, err);
}

int hpcb_frequency_set(const hpcb_node_t *node, unsigned cpu, unsigned below,
                       const char *old, hpcb_error_t *err)
{
    unsigned level = below < HPCB_FREQUENCY_LOWEST ? below : HPCB_FREQUENCY_LOWEST;
    char name[96], path[PATH_MAX];

    name_of(cpu, PREFERENCE, name);
    if (hpcb_node_path(node, name, path, sizeof(path), err) < 0)
        return -1;
    return hpcb_knob_write(path, "", level == 0 ? old : lower[level - 1], err);
}
