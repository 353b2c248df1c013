# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The working database: what records and sacct say of runs of jobs, as tables on which
the other modules ask their questions in SQL.  It is a temporary file of SQLite's, so
that a million jobs take little memory.

  record       a run (job, submit and restart) as its record tells it.  With the
               collector's database it is a view of that, which is attached as rec
  record_node  the nodes of a run
  told         a run as sacct tells it
  pair         which of these are the same run: settle() finds that out
  several      of jobs with several runs: which are not the last, and when the job was
               submitted.  Slurm may give an id again: jobs of one id are not one job
  company      whether guests were beside a primary of which its record does not say it

A run of record is known to the others by its rid, one that sacct tells by -tid.  NULL is
what nothing tells.
"""

import os
import sqlite3
import urllib.parse
from collections import Counter

from .text import ReportError

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

# Of the collector's database (records/database.h).
DATABASE = os.path.join("records", "records.db")
_DATABASE_ID = 0x48504342
_DATABASE_VERSION = 2

_RECORD = ("rid", "cluster", "job", "restart", "user", "partition", "name", "klass",
           "submit", "start", "end", "wall", "cpu", "delay", "node_wall", "capacity",
           "cpus", "beside", "evictions", "complete", "network", "memory", "ended_for",
           "cost", "cost_low", "cost_high", "cost_method", "guard_steps",
           "guests_requeued", "sliced", "throttled", "stopped", "starved")

_RECORD_VIEW = """CREATE TEMP VIEW record AS SELECT id AS rid, cluster, job_id AS job,
  restart, coalesce(nullif(user, ''), CAST(user_id AS TEXT)) AS user, partition,
  coalesce(job_name, '') AS name,
  CASE class WHEN 'primary' THEN 0 WHEN 'guest' THEN 1 ELSE 2 END AS klass,
  CAST(submit AS REAL) AS submit, start, "end", wall_seconds AS wall,
  cpu_seconds AS cpu, run_delay_seconds AS delay,
  node_seconds AS node_wall, allocated_cpu_seconds AS capacity, cpus,
  CASE WHEN guests_beside IS NULL THEN -1 ELSE guests_beside > 0 END AS beside,
  evictions, complete, network_bytes AS network, memory_bytes AS memory,
  {ended_for} AS ended_for, {guest_cost} AS cost, {guest_cost_low} AS cost_low,
  {guest_cost_high} AS cost_high, {guest_cost_method} AS cost_method,
  {guard_steps} AS guard_steps,
  {guests_requeued} AS guests_requeued, {sliced_seconds} AS sliced,
  {throttled_seconds} AS throttled, {stopped_seconds} AS stopped,
  {starved_seconds} AS starved
  FROM rec.run WHERE seq IS NOT NULL"""

# Columns of a run that the first databases had not.
_LATER = ("ended_for", "guest_cost", "guest_cost_low", "guest_cost_high",
          "guest_cost_method",
          "guard_steps", "guests_requeued", "sliced_seconds", "throttled_seconds",
          "stopped_seconds", "starved_seconds")

_TABLES = """
CREATE TEMP TABLE told (tid INTEGER PRIMARY KEY, cluster TEXT, job INTEGER, user TEXT,
  partition TEXT, name TEXT, nodes TEXT, klass INTEGER, submit REAL, start REAL,
  "end" REAL, cpu REAL, cpus INTEGER, state INTEGER);
CREATE TEMP TABLE pair (tid INTEGER PRIMARY KEY, rid INTEGER);
CREATE TEMP TABLE several (mid INTEGER PRIMARY KEY, earlier INTEGER, submit REAL);
CREATE TEMP TABLE company (mid INTEGER PRIMARY KEY, beside INTEGER);
"""
_RECORD_TABLES = """
CREATE TEMP TABLE record (rid INTEGER PRIMARY KEY, cluster TEXT, job INTEGER,
  restart INTEGER, user TEXT, partition TEXT, name TEXT, klass INTEGER, submit REAL,
  start REAL, "end" REAL, wall REAL, cpu REAL, delay REAL, node_wall REAL,
  capacity REAL, cpus INTEGER, beside INTEGER, evictions INTEGER, complete INTEGER,
  network INTEGER, memory INTEGER, ended_for TEXT, cost REAL, cost_low REAL,
  cost_high REAL, cost_method TEXT, guard_steps INTEGER, guests_requeued INTEGER,
  sliced REAL,
  throttled REAL, stopped REAL, starved REAL);
CREATE INDEX temp.record_job ON record (cluster, job, restart);
CREATE TEMP TABLE record_node (rid INTEGER, node TEXT, PRIMARY KEY (rid, node))
  WITHOUT ROWID;
"""

_PIECE = 4096

# So many nodes' reasons are looked at for the one that most of them give.
_REASONS = 10000

INFINITY = float("inf")

# Seconds that clocks of nodes may be apart.
_CLOCKS_APART = 60

# What sacct has printed may be of another time zone.
_DAY = 86400


def state_code(text):
    """"CANCELLED by 1000" and whatever else ended is FAILED."""
    return _STATES.get(text.partition(" ")[0].rstrip("+"), FAILED)


def clean(text):
    """text as SQLite takes it: what is no Unicode escaped, as it is shown later."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode().replace("\0", "\\x00")


def known_time(*times):
    """The first that is known, infinity where none is.  Slurm loses the start of some
    runs that were requeued (22.05: where slurmdbd had not heard of it)."""
    return next((time for time in times if time is not None), INFINITY)


def is_same_run(one, other):
    """Whether two of the same cluster, job and restart are the same run, each as
    (submit, start, end): submit tells, or else the time (records/store.c)."""
    if one[0] is not None and other[0] is not None:
        return one[0] == other[0]
    return one[1] <= other[2] + _CLOCKS_APART and other[1] <= one[2] + _CLOCKS_APART


def pieces(rows):
    """Columns of some thousand rows at a time: what is done to a column as a whole is
    faster than what is done to each row."""
    while True:
        piece = rows.fetchmany(_PIECE)
        if not piece:
            return
        yield list(zip(*piece))


def find_database(path):
    """The collector's database in path (CollectorDir, or records/ in it), or None."""
    for name in (os.path.join(path, DATABASE),
                 os.path.join(path, os.path.basename(DATABASE))):
        if os.path.exists(name):
            return name
    return None


def _reason(uri, error):
    """Why a database cannot be attached: ATTACH itself does not say."""
    db = None
    try:
        db = sqlite3.connect(uri, uri=True)
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.Error as reason:
        return reason
    finally:
        if db:
            db.close()
    return error


def attach(db, path):
    """Attach the collector's database as rec.  ReportError if that cannot be."""
    first = None
    # Without a log nobody writes, and who may not make one can do without.
    modes = ["mode=ro"] + ([] if os.path.exists(path + "-wal") else ["immutable=1"])
    for mode in modes:
        uri = "file:" + urllib.parse.quote(os.path.abspath(path)) + "?" + mode
        try:
            db.execute("ATTACH ? AS rec", (uri,))
        except sqlite3.Error as error:
            first = first or _reason(uri, error)
            continue
        try:
            ident = db.execute("PRAGMA rec.application_id").fetchone()[0]
            version = db.execute("PRAGMA rec.user_version").fetchone()[0]
            break
        except sqlite3.Error as error:
            first = first or error
            db.execute("DETACH rec")
    else:
        raise ReportError(f"{path}: {first}")
    if ident != _DATABASE_ID:
        raise ReportError(f"{path}: is no database of records")
    if version > _DATABASE_VERSION:
        raise ReportError(f"{path}: is of version {version}; this release reads "
                          f"{_DATABASE_VERSION}")


def connect():
    """A temporary database, through which others are attached."""
    db = sqlite3.connect("", isolation_level=None, uri=True)
    for setting in ("temp_store = FILE", "cache_size = -8000", "journal_mode = OFF",
                    "temp.cache_size = -16000", "temp.journal_mode = OFF",
                    "temp.synchronous = OFF"):
        db.execute("PRAGMA " + setting)
    return db


class Base:
    def __init__(self):
        self.db = connect()
        self.db.executescript(_TABLES)
        self.has_record = self.has_told = self.attached = False
        self.reasons = {"network": Counter(), "memory": Counter()}

    def ask(self, sql, *values):
        return self.db.execute(sql, values)

    def one(self, sql, *values):
        return self.db.execute(sql, values).fetchone()

    # ---- Filling it

    def take_database(self, path):
        attach(self.db, path)
        self.db.execute("PRAGMA rec.cache_size = -16000")
        # One state of it for all questions.
        self.db.execute("BEGIN")
        # A database that no collector of this release has opened yet lacks some.
        known = {name for name, in self.ask(
            "SELECT name FROM pragma_table_info('run', 'rec')")}
        self.db.execute(_RECORD_VIEW.format(**{
            name: name if name in known else "NULL" for name in _LATER}))
        self.db.execute("CREATE TEMP VIEW record_node AS SELECT run AS rid, node "
                        "FROM rec.node")
        self.has_record = self.attached = True

    def take_records(self):
        """There is no database: add_record fills the table."""
        if not self.has_record:
            self.db.executescript(_RECORD_TABLES)
        self.has_record = True

    def add_record(self, values, nodes):
        """A run as a record tells it; one that is known already is replaced.  values as
        the columns of record, but rid."""
        when = tuple(values[_RECORD.index(name) - 1] for name in ("submit", "start", "end"))
        self.db.execute("DELETE FROM record WHERE rid = ?",
                        (self.find_record(*values[:3], when),))
        row = self.db.execute(
            f"INSERT INTO record VALUES (NULL{', ?' * (len(_RECORD) - 1)})",
            values).lastrowid
        self.db.executemany("INSERT OR IGNORE INTO record_node VALUES (?, ?)",
                            ((row, node) for node in nodes))

    def find_record(self, cluster, job, restart, when):
        """The rid of the run, or None.  when: (submit, start, end)."""
        if not self.has_record:
            return None
        return next((rid for rid, *known in self.ask(
            'SELECT rid, submit, start, "end" FROM record WHERE cluster = ? AND job = ? '
            "AND restart = ?", cluster, job, restart) if is_same_run(known, when)), None)

    def add_told(self, rows):
        """Runs as sacct tells them: the columns of told, but tid."""
        self.db.executemany(f"INSERT INTO told VALUES (NULL{', ?' * 13})", rows)
        self.has_told = True

    def why_unmeasured(self, figure):
        """Why most nodes did not measure the figure ("network", "memory"), or None."""
        given = self.reasons[figure]
        if self.attached:
            given = Counter(row[0] for row in self.ask(
                f"SELECT {figure}_reason FROM rec.node WHERE {figure}_reason IS NOT NULL "
                "LIMIT ?", _REASONS))
        return next((why for why, _ in given.most_common(1)), None)

    def has_unknown(self):
        """Whether it may be that no record says who was beside some primary.  The
        collector's database has an index of those."""
        return self.has_told or not self.attached or self.one(
            "SELECT 1 FROM rec.run WHERE class = 'primary' AND guests_beside IS NULL "
            "LIMIT 1") is not None

    # ---- Which rows are the same run

    def settle(self):
        """To be called when everything has been read."""
        if not self.has_record:
            self.take_records()
        if self.has_told:
            self._adopt()
            self.db.execute("CREATE INDEX temp.told_job ON told (job, cluster)")
        self._find_several()
        if self.has_told:
            self._pair()
        for cluster, job in self.ask("SELECT cluster, job FROM many").fetchall():
            self._settle(cluster, job)
        if self.has_told:
            self.db.execute("CREATE INDEX temp.pair_rid ON pair (rid)")

    def _adopt(self):
        """Records of a node that does not know its cluster's name have none."""
        if self.one("SELECT 1 FROM record WHERE cluster = '' LIMIT 1"):
            self.db.execute(
                "UPDATE told SET cluster = '' WHERE EXISTS (SELECT 1 FROM record r WHERE "
                "r.cluster = '' AND r.job = told.job) AND NOT EXISTS (SELECT 1 FROM "
                "record r WHERE r.cluster = told.cluster AND r.job = told.job)")

    def _find_several(self):
        twice = ("SELECT cluster, job FROM told GROUP BY job, cluster "
                 "HAVING count(*) > 1 UNION " if self.has_told else "")
        # The key of the collector's database begins so: an index tells.
        run, job = ("rec.run", "job_id") if self.attached else ("record", "job")
        # Not executescript, which would end the transaction.
        self.db.execute("CREATE TEMP TABLE many (cluster, job, "
                        "PRIMARY KEY (cluster, job)) WITHOUT ROWID")
        self.db.execute(f"INSERT INTO many {twice}SELECT DISTINCT cluster, job FROM "
                        f"record WHERE restart > 0 UNION SELECT cluster, {job} FROM {run} "
                        f"GROUP BY cluster, {job} HAVING count(*) > 1")

    def _pair(self):
        self.db.execute(
            "INSERT INTO pair SELECT t.tid, r.rid FROM told t CROSS JOIN record r ON "
            "r.cluster = t.cluster AND r.job = t.job WHERE NOT EXISTS (SELECT 1 FROM "
            "many m WHERE m.cluster = t.cluster AND m.job = t.job) AND "
            f'coalesce(r."end" >= t.start - {_DAY}, 1) AND '
            f'coalesce(r.start <= t."end" + {_DAY}, 1)')

    def _settle(self, cluster, job):
        records = self.ask("SELECT rid, submit, start, \"end\", restart FROM record WHERE "
                           "cluster = ? AND job = ? ORDER BY coalesce(submit, start), "
                           "restart", cluster, job).fetchall()
        told = self.ask("SELECT tid, submit, start, \"end\" FROM told WHERE "
                        "job = ? AND cluster = ?", job, cluster).fetchall()
        told.sort(key=lambda row: known_time(*row[2:]))
        pairs = _pairs(told, records) if records else [(row, None) for row in told]
        self.db.executemany("INSERT INTO pair VALUES (?, ?)",
                            ((row[0], record[0]) for row, record in pairs if record))
        paired = {record[0] for _, record in pairs if record}
        runs = [(known_time(row[2], record and record[2], row[3]), -row[0],
                 row[1] if row[1] is not None or not record else record[1], record)
                for row, record in pairs]
        runs += [(known_time(record[2]), record[0], record[1], record)
                 for record in records if record[0] not in paired]
        runs.sort(key=lambda run: run[0])
        for same in _jobs(runs):
            submits = [submit for _, _, submit, _ in same if submit is not None]
            self.db.executemany("INSERT INTO several VALUES (?, ?, ?)", (
                (run[1], at < len(same) - 1, min(submits, default=None))
                for at, run in enumerate(same) if len(same) > 1))


def _jobs(runs):
    """The runs of each job of one id, of all runs in their order."""
    jobs, before = [], None
    for run in runs:
        record = run[3]
        if not jobs or record and (record[4] == 0 or before and _differ(record, before)):
            jobs.append([])
        jobs[-1].append(run)
        before = record or before
    return jobs


def _differ(record, before):
    return None not in (record[1], before[1]) and record[1] != before[1]


def _pairs(told, records):
    """[(what sacct tells, record or None)]: in order where both know the same runs,
    else by time."""
    if len(told) == len(records) and not any(map(_is_far, records, told)):
        return list(zip(told, records))
    rows, left, pairs = list(records), list(told), []
    while rows and left:
        if len(left) < len(rows):
            one = left.pop(0)
            row = min(rows, key=lambda row: _apart(row, one))
            rows.remove(row)
        else:
            row = rows.pop(0)
            one = min(left, key=lambda one: _apart(row, one))
            left.remove(one)
        pairs.append((one, None if _is_far(row, one) else row))
    return pairs + [(one, None) for one in left]


def _is_far(record, one):
    return _DAY < _apart(record, one) < INFINITY


def _apart(record, one):
    """Seconds between the starts of both, else between their ends."""
    def distance(at):
        known = record[at] is not None and one[at] is not None
        return abs(record[at] - one[at]) if known else None

    return known_time(distance(2), distance(3))
