/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * Rules of `hpcbctl check` against what scontrol said on a cluster where all is well
 * (tests/hpcbctl/fixtures, a sandbox with Slurm 22.05).  Each test breaks one thing and
 * expects that one rule, and no other, changes its mind and says how to mend it.
 *
 * Left out: MUNGE and the controller's own plugin, which are facts of this machine.
 */
#include "config.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/live.h"
#include "hpcbctl/check/rules.h"
#include "tests/common/snapshot.h"
#include "tests/common/tmp.h"

#define RULES_MAX 64
#define TEXT_MAX  65536

#define OK        HPCB_VERDICT_OK
#define WARN      HPCB_VERDICT_WARN
#define FAIL      HPCB_VERDICT_FAIL
#define ELSEWHERE HPCB_VERDICT_ELSEWHERE

typedef struct {
    hpcb_facts_t facts;
    char config[TEXT_MAX];
    char partitions[TEXT_MAX];
    char node[TEXT_MAX];
    char dir[TEST_TMP_MAX]; /* Slurm's configuration of this test */
} cluster_t;

static cluster_t cluster;

/* -- the good cluster -- */

static const char *source_path(const char *name)
{
    static char path[PATH_MAX];
    const char *top = getenv("HPCB_SRCDIR");

    snprintf(path, sizeof(path), "%s/tests/%s", top ? top : ".", name);
    return path;
}

static void read_fixture(const char *name, char *text)
{
    FILE *stream = fopen(source_path(name), "r");
    size_t size;

    ck_assert_msg(stream != NULL, "%s", source_path(name));
    size = fread(text, 1, TEXT_MAX - 1, stream);
    fclose(stream);
    ck_assert_uint_gt(size, 0);
    ck_assert_uint_lt(size, TEXT_MAX - 1);
    text[size] = '\0';
}

static void write_file(const char *name, mode_t mode, const char *text)
{
    char path[PATH_MAX];
    FILE *stream;

    snprintf(path, sizeof(path), "%s/%s", cluster.dir, name);
    stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(text, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
    ck_assert_int_eq(chmod(path, mode), 0);
}

/* Put value in the place of what follows key on its line of scontrol show config. */
static void set_config(const char *key, const char *value)
{
    char *line = cluster.config, rest[TEXT_MAX];
    size_t length = strlen(key);

    while (strncmp(line, key, length) != 0 || !strchr(" =[", line[length])) {
        line = strchr(line, '\n');
        ck_assert_msg(line != NULL, "no %s in the fixture", key);
        line++;
    }
    line = strchr(line, '=') + 1;
    snprintf(rest, sizeof(rest), "%s", line + strcspn(line, "\n"));
    ck_assert_int_lt(snprintf(line, (size_t)(cluster.config + TEXT_MAX - line), " %s%s",
                              value, rest),
                     TEXT_MAX - (line - cluster.config));
}

/* The first such text at or behind where the partition's line begins. */
static void replace(const char *partition, const char *old, const char *new)
{
    char opening[80], rest[TEXT_MAX];
    char *at;

    snprintf(opening, sizeof(opening), "PartitionName=%s ", partition);
    at = strstr(cluster.partitions, opening);
    ck_assert_msg(at != NULL, "no partition %s", partition);
    at = strstr(at, old);
    ck_assert_msg(at != NULL, "no %s in partition %s", old, partition);
    snprintf(rest, sizeof(rest), "%s", at + strlen(old));
    snprintf(at, (size_t)(cluster.partitions + TEXT_MAX - at), "%s%s", new, rest);
}

static void add_partition(const char *line)
{
    ck_assert_uint_lt(strlen(cluster.partitions) + strlen(line) + 1, TEXT_MAX);
    strcat(strcat(cluster.partitions, line), "\n");
}

static void point_at(const char *key, const char *name)
{
    char path[PATH_MAX];

    snprintf(path, sizeof(path), "%s/%s", cluster.dir, name);
    set_config(key, path);
}

static void use_node(const char *snapshot)
{
    hpcb_facts_t *facts = &cluster.facts;
    char dir[TEST_TMP_MAX];

    if (facts->node)
        hpcb_node_close(facts->node);
    test_snapshot_open(snapshot, dir);
    snprintf(facts->root, sizeof(facts->root), "%s", dir);
    ck_assert_msg(hpcb_node_open(facts->root, &facts->node, &facts->node_error) == 0,
                  "%s", facts->node_error.text);
}

static void store_at(const char *name)
{
    snprintf(cluster.facts.conf.profile_store, sizeof(cluster.facts.conf.profile_store),
             "%s/%s", cluster.dir, name);
}

static void set_up(void)
{
    hpcb_facts_t *facts = &cluster.facts;

    memset(&cluster, 0, sizeof(cluster));
    test_tmp_dir(cluster.dir);
    read_fixture("hpcbctl/fixtures/config.txt", cluster.config);
    read_fixture("hpcbctl/fixtures/partitions.txt", cluster.partitions);
    read_fixture("hpcbctl/fixtures/node.txt", cluster.node);
    write_file("prolog", 0755, "#!/bin/sh\nexec /usr/sbin/hpcbctl job begin\n");
    write_file("epilog", 0755, "#!/bin/sh\nexec /usr/sbin/hpcbctl job end\n");
    write_file("plugstack.conf", 0644, "optional /none/hpc_balance.so\n");
    write_file("hpc-balance.conf", 0644, "GuestPartition=guest\n");
    point_at("Prolog", "prolog");
    point_at("Epilog", "epilog");
    facts->qos_threshold = UINT64_MAX;
    facts->answered = facts->on_node = facts->conf_read = true;
    hpcb_conf_defaults(&facts->conf);
    ck_assert_int_eq(chmod(cluster.dir, 0755), 0);
    store_at("profiles.json");
    snprintf(facts->host, sizeof(facts->host), "n1");
    snprintf(facts->etc, sizeof(facts->etc), "%s", cluster.dir);
    snprintf(facts->conf_path, sizeof(facts->conf_path), "%s/hpc-balance.conf",
             cluster.dir);
    use_node("v1-hybrid");
}

static void tear_down(void)
{
    static const char *const names[] = {"prolog",           "epilog", "plugstack.conf",
                                        "hpc-balance.conf", "quiet",  "profiles.json"};
    char path[PATH_MAX];

    hpcb_facts_free(&cluster.facts);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(path, sizeof(path), "%s/%s", cluster.dir, names[i]);
        unlink(path);
    }
    rmdir(cluster.dir);
}

/* -- what the rules say -- */

static void run_rules(hpcb_report_t *report)
{
    static const char *const machine[] = {"munge", "job-submit-plugin", "select-plugin",
                                          "preempt-plugin"};
    size_t count;
    const hpcb_rule_t *rules = hpcb_rules(&count);
    hpcb_error_t err;

    ck_assert_uint_le(count, RULES_MAX);
    hpcb_slurm_free(&cluster.facts.slurm);
    ck_assert_msg(hpcb_slurm_parse(cluster.config, cluster.partitions, cluster.node,
                                   &cluster.facts.slurm, &err) == 0,
                  "%s", err.text);
    *report = (hpcb_report_t){0};
    for (size_t i = 0; i < count; i++) {
        bool here = true;

        for (size_t j = 0; j < sizeof(machine) / sizeof(machine[0]); j++)
            here &= strcmp(rules[i].name, machine[j]) != 0;
        report->rule = &rules[i];
        if (here)
            rules[i].test(&cluster.facts, report);
    }
    ck_assert(!report->broken);
}

static hpcb_verdict_t verdict_of(const hpcb_report_t *report, const char *rule,
                                 const char **mend)
{
    hpcb_verdict_t worst = OK;
    bool seen = false;

    for (size_t i = 0; i < report->count; i++) {
        const hpcb_finding_t *finding = &report->findings[i];

        if (strcmp(finding->rule->name, rule) != 0)
            continue;
        if (!seen || finding->verdict > worst) {
            worst = finding->verdict;
            if (mend)
                *mend = finding->mend;
        }
        seen = true;
    }
    return worst;
}

static void record_verdicts(hpcb_verdict_t *verdicts)
{
    hpcb_report_t report;
    size_t count;
    const hpcb_rule_t *rules = hpcb_rules(&count);

    run_rules(&report);
    for (size_t i = 0; i < count; i++)
        verdicts[i] = verdict_of(&report, rules[i].name, NULL);
    hpcb_report_free(&report);
}

/* Of all rules only rule differs from before, says verdict, and its mending line has
 * that text ("": any text; NULL: no line is wanted). */
static void expect_only(const hpcb_verdict_t *before, const char *rule,
                        hpcb_verdict_t verdict, const char *text)
{
    hpcb_report_t report;
    const char *mend = NULL;
    size_t count;
    const hpcb_rule_t *rules = hpcb_rules(&count);

    run_rules(&report);
    for (size_t i = 0; i < count; i++) {
        hpcb_verdict_t now = verdict_of(&report, rules[i].name, NULL);
        bool meant = strcmp(rules[i].name, rule) == 0;

        ck_assert_msg(now == (meant ? verdict : before[i]), "%s: rule %s says %d", rule,
                      rules[i].name, (int)now);
    }
    verdict_of(&report, rule, &mend);
    if (text)
        ck_assert_msg(mend && *mend && strstr(mend, text), "%s is mended by %s", rule,
                      mend ? mend : "nothing");
    hpcb_report_free(&report);
}

/* Rules whose verdict the recorded texts alone decide. */
static const char *const texts_decide[] = {
    "same-conf",         "select-type",
    "select-parameters", "default-memory",
    "preempt-type",      "preempt-mode",
    "scheduler-type",    "guests-never-reserve",
    "primaries-reserve", "released-guests",
    "guest-partition",   "guest-default",
    "guest-tier",        "primary-tiers",
    "oversubscribe",     "exclusive-user",
    "same-nodes",        "guest-job-factor",
    "job-submit",        "prolog-flags",
    "plugstack",         "memory-limit",
    "core-limit",        "process-tracking",
    "accounting",        "sched-ext",
    "profile-store",     "node-capacities",
    "primaries-apart",   "queue-depth",
    "ssh-sessions",      "outside-jobs",
    "user-top",          "guest-default-memory",
    "gang-nodes",        "gang-memory",
};

START_TEST(test_good_cluster)
{
    hpcb_report_t report;

    run_rules(&report);
    for (size_t i = 0; i < sizeof(texts_decide) / sizeof(texts_decide[0]); i++)
        ck_assert_msg(verdict_of(&report, texts_decide[i], NULL) == OK, "%s",
                      texts_decide[i]);
    if (geteuid() == 0) {
        ck_assert_int_eq(verdict_of(&report, "prolog", NULL), OK);
        ck_assert_int_eq(verdict_of(&report, "epilog", NULL), OK);
    }
    hpcb_report_free(&report);
}
END_TEST

/* -- one setting of slurm.conf or cgroup.conf -- */

/* SchedulerParameters that no rule minds, each for one of the two that read them. */
#define DEPTH   "partition_job_depth=99,bf_max_job_part=9"
#define RESERVE "bf_min_prio_reserve=1000"

static const struct {
    const char *key, *value, *rule;
    hpcb_verdict_t verdict;
    const char *mend;
} settings[] = {
    {"SlurmctldParameters", "enable_user_top", "user-top", FAIL,
     "SlurmctldParameters="},
    {"SlurmctldParameters", "enable_configless,enable_user_top,idle_on_node_suspend",
     "user-top", FAIL, "SlurmctldParameters=enable_configless,idle_on_node_suspend"},
    {"SlurmctldParameters", "enable_configless", "user-top", OK, NULL},
    {"SelectType", "select/linear", "select-type", FAIL, "SelectType=select/cons_tres"},
    {"SelectType", "select/cons_res", "select-type", FAIL,
     "SelectType=select/cons_tres"},
    {"SelectTypeParameters", "CR_CORE", "select-parameters", FAIL, "CR_Core_Memory"},
    {"SelectTypeParameters", "NONE", "select-parameters", FAIL, "CR_Core_Memory"},
    {"SelectTypeParameters", "CR_SOCKET_MEMORY", "select-parameters", OK, NULL},
    {"SelectTypeParameters", "CR_SOCKET_MEMORY,CR_ONE_TASK_PER_CORE",
     "select-parameters", OK, NULL},
    {"SelectTypeParameters", "CR_CPU_MEMORY", "select-parameters", WARN,
     "CR_Core_Memory"},
    {"DefMemPerCPU", "UNLIMITED", "default-memory", FAIL, "DefMemPerCPU="},
    {"DefMemPerCPU", "0", "default-memory", FAIL, "DefMemPerCPU="},
    {"DefMemPerCPU", "9642", "guest-default-memory", WARN,
     "PartitionName=guest DefMemPerCPU="},
    {"PreemptType", "preempt/partition_prio", "preempt-type", FAIL,
     "PreemptType=preempt/none"},
    {"PreemptType", "preempt/qos", "preempt-type", FAIL, "PreemptType=preempt/none"},
    {"PreemptMode", "GANG,SUSPEND", "preempt-mode", FAIL, "PreemptMode=OFF"},
    {"PreemptMode", "GANG", "preempt-mode", FAIL, "PreemptMode=OFF"},
    {"PreemptType", "preempt/hpc_balance", "preempt-mode", FAIL, "PreemptMode=REQUEUE"},
    {"SchedulerType", "sched/builtin", "scheduler-type", FAIL,
     "SchedulerType=sched/backfill"},
    {"SchedulerParameters", DEPTH, "guests-never-reserve", FAIL,
     "SchedulerParameters=" DEPTH ",bf_min_prio_reserve=1000"},
    {"SchedulerParameters", "bf_min_prio_reserve=100,sched_interval=2," DEPTH,
     "guests-never-reserve", FAIL,
     "SchedulerParameters=sched_interval=2," DEPTH ",bf_min_prio_reserve=1000"},
    {"SchedulerParameters", DEPTH ",bf_min_prio_reserve=99999999999999999999",
     "guests-never-reserve", FAIL, DEPTH ",bf_min_prio_reserve=1000"},
    {"SchedulerParameters", DEPTH ",xbf_min_prio_reserve=1000", "guests-never-reserve",
     FAIL, ",xbf_min_prio_reserve=1000,bf_min_prio_reserve=1000"},
    {"SchedulerParameters", "bf_min_prio_reserve=10001," DEPTH, "primaries-reserve",
     WARN, "PriorityWeightPartition=100010"},
    {"SchedulerParameters", RESERVE, "queue-depth", WARN, "partition_job_depth=100"},
    {"SchedulerParameters", RESERVE ",partition_job_depth=99", "queue-depth", WARN,
     "bf_max_job_part=100"},
    {"SchedulerParameters", RESERVE ",bf_max_job_part=9", "queue-depth", WARN, NULL},
    {"SchedulerParameters",
     RESERVE ",default_queue_depth=50,partition_job_depth=50,bf_max_job_part=9",
     "queue-depth", WARN, "default_queue_depth=1000"},
    {"SchedulerParameters", RESERVE ",partition_job_depth=100,bf_max_job_part=9",
     "queue-depth", WARN, NULL},
    {"SchedulerParameters", RESERVE ",partition_job_depth=99,bf_max_job_part=9",
     "queue-depth", OK, NULL},
    {"PriorityWeightPartition", "0", "primaries-reserve", WARN,
     "PriorityWeightPartition=10000"},
    {"PriorityType", "priority/basic", "released-guests", FAIL,
     "PriorityType=priority/multifactor"},
    {"JobSubmitPlugins", "(null)", "job-submit", FAIL, "JobSubmitPlugins=hpc_balance"},
    {"JobSubmitPlugins", "lua", "job-submit", FAIL, "JobSubmitPlugins=lua,hpc_balance"},
    {"JobSubmitPlugins", "hpc_balance,lua", "job-submit", WARN,
     "JobSubmitPlugins=lua,hpc_balance"},
    {"JobSubmitPlugins", "hpc_balance2", "job-submit", FAIL,
     "hpc_balance2,hpc_balance"},
    {"PrologFlags", "(null)", "prolog-flags", FAIL, "PrologFlags=Alloc,NoHold"},
    {"PrologFlags", "Serial", "prolog-flags", FAIL, "PrologFlags=Serial,Alloc,NoHold"},
    {"PrologFlags", "Allocate", "prolog-flags", FAIL,
     "PrologFlags=Allocate,Alloc,NoHold"},
    {"PrologFlags", "Alloc", "prolog-flags", WARN, "PrologFlags=Alloc,NoHold"},
    {"PrologFlags", "Alloc,Serial", "prolog-flags", WARN,
     "PrologFlags=Alloc,Serial,NoHold"},
    {"PrologFlags", "Alloc,Contain", "prolog-flags", OK, NULL},
    {"PrologFlags", "Alloc,Contain,X11", "prolog-flags", OK, NULL},
    {"Prolog", "(null)", "prolog", FAIL, "Prolog=/"},
    {"Prolog", "/bin/true", "prolog", FAIL, "hpc-balance/prolog"},
    {"Prolog", "/none/at/all", "prolog", FAIL, "hpc-balance/prolog"},
    {"Epilog", "(null)", "epilog", FAIL, "Epilog=/"},
    {"Epilog", "/bin/true", "epilog", FAIL, "hpc-balance/epilog"},
    {"ConstrainRAMSpace", "no", "memory-limit", FAIL, "ConstrainRAMSpace=yes"},
    {"TaskPlugin", "task/affinity", "memory-limit", FAIL, "task/cgroup"},
    {"TaskPlugin", "(null)", "memory-limit", FAIL, "task/cgroup"},
    {"ConstrainCores", "no", "core-limit", FAIL, "ConstrainCores=yes"},
    {"ConstrainCores", "(null)", "core-limit", FAIL, "ConstrainCores=yes"},
    {"ProctrackType", "proctrack/linuxproc", "process-tracking", FAIL,
     "ProctrackType=proctrack/cgroup"},
    {"HASH_VAL", "Different Ours=0x1 Slurmctld=0x2", "same-conf", WARN, "reconfigure"},
};

START_TEST(test_setting)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    set_config(settings[_i].key, settings[_i].value);
    expect_only(before, settings[_i].rule, settings[_i].verdict, settings[_i].mend);
}
END_TEST

/* -- one word of a partition's line -- */

static const struct {
    const char *partition, *old, *new, *rule;
    hpcb_verdict_t verdict;
    const char *mend;
} words[] = {
    {"guest", "State=UP", "State=DOWN", "guest-partition", WARN, "State=UP"},
    {"guest", "State=UP", "State=DRAIN", "guest-partition", WARN, "State=UP"},
    {"guest", "Default=NO", "Default=YES", "guest-default", FAIL, "Default=NO"},
    {"guest", "PriorityTier=20", "PriorityTier=10", "guest-tier", FAIL,
     "PriorityTier=20"},
    {"guest", "PriorityTier=20", "PriorityTier=5", "guest-tier", FAIL,
     "PriorityTier=20"},
    {"primary", "PriorityTier=10", "PriorityTier=20", "guest-tier", FAIL,
     "PartitionName=guest"},
    {"primary", "FORCE:1", "NO", "oversubscribe", FAIL, "PartitionName=primary"},
    {"primary", "FORCE:1", "EXCLUSIVE", "oversubscribe", FAIL, "OverSubscribe=FORCE:1"},
    {"guest", "FORCE:1", "FORCE:4", "oversubscribe", FAIL, "PartitionName=guest"},
    {"guest", "FORCE:1", "YES:1", "oversubscribe", FAIL, "OverSubscribe=FORCE:1"},
    {"primary", "ExclusiveUser=NO", "ExclusiveUser=YES", "exclusive-user", FAIL,
     "ExclusiveUser=NO"},
    {"guest", "ExclusiveUser=NO", "ExclusiveUser=YES", "exclusive-user", FAIL,
     "PartitionName=guest"},
    {"guest", "Nodes=n[1-2]", "Nodes=n1", "same-nodes", WARN, "Nodes=ALL"},
    {"guest", "Nodes=n[1-2]", "Nodes=n[1-99999999]", "same-nodes", WARN, "Nodes=ALL"},
    {"guest", "PriorityJobFactor=0", "PriorityJobFactor=1", "guest-job-factor", FAIL,
     "PriorityJobFactor=0"},
    {"primary", "PriorityJobFactor=1", "PriorityJobFactor=0", "primaries-reserve", WARN,
     "PriorityJobFactor=1"},
};

START_TEST(test_word)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    replace(words[_i].partition, words[_i].old, words[_i].new);
    expect_only(before, words[_i].rule, words[_i].verdict, words[_i].mend);
}
END_TEST

/* -- more than one word -- */

#define MORE " Nodes=n[1-2] OverSubscribe=FORCE:1 PriorityJobFactor=1 State=UP"

START_TEST(test_another_tier)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    add_partition("PartitionName=debug PriorityTier=15" MORE);
    expect_only(before, "primary-tiers", FAIL, "PriorityTier=10");
}
END_TEST

/* PluginDir of the recorded cluster has no select plugin of ours. */
START_TEST(test_two_partitions_of_a_tier)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    add_partition("PartitionName=debug PriorityTier=10" MORE);
    expect_only(before, "primaries-apart", FAIL, "");
}
END_TEST

/* debug meets all, and neither of them is the first. */
START_TEST(test_tiers_apart_from_the_first)
{
    hpcb_verdict_t before[RULES_MAX];

    replace("primary", "Nodes=n[1-2]", "Nodes=n1");
    replace("guest", "Nodes=n[1-2]", "Nodes=n[1-3]");
    add_partition(
        "PartitionName=all PriorityTier=10 Nodes=n3,n1,n2 OverSubscribe=FORCE:1");
    record_verdicts(before);
    add_partition("PartitionName=debug PriorityTier=15 Nodes=n3 OverSubscribe=FORCE:1");
    expect_only(before, "primary-tiers", FAIL, "PartitionName=debug");
}
END_TEST

START_TEST(test_partition_elsewhere)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    add_partition("PartitionName=gpu PriorityTier=1 Nodes=g[1-4] OverSubscribe=NO "
                  "ExclusiveUser=YES PriorityJobFactor=1");
    expect_only(before, "none", OK, NULL);
}
END_TEST

START_TEST(test_no_default_memory_in_one_partition)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    set_config("DefMemPerCPU", "UNLIMITED");
    replace("primary", "DefMemPerNode=UNLIMITED", "DefMemPerNode=1000");
    expect_only(before, "default-memory", FAIL, "DefMemPerCPU=");
    replace("guest", "DefMemPerNode=UNLIMITED", "DefMemPerCPU=1000");
    expect_only(before, "default-memory", OK, NULL);
    replace("guest", "DefMemPerCPU=1000", "DefMemPerCPU=0");
    set_config("JobSubmitPlugins", "lua,hpc_balance");
    expect_only(before, "default-memory", WARN, "DefMemPerCPU=");
}
END_TEST

START_TEST(test_reserve_by_qos)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    strcpy(cluster.facts.conf.guest_qos, "visitor");
    set_config("AccountingStorageEnforce", "associations,limits,qos");
    cluster.facts.qos_threshold = 100;
    expect_only(before, "guests-never-reserve", FAIL,
                "sacctmgr modify qos visitor set MinPrioThreshold=1000");
    cluster.facts.qos_threshold = 0;
    expect_only(before, "none", OK, NULL);
    set_config("SchedulerParameters", DEPTH);
    cluster.facts.qos_threshold = 1000;
    expect_only(before, "none", OK, NULL);
    set_config("AccountingStorageEnforce", "associations");
    expect_only(before, "guests-never-reserve", FAIL, "bf_min_prio_reserve=1000");
    cluster.facts.conf.guest_priority = 5000;
    expect_only(before, "guests-never-reserve", FAIL, "bf_min_prio_reserve=5001");
}
END_TEST

/* Either of two settings makes the groups that are read. */
START_TEST(test_accounting)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    set_config("JobAcctGatherType", "jobacct_gather/linux");
    expect_only(before, "none", OK, NULL);
    set_config("JobAcctGatherType", "jobacct_gather/cgroup");
    set_config("ConstrainRAMSpace", "no");
    record_verdicts(before);
    set_config("JobAcctGatherType", "jobacct_gather/linux");
    expect_only(before, "accounting", WARN, "JobAcctGatherType=jobacct_gather/cgroup");
}
END_TEST

/* What a guest holds counts, unless its QOS or its partition says otherwise. */
START_TEST(test_charging)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    set_config("PriorityWeightFairShare", "1000");
    expect_only(before, "charging", WARN, "GuestQOS=guest");
    set_config("PriorityWeightFairShare", "0");
    set_config("AccountingStorageEnforce", "associations,limits");
    expect_only(before, "charging", WARN, "GuestQOS=guest");
    strcpy(cluster.facts.conf.guest_qos, "visitor");
    cluster.facts.qos_usage_factor = 1;
    expect_only(before, "charging", WARN,
                "sacctmgr -i modify qos visitor set UsageFactor=0");
    cluster.facts.qos_usage_factor = -1;
    expect_only(before, "charging", ELSEWHERE, NULL);
    cluster.facts.qos_usage_factor = 0;
    expect_only(before, "none", OK, NULL);
    cluster.facts.qos_usage_factor = 1;
    replace("guest", "State=UP", "State=UP TRESBillingWeights=CPU=0.0,Mem=0.25G");
    expect_only(before, "charging", WARN, "UsageFactor=0");
    replace("guest", "Mem=0.25G", "Mem=0");
    expect_only(before, "charging", WARN, "UsageFactor=0");
    set_config("AccountingStorageEnforce", "none");
    set_config("PriorityWeightFairShare", "1000");
    expect_only(before, "none", OK, NULL);
}
END_TEST

/* Without guests the other rules of rules_partition.c have nothing to look at. */
START_TEST(test_no_guest_partition)
{
    hpcb_report_t report;
    const char *mend = NULL;

    snprintf(cluster.facts.conf.guest_partition,
             sizeof(cluster.facts.conf.guest_partition), "visitors");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-partition", &mend), FAIL);
    ck_assert_ptr_nonnull(strstr(mend, "PartitionName=visitors"));
    ck_assert_int_eq(verdict_of(&report, "guest-tier", NULL), ELSEWHERE);
    ck_assert_int_eq(verdict_of(&report, "oversubscribe", NULL), ELSEWHERE);
    ck_assert_int_eq(verdict_of(&report, "same-nodes", NULL), ELSEWHERE);
    hpcb_report_free(&report);
}
END_TEST

START_TEST(test_guests_alone)
{
    hpcb_report_t report;

    replace("primary", "Nodes=n[1-2]", "Nodes=m[1-2]");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-partition", NULL), WARN);
    hpcb_report_free(&report);
}
END_TEST

/* The line that is pasted over the old one keeps what the old one says. */
START_TEST(test_mended_line_keeps_the_rest)
{
    hpcb_report_t report;
    const char *mend = NULL;

    replace("guest", "PriorityTier=20", "PriorityTier=5");
    replace("guest", "AllowGroups=ALL", "AllowGroups=staff");
    run_rules(&report);
    verdict_of(&report, "guest-tier", &mend);
    ck_assert_ptr_nonnull(mend);
    ck_assert_ptr_nonnull(strstr(mend, "PartitionName=guest "));
    ck_assert_ptr_nonnull(strstr(mend, " AllowGroups=staff "));
    ck_assert_ptr_nonnull(strstr(mend, " Nodes=n[1-2] "));
    ck_assert_ptr_nonnull(strstr(mend, " OverSubscribe=FORCE:1 "));
    ck_assert_ptr_nonnull(strstr(mend, " PriorityJobFactor=0 "));
    ck_assert_ptr_null(strstr(mend, "PriorityTier=5"));
    ck_assert_ptr_null(strstr(mend, "TotalCPUs"));
    hpcb_report_free(&report);
}
END_TEST

/* A line that cannot be printed whole is not for pasting. */
START_TEST(test_mended_line_is_whole)
{
    static char groups[6000] = "AllowGroups=";
    hpcb_report_t report;
    const char *mend = NULL;

    memset(groups + strlen(groups), 'g', sizeof(groups) - strlen(groups) - 1);
    replace("guest", "AllowGroups=ALL", groups);
    replace("guest", "PriorityTier=20", "PriorityTier=5");
    run_rules(&report);
    verdict_of(&report, "guest-tier", &mend);
    ck_assert_ptr_nonnull(mend);
    ck_assert_ptr_nonnull(strstr(mend, "PriorityTier=20"));
    ck_assert_ptr_null(strstr(mend, "gggg"));
    hpcb_report_free(&report);
}
END_TEST

START_TEST(test_long_scheduler_parameters)
{
    static char value[6000];
    hpcb_report_t report;
    const char *mend = NULL;

    memset(value, 'x', sizeof(value) - 1);
    set_config("SchedulerParameters", value);
    run_rules(&report);
    verdict_of(&report, "guests-never-reserve", &mend);
    ck_assert_ptr_nonnull(mend);
    ck_assert_ptr_nonnull(strstr(mend, "bf_min_prio_reserve=1000"));
    ck_assert_ptr_null(strstr(mend, "SchedulerParameters="));
    ck_assert_ptr_null(strstr(mend, "xx"));
    hpcb_report_free(&report);
}
END_TEST

/* -- files of this node -- */

static const struct {
    const char *text;
    hpcb_verdict_t verdict;
} plugstacks[] = {
    {"", FAIL},
    {"# optional hpc_balance.so\n", FAIL},
    {"required /none/hpc_balance.so\n", WARN},
};

START_TEST(test_plugstack)
{
    hpcb_report_t report;
    const char *mend = NULL;

    write_file("plugstack.conf", 0644, plugstacks[_i].text);
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "plugstack", &mend), plugstacks[_i].verdict);
    ck_assert_ptr_nonnull(mend);
    ck_assert_ptr_nonnull(strstr(mend, "optional /"));
    hpcb_report_free(&report);
}
END_TEST

static const struct {
    mode_t mode;
    const char *text;
} prologs[] = {
    {0644, "exec hpcbctl job begin\n"},
    {0777, "exec hpcbctl job begin\n"},
    {0755, "# exec hpcbctl job begin\n"},
    {0755, "exec hpcbctl job end\n"},
    {0755, "exec hpcbctl\n job begin\n"},
    {0755, "\xff\x01\n"},
    {0755, ""},
};

START_TEST(test_prolog_script)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    write_file("prolog", prologs[_i].mode, prologs[_i].text);
    expect_only(before, "prolog", FAIL, "");
}
END_TEST

/* slurmd runs what a pattern matches; since Slurm 23.11 scontrol numbers the scripts.
 */
START_TEST(test_lists_of_scripts)
{
    hpcb_verdict_t before[RULES_MAX];
    char added[TEST_TMP_MAX + 64];

    record_verdicts(before);
    point_at("Prolog", "p*log");
    expect_only(before, "none", OK, NULL);
    set_config("Prolog", "/bin/true");
    snprintf(added, sizeof(added), "Prolog[1] = %s/prolog\n", cluster.dir);
    strcat(cluster.config, added);
    expect_only(before, "none", OK, NULL);
}
END_TEST

START_TEST(test_snapshots)
{
    hpcb_verdict_t before[RULES_MAX];
    hpcb_report_t report;

    record_verdicts(before);
    use_node("no-cgroups");
    run_rules(&report);
    ck_assert_int_ne(verdict_of(&report, "isolation", NULL), OK);
    ck_assert_int_eq(verdict_of(&report, "meter", NULL), WARN);
    ck_assert_int_eq(verdict_of(&report, "guest-tier", NULL), OK);
    hpcb_report_free(&report);
}
END_TEST

/* In systemd's layout of cgroup v1 the move of a guest takes it out of Slurm's cpuacct.
 */
START_TEST(test_accounting_of_guests)
{
    hpcb_report_t report;
    const char *mend;

    set_config("JobAcctGatherType", "jobacct_gather/cgroup");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-accounting", NULL), OK);
    hpcb_report_free(&report);
    use_node("v1-comounted");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-accounting", &mend), WARN);
    ck_assert_str_eq(mend, "JobAcctGatherType=jobacct_gather/linux");
    hpcb_report_free(&report);
    /* Pasted, no other rule asks for the opposite. */
    set_config("JobAcctGatherType", "jobacct_gather/linux");
    set_config("ConstrainRAMSpace", "no");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-accounting", NULL), OK);
    ck_assert_int_eq(verdict_of(&report, "accounting", &mend), WARN);
    ck_assert_str_eq(mend, "ConstrainRAMSpace=yes (in cgroup.conf)");
    hpcb_report_free(&report);
}
END_TEST

/* -- doors beside Slurm's -- */

static void node_file(const char *name, const char *text)
{
    char path[PATH_MAX], command[PATH_MAX + 32];
    FILE *stream;

    snprintf(path, sizeof(path), "%s/root%s", cluster.dir, name);
    snprintf(command, sizeof(command), "mkdir -p '%.*s'",
             (int)(strrchr(path, '/') - path), path);
    ck_assert_int_eq(system(command), 0);
    stream = fopen(path, "w");
    ck_assert_ptr_nonnull(stream);
    ck_assert_int_ge(fputs(text, stream), 0);
    ck_assert_int_eq(fclose(stream), 0);
}

/* An empty root, beside the kernel that facts->node has. */
static void use_root(void)
{
    snprintf(cluster.facts.root, sizeof(cluster.facts.root), "%s/root", cluster.dir);
    node_file("/etc/passwd", "");
}

static void remove_root(void)
{
    char command[TEST_TMP_MAX + 32];

    snprintf(command, sizeof(command), "rm -r '%s/root'", cluster.dir);
    ck_assert_int_eq(system(command), 0);
}

static const struct {
    const char *name, *rule;
    const char *mend; /* NULL: it is fine, with what cures it if that is given */
    const char *cure;
} doors[] = {
    {"/var/lib/systemd/linger/mallory", "outside-jobs", "disable-linger mallory", NULL},
    {"/run/atd.pid", "outside-jobs", "/etc/at.allow", "/etc/at.allow"},
    {"/run/crond.pid", "outside-jobs", "/etc/cron.allow", "/etc/cron.allow"},
    {"/run/cron.pid", "outside-jobs", "/etc/cron.allow", "/etc/cron.allow"},
    {"/etc/cron.deny", "outside-jobs", NULL, NULL},
};

START_TEST(test_doors)
{
    hpcb_verdict_t before[RULES_MAX];

    use_root();
    record_verdicts(before);
    node_file(doors[_i].name, "");
    expect_only(before, doors[_i].rule, doors[_i].mend ? WARN : OK, doors[_i].mend);
    if (doors[_i].cure) {
        node_file(doors[_i].cure, "");
        expect_only(before, doors[_i].rule, OK, NULL);
    }
    remove_root();
}
END_TEST

static const struct {
    const char *snapshot, *line;
    hpcb_verdict_t verdict;
    const char *mend;
} sshd[] = {
    {"v1-hybrid", "account required pam_nologin.so\n", WARN, "pam_access"},
    {"v1-hybrid", "account required pam_access.so\n", OK, NULL},
    {"v1-hybrid", "account required pam_slurm.so\n", WARN, "pam_access"},
    {"v1-hybrid", "account required pam_slurm_adopt.so\n", WARN, NULL},
    {"v2-slurm22", "# pam_slurm_adopt\n", WARN, "pam_slurm_adopt"},
    {"v2-slurm22", "account required pam_slurm_adopt.so\n", OK, NULL},
};

START_TEST(test_ssh_sessions)
{
    hpcb_verdict_t before[RULES_MAX];

    use_node(sshd[_i].snapshot);
    use_root();
    record_verdicts(before);
    node_file("/etc/pam.d/sshd", sshd[_i].line);
    expect_only(before, "ssh-sessions", sshd[_i].verdict, sshd[_i].mend);
    remove_root();
}
END_TEST

START_TEST(test_no_node)
{
    hpcb_report_t report;

    hpcb_node_close(cluster.facts.node);
    cluster.facts.node = NULL;
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "isolation", NULL), FAIL);
    ck_assert_int_eq(verdict_of(&report, "meter", NULL), WARN);
    hpcb_report_free(&report);
}
END_TEST

/* -- where guests go -- */

#define STORE "{\"version\":1,\"profiles\":[\n]}\n"

static const struct {
    mode_t dir, file;
    const char *text, *mend; /* text NULL: no file; mend NULL: all is well */
} stores[] = {
    {0755, 0, NULL, NULL},
    {0755, 0644, STORE, NULL},
    {0777, 0644, STORE, "chmod 755"},
    {0700, 0644, STORE, "chmod 755"},
    {0755, 0600, STORE, "chmod 644"},
    {0755, 0666, STORE, "chmod 644"},
    {0755, 0644, "{", ".damaged"},
    {0755, 0644, "", ".damaged"},
};

START_TEST(test_store)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    if (stores[_i].text)
        write_file("profiles.json", stores[_i].file, stores[_i].text);
    ck_assert_int_eq(chmod(cluster.dir, stores[_i].dir), 0);
    expect_only(before, "profile-store", stores[_i].mend ? FAIL : OK, stores[_i].mend);
}
END_TEST

START_TEST(test_store_for_slurm_as_root)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    write_file("profiles.json", 0600, STORE);
    set_config("SlurmUser", "root(0)");
    expect_only(before, "none", OK, NULL);
}
END_TEST

START_TEST(test_store_in_no_directory)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    store_at("not/yet/profiles.json");
    expect_only(before, "none", OK, NULL);
    ck_assert_int_eq(chmod(cluster.dir, 0777), 0);
    expect_only(before, "profile-store", FAIL, "chown root");
    ck_assert_int_eq(chmod(cluster.dir, 0755), 0);
    store_at("prolog/profiles.json");
    expect_only(before, "profile-store", FAIL, "ProfileStore=/");
}
END_TEST

static const struct {
    const char *line, *mend; /* NULL: all is well */
} capacities[] = {
    {"", NULL},
    {"NodeName=ALL MemBandwidth=1G", NULL},
    {"NodeName=n[1-2] MemBandwidth=1G\nNodeName=n2 NetBandwidth=1G", NULL},
    {"NodeName=n[1-3] MemBandwidth=1G", "n3"},
    {"NodeName=ALL MemBandwidth=1G\nNodeName=N1 NetBandwidth=1G", "N1"},
    {"NodeName=n[1-99999999] MemBandwidth=1G", "ALL"},
};

START_TEST(test_capacities)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    write_file("hpc-balance.conf", 0644, capacities[_i].line);
    expect_only(before, "node-capacities", capacities[_i].mend ? WARN : OK,
                capacities[_i].mend);
}
END_TEST

static void measure_nodes(const char *const *names, size_t count)
{
    hpcb_live_table_t *table = hpcb_live_table_new();
    hpcb_live_node_t node = {.time = 1, .mem_bandwidth = 7};

    for (size_t i = 0; i < count; i++) {
        snprintf(node.name, sizeof(node.name), "%s", names[i]);
        ck_assert_int_eq(hpcb_live_put(table, &node), 0);
    }
    ck_assert_int_eq(hpcb_live_write(table, cluster.dir, NULL), 0);
    hpcb_live_table_free(table);
}

static void expect_text(const char *rule, const char *text)
{
    hpcb_report_t report;
    bool seen = false;

    run_rules(&report);
    for (size_t i = 0; i < report.count; i++)
        seen |= strcmp(report.findings[i].rule->name, rule) == 0 &&
                strstr(report.findings[i].found, text);
    ck_assert_msg(seen, "%s does not say '%s'", rule, text);
    hpcb_report_free(&report);
}

START_TEST(test_unmeasured_nodes)
{
    static const char *const names[] = {"n1", "n2"};

    snprintf(cluster.facts.conf.collector_dir, sizeof(cluster.facts.conf.collector_dir),
             "%s", cluster.dir);
    expect_text("node-capacities", "on the collector's host");
    measure_nodes(names, 1);
    expect_text("node-capacities", "unmeasured nodes: 1 (n2)");
    write_file("hpc-balance.conf", 0644, "NodeName=n2 MemBandwidth=1G");
    expect_text("node-capacities", "of all nodes is known");
    write_file("hpc-balance.conf", 0644, "");
    measure_nodes(names, 2);
    expect_text("node-capacities", "of all nodes is known");
}
END_TEST

/* A note, as long as there is none that is only root's. */
START_TEST(test_experiment_key)
{
    hpcb_report_t report;
    char path[PATH_MAX + 32];
    const char *mend;
    FILE *key;

    snprintf(path, sizeof(path), "%s/hpc-balance.key", cluster.dir);
    cluster.facts.on_node = true;
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "experiment-key", &mend), OK);
    ck_assert_ptr_nonnull(strstr(mend, path));
    hpcb_report_free(&report);
    key = fopen(path, "w");
    ck_assert_ptr_nonnull(key);
    fputs("0123456789abcdef", key);
    fclose(key);
    ck_assert_int_eq(chmod(path, 0644), 0);
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "experiment-key", &mend), OK);
    ck_assert_ptr_nonnull(mend);
    hpcb_report_free(&report);
    ck_assert_int_eq(chmod(path, 0400), 0);
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "experiment-key", &mend), OK);
    ck_assert_ptr_null(mend);
    hpcb_report_free(&report);
    ck_assert_int_eq(unlink(path), 0);
    cluster.facts.conf.guest_max_slowdown_ppm = 0;
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "experiment-key", &mend), OK);
    ck_assert_ptr_null(mend);
    hpcb_report_free(&report);
}
END_TEST

/* On the controller, without our select plugin. */
START_TEST(test_guest_memory)
{
    hpcb_report_t report;

    cluster.facts.on_controller = true;
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-memory", NULL), WARN);
    hpcb_report_free(&report);
    set_config("SelectTypeParameters", "CR_CORE");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-memory", NULL), WARN);
    hpcb_report_free(&report);
    cluster.facts.conf.guest_memory_unused = false;
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "guest-memory", NULL), OK);
    hpcb_report_free(&report);
}
END_TEST

START_TEST(test_guests_of_a_core)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    cluster.facts.conf.guest_oversubscribe = 3;
    expect_only(before, "oversubscribe", FAIL, "OverSubscribe=FORCE:3");
    replace("guest", "FORCE:1", "FORCE:3");
    expect_only(before, "none", OK, NULL);
    replace("guest", "FORCE:3", "FORCE:2");
    expect_only(before, "oversubscribe", FAIL, "OverSubscribe=FORCE:3");
    replace("guest", "FORCE:2", "FORCE:3");
    replace("guest", "DefMemPerNode=UNLIMITED", "DefMemPerCPU=9000");
    expect_only(before, "gang-memory", WARN, "PartitionName=guest DefMemPerCPU=");
    replace("guest", "DefMemPerCPU=9000", "DefMemPerCPU=10");
    set_config("PreemptMode", "GANG,SUSPEND");
    expect_only(before, "preempt-mode", FAIL, "PreemptMode=OFF");
}
END_TEST

START_TEST(test_gang_partitions)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    replace("primary", "DefMemPerNode=UNLIMITED", "DefMemPerCPU=10");
    strcpy(cluster.facts.conf.gang_partitions, "primary");
    expect_only(before, "oversubscribe", FAIL, "OverSubscribe=FORCE:2");
    replace("primary", "FORCE:1", "FORCE:4");
    expect_only(before, "none", OK, NULL);
    add_partition("PartitionName=far PriorityTier=10 Nodes=n7 OverSubscribe=FORCE:1");
    expect_only(before, "none", OK, NULL);
    add_partition("PartitionName=debug PriorityTier=10 Nodes=n2 OverSubscribe=FORCE:1");
    record_verdicts(before);
    strcpy(cluster.facts.conf.gang_partitions, "none");
    replace("primary", "FORCE:4", "FORCE:1");
    expect_only(before, "gang-nodes", OK, NULL);
    replace("primary", "FORCE:1", "FORCE:4");
    strcpy(cluster.facts.conf.gang_partitions, "primary");
    expect_only(before, "gang-nodes", FAIL, "partitions primary and debug");
    /* Nor may both take turns. */
    strcpy(cluster.facts.conf.gang_partitions, "primary,debug");
    replace("debug", "FORCE:1", "FORCE:2");
    expect_only(before, "gang-nodes", FAIL, "partitions debug and primary");
}
END_TEST

/* Jobs take turns where there is no guest, too. */
START_TEST(test_gang_without_guests)
{
    hpcb_report_t report;
    const char *mend = NULL;

    snprintf(cluster.facts.conf.guest_partition,
             sizeof(cluster.facts.conf.guest_partition), "visitors");
    add_partition("PartitionName=debug PriorityTier=10 Nodes=n2 OverSubscribe=NO");
    replace("guest", "Nodes=n[1-2]", "Nodes=n9");
    replace("primary", "DefMemPerNode=UNLIMITED", "DefMemPerCPU=9000");
    replace("primary", "FORCE:1", "FORCE:4");
    strcpy(cluster.facts.conf.gang_partitions, "primary");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "oversubscribe", NULL), OK);
    ck_assert_int_eq(verdict_of(&report, "gang-nodes", &mend), FAIL);
    ck_assert_ptr_nonnull(strstr(mend, "partitions primary and debug"));
    ck_assert_int_eq(verdict_of(&report, "gang-memory", &mend), WARN);
    ck_assert_ptr_nonnull(strstr(mend, "PartitionName=primary DefMemPerCPU="));
    hpcb_report_free(&report);
    replace("primary", "FORCE:4", "NO");
    run_rules(&report);
    ck_assert_int_eq(verdict_of(&report, "oversubscribe", &mend), FAIL);
    ck_assert_ptr_nonnull(strstr(mend, "OverSubscribe=FORCE:2"));
    hpcb_report_free(&report);
}
END_TEST

/* A default of guests' own. */
START_TEST(test_guest_default_memory)
{
    hpcb_verdict_t before[RULES_MAX];

    record_verdicts(before);
    set_config("DefMemPerCPU", "9642");
    replace("guest", "DefMemPerNode=UNLIMITED", "DefMemPerCPU=1000");
    expect_only(before, "none", OK, NULL);
}
END_TEST

/* What the partition's jobs had must not be lost with EXCLUSIVE. */
START_TEST(test_partition_of_whole_nodes)
{
    hpcb_report_t report;
    bool said = false;

    replace("primary", "FORCE:1", "EXCLUSIVE");
    run_rules(&report);
    for (size_t i = 0; i < report.count; i++)
        said |= report.findings[i].mend &&
                strcmp(report.findings[i].mend, "ExclusivePartitions=primary") == 0;
    ck_assert(said);
    hpcb_report_free(&report);
}
END_TEST

/* -- every rule with nothing or junk -- */

static const char *const junk[] = {
    "SelectType = x",
    "SelectType=\xff\nPrologFlags=,,,\nJobSubmitPlugins=,\nSLURM_VERSION=99.999.9999\n"
    "SchedulerParameters=,=,\nPluginDir=::\nProlog=[\nEpilog=,\nPreemptMode=,",
};
static const char *const junk_partitions[] = {
    "",
    "PartitionName=guest",
    "PartitionName=guest Nodes=n[1-99999999] PriorityTier=99999999999999999999999\n"
    "PartitionName= Nodes=n[[\nPartitionName=x "
    "Nodes=n[1-99999999],y\n=\n\xff\x01=\x02\n",
};

START_TEST(test_junk)
{
    hpcb_report_t report;

    strcpy(cluster.config, junk[_i / 3]);
    strcpy(cluster.partitions, junk_partitions[_i % 3]);
    strcpy(cluster.node, "\x01");
    run_rules(&report);
    ck_assert_uint_gt(hpcb_report_count(&report, FAIL), 0);
    for (size_t i = 0; i < report.count; i++)
        for (const char *c = report.findings[i].found; *c; c++)
            ck_assert_int_ge((unsigned char)*c, ' ');
    hpcb_report_free(&report);
}
END_TEST

#define ROWS(table) ((int)(sizeof(table) / sizeof((table)[0])))

/* -- every line applied as an admin would paste it -- */

/* Set key in the line of a partition of scontrol's. */
static void set_in_partition(const char *partition, const char *key, const char *value)
{
    char opening[80], old[300], new[300];
    const char *line, *at;

    snprintf(opening, sizeof(opening), "PartitionName=%s ", partition);
    line = strstr(cluster.partitions, opening);
    ck_assert_msg(line != NULL, "no partition %s", partition);
    snprintf(old, sizeof(old), " %s=", key);
    at = strstr(line, old);
    ck_assert_msg(at && (size_t)(at - line) < strcspn(line, "\n"), "%s: no %s",
                  partition, key);
    snprintf(old, sizeof(old), " %s=%.*s", key, (int)strcspn(at + strlen(old), " \n"),
             at + strlen(old));
    snprintf(new, sizeof(new), " %s=%s", key, value);
    if (strcmp(old, new) != 0)
        replace(partition, old, new);
}

/* With the QOS that the line speaks of. */
static void add_guest_qos(const char *name)
{
    hpcb_conf_t *conf = &cluster.facts.conf;

    snprintf(conf->guest_qos, sizeof(conf->guest_qos), "%s", name);
    cluster.facts.qos_usage_factor = 0;
}

static void paste_partition(char *line)
{
    char *rest = NULL, *word = strtok_r(line, " ", &rest);
    const char *name = word + strlen("PartitionName=");

    while ((word = strtok_r(NULL, " ", &rest))) {
        char *value = strchr(word, '=');

        ck_assert_ptr_nonnull(value);
        *value = '\0';
        /* This cluster's nodes, as scontrol names them. */
        set_in_partition(name, word,
                         strcmp(value + 1, "ALL") == 0 ? "n[1-2]" : value + 1);
    }
}

static void paste(const char *mend)
{
    char line[8192], *value;

    snprintf(line, sizeof(line), "%s", mend);
    if (strncmp(line, "PartitionName=", strlen("PartitionName=")) == 0) {
        paste_partition(line);
        return;
    }
    value = strchr(line, '=');
    ck_assert_msg(value != NULL, "not to be pasted: %s", mend);
    *value = '\0';
    value[1 + strcspn(value + 1, " ")] = '\0'; /* a remark */
    if (strcmp(line, "ExclusivePartitions") == 0)
        snprintf(cluster.facts.conf.exclusive_partitions,
                 sizeof(cluster.facts.conf.exclusive_partitions), "%s", value + 1);
    else if (strcmp(line, "GuestQOS") == 0)
        add_guest_qos(value + 1);
    else
        set_config(line, value + 1);
}

/* Of slurm.conf, where the whole nodes of a partition go, and the guests' QOS. */
static bool is_pasted(const hpcb_finding_t *finding)
{
    const char *file = finding->file ? strrchr(finding->file, '/') : NULL;

    return finding->mend && finding->verdict != ELSEWHERE &&
           strcmp(finding->rule->name, "primaries-apart") != 0 && /* a package */
           ((file && strcmp(file, "/slurm.conf") == 0) ||
            strncmp(finding->mend, "ExclusivePartitions=", 20) == 0 ||
            strncmp(finding->mend, "GuestQOS=", 9) == 0);
}

/* One line a setting: two that differ would undo each other. */
static void paste_all(const hpcb_report_t *report)
{
    for (size_t i = 0; i < report->count; i++) {
        const char *mend = report->findings[i].mend;

        if (!is_pasted(&report->findings[i]))
            continue;
        for (size_t k = 0; k < i; k++) {
            const char *other = report->findings[k].mend;
            size_t key = strcspn(mend, mend[0] == 'P' && mend[1] == 'a' ? " " : "=");

            if (other && strncmp(other, mend, key + 1) == 0)
                ck_assert_str_eq(other, mend);
        }
        paste(mend);
    }
}

#define OTHER(name, nodes, tier, more)                                                 \
    "PartitionName=" name " AllowGroups=ALL Default=NO ExclusiveUser=NO Nodes=" nodes  \
    " PriorityJobFactor=1 PriorityTier=" tier " " more " State=UP"

#define FORCE    "OverSubscribe=FORCE:1"
#define NO_FORCE "OverSubscribe=NO"

/* What sites have before they have read anything of ours. */
static const struct {
    const char *name;
    const char *partitions[3];
    const char *config[8]; /* key, value, ... */
    const char *guest[6];  /* key, value, ... */
} sites[] = {
    {"preempt/qos",
     {NULL},
     {"PreemptType", "preempt/qos", "PreemptMode", "GANG,SUSPEND"},
     {NULL}},
    {"tiers and preempt/partition_prio",
     {OTHER("debug", "n[1-2]", "30", NO_FORCE), OTHER("long", "n[1-2]", "5", NO_FORCE)},
     {"PreemptType", "preempt/partition_prio", "PreemptMode", "SUSPEND,GANG"},
     {NULL}},
    {"two that do not meet, and one that meets both",
     {OTHER("left", "n1", "3", FORCE), OTHER("right", "n2", "7", FORCE),
      OTHER("both", "n[1-2]", "40", FORCE)},
     {NULL},
     {NULL}},
    {"exclusive partitions",
     {OTHER("whole", "n[1-2]", "10", "OverSubscribe=EXCLUSIVE")},
     {NULL},
     {NULL}},
    {"gpus", {OTHER("gpu", "n2", "20", NO_FORCE)}, {NULL}, {NULL}},
    {"CR_CPU", {NULL}, {"SelectTypeParameters", "CR_CPU"}, {NULL}},
    {"Slurm's defaults",
     {NULL},
     {"SchedulerParameters", "(null)", "DefMemPerCPU", "UNLIMITED",
      "PriorityWeightPartition", "0"},
     {"PriorityJobFactor", "1", "PriorityTier", "1", "OverSubscribe", "NO"}},
    {"fairshare",
     {NULL},
     {"SchedulerParameters", "bf_continue,bf_window=2880", "PriorityWeightFairShare",
      "100000", "PriorityWeightPartition", "0"},
     {NULL}},
    {"enable_user_top",
     {NULL},
     {"SlurmctldParameters", "enable_user_top,idle_on_node_suspend"},
     {NULL}},
    {"configless",
     {OTHER("debug", "n1", "100", NO_FORCE)},
     {"SlurmctldParameters", "enable_configless", "PrologFlags", "X11", "TaskPlugin",
      "task/affinity"},
     {"OverSubscribe", "NO"}},
    {"several clusters",
     {OTHER("cloud", "n2", "1", NO_FORCE)},
     {"FederationParameters", "fed_display", "PriorityType", "priority/basic",
      "JobSubmitPlugins", "lua", "SchedulerParameters", "bf_window=4320"},
     {"PriorityTier", "1"}},
    {"no slurmdbd",
     {NULL},
     {"AccountingStorageType", "accounting_storage/none", "JobAcctGatherType",
      "jobacct_gather/none", "SelectTypeParameters", "CR_CORE", "SchedulerType",
      "sched/builtin"},
     {NULL}},
    {"guests are default, down, and somewhere else",
     {NULL},
     {"AccountingStorageEnforce", "limits,qos"},
     {"Default", "YES", "State", "DOWN", "ExclusiveUser", "YES"}},
};

START_TEST(test_all_lines_together_leave_nothing_broken)
{
    hpcb_verdict_t before[RULES_MAX], after[RULES_MAX];
    hpcb_report_t report;
    size_t count, broken = 0;
    const hpcb_rule_t *rules = hpcb_rules(&count);

    record_verdicts(before);
    for (size_t i = 0; i < 3 && sites[_i].partitions[i]; i++)
        add_partition(sites[_i].partitions[i]);
    for (size_t i = 0; i < 8 && sites[_i].config[i]; i += 2)
        set_config(sites[_i].config[i], sites[_i].config[i + 1]);
    for (size_t i = 0; i < 6 && sites[_i].guest[i]; i += 2)
        set_in_partition("guest", sites[_i].guest[i], sites[_i].guest[i + 1]);
    run_rules(&report);
    for (size_t i = 0; i < report.count; i++)
        broken +=
            report.findings[i].verdict == FAIL || report.findings[i].verdict == WARN;
    ck_assert_msg(broken > 0, "%s: nothing is broken", sites[_i].name);
    paste_all(&report);
    hpcb_report_free(&report);
    record_verdicts(after);
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(
            after[i] <= before[i] || strcmp(rules[i].name, "primaries-apart") == 0,
            "%s: rule %s says %d", sites[_i].name, rules[i].name, (int)after[i]);
}
END_TEST

static void add_tests(TCase *tcase)
{
    tcase_add_test(tcase, test_good_cluster);
    tcase_add_loop_test(tcase, test_setting, 0, ROWS(settings));
    tcase_add_loop_test(tcase, test_word, 0, ROWS(words));
    tcase_add_test(tcase, test_another_tier);
    tcase_add_test(tcase, test_two_partitions_of_a_tier);
    tcase_add_test(tcase, test_tiers_apart_from_the_first);
    tcase_add_test(tcase, test_partition_elsewhere);
    tcase_add_test(tcase, test_no_default_memory_in_one_partition);
    tcase_add_test(tcase, test_experiment_key);
    tcase_add_test(tcase, test_guest_memory);
    tcase_add_test(tcase, test_guest_default_memory);
    tcase_add_test(tcase, test_guests_of_a_core);
    tcase_add_test(tcase, test_gang_partitions);
    tcase_add_test(tcase, test_gang_without_guests);
    tcase_add_test(tcase, test_reserve_by_qos);
    tcase_add_test(tcase, test_accounting);
    tcase_add_test(tcase, test_charging);
    tcase_add_test(tcase, test_no_guest_partition);
    tcase_add_test(tcase, test_guests_alone);
    tcase_add_test(tcase, test_mended_line_keeps_the_rest);
    tcase_add_test(tcase, test_mended_line_is_whole);
    tcase_add_loop_test(tcase, test_all_lines_together_leave_nothing_broken, 0,
                        sizeof(sites) / sizeof(sites[0]));
    tcase_add_test(tcase, test_long_scheduler_parameters);
    tcase_add_loop_test(tcase, test_plugstack, 0, ROWS(plugstacks));
    tcase_add_test(tcase, test_snapshots);
    tcase_add_test(tcase, test_accounting_of_guests);
    tcase_add_loop_test(tcase, test_doors, 0, sizeof(doors) / sizeof(doors[0]));
    tcase_add_loop_test(tcase, test_ssh_sessions, 0, sizeof(sshd) / sizeof(sshd[0]));
    tcase_add_test(tcase, test_no_node);
    tcase_add_loop_test(tcase, test_capacities, 0, ROWS(capacities));
    tcase_add_test(tcase, test_unmeasured_nodes);
    tcase_add_test(tcase, test_partition_of_whole_nodes);
    tcase_add_loop_test(tcase, test_junk, 0, ROWS(junk) * ROWS(junk_partitions));
    /* Only root can own what Slurm is to trust. */
    if (geteuid() == 0) {
        tcase_add_loop_test(tcase, test_store, 0, ROWS(stores));
        tcase_add_test(tcase, test_store_for_slurm_as_root);
        tcase_add_test(tcase, test_store_in_no_directory);
        tcase_add_loop_test(tcase, test_prolog_script, 0, ROWS(prologs));
        tcase_add_test(tcase, test_lists_of_scripts);
    }
}

int main(void)
{
    Suite *suite = suite_create("rules");
    TCase *tcase = tcase_create("rules");
    SRunner *runner;
    int failed;

    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, set_up, tear_down);
    add_tests(tcase);
    suite_add_tcase(suite, tcase);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
