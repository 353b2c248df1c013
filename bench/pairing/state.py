# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What bench/pairing is to measure, in which order, and what it has measured."""

import random
from statistics import mean, median

import journal

KIND = {"pairing": 2}


def schedule(pairs, reps, seed):
    """[(repetition, a, b, swapped)]: all pairs, in another order in each repetition.
    With more repetitions the first ones are the same."""
    rng = random.Random(seed)
    return [(rep, a, b, rng.random() < 0.5)
            for rep in range(reps) for a, b in rng.sample(pairs, len(pairs))]


class Measurements:
    """With a path they are kept there, and those that are there count.  A record has
    the repetition, the two jobs, their rates, the part of the time that was lost to
    others, the tries that it took, and how long these took."""

    def __init__(self, settings, path=None):
        self.journal = journal.Journal(path, KIND, settings) if path else None
        self.records = self.journal.records if self.journal else []

    def add(self, rep, pair, rates, lost, tries, seconds):
        record = {"rep": rep, "pair": list(pair), "rates": list(rates), "lost": lost,
                  "tries": tries, "seconds": round(seconds, 3)}
        if self.journal:
            self.journal.add(record)
        else:
            self.records.append(record)

    def left(self, plan):
        """What of a plan is not measured yet."""
        done = {(record["rep"], *record["pair"]) for record in self.records}
        return [step for step in plan if step[:3] not in done]

    def repetition(self, rep):
        """{(a, b): (rate of a, rate of b, ...)}, as far as it was measured."""
        return {tuple(record["pair"]): tuple(record["rates"])
                for record in self.records if record["rep"] == rep}

    def complete(self, pairs, reps):
        """The repetitions of which nothing is missing."""
        found = [self.repetition(rep) for rep in range(reps)]
        return [measured for measured in found if set(pairs) <= set(measured)]

    def seconds_for(self, steps):
        """How long these will take, by what the same pairs took, or all; None before
        anything was measured."""
        if not self.records:
            return None
        took = {}
        for record in self.records:
            took.setdefault(tuple(record["pair"]), []).append(record["seconds"])
        usual = mean(record["seconds"] for record in self.records)
        return sum(mean(took.get((a, b), [usual])) for _rep, a, b, _swapped in steps)

    def noise(self):
        """How long jobs were without their CPU, and how often that was too long."""
        lost = [record["lost"] for record in self.records]
        return {"median": median(lost), "most": max(lost),
                "repeated": sum(record["tries"] - 1 for record in self.records)}
