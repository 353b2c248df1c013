# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/waits makes of its turns: rows with intervals and verdicts, as text and as
Markdown."""

import statistics

import machine
from waits import plan
from stats import BROKEN, KEPT, UNDECIDED, nested_interval, verdict
from table import format_table, markdown_table, number, percent

# A class of waits with less of the waiting time than this says nothing.
FEW = 0.05
VERSION = 1

CLASSES = {"long": "waits from 1 ms", "middle": "waits from 200 us"}
LIMITS = {
    "wall": f"wall time at most {plan.MAX_WALL:g} of nothing",
    "long": f"{percent(plan.MIN_FREED['long'], 0)} of waits from 1 ms freed",
    "middle": f"{percent(plan.MIN_FREED['middle'], 0)} of waits from 200 us freed",
    "small": f"8 bytes at most {plan.MAX_SMALL:g} of nothing",
    "large": f"1 and 16 MiB at most {plan.MAX_LARGE:g} of nothing",
}


def total(answers, key):
    return sum(answer[key] for answer in answers)


def time_of(row, answers):
    """What is compared: seconds of an exchange program, microseconds of a call (half of a
    round trip)."""
    if row.program == "exchange":
        return max(answer["wall"] for answer in answers)
    both = total(answers, "us") / len(answers)
    return both / 2 if row.name == "pingpong" else both


def is_disturbed(answers, limit):
    """Whether the ranks waited for a CPU for more than this part of their time."""
    return total(answers, "delay") > limit * total(answers, "wall")


def freed(answers, kind):
    """The part of the waits of that kind that took no CPU time; None if there are too
    few."""
    wait, cpu = (sum(answer[kind][i] for answer in answers) for i in (0, 1))
    if wait <= FEW * total(answers, "wait"):
        return None
    return 1 - cpu / wait


def figure(groups, limit, trusted, at_least=False):
    """trusted: whether the machine was quiet enough to decide anything."""
    median, low, high = nested_interval(groups)
    figures = sum(map(len, groups)) if trusted else 0
    return {"median": round(median, 4), "low": round(low, 4), "high": round(high, 4),
            "limit": limit, "verdict": verdict(low, high, limit, figures, at_least)}


def freed_figure(starts, kind, trusted):
    """Of pairs grouped by start; None if too few turns had such waits."""
    groups = [[share for _, answers in start if (share := freed(answers, kind)) is not None]
              for start in starts]
    if 2 * sum(map(len, groups)) < sum(map(len, starts)):
        return None
    was = [share for start in starts for answers, _ in start
           if (share := freed(answers, kind)) is not None]
    return {**figure(groups, plan.MIN_FREED[kind], trusted, True),
            "was": round(statistics.median(was), 4) if was else None}


def summarise(row, starts, disturbed=0):
    """A row of the result.  starts: of each start of the programs its pairs of (answers
    with nothing, answers with the library); disturbed: how many of all pairs others
    disturbed.  If these are most, nothing is decided."""
    groups = [[time_of(row, after) / time_of(row, before) for before, after in start]
              for start in starts]
    pairs = [pair for start in starts for pair in start]
    trusted = 2 * disturbed <= len(pairs)
    found = {"row": row.key, "pairs": len(pairs), "disturbed": disturbed,
             "ratio": figure(groups, row.limit, trusted),
             "ratios": [[round(ratio, 4) for ratio in group] for group in groups],
             "times": [round(statistics.median(time_of(row, answers)
                                               for answers in side), 6)
                       for side in zip(*pairs)]}
    if row.program == "exchange":
        found["wait"] = round(statistics.median(
            total(before, "wait") / total(before, "wall") for before, _ in pairs), 4)
        found["freed"] = {kind: one for kind in plan.MIN_FREED
                          if (one := freed_figure(starts, kind, trusted))}
    return found


def ratio_limit(row):
    """Which of LIMITS the ratio of a row is held to."""
    if row["row"].startswith("exchange/"):
        return "wall"
    return "small" if row["row"].endswith("/8B") else "large"


def held(row):
    """(limit, figure) of all that a row is held to."""
    yield ratio_limit(row), row["ratio"]
    yield from row.get("freed", {}).items()


def excess(limit, one):
    """How far it is on the wrong side of its limit."""
    return (one["limit"] - one["median"]) if limit in CLASSES else (
        one["median"] - one["limit"])


def interval(one, shares=False):
    if shares:
        return (f"{100 * one['median']:.0f} % [{100 * one['low']:.0f}.."
                f"{100 * one['high']:.0f}]")
    return f"{one['median']:.3f} [{one['low']:.3f}..{one['high']:.3f}]"


def groups_of(result):
    """[(MPI, way, library)] in the order of the result."""
    return list(dict.fromkeys((row["mpi"], row["transport"], row["library"])
                              for row in result["rows"]))


def rows_of(result, group):
    return [row for row in result["rows"]
            if (row["mpi"], row["transport"], row["library"]) == group]


SUMMARY = ["limit", "MPI", "way", "library", KEPT, UNDECIDED, BROKEN, "furthest",
           "median [95 %]", "hung"]


def summary(result):
    """Cells of one line for each limit and group."""
    for limit, title in LIMITS.items():
        for group in groups_of(result):
            found = [(row["row"], one) for row in rows_of(result, group)
                     for name, one in held(row) if name == limit]
            if not found:
                continue
            verdicts = [one["verdict"] for _, one in found]
            key, worst = max(found, key=lambda pair: excess(limit, pair[1]))
            yield [title, *group, *(str(verdicts.count(name))
                                    for name in (KEPT, UNDECIDED, BROKEN)),
                   key.partition("/")[2], interval(worst, limit in CLASSES),
                   str(hung_count(result, group))]


def hung_count(result, group):
    return sum((one["mpi"], one["transport"], one["library"]) == group
               for one in result["hung"])


ROWS = ["", "time / nothing", "", "waits", "freed from 1 ms", "was", "", "from 200 us",
        "was", "", "us"]


def freed_cells(row, kind):
    one = row.get("freed", {}).get(kind)
    return [interval(one, True), percent(one["was"], 0), one["verdict"]] if one else [
        None] * 3


def cells(row):
    exchange = "wait" in row
    return [row["row"].partition("/")[2], interval(row["ratio"]), row["ratio"]["verdict"],
            percent(row["wait"], 0) if exchange else None,
            *freed_cells(row, "long"), *freed_cells(row, "middle"),
            None if exchange else " -> ".join(number(us, 2) for us in row["times"])]


LEGEND = """\
time / nothing: median over pairs of neighbouring turns, with [95 % interval] over starts
and pairs; waits: part of the time that the ranks wait in MPI with nothing; freed: part of
the time in such waits that takes no CPU time, was: with nothing; us: of one call, half of
a round trip for pingpong.  kept or broken: the whole interval is on one side."""


def as_text(result):
    lines = []
    for group in groups_of(result):
        lines += ["", " ".join(group),
                  *format_table(ROWS, [cells(row) for row in rows_of(result, group)])]
    return "\n".join([*lines, "", LEGEND, "",
                      *format_table(SUMMARY, list(summary(result))), "", *remarks(result)])


def remarks(result):
    """Sentences: what hung, and whether some pairs say more about the machine than about a
    library."""
    found = [f"Did not answer any more: {one['library']}, {one['mpi']}/{one['transport']}/"
             f"{one['row']}." for one in result["hung"]]
    pairs = sum(row["pairs"] for row in result["rows"])
    count = sum(row["disturbed"] for row in result["rows"])
    if count:
        found.append(f"In {percent(count / pairs, 0)} of the pairs the ranks waited for a CPU "
                     f"for more than {percent(result['settings']['disturbed'], 0)} of the "
                     "time: others used the machine meanwhile. If these are most of a row, "
                     "it is undecided.")
    return found


INTRODUCTION = """\
# Waits that sleep: what they cost and what they free

`bench/waits/run`: two ranks on two CPUs, {machine}. The same program runs once without a \
library (nothing) and once with each library, all of them at once; they work by turns of \
{seconds:g} s, and the ranks that are not at turn sleep outside of MPI. A figure compares \
two turns that follow each other; {blocks} pairs of them for a row after each of {starts} \
starts of the programs.

    bench/waits/run {libraries} --json FILE
    bench/waits/run --report FILE --write doc/results-waits.md

- A row of an exchange program is PATTERN/LOAD/GRAIN/SCATTER: rank 0 computes for GRAIN, \
rank 1 for LOAD times as long, with work that differs by up to SCATTER, then they exchange \
(chain: they compute one after the other). The other rows are single calls.
- *time / nothing*: median, and in brackets the 95 % interval over starts and pairs \
(bootstrap in two stages). *waits*: part of the time that the ranks wait in MPI with \
nothing. *freed*: part of the time in waits of that length that takes no CPU time; *was*: \
the same with nothing. *us*: of one call, half of a round trip for pingpong.
- *kept*: the whole interval is on the right side of the limit; *broken*: on the wrong \
side; *undecided*: the limit lies within.
- tcp: messages take TCP over the loopback device, as they do between nodes.
"""


def as_markdown(result):
    settings = result["settings"]
    lines = [INTRODUCTION.format(
        machine=machine.title(settings["machine"]), seconds=settings["seconds"],
        blocks=settings["blocks"], starts=settings["starts"],
        libraries=" ".join(f"--library {name}=PATH" for name in settings["libraries"]))]
    lines += remarks(result)
    lines += ["", "## Limits", "", *markdown_table(SUMMARY, summary(result))]
    for group in groups_of(result):
        lines += ["", f"## {group[2]}: {group[0]}, {group[1]}", "",
                  *markdown_table(ROWS, map(cells, rows_of(result, group)))]
    return "\n".join(lines) + "\n"
