# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What detours of a primary amount to.  A run is what detour-loop prints: "at_ns" and
"length_ns" of each detour in the order of time, and "elapsed_ns"."""

import json
from cmath import exp, pi


def share(run):
    """The part of the time that detours took."""
    return sum(run["length_ns"]) / run["elapsed_ns"]


def histogram(run):
    """{lower bound in us: number of detours}; each bound is twice the one before."""
    counts = {}
    for length in run["length_ns"]:
        bound = 1 << max(0, (length // 1000).bit_length() - 1)
        counts[bound] = counts.get(bound, 0) + 1
    return dict(sorted(counts.items()))


def spectrum(run, frequencies):
    """{Hz: how much of the detours comes with that frequency}: 1 if all of them come in
    step with it, about 1 / number of detours if they come at random (the periodogram of
    points that weigh as much as they are long)."""
    total = sum(run["length_ns"])
    power = {}
    for hertz in frequencies:
        wave = sum(length * exp(-2j * pi * hertz * at / 1e9)
                   for at, length in zip(run["at_ns"], run["length_ns"]))
        power[hertz] = (abs(wave) / total) ** 2 if total else 0.0
    return power


def lost_in_steps(run, step_ns):
    """How long detours took in each step of a job that works step_ns between two
    barriers, alone on its node.  A detour in a step makes that step longer."""
    losses, begin, lost, done = [], 0, 0, 0
    events = list(zip(run["at_ns"], run["length_ns"]))
    while begin + step_ns + lost <= run["elapsed_ns"]:
        while done < len(events) and events[done][0] < begin + step_ns + lost:
            lost += events[done][1]
            done += 1
        if begin + step_ns + lost > run["elapsed_ns"]:
            break
        losses.append(lost)
        begin, lost = begin + step_ns + lost, 0
    return losses


def largest_of(losses, nodes):
    """The mean of the largest of so many losses, each drawn from the ones given: what a
    step on so many nodes loses, as it waits for the slowest."""
    ordered, n = sorted(losses), len(losses)
    return sum(loss * ((i / n) ** nodes - ((i - 1) / n) ** nodes)
               for i, loss in enumerate(ordered, 1))


def slowdown(runs, step_ns, nodes):
    """By how much a bulk-synchronous job on so many nodes takes longer, as a part of its
    run time without detours; None if no step fits into the runs."""
    losses = [loss for run in runs for loss in lost_in_steps(run, step_ns)]
    return largest_of(losses, nodes) / step_ns if losses else None


def recording(runs, head):
    """What hpcb-sim plays (sim/recording.h): head, and a line for each run; runs: those of
    each regime, by its name."""
    lines = [head] + [{"regime": name, **{key: run[key] for key in
                                          ("elapsed_ns", "at_ns", "length_ns")}}
                      for name, some in runs.items() for run in some]
    return "".join(json.dumps(line) + "\n" for line in lines)


def regime(name, runs):
    """A regime of the simulator's model "noise" (hpcb-sim): pauses and lengths as they
    were, without what came before a run's first detour and after its last one."""
    pauses, lengths = [], []
    for run in runs:
        ends = [at + length for at, length in zip(run["at_ns"], run["length_ns"])]
        pauses += [max(1000, at - end) for at, end in zip(run["at_ns"][1:], ends)]
        lengths += run["length_ns"]
    if not pauses:
        return {"name": name}
    return {"name": name, "noise": [{"pause_ns": {"trace": pauses},
                                     "length_ns": {"trace": lengths}}]}


def scenario(runs, step_ns):
    """A scenario for hpcb-sim run; runs: those of each regime, by its name."""
    return {"model": "noise",
            "title": "Detours of a primary as bench/detour measured them",
            "nodes": [2, 16, 128, 1024],
            "job": {"work_ns": step_ns, "level_ns": 2000, "operations": 100000000,
                    "seconds": 30},
            "slice_ns": 0, "clock_offset_ns": {"constant": 0},
            "edge_late_ns": {"constant": 0},
            "regimes": [regime(name, some) for name, some in runs.items()]}
