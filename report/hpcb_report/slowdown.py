# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Quality of service of primaries: runs with guests beside them against runs of the
same application (user, name and CPUs) without.

The collector knows who was beside whom.  Where it does not say (sacct alone), a guest
that was on one of the primary's nodes at the same time counts, whatever CPUs it had.
"""

from array import array
from bisect import bisect_right
from collections import defaultdict
from statistics import median

from .base import ALONE, ALONE_UNKNOWN, BESIDE, GUEST, INFINITY, PRIMARY, pieces
from .facts import nodes_of
from .hostlist import expand
from .metrics import interval


# The least and the most of 6 hold the median with 97%; fewer have no interval.
SPAN_FEWEST = 6


class NodeLists:
    """Names of nodes of a list, expanded once."""

    def __init__(self):
        self.known = {}

    def names(self, text):
        found = self.known.get(text)
        if found is None:
            found = self.known[text] = expand(text) if text else []
        return found


# Runs of a class with the time that they were there and their nodes.  What goes on ends
# never.
_RECORDED = """SELECT r.rid, r.start, r."end", {nodes} FROM record r WHERE {klass} AND
  NOT EXISTS (SELECT 1 FROM pair p WHERE p.rid = r.rid)"""
_TOLD = """SELECT -t.tid, coalesce(t.start, r.start),
  CASE WHEN t.start IS NULL THEN r."end" ELSE t."end" END, {nodes}
  FROM told t LEFT JOIN pair p ON p.tid = t.tid LEFT JOIN record r ON r.rid = p.rid
  WHERE CASE WHEN coalesce(r.klass, 2) = 2 THEN t.klass ELSE r.klass END = {klass}"""


def _intervals(base, lists, klass, unknown=False):
    """(number of the run, start, end, names of nodes).  unknown: those alone of which
    no record says who was beside them."""
    recorded = _RECORDED.format(nodes=nodes_of("r.rid", "NULL"),
                                klass=f"r.klass = {klass}")
    told = _TOLD.format(nodes=nodes_of("p.rid", "t.tid"), klass=klass)
    if unknown:
        recorded += f" AND r.beside = {ALONE_UNKNOWN}"
        told += f" AND coalesce(r.beside, {ALONE_UNKNOWN}) = {ALONE_UNKNOWN}"
    for sql in (recorded, told) if base.has_told else (recorded,):
        for mid, start, end, nodes in base.ask(sql):
            if nodes and start is not None:
                yield mid, start, INFINITY if end is None else end, lists.names(nodes)


def find_guests(base):
    """Find out for the primaries of which nothing tells who was beside them."""
    if not base.has_unknown():
        return
    lists = NodeLists()
    busy = None
    found = []
    for mid, start, end, names in _intervals(base, lists, PRIMARY, unknown=True):
        if busy is None:
            busy = _guest_intervals(base, lists)
        found.append((mid, BESIDE if any(_overlaps(busy.get(name), start, end)
                                         for name in names) else ALONE))
        if len(found) >= 10000:
            base.db.executemany("INSERT INTO company VALUES (?, ?)", found)
            found.clear()
    base.db.executemany("INSERT INTO company VALUES (?, ?)", found)


def _guest_intervals(base, lists):
    """{node: ([starts], [ends])} in which some guest was there."""
    found = {}
    for _, start, end, names in _intervals(base, lists, GUEST):
        for name in names:
            found.setdefault(name, []).append((start, end))
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


# Runs that can be compared.
_COMPARED = (f"f.klass = {PRIMARY} AND f.beside >= 0 AND f.ended_well AND f.final")

# CPUs of an application, as far as they are told apart.
_CPUS = "min(f.cpus, 16777215)"


class Slowdown:
    """ratios: SQL of a run's running time over the median of the same application's
    runs alone; NULL for all but primaries with guests beside that ended well and have
    run alone too.  applications: rows for a table, most runs first."""

    def __init__(self, found):
        self.found = found
        self.applications = []
        base = found.base
        base.db.execute("CREATE TEMP TABLE app (user TEXT, name TEXT, cpus INTEGER, "
                        "alone REAL, PRIMARY KEY (user, name, cpus)) WITHOUT ROWID")
        for key, without, beside in self._applications():
            alone = median(without)
            if not alone:
                continue
            base.ask("INSERT INTO app VALUES (?, ?, ?, ?)", *key, alone)
            self._add(key, without, beside, alone)
        self.applications.sort(key=lambda row: (-row["runs_with_guests"], row["user"],
                                                row["name"], row["cpus"]))

    def _applications(self):
        """(user, name, CPUs), and the running times of the runs without guests and with,
        of those that have both."""
        times = defaultdict(lambda: array("d"))
        for *keys, runs in pieces(self.found.rows(
                f"f.user, f.name, {_CPUS}, f.beside, f.run", f"WHERE {_COMPARED}")):
            for key, run in zip(zip(*keys), runs):
                times[key].append(run)
        for (*key, beside), without in list(times.items()):
            if beside == ALONE and (*key, BESIDE) in times:
                yield key, without, times[(*key, BESIDE)]

    def _add(self, key, without, beside, alone):
        low, high = interval(sorted(beside), SPAN_FEWEST)
        self.applications.append({
            "user": key[0], "name": key[1], "cpus": key[2],
            "runs_alone": len(without), "runs_with_guests": len(beside),
            "alone_median_seconds": alone,
            "with_guests_median_seconds": median(beside),
            "slowdown": median(beside) / alone,
            "slowdown_low": low and low / alone, "slowdown_high": high and high / alone,
        })

    def rows(self, columns):
        """columns and the ratio of each run that has one, the smallest first."""
        return self.found.rows(
            f"{columns}, f.run / a.alone AS ratio",
            f"CROSS JOIN app a ON a.user = f.user AND a.name = f.name AND a.cpus = "
            f"{_CPUS} WHERE {_COMPARED} AND f.beside = {BESIDE} ORDER BY ratio")
