# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/osu makes of the output of OSU's micro-benchmarks."""

import statistics

from stats import BROKEN, median_interval, stratified_interval, verdict
from table import format_table

VERSION = 1
MAX_MEDIAN = 1.05  # of all benchmarks
MAX_ONE = 1.2      # of each one


def numbers(line):
    """The numbers of a line; None if it holds anything else."""
    try:
        return [float(word) for word in line.split()] or None
    except ValueError:
        return None


def parse(text):
    """{message size: seconds or the like, less is better} of what a benchmark prints; the
    size is 0 if it has none.  A bandwidth becomes its reciprocal.  The line above the
    numbers says what the columns are."""
    found, title = {}, ""
    for line in text.splitlines():
        row = numbers(line)
        if row is None:
            title = line if "(us)" in line or "/s" in line else title
            continue
        has_size = "Size" in title
        if not title or len(row) <= has_size:
            continue
        size, value = (int(row[0]), row[1]) if has_size else (0, row[0])
        if value > 0:
            found[size] = 1 / value if "/s" in title else value
    return found


def ratios(pair):
    """{size: library / nothing} of two parsed outputs."""
    before, after = pair
    return {size: after[size] / before[size] for size in before if size in after}


def figure(interval, limit, figures):
    median, low, high = interval
    return {"median": round(median, 4), "low": round(low, 4), "high": round(high, 4),
            "limit": limit, "verdict": verdict(low, high, limit, figures)}


def medians_of(pairs):
    """Over the sizes of each pair."""
    return [statistics.median(pair.values()) for pair in pairs]


def worst(pairs):
    """(size, ratio) of the size whose median over pairs is largest."""
    sizes = set().union(*pairs)
    medians = {size: statistics.median(pair[size] for pair in pairs if size in pair)
               for size in sizes}
    size = max(medians, key=medians.get)
    return [size, round(medians[size], 3)]


def summarise(pairs):
    """Figures of one benchmark.  pairs: ratios() of each; the interval is over pairs."""
    found = medians_of(pairs)
    return {"ratio": figure((statistics.median(found), *median_interval(found)), MAX_ONE,
                            len(found)),
            "worst": worst(pairs),
            "pairs": [{str(size): round(ratio, 4) for size, ratio in pair.items()}
                      for pair in pairs]}


def group_of(row):
    return row["mpi"], row["transport"], row["library"]


def groups_of(rows):
    return list(dict.fromkeys(group_of(row) for row in rows))


def overall(rows):
    """The median of all benchmarks of each MPI, way and library, in an interval over
    pairs."""
    for group in groups_of(rows):
        own = [medians_of(row["pairs"]) for row in rows
               if group_of(row) == group and "ratio" in row]
        if own:
            yield [*group, figure(stratified_interval(own), MAX_MEDIAN, min(map(len, own)))]


def interval(one):
    return f"{one['median']:.3f} [{one['low']:.3f}..{one['high']:.3f}]"


def cells(row):
    if "ratio" not in row:
        return [row["benchmark"], row["failed"], None, None, BROKEN]
    size, ratio = row["worst"]
    return [row["benchmark"], interval(row["ratio"]), f"{ratio:.2f}", str(size),
            row["ratio"]["verdict"]]


def verdicts(result):
    """Of every benchmark, and of each median of all."""
    return ([cells(row)[-1] for row in result["rows"]] +
            [one["verdict"] for *_, one in overall(result["rows"])])


def as_text(result):
    lines = []
    for group in groups_of(result["rows"]):
        lines += ["", " ".join(group), *format_table(
            ["", "time / nothing", "worst size", "bytes", f"at most {MAX_ONE:g}"],
            [cells(row) for row in result["rows"] if group_of(row) == group])]
    lines += ["", *format_table(
        ["MPI", "way", "library", "median of all", f"at most {MAX_MEDIAN:g}"],
        [[*group, interval(one), one["verdict"]] for *group, one in overall(result["rows"])])]
    lines += ["", "time / nothing: median over sizes and pairs of runs, with its [95 % "
              "interval] over pairs", "(of fewer than six: least and most); bandwidths count "
              "as time per byte.", "kept or broken: the whole interval is on one side."]
    lines += [f"Left out, since it fails with nothing too: {one}" for one in result["skipped"]]
    return "\n".join(lines)
