# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/turns.py with a launcher and a program of its own: who works when, and what
becomes of programs that end or hang."""

import os
import random
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

import turns

# Two ranks: mpiexec for those who have none.
LAUNCHER = """\
#!/bin/sh
RANK=0 "$@" &
RANK=1 "$@" &
wait
"""

PROGRAM = f"""\
#!{sys.executable}
import os, sys, time
directory, rank = sys.argv[1], os.environ["RANK"]
given = open(f"{{directory}}/{{rank}}.in")
answers = open(f"{{directory}}/{{rank}}.out", "w", buffering=1)
answers.write('{{"rank": %s}}\\n' % rank)
for line in given:
    if line == "hang\\n":
        time.sleep(60)
    if line == "exit\\n":
        sys.exit("no more")
    answers.write('{{"said": "%s", "library": "%s", "args": %d}}\\n' % (
        line.strip(), os.environ.get("LIBRARY", ""), len(sys.argv)))
"""


class TurnsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.launcher = self.script(scratch.name, "launcher", LAUNCHER)
        self.program = self.script(scratch.name, "program", PROGRAM)
        self.jobs = []

    @staticmethod
    def script(directory, name, text):
        path = os.path.join(directory, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(path, stat.S_IRWXU)
        return path

    def start(self, library):
        job = turns.Job(self.launcher, dict(os.environ), library, self.program, (0, 1))
        self.jobs.append(job)
        return job

    def team(self):
        return turns.Team(self.start, [turns.Library("one", "", ("LIBRARY=1",)),
                                       turns.Library("two", "", ("LIBRARY=2",))])

    def assert_gone(self):
        for job in self.jobs:
            self.assertIsNotNone(job.process.poll())
            self.assertFalse(os.path.exists(job.directory))

    def test_both_ranks_of_the_one_at_turn_answer(self):
        with self.team() as team:
            self.assertEqual(team.turn("two", "x"),
                             [{"said": "x", "library": "2", "args": 4}] * 2)
            before, after = team.pair("one", "y", random.Random(1))
        self.assertEqual([before[0]["library"], after[1]["library"]], ["", "1"])
        self.assert_gone()

    def test_the_order_within_a_pair_is_random(self):
        team = self.team()
        order = []
        team.turn = lambda name, _line: order.append(name) or [{}]
        rng = random.Random(1)
        for _ in range(50):
            team.pair("one", "x", rng)
        first = order[::2].count("one")
        self.assertTrue(10 < first < 40, first)

    def test_a_program_that_ends_is_an_error_with_its_last_word(self):
        with self.assertRaisesRegex(turns.BenchError, "program with one has ended: no more"):
            with self.team() as team:
                team.turn("one", "exit")
        self.assert_gone()

    def test_a_program_that_hangs_is_killed(self):
        with self.assertRaisesRegex(turns.Hung, "program with two does not answer"):
            with self.team() as team:
                team.jobs["two"].turn("hang", 0.1)
        self.assert_gone()

    def test_no_launcher(self):
        self.launcher = "/nowhere/mpiexec"
        with self.assertRaisesRegex(turns.BenchError, "No such file"), self.team():
            pass


class LibraryTest(unittest.TestCase):
    def test_path_and_environment(self):
        with tempfile.NamedTemporaryFile() as file:
            found = turns.parse_library(f"hook={file.name},A=1,B=")
            self.assertEqual(found.preload(), [f"LD_PRELOAD={file.name}", "A=1", "B="])
        self.assertEqual(turns.parse_library("again=").preload(), [])

    def test_refused(self):
        for text in ("", "hook", "=x", "hook=,A", "hook=/nowhere/x.so", "nothing="):
            with self.subTest(text=text), self.assertRaises(ValueError):
                turns.parse_library(text)

    def test_what_a_rank_is_started_with(self):
        library = turns.Library("x", "/l.so", ("A=1",))
        self.assertEqual(turns.launch_command("mpiexec -n 2", library, "p", ["d", 0]),
                         ["mpiexec", "-n", "2", "env", "LD_PRELOAD=/l.so", "A=1", "p", "d", "0"])
        self.assertEqual(turns.environment("mpich", "tcp")["UCX_TLS"], "tcp,self")

    def test_the_callers_own_library_is_in_neither_side(self):
        own = {"LD_PRELOAD": "/x.so", "HPCB_YIELD": "off", "HPCB_DEBUG": "1", "HPCX": "kept"}
        with mock.patch.dict(os.environ, own):
            found = turns.environment("openmpi", "shm")
        self.assertEqual([name for name in own if name in found], ["HPCX"])
        self.assertEqual(found["PATH"], os.environ["PATH"])


class ChildTest(unittest.TestCase):
    def test_end_of_the_bench_ends_the_programs(self):
        """Whatever happens to the bench: its end of the pipes is closed."""
        with tempfile.TemporaryDirectory() as directory:
            launcher = TurnsTest.script(directory, "launcher", LAUNCHER)
            program = TurnsTest.script(directory, "program", PROGRAM)
            code = (f"import sys, os; sys.path.insert(0, {os.path.dirname(turns.__file__)!r})\n"
                    "import turns\n"
                    f"job = turns.Job({launcher!r}, dict(os.environ), turns.Library('x'), "
                    f"{program!r})\n"
                    "job.collect(30)\n"
                    "print(job.process.pid, flush=True)\n"
                    "os.kill(os.getpid(), 9)")
            with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                  text=True, env={**os.environ, "TMPDIR": directory}) as bench:
                pid = int(bench.stdout.readline())
                bench.wait(30)
            self.wait_end(pid)

    def test_two_signals_leave_nothing(self):
        """As timeout(1) sends them."""
        with tempfile.TemporaryDirectory() as directory:
            launcher = TurnsTest.script(directory, "launcher", LAUNCHER)
            program = TurnsTest.script(directory, "program", PROGRAM)
            code = (f"import sys, os; sys.path.insert(0, {os.path.dirname(turns.__file__)!r})\n"
                    "import session, time, turns\n"
                    "def start(library):\n"
                    f"    return turns.Job({launcher!r}, dict(os.environ), library, {program!r})\n"
                    "def run():\n"
                    "    with turns.Team(start, [turns.Library('one')]):\n"
                    "        print(flush=True)\n"
                    "        time.sleep(60)\n"
                    "session.main(run)")
            with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                  text=True, env={**os.environ, "TMPDIR": directory}) as bench:
                bench.stdout.readline()
                for _ in range(3):
                    bench.send_signal(signal.SIGTERM)
                    time.sleep(0.02)
                self.assertEqual(bench.wait(60), 130)
            self.assertEqual(sorted(os.listdir(directory)), ["launcher", "program"])

    def wait_end(self, pid):
        try:
            descriptor = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        try:
            self.assertTrue(select.select([descriptor], [], [], 30)[0])
        finally:
            os.close(descriptor)
