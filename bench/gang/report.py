# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The document of bench/gang."""

from statistics import median

from gang import plan
from stats import BROKEN, KEPT, UNDECIDED

# What counts as enough: ten minutes, a hundred disturbances.
CALM_SECONDS = 600
DISTURBANCES = 100
SKEW_LIMIT = 0.005
CPU_LIMIT = 0.005


def of(records, mode):
    return [record for record in records if record["mode"] == mode]


def verdict(good, enough):
    if not good:
        return BROKEN
    return KEPT if enough else UNDECIDED


def row(limit, seen, good, enough):
    return f"| {limit} | {seen} | {verdict(good, enough)} |"


def skew_row(skews, enough):
    limit = f"nodes of a job switch it within {1000 * SKEW_LIMIT:g} ms (p99)"
    if not skews:
        return row(limit, "no job was switched on several nodes", True, False)
    p99 = skews[min(len(skews) - 1, int(0.99 * len(skews)))]
    missed = sum(skew >= plan.QUANTUM_SECONDS for skew in skews)
    return row(limit, f"median {1000 * median(skews):.2f} ms, p99 {1000 * p99:.2f}, worst "
               f"{1000 * skews[-1]:.2f}, of {len(skews)} edges; a node missed {missed}",
               p99 <= SKEW_LIMIT, enough)


def waits(calm):
    """(most rounds from one election of a job to its next, jobs of the node), each job on
    each node of each part."""
    return [(figures["longest"], figures["jobs"])
            for record in calm for jobs in record["turns"].values()
            for figures in jobs.values()]


def share_of_cpu(calm):
    """Of each node, over all parts."""
    seconds = sum(record["seconds"] for record in calm)
    return {node: sum(record["cpu"][node] for record in calm) / seconds
            for node in plan.NODES}


def calm_rows(calm):
    enough = sum(record["seconds"] for record in calm) >= CALM_SECONDS
    found = waits(calm)
    most = max(longest for longest, _ in found)
    worst = max(longest / jobs for longest, jobs in found)
    yield row(f"no starvation: each job is elected in each n rounds, n = {len(plan.JOBS)} jobs",
              f"at most {most} rounds from one election to the next", most <= len(plan.JOBS),
              enough)
    late = sum(longest > jobs for longest, jobs in found)
    yield row("the same, n the jobs of its node",
              f"longer in {late} of {len(found)} parts; at most {worst:.1f} n rounds",
              late == 0, enough)
    yield row(f"what policy/gang promises where jobs have several nodes: in each "
              f"{plan.ROUNDS_A_JOB} n rounds", f"at most {worst:.1f} n rounds",
              worst <= plan.ROUNDS_A_JOB, enough)
    yield skew_row(sorted(skew for record in calm for skew in record["skews"]), enough)
    shares = share_of_cpu(calm)
    most = max(shares.values())
    yield row(f"hpcbd takes at most {CPU_LIMIT:.1%} of a CPU",
              ", ".join(f"{node} {100 * share:.2f} %" for node, share in shares.items()),
              most <= CPU_LIMIT, enough)
    replayed, unlike = (sum(record["replay"][key] for record in calm)
                        for key in ("replayed", "unlike"))
    yield row("decisions are those of the policy on the samples that they rest on",
              f"{unlike} of {replayed} differ", unlike == 0 and replayed > 0, enough)


def disturbed_rows(disturbed):
    enough = len(disturbed) >= DISTURBANCES
    stuck = sum(bool(record["stuck"]) for record in disturbed)
    lost = sum(len(record["lost"]) for record in disturbed)
    yield row(f"nothing stays stopped {plan.CALM_SECONDS:g} s after; no job is stopped "
              f"without a break for more than {plan.ROUNDS_A_JOB} n quanta and "
              f"{plan.CALM_SECONDS:g} s, n the jobs of its node",
              f"{stuck} of {len(disturbed)} disturbances", stuck == 0, enough)
    yield row("no job is lost", f"{lost} jobs in {len(disturbed)} disturbances", lost == 0,
              enough)


def name_of(record):
    if record["kind"] == "kill":
        return f"kill of {record['daemon']}"
    return {"cut": "network cut", "step": "step of the clock"}[record["kind"]]


def kinds_table(disturbed):
    yield "| disturbance | how often | something stayed stopped | jobs lost | longest stop, s |"
    yield "|---|---|---|---|---|"
    for name in sorted({name_of(record) for record in disturbed}):
        found = [record for record in disturbed if name_of(record) == name]
        yield (f"| {name} | {len(found)} | {sum(bool(r['stuck']) for r in found)} | "
               f"{sum(len(r['lost']) for r in found)} | "
               f"{max(r['longest'] for r in found):.1f} |")


def jobs_table(calm):
    yield "| nodes of the job | turns, of the rounds of its nodes | most rounds between two |"
    yield "|---|---|---|"
    for index, nodes in enumerate(plan.JOBS):
        figures = [record["turns"][node][str(index)] for record in calm for node in nodes
                   if str(index) in record["turns"][node]]
        rounds = sum(figure["rounds"] for figure in figures)
        part = sum(figure["elected"] for figure in figures) / rounds if rounds else 0
        longest = max((figure["longest"] for figure in figures), default=0)
        yield f"| {', '.join(nodes)} | {100 * part:.1f} % | {longest} |"


def document(settings, records):
    calm, disturbed = of(records, "calm"), of(records, "disturb")
    seconds = sum(record["seconds"] for record in calm)
    yield "# Turns on four nodes: who gets them, how exactly, and what disturbs them"
    yield ""
    yield "This page is made by `bench/gang/run --report` from data/gang.jsonl."
    yield ""
    yield (f"{len(plan.JOBS)} jobs of one to four nodes that compute all the time share the one "
           f"core of each of {len(plan.NODES)} nodes, in turns of "
           f"{plan.QUANTUM_SECONDS:g} s: {seconds:.0f} s undisturbed, then "
           f"{len(disturbed)} disturbances (seed {settings['seed']}). The nodes are namespaces "
           "of one machine and share its CPUs. Switches are writes to cgroup.freeze, seen by "
           "inotify; rounds and elections are hpcbd's decisions. An edge is one at which a job "
           "is to be switched the same way on several nodes; a node that does not do it in that "
           f"quantum is {1000 * plan.QUANTUM_SECONDS:g} ms late.")
    yield ""
    yield "| limit | seen | verdict |"
    yield "|---|---|---|"
    if calm:
        yield from calm_rows(calm)
    if disturbed:
        yield from disturbed_rows(disturbed)
    if calm:
        whole, some = (sum(record["together"][index] for record in calm) for index in (0, 1))
        yield ""
        yield "## Turns"
        yield ""
        yield from jobs_table(calm)
        yield ""
        yield (f"A job of several nodes was elected {whole} times on all of them, and {some} "
               "times on some only.")
    if disturbed:
        yield ""
        yield "## Disturbances"
        yield ""
        yield from kinds_table(disturbed)
