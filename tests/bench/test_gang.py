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
from gang import cpu, maths, plan, report, runner, watch

REPLAY = os.path.join(os.environ.get("HPCB_BUILDDIR", "."), "bench", "gang-replay")


def decision(quantum, elected, jobs=(1, 2)):
    """One core; nobody has been measured yet, so that the first in the list is elected."""
    return {"gang": "primaries", "quantum": quantum, "window": 2, "mem": 0, "net": 0,
            "jobs": [{"job": job, "of_job": job, "cpus": "0", "paused": False, "wide": False,
                      "cycle": 0, "slot": 0, "waited": 0, "samples": [],
                      "elected": job == elected} for job in jobs]}


def series(*elected):
    """Decisions of quanta 1, 2, ... with the waits of their jobs, 1 and 2."""
    found, waited = [], {1: 0, 2: 0}
    for quantum, one in enumerate(elected, 1):
        found.append(decision(quantum, one))
        for job in found[-1]["jobs"]:
            job["waited"] = waited[job["job"]]
        waited = {job: 0 if job == one else waits + 1 for job, waits in waited.items()}
    return found


class Plan(unittest.TestCase):
    def test_disturbances(self):
        planned = [plan.disturbance(number, 1) for number in range(100)]
        self.assertEqual(planned, [plan.disturbance(number, 1) for number in range(100)])
        self.assertNotEqual(planned, [plan.disturbance(number, 2) for number in range(100)])
        for kind in plan.KINDS:
            self.assertEqual(sum(one.kind == kind for one in planned), 25)
        for one in planned:
            self.assertEqual(bool(one.daemon), one.kind in ("kill", "hang"))
            self.assertTrue(one.kind != "hang" or one.daemon == "hpcbd")
            self.assertEqual(one.target == "ctl", one.daemon == "slurmctld")
            self.assertEqual(one.step != 0, one.kind == "step")

    def test_limits_are_those_of_the_policy(self):
        # One core with five jobs: overdue from the 10th round on, behind four others.
        self.assertEqual(plan.round_limit(5, 5), 14)
        self.assertEqual(plan.round_limit(2, 5), 8)
        self.assertEqual(plan.stop_limit("n1", 0), 14 * 0.5 + 2)
        # Dealt: overdue after two cycles.
        self.assertEqual(plan.round_limit(5, 5, 4), 14)
        self.assertEqual(plan.round_limit(5, 5, 8), 20)
        self.assertEqual(plan.stop_limit("n1", 16), 36 * 0.5 + 2)


class Maths(unittest.TestCase):
    def test_turns(self):
        found = maths.turns(series(1, 1, 2, 1))
        self.assertEqual(found[1], {"rounds": 4, "elected": 3, "longest": 2, "jobs": 2,
                                    "limit": 5})
        self.assertEqual(found[2], {"rounds": 4, "elected": 1, "longest": 3, "jobs": 2,
                                    "limit": 5})

    def test_waits_begin_before_the_first_decision_seen(self):
        found = maths.turns(series(1, 1, 1, 1, 1, 2, 1)[4:])
        self.assertEqual((found[2]["rounds"], found[2]["longest"]), (3, 6))

    def test_a_decision_that_nobody_has_read_is_no_gap(self):
        seen = series(1, 1, 1, 2, 1)
        del seen[1]
        self.assertEqual(maths.turns(seen)[2]["longest"], 4)
        del seen[2]   # the one in which it was elected
        self.assertEqual(maths.turns(seen)[2]["longest"], 3)

    def test_the_limit_counts_the_jobs_of_the_busiest_cpu(self):
        self.assertEqual(maths.cpus_of("0-2,8"), [0, 1, 2, 8])
        self.assertEqual(maths.cpus_of(""), [])
        one = decision(1, 1, (1, 2, 3, 4, 5))
        for job, cpus in zip(one["jobs"], ("0-3", "0", "1", "2", "")):
            job["cpus"] = cpus
        found = maths.turns([one])
        self.assertNotIn(5, found)
        self.assertEqual((found[1]["jobs"], found[1]["limit"]), (4, 2 * 2 + 4 - 1))

    def test_turns_on_all_nodes(self):
        by_node = {"n1": series(1, 2, 1, 1, 2, 2, 1), "n2": series(1, 1, 2, 1, 1, 2, 2)}
        nodes_of = {1: ("n1", "n2"), 2: ("n1",)}
        self.assertEqual(maths.whole_turns(by_node, nodes_of, {}),
                         {1: {"turns": 2, "longest": 3, "last": 4}})
        self.assertEqual(maths.whole_turns(by_node, nodes_of, {1: -4}),
                         {1: {"turns": 2, "longest": 5, "last": 4}})
        never = {"n1": series(1, 1, 1), "n2": series(2, 2, 2)}
        self.assertEqual(maths.whole_turns(never, nodes_of, {1: 0}),
                         {1: {"turns": 0, "longest": 3, "last": 0}})

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

    def cycle(self):
        return 0

    def start(self, daemon):
        self.started.append(daemon)

    def hang(self):
        self.started.append("hang")

    def wake(self):
        self.started.append("wake")


class FakeBench(runner.Bench):
    """Jobs 1 to 5 of one node take turns of 0.5 s; `frozen`: (job, from, to)."""

    def __init__(self, clock, frozen=None):   # pylint: disable=super-init-not-called
        self.clock, self.frozen = clock, frozen
        self.jobs = [str(number + 1) for number in range(len(plan.JOBS))]
        self.nodes = [FakeNode("n1")]
        self.lost, self.losing = [], [[]]   # what find_lost() finds, one a call, then the last
        self.workspace = mock.Mock(**{"job_directory.return_value": ""})

    def find_lost(self):
        return self.losing.pop(0) if len(self.losing) > 1 else self.losing[0]

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
    def disturb(self, frozen=None, daemon="munged", kind="kill", lost=()):
        clock = Clock()
        clock.now = 10.0
        bench = FakeBench(clock, frozen)
        bench.losing = list(lost) or [[]]
        planned = plan.Disturbance(0, kind, "n1", daemon, 0.0, 1.0)
        with mock.patch.object(runner, "time", clock):
            record = bench.disturb(planned)
        self.assertEqual(bench.nodes[0].started,
                         ["hang", "wake"] if kind == "hang" else [daemon])
        return record

    def test_turns_that_go_on(self):
        record = self.disturb()
        self.assertEqual(record["stuck"], [])
        self.assertLessEqual(record["longest"], 2.5)

    def test_one_job_that_stays_frozen(self):
        self.assertEqual(self.disturb(("3", 10.0, 1e9))["stuck"], [("n1", "3")])

    def test_one_job_that_was_frozen_for_too_long(self):
        limit = plan.stop_limit("n1", 0)
        self.assertEqual(self.disturb(("3", 10.0, 11.0 + limit))["stuck"], [("n1", "3")])
        self.assertEqual(self.disturb(("3", 10.0, 6.0 + limit))["stuck"], [])


    def test_who_is_stopped_while_hpcbd_hangs(self):
        # All but the one that runs: here nobody lets them go.
        self.assertEqual(len(self.disturb(daemon="hpcbd", kind="hang")["stuck"]), 4)

    def test_a_lost_job_is_lost_and_not_stuck(self):
        # At once, or while it was waited for.
        for lost in ([["3"]], [[], ["3"]]):
            record = self.disturb(("3", 10.0, 1e9), lost=lost)
            self.assertEqual((record["stuck"], record["lost"]), ([], ["3"]))
            self.assertLess(record["longest"], 3)


class Watch(unittest.TestCase):
    """One job with two groups."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.paths = [os.path.join(scratch.name, name) for name in "ab"]
        for path in self.paths:
            self.write(path, "0")
        with mock.patch.object(watch, "freezers", return_value={"7": self.paths}):
            self.watch = watch.Watch(["7"])
        self.addCleanup(os.close, self.watch.fd)
        with mock.patch("builtins.print"):
            self.watch.look("7", 0.0)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="ascii") as file:
            file.write(text)

    def test_a_group_that_goes_ends_nothing(self):
        with mock.patch("builtins.print") as said:
            self.write(self.paths[0], "1")
            self.watch.follow()
            self.assertTrue(said.call_args[0][0].endswith(" 7 1"))
            self.take_away(self.paths[0])
            self.assertTrue(said.call_args[0][0].endswith(" 7 0"))
            self.write(self.paths[1], "1")
            self.watch.follow()
            self.assertTrue(said.call_args[0][0].endswith(" 7 1"))
            self.take_away(self.paths[1])
        self.assertEqual(self.watch.job_of, {})

    def take_away(self, path):
        """As the kernel does with a cgroup: reads fail from then on."""
        number = self.paths.index(path)
        os.unlink(path)
        os.close(self.watch.files["7"][number])
        self.watch.follow()

    def test_events_that_the_kernel_drops_end_it(self):
        lost = watch.EVENT.pack(-1, watch.IN_Q_OVERFLOW, 0, 0)
        with mock.patch.object(watch.os, "read", return_value=lost), \
                self.assertRaisesRegex(SystemExit, "dropped"):
            self.watch.follow()


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

    def test_a_decision_between_two_pages_is_read_with_the_next_list(self):
        found = {3: decision(3, 1)}
        runner.add_decisions("n1", found, [decision(2, 1), decision(3, 1), decision(5, 1)])
        self.assertTrue(runner.has_holes(found))
        runner.add_decisions("n1", found, [decision(3, 1), decision(4, 1), decision(5, 1)])
        self.assertEqual(sorted(found), [3, 4, 5])
        self.assertFalse(runner.has_holes(found))

    def bench(self, *lists):
        """One node that lists these."""
        bench = runner.Bench.__new__(runner.Bench)
        node = mock.Mock(**{"listed.side_effect": [{"decisions": found} for found in lists]})
        node.name = "n1"
        bench.nodes, bench.seen, bench.whole = [node], {}, {1: 3}
        return bench

    def test_a_part_begins_with_the_last_decision_of_the_one_before(self):
        bench = self.bench(series(1, 1, 1, 1)[1:])
        bench.seen = {"n1": decision(2, 1)}
        self.assertEqual(sorted(bench.go_on(bench.nodes[0])), [2, 3, 4])
        self.assertEqual(bench.whole, {1: 3})

    def test_or_anew_if_some_are_forgotten(self):
        for seen in ({}, {"n1": decision(2, 1)}):
            bench = self.bench(series(1, 1, 1, 1)[2:])
            bench.seen = seen
            self.assertEqual(list(bench.go_on(bench.nodes[0])), [4])
            self.assertEqual(bench.whole, {})

    def test_holes_are_looked_for_at_once(self):
        bench = self.bench([decision(1, 1), decision(3, 1)], series(1, 1, 1))
        decisions = {"n1": {1: decision(1, 1)}}
        bench.read_decisions(decisions)
        self.assertEqual(sorted(decisions["n1"]), [1, 2, 3])


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
    figures = {"rounds": 120, "elected": 20, "longest": longest, "jobs": 5, "limit": 14}
    return {"mode": "calm", "seconds": 60,
            "turns": {node: {str(index): figures for index, nodes in enumerate(plan.JOBS)
                             if node in nodes} for node in plan.NODES},
            "together": [10, 2], "skews": [skew] * 10,
            "whole": {str(index): {"turns": 10, "longest": 9}
                      for index, nodes in enumerate(plan.JOBS) if len(nodes) > 1},
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
        good = [calm(5)] * 10 + [disturbed(number) for number in range(report.DISTURBANCES)]
        self.assertEqual(self.verdicts(good), ["kept"] * 7)
        self.assertEqual(self.verdicts([calm(5), disturbed(0)]), ["undecided"] * 7)
        bad = [calm(15, 0.006, 0.4, 1), disturbed(0, [["n1", "1"]], ["1"])]
        self.assertEqual(self.verdicts(bad), ["broken"] * 7)
        self.assertEqual(self.verdicts([calm(14)] * 10)[:2], ["kept", "broken"])
        self.assertEqual(self.verdicts([calm(8)] * 10)[:2], ["kept", "kept"])

    def test_turns_on_all_nodes_are_shown_without_a_verdict(self):
        text = "\n".join(report.document({"seed": 1}, [calm(5)]))
        self.assertIn("at most 9 quanta, 4.5 s | no limit", text)
        self.assertIn("| n1 | 16.7 % | 5 | - | - |", text)
        self.assertIn("| n1, n2 | 16.7 % | 5 | 10 | 9 |", text)

    def test_what_a_cut_cannot_show_is_said(self):
        text = "\n".join(report.document({"seed": 1}, [disturbed(0)]))
        self.assertIn("cannot leave a job stopped", text)

    def test_no_edge_decides_nothing(self):
        self.assertEqual(self.verdicts([dict(calm(5), skews=[])] * 10)[2], "undecided")

    def test_edges_that_a_node_missed_break_the_limit(self):
        missed = dict(calm(5), skews=[0.001] * 97 + [plan.QUANTUM_SECONDS] * 3)
        self.assertEqual(self.verdicts([missed] * 10)[2], "broken")
        text = "\n".join(report.document({"seed": 1}, [missed]))
        self.assertIn("of 100 edges; a node missed 3", text)


if __name__ == "__main__":
    unittest.main()
