/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The record of one run of a job: what its nodes have reported, merged (doc/record.md,
 * "The record of a job"), and its short form in AdminComment.
 */
#ifndef HPCB_COMMON_JOBRECORD_H
#define HPCB_COMMON_JOBRECORD_H

#include "common/record_parts.h"

/* What tells one run from all others. */
typedef struct {
    char cluster[HPCB_NAME_MAX];
    uint32_t job_id, restart;
} hpcb_run_key_t;

typedef struct hpcb_run hpcb_run_t;

/* The run that the record of a node belongs to. */
void hpcb_run_key_of(const hpcb_record_t *record, hpcb_run_key_t *key);

/* The same of a line that hpcb_run_render has made (length bytes, without looking at
 * the rest of it).  0, or -1 where it is none. */
int hpcb_run_key_of_line(const char *line, size_t length, hpcb_run_key_t *key);

/* A run without nodes, or NULL when memory runs out. */
hpcb_run_t *hpcb_run_new(const hpcb_run_key_t *key);
void hpcb_run_free(hpcb_run_t *run);

const hpcb_run_key_t *hpcb_run_key(const hpcb_run_t *run);

/*
 * Add the record of a node, an object that hpcb_record_parse takes.  Of two records of
 * one node the one that has seen more CPU time counts (an epilog that is run a second
 * time knows less), else the one that has seen the longer time.
 * 1: the run has changed; 0: it knew that already; -1 with err for an object that is no
 * record (EINVAL) or when memory runs out (ENOMEM): the run is as it was.
 */
int hpcb_run_add(hpcb_run_t *run, hpcb_rjson_t *object, hpcb_error_t *err);

/* All of the job's nodes have reported. */
bool hpcb_run_complete(const hpcb_run_t *run);

/* Nodes that have reported. */
size_t hpcb_run_nodes(const hpcb_run_t *run);

/* Roughly the bytes of memory it takes. */
size_t hpcb_run_bytes(const hpcb_run_t *run);

/* Seconds since the epoch (UTC) of its end. */
uint64_t hpcb_run_end(const hpcb_run_t *run);

/* One line of JSON (newline at the end); the caller frees it.  NULL with err when
 * memory runs out or there is no node. */
char *hpcb_run_render(const hpcb_run_t *run, hpcb_error_t *err);

/* Read such a line back; NULL with err where it is none. */
hpcb_run_t *hpcb_run_parse(const char *line, hpcb_error_t *err);

/* AdminComment holds no more bytes than this, its NUL included. */
#define HPCB_COMMENT_MAX 1024

/*
 * before (AdminComment, NULL or "": none) with the run's figures in the member "hpcb";
 * what else is there stays: members of a JSON object beside ours, another text as the
 * member "comment".  The caller frees it.  NULL with err where that does not fit
 * (EMSGSIZE), or memory runs out.
 */
char *hpcb_run_comment(const hpcb_run_t *run, const char *before, hpcb_error_t *err);

#endif
