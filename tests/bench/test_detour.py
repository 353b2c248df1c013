# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/detour: what it computes from detours that are known, its program, and that the
simulator reads its scenario.  Nothing here depends on how busy the machine is."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

from detour import maths

BUILD = os.environ.get("HPCB_BUILDDIR", ".")
LOOP = os.path.join(BUILD, "bench", "detour-loop")
SIM = os.path.join(BUILD, "sim", "hpcb-sim")
RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench",
                   "detour", "run")
DETOUR = os.path.join(os.path.dirname(RUN), "..", "..", "sim", "scenarios", "detour.json")
LIMIT = 120
MS = 1000000


def run_of(elapsed_ms, *detours_ms):
    return {"elapsed_ns": elapsed_ms * MS,
            "at_ns": [int(at * MS) for at, _ in detours_ms],
            "length_ns": [int(length * MS) for _, length in detours_ms]}


def call(*argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, check=False)


class Maths(unittest.TestCase):
    def test_share(self):
        self.assertEqual(maths.share(run_of(100, (10, 1), (50, 4))), 0.05)
        self.assertEqual(maths.share(run_of(100)), 0)

    def test_histogram(self):
        run = run_of(100, (1, 0.020), (2, 0.031), (3, 0.032), (4, 4))
        self.assertEqual(maths.histogram(run), {16: 2, 32: 1, 2048: 1})

    def test_spectrum_of_a_rhythm(self):
        run = run_of(1000, *((at, 1) for at in range(0, 1000, 100)))
        power = maths.spectrum(run, (5, 10, 13, 20))
        self.assertAlmostEqual(power[10], 1)
        self.assertAlmostEqual(power[20], 1)
        self.assertLess(power[5], 0.01)
        self.assertLess(power[13], 0.02)

    def test_spectrum_of_nothing(self):
        self.assertEqual(maths.spectrum(run_of(1000), (10,)), {10: 0})

    def test_a_detour_makes_its_step_longer(self):
        losses = maths.lost_in_steps(run_of(35, (12, 4)), 10 * MS)
        self.assertEqual(losses, [0, 4 * MS, 0])

    def test_a_detour_in_the_time_that_another_one_takes_is_in_the_same_step(self):
        losses = maths.lost_in_steps(run_of(40, (8, 4), (13, 2), (17, 1)), 10 * MS)
        self.assertEqual(losses, [6 * MS, 1 * MS, 0])

    def test_largest_of_many_nodes(self):
        losses = [0] * 9 + [10]
        self.assertAlmostEqual(maths.largest_of(losses, 1), 1)
        self.assertAlmostEqual(maths.largest_of(losses, 2), 10 * (1 - 0.9 ** 2))
        self.assertAlmostEqual(maths.largest_of(losses, 10000), 10)

    def test_slowdown(self):
        self.assertEqual(maths.slowdown([run_of(100)], 10 * MS, 128), 0)
        self.assertIsNone(maths.slowdown([run_of(5)], 10 * MS, 128))
        runs = [run_of(40, (5, 10)), run_of(30)]
        self.assertAlmostEqual(maths.slowdown(runs, 10 * MS, 1), 1 / 6)


class Loop(unittest.TestCase):
    def test_what_it_prints(self):
        done = call(LOOP, "--seconds", "0.2", "--least-us", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertGreaterEqual(found["elapsed_ns"], 200 * MS)
        self.assertEqual(len(found["at_ns"]), len(found["length_ns"]))
        self.assertEqual(found["at_ns"], sorted(found["at_ns"]))
        self.assertTrue(all(length >= 1000 for length in found["length_ns"]))
        self.assertLess(sum(found["length_ns"]), found["elapsed_ns"])

    def test_sees_that_it_was_stopped(self):
        """A stop of 100 ms is in one detour."""
        done = call("sh", "-c", f"{LOOP} --seconds 3 & sleep 1; kill -STOP $!; sleep 0.1; "
                                "kill -CONT $!; wait")
        self.assertGreaterEqual(max(json.loads(done.stdout)["length_ns"]), 90 * MS)

    def test_bad_options(self):
        for option, value in (("--seconds", "0"), ("--seconds", "x"), ("--least-us", "0"),
                              ("--least-us", "1.5")):
            with self.subTest(option=option, value=value):
                done = call(LOOP, option, value)
                self.assertEqual(done.returncode, 2)
                self.assertIn(option[2:], done.stderr)
                self.assertEqual(len(done.stderr.splitlines()), 1)


class Scenario(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.scratch)

    def test_pauses_and_lengths(self):
        runs = [run_of(100, (10, 1), (50, 4), (60, 2)), run_of(100, (20, 3))]
        noise = maths.regime("guest", runs)["noise"][0]
        self.assertEqual(noise["pause_ns"]["trace"], [39 * MS, 6 * MS])
        self.assertEqual(noise["length_ns"]["trace"], [1 * MS, 4 * MS, 2 * MS, 3 * MS])
        self.assertEqual(maths.regime("alone", [run_of(100)]), {"name": "alone"})

    @unittest.skipUnless(os.path.exists(SIM), "hpcb-sim is not built")
    def test_the_simulator_reads_it(self):
        runs = {"alone": [run_of(1000)],
                "guest": [run_of(1000, *((at, 4) for at in range(100, 1000, 100)))]}
        path = os.path.join(self.scratch, "detour.json")
        with open(path, "w", encoding="ascii") as stream:
            json.dump(maths.scenario(runs, MS), stream)
        done = call(SIM, "run", "--json", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('"guest"', done.stdout)


    @unittest.skipUnless(os.path.exists(SIM), "hpcb-sim is not built")
    def test_the_simulator_plays_its_runs(self):
        quiet, runs = run_of(1000), [run_of(1000, (100, 4), (900, 200)), run_of(1000)]
        path = os.path.join(self.scratch, "detour.jsonl")
        with open(path, "w", encoding="ascii") as stream:
            stream.write(maths.recording(
                {"alone": [quiet], "guest": runs, "stopped": [quiet], "wide": [quiet]},
                {"detour": 1}))
        done = call(SIM, "run", "--json", DETOUR, "--set", f"recording={path}", "--set",
                    "nodes=[1]")
        self.assertEqual(done.returncode, 0, done.stderr)
        slow = {row["regime"]: row["slowdown"]
                for row in json.loads(done.stdout)["runs"][0]["rows"]}
        # The last detour is longer than its run: what is behind the end does not count.
        self.assertAlmostEqual(slow["guest"], 2000 / (2000 - 104), 2)
        self.assertEqual((slow["stopped"], slow["wide"]), (1, 1))


class Run(unittest.TestCase):
    def test_options(self):
        self.assertEqual(call(RUN, "--help").returncode, 0)
        done = call(RUN, "--reps", "0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--reps", done.stderr)
