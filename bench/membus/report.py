# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The document of bench/membus."""

from math import exp, log
from statistics import mean, median

from membus import plan
from membus.demand import MIB, VECTOR_PART
from stats import UNDECIDED, median_interval, verdict

OTHERS = ("linux", "slurm", "order")

# What the paper saw under its scheduler against Linux whose MPI sleeps (section 6, figure
# 4), of the jobs that move much: gains that ours are compared with.  (set, job): from, to.
PAPER = {
    ("max + min", "max"): (0.199, 0.390),
    ("net + max", "net"): (0.04, 0.25),
    ("net + min", "net"): (0.04, 0.25),
    ("myribench + CG", "net"): (0.04, 0.25),
    ("CG + EP", "CG"): (0.06, 0.44),
}

# By fewer rounds nothing is decided: the interval of a median is that of all figures.
FEW = 6


def groups(records):
    """{(set, wait): {regime: {round: progress of the four jobs}}}"""
    found = {}
    for record in records:
        group = found.setdefault((record["set"], record["wait"]), {})
        group.setdefault(record["regime"], {})[record["round"]] = record["progress"]
    return found


def of_program(name, progress, program):
    """Mean progress of those of a set's jobs that run the program."""
    return mean(value for value, kind in zip(progress, plan.SETS[name]) if kind == program)


def of_mix(progress):
    """Geometric mean: no job's gain makes up for one that stands still."""
    return exp(mean(log(max(value, 1e-6)) for value in progress))


def figures(name):
    """[(title, function of a run's progress)]: of each program of the set, and of all."""
    rows = [(program, lambda progress, kind=program: of_program(name, progress, kind))
            for program in dict.fromkeys(plan.SETS[name])]
    return [*rows, ("all", of_mix)]


def gains(regimes, other, figure):
    """Ours ÷ another regime - 1, in each round that has both."""
    ours, theirs = regimes.get("ours", {}), regimes.get(other, {})
    return [figure(ours[number]) / figure(theirs[number]) - 1
            for number in sorted(ours) if number in theirs and figure(theirs[number]) > 0]


def percent(value):
    return f"{100 * value:+.1f} %"


def shown(found):
    if not found:
        return "-"
    low, high = median_interval(found)
    return f"{percent(median(found))} ({percent(low)} to {percent(high)})"


def rows_of(name, regimes):
    for title, figure in figures(name):
        progress = [median(figure(run) for run in regimes[regime].values())
                    if regime in regimes else None for regime in plan.REGIMES]
        cells = ["-" if value is None else f"{value:.3f}" for value in progress]
        cells += [shown(gains(regimes, other, figure)) for other in OTHERS]
        yield f"| {title} | " + " | ".join(cells) + " |"


def table(name, wait, regimes):
    yield f"## {name}" + (f", netbench {'sleeps' if wait == 'sleep' else 'polls'}"
                          if "net" in plan.SETS[name] else "")
    yield ""
    yield ("| job | " + " | ".join(plan.REGIMES) + " | "
           + " | ".join(f"ours ÷ {other} - 1" for other in OTHERS) + " |")
    yield "|---" * (1 + len(plan.REGIMES) + len(OTHERS)) + "|"
    yield from rows_of(name, regimes)
    yield ""


def decide(found, least):
    if len(found) < FEW:
        return UNDECIDED
    low, high = median_interval(found)
    return verdict(low, high, least, len(found), at_least=True)


def verdicts(found):
    yield "| limit | seen | verdict |"
    yield "|---|---|---|"
    for (name, wait), regimes in sorted(found.items()):
        for title, figure in figures(name):
            if (name, title) not in PAPER:
                continue
            low, high = PAPER[name, title]
            seen = gains(regimes, "linux", figure)
            yield (f"| {title} of {name}, netbench {wait}s: gains at least {percent(low)} "
                   f"against Linux (the paper: {percent(low)} to {percent(high)}) | "
                   f"{shown(seen)} | {decide(seen, low)} |")
    for (name, wait), regimes in sorted(found.items()):
        seen = gains(regimes, "order", of_mix)
        yield (f"| all of {name}, netbench {wait}s: no less than by turns in their order | "
               f"{shown(seen)} | {decide(seen, 0.0)} |")


def spread(values):
    return (max(values) - min(values)) / median(values) if len(values) > 1 else 0.0


def spreads(found):
    """How much what the jobs of a set did differs from round to round."""
    yield "| set | " + " | ".join(plan.REGIMES) + " |"
    yield "|---" * (1 + len(plan.REGIMES)) + "|"
    for (name, wait), regimes in sorted(found.items()):
        cells = [f"{100 * spread([of_mix(run) for run in regimes[regime].values()]):.1f} %"
                 if regime in regimes else "-" for regime in plan.REGIMES]
        yield f"| {name}, {wait}s | " + " | ".join(cells) + " |"


def held(cache, vector):
    """Which part of the vector a cache may hold."""
    if cache == 0:
        return "a last-level cache of unknown size may hold any part of that vector"
    part = "all" if cache >= vector else f"{100 * cache / vector:.0f} %"
    return f"a last-level cache of {cache / MIB:.0f} MiB may hold {part} of that vector"


def demands(demand):
    """What was chosen for the NAS kernels, and what it is not."""
    vector = demand["size"] * MIB * VECTOR_PART
    yield (f"The NAS kernels have {demand['size']} MiB each, of which CG's vector is "
           f"{vector / MIB:.0f}; {held(demand['cache'], vector)}, and CG then goes to memory for "
           "less than the bytes that are counted. After each MiB they compute, so that their "
           "demands are in proportion to the paper's, in units of about a microsecond: "
           + ", ".join(f"{kernel} {work}" for kernel, work in demand["work"].items()) + ".")
    for kernel, part in demand["slower"].items():
        yield (f"{kernel} asks for {100 * part:.0f} % of its share of memory bandwidth at most, "
               "though it computes nothing between.")


def document(settings, records):
    found = groups(records)
    rounds = {record["round"] for record in records}
    yield "# Turns by bandwidth: what jobs gain that share cores"
    yield ""
    yield "This page is made by `bench/membus/run --report` from data/membus.jsonl."
    yield ""
    yield (f"Four jobs on the two CPUs of a node, two on each; {len(rounds)} rounds of "
           f"{settings['seconds']:g} s a run, the node's network limited to "
           f"{settings['mbit']} Mbit/s. Regimes: "
           + "; ".join(f"*{regime.name}*: {regime.title}" for regime in plan.REGIMES.values())
           + ". Jobs: "
           + "; ".join(f"*{program.name}*: {program.title}"
                       for program in plan.PROGRAMS.values())
           + ". Figures are progress, 1.000 is the job alone on its CPU and network; *all* is "
           "the geometric mean. Gains are medians of ratios within a round, with the 95 % "
           "interval of the median.")
    yield ""
    yield from demands(settings["machine"]["demand"])
    yield ""
    yield from verdicts(found)
    yield ""
    for (name, wait), regimes in sorted(found.items()):
        yield from table(name, wait, regimes)
    yield "## Spread from round to round"
    yield ""
    yield from spreads(found)
