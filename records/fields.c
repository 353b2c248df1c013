/*
 * SPDX-License-Identifier: GPL-2.0-or-later
 * Copyright (C) 2026 The slurm-hpc-balance developers
 */
#include "config.h"

#include <string.h>

#include "records/fields.h"

#define RUN(name, type, source, required, unit, what, sql)                             \
    {                                                                                  \
        HPCB_FIELD_RUN, name, HPCB_FIELD_##type, HPCB_FIELD_##source, required, unit,  \
            what, sql                                                                  \
    }
#define NODE(name, type, source, required, unit, what, sql)                            \
    {                                                                                  \
        HPCB_FIELD_NODE, name, HPCB_FIELD_##type, HPCB_FIELD_##source, required, unit, \
            what, sql                                                                  \
    }

/* Clocks may go backwards.  Differences of doubles, to the microsecond. */
#define WALL "round(max(0.0, :end - :begin), 6)"

/* clang-format off */
const hpcb_field_t hpcb_fields[] = {
    RUN("cluster", TEXT, KEY, true, "", "Slurm's ClusterName", NULL),
    RUN("job_id", COUNT, KEY, true, "", "Slurm's job id", NULL),
    RUN("restart", COUNT, KEY, true, "", "how often the job had been requeued before", NULL),
    RUN("array_job_id", COUNT, FIRST, false, "", "of an element of an array", NULL),
    RUN("array_task_id", COUNT, FIRST, false, "", "of an element of an array", NULL),
    RUN("het_job_id", COUNT, FIRST, false, "", "of a component: the id of the first one", NULL),
    RUN("user_id", COUNT, CLASS, true, "", "the owner's uid", NULL),
    RUN("user", TEXT, FIRST, false, "", "the owner's name", NULL),
    RUN("partition", TEXT, CLASS, true, "", "the partition that the job ran in", NULL),
    RUN("job_name", TEXT, FIRST, false, "", "of the user's choosing; %XX for odd bytes", NULL),
    RUN("executable", TEXT, FIRST, false, "", "what sbatch or srun was given to run", NULL),
    RUN("class", TEXT, CLASS, true, "", "primary, guest or unknown", NULL),
    RUN("policy", TEXT, CLASS, true, "", "of --hpc-balance, or none", NULL),
    RUN("submit", COUNT, FIRST, false, "s since 1970", "when the job was submitted", NULL),
    RUN("start", NUMBER, COMPUTED, false, "s since 1970", "the earliest begin of its nodes", "min(n.\"begin\")"),
    RUN("end", NUMBER, COMPUTED, false, "s since 1970", "the latest end of its nodes", "max(n.\"end\")"),
    RUN("complete", BOOL, COMPUTED, false, "", "all nodes have reported", "coalesce(count(*) >= run.nodes, 0)"),
    RUN("nodes", COUNT, FIRST, false, "", "nodes of the job", NULL),
    RUN("nodes_reported", COUNT, COMPUTED, false, "", "nodes that have sent a record", "count(*)"),
    RUN("cpus", COUNT, COMPUTED, false, "", "CPUs, summed over the nodes", "sum(n.cpus)"),
    RUN("wall_seconds", NUMBER, COMPUTED, false, "s", "the longest of the nodes'", "max(n.wall_seconds)"),
    RUN("cpu_seconds", NUMBER, COMPUTED, false, "s", "CPU time, summed over the nodes", "round(sum(n.cpu_seconds), 6)"),
    RUN("run_delay_seconds", NUMBER, COMPUTED, false, "s", "time that tasks waited for a CPU, summed over the nodes", "round(sum(n.run_delay_seconds), 6)"),
    RUN("memory_peak_bytes", COUNT, COMPUTED, false, "bytes", "the largest of the nodes'", "max(n.memory_peak_bytes)"),
    RUN("allocated_cpu_seconds", NUMBER, COMPUTED, false, "s", "CPUs × wall time, summed over the nodes", "round(sum(n.cpus * n.wall_seconds), 6)"),
    RUN("node_seconds", NUMBER, COMPUTED, false, "s", "wall time, summed over the nodes", "round(sum(n.wall_seconds), 6)"),
    RUN("efficiency", NUMBER, COMPUTED, false, "ratio", "cpu_seconds / allocated_cpu_seconds", "round(sum(n.cpu_seconds) / nullif(sum(n.cpus * n.wall_seconds), 0), 6)"),
    RUN("stolen_fraction", NUMBER, COMPUTED, false, "ratio", "run_delay_seconds / node_seconds", "round(sum(n.run_delay_seconds) / nullif(sum(n.wall_seconds), 0), 6)"),
    RUN("network_bytes", COUNT, COMPUTED, false, "bytes", "over the network, both ways, summed over the nodes; null: not measured on all", "CASE count(n.network_bytes) WHEN count(*) THEN sum(n.network_bytes) END"),
    RUN("network_peak_rate", COUNT, COMPUTED, false, "bytes/s", "the largest of the nodes'", "max(n.network_peak_rate)"),
    RUN("memory_bytes", COUNT, COMPUTED, false, "bytes", "to and from main memory, summed over the nodes; null: not measured on all", "CASE count(n.memory_bytes) WHEN count(*) THEN sum(n.memory_bytes) END"),
    RUN("memory_peak_rate", COUNT, COMPUTED, false, "bytes/s", "the largest of the nodes'", "max(n.memory_peak_rate)"),
    RUN("mem_bandwidth", JSON, COMPUTED, false, "bytes/s", "{\"mean\", \"p95\"} of a node; null: not measured on all", "CASE count(n.memory_bytes) WHEN count(*) THEN json_object('mean', CAST(round(sum(n.memory_bytes) / nullif(sum(n.wall_seconds), 0)) AS INTEGER), 'p95', max(n.memory_peak_rate)) END"),
    RUN("net_bandwidth", JSON, COMPUTED, false, "bytes/s", "{\"mean\", \"p95\"} of a node; null: not measured on all", "CASE count(n.network_bytes) WHEN count(*) THEN json_object('mean', CAST(round(sum(n.network_bytes) / nullif(sum(n.wall_seconds), 0)) AS INTEGER), 'p95', max(n.network_peak_rate)) END"),
    RUN("guests_beside", COUNT, COMPUTED, false, "", "of a primary: guests on its nodes meanwhile, each once", "CASE count(n.guests_beside) WHEN count(*) THEN (SELECT count(DISTINCT g.value) FROM node m, json_each(m.guests_beside) g WHERE m.run = run.id) END"),
    RUN("guest_cpu_seconds", NUMBER, COMPUTED, false, "s", "of a primary: CPU time that these used there meanwhile", "CASE count(n.guest_cpu_seconds) WHEN count(*) THEN round(sum(n.guest_cpu_seconds), 6) END"),
    RUN("evictions", COUNT, COMPUTED, false, "", "of a guest: its earlier runs", "CASE run.class WHEN 'guest' THEN run.restart ELSE 0 END"),
    NODE("node", TEXT, KEY, true, "", "Slurm's NodeName", NULL),
    NODE("begin", NUMBER, RECORD, true, "s since 1970", "when the prolog recorded the job", NULL),
    NODE("end", NUMBER, RECORD, true, "s since 1970", "when the epilog ran", NULL),
    NODE("wall_seconds", NUMBER, COMPUTED, true, "s", "end − begin", WALL),
    NODE("cpus", COUNT, RECORD, true, "", "CPUs of the job here, 0: not known", NULL),
    NODE("cpu_seconds", NUMBER, RECORD, true, "s", "CPU time of all tasks here", NULL),
    NODE("run_delay_seconds", NUMBER, RECORD, true, "s", "time that tasks waited for a CPU", NULL),
    NODE("memory_peak_bytes", COUNT, RECORD, true, "bytes", "the most memory held at once, 0: not known", NULL),
    NODE("network_bytes", COUNT, RECORD, false, "bytes", "over the network, both ways; null: network_reason says why", NULL),
    NODE("network_peak_rate", COUNT, RECORD, false, "bytes/s", "the rate over two quanta that 95 % of them did not exceed", NULL),
    NODE("network_reason", TEXT, RECORD, false, "", "why the network was not measured", NULL),
    NODE("memory_bytes", COUNT, RECORD, false, "bytes", "to and from main memory; null: memory_reason says why", NULL),
    NODE("memory_peak_rate", COUNT, RECORD, false, "bytes/s", "as network_peak_rate", NULL),
    NODE("memory_reason", TEXT, RECORD, false, "", "why memory was not measured", NULL),
    NODE("efficiency", NUMBER, COMPUTED, false, "ratio", "cpu_seconds / (cpus × wall_seconds)", "round(:cpu_seconds / nullif(:cpus * " WALL ", 0), 6)"),
    NODE("stolen_fraction", NUMBER, COMPUTED, false, "ratio", "run_delay_seconds / wall_seconds", "round(:run_delay_seconds / nullif(" WALL ", 0), 6)"),
    NODE("guests_beside", JSON, RECORD, false, "", "of a primary: job ids of guests here meanwhile", NULL),
    NODE("guest_cpu_seconds", NUMBER, RECORD, false, "s", "of a primary: CPU time that these used here meanwhile", NULL),
    NODE("tasks", JSON, RECORD, false, "", "what up to 256 tasks used", NULL),
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
        [HPCB_FIELD_TEXT] = "text", [HPCB_FIELD_COUNT] = "count",
        [HPCB_FIELD_BOOL] = "bool", [HPCB_FIELD_NUMBER] = "number",
        [HPCB_FIELD_JSON] = "json",
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
