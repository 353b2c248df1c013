/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* The store of profiles, by which guests are placed. */
#include "config.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/file.h"
#include "common/profile.h"
#include "common/text.h"
#include "hpcbctl/check/rule_tests.h"

/* Cut path to the directory that it is in. */
static void to_parent(char path[static PATH_MAX])
{
    char *slash = strrchr(path, '/');

    if (slash && slash != path)
        *slash = '\0';
    else
        hpcb_text_copy(path, PATH_MAX, "/");
}

/* slurmctld reads the store as SlurmUser, "slurm(64030)". */
static bool reads_as_root(const hpcb_facts_t *facts)
{
    return strncasecmp(hpcb_setting(facts, "SlurmUser"), "root(", 5) == 0;
}

/* The directory that will hold the store, or the next one above it that there is. */
static bool check_above(const hpcb_facts_t *facts, hpcb_report_t *report,
                        const char *path)
{
    char dir[PATH_MAX];
    hpcb_error_t why = {""};
    struct stat st;

    hpcb_text_copy(dir, sizeof(dir), path);
    do
        to_parent(dir);
    while (stat(dir, &st) && errno == ENOENT && strcmp(dir, "/") != 0);
    if (hpcb_file_trusted(dir, &why) == 0 && access(dir, W_OK))
        hpcb_error(&why, "%.400s cannot be written: %s", dir, strerror(errno));
    if (!*why.text && !reads_as_root(facts) && !(st.st_mode & S_IXOTH))
        hpcb_error(&why, "%.400s: slurmctld (SlurmUser=%.64s) gets no further", dir,
                   hpcb_setting(facts, "SlurmUser"));
    if (!*why.text)
        return true;
    hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s", path,
               why.text);
    hpcb_mend(report, "chown root: %s; chmod 755 %s", dir, dir);
    return false;
}

static void check_store(const hpcb_facts_t *facts, hpcb_report_t *report,
                        const char *path, const struct stat *st)
{
    hpcb_error_t why;
    hpcb_profiles_t *store = NULL;

    if (hpcb_file_trusted(path, &why)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s",
                   path, why.text);
        hpcb_mend(report, "chown root: %s; chmod 644 %s", path, path);
    } else if (!reads_as_root(facts) && !(st->st_mode & S_IROTH)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path,
                   "ProfileStore=%s: slurmctld (SlurmUser=%s) cannot read it", path,
                   hpcb_setting(facts, "SlurmUser"));
        hpcb_mend(report, "chmod 644 %s", path);
    } else if (!(store = hpcb_profiles_load(path, &why))) {
        hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s",
                   path, why.text);
        hpcb_mend(report, "mv %s %s.damaged", path, path);
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path, "ProfileStore=%s", path);
    }
    hpcb_profiles_free(store);
}

static void say_no_file(const hpcb_facts_t *facts, hpcb_report_t *report,
                        const char *path)
{
    hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path, "ProfileStore=%s: %s", path,
               strerror(errno));
    hpcb_mend(report, "ProfileStore=%s/profiles.json", facts->conf.spool_dir);
}

void hpcb_rule_profile_store(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    char path[PATH_MAX];
    struct stat st;

    hpcb_conf_profile_store(&facts->conf, path);
    if (facts->unprivileged) {
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL,
                   "not as an ordinary user: run hpcbctl check as root");
        return;
    }
    if (!check_above(facts, report, path))
        return;
    if (lstat(path, &st) == 0)
        check_store(facts, report, path, &st);
    else if (errno == ENOENT)
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "ProfileStore=%s: made when the first job ends", path);
    else
        say_no_file(facts, report, path);
}
