# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What scripts/mpi-suites prints, in TAP or in JSON."""

import json
from collections import Counter

from stats import BROKEN, KEPT, UNDECIDED
from suites import verdicts
from suites.comparison import WITH, WITHOUT
from suites.cases import TITLES


def one_line(text):
    return text.replace("#", "")


class Tap:
    def __init__(self):
        self.number = 0

    def line(self, good, text, skip=""):
        self.number += 1
        print(f"{'ok' if good else 'not ok'} {self.number} - {one_line(text)}"
              f"{f' # SKIP {one_line(skip)}' if skip else ''}", flush=True)

    def case(self, one, settings):
        verdict = one.verdict(settings)
        reasons = one.reasons(settings)
        if verdict in (KEPT, BROKEN):
            self.line(verdict == KEPT, one.title)
        else:
            self.line(True, one.title, verdict)
        for text in reasons:
            print(f"#   {text}")
        if verdict == BROKEN:
            for text in one.last_words():
                print(f"#   | {text}")
        if one.case.unknown:
            print(f"# unknown to mpi-suites: {' '.join(one.case.unknown)}")

    @staticmethod
    def part(one):
        print(f"# {one.title}: {one.text}", flush=True)

    def end(self):
        print(f"1..{self.number}")


class Json:
    def __init__(self):
        self.found = []

    def line(self, good, text, skip=""):
        self.found.append({"name": text, "result": "skip" if skip else
                           "ok" if good else "not ok", "reason": skip})

    def case(self, one, settings):
        tests = {test: {"verdict": found or UNDECIDED,
                        **{kind: dict(zip(("runs", "bad", "hung"), one.counts(test, kind)))
                           for kind in (WITHOUT, WITH)}}
                 for test, found in one.verdicts(settings).items()}
        self.found.append({"suite": one.case.suite, "mpi": one.place.mpi.name,
                           "transport": one.place.way, "name": one.title,
                           "ranks": one.case.ranks, "pairs": len(one.records),
                           "verdict": one.verdict(settings), "tests": tests})

    def part(self, one):
        self.found.append({"suite": one.suite, "mpi": one.mpi, "transport": one.way,
                           "verdict": one.verdict, "tests": one.tests,
                           "compared": one.compared, "counts": dict(one.counts)})

    def end(self):
        print(json.dumps(self.found, indent=1))


class Part:
    """The verdict on a suite with an MPI and a way of messages."""

    def __init__(self, place, comparisons, settings):
        self.suite, self.mpi, self.way = place.suite, place.mpi.name, place.way
        found = [one or UNDECIDED for comparison in comparisons
                 for one in comparison.verdicts(settings).values()]
        self.tests = len(found)
        self.counts = Counter(found)
        self.compared = sum(self.counts[one] for one in verdicts.COMPARED)
        self.verdict = verdicts.of_suite(found)
        self.chosen = settings.chosen

    @property
    def title(self):
        return f"{self.suite}'s suite with {TITLES[self.mpi]} over {self.way}"

    @property
    def text(self):
        others = [f"{count} {name}" for name, count in self.counts.most_common()
                  if name not in verdicts.COMPARED]
        share = 100 * self.compared // self.tests if self.tests else 0
        chosen = " chosen" if self.chosen else ""
        return "; ".join([f"{self.verdict}: {self.compared} of {self.tests}{chosen} tests "
                          f"compared ({share} %), {self.counts[BROKEN]} broken", *others])
