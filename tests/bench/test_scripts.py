# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/stolen, bench/compare and demo on a fake sandbox: whole runs, and what they say
when something breaks.  Figures mean nothing here."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
LIMIT = 300


def built_mpi():
    bench = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench")
    launchers = {"openmpi": "mpirun.openmpi", "mpich": "mpiexec.mpich"}
    for mpi, launcher in launchers.items():
        if os.path.exists(os.path.join(bench, f"primary-mpi.{mpi}")) and shutil.which(
                launcher):
            return mpi
    return None


@unittest.skipIf((os.cpu_count() or 1) < 2, "one CPU")
class ScriptTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.scratch)

    def left(self):
        return [os.path.join(self.scratch, name) for name in os.listdir(self.scratch)]

    def call(self, script, *arguments, **environment):
        argv = [os.path.join(TOP, script), "--sandbox",
                os.path.join(HERE, "fake-sandbox"), "--patience", "0", "--seconds",
                "0.1", *arguments]
        return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=LIMIT, check=False,
                              env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                                   "HPCB_BENCH_TMP": self.scratch, **environment})

    def assert_failed(self, done, words):
        self.assertEqual(done.returncode, 1, done.stdout)
        last = done.stderr.splitlines()[-1]
        self.assertIn(words, last)
        self.assertNotIn("Traceback", done.stderr)
        for path in self.left():
            self.assertIn(path, last)


@unittest.skipIf(os.environ.get("HPCB_QUICK"), "half a minute: ./check unit")
class Stolen(ScriptTest):
    def test_all_regimes_of_every_repetition(self):
        done = self.call("bench/stolen", "--primaries", "cpu", "--reps", "2", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual(len(found["runs"]), 2 * 4)
        # On a busy machine a guest may get nothing in a tenth of a second.
        guests = {"alone": 0, "others": 0}
        for run in found["runs"]:
            guests["alone" if run["regime"] == "alone" else "others"] += run["guest_cpu"]
        self.assertEqual(guests["alone"], 0)
        self.assertGreater(guests["others"], 0)
        same = [v for v in found["verdicts"] if "same result" in v["text"]]
        self.assertEqual([v["kept"] for v in same], [True])
        self.assertEqual(self.left(), [])

    def test_table(self):
        done = self.call("bench/stolen", "--primaries", "sleep", "--reps", "1")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("alone", "nice -n 19", "ours, --guest", "added"):
            self.assertIn(words, done.stdout)

    def test_bad_options(self):
        for arguments in (["--primaries", "cpu,gpu"], ["--reps", "0"],
                          ["--seconds", "0"], ["--what"]):
            with self.subTest(arguments=arguments):
                done = self.call("bench/stolen", *arguments)
                self.assertEqual(done.returncode, 2, done.stderr)

    def test_refused_submission(self):
        done = self.call("bench/stolen", "--primaries", "cpu", FAKE_REFUSE="no such part")
        self.assert_failed(done, "no such part")

    def test_no_programs(self):
        with tempfile.TemporaryDirectory() as empty:
            self.assert_failed(self.call("bench/stolen", "--build", empty), "not built")


class Compare(ScriptTest):
    def setUp(self):
        super().setUp()
        self.mpi = built_mpi()
        if not self.mpi:
            self.skipTest("no MPI")

    def test_three_regimes_and_a_sentence(self):
        done = self.call("bench/compare", "--mpi", self.mpi, "--reps", "1", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([row["regime"] for row in found["summary"]],
                         ["after", "nice", "guest"])
        self.assertEqual(found["summary"][0]["ratio"], 1)
        self.assertIn("than one after the other", found["conclusion"])
        self.assertEqual(self.left(), [])

    def test_singletons_are_noticed(self):
        done = self.call("bench/compare", "--mpi", self.mpi, FAKE_SINGLETONS="1")
        self.assert_failed(done, "expected one result of 2 ranks")


class Conclusion(unittest.TestCase):
    """The sentence follows the figures, good or bad."""

    def setUp(self):
        loader = SourceFileLoader("compare", os.path.join(TOP, "bench", "compare"))
        spec = importlib.util.spec_from_loader("compare", loader)
        self.compare = importlib.util.module_from_spec(spec)
        sys.modules["compare"] = self.compare   # dataclasses look there
        loader.exec_module(self.compare)

    def say(self, nice, ours):
        rows = [{"regime": "after", "ratio": 1, "seconds_ratio": 1},
                {"regime": "nice", "ratio": nice[0], "seconds_ratio": nice[1]},
                {"regime": "guest", "ratio": ours[0], "seconds_ratio": ours[1]}]
        return self.compare.conclusion(rows).replace("\n", " ")

    def test_as_hoped(self):
        self.assertEqual(
            self.say((1.62, 1.0), (1.01, 0.75)),
            "Beside the guest, the primary ran 62.0 % longer with nice -n 19 and 1.0 % "
            "longer with us than alone; both jobs together ran no longer and 25.0 % "
            "shorter than one after the other.")

    def test_the_other_way_round(self):
        text = self.say((0.99, 0.8), (1.3, 1.25))
        self.assertIn("1.0 % shorter with nice -n 19 and 30.0 % longer with us", text)
        self.assertIn("ran 20.0 % shorter and 25.0 % longer than one after", text)

    def test_covered(self):
        self.assertEqual(self.compare.covered([(0, 5), (6, 9)]), 8)
        self.assertEqual(self.compare.covered([(1, 9), (0, 5), (2, 3)]), 9)


class Demo(unittest.TestCase):
    def call(self, *arguments, **options):
        return subprocess.run([os.path.join(TOP, "demo"), *arguments], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              timeout=LIMIT, check=False, **options)

    def test_help_says_what_it_does(self):
        done = self.call("--help")
        self.assertEqual(done.returncode, 0)
        self.assertIn("Usage: ./demo", done.stdout)

    def test_bad_options(self):
        for arguments in (["--reps"], ["--reps", "0"], ["--reps", "1;id"],
                          ["--mpi", "lam"], ["x"]):
            with self.subTest(arguments=arguments):
                done = self.call(*arguments)
                self.assertEqual(done.returncode, 2)
                self.assertEqual(len(done.stderr.splitlines()), 1)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_one_line_without_root(self):
        def drop():
            os.setgid(65534)
            os.setuid(65534)

        if not os.access(TOP, os.X_OK) or TOP.startswith("/root"):
            self.skipTest("nobody may not read the tree")
        done = self.call(preexec_fn=drop)
        self.assertEqual(done.returncode, 1)
        self.assertIn("must be run as root", done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 1)
