# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Figures of groups of jobs.  The definitions are the thesis' (Stiehr 2004, section
3.2.2): throughput is jobs by the hours from the first submission to the last end;
efficiency is CPU time by processors x time; turnaround is end - submission."""

import math
import time
from array import array
from bisect import bisect_left
from collections import defaultdict
from itertools import compress

from .base import CLASSES, GUEST, PRIMARY, pieces

KEYS = ("class", "user", "partition", "cluster", "name", "cpus", "hour", "day", "week",
        "month")
_TIME_FORMATS = {"hour": "%Y-%m-%dT%H:00", "day": "%Y-%m-%d", "week": "%G-W%V",
                 "month": "%Y-%m"}
PERCENTILES = (50, 90, 95, 99)

# Fewer runs than this tell nobody what guests cost.
FEWEST = 30

# Groups up to which one is chosen after the other from some thousand rows.
_FEW = 6

# No time zone's hour begins within such a piece of a day.
_QUARTER = 900


# Values of a group that a report tells the mean and percentiles of: SQL of a run.
_SPREADS = {
    "turnaround": "coalesce(max(0.0, f.\"end\" - f.submit), -1.0)",
    "waiting": "coalesce(max(0.0, f.start - f.submit), -1.0)",
    "running": "f.run",
}

_SUMS = """count(*), sum(f.final), sum(f.cpu), sum(f.capacity),
  sum(CASE WHEN f.measured THEN f.delay ELSE 0.0 END),
  sum(CASE WHEN f.measured THEN f.node_wall ELSE 0.0 END), sum(f.measured),
  sum(f.evictions), total(f.network), count(f.network), total(f.memory),
  count(f.memory), sum(f.for_memory),
  sum(CASE WHEN f.for_memory THEN f.cpu ELSE 0.0 END), count(f.cost),
  total(CASE WHEN f.cost IS NOT NULL THEN f.node_wall END), total(f.cost * f.node_wall),
  total((f.cost_high - f.cost_low) * (f.cost_high - f.cost_low) * f.node_wall *
        f.node_wall), total(f.cost_method = 'run_delay'),
  total(f.cost_method = 'instructions'), total(f.cost_method = 'iterations'),
  total(f.guard_steps), total(f.guests_requeued), total(f.sliced),
  total(f.throttled), total(f.stopped), total(f.starved), sum(f.for_harm),
  sum(f.for_starving), min(coalesce(f.submit, f.start)),
  max(f."end")"""

# Runs by how what guests cost them was measured, in the order of these sums.
_METHODS = ("by_run_delay", "by_instructions", "by_iterations")

# What the guard did, in the order of these sums.
_GUARD = ("guard_steps", "guests_requeued", "sliced", "throttled", "stopped", "starved",
          "for_harm", "for_starving")


class Group:
    """Sums over runs; and of what each job took its mean and percentiles, in figures."""

    __slots__ = ("runs", "jobs", "cpu", "capacity", "delay", "node_wall", "measured",
                 "evictions", "network", "network_runs", "memory", "memory_runs",
                 "for_memory", "lost", "cost_runs", "cost_wall", "cost", "cost_square",
                 *_METHODS, *_GUARD, "first", "last", "figures")

    def __init__(self, sums=(0, 0, 0.0, 0.0, 0.0, 0.0, 0, 0, 0.0, 0, 0.0, 0, 0, 0.0, 0,
                             0.0, 0.0, 0.0, *[0] * len(_METHODS + _GUARD), math.inf,
                             -math.inf)):
        (self.runs, self.jobs, self.cpu, self.capacity, self.delay, self.node_wall,
         self.measured, self.evictions, self.network, self.network_runs, self.memory,
         self.memory_runs, self.for_memory, self.lost, self.cost_runs,
         self.cost_wall, self.cost, self.cost_square, self.by_run_delay,
         self.by_instructions, self.by_iterations, self.guard_steps,
         self.guests_requeued, self.sliced, self.throttled, self.stopped, self.starved,
         self.for_harm, self.for_starving, self.first, self.last) = sums
        self.figures = _no_figures()

    def merge(self, other):
        for name in ("jobs", "runs", "cpu", "capacity", "delay", "node_wall",
                     "measured", "evictions", "network", "network_runs", "memory",
                     "memory_runs", "for_memory", "lost", "cost_runs", "cost_wall",
                     "cost", "cost_square", *_METHODS, *_GUARD):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)


def _no_figures():
    figures = {}
    for name in _SPREADS:
        figures.update(_spread(name, ()))
    return {**figures, **_slowdown(())}


class Groups:
    """Groups of the runs by keys and class: split has one for each combination, rows one
    for each of keys alone, classes one for each class, all is everything."""

    def __init__(self, found, slowdown, keys):
        self.found = found
        self.keys = [_key_of(found, key) for key in keys]
        columns = ", ".join([*self.keys, "f.klass"])
        self.rows, self.classes = {}, {}
        self.all = Group()
        places = len(self.keys)
        for row in self._sums(columns):
            group = Group(row[places + 1:])
            for target in self._targets(row[:places], row[places]):
                target.merge(group)
        self._spread(found.rows(f"{columns}, {', '.join(_SPREADS.values())}",
                                "WHERE f.final"),
                     [lambda ordered, name=name: _spread(name, ordered)
                      for name in _SPREADS])
        self._spread(slowdown.rows(columns), [_slowdown])

    def _sums(self, columns):
        """A row a combination of keys and class."""
        if self.keys:
            yield from self.found.rows(f"{columns}, {_SUMS}", f"GROUP BY {columns}")
            return
        # Three readings are faster than sorting everything once.
        for klass in range(len(CLASSES)):
            for row in self.found.rows(f"{klass}, {_SUMS}", f"WHERE f.klass = {klass}"):
                if row[1]:
                    yield row

    def _targets(self, key, klass):
        return [self.all, self.classes.setdefault(klass, Group()),
                *([self.rows.setdefault(key, Group())] if self.keys else ())]

    def _spread(self, rows, figures):
        """rows: keys, class, and a value for each of figures, below 0 if it is not
        known."""
        found = defaultdict(lambda: [array("d") for _ in figures])
        for columns in pieces(rows):
            groups = list(zip(*columns[:len(self.keys) + 1]))
            _split(found, groups, columns[len(self.keys) + 1:])
        for at, figures_of in enumerate(figures):
            self._spread_one({key: values[at] for key, values in found.items()},
                             figures_of)

    def _spread_one(self, found, figures):
        """found: {(keys, class): values}"""
        merged = {}
        for key, values in found.items():
            ordered = sorted(values)
            del ordered[:bisect_left(ordered, 0.0)]
            merged.setdefault(key[-1], []).extend(ordered)
            if self.keys:
                merged.setdefault(key[:-1], []).extend(ordered)
        everything = []
        for key, values in merged.items():
            # What is in order already, piece by piece, is sorted fast.
            values.sort()
            if isinstance(key, tuple):
                self.rows[key].figures.update(figures(values))
                continue
            self.classes[key].figures.update(figures(values))
            everything += values
        everything.sort()
        self.all.figures.update(figures(everything))


def _split(found, groups, columns):
    """Append what is in columns to the columns of found that belong to its group."""
    different = set(groups)
    if len(different) > _FEW:
        for key, *values in zip(groups, *columns):
            for target, value in zip(found[key], values):
                target.append(value)
        return
    for key in different:
        chosen = list(map(key.__eq__, groups))
        for target, column in zip(found[key], columns):
            target.extend(compress(column, chosen))


def _key_of(found, key):
    """SQL of a key's value of a run."""
    if key in _TIME_FORMATS:
        found.base.db.create_function("calendar_" + key, 1, _Calendar(
            _TIME_FORMATS[key]))
        return f'calendar_{key}(f."end")'
    if key == "class":
        return "CASE f.klass " + " ".join(
            f"WHEN {code} THEN '{name}'" for code, name in enumerate(CLASSES)) + " END"
    return {"cpus": "f.key_cpus"}.get(key, "f." + key)


class _Calendar:
    """The hour, day, … of a time, in local time; a quarter of an hour is looked up
    once."""

    def __init__(self, form):
        self.form = form
        self.known = {}

    def __call__(self, end):
        quarter = int(end // _QUARTER)
        text = self.known.get(quarter)
        if text is None:
            text = time.strftime(self.form, time.localtime(quarter * _QUARTER))
            self.known[quarter] = text
        return text


def ratio(part, whole):
    return part / whole if whole else None


def percentile(ordered, percent):
    """Nearest rank."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def _spread(name, ordered):
    figures = {f"{name}_mean_seconds": ratio(math.fsum(ordered), len(ordered))}
    for percent in PERCENTILES:
        figures[f"{name}_p{percent}_seconds"] = percentile(ordered, percent)
    figures[f"{name}_max_seconds"] = ordered[-1] if ordered else None
    return figures


def interval(ordered, fewest):
    """The median lies between these with 95% confidence, however the values are spread:
    order statistics by the normal approximation of the binomial distribution.  None for
    fewer than that."""
    count = len(ordered)
    if count < fewest:
        return None, None
    rank = max(1, math.floor((count - 1.96 * math.sqrt(count)) / 2))
    return ordered[rank - 1], ordered[count - rank]


def _slowdown(ordered):
    low, high = interval(ordered, FEWEST)
    return {"slowdown_runs": len(ordered),
            "slowdown_median": percentile(ordered, 50),
            "slowdown_low": low, "slowdown_high": high,
            "slowdown_p95": percentile(ordered, 95)}


def _transfers(group, reasons):
    """Bytes of the runs that were measured; a reason if none was."""
    said = {}
    for name in ("network", "memory"):
        runs = getattr(group, name + "_runs")
        said[name + "_bytes"] = int(getattr(group, name)) if runs else None
        said[name + "_runs"] = runs
        said[name + "_reason"] = None if runs else (
            reasons[name] if group.measured else "no record tells of a run")
    return said


def _guest_cost(group):
    """What guests cost the runs that were measured, weighted by their time on nodes.
    The errors of the runs are independent, so that they add up by their squares."""
    cost = ratio(group.cost, group.cost_wall)
    half = None if cost is None else math.sqrt(group.cost_square) / group.cost_wall / 2
    return {"guest_cost_runs": group.cost_runs,
            **{f"guest_cost_{name}_runs": int(getattr(group, name)) for name in _METHODS},
            "guest_cost": cost,
            "guest_cost_low": None if cost is None else cost - half,
            "guest_cost_high": None if cost is None else cost + half}


def _guard(group):
    """What hpcbd did so that guests harm no primary, by the records."""
    return {"guard_steps": int(group.guard_steps),
            "guests_requeued": int(group.guests_requeued),
            "sliced_seconds": float(group.sliced),
            "throttled_seconds": float(group.throttled),
            "stopped_seconds": float(group.stopped),
            "starved_seconds": float(group.starved),
            "ended_for_harm": int(group.for_harm),
            "ended_for_starving": int(group.for_starving)}


def figures(group, reasons, since=None):
    """What is said of a group: {member of --json: value}, None where nothing tells.
    reasons: why bytes are not measured here.  since: the period is not taken to begin
    before it."""
    first = group.first if since is None else max(group.first, since)
    period = max(0.0, group.last - first) if group.runs else 0.0
    spreads = {name: value for name, value in group.figures.items()
               if not name.startswith("slowdown")}
    slow = {name: value for name, value in group.figures.items()
            if name.startswith("slowdown")}
    return {
        "jobs": group.jobs,
        "runs": group.runs,
        "cpu_seconds": group.cpu,
        "allocated_cpu_seconds": group.capacity,
        "efficiency": ratio(group.cpu, group.capacity),
        "period_seconds": period,
        "throughput_jobs_per_hour": ratio(3600.0 * group.jobs, period),
        **spreads,
        "stolen_seconds": group.delay if group.measured else None,
        "stolen_fraction": ratio(group.delay, group.node_wall),
        **slow,
        "evictions": group.evictions,
        "ended_for_memory": group.for_memory,
        "ended_for_memory_cpu_seconds": group.lost,
        **_guest_cost(group),
        **_guard(group),
        "runs_measured": group.measured,
        **_transfers(group, reasons),
    }


def processors(found):
    """The most CPUs that the primaries, or the guests, have held at once: two jobs of
    one class never share a core, so at least as many are there."""
    # Time in tenths of a second, whether they come, class, CPUs: in one number, so that
    # at the same moment those that go are first.
    begin = "CAST(10 * f.start AS INTEGER)"
    events = array("q")
    for pair in pieces(found.rows(
            f"{begin} << 22 | 2097152 | (f.klass << 20) | f.cpus, max({begin} + 1, "
            "CAST(10 * f.\"end\" AS INTEGER)) << 22 | (f.klass << 20) | f.cpus",
            "WHERE f.klass < 2 AND f.cpus > 0 AND f.cpus < 1048576")):
        for column in pair:
            events.extend(column)
    most, now = 0, [0, 0]
    for event in sorted(events):
        klass = event >> 20 & 1
        if event & 2097152:
            now[klass] += event & 0xFFFFF
            if now[klass] > most:
                most = now[klass]
        else:
            now[klass] -= event & 0xFFFFF
    return most


class Report:
    """Everything that the outputs say, from facts."""

    def __init__(self, found, slowdown, wanted, keys=(), cpus=None):
        self.found, self.slowdown = found, slowdown
        self.since = wanted.since if wanted.since > -math.inf else None
        self.until = wanted.until if wanted.until < math.inf else None
        self.keys = tuple(keys)
        groups = Groups(found, slowdown, self.keys)
        classes = self.classes = groups.classes
        self.all = groups.all
        self.processors = cpus or processors(found)
        self.reasons = {name: found.why_unmeasured(name) or "the records do not say"
                        for name in ("network", "memory")}
        self.totals = self._totals()
        self.by_class = {
            CLASSES[code]: figures(classes.get(code) or Group(), self.reasons, self.since)
            for code in range(len(CLASSES))
            if code in (PRIMARY, GUEST) or code in classes}
        self.rows = self._rows(groups.rows)

    def _totals(self):
        said = figures(self.all, self.reasons, self.since)
        guest = self.classes.get(GUEST) or Group()
        said["unfinished"] = self.found.unfinished
        said["never_started"] = self.found.never_started
        said["first_submit"] = self.all.first if self.all.runs else None
        said["last_end"] = self.all.last if self.all.runs else None
        said["processors"] = self.processors
        said["allocation_efficiency"] = said["efficiency"]
        available = self.processors * said["period_seconds"]
        said["efficiency"] = ratio(self.all.cpu, available)
        said["efficiency_without_guests"] = ratio(self.all.cpu - guest.cpu, available)
        said["guest_cpu_seconds"] = guest.cpu
        said["guest_cpu_fraction"] = ratio(guest.cpu, self.all.cpu)
        primary = self.classes.get(PRIMARY) or Group()
        said["throughput_primaries_per_hour"] = ratio(3600.0 * primary.jobs,
                                                      said["period_seconds"])
        return said

    def _rows(self, groups):
        """[{key: value, …, figures…}] of --by, in the order of their values."""
        return [{**dict(zip(self.keys, key)), **figures(groups[key], self.reasons, self.since)}
                for key in sorted(groups)]
