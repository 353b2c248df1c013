# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The state file of bench/jitter/run: JSON Lines.  First what was asked for, then how much
work a run is ("work"), each finished run ("regime"), and what each session saw of the
nodes ("session"); on the disk before the next run begins."""

import json
import os

from cluster import BenchError

VERSION = 1


def parse(text, path):
    """The records; a last line that a crash cut off is left out."""
    records = []
    for number, line in enumerate(text.split("\n")[:-1]):
        try:
            records.append(json.loads(line))
        except ValueError:
            raise BenchError(f"{path}, line {number + 1}: no JSON") from None
    if records and records[0].get("jitter") != VERSION:
        raise BenchError(f"{path}: not a state file of this bench/jitter/run")
    return records


class State:
    """An open state file; path None: in memory.  Settings that the file has differently
    are an error: its runs could not be compared."""

    def __init__(self, path, settings):
        self.path = path
        self.records = []
        settings = {"jitter": VERSION, **settings}
        if path and os.path.exists(path):
            self.read()
        if not self.records:
            self.add(settings)
        for key, value in settings.items():
            if self.records[0].get(key) != value:
                raise BenchError(f"{path} was begun with {key} {self.records[0].get(key)}, "
                                 f"not {value}: go on as it was begun, or take another "
                                 "file (--state)")

    def read(self):
        try:
            with open(self.path, "r+", encoding="utf-8") as stream:
                text = stream.read()
                self.records = parse(text, self.path)
                # What a crash left of a line must not become the begin of the next one.
                stream.truncate(len(text[:text.rfind("\n") + 1].encode()))
        except OSError as error:
            raise BenchError(f"{self.path}: {error.strerror}") from None

    def add(self, record):
        self.records.append(record)
        if not self.path:
            return
        try:
            with open(self.path, "a", encoding="utf-8") as stream:
                stream.write(json.dumps(record, separators=(",", ":")) + "\n")
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            raise BenchError(f"{self.path}: {error.strerror}") from None

    def of(self, key):
        return [record for record in self.records if key in record]

    def runs(self):
        return self.of("regime")

    def done(self):
        return {(run["rep"], run["regime"]) for run in self.runs()}
