# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/osu on a source tree of the test's own: it is built, run with and without a
library, and what is slower, fails or hangs is said."""

import json
import os
import stat
import subprocess
import sys
import tempfile
import unittest

from osu import report

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIMIT = 120

# $SLOW, of the environment that a library comes with, is what it does to a program.
PROGRAMS = {
    "pt2pt/osu_latency": "echo '# Size  Latency (us)'; echo 8 ${SLOW:-1}; echo 16 ${SLOW:-1}",
    "pt2pt/osu_bw": "echo '# Size  Bandwidth (MB/s)'; echo 8 100",
    "collective/osu_barrier": "[ -z \"$SLOW\" ] || exit 3; echo '# Avg Latency(us)'; echo 7",
    "collective/osu_bcast": "[ -z \"$SLOW\" ] || exec sleep 60; echo '# Size Avg Latency(us)'; "
                            "echo 1 2",
    "one-sided/osu_get_latency": "echo 'no window'; exit 1",
    "startup/osu_init": "exit 1",
}


class Parse(unittest.TestCase):
    def test_latencies(self):
        self.assertEqual(report.parse("# OSU MPI Latency Test v7\n# Datatype: MPI_CHAR.\n"
                                      "# Size       Avg Latency(us)\n1    0.5\n2  0.25\n"),
                         {1: 0.5, 2: 0.25})

    def test_bandwidths_become_times(self):
        self.assertEqual(report.parse("# Size   MB/s   Messages/s\n1  4.0  4000000\n"), {1: 0.25})

    def test_without_sizes(self):
        self.assertEqual(report.parse("# Avg Latency(us)\n  1.5\n"), {0: 1.5})
        self.assertEqual(report.parse("# Overall = Init + Test\n\n  Overall(us)  Compute(us)\n"
                                      "  8.5  3.5\n"), {0: 8.5})

    def test_what_says_nothing(self):
        self.assertEqual(report.parse("1 2\nerror\n"), {})
        self.assertEqual(report.parse("# Size  Latency (us)\n8 0.00\n16\n"), {})


class Summary(unittest.TestCase):
    def test_sizes_are_compared_with_themselves(self):
        self.assertEqual(report.ratios(({1: 2, 8: 4, 9: 1}, {1: 3, 8: 4})), {1: 1.5, 8: 1})

    def test_median_worst_size_and_verdict(self):
        found = report.summarise([{1: 1.0, 2: 1.1, 4: 9.0}, {1: 1.0, 2: 1.1, 4: 8.0}])
        self.assertEqual(found["ratio"]["verdict"], "undecided")
        self.assertEqual(found["ratio"]["median"], 1.1)
        self.assertEqual(found["worst"], [4, 8.5])
        self.assertEqual(report.summarise([{1: 1.3}] * 3)["ratio"]["verdict"], "broken")
        self.assertEqual(report.summarise([{1: 1.19}] * 3)["ratio"]["verdict"], "kept")

    def test_median_of_all(self):
        rows = [{"mpi": "m", "transport": "w", "library": "l", "benchmark": str(ratio),
                 **report.summarise([{1: ratio}] * 3)} for ratio in (1.0, 1.06, 3.0)]
        (*group, one), = report.overall(rows)
        self.assertEqual((group, one["median"], one["verdict"]),
                         (["m", "w", "l"], 1.06, "broken"))


class Run(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.sources = os.path.join(self.scratch, "sources")
        os.mkdir(self.sources)
        self.script("sources/configure", "cp -r \"$(dirname \"$0\")/built/.\" .\n"
                    "printf 'all:\\n\\ttouch made\\n' > Makefile")
        for name, text in PROGRAMS.items():
            self.script(f"sources/built/mpi/{name}", text)
        self.launcher = self.script("launcher", "exec \"$@\"")

    def script(self, name, text):
        path = os.path.join(self.scratch, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="ascii") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, stat.S_IRWXU)
        return path

    def call(self, *arguments):
        return subprocess.run([sys.executable, "-B", os.path.join(TOP, "bench", "osu", "run"),
                               *arguments], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=LIMIT, check=False)

    def test_all_kinds(self):
        path = os.path.join(self.scratch, "json")
        done = self.call("--sources", self.sources, "--mpi", "openmpi", "--transport", "shm",
                         "--launcher", f"openmpi={self.launcher}", "--library", "slow=,SLOW=2",
                         "--library", "again=", "--repetitions", "3", "--timeout", "2",
                         "--check", "--json", path)
        self.assertEqual(done.returncode, 1, done.stderr)
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        found = {(row["library"], row["benchmark"]): row for row in result["rows"]}
        self.assertEqual(len(found), 2 * 4)
        self.assertEqual(found["slow", "osu_latency"]["ratio"]["median"], 2)
        self.assertEqual(found["slow", "osu_bw"]["ratio"]["median"], 1)
        self.assertEqual(found["again", "osu_latency"]["ratio"]["verdict"], "kept")
        self.assertIn("status 3", found["slow", "osu_barrier"]["failed"])
        self.assertIn("not done after 2 s", found["slow", "osu_bcast"]["failed"])
        self.assertEqual(len(result["skipped"]), 1)
        self.assertIn("no window", result["skipped"][0])
        self.assertIn("osu_get_latency", done.stdout)

    def test_programs_are_built_once(self):
        programs = os.path.join(self.scratch, "programs")
        arguments = ["--programs", programs, "--mpi", "openmpi", "--transport", "shm",
                     "--launcher", f"openmpi={self.launcher}", "--library", "again=",
                     "--repetitions", "1", "--only", "osu_bw", "--check"]
        done = self.call("--sources", self.sources, *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue(os.path.exists(os.path.join(programs, "openmpi", "made")))
        self.assertEqual(self.call(*arguments).returncode, 0)

    def test_errors_are_one_line(self):
        for arguments, status, words in (
                (["--library", "again="], 2, "--sources is needed"),
                (["--sources", self.scratch, "--library", "again="], 1, "no configure"),
                (["--sources", self.sources, "--library", "x=/nowhere"], 2, "no such file"),
                (["--sources", self.sources, "--library", "again=", "--only", "x"], 1,
                 "no such benchmark")):
            with self.subTest(arguments=arguments):
                done = self.call(*arguments)
                self.assertEqual(done.returncode, status, done.stderr)
                self.assertIn(words, done.stderr.splitlines()[-1])
