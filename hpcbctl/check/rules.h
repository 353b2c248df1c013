/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The rules of `hpcbctl check`, one row each, with their purpose and test.  A test only
 * uses facts and reports findings, each with the setting, its present value and the
 * line that fixes it.
 */
#ifndef HPCB_HPCBCTL_CHECK_RULES_H
#define HPCB_HPCBCTL_CHECK_RULES_H

#include <stddef.h>
#include "hpcbctl/check/facts.h"

typedef enum {
    HPCB_VERDICT_OK,
    HPCB_VERDICT_WARN,     /* works, but not in all cases or not completely */
    HPCB_VERDICT_FAIL,     /* a promise is broken */
    HPCB_VERDICT_ELSEWHERE /* cannot be tested on this host */
} hpcb_verdict_t;

/* All except HOST need slurmctld's answers, NODE only to know that this is a node. */
typedef enum {
    HPCB_PLACE_ANY,
    HPCB_PLACE_HOST, /* any host, with or without an answer of slurmctld */
    HPCB_PLACE_NODE,
    HPCB_PLACE_CONTROLLER
} hpcb_place_t;

typedef struct hpcb_report hpcb_report_t;

typedef struct {
    const char *name;
    hpcb_place_t place;
    const char *protects; /* consequence of breaking the rule, one line */
    void (*test)(const hpcb_facts_t *facts, hpcb_report_t *report);
} hpcb_rule_t;

typedef struct {
    const hpcb_rule_t *rule;
    hpcb_verdict_t verdict;
    char *file;  /* file of the setting; NULL: none */
    char *found; /* the setting with its present value, or the problem */
    char *mend;  /* the line to paste; NULL if there is none */
} hpcb_finding_t;

struct hpcb_report {
    const hpcb_rule_t *rule; /* the rule being tested */
    hpcb_finding_t *findings;
    size_t count;
    bool broken; /* memory was short: the report is incomplete */
};

const hpcb_rule_t *hpcb_rules(size_t *count);

/* Test every rule; the caller frees report with hpcb_report_free. */
void hpcb_rules_run(const hpcb_facts_t *facts, hpcb_report_t *report);

void hpcb_report_free(hpcb_report_t *report);

/* Return the number of findings with that verdict. */
size_t hpcb_report_count(const hpcb_report_t *report, hpcb_verdict_t verdict);

/* For tests of rules.  Texts are truncated to 8 KiB, and control characters are
 * replaced. */

/* Add a finding; file NULL for none. */
void hpcb_found(hpcb_report_t *report, hpcb_verdict_t verdict, const char *file,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* Set the line that fixes the last finding. */
void hpcb_mend(hpcb_report_t *report, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
