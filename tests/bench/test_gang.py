# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/gang: what is planned, what switches and decisions tell, and the document."""

import json
import os
import subprocess
import unittest

from gang import maths, plan, report

REPLAY = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench", "gang-replay")


def decision(quantum, elected, jobs=(1, 2)):
    """One core; nobody has been measured yet, so that the first in the list is elected."""
    return {"gang": "primaries", "quantum": quantum, "window": 2, "mem": 0, "net": 0,
            "jobs": [{"job": job, "cpus": "0", "paused": False, "wide": False, "waited": 0,
                      "samples": [], "elected": job == elected} for job in jobs]}


class Plan(unittest.TestCase):
    def test_disturbances(self):
        planned = [plan.disturbance(number, 1) for number in range(99)]
        self.assertEqual(planned, [plan.disturbance(number, 1) for number in range(99)])
        self.assertNotEqual(planned, [plan.disturbance(number, 2) for number in range(99)])
        for kind in plan.KINDS:
            self.assertEqual(sum(one.kind == kind for one in planned), 33)
        for one in planned:
            self.assertEqual(bool(one.daemon), one.kind == "kill")
            self.assertEqual(one.target == "ctl", one.daemon == "slurmctld")
            self.assertEqual(one.step != 0, one.kind == "step")


class Maths(unittest.TestCase):
    def test_turns(self):
        found = maths.turns([decision(quantum, 2 if quantum == 3 else 1)
                             for quantum in (4, 1, 2, 3)])
        self.assertEqual(found[1], {"rounds": 4, "elected": 3, "longest": 2, "jobs": 2})
        self.assertEqual(found[2], {"rounds": 4, "elected": 1, "longest": 3, "jobs": 2})

    def test_together(self):
        by_node = {"n1": [decision(1, 1), decision(2, 1), decision(3, 2)],
                   "n2": [decision(1, 1), decision(2, 2)]}
        self.assertEqual(maths.together(by_node, {1: ("n1", "n2")}), (1, 1))
        self.assertEqual(maths.together(by_node, {1: ("n1",)}), (0, 0))

    def test_skews(self):
        switches = [(1.0, "n1", "7", True), (1.002, "n2", "7", True), (1.5, "n1", "7", False),
                    (2.0, "n2", "8", True), (2.0, "n1", "7", True)]
        self.assertEqual([round(skew, 6) for skew in maths.skews(switches)], [0.002])

    def test_who_is_stopped(self):
        switches = [(1.0, "n1", "7", True), (2.0, "n1", "7", False), (2.0, "n1", "8", True)]
        self.assertEqual(maths.stopped_at(switches, 1.5), {("n1", "7"): 1.0})
        self.assertEqual(maths.stopped_at(switches, 3.0), {("n1", "8"): 2.0})
        self.assertTrue(maths.stands_still(switches, "n1", ["7"], 1.2, 1.6))
        self.assertFalse(maths.stands_still(switches, "n1", ["7", "8"], 1.2, 1.6))
        self.assertFalse(maths.stands_still(switches, "n1", ["7"], 0.9, 1.6))
        self.assertEqual(maths.longest_stop(switches, 1.5, 6.0), 4.0)


class Replay(unittest.TestCase):
    def replay(self, *lines):
        done = subprocess.run([REPLAY], input="".join(json.dumps(line) + "\n" for line in lines),
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout and json.loads(done.stdout)

    def test_the_policy_decides_the_same(self):
        unknown = dict(decision(1, 1), jobs=None)
        self.assertEqual(self.replay(decision(1, 1), unknown),
                         (0, {"replayed": 1, "unlike": 0, "unknown": 1}))

    def test_or_does_not(self):
        self.assertEqual(self.replay(decision(1, 1), decision(1, 2)),
                         (1, {"replayed": 2, "unlike": 1, "unknown": 0}))

    def test_what_is_no_decision(self):
        self.assertEqual(self.replay({"quantum": 1}), (2, ""))


def calm(longest, skew=0.001, cpu=0.1, unlike=0):
    figures = {"rounds": 120, "elected": 20, "longest": longest, "jobs": 5}
    return {"mode": "calm", "seconds": 60,
            "turns": {node: {str(index): figures for index, nodes in enumerate(plan.JOBS)
                             if node in nodes} for node in plan.NODES},
            "together": [10, 2], "skews": [skew] * 10,
            "cpu": {node: cpu for node in plan.NODES},
            "replay": {"replayed": 10, "unlike": unlike, "unknown": 0}}


def disturbed(number, stuck=(), lost=()):
    return {"mode": "disturb", "number": number, "kind": "cut", "daemon": "", "target": "n1",
            "step": 0, "stuck": list(stuck), "lost": list(lost), "longest": 1.0}


class Report(unittest.TestCase):
    def verdicts(self, records):
        lines = list(report.document({"seed": 1}, records))
        return [line.split("|")[-2].strip() for line in lines
                if line.startswith("| ") and line.endswith(("kept |", "broken |",
                                                            "undecided |"))]

    def test_three_verdicts(self):
        good = [calm(5)] * 10 + [disturbed(number) for number in range(100)]
        self.assertEqual(self.verdicts(good), ["kept"] * 8)
        self.assertEqual(self.verdicts([calm(5), disturbed(0)]), ["undecided"] * 8)
        bad = [calm(16, 0.006, 0.4, 1), disturbed(0, [["n1", "1"]], ["1"])]
        self.assertEqual(self.verdicts(bad), ["broken"] * 8)
        self.assertEqual(self.verdicts([calm(8)] * 10)[:3], ["kept", "broken", "kept"])


if __name__ == "__main__":
    unittest.main()
