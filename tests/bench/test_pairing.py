# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""membench and fit-pairs as programs, what bench/pairing computes, and whole runs of it
that are too short for their figures to mean anything."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import children
from pairing import kinds as pairing_kinds
from pairing import maths, state
from pairing import runner as pairing_run
from cluster import BenchError

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BENCH = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench")
LIMIT = 300


def call(argv, given=None, **environment):
    return subprocess.run(argv, input=given,
                          stdin=None if given else subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT, check=False,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1",
                               **environment})


def membench(*arguments):
    return call([os.path.join(BENCH, "membench"), *arguments])


class Children(unittest.TestCase):
    def setUp(self):
        # What a shell starts in the background ignores SIGINT, and so all below.
        for number in children.ENDING:
            self.addCleanup(signal.signal, number,
                            signal.signal(number, signal.default_int_handler))

    def test_one_that_starts_as_a_signal_comes_is_known(self):
        kept = []
        with self.assertRaises(KeyboardInterrupt):
            children.start(kept.append, ["sleep", "60"],
                           lambda: os.kill(os.getppid(), signal.SIGINT))
        kept[0].kill()
        kept[0].wait()
        self.assertEqual(signal.pthread_sigmask(signal.SIG_BLOCK, ()), set())

    def test_it_answers_signals(self):
        for number in children.ENDING:
            kept = []
            children.start(kept.append, ["sh", "-c", f"kill -{int(number)} $$"])
            self.assertEqual(kept[0].wait(), -number)


class Membench(unittest.TestCase):
    def result(self, *arguments):
        done = membench("--size", "1M", "--seconds", "0.05", "--json", *arguments)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_every_line_is_counted_once(self):
        # 8 words a line: stride 1 reads 8 of them, a stride of a line 1.
        for arguments, bytes_a_word in ((("--stride", "1"), 8), (("--stride", "4"), 32),
                                        (("--stride", "line"), 64),
                                        (("--stride", "64"), 64),
                                        (("--stride", "1", "--write"), 16),
                                        (("--stride", "1", "--reuse", "4"), 2)):
            with self.subTest(arguments=arguments):
                found = self.result(*arguments)
                if found["line"] != 64:
                    self.skipTest("lines of another size")
                self.assertEqual(found["bytes"], found["accesses"] * bytes_a_word)
                self.assertAlmostEqual(
                    found["bytes_per_second"] / 1e9,
                    found["bytes"] / found["wall"] / 1e9, delta=found[
                        "bytes_per_second"] / 1e9)

    def test_threads_and_cpus(self):
        cpu = str(min(os.sched_getaffinity(0)))
        self.assertEqual(self.result()["threads"], 1)
        self.assertEqual(self.result("--threads", "3")["threads"], 3)
        self.assertEqual(self.result("--cpus", cpu)["threads"], 1)

    def test_size_is_of_each_thread(self):
        for size, expected in (("2M", 2 << 20), ("1048576", 1 << 20),
                               ("2048K", 2 << 20)):
            self.assertEqual(self.result("--size", size)["block"], expected)

    def test_text(self):
        done = membench("--size", "1M", "--seconds", "0.02")
        self.assertEqual(done.returncode, 0)
        self.assertIn("GB/s", done.stdout)

    def test_trace_grows_and_a_signal_ends_it_with_its_result(self):
        directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, directory)
        trace = os.path.join(directory, "trace")
        with subprocess.Popen([os.path.join(BENCH, "membench"), "--size", "1M",
                               "--seconds", str(LIMIT), "--json", "--trace", trace,
                               "--every-ms", "5"], stdout=subprocess.PIPE,
                              text=True) as running:
            self.addCleanup(running.kill)
            deadline = time.monotonic() + LIMIT
            while not os.path.exists(trace) or os.path.getsize(trace) < 100:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.01)
            running.send_signal(signal.SIGTERM)
            out, _ = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 0)
        with open(trace, encoding="ascii") as f:
            samples = [tuple(map(float, line.split())) for line in f]
        self.assertEqual(samples, sorted(samples))
        self.assertEqual(samples[-1][1], json.loads(out)["bytes"])
        self.assertGreater(samples[-1][1], 0)

    def test_bad_options(self):
        for option, value in (("--threads", "0"), ("--threads", "9999"), ("--cpus", ""),
                              ("--cpus", "a"), ("--cpus", "3-1"), ("--size", "1K"),
                              ("--size", "M"), ("--size", ""), ("--size", "1MM"),
                              ("--size", "9999999999999G"), ("--size", "-1M"),
                              ("--size", "1" * 50), ("--stride", "0"),
                              ("--stride", "lines"), ("--stride", "4097"),
                              ("--reuse", "0"), ("--seconds", "0"),
                              ("--seconds", "4000"), ("--huge-pages", "maybe"),
                              ("--every-ms", "0")):
            with self.subTest(option=option, value=value):
                done = membench(option, value)
                self.assertEqual(done.returncode, 2, done.stdout)
                self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
                self.assertIn(option, done.stderr)

    def test_more_than_the_machine_has(self):
        done = membench("--size", "1024G", "--threads", "64", "--seconds", "0.01")
        self.assertEqual(done.returncode, 1)
        self.assertIn("available", done.stderr)
        done = membench("--cpus", "8191")
        self.assertEqual(done.returncode, 1)
        self.assertIn("8191", done.stderr)


def fit_pairs(lists, *arguments):
    return call([os.path.join(BENCH, "fit-pairs"), *arguments], lists)


class FitPairs(unittest.TestCase):
    def test_first_of_the_queue_with_what_fits(self):
        # Demands over a capacity of 100: the first runs, its best partner is the one
        # that needs just what is left (Koukis and Koziris, algorithm 2).
        lists = "80 80 20 20\n20 80 80 20\n60 5 38 90\n10 10 10\n7\n"
        done = fit_pairs(lists, "--capacity", "100")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(),
                         ["0+2 1+3", "0+1 2+3", "0+2 1+3", "0+1 2", "0"])

    def test_placement(self):
        # Two primaries, two guests; copies keep apart and what saturates waits.
        lists = "80 20 20 80\n80 20 19 70\n60 50 45 5\n90 5\n50\n"
        done = fit_pairs(lists, "--capacity", "100", "--place")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(),
                         ["0+2 1+3", "0+2 1+3", "0+3 1+2", "0+1", "0"])
        done = fit_pairs("80 80 80 10\n", "--capacity", "100", "--place")
        self.assertEqual(done.stdout, "2 0+3 1\n")

    def test_bad_input(self):
        for lists in ("1 x\n", "-1\n", "\n", "1 2.5\n", "1 " * 65 + "\n",
                      "99999999999999999999\n"):
            with self.subTest(lists=lists):
                done = fit_pairs(lists, "--capacity", "100")
                self.assertEqual(done.returncode, 2)
                self.assertIn("line 1:", done.stderr)
        for arguments in ((), ("--capacity", "0"), ("--capacity", "1G"),
                          ("--capacity", "1", "x")):
            with self.subTest(arguments=arguments):
                self.assertEqual(fit_pairs("1\n", *arguments).returncode, 2)


def fake(progress, rates):
    """A repetition in which a job's rate beside another is rates[job] x
    progress(job, other)."""
    found = {}
    for a, b in maths.all_pairs(rates):
        of = {**rates, maths.FILLER: 1.0}
        found[(a, b)] = (of[a] * progress(a, b), of[b] * progress(b, a))
    return found


def crowded(demands, capacity):
    """Progress on a memory bus that gives everybody the same part of its demand."""
    def progress(job, other):
        both = demands.get(job, 0) + demands.get(other, 0)
        return 1.0 if job == maths.FILLER or both <= capacity else capacity / both
    return progress


class Maths(unittest.TestCase):
    DEMANDS = {"big": 80.0, "half": 50.0, "small": 20.0}

    def setUp(self):
        self.reps = [fake(crowded(self.DEMANDS, 100.0), self.DEMANDS)] * 3

    def test_every_pair_is_measured_once(self):
        pairs = maths.all_pairs(["b", "a"])
        self.assertEqual(sorted(pairs), [("a", "a"), ("a", "b"), ("a", maths.FILLER),
                                         ("b", "b"), ("b", maths.FILLER)])

    def test_matchings(self):
        self.assertEqual(maths.matchings(2), [((0, 1),)])
        self.assertEqual(len(maths.matchings(4)), 3)
        self.assertEqual(len(set(maths.matchings(8))), 105)
        for matching in maths.matchings(6):
            self.assertEqual(sorted(sum(matching, ())), list(range(6)))
            self.assertEqual(maths.canonical(matching), matching)

    def test_progress(self):
        measured = self.reps[0]
        self.assertAlmostEqual(maths.progress(measured, "big", "big"), 100 / 160)
        self.assertAlmostEqual(maths.progress(measured, "big", "half"), 100 / 130)
        self.assertAlmostEqual(maths.progress(measured, "half", "big"), 100 / 130)
        self.assertAlmostEqual(maths.progress(measured, "small", "big"), 1)

    def test_who_took_turns_is_compared_within_the_measurement(self):
        # The machine had half of its speed then.
        measured = {**self.reps[0], ("big", "small"): (20.0, 10.0, 40.0, 10.0),
                    ("half", "half"): (20.0, 30.0, 50.0, 50.0)}
        self.assertAlmostEqual(maths.progress(measured, "big", "small"), 0.5)
        self.assertAlmostEqual(maths.progress(measured, "small", "big"), 1)
        self.assertAlmostEqual(maths.progress(measured, "half", "half"), 0.5)
        self.assertEqual(maths.rate_beside(measured, "small", "big"), 10)
        self.assertEqual(maths.capacity([measured], ["half"]), 50)

    def test_throughput_and_best(self):
        mix = ["big", "big", "small", "small"]
        apart = maths.throughput(self.reps[0], mix, ((0, 2), (1, 3)))
        together = maths.throughput(self.reps[0], mix, ((0, 1), (2, 3)))
        self.assertAlmostEqual(apart, 1)
        self.assertAlmostEqual(together, (100 / 160 + 1) / 2)
        judged = maths.judge(self.reps, mix, [((2, 0), (3, 1)), ((0, 1), (2, 3))])
        self.assertAlmostEqual(judged["best"]["median"], 1)
        self.assertAlmostEqual(judged["ours"]["median"], (apart + together) / 2)
        self.assertAlmostEqual(judged["random"]["median"], (2 * apart + together) / 3)
        self.assertAlmostEqual(judged["by_best"]["median"], (apart + together) / 2)
        self.assertEqual(judged["best_pairs"], [["big", "small"]] * 2)

    def test_placement(self):
        mix = ["big", "big", "small", "small"]
        order = (0, 2, 1, 3)   # primaries big and small, guests big and small
        placements = [(order, maths.parse_pairs("0+3 1+2", order)),
                      (order, maths.parse_pairs("2 0+3 1", order))]
        self.assertEqual(placements[0][1], [(0, 3), (2, 1)])
        judged = maths.judge_placement(self.reps, mix, placements)
        self.assertAlmostEqual(judged["primaries"]["median"], 1)
        self.assertAlmostEqual(judged["guests"]["median"], 1)
        self.assertAlmostEqual(judged["waiting"], 1 / 4)
        self.assertAlmostEqual(judged["primaries_random"]["median"],
                               (100 / 160 + 1 + 1 + 1) / 4)
        apart = [(order, maths.parse_pairs("0 1 2 3", order))]
        judged = maths.judge_placement(self.reps, mix, apart)
        self.assertIsNone(judged["guests"])
        self.assertEqual(judged["waiting"], 1)

    def test_profiles(self):
        # A job of a demand of 65 that nobody knows: the probe tells, between 50 and 80.
        demands = {**self.DEMANDS, "app": 65.0}
        rates = {**self.DEMANDS, "app": 0.5}
        reps = [fake(crowded(demands, 100.0), rates)]
        found = maths.profiles(reps, ["big", "half", "small"], ["app"], "big")
        self.assertEqual({k: found[k] for k in self.DEMANDS}, self.DEMANDS)
        self.assertAlmostEqual(found["app"], 65, delta=3)

    def test_estimate(self):
        points = [(0.1, 30), (0.4, 60), (0.2, 25)]
        self.assertEqual(maths.estimate(points, -0.05), 0)
        self.assertEqual(maths.estimate(points, 0.05), 15)
        self.assertEqual(maths.estimate(points, 0.2), 30)   # not below that of 0.1
        self.assertAlmostEqual(maths.estimate(points, 0.3), 45)
        self.assertEqual(maths.estimate(points, 0.9), 60)

    def test_capacity_is_what_memory_moves_in_any_case(self):
        reps = [fake(crowded(self.DEMANDS, 100.0), self.DEMANDS)]
        self.assertEqual(maths.capacity(reps, ["big", "half"]), 100)

    def test_orders(self):
        self.assertEqual(len(maths.orders(4, 1)), 24)
        self.assertEqual(len(maths.orders(8, 1)), maths.ORDERS)
        self.assertEqual(maths.orders(8, 1), maths.orders(8, 1))


class State(unittest.TestCase):
    PAIRS = [("max", "max"), ("max", "min"), ("filler", "max")]

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.path = os.path.join(scratch.name, "state")

    def test_every_pair_once_a_repetition_and_more_of_them_begin_alike(self):
        plan = state.schedule(self.PAIRS, 2, 7)
        for rep in range(2):
            self.assertEqual(sorted(step[1:3] for step in plan if step[0] == rep),
                             sorted(self.PAIRS))
        self.assertEqual(state.schedule(self.PAIRS, 5, 7)[:len(plan)], plan)

    def test_what_was_measured_counts_the_next_time(self):
        plan = state.schedule(self.PAIRS, 2, 7)
        measured = state.Measurements({"seed": 7}, self.path)
        self.assertIsNone(measured.seconds_for(plan))
        for rep, a, b, _swapped in plan[:4]:
            measured.add(rep, (a, b), (1.0, 2.0), 0.01 * rep, 2, 3.0)
        again = state.Measurements({"seed": 7}, self.path)
        self.assertEqual(again.left(plan), plan[4:])
        self.assertEqual(again.complete(self.PAIRS, 2),
                         [{pair: (1.0, 2.0) for pair in self.PAIRS}])
        self.assertEqual(len(again.repetition(1)), 1)
        self.assertEqual(again.seconds_for(plan[4:]), 6.0)
        self.assertEqual(again.noise(), {"median": 0, "most": 0.01, "repeated": 4})
        with self.assertRaisesRegex(BenchError, "seed 7, not 8"):
            state.Measurements({"seed": 8}, self.path)


class Mixes(unittest.TestCase):
    def test_of_section_6(self):
        mixes = pairing_kinds.mixes([kind.name for kind in pairing_kinds.KINDS])
        self.assertIn(["max", "max", "phyml", "phyml"], mixes.values())
        self.assertIn(["min", "min", "melt", "melt"], mixes.values())
        for jobs in mixes.values():
            self.assertEqual(len(jobs) % 2, 0)

    def test_of_two_kinds(self):
        self.assertEqual(list(pairing_kinds.mixes(["max", "min"]).values()),
                         [["max", "max", "min", "min"]])

    def test_there_are_two_applications(self):
        applications = [kind for kind in pairing_kinds.KINDS if kind.application]
        self.assertGreaterEqual(len(applications), 2)
        with tempfile.TemporaryDirectory() as directory:
            for kind in applications:
                kind.prepare(directory)
                self.assertTrue(os.listdir(directory))


class Run(unittest.TestCase):
    """Applications that run_applications() must keep going until each has run once."""

    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU")

    def runner(self, **commands):
        kinds = [pairing_run.Kind(name, name, "sh", ("-c", command), "sh")
                 for name, command in commands.items()]
        cpus = sorted(os.sched_getaffinity(0))[:2]
        return pairing_run.Runner(BENCH, [*kinds, pairing_run.filler()], cpus, 0.05,
                                  self.directory)

    def test_short_beside_long(self):
        runner = self.runner(short="sleep 0.02", long="sleep 0.5")
        (short, long), _lost = runner.attempt("short", "long", False)
        self.assertLess(long, 2.01)
        self.assertGreater(short, long)

    def test_beside_the_filler(self):
        runner = self.runner(app="sleep 0.1")
        (app, filler), lost = runner.attempt("app", "filler", True)
        self.assertGreater(filler, 0)
        self.assertLess(app, 10)
        self.assertGreater(lost, 0.5)   # it slept

    def test_in_turns(self):
        runner = self.runner()
        arguments = ("--size", "1M", "--seconds", "60", "--every-ms", "10", "--json")
        for name in ("one", "two"):
            runner.kinds[name] = pairing_run.Kind(name, name, "membench", arguments)
        rates, lost = runner.attempt("one", "two", False)
        self.assertEqual(len(rates), 4)
        self.assertGreater(min(rates), 0)
        self.assertGreaterEqual(lost, 0)

    def test_a_turn_stops_the_others(self):
        said = []

        class Job:
            def __init__(self, name):
                self.name = name

            def signal(self, number):
                said.append((self.name, number))

        jobs = [Job(name) for name in "abcd"]
        start, end = pairing_run.Runner.turn(jobs, jobs[1:3])
        self.assertEqual(said, [("a", signal.SIGSTOP), ("d", signal.SIGSTOP),
                                ("b", signal.SIGCONT), ("c", signal.SIGCONT)])
        self.assertGreater(end - start, 0.09)

    def test_a_failure_is_told_and_leaves_nothing(self):
        runner = self.runner(bad="echo it broke >&2; exit 3", long="sleep 100")
        with self.assertRaisesRegex(BenchError, "status 3: it broke"):
            runner.attempt("bad", "long", False)
        runner = self.runner(missing="true")
        runner.programs = "/nowhere"
        with self.assertRaises(OSError):
            runner.attempt("missing", "filler", False)


@unittest.skipIf(os.environ.get("HPCB_QUICK"), "a minute and a half: ./check unit")
class Pairing(unittest.TestCase):
    def setUp(self):
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU")
        self.scratch = tempfile.mkdtemp(dir="/var/tmp")
        self.addCleanup(shutil.rmtree, self.scratch)

    def pairing(self, *arguments, **environment):
        return call([os.path.join(TOP, "bench", "pairing", "run"), "--patience", "0",
                     *arguments], HPCB_BENCH_TMP=self.scratch, **environment)

    def test_whole_run(self):
        done = self.pairing("--reps", "1", "--seconds", "0.02", "--kinds", "max,min",
                            "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        found = json.loads(done.stdout)
        self.assertEqual([row["mix"] for row in found["mixes"]], ["max + min"])
        self.assertEqual(len(found["rates"][0]), 5)
        row = found["mixes"][0]
        self.assertLessEqual(row["by_best"]["median"], 1.0001)
        self.assertGreater(found["demands"]["max"], 0)
        self.assertEqual(os.listdir(self.scratch), [])

    def test_tables(self):
        done = self.pairing("--reps", "2", "--seconds", "0.02", "--kinds", "max,reuse8")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("Capacity", "max + reuse8", "ours / best", "waiting",
                      "of their speed each"):
            self.assertIn(words, done.stdout)

    def ended(self, number, enough, *arguments):
        """A run that gets the signal once its state file has that many lines."""
        path = os.path.join(self.scratch, "state")
        with subprocess.Popen(
                [os.path.join(TOP, "bench", "pairing", "run"), "--patience", "0", "--kinds",
                 "max,min", "--state", path, *arguments], stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True,
                # What a shell starts in the background ignores SIGINT, and so all below.
                preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
                env={**os.environ, "HPCB_BENCH_TMP": self.scratch}) as running:
            self.addCleanup(running.kill)
            deadline = time.monotonic() + LIMIT
            lines = 0
            while lines < enough:
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.02)
                with contextlib.suppress(FileNotFoundError):
                    with open(path, encoding="utf-8") as file:
                        lines = len(file.readlines())
            running.send_signal(number)
            out, err = running.communicate(timeout=LIMIT)
        self.assertEqual(running.returncode, 130, err)
        self.assertEqual(os.listdir(self.scratch), ["state"])
        self.assertIn("the same command goes on", err)
        return path, out

    def test_a_signal_ends_it_with_what_it_has(self):
        path, out = self.ended(signal.SIGTERM, 3, "--reps", "1", "--seconds", "1")
        self.assertIn("No repetition is complete", out)
        self.assertNotIn("ours / best", out)
        done = self.pairing("--kinds", "max,min", "--reps", "1", "--seconds", "1",
                            "--state", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("ours / best", done.stdout)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 1 + 5)

    def test_a_signal_after_a_repetition(self):
        _path, out = self.ended(signal.SIGINT, 1 + 5 + 1, "--reps", "99", "--seconds",
                                "0.3")
        self.assertIn("ours / best", out)

    def test_bad_options(self):
        for arguments in (["--reps", "0"], ["--seconds", "0"], ["--what"], ["x"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(self.pairing(*arguments).returncode, 2)
        for arguments, words in ((["--kinds", "max,cg"], "cg"),
                                 (["--kinds", "max"], "two are needed"),
                                 (["--kinds", "min,reuse8"], "max is needed"),
                                 (["--cpus", "0"], "--cpus"),
                                 (["--cpus", "0,0"], "--cpus"),
                                 (["--cpus", "0,99999"], "--cpus"),
                                 (["--build", "/nowhere"], "not built")):
            with self.subTest(arguments=arguments):
                done = self.pairing(*(["--kinds", "max,min"] + arguments))
                self.assertEqual(done.returncode, 1, done.stdout)
                self.assertIn(words, done.stderr.splitlines()[-1])
                self.assertNotIn("Traceback", done.stderr)

    def test_a_missing_application_is_named(self):
        if shutil.which("lmp"):
            self.skipTest("it is installed")
        done = self.pairing("--kinds", "max,melt")
        self.assertEqual(done.returncode, 1)
        self.assertIn("package lammps", done.stderr)
