# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Which runs count, and what is true of each once sacct and records are put together.

A job counts once, in the period in which its last run ended; its earlier runs (it was
requeued) add what they used.  Times are the controller's where sacct tells them,
because submission, start and end are on one clock there; running time, CPU time and
capacity are the records', which have them to the microsecond and count every thread.
"""

from array import array

from .runs import (NAN, COMPLETED, PENDING, PREEMPTED, REQUEUED, RUNNING,
                   known_time)


class Wanted:
    """The rows that --since, --until, --user, … ask for.  None: any."""

    def __init__(self, since=None, until=None, users=None, partitions=None,
                 classes=None, clusters=None):
        self.since = float("-inf") if since is None else since
        self.until = float("inf") if until is None else until
        self.users, self.partitions = users, partitions
        self.classes, self.clusters = classes, clusters

    def rows(self, runs):
        """Row numbers, in the order of the table."""
        rows = range(len(runs))
        for column, names, wanted in ((runs.user, runs.users, self.users),
                                      (runs.partition, runs.partitions,
                                       self.partitions)):
            if wanted is not None:
                ids = {names.ids[name] for name in wanted if name in names.ids}
                rows = [row for row in rows if column[row] in ids]
        if self.classes is not None:
            rows = [row for row in rows if runs.klass[row] in self.classes]
        if self.clusters is not None:
            rows = [row for row in rows if runs.cluster(row) in self.clusters]
        return rows


class Facts:
    """Columns again, of the runs that count.  submit, start and end are seconds since
    the epoch; run, cpu, capacity (CPUs x time), delay and node_wall are seconds; final
    is 1 for a job's last run.  NaN: not known."""

    COLUMNS = {"row": "I", "submit": "d", "start": "d", "end": "d", "run": "d",
               "cpu": "d", "capacity": "d", "delay": "d", "node_wall": "d",
               "cpus": "i", "final": "b", "evictions": "i", "ended_well": "b",
               "measured": "b"}

    def __init__(self, runs):
        self.runs = runs
        for name, kind in self.COLUMNS.items():
            setattr(self, name, array(kind))
        self.unfinished = 0
        self.never_started = 0

    def __len__(self):
        return len(self.row)


def facts(runs, wanted):
    """Everything that counts, from a table that has been settled."""
    found = Facts(runs)
    add = [getattr(found, name).append for name in Facts.COLUMNS]
    earlier, first_submits = _of_several_rows(runs)
    since, until = wanted.since, wanted.until
    for row in wanted.rows(runs):
        times = _times(runs, row)
        if times is None:
            continue
        submit, start, end = times
        final = row not in earlier
        if final and (end != end or runs.state[row] == REQUEUED):
            # The row of the next run may come later than the end of this one.
            found.unfinished += 1
            final = False
        if end != end or not since <= end < until:
            continue
        if start != start:
            found.never_started += final
            continue
        submit = first_submits.get(row, submit)
        values = (row, submit, start, end, *_use(runs, row, start, end), final,
                  _evictions(runs, row, final),
                  runs.state[row] in (COMPLETED, -1), runs.restart[row] >= 0)
        for append, value in zip(add, values):
            append(value)
    return found


def _of_several_rows(runs):
    """The rows that are not their job's last, and the submission of those that are."""
    earlier, submits = set(), {}
    for rows in runs.several.values():
        rows = [row for row in rows if not runs.is_void(row)]
        if len(rows) < 2:
            continue
        rows.sort(key=lambda row: _order(runs, row))
        earlier.update(rows[:-1])
        known = [submit for submit in (_submit(runs, row) for row in rows)
                 if submit == submit]
        submits[rows[-1]] = min(known, default=NAN)
    return earlier, submits


def _order(runs, row):
    """Of runs of one job: those that go on and have not started are the last."""
    if runs.state[row] >= 0:
        return known_time(runs.s_start[row], runs.r_start[row], runs.s_end[row])
    return known_time(runs.r_start[row])


def _submit(runs, row):
    submit = runs.s_submit[row]
    return submit if submit == submit else runs.r_submit[row]


def _times(runs, row):
    """(submit, start, end): end is NaN for a run that goes on, start for a job that
    never ran.  None for a void row."""
    state = runs.state[row]
    recorded = runs.restart[row] >= 0
    if state < 0:
        if not recorded:
            return None
        return runs.r_submit[row], runs.r_start[row], runs.r_end[row]
    submit, start, end = _submit(runs, row), runs.s_start[row], runs.s_end[row]
    if state in (PENDING, RUNNING) or end != end:
        # The epilog is over and sacct does not know yet.
        return submit, runs.r_start[row], runs.r_end[row]
    if recorded and start != start:
        start = runs.r_start[row]
    # Cancelled in the queue: no nodes; some releases give such a job a start.
    if not recorded and start == end and runs.nodes[row] == 0:
        start = NAN
    return submit, start, end


def _use(runs, row, start, end):
    """(run, cpu, capacity, delay, node_wall, cpus)"""
    wall = max(0.0, end - start)
    told = runs.state[row] >= 0
    if runs.restart[row] < 0:
        cpus = runs.s_cpus[row]
        return wall, runs.s_cpu[row], cpus * wall, 0.0, 0.0, cpus
    cpu, run, capacity = runs.r_cpu[row], runs.r_wall[row], runs.r_capacity[row]
    cpus = runs.r_cpus[row]
    complete = runs.complete[row]
    if told and (not complete or cpu == 0):
        cpu = max(cpu, runs.s_cpu[row])
    if told and (not complete or capacity == 0):
        cpus = runs.s_cpus[row]
        capacity = cpus * wall
    if not run:
        run = wall
    return run, cpu, capacity, runs.r_delay[row], runs.r_node_wall[row], cpus


def _evictions(runs, row, final):
    """How often this run's job lost its place in it.  sacct tells of each run how it
    ended; without it the last record has the sum."""
    if runs.state[row] >= 0:
        return runs.state[row] == PREEMPTED
    return runs.evictions[row] if final else 0
