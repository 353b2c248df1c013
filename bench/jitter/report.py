# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/jitter makes of its runs."""

import re
import statistics

from cluster import BenchError
from jitter.plan import ALTERNATING, SWITCHED, missing, regimes
from jitter.plot import histogram_svg
from session import NODES
from stats import median_interval
from table import format_table, number


def last_run(run):
    """Of all ranks; of glob too."""
    return run["result"]["runs"][-1]


def of_regime(runs, name):
    return [last_run(run) for run in runs if run["regime"] == name]


def median_of(runs, *path):
    values = []
    for run in runs:
        for key in path:
            run = run[key]
        values.append(run)
    return statistics.median(values)


def ratios(runs, name, baseline):
    base = {run["rep"]: last_run(run)["wall"] for run in runs if run["regime"] == baseline}
    return [last_run(run)["wall"] / base[run["rep"]] for run in runs
            if run["regime"] == name and run["rep"] in base]


def noise_costs(runs, name, baseline):
    """What a favoured reduction takes beyond one of the baseline's, in each repetition."""
    base = {run["rep"]: last_run(run)["favoured"]["mean"] for run in runs
            if run["regime"] == baseline}
    return [last_run(run)["favoured"]["mean"] / base[run["rep"]] - 1 for run in runs
            if run["regime"] == name and run["rep"] in base]


def alternating_costs(runs, name):
    """What a favoured reduction takes beyond one of the same run without noise: the
    machine's drift from run to run is in both."""
    return [run["noisy"]["mean"] / run["silent"]["mean"] - 1 for run in
            of_regime(runs, name)]


def spread(values):
    """Percent: median [least..most]."""
    low, middle, high = (100 * value for value in
                         (min(values), statistics.median(values), max(values)))
    return f"{middle:+.2f} % [{low:+.2f}..{high:+.2f}]"


def table(names, runs):
    rows = []
    for name in names:
        if name.endswith((ALTERNATING, SWITCHED)):
            continue
        group = of_regime(runs, name)
        times = ratios(runs, name, names[0])
        rows.append([
            name, str(len(group)),
            f"{statistics.median(times):.3f} [{min(times):.3f}..{max(times):.3f}]"
            if times else "-",
            number(median_of(group, "operation", "mean"), 2),
            number(median_of(group, "favoured", "mean"), 2),
            number(median_of(group, "operation", "p50"), 2),
            number(median_of(group, "operation", "p99"), 2),
            number(median_of(group, "favoured", "p99"), 2),
            number(median_of(group, "operation", "p999"), 1),
            number(median_of(group, "operation", "max") / 1e3, 1)])
    return format_table(["regime", "runs", "time", "mean", "mean fav.", "p50", "p99",
                         "p99 fav.", "p99.9", "max"], rows,
                        ["", "", "x quiet", "us", "us", "us", "us", "us", "us", "ms"])


def duty_of(window):
    """PERIOD:PERCENT% as a fraction; None for other forms."""
    match = re.fullmatch(r"[^:]+:([0-9.]+)%", window)
    return float(match[1]) / 100 if match else None


def promises(args, names, runs):
    """What was asked for, as one line each, of the regimes that there are."""
    quiet, windows = names[0], f"windows {args.window}"
    costs = [ratio - 1 for ratio in ratios(runs, windows, quiet)]
    if costs:
        yield f"windows without noise: {spread(costs)} time (at most 0.5 %)"
        yield edge_line(of_regime(runs, windows))
    for regime in regimes(args):
        if regime.switched:
            yield from switched_lines(regime, runs)
            continue
        if regime.alternating:
            yield from alternating_lines(regime, runs)
            continue
        times = ratios(runs, regime.name, quiet)
        favoured = noise_costs(runs, regime.name, windows)
        if not (regime.noise and regime.window and times and favoured):
            continue
        lost = [1 - run["favoured"]["mean"] / run["operation"]["mean"]
                for run in of_regime(runs, regime.name)]
        line = (f"{regime.name}: noise costs {spread(favoured)} within favoured parts (at "
                f"most 1 %); over whole periods {spread(lost)} of the same run's time is "
                "lost")
        duty = duty_of(regime.window)
        yield line + (f" (the regular part is {100 * (1 - duty):g} %)" if duty else "")


def edge_line(group):
    """What the reductions that reach over an edge take beyond others: what hpcbd does
    there on all nodes, and what others have waited with."""
    count = sum(run["across"]["count"] for run in group)
    extra = sum(run["across"]["count"] * (run["across"]["mean"] - run["operation"]["p50"])
                for run in group)
    sides = [run["favoured"]["mean"] / run["regular"]["mean"] - 1 for run in group]
    wall = sum(run["wall"] for run in group)
    return (f"windows without noise: {count} edges took {extra / max(count, 1):.0f} us each, "
            f"{extra / 1e4 / wall:.2f} % of the time; reductions in favoured parts take "
            f"{spread(sides)} against those in regular ones")


def alternating_lines(regime, runs):
    costs = alternating_costs(runs, regime.name)
    if costs:
        yield (f"{regime.name}: noise costs {spread(costs)} within favoured parts (at most "
               f"1 %), {len(costs)} runs")


def switched_costs(stretches):
    """What a reduction takes in a stretch with windows beyond one in the two beside it,
    for each with two whole ones beside it."""
    whole = stretches[1:-1]
    return [2 * on[2] / (before[2] + after[2]) - 1
            for before, on, after in zip(whole, whole[1:], whole[2:], strict=False)
            if on[0] and min(before[1], on[1], after[1]) > 0]


def switched_lines(regime, runs):
    costs = [cost for run in of_regime(runs, regime.name)
             for cost in switched_costs(run["stretches"])]
    if costs:
        low, high = median_interval(costs)
        yield (f"{regime.name}: windows cost {100 * statistics.median(costs):+.2f} % "
               f"(95 %: {100 * low:+.2f}..{100 * high:+.2f}) of a reduction (at most "
               f"0.5 %), {len(costs)} stretches")


def session_lines(state):
    for session in state.of("session"):
        for i in range(NODES):
            late = session["daemons"][i]["late_us"]
            quantum = session["quantum"][i]
            yield (f"session {session['session']}, n{i + 1}: node's own noise "
                   f"{100 * quantum['noise']:.2f} %, pieces of {quantum['quantum_us']} us "
                   f"took p99 {quantum['durations']['p99']:.0f} us; hpcbd: "
                   f"{session['daemons'][i]['edges']} edges, "
                   f"{session['daemons'][i]['missed']} missed, late by {late['p50']}/"
                   f"{late['p99']}/{late['max']} us (median, p99, most)")


def noise_lines(state):
    """Did noise get what it asked for?"""
    for name in dict.fromkeys(run["regime"] for run in state.runs() if run["noise"]):
        shares = [report["cpu"] / report["wall"] for run in state.runs()
                  if run["regime"] == name for report in run["noise"] if report]
        if shares:
            yield f"{name}: noise had {100 * statistics.mean(shares):.1f} % of each CPU"


def report(args, state):
    runs = state.runs()
    have = {run["regime"] for run in runs}
    names = [regime.name for regime in regimes(args) if regime.name in have]
    if not names or names[0] != regimes(args)[0].name:
        raise BenchError("nothing to report yet")
    print(*table(names, runs), *promises(args, names, runs), *noise_lines(state),
          *session_lines(state), sep="\n")
    left = len(missing(args, state))
    if left:
        print(f"{left} runs are missing")
    if args.svg:
        shown = [names[0]] + names[-2:] if args.sweep else [
            name for name in names if not name.endswith((ALTERNATING, SWITCHED))]
        with open(args.svg, "w", encoding="ascii") as stream:
            stream.write(histogram_svg({name: [run["operation"]["buckets"] for run in
                                               of_regime(runs, name)] for name in shown}))
