# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What decisions of hpcbd and switches of cgroups tell.

A switch is (time, node, job, stopped), decisions are those of hpcbctl gang list --json."""

from collections import defaultdict

# Switches of a job that belong together are less far apart: half a quantum.
SAME_SECONDS = 0.25


def turns(decisions):
    """{job: {"rounds", "elected", "longest", "jobs"}} of a node: rounds in which the job
    might have been elected and those in which it was, the most rounds from one election to
    the next, or to the end, and the most jobs that a round was about."""
    found, waited = {}, defaultdict(int)
    for decision in sorted(decisions, key=lambda decision: decision["quantum"]):
        jobs = [job for job in decision["jobs"] or [] if not job["paused"]]
        for job in jobs:
            figures = found.setdefault(job["job"], {"rounds": 0, "elected": 0, "longest": 0,
                                                    "jobs": 0})
            waited[job["job"]] += 1
            figures["rounds"] += 1
            figures["jobs"] = max(figures["jobs"], len(jobs))
            figures["longest"] = max(figures["longest"], waited[job["job"]])
            if job["elected"]:
                figures["elected"] += 1
                waited[job["job"]] = 0
    return found


def together(by_node, nodes_of):
    """(rounds in which a job of several nodes was elected on all of them, on some only).
    by_node: {node: decisions}; nodes_of: {job: nodes}."""
    elected = defaultdict(set)
    for node, decisions in by_node.items():
        for decision in decisions:
            for job in decision["jobs"] or []:
                if job["elected"]:
                    elected[decision["quantum"], job["job"]].add(node)
    seen = [set.intersection(*({decision["quantum"] for decision in by_node.get(node, [])}
                               for node in nodes)) for nodes in nodes_of.values()]
    whole = some = 0
    for (job, nodes), quanta in zip(nodes_of.items(), seen):
        for quantum in quanta if len(nodes) > 1 else ():
            count = len(elected[quantum, job])
            whole += count == len(nodes)
            some += 0 < count < len(nodes)
    return whole, some


def skews(switches):
    """Seconds from the first node's to the last node's switch, for each edge at which several
    nodes of a job switch it the same way."""
    found = []
    groups = defaultdict(list)
    for when, node, job, stopped in sorted(switches):
        groups[job, stopped].append((when, node))
    for events in groups.values():
        edge = []
        for when, node in [*events, (float("inf"), None)]:
            if edge and when - edge[0][0] > SAME_SECONDS:
                if len({name for _, name in edge}) > 1:
                    found.append(edge[-1][0] - edge[0][0])
                edge = []
            edge.append((when, node))
    return found


def stopped_at(switches, when):
    """{(node, job): since} of those that are stopped at that time."""
    found = {}
    for at, node, job, stopped in sorted(switches):
        if at > when:
            break
        if stopped:
            found.setdefault((node, job), at)
        else:
            found.pop((node, job), None)
    return found


def stands_still(switches, node, jobs, begin, end):
    """Were all jobs of the node stopped from begin to end?"""
    stopped = stopped_at(switches, end)
    return all((node, job) in stopped and stopped[node, job] <= begin for job in jobs)


def longest_stop(switches, begin, end):
    """The most seconds, of those from begin to end, for which a job was stopped on a node
    without a break; a stop that began before begin counts from its own begin."""
    longest, since = 0.0, stopped_at(switches, begin)
    for at, node, job, stopped in sorted(switches):
        if not begin < at <= end:
            continue
        if stopped:
            since.setdefault((node, job), at)
        elif (node, job) in since:
            longest = max(longest, at - since.pop((node, job)))
    return max([longest, *(end - at for at in since.values())])
