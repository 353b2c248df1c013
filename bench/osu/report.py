# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/osu makes of its pairs of runs: verdicts, and the document."""

import math
import statistics

import machine
from stats import BROKEN, KEPT, UNDECIDED, median_interval, verdict
from table import markdown_table

KIND = {"osu": 2}
SIDES = ("without", "with")  # keys of a record, the library

MAX_MEDIAN = 1.05  # of all benchmarks
MAX_ONE = 1.2      # of each one
# Of fewer figures even the least and the greatest do not hold the median in 95 of 100
# cases.
LEAST_PAIRS = 6
UNKNOWN = (-math.inf, 0.0, math.inf)  # (median, low, high): below any that is known
NOT_JUDGED = "not judged"
VERDICTS = (KEPT, UNDECIDED, BROKEN, NOT_JUDGED)


def void(record):
    """Why its runs do not compare the library with nothing; None if they do.  A run that
    failed need not have come so far as to say that it had the library."""
    if record["without"]["loaded"]:
        return f"{record['without']['loaded']} ranks had the library in the run without it"
    run = record["with"]
    if "failed" not in run and run["loaded"] != record["expected"]:
        return f"{run['loaded']} of {record['expected']} ranks had the library"
    return None


def failures(records):
    """{side: why runs failed} of pairs that are not void."""
    return {side: [record[side]["failed"] for record in records
                   if not void(record) and "failed" in record[side]] for side in SIDES}


def fails_by_itself(records):
    """Whether runs have failed on both sides, so that more of them say nothing."""
    return all(failures(records).values())


def ratios(records):
    """{size: library / nothing in each pair that has it on both sides}, of all sizes that
    any run has."""
    found = {}
    for record in records:
        before, after = (record[side].get("figures", {}) for side in SIDES)
        for size in {**before, **after}:
            found.setdefault(size, [])
            if size in before and size in after:
                found[size].append(after[size] / before[size])
    return found


def figure(found):
    """(median, low, high) of ratios; any number is possible if they are too few."""
    if not found:
        return UNKNOWN
    bounds = median_interval(found) if len(found) >= LEAST_PAIRS else UNKNOWN[1:]
    return statistics.median(found), *bounds


def judge(found):
    """Verdict of a (median, low, high)."""
    return verdict(*found[1:], MAX_ONE, LEAST_PAIRS)


def worst(figures):
    """(median, low, high) of the worst of all sizes: it is at least as bad as the lower
    bound of any of them, and no worse than the highest of the upper bounds."""
    return tuple(map(max, zip(*figures))) if figures else UNKNOWN


class Row:
    """One benchmark with one MPI, way of messages and library.

    verdict    of the worst size, or broken if it failed with the library alone
    sizes      {size: (median, low, high) of the ratios}
    worst      (median, low, high)
    """

    def __init__(self, records):
        self.group = tuple(records[0][key] for key in ("mpi", "transport", "library"))
        self.benchmark = records[0]["benchmark"]
        self.voids = [why for record in records if (why := void(record))]
        good = [record for record in records if not void(record)]
        self.pairs = len(good)
        self.observing = sum(record["with"].get("observes", False) for record in good)
        self.failures = failures(good)
        self.sizes = {size: figure(found) for size, found in ratios(good).items()}
        self.worst = worst(list(self.sizes.values()))
        self.verdict = self.judge()

    def judge(self):
        if self.failures["with"]:
            return NOT_JUDGED if self.failures["without"] else BROKEN
        return judge(self.worst)

    @property
    def bound(self):
        """What it adds to the median of all; None if nothing.  Not to end is slower than
        anything."""
        if self.verdict == NOT_JUDGED:
            return None
        return (math.inf,) * 3 if self.failures["with"] else self.worst

    @property
    def worst_size(self):
        return max(self.sizes, key=lambda size: self.sizes[size][0])

    @property
    def broken_sizes(self):
        return [size for size, found in self.sizes.items() if judge(found) == BROKEN]


def rows_of(records):
    """In the order of MPI, way, library and name.  Of records of a pair the last one
    counts."""
    found = {}
    for record in {record["pair"]: record for record in records}.values():
        found.setdefault(record["pair"].rpartition("/")[0], []).append(record)
    return sorted(map(Row, found.values()), key=lambda row: (row.group, row.benchmark))


def groups_of(rows):
    return list(dict.fromkeys(row.group for row in rows))


def overall(rows):
    """(median, low, high) of the worst sizes of all rows."""
    bounds = [row.bound for row in rows if row.bound]
    if not bounds:
        return UNKNOWN
    medians, lows, highs = zip(*bounds)
    known = [one for one in medians if one > -math.inf]
    return (statistics.median(known) if known else -math.inf, statistics.median(lows),
            statistics.median(highs))


def judge_overall(rows):
    return verdict(*overall(rows)[1:], MAX_MEDIAN, LEAST_PAIRS)


def judge_all(rows):
    """Whether none is above its limit."""
    verdicts = {row.verdict for row in rows} - {NOT_JUDGED}
    if BROKEN in verdicts:
        return BROKEN
    return KEPT if verdicts == {KEPT} else UNDECIDED


def is_broken(records):
    """Whether a limit is, or a pair says nothing because the library was not where it
    should have been."""
    rows = rows_of(records)
    own = [[row for row in rows if row.group == group] for group in groups_of(rows)]
    return any(row.voids for row in rows) or any(
        BROKEN in (judge_overall(one), judge_all(one)) for one in own)


def ratio(value):
    return "∞" if value == math.inf else f"{value:.3f}"


def interval(found):
    """None if nothing is known."""
    if found[0] == -math.inf:
        return None
    median, low, high = map(ratio, found)
    return f"{median} [{low}..{high}]"


LIMITS = ["limit", "MPI", "way", "library", "seen", "verdict"]


def limits(rows):
    """Cells of two lines for each group."""
    for group in groups_of(rows):
        own = [row for row in rows if row.group == group]
        count = [row.verdict for row in own].count
        yield [f"median of all benchmarks at most {MAX_MEDIAN:g}", *group,
               interval(overall(own)), judge_overall(own)]
        yield [f"no benchmark above {MAX_ONE:g}", *group,
               ", ".join(f"{count(one)} {one}" for one in VERDICTS if count(one)),
               judge_all(own)]


ROWS = ["", "pairs", "time / nothing, worst size", "bytes", "median of the sizes",
        f"bytes above {MAX_ONE:g}", "verdict"]


def cells(row):
    if row.worst[0] == -math.inf:
        return [row.benchmark, row.pairs, None, None, None, None, row.verdict]
    middle = statistics.median(median for median, _, _ in row.sizes.values()
                               if median > -math.inf)
    return [row.benchmark, row.pairs, interval(row.worst), row.worst_size, ratio(middle),
            ", ".join(row.broken_sizes) or None, row.verdict]


def remarks(rows):
    """Sentences on what failed and on pairs that say less than they should."""
    for row in rows:
        name = "/".join((*row.group, row.benchmark))
        for side, found in row.failures.items():
            if found:
                yield (f"{name}: {len(found)} of {row.pairs} runs {side} the library failed, "
                       f"the last one: {found[-1]}.")
        if row.observing:
            yield (f"{name}: the library only observed in {row.observing} pairs, it knows no "
                   "hook of this MPI.")
        if row.voids:
            yield (f"{name}: {len(row.voids)} pairs are void, the last one: "
                   f"{row.voids[-1]}.")


INTRODUCTION = """\
# OSU's micro-benchmarks with a library and with nothing

`bench/osu/run`: two ranks on two CPUs, {machine}; OSU {version}; {sizes}. A pair is two runs \
that follow each other, one with the library and one with nothing, in random order; all \
benchmarks run once before any runs again.

- *time / nothing*: the time that a benchmark prints for a message size (of a bandwidth: its \
reciprocal), with the library divided by with nothing: median of the pairs, and the interval \
that holds the true one in 95 of 100 cases (order statistics; with fewer than {least} pairs any \
number).
- The worst size stands for a benchmark: it is as bad as the highest of all medians and of all \
bounds. In *median of all benchmarks* too, where one that fails is slower than any other.
- *kept*: the whole interval is below the limit; *broken*: above it, or a run failed or did not \
end with the library, and none without it; *undecided*: the limit lies within. *not judged*: \
runs failed with and without the library.
- A pair is void unless both ranks of the run with the library, and none of the other run, said \
that they have it (HPCB_DEBUG). It counts for nothing.
"""


def sizes_of(settings):
    found = [f"{settings['iterations']} iterations" if settings["iterations"] else None,
             f"collectives of up to {settings['max_size']} bytes" if settings["max_size"]
             else None]
    return ", ".join(filter(None, found)) or "iterations and sizes as by default"


def versions(records):
    found = {record[side].get("osu") for record in records for side in SIDES} - {None}
    return ", ".join(sorted(found)) or "of unknown version"


def document(settings, records):
    rows = rows_of(records)
    yield from INTRODUCTION.format(
        machine=machine.title(settings["machine"]), version=versions(records),
        sizes=sizes_of(settings), least=LEAST_PAIRS).splitlines()
    yield from ["", *markdown_table(LIMITS, limits(rows))]
    said = list(remarks(rows))
    if said:
        yield from ["", *(f"- {one}" for one in said)]
    for group in groups_of(rows):
        yield from ["", f"## {group[2]}: {group[0]}, {group[1]}", "",
                    *markdown_table(ROWS, (cells(row) for row in rows if row.group == group))]
