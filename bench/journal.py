# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A file in which a long measurement is kept, so that it can be ended and gone on with:
JSON Lines, first what was asked for, then every result, on the disk before the next one
begins.  It is also the raw data that reports are made from."""

import fcntl
import json
import os

from cluster import BenchError


def parse(text, path, kind):
    """(settings, records) of a file that was begun with the settings `kind`, among
    others; a last line that a crash cut off is left out."""
    records = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        try:
            records.append(json.loads(line)) if line else None
        except ValueError:
            if number == len(lines) - 1:
                break
            raise BenchError(f"{path}, line {number + 1}: no JSON") from None
    if not records or any(records[0].get(key) != value for key, value in kind.items()):
        raise BenchError(f"{path}: not a file of this bench/{next(iter(kind))}")
    return records[0], records[1:]


def read(path, kind, key=None):
    """With key as Journal takes it: of records that share it, the last one."""
    try:
        with open(path, encoding="utf-8") as file:
            settings, records = parse(file.read(), path, kind)
    except OSError as error:
        raise BenchError(f"{path}: {error.strerror}") from None
    if key:
        records = list({record[key]: record for record in records}.values())
    return settings, records


class Journal:
    """An open file.  kind: {name of the bench: version of its records}.  Settings that
    differ from those that it was begun with are an error: its results could not be
    compared.  facts go into a new file beside them, and are never compared.  key: the
    field that numbers the records.  With it, one run at a time may have the file: two
    would take the same numbers."""

    def __init__(self, path, kind, settings, facts=None, key=None):
        self.path = path
        self.key = key
        self.settings = {**kind, **settings}
        self.records = []
        self.held = None
        if os.path.exists(path):
            self.lock()
            self.resume(kind)
        else:
            self.settings.update({"machine": facts} if facts else {})
            self.write("x", self.settings)
            self.lock()

    def lock(self):
        """For as long as this journal lives."""
        if not self.key:
            return
        try:
            self.held = open(self.path, "rb")
            fcntl.flock(self.held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BenchError(f"{self.path}: another run is adding to it") from None
        except OSError as error:
            raise BenchError(f"{self.path}: {error.strerror}") from None

    def resume(self, kind):
        self.drop_cut_line()
        found, self.records = read(self.path, kind, self.key)
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

    def add(self, record):
        self.write("a", record)
        self.records.append(record)

    def write(self, mode, record):
        try:
            with open(self.path, mode, encoding="utf-8") as file:
                file.write(json.dumps(record, separators=(",", ":")) + "\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise BenchError(f"{self.path}: {error.strerror}") from None
