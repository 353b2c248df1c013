/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <stddef.h>
#include <string.h>

#include "common/record_codec.h"
#include "common/record_fields.h"

#define RUN(name, type, source, required, unit, what, sql, member)                     \
    {                                                                                  \
        HPCB_FIELD_RUN, name, HPCB_FIELD_##type, HPCB_FIELD_##source, required, unit,  \
            what, sql, member                                                          \
    }
#define NODE(name, type, source, required, unit, what, sql, member)                    \
    {                                                                                  \
        HPCB_FIELD_NODE, name, HPCB_FIELD_##type, HPCB_FIELD_##source, required, unit, \
            what, sql, member                                                          \
    }

/* The member's position in a node's record, its codec, and its source in
 * hpcb_record_t. */
#define IN(place, codec, of)                                                           \
    {                                                                                  \
        place, &hpcb_codec_##codec, offsetof(hpcb_record_t, of),                       \
            sizeof(((hpcb_record_t *)0)->of)                                           \
    }
#define NONE                                                                           \
    {                                                                                  \
        .codec = NULL                                                                  \
    }

/* Bytes of a long job on many nodes do not fit into 63 bits.  sum() fails then, and
 * with it the commit of all that came with the record; total() is a double, exact up to
 * 2^53, and the cast ends at the largest number. */

/* Clocks may go backwards.  Differences of doubles, to the microsecond. */
#define WALL "round(max(0.0, :end - :begin), 6)"

/* clang-format off */
const hpcb_field_t hpcb_fields[] = {
    RUN("cluster", TEXT, KEY, true, "", "Slurm's ClusterName", NULL, IN(3, word, cluster)),
    RUN("job_id", COUNT, KEY, true, "", "Slurm's job id", NULL, IN(1, u32, job.job_id)),
    RUN("restart", COUNT, KEY, true, "", "how often the job had been requeued before", NULL, IN(24, count, about.restart)),
    RUN("array_job_id", COUNT, FIRST, false, "", "of an element of an array", NULL, IN(25, known_u32, about.array_job)),
    RUN("array_task_id", COUNT, FIRST, false, "", "of an element of an array", NULL, IN(26, array_task, about.array_task)),
    RUN("het_job_id", COUNT, FIRST, false, "", "of a component: the id of the first one", NULL, IN(27, known_u32, about.het_job)),
    RUN("user_id", COUNT, CLASS, true, "", "the owner's uid", NULL, IN(6, u32, job.uid)),
    RUN("user", TEXT, FIRST, false, "", "the owner's name", NULL, IN(28, known_word, about.user)),
    RUN("partition", TEXT, CLASS, true, "", "the partition that the job ran in", NULL, IN(7, word, job.partition)),
    RUN("job_name", TEXT, FIRST, false, "", "of the user's choosing; %XX for odd bytes", NULL, IN(29, known_word, about.name)),
    RUN("executable", TEXT, FIRST, false, "", "what sbatch or srun was given to run", NULL, IN(30, known_word, about.executable)),
    RUN("class", TEXT, CLASS, true, "", "primary, guest or unknown", NULL, IN(4, class, job.klass)),
    RUN("policy", TEXT, CLASS, true, "", "of --hpc-balance, or none", NULL, IN(5, policy, job.policy)),
    RUN("spread", BOOL, FIRST, false, "", "true: may have had fewer tasks on a node than Slurm would put there, for --bw-spread", NULL, IN(46, flag, about.spread)),
    RUN("submit", COUNT, FIRST, false, "s since 1970", "when the job was submitted", NULL, IN(31, known_u64, about.submit)),
    RUN("start", NUMBER, COMPUTED, false, "s since 1970", "the earliest begin of its nodes", "min(n.\"begin\")", NONE),
    RUN("end", NUMBER, COMPUTED, false, "s since 1970", "the latest end of its nodes", "max(n.\"end\")", NONE),
    RUN("complete", BOOL, COMPUTED, false, "", "all nodes have reported", "coalesce(count(*) >= run.nodes, 0)", NONE),
    RUN("nodes", COUNT, FIRST, false, "", "nodes of the job", NULL, IN(23, known_u32, about.nodes)),
    RUN("nodes_reported", COUNT, COMPUTED, false, "", "nodes that have sent a record", "count(*)", NONE),
    RUN("cpus", COUNT, COMPUTED, false, "", "CPUs, summed over the nodes", "sum(n.cpus)", NONE),
    RUN("wall_seconds", NUMBER, COMPUTED, false, "s", "the longest of the nodes'", "max(n.wall_seconds)", NONE),
    RUN("cpu_seconds", NUMBER, COMPUTED, false, "s", "CPU time, summed over the nodes", "round(sum(n.cpu_seconds), 6)", NONE),
    RUN("run_delay_seconds", NUMBER, COMPUTED, false, "s", "time that tasks waited for a CPU, summed over the nodes", "round(sum(n.run_delay_seconds), 6)", NONE),
    RUN("memory_peak_bytes", COUNT, COMPUTED, false, "bytes", "the largest of the nodes'", "max(n.memory_peak_bytes)", NONE),
    RUN("allocated_cpu_seconds", NUMBER, COMPUTED, false, "s", "CPUs × wall time, summed over the nodes", "round(sum(n.cpus * n.wall_seconds), 6)", NONE),
    RUN("node_seconds", NUMBER, COMPUTED, false, "s", "wall time, summed over the nodes", "round(sum(n.wall_seconds), 6)", NONE),
    RUN("efficiency", NUMBER, COMPUTED, false, "ratio", "cpu_seconds / allocated_cpu_seconds", "round(sum(n.cpu_seconds) / nullif(sum(n.cpus * n.wall_seconds), 0), 6)", NONE),
    RUN("stolen_fraction", NUMBER, COMPUTED, false, "ratio", "run_delay_seconds / node_seconds", "round(sum(n.run_delay_seconds) / nullif(sum(n.wall_seconds), 0), 6)", NONE),
    RUN("network_bytes", COUNT, COMPUTED, false, "bytes", "over the network, both ways, summed over the nodes; null: not measured on all", "CASE count(n.network_bytes) WHEN count(*) THEN CAST(total(n.network_bytes) AS INTEGER) END", NONE),
    RUN("network_peak_rate", COUNT, COMPUTED, false, "bytes/s", "the largest of the nodes'", "max(n.network_peak_rate)", NONE),
    RUN("memory_bytes", COUNT, COMPUTED, false, "bytes", "to and from main memory, summed over the nodes; null: not measured on all", "CASE count(n.memory_bytes) WHEN count(*) THEN CAST(total(n.memory_bytes) AS INTEGER) END", NONE),
    RUN("memory_peak_rate", COUNT, COMPUTED, false, "bytes/s", "the largest of the nodes'", "max(n.memory_peak_rate)", NONE),
    RUN("mem_bandwidth", JSON, COMPUTED, false, "bytes/s", "{\"mean\", \"p95\"} of a node; null: not measured on all", "CASE count(n.memory_bytes) WHEN count(*) THEN json_object('mean', CAST(round(total(n.memory_bytes) / nullif(sum(n.wall_seconds), 0)) AS INTEGER), 'p95', max(n.memory_peak_rate)) END", NONE),
    RUN("net_bandwidth", JSON, COMPUTED, false, "bytes/s", "{\"mean\", \"p95\"} of a node; null: not measured on all", "CASE count(n.network_bytes) WHEN count(*) THEN json_object('mean', CAST(round(total(n.network_bytes) / nullif(sum(n.wall_seconds), 0)) AS INTEGER), 'p95', max(n.network_peak_rate)) END", NONE),
    RUN("guests_beside", COUNT, COMPUTED, false, "", "of a primary: guests on its nodes meanwhile, each once", "CASE count(n.guests_beside) WHEN count(*) THEN (SELECT count(DISTINCT g.value) FROM node m, json_each(m.guests_beside) g WHERE m.run = run.id) END", NONE),
    RUN("guest_cpu_seconds", NUMBER, COMPUTED, false, "s", "of a primary: CPU time that these used there meanwhile", "CASE count(n.guest_cpu_seconds) WHEN count(*) THEN round(sum(n.guest_cpu_seconds), 6) END", NONE),
    RUN("guest_cost", SIGNED, COMPUTED, false, "ratio", "of a primary: part of its run time that guests cost it, the mean over the nodes that measured it", "round(avg(n.guest_cost), 6)", NONE),
    RUN("guest_cost_low", SIGNED, COMPUTED, false, "ratio", "the lower end of guest_cost's 95 % interval, the mean over the nodes", "round(avg(n.guest_cost_low), 6)", NONE),
    RUN("guest_cost_high", SIGNED, COMPUTED, false, "ratio", "the upper end of it", "round(avg(n.guest_cost_high), 6)", NONE),
    RUN("guest_cost_method", TEXT, COMPUTED, false, "", "how it was measured: run_delay, instructions or iterations; run_delay, a bound from below, if that is how one of the nodes did", "max(n.guest_cost_method)", NONE),
    RUN("ended_for", TEXT, COMPUTED, false, "", "of a guest that hpcbd ended: memory, if a primary needed its memory; harm, if it slowed one down; starved, if primaries left it no CPU time; large, if it had too many groups of tasks to be stopped", "min(n.ended_for)", NONE),
    RUN("elected_seconds", NUMBER, COMPUTED, false, "s", "where jobs take turns: time for which it was elected, summed over the nodes", "round(sum(n.elected_seconds), 6)", NONE),
    RUN("guard_steps", COUNT, COMPUTED, false, "", "of a primary: steps by which guests next to it were restricted further, summed over the nodes", "CASE WHEN count(n.guard_steps) THEN CAST(total(n.guard_steps) AS INTEGER) END", NONE),
    RUN("guests_requeued", COUNT, COMPUTED, false, "", "of a primary: guests that Slurm was asked to requeue because of it, summed over the nodes", "CASE WHEN count(n.guests_requeued) THEN CAST(total(n.guests_requeued) AS INTEGER) END", NONE),
    RUN("sliced_seconds", NUMBER, COMPUTED, false, "s", "of a primary: time for which its tasks had long slices, summed over the nodes", "round(sum(n.sliced_seconds), 6)", NONE),
    RUN("throttled_seconds", NUMBER, COMPUTED, false, "s", "of a guest: time in which it ran in a half or a quarter of the time, summed over the nodes", "round(sum(n.throttled_seconds), 6)", NONE),
    RUN("stopped_seconds", NUMBER, COMPUTED, false, "s", "of a guest: time for which it was stopped for its harm, summed over the nodes", "round(sum(n.stopped_seconds), 6)", NONE),
    RUN("starved_seconds", NUMBER, COMPUTED, false, "s", "of a guest: time for which it was stopped because it got next to nothing, summed over the nodes", "round(sum(n.starved_seconds), 6)", NONE),
    RUN("evictions", COUNT, COMPUTED, false, "", "of a guest: its earlier runs", "CASE run.class WHEN 'guest' THEN run.restart ELSE 0 END", NONE),
    NODE("node", TEXT, KEY, true, "", "Slurm's NodeName", NULL, IN(2, name, node)),
    NODE("begin", NUMBER, RECORD, true, "s since 1970", "when the prolog recorded the job", NULL, IN(8, seconds, job.begin_us)),
    NODE("end", NUMBER, RECORD, true, "s since 1970", "when the epilog ran", NULL, IN(9, seconds, end_us)),
    NODE("wall_seconds", NUMBER, COMPUTED, true, "s", "end − begin", WALL, IN(10, wall, end_us)),
    NODE("cpus", COUNT, RECORD, true, "", "CPUs of the job here, 0: not known", NULL, IN(11, u32, cpus)),
    NODE("cpu_seconds", NUMBER, RECORD, true, "s", "CPU time of all tasks here", NULL, IN(12, seconds, usage.cpu_us)),
    NODE("run_delay_seconds", NUMBER, RECORD, true, "s", "time that tasks waited for a CPU", NULL, IN(13, seconds, usage.run_delay_us)),
    NODE("memory_peak_bytes", COUNT, RECORD, true, "bytes", "the most memory used at once, 0: not known", NULL, IN(14, u64, usage.memory_peak)),
    NODE("network_bytes", COUNT, RECORD, false, "bytes", "over the network, both ways; null: network_reason says why", NULL, IN(17, bytes, measured.network)),
    NODE("network_peak_rate", COUNT, RECORD, false, "bytes/s", "the rate over two quanta that 95 % of them did not exceed", NULL, IN(18, rate, measured.network)),
    NODE("network_reason", TEXT, RECORD, false, "", "why the network was not measured", NULL, IN(19, reason, measured.network)),
    NODE("memory_bytes", COUNT, RECORD, false, "bytes", "to and from main memory; null: memory_reason says why", NULL, IN(20, bytes, measured.memory)),
    NODE("memory_peak_rate", COUNT, RECORD, false, "bytes/s", "as network_peak_rate", NULL, IN(21, rate, measured.memory)),
    NODE("memory_reason", TEXT, RECORD, false, "", "why memory was not measured", NULL, IN(22, reason, measured.memory)),
    NODE("efficiency", NUMBER, COMPUTED, false, "ratio", "cpu_seconds / (cpus × wall_seconds)", "round(:cpu_seconds / nullif(:cpus * " WALL ", 0), 6)", IN(15, efficiency, usage)),
    NODE("stolen_fraction", NUMBER, COMPUTED, false, "ratio", "run_delay_seconds / wall_seconds", "round(:run_delay_seconds / nullif(" WALL ", 0), 6)", IN(16, stolen, usage)),
    NODE("guests_beside", JSON, RECORD, false, "", "of a primary: job ids of guests here meanwhile", NULL, IN(32, guests, beside)),
    NODE("guest_cpu_seconds", NUMBER, RECORD, false, "s", "of a primary: CPU time that these used here meanwhile", NULL, IN(33, guest_cpu, beside)),
    NODE("guest_cost", SIGNED, RECORD, false, "ratio", "of a primary: part of its run time that guests cost it", NULL, IN(34, cost, measured.guest_cost.cost)),
    NODE("guest_cost_low", SIGNED, RECORD, false, "ratio", "the lower end of guest_cost's 95 % interval", NULL, IN(35, cost, measured.guest_cost.low)),
    NODE("guest_cost_high", SIGNED, RECORD, false, "ratio", "the upper end of it", NULL, IN(36, cost, measured.guest_cost.high)),
    NODE("guest_cost_method", TEXT, RECORD, false, "", "how it was measured: run_delay (a bound from below), instructions or iterations", NULL, IN(37, known_word, measured.guest_cost.method)),
    NODE("ended_for", TEXT, RECORD, false, "", "of a guest that hpcbd ended here: memory, if a primary needed its memory; harm, if it slowed one down; starved, if primaries left it no CPU time; large, if it had too many groups of tasks to be stopped", NULL, IN(38, known_word, ended_for)),
    NODE("elected_seconds", NUMBER, RECORD, false, "s", "where jobs take turns: time for which it was elected", NULL, IN(39, elected, measured.elected_us)),
    NODE("guard_steps", COUNT, RECORD, false, "", "of a primary: steps by which guests next to it were restricted further", NULL, IN(40, restraint, measured.restraint.steps)),
    NODE("guests_requeued", COUNT, RECORD, false, "", "of a primary: guests that Slurm was asked to requeue because of it", NULL, IN(41, restraint, measured.restraint.requeued)),
    NODE("sliced_seconds", NUMBER, RECORD, false, "s", "of a primary: time for which its tasks had long slices", NULL, IN(42, restraint_time, measured.restraint.sliced_us)),
    NODE("throttled_seconds", NUMBER, RECORD, false, "s", "of a guest: time in which it ran in a half or a quarter of the time", NULL, IN(43, restraint_time, measured.restraint.throttled_us)),
    NODE("stopped_seconds", NUMBER, RECORD, false, "s", "of a guest: time for which it was stopped for its harm", NULL, IN(44, restraint_time, measured.restraint.stopped_us)),
    NODE("starved_seconds", NUMBER, RECORD, false, "s", "of a guest: time for which it was stopped because it got next to nothing", NULL, IN(45, restraint_time, measured.restraint.starved_us)),
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): the member is a pointer */
    NODE("tasks", JSON, RECORD, false, "", "what up to 256 tasks used", NULL, IN(47, tasks, tasks)),
    /* End of hpcb_fields */
};
/* clang-format on */

const size_t hpcb_n_fields = sizeof(hpcb_fields) / sizeof(hpcb_fields[0]);

const char *hpcb_field_table_name(hpcb_field_table_t table)
{
    return table == HPCB_FIELD_RUN ? "run" : "node";
}

const char *hpcb_field_type_name(hpcb_field_type_t type)
{
    static const char *const names[] = {
        [HPCB_FIELD_TEXT] = "text",     [HPCB_FIELD_COUNT] = "count",
        [HPCB_FIELD_BOOL] = "bool",     [HPCB_FIELD_NUMBER] = "number",
        [HPCB_FIELD_SIGNED] = "signed", [HPCB_FIELD_JSON] = "json",
    };

    return names[type];
}

const hpcb_field_t *hpcb_field_of_record(const char *name)
{
    for (size_t i = 0; i < hpcb_n_fields; i++)
        if (hpcb_fields[i].source != HPCB_FIELD_COMPUTED &&
            strcmp(hpcb_fields[i].name, name) == 0)
            return &hpcb_fields[i];
    return NULL;
}

const hpcb_field_t *hpcb_field_of_place(unsigned place)
{
    for (size_t i = 0; i < hpcb_n_fields; i++)
        if (hpcb_fields[i].member.codec && hpcb_fields[i].member.place == place)
            return &hpcb_fields[i];
    return NULL;
}
