/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The rules of `hpcbctl check`: one row each, with what it protects and how it is
 * tested.  A test looks at facts only and reports findings, each with the setting, its
 * present value and the line that mends it.
 */
#ifndef HPCB_HPCBCTL_CHECK_RULES_H
#define HPCB_HPCBCTL_CHECK_RULES_H

#include <stddef.h>
#include "hpcbctl/check/facts.h"

typedef enum {
    HPCB_VERDICT_OK,
    HPCB_VERDICT_WARN,     /* works, but not in all cases or not to the full */
    HPCB_VERDICT_FAIL,     /* a promise is broken */
    HPCB_VERDICT_ELSEWHERE /* cannot be tested on this host */
} hpcb_verdict_t;

/* All but HOST need what slurmctld says, NODE only to know that this is a node. */
typedef enum {
    HPCB_PLACE_ANY,
    HPCB_PLACE_HOST, /* any host, whether slurmctld answers or not */
    HPCB_PLACE_NODE,
    HPCB_PLACE_CONTROLLER
} hpcb_place_t;

typedef struct hpcb_report hpcb_report_t;

typedef struct {
    const char *name;
    hpcb_place_t place;
    const char *protects; /* what goes wrong without it, one line */
    void (*test)(const hpcb_facts_t *facts, hpcb_report_t *report);
} hpcb_rule_t;

typedef struct {
    const hpcb_rule_t *rule;
    hpcb_verdict_t verdict;
    char *file;  /* where the setting is; NULL: in no file */
    char *found; /* the setting with its present value, or what is wrong */
    char *mend;  /* the line to paste; NULL where there is none */
} hpcb_finding_t;

struct hpcb_report {
    const hpcb_rule_t *rule; /* the one that is being tested */
    hpcb_finding_t *findings;
    size_t count;
    bool broken; /* memory ran out: the report is not whole */
};

const hpcb_rule_t *hpcb_rules(size_t *count);

/* Test every rule; the caller releases report with hpcb_report_free. */
void hpcb_rules_run(const hpcb_facts_t *facts, hpcb_report_t *report);

void hpcb_report_free(hpcb_report_t *report);

/* The number of findings with that verdict. */
size_t hpcb_report_count(const hpcb_report_t *report, hpcb_verdict_t verdict);

/* For tests of rules.  Texts are cut to 8 KiB and cleaned of control characters. */

/* Add a finding; file NULL for none. */
void hpcb_found(hpcb_report_t *report, hpcb_verdict_t verdict, const char *file,
                const char *fmt, ...) __attribute__((format(printf, 4, 5)));

/* The line that mends the last finding. */
void hpcb_mend(hpcb_report_t *report, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
