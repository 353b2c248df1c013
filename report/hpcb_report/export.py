# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""--export: runs of jobs out of the collector's database, for other programs
(doc/record.md, "The record of a job").  Members follow the database's own table of
fields."""

import json
import sys

from .base import attach, connect, find_database
from .records import closed
from .text import ReportError, csv_cell

FORMATS = ("jsonl", "csv")


def write(plan, collector_dir):
    """To standard output.  ReportError if there is no database."""
    path = plan.options.records or collector_dir
    if closed(path):
        raise ReportError(f"{path}: Permission denied")
    database = find_database(path)
    if database is None:
        raise ReportError(f"{path}: holds no database of records")
    db = connect()
    attach(db, database)
    db.execute("BEGIN")
    lines = _jsonl if plan.options.export == "jsonl" else _csv
    for line in lines(db, _where(plan.wanted())):
        sys.stdout.write(line + "\n")


def _where(wanted):
    """The view is that of the report, so that the same runs are selected."""
    klass = ("CASE class WHEN 'primary' THEN 0 WHEN 'guest' THEN 1 ELSE 2 END")
    user = "coalesce(nullif(user, ''), CAST(user_id AS TEXT))"
    return ("seq IS NOT NULL" + wanted.when() + wanted.whose()
            .replace(" AND klass IN", f" AND {klass} IN")
            .replace(" AND user IN", f" AND {user} IN"))


def _fields(db, table):
    """[(name, type)]"""
    return db.execute("SELECT name, type FROM rec.field WHERE tbl = ? ORDER BY place",
                      (table,)).fetchall()


def _columns(fields):
    return ", ".join(f'"{name}"' for name, _ in fields)


def _text(value, kind):
    """A value as JSON."""
    if value is None:
        return "null"
    if kind == "number":
        return f"{value:.6f}"
    if kind == "bool":
        return "true" if value else "false"
    return value if kind == "json" else json.dumps(value)


def _members(fields, values):
    return ",".join(f'"{name}":{_text(value, kind)}'
                    for (name, kind), value in zip(fields, values))


def _jsonl(db, where):
    run, node = _fields(db, "run"), _fields(db, "node")
    nodes = f"SELECT {_columns(node)} FROM rec.node WHERE run = ? ORDER BY node"
    for number, *values in db.execute(
            f"SELECT id, {_columns(run)} FROM rec.run WHERE {where} ORDER BY id"):
        parts = ",".join("{" + _members(node, part) + "}"
                         for part in db.execute(nodes, (number,)))
        yield (f'{{"version":1,"kind":"job",{_members(run, values)},'
               f'"node_records":[{parts}]}}')


def _csv(db, where):
    run = _fields(db, "run")
    yield ",".join(name for name, _ in run)
    for values in db.execute(
            f"SELECT {_columns(run)} FROM rec.run WHERE {where} ORDER BY id"):
        yield ",".join(
            csv_cell(value) if isinstance(value, str) or kind != "number" or
            value is None else f"{value:.6f}" for (_, kind), value in zip(run, values))
