# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The document of bench/membus."""

from math import exp, log
from random import Random
from statistics import mean, median

from membus import plan
from membus.demand import MIB, VECTOR_PART
from stats import UNDECIDED, median_interval, verdict

OTHERS = ("linux", "slurm", "order")

# What the paper saw under its scheduler against Linux whose MPI sleeps (section 6, figure 4), of
# the jobs that move much.  (set, job): least and most, if the text has no figure of the set.
PAPER = {
    ("CG + CG", "CG"): (0.06, 0.06),
    ("CG + IS", "CG"): (0.44, 0.44),
    **{(f"CG + {kernel}", "CG"): (0.06, 0.44) for kernel in ("EP", "FT", "LU", "MG")},
    ("membench-min + CG", "CG"): (0.390, 0.390),
    ("myribench + EP", "net"): (0.04, 0.04),
    ("myribench + MG", "net"): (0.25, 0.25),
    **{(f"myribench + {kernel}", "net"): (0.04, 0.25) for kernel in ("CG", "FT", "IS", "LU")},
}

# By fewer rounds nothing is decided: the interval of a median is that of all figures.
FEW = 6
# Of the CPUs; if the host of this machine took more in a run, its set does not count.
STEAL_LIMIT = 0.02
RESAMPLES = 1000


def failure(unit, why):
    """The record of a unit of plan.schedule() that failed twice."""
    if isinstance(unit, plan.Together):
        return {"round": unit.round, "together": unit.jobs, "wait": unit.wait, "failed": why}
    return {"round": unit.round, "set": unit.set, "wait": unit.wait, "failed": why}


def key(record):
    """Of the unit that it belongs to."""
    if "together" in record:
        return record["round"], tuple(record["together"]), record["wait"]
    return record["round"], record["set"], record["wait"]


def runs_of(records):
    """{key of a mix: {regime: record}}"""
    found = {}
    for record in records:
        if "regime" in record:
            found.setdefault(key(record), {})[record["regime"]] = record
    return found


def complete(records):
    """Keys of units that need not be measured any more."""
    single = {key(record) for record in records if "together" in record or "failed" in record}
    whole = {one for one, runs in runs_of(records).items() if len(runs) == len(plan.REGIMES)}
    return single | whole


def is_quiet(record):
    return record["steal"] <= STEAL_LIMIT


def alone(records):
    """{(program, wait): work in a second}, the median of all rounds."""
    found = {}
    for record in records:
        if "rates" in record and len(record.get("together", ())) == 1 and is_quiet(record):
            found.setdefault((record["together"][0], record["wait"]), []).append(record["rates"][0])
    return {one: median(rates) for one, rates in found.items()}


def alone_of(by_job, program, wait):
    """1 if it has not been measured: ratios of progress need no measure."""
    return by_job.get((program, wait if plan.waits((program,)) else plan.WAITS[0]), 1.0)


def groups(records):
    """{(set, wait): {regime: {round: progress of the four jobs}}} of sets that are complete."""
    by_job, found = alone(records), {}
    for (number, name, wait), runs in runs_of(records).items():
        if len(runs) < len(plan.REGIMES) or not all(map(is_quiet, runs.values())):
            continue
        for regime, run in runs.items():
            progress = [rate / alone_of(by_job, program, wait)
                        for rate, program in zip(run["rates"], plan.SETS[name])]
            found.setdefault((name, wait), {}).setdefault(regime, {})[number] = progress
    return found


def arrangements(records):
    """{(round, set, wait): arrangement}"""
    return {one: next(iter(runs.values()))["arrangement"]
            for one, runs in runs_of(records).items()}


# ---- what two jobs at once lose, and what turns can gain ----

def together(records):
    """{(jobs, wait): [progress of each]}, medians of all rounds."""
    by_job, found = alone(records), {}
    for record in records:
        if "rates" not in record or len(record.get("together", ())) != 2 or not is_quiet(record):
            continue
        jobs, wait = tuple(record["together"]), record["wait"]
        found.setdefault((jobs, wait), []).append(
            [rate / alone_of(by_job, job, wait) for rate, job in zip(record["rates"], jobs)])
    return {one: [median(values) for values in zip(*rows)] for one, rows in found.items()}


def progress_with(pairs, job, other, wait):
    """Of a job while the other one has the other CPU; None: not measured."""
    jobs, wait = plan.pair(job, other, wait)
    if (jobs, wait) not in pairs:
        return None
    return mean(value for value, one in zip(pairs[jobs, wait], jobs) if one == job)


def progress_by_turns(pairs, name, wait, partners):
    """Of the four jobs of a set if each has one turn of two, with that partner; None: a pair
    is not measured."""
    programs = plan.SETS[name]
    found = [progress_with(pairs, program, programs[partner], wait)
             for program, partner in zip(programs, partners)]
    return None if None in found else [value / 2 for value in found]


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
    yield f"### {name}" + (f", who waits {'sleeps' if wait == 'sleep' else 'polls'}"
                          if plan.waits(plan.SETS[name]) else "")
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


def paper_rows(found):
    for (name, wait), regimes in sorted(found.items()):
        for title, figure in figures(name):
            said = PAPER.get((plan.kernels(name), plan.kernels(title)))
            if wait != plan.WAITS[0] or not said:
                continue
            low, high = said
            range_ = percent(low) if low == high else f"{percent(low)} to {percent(high)}"
            seen = gains(regimes, "linux", figure)
            yield (f"| {title} of {name} gains at least {percent(low)} against Linux (the paper: "
                   f"{range_}) | {shown(seen)} | {decide(seen, low)} |")


def both_orders(regimes, at, name, wait):
    """Ours ÷ order - 1, of two rounds with other arrangements each, by the geometric mean."""
    by_round = dict(zip(sorted(set(regimes["ours"]) & set(regimes["order"])),
                        gains(regimes, "order", of_mix)))
    return [exp(mean(log(1 + by_round[one]) for one in (number, number + 1))) - 1
            for number in sorted(by_round)
            if number % 2 == 0 and number + 1 in by_round
            and at[number, name, wait] != at[number + 1, name, wait]]


def order_rows(found, at):
    for (name, wait), regimes in sorted(found.items()):
        seen = both_orders(regimes, at, name, wait)
        yield (f"| all of {name}{polling(wait)}: no less than by turns in their order, submitted "
               f"with likes first as often as mixed | {shown(seen)} | {decide(seen, 0.0)} |")


def deviation(values):
    """Mean distance from the median, of it."""
    middle = median(values)
    return mean(abs(value - middle) for value in values) / middle


def steadier(regimes, seed=0):
    """(low, high) of how much more the progress of all differs from round to round with our
    turns than under Linux: 95 % of samples of the rounds, with replacement."""
    ours, linux = ([of_mix(run) for _, run in sorted(regimes[regime].items())]
                   for regime in ("ours", "linux"))
    rng, found = Random(seed), []
    for _ in range(RESAMPLES):
        rounds = rng.choices(range(len(ours)), k=len(ours))
        found.append(deviation([ours[one] for one in rounds]) -
                     deviation([linux[one] for one in rounds]))
    found.sort()
    edge = round(0.025 * (RESAMPLES - 1))
    return found[edge], found[-1 - edge]


def steady_rows(found):
    for (name, wait), regimes in sorted(found.items()):
        rounds, sign = len(regimes["ours"]), UNDECIDED
        low, high = steadier(regimes)
        if rounds >= FEW:
            sign = verdict(low, high, 0.0, rounds)
        yield (f"| all of {name}{polling(wait)} differs less from round to round than under Linux "
               f"(the paper: almost constant) | {100 * low:+.1f} to {100 * high:+.1f} % | {sign} |")


def verdicts(found, at):
    yield "| limit | seen | verdict |"
    yield "|---|---|---|"
    yield from paper_rows(found)
    yield from order_rows(found, at)
    yield from steady_rows(found)


def spreads(found):
    """How much what the jobs of a set did differs from round to round."""
    yield "| set | " + " | ".join(plan.REGIMES) + " |"
    yield "|---" * (1 + len(plan.REGIMES)) + "|"
    for (name, wait), regimes in sorted(found.items()):
        cells = [f"{100 * deviation([of_mix(run) for run in regimes[regime].values()]):.1f} %"
                 for regime in plan.REGIMES]
        yield f"| {name}{polling(wait)} | " + " | ".join(cells) + " |"


def contention(pairs):
    """The table of figure 2."""
    others = ("itself", "max", "net")
    yield "| slower, at once with | " + " | ".join(others) + " |"
    yield "|---" * (1 + len(others)) + "|"
    programs = [name for name in plan.PROGRAMS if any(name in jobs for jobs, _ in pairs)]
    for program in programs:
        found = [progress_with(pairs, program, program if other == "itself" else other,
                               plan.WAITS[0]) for other in others]
        cells = ["-" if not value else f"{100 * (1 / value - 1):.1f} %" for value in found]
        yield f"| {program} | " + " | ".join(cells) + " |"


def expected(pairs, found):
    """What turns can change, from the jobs in twos alone."""
    yield "| set | in pairs of likes | mixed pairs | mixed ÷ likes - 1, each | all |"
    yield "|---|---|---|---|---|"
    for name, wait in sorted(found):
        likes, mixed = (progress_by_turns(pairs, name, wait, partners)
                        for partners in plan.PARTNERS)
        if not likes or not mixed or min(*likes, *mixed) <= 0:
            yield f"| {name}{polling(wait)} | - | - | - | - |"
            continue
        each = ", ".join(f"{title} {percent(figure(mixed) / figure(likes) - 1)}"
                         for title, figure in figures(name)[:-1])
        yield (f"| {name}{polling(wait)} | {of_mix(likes):.3f} | {of_mix(mixed):.3f} | {each} | "
               f"{percent(of_mix(mixed) / of_mix(likes) - 1)} |")


def by_arrangement(found, at):
    """Ours ÷ order - 1."""
    yield "| set | " + " | ".join(plan.ARRANGEMENTS) + " |"
    yield "|---" * (1 + len(plan.ARRANGEMENTS)) + "|"
    for (name, wait), regimes in sorted(found.items()):
        cells = []
        for arrangement in plan.ARRANGEMENTS:
            there = {regime: {number: run for number, run in runs.items()
                              if at[number, name, wait] == arrangement}
                     for regime, runs in regimes.items()}
            cells.append(shown(gains(there, "order", of_mix)))
        yield f"| {name}{polling(wait)} | " + " | ".join(cells) + " |"


def polling(wait):
    return "" if wait == plan.WAITS[0] else ", who waits polls"


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


def basis(settings, records):
    """What hpcbd elected by."""
    capacity = settings["machine"]["capacity"]
    disturbed = "" if settings["machine"]["quiet"] else ", while others were at work"
    ours = [record for record in records if record.get("regime") == "ours"]
    known = {axis: sum(axis in record["known"] for record in ours) for axis in ("mem", "net")}
    yield (f"hpcbd takes {capacity['mem'] / 1e9:.1f} GB/s for the memory's bandwidth (hpcbctl "
           f"calibrate, at the begin of the series{disturbed}) and {capacity['net'] / 1e6:g} MB/s for the "
           f"network's (the limit). Of {len(ours)} runs of *ours* it could measure what jobs "
           f"move to and from memory in {known['mem']}, and over the network in {known['net']}. "
           "What it cannot measure it cannot elect by: without a sensor of memory it pairs "
           "jobs by their network alone, and sets without netbench as *order* does.")


def left_out(records):
    failed = [record for record in records if "failed" in record]
    runs = runs_of(records)
    loud = sum(not all(map(is_quiet, one.values())) for one in runs.values())
    cut = sum(len(one) < len(plan.REGIMES) for one in runs.values())
    yield (f"Left out: {loud} of {len(runs)} sets in which the host of this machine took more than "
           f"{100 * STEAL_LIMIT:g} % of the CPUs during a run; {cut} that were cut short; "
           f"{len(failed)} measurements that failed twice"
           + (f" (the last: {failed[-1]['failed']})." if failed else "."))


def several_nodes(nodes):
    if nodes == 1:
        return "A job has one process."
    return (f"A job has a process on each of {nodes} nodes; they wait for each other only in sets "
            "with .mpi. The nodes are namespaces of one machine and share its two CPUs and its "
            f"memory: a job that computes gets a {nodes}th of a CPU even in its turn, and what it "
            "loses to others is not what it would lose on nodes of their own. Only the networks "
            "are apart, since each node has a limit of its own.")


def what_turns_could_show(pairs, found):
    yield "### What turns could show"
    yield ""
    yield ("How much slower a job is while another one has the other CPU, without any turns (the "
           "paper's figure 2):")
    yield ""
    yield from contention(pairs)
    yield ""
    yield ("What follows from that for four jobs, each with one turn of two. Nobody who chooses "
           "only who runs with whom can gain more than the last column by it against turns in "
           "order, and nothing if the order is a good one.")
    yield ""
    yield from expected(pairs, found)
    yield ""


def what_they_showed(found, at):
    yield "### What they showed"
    yield ""
    yield from verdicts(found, at)
    yield ""
    yield ("Turns in order run the first two jobs that were submitted at once, and the other two. "
           "With likes first these are the worst pairs, mixed the best ones. What turns by "
           "bandwidth gain against them, all jobs of a set:")
    yield ""
    yield from by_arrangement(found, at)
    yield ""


def part(settings, records):
    found, at, nodes = groups(records), arrangements(records), settings["nodes"]
    rounds = {record["round"] for record in records}
    yield "## One node" if nodes == 1 else f"## {nodes} nodes"
    yield ""
    yield (f"{len(rounds)} rounds of {settings['seconds']:g} s a run, the network of each node "
           f"limited to {settings['mbit']} Mbit/s. {several_nodes(nodes)}")
    yield ""
    yield from demands(settings["machine"]["demand"])
    yield ""
    yield from basis(settings, records)
    yield ""
    yield from left_out(records)
    yield ""
    yield from what_turns_could_show(together(records), found)
    yield from what_they_showed(found, at)
    for (name, wait), regimes in sorted(found.items()):
        yield from table(name, wait, regimes)
    yield "### Spread from round to round"
    yield ""
    yield "Mean distance from the median, of what all jobs of a set did:"
    yield ""
    yield from spreads(found)


def state_of(nodes):
    """The name of the data of so many nodes in doc/data."""
    return "membus.jsonl" if nodes == 1 else f"membus-{nodes}.jsonl"


def document(series):
    """series: [(settings, records)], of each number of nodes."""
    series = sorted(series, key=lambda one: one[0]["nodes"])
    states = [f"data/{state_of(settings['nodes'])}" for settings, _ in series]
    yield "# Turns by bandwidth: what jobs gain that share cores"
    yield ""
    yield f"This page is made by `bench/membus/run --report` from {', '.join(states)}."
    yield ""
    yield ("Four jobs on the two CPUs of a node, two on each. Regimes: "
           + "; ".join(f"*{regime.name}*: {regime.title}" for regime in plan.REGIMES.values())
           + ". Jobs: "
           + "; ".join(f"*{program.name}*: {program.title}"
                       for program in plan.PROGRAMS.values())
           + ". Figures are progress, 1.000 is the job alone on its CPU and network; *all* is "
           "the geometric mean. Gains are medians of ratios within a round, with the 95 % "
           f"interval of the median; with fewer than {FEW} nothing is decided.")
    for settings, records in series:
        yield ""
        yield from part(settings, records)
