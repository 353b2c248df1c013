/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/* Confinement of jobs on a node: hpc-balance.conf, cgroup.conf, the kernel, MUNGE. */
#include "config.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cgroup/mechanism.h"
#include "common/cleanup.h"
#include "common/file.h"
#include "common/key.h"
#include "common/text.h"
#include "hpcbctl/check/munge_probe.h"
#include "hpcbctl/check/rule_tests.h"

#define MUNGE_TIMEOUT_MS 5000
#define PAM_FILE_MAX     65536
#define BEST_MECHANISM   "idle-group"
#define SSHD_PAM         "/etc/pam.d/sshd"
#define LINGER_DIR       "/var/lib/systemd/linger"

static hpcb_verdict_t good_or(bool good, hpcb_verdict_t otherwise)
{
    return good ? HPCB_VERDICT_OK : otherwise;
}

/* A file that is missing is complete: every key has a default. */
void hpcb_rule_configuration(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *path = facts->conf_path;
    hpcb_error_t why;

    if (!facts->conf_read) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "%s", facts->conf_error.text);
        if (access(path, F_OK) && errno == ENOENT)
            hpcb_mend(report, "GuestPartition=guest");
    } else if (hpcb_file_trusted(path, &why) && errno != ELOOP) {
        hpcb_found(report, HPCB_VERDICT_FAIL, path, "%s", why.text);
        hpcb_mend(report, "chown root: %s; chmod 644 %s", path, path);
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, path, "read; GuestPartition=%s",
                   facts->conf.guest_partition);
    }
}

/* scontrol compares the hash of its own slurm.conf with slurmctld's. */
void hpcb_rule_same_conf(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *hash = hpcb_setting(facts, "HASH_VAL");
    bool same = strncasecmp(hash, "Different", 9) != 0;

    hpcb_found(report, good_or(same, HPCB_VERDICT_WARN),
               hpcb_slurm_file(facts, "slurm.conf"),
               same ? "as slurmctld has it" : "not as slurmctld has it");
    if (!same)
        hpcb_mend(report,
                  "scontrol reconfigure, after the file is the same everywhere");
}

static void expect_task_cgroup(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *plugins = hpcb_setting(facts, "TaskPlugin");

    if (hpcb_list_has(plugins, "task/cgroup") || hpcb_list_has(plugins, "cgroup"))
        return;
    hpcb_found(report, HPCB_VERDICT_FAIL, hpcb_slurm_file(facts, "slurm.conf"),
               "TaskPlugin=%s: nothing in cgroup.conf holds without task/cgroup",
               plugins);
    hpcb_mend(report, "TaskPlugin=task/affinity,task/cgroup");
}

static void expect_limit(const hpcb_facts_t *facts, hpcb_report_t *report,
                         const char *key)
{
    const char *value = hpcb_setting(facts, key);
    bool good = strcasecmp(value, "yes") == 0;

    hpcb_found(report, good_or(good, HPCB_VERDICT_FAIL),
               hpcb_slurm_file(facts, "cgroup.conf"), "%s=%s", key, value);
    if (!good)
        hpcb_mend(report, "%s=yes", key);
}

void hpcb_rule_memory_limit(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    expect_limit(facts, report, "ConstrainRAMSpace");
    expect_task_cgroup(facts, report);
}

void hpcb_rule_core_limit(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    expect_limit(facts, report, "ConstrainCores");
}

void hpcb_rule_process_tracking(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *type = hpcb_setting(facts, "ProctrackType");
    bool good = strcasecmp(type, "proctrack/cgroup") == 0;

    hpcb_found(report, good_or(good, HPCB_VERDICT_FAIL),
               hpcb_slurm_file(facts, "slurm.conf"), "ProctrackType=%s", type);
    if (!good)
        hpcb_mend(report, "ProctrackType=proctrack/cgroup");
}

/* systemd's layout of cgroup v1.  A move of a guest in cpu is one in cpuacct then, away
 * from the group where Slurm counts (cgroup/guest_group.c). */
static bool shares_cpuacct(const hpcb_node_t *node)
{
    const char *cpu = node ? hpcb_node_mount(node, HPCB_CTL_CPU) : NULL;
    const char *cpuacct = node ? hpcb_node_mount(node, HPCB_CTL_CPUACCT) : NULL;

    return cpu && cpuacct && strcmp(cpu, cpuacct) == 0;
}

static bool gathers_by_cgroup(const hpcb_facts_t *facts)
{
    return strcasecmp(hpcb_setting(facts, "JobAcctGatherType"),
                      "jobacct_gather/cgroup") == 0;
}

void hpcb_rule_guest_accounting(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    bool good = !gathers_by_cgroup(facts) || !shares_cpuacct(facts->node);

    hpcb_found(report, good_or(good, HPCB_VERDICT_WARN),
               hpcb_slurm_file(facts, "slurm.conf"), "JobAcctGatherType=%s%s",
               hpcb_setting(facts, "JobAcctGatherType"),
               good ? ""
                    : ", and cpu and cpuacct share a hierarchy: sacct misses CPU time "
                      "of guests (records have it)");
    if (!good)
        hpcb_mend(report, "JobAcctGatherType=jobacct_gather/linux");
}

/* The memory peak is read from the memory groups that task/cgroup and
 * jobacct_gather/cgroup make. */
void hpcb_rule_accounting(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *type = hpcb_setting(facts, "JobAcctGatherType");
    bool limited = strcasecmp(hpcb_setting(facts, "ConstrainRAMSpace"), "yes") == 0;
    bool good = limited || gathers_by_cgroup(facts);

    hpcb_found(report, good_or(good, HPCB_VERDICT_WARN),
               hpcb_slurm_file(facts, "slurm.conf"), "JobAcctGatherType=%s", type);
    if (!good)
        hpcb_mend(report, shares_cpuacct(facts->node)
                              ? "ConstrainRAMSpace=yes (in cgroup.conf)"
                              : "JobAcctGatherType=jobacct_gather/cgroup");
}

static const hpcb_mechanism_t *first_isolating(const hpcb_node_t *node,
                                               hpcb_error_t *why)
{
    size_t count;
    const hpcb_mechanism_t *rows = hpcb_mechanisms(&count);
    const hpcb_mechanism_t *found = NULL;
    hpcb_error_t reason;

    for (size_t i = 0; i < count && !found; i++) {
        if (!rows[i].isolates)
            continue;
        if (rows[i].probe(node, &reason) == 0)
            found = &rows[i];
        else if (strcmp(rows[i].name, BEST_MECHANISM) == 0)
            *why = reason;
    }
    return found;
}

void hpcb_rule_isolation(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    hpcb_error_t why = {"no mechanism is there"};
    const hpcb_mechanism_t *row;

    if (!facts->node) {
        hpcb_found(report, HPCB_VERDICT_FAIL, NULL, "%s", facts->node_error.text);
        return;
    }
    row = first_isolating(facts->node, &why);
    if (!row)
        hpcb_found(report, HPCB_VERDICT_FAIL, NULL,
                   "this node cannot isolate guests: %s", why.text);
    else if (strcmp(row->name, BEST_MECHANISM) != 0)
        hpcb_found(report, HPCB_VERDICT_WARN, NULL, "%s only: %s", row->name, why.text);
    else
        hpcb_found(report, HPCB_VERDICT_OK, NULL, "%s: %s", row->name, row->what);
}

void hpcb_rule_sched_ext(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    bool loaded = facts->node && hpcb_node_sched_ext(facts->node);

    hpcb_found(report, good_or(!loaded, HPCB_VERDICT_FAIL), NULL,
               loaded ? "a sched_ext scheduler is loaded"
                      : "no sched_ext scheduler is loaded");
    if (loaded)
        hpcb_mend(report, "unload the scheduler of sched_ext on nodes that run guests");
}

void hpcb_rule_meter(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const char *mount =
        facts->node ? hpcb_node_mount(facts->node, HPCB_CTL_UNIFIED) : NULL;

    hpcb_found(report, good_or(mount != NULL, HPCB_VERDICT_WARN), NULL,
               mount ? "cgroup2 at %s" : "no cgroup2 mount%s", mount ? mount : "");
    if (!mount)
        hpcb_mend(report, "mount -t cgroup2 none /sys/fs/cgroup/unified");
}

/* Missing is fine: the first job makes it. */
static void check_directory(hpcb_report_t *report, const char *key, const char *path)
{
    hpcb_error_t why;

    if (access(path, F_OK) && errno == ENOENT) {
        hpcb_found(report, HPCB_VERDICT_OK, NULL, "%s=%s: made by the first job", key,
                   path);
    } else if (hpcb_file_trusted(path, &why)) {
        hpcb_found(report, HPCB_VERDICT_FAIL, NULL, "%s=%s: %s", key, path, why.text);
        hpcb_mend(report, "chown root: %s; chmod 755 %s", path, path);
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, NULL, "%s=%s", key, path);
    }
}

void hpcb_rule_directories(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    check_directory(report, "StateDir", facts->conf.state_dir);
    check_directory(report, "SpoolDir", facts->conf.spool_dir);
}

/* A single node cannot check whether all nodes have the same key. */
void hpcb_rule_experiment_key(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    unsigned char secret[HPCB_KEY_MAX];
    char path[PATH_MAX];
    hpcb_error_t why;

    if (hpcb_key_path(facts->conf_path, path) < 0)
        path[0] = '\0';
    if (facts->conf.guest_max_slowdown_ppm == 0) {
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path,
                   "GuestMaxSlowdown=0%%: there are no experiments");
    } else if (hpcb_key_read(facts->conf_path, secret, &why) >= 0) {
        hpcb_found(report, HPCB_VERDICT_OK, path, "a secret that only root can read");
    } else if (errno == EACCES && facts->unprivileged) {
        hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL, "only root can check this");
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, path,
                   "guests can know when experiments are: %s", why.text);
        hpcb_mend(report,
                  "(umask 077; dd if=/dev/urandom of=%s bs=64 count=1), the same file "
                  "on all nodes",
                  path);
    }
    explicit_bzero(secret, sizeof(secret));
}

void hpcb_rule_munge(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    char socket[PATH_MAX] = "";
    hpcb_error_t why;

    if (!hpcb_list_value(hpcb_setting(facts, "AuthInfo"), "socket", socket,
                         sizeof(socket)))
        socket[0] = '\0';
    if (hpcb_munge_probe(socket, MUNGE_TIMEOUT_MS, &why) == 0) {
        hpcb_found(report, HPCB_VERDICT_OK, NULL,
                   "a credential was made and read back");
        return;
    }
    if (strcasecmp(hpcb_setting(facts, "AuthType"), "auth/slurm") == 0) {
        hpcb_found(report, HPCB_VERDICT_WARN, NULL,
                   "AuthType=auth/slurm, and no MUNGE: records stay on their nodes, "
                   "and guests get allocated memory only (%s)",
                   why.text);
        hpcb_mend(report,
                  "install MUNGE with one key on all hosts, in addition to auth/slurm");
        return;
    }
    hpcb_found(report, HPCB_VERDICT_FAIL, NULL, "%s", why.text);
    hpcb_mend(report, "systemctl restart munge");
}

/* The lines that count; a comment may name the module too. */
static bool names_module(char *text, const char *module)
{
    char *line;

    while ((line = strsep(&text, "\n"))) {
        line += strspn(line, " \t");
        if (*line != '#' && strstr(line, module))
            return true;
    }
    return false;
}

/* name below the root of the node; valid until the next call. */
static const char *node_path(const hpcb_facts_t *facts, const char *name)
{
    static char path[PATH_MAX];

    snprintf(path, sizeof(path), "%.4000s%s",
             strcmp(facts->root, "/") == 0 ? "" : facts->root, name);
    return path;
}

static bool is_there(const hpcb_facts_t *facts, const char *name)
{
    return access(node_path(facts, name), F_OK) == 0;
}

/* Modules that only admit some users.  pam_slurm is none of them: it admits anybody
 * with a job here. */
static bool keeps_users_out(const hpcb_facts_t *facts)
{
    static const char *const modules[] = {"pam_access", "pam_listfile"};
    static char text[PAM_FILE_MAX];

    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
        if (hpcb_file_read(node_path(facts, SSHD_PAM), text, sizeof(text), NULL) >= 0 &&
            names_module(text, modules[i]))
            return true;
    return false;
}

static void warn_of_sessions(const hpcb_facts_t *facts, hpcb_report_t *report, bool v1)
{
    hpcb_found(report, HPCB_VERDICT_WARN, node_path(facts, SSHD_PAM),
               "no pam_slurm_adopt: what a guest's owner starts through ssh is in no "
               "job");
    if (v1)
        hpcb_mend(report, "account required pam_access.so");
    else
        hpcb_mend(report, "account required pam_slurm_adopt.so");
}

void hpcb_rule_ssh_sessions(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    static char text[PAM_FILE_MAX];
    bool v1 = facts->node && hpcb_node_version(facts->node, HPCB_CTL_CPU) == 1;
    bool adopts =
        hpcb_file_read(node_path(facts, SSHD_PAM), text, sizeof(text), NULL) >= 0 &&
        names_module(text, "pam_slurm_adopt");

    if (adopts && v1)
        hpcb_found(report, HPCB_VERDICT_WARN, node_path(facts, SSHD_PAM),
                   "pam_slurm_adopt: sessions that it adopts into a guest are not "
                   "lowered on cgroup v1; keep it off nodes that run guests");
    else if (adopts)
        hpcb_found(report, HPCB_VERDICT_OK, node_path(facts, SSHD_PAM),
                   "adopted sessions join the job's own groups");
    else if (!is_there(facts, SSHD_PAM))
        hpcb_found(report, HPCB_VERDICT_OK, NULL, "no sshd with PAM");
    else if (keeps_users_out(facts))
        hpcb_found(report, HPCB_VERDICT_OK, node_path(facts, SSHD_PAM),
                   "not everybody may log in");
    else
        warn_of_sessions(facts, report, v1);
}

/* The first user whose services systemd keeps without a session. */
static bool find_lingering(const hpcb_facts_t *facts, char *user, size_t size)
{
    hpcb_autoclosedir DIR *handle = opendir(node_path(facts, LINGER_DIR));
    struct dirent *entry;

    while (handle && (entry = readdir(handle))) {
        if (entry->d_name[0] != '.') {
            snprintf(user, size, "%s", entry->d_name);
            return true;
        }
    }
    return false;
}

typedef struct {
    const char *name;
    const char *running[2]; /* its process's file, as Debian or Red Hat call it */
    const char *list;       /* allowed users; without this file, everybody */
} timer_daemon_t;

static const timer_daemon_t timer_daemons[] = {
    {"atd", {"/run/atd.pid", "/var/run/atd.pid"}, "/etc/at.allow"},
    {"cron", {"/run/crond.pid", "/run/cron.pid"}, "/etc/cron.allow"},
};

static bool check_timer_daemon(const hpcb_facts_t *facts, hpcb_report_t *report,
                               const timer_daemon_t *daemon)
{
    if ((!is_there(facts, daemon->running[0]) &&
         !is_there(facts, daemon->running[1])) ||
        is_there(facts, daemon->list))
        return true;
    hpcb_found(report, HPCB_VERDICT_WARN, node_path(facts, daemon->list),
               "%s runs and every user may use it: what it starts is in no job",
               daemon->name);
    hpcb_mend(report, "touch %s", daemon->list);
    return false;
}

/* Ways other than Slurm by which processes of users reach a node. */
void hpcb_rule_outside_jobs(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    char user[NAME_MAX + 1];
    bool good = true;

    if (find_lingering(facts, user, sizeof(user))) {
        good = false;
        hpcb_found(report, HPCB_VERDICT_WARN, node_path(facts, LINGER_DIR),
                   "user %s lingers: what systemd-run --user starts is in no job",
                   user);
        hpcb_mend(report, "loginctl disable-linger %s", user);
    }
    for (size_t i = 0; i < sizeof(timer_daemons) / sizeof(timer_daemons[0]); i++)
        good &= check_timer_daemon(facts, report, &timer_daemons[i]);
    if (good)
        hpcb_found(report, HPCB_VERDICT_OK, NULL,
                   "no user lingers, none may use at or cron");
}
