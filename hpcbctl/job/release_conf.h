/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Configuration of `hpcbctl release`: in an emergency an invalid file must not keep an
 * admin from undoing everything. */
#ifndef HPCB_HPCBCTL_JOB_RELEASE_CONF_H
#define HPCB_HPCBCTL_JOB_RELEASE_CONF_H

#include "common/conf.h"
#include "hpcbctl/verbs.h"

/* Read what is valid; defaults apply to the rest, with one line about it, and
 * --state-dir takes precedence over the file.  Return false if StateDir may be another
 * one, which may contain what must be undone. */
bool hpcb_release_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf);

#endif
