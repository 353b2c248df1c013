/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* hpcbctl check: gathers facts, runs the rules, prints what they found. */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "hpcbctl/output.h"
#include "hpcbctl/check/rules.h"
#include "hpcbctl/verbs.h"

#define LINE_WIDTH 88
#define INDENT     6 /* of the lines below "FAIL " */

static const char *verdict_name(hpcb_verdict_t verdict)
{
    switch (verdict) {
    case HPCB_VERDICT_OK:
        return "ok";
    case HPCB_VERDICT_WARN:
        return "warn";
    case HPCB_VERDICT_FAIL:
        return "fail";
    case HPCB_VERDICT_ELSEWHERE:
        break;
    }
    return "elsewhere";
}

static const char *text_of(const char *text)
{
    return text ? text : "";
}

static const char *label_of(const hpcb_finding_t *finding)
{
    switch (finding->verdict) {
    case HPCB_VERDICT_FAIL:
        return "FAIL";
    case HPCB_VERDICT_WARN:
        return "WARN";
    default:
        return "NOTE";
    }
}

static void print_problem(const hpcb_finding_t *finding)
{
    printf("%s  %s: %s", label_of(finding), finding->rule->name,
           text_of(finding->found));
    /* Readers of files begin their sentence with the file. */
    if (finding->file && !strstr(text_of(finding->found), finding->file))
        printf(" (%s)", finding->file);
    putchar('\n');
    if (finding->mend)
        printf("      mend: %s\n", finding->mend);
    printf("      protects: %s\n", finding->rule->protects);
}

static void print_problems(const hpcb_report_t *report, hpcb_verdict_t verdict)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->findings[i].verdict == verdict)
            print_problem(&report->findings[i]);
}

/* Of what is in order, findings with a line that would improve it. */
static void print_notes(const hpcb_report_t *report)
{
    for (size_t i = 0; i < report->count; i++)
        if (report->findings[i].verdict == HPCB_VERDICT_OK && report->findings[i].mend)
            print_problem(&report->findings[i]);
}

/* A rule's name, behind the others of its line; column 0 is that of the first one. */
static void print_name(const char *name, size_t *column)
{
    size_t length = strlen(name) + strlen(", ");

    if (*column + length > LINE_WIDTH - INDENT) {
        fputs(",\n      ", stdout);
        *column = 0;
    } else if (*column) {
        fputs(", ", stdout);
    }
    *column += length;
    fputs(name, stdout);
}

static bool is_alike(const hpcb_finding_t *a, const hpcb_finding_t *b)
{
    return a->verdict == b->verdict &&
           strcmp(text_of(a->found), text_of(b->found)) == 0;
}

static bool was_printed(const hpcb_report_t *report, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (is_alike(&report->findings[i], &report->findings[index]))
            return true;
    return false;
}

/* Rules that cannot be tested here, one line for each reason. */
static void print_elsewhere(const hpcb_report_t *report)
{
    for (size_t i = 0; i < report->count; i++) {
        size_t column = 0;

        if (report->findings[i].verdict != HPCB_VERDICT_ELSEWHERE ||
            was_printed(report, i))
            continue;
        printf("SKIP  %s:\n      ", text_of(report->findings[i].found));
        for (size_t k = i; k < report->count; k++)
            if (is_alike(&report->findings[i], &report->findings[k]))
                print_name(report->findings[k].rule->name, &column);
        putchar('\n');
    }
}

/* Returns the number of rules: some have several findings. */
static size_t print_good(const hpcb_report_t *report)
{
    const hpcb_rule_t *last = NULL;
    size_t column = 0, rules = 0;

    for (size_t i = 0; i < report->count; i++) {
        const hpcb_finding_t *finding = &report->findings[i];

        if (finding->verdict != HPCB_VERDICT_OK || finding->rule == last)
            continue;
        if (column == 0)
            fputs("OK    ", stdout);
        print_name(finding->rule->name, &column);
        last = finding->rule;
        rules++;
    }
    if (column)
        putchar('\n');
    return rules;
}

static void print_text(const hpcb_report_t *report)
{
    size_t good = print_good(report);

    print_elsewhere(report);
    print_notes(report);
    print_problems(report, HPCB_VERDICT_WARN);
    print_problems(report, HPCB_VERDICT_FAIL);
    printf("%zu ok, %zu warnings, %zu failed\n", good,
           hpcb_report_count(report, HPCB_VERDICT_WARN),
           hpcb_report_count(report, HPCB_VERDICT_FAIL));
}

static int add_finding(json_object *findings, const hpcb_finding_t *finding)
{
    json_object *object = json_object_new_object();

    /* The array owns it from here on. */
    return hpcb_json_append(findings, object) ||
           hpcb_json_text(object, "rule", finding->rule->name) ||
           hpcb_json_text(object, "verdict", verdict_name(finding->verdict)) ||
           hpcb_json_text(object, "file", finding->file) ||
           hpcb_json_text(object, "found", finding->found) ||
           hpcb_json_text(object, "mend", finding->mend) ||
           hpcb_json_text(object, "protects", finding->rule->protects);
}

static int print_json(const char *node, bool good, const hpcb_report_t *report)
{
    hpcb_autojson json_object *object = json_object_new_object();
    json_object *findings = json_object_new_array();

    if (!object || hpcb_json_text(object, "node", node) ||
        hpcb_json_bool(object, "ok", good)) {
        json_object_put(findings);
        return -1;
    }
    if (hpcb_json_add(object, "findings", findings))
        return -1;
    for (size_t i = 0; i < report->count; i++)
        if (add_finding(findings, &report->findings[i]))
            return -1;
    return hpcb_json_print(object, stdout);
}

static bool print_report(const hpcb_ctl_t *ctl, const hpcb_report_t *report)
{
    bool good = !report->broken && hpcb_report_count(report, HPCB_VERDICT_FAIL) == 0;
    char node[HPCB_NAME_MAX];

    if (ctl->json) {
        if (print_json(hpcb_node_name(node, sizeof(node)), good, report))
            return false;
    } else {
        print_text(report);
    }
    if (report->broken)
        hpcb_log(HPCB_LOG_ERROR, "check: out of memory, the report is not whole");
    return good && fflush(stdout) == 0;
}

int hpcb_check(const hpcb_ctl_t *ctl)
{
    hpcb_facts_t facts;
    hpcb_report_t report;
    bool good;

    hpcb_facts_local(ctl->conf_path, "/", &facts);
    facts.answered = hpcb_facts_cluster(&facts, &facts.cluster_error) == 0;
    hpcb_facts_place(&facts);
    hpcb_rules_run(&facts, &report);
    good = print_report(ctl, &report);
    hpcb_report_free(&report);
    hpcb_facts_free(&facts);
    return good ? 0 : 1;
}
