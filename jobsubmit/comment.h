/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#ifndef HPCB_JOBSUBMIT_COMMENT_H
#define HPCB_JOBSUBMIT_COMMENT_H

#include "common/error.h"

/*
 * Put tag (an object made by hpcb_record_tag) into what an administrator or another
 * job_submit plugin has already written into AdminComment: keys of an object stay
 * beside ours, any other text becomes the value of "comment".  before may be NULL.
 * The caller frees the result; NULL with err when memory runs out or tag is none.
 */
char *hpcb_comment_merge(const char *before, const char *tag, hpcb_error_t *err);

#endif
