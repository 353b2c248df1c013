# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Quality of service of primaries: runs with guests beside them against runs of the
same application (user, name and CPUs) without.

The collector knows who was beside whom.  Where it does not say (sacct alone), a guest
that was on one of the primary's nodes at the same time counts, whatever CPUs it had.
"""

from array import array
from bisect import bisect_right
from statistics import median

from .hostlist import expand
from .runs import ALONE, ALONE_UNKNOWN, BESIDE, GUEST, NAN, PRIMARY


class NodeLists:
    """Names of nodes of a list, expanded once."""

    def __init__(self, runs):
        self.texts = runs.node_lists.texts
        self.known = {}

    def names(self, number):
        found = self.known.get(number)
        if found is None:
            found = self.known[number] = expand(self.texts[number])
        return found


def find_guests(runs, lists):
    """Set runs.beside of the primaries for which nothing tells."""
    open_rows = [row for row in range(len(runs))
                 if runs.beside[row] == ALONE_UNKNOWN and runs.klass[row] == PRIMARY and
                 runs.nodes[row]]
    if not open_rows:
        return
    busy = _guest_intervals(runs, lists)
    for row in open_rows:
        start, end = _interval(runs, row)
        if start == start:
            runs.beside[row] = (
                BESIDE if any(_overlaps(busy.get(node), start, end)
                              for node in lists.names(runs.nodes[row])) else ALONE)


def _interval(runs, row):
    """What goes on ends never; never started: NaN."""
    start, end = runs.s_start[row], runs.s_end[row]
    if start != start:
        start, end = runs.r_start[row], runs.r_end[row]
    return start, end if end == end else float("inf")


def _guest_intervals(runs, lists):
    """{node: ([starts], [ends])} in which some guest was there."""
    found = {}
    for row in range(len(runs)):
        if runs.klass[row] == GUEST and runs.nodes[row]:
            interval = _interval(runs, row)
            if interval[0] == interval[0]:
                for node in lists.names(runs.nodes[row]):
                    found.setdefault(node, []).append(interval)
    return {node: _merged(intervals) for node, intervals in found.items()}


def _merged(intervals):
    starts, ends = [], []
    for start, end in sorted(intervals):
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return starts, ends


def _overlaps(busy, start, end):
    if busy is None:
        return False
    starts, ends = busy
    at = bisect_right(starts, end)
    return at > 0 and ends[at - 1] > start and starts[at - 1] < end


class Slowdown:
    """ratios: for each run of facts its running time over the median of the same
    application's runs alone; NaN for all but primaries with guests beside that ended
    well and have run alone too.  applications: rows for a table, most runs first."""

    def __init__(self, found):
        self.found = found
        self.ratios = array("d", [NAN]) * len(found)
        self.applications = []
        both = self._applications()
        times = {key: ([], []) for key in both}
        for at, key, beside in self._compared():
            if key in times:
                times[key][beside].append(found.run[at])
        alone = {key: median(runs[ALONE]) for key, runs in times.items()}
        for at, key, beside in self._compared():
            if beside and alone.get(key):
                self.ratios[at] = found.run[at] / alone[key]
        self._table(times, alone)

    def _compared(self):
        """(index, application, 0 or 1 for guests beside) of what can be compared."""
        found, runs = self.found, self.found.runs
        for at, row in enumerate(found.row):
            beside = runs.beside[row]
            if (runs.klass[row] == PRIMARY and beside >= 0 and found.ended_well[at] and
                    found.final[at]):
                # In one number: a million tuples would be too many.
                yield at, (runs.user[row] << 52 | runs.name[row] << 24 |
                           min(found.cpus[at], 0xFFFFFF)), beside

    def _applications(self):
        """Those that have run alone and with guests."""
        seen = {}
        for _, key, beside in self._compared():
            seen[key] = seen.get(key, 0) | 1 << beside
        return [key for key, kinds in seen.items() if kinds == 3]

    def _table(self, times, alone):
        runs = self.found.runs
        for key, (without, beside) in times.items():
            if not alone[key]:
                continue
            self.applications.append({
                "user": runs.users.texts[key >> 52],
                "name": runs.names.texts[key >> 24 & 0xFFFFFFF],
                "cpus": key & 0xFFFFFF,
                "runs_alone": len(without), "runs_with_guests": len(beside),
                "alone_median_seconds": alone[key],
                "with_guests_median_seconds": median(beside),
                "slowdown": median(beside) / alone[key],
            })
        self.applications.sort(key=lambda row: (-row["runs_with_guests"], row["user"],
                                                row["name"], row["cpus"]))
