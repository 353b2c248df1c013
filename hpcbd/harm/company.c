/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/about.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/log.h"
#include "hpcbd/harm/company.h"
#include "policy/fitness.h"

/* Of more guests at a time each is hardly guilty. */
#define GUESTS_MAX 16

/* The programs of guests that leave together. */
typedef struct {
    struct {
        uint64_t program;
        uint32_t uid, jobs;
    } of[GUESTS_MAX];
    uint32_t count, jobs;
} leaving_t;

static int path_of(const char *state_dir, char path[static PATH_MAX])
{
    int n = snprintf(path, PATH_MAX, "%s/" HPCB_COMPANY_FILE, state_dir);

    return n >= 0 && n < PATH_MAX ? 0 : -1;
}

/* As the tag of its AdminComment has it, by which placement knows it (select/demand.c);
 * 0: not known. */
uint64_t hpcbd_company_program(const char *state_dir, const hpcb_job_state_t *job)
{
    char program[2 * HPCB_ABOUT_NAME_MAX];
    hpcb_about_t about;
    bool both;

    if (hpcb_about_load(state_dir, job->job_id, &about, NULL) < 0)
        return 0;
    both = about.executable[0] && strcmp(about.executable, about.name) != 0;
    snprintf(program, sizeof(program), "%s%s%s", about.name, both ? "/" : "",
             both ? about.executable : "");
    return hpcb_fit_program(job->uid, program);
}

static void add_guest(leaving_t *leaving, uint64_t program, uint32_t uid)
{
    uint32_t i = 0;

    leaving->jobs++;
    while (i < leaving->count && leaving->of[i].program != program)
        i++;
    if (program == 0 || i == GUESTS_MAX)
        return;
    leaving->count += i == leaving->count;
    leaving->of[i].program = program;
    leaving->of[i].uid = uid;
    leaving->of[i].jobs++;
}

int hpcbd_company_load(const char *state_dir, int64_t now, hpcb_company_t *company)
{
    hpcb_autofree char *text = malloc(HPCB_COMPANY_TEXT_MAX);
    char path[PATH_MAX];

    if (!text || path_of(state_dir, path) < 0 ||
        hpcb_file_read_trusted(path, text, HPCB_COMPANY_TEXT_MAX, NULL) < 0 ||
        hpcb_company_parse(company, text) < 0)
        return -1;
    hpcb_company_drop(company, now - HPCB_COMPANY_HOUR, now);
    return company->count > 0 ? 0 : -1;
}

static int save(const char *state_dir, const hpcb_company_t *company, hpcb_error_t *err)
{
    hpcb_autofree char *text = malloc(HPCB_COMPANY_TEXT_MAX);
    char path[PATH_MAX];

    if (!text || path_of(state_dir, path) < 0)
        return hpcb_error(err, "out of memory");
    return hpcb_file_swap(path, text, hpcb_company_print(company, text), 0644, err);
}

static void remember(const char *state_dir, hpcb_company_pair_t pair,
                     const leaving_t *leaving)
{
    hpcb_autofree hpcb_company_t *company = malloc(sizeof(*company));
    hpcb_error_t err;

    if (!company)
        return;
    if (hpcbd_company_load(state_dir, pair.time, company) < 0)
        company->count = 0;
    for (uint32_t i = 0; i < leaving->count; i++) {
        pair.guest = leaving->of[i].program;
        pair.guest_uid = leaving->of[i].uid;
        pair.weight = HPCB_COMPANY_ONE * leaving->of[i].jobs / leaving->jobs;
        hpcb_company_add(company, &pair);
    }
    if (save(state_dir, company, &err) < 0)
        hpcb_log(HPCB_LOG_ERROR, "bad company is not remembered: %s", err.text);
}

void hpcbd_company_remember(const char *state_dir, const hpcbd_job_t *primary,
                            const hpcbd_job_t *const *guests, size_t count)
{
    hpcb_company_pair_t pair = {.time = (int64_t)time(NULL)};
    leaving_t leaving = {.count = 0};

    pair.primary = hpcbd_company_program(state_dir, &primary->state);
    pair.primary_uid = primary->state.uid;
    for (size_t i = 0; i < count; i++)
        add_guest(
            &leaving,
            guests[i]->marked ? 0 : hpcbd_company_program(state_dir, &guests[i]->state),
            guests[i]->state.uid);
    if (pair.primary && leaving.count)
        remember(state_dir, pair, &leaving);
}
