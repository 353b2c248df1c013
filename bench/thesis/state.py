# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/thesis keeps in its journal: how much work each application does, and each
finished run."""

import journal

KIND = {"thesis": 1}


def sort(settings, records):
    """(settings with the applications' work, runs)"""
    work = {record["app"]: record["work"] for record in records if "work" in record}
    runs = [record for record in records if "work" not in record]
    return {**settings, "work": work}, runs


def read(path):
    """(settings, runs) of a state file."""
    return sort(*journal.read(path, KIND))


class State:
    """An open state file; settings and facts as journal.Journal takes them."""

    def __init__(self, path, settings, facts=None):
        self.journal = journal.Journal(path, KIND, settings, facts)
        self.settings, self.runs = sort(self.journal.settings, self.journal.records)

    def done(self):
        return {(run["rep"], run["name"]) for run in self.runs}

    def add(self, run):
        self.journal.add(run)
        self.runs.append(run)

    def set_work(self, app, work, fixed, each):
        """How many units of work app does in every run; for the record: the seconds
        that it takes for none, and for each."""
        self.journal.add({"app": app, "work": work, "fixed": round(fixed, 3),
                          "each": round(each, 6)})
        self.settings["work"][app] = work
