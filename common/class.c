/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>
#include <strings.h>
#include "common/class.h"

static const char *const class_names[] = {
    [HPCB_CLASS_UNKNOWN] = "unknown",
    [HPCB_CLASS_PRIMARY] = "primary",
    [HPCB_CLASS_GUEST] = "guest",
};

#define N_CLASSES (sizeof(class_names) / sizeof(class_names[0]))

const char *hpcb_class_name(hpcb_class_t klass)
{
    return class_names[(size_t)klass < N_CLASSES ? klass : HPCB_CLASS_UNKNOWN];
}

int hpcb_class_from_name(const char *name, hpcb_class_t *klass)
{
    for (size_t i = 0; i < N_CLASSES; i++) {
        if (strcmp(class_names[i], name) == 0) {
            *klass = (hpcb_class_t)i;
            return 0;
        }
    }
    return -1;
}

/* guest@PARTITION means a guest as long as the job is in the partition of its
 * submission. */
static bool is_called_guest(const char *label, const char *partition)
{
    static const char prefix[] = HPCB_CLASS_LABEL_GUEST;

    return label && strncmp(label, prefix, strlen(prefix)) == 0 &&
           (!partition || !*partition ||
            strcmp(label + strlen(prefix), partition) == 0);
}

hpcb_class_t hpcb_class_of_job(const hpcb_conf_t *conf, bool conf_read,
                               const char *partition, const char *label)
{
    if (is_called_guest(label, partition))
        return HPCB_CLASS_GUEST;
    if (conf_read && partition && *partition)
        return hpcb_conf_is_guest(conf, partition) ? HPCB_CLASS_GUEST
                                                   : HPCB_CLASS_PRIMARY;
    if (label && (strcmp(label, "guest") == 0 || is_called_guest(label, NULL)))
        return HPCB_CLASS_GUEST;
    if (label && strcmp(label, "primary") == 0)
        return HPCB_CLASS_PRIMARY;
    return hpcb_conf_is_guest(conf, partition) ? HPCB_CLASS_GUEST : HPCB_CLASS_UNKNOWN;
}

hpcb_class_t hpcb_class_of_hints(const hpcb_conf_t *conf, bool guest_option,
                                 const char *partition)
{
    if (guest_option || hpcb_conf_is_guest(conf, partition))
        return HPCB_CLASS_GUEST;
    return HPCB_CLASS_UNKNOWN;
}

bool hpcb_class_yields(const hpcb_conf_t *conf, hpcb_class_t klass,
                       const char *partition, hpcb_policy_t policy)
{
    bool named = hpcb_conf_yields(conf, partition);

    if (klass == HPCB_CLASS_GUEST)
        return named && strcasecmp(conf->yield_waits, "all") != 0;
    return klass == HPCB_CLASS_PRIMARY && (named || policy != HPCB_POLICY_NONE);
}

void hpcb_class_window(const hpcb_conf_t *conf, hpcb_class_t klass,
                       const char *partition, const hpcb_window_spec_t *asked,
                       hpcb_window_spec_t *window)
{
    hpcb_window_spec_t given = *asked;
    uint64_t most;

    *window = (hpcb_window_spec_t){0, 0};
    if (klass != HPCB_CLASS_PRIMARY || conf->window_max_duty == 0)
        return;
    if (given.period_us == 0)
        hpcb_conf_window(conf, partition, &given);
    if (!hpcb_conf_window_fits(conf, &given))
        return;
    most = given.period_us * conf->window_max_duty / 100;
    if (given.favoured_us > most)
        given.favoured_us = most;
    *window = given;
}
