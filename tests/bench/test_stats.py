# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""What the measurements compute from their runs."""

import subprocess
import sys
import tempfile
import time
import unittest

import machine
import stats
import table


def run(rep, regime, wall):
    return {"rep": rep, "regime": regime, "wall": wall}


class Pairs(unittest.TestCase):
    # The machine became slow in repetition 1: unpaired medians would hide the guest.
    RUNS = [run(0, "alone", 1.0), run(0, "ours", 1.1), run(1, "ours", 3.3),
            run(1, "alone", 3.0), run(2, "alone", 1.0), run(2, "ours", 1.1)]

    def test_differences_are_taken_within_a_repetition(self):
        self.assertAlmostEqual(
            stats.median_difference(self.RUNS, "ours", "alone", "wall"), 0.1)

    def test_ratios_are_taken_within_a_repetition(self):
        self.assertAlmostEqual(
            stats.median_ratio(self.RUNS, "ours", "alone", "wall"), 1.1)

    def test_a_run_without_its_baseline_does_not_count(self):
        runs = self.RUNS + [run(3, "ours", 50.0)]
        self.assertEqual(len(stats.pairs(runs, "ours", "alone", "wall")), 3)

    def test_no_pair_is_no_figure(self):
        self.assertIsNone(stats.median_difference(self.RUNS, "nice", "alone", "wall"))
        self.assertIsNone(stats.median_ratio(self.RUNS, "nice", "alone", "wall"))

    def test_a_baseline_of_zero_gives_no_ratio(self):
        runs = [run(0, "alone", 0.0), run(0, "ours", 1.0)]
        self.assertIsNone(stats.median_ratio(runs, "ours", "alone", "wall"))


class Growth(unittest.TestCase):
    SAMPLES = [(10.0, 0.0), (11.0, 1.0), (15.0, 1.2), (16.0, 2.2)]

    def test_between_samples(self):
        self.assertAlmostEqual(stats.growth(self.SAMPLES, 10.5, 13.0), 0.6)

    def test_beyond_the_ends_nothing_grows(self):
        self.assertAlmostEqual(stats.growth(self.SAMPLES, 0, 100), 2.2)
        self.assertAlmostEqual(stats.growth(self.SAMPLES, 20, 30), 0)

    def test_two_samples_at_one_time(self):
        self.assertAlmostEqual(stats.interpolate([(1, 5), (1, 6), (2, 7)], 1), 5)

    def test_no_samples_is_an_error(self):
        with self.assertRaises(ValueError):
            stats.interpolate([], 1)


class Thesis(unittest.TestCase):
    """Experiment s3e1 of Stiehr 2004, table 3-4: 7 jobs at 35.45 jobs/h."""

    def test_throughput(self):
        self.assertAlmostEqual(stats.throughput(7, 710.9), 35.45, places=2)

    def test_efficiency(self):
        self.assertAlmostEqual(stats.efficiency(3.0, 4, 1.0), 0.75)


class Machine(unittest.TestCase):
    def test_name_of_the_processor(self):
        for text, name in (("processor\t: 0\nmodel name\t: Z80 @ 4 MHz\n", "Z80 @ 4 MHz"),
                           ("processor\t: 0\ncpu\t\t: POWER9\nclock\t\t: 2\n", "POWER9"),
                           ("processor\t: 0\ncpu MHz\t: 4\n", "")):
            with self.subTest(name=name):
                self.assertEqual(machine.processor(text), name)

    def test_facts(self):
        found = machine.facts()
        self.assertEqual(sorted(found), ["cpu", "cpus", "date", "kernel"])
        self.assertTrue(all(found.values()), found)
        self.assertIn(f", {found['cpus']} CPUs, Linux ", machine.title(found))

    def test_busy_is_everything_but_idle_iowait_softirq_steal_and_guest(self):
        busy, steal, idle = machine.parse_stat(
            "cpu  1 2 4 1000 500 8 16 32 1 2\ncpu0 1")
        self.assertAlmostEqual(busy / machine.TICK, 15)
        self.assertAlmostEqual(steal / machine.TICK, 32)
        self.assertAlmostEqual(idle / machine.TICK, 1500)

    def test_what_runs_in_a_directory_is_summed(self):
        with tempfile.TemporaryDirectory() as directory:
            self.assertEqual(machine.used_in(directory), 0)
            with subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                  cwd=directory) as child:
                deadline = time.monotonic() + 20
                while machine.used_in(directory) < 0.2 and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertGreaterEqual(machine.used_in(directory), 0.2)
                child.kill()
            self.assertEqual(machine.used_in(directory), 0)

    def test_another_file_is_refused(self):
        for text in ("", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2"):
            with self.assertRaises(ValueError):
                machine.parse_stat(text)

    def wait(self, busy_per_second, patience):
        clock = [0.0]

        def read():
            return machine.Use(clock[0], busy_per_second(clock[0]), 0.0, 0.0)

        def sleep(seconds):
            clock[0] += seconds

        return machine.wait_idle(0.05, patience, sleep=sleep, read=read), clock[0]

    def test_waits_until_idle(self):
        fraction, when = self.wait(lambda t: min(t, 3.0), 60)
        self.assertLessEqual(fraction, 0.05)
        self.assertTrue(3.0 <= when <= 4.0, when)

    def test_waits_no_longer_than_its_patience(self):
        fraction, when = self.wait(lambda t: 100 * t, 5)
        self.assertGreater(fraction, 0.05)
        self.assertTrue(5.0 <= when <= 6.0, when)


class Table(unittest.TestCase):
    def test_columns_are_aligned(self):
        lines = table.format_table(["", "wall"], [["alone", "1.0"], ["x", "12.25"],
                                                  ["none", None]])
        self.assertEqual(lines, ["        wall", "-" * 12, "alone    1.0",
                                 "x      12.25", "none       -"])

    def test_cells(self):
        self.assertEqual(table.percent(0.0123, 2, sign=True), "+1.23 %")
        self.assertEqual(table.number(1.005, 1), "1.0")
        self.assertIsNone(table.percent(None))
