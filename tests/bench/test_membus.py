# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""netbench as a program, and what bench/membus plans and computes."""

import json
import os
import socket
import subprocess
import tempfile
import time
import unittest

from membus import plan, report

BENCH = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench")
TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIMIT = 60


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
        work = plan.nas_work(rates, 1e6)
        self.assertEqual((work["CG"], work["LU"]), (0, 0))
        took = 2**20 / rates["EP"] + work["EP"] / 1e6
        self.assertAlmostEqual(2**20 / took / 1.62e9, 1, delta=0.01)

    def test_the_papers_mixes_have_its_names(self):
        with open(os.path.join(TOP, "sim", "scenarios", "002-mixes.json"),
                  encoding="utf-8") as file:
            scenario = json.load(file)
        for kernel, demand in plan.NAS_MB_S.items():
            self.assertEqual(scenario["applications"][kernel]["memory_mb_s"], demand)
        names = {f"{first} + {last}" for first, _, _, last in scenario["mixes"]}
        ours = {name for name, kinds in plan.SETS.items() if set(kinds) & set(plan.NAS_MB_S)}
        self.assertLessEqual(ours, names)


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
        text = "\n".join(report.document({"seconds": 40, "mbit": 400},
                                         records_of("max + min", self.PROGRESS)))
        self.assertIn("8 rounds of 40 s", text)
        self.assertIn("| max of max + min, netbench sleeps: gains at least +19.9 %", text)
        self.assertIn("| kept |", text)
        self.assertIn("| max | 0.30", text)


if __name__ == "__main__":
    unittest.main()
