# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What decisions of hpcbd and switches of cgroups tell.

A switch is (time, node, job, stopped), decisions are those of hpcbctl gang list --json."""

from collections import Counter, defaultdict

from gang import plan

# A switch is written so long before the edge that it belongs to, at most.
EARLY_SECONDS = 0.02


def cpus_of(text):
    """The numbers in a list like 0-3,8."""
    ends = [part.partition("-") for part in text.split(",") if part]
    return [cpu for first, _, last in ends for cpu in range(int(first), int(last or first) + 1)]


def depth_of(jobs):
    """Of a decision: the most jobs that one CPU has."""
    counts = Counter(cpu for job in jobs for cpu in cpus_of(job["cpus"]))
    return max(counts.values(), default=0)


def turns(decisions):
    """{job: {"rounds", "elected", "longest", "jobs", "limit"}} of a node: rounds in which
    the job might have been elected and those in which it was, the most rounds from one
    election to the next, or to the end, the most jobs that a round was about, and how many
    rounds policy/gang allows it.  hpcbd says with each decision how long a job has waited:
    that counts, so that a decision that nobody has read is no gap."""
    found = {}
    for decision in decisions:
        jobs = [job for job in decision["jobs"] or [] if not job["paused"] and job["cpus"]]
        depth = depth_of(jobs)
        for job in jobs:
            limit = plan.round_limit(depth, len(jobs), job.get("cycle", 0))
            figures = found.setdefault(job["job"], {"rounds": 0, "elected": 0, "longest": 0,
                                                    "jobs": 0, "limit": 0})
            figures["rounds"] += 1
            figures["elected"] += job["elected"]
            figures["jobs"] = max(figures["jobs"], len(jobs))
            figures["longest"] = max(figures["longest"], job["waited"] + 1)
            figures["limit"] = max(figures["limit"], limit)
    return found


def whole_turns(by_node, nodes_of, before):
    """{job: {"turns", "longest", "last"}} of jobs of several nodes: quanta in which the job
    was elected on all of them, the most quanta from one to the next, and the last one.
    before: {job: the last one before these decisions}; without it, as for the time after
    the last one, the wait is as long as it was seen."""
    elected = {node: elections(decisions) for node, decisions in by_node.items()}
    found = {}
    for job, nodes in nodes_of.items():
        if len(nodes) == 1:
            continue
        common = set.intersection(*(set(elected[node]) for node in nodes))
        if not common:
            continue
        whole = sorted(quantum for quantum in common
                       if all(job in elected[node][quantum] for node in nodes))
        marks = [before.get(job, min(common)), *whole]
        found[job] = {"turns": len(whole), "last": marks[-1],
                      "longest": max(after - mark for mark, after
                                     in zip(marks, [*whole, max(common)]))}
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


def elections(decisions):
    """{quantum: jobs that were elected}"""
    return {decision["quantum"]: {job["job"] for job in decision["jobs"] or []
                                  if job["elected"]} for decision in decisions}


def edges(by_node, nodes_of):
    """{(quantum, job, stopped): nodes}: where a job must be stopped or set going when that
    quantum begins, because it was elected for that one or the one before and not for both.
    A node that has taken no decision meanwhile, but one before and one after, counts as one
    that must."""
    found = defaultdict(set)
    elected = {node: elections(decisions) for node, decisions in by_node.items()}
    for node, quanta in elected.items():
        for quantum in quanta:
            before, now = quanta.get(quantum - 1), quanta[quantum]
            for job in (before ^ now if before is not None else ()):
                found[quantum, job, job not in now].add(node)
    for (quantum, job, _), nodes in found.items():
        nodes.update(node for node in nodes_of[job]
                     if elected[node] and quantum not in elected[node]
                     and min(elected[node]) < quantum < max(elected[node]))
    return {edge: nodes for edge, nodes in found.items() if len(nodes) > 1}


def switched_at(switches, begin):
    """When it was switched first in the quantum that begins then; None: not at all."""
    return min((when for when in switches
                if -EARLY_SECONDS <= when - begin < plan.QUANTUM_SECONDS - EARLY_SECONDS),
               default=None)


def skews(by_node, nodes_of, switches, end):
    """Seconds from the first node's to the last node's switch, for each edge up to end that
    a job has on several nodes; a node that does not switch it in that quantum is a whole
    quantum late.  by_node, nodes_of: as together() takes them."""
    found, times = [], defaultdict(list)
    for when, node, job, stopped in switches:
        times[node, int(job), stopped].append(when)
    for (quantum, job, stopped), nodes in sorted(edges(by_node, nodes_of).items()):
        begin = quantum * plan.QUANTUM_SECONDS
        if begin + plan.QUANTUM_SECONDS > end:
            continue
        seen = [switched_at(times[node, job, stopped], begin) for node in nodes]
        found.append(plan.QUANTUM_SECONDS if None in seen else max(seen) - min(seen))
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


def longest_stops(switches, begin, end):
    """{(node, job): the most seconds for which it was stopped without a break}, of stops that
    are not over at begin; they count from their own begin, to their end or to end."""
    since = stopped_at(switches, begin)
    found = defaultdict(float)
    for at, node, job, stopped in sorted(switches):
        if not begin < at <= end:
            continue
        if stopped:
            since.setdefault((node, job), at)
        elif (node, job) in since:
            found[node, job] = max(found[node, job], at - since.pop((node, job)))
    for key, at in since.items():
        found[key] = max(found[key], end - at)
    return dict(found)


def too_long(switches, limits, begin, end):
    """[(node, job)] of those that were stopped for longer than limits[node] seconds."""
    return sorted((node, job) for (node, job), seconds
                  in longest_stops(switches, begin, end).items() if seconds > limits[node])


def not_let_go(switches, places, since):
    """Those (node, job) of places that nobody has set going since then."""
    gone = {(node, job) for when, node, job, stopped in switches
            if when > since and not stopped}
    return [place for place in places if place not in gone]
