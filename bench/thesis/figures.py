# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""From what bench/thesis recorded to the thesis' figures (Stiehr 2004, sections 3.1 and
3.2.2).  Pure.

A process is [start, end, CPU, run delay] in seconds; a job is a dict with "app", "low",
"weight" and "ranks"; a run is a dict with "rep", "name" and "jobs".
"""

from collections import defaultdict
from statistics import mean, median, stdev

import stats


def span(job):
    """(start of the first process, end of the last)."""
    return min(r[0] for r in job["ranks"]), max(r[1] for r in job["ranks"])


def cpu(job):
    return sum(rank[2] for rank in job["ranks"])


def process_seconds(job):
    return sum(rank[1] - rank[0] for rank in job["ranks"])


def application(job):
    """Tables 3-1 to 3-3: efficiency is CPU time / wall time, both summed over the
    processes; stolen: what they waited for a CPU that others had, in the same unit;
    pace: wall time per second of CPU time, which the machine's own speed drops out of."""
    start, end = span(job)
    walls = process_seconds(job)
    return {"cpu": cpu(job), "wall": end - start, "efficiency": cpu(job) / walls,
            "pace": (end - start) / max(cpu(job), 1e-9),
            "stolen": sum(rank[3] for rank in job["ranks"]) / walls}


class BusyClock:
    """Seconds during which some job ran, until a moment: a clock that stands still in
    Slurm's gaps between jobs, which a factor of tens makes of minutes' jobs would
    count for too much."""

    def __init__(self, spans):
        self.spans = []
        for start, end in sorted(spans):
            if self.spans and start <= self.spans[-1][1]:
                self.spans[-1][1] = max(end, self.spans[-1][1])
            else:
                self.spans.append([start, end])

    def until(self, when):
        return sum(max(0.0, min(end, when) - start) for start, end in self.spans)

    def total(self):
        return sum(end - start for start, end in self.spans)

    def gaps(self):
        return self.spans[-1][1] - self.spans[0][0] - self.total()


def queue(run, nodes):
    """Tables 3-4, 3-5, 4-3; a job counts as many times as jobs of the thesis it stands
    for."""
    jobs = run["jobs"]
    clock = BusyClock([span(job) for job in jobs])
    weight = sum(job["weight"] for job in jobs)
    turnaround = sum(job["weight"] * clock.until(span(job)[1]) for job in jobs) / weight
    primaries = [job for job in jobs if not job["low"]]
    walls = sum(process_seconds(job) for job in primaries)
    return {
        "jobs": weight, "seconds": clock.total(), "gaps": clock.gaps(),
        "throughput": stats.throughput(weight, clock.total()),
        "efficiency": stats.efficiency(sum(map(cpu, jobs)), nodes, clock.total()),
        "turnaround": turnaround, "primary": walls,
        "pace": walls / max(sum(map(cpu, primaries)), 1e-9),
        "stolen": sum(r[3] for job in primaries for r in job["ranks"]) / walls,
    }


def of_run(run, nodes):
    """The figures of a run: of its queues, or of its primary.  idle: the part of all
    CPUs that nobody used, not known of all runs."""
    if run["name"][:2] in ("s3", "s6", "s7", "c7"):
        return {**queue(run, nodes), "idle": run.get("idle")}
    found = application(next(job for job in run["jobs"] if not job["low"]))
    if "active" in run:
        a, b = run["active"]
        found["ratio"] = a / b
    return found


class Results:
    """All runs of a state file, by experiment."""

    def __init__(self, settings, runs):
        self.settings = settings
        self.runs = runs
        self.by_name = defaultdict(dict)   # {name: {rep: figures}}
        for run in runs:
            self.by_name[run["name"]][run["rep"]] = of_run(run, settings["nodes"])

    def has(self, name):
        return bool(self.by_name.get(name))

    def values(self, name, key):
        return [figures[key] for _rep, figures in sorted(self.by_name[name].items())]

    def mean(self, name, key):
        found = self.values(name, key)
        return mean(found) if found else None

    def median(self, name, key):
        found = self.values(name, key)
        return median(found) if found else None

    def deviation(self, name, key):
        found = self.values(name, key)
        return stdev(found) if len(found) > 1 else None

    def ratios(self, name, baseline, key):
        """figure / figure of the baseline of every repetition that has both."""
        base = self.by_name[baseline]
        return [figures[key] / base[rep][key]
                for rep, figures in sorted(self.by_name[name].items())
                if rep in base and base[rep][key] > 0]

    def added(self, name, baseline, key):
        """Median of figure - figure of the baseline."""
        base = self.by_name[baseline]
        found = [figures[key] - base[rep][key]
                 for rep, figures in self.by_name[name].items() if rep in base]
        return median(found) if found else None

    def answers(self):
        """{application: set of its answers} over all jobs that came to their end."""
        found = defaultdict(set)
        for run in self.runs:
            for job in run["jobs"]:
                if job["answer"] is not None:
                    found[job["app"]].add(job["answer"])
        return dict(found)

    def repetitions(self):
        return len({run["rep"] for run in self.runs})


def middle(values):
    """Median, None of nothing."""
    return median(values) if values else None
