/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
/*
 * The two queues.  A partition of primaries is any other partition that has nodes in
 * common with the guests', or whose jobs take turns; the rest of the cluster does not
 * concern us.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/hostlist.h"
#include "hpcbctl/check/rule_tests.h"

#define LINE_MAX_BYTES 4096

static const char *slurm_conf(const hpcb_facts_t *facts)
{
    return hpcb_slurm_file(facts, "slurm.conf");
}

static const char *name_of(const hpcb_table_t *partition)
{
    return hpcb_table_text(partition, "PartitionName");
}

static const hpcb_table_t *guests(const hpcb_facts_t *facts)
{
    return hpcb_slurm_partition(&facts->slurm, facts->conf.guest_partition);
}

static bool meets_guests(const hpcb_facts_t *facts, const hpcb_table_t *partition)
{
    const hpcb_table_t *guest = guests(facts);

    return guest && partition != guest &&
           hpcb_hostlist_compare(hpcb_table_text(partition, "Nodes"),
                                 hpcb_table_text(guest, "Nodes")) != HPCB_HOSTS_APART;
}

/* The next partition of primaries from *at on; NULL after the last. */
static const hpcb_table_t *next_primary(const hpcb_facts_t *facts, size_t *at)
{
    while (*at < facts->slurm.n_partitions) {
        const hpcb_table_t *partition = &facts->slurm.partitions[(*at)++];

        if (meets_guests(facts, partition))
            return partition;
    }
    return NULL;
}

/* Every other rule has nothing to say where there are no guests. */
static bool no_guests(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    if (guests(facts))
        return false;
    hpcb_found(report, HPCB_VERDICT_ELSEWHERE, NULL, "there is no partition %s",
               facts->conf.guest_partition);
    return true;
}

static bool takes_turns(const hpcb_facts_t *facts, const hpcb_table_t *partition)
{
    return hpcb_conf_is_gang(&facts->conf, name_of(partition));
}

/* The next partition of guests or primaries, or of jobs that take turns where there are
 * no guests, from *at on; NULL after the last. */
static const hpcb_table_t *next_shared(const hpcb_facts_t *facts, size_t *at)
{
    while (*at < facts->slurm.n_partitions) {
        const hpcb_table_t *partition = &facts->slurm.partitions[(*at)++];

        if (partition == guests(facts) || meets_guests(facts, partition) ||
            takes_turns(facts, partition))
            return partition;
    }
    return NULL;
}

/* Neither guests nor jobs that take turns. */
static bool nothing_shared(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    size_t at = 0;

    return !next_shared(facts, &at) && no_guests(facts, report);
}

/* Return whether a pair is not in slurm.conf, or has the same meaning as its
 * absence. */
static bool is_left_out(const hpcb_pair_t *pair)
{
    static const char *const derived[] = {"TotalCPUs", "TotalNodes", "TRES", "QoS"};
    static const char *const usual[] = {"ALL",       "N/A", "NONE", "(null)",
                                        "UNLIMITED", "NO",  "0",    ""};

    if (strcasecmp(pair->key, "PriorityJobFactor") == 0) /* its default is 1 */
        return false;
    for (size_t i = 0; i < sizeof(derived) / sizeof(derived[0]); i++)
        if (strcasecmp(pair->key, derived[i]) == 0 &&
            (strcasecmp(pair->key, "QoS") != 0 || strcmp(pair->value, "N/A") == 0))
            return true;
    for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
        if (strcasecmp(pair->value, usual[i]) == 0)
            return true;
    return false;
}

/* Return false if it does not fit. */
static bool append(char *line, const char *key, const char *value)
{
    size_t used = strlen(line), room = LINE_MAX_BYTES - used;

    return snprintf(line + used, room, "%s%s=%s", used ? " " : "", key, value) <
           (int)room;
}

static uint64_t tier_of(const hpcb_table_t *partition)
{
    return hpcb_table_number(partition, "PriorityTier", 1);
}

/* The first partition of primaries before primary that meets it in another tier (or in
 * the same one); NULL where there is none.  Lists of hosts are compared last: that
 * takes its time. */
static const hpcb_table_t *find_clash(const hpcb_facts_t *facts,
                                      const hpcb_table_t *primary, bool same_tier)
{
    const char *nodes = hpcb_table_text(primary, "Nodes");
    const hpcb_table_t *other = facts->slurm.partitions;

    for (; other != primary; other++)
        if ((tier_of(other) == tier_of(primary)) == same_tier &&
            hpcb_hostlist_compare(hpcb_table_text(other, "Nodes"), nodes) !=
                HPCB_HOSTS_APART &&
            meets_guests(facts, other))
            return other;
    return NULL;
}

static uint64_t highest_tier(const hpcb_facts_t *facts)
{
    const hpcb_table_t *primary;
    uint64_t highest = 0;

    for (size_t at = 0; (primary = next_primary(facts, &at));)
        highest = tier_of(primary) > highest ? tier_of(primary) : highest;
    return highest;
}

/* Return whether primaries of different tiers have common nodes. */
static bool has_clash(const hpcb_facts_t *facts)
{
    const hpcb_table_t *primary;

    for (size_t at = 0; (primary = next_primary(facts, &at));)
        if (find_clash(facts, primary, false))
            return true;
    return false;
}

/* The tier that a partition is to have.  One for all primaries, if any of them clash:
 * a partition may meet two others that do not meet each other. */
static uint64_t wanted_tier(const hpcb_facts_t *facts, const hpcb_table_t *partition)
{
    size_t at = 0;
    uint64_t highest;

    if (partition != guests(facts))
        return has_clash(facts) ? tier_of(next_primary(facts, &at))
                                : tier_of(partition);
    highest = highest_tier(facts);
    return tier_of(partition) > highest ? tier_of(partition) : highest + 10;
}

/* Return whether a partition of primaries has exactly the guests' nodes. */
static bool has_same_nodes(const hpcb_facts_t *facts)
{
    const char *nodes = hpcb_table_text(guests(facts), "Nodes");
    const hpcb_table_t *primary;

    for (size_t at = 0; (primary = next_primary(facts, &at));)
        if (hpcb_hostlist_compare(hpcb_table_text(primary, "Nodes"), nodes) ==
            HPCB_HOSTS_SAME)
            return true;
    return false;
}

/* Return how many jobs of the partition may share a core: FORCE:n. */
static unsigned wanted_sharing(const hpcb_facts_t *facts, const hpcb_table_t *partition)
{
    unsigned jobs = 0;

    if (partition == guests(facts))
        return facts->conf.guest_oversubscribe;
    if (!takes_turns(facts, partition))
        return 1;
    (void)sscanf(hpcb_table_text(partition, "OverSubscribe"), "FORCE:%5u", &jobs);
    return jobs > 1 ? jobs : 2;
}

typedef struct {
    const char *key;
    char value[24]; /* "": as it is */
} wish_t;

#define WISHES 7

/* Collect the requirements of all rules for the partition. */
static void wishes_for(const hpcb_facts_t *facts, const hpcb_table_t *partition,
                       wish_t wishes[static WISHES])
{
    bool guest = partition == guests(facts);

    snprintf(wishes[0].value, sizeof(wishes[0].value), "%" PRIu64,
             wanted_tier(facts, partition));
    wishes[0].key = "PriorityTier";
    wishes[1].key = "OverSubscribe";
    snprintf(wishes[1].value, sizeof(wishes[1].value), "FORCE:%u",
             wanted_sharing(facts, partition));
    wishes[2] = (wish_t){"ExclusiveUser", "NO"};
    wishes[3] = (wish_t){"State", ""};
    wishes[4] = (wish_t){"Default", ""};
    wishes[5] = (wish_t){"PriorityJobFactor", ""};
    wishes[6] = (wish_t){"Nodes", ""};
    if (!guest)
        return;
    strcpy(wishes[3].value, "UP");
    strcpy(wishes[4].value, "NO");
    strcpy(wishes[5].value, "0");
    if (!has_same_nodes(facts))
        strcpy(wishes[6].value, "ALL");
}

static wish_t *find_wish(wish_t wishes[static WISHES], const char *key)
{
    for (size_t i = 0; i < WISHES; i++)
        if (strcasecmp(wishes[i].key, key) == 0 && *wishes[i].value)
            return &wishes[i];
    return NULL;
}

/* The partition's whole line as all rules want it: what is pasted over the old one
 * loses nothing, and does not undo what another rule asked for. */
static bool make_line(const hpcb_table_t *partition, wish_t wishes[static WISHES],
                      char line[static LINE_MAX_BYTES])
{
    bool whole = true;

    for (size_t i = 0; i < partition->count; i++) {
        const hpcb_pair_t *pair = &partition->pairs[i];
        wish_t *wish = find_wish(wishes, pair->key);
        bool changes = wish && strcasecmp(wish->value, pair->value) != 0;

        if (changes || !is_left_out(pair))
            whole &= append(line, pair->key, wish ? wish->value : pair->value);
        if (wish)
            wish->value[0] = '\0';
    }
    for (size_t i = 0; i < WISHES; i++)
        if (*wishes[i].value)
            whole &= append(line, wishes[i].key, wishes[i].value);
    return whole;
}

/* A line that is too long to be whole is not for pasting: then key and value alone. */
static void mend_partition(const hpcb_facts_t *facts, hpcb_report_t *report,
                           const hpcb_table_t *partition, const char *key,
                           const char *value)
{
    char line[LINE_MAX_BYTES] = "";
    wish_t wishes[WISHES];

    wishes_for(facts, partition, wishes);
    if (make_line(partition, wishes, line))
        hpcb_mend(report, "%s", line);
    else
        hpcb_mend(report, "%s=%s (in the line of partition %s)", key, value,
                  name_of(partition));
}

void hpcb_rule_guest_partition(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *guest = guests(facts);
    const char *state = guest ? hpcb_table_text(guest, "State") : "";
    size_t at = 0;
    const hpcb_table_t *primary = next_primary(facts, &at);

    if (!guest) {
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   "there is no partition %s (GuestPartition in %s)",
                   facts->conf.guest_partition, facts->conf_path);
        hpcb_mend(report,
                  "PartitionName=%s Nodes=ALL PriorityTier=20 "
                  "OverSubscribe=FORCE:1 PriorityJobFactor=0 State=UP",
                  facts->conf.guest_partition);
    } else if (!primary) {
        hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
                   "partition %s has no node in common with any other", name_of(guest));
    } else if (strcasecmp(state, "UP") != 0) {
        hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
                   "partition %s has State=%s: no guest starts", name_of(guest), state);
        mend_partition(facts, report, guest, "State", "UP");
    } else {
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts), "PartitionName=%s",
                   name_of(guest));
    }
}

void hpcb_rule_guest_default(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *guest = guests(facts);
    bool bad;

    if (no_guests(facts, report))
        return;
    bad = strcasecmp(hpcb_table_text(guest, "Default"), "YES") == 0;
    hpcb_found(report, bad ? HPCB_VERDICT_FAIL : HPCB_VERDICT_OK, slurm_conf(facts),
               "PartitionName=%s Default=%s", name_of(guest),
               hpcb_table_text(guest, "Default"));
    if (bad)
        mend_partition(facts, report, guest, "Default", "NO");
}

void hpcb_rule_guest_tier(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *guest = guests(facts);
    uint64_t highest = highest_tier(facts);
    char wanted[24];
    bool good;

    if (no_guests(facts, report))
        return;
    good = tier_of(guest) > highest;
    hpcb_found(report, good ? HPCB_VERDICT_OK : HPCB_VERDICT_FAIL, slurm_conf(facts),
               "PartitionName=%s PriorityTier=%" PRIu64 ", primaries have %s%" PRIu64,
               name_of(guest), tier_of(guest), good ? "" : "up to ", highest);
    snprintf(wanted, sizeof(wanted), "%" PRIu64, highest + 10);
    if (!good)
        mend_partition(facts, report, guest, "PriorityTier", wanted);
}

bool hpcb_primaries_meet(const hpcb_facts_t *facts, const char **one, const char **two)
{
    const hpcb_table_t *primary, *other = NULL;

    for (size_t at = 0; !other && (primary = next_primary(facts, &at));) {
        other = find_clash(facts, primary, true);
        *one = other ? name_of(other) : NULL;
        *two = name_of(primary);
    }
    return other != NULL;
}

static void say_tier(const hpcb_facts_t *facts, hpcb_report_t *report,
                     const hpcb_table_t *primary, uint64_t wanted)
{
    const hpcb_table_t *other = find_clash(facts, primary, false);
    char text[24];

    if (other)
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   "partitions %s (PriorityTier=%" PRIu64
                   ") and %s (PriorityTier=%" PRIu64 ") share nodes",
                   name_of(other), tier_of(other), name_of(primary), tier_of(primary));
    else
        hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
                   "partition %s has PriorityTier=%" PRIu64
                   ", partitions with which others share nodes %" PRIu64,
                   name_of(primary), tier_of(primary), wanted);
    snprintf(text, sizeof(text), "%" PRIu64, wanted);
    mend_partition(facts, report, primary, "PriorityTier", text);
}

void hpcb_rule_primary_tiers(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *primary;
    size_t at = 0;
    uint64_t wanted;

    if (no_guests(facts, report))
        return;
    if (!has_clash(facts)) {
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts),
                   "one PriorityTier for all primaries that meet");
        return;
    }
    wanted = tier_of(next_primary(facts, &at));
    while ((primary = next_primary(facts, &at)))
        if (tier_of(primary) != wanted)
            say_tier(facts, report, primary, wanted);
}

/* EXCLUSIVE, NO, YES and FORCE (which means FORCE:4) each break a promise. */
static bool check_sharing(const hpcb_facts_t *facts, hpcb_report_t *report,
                          const hpcb_table_t *partition)
{
    const char *value = hpcb_table_text(partition, "OverSubscribe");
    char wanted[24];

    snprintf(wanted, sizeof(wanted), "FORCE:%u", wanted_sharing(facts, partition));
    if (strcasecmp(value, wanted) == 0)
        return true;
    hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
               "PartitionName=%s OverSubscribe=%s", name_of(partition), value);
    mend_partition(facts, report, partition, "OverSubscribe", wanted);
    if (strcasecmp(value, "EXCLUSIVE") == 0 &&
        !hpcb_conf_is_exclusive(&facts->conf, name_of(partition))) {
        hpcb_found(report, HPCB_VERDICT_FAIL, facts->conf_path,
                   "partition %s gives whole nodes, which FORCE:1 does not",
                   name_of(partition));
        hpcb_mend(report, "ExclusivePartitions=%s", name_of(partition));
    }
    return false;
}

void hpcb_rule_oversubscribe(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *partition;
    bool good = true;

    if (nothing_shared(facts, report))
        return;
    for (size_t at = 0; (partition = next_shared(facts, &at));)
        good &= check_sharing(facts, report, partition);
    if (good)
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts), "OverSubscribe=FORCE:%s",
                   hpcb_conf_has_gangs(&facts->conf)
                       ? "n as GuestOversubscribe and GangPartitions need it"
                       : "1");
}

/* A partition of primaries on nodes of one whose jobs take turns; of two of these each
 * pair once. */
static const hpcb_table_t *find_other(const hpcb_facts_t *facts,
                                      const hpcb_table_t *gang)
{
    const char *nodes = hpcb_table_text(gang, "Nodes");

    for (size_t i = 0; i < facts->slurm.n_partitions; i++) {
        const hpcb_table_t *other = &facts->slurm.partitions[i];

        if (other == gang || other == guests(facts) ||
            (other > gang && takes_turns(facts, other)))
            continue;
        if (hpcb_hostlist_compare(hpcb_table_text(other, "Nodes"), nodes) !=
            HPCB_HOSTS_APART)
            return other;
    }
    return NULL;
}

static void say_other(const hpcb_facts_t *facts, hpcb_report_t *report,
                      const hpcb_table_t *gang, const hpcb_table_t *other)
{
    hpcb_found(
        report, HPCB_VERDICT_FAIL, facts->conf_path,
        takes_turns(facts, other)
            ? "jobs of partitions %s and %s take turns on the same nodes, each "
              "with its own number of them on a core"
            : "jobs of partition %s take turns, those of %s on the same nodes do "
              "not",
        name_of(gang), name_of(other));
    hpcb_mend(report,
              "other Nodes= for one of the partitions %s and %s, or one "
              "partition for both",
              name_of(gang), name_of(other));
}

void hpcb_rule_gang_nodes(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *gang, *other;
    bool good = true;

    if (nothing_shared(facts, report))
        return;
    for (size_t at = 0; (gang = next_shared(facts, &at));) {
        other = gang != guests(facts) && takes_turns(facts, gang)
                    ? find_other(facts, gang)
                    : NULL;
        if (!other)
            continue;
        good = false;
        say_other(facts, report, gang, other);
    }
    if (good)
        hpcb_found(report, HPCB_VERDICT_OK, facts->conf_path, "GangPartitions=%s",
                   facts->conf.gang_partitions);
}

/* MiB that a job gets for each CPU if it names no memory; 0: not known. */
static uint64_t default_per_cpu(const hpcb_facts_t *facts,
                                const hpcb_table_t *partition, uint64_t cpus)
{
    const hpcb_table_t *tables[] = {partition, &facts->slurm.config};

    for (size_t i = 0; i < 2 && cpus > 0; i++) {
        uint64_t cpu = hpcb_table_number(tables[i], "DefMemPerCPU", 0);
        uint64_t node = hpcb_table_number(tables[i], "DefMemPerNode", 0);

        if (cpu > 0 || node > 0)
            return cpu > 0 ? cpu : node / cpus;
    }
    return 0;
}

static bool check_memory(const hpcb_facts_t *facts, hpcb_report_t *report,
                         const hpcb_table_t *partition)
{
    uint64_t cpus = hpcb_table_number(&facts->slurm.node, "CPUTot", 0);
    uint64_t real = hpcb_table_number(&facts->slurm.node, "RealMemory", 0);
    uint64_t each = default_per_cpu(facts, partition, cpus);
    unsigned jobs = wanted_sharing(facts, partition);

    if (jobs == 1 || !each || !real || each <= real / (cpus * jobs))
        return true;
    hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
               "%u jobs a core of partition %s that name no memory do not fit: %" PRIu64
               " MiB a CPU of %" PRIu64 " MiB",
               jobs, name_of(partition), each, real);
    hpcb_mend(report, "PartitionName=%s DefMemPerCPU=%" PRIu64, name_of(partition),
              real / (cpus * jobs));
    return false;
}

void hpcb_rule_gang_memory(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *partition;
    bool good = true;

    if (nothing_shared(facts, report))
        return;
    for (size_t at = 0; (partition = next_shared(facts, &at));)
        good &= check_memory(facts, report, partition);
    if (good)
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts),
                   "jobs of a core fit into memory together");
}

static bool check_exclusive(const hpcb_facts_t *facts, hpcb_report_t *report,
                            const hpcb_table_t *partition)
{
    if (strcasecmp(hpcb_table_text(partition, "ExclusiveUser"), "YES") != 0)
        return true;
    hpcb_found(report, HPCB_VERDICT_FAIL, slurm_conf(facts),
               "PartitionName=%s ExclusiveUser=YES", name_of(partition));
    mend_partition(facts, report, partition, "ExclusiveUser", "NO");
    return false;
}

void hpcb_rule_exclusive_user(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *primary;
    bool good;

    if (no_guests(facts, report))
        return;
    good = check_exclusive(facts, report, guests(facts));
    for (size_t at = 0; (primary = next_primary(facts, &at));)
        good &= check_exclusive(facts, report, primary);
    if (good)
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts), "ExclusiveUser=NO");
}

void hpcb_rule_same_nodes(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *guest = guests(facts);

    if (no_guests(facts, report))
        return;
    if (has_same_nodes(facts)) {
        hpcb_found(report, HPCB_VERDICT_OK, slurm_conf(facts), "Nodes=%s",
                   hpcb_table_text(guest, "Nodes"));
        return;
    }
    hpcb_found(report, HPCB_VERDICT_WARN, slurm_conf(facts),
               "PartitionName=%s Nodes=%s: no partition of primaries has just these",
               name_of(guest), hpcb_table_text(guest, "Nodes"));
    mend_partition(facts, report, guest, "Nodes", "ALL");
}

void hpcb_rule_guest_job_factor(const hpcb_facts_t *facts, hpcb_report_t *report)
{
    const hpcb_table_t *guest = guests(facts);
    uint64_t factor;

    if (no_guests(facts, report))
        return;
    factor = hpcb_table_number(guest, "PriorityJobFactor", 1);
    hpcb_found(report, factor ? HPCB_VERDICT_FAIL : HPCB_VERDICT_OK, slurm_conf(facts),
               "PartitionName=%s PriorityJobFactor=%" PRIu64, name_of(guest), factor);
    if (factor)
        mend_partition(facts, report, guest, "PriorityJobFactor", "0");
}
