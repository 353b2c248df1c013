# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/harm: the helper whose harm is known, and what the document makes of runs."""

import errno
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

from harm import helper as harm_helper, report

HERE = os.path.dirname(os.path.abspath(__file__))
HELPER = os.path.join(os.path.dirname(os.path.dirname(HERE)), "bench", "harm", "helper.py")


class Helper(unittest.TestCase):
    def helped(self, part, stopped, phases=("alone", "starts", "guest"), seconds=1):
        with tempfile.TemporaryDirectory() as directory:
            freeze = os.path.join(directory, "freeze")
            texts = {freeze: f"{int(stopped)}\n"}
            texts |= {os.path.join(directory, phase): freeze for phase in phases}
            for name, text in texts.items():
                with open(name, "w", encoding="utf-8") as file:
                    file.write(text)
            helper = subprocess.Popen(
                [sys.executable, "-B", HELPER, part, directory, str(os.getpid())],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            until = time.monotonic() + seconds
            while time.monotonic() < until:
                pass
            with open(os.path.join(directory, "end"), "w", encoding="ascii"):
                pass
            out, _ = helper.communicate(timeout=60)
        self.assertEqual(helper.returncode, 0)
        return json.loads(out)

    def test_it_says_what_it_took(self):
        self.assertEqual(self.helped("0", False)["taken"], 0)
        self.assertEqual(self.helped("0.1", True)["taken"], 0)
        self.assertEqual(self.helped("0.1", False, phases=["alone"])["taken"], 0)
        # How much, and when it begins, depends on who else wants the CPU.
        taken = 0
        for seconds in (1, 4, 16):
            taken = taken or self.helped("0.1", False, seconds=seconds)["taken"]
        self.assertGreater(taken, 0)
        self.assertLess(taken, 0.5)

    def test_a_guest_that_has_ended_does_not_run(self):
        with mock.patch("os.pread", side_effect=OSError(errno.ENODEV, "")):
            self.assertTrue(harm_helper.is_asked_to_stop([3]))
        with mock.patch("os.pread", side_effect=OSError(errno.EBADF, "")):
            self.assertRaises(OSError, harm_helper.is_asked_to_stop, [3])

    def test_it_looks_at_the_primary(self):
        seen = self.helped("0", False, phases=["alone"])
        self.assertGreater(seen["alone"][0], 0)
        self.assertEqual(seen["beside"], [0, 0])
        self.assertGreater(self.helped("0", False)["beside"][0], 0)
        self.assertEqual(self.helped("0", True)["beside"], [0, 0])

    def test_it_looks_at_the_primary_afterwards(self):
        phases = ["alone", "starts", "guest", "ends", "after"]
        # On a busy machine it waits for a CPU as long as it has none.
        alone = self.helped("0", False, phases=phases, seconds=2)["alone"]
        self.assertGreater(sum(alone), 5 * 10**8)

    def test_what_starts_and_ends_jobs_counts_as_neither(self):
        for phases in ([], ["alone", "starts"], ["alone", "starts", "guest", "ends"]):
            seen = self.helped("0.1", True, phases=phases, seconds=2)
            self.assertEqual(seen["taken"], 0)
            self.assertEqual(seen["beside"], [0, 0])
            self.assertLess(seen["alone"][0], 10**9)


def had(cost):
    """What a primary has that guests make longer by cost."""
    return {"alone": [10**9, 0], "beside": [10**9, cost * 10**9]}


def estimate(part, low, high, cost=None):
    return {"run": 0, "mode": "estimate", "part": part, "taken": part,
            **had(part / (1 - part) if cost is None else cost),
            "cost": None if low is None else (low + high) / 2, "low": low, "high": high,
            "step_after": None}


def guard(part, step):
    return {"run": 0, "mode": "guard", "part": part, "taken": part, **had(part),
            "cost": None, "low": None, "high": None, "step_after": step}


def width(part, *intervals):
    return {"mode": "width", "part": part, **had(part), "intervals": [
        [seconds, *bounds] for seconds, bounds in zip(report.WIDTH_SECONDS, intervals)]}


class Report(unittest.TestCase):
    def test_what_both_took_counts(self):
        # A tenth of the time makes the primary a ninth longer.
        self.assertEqual(report.covered([estimate(0.1, 0.11, 0.12)]), 1)
        self.assertEqual(report.covered([estimate(0.1, 0.09, 0.11)]), 0)
        self.assertEqual(report.covered([estimate(0.1, 0.05, 0.06, cost=0.055)]), 1)

    def test_runs_with_the_same_helper_are_one(self):
        runs = [estimate(0.02, 0.01, 0.021, cost=cost) for cost in (0.01, 0.03)]
        self.assertAlmostEqual(report.together(runs), 0.02)
        self.assertAlmostEqual(report.scatter(runs), 0.02 / 2 ** 0.5)
        self.assertIsNone(report.scatter([runs[0], estimate(0.1, 0.1, 0.2)]))
        self.assertEqual([report.covers(run, report.truth(run)) for run in runs], [True, False])
        self.assertEqual(report.covered(runs), 2)
        self.assertEqual(report.covered([*runs, estimate(0.1, 0.01, 0.02)]), 2)
        self.assertIn("| 2 % | 2 | 0 | 2.00 % | 2 | 2.00 % | 1 |",
                      "\n".join(report.estimates(runs)))

    def test_the_interval_narrows(self):
        lines = list(report.widths([width(0.02, (0.01, 0.03), (0.015, 0.025), (None, None))]))
        self.assertIn("after 2 min | width, points | interval after 10 min |", lines[0])
        self.assertEqual(lines[1].count("|"), lines[0].count("|"))
        self.assertEqual("| 2 % | 2.00 % | 1.00 to 3.00 % | 2.00 | 1.50 to 2.50 % | 1.00 | - | - |",
                         lines[2])

    def test_three_verdicts(self):
        self.assertEqual(report.verdict(45, 50, 0.9), "kept")
        self.assertEqual(report.verdict(44, 50, 0.9), "broken")
        self.assertEqual(report.verdict(20, 20, 0.9), "undecided")
        self.assertEqual(report.verdict(10, 16, 0.9), "broken")
        self.assertEqual(report.verdict(19, 20, 1.0), "broken")

    def test_switches_of_two_nodes(self):
        record = {"mode": "skew", "seconds": 10.0, "switches": [
            [[1.000, True], [1.200, False], [5.000, True], [5.2, False]],
            [[1.001, True], [1.203, False], [7.000, True], [7.1, False]]]}
        found, alone = report.distances(record)
        self.assertEqual([round(1000 * distance) for distance in found], [1, 3])
        self.assertEqual(alone, 4)
        self.assertAlmostEqual(report.stopped_part(record), 0.04)
        text = "\n".join(report.skew([record]))
        self.assertIn("p99 3.00, worst 3.00, of 2 switches; 4 switches of one node only | undecided",
                      text)
        self.assertIn("4.0000 % | broken", text)

    def test_the_document(self):
        records = [estimate(0.02, 0.01, 0.03)] * 49 + [estimate(0.0, 0.001, 0.002)]
        records += [estimate(0.02, None, None), guard(0.0, None), guard(0.02, 80.0),
                    guard(0.05, 130.0)]
        text = "\n".join(report.document({"seconds": 150}, records))
        self.assertIn("in 90 % of 50 runs | 49 of 50 | kept |", text)
        self.assertIn("takes 2 % or more | 1 of 2 | broken |", text)
        self.assertIn("if the helper takes nothing | 1 of 1 | undecided |", text)
        self.assertIn("| 2 % | 50 | 1 | 2.04 % | 49 | 2.04 % | 49 | 2.00 % | -0.04 | 2.00 |",
                      text)

    def test_a_step_on_nothing_shows_what_the_guest_did(self):
        quiet, stepped = guard(0.0, None), {**guard(0.0, 80.0), **had(0.02)}
        self.assertNotIn("may harm", "\n".join(report.guard([quiet])))
        text = "\n".join(report.guard([quiet, stepped, guard(0.02, 80.0)]))
        self.assertIn("the primary waited for 1.96 % of the time", text)
        self.assertIn("In the other runs it waited for 0.00 % (0.00 to 0.00).", text)


if __name__ == "__main__":
    unittest.main()
