/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <errno.h>
#include <limits.h>

#include "common/log.h"
#include "common/text.h"
#include "hpcbctl/job/release_conf.h"

bool hpcb_release_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf)
{
    char path[PATH_MAX];
    hpcb_error_t err;
    bool sure = true, complete;

    complete = hpcb_conf_salvage(hpcb_conf_find(ctl->conf_path, path, sizeof(path)),
                                 conf, &err) == 0;
    /* hpcbd runs without a file too. */
    if (!complete)
        sure = errno == ENOENT && !ctl->conf_path;
    if (ctl->state_dir)
        sure = hpcb_text_copy(conf->state_dir, sizeof(conf->state_dir),
                              ctl->state_dir) == 0;
    if (!complete)
        hpcb_log(HPCB_LOG_ERROR,
                 "%.300s; releasing with defaults for what cannot be read, "
                 "StateDir=%.100s%s",
                 err.text, conf->state_dir, sure ? "" : " (else give --state-dir)");
    return sure;
}
