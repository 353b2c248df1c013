# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""netbench as a program, and what bench/membus plans and computes."""

import importlib.util
import json
import os
import signal
import socket
import subprocess
import tempfile
import time
import unittest
from importlib.machinery import SourceFileLoader
from types import SimpleNamespace
from unittest import mock

from cluster import BenchError
from membus import demand, plan, report

BENCH = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench")
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIMIT = 60


def load_run():
    """bench/membus/run as a module."""
    loader = SourceFileLoader("membus_run", os.path.join(TOP, "bench", "membus", "run"))
    spec = importlib.util.spec_from_loader("membus_run", loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


RUN = load_run()


def netbench(*arguments):
    return subprocess.run([os.path.join(BENCH, "netbench"), *arguments],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, check=False)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


class Netbench(unittest.TestCase):
    def start_receiver(self):
        port = free_port()
        receiver = subprocess.Popen([os.path.join(BENCH, "netbench"), "--listen", port],
                                    stdin=subprocess.DEVNULL)
        self.addCleanup(receiver.wait)
        self.addCleanup(receiver.terminate)
        for _ in range(LIMIT * 10):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                    return port
            time.sleep(0.1)
        self.fail("the receiver does not listen")

    def test_bytes_are_counted_and_traced(self):
        port = self.start_receiver()
        for wait in plan.WAITS:
            for size in ("1", "65536", "1048576"):
                with tempfile.NamedTemporaryFile("r") as trace:
                    done = netbench("--connect", "127.0.0.1", "--port", port, "--size",
                                    size, "--wait", wait, "--seconds", "0.2", "--trace",
                                    trace.name, "--every-ms", "1")
                    lines = [line.split() for line in trace.read().splitlines()]
                self.assertEqual(done.returncode, 0, done.stderr)
                found = json.loads(done.stdout)
                self.assertEqual(found["size"], int(size))
                self.assertEqual(found["polls"], wait == "poll")
                self.assertGreater(found["bytes"], 0)
                counts = [int(count) for _when, count in lines]
                self.assertGreater(len(counts), 0)
                self.assertEqual(counts, sorted(counts))
                self.assertLessEqual(counts[-1], found["bytes"])

    def test_refused(self):
        for arguments, words in (
                ((), "give either"), (("--listen", "0"), "listen"),
                (("--listen", "70000"), "listen"), (("--connect", "localhost"), "give either"),
                (("--listen", "1", "--connect", "localhost"), "give either"),
                (("--size", "0"), "size"), (("--size", "1048577"), "size"),
                (("--wait", "nap"), "neither sleep nor poll"), (("--seconds", "0"), "seconds"),
                (("--nothing",), "nothing"), (("--help", "more"), "Usage")):
            done = netbench(*arguments)
            self.assertIn(words, done.stdout + done.stderr)
            self.assertEqual(done.returncode, 0 if "--help" in arguments else 2)

    def test_nobody_listens(self):
        done = netbench("--connect", "127.0.0.1", "--port", free_port())
        self.assertEqual(done.returncode, 1)
        self.assertIn("Connection refused", done.stderr)


def nas(*arguments):
    return subprocess.run([os.path.join(BENCH, "nas"), *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=LIMIT, check=False)


class Nas(unittest.TestCase):
    def test_results_are_right_and_damage_is_found(self):
        for kernel in plan.NAS_MB_S:
            done = nas("--kernel", kernel, "--size=2", "--seconds=0.2", "--work=1")
            self.assertEqual(done.returncode, 0, done.stderr)
            # Each pass several times.
            self.assertGreater(json.loads(done.stdout)["bytes"], 2**24)
            done = nas("--kernel", kernel, "--size=2", "--seconds=60", "--damage")
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{kernel}: a result is wrong", done.stderr)

    def test_damage_is_found_whatever_the_size(self):
        for kernel in plan.NAS_MB_S:
            for size in range(1, 13):
                done = nas("--kernel", kernel, f"--size={size}", "--seconds=3", "--damage")
                self.assertEqual(done.returncode, 1, (kernel, size))

    def test_refused(self):
        for arguments in ((), ("--kernel=XY",), ("--kernel=CG", "--size=0"),
                          ("--kernel=CG", "more")):
            self.assertEqual(nas(*arguments).returncode, 2, arguments)


class Plan(unittest.TestCase):
    def test_the_regimes_of_a_set_follow_each_other(self):
        steps = plan.schedule(list(plan.SETS), 3, 1)
        self.assertEqual(len(set(steps)), len(steps))
        self.assertEqual(len(steps), 3 * 4 * sum(len(plan.waits_of(name)) for name in plan.SETS))
        for index in range(0, len(steps), len(plan.REGIMES)):
            group = steps[index:index + len(plan.REGIMES)]
            self.assertEqual(len({step[:3] for step in group}), 1)
            self.assertEqual({step[3] for step in group}, set(plan.REGIMES))

    def test_more_rounds_begin_alike(self):
        few, many = (plan.schedule(["max + min"], rounds, 7) for rounds in (2, 5))
        self.assertEqual(many[:len(few)], few)

    def test_the_first_two_jobs_are_alike(self):
        for name, programs in plan.SETS.items():
            self.assertEqual(len(programs), 4)
            self.assertEqual(name == "one of each", programs[0] != programs[1])

    def test_demands_are_in_proportion_to_the_papers(self):
        rates = {"CG": 6.74e9, "EP": 18e9, "LU": 4e9}
        work = demand.nas_work(rates, 1e6)
        self.assertEqual((work["CG"], work["LU"]), (0, 0))
        took = 2**20 / rates["EP"] + work["EP"] / 1e6
        self.assertAlmostEqual(2**20 / took / 1.62e9, 1, delta=0.01)

    def test_who_cannot_reach_its_share_is_named(self):
        slow = demand.slower({"CG": 6.74e9, "EP": 18e9, "LU": 2.455e9, "MG": 5.65e9})
        self.assertEqual(list(slow), ["LU"])
        self.assertAlmostEqual(slow["LU"], 0.5)

    def test_memory_of_the_kernels(self):
        mib = 2**20
        self.assertEqual(demand.size_mib(32 * mib, 24000), 512)
        self.assertEqual(demand.size_mib(2 * mib, 24000), demand.LEAST_MIB)
        self.assertEqual(demand.size_mib(300 * mib, 24000), demand.MOST_MIB)
        self.assertEqual(demand.size_mib(0, 24000), demand.MOST_MIB)
        # Four jobs have to be on the node.
        for memory in (2000, 4000):
            size = demand.size_mib(300 * mib, memory)
            self.assertLess(4 * (size + demand.OTHER_MIB), 0.8 * memory)

    def test_the_last_cache(self):
        with tempfile.TemporaryDirectory() as scratch:
            self.assertEqual(demand.cache_bytes(scratch), 0)
            for index, size in enumerate(("32K", "1024K", "32M")):
                os.mkdir(os.path.join(scratch, f"index{index}"))
                with open(os.path.join(scratch, f"index{index}", "size"), "w",
                          encoding="ascii") as file:
                    file.write(size + "\n")
            self.assertEqual(demand.cache_bytes(scratch), 32 * 2**20)

    def test_arguments(self):
        found = plan.arguments_of(plan.PROGRAMS["EP"], "host", "sleep", DEMAND)
        self.assertEqual(found, ("--kernel=EP", "--size=512", "--work=77"))
        self.assertIn("--size=160M", plan.arguments_of(plan.PROGRAMS["min"], "host", "sleep",
                                                       DEMAND))

    def test_the_papers_mixes_have_its_names(self):
        with open(os.path.join(TOP, "sim", "scenarios", "002-mixes.json"),
                  encoding="utf-8") as file:
            scenario = json.load(file)
        for kernel, demand in plan.NAS_MB_S.items():
            self.assertEqual(scenario["applications"][kernel]["memory_mb_s"], demand)
        names = {f"{first} + {last}" for first, _, _, last in scenario["mixes"]}
        ours = {name for name, kinds in plan.SETS.items() if set(kinds) & set(plan.NAS_MB_S)}
        self.assertLessEqual(ours, names)


DEMAND = {"size": 512, "cache": 32 * 2**20, "work": {"CG": 0, "EP": 77, "LU": 0},
          "slower": {"LU": 0.5}}


class Demand(unittest.TestCase):
    """Measured once for all of a series."""

    def arguments(self, state):
        return SimpleNamespace(state=state, build=None, patience=0)

    def test_it_is_kept(self):
        with tempfile.TemporaryDirectory() as scratch:
            state = os.path.join(scratch, "state")
            with mock.patch.object(RUN.demand, "measure", return_value=DEMAND) as measure, \
                    mock.patch.object(RUN.session, "build_directory", return_value="build"):
                first = RUN.facts_of(self.arguments(state), mock.Mock())
                RUN.Journal(state, RUN.KIND, {"seed": 1}, first)
                again = RUN.facts_of(self.arguments(state), mock.Mock())
            self.assertEqual((first, again), ({"demand": DEMAND}, {"demand": DEMAND}))
            measure.assert_called_once()

    def test_it_is_measured(self):
        def said(argv, _timeout):
            if "--calibrate" in argv:
                return '{"units_per_second": 1000000}'
            self.assertTrue(any(word.startswith("--size=") for word in argv))
            return '{"bytes": 1000000000, "cpu": 2}'

        with mock.patch.object(demand, "command", side_effect=said), \
                mock.patch.object(demand.machine, "wait_idle"):
            found = demand.measure("build", 0, mock.Mock())
        self.assertEqual(set(found["work"]), set(plan.NAS_MB_S))
        self.assertEqual(found["work"]["CG"], 0)
        self.assertGreater(found["work"]["EP"], found["work"]["FT"])
        self.assertEqual(found["slower"], {})


class End(unittest.TestCase):
    def setUp(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def test_one_sandbox_that_fails_does_not_keep_the_other(self):
        bench = RUN.Bench.__new__(RUN.Bench)
        bench.progress, bench.workspace = mock.Mock(), mock.Mock()
        bench.home = tempfile.mkdtemp()
        bench.hosts = {False: mock.Mock(), True: mock.Mock()}
        bench.hosts[False].cluster.down.side_effect = BenchError("down fails")
        with mock.patch("sys.stderr"):
            bench.close()
        bench.hosts[True].cluster.down.assert_called_once()
        bench.workspace.remove.assert_called_once()
        self.assertFalse(os.path.exists(bench.home))
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)


def records_of(name, progress, rounds=8):
    return [{"round": number, "set": name, "wait": "sleep", "regime": regime, "steal": 0,
             "progress": [value + 0.001 * number for value in values]}
            for number in range(rounds) for regime, values in progress.items()]


class Report(unittest.TestCase):
    PROGRESS = {"linux": [0.3, 0.3, 0.5, 0.5], "slurm": [0.25, 0.25, 0.5, 0.5],
                "order": [0.3, 0.3, 0.5, 0.5], "ours": [0.4, 0.4, 0.5, 0.5]}

    def test_gains_are_those_of_a_round(self):
        found = report.groups(records_of("max + min", self.PROGRESS))
        regimes = found["max + min", "sleep"]
        figure = dict(report.figures("max + min"))["max"]
        gains = report.gains(regimes, "linux", figure)
        self.assertEqual(len(gains), 8)
        self.assertAlmostEqual(gains[0], 0.4 / 0.3 - 1)
        del regimes["linux"][3]
        self.assertEqual(len(report.gains(regimes, "linux", figure)), 7)

    def test_who_stands_still_counts(self):
        self.assertLess(report.of_mix([2.0, 2.0, 2.0, 0.0]), 0.1)
        self.assertAlmostEqual(report.of_mix([0.5] * 4), 0.5)

    def test_three_verdicts(self):
        self.assertEqual(report.decide([0.3] * 8, 0.2), "kept")
        self.assertEqual(report.decide([0.1] * 8, 0.2), "broken")
        self.assertEqual(report.decide([0.1, 0.3] * 4, 0.2), "undecided")
        self.assertEqual(report.decide([0.3] * 5, 0.2), "undecided")

    def test_the_document(self):
        text = self.document()
        self.assertIn("8 rounds of 40 s", text)
        self.assertIn("512 MiB", text)
        self.assertIn("EP 77", text)
        self.assertIn("LU asks for 50 % of its share", text)
        self.assertIn("| max of max + min, netbench sleeps: gains at least +19.9 %", text)
        self.assertIn("| kept |", text)
        self.assertIn("| max | 0.30", text)

    def test_what_a_cache_may_hold_is_said(self):
        self.assertIn("of 32 MiB may hold 25 % of that vector", self.document())
        self.assertIn("may hold 50 % of that vector", self.document(cache=64 * 2**20))
        self.assertIn("may hold all of that vector", self.document(cache=2**30))
        self.assertIn("may hold any part of that vector", self.document(cache=0))

    def document(self, **changed):
        settings = {"seconds": 40, "mbit": 400, "machine": {"demand": {**DEMAND, **changed}}}
        return "\n".join(report.document(settings, records_of("max + min", self.PROGRESS)))


if __name__ == "__main__":
    unittest.main()
