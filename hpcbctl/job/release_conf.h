/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The configuration by which `hpcbctl release` works: in an emergency, a file with a
 * mistake must not keep an admin from undoing what was done. */
#ifndef HPCB_HPCBCTL_JOB_RELEASE_CONF_H
#define HPCB_HPCBCTL_JOB_RELEASE_CONF_H

#include "common/conf.h"
#include "hpcbctl/verbs.h"

/* Read what can be read; defaults hold for the rest, after one line about that, and
 * --state-dir counts more than the file.  Returns false if StateDir may be another one:
 * what is to be undone may be in it. */
bool hpcb_release_conf(const hpcb_ctl_t *ctl, hpcb_conf_t *conf);

#endif
