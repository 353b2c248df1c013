# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Figures of groups of jobs.  The definitions are the thesis' (Stiehr 2004, section
3.2.2): throughput is jobs by the hours from the first submission to the last end;
efficiency is CPU time by processors x time; turnaround is end - submission."""

import math
import time
from array import array

from .runs import CLASSES, GUEST, PRIMARY

KEYS = ("class", "user", "partition", "cluster", "name", "cpus", "hour", "day", "week",
        "month")
_TIME_FORMATS = {"hour": "%Y-%m-%dT%H:00", "day": "%Y-%m-%d", "week": "%G-W%V",
                 "month": "%Y-%m"}
PERCENTILES = (50, 90, 95, 99)

# No time zone's hour begins within such a piece of a day.
_QUARTER = 900


class Group:
    """Sums over runs, and what each job took."""

    __slots__ = ("jobs", "runs", "cpu", "capacity", "delay", "node_wall", "measured",
                 "evictions", "first", "last", "turnaround", "waiting", "running",
                 "slowdown")

    def __init__(self):
        self.jobs = self.runs = self.evictions = self.measured = 0
        self.cpu = self.capacity = self.delay = self.node_wall = 0.0
        self.first, self.last = math.inf, -math.inf
        self.turnaround, self.waiting = array("d"), array("d")
        self.running, self.slowdown = array("d"), array("d")

    def merge(self, other):
        for name in ("jobs", "runs", "cpu", "capacity", "delay", "node_wall",
                     "measured", "evictions"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.first = min(self.first, other.first)
        self.last = max(self.last, other.last)
        for name in ("turnaround", "waiting", "running", "slowdown"):
            getattr(self, name).extend(getattr(other, name))


def grouped(found, ratios, keys):
    """{(value of each key…, class code): Group}"""
    groups = {}
    columns = (found.row, found.submit, found.start, found.end, found.run, found.cpu,
               found.capacity, found.delay, found.node_wall, found.final,
               found.evictions, found.measured, ratios)
    klass = found.runs.klass
    key_of = _key_function(found.runs, found, keys)
    for (row, submit, start, end, run, cpu, capacity, delay, node_wall, final,
         evictions, measured, ratio) in zip(*columns):
        key = (*key_of(row, end), klass[row]) if keys else klass[row]
        group = groups.get(key)
        if group is None:
            group = groups[key] = Group()
        group.runs += 1
        group.cpu += cpu
        group.capacity += capacity
        group.evictions += evictions
        if measured:
            group.measured += 1
            group.delay += delay
            group.node_wall += node_wall
        if submit < group.first:
            group.first = submit
        elif submit != submit and start < group.first:
            group.first = start
        if end > group.last:
            group.last = end
        if not final:
            continue
        group.jobs += 1
        group.running.append(run)
        if submit == submit:
            group.turnaround.append(max(0.0, end - submit))
            group.waiting.append(max(0.0, start - submit))
        if ratio == ratio:
            group.slowdown.append(ratio)
    return groups if keys else {(code,): group for code, group in groups.items()}


def _key_function(runs, found, keys):
    """(row, end) → tuple of the keys' values."""
    simple = {"class": lambda row, end: CLASSES[runs.klass[row]],
              "user": lambda row, end: runs.users.texts[runs.user[row]],
              "partition": lambda row, end: runs.partitions.texts[runs.partition[row]],
              "cluster": lambda row, end: runs.cluster(row),
              "name": lambda row, end: runs.names.texts[runs.name[row]],
              "cpus": lambda row, end: runs.r_cpus[row] or runs.s_cpus[row]}
    functions = [simple.get(key) or _Calendar(_TIME_FORMATS[key]) for key in keys]
    if len(functions) == 1:
        only = functions[0]
        return lambda row, end: (only(row, end),)
    return lambda row, end: tuple(function(row, end) for function in functions)


class _Calendar:
    """The hour, day, … of a time, in local time; a quarter of an hour is looked up
    once."""

    def __init__(self, form):
        self.form = form
        self.known = {}

    def __call__(self, _row, end):
        quarter = int(end // _QUARTER)
        text = self.known.get(quarter)
        if text is None:
            text = time.strftime(self.form, time.localtime(quarter * _QUARTER))
            self.known[quarter] = text
        return text


def total(groups):
    everything = Group()
    for group in groups:
        everything.merge(group)
    return everything


def ratio(part, whole):
    return part / whole if whole else None


def percentile(ordered, percent):
    """Nearest rank."""
    if not ordered:
        return None
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def _spread(name, values):
    ordered = sorted(values)
    figures = {f"{name}_mean_seconds": ratio(math.fsum(ordered), len(ordered))}
    for percent in PERCENTILES:
        figures[f"{name}_p{percent}_seconds"] = percentile(ordered, percent)
    figures[f"{name}_max_seconds"] = ordered[-1] if ordered else None
    return figures


def figures(group, since=None):
    """What is said of a group: {member of --json: value}, None where nothing tells.
    since: the period is not taken to begin before it."""
    first = group.first if since is None else max(group.first, since)
    period = max(0.0, group.last - first) if group.runs else 0.0
    slow = sorted(group.slowdown)
    return {
        "jobs": group.jobs,
        "runs": group.runs,
        "cpu_seconds": group.cpu,
        "allocated_cpu_seconds": group.capacity,
        "efficiency": ratio(group.cpu, group.capacity),
        "period_seconds": period,
        "throughput_jobs_per_hour": ratio(3600.0 * group.jobs, period),
        **_spread("turnaround", group.turnaround),
        **_spread("waiting", group.waiting),
        **_spread("running", group.running),
        "stolen_seconds": group.delay if group.measured else None,
        "stolen_fraction": ratio(group.delay, group.node_wall),
        "slowdown_runs": len(slow),
        "slowdown_median": percentile(slow, 50),
        "slowdown_p95": percentile(slow, 95),
        "evictions": group.evictions,
        "runs_measured": group.measured,
    }


def processors(found):
    """The most CPUs that the primaries, or the guests, have held at once: two jobs of
    one class never share a core, so at least as many are there."""
    return max((_peak(found, code) for code in (PRIMARY, GUEST)), default=0)


def _peak(found, code):
    events = array("q")
    add = events.append
    klass = found.runs.klass
    for row, start, end, cpus in zip(found.row, found.start, found.end, found.cpus):
        if klass[row] != code or not 0 < cpus < 1 << 20:
            continue
        # Time in tenths of a second, whether they come, CPUs: in one number, so that
        # at the same moment those that go are first.
        begin = int(10 * start)
        add(begin << 21 | 1 << 20 | cpus)
        add(max(begin + 1, int(10 * end)) << 21 | cpus)
    most = now = 0
    for event in sorted(events):
        if event & 1 << 20:
            now += event & 0xFFFFF
            most = max(most, now)
        else:
            now -= event & 0xFFFFF
    return most


class Report:
    """Everything that the outputs say, from facts."""

    def __init__(self, found, slowdown, wanted, keys=(), cpus=None):
        self.found, self.slowdown = found, slowdown
        self.since = wanted.since if wanted.since > -math.inf else None
        self.until = wanted.until if wanted.until < math.inf else None
        self.keys = tuple(keys)
        split = grouped(found, slowdown.ratios, self.keys)
        classes = {}
        for key, group in split.items():
            classes.setdefault(key[-1], Group()).merge(group)
        self.classes = classes
        self.all = total(classes.values())
        self.processors = cpus or processors(found)
        self.totals = self._totals()
        self.by_class = {
            CLASSES[code]: figures(classes.get(code) or Group(), self.since)
            for code in range(len(CLASSES))
            if code in (PRIMARY, GUEST) or code in classes}
        self.rows = self._rows(split)

    def _totals(self):
        said = figures(self.all, self.since)
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

    def _rows(self, split):
        """[{key: value, …, figures…}] of --by, in the order of their values."""
        if not self.keys:
            return []
        merged = {}
        for key, group in split.items():
            merged.setdefault(key[:-1], []).append(group)
        rows = []
        for key in sorted(merged):
            group = merged[key][0] if len(merged[key]) == 1 else total(merged[key])
            rows.append({**dict(zip(self.keys, key)), **figures(group, self.since)})
        return rows
