/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The tag, the member "hpcb" of the JSON object in a job's AdminComment
 * (doc/record.md): job_submit writes it, the collector adds figures when the job has
 * ended, and the select plugin reads it.  Other keys of the object stay; other text
 * becomes the member "comment", unless it begins "JS1:": that is Jobstats' own and
 * stays without a tag.  report/hpcb_report/sacct.py reads the same format in Python,
 * and tests/common/tags.jsonl holds both to it.
 */
#ifndef HPCB_COMMON_TAG_H
#define HPCB_COMMON_TAG_H

#include <stdbool.h>
#include <stdint.h>
#include "common/class.h"
#include "common/error.h"
#include "common/options.h"
#include "common/text.h"

/* AdminComment holds no more bytes than this, its NUL included. */
#define HPCB_COMMENT_MAX 1024

/* A longer name of a program is left out (with its NUL). */
#define HPCB_TAG_PROGRAM_MAX 256

/* What job_submit says of a job. */
typedef struct {
    hpcb_class_t klass;            /* as decided */
    const hpcb_options_t *options; /* as given at submission; bw_* may be learned */
    bool learned;                  /* bw_* come from the profile store */
    const char *program;           /* whose copies make a poor pair: printable ASCII, of
                                      the user's choosing; NULL or "": not known */
    uint64_t peak;                 /* bytes of memory that earlier runs held on a node
                                      (hpcb_profile_p95); 0: not known */
} hpcb_tag_t;

/* What the collector says of a run that has ended. */
typedef struct {
    char cluster[HPCB_NAME_MAX];
    uint32_t job_id, restart;
    hpcb_class_t klass;
    bool guests_known;
    uint64_t guests;
    double efficiency, stolen_fraction; /* below 0: not known */
    double cpu_seconds, wall_seconds;
    double mem_bandwidth, net_bandwidth; /* mean, bytes/s of a node; as efficiency */
} hpcb_run_t;

/* What the select plugin wants to know. */
typedef struct {
    uint64_t mem, net;                  /* bytes/s; 0: not known */
    uint32_t cpu;                       /* millionths of its CPUs; likewise */
    bool learned;                       /* these come from the profile store */
    bool spread;                        /* --bw-spread */
    uint64_t peak;                      /* bytes; 0: not known */
    char program[HPCB_TAG_PROGRAM_MAX]; /* "": not known */
} hpcb_tag_demand_t;

/* Return before (an AdminComment, NULL or "": none) with the tag in place of any that
 * it has, or a copy of Jobstats' text; the caller frees it.  A tag alone always fits
 * HPCB_COMMENT_MAX.  NULL with err if it does not fit with what is there (EMSGSIZE) or
 * memory runs out. */
char *hpcb_tag_add(const char *before, const hpcb_tag_t *tag, hpcb_error_t *err);

/* Return before with the figures of the run in its tag, which is made if there is none,
 * or a copy of Jobstats' text; the caller frees it.  NULL with err if that does not fit
 * HPCB_COMMENT_MAX (EMSGSIZE) or memory runs out. */
char *hpcb_tag_add_run(const char *before, const hpcb_run_t *run, hpcb_error_t *err);

/* Read what the tag in comment says.  Whatever is not a figure in it is not known, and
 * so is everything if comment is NULL, has no tag or does not fit HPCB_COMMENT_MAX. */
void hpcb_tag_read(const char *comment, hpcb_tag_demand_t *demand);

#endif
