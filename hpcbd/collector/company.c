/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "common/file.h"
#include "common/log.h"
#include "hpcbd/collector/company.h"
#include "hpcbd/records/wire_company.h"

/* That far ahead of ours a node's clock may be. */
#define SKEW_SECONDS 300

struct hpcbd_company {
    char path[PATH_MAX];
    hpcb_company_t table, report; /* the latter is the one just read */
    char text[HPCB_COMPANY_TEXT_MAX];
    bool trouble; /* the file could not be replaced */
};

static void read_file(hpcbd_company_t *company)
{
    hpcb_error_t err;

    if (hpcb_file_read_trusted(company->path, company->text, sizeof(company->text),
                               &err) < 0)
        return;
    if (hpcb_company_parse(&company->table, company->text) == 0)
        return;
    company->table.count = 0;
    hpcb_log(HPCB_LOG_ERROR, "%s: not a list of bad company, or of another version",
             company->path);
}

hpcbd_company_t *hpcbd_company_open(const char *dir, hpcb_error_t *err)
{
    hpcbd_company_t *company = calloc(1, sizeof(*company));

    if (!company) {
        hpcb_error(err, "out of memory");
        return NULL;
    }
    if (snprintf(company->path, sizeof(company->path), "%s/" HPCB_COMPANY_FILE, dir) >=
        PATH_MAX) {
        free(company);
        hpcb_error(err, "%.200s is too long", dir);
        return NULL;
    }
    read_file(company);
    return company;
}

void hpcbd_company_close(hpcbd_company_t *company)
{
    free(company);
}

static void write_file(hpcbd_company_t *company)
{
    size_t length = hpcb_company_print(&company->table, company->text);
    hpcb_error_t err;

    if (hpcb_file_swap(company->path, company->text, length, 0644, &err) < 0)
        hpcb_log_once(&company->trouble, HPCB_LOG_ERROR, "%s", err.text);
    else
        company->trouble = false;
}

/* Return true if that is new.  What a node reports again and again of a time to come
 * would always be. */
static bool take_pair(hpcbd_company_t *company, hpcb_company_pair_t pair, int64_t now)
{
    if (pair.time > now + SKEW_SECONDS)
        return false;
    if (pair.time > now)
        pair.time = now;
    if (pair.weight > HPCB_COMPANY_ONE)
        pair.weight = HPCB_COMPANY_ONE;
    return hpcb_company_add(&company->table, &pair);
}

int hpcbd_company_take(hpcbd_company_t *company, const char *text)
{
    int64_t now = (int64_t)time(NULL);
    bool news = false;

    if (hpcbd_company_read(text, &company->report) < 0)
        return -1;
    for (size_t i = 0; i < company->report.count; i++)
        news |= take_pair(company, company->report.pairs[i], now);
    if (!news)
        return 0;
    hpcb_company_expire(&company->table, now);
    write_file(company);
    return 0;
}
