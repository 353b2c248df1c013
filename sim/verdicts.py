# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Verdicts by the rules of sim/papers.json (rule, sandbox_rule), and how many there are
of each."""

import statistics

KEPT, BROKEN, UNDECIDED = "kept", "**broken**", "undecided"
NOT_SIMULATED, NOT_MEASURED = "not simulated", "not measured yet"
# What a row counts as that has several cells: the first of these that one of them says.
ORDER = (BROKEN, KEPT, UNDECIDED, NOT_SIMULATED, NOT_MEASURED)
NO_CHANGE = [0.0]


def changes(ratios):
    """Ratios as changes in percent."""
    return [100 * (ratio - 1) for ratio in ratios]


def room(figure, change):
    """How far from the figure is as good as the figure."""
    return 1.0 if change and abs(figure) < 10 else abs(figure) / 10


def verdict(paper, values, change=False):
    """By `rule`.  change: the figures are changes in percent."""
    around = room(paper, change)
    return KEPT if min(values) - around <= paper <= max(values) + around else BROKEN


def measured_verdict(measured, simulated, change=False):
    """By `sandbox_rule`, of all measured and all simulated figures."""
    middle = statistics.median(measured)
    around = room(middle, change)
    low, high = min(*measured, middle - around), max(*measured, middle + around)
    return KEPT if low <= statistics.median(simulated) <= high else BROKEN


def is_wide(figure, values):
    """The band of the simulated figures is wider than the figure."""
    return max(values) - min(values) > abs(figure)


class Counts:
    """Of rows, by area.  Cells that follow from one simulated figure have the same key:
    they are one row, and broken if one of them is."""

    def __init__(self):
        self.areas = {}

    def add(self, area, said, key=None, no_change=None, wide=False):
        """no_change: whether "no change" would be kept; None: the figure is none of a
        change."""
        rows = self.areas.setdefault(area, {})
        rows.setdefault(len(rows) if key is None else key, []).append(
            (said, no_change, wide))
        return said

    def rows(self, area):
        """{key: its verdict}"""
        return {key: next(said for said in ORDER if said in [cell[0] for cell in cells])
                for key, cells in self.areas.get(area, {}).items()}

    def broken(self, area):
        return [key for key, said in self.rows(area).items() if said == BROKEN]

    def summary(self, area):
        said = list(self.rows(area).values())
        cells = self.areas[area]
        wide = sum(any(cell[2] for cell in cells[key])
                   for key, row in self.rows(area).items() if row == KEPT)
        nothing = sum(all(answers) for answers in (
            [cell[1] for cell in row if cell[1] is not None] for row in cells.values())
                      if answers)
        return (len(said), said.count(KEPT), wide, nothing, said.count(BROKEN),
                said.count(UNDECIDED), said.count(NOT_SIMULATED) + said.count(NOT_MEASURED))

    HEADINGS = ("rows", "kept", "of these, wide", "kept by \"no change\"", "broken",
                "undecided", "not simulated or not measured")
