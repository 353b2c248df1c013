# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The table of all runs of jobs: a row is one run (job id and restart) as sacct, the
records or both tell it.

A column is an array, because a million objects take gigabytes.  The columns of either
source stay apart, so that what belongs together can be settled when both are there: a
job that was requeued has several rows, and sacct (before 24.11) does not number them.
NaN is what nothing tells.
"""

from array import array

NAN = float("nan")

PRIMARY, GUEST, UNKNOWN = 0, 1, 2
CLASSES = ("primary", "guest", "unknown")
CLASS_CODES = {name: code for code, name in enumerate(CLASSES)}

# sacct's states by what they mean here.
PENDING, RUNNING, COMPLETED, FAILED, PREEMPTED, REQUEUED = range(6)
_STATES = {
    "PENDING": PENDING, "RUNNING": RUNNING, "SUSPENDED": RUNNING,
    "RESIZING": RUNNING, "COMPLETING": RUNNING, "COMPLETED": COMPLETED,
    "PREEMPTED": PREEMPTED, "REQUEUED": REQUEUED,
}

# Guests beside a primary: not known, no, yes.
ALONE_UNKNOWN, ALONE, BESIDE = -1, 0, 1

_COLUMNS = {
    # both
    "ident": "Q", "restart": "i", "user": "i", "partition": "i", "name": "i",
    "nodes": "i", "klass": "b",
    # records
    "r_submit": "d", "r_start": "d", "r_end": "d", "r_wall": "d", "r_cpu": "d",
    "r_delay": "d", "r_node_wall": "d", "r_capacity": "d", "r_cpus": "i",
    "beside": "b", "evictions": "i", "complete": "b",
    # sacct
    "s_submit": "d", "s_start": "d", "s_end": "d", "s_cpu": "d", "s_cpus": "i",
    "state": "b",
}
_SACCT = ("s_submit", "s_start", "s_end", "s_cpu", "s_cpus", "state")
_RECORD = tuple(_COLUMNS)[1:-len(_SACCT)]
_NO_SACCT = (NAN, NAN, NAN, NAN, 0, -1)
_NO_RECORD = (NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, 0, ALONE_UNKNOWN, 0, 0)


def state_code(text):
    """"CANCELLED by 1000" and whatever else ended is FAILED."""
    return _STATES.get(text.partition(" ")[0].rstrip("+"), FAILED)


class Names:
    """Each different text once."""

    def __init__(self):
        self.texts = [""]
        self.ids = {"": 0}

    def id(self, text):
        found = self.ids.get(text)
        if found is None:
            found = self.ids[text] = len(self.texts)
            self.texts.append(text)
        return found


def known_time(*times):
    """The first that is known, infinity where none is.  Slurm loses the start of some
    runs that were requeued (22.05: where slurmdbd had not heard of it)."""
    return next((time for time in times if time == time), float("inf"))


class Runs:
    def __init__(self):
        for name, kind in _COLUMNS.items():
            setattr(self, name, array(kind))
        self.clusters, self.users, self.partitions = Names(), Names(), Names()
        self.names, self.node_lists = Names(), Names()
        self.index = {}
        self.several = {}
        self.appends = [getattr(self, name).append for name in _COLUMNS][1:]

    def __len__(self):
        return len(self.ident)

    def ident_of(self, cluster, job_id):
        """A job, whatever its restarts."""
        return self.clusters.id(cluster) << 32 | job_id

    def cluster(self, row):
        return self.clusters.texts[self.ident[row] >> 32]

    def job_id(self, row):
        return self.ident[row] & 0xFFFFFFFF

    def _append(self, ident, values):
        row = len(self.ident)
        self.ident.append(ident)
        for append, value in zip(self.appends, values):
            append(value)
        known = self.index.get(ident)
        if known is None:
            self.index[ident] = row
        elif known >= 0:
            self.several[ident] = [known, row]
            self.index[ident] = -1
        else:
            self.several[ident].append(row)
        return row

    def _rows(self, ident):
        known = self.index.get(ident)
        if known is None:
            return ()
        return (known,) if known >= 0 else self.several[ident]

    def find_record(self, ident, restart):
        """The row of that run as records know it, or None."""
        for row in self._rows(ident):
            if self.restart[row] == restart:
                return row
        return None

    def add_record(self, ident, restart, who, figures):
        """A run as a record tells it; one that is known already is replaced.  who is
        (user, partition, name, nodes) as ids and the class; figures are the columns of
        records, in their order."""
        row = self.find_record(ident, restart)
        if row is None:
            return self._append(ident, (restart, *who, *figures, *_NO_SACCT))
        for name, value in zip(_RECORD, (restart, *who, *figures)):
            getattr(self, name)[row] = value
        return row

    def sacct_row(self, ident):
        """The row that a line of sacct completes, or None: it needs one of its own."""
        row = self.index.get(ident)
        if row is None or row < 0 or self.state[row] >= 0:
            return None
        return row

    def set_sacct(self, row, figures):
        (self.s_submit[row], self.s_start[row], self.s_end[row], self.s_cpu[row],
         self.s_cpus[row], self.state[row]) = figures

    def add_sacct(self, ident, who, figures):
        self._append(ident, (-1, *who, *_NO_RECORD, *figures))

    def has_record(self, row):
        return self.restart[row] >= 0

    def settle(self):
        """Put together what belongs together in jobs of several rows.  To be called
        when everything has been read; a row with neither side is void from then on."""
        for rows in self.several.values():
            self._settle(rows)

    def _settle(self, rows):
        told = [row for row in rows if self.state[row] >= 0]
        recorded = [row for row in rows if self.has_record(row)]
        if not told or not recorded:
            return
        halves = [(row, tuple(getattr(self, name)[row] for name in _SACCT))
                  for row in told]
        halves.sort(key=lambda half: known_time(*half[1][1:3]))
        recorded.sort(key=lambda row: self.restart[row])
        for row in told:
            self.set_sacct(row, _NO_SACCT)
        free = [row for row in rows if not self.has_record(row)]
        for row, figures in self._pairs(halves, recorded):
            self.set_sacct(free.pop() if row is None else row, figures)

    def _pairs(self, halves, recorded):
        """Each half of sacct with the row of its record, or None for none: in order
        where both know the same runs, else by time."""
        if len(halves) == len(recorded):
            return [(row, figures) for row, (_, figures) in zip(recorded, halves)]
        rows, left = list(recorded), [figures for _, figures in halves]
        pairs = []
        while rows and left:
            if len(left) < len(rows):
                figures = left.pop(0)
                row = min(rows, key=lambda row: self._apart(row, figures))
                rows.remove(row)
            else:
                row = rows.pop(0)
                figures = min(left, key=lambda figures: self._apart(row, figures))
                left.remove(figures)
            pairs.append((row, figures))
        return pairs + [(None, figures) for figures in left]

    def _apart(self, row, figures):
        """Seconds between the start of a record's run and that of one of sacct's, else
        between their ends."""
        return known_time(abs(self.r_start[row] - figures[1]),
                          abs(self.r_end[row] - figures[2]))

    def is_void(self, row):
        return self.state[row] < 0 and not self.has_record(row)
