# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What the runs of bench/balance/jobs say, as text and as Markdown.

Ratios are of runs of one repetition of one program, which follow each other closely;
what is reported is their median with the least and the most.  "steady" compares second
halves of runs: what is gained once the balance is found.
"""

import statistics
from collections import Counter

from balance import plan
from stats import pairs
from table import format_table, markdown_table, number, percent

# An iteration is as fast as those at the end when the median of so many is within this.
WINDOW = 8
AS_FAST = 1.05

STATIC = ("static", "static-spin")
HEURISTIC = ("uniform", "adaptive", "uniform-spin", "adaptive-spin")
DLRB = ("dlrb", "auto", "dlrb-spin", "auto-spin")

# Boneti's thesis, chapters 3 to 5: (what, gain, our program, our regimes).
PAPER = (
    ("Metbench, static", "13–15 %", "metbench", STATIC),
    ("Metbench, uniform and adaptive", "12 %", "metbench", HEURISTIC),
    ("Metbench, dlrb", "11 %", "metbench", DLRB),
    ("MetbenchVar, static (chapter 5)", "-50 %", "metbenchvar", STATIC),
    ("MetbenchVar, uniform and adaptive", "11 %", "metbenchvar", HEURISTIC),
    ("MetbenchVar, dlrb", "5 % (12 % with phases of 45 iterations)", "metbenchvar", DLRB),
    ("BT-MZ (here: the stencil), static", "17–18 %", "stencil", STATIC),
    ("BT-MZ, uniform and adaptive", "16 %", "stencil", HEURISTIC),
    ("BT-MZ, dlrb", "16 %", "stencil", DLRB),
    ("SIESTA (here: LAMMPS), static", "8 %", "lammps", STATIC),
    ("SIESTA, uniform and adaptive", "6 %", "lammps", HEURISTIC),
    ("SIESTA, dlrb", "5 %", "lammps", DLRB),
)

# The thesis' ranks sleep while they wait, as ours do with wait; none polls.
BASELINES = ("wait", plan.NONE)

WITHIN_STATIC = 1.03
HARMLESS = 1.01


def second_half(run):
    """Milliseconds of the second half of the iterations."""
    times = run["times_ms"]
    return sum(times[len(times) // 2:])


def converged(times):
    """The number of iterations before all of them are as fast as those at the end; None
    where that is not before the second half."""
    final = AS_FAST * statistics.median(times[len(times) // 2:])
    slow = [i for i in range(len(times) - WINDOW + 1)
            if statistics.median(times[i:i + WINDOW]) > final]
    # The last slow window's middle.
    found = slow[-1] + WINDOW // 2 + 1 if slow else 0
    return found if found < len(times) // 2 else None


def spread(values, digits=3):
    """median [least..most]; None without any."""
    if not values:
        return None
    middle = number(statistics.median(values), digits)
    if len(values) == 1:
        return middle
    return f"{middle} [{min(values):.{digits}f}..{max(values):.{digits}f}]"


class Results:
    """settings and records of a series.  hung: runs that did not end.  notes: what
    whoever put the series together says of it."""

    def __init__(self, settings, runs, statics, hung=(), notes=()):
        self.settings = settings
        self.statics = statics
        self.hung = [" ".join(record["hung"]) for record in hung]
        self.notes = [record["note"] for record in notes]
        self.runs = [{**run, "half": second_half(run),
                      "converged": converged(run["times_ms"])} for run in runs]

    def of(self, mpi, program):
        return [run for run in self.runs
                if run["mpi"] == mpi and run["program"] == program]

    def blocks(self):
        """(mpi, program) that have something to compare."""
        return [(mpi, program) for program in plan.PROGRAMS for mpi in plan.MPIS
                if any(run["regime"] == plan.NONE for run in self.of(mpi, program))]

    def regimes(self, mpi, program):
        have = {run["regime"] for run in self.of(mpi, program)}
        return [name for name in plan.ALL if name in have]

    def ratios(self, mpi, program, regime, baseline=plan.NONE, key="wall"):
        return [a / b for a, b in pairs(self.of(mpi, program), regime, baseline, key)]

    def setting(self, program, spins):
        for record in self.statics:
            if (record["program"], record["spins"]) == (plan.searched(program), spins):
                priorities, places = record["static"]
                return " ".join(f"{at}:{p}" for p, at in zip(priorities, places))
        return None


def iterations_of(runs, program):
    """Until it is steady; with phases there is no such thing."""
    found = [run["converged"] for run in runs]
    if program == "metbenchvar" or None in found:
        return None
    return number(statistics.median(found), 0)


def utilisation(runs, rank):
    """None of an application that does not tell."""
    found = [run["util"][rank] for run in runs if run["util"]]
    return percent(statistics.median(found), 0) if found else None


HEADERS = ["regime", "runs", "s", "time / none", "steady / none", "rank 0", "1", "2", "3",
           "iterations"]


def row(results, mpi, program, regime):
    runs = [run for run in results.of(mpi, program) if run["regime"] == regime]
    return [regime, str(len(runs)), number(statistics.median(r["wall"] for r in runs), 2),
            spread(results.ratios(mpi, program, regime)),
            spread(results.ratios(mpi, program, regime, key="half")),
            *(utilisation(runs, rank) for rank in range(plan.RANKS)),
            iterations_of(runs, program)]


def rows(results, mpi, program):
    return [row(results, mpi, program, regime)
            for regime in results.regimes(mpi, program)]


def same_results(runs):
    """Of a repetition: a series that was put together has another rate in each part."""
    return (len({(run["rep"], run["checksum"]) for run in runs}) ==
            len({run["rep"] for run in runs}))


def best(results, mpi, program, regimes, key, baseline=plan.NONE):
    """(ratio, regime) of the one whose median is least."""
    found = [(statistics.median(values), regime) for regime in regimes
             if (values := results.ratios(mpi, program, regime, baseline, key))]
    return min(found, default=None)


def best_static(results, mpi, program):
    return best(results, mpi, program, ("static", "static-spin"), "half")


def promise(results, mpi, program):
    """(what was asked for, what was seen, is it kept) of one block."""
    dynamic = ("dlrb", "auto")
    if program == "balanced":
        for regime in results.regimes(mpi, program):
            seen = results.ratios(mpi, program, regime)
            if regime.removesuffix(plan.SPIN) in plan.POLICIES + ("wait",) and seen:
                yield (f"{regime}: at most 1 % slower than none", spread(seen),
                       statistics.median(seen) <= HARMLESS)
        return
    static = best_static(results, mpi, program)
    for key, title in (("half", "steady"), ("wall", "whole")):
        found = static and best(results, mpi, program, dynamic, key, static[1])
        if not found:
            return
        limit = 1 if program == "metbenchvar" else WITHIN_STATIC
        what = "better than" if limit == 1 else "within 3 % of"
        yield (f"dlrb or auto {what} the best static, {title}",
               f"{found[1]} / {static[1]}: {found[0]:.3f}", found[0] <= limit)


def promises(results):
    """[MPI, program, what, seen, kept] of all blocks."""
    return [[mpi, program, what, seen, "yes" if kept else "**no**"]
            for mpi, program in results.blocks()
            for what, seen, kept in promise(results, mpi, program)]


def gain(found):
    return found and f"{percent(1 - found[0], 0)} ({found[1]})"


def paper_rows(results):
    """[what, the thesis' gain, ours over wait and over none with each MPI]"""
    found = []
    for title, theirs, program, regimes in PAPER:
        ours = [best(results, mpi, program, regimes, "half", baseline)
                for mpi in plan.MPIS for baseline in BASELINES]
        if any(ours):
            found.append([title, theirs, *map(gain, ours)])
    return found


def hung_line(results):
    """Of each kind how many; None where all runs ended."""
    if not results.hung:
        return None
    kinds = Counter(results.hung)
    return ("Runs that did not end, and were made again: "
            + ", ".join(f"{kind} ({kinds[kind]})" for kind in sorted(kinds)) + ".")


def as_text(results):
    lines = []
    for mpi, program in results.blocks():
        runs = results.of(mpi, program)
        lines += ["", f"{program}, {mpi}; thesis: {plan.PAPER[program]}"
                  + ("" if same_results(runs) else "; RESULTS DIFFER"),
                  *format_table(HEADERS, rows(results, mpi, program))]
    if results.blocks():
        lines += ["", *format_table(["MPI", "program", "asked for", "seen", "kept"],
                                    promises(results))]
        lines += ["", hung_line(results)] if results.hung else []
    return "\n".join(lines) if lines else "nothing to report yet"


INTRODUCTION = """\
# Balancing ranks: what has been measured

`bench/balance/jobs`: jobs of a sandbox (`hpcb-sandbox`) of one node, four ranks on two \
CPUs, so that two ranks share a CPU as two hardware threads share a core in Boneti's thesis \
(2009). {machine}. Programs: metbench and metbenchvar (loads 1 and 4; metbenchvar: they \
change sides every 15 iterations), a stencil with the ratios of BT-MZ's zones (0.71, 1.16, \
2.67, 4), and one with equal loads; {iterations} iterations, a load of 1 is {unit_ms:g} ms. \
And LAMMPS, a real application: slabs of equal size, of densities 0.2, 0.35, 0.6 and 0.84, \
without balancing of its own; three time steps count as an iteration.

    bench/balance/jobs --state FILE                     # goes on where it was interrupted
    bench/balance/jobs --state FILE --report --write doc/results-balance.md

By default this is the most telling subset: all regimes with Open MPI, with MPICH those \
that are recommended, and with the balanced program those that could harm; `--all` runs \
every regime of each, 378 runs instead of 237.

- `none`: without the option, Slurm leaves the ranks free to run on both CPUs (and \
`none-again` the same a second time: how much a difference says). `wait`: \
`--hpc-balance=wait`, long waits sleep, and no more. `static`: the best setting that a \
search by runs finds. A name with `-spin`: waits are not turned into sleeps.
- *time / none*: wall time of all iterations by that of `none` of the same repetition, as \
median [least..most]. *steady / none*: the same of the second half of the iterations only. \
hpcbd begins to act two seconds after a task has started (until then Slurm and MPI bind \
it), which is much of such a short run and nothing of a real one.
- *rank N*: the part of its time that a rank computes, ready time included. \
*iterations*: until they are as fast (within 5 %) as in the second half, from the begin \
of the program; –: not before it, or it does not tell.
- Ranks that spin while they wait (`-spin`), two on a CPU, are what balancing can lose \
with: a rank whose share was lowered spins on, and so do those that wait for it. That is \
why waits become sleeps by default, and why `auto` gives up where iterations become longer.
"""


def machine_of(settings):
    facts = settings.get("machine")
    if not facts:
        return "On an unknown machine"
    return (f"One machine of {facts['cpus']} CPUs ({facts['cpu']}, Linux {facts['kernel']}), "
            f"{facts['date']}")


def as_markdown(results):
    settings = results.settings
    lines = [INTRODUCTION.format(machine=machine_of(settings), **{
        key: settings[key] for key in ("iterations", "unit_ms")})]
    lines += [*(f"- {note}" for note in results.notes), ""] if results.notes else []
    lines += ["## What was asked for", "",
              *markdown_table(["MPI", "program", "asked for", "seen", "kept"],
                              promises(results)), "",
              "## Beside the thesis", "",
              "Its gains on POWER5's hardware priorities, and the best of ours (steady): "
              "less time than `wait`, and than `none`, in which ranks poll.  The ranks of "
              "the thesis sleep while they wait, so that `wait` is what its gains compare "
              "with; what `none` adds is the sleeping.  `wait` has fewer repetitions than "
              "`none`, and a gain below zero is a loss.  A difference of 2 in priority "
              "gives a thread of POWER5 7/8 of the decode cycles, which are less than CPU "
              "time: ours can be larger.", "",
              *markdown_table(["", "thesis", *(f"{mpi}, over {baseline}"
                                               for mpi in plan.MPIS
                                               for baseline in BASELINES)],
                              paper_rows(results))]
    lines += ["", hung_line(results)] if results.hung else []
    for mpi, program in results.blocks():
        lines += ["", f"## {program}, {mpi}", ""]
        settings_seen = [f"{name} `{found}`" for name, spins in
                         (("static", False), ("static-spin", True))
                         if (found := results.setting(program, spins))]
        if settings_seen:
            lines += ["CPU and priority of each rank: " + ", ".join(settings_seen) + ".", ""]
        if not same_results(results.of(mpi, program)):
            lines += ["**The results of the program differ between runs.**", ""]
        lines += markdown_table(HEADERS, rows(results, mpi, program))
    return "\n".join(lines) + "\n"
