# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The verdicts of bench/memory."""

import importlib.util
import os
import tempfile
import unittest

import journal
from cluster import BenchError

HERE = os.path.dirname(os.path.abspath(__file__))


def load(path):
    spec = importlib.util.spec_from_file_location("memory_report", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


report = load(os.path.join(HERE, "..", "..", "bench", "memory", "report.py"))


def run(seconds=1.0, kills=0, busy=0.0, steal=0.0):
    return {"seconds": seconds, "cpu_seconds": seconds, "busy": busy, "steal": steal,
            "primary_kills": kills, "guest_kills": 0, "guest_mib": 900, "free_after": 0.5}


def pair(ratio=1.0, **given):
    return {"pair": 0, "kind": "anon", "all_cpus": False, "guest": "holds",
            "with": run(ratio, **given), "without": run(1.0)}


class Verdicts(unittest.TestCase):
    def test_one_primary_that_is_killed_is_one_too_many(self):
        good = [pair()] * 100
        self.assertEqual(report.verdict_of_failures(good), report.KEPT)
        self.assertEqual(report.verdict_of_failures(good[:99]), report.UNDECIDED)
        self.assertEqual(report.verdict_of_failures(good + [pair(kills=1)]), report.BROKEN)
        self.assertEqual(report.verdict_of_failures([pair(ratio=None)]), report.BROKEN)

    def test_a_run_without_its_other_half_counts_for_failures_alone(self):
        half = {**pair(2.0)}
        del half["without"]
        self.assertEqual(report.ratios([half, pair(1.5)]), [1.5])
        self.assertEqual(report.verdict_of_failures([half] * 100), report.KEPT)

    def test_a_busy_machine_says_nothing_of_times(self):
        self.assertEqual(report.ratios([pair(2.0, busy=0.2), pair(2.0, steal=0.2),
                                        pair(1.5)]), [1.5])

    def test_the_median_is_decided_by_its_interval(self):
        self.assertEqual(report.verdict_of_median([1.0] * 5), report.UNDECIDED)
        self.assertEqual(report.verdict_of_median([1.0] * 20), report.KEPT)
        self.assertEqual(report.verdict_of_median([1.03] * 20), report.BROKEN)
        self.assertEqual(report.verdict_of_median([1.0, 1.04] * 10), report.UNDECIDED)

    def test_one_slow_run_breaks_the_limit_of_the_worst(self):
        self.assertEqual(report.verdict_of_worst([1.0] * 100), report.KEPT)
        self.assertEqual(report.verdict_of_worst([1.0] * 99), report.UNDECIDED)
        self.assertEqual(report.verdict_of_worst([1.0, 1.2]), report.BROKEN)
        self.assertEqual(report.verdict_of_worst([]), report.UNDECIDED)

    def test_noise_is_of_runs_without_guests_of_one_case(self):
        def alone(seconds, kind="anon", busy=0.0):
            return {**pair(), "kind": kind, "without": run(seconds, busy=busy)}
        found = report.noise([alone(1.0), alone(7.0, "huge"), alone(9.0, busy=0.2),
                              alone(1.5), alone(0.75)])
        self.assertEqual(found, [1.5, 0.5])
        self.assertEqual(report.noise([pair()]), [])

    def test_the_document_has_a_row_a_case(self):
        settings = {"mib": 1024, "machine": {"date": "2026-11-24", "cpus": 2, "machine": "m",
                                             "kernel": "6", "cgroup": 1}}
        hostile = {**pair(1.01), "guest": "hostile"}
        text = "\n".join(report.document(settings, [pair(1.01)] * 3 + [hostile]))
        self.assertIn("| anonymous | one | holds it | 3 | 0 | 1.00 | 3 | 1.010 |", text)
        self.assertIn("| anonymous | one | hostile | 1 | 0 |", text)
        self.assertNotIn("side by side", text)

    def test_both_versions_of_cgroups_are_side_by_side(self):
        facts = {"date": "2026-11-24", "cpus": 2, "machine": "m", "kernel": "6", "cgroup": 1}
        vm = {**facts, "cpus": 1, "cgroup": 2, "virtual": "User-Mode Linux"}
        text = "\n".join(report.document(
            {"mib": 1024, "machine": facts}, [pair()] * 100,
            machines=[({"mib": 1024, "machine": vm}, [pair(kills=1), pair()])]))
        self.assertIn("runs, cgroup v1 | 0 of 100 | kept |", text)
        self.assertIn("runs, cgroup v2 (User-Mode Linux) | 1 of 2 | **broken** |", text)
        self.assertIn("| cgroup v1 | 6 | 2 | holds it | 100 | 0 | 0.50 | 0.50 | 0 |", text)
        self.assertIn("| cgroup v2 (User-Mode Linux) | 6 | 1 | holds it | 2 | 1 | 0.50 |", text)


class StateFile(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "state")

    def test_two_runs_cannot_take_the_same_numbers(self):
        first = journal.Journal(self.path, report.KIND, {}, key="pair")
        first.add(pair())
        with self.assertRaisesRegex(BenchError, "another run is adding"):
            journal.Journal(self.path, report.KIND, {}, key="pair")
        del first
        again = journal.Journal(self.path, report.KIND, {}, key="pair")
        self.assertEqual(len(again.records), 1)

    def test_of_a_number_that_is_there_twice_the_last_run_counts(self):
        state = journal.Journal(self.path, report.KIND, {}, key="pair")
        for number, seconds in ((0, 1.0), (1, 2.0), (0, 3.0)):
            state.add({**pair(seconds), "pair": number})
        _, records = journal.read(self.path, report.KIND, "pair")
        self.assertEqual([(record["pair"], record["with"]["seconds"]) for record in records],
                         [(0, 3.0), (1, 2.0)])


if __name__ == "__main__":
    unittest.main()
