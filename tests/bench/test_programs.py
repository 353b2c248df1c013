# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The programs of bench/: what they print, that their work is fixed, bad options.
Nothing here depends on how fast or how busy the machine is."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

BENCH = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench")
LIMIT = 120

LAUNCHERS = {
    "openmpi": ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np"],
    "mpich": ["mpiexec.mpich", "-np"],
}

USAGE = {"start", "end", "wall", "cpu", "run_delay", "stolen", "voluntary",
         "involuntary"}


def call(argv):
    return subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True,
                          text=True, timeout=LIMIT, check=False)


def program(name):
    return os.path.join(BENCH, name)


class ProgramTest(unittest.TestCase):
    def result(self, argv):
        done = call(argv)
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 1, done.stdout)
        found = json.loads(lines[0])
        self.check_usage(found)
        return found

    def check_usage(self, found):
        self.assertLessEqual(USAGE, set(found))
        self.assertAlmostEqual(found["wall"], found["end"] - found["start"], places=4)
        self.assertGreaterEqual(found["run_delay"], 0)
        self.assertGreater(found["cpu"], 0)

    def assert_refused(self, argv, words):
        done = call(argv)
        self.assertEqual(done.returncode, 2, argv)
        self.assertEqual(done.stdout, "", argv)
        self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.assertIn(words, done.stderr)


class PrimaryCpu(ProgramTest):
    def test_same_work_same_result(self):
        first = self.result([program("primary-cpu"), "--work", "5000"])
        again = self.result([program("primary-cpu"), "--work", "5000"])
        other = self.result([program("primary-cpu"), "--work", "5001"])
        self.assertEqual(first["work"], 5000)
        self.assertEqual(first["checksum"], again["checksum"])
        self.assertNotEqual(first["checksum"], other["checksum"])

    def test_calibration(self):
        done = call([program("primary-cpu"), "--calibrate"])
        self.assertGreater(json.loads(done.stdout)["units_per_second"], 1000)

    def test_bad_options(self):
        for value in ("", "0", "-1", "1.5", "x", "1x", " 1", "+1", "1e3",
                      "99999999999999999999"):
            with self.subTest(value=value):
                self.assert_refused([program("primary-cpu"), "--work", value], "--work")
        for value in ("", "0", "-1", "x", "1s", "nan", "inf", "1e7"):
            with self.subTest(value=value):
                self.assert_refused([program("primary-cpu"), "--seconds", value],
                                    "--seconds")
        self.assert_refused([program("primary-cpu")], "is needed")
        self.assert_refused([program("primary-cpu"), "--work", "1", "--calibrate"],
                            "is needed")
        self.assert_refused([program("primary-cpu"), "--work", "1", "2"], "unexpected")


class PrimarySleep(ProgramTest):
    def test_work_is_slices_and_every_cycle_sleeps(self):
        found = self.result([program("primary-sleep"), "--cycles", "7", "--slice-us",
                             "1000", "--rate", "1000000"])
        self.assertEqual(found["work"], 7 * 1001)
        self.assertGreaterEqual(found["voluntary"], 7)
        self.assertGreaterEqual(found["wall"], 7 * 0.001)

    def test_bad_options(self):
        self.assert_refused([program("primary-sleep")], "--cycles")
        self.assert_refused([program("primary-sleep"), "--cycles", "1", "--slice-us",
                             "9"], "--slice-us")
        self.assert_refused([program("primary-sleep"), "--cycles", "1", "--rate", "0"],
                            "--rate")


class GuestBurn(ProgramTest):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.trace = os.path.join(self.directory, "trace")

    def samples(self):
        with open(self.trace, encoding="ascii") as f:
            return [tuple(map(float, line.split())) for line in f]

    def test_fixed_work(self):
        found = self.result([program("guest-burn"), "--work", "12345", "--trace",
                             self.trace, "--every-ms", "1"])
        again = self.result([program("guest-burn"), "--work", "12345"])
        self.assertEqual((found["work"], found["reason"]), (12345, "work"))
        self.assertEqual(found["checksum"], again["checksum"])
        self.assertEqual(self.samples(), sorted(self.samples()))
        self.assertGreaterEqual(len(self.samples()), 3)

    def stop(self, extra, action):
        with subprocess.Popen([program("guest-burn"), "--trace", self.trace,
                               "--max-seconds", str(LIMIT), *extra],
                              stdout=subprocess.PIPE, text=True) as burning:
            self.addCleanup(burning.kill)
            deadline = time.monotonic() + LIMIT
            while not os.path.exists(self.trace) or not os.path.getsize(self.trace):
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            action(burning)
            out, _ = burning.communicate(timeout=LIMIT)
        self.assertEqual(burning.returncode, 0)
        return json.loads(out)

    def test_signals_end_it_with_its_result(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGXCPU):
            with self.subTest(signal=number.name):
                found = self.stop([], lambda burning, n=number: burning.send_signal(n))
                self.assertEqual(found["reason"], number.name)
                os.unlink(self.trace)

    def test_stop_file_ends_it(self):
        stop = os.path.join(self.directory, "stop")

        def touch(_burning):
            with open(stop, "w", encoding="ascii"):
                pass

        found = self.stop(["--stop-file", stop], touch)
        self.assertEqual(found["reason"], "stop-file")

    def test_time_ends_it(self):
        found = self.result([program("guest-burn"), "--max-seconds", "0.05"])
        self.assertEqual(found["reason"], "time")

    def test_bad_options(self):
        self.assert_refused([program("guest-burn"), "--every-ms", "0"], "--every-ms")
        self.assert_refused([program("guest-burn"), "--work", "1k"], "--work")
        self.assert_refused([program("guest-burn"), "x"], "unexpected")
        done = call([program("guest-burn"), "--trace", "/nowhere/trace"])
        self.assertEqual(done.returncode, 1)
        self.assertIn("/nowhere/trace", done.stderr)


class PrimaryMpi(ProgramTest):
    def launch(self, mpi, ranks, arguments):
        path = program(f"primary-mpi.{mpi}")
        if not os.path.exists(path) or not shutil.which(LAUNCHERS[mpi][0]):
            self.skipTest(f"{mpi} is not there")
        found = self.result(LAUNCHERS[mpi] + [str(ranks), path, "--rate", "1000000",
                                              "--grain-us", "50"] + arguments)
        self.assertEqual(found["size"], ranks)
        self.assertEqual([rank["rank"] for rank in found["ranks"]], list(range(ranks)))
        for rank in found["ranks"]:
            self.check_usage(rank)
            self.assertLessEqual(rank["compute"] + rank["wait"], rank["wall"] + 1e-5)
            self.assertLessEqual(rank["longest_wait"], rank["wait"] + 1e-5)
        total = sum(rank["run_delay"] for rank in found["ranks"])
        self.assertAlmostEqual(found["run_delay"], total, places=4)
        return found

    def test_both_mpis_compute_the_same(self):
        for pattern in ("bulk", "sweep"):
            with self.subTest(pattern=pattern):
                arguments = ["--pattern", pattern, "--iterations", "20"]
                one = self.launch("openmpi", 2, arguments)
                other = self.launch("mpich", 2, arguments)
                self.assertEqual(one["checksum"], other["checksum"])

    def test_load_is_work(self):
        for mpi in LAUNCHERS:
            with self.subTest(mpi=mpi):
                even = self.launch(mpi, 2, ["--iterations", "20"])
                skewed = self.launch(mpi, 2, ["--iterations", "20", "--load", "1:2"])
                self.assertNotEqual(even["checksum"], skewed["checksum"])

    def test_one_and_three_ranks(self):
        for mpi in LAUNCHERS:
            for ranks in (1, 3):
                with self.subTest(mpi=mpi, ranks=ranks):
                    self.launch(mpi, ranks, ["--iterations", "3", "--pattern", "sweep"])

    def test_bad_options(self):
        for mpi in LAUNCHERS:
            path = program(f"primary-mpi.{mpi}")
            if not os.path.exists(path):
                continue
            for option, value in (("--pattern", "star"), ("--iterations", "0"),
                                  ("--grain-us", "1ms"), ("--load", "1"),
                                  ("--load", "1:"), ("--load", ":2"),
                                  ("--load", "-1:2"), ("--load", "1:2:3"),
                                  ("--message", "7")):
                with self.subTest(mpi=mpi, option=option, value=value):
                    self.assert_refused([path, option, value], option)
