# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The state file of bench/thesis: JSON Lines, first what was asked for, then how much
work each application does and each finished run, on the disk before the next one
begins.  It is also the raw data that reports are made from."""

import json
import os

from cluster import BenchError

VERSION = 1


def parse(text, path):
    """(settings, runs) of a state file; a last line that a crash cut off is left
    out."""
    records = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        try:
            records.append(json.loads(line)) if line else None
        except ValueError:
            if number == len(lines) - 1:
                break
            raise BenchError(f"{path}, line {number + 1}: no JSON") from None
    if not records or records[0].get("thesis") != VERSION:
        raise BenchError(f"{path}: not a state file of this bench/thesis")
    settings = {**records[0], "work": {}}
    runs = []
    for record in records[1:]:
        if "work" in record:
            settings["work"][record["app"]] = record["work"]
        else:
            runs.append(record)
    return settings, runs


def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(), path)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None


class State:
    """An open state file.  Settings that a resumed file has differently are an error:
    its runs could not be compared.  facts go into a new file beside them."""

    def __init__(self, path, settings, facts=None):
        self.path = path
        self.settings = {"thesis": VERSION, **settings}
        self.runs = []
        if os.path.exists(path):
            self.resume()
        else:
            self.settings["machine"] = facts or {}
            self.write("x", self.settings)
            self.settings["work"] = {}

    def resume(self):
        self.drop_cut_line()
        found, self.runs = read(self.path)
        for key, value in self.settings.items():
            if found.get(key) != value:
                raise BenchError(f"{self.path} was begun with {key} {found.get(key)}, "
                                 f"not {value}: go on as it was begun, or take another "
                                 "file (--state)")
        self.settings = found

    def drop_cut_line(self):
        """What a crash left of a line must not become the begin of the next one."""
        try:
            with open(self.path, "r+b") as file:
                text = file.read()
                file.truncate(text.rfind(b"\n") + 1)
        except OSError as error:
            raise BenchError(f"{self.path}: {error.strerror}") from None

    def done(self):
        return {(run["rep"], run["name"]) for run in self.runs}

    def add(self, run):
        self.write("a", run)
        self.runs.append(run)

    def set_work(self, app, work, fixed, each):
        """How many units of work app does in every run; for the record: the seconds
        that it takes for none, and for each."""
        self.write("a", {"app": app, "work": work, "fixed": round(fixed, 3),
                         "each": round(each, 6)})
        self.settings["work"][app] = work

    def write(self, mode, record):
        try:
            with open(self.path, mode, encoding="utf-8") as file:
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BenchError(f"{self.path}: {error.strerror}") from None
