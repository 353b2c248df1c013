# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""A case that runs by turns without and with the library until a verdict is found.

Each pair of runs is a record of the journal; a case that was begun goes on with its next
one."""

import os
import shutil
import threading
from contextlib import nullcontext

from cluster import BenchError
from suites import outcomes, verdicts
from suites.cases import TITLES
from suites.outcomes import BAD, PASS, SKIP
from stats import BROKEN, KEPT, UNDECIDED

WITHOUT, WITH = "without", "with"
LAST_LINES = 15
RANK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mpi4py_rank.py")
# What takes far longer than it took without the library does not end.
SLACK_SECONDS, SLACK_TIMES = 60, 10
# Programs of one directory may write the same file.
io_locks = {}
io_guard = threading.Lock()


def io_lock(directory):
    with io_guard:
        return io_locks.setdefault(directory, threading.Lock())


class Comparison:
    """place: where it runs (suite, MPI, way, tree); obstacle: why it does not, or None."""

    def __init__(self, place, case, key, obstacle):
        self.place = place
        self.case = case
        self.key = key
        self.obstacle = obstacle
        self.records = []

    @property
    def title(self):
        return f"{self.case.name} ({TITLES[self.place.mpi.name]}, {self.place.way})"

    # Runs

    def command(self):
        """(argv of a rank, its directory)"""
        if self.case.suite == "mpi4py":
            python = os.path.join(self.place.tree, "venv", "bin", "python")
            argv = [python, RANK, "-q", self.case.program]
            return argv + self.case.arguments, os.path.join(self.place.tree, "test")
        path, name = os.path.split(os.path.join(self.place.tree, self.case.program))
        return [f"./{name}", *self.case.arguments], path

    def limit(self, settings, found):
        """Seconds of a run; found: those of its pair until now."""
        seconds = (self.case.seconds() or settings.seconds) * settings.factor
        good = [record[WITHOUT]["seconds"] for record in (*self.records, found)
                if WITHOUT in record and not any(
                    one in BAD for one in record[WITHOUT]["outcomes"].values())]
        if good:
            seconds = min(seconds, SLACK_SECONDS * settings.factor + SLACK_TIMES * max(good))
        return seconds

    def run(self, kind, seconds, settings, runner):
        """Without or with: outcomes and what goes with them."""
        argv, directory = self.command()
        results = runner.directory()
        environ = [*self.case.environ, "HPCB_DEBUG=1", f"HPCB_SUITES_RESULTS={results}"]
        if kind == WITH:
            environ.append(f"LD_PRELOAD={settings.library}")
        # In the launcher's environment, so that spawned processes have it too.
        argv = ["env", *environ, *self.place.launch, *self.case.launch, "-n",
                str(self.case.ranks), *argv]
        ended = runner.run(argv, directory, self.place.environ, seconds)
        if self.case.suite == "mpi4py":
            found = outcomes.of_mpi4py(results, self.case.ranks, ended.status)
        else:
            found = {outcomes.WHOLE: outcomes.of_mpich(self.case.keys.get("resultTest"),
                                                       ended.status, ended.text)}
        shutil.rmtree(results, ignore_errors=True)
        proofs = outcomes.proofs(ended.err)
        if kind == WITHOUT and proofs:
            raise BenchError(f"{self.title}: the library is in runs without it too")
        last = ended.text.splitlines()[-LAST_LINES:] if any(
            one in BAD for one in found.values()) else []
        return {"outcomes": found, "status": ended.status, "seconds": round(ended.seconds, 3),
                "proofs": proofs, "last": last}

    def pair(self, settings, runner):
        """A record.  The first run is without: it tells how long the case takes."""
        number = len(self.records)
        _, directory = self.command()
        found = {}
        with io_lock(directory) if os.path.basename(directory) == "io" else nullcontext():
            for kind in (WITH, WITHOUT) if number % 2 else (WITHOUT, WITH):
                found[kind] = self.run(kind, self.limit(settings, found), settings, runner)
        return {"run": f"{self.key}#{number}", "case": self.key, **found}

    def finish(self, settings, runner, keep):
        """Run pairs until there is a verdict; keep(record) after each."""
        while not self.obstacle and not self.is_decided(settings):
            record = self.pair(settings, runner)
            keep(record)
            self.records.append(record)

    # Verdicts

    def pairs(self):
        """What verdicts.of_case() takes.  A pass without proof that the library was in all
        ranks is none."""
        found = []
        for record in self.records:
            proven = record[WITH]["proofs"] >= self.case.ranks
            found.append((record[WITHOUT]["outcomes"],
                          {test: one if proven or one in BAD else verdicts.UNPROVEN
                           for test, one in record[WITH]["outcomes"].items()}))
        return found

    def verdicts(self, settings):
        """{test: verdict, reason or None}"""
        if self.obstacle:
            return {outcomes.WHOLE: self.obstacle}
        return verdicts.of_case(self.pairs(), len(self.records) >= settings.most_pairs)

    def is_decided(self, settings):
        return len(self.records) >= settings.pairs and None not in self.verdicts(
            settings).values()

    def verdict(self, settings):
        """Of the case: kept, broken or undecided, or why it is not compared."""
        found = [one or UNDECIDED for one in self.verdicts(settings).values()]
        for one in (BROKEN, UNDECIDED, KEPT):
            if one in found:
                return one
        return max(found, key=found.count)

    def counts(self, test, kind):
        """(runs that got to the test, failures, how many of these did not end)"""
        side = kind == WITH
        found = [pair[side].get(test) for pair in self.pairs()]
        bads = (*BAD, SKIP) if side else BAD
        found = [one for one in found if one == PASS or one in bads]
        return len(found), sum(one in bads for one in found), found.count(outcomes.HANG)

    def failures(self, test, kind):
        runs, bad, hung = self.counts(test, kind)
        return f"{bad} of {runs}" + (f" ({hung} did not end)" if hung else "")

    def explain(self, test):
        """With the probability that the library has nothing to do with it."""
        name = "" if test == outcomes.WHOLE else f"{test} "
        runs, bad, _ = self.counts(test, WITHOUT)
        runs_with, bad_with, _ = self.counts(test, WITH)
        chance = verdicts.probability(bad, runs, bad_with, runs_with)
        return (f"{name}fails {self.failures(test, WITH)} with the library, "
                f"{self.failures(test, WITHOUT)} without; by chance {100 * chance:.1f} %")

    def reasons(self, settings):
        """Of tests that are broken, flaky or undecided."""
        return [(self.explain(test) + (f": {one}" if one == verdicts.FLAKY else ""))
                for test, one in self.verdicts(settings).items()
                if one in (BROKEN, verdicts.FLAKY, UNDECIDED, None)]

    def last_words(self):
        """Of the last run that failed with the library."""
        for record in reversed(self.records):
            if record[WITH]["last"]:
                return record[WITH]["last"]
        return []
