/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The tag: member "hpcb" of the JSON object in a job's AdminComment (doc/record.md).
 * job_submit writes it, the collector adds figures when the job has ended, and the
 * select plugin reads it.  Other keys of the object are kept; other text becomes the
 * member "comment", unless it begins with "JS1:", which is Jobstats' format and stays
 * without a tag.  report/hpcb_report/sacct.py reads the same format in Python;
 * tests/common/tags.jsonl tests both.
 */
#ifndef HPCB_COMMON_TAG_H
#define HPCB_COMMON_TAG_H

#include <stdbool.h>
#include <stdint.h>
#include "common/class.h"
#include "common/error.h"
#include "common/options.h"
#include "common/text.h"

/* Maximum size of AdminComment, including its NUL. */
#define HPCB_COMMENT_MAX 1024

/* Longer names of programs are omitted (including the NUL). */
#define HPCB_TAG_PROGRAM_MAX 256

/* Data from job_submit about a job. */
typedef struct {
    hpcb_class_t klass;            /* as decided */
    const hpcb_options_t *options; /* as given at submission; bw_* may be learned */
    bool learned;                  /* bw_* come from the profile store */
    const char *program; /* program of which two instances fit badly together: printable
                            ASCII, chosen by the user; NULL or "": not known */
    uint64_t peak; /* bytes of memory used by earlier runs on a node (hpcb_profile_p95);
                      0: not known */
} hpcb_tag_t;

/* Data from the collector about a run that has ended. */
typedef struct {
    char cluster[HPCB_NAME_MAX];
    uint32_t job_id, restart;
    hpcb_class_t klass;
    bool guests_known;
    uint64_t guests;
    double efficiency, stolen_fraction; /* negative: not known */
    double cpu_seconds, wall_seconds;
    double mem_bandwidth, net_bandwidth; /* mean, bytes/s per node; < 0: not known */
} hpcb_run_t;

/* Data for the select plugin. */
typedef struct {
    uint64_t mem, net;                  /* bytes/s; 0: not known */
    uint32_t cpu;                       /* millionths of its CPUs; 0: not known */
    bool learned;                       /* these come from the profile store */
    bool spread;                        /* --bw-spread */
    uint64_t peak;                      /* bytes; 0: not known */
    char program[HPCB_TAG_PROGRAM_MAX]; /* "": not known */
} hpcb_tag_demand_t;

/* Return before (an AdminComment, NULL or "": none) with the tag, which replaces an
 * existing one, or a copy of Jobstats' text; the caller frees it.  A tag alone always
 * fits HPCB_COMMENT_MAX.  Return NULL with err if it does not fit together with the
 * other text (EMSGSIZE) or memory is short. */
char *hpcb_tag_add(const char *before, const hpcb_tag_t *tag, hpcb_error_t *err);

/* Return before with the figures of the run in its tag, which is created if necessary,
 * or a copy of Jobstats' text; the caller frees it.  Return NULL with err if it does
 * not fit HPCB_COMMENT_MAX (EMSGSIZE) or memory is short. */
char *hpcb_tag_add_run(const char *before, const hpcb_run_t *run, hpcb_error_t *err);

/* Read the tag in comment.  Members that are no figures are not known; neither is
 * anything if comment is NULL, has no tag or does not fit HPCB_COMMENT_MAX. */
void hpcb_tag_read(const char *comment, hpcb_tag_demand_t *demand);

#endif
