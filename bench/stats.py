# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Statistics of interleaved runs.

A run is a dict with "rep" (number of the repetition), "regime" and figures.  Runs of
one repetition follow each other closely, so that a slow minute of the machine hits all
of its regimes: what is compared are differences and ratios within a repetition, and
what is reported is their median.
"""

from math import sqrt
from random import Random
from statistics import median


def values(runs, regime, key):
    """The figures `key` of a regime, in the order of the runs."""
    return [run[key] for run in runs if run["regime"] == regime]


def pairs(runs, regime, baseline, key):
    """(figure, figure of the baseline) of every repetition that has both."""
    base = {run["rep"]: run[key] for run in runs if run["regime"] == baseline}
    return [(run[key], base[run["rep"]]) for run in runs
            if run["regime"] == regime and run["rep"] in base]


def median_difference(runs, regime, baseline, key):
    """Median over the repetitions of figure - figure of the baseline; None without
    any pair."""
    found = [a - b for a, b in pairs(runs, regime, baseline, key)]
    return median(found) if found else None


def median_ratio(runs, regime, baseline, key):
    """Median over the repetitions of figure / figure of the baseline; None without
    any pair whose baseline is above zero."""
    found = [a / b for a, b in pairs(runs, regime, baseline, key) if b > 0]
    return median(found) if found else None


def interpolate(samples, when):
    """The value at time `when` of a series of (time, value) in the order of time;
    before its first and after its last sample the nearest one holds."""
    if not samples:
        raise ValueError("no samples")
    if when <= samples[0][0]:
        return samples[0][1]
    for (t0, v0), (t1, v1) in zip(samples, samples[1:]):
        if when <= t1:
            return v1 if t1 == t0 else v0 + (v1 - v0) * (when - t0) / (t1 - t0)
    return samples[-1][1]


def growth(samples, start, end):
    """By how much a counter, sampled as (time, value), grew from start to end."""
    return interpolate(samples, end) - interpolate(samples, start)


def throughput(jobs, seconds):
    """Jobs per hour (Stiehr 2004, section 3.2.2)."""
    return jobs * 3600 / seconds


def efficiency(cpu_seconds, processors, seconds):
    """CPU time of all processes / (processors x wall) (ibid.)."""
    return cpu_seconds / (processors * seconds)


def median_interval(figures):
    """(low, high): between these figures lies the median of what they are a sample of,
    in about 95 of 100 cases; whatever their distribution is (order statistics)."""
    ordered, n = sorted(figures), len(figures)
    reach = 0.98 * sqrt(n)
    return (ordered[max(0, int(n / 2 - reach))],
            ordered[min(n - 1, int(n / 2 + reach))])


def nested_interval(groups, resamples=1000, seed=0):
    """(median, low, high) of all figures of the groups: the 95 % interval of the median
    if the groups are a sample of possible groups and the figures of each one a sample of
    what it could give (bootstrap in two stages: groups, then figures within each).  The
    same figures give the same interval."""
    groups = [group for group in groups if group]
    if not groups:
        raise ValueError("no figures")
    rng = Random(seed)
    medians = sorted(
        median([figure for group in rng.choices(groups, k=len(groups))
                for figure in rng.choices(group, k=len(group))])
        for _ in range(resamples))
    edge = round(0.025 * (resamples - 1))
    return (median([figure for group in groups for figure in group]),
            medians[edge], medians[-1 - edge])


KEPT, BROKEN, UNDECIDED = "kept", "broken", "undecided"
LEAST_FIGURES = 3  # to decide by


def verdict(low, high, limit, figures, at_least=False):
    """Of a figure in low..high that is to be at most (or at least) the limit; figures: of
    how many this is the interval."""
    if figures < LEAST_FIGURES:
        return UNDECIDED
    if at_least:
        low, high, limit = -high, -low, -limit
    if high <= limit:
        return KEPT
    return BROKEN if low > limit else UNDECIDED
