# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""Takes records (doc/record.md) into the working database: the collector's database, or
files: JSON Lines, one object a run, or what the nodes have written, one object a node."""

import glob
import gzip
import json
import os
import re
import time

from .base import (ALONE, ALONE_UNKNOWN, BESIDE, CLASS_CODES, UNKNOWN, clean,
                   find_database, is_same_run)
from .text import ReportError

_DAY = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2})\.jsonl(?:\.gz)?\Z")

# Larger than any sum that is meant; NaN and infinity do not pass either.
_LIMIT = 1e15
_BYTES = 1 << 61


# Other files of CollectorDir and SpoolDir.  The journal's lines are parts of runs that
# the collector has not written yet.
_NO_RECORDS = {"journal.jsonl", "profiles.json", "stats.json", "writer.json"}


def files(path):
    """Files of records in path, or in records/ below it, in the order in which later
    ones replace earlier ones."""
    found = []
    for pattern in ("*.jsonl", "*.jsonl.gz", "*.json"):
        for place in (path, os.path.join(path, "records")):
            found += glob.glob(os.path.join(glob.escape(place), pattern))
    found = [name for name in found if os.path.basename(name) not in _NO_RECORDS]
    # Merged ones first: what a node says does not change them.
    return sorted(found, key=lambda name: (name.endswith(".json"),
                                           os.path.basename(name)))


def there(path):
    """Whether path holds records of any kind."""
    return find_database(path) is not None or bool(files(path))


def closed(path):
    """Whether records are there that the caller may not read: they are root's."""
    database = find_database(path)
    return any(os.path.isdir(place) and not os.access(place, os.R_OK | os.X_OK)
               for place in (path, os.path.join(path, "records"))) or (
        database is not None and not os.access(database, os.R_OK))


def _days(since, until):
    """The names of the days that may hold runs that ended in between; a record that
    was completed late is in a later file."""
    first = "" if since is None else _day(since - 86400)
    last = "9" if until is None else _day(until + 86400)
    return first, last


def _day(seconds):
    return time.strftime("%Y-%m-%d", time.gmtime(max(0, seconds)))


_COST = ("guest_cost", "guest_cost_low", "guest_cost_high")


def _cost(record):
    """What guests cost the run, and its interval; None where it was not measured."""
    cost = [record.get(name) for name in _COST]
    if not all(isinstance(value, (int, float)) and abs(value) < _LIMIT for value in cost):
        return [None] * len(_COST)
    return cost


# From the weakest.
_METHODS = ("run_delay", "iterations", "instructions")


def _method(record):
    """How what guests cost was measured."""
    method = record.get("guest_cost_method")
    return method if None not in _cost(record) and method in _METHODS else None


def _add_cost(known, record):
    """The mean over the nodes that have measured it, and the weakest of their methods."""
    methods = {_method(known), _method(record)}
    known["guest_cost_method"] = next((one for one in _METHODS if one in methods), None)
    cost, before, nodes = _cost(record), _cost(known), known.get("cost_nodes", 1)
    if None in cost:
        return
    if None in before:
        nodes, before = 0, [0.0] * len(cost)
    for name, old, new in zip(_COST, before, cost):
        known[name] = (nodes * old + new) / (nodes + 1)
    known["cost_nodes"] = nodes + 1


# What hpcbd did so that guests harm no primary: sums over nodes.
_GUARD = ("guard_steps", "guests_requeued", "sliced_seconds", "throttled_seconds",
          "stopped_seconds", "starved_seconds")


def _guard(record):
    """None where nobody has counted it."""
    return [value if isinstance(value, (int, float)) and 0 <= value < _LIMIT else None
            for value in map(record.get, _GUARD)]


def _add_guard(known, record):
    for name, new in zip(_GUARD, _guard(record)):
        if new is not None:
            known[name] = (known.get(name) or 0) + new


def _word(value):
    return clean(value) if isinstance(value, str) else None


def _when(record):
    """What tells runs of the same job and restart apart."""
    return record.get("submit"), record["begin"], record["end"]


class Reader:
    """bad counts lines that are no records."""

    def __init__(self, base):
        self.base = base
        self.bad = 0
        self.parts = {}

    def read(self, path, since, until):
        """Everything below path that may have ended in the period.  ReportError where
        it cannot be read."""
        database = find_database(path)
        if database is not None:
            self.base.take_database(database)
            return
        self.base.take_records()
        first, last = _days(since, until)
        for name in files(path):
            day = _DAY.search(name)
            if day and not first <= day[1] <= last:
                continue
            try:
                self._read_file(name)
            except (OSError, EOFError) as error:
                why = getattr(error, "strerror", None) or error
                raise ReportError(f"{name}: {why}") from None

    def _read_file(self, name):
        opener = gzip.open if name.endswith(".gz") else open
        add = self._add_part if name.endswith(".json") else self._add_run
        with opener(name, "rt", encoding="utf-8", errors="replace",
                    newline="\n") as stream:
            for line in stream:
                # The last one may still be being written.
                if not line.endswith("\n"):
                    continue
                try:
                    add(json.loads(line))
                except (ValueError, TypeError, KeyError, AttributeError,
                        OverflowError, RecursionError):
                    self.bad += 1

    def _add_run(self, record):
        if record["version"] != 1 or record.get("kind", "job") != "job":
            raise ValueError
        nodes = record["node_records"]
        capacity = node_wall = 0.0
        for node in nodes:
            capacity += node["cpus"] * node["wall_seconds"]
            node_wall += node["wall_seconds"]
        beside = record["guests_beside"]
        if beside is None:
            beside = ALONE_UNKNOWN
        else:
            beside = BESIDE if beside > 0 else ALONE
        self._take_reasons(nodes)
        self._store(record, record["restart"], record["user"] or "",
                    record["job_name"] or "", record["start"], capacity, node_wall,
                    [node["node"] for node in nodes],
                    beside, record["evictions"] or 0,
                    bool(record["complete"]), record["submit"])

    def _take_reasons(self, nodes):
        for node in nodes:
            for name, given in self.base.reasons.items():
                why = node.get(name + "_reason")
                if isinstance(why, str):
                    given[clean(why)] += 1

    def _add_part(self, record):
        """One node's record: added to what the job's other nodes have said."""
        if record["version"] != 1:
            raise ValueError
        cpus, wall = record["cpus"], record["wall_seconds"]
        restart = record.get("restart") or 0
        key = (record["cluster"], record["job_id"], restart)
        parts = self.parts.setdefault(key, [])
        known = next((part for part in parts if is_same_run(_when(part), _when(record))),
                     None)
        if known is None:
            if self.base.find_record(*key, _when(record)) is not None:
                return
            known = {**record, "capacity": 0.0, "node_wall": 0.0, "names": []}
            parts.append(known)
        else:
            if known.get("submit") is None:
                known["submit"] = record.get("submit")
            known["begin"] = min(known["begin"], record["begin"])
            known["end"] = max(known["end"], record["end"])
            known["wall_seconds"] = max(known["wall_seconds"], wall)
            for name in ("cpus", "cpu_seconds", "run_delay_seconds"):
                known[name] += record[name]
            _add_cost(known, record)
            _add_guard(known, record)
            known["ended_for"] = known.get("ended_for") or record.get("ended_for")
            for name in ("network_bytes", "memory_bytes"):
                parts = known.get(name), record.get(name)
                known[name] = None if None in parts else sum(parts)
        known["capacity"] += cpus * wall
        known["node_wall"] += wall
        known["names"].append(record["node"])
        self._take_reasons([record])
        self._store(known, restart, record.get("user") or "",
                    record.get("job_name") or "", known["begin"], known["capacity"],
                    known["node_wall"], known["names"], ALONE_UNKNOWN,
                    restart if record["class"] == "guest" else 0, True,
                    known.get("submit"))

    def _store(self, record, restart, user, name, start, capacity, node_wall, nodes,
               beside, evictions, complete, submit):
        cluster, partition = record["cluster"], record["partition"]
        if not all(type(text) is str for text in (user, name, cluster, partition,
                                                  *nodes)):
            raise ValueError
        end, wall = record["end"], record["wall_seconds"]
        cpu, delay = record["cpu_seconds"], record["run_delay_seconds"]
        if not (0 <= start < _LIMIT and 0 <= end < _LIMIT and 0 <= cpu < _LIMIT and
                0 <= delay < _LIMIT and 0 <= capacity < _LIMIT and
                0 <= node_wall < _LIMIT and 0 <= wall < _LIMIT and
                0 <= evictions < 65536 and 0 <= record["job_id"] < 1 << 32 and
                0 <= restart < 65536 and 0 <= record["cpus"] < 1 << 31):
            raise ValueError
        if submit is not None and not 0 <= submit < _LIMIT:
            raise ValueError
        moved = [record.get(name) for name in ("network_bytes", "memory_bytes")]
        if not all(bytes_ is None or 0 <= bytes_ < _BYTES for bytes_ in moved):
            raise ValueError
        self.base.add_record(
            (clean(cluster), record["job_id"], restart,
             clean(user or str(record["user_id"])), clean(partition), clean(name),
             CLASS_CODES.get(record["class"], UNKNOWN), submit, start, end, wall, cpu,
             delay, node_wall, capacity, record["cpus"], beside, evictions, complete,
             *moved, _word(record.get("ended_for")), *_cost(record), _method(record),
             *_guard(record)),
            [clean(node) for node in nodes])
