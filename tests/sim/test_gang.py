# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""The model gang: jobs that share CPUs and take turns."""

import json
import os
import subprocess
import unittest

PROGRAM = os.path.join(os.environ["HPCB_BUILDDIR"], "sim", "hpcb-sim")
SCENARIOS = os.path.join(os.environ["HPCB_SRCDIR"], "sim", "scenarios")
QUANTUM = 0.5
# Until the first deal counts, whenever the collector makes it.
DEALT = "settle_seconds=70"


def run(name, *settings, seed=1):
    command = [PROGRAM, "run", os.path.join(SCENARIOS, name + ".json"), "--json",
               "--seed", str(seed)]
    for setting in settings:
        command += ["--set", setting]
    return subprocess.run(command, capture_output=True, text=True, check=False,
                          timeout=300)


def rows(name, *settings, seed=1):
    done = run(name, *settings, seed=seed)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["runs"][0]["rows"]


def progress(row):
    return [row[f"progress_{i}"] for i in range(1, 5)]


def one_set(regime, *settings, jobs=("net", "net", "min", "min")):
    """Progress of the four jobs of a set of sandbox-gang."""
    return progress(rows("sandbox-gang", f"mixes={json.dumps([jobs])}",
                         f'regimes=["{regime}"]', *settings)[0])


def placed(*jobs):
    """A mix of (application, nodes, CPUs)."""
    return "mixes=" + json.dumps([{"name": "placed", "jobs": [
        {"application": app, "nodes": nodes, "cpus": cpus} for app, nodes, cpus in jobs]}])


def drawn(nodes, cpus, deep):
    return "mixes=" + json.dumps([{"name": "drawn", "draw": {
        "applications": ["CG", "EP", "myribench"], "nodes": nodes, "cpus": cpus,
        "deep": deep}}])


def on_nodes(*settings, seed=1):
    """{regime: row} of gang-nodes."""
    return {row["regime"]: row for row in rows("gang-nodes", *settings, seed=seed)}


class Gang(unittest.TestCase):
    def bad(self, name, setting, wanted):
        done = run(name, setting)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn(wanted, done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1)

    def close(self, found, expected, delta=0.001):
        for one, other in zip(found, expected, strict=True):
            self.assertAlmostEqual(one, other, delta=delta)

    # ---- all at once, and the paper's election

    def test_who_waits_for_the_network_leaves_its_cpu(self):
        # Half of the link for each, a quarter of a CPU; the rest for the two others.
        self.close(one_set("shared", "applications.net.cpu=0.5"), (0.5, 0.5, 0.75, 0.75))
        self.close(one_set("shared", "applications.net.cpu=0.5",
                           "applications.net.polls=true"), (0.5, 0.5, 0.5, 0.5))

    def test_the_paper_keeps_those_apart_that_saturate_the_bus(self):
        found = {(row["mix"], row["regime"]): row for row in rows("002-mixes",
                                                                   "nodes=[4]")}
        # Two of CG run at 688 / 1348 whatever one does.
        for regime in ("linux", "paper"):
            self.assertAlmostEqual(found["CG+CG", regime]["first_by_ideal"], 0.5104,
                                   delta=0.03)
        self.assertGreater(found["CG+EP", "paper"]["first_by_ideal"],
                           found["CG+EP", "linux"]["first_by_ideal"] * 1.1)
        self.assertLess(found["CG+EP", "linux_polling"]["first_by_ideal"], 0.15)

    # ---- one node

    def test_turns_in_their_order_run_likes_together(self):
        for regime in ("order", "slurm"):
            self.close(one_set(regime), (0.25, 0.25, 0.5, 0.5))
            self.close(one_set(regime, "arrangement=[0,2,3,1]"), (0.5, 0.5, 0.5, 0.5))

    def test_turns_by_bandwidth_keep_them_apart(self):
        for arrangement in ("[0,1,2,3]", "[0,2,3,1]"):
            self.close(one_set("ours", f"arrangement={arrangement}"), (0.5, 0.5, 0.5, 0.5),
                       0.02)

    def test_what_is_not_measured_does_not_count(self):
        likes, memory = ("max", "max", "min", "min"), "memory_mb_s=41927"
        self.close(one_set("ours", memory, jobs=likes), one_set("order", memory, jobs=likes))
        # 41927 of what max and min ask for together.
        apart = [0.5 * 41927 / (41927 + 18307)] * 4
        self.close(one_set("ours", memory, "senses_memory=true", jobs=likes), apart, 0.02)

    def test_two_jobs_of_one_cpu_never_run_at_once(self):
        """The paper's election runs any two of them together."""
        likes = ["CG", "EP", "CG", "EP"]  # CG's have the same CPU, and nothing is scarce
        found = {row["regime"]: progress(row) for row in rows(
            "002-mixes", "nodes=[1]", "memory_mb_s=1e6", f"mixes={json.dumps([likes])}",
            'regimes=["paper","ours","order"]', "known_memory_mb_s=1348")}
        for regime in ("ours", "order"):
            self.assertLessEqual(found[regime][0] + found[regime][2], 1)
        self.assertGreater(found["paper"][0] + found["paper"][2], 1)

    # ---- several nodes

    def test_a_deal_runs_those_together_that_fit(self):
        settings = ("nodes=[4,4096]", 'mixes=[["CG","CG","EP","EP"]]', DEALT,
                    'regimes=["ours","no_deal","order"]')
        apart = 0.5 * 688 / (674 + 162)
        for seed in range(1, 6):
            for row in rows("002-mixes", *settings, seed=seed):
                if row["regime"] == "ours":
                    self.close(progress(row), [apart] * 4)
                else:
                    self.assertLessEqual(row["progress_1"], apart + 0.001)

    def test_before_the_first_deal_ids_decide(self):
        settings = ("seconds=20", "nodes=[4]", 'mixes=[["CG","CG","EP","EP"]]',
                    'regimes=["ours","no_deal"]')
        self.close(*map(progress, rows("002-mixes", *settings)))
        dealt, by_ids = map(progress, rows("002-mixes", *settings, DEALT))
        self.assertNotEqual(dealt, by_ids)

    def test_the_collector_has_no_room_for_more_nodes(self):
        """hpcbd/collector/dealer.c: half of HPCB_DEAL_NODES_MAX."""
        settings = ('mixes=[["CG","CG","EP","EP"]]', DEALT, 'regimes=["ours","no_deal"]')
        dealt, by_ids = map(progress, rows("002-mixes", "nodes=[4097]", *settings))
        self.close(dealt, by_ids)
        dealt, by_ids = map(progress, rows("002-mixes", "nodes=[4096]", *settings))
        self.assertNotEqual(dealt, by_ids)

    def test_the_collector_deals_to_all_jobs_of_4096_nodes(self):
        settings = ("nodes=[4096]", "seconds=10", 'regimes=["ours"]')
        row, = rows("gang-nodes", *settings)
        self.assertGreater(row["wide_jobs"], 4000)
        # Two jobs a CPU, and none waits for more than one quantum.
        self.assertEqual((row["wide_turns"], row["wide_gap_seconds"]), (0.5, 0.5))

    def test_three_jobs_that_meet_in_twos(self):
        """Each pair shares one CPU of one node: one of the three runs at a time, of a cycle
        of four quanta a dealt job has one."""
        triangle = placed(("EP", [0, 1], [0]), ("EP", [1, 2], [0]), ("EP", [0, 2], [0]))
        for seed in range(1, 6):
            found = on_nodes("nodes=[4]", triangle, seed=seed)
            self.close([found["slurm"]["wide_turns"]], [1 / 3], 0.02)
            self.assertGreaterEqual(found["ours"]["wide_turns"], 0.249)
            self.assertLessEqual(found["ours"]["wide_gap_seconds"], 3 * QUANTUM)
            self.assertEqual((found["ours"]["jobs"], found["ours"]["wide_jobs"]), (3, 3))

    def test_jobs_of_one_node_count_for_a_deal(self):
        """Else a job that meets no other of several nodes would own all quanta."""
        jobs = placed(("EP", [0, 1], [0]), ("EP", [0], [0]))
        self.close([on_nodes("nodes=[2]", jobs)["ours"]["progress_least"]], [0.5])

    def test_a_job_waits_for_its_slowest_node(self):
        """CG meets another one on the second of its nodes."""
        jobs = placed(("CG", [0, 1], [0]), ("CG", [1], [1]))
        self.close([on_nodes("nodes=[2]", jobs)["ours"]["progress_least"]],
                   [688 / (2 * 674)])

    def test_a_turn_on_a_part_of_its_nodes_is_of_no_use(self):
        """Two jobs of both nodes, and one of the first: with the ids' quanta a job of two
        nodes has turns on one of them that it cannot use."""
        found = on_nodes("nodes=[2]", placed(("EP", [0, 1], [0]), ("EP", [0, 1], [0]),
                                             ("EP", [0], [0])))
        self.assertGreater(found["no_deal"]["split_cpus"], 0)
        self.assertEqual(found["slurm"]["split_cpus"], 0)

    def test_no_job_starves(self):
        """policy/gang.h: 2 c + n - 1 quanta, of n jobs, where c is d, or the longest cycle
        that was dealt, which is four times as long as d jobs need at most."""
        for deep, cycle in ((2, 8), (3, 16)):
            for regime, longest in (("no_deal", deep), ("order", cycle), ("ours", cycle)):
                for seed in range(1, 4):
                    row = on_nodes("nodes=[16]", "seconds=200", drawn([1, 2, 3, 4], [1], deep),
                                   f'regimes=["{regime}"]', seed=seed)[regime]
                    limit = (2 * longest + 2 * deep - 1) * QUANTUM
                    self.assertLessEqual(row["wait_seconds"], limit)
                    self.assertLessEqual(row["wide_wait_seconds"], limit)

    def test_nodes_matter(self):
        few, many = (on_nodes(f"nodes=[{nodes}]", 'regimes=["no_deal"]')["no_deal"]
                     for nodes in (4, 64))
        self.assertNotEqual(few["wide_turns"], many["wide_turns"])
        self.assertGreater(many["jobs"], 10 * few["jobs"])

    def test_cpus_are_filled_and_never_given_too_often(self):
        row = on_nodes("nodes=[8]", drawn([1, 2], [1, 2], 2), 'regimes=["slurm"]')["slurm"]
        self.assertEqual(row["idle_cpus"], 0)
        self.assertEqual(row["split_cpus"], 0)

    # ---- any run

    def test_same_seed_same_bytes(self):
        settings = ("gang-nodes", "nodes=[16]")
        first, again, other = (run(*settings, seed=seed).stdout for seed in (1, 1, 2))
        self.assertEqual(first, again)
        self.assertNotEqual(json.loads(first)["runs"][0]["rows"],
                            json.loads(other)["runs"][0]["rows"])

    def test_what_would_not_end_is_refused(self):
        self.bad("gang-nodes", "seconds=1e6", "quanta of nodes, more than")
        self.bad("gang-nodes", "nodes=[1000000]", "quanta of nodes, more than")
        # Of 10 s, but there are 25,000 deals.
        done = run("gang-nodes", "nodes=[4096]", "seconds=1e6", "quantum_ns=10000000000",
                   'regimes=["ours"]')
        self.assertIn("quanta of nodes, more than", done.stderr)
        self.bad("gang-nodes", "nodes=[65537]", "1 to 4 nodes: more than 65536 nodes")
        done = run("002-mixes", "nodes=[1000000]", "seconds=1e6", "linux_quantum_ns=1000000")
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("quanta of nodes, more than", done.stderr)

    def test_what_is_wrong_is_named(self):
        self.bad("002-mixes", 'mixes=[["CG"]]', "mixes: not a list of lists of 4")
        self.bad("002-mixes", 'mixes=[["CG","CG","XX","XX"]]', "'XX' is missing")
        self.bad("002-mixes", 'mixes=[["CG","CG",null,"CG"]]', "null is no application")
        self.bad("002-mixes", 'regimes=["none"]', "regimes: none is none")
        self.bad("002-mixes", "regimes=[null]", "regimes: null is none")
        self.bad("002-mixes", "processors=4", "processors=4: linux and linux_polling are of 2")
        self.bad("002-mixes", "quantum_ns=49999999", "quantum_ns=49999999: not a whole number")
        for nodes in ("[2.7]", '["4"]', "[0]", "[1000001]", "[null]"):
            self.bad("002-mixes", f"nodes={nodes}", "not a whole number of 1 to 1000000")
        for arrangement in ("[0,1,2]", "[0,1,2,2]"):
            self.bad("002-mixes", f"arrangement={arrangement}", "arrangement: not 0 to 3")
        for arrangement in ("[0,1,2,4]", '["0",1,2,3]'):
            self.bad("002-mixes", f"arrangement={arrangement}", "not a whole number of 0 to 3")
        self.bad("gang-nodes", 'regimes=["paper"]', "objects go with the regimes ours")
        self.bad("gang-nodes", 'mixes=[{"name":"x"}]', "x: not one of jobs and draw")
        self.bad("gang-nodes", 'mixes=[{"name":"x","jobs":[]}]', "jobs: not a list of 1 to")
        self.bad("gang-nodes", drawn([1], [3], 2), "draw: cpus=3: not a whole number of 1 to 2")
        self.bad("gang-nodes", drawn([1], [1], 33), "deep=33: not a whole number of 1 to 32")
        self.bad("gang-nodes", drawn([5000], [1], 2), "no job fits on 4 nodes")
        for nodes, cpus, wanted in (([4], [0], "jobs: nodes=4: not a whole number of 0 to 3"),
                                    ([1, 0], [0], "nodes: not in rising order"),
                                    ([1, 1], [0], "nodes: not in rising order"),
                                    ([0], [2], "jobs: cpus=2: not a whole number of 0 to 1")):
            self.bad("gang-nodes", placed(("CG", nodes, cpus)), wanted)
        self.bad("gang-nodes", placed(*[("CG", [0], [0])] * 65), "more than 64 jobs on one node")
