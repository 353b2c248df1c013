# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The document of bench/gang."""

from statistics import median

from gang import plan
from stats import BROKEN, KEPT, UNDECIDED

# What counts as enough: ten minutes; a hundred kills, cuts and steps, and as many hangs as of
# each of these.
CALM_SECONDS = 600
DISTURBANCES = 34 * len(plan.KINDS)
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


def figures_of(calm):
    """Of each job on each node of each part."""
    return [figures for record in calm for jobs in record["turns"].values()
            for figures in jobs.values()]


def longest_whole(calm, index):
    """The most quanta from one turn of a job on all its nodes to its next; 0: not known."""
    return max((record["whole"][str(index)]["longest"] for record in calm
                if str(index) in record["whole"]), default=0)


def share_of_cpu(calm):
    """Of each node, over all parts."""
    seconds = sum(record["seconds"] for record in calm)
    return {node: sum(record["cpu"][node] for record in calm) / seconds
            for node in plan.NODES}


def calm_rows(calm):
    enough = sum(record["seconds"] for record in calm) >= CALM_SECONDS
    found = figures_of(calm)
    late = sum(figures["longest"] > figures["limit"] for figures in found)
    nearest = max(found, key=lambda figures: figures["longest"] / figures["limit"])
    yield row("no starvation: each job is elected on each of its nodes in each 2d + n - 1 "
              "rounds, d the jobs of the node's busiest CPU, or its cycle if it was dealt a "
              "longer one, and n the jobs of the node",
              f"later in {late} of {len(found)}; nearest to it: {nearest['longest']} rounds of "
              f"{nearest['limit']}", late == 0, enough)
    most = max(figures["longest"] for figures in found)
    yield row(f"in each n rounds, n = {len(plan.JOBS)} the jobs of the cluster (issue 24)",
              f"at most {most} rounds from one election to the next", most <= len(plan.JOBS),
              enough)
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


def whole_row(calm):
    """Nothing is asked for."""
    longest = max(longest_whole(calm, index) for index in range(len(plan.JOBS)))
    return (f"| between two turns of a job on all its nodes at once | at most {longest} quanta, "
            f"{longest * plan.QUANTUM_SECONDS:g} s | no limit: nothing is promised |")


def disturbed_rows(disturbed):
    enough = len(disturbed) >= DISTURBANCES
    stuck = sum(bool(record["stuck"]) for record in disturbed)
    lost = sum(len(record["lost"]) for record in disturbed)
    yield row(f"nothing stays stopped {plan.CALM_SECONDS:g} s after; no job is stopped "
              f"without a break for more than 2d + n - 1 quanta and {plan.CALM_SECONDS:g} s",
              f"{stuck} of {len(disturbed)} disturbances", stuck == 0, enough)
    yield row("no job is lost", f"{lost} jobs in {len(disturbed)} disturbances", lost == 0,
              enough)


def name_of(record):
    if record["kind"] in ("kill", "hang"):
        return f"{record['kind']} of {record['daemon']}"
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
    yield ("| nodes of the job | turns, of the rounds of its nodes | most rounds between two | "
           "turns on all nodes | most quanta between two of these |")
    yield "|---|---|---|---|---|"
    for index, nodes in enumerate(plan.JOBS):
        figures = [record["turns"][node][str(index)] for record in calm for node in nodes
                   if str(index) in record["turns"][node]]
        rounds = sum(figure["rounds"] for figure in figures)
        part = sum(figure["elected"] for figure in figures) / rounds if rounds else 0
        longest = max((figure["longest"] for figure in figures), default=0)
        turns = sum(record["whole"].get(str(index), {"turns": 0})["turns"] for record in calm)
        whole = (turns, longest_whole(calm, index)) if len(nodes) > 1 else ("-", "-")
        yield f"| {', '.join(nodes)} | {100 * part:.1f} % | {longest} | {whole[0]} | {whole[1]} |"


def why_these_limits():
    """What stands below the table of limits."""
    yield ("Why 2d + n - 1: a job that has waited for 2d - 1 rounds, or for two of its cycles if "
           "these are longer, is overdue. Of the jobs of a "
           "node that are overdue the one that has waited longest runs next, so that each of "
           "the n - 1 others goes first once at most. Here all jobs of a node share its core: "
           "d is n.")
    yield ""
    yield (f"Why n = {len(plan.JOBS)} may break: a job of several nodes owns one quantum of a "
           "cycle. A cycle has as many quanta as a core has jobs, rounded up to a power of two: "
           f"here up to {len(plan.JOBS)}. That leaves no slack: the job waits for longer if "
           "another one is overdue in its quantum or owns it too and draws the better lot, or if "
           "it gets another quantum meanwhile (policy/gang.c, SLOT_QUANTA) that comes later.")
    yield ""
    yield ("Turns on all nodes at once: each node decides for itself, from the number of the "
           "quantum and the jobs that it has. A node on which another job is overdue, or draws "
           "the better lot, does not take part in such a turn.")


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
        yield whole_row(calm)
    if disturbed:
        yield from disturbed_rows(disturbed)
    if calm:
        yield ""
        yield from why_these_limits()
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
        yield ("A network cut cannot leave a job stopped: when hpcbd elects it waits for no other "
               "node, and a node that the collector does not reach elects as if nothing had been "
               "dealt. The cuts show what happens to "
               "Slurm's jobs. A hang is a SIGSTOP of hpcbd; its watchdog has to set the jobs "
               "going.")
        yield ""
        yield from kinds_table(disturbed)
