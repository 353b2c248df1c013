# SPDX-License-Identifier: GPL-2.0-or-later
# Copyright (C) 2026 The slurm-hpc-balance developers
"""hpcb-guests, and what hpcbctl guests does, against commands that stand for Slurm's."""

import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest

from tools import HERE, REPORT

COMMANDS = ("scontrol", "squeue", "scancel", "sstat", "sacct", "ssh")


def job(number, state="RUNNING", **given):
    now = int(time.time())
    made = {"JobArrayID": str(number), "JobID": str(number), "State": state,
            "NumCPUs": "1", "NodeList": "n1", "BatchFlag": "1", "Requeue": "1",
            "EligibleTime": str(now - 110), "StartTime": str(now - 100),
            "EndTime": str(now + 3500), "Reason": "None", "MinMemory": "100M",
            "Name": "scan"}
    made.update(given)
    return made


def node(name, **given):
    made = {"NodeName": name, "CPUTot": "8", "CPUEfctv": "8", "RealMemory": "16000",
            "AllocMem": "6000", "FreeMem": "9000", "State": "MIXED", "Gres": "(null)",
            "ActiveFeatures": "(null)"}
    made.update(given)
    return made


class GuestsCase(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.dir = scratch.name
        os.mkdir(f"{self.dir}/bin")
        for name in COMMANDS:
            os.symlink(f"{HERE}/fake-slurm", f"{self.dir}/bin/{name}")
        with open(f"{self.dir}/conf", "w", encoding="utf-8") as stream:
            stream.write(f"StateDir={self.dir}/state\n")
        self.cluster = {
            "partition": {"PartitionName": "guest", "State": "UP", "Nodes": "n[1-3]"},
            "nodes": [node("n1"), node("n2"), node("n3", State="DOWN*"),
                      node("login", CPUTot="2")],
            "jobs": []}

    def call(self, *args, code=0):
        path = f"{self.dir}/cluster.json"
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(self.cluster, stream)
        env = {"PATH": f"{self.dir}/bin:{os.environ['PATH']}", "FAKE_SLURM": path,
               "HPC_BALANCE_CONF": f"{self.dir}/conf", "LC_ALL": "C.UTF-8", "TZ": "UTC"}
        done = subprocess.run([f"{REPORT}/hpcb-guests", *args], env=env, timeout=60,
                              stdin=subprocess.DEVNULL, capture_output=True,
                              encoding="utf-8", check=False)
        self.assertEqual(done.returncode, code, done)
        with open(path, encoding="utf-8") as stream:
            self.cluster = json.load(stream)
        return done.stdout, done.stderr

    def look(self):
        return json.loads(self.call("--json")[0])

    def switch(self, *args, code=0):
        return json.loads(self.call("--switch", "--json", *args, code=code)[0])

    def states(self):
        return [one["State"] for one in self.cluster["jobs"]]

    def log(self):
        with open(f"{self.dir}/cluster.json.log", encoding="utf-8") as stream:
            return stream.read()


class Look(GuestsCase):
    def test_room_counts_what_guests_hold_and_nodes_that_take_jobs(self):
        self.cluster["jobs"] = [job(1, NumCPUs="3"), job(2, NumCPUs="4", NodeList="n[1-2]")]
        kind, = self.look()["room"]
        self.assertEqual((kind["nodes"], kind["ready"], kind["free_cpus"],
                          kind["most_cpus_on_a_node"]), (3, 2, 3 + 6, 6))
        # Free memory less 5 %, with the default GuestMemory=unused.
        self.assertEqual(kind["most_memory_on_a_node_mib"], 9000 - 800)

    def test_memory_that_is_not_allocated(self):
        with open(f"{self.dir}/conf", "a", encoding="utf-8") as stream:
            stream.write("GuestMemory=allocated\n")
        self.assertEqual(self.look()["room"][0]["free_memory_mib"], 2 * 10000)

    def test_types_of_nodes_and_drained_ones(self):
        self.cluster["nodes"][1] = node("n2", Gres="gpu:4(S:0)", State="IDLE+DRAIN")
        kinds = self.look()["room"]
        self.assertEqual([(kind["gres"], kind["ready"]) for kind in kinds],
                         [("", 1), ("gpu:4", 0)])

    def test_waits_and_reasons(self):
        begin = time.time()
        self.cluster["jobs"] = [job(1), job(2), job(3, "PENDING", Reason="Resources",
                                                    StartTime="N/A")]
        waits = self.look()["waits"]
        self.assertEqual((waits["running"], waits["pending"], waits["reasons"]),
                         (2, 1, {"Resources": 1}))
        self.assertEqual(waits["median_wait_seconds"], 10)
        self.assert_between(110 - 1, waits["longest_pending_seconds"],
                            110 + 2 + time.time() - begin)

    def assert_between(self, low, found, high):
        self.assertLessEqual(low, found)
        self.assertLessEqual(found, high)

    def test_share_and_expected_end(self):
        begin = time.time()
        self.cluster["jobs"] = [job(7)]
        self.cluster["sstat"] = "7.batch|00:00:10|1\n7.0|00:00:20|2\n"
        self.cluster["sacct"] = "".join(f"{n}|00:01:40|scan\n" for n in (1, 2, 3))
        mine, = self.look()["mine"]
        end = time.time()
        # Times are whole seconds; how long the look took is not known here.
        longest = 100 + 2 + end - begin
        self.assertEqual(mine["cpu_seconds"], 50)
        self.assert_between(50 / longest - 0.01, mine["cpu_share"], 0.51)
        # 50 s of 100 s are done, at half a CPU.
        self.assert_between(begin + 100 - 2, mine["expected_end"], end + longest)

    def test_two_runs_are_no_expectation(self):
        self.cluster["jobs"] = [job(7)]
        self.cluster["sstat"] = "7.batch|00:00:10|1\n"
        self.cluster["sacct"] = "1|00:01:40|scan\n2|00:01:40|scan\n"
        self.assertIsNone(self.look()["mine"][0]["expected_end"])

    def test_text_fits_and_is_neutral(self):
        self.cluster["jobs"] = [job(n, "PENDING", Reason="Resources") for n in range(30)]
        self.cluster["jobs"][0]["Reason"] = "\x1b[31m"
        out, _ = self.call()
        self.assertLessEqual(max(map(len, out.splitlines())), 80)
        self.assertNotIn("\x1b", out)
        self.assertIn("no node has the CPUs or the memory now", out)
        self.assertIn("and 10 more", out)

    def test_metrics(self):
        self.cluster["jobs"] = [job(1, NumCPUs="3"), job(2, "PENDING", Reason="Resources"),
                                job(3, "PENDING", Reason='a"b\\')]
        out, _ = self.call("--metrics")
        for row in ("hpcb_guest_partition_up 1", "hpcb_guests_running 1",
                    'hpcb_guests_waiting{reason="Resources"} 1',
                    'hpcb_guests_waiting{reason="a\\"b\\\\"} 1',
                    "hpcb_guests_free_cpus 13"):
            self.assertIn(row + "\n", out)
        if shutil.which("promtool"):
            subprocess.run(["promtool", "check", "metrics"], input=out, encoding="utf-8",
                           check=True)
        self.assertEqual(self.call("--metrics", f"--output={self.dir}/x.prom"), ("", ""))
        with open(f"{self.dir}/x.prom", encoding="utf-8") as stream:
            self.assertIn("hpcb_guests_running 1\n", stream.read())
        self.assertIn("No such file", self.call("-m", "-o/no/such/x", code=1)[1])
        self.assertIn("--output is for --metrics", self.call("-o", "x", code=2)[1])
        self.assertIn("exclude each other", self.call("-j", "-m", code=2)[1])

    def test_refusals(self):
        self.assertIn("--bogus", self.call("--bogus", code=2)[1])
        self.cluster["partition"]["PartitionName"] = "other"
        self.assertIn("partition guest (GuestPartition)", self.call(code=1)[1])


class Switch(GuestsCase):
    def setUp(self):
        super().setUp()
        self.cluster["jobs"] = [job("1_1"), job("1_2", NodeList="n2"),
                                job("3", BatchFlag="0"), job("4", Requeue="0"),
                                job("5", "PENDING", NodeList="")]

    def test_stop_requeues_or_cancels_and_releases_all_nodes(self):
        found = self.switch("stop")
        self.assertEqual(self.states(), ["PENDING", "PENDING", "ENDED", "ENDED", "PENDING"])
        self.assertEqual((found["requeued"], found["cancelled"], found["left"]),
                         (["1_1", "1_2"], ["3", "4"], []))
        self.assertEqual((found["state"], found["released"], found["complete"]),
                         ("DOWN", ["n1", "n2", "n3"], True))
        self.assertIn("ssh -o BatchMode=yes -o ConnectTimeout=3 n3 /usr/sbin/hpcbctl "
                      "release --json", self.log())

    def test_the_partition_is_down_before_the_first_guest_ends(self):
        self.switch("stop")
        log = self.log()
        self.assertLess(log.index("State=DOWN"), log.index("scontrol requeue"))
        self.assertLess(log.index("scancel"), log.index("ssh "))

    def test_stop_on_some_nodes(self):
        found = self.switch("stop", "--nodes=n2")
        self.assertEqual(self.states(), ["RUNNING", "PENDING"] + ["RUNNING"] * 2 +
                         ["PENDING"])
        self.assertEqual((found["state"], found["partition_nodes"], found["released"]),
                         ("UP", "n1,n3", ["n2"]))
        self.switch("drain", "--nodes=n3")
        self.assertEqual(self.switch("resume")["partition_nodes"], "n1,n2,n3")
        self.assertEqual(os.listdir(f"{self.dir}/state"), [])

    def test_resume_some_nodes(self):
        self.switch("drain", "--nodes=n[2-3]")
        self.assertEqual(self.switch("resume", "--nodes=n3")["partition_nodes"], "n1,n3")
        self.assertEqual(self.switch("resume", "--nodes=n2")["partition_nodes"],
                         "n1,n3,n2")
        self.assertEqual(os.listdir(f"{self.dir}/state"), [])

    def test_drain_leaves_guests_alone(self):
        found = self.switch("drain")
        self.assertEqual((found["state"], self.states().count("RUNNING")), ("DOWN", 4))
        self.assertEqual(self.switch("resume")["state"], "UP")

    def test_drain_of_all_nodes_by_name(self):
        self.assertEqual(self.switch("drain", "--nodes=n[1-3]")["state"], "DOWN")
        found = self.switch("resume")
        self.assertEqual((found["state"], found["partition_nodes"]), ("UP", "n[1-3]"))

    def test_what_slurm_does_not_requeue_is_cancelled(self):
        self.cluster["refuse"] = ["scontrol requeue"]
        found = self.switch("stop")
        self.assertEqual((found["requeued"], found["left"], found["complete"]),
                         ([], [], True))
        self.assertNotIn("RUNNING", self.states())

    def test_guests_that_do_not_end(self):
        self.cluster["refuse"] = ["scontrol requeue", "scancel 1_1,1_2",
                                  "scancel 1_1,1_2,3,4", "scancel 3,4"]
        found = self.switch("stop", "--wait=3", code=1)
        self.assertEqual((len(found["left"]), found["complete"]), (4, False))

    def test_a_node_that_cannot_be_reached(self):
        self.cluster["deaf"] = ["n2"]
        found = self.switch("stop", code=1)
        self.assertEqual(found["not_released"],
                         [{"node": "n2", "why": "ssh: connect to host: No route to host"}])
        self.assertEqual(found["released"], ["n1", "n3"])

    def test_refusals(self):
        for args, words in ((["stop", "--nodes=n9"], "n9: not in partition guest"),
                            (["stop", "--nodes=a b"], "'a b' is no list of nodes"),
                            (["stop", "--wait=0"], "--wait=0: allowed: 1 to 3600"),
                            (["pause"], "invalid choice")):
            code = 2 if "allowed" in words or "choice" in words else 1
            out, err = self.call("--switch", *args, code=code)
            self.assertEqual((out, err.count("\n")), ("", 1), err)
            self.assertIn(words, err)
        self.assertEqual(self.cluster["partition"]["State"], "UP")
        self.cluster["refuse"] = ["scontrol update"]
        self.assertIn("State=DOWN: scontrol: made to fail",
                      self.call("--switch", "stop", code=1)[1])
