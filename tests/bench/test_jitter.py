# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/jitter: what is left to do, what it makes of runs; bench/edges: what it counts."""

import contextlib
import importlib.util
import io
import os
import sys
import tempfile
import unittest
from importlib.machinery import SourceFileLoader

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(TOP, "bench"))


def load(name):
    loader = SourceFileLoader(name, os.path.join(TOP, "bench", name, "run"))
    spec = importlib.util.spec_from_loader(name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


jitter = load("jitter")
from jitter import plan, report  # noqa: E402
from stats import median_interval  # noqa: E402

edges = load("edges")

SETTINGS = {"window": "1s:90%"}


def arguments(**changes):
    class Args:
        repetitions, noise, window, sweep, svg = 2, "2,21", "1s:90%", False, None
        glob, quick = False, False
    args = Args()
    for key, value in changes.items():
        setattr(args, key, value)
    return args


def part(mean, count=10):
    return {"count": count, "mean": mean, "p50": mean, "p99": mean, "p999": mean, "max": mean,
            "buckets": [[mean, 10]]}


def a_run(repetition, regime, wall, favoured=10.0):
    return {"rep": repetition, "regime": regime, "took": 7, "noise": [],
            "result": {"runs": [{"wall": wall, "operation": part(10.0 * wall),
                                 "favoured": part(favoured),
                                 "regular": part(1.02 * favoured),
                                 "across": part(10.0 * wall + 300, 20)}]}}


class JitterTest(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.path = os.path.join(directory.name, "state")

    def test_a_resumed_repetition_goes_on_in_its_order(self):
        state = jitter.State(self.path, SETTINGS)
        todo = jitter.missing(arguments(), state)
        self.assertEqual(len(todo), 2 * 9)
        self.assertEqual({repetition for repetition, _ in todo[:9]}, {0})
        for repetition, regime in todo[:4]:
            state.add(a_run(repetition, regime.name, 1))
        again = jitter.State(self.path, SETTINGS)
        names = [(repetition, regime.name)
                 for repetition, regime in jitter.missing(arguments(), again)]
        self.assertEqual(names, [(repetition, regime.name) for repetition, regime in todo[4:]])
        self.assertEqual(jitter.estimate(again, 8), 56)

    def test_stretches_are_of_whole_periods(self):
        def stretch(window, **how):
            return plan.stretch_arguments(plan.Regime(2, window, **how))

        self.assertEqual(stretch("1s:90%", alternating=True), ["--stretch", "2000"])
        self.assertEqual(stretch("50ms:10ms", alternating=True), ["--stretch", "100"])
        self.assertEqual(stretch("0.5s:90%", switched=True),
                         ["--stretch", "1500", "--settle", "500"])
        self.assertEqual(stretch("1s:90%"), [])
        self.assertEqual(stretch(None), [])

    def test_windows_are_compared_with_the_stretches_around_them(self):
        stretches = [[0, 9, 1], [1, 9, 1], [0, 9, 10], [1, 9, 11.1], [0, 9, 12],
                     [1, 9, 12.1], [0, 9, 0], [1, 9, 1]]
        stretches[6] = [0, 0, 0]  # nothing ended within it
        costs = report.switched_costs(stretches)
        self.assertEqual([round(cost, 4) for cost in costs], [round(11.1 / 11 - 1, 4)])
        state = jitter.State(None, SETTINGS)
        state.add(a_run(0, "quiet", 1))
        run = a_run(0, "windows 1s:90%, on and off", 96)
        run["result"]["runs"][0]["stretches"] = stretches
        state.add(run)
        self.assertIn("on and off: windows cost +0.91 % (95 %: +0.91..+0.91) of a "
                      "reduction (at most 0.5 %), 1 stretches",
                      self.report(arguments(), state))

    def test_the_interval_of_a_median(self):
        self.assertEqual(median_interval([3, 1, 2]), (1, 3))
        self.assertEqual(median_interval(list(range(101))), (40, 60))

    def test_alternating_noise_is_compared_within_its_run(self):
        state = jitter.State(None, SETTINGS)
        state.add(a_run(0, "quiet", 1))
        for repetition, slow in enumerate((1, 2)):
            run = a_run(repetition, "noise 2 %, windows 1s:90%, alternating", 4)
            run["result"]["runs"][0].update(noisy=part(10.06 * slow), silent=part(10 * slow))
            state.add(run)
        text = self.report(arguments(), state)
        self.assertIn("alternating: noise costs +0.60 % [+0.60..+0.60] within favoured "
                      "parts (at most 1 %), 2 runs", text)

    def test_a_cut_line_is_left_out_and_another_setting_refused(self):
        state = jitter.State(self.path, SETTINGS)
        state.add(a_run(0, "quiet", 1))
        with open(self.path, "a", encoding="utf-8") as stream:
            stream.write('{"rep":0,"reg')
        again = jitter.State(self.path, SETTINGS)
        again.add(a_run(1, "quiet", 1))
        self.assertEqual(jitter.State(self.path, SETTINGS).done(),
                         {(0, "quiet"), (1, "quiet")})
        with self.assertRaises(jitter.BenchError):
            jitter.State(self.path, {"window": "1s:80%"})

    def report(self, args, state):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            jitter.report(args, state)
        return out.getvalue()

    def test_ratios_are_of_the_same_repetition(self):
        state = jitter.State(None, SETTINGS)
        for repetition, slow in enumerate((1, 2)):
            state.add(a_run(repetition, "quiet", slow))
            state.add(a_run(repetition, "windows 1s:90%", 1.004 * slow, 10 * slow))
            state.add(a_run(repetition, "noise 21 %, windows 1s:90%", 1.1 * slow,
                            10.05 * slow))
        text = self.report(arguments(), state)
        self.assertIn("1.100 [1.100..1.100]", text)
        self.assertIn("windows without noise: +0.40 % [+0.40..+0.40] time", text)
        self.assertIn("40 edges took 300 us each, 0.40 % of the time; reductions in "
                      "favoured parts take -1.96 %", text)
        self.assertIn("+0.50 % [+0.50..+0.50] within favoured parts (at most 1 %); over "
                      "whole periods +8.64 % [+8.64..+8.64] of", text)
        self.assertIn("the regular part is 10 %", text)
        self.assertIn("12 runs are missing", text)

    def test_nothing_to_report(self):
        with self.assertRaises(jitter.BenchError):
            jitter.report(arguments(), jitter.State(None, SETTINGS))


class EdgesTest(unittest.TestCase):
    def test_turns_and_their_kind(self):
        calls = ["read(8, ...", "epoll_wait(4, ...", "read(8, ...",
                 "sched_setscheduler(42, 0x40000001 /* SCHED_??? */, [2]) = 0",
                 "epoll_wait(4, ...", "sched_setscheduler(42, SCHED_OTHER, [0]) = 0",
                 "epoll_wait(4, ...", "write(9, \"1024\", 4) = 4", "epoll_wait(4, ...",
                 "recvfrom(...", "epoll_wait(4, ...", "read("]
        turns = edges.turns_of(calls)
        self.assertEqual([len(turn) for turn in turns], [3, 2, 2, 2])
        self.assertEqual([edges.kind_of(turn) for turn in turns],
                         ["begin", "end", "end", None])

    def test_period(self):
        for text, seconds in (("10ms:50%", 0.01), ("1s:90%", 1), ("0.5s:1ms", 0.5)):
            self.assertAlmostEqual(edges.period_of(text), seconds)


if __name__ == "__main__":
    unittest.main()
