# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""bench/gang: what is planned, what switches and decisions tell, and the document."""

import json
import os
import signal
import subprocess
import tempfile
import unittest
from unittest import mock

from cluster import BenchError
from gang import cpu, maths, plan, report, runner

REPLAY = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench", "gang-replay")


def decision(quantum, elected, jobs=(1, 2)):
    """One core; nobody has been measured yet, so that the first in the list is elected."""
    return {"gang": "primaries", "quantum": quantum, "window": 2, "mem": 0, "net": 0,
            "jobs": [{"job": job, "cpus": "0", "paused": False, "wide": False, "waited": 0,
                      "samples": [], "elected": job == elected} for job in jobs]}


class Plan(unittest.TestCase):
    def test_disturbances(self):
        planned = [plan.disturbance(number, 1) for number in range(99)]
        self.assertEqual(planned, [plan.disturbance(number, 1) for number in range(99)])
        self.assertNotEqual(planned, [plan.disturbance(number, 2) for number in range(99)])
        for kind in plan.KINDS:
            self.assertEqual(sum(one.kind == kind for one in planned), 33)
        for one in planned:
            self.assertEqual(bool(one.daemon), one.kind == "kill")
            self.assertEqual(one.target == "ctl", one.daemon == "slurmctld")
            self.assertEqual(one.step != 0, one.kind == "step")


class Maths(unittest.TestCase):
    def test_turns(self):
        found = maths.turns([decision(quantum, 2 if quantum == 3 else 1)
                             for quantum in (4, 1, 2, 3)])
        self.assertEqual(found[1], {"rounds": 4, "elected": 3, "longest": 2, "jobs": 2})
        self.assertEqual(found[2], {"rounds": 4, "elected": 1, "longest": 3, "jobs": 2})

    def test_waits_begin_before_the_first_decision_seen(self):
        first = decision(1, 1)
        first["jobs"][1]["waited"] = 4
        found = maths.turns([first, decision(2, 2), decision(3, 1)])
        self.assertEqual(found[1]["longest"], 2)
        self.assertEqual(found[2], {"rounds": 3, "elected": 1, "longest": 6, "jobs": 2})

    def test_together(self):
        by_node = {"n1": [decision(1, 1), decision(2, 1), decision(3, 2)],
                   "n2": [decision(1, 1), decision(2, 2)]}
        self.assertEqual(maths.together(by_node, {1: ("n1", "n2")}), (1, 1))
        self.assertEqual(maths.together(by_node, {1: ("n1",)}), (0, 0))

    GO = [(1.5, "n1", "1", False), (1.502, "n2", "1", False), (1.5, "n1", "2", True)]

    def skews(self, switches, *jobs_of_nodes, end=9.0):
        """jobs_of_nodes: {quantum: who is elected} of n1 and of n2; 1 is on both, 2 on n1,
        3 on n2."""
        by_node = {node: [decision(quantum, elected, (1, 2, 3))
                          for quantum, elected in elections.items()]
                   for node, elections in zip(("n1", "n2"), jobs_of_nodes)}
        nodes_of = {1: ("n1", "n2"), 2: ("n1",), 3: ("n2",)}
        return [round(skew, 6) for skew in maths.skews(by_node, nodes_of, switches, end)]

    def one_turn(self, *switches, end=9.0):
        """Job 1 has quantum 3, which begins at 1.5 s."""
        return self.skews([*self.GO, *switches], {2: 2, 3: 1, 4: 2}, {2: 3, 3: 1, 4: 3}, end=end)

    def test_skews(self):
        stop = [(2.0, "n1", "1", True), (2.001, "n2", "1", True)]
        self.assertEqual(self.one_turn(*stop), [0.002, 0.001])
        self.assertEqual(self.one_turn(*stop, end=2.4), [0.002])
        self.assertEqual(self.skews([], {3: 1}, {3: 1}), [])

    def test_a_late_switch_and_one_that_is_missing_count(self):
        stop = (2.0, "n1", "1", True)
        self.assertEqual(self.one_turn(stop, (2.4, "n2", "1", True)), [0.002, 0.4])
        self.assertEqual(self.one_turn(stop), [0.002, 0.5])
        self.assertEqual(self.one_turn(), [0.002, 0.5])

    def test_a_quantum_that_a_node_leaves_out_counts(self):
        switches = [(1.5, "n1", "1", False), (2.0, "n2", "1", False)]
        self.assertEqual(self.skews(switches, {2: 2, 3: 1, 4: 1}, {2: 3, 4: 1}), [0.5])

    def test_who_ran_before_does_not_switch(self):
        self.assertEqual(self.skews([], {2: 1, 3: 1}, {2: 3, 3: 1}), [])

    def test_who_is_stopped(self):
        switches = [(1.0, "n1", "7", True), (2.0, "n1", "7", False), (2.0, "n1", "8", True)]
        self.assertEqual(maths.stopped_at(switches, 1.5), {("n1", "7"): 1.0})
        self.assertEqual(maths.stopped_at(switches, 3.0), {("n1", "8"): 2.0})
        self.assertTrue(maths.stands_still(switches, "n1", ["7"], 1.2, 1.6))
        self.assertFalse(maths.stands_still(switches, "n1", ["7", "8"], 1.2, 1.6))
        self.assertFalse(maths.stands_still(switches, "n1", ["7"], 0.9, 1.6))
        self.assertEqual(maths.longest_stops(switches, 1.5, 6.0),
                         {("n1", "7"): 1.0, ("n1", "8"): 4.0})
        self.assertEqual(maths.too_long(switches, {"n1": 3.0}, 1.5, 6.0), [("n1", "8")])
        self.assertEqual(maths.too_long(switches, {"n1": 4.0}, 1.5, 6.0), [])

    def test_who_has_not_been_let_go(self):
        switches = [(1.0, "n1", "7", True), (2.0, "n1", "7", False), (2.0, "n1", "8", True)]
        both = [("n1", "7"), ("n1", "8")]
        self.assertEqual(maths.not_let_go(switches, both, 1.5), [("n1", "8")])
        self.assertEqual(maths.not_let_go(switches, both, 2.5), both)


class Clock:
    """Stands for the module time."""

    def __init__(self):
        self.now = 0.0

    def time(self):
        return self.now

    monotonic = time

    def sleep(self, seconds):
        self.now += seconds


class FakeNode:
    def __init__(self, name):
        self.name = name
        self.started = []

    def kill(self, _daemon):
        pass

    def start(self, daemon):
        self.started.append(daemon)


class FakeBench(runner.Bench):
    """Jobs 1 to 5 of one node take turns of 0.5 s; `frozen`: (job, from, to)."""

    def __init__(self, clock, frozen=None):   # pylint: disable=super-init-not-called
        self.clock, self.frozen = clock, frozen
        self.jobs = [str(number + 1) for number in range(len(plan.JOBS))]
        self.nodes = [FakeNode("n1")]
        self.lost = []
        self.workspace = mock.Mock(**{"job_directory.return_value": ""})

    def find_lost(self):
        return []

    def switches(self):
        mine = self.jobs_of(self.nodes[0])
        found = [(0.0, "n1", job, True) for job in mine]
        for quantum in range(int(self.clock.now / 0.5) + 1):
            for number, job in enumerate(mine):
                turn = (quantum - number) % len(mine)
                if turn < 2 and not self.is_frozen(job, quantum * 0.5):
                    found.append((quantum * 0.5, "n1", job, turn == 1))
        return found

    def is_frozen(self, job, when):
        return self.frozen and self.frozen[0] == job and \
            self.frozen[1] <= when < self.frozen[2]


class Disturb(unittest.TestCase):
    def disturb(self, frozen=None, daemon="munged"):
        clock = Clock()
        clock.now = 10.0
        bench = FakeBench(clock, frozen)
        planned = plan.Disturbance(0, "kill", "n1", daemon, 0.0, 1.0)
        with mock.patch.object(runner, "time", clock):
            record = bench.disturb(planned)
        self.assertEqual(bench.nodes[0].started, [daemon])
        return record

    def test_turns_that_go_on(self):
        record = self.disturb()
        self.assertEqual(record["stuck"], [])
        self.assertLessEqual(record["longest"], 2.5)

    def test_one_job_that_stays_frozen(self):
        self.assertEqual(self.disturb(("3", 10.0, 1e9))["stuck"], [("n1", "3")])

    def test_one_job_that_was_frozen_for_too_long(self):
        limit = plan.stop_limit("n1")
        self.assertEqual(self.disturb(("3", 10.0, 11.0 + limit))["stuck"], [("n1", "3")])
        self.assertEqual(self.disturb(("3", 10.0, 6.0 + limit))["stuck"], [])


class Watchers(unittest.TestCase):
    def test_each_job_is_watched_before_anything_is_measured(self):
        clock = Clock()
        bench = FakeBench(clock)
        seen = [(1.0, "n1", job, True) for job in bench.jobs_of(bench.nodes[0])]
        with mock.patch.object(runner, "time", clock), \
                mock.patch.object(bench, "switches", side_effect=[[], seen[:-1], seen]) as looks:
            bench.wait_for_watchers()
        self.assertEqual(looks.call_count, 3)
        with mock.patch.object(runner, "time", clock), \
                mock.patch.object(bench, "switches", return_value=seen[:-1]), \
                self.assertRaisesRegex(BenchError, "n1"):
            bench.wait_for_watchers()


class End(unittest.TestCase):
    def setUp(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
            self.addCleanup(signal.signal, number, signal.getsignal(number))

    def test_what_fails_does_not_cut_it_short(self):
        bench = FakeBench(Clock())
        bench.home, bench.progress = tempfile.mkdtemp(), mock.Mock()
        bench.cluster, bench.workspace = mock.Mock(), mock.Mock()
        bench.cluster.down.side_effect = BenchError("down fails")
        bench.nodes = [mock.Mock(), mock.Mock()]
        bench.nodes[0].end.side_effect = subprocess.TimeoutExpired("watch", 30)
        with mock.patch("sys.stderr"):
            bench.close()
        bench.nodes[1].end.assert_called_once()
        bench.cluster.down.assert_called_once()
        bench.workspace.remove.assert_called_once()
        self.assertFalse(os.path.exists(bench.home))
        self.assertEqual(signal.getsignal(signal.SIGINT), signal.SIG_IGN)

    def test_a_watcher_that_does_not_end_is_killed(self):
        node = runner.Node.__new__(runner.Node)
        node.watcher = mock.Mock()
        node.watcher.communicate.side_effect = subprocess.TimeoutExpired("watch", 30)
        node.end()
        node.watcher.kill.assert_called_once()


class Cpu(unittest.TestCase):
    def test_no_hpcbd_is_an_error(self):
        with mock.patch.object(cpu, "is_hpcbd", return_value=False), \
                self.assertRaisesRegex(SystemExit, "no hpcbd"):
            cpu.main()

    def test_time_of_a_process(self):
        with mock.patch.object(cpu, "is_hpcbd", side_effect=lambda pid: pid == str(os.getpid())), \
                mock.patch("builtins.print") as said:
            cpu.main()
        self.assertGreater(said.call_args[0][0], 0)


class Polls(unittest.TestCase):
    def test_decisions_that_were_missed_are_an_error(self):
        found = {3: decision(3, 1)}
        runner.add_decisions("n1", found, [decision(3, 1), decision(4, 1)])
        self.assertEqual(list(found), [3, 4])
        with self.assertRaises(BenchError):
            runner.add_decisions("n1", found, [decision(6, 1)])


class Replay(unittest.TestCase):
    def replay(self, *lines):
        done = subprocess.run([REPLAY], input="".join(json.dumps(line) + "\n" for line in lines),
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout and json.loads(done.stdout)

    def test_the_policy_decides_the_same(self):
        unknown = dict(decision(1, 1), jobs=None)
        self.assertEqual(self.replay(decision(1, 1), unknown),
                         (0, {"replayed": 1, "unlike": 0, "unknown": 1}))

    def test_or_does_not(self):
        self.assertEqual(self.replay(decision(1, 1), decision(1, 2)),
                         (1, {"replayed": 2, "unlike": 1, "unknown": 0}))

    def test_what_is_no_decision(self):
        self.assertEqual(self.replay({"quantum": 1}), (2, ""))


def calm(longest, skew=0.001, seconds_of_cpu=0.1, unlike=0):
    figures = {"rounds": 120, "elected": 20, "longest": longest, "jobs": 5}
    return {"mode": "calm", "seconds": 60,
            "turns": {node: {str(index): figures for index, nodes in enumerate(plan.JOBS)
                             if node in nodes} for node in plan.NODES},
            "together": [10, 2], "skews": [skew] * 10,
            "cpu": {node: seconds_of_cpu for node in plan.NODES},
            "replay": {"replayed": 10, "unlike": unlike, "unknown": 0}}


def disturbed(number, stuck=(), lost=()):
    return {"mode": "disturb", "number": number, "kind": "cut", "daemon": "", "target": "n1",
            "step": 0, "stuck": list(stuck), "lost": list(lost), "longest": 1.0}


class Report(unittest.TestCase):
    def verdicts(self, records):
        lines = list(report.document({"seed": 1}, records))
        return [line.split("|")[-2].strip() for line in lines
                if line.startswith("| ") and line.endswith(("kept |", "broken |",
                                                            "undecided |"))]

    def test_three_verdicts(self):
        good = [calm(5)] * 10 + [disturbed(number) for number in range(100)]
        self.assertEqual(self.verdicts(good), ["kept"] * 8)
        self.assertEqual(self.verdicts([calm(5), disturbed(0)]), ["undecided"] * 8)
        bad = [calm(16, 0.006, 0.4, 1), disturbed(0, [["n1", "1"]], ["1"])]
        self.assertEqual(self.verdicts(bad), ["broken"] * 8)
        self.assertEqual(self.verdicts([calm(8)] * 10)[:3], ["kept", "broken", "kept"])

    def test_no_edge_decides_nothing(self):
        self.assertEqual(self.verdicts([dict(calm(5), skews=[])] * 10)[3], "undecided")

    def test_edges_that_a_node_missed_break_the_limit(self):
        missed = dict(calm(5), skews=[0.001] * 97 + [plan.QUANTUM_SECONDS] * 3)
        self.assertEqual(self.verdicts([missed] * 10)[3], "broken")
        text = "\n".join(report.document({"seed": 1}, [missed]))
        self.assertIn("of 100 edges; a node missed 3", text)


if __name__ == "__main__":
    unittest.main()
