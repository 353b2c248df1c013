# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/waits: what it asks of its programs, what it makes of their answers; the programs
under each MPI that is there; doc/results-waits.md is what its data say."""

import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import stats
from waits import plan, report

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("HPCB_BUILDDIR", ".")
LAUNCHERS = {"openmpi": "mpiexec.openmpi", "mpich": "mpiexec.mpich"}
LIMIT = 300


class Interval(unittest.TestCase):
    def test_of_the_median(self):
        median, low, high = stats.nested_interval([[1, 2, 3, 4, 5]] * 4)
        self.assertEqual(median, 3)
        self.assertTrue(1 <= low < 3 < high <= 5, (low, high))

    def test_starts_that_differ_widen_it(self):
        """As many figures; what differs is between starts in one case, within them in the
        other one."""
        apart = stats.nested_interval([[1.0] * 8, [1.1] * 8, [1.2] * 8, [1.3] * 8])
        mixed = stats.nested_interval([[1.0, 1.1, 1.2, 1.3] * 2] * 4)
        self.assertGreater(apart[2] - apart[1], 1.5 * (mixed[2] - mixed[1]))

    def test_covers_what_it_should(self):
        """In most of many samples with noise of starts and of turns."""
        rng = random.Random(5)
        hits = 0
        for number in range(60):
            groups = []
            for _ in range(6):
                start = rng.gauss(1, 0.01)
                groups.append([rng.gauss(start, 0.02) for _ in range(7)])
            _, low, high = stats.nested_interval(groups, 200, number)
            hits += low <= 1 <= high
        self.assertGreater(hits, 50)

    def test_is_repeatable_and_leaves_out_empty_starts(self):
        groups = [[1, 3, 4], [2, 2, 5]]
        self.assertEqual(stats.nested_interval(groups), stats.nested_interval([[], *groups]))
        with self.assertRaises(ValueError):
            stats.nested_interval([[], []])

    def test_verdicts(self):
        for low, high, at_least, expected in (
                (0.9, 1.0, False, "kept"), (0.9, 1.1, False, "undecided"),
                (1.01, 1.1, False, "broken"), (1.0, 1.1, False, "undecided"),
                (0.9, 0.99, True, "broken"), (0.9, 1.1, True, "undecided"),
                (1.0, 1.1, True, "kept")):
            with self.subTest(low=low, high=high, at_least=at_least):
                self.assertEqual(stats.verdict(low, high, 1.0, 3, at_least), expected)


    def test_two_figures_decide_nothing(self):
        self.assertEqual(stats.verdict(2, 2, 1.0, 2), "undecided")


class Plan(unittest.TestCase):
    def test_names_are_unique_and_quick_is_a_part(self):
        keys = [row.key for row in plan.FULL]
        self.assertEqual(len(set(keys)), len(keys))
        self.assertLessEqual({row.key for row in plan.QUICK}, set(keys))

    def test_all_that_was_asked_for(self):
        keys = {row.key for row in plan.FULL}
        self.assertIn("exchange/recv/4:1/200us/25%", keys)
        self.assertIn("call/pingpong/8B", keys)
        self.assertIn("call/reduce_scatter/16MiB", keys)
        self.assertIn("exchange/rendezvous/2:1/1000us/25%", keys)
        self.assertEqual(len(keys), 5 * 3 * 4 * 2 + 4 * 2 + 2 + 8 * 2 + 1)

    def test_turns_are_of_the_seconds_asked_for(self):
        row = plan.Exchange("sendrecv", 2, 1000, 25)
        self.assertEqual(row.turn(500, 0.1, 7), "sendrecv 2 25 500000 50 6 7")
        self.assertEqual(plan.Exchange("chain", 4, 10000, 0).turn(1, 0.1, 7),
                         "chain 4 0 10000 5 1 7")
        self.assertEqual(plan.Call("bcast", plan.MIB).turn(1000, 0.1, 7),
                         "bcast 1048576 100 11")

    def test_limits(self):
        self.assertEqual(plan.Exchange("recv", 1, 200, 0).limit, 1.005)
        self.assertEqual(plan.Call("allreduce", 8).limit, 1.05)
        self.assertEqual(plan.Call("allreduce", plan.MIB).limit, 1.01)


def exchange(wall, long=(0, 0), middle=(0, 0), delay=0):
    return [{"wall": wall, "delay": delay, "wait": wall / 2, "cpu": wall / 2, "long": long,
             "middle": middle}] * 2


ROW = plan.Exchange("sendrecv", 2, 1000, 0)


class Report(unittest.TestCase):
    def test_ratios_are_of_pairs_whatever_the_machine_does(self):
        starts = [[(exchange(1.0), exchange(1.1)), (exchange(5.0), exchange(5.5))],
                  [(exchange(2.0), exchange(2.2))]]
        found = report.summarise(ROW, starts)
        self.assertEqual(found["ratio"], {"median": 1.1, "low": 1.1, "high": 1.1,
                                          "limit": 1.005, "verdict": "broken"})
        self.assertEqual(found["ratios"], [[1.1, 1.1], [1.1]])
        self.assertEqual((found["pairs"], found["times"]), (3, [2, 2.2]))
        self.assertEqual((found["wait"], found["freed"]), (0.5, {}))

    def test_nothing_is_decided_on_a_busy_machine(self):
        pair = (exchange(1, long=(0.4, 0.4)), exchange(2, long=(0.4, 0.4)))
        for disturbed, expected in ((2, "broken"), (3, "undecided")):
            found = report.summarise(ROW, [[pair] * 4], disturbed)
            self.assertEqual((found["ratio"]["verdict"], found["freed"]["long"]["verdict"]),
                             (expected, expected))

    def test_time_is_of_the_last_rank(self):
        self.assertEqual(report.time_of(ROW, exchange(1) + exchange(2)), 2)

    def test_freed_is_what_took_no_cpu_time(self):
        pair = (exchange(1, long=(0.4, 0.4), middle=(0.1, 0.1)),
                exchange(1, long=(0.4, 0.04), middle=(0.1, 0.05)))
        found = report.summarise(ROW, [[pair] * 3] * 2)["freed"]
        self.assertEqual((found["long"]["median"], found["long"]["was"]), (0.9, 0))
        self.assertEqual(found["long"]["verdict"], "kept")
        self.assertEqual(found["middle"]["verdict"], "broken")

    def test_few_waits_of_a_kind_say_nothing(self):
        pair = (exchange(1), exchange(1, long=(0.02, 0)))
        self.assertEqual(report.summarise(ROW, [[pair] * 3])["freed"], {})

    def test_a_call_is_the_mean_of_its_ranks(self):
        answers = [{"us": 4, "wall": 1, "delay": 0}, {"us": 6, "wall": 1, "delay": 0}]
        self.assertEqual(report.time_of(plan.Call("bcast", 8), answers), 5)
        self.assertEqual(report.time_of(plan.Call("pingpong", 8), answers), 2.5)

    def test_disturbed(self):
        self.assertFalse(report.is_disturbed(exchange(1, delay=0.01), 0.02))
        self.assertTrue(report.is_disturbed(exchange(1, delay=0.03), 0.02))

    def result(self, ratio, hung=()):
        rows = [{"mpi": "mpich", "transport": "shm", "library": "hook",
                 **report.summarise(row, [[pair] * 3], 1)} for row, pair in (
                     (ROW, (exchange(1, (0.4, 0.4)), exchange(ratio, (0.4, 0.04)))),
                     (plan.Call("pingpong", 8), ([{"us": 2}] * 2, [{"us": 2 * ratio}] * 2)))]
        return {"settings": {"starts": 1, "blocks": 3, "seconds": 0.1, "disturbed": 0.02,
                             "libraries": ["hook"],
                             "machine": {"cpu": "z80", "cpus": 2, "kernel": "6", "date": "d"}},
                "hung": list(hung), "rows": rows}

    def test_summary_counts_verdicts_and_names_the_furthest(self):
        found = {row[0]: row for row in report.summary(self.result(1.03))}
        self.assertEqual(found[report.LIMITS["wall"]][1:],
                         ["mpich", "shm", "hook", "0", "0", "1", "sendrecv/2:1/1000us/0%",
                          "1.030 [1.030..1.030]", "0"])
        self.assertEqual(found[report.LIMITS["long"]][4:7], ["1", "0", "0"])
        self.assertEqual(found[report.LIMITS["small"]][4:7], ["1", "0", "0"])
        self.assertNotIn(report.LIMITS["large"], found)

    def test_text_and_markdown(self):
        hung = {"mpi": "mpich", "transport": "shm", "library": "hook", "row": ROW.key}
        result = self.result(1.03, [hung])
        text = report.as_text(result)
        self.assertIn("90 % [90..90]", text)
        self.assertIn("In 33 % of the pairs", text)
        lines = report.as_markdown(result).splitlines()
        self.assertIn("## hook: mpich, shm", lines)
        for line in lines:
            if line.startswith("| 8 bytes"):
                self.assertTrue(line.endswith("| 1 |"), line)


class Document(unittest.TestCase):
    def test_is_fresh(self):
        """After: bench/waits/run --report doc/data/waits.json --write doc/results-waits.md"""
        with open(os.path.join(TOP, "doc", "data", "waits.json"), encoding="utf-8") as file:
            result = json.load(file)
        with open(os.path.join(TOP, "doc", "results-waits.md"), encoding="utf-8") as file:
            self.assertEqual(report.as_markdown(result), file.read())


@unittest.skipIf((os.cpu_count() or 1) < 2, "one CPU")
class Run(unittest.TestCase):
    """Figures mean nothing here."""

    def call(self, *arguments):
        return subprocess.run([sys.executable, "-B", os.path.join(TOP, "bench", "waits", "run"),
                               "--build", BUILD, "--library", "again=", *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=LIMIT, check=False)

    def test_bad_options(self):
        for arguments in (["--starts", "0"], ["--seconds", "0"], ["--mpi", "lam"],
                          ["--transport", "pigeon"], ["--cpus", "0"], ["--cpus", "a,b"],
                          ["--library", "x"], ["--library", "again="], ["--patience", "-1"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.call(*arguments).returncode, 2)

    def test_one_line_for_what_cannot_be(self):
        with tempfile.TemporaryDirectory() as empty:
            for arguments, words in (
                    (["--only", "x"], "no row"), (["--build", empty], "not built"),
                    (["--report", empty + "/x"], "No such file"),
                    (["--report", os.path.join(TOP, "COPYING")], "not a file of this")):
                with self.subTest(arguments=arguments):
                    done = self.call(*arguments)
                    self.assertEqual(done.returncode, 1)
                    self.assertIn(words, done.stderr.splitlines()[-1])
                    self.assertNotIn("Traceback", done.stderr)

    def test_all_patterns_and_calls(self):
        for mpi, launcher in LAUNCHERS.items():
            built = os.path.exists(os.path.join(BUILD, "bench", "waits", f"calls.{mpi}"))
            with self.subTest(mpi=mpi):
                if not built or not shutil.which(launcher):
                    self.skipTest(f"{mpi} is not there")
                self.check_run(mpi)

    def check_run(self, mpi):
        with tempfile.TemporaryDirectory() as scratch:
            path, page = (os.path.join(scratch, name) for name in ("json", "md"))
            done = self.call("--mpi", mpi, "--transport", "shm", "--starts", "1",
                             "--blocks", "1", "--patience", "0", "--seconds", "0.001",
                             "--only", "*/exchange/*/2:1/200us/25%", "--only",
                             "*/exchange/chain/1:1/200us/25%", "--only", "*/call/*/8B",
                             "--only", "*/call/*/1MiB", "--json", path, "--write", page)
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
            self.assertEqual(len(result["rows"]), len(plan.PATTERNS) + 1 + 2 + 8)
            with open(page, encoding="utf-8") as file:
                self.assertEqual(file.read(), report.as_markdown(result))
            self.assertIn("again", done.stdout)
